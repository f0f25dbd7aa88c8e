"""Deciding through OpenFeature's remote evaluation protocol (OFREP): an experiment as a flag.

The protocol has no way to send a reward: those come to our own endpoints, with the decision's id,
which is in the flag's metadata.
"""

from __future__ import annotations

from typing import Any

import msgspec

from varts.live import ExperimentStopped, UnknownExperiment
from varts.live.arguments import check_text
from varts.serve.api.decisions import decide_fresh
from varts.serve.calls import Call, Reply
from varts.serve.schemas import Answer

STATIC, SPLIT = "STATIC", "SPLIT"  # the protocol's reasons: the same for everybody, or by chance
TARGETING_KEY = "targetingKey"


class FlagAsked(msgspec.Struct, kw_only=True):
    """Which unit a flag is for; of whatever else the context has, features are used."""

    context: dict[str, Any] = {}


class FlagFound(Answer):
    """The value of a flag: the arm."""

    key: str
    value: str
    variant: str
    reason: str
    metadata: dict[str, str | float]


class FlagFailed(Answer):
    """Why a flag has no value; the program then uses its own."""

    key: str
    errorCode: str  # noqa: N815  the protocol's spelling
    errorDetails: str  # noqa: N815


async def evaluate_flag(call: Call) -> Reply:
    """Decide, as an OpenFeature flag whose value is the arm; its metadata has the decision's id."""
    name, given = call.path["name"], call.body.context
    try:
        running = await call.service.running(name)
        features = running.experiment.features
        known = None
        if features is not None:
            known = {key: given[key] for key in features.kinds if key in given}
        running.check_contexts([known])
    except UnknownExperiment as error:
        return _failed(404, name, "FLAG_NOT_FOUND", error)
    except (ValueError, TypeError) as error:
        return _failed(400, name, "INVALID_CONTEXT", error)
    try:
        unit = given.get(TARGETING_KEY)
        unit = None if unit is None else check_text(TARGETING_KEY, unit)
        made = await decide_fresh(call, unit, known)
    except UnknownExperiment as error:  # deleted meanwhile
        return _failed(404, name, "FLAG_NOT_FOUND", error)
    except ExperimentStopped as error:
        return _failed(400, name, "GENERAL", error)
    except (ValueError, TypeError) as error:
        missing = TARGETING_KEY not in given
        return _failed(400, name, "TARGETING_KEY_MISSING" if missing else "INVALID_CONTEXT", error)
    metadata: dict[str, str | float] = {
        "decision": made.id,
        "probability": made.probability,
        "version": made.version,
    }
    reason = STATIC if made.reason == "winner" else SPLIT
    return Reply(
        FlagFound(key=name, value=made.arm, variant=made.arm, reason=reason, metadata=metadata)
    )


def _failed(status: int, name: str, code: str, error: Exception) -> Reply:
    return Reply(FlagFailed(key=name, errorCode=code, errorDetails=str(error)), status)
