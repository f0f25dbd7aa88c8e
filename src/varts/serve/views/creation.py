"""The page that makes an experiment, and the picture of its prior."""

from __future__ import annotations

import re

from varts._validation import abbreviate
from varts.live import Store
from varts.live.experiment import open_experiment
from varts.serve.calls import Call, Reply, tell_change
from varts.serve.pages import create
from varts.serve.pages.forms import NAME_RULE, NewExperiment, read_new
from varts.serve.pages.rendering import experiment_path
from varts.serve.problems import Problem
from varts.serve.views.answers import see, show, viewer_of

SVG = "image/svg+xml"


async def show_form(call: Call) -> Reply:
    """The form for a new experiment."""
    return show(create.page(viewer_of(call), call.query or None))


async def create_experiment(call: Call) -> Reply:
    """Make the experiment that the form asks for, or say above it what is wrong."""
    try:
        asked = read_new(call.body)
        if not call.caller.covers(asked.name):
            raise ValueError(f"name must be one that the token is for, got {asked.name!r}")
        await call.service.write(_create, call.service.store, asked)
    except (ValueError, TypeError) as error:
        return show(create.page(viewer_of(call), call.body, str(error)), 422)
    tell_change(call, "create", None, asked.name)
    return see(experiment_path(asked.name))


def _create(store: Store, asked: NewExperiment) -> None:
    if not re.fullmatch(NAME_RULE, asked.name):
        raise ValueError(
            f"name must be letters, digits, dots and dashes, at most 100, "
            f"got {abbreviate(asked.name)}"
        )
    if store.has(asked.name):
        raise ValueError(f"name must be a new one, got that of an experiment, {asked.name!r}")
    open_experiment(asked.name, asked.arms, store=store, **asked.options)


async def draw_prior(call: Call) -> Reply:
    """The picture of a prior in words."""
    try:
        return Reply(create.prior_svg(call.query).encode(), media_type=SVG)
    except (ValueError, TypeError) as error:
        raise Problem("invalid", str(error)) from None
