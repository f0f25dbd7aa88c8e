"""A live experiment as a person reads it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.table import Table

from varts._text import decimal, places_for
from varts.cli.app import cell, say, show

if TYPE_CHECKING:
    from varts.live import Report
    from varts.live.state import State

REWARDS_PER_ARM = 10  # in play and on average, before an arm is said to be ahead
ODDS_OF_A_LEADER = 3.0  # times those among equal arms: P(best) of 0.75 with two arms, 0.25 with ten


def status(state: State) -> str:
    """Whether it runs, in a word or two."""
    config = state.config
    if config.winner is not None:
        return f"stopped, {config.arms[config.winner]} for everybody"
    if config.stopped:
        return "stopped"
    return "running" if not config.paused else f"running, {len(config.paused)} paused"


def shown(value: Any) -> str:
    """The value of an option."""
    if isinstance(value, dict) and "label" in value:
        return str(value["label"])
    if isinstance(value, dict):
        sides = {"below": "<", "above": ">"}
        limits = (f"{name}{sides[side]}{limit:g}" for name, (side, limit) in value.items())
        return ",".join(limits) or "none"
    if isinstance(value, (list, tuple)):
        texts = (one if isinstance(one, str) else f"{one:g}" for one in value)
        return ",".join(texts) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def report_body(found: Report) -> dict[str, Any]:
    """A report for scripts."""
    names = ("name", "version", "goal", "level", "error", "best", "possible", "stop", "because")
    body = {name: getattr(found, name) for name in (*names, "winner", "certainty", "notes")}
    return {**body, "arms": found.frame.to_dicts()}


def show_report(found: Report, store_flag: list[str]) -> None:
    """A report as a table, with a line above and a verdict below."""
    state, rows = found.state, found.frame.to_dicts()
    label = state.config.options.policy["label"]
    pending = sum(row["pending"] for row in rows)
    say(
        f"{found.name}: {label}, goal {found.goal}, {state.rewards:,} rewards, "
        f"{pending:,} pending, epoch {state.config.epoch}, {status(state)}"
    )
    wide = [row["mean_high"] - row["mean_low"] for row in rows if row["mean_low"] is not None]
    places = places_for(wide or [abs(row["mean"]) for row in rows if row["mean"] is not None])
    table = Table("arm", box=None, pad_edge=False)
    intervals = f"{100 * found.level:g} % interval", f"{100 * (1 - found.error):g} % at any look"
    titles = ("n", "mean", "sd", *intervals, "P(best)", "expected loss", "share", "pending")
    for title in titles:
        table.add_column(title, justify="right")
    for index, row in enumerate(rows):
        paused = " (paused)" if index in state.config.paused else ""
        table.add_row(
            cell(row["arm"]) + paused,
            f"{row['n']:,}",
            decimal(row["mean"], places),
            decimal(row["sd"], places),
            _range(row["mean_low"], row["mean_high"], places),
            _range(row["anytime_low"], row["anytime_high"], places),
            "-" if row["p_best"] is None else f"{row['p_best']:.4f}",
            "-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            f"{row['share']:.1%}",
            f"{row['pending']:,}",
        )
    show(table, uncut=True)
    say(_verdict(found, store_flag))
    if found.certainty != found.because and found.best is not None:
        say(found.certainty)
    say(*(f"note: {note}" for note in found.notes))


def _verdict(found: Report, store_flag: list[str]) -> str:
    """What the numbers say, with the command that follows from it."""
    if found.state.config.stopped or found.best is None:
        return found.because
    if found.stop:
        winner = str(found.winner)
        chosen = [f"--winner={winner}"] if winner.startswith("-") else ["--winner", winner]
        advice = shlex.join(["varts", "experiment", "stop", found.name, *chosen, *store_flag])
        return f"the stop rule is met: {found.because}; to follow it: {advice}"
    if not _separates(found):
        return f"too early to say which arm is best; {found.because}"
    return f"best so far: {found.best}; {found.because}"


def _separates(found: Report) -> bool:
    """Whether enough is known to name an arm: ten rewards for each arm in play, on average, and one
    whose odds of being the best are three times those that it would have among equal arms."""
    arms = found.frame.filter(found.frame["p_best"].is_not_null())
    odds = ODDS_OF_A_LEADER / max(len(arms) - 1, 1)
    likely = arms["p_best"].to_numpy().max() >= odds / (1 + odds)
    return bool(arms["n"].sum() >= REWARDS_PER_ARM * len(arms) and (likely or len(arms) == 1))


def _range(low: float | None, high: float | None, places: int) -> str:
    if low is None or high is None:
        return "-"
    return f"{decimal(low, places)} to {decimal(high, places)}"
