"""A live experiment as a person reads it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from varts._text import decimal, places_for, printable
from varts.cli.app import say
from varts.live.report import and_more

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
    if isinstance(value, dict) and "mu" not in value:  # guards, not a prior
        sides = {"below": "<", "above": ">"}
        limits = (f"{name}{sides[side]}{limit:g}" for name, (side, limit) in value.items())
        return ",".join(limits) or "none"
    if isinstance(value, (list, tuple)):
        texts = (one if isinstance(one, str) else f"{one:g}" for one in value)
        return ",".join(texts) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def report_body(found: Report) -> dict[str, Any]:
    """A report for scripts: all arms, in their own order."""
    names = ("name", "version", "goal", "level", "error", "best", "possible", "stop", "because")
    body = {name: getattr(found, name) for name in (*names, "winner", "certainty", "notes")}
    gain = None if found.gain is None else found.gain.to_dict()
    metrics = None if found.metrics is None else found.metrics.to_dicts()
    beside = {"gain": gain, "metrics": metrics, "guards": found.guards}
    return {**body, **beside, "arms": found.frame.to_dicts()}


def show_report(found: Report, store_flag: list[str], top: int) -> None:
    """A report as a table of the first arms, with a line above and a verdict below."""
    state, ranking = found.state, found.ranking
    label = state.config.options.policy["label"]
    say(
        f"{found.name}: {label}, goal {found.goal}, {state.rewards:,} rewards, "
        f"{ranking['pending'].sum():,} pending, epoch {state.config.epoch}, {status(state)}"
    )
    intervals = _interval_titles(found)
    titles = ("arm", "n", "sd", "estimate", *intervals, "P(best)", "expected loss", "share")
    paused = {state.config.arms[arm] for arm in state.config.paused}
    rows = ranking.head(top).to_dicts()
    places = _places(rows, "mean_low", "mean_high")
    show_aligned(
        (*titles, "pending"),
        (
            (
                row["arm"] + (" (paused)" if row["arm"] in paused else ""),
                f"{row['n']:,}",
                decimal(row["sd"], places),
                decimal(row["estimate"], places),
                _range(row["mean_low"], row["mean_high"], places),
                _range(row["anytime_low"], row["anytime_high"], places),
                "-" if row["p_best"] is None else f"{row['p_best']:.4f}",
                "-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
                f"{row['share']:.1%}",
                f"{row['pending']:,}",
            )
            for row in rows
        ),
    )
    say(*and_more(len(ranking) - top))
    _show_metrics(found, [row["arm"] for row in rows])
    say(_verdict(found, store_flag))
    if found.certainty != found.because and found.best is not None:
        say(found.certainty)
    say(*found.sentences)


def _show_metrics(found: Report, arms: list[str]) -> None:
    """The secondary metrics of these arms, a table each."""
    if found.metrics is None:
        return
    order = {arm: place for place, arm in enumerate(arms)}
    for metric in found.metrics.partition_by("metric", maintain_order=True):
        rows = [row for row in metric.to_dicts() if row["arm"] in order]
        rows.sort(key=lambda row: order[row["arm"]])
        name, guard = metric["metric"][0], metric["guard"][0]
        places = _places(rows, "low", "high")
        titles = (name, "n", "estimate", *_interval_titles(found))
        body = [
            (
                row["arm"],
                f"{row['n']:,}",
                decimal(row["estimate"], places),
                _range(row["low"], row["high"], places),
                _range(row["anytime_low"], row["anytime_high"], places),
                *((row["flag"],) if guard else ()),
            )
            for row in rows
        ]
        say("")
        show_aligned((*titles, guard) if guard else titles, body)
        say(*and_more(len(metric) - len(rows)))
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


def _interval_titles(found: Report) -> tuple[str, str]:
    return f"{100 * found.level:g} % interval", f"{100 * (1 - found.error):g} % at any look"


def _places(rows: list[dict[str, Any]], low: str, high: str) -> int:
    """Decimals for a table: those of its narrowest interval, or of its smallest mean."""
    wide = [row[high] - row[low] for row in rows if row[low] is not None]
    return places_for(wide or [abs(row["mean"]) for row in rows if row["mean"] is not None])


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
