"""The page of what would have happened: another way of deciding, another stop rule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from varts._text import decimal, places_for
from varts.evaluation import Evaluation
from varts.evaluation.result import cells, shown
from varts.serve.auth import Actor
from varts.serve.web.charts import Table
from varts.serve.web.forms import Sent
from varts.serve.web.render import REFRESH_SECONDS, render

if TYPE_CHECKING:
    import polars as pl


class Met(NamedTuple):
    """When a stop rule would first have been met, and with which arm."""

    time: datetime
    rewards: int
    arm: str
    value: float


def page(
    viewer: Actor,
    name: str,
    arms: Sequence[str],
    sent: Sent | None = None,
    *,
    error: str | None = None,
    found: Evaluation | None = None,
    asked_stop: str | None = None,
    met: Met | None = None,
    as_of: str | None = None,
    waiting: bool = False,
) -> str:
    """The questions, and the answer to the one that was asked.

    Args:
        viewer: The person who is looking.
        name: Of the experiment.
        arms: Its arms.
        sent: The question, as typed.
        error: Why it was refused, in a sentence.
        found: The evaluation of the target policy.
        asked_stop: The stop rule that was asked about, such as "P(best) of 0.97"; None if none was.
        met: When it would have been met; None if never.
        as_of: Which log the answer is from, in a sentence; None if from the latest.
        waiting: Whether the log is still being read for the answer.
    """
    return render(
        "what_if.html",
        viewer=viewer,
        name=name,
        arms=arms,
        typed={} if sent is None else sent,
        error=error,
        found=found,
        answer=None if found is None else _answer(found),
        tables=[] if found is None else _tables(found),
        asked_stop=asked_stop,
        met=met,
        as_of=as_of,
        waiting=waiting,
        refresh=REFRESH_SECONDS if waiting else None,
    )


def find_stop(
    history: pl.DataFrame, stop_p_best: float | None = None, stop_loss: float | None = None
) -> Met | None:
    """The first checkpoint at which a stop rule was met; None if it never was.

    Args:
        history: A row per checkpoint and arm: time, rewards, arm, p_best, expected_loss.
        stop_p_best: The P(best) that suffices.
        stop_loss: The expected loss that suffices; one of the two must be given.
    """
    import polars as pl

    if (stop_p_best is None) == (stop_loss is None):
        raise ValueError("one of stop_p_best and stop_loss must be given, got both or none")
    if stop_p_best is not None:
        column, enough = "p_best", pl.col("p_best") >= stop_p_best
    else:
        column, enough = "expected_loss", pl.col("expected_loss") <= stop_loss
    rows = history.filter(enough).sort("rewards", "time", maintain_order=True)
    if rows.is_empty():
        return None
    same = [pl.col(name) == rows[name][0] for name in ("rewards", "time")]
    first = rows.filter(*same)
    best = first.sort(column, descending=column == "p_best").row(0, named=True)
    return Met(best["time"], best["rewards"], best["arm"], best[column])


def _places(found: Evaluation) -> int:
    known = [*found.estimates.values(), *(one.mean for one in found.arms if one.mean)]
    return places_for(one.high - one.low for one in known)


def _answer(found: Evaluation) -> str:
    """The estimate to quote, in a sentence."""
    places = _places(found)
    value = shown(found.estimates[found.headline], places)
    difference = shown(found.difference, places, "+")
    return (
        f"{found.target}: {value} per decision; against {found.against}: {difference} "
        f"({100 * found.level:g} % intervals, weighted by the logged probabilities, "
        f"{found.headline})"
    )


def _tables(found: Evaluation) -> list[Table]:
    places, interval = _places(found), f"{100 * found.level:g} % interval"
    by_estimator = [[name, *cells(one, places)] for name, one in found.estimates.items()]
    by_arm = [
        [one.arm, f"{one.n:,}", decimal(one.naive, places), *cells(one.mean, places)]
        for one in found.arms
    ]
    return [
        Table("By estimator", ["Estimator", "Value", "Standard error", interval], by_estimator),
        Table(
            "What each arm pays",
            ["Arm", "Rewards", "Plain mean", "Weighted mean", "Standard error", interval],
            by_arm,
        ),
    ]
