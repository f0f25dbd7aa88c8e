"""The report and the history of a live experiment on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table

from varts._text import decimal, places_for, printable
from varts.cli.app import cell, say, show
from varts.context.text import by_context_text
from varts.live.report.report import and_more
from varts.live.report.text import (
    arm_cells,
    control_cells,
    control_title,
    control_titles,
    interval_titles,
    metric_cells,
    status,
)

if TYPE_CHECKING:
    from varts.live import History, Report
    from varts.live.core.state import State


def counted(state: State) -> int:
    """Return how many rewards the statistics have. A service sends only the number of rewards."""
    try:
        return state.counted
    except NotImplementedError:
        return state.rewards


def show_report(found: Report, store_flag: list[str], top: int) -> None:
    """Print a report: a headline, a table of the best arms, the verdict and further sentences."""
    state, ranking = found.state, found.ranking
    label = state.config.options.policy["label"]
    goal = "maximize" if found.goal == "max" else "minimize"
    say(
        f"{found.name}: {label}, goal: {goal}, {counted(state):,} rewards, "
        f"{ranking['pending'].sum():,} pending, epoch {state.config.epoch}, {status(state)}"
    )
    intervals, rows = interval_titles(found), arm_cells(found, top)
    titles = ("arm", "n", "sd", "estimate", *intervals, "P(best)", "expected loss", "share")
    show_aligned(
        (*titles, "pending"),
        ((row.arm + (" (paused)" if row.paused else ""), *row[2:]) for row in rows),
    )
    say(*and_more(len(ranking) - top))
    _show_control(found, [row.arm for row in rows])
    _show_metrics(found, [row.arm for row in rows])
    say(_advice(found, store_flag))
    say(*found.sentences)
    if found.context is not None:
        say("", *by_context_text(found.context).split("\n"))


def _show_control(found: Report, arms: list[str]) -> None:
    """Print the table of differences from the control, if there is one."""
    if found.control is None:
        return
    say("", control_title(found))
    show_aligned(control_titles(found), control_cells(found, arms))
    say("")


def _show_metrics(found: Report, arms: list[str]) -> None:
    """Print a table for each secondary metric."""
    if found.metrics is None:
        return
    for metric in metric_cells(found, arms):
        titles = (metric.name, "n", "estimate", *interval_titles(found))
        say("")
        show_aligned((*titles, metric.guard) if metric.guard else titles, metric.rows)
        say(*and_more(metric.left_out))
    say("")


def show_aligned(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that is never cut: the first column aligned left, the others right.

    Rich takes ten seconds for a table of ten thousand rows, this function less than one.
    """
    lines = [[printable(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        gaps = [" " * (width - cell_len(one)) for width, one in zip(widths, line, strict=True)]
        first, *others = (
            one + gap if place == 0 else gap + one
            for place, (one, gap) in enumerate(zip(line, gaps, strict=True))
        )
        say("  ".join([first, *others]).rstrip())


def _advice(found: Report, store_flag: list[str]) -> str:
    """The verdict, and the command that stops with the winner, if there is reason to run it."""
    verdict = found.verdict
    met = found.stop and not found.state.config.stopped
    if not met or found.depends_on_context or not found.has_enough_rewards:
        return verdict
    winner = str(found.winner)
    chosen = [f"--winner={winner}"] if winner.startswith("-") else ["--winner", winner]
    command = shlex.join(["varts", "experiment", "stop", found.name, *chosen, *store_flag])
    return f"{verdict}; to stop with this arm, run: {command}"


def show_history(found: History) -> None:
    frame = found.frame
    wide = (frame["mean_high"] - frame["mean_low"]).drop_nulls().to_list()
    places = places_for(wide or frame["mean"].drop_nulls().abs().to_list())
    table = Table("time (UTC)", box=None, pad_edge=False)
    table.add_column("rewards", justify="right")
    table.add_column("arm")
    interval = f"{100 * found.level:g} % interval"
    titles = ("traffic", "n", "mean", "estimate", interval, "P(best)", "expected loss", "total")
    for title in titles:
        table.add_column(title, justify="right")
    before = 0
    for row in frame.iter_rows(named=True):
        is_first = row["checkpoint"] != before
        before = row["checkpoint"]
        known = row["mean_low"] is not None
        low, high = (decimal(row[end], places) for end in ("mean_low", "mean_high"))
        table.add_row(
            f"{row['time']:%Y-%m-%d %H:%M:%S}" if is_first else "",
            f"{row['rewards']:,}" if is_first else "",
            cell(row["arm"]),
            "-" if row["traffic"] is None else f"{row['traffic']:.1%}",
            f"{row['n']:,}",
            decimal(row["mean"], places),
            decimal(row["estimate"], places),
            f"{low} to {high}" if known else "-",
            "-" if row["p_best"] is None else f"{row['p_best']:.4f}",
            "-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            f"{row['cumulative_reward']:,.6g}",
        )
    show(table, uncut=True)
    say(*(f"note: {note}" for note in found.notes))
