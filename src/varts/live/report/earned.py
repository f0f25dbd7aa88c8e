"""The earnings of the arms: sums of rewards, and the share of rewards that aren't 0.

These numbers describe what happened. They aren't corrected for anything, so compare arms by their
estimates: an arm with more traffic has a larger sum, and one that was played on better days has a
higher average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from varts.live.core.allocation import tosses
from varts.live.report.report import Report

if TYPE_CHECKING:
    import polars as pl

MOSTLY_ZERO = 0.5  # of the rewards


class Conversion(NamedTuple):
    """How many rewards of an arm aren't 0, and what those are worth.

    Args:
        arm: The name of the arm.
        rewards: The number of its rewards.
        nonzero: How many of them aren't 0.
        rate: Their share; None without rewards.
        value: Their average, such as the value of a basket; None if all are 0.
    """

    arm: str
    rewards: int
    nonzero: int
    rate: float | None
    value: float | None


def total_rewards(found: Report) -> dict[str, float] | None:
    """The sum of each arm's rewards as the statistics count them: clipped, and with `missing`.

    None if the statistics don't have the sums: with a half-life old rewards have faded, and some
    policies count random numbers drawn from the rewards.

    Args:
        found: The report.
    """
    config = found.state.config
    options = config.options
    if options.half_life is not None or not options.policy_is_known or tosses(config):
        return None
    rows = found.frame.select("arm", "n", "mean").iter_rows()
    return {arm: n * mean if n else 0.0 for arm, n, mean in rows}


def conversions(history: pl.DataFrame) -> list[Conversion] | None:
    """Conversion rate and value of each arm; None unless most rewards are 0, and if some came as
    aggregates, which don't say that.

    Args:
        history: The frame of a `History`, with the columns time, rewards, arm, n, nonzero,
            aggregated and cumulative_reward. Its last checkpoint counts.
    """
    if history.is_empty():
        return None
    last = history.filter(
        history["time"] == history["time"][-1], history["rewards"] == history["rewards"][-1]
    ).unique("arm", keep="last", maintain_order=True)
    rewards, nonzero = int(last["n"].sum()), int(last["nonzero"].sum())
    if last["aggregated"].sum() or not 0 < nonzero < (1 - MOSTLY_ZERO) * rewards:
        return None
    rows = last.select("arm", "n", "nonzero", "cumulative_reward").iter_rows()
    return [
        Conversion(arm, n, some, some / n if n else None, total / some if some else None)
        for arm, n, some, total in rows
    ]
