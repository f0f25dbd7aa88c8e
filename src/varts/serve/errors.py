"""What goes wrong, as an answer (RFC 9457): one dictionary from classes of errors to kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from varts.live.errors import (
    Changed,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = "1"  # after a refusal that says nothing about the request


class Kind(NamedTuple):
    """A kind of problem."""

    status: int
    title: str
    outcome: str = "invalid"  # of one reward among several


KINDS = {
    "invalid": Kind(400, "Not valid"),
    "unauthorized": Kind(401, "No valid token"),
    "forbidden": Kind(403, "Not allowed"),
    "read-only": Kind(403, "Read-only"),
    "not-found": Kind(404, "Nothing there"),
    "unknown-experiment": Kind(404, "Unknown experiment"),
    "unknown-arm": Kind(404, "Unknown arm"),
    "unknown-decision": Kind(404, "Unknown decision", "unknown"),
    "method": Kind(405, "Method not allowed"),
    "too-slow": Kind(408, "Request too slow"),
    "differs": Kind(409, "Experiment differs"),
    "stopped": Kind(409, "Experiment stopped"),
    "reward-conflict": Kind(409, "Reward conflict", "conflict"),
    "expired": Kind(410, "Decision expired", "expired"),
    "changed": Kind(412, "Somebody was first"),
    "too-large": Kind(413, "Body too large"),
    "media-type": Kind(415, "Not JSON"),
    "misdirected": Kind(421, "Not this host"),
    "refused": Kind(422, "Refused"),
    "invalid-reward": Kind(422, "Invalid reward"),
    "if-match": Kind(428, "If-Match needed"),
    "too-many": Kind(429, "Too many requests"),
    "internal": Kind(500, "Internal error"),
    "store": Kind(503, "Store not usable"),
    "busy": Kind(503, "Too busy"),
    "draining": Kind(503, "Shutting down"),
}

# The nearest class in an error's ancestry decides. What is in none of them is our own mistake.
ERRORS: dict[type[Exception], str] = {
    UnknownExperiment: "unknown-experiment",
    UnknownArm: "unknown-arm",
    UnknownDecision: "unknown-decision",
    ExpiredDecision: "expired",
    RewardConflict: "reward-conflict",
    InvalidReward: "invalid-reward",
    Changed: "changed",
    ExperimentStopped: "stopped",
    StoreError: "store",
    ValueError: "refused",
    TypeError: "refused",
}

# What the text of these errors says is for the log: it names hosts, files or code.
SILENT = {
    "store": "the store cannot be used at the moment",
    "internal": "something went wrong in the service; its log tells more",
}


class Problem(Exception):  # noqa: N818  the word of RFC 9457
    """An answer that says why not.

    Args:
        slug: One of `KINDS`.
        detail: What happened, in a sentence.
        headers: More headers for the answer.
    """

    def __init__(self, slug: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.slug, self.detail, self.kind = slug, detail, KINDS[slug]
        self.headers = dict(headers or {})
        if self.kind.status in (429, 503):
            self.headers.setdefault("retry-after", RETRY_SECONDS)
        if self.kind.status == 401:
            self.headers.setdefault("www-authenticate", 'Bearer realm="varts"')


class ProblemBody(msgspec.Struct, frozen=True, kw_only=True):
    """What goes over the wire."""

    type: str
    title: str
    status: int
    detail: str
    request: str


def problem_of(error: BaseException) -> Problem:
    """The problem that an error is.

    >>> problem_of(ValueError("floor must be finite, got inf")).kind
    Kind(status=422, title='Refused', outcome='invalid')
    >>> problem_of(StoreError("lost the connection to postgresql://db.internal")).detail
    'the store cannot be used at the moment'
    """
    if isinstance(error, Problem):
        return error
    slug = next((ERRORS[one] for one in type(error).__mro__ if one in ERRORS), "internal")
    return Problem(slug, SILENT.get(slug) or str(error))


def encode_problem(problem: Problem, request: str) -> bytes:
    """The body of the answer."""
    return msgspec.json.encode(
        ProblemBody(
            type=f"/problems/{problem.slug}",
            title=problem.kind.title,
            status=problem.kind.status,
            detail=problem.detail,
            request=request,
        )
    )
