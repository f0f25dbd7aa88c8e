"""What went wrong, from the problem documents (RFC 9457) of a service: the errors of live
experiments."""

from __future__ import annotations

import json
from typing import Any

from varts.live.errors import (
    Changed,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)


class NotAllowed(LiveError, PermissionError):  # noqa: N818  the name says what it is
    """The token may not do this."""


class UnknownToken(NotAllowed):
    """The service knows no such token, or it has expired, or none was given."""


# By the last part of a problem's type. What is in none of them is the service's own trouble.
ERRORS: dict[str, type[Exception]] = {
    "unknown-experiment": UnknownExperiment,
    "unknown-arm": UnknownArm,
    "unknown-decision": UnknownDecision,
    "expired": ExpiredDecision,
    "reward-conflict": RewardConflict,
    "invalid-reward": InvalidReward,
    "stopped": ExperimentStopped,
    "changed": Changed,
    "differs": ValueError,
    "refused": ValueError,
    "invalid": ValueError,
    "too-large": ValueError,
    "unauthorized": UnknownToken,
    "forbidden": NotAllowed,
    "read-only": NotAllowed,
}
# What became of one reward among several, where it is no success.
OUTCOMES: dict[str, type[Exception]] = {
    "unknown": UnknownDecision,
    "expired": ExpiredDecision,
    "conflict": RewardConflict,
    "invalid": InvalidReward,
}


def error_of(status: int, body: bytes) -> Exception:
    """The error that an answer is.

    >>> error_of(409, b'{"type": "/problems/reward-conflict", "detail": "it has one already"}')
    RewardConflict('it has one already')
    >>> error_of(502, b"<html>Bad gateway</html>")
    StoreError('the service answered 502 without saying why')
    """
    kind, detail = read_problem(body)
    if detail is None:
        return StoreError(f"the service answered {status} without saying why")
    return ERRORS.get(kind, StoreError)(detail)


def outcome_of(result: dict[str, Any]) -> bool | Exception:
    """What became of one reward: whether it was new, or why it was refused.

    >>> outcome_of({"id": "d", "status": "duplicate"})
    False
    """
    status = result["status"]
    if status in ("applied", "duplicate"):
        return bool(status == "applied")
    return OUTCOMES.get(status, StoreError)(result.get("detail", f"the service answered {status}"))


def read_problem(body: bytes) -> tuple[str, str | None]:
    """The kind of a problem and its sentence, which is None if the body is no problem document."""
    try:
        found = json.loads(body)
        return str(found["type"]).rpartition("/")[2], str(found["detail"])
    except (ValueError, KeyError, TypeError):
        return "", None
