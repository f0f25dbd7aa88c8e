"""Decisions and rewards over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from varts.features import NUMBER
from varts.live import Decision, Experiment
from varts.live.decide import new_ids
from varts.live.store.engine import process_clock
from varts.serve.calls import Call, Reply, rfc3339, tell_change
from varts.serve.errors import Problem, problem_of
from varts.serve.runtime import Asked, Running
from varts.serve.schemas import (
    Body,
    Corrected,
    DecisionFound,
    DecisionMade,
    DecisionsMade,
    RewardResult,
    RewardResults,
    RewardSent,
    Text,
)


class VoidQuery(Body):
    """Why a reward is taken back."""

    why: Text | None = None


async def decide_one(call: Call) -> Reply:
    """Decide, with an id of your own; the same id gets the same decision, always."""
    (made,) = await _decide(call, [(call.path["id"], call.body.unit, call.body.context)])
    return Reply(made)


async def decide_several(call: Call) -> Reply:
    """Decide for several, in one transaction; ids that are left out are made."""
    asked = call.body.decisions
    token = call.caller.token
    if token is not None and token.public and any(one.id is not None for one in asked):
        raise Problem("forbidden", "a public token may not choose ids; leave them out")
    fresh = iter(new_ids(process_clock(), len(asked)))
    wanted = [(next(fresh) if one.id is None else one.id, one.unit, one.context) for one in asked]
    return Reply(DecisionsMade(decisions=await _decide(call, wanted)))


async def decide_fresh(
    call: Call, unit: str | None, context: Mapping[str, Any] | None
) -> DecisionMade:
    """A new decision for a unit, in the experiment that a call is about."""
    (id,) = new_ids(process_clock(), 1)
    (made,) = await _decide(call, [(id, unit, context)])
    return made


async def _decide(call: Call, asked: Sequence[Asked]) -> list[DecisionMade]:
    name, token = call.path["name"], call.caller.token
    running = await call.service.running(name)
    outcomes = await running.deciding.submit(_with_contexts(call, running, asked))
    made = [one for one in outcomes if isinstance(one, Decision)]
    call.service.metrics.decisions.labels(name).inc(len(made))
    if len(made) < len(asked):
        raise _refusal(asked, outcomes)
    if token is None or not token.public:
        return [DecisionMade(**one._asdict()) for one in made]
    return [DecisionMade(**one._asdict(), receipt=token.receipt(name, one.id)) for one in made]


def _with_contexts(call: Call, running: Running, asked: Sequence[Asked]) -> list[Asked]:
    """What is asked, with contexts as they are stored; if one is wrong, none is decided for."""
    features, token = running.experiment.features, call.caller.token
    numbers = features is not None and NUMBER in features.kinds.values()
    if numbers and token is not None and token.public:  # one of 1e300 would outweigh all others
        raise Problem("forbidden", "a public token may decide only where no feature is a number")
    ids, units, contexts = zip(*asked, strict=True)
    return list(zip(ids, units, running.check_contexts(contexts), strict=True))


def _refusal(asked: Sequence[Asked], outcomes: Sequence[Decision | Exception]) -> Exception:
    """Why the first of some decisions was refused; of several it says which, and that the others
    were made."""
    refused = [at for at, one in enumerate(outcomes) if isinstance(one, Exception)]
    first = outcomes[refused[0]]
    assert isinstance(first, Exception)
    if len(asked) == 1:
        return first
    problem, made = problem_of(first), len(asked) - len(refused)
    detail = f"decision {asked[refused[0]][0]!r} was refused: {problem.detail}"
    return Problem(problem.slug, f"{detail}; decisions made: {made} of {len(asked)}")


async def show_decision(call: Call) -> Reply:
    """Show a decision, and what has become of it."""
    id = call.path["id"]
    found = await call.service.look(call.path["name"], lambda experiment: experiment.decision(id))
    if not call.caller.may("admin"):
        found = found._replace(unit=None, context=None)
    return Reply(DecisionFound(**{**found._asdict(), "time": rfc3339(found.time)}))


async def reward_one(call: Call) -> Reply:
    """Say what a decision earned; a repeated reward counts once."""
    name, id = call.path["name"], call.path["id"]
    running = await call.service.running(name)
    _check_receipt(call, running)
    body: RewardSent = call.body
    (outcome,) = await running.rewarding.submit([(id, body.value, body.metrics, body.key)])
    result = _result(call, id, outcome)
    if isinstance(outcome, Exception):
        raise outcome
    return Reply(result)


async def reward_several(call: Call) -> Reply:
    """Say what several decisions earned; one that is refused keeps none from counting."""
    sent = [(one.id, one.value, one.metrics, one.key) for one in call.body.rewards]
    running = await call.service.running(call.path["name"])
    outcomes = await running.rewarding.submit(sent)
    pairs = zip(sent, outcomes, strict=True)
    return Reply(RewardResults(results=[_result(call, one[0], out) for one, out in pairs]))


async def amend_reward(call: Call) -> Reply:
    """Put another reward in the place of the one that a decision has."""
    id, body, known = call.path["id"], call.body, call.note(call.body.why)

    def amend(experiment: Experiment) -> bool:
        return experiment.amend_many([(id, body.value, body.metrics)], **known)[0]

    return await _correct(call, "amend", body.why, amend)


async def void_reward(call: Call) -> Reply:
    """Take the reward of a decision back, as if it had never been made."""
    id, why = call.path["id"], call.query.why
    known = call.note(why)
    return await _correct(call, "void", why, lambda experiment: experiment.void(id, **known))


async def _correct(
    call: Call, verb: str, why: str | None, correct: Callable[[Experiment], bool]
) -> Reply:
    applied = await call.service.change(call.path["name"], correct)
    if applied:
        tell_change(call, verb, why)
    status: Any = "applied" if applied else "duplicate"
    return Reply(Corrected(id=call.path["id"], status=status))


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
    if call.body.metrics or call.body.key is not None:  # which nothing bounds
        raise Problem("forbidden", "a public token may send a value alone")
    if not token.gave(call.body.receipt, call.path["name"], call.path["id"]):
        raise Problem("forbidden", "a public token needs the receipt of the decision")
    if running.experiment.options.clip is None:
        raise Problem("forbidden", "a public token may reward only where the option clip is set")
