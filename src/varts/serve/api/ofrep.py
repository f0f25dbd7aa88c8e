"""Deciding through OpenFeature's remote evaluation protocol (OFREP): an experiment as a flag.

The protocol has no way to send a reward: those come to our own endpoints, with the decision's id,
which is in the flag's metadata.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from varts.live import UnknownExperiment
from varts.serve.api.decisions import decide_fresh
from varts.serve.errors import Problem
from varts.serve.responses import JSONResponse
from varts.serve.runtime import Service
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


async def evaluate_flag(request: Request) -> Response:
    """Decide, as an OpenFeature flag whose value is the arm; its metadata has the decision's id."""
    service: Service = request.app.state.service
    name, given = request.path_params["name"], request.state.body.context
    try:
        experiment = (await service.running(name)).experiment
        features, context = experiment.features, None
        if features is not None:
            context = {key: given[key] for key in features.kinds if key in given}
        made = await decide_fresh(request, given.get(TARGETING_KEY), context)
    except UnknownExperiment as error:
        return _failed(404, name, "FLAG_NOT_FOUND", error)
    except Problem as problem:
        if problem.slug == "stopped":
            return _failed(400, name, "GENERAL", problem)
        if problem.slug != "refused":
            raise
        missing = experiment.options.sticky and TARGETING_KEY not in given
        code = "TARGETING_KEY_MISSING" if missing else "INVALID_CONTEXT"
        return _failed(400, name, code, problem)
    metadata: dict[str, str | float] = {
        "decision": made.id,
        "probability": made.probability,
        "version": made.version,
    }
    reason = STATIC if made.reason == "winner" else SPLIT
    return JSONResponse(
        FlagFound(key=name, value=made.arm, variant=made.arm, reason=reason, metadata=metadata)
    )


def _failed(status: int, name: str, code: str, error: Exception) -> Response:
    return JSONResponse(FlagFailed(key=name, errorCode=code, errorDetails=str(error)), status)
