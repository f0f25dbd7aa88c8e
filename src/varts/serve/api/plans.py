"""Plans over HTTP: start one, ask whether it is done, read it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from varts.live.options import stored_prior
from varts.serve.background import Job
from varts.serve.errors import refusing
from varts.serve.responses import JSONResponse
from varts.serve.schemas import MOST_ARMS, Answer, Body, read_prior

MOST_ROUNDS = 100_000


class PlanAsked(Body):
    """The arguments of `varts.plan`. The prior is given by its numbers, or described."""

    prior: dict[str, Any]
    arms: Annotated[int, Meta(ge=1, le=MOST_ARMS)] | None = None
    horizon: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)] = 2_000
    goal: Literal["max", "min"] = "max"
    runs: Annotated[int, Meta(ge=1, le=1_000)] = 1_000
    followed: Annotated[int, Meta(ge=1, le=240)] = 20


class PlanShown(Answer):
    """A plan, once it is done; before that, that it is being made."""

    id: str
    status: Literal["running", "done", "failed"]
    plan: msgspec.Raw | dict[str, Any] | None
    detail: str | None


async def start_plan(request: Request) -> Response:
    """Start making a plan: what to expect of an experiment before it starts."""
    asked = msgspec.to_builtins(request.state.body)
    with refusing():
        asked["prior"] = stored_prior(read_prior(request.state.body.prior))
    job = request.app.state.service.background.start_plan(asked)
    return JSONResponse(_shown(job), 202, {"location": f"/v1/plans/{job.id}"})


async def show_plan(request: Request) -> Response:
    """Show a plan, or its progress."""
    job = request.app.state.service.background.find_plan(request.path_params["id"])
    return JSONResponse(_shown(job))


def _shown(job: Job) -> PlanShown:
    plan = None if job.plan is None else msgspec.Raw(job.plan)
    return PlanShown(id=job.id, status=job.status, plan=plan, detail=job.detail)  # type: ignore[arg-type]
