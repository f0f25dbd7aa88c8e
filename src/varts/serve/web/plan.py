"""Before an experiment starts: the form that creates it, and the plan of what it will cost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl

from varts.serve.auth import Actor
from varts.serve.web.charts import Band, Chart, Table, prior_chart, regret_chart
from varts.serve.web.forms import GROUPS, USUAL_HORIZON, WORDS, Sent, count_arms, read_words
from varts.serve.web.render import REFRESH_SECONDS, render

if TYPE_CHECKING:
    from varts.planning.result import Plan

# --------------------------------------------------------------------------------- a new experiment

NEW = {"knowledge": "nothing", "goal": "max", "hash_units": "on"}


def create_page(viewer: Actor, sent: Sent | None = None, error: str | None = None) -> str:
    """The form for a new experiment.

    Args:
        viewer: The person who is looking.
        sent: The fields as typed, if they were refused or come from another page.
        error: Why it was refused, in a sentence.
    """
    typed = NEW if sent is None else sent
    return render(
        "create.html",
        viewer=viewer,
        typed=typed,
        error=error,
        groups=GROUPS,
        picture=picture_of(typed),
    )


def prior_svg(sent: Sent) -> str:
    """Draw a prior for GET /prior.svg. The title of the picture is the sentence below it.

    Args:
        sent: The fields mean, mean_sd, reward_sd and worth.
    """
    return prior_chart(read_words(sent)).svg


def picture_of(typed: Sent) -> Chart | None:
    """The picture, once all four words are numbers that make a prior."""
    if all(typed.get(name) for name in WORDS):
        with suppress(ValueError, TypeError):
            return prior_chart(read_words(typed))
    return None


# ------------------------------------------------------------------------------------------- a plan

EXAMPLE = {"arms": "3", "horizon": USUAL_HORIZON, "goal": "max"}


def page(
    viewer: Actor,
    sent: Sent | None = None,
    *,
    error: str | None = None,
    done: float | None = None,
    stage: str | None = None,
    found: Plan | None = None,
    in_days: Mapping[str, Any] | None = None,
) -> str:
    """The form of a plan, and the plan if there is one.

    Args:
        viewer: The person who is looking.
        sent: The fields as typed.
        error: Why it was refused, in a sentence.
        done: The progress of the current stage, from 0 to 1, while the plan is made.
        stage: The current stage.
        found: The plan, if it is one in rounds.
        in_days: The result of `ExperimentPlan.to_dict`, if it is one in days.
    """
    from varts.planning.result import headline, plan_sections

    typed = EXAMPLE if sent is None else {**EXAMPLE, **sent, "arms": str(count_arms(sent))}
    sections = [] if found is None else plan_sections(found)
    return render(
        "plan.html",
        viewer=viewer,
        typed=typed,
        error=error,
        picture=picture_of(typed),
        done=done,
        stage=stage,
        refresh=REFRESH_SECONDS if done is not None else None,
        in_days=in_days,
        tables_in_days=[
            Table(title, _heads(rows[0]), rows[1:])
            for title, rows in (() if in_days is None else in_days["tables"])
        ],
        found=found,
        headline=None if found is None else headline(found),
        chart=None if found is None else _regret(found),
        sections=[
            (Table(one.title, _heads(one.rows[0]), one.rows[1:]) if one.rows else None, one.below)
            for one in sections
        ],
    )


def _heads(titles: list[str]) -> list[str]:
    return [title[:1].upper() + title[1:] for title in titles]


def _regret(found: Plan) -> Chart:
    """The curves of the policies, in the order of the plan's first table."""
    bands = {}
    for policy in found.table["policy"]:
        own = found.curves.filter(pl.col("policy") == policy)
        columns = (own[name].to_numpy() for name in ("regret", "regret_low", "regret_high"))
        bands[policy] = Band(*columns)
        rounds = own["round"].to_numpy().astype(float)
    return regret_chart(rounds, bands)
