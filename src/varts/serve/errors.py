"""Problems: errors as answers (RFC 9457), with one table from the library's errors to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from varts.live.errors import (
    Changed,
    DecisionConflict,
    Differs,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    NotLocal,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = "1"  # after a refusal that has nothing to do with the request


class Kind(NamedTuple):
    """A kind of problem."""

    status: int
    title: str
    outcome: str = "invalid"  # of one reward among several


KINDS = {
    "invalid": Kind(400, "Invalid request"),
    "unauthorized": Kind(401, "No valid token"),
    "forbidden": Kind(403, "Not allowed"),
    "read-only": Kind(403, "Read-only"),
    "not-found": Kind(404, "Not found"),
    "unknown-experiment": Kind(404, "Unknown experiment"),
    "unknown-arm": Kind(404, "Unknown arm"),
    "unknown-decision": Kind(404, "Unknown decision", "unknown"),
    "method": Kind(405, "Method not allowed"),
    "too-slow": Kind(408, "Request too slow"),
    "differs": Kind(409, "Experiment differs"),
    "stopped": Kind(409, "Experiment stopped"),
    "not-local": Kind(409, "Not for local decisions"),
    "decision-conflict": Kind(409, "Decision conflict", "conflict"),
    "reward-conflict": Kind(409, "Reward conflict", "conflict"),
    "expired": Kind(410, "Decision expired", "expired"),
    "changed": Kind(412, "Changed by somebody else"),
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

# The nearest class in an error's ancestry decides. Any other error is a bug.
ERRORS: dict[type[Exception], str] = {
    UnknownExperiment: "unknown-experiment",
    UnknownArm: "unknown-arm",
    UnknownDecision: "unknown-decision",
    ExpiredDecision: "expired",
    DecisionConflict: "decision-conflict",
    RewardConflict: "reward-conflict",
    InvalidReward: "invalid-reward",
    Changed: "changed",
    ExperimentStopped: "stopped",
    NotLocal: "not-local",
    StoreError: "store",
    LiveError: "refused",
    Differs: "differs",
}

# The text of these errors is for the log only: it names hosts, files or code.
SILENT = {
    "store": "the store cannot be used at the moment",
    "internal": "something went wrong in the service; look for this request id in its log",
}


class Problem(Exception):  # noqa: N818  the word of RFC 9457
    """An answer that says why a request failed.

    Args:
        slug: One of `KINDS`.
        detail: A sentence that says what happened.
        headers: More headers for the answer.
    """

    def __init__(self, slug: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(slug, detail, headers)  # all of them, so that it can be pickled
        self.slug, self.detail, self.kind = slug, detail, KINDS[slug]
        self.headers = dict(headers or {})
        if self.kind.status in (429, 503):
            self.headers.setdefault("retry-after", RETRY_SECONDS)
        if self.kind.status == 401:
            self.headers.setdefault("www-authenticate", 'Bearer realm="varts"')

    def __str__(self) -> str:
        return self.detail


class ProblemBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a problem."""

    type: str
    title: str
    status: int
    detail: str
    request: str


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the library's complaints about arguments into problems.

    The library raises a ValueError or a TypeError for an argument that it can't use. Outside of
    such a block these are bugs, like any other error, and so are those that another package raises
    inside of it.

    >>> with refusing():
    ...     from varts._validation import real
    ...     real("floor", float("inf"))
    Traceback (most recent call last):
    ...
    varts.serve.errors.Problem: floor must be finite, got inf
    """
    try:
        yield
    except (LiveError, Problem):
        raise
    except (ValueError, TypeError) as error:
        if not _is_ours(error):
            raise
        raise Problem("refused", str(error)) from error


def _is_ours(error: Exception) -> bool:
    """Whether code of this package made an error."""
    trace = error.__traceback__
    if trace is None:  # an outcome that wasn't raised
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "varts"


def problem_of(error: BaseException) -> Problem:
    """The problem that an error is.

    >>> problem_of(ExperimentStopped("experiment 'price' is stopped")).kind
    Kind(status=409, title='Experiment stopped', outcome='invalid')
    >>> problem_of(StoreError("lost the connection to postgresql://db.internal")).detail
    'the store cannot be used at the moment'
    """
    if isinstance(error, Problem):
        return error
    slug = next((ERRORS[one] for one in type(error).__mro__ if one in ERRORS), "internal")
    return Problem(slug, SILENT.get(slug) or str(error))


def problem_of_item(error: Exception) -> Problem:
    """The same for one item of a batch: the library returns the errors of arguments, too."""
    if type(error) in (ValueError, TypeError) and _is_ours(error):
        return Problem("refused", str(error))
    return problem_of(error)


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
