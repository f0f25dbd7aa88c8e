"""Experiments over HTTP: list, create, look at, change, stop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from varts._validation import abbreviate
from varts.live import Experiment, Store, UnknownExperiment
from varts.live.opening import open_experiment
from varts.serve.bodies import (
    ArmShown,
    ExperimentListed,
    ExperimentShown,
    ExperimentsListed,
    given_options,
    read_prior,
)
from varts.serve.calls import Call, Reply, rfc3339
from varts.serve.logs import tell
from varts.serve.problems import Problem

NEW_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # what can stand in any path


async def list_experiments(call: Call) -> Reply:
    """List experiments, by name."""
    limit, after = call.query.limit, call.query.after
    rows = await call.service.read(_rows_after, call.service.store, after, call.caller.covers)
    page = [
        ExperimentListed(**_common(row), arms=len(_config(row)["arms"])) for row in rows[:limit]
    ]
    more = len(rows) > limit
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
        _tell_change(call, "create", None)
    return await _show(call, status=200 if exists else 201)


async def show_experiment(call: Call) -> Reply:
    """Show an experiment: its configuration, and how far it is."""
    return await _show(call)


async def configure_experiment(call: Call) -> Reply:
    """Change options from here on; a new epoch begins."""
    given = given_options(call.body)
    return await _change(call, "configure", lambda experiment: experiment.configure(**given))


async def change_arm(call: Call) -> Reply:
    """Add an arm, pause it or bring it back."""
    arm, body, status = call.path["arm"], call.body, 200

    def change(experiment: Experiment) -> None:
        nonlocal status
        if arm not in experiment.arms:
            experiment.add_arm(arm, None if body.prior is None else read_prior(body.prior))
            status = 201
        elif body.prior is not None:
            raise ValueError(
                f"prior must be left out for an arm that is there, got one for {arm!r}"
            )
        if body.paused:
            experiment.pause_arm(arm)
        else:
            experiment.resume_arm(arm)

    reply = await _change(call, "arm", change)
    reply.status = status
    return reply


async def stop_experiment(call: Call) -> Reply:
    """End an experiment, with an arm for everybody or without."""
    return await _change(call, "stop", lambda experiment: experiment.stop(call.body.winner))


# ------------------------------------------------------------------------------ how it is done


async def _show(call: Call, status: int = 200) -> Reply:
    row = await call.service.read(_row, call.service.store, call.path["name"])
    tag = _tag(row)
    if call.headers.get("if-none-match") == tag and status == 200:
        return Reply(status=304, headers={"etag": tag})
    return Reply(describe(row), status, {"etag": tag})


async def _change(call: Call, verb: str, change: Callable[[Experiment], None]) -> Reply:
    """Change the configuration, if it is still the one that the caller has seen.

    The one place where changes are made. Two services on one store could still pass each other
    between the look and the change.
    """
    expected = call.headers.get("if-match")
    if expected is None:
        raise Problem("if-match", "If-Match must be the ETag of the experiment, got none")
    running = await call.service.running(call.path["name"])
    async with running.changing:
        row = await call.service.read(_row, call.service.store, call.path["name"])
        if expected != "*" and _tag(row) not in re.split(r"\s*,\s*", expected):
            raise Problem("changed", f"the experiment is at {_tag(row)} by now; look at it again")
        await call.service.write(change, running.experiment)
    _tell_change(call, verb, call.body.why)
    return await _show(call)


def _tell_change(call: Call, verb: str, why: str | None) -> None:
    tell(
        "change",
        audit=True,
        verb=verb,
        experiment=call.path["name"],
        token=call.caller.name,
        why=why,
        request=call.request,
    )


def describe(row: Any) -> ExperimentShown:
    """An experiment's row for people; the seed stays where it is."""
    config = _config(row)
    paused = config["paused"]
    arms = [ArmShown(name=arm, paused=at in paused) for at, arm in enumerate(config["arms"])]
    return ExperimentShown(
        **_common(row),
        arms=arms,
        initial=config["initial"],
        epoch=config["epoch"],
        options=config["options"],
    )


def _common(row: Any) -> dict[str, Any]:
    config = _config(row)
    winner = config["winner"]
    return {
        "name": row.name,
        "status": "stopped" if config["stopped"] else "running",
        "winner": None if winner is None else config["arms"][winner],
        "goal": config["options"]["goal"],
        "rewards": row.rewards,
        "version": row.version,
        "revision": row.revision,
        "created": rfc3339(row.created),
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


def _rows_after(store: Store, after: str | None, covers: Callable[[str], bool]) -> list[Any]:
    """The rows of experiments, in the order of their names."""
    names = [name for name in store.names() if covers(name) and (after is None or name > after)]
    return [row for row in map(store.find, sorted(names)) if row is not None]
