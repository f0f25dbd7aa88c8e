"""The tables of a report as text, for the command line and the pages of the service.

Both show the same words and the same digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from varts._text import decimal, places_for, range_text
from varts.live.core.state import State
from varts.live.options import GUARD_SIGNS, features_text
from varts.live.report.control import Comparison
from varts.live.report.report import Report


class ArmCells(NamedTuple):
    """The row of an arm, as text."""

    arm: str
    paused: bool
    n: str
    sd: str
    estimate: str
    interval: str
    anytime: str
    p_best: str
    expected_loss: str
    share: str
    pending: str


class MetricCells(NamedTuple):
    """The table of a secondary metric, as text.

    `rows` has no headings, and `left_out` is the number of arms that it doesn't show.
    """

    name: str
    guard: str | None
    rows: list[tuple[str, ...]]
    left_out: int


def status(state: State) -> str:
    """Whether the experiment is running, in a few words."""
    config = state.config
    if config.winner is not None:
        return f"stopped, {config.arms[config.winner]} for everybody"
    if config.stopped:
        return "stopped"
    paused = len(config.paused)
    return f"running, {paused} {'arm' if paused == 1 else 'arms'} paused" if paused else "running"


def option_text(value: Any) -> str:
    """The value of an option, as you type it on the command line.

    >>> option_text({"label": "VarTS"}), option_text([0.0, 100.0]), option_text(None)
    ('VarTS', '0,100', 'none')
    >>> option_text({"refund": ("below", 0.05)}), option_text({"margin": 0.0, "visits": 1.0})
    ('refund<0.05', 'margin=0,visits=1')
    >>> option_text({"kinds": {"visits": "number"}, "interactions": [], "optional": []})
    'visits=number'
    """
    if isinstance(value, dict) and "label" in value:
        return str(value["label"])
    if isinstance(value, dict) and "kinds" in value:
        return features_text(value)
    if isinstance(value, dict) and "mu" not in value:  # of metrics, not a prior
        return ",".join(f"{name}{_after_metric(one)}" for name, one in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        texts = (one if isinstance(one, str) else f"{one:g}" for one in value)
        return ",".join(texts) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _after_metric(value: Any) -> str:
    """What you type after the name of a metric: its guardrail, or the number if it is missing."""
    if isinstance(value, (list, tuple)):
        side, limit = value
        return f"{GUARD_SIGNS[side]}{limit:g}"
    return f"={value:g}"


def interval_titles(found: Report) -> tuple[str, str]:
    """The headings of the two columns of intervals."""
    return f"{100 * found.level:g} % interval", f"{100 * (1 - found.error):g} % anytime"


def percentage(share: float | None) -> str:
    """A share or probability in percent. It is 0 % or 100 % only if it is exactly that.

    >>> [percentage(x) for x in (0.5, 0.99964, 0.9999999, 0.0002, 1e-9, 1.0, None)]
    ['50.0 %', '99.96 %', '> 99.99 %', '0.02 %', '< 0.01 %', '100 %', '-']
    """
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.0001 or share > 0.9999:
        return "< 0.01 %" if share < 0.5 else "> 99.99 %"
    places = 1 if 0.001 <= share <= 0.999 else 2
    return f"{100 * share:.{places}f} %"


def probability(share: float | None) -> str:
    """A probability with four decimals, as on the command line; - for none."""
    return "-" if share is None else f"{share:.4f}"


def arm_cells(found: Report, top: int | None = None, percent: bool = False) -> list[ArmCells]:
    """The table of a report, a row per arm, the best first.

    Args:
        found: The report.
        top: How many rows to show; all by default.
        percent: Whether to show probabilities in percent.
    """
    chance = percentage if percent else probability
    config = found.state.config
    paused = {config.arms[arm] for arm in config.paused}
    rows = (found.ranking if top is None else found.ranking.head(top)).to_dicts()
    places = _places(rows, "mean_low", "mean_high")
    return [
        ArmCells(
            arm=row["arm"],
            paused=row["arm"] in paused,
            n=f"{row['n']:,}",
            sd=decimal(row["sd"], places),
            estimate=decimal(row["estimate"], places),
            interval=range_text(row["mean_low"], row["mean_high"], places),
            anytime=range_text(row["anytime_low"], row["anytime_high"], places),
            p_best=chance(row["p_best"]),
            expected_loss="-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            share=percentage(row["share"]) if percent else f"{row['share']:.1%}",
            pending=f"{row['pending']:,}",
        )
        for row in rows
    ]


def control_titles(found: Report) -> tuple[str, ...]:
    """The headings of the table of differences from the control."""
    interval, anytime = interval_titles(found)
    return "arm", "difference", interval, anytime, "lift", f"{interval} of the lift", "P(better)"


def control_title(found: Report) -> str:
    """A short title for the table of differences."""
    arm = "" if found.control is None else found.control.arm
    return f"compared with {arm}, the control"


def control_cells(found: Report, arms: list[str], percent: bool = False) -> list[tuple[str, ...]]:
    """The rows of the table of differences from the control.

    Args:
        found: The report.
        arms: The arms to show, in this order.
        percent: Whether to show probabilities in percent.
    """
    chance = percentage if percent else probability
    if found.control is None:
        return []
    rows = {one.arm: one for one in found.control.comparisons}
    shown = [rows[arm] for arm in arms if arm in rows]
    wide = [one.high - one.low for one in shown if one.high is not None and one.low is not None]
    places = places_for(wide)
    return [
        (
            one.arm,
            decimal(one.difference, places, "+"),
            range_text(one.low, one.high, places),
            range_text(one.anytime_low, one.anytime_high, places),
            "-" if one.lift is None else f"{one.lift:+.1f} %",
            range_text(one.lift_low, one.lift_high, 1) + ("" if one.lift is None else " %"),
            chance(one.p_better),
        )
        for one in shown
    ]


def main_comparison(found: Report) -> Comparison | None:
    """The comparison of the best arm that isn't the control; None without a control."""
    if found.control is None:
        return None
    known = {one.arm: one for one in found.control.comparisons}
    return next((known[arm] for arm in found.ranking["arm"] if arm in known), None)


def lift_text(one: Comparison) -> str | None:
    """A lift with its interval; None if the comparison has no lift.

    >>> lift_text(Comparison("b", 2.0, 1.0, 3.0, None, None, 50.0, 4.3, 115.7, 0.98))
    '+50.0 % [4.3, 115.7]'
    """
    if one.lift is None or one.lift_low is None or one.lift_high is None:
        return None
    return f"{one.lift:+.1f} % [{one.lift_low:.1f}, {one.lift_high:.1f}]"


def gain_text(found: Report) -> str | None:
    """The total gain from learning, with its interval; None while that isn't known."""
    gain = found.gain
    if gain is None or gain.total is None or gain.total_low is None or gain.total_high is None:
        return None
    places = max(places_for([gain.total_high - gain.total_low]) - 1, 0)
    total, low, high = (
        decimal(x, places, "+,") for x in (gain.total, gain.total_low, gain.total_high)
    )
    return f"{total} [{low}, {high}]"


def amount(value: float | None) -> str:
    """A sum of rewards: with cents if it is small.

    >>> [amount(x) for x in (1234.5, 2345678.9, 0.00012, None)]
    ['1,234.50', '2,345,679', '0.00012', '-']
    """
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1e15 or 0 < size < 0.01:
        return f"{value:.4g}"
    return f"{value:,.0f}" if size >= 1e5 else f"{value:,.2f}"


def metric_cells(found: Report, arms: list[str]) -> Iterator[MetricCells]:
    """A table for each secondary metric, with these arms in this order."""
    if found.metrics is None:
        return
    order = {arm: place for place, arm in enumerate(arms)}
    for metric in found.metrics.partition_by("metric", maintain_order=True):
        rows = [row for row in metric.to_dicts() if row["arm"] in order]
        rows.sort(key=lambda row: order[row["arm"]])
        guard, places = metric["guard"][0], _places(rows, "low", "high")
        body = [
            (
                row["arm"],
                f"{row['n']:,}",
                decimal(row["estimate"], places),
                range_text(row["low"], row["high"], places),
                range_text(row["anytime_low"], row["anytime_high"], places),
                *((row["flag"],) if guard else ()),
            )
            for row in rows
        ]
        yield MetricCells(metric["metric"][0], guard, body, len(metric) - len(rows))


def _places(rows: list[dict[str, Any]], low: str, high: str) -> int:
    """Decimals of a table: enough for its narrowest interval, or for its smallest mean."""
    wide = [row[high] - row[low] for row in rows if row[low] is not None]
    return places_for(wide or [abs(row["mean"]) for row in rows if row["mean"] is not None])
