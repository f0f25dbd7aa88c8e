"""A live experiment as a person reads it, on a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.table import Table

from varts.cli.app import cell, say, show
from varts.live.wording import arm_cells, status, verdict

if TYPE_CHECKING:
    from varts.live import Report


def report_body(found: Report) -> dict[str, Any]:
    """A report for scripts."""
    names = ("name", "version", "goal", "level", "error", "best", "possible", "stop", "because")
    body = {name: getattr(found, name) for name in (*names, "winner", "certainty", "notes")}
    return {**body, "arms": found.frame.to_dicts()}


def show_report(found: Report, store_flag: list[str]) -> None:
    """A report as a table, with a line above and a verdict below."""
    state = found.state
    label = state.config.options.policy["label"]
    say(
        f"{found.name}: {label}, goal {found.goal}, {state.rewards:,} rewards, "
        f"{found.frame['pending'].sum():,} pending, epoch {state.config.epoch}, {status(state)}"
    )
    table = Table("arm", box=None, pad_edge=False)
    intervals = f"{100 * found.level:g} % interval", f"{100 * (1 - found.error):g} % at any look"
    titles = ("n", "mean", "sd", *intervals, "P(best)", "expected loss", "share", "pending")
    for title in titles:
        table.add_column(title, justify="right")
    for row in arm_cells(found):
        table.add_row(cell(row.arm) + (" (paused)" if row.paused else ""), *row[2:])
    show(table, uncut=True)
    say(_advice(found, store_flag))
    if found.certainty != found.because and found.best is not None:
        say(found.certainty)
    say(*(f"note: {note}" for note in found.notes))


def _advice(found: Report, store_flag: list[str]) -> str:
    """What the numbers say, with the command that follows from it."""
    said = verdict(found)
    if found.state.config.stopped or not found.stop:
        return said
    winner = str(found.winner)
    chosen = [f"--winner={winner}"] if winner.startswith("-") else ["--winner", winner]
    command = shlex.join(["varts", "experiment", "stop", found.name, *chosen, *store_flag])
    return f"{said}; to follow it: {command}"
