"""Experiments over HTTP: list, create, show, change, stop, delete.

The ETag of an experiment has two parts, `"17-5eed.4031"`: the tag of its configuration, and its
version, which counts rewards, too. If-None-Match compares both of them. If-Match compares only the
first part, so you can change the configuration while rewards arrive.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from varts.live import Store, UnknownExperiment
from varts.serve import commands
from varts.serve.background import Standing
from varts.serve.errors import Problem, refusing
from varts.serve.responses import JSONResponse, not_modified, read_tags, rfc3339
from varts.serve.runtime import Service
from varts.serve.schemas import (
    ArmChanged,
    ArmShown,
    Body,
    ExperimentListed,
    ExperimentShown,
    ExperimentsListed,
    ForgettingAsked,
    Forgotten,
    Text,
    given_options,
    read_prior,
)


class DeletionQuery(Body):
    """The experiment's name once more."""

    confirm: Text


async def list_experiments(request: Request) -> Response:
    """List experiments, by name."""
    service: Service = request.app.state.service
    limit, after = request.state.query.limit, request.state.query.after
    covers = request.state.actor.covers

    def look() -> list[Standing]:
        return list(islice(service.background.standings(covers, after, limit + 1), limit + 1))

    found = await service.read(look)
    page = [_listed(one) for one in found[:limit]]
    more = len(found) > limit
    return JSONResponse(ExperimentsListed(experiments=page, next=page[-1].name if more else None))


async def create_experiment(request: Request) -> Response:
    """Create an experiment. If it exists already, its arms and options must agree."""
    service, actor = request.app.state.service, request.state.actor
    with refusing():
        options = given_options(request.state.body)
    name, arms = _name(request), request.state.body.arms
    new = await commands.create(service, actor, name, arms, options)
    return await _show(request, 201 if new else 200)


async def show_experiment(request: Request) -> Response:
    """Show an experiment: its configuration and its progress."""
    return await _show(request)


async def configure_experiment(request: Request) -> Response:
    """Change options from here on; a new epoch begins."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    note = await _note(request)
    with refusing():
        options = given_options(request.state.body)
    await commands.configure(service, actor, name, options, note, request.state.body.recount)
    return await _show(request)


async def change_arm(request: Request) -> Response:
    """Add an arm, or pause or resume it."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    arm, note = request.path_params["arm"], await _note(request)
    body: ArmChanged = request.state.body
    row = await service.read(_find, service.store, name)
    if arm not in json.loads(row.config)["arms"]:
        with refusing():
            prior = None if body.prior is None else read_prior(body.prior)
        await commands.add_arm(service, actor, name, arm, note, prior, body.paused)
        return await _show(request, 201)
    if body.prior is not None:
        detail = f"prior must be left out for an arm that exists, got one for {arm!r}"
        raise Problem("refused", detail)
    change = commands.pause_arm if body.paused else commands.resume_arm
    await change(service, actor, name, arm, note)
    return await _show(request)


async def stop_experiment(request: Request) -> Response:
    """Stop an experiment, with or without a winner that everybody gets from then on."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    note = await _note(request)
    await commands.stop(service, actor, name, request.state.body.winner, note)
    return await _show(request)


async def restart_experiment(request: Request) -> Response:
    """Restart a stopped experiment."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    await commands.restart(service, actor, name, await _note(request))
    return await _show(request)


async def forget_unit(request: Request) -> Response:
    """Remove a unit's name and contexts from the log. Its rewards are kept."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    body: ForgettingAsked = request.state.body
    count = await commands.forget(
        service, actor, name, body.unit, keep_numbers=body.keep_numbers, why=body.why
    )
    return JSONResponse(Forgotten(decisions=count))


async def delete_experiment(request: Request) -> Response:
    """Delete an experiment with its whole log."""
    service, actor, name = request.app.state.service, request.state.actor, _name(request)
    count = await commands.delete(service, actor, name, request.state.query.confirm)
    return JSONResponse(Forgotten(decisions=count))


# ------------------------------------------------------------------------------ how it is done


async def _show(request: Request, status: int = 200) -> Response:
    service: Service = request.app.state.service
    row = await service.read(_find, service.store, _name(request))
    tag = _tag(row)
    if request.method in ("GET", "HEAD") and (known := not_modified(request, tag)) is not None:
        return known
    return JSONResponse(describe(row), status, {"etag": f'"{tag}"'})


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    return name


async def _note(request: Request) -> commands.Note:
    """Why the client changes the experiment, and the configuration that it has seen."""
    return {"why": request.state.body.why, "expected": await _expected(request)}


async def _expected(request: Request) -> str | None:
    """The tag of the configuration that the client has seen; None if any will do."""
    service: Service = request.app.state.service
    given = request.headers.get("if-match")
    if given is None:
        raise Problem("if-match", "If-Match must be the ETag of the experiment, got none")
    if given.strip() == "*":
        return None
    row = await service.read(_find, service.store, _name(request))
    tag: str = row.tag
    if tag not in (one.rpartition(".")[0] for one in read_tags(given)):
        detail = f'the configuration has changed, and the ETag is now "{_tag(row)}"; read it again'
        raise Problem("changed", detail)
    return tag


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
    return f"{row.tag}.{row.version}"


def _find(store: Store, name: str) -> Any:
    row = store.find(name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {name!r}")
    return row
