"""Errors of clients: refusals and failures of a service, as errors of live experiments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from varts._decoding import decode
from varts._text import printable
from varts.live.errors import (
    Changed,
    DecisionConflict,
    Differs,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    NotLocal,
    Refused,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)
from varts.live.local import ExposureResult

LONGEST_DETAIL = 1000  # characters of a service's explanation


class NotAllowed(LiveError, PermissionError):  # noqa: N818  the name says what it is
    """The token may not do this."""


class UnknownToken(NotAllowed):
    """The service doesn't know the token, the token has expired, or the request had no token."""


class MalformedResponse(StoreError):  # noqa: N818
    """The response isn't one of a varts service: it isn't JSON, has wrong types or is too large."""


# By the last part of a problem's type. Any other problem is a StoreError.
ERRORS: dict[str, type[Exception]] = {
    "unknown-experiment": UnknownExperiment,
    "unknown-arm": UnknownArm,
    "unknown-decision": UnknownDecision,
    "expired": ExpiredDecision,
    "reward-conflict": RewardConflict,
    "decision-conflict": DecisionConflict,
    "invalid-reward": InvalidReward,
    "stopped": ExperimentStopped,
    "not-local": NotLocal,
    "changed": Changed,
    "differs": Differs,
    "refused": Refused,
    "invalid": ValueError,
    "too-large": ValueError,
    "unauthorized": UnknownToken,
    "forbidden": NotAllowed,
    "read-only": NotAllowed,
}
# The outcomes of one reward among several that are errors.
OUTCOMES: dict[str, type[Exception]] = {
    "unknown": UnknownDecision,
    "expired": ExpiredDecision,
    "conflict": RewardConflict,
    "invalid": InvalidReward,
}
# The same of one aggregate.
AGGREGATE_OUTCOMES: dict[str, type[Exception]] = {**OUTCOMES, "unknown-arm": UnknownArm}
# The same of one decision that was made without the service.
FALLBACK_OUTCOMES: dict[str, type[Exception]] = {
    "conflict": DecisionConflict,
    "unknown-arm": UnknownArm,
    "invalid": Refused,
}


def error_of(status: int, body: bytes) -> Exception:
    r"""Return the error that a response describes.

    >>> error_of(409, b'{"type": "/problems/reward-conflict", "detail": "\\u001b[2J it has one"}')
    RewardConflict('\\u001b[2J it has one')
    >>> error_of(502, b"<html>Bad gateway</html>")
    StoreError('the service answered 502 without an explanation')
    """
    kind, detail = read_problem(body)
    if detail is None:
        return StoreError(f"the service answered {status} without an explanation")
    return ERRORS.get(kind, StoreError)(detail)


def outcome_of(
    result: Mapping[str, Any], refusals: Mapping[str, type[Exception]] = OUTCOMES
) -> bool | Exception:
    """Return the outcome of one reward: whether it was new, or why it was refused.

    >>> outcome_of({"id": "d", "status": "duplicate"})
    False
    """
    status = result["status"]
    if status in ("applied", "duplicate"):
        return bool(status == "applied")
    return _refusal(result, refusals)


def fallback_of(result: Mapping[str, Any]) -> str | Exception:
    """Return the outcome of recording one decision that was made without the service.

    >>> fallback_of({"id": "d", "status": "recorded"})
    'recorded'
    """
    status: str = result["status"]
    if status in ("recorded", "duplicate"):
        return status
    return _refusal(result, FALLBACK_OUTCOMES)


def exposure_of(result: Mapping[str, Any]) -> ExposureResult:
    """Return the outcome of one exposure.

    >>> exposure_of({"id": "d", "status": "recorded"})
    ExposureResult(id='d', status='recorded', detail=None, arm=None)
    """
    made: ExposureResult = decode(ExposureResult, result, "result")
    return made


def _refusal(result: Mapping[str, Any], kinds: Mapping[str, type[Exception]]) -> Exception:
    """The error of one item that was refused among several."""
    status, detail = result["status"], result.get("detail")
    if not isinstance(status, str) or not isinstance(detail, str | None):
        raise ValueError("status and detail must be text")
    shown = f"the service answered {status!r}" if detail is None else shorten(detail)
    return kinds.get(status, StoreError)(shown)


def read_problem(body: bytes) -> tuple[str, str | None]:
    """Return the kind and the detail of a problem document (RFC 9457); the detail is None if the
    body isn't one."""
    try:
        found = json.loads(body)
        kind, detail = found["type"], found["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", None
    if not isinstance(kind, str) or not isinstance(detail, str):
        return "", None
    return kind.rpartition("/")[2], shorten(detail)


def shorten(text: str) -> str:
    """Return text of a service that is safe to show: on one line, without control characters."""
    cut = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}..."
    return printable(cut)
