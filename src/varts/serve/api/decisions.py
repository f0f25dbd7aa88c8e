"""Decisions and rewards over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from varts.features import NUMBER
from varts.live import Decision, ExposureResult
from varts.live.decide import new_ids
from varts.live.local import DUPLICATE, RECORDED
from varts.live.store.engine import process_clock
from varts.serve import commands
from varts.serve.auth import Actor
from varts.serve.errors import Problem, problem_of_item
from varts.serve.responses import JSONResponse, not_modified, rfc3339
from varts.serve.runtime import Asked, Running, Sender, Service
from varts.serve.schemas import (
    AggregateResult,
    AggregateResults,
    AggregatesSent,
    Body,
    Corrected,
    DecisionFound,
    DecisionMade,
    DecisionsAsked,
    DecisionsMade,
    ExposureOutcome,
    ExposureOutcomes,
    ExposuresSent,
    FallbackResult,
    FallbackResults,
    FallbacksSent,
    RewardAmended,
    RewardResult,
    RewardResults,
    RewardSent,
    RewardsSent,
    Text,
)


class VoidQuery(Body):
    """Why a reward is taken back."""

    why: Text | None = None


class VoidAggregateQuery(Body):
    """Which aggregate is taken back, and why."""

    arm: Text
    period: Text
    why: Text | None = None


async def decide_one(request: Request) -> Response:
    """Decide, with your own id. The same id always gets the same decision."""
    body = request.state.body
    (made,) = await _decide(request, [(request.path_params["id"], body.unit, body.context)])
    return JSONResponse(made)


async def decide_several(request: Request) -> Response:
    """Make several decisions in one transaction. The service generates missing ids."""
    body: DecisionsAsked = request.state.body
    asked = body.decisions
    request.app.state.auth.spend(request, len(asked))
    if request.state.actor.is_public and any(one.id is not None for one in asked):
        raise Problem("forbidden", "a public token may not choose ids; leave them out")
    fresh = iter(new_ids(process_clock(), len(asked)))
    wanted = [(next(fresh) if one.id is None else one.id, one.unit, one.context) for one in asked]
    running = await request.app.state.service.running(request.path_params["name"])
    if request.state.actor.is_public:
        _check_features(running)
    running.check_contexts([one.context for one in asked])
    return JSONResponse(DecisionsMade(decisions=await _decide(request, wanted)))


async def decide_fresh(
    request: Request, unit: str | None, context: Mapping[str, Any] | None
) -> DecisionMade:
    """A new decision for a unit, in the experiment of the request's path."""
    (id,) = new_ids(process_clock(), 1)
    (made,) = await _decide(request, [(id, unit, context)])
    return made


async def _decide(request: Request, asked: Sequence[Asked]) -> list[DecisionMade]:
    service: Service = request.app.state.service
    actor: Actor = request.state.actor
    name = request.path_params["name"]
    running = await service.running(name)
    outcomes = await running.deciding.submit(asked)
    made = [one for one in outcomes if isinstance(one, Decision)]
    running.decided.inc(len(made))
    if len(made) < len(asked):
        raise _refusal(asked, outcomes)
    if actor.token is None or not actor.is_public:
        return [DecisionMade(**one._asdict()) for one in made]
    give = actor.token.receipt
    return [DecisionMade(**one._asdict(), receipt=give(name, one.id)) for one in made]


def _check_features(running: Running) -> None:
    """Numbers from a web page are not bounded: one of 1e300 would outweigh all others."""
    features = running.experiment.features
    if features is not None and NUMBER in features.kinds.values():
        raise Problem("forbidden", "a public token may decide only where no feature is a number")


def _refusal(asked: Sequence[Asked], outcomes: Sequence[Decision | Exception]) -> Problem:
    """Why the first of some decisions was refused; if there are several, also which one, and that
    the others were made."""
    refused = [at for at, one in enumerate(outcomes) if isinstance(one, Exception)]
    first = outcomes[refused[0]]
    assert isinstance(first, Exception)
    problem = problem_of_item(first)
    if len(asked) == 1 or problem.slug == "internal":
        problem.__cause__ = first
        return problem
    detail = f"decision {asked[refused[0]][0]!r} was refused: {problem.detail}"
    made = len(asked) - len(refused)
    return Problem(problem.slug, f"{detail}; decisions made: {made} of {len(asked)}")


async def record_fallbacks(request: Request) -> Response:
    """Log decisions that a client made by itself. No statistics include them or their rewards."""
    service: Service = request.app.state.service
    body: FallbacksSent = request.state.body
    request.app.state.auth.spend(request, len(body.decisions))
    items = [(one.id, one.arm, one.unit) for one in body.decisions]
    name = request.path_params["name"]
    outcomes = await service.change(name, lambda one: one.record_fallbacks(items))
    results = [_fallback(id, outcome) for (id, _, _), outcome in zip(items, outcomes, strict=True)]
    return JSONResponse(FallbackResults(results=results))


def _fallback(id: str, outcome: str | Exception) -> FallbackResult:
    if isinstance(outcome, Exception):
        problem = problem_of_item(outcome)
        status: Any = {"decision-conflict": "conflict", "unknown-arm": "unknown-arm"}.get(
            problem.slug
        )
        return FallbackResult(id=id, status=status or "invalid", detail=problem.detail)
    return FallbackResult(id=id, status=outcome)  # type: ignore[arg-type]


async def show_allocation(request: Request) -> Response:
    """Show what a client needs to draw arms by itself."""
    service: Service = request.app.state.service
    name = request.path_params["name"]
    running = await service.running(name)
    if request.state.actor.is_public:
        _check_features(running)
    tag, body = await service.read(running.local_allocation)
    response = not_modified(request, tag) or JSONResponse(body, headers={"etag": f'"{tag}"'})
    response.headers["cache-control"] = "private, max-age=1"
    return response


async def record_exposures(request: Request) -> Response:
    """Log arms that a client drew by itself. A refused one doesn't affect the others."""
    body: ExposuresSent = request.state.body
    actor: Actor = request.state.actor
    request.app.state.auth.spend(request, len(body.exposures))
    name = request.path_params["name"]
    running = await request.app.state.service.running(name)
    if actor.is_public:
        _check_features(running)
    sender = Sender(body.client, body.tickets)
    sent = [
        (sender, (one.id, one.arm, one.version, one.age, one.unit, one.context))
        for one in body.exposures
    ]
    outcomes = [_exposure(one) for one in await running.recording.submit(sent)]
    logged = [one for one in outcomes if one.status in (RECORDED, DUPLICATE)]
    running.decided.inc(sum(one.status == RECORDED for one in logged))
    if actor.token is not None and actor.is_public:
        for one in logged:
            one.receipt = actor.token.receipt(name, one.id)
    return JSONResponse(ExposureOutcomes(results=outcomes))


def _exposure(result: ExposureResult | Exception) -> ExposureOutcome:
    assert isinstance(result, ExposureResult)  # every refusal is a result
    id, status, detail, arm = result
    found = ExposureOutcome(id=id, status=status)  # type: ignore[arg-type]
    if detail is not None:
        found.detail = detail
    if arm is not None:
        found.arm = arm
    return found


async def show_decision(request: Request) -> Response:
    """Show a decision and its reward."""
    service: Service = request.app.state.service
    id = request.path_params["id"]
    name = request.path_params["name"]
    found = await service.look(name, lambda experiment: experiment.decision(id))
    if not request.state.actor.may("admin"):
        found = found._replace(unit=None, context=None)
    return JSONResponse(DecisionFound(**{**found._asdict(), "time": rfc3339(found.time)}))


async def reward_one(request: Request) -> Response:
    """Record the reward of a decision. Repeating it has no effect."""
    service: Service = request.app.state.service
    name, id = request.path_params["name"], request.path_params["id"]
    body: RewardSent = request.state.body
    running = await service.running(name)
    token, public = request.state.actor.token, request.state.actor.is_public
    if public and not token.gave(body.receipt, name, id):
        raise Problem("forbidden", "a public token needs the receipt of the decision")
    sent = (id, body.value, body.metrics, body.key, public)
    (outcome,) = await running.rewarding.submit([sent])
    result = _result(service, name, id, outcome)
    if isinstance(outcome, Exception):
        raise problem_of_item(outcome) from outcome
    return JSONResponse(result)


async def reward_several(request: Request) -> Response:
    """Record several rewards. A refused one doesn't affect the others."""
    service: Service = request.app.state.service
    name = request.path_params["name"]
    body: RewardsSent = request.state.body
    request.app.state.auth.spend(request, len(body.rewards))
    sent = [(one.id, one.value, one.metrics, one.key, False) for one in body.rewards]
    running = await service.running(name)
    outcomes = await running.rewarding.submit(sent)
    pairs = zip(sent, outcomes, strict=True)
    results = [_result(service, name, one[0], outcome) for one, outcome in pairs]
    return JSONResponse(RewardResults(results=results))


async def amend_reward(request: Request) -> Response:
    """Replace the reward of a decision."""
    id, name = request.path_params["id"], request.path_params["name"]
    service, actor = request.app.state.service, request.state.actor
    body: RewardAmended = request.state.body
    applied = await commands.amend(service, actor, name, id, body.value, body.metrics, why=body.why)
    return _corrected(id, applied)


async def void_reward(request: Request) -> Response:
    """Remove the reward of a decision, as if it had never been recorded."""
    id, query = request.path_params["id"], request.state.query
    service, actor = request.app.state.service, request.state.actor
    name = request.path_params["name"]
    return _corrected(id, await commands.void(service, actor, name, id, why=query.why))


async def record_aggregates(request: Request) -> Response:
    """Record rewards of tools that report only their number, mean and sd. Others don't change."""
    return await _aggregates(request, correct=False)


async def correct_aggregates(request: Request) -> Response:
    """Record aggregates, and replace those that have other numbers."""
    return await _aggregates(request, correct=True)


async def _aggregates(request: Request, correct: bool) -> Response:
    body: AggregatesSent = request.state.body
    name, actor = request.path_params["name"], request.state.actor
    request.app.state.auth.spend(request, len(body.aggregates))
    rows = [(one.arm, one.period, one.n, one.mean, one.sd) for one in body.aggregates]
    outcomes = await commands.record_aggregates(
        request.app.state.service, actor, name, rows, correct=correct, why=body.why
    )
    results = [
        _aggregate(one.arm, one.period, outcome)
        for one, outcome in zip(body.aggregates, outcomes, strict=True)
    ]
    return JSONResponse(AggregateResults(results=results))


def _aggregate(arm: str, period: str, outcome: bool | Exception) -> AggregateResult:
    if isinstance(outcome, Exception):
        problem = problem_of_item(outcome)
        status: Any = "unknown-arm" if problem.slug == "unknown-arm" else problem.kind.outcome
        return AggregateResult(arm=arm, period=period, status=status, detail=problem.detail)
    return AggregateResult(arm=arm, period=period, status="applied" if outcome else "duplicate")


async def void_aggregate(request: Request) -> Response:
    """Remove the aggregate of an arm in a period, as if it had never been recorded."""
    service, actor = request.app.state.service, request.state.actor
    name, query = request.path_params["name"], request.state.query
    applied = await commands.void_aggregate(
        service, actor, name, query.arm, query.period, why=query.why
    )
    return JSONResponse(_aggregate(query.arm, query.period, applied))


def _corrected(id: str, applied: bool) -> Response:
    return JSONResponse(Corrected(id=id, status="applied" if applied else "duplicate"))


def _result(service: Service, name: str, id: str, outcome: bool | Exception) -> RewardResult:
    more: dict[str, Any] = {}
    if isinstance(outcome, Exception):
        problem = problem_of_item(outcome)
        status, more = problem.kind.outcome, {"detail": problem.detail}
    else:
        status = "applied" if outcome else "duplicate"
    service.metrics.rewards.labels(name, status).inc()
    return RewardResult(id=id, status=status, **more)  # type: ignore[arg-type]
