"""Experiments over HTTP: list, create, look at, change, stop, delete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import islice
from typing import Any, Unpack

from varts._validation import abbreviate
from varts.live import Experiment, Store, UnknownExperiment
from varts.live.experiment import Note, open_experiment
from varts.serve.calls import Call, Reply, rfc3339, tell_change
from varts.serve.errors import Problem
from varts.serve.schemas import (
    ArmShown,
    Body,
    ExperimentListed,
    ExperimentShown,
    ExperimentsListed,
    Forgotten,
    Text,
    given_options,
    read_prior,
)
from varts.serve.standings import Standing
from varts.serve.web.forms import NAME_RULE

NEW_NAME = re.compile(NAME_RULE)  # what can stand in any path


class DeletionQuery(Body):
    """The experiment's name once more."""

    confirm: Text


async def list_experiments(call: Call) -> Reply:
    """List experiments, by name."""
    limit, after = call.query.limit, call.query.after
    standings, covers = call.service.standings, call.caller.covers

    def look() -> list[Standing]:
        return list(islice(standings.walk(covers, after, limit + 1), limit + 1))

    found = await call.service.read(look)
    page = [_listed(one) for one in found[:limit]]
    more = len(found) > limit
    return Reply(ExperimentsListed(experiments=page, next=page[-1].name if more else None))


async def create_experiment(call: Call) -> Reply:
    """Create an experiment, or find that it is there and agrees."""
    name, store = call.path["name"], call.service.store
    if not NEW_NAME.fullmatch(name):
        raise ValueError(
            f"name must be letters, digits, dots and dashes, at most 100, got {abbreviate(name)}"
        )
    given = given_options(call.body)
    exists = await call.service.read(store.has, name)
    if not exists:
        given = {"hash_units": True, **given}

    def create() -> None:
        open_experiment(name, call.body.arms, store=store, **given)

    try:
        await call.service.write(create)
    except ValueError as error:
        if exists:
            raise Problem("differs", str(error)) from None
        raise
    if not exists:
        tell_change(call, "create", None)
    return await _show(call, status=200 if exists else 201)


async def show_experiment(call: Call) -> Reply:
    """Show an experiment: its configuration, and how far it is."""
    return await _show(call)


async def configure_experiment(call: Call) -> Reply:
    """Change options from here on; a new epoch begins."""
    given, recount = given_options(call.body), call.body.recount

    def configure(experiment: Experiment, **known: Unpack[Note]) -> None:
        experiment.configure(recount=recount, **known, **given)

    return await _change(call, "configure", configure)


async def change_arm(call: Call) -> Reply:
    """Add an arm, pause it or bring it back."""
    arm, body, status = call.path["arm"], call.body, 200

    def change(experiment: Experiment, **known: Unpack[Note]) -> None:
        nonlocal status
        if arm not in experiment.arms:
            prior = None if body.prior is None else read_prior(body.prior)
            experiment.add_arm(arm, prior, paused=body.paused, **known)
            status = 201
            return
        if body.prior is not None:
            raise ValueError(
                f"prior must be left out for an arm that is there, got one for {arm!r}"
            )
        if body.paused:
            experiment.pause_arm(arm, **known)
        else:
            experiment.resume_arm(arm, **known)

    reply = await _change(call, "arm", change)
    reply.status = status
    return reply


async def stop_experiment(call: Call) -> Reply:
    """End an experiment, with an arm for everybody or without."""
    winner = call.body.winner

    def stop(experiment: Experiment, **known: Unpack[Note]) -> None:
        experiment.stop(winner, **known)

    return await _change(call, "stop", stop)


async def restart_experiment(call: Call) -> Reply:
    """Go on with an experiment that was stopped."""
    return await _change(call, "restart", Experiment.restart)


async def forget_unit(call: Call) -> Reply:
    """Take the name of a unit out of the log, and its contexts; its rewards are kept."""
    unit, keep, note = call.body.unit, call.body.keep_numbers, call.note(call.body.why)

    def forget(experiment: Experiment) -> int:
        by, why = note.get("by"), note.get("why")
        return experiment.forget_unit(unit, keep_numbers=keep, by=by, why=why)

    count = await call.service.change(call.path["name"], forget)
    tell_change(call, "forget", call.body.why)
    return Reply(Forgotten(decisions=count))


async def delete_experiment(call: Call) -> Reply:
    """Delete an experiment with its whole log."""
    count = await call.service.delete(call.path["name"], call.query.confirm)
    tell_change(call, "delete", None)
    return Reply(Forgotten(decisions=count))


# ------------------------------------------------------------------------------ how it is done


async def _show(call: Call, status: int = 200) -> Reply:
    row = await call.service.read(_row, call.service.store, call.path["name"])
    tag = _tag(row)
    if call.headers.get("if-none-match") == tag and status == 200:
        return Reply(status=304, headers={"etag": tag})
    return Reply(describe(row), status, {"etag": tag})


async def _change(call: Call, verb: str, change: Callable[..., None]) -> Reply:
    """Change the configuration, if it is still the one that the caller has seen.

    The one place where changes are made; `change` gets the experiment with who changes it, why,
    and the revision that must still be the last one when it is written.
    """
    given = call.headers.get("if-match")
    if given is None:
        raise Problem("if-match", "If-Match must be the ETag of the experiment, got none")
    name, known = call.path["name"], {**call.note(call.body.why)}
    running = await call.service.running(name)
    async with running.changing:
        row = await call.service.read(_row, call.service.store, name)
        expected = None
        if given != "*":
            if _tag(row) not in re.split(r"\s*,\s*", given):
                raise Problem(
                    "changed", f"the experiment is at {_tag(row)} by now; look at it again"
                )
            expected = row.revision
        await call.service.change(name, lambda one: change(one, **known, expected=expected))
    tell_change(call, verb, call.body.why)
    return await _show(call)


def describe(row: Any) -> ExperimentShown:
    """An experiment's row for people; the seed stays where it is."""
    config = _config(row)
    paused = config["paused"]
    arms = [ArmShown(name=arm, paused=at in paused) for at, arm in enumerate(config["arms"])]
    return ExperimentShown(
        **_common(row.name, config, row),
        created=rfc3339(row.created),
        arms=arms,
        initial=config["initial"],
        epoch=config["epoch"],
        options=config["options"],
    )


def _listed(one: Standing) -> ExperimentListed:
    config = one.state.config.to_json()
    return ExperimentListed(
        **_common(one.name, config, one.state),
        created=rfc3339(one.created),
        arms=len(config["arms"]),
        best=one.best,
        p_best=None if one.best is None else one.p_best[one.best],
        pending=one.pending,
    )


def _common(name: str, config: dict[str, Any], counted: Any) -> dict[str, Any]:
    winner = config["winner"]
    return {
        "name": name,
        "status": "stopped" if config["stopped"] else "running",
        "winner": None if winner is None else config["arms"][winner],
        "goal": config["options"]["goal"],
        "rewards": counted.rewards,
        "version": counted.version,
        "revision": counted.revision,
    }


def _config(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row.config)
    return found


def _tag(row: Any) -> str:
    return f'"r{row.revision}"'


def _row(store: Store, name: str) -> Any:
    row = store.find(name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {name!r}")
    return row
