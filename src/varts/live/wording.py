"""A report as a person reads it: where the experiment stands, what follows, its tables as text.

The command line and the pages of the service show the same words and the same digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from varts._text import decimal, places_for, range_text
from varts.beliefs.leader import REWARDS_PER_ARM, leads
from varts.live.report import Report
from varts.live.state import State
from varts.live.typed_options import features_text


class ArmCells(NamedTuple):
    """An arm's row of a report, as text."""

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
    """The table of a secondary metric as text: its rows without the heads, and the arms that it
    leaves out."""

    name: str
    guard: str | None
    rows: list[tuple[str, ...]]
    left_out: int


def status(state: State) -> str:
    """Whether it runs, in a word or two."""
    config = state.config
    if config.winner is not None:
        return f"stopped, {config.arms[config.winner]} for everybody"
    if config.stopped:
        return "stopped"
    return "running" if not config.paused else f"running, {len(config.paused)} paused"


def option_text(value: Any) -> str:
    """The value of an option.

    >>> option_text({"label": "VarTS"}), option_text([0.0, 100.0]), option_text(None)
    ('VarTS', '0,100', 'none')
    >>> option_text({"refund": ("below", 0.05)})
    'refund<0.05'
    >>> option_text({"kinds": {"visits": "number"}, "interactions": [], "optional": []})
    'visits=number'
    """
    if isinstance(value, dict) and "label" in value:
        return str(value["label"])
    if isinstance(value, dict) and "kinds" in value:
        return features_text(value)
    if isinstance(value, dict) and "mu" not in value:  # guards, not a prior
        sides = {"below": "<", "above": ">"}
        limits = (f"{name}{sides[side]}{limit:g}" for name, (side, limit) in value.items())
        return ",".join(limits) or "none"
    if isinstance(value, (list, tuple)):
        texts = (one if isinstance(one, str) else f"{one:g}" for one in value)
        return ",".join(texts) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def verdict(found: Report) -> str:
    """What the numbers say, in a sentence."""
    if found.state.config.stopped or found.best is None:
        return found.because
    if found.stop:
        return f"the stop rule is met: {found.because}"
    if found.context is not None and found.context.enough and found.context.worth.low > 0:
        return f"which arm is best depends on the context; {found.because}"
    if not separates(found):
        return f"too early to say which arm is best; {found.because}"
    return f"best so far: {found.best}; {found.because}"


def separates(found: Report) -> bool:
    """Whether enough is known to name an arm: ten rewards for each arm in play, on average, and one
    whose odds of being the best are three times those that it would have among equal arms."""
    arms = found.frame.filter(found.frame["p_best"].is_not_null())
    if arms.is_empty():
        return False
    enough = arms["n"].sum() >= REWARDS_PER_ARM * len(arms)
    return bool(enough and leads(arms["p_best"].to_numpy()))


def interval_titles(found: Report) -> tuple[str, str]:
    """The heads of its two columns of intervals."""
    return f"{100 * found.level:g} % interval", f"{100 * (1 - found.error):g} % at any look"


def arm_cells(found: Report, top: int | None = None) -> list[ArmCells]:
    """The table of a report, a row per arm, the best first; the first `top` of them."""
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
            p_best="-" if row["p_best"] is None else f"{row['p_best']:.4f}",
            expected_loss="-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            share=f"{row['share']:.1%}",
            pending=f"{row['pending']:,}",
        )
        for row in rows
    ]


def metric_cells(found: Report, arms: list[str]) -> Iterator[MetricCells]:
    """The secondary metrics of these arms, in their order, a table each."""
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
    """Decimals for a table: those of its narrowest interval, or of its smallest mean."""
    wide = [row[high] - row[low] for row in rows if row[low] is not None]
    return places_for(wide or [abs(row["mean"]) for row in rows if row["mean"] is not None])
