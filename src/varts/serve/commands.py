"""Commands: everything that changes an experiment, beside decisions and rewards.

An endpoint and a form that do the same thing call the same function here. Each runs in the thread
that writes, one change of configuration of an experiment at a time, and leaves a line in the
service's log. Errors about arguments become problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from varts._intervals import CONFIDENCE
from varts._validation import abbreviate
from varts.live import Differs, Experiment
from varts.live.experiment import Note as ChangeNote
from varts.live.experiment import open_experiment
from varts.serve.auth import Actor
from varts.serve.background import Key
from varts.serve.errors import Problem, refusing
from varts.serve.runtime import Service
from varts.serve.telemetry import tell
from varts.serve.web.forms import NAME_RULE

if TYPE_CHECKING:
    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target

Expected = int | str | None  # the revision or the tag that the actor has seen; None for any


class Note(TypedDict):
    """Why a form or a request changes something, and what it has seen of the configuration."""

    why: str | None
    expected: Expected


CHECK_SECONDS = 60.0  # that checks are kept although nothing happened: they depend on the time
T = TypeVar("T")


async def create(
    service: Service,
    actor: Actor,
    name: str,
    arms: Sequence[str],
    options: Mapping[str, Any],
    *,
    must_be_new: bool = False,
) -> bool:
    """Create an experiment, or find that it exists and agrees.

    Args:
        service: The service.
        actor: The person or program that creates it.
        name: A name for it.
        arms: The names of its arms.
        options: Its options. Units are hashed by default, unlike in `varts.open`.
        must_be_new: Whether to refuse the name of an experiment that exists.

    Returns:
        Whether it is new.
    """
    if not re.fullmatch(NAME_RULE, name):
        rule = "letters, digits, dots and dashes, at most 100"
        raise Problem("refused", f"name must be {rule}, got {abbreviate(name)}")
    if not actor.covers(name):
        raise Problem("forbidden", f"the token {actor.name} is not for the experiment {name!r}")
    exists = await service.read(service.store.has, name)
    if exists and must_be_new:
        raise Differs(f"name must be new, got that of the existing experiment {name!r}")
    given = dict(options) if exists else {"hash_units": True, **options}

    def open_it() -> None:
        with refusing():
            open_experiment(name, arms, store=service.store, **given)

    await service.write(open_it)
    if not exists:
        log_change(actor, "create", name)
    return not exists


async def configure(
    service: Service,
    actor: Actor,
    name: str,
    options: Mapping[str, Any],
    note: Note,
    recount: bool = False,
) -> None:
    """Change options from here on; see `Experiment.configure`."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.configure(recount=recount, **known, **options)

    await _change(service, actor, name, "configure", act, note)


async def add_arm(
    service: Service,
    actor: Actor,
    name: str,
    arm: str,
    note: Note,
    prior: Any = None,
    paused: bool = False,
) -> None:
    """Add an arm; see `Experiment.add_arm`."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.add_arm(arm, prior, paused=paused, **known)

    await _change(service, actor, name, "add", act, note)


async def pause_arm(service: Service, actor: Actor, name: str, arm: str, note: Note) -> None:
    """Give an arm no more traffic."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.pause_arm(arm, **known)

    await _change(service, actor, name, "pause", act, note)


async def resume_arm(service: Service, actor: Actor, name: str, arm: str, note: Note) -> None:
    """Bring a paused arm back into play."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.resume_arm(arm, **known)

    await _change(service, actor, name, "resume", act, note)


async def stop(service: Service, actor: Actor, name: str, winner: str | None, note: Note) -> None:
    """End an experiment, with an arm for everybody or without."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.stop(winner, **known)

    await _change(service, actor, name, "stop", act, note)


async def restart(service: Service, actor: Actor, name: str, note: Note) -> None:
    """Continue a stopped experiment."""

    def act(experiment: Experiment, known: ChangeNote) -> None:
        experiment.restart(**known)

    await _change(service, actor, name, "restart", act, note)


async def _change(
    service: Service,
    actor: Actor,
    name: str,
    verb: str,
    act: Callable[[Experiment, ChangeNote], None],
    note: Note,
) -> None:
    """Change the configuration, unless somebody has changed the expected one."""
    known = ChangeNote(by=actor.name, **note)
    running = await service.running(name)
    async with running.changing:
        await _write(service, name, lambda experiment: act(experiment, known))
    log_change(actor, verb, name, note["why"])


# ------------------------------------------------------------------------------ rewards and units


async def amend(
    service: Service,
    actor: Actor,
    name: str,
    id: str,
    value: float,
    metrics: Mapping[str, float | None],
    *,
    why: str | None = None,
) -> bool:
    """Replace the reward of a decision; whether it was another one."""

    def act(experiment: Experiment) -> bool:
        return experiment.amend_many([(id, value, metrics)], by=actor.name, why=why)[0]

    applied = await _write(service, name, act)
    if applied:
        log_change(actor, "amend", name, why)
    return applied


async def void(
    service: Service, actor: Actor, name: str, id: str, *, why: str | None = None
) -> bool:
    """Remove the reward of a decision; whether it had one."""

    def act(experiment: Experiment) -> bool:
        return experiment.void(id, by=actor.name, why=why)

    applied = await _write(service, name, act)
    if applied:
        log_change(actor, "void", name, why)
    return applied


async def record_aggregates(
    service: Service,
    actor: Actor,
    name: str,
    rows: Sequence[tuple[str, str, int, float, float]],
    *,
    correct: bool = False,
    why: str | None = None,
) -> list[bool | Exception]:
    """Record aggregates; for each whether it was new, or why it was refused."""

    def act(experiment: Experiment) -> list[bool | Exception]:
        return experiment.reward_aggregates_each(rows, correct=correct, by=actor.name, why=why)

    outcomes = await _write(service, name, act)
    if correct and True in outcomes:
        log_change(actor, "correct", name, why)
    return outcomes


async def void_aggregate(
    service: Service, actor: Actor, name: str, arm: str, period: str, *, why: str | None = None
) -> bool:
    """Remove an aggregate; whether there was one."""

    def act(experiment: Experiment) -> bool:
        return experiment.void_aggregate(arm, period, by=actor.name, why=why)

    applied = await _write(service, name, act)
    if applied:
        log_change(actor, "void", name, why)
    return applied


async def forget(
    service: Service,
    actor: Actor,
    name: str,
    unit: str,
    *,
    keep_numbers: bool = False,
    why: str | None = None,
) -> int:
    """Take the name of a unit and its contexts out of the log; how many decisions it had."""

    def act(experiment: Experiment) -> int:
        return experiment.forget_unit(unit, keep_numbers=keep_numbers, by=actor.name, why=why)

    count = await _write(service, name, act)
    log_change(actor, "forget", name, why)
    return count


async def delete(service: Service, actor: Actor, name: str, confirm: str) -> int:
    """Delete an experiment with its log; how many decisions it had.

    Args:
        service: The service.
        actor: The person or program that deletes it.
        name: Its name.
        confirm: Its name once more.
    """
    running = await service.running(name)
    async with running.changing:
        count = await _write(service, name, lambda one: one.delete(confirm, export=None))
        service.drop(name)
    log_change(actor, "delete", name)
    return count


def read_checks(experiment: Experiment) -> Checks:
    """Check rewards and decisions; this only reads."""
    return experiment.check(settle=False)


def evaluation_of(
    target: Target, against: Target | None = None, level: float = CONFIDENCE
) -> tuple[Key, Callable[[Experiment], Evaluation]]:
    """Return the cache key and the function that evaluate another way of deciding.

    Args:
        target: Another way of deciding.
        against: What to compare it with; by default the rewards that were collected.
        level: The probability of the intervals.
    """
    read = partial(_evaluate, policy=target, against=against, level=level)
    return ("evaluation", repr(target), repr(against), str(level)), read


def _evaluate(experiment: Experiment, **asked: Any) -> Evaluation:
    with refusing():
        return experiment.evaluate(**asked, settle=False)


async def _write(service: Service, name: str, act: Callable[[Experiment], T]) -> T:
    def checked(experiment: Experiment) -> T:
        with refusing():
            return act(experiment)

    return await service.change(name, checked)


def log_change(actor: Actor, verb: str, name: str, why: str | None = None) -> None:
    """Note in the service's log that an experiment was changed."""
    tell(
        "change",
        audit=True,
        verb=verb,
        experiment=name,
        token=actor.name,
        why=why,
        request=actor.request,
    )
