"""A live experiment as a person reads it, on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from varts._text import printable
from varts.cli.app import say
from varts.context.text import by_context_text
from varts.live.report import and_more
from varts.live.wording import arm_cells, interval_titles, metric_cells, status, verdict

if TYPE_CHECKING:
    from varts.live import Report


def show_report(found: Report, store_flag: list[str], top: int) -> None:
    """A report as a table of the first arms, with a line above and a verdict below."""
    state, ranking = found.state, found.ranking
    label = state.config.options.policy["label"]
    say(
        f"{found.name}: {label}, goal {found.goal}, {state.counted:,} rewards, "
        f"{ranking['pending'].sum():,} pending, epoch {state.config.epoch}, {status(state)}"
    )
    intervals, rows = interval_titles(found), arm_cells(found, top)
    titles = ("arm", "n", "sd", "estimate", *intervals, "P(best)", "expected loss", "share")
    show_aligned(
        (*titles, "pending"),
        ((row.arm + (" (paused)" if row.paused else ""), *row[2:]) for row in rows),
    )
    say(*and_more(len(ranking) - top))
    _show_metrics(found, [row.arm for row in rows])
    say(_advice(found, store_flag))
    if found.certainty != found.because and found.best is not None:
        say(found.certainty)
    say(*found.sentences)
    if found.context is not None:
        print()
        print(by_context_text(found.context))


def _show_metrics(found: Report, arms: list[str]) -> None:
    """The secondary metrics of these arms, a table each."""
    if found.metrics is None:
        return
    for metric in metric_cells(found, arms):
        titles = (metric.name, "n", "estimate", *interval_titles(found))
        say("")
        show_aligned((*titles, metric.guard) if metric.guard else titles, metric.rows)
        say(*and_more(metric.left_out))
    say("")


def show_aligned(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that is never cut, with the first column to the left and others to the right.

    A table of rich's takes ten seconds for ten thousand rows, and this one less than one.
    """
    lines = [[printable(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        gaps = [" " * (width - cell_len(one)) for width, one in zip(widths, line, strict=True)]
        first, *others = (
            one + gap if place == 0 else gap + one
            for place, (one, gap) in enumerate(zip(line, gaps, strict=True))
        )
        print("  ".join([first, *others]).rstrip())


def _advice(found: Report, store_flag: list[str]) -> str:
    """What the numbers say, with the command that follows from it."""
    said = verdict(found)
    if found.state.config.stopped or not found.stop:
        return said
    winner = str(found.winner)
    chosen = [f"--winner={winner}"] if winner.startswith("-") else ["--winner", winner]
    command = shlex.join(["varts", "experiment", "stop", found.name, *chosen, *store_flag])
    return f"{said}; to follow it: {command}"
