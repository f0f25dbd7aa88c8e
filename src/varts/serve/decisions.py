"""Decisions and rewards over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varts.live import Decision, Experiment, UnknownDecision
from varts.live.assignment import new_ids
from varts.live.clock import process_clock
from varts.serve.bodies import (
    DecisionFound,
    DecisionMade,
    DecisionsMade,
    RewardResult,
    RewardResults,
)
from varts.serve.calls import Call, Reply, rfc3339
from varts.serve.problems import Problem, problem_of
from varts.serve.service import Running


async def decide_one(call: Call) -> Reply:
    """Decide, with an id of your own; the same id gets the same decision, always."""
    (made,) = await _decide(call, [(call.path["id"], call.body.unit)])
    return Reply(made)


async def decide_several(call: Call) -> Reply:
    """Decide for several, in one transaction; ids that are left out are made."""
    asked = call.body.decisions
    token = call.caller.token
    if token is not None and token.public and any(one.id is not None for one in asked):
        raise Problem("forbidden", "a public token may not choose ids; leave them out")
    fresh = iter(new_ids(process_clock(), len(asked)))
    pairs = [(next(fresh) if one.id is None else one.id, one.unit) for one in asked]
    return Reply(DecisionsMade(decisions=await _decide(call, pairs)))


async def decide_fresh(call: Call, units: Sequence[str | None]) -> list[DecisionMade]:
    """New decisions for these units, in the experiment that a call is about."""
    ids = new_ids(process_clock(), len(units))
    return await _decide(call, list(zip(ids, units, strict=True)))


async def _decide(call: Call, asked: Sequence[tuple[str, str | None]]) -> list[DecisionMade]:
    name, token = call.path["name"], call.caller.token
    running = await call.service.running(name)
    outcomes = await running.deciding.submit(asked)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    call.service.metrics.decisions.labels(name).inc(len(outcomes))
    made = [one for one in outcomes if isinstance(one, Decision)]
    if token is None or not token.public:
        return [DecisionMade(**one._asdict()) for one in made]
    return [DecisionMade(**one._asdict(), receipt=token.receipt(name, one.id)) for one in made]


async def show_decision(call: Call) -> Reply:
    """Show a decision, and how it ended."""
    running = await call.service.running(call.path["name"])
    return Reply(await call.service.read(find_decision, running.experiment, call.path["id"]))


def find_decision(experiment: Experiment, id: str) -> DecisionFound:
    """A decision of an experiment; raises UnknownDecision."""
    snapshot = experiment._snapshot
    with snapshot.reading() as transaction:
        made = transaction.decided([id]).get(id)
        settled = transaction.settled([id]).get(id)
        state, _ = snapshot.refresh(transaction)
    if made is None:
        raise UnknownDecision(f"unknown decision {id!r} in experiment {experiment.name!r}")
    return DecisionFound(
        id=id,
        arm=state.config.arms[made.arm],
        probability=made.probability,
        version=made.version,
        reason=made.reason,
        estimated=bool(made.estimated),
        time=rfc3339(made.time),
        settled=None if settled is None else settled.kind,
        reward=None if settled is None else settled.raw,
    )


async def reward_one(call: Call) -> Reply:
    """Say what a decision earned; a repeated reward counts once."""
    name, id = call.path["name"], call.path["id"]
    running = await call.service.running(name)
    _check_receipt(call, running)
    (outcome,) = await running.rewarding.submit([(id, call.body.value)])
    result = _result(call, id, outcome)
    if isinstance(outcome, Exception):
        raise outcome
    return Reply(result)


async def reward_several(call: Call) -> Reply:
    """Say what several decisions earned; one that is refused keeps none from counting."""
    sent = [(one.id, one.value) for one in call.body.rewards]
    running = await call.service.running(call.path["name"])
    outcomes = await running.rewarding.submit(sent)
    pairs = zip(sent, outcomes, strict=True)
    return Reply(RewardResults(results=[_result(call, id, out) for (id, _), out in pairs]))


def _result(call: Call, id: str, outcome: bool | Exception) -> RewardResult:
    more: dict[str, Any] = {}
    if isinstance(outcome, Exception):
        problem = problem_of(outcome)
        status, more = problem.kind.outcome, {"detail": problem.detail}
    else:
        status = "applied" if outcome else "duplicate"
    call.service.metrics.rewards.labels(call.path["name"], status).inc()
    return RewardResult(id=id, status=status, **more)  # type: ignore[arg-type]


def _check_receipt(call: Call, running: Running) -> None:
    """A web page may reward its own decisions alone, within bounds that the experiment has set."""
    token = call.caller.token
    if token is None or not token.public:
        return
    if not token.gave(call.body.receipt, call.path["name"], call.path["id"]):
        raise Problem("forbidden", "a public token needs the receipt of the decision")
    if running.experiment.options.clip is None:
        raise Problem("forbidden", "a public token may reward only where the option clip is set")
