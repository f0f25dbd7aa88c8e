"""Late rewards: what a missing window does to the means.

Without a window, a decision counts when its reward arrives. If small rewards take longer than large
ones, as a 0 that somebody sends at the end of the week, recent decisions contribute the large ones
only, and the means are too high; most of all those of new arms, whose decisions are all recent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._validation import Floats
from varts.checks.finding import NOTE, OK, WARNING, Finding, duration, percent, too_few

FEWEST_REWARDS = 100
NOTED_WAITING = 0.05  # share of an arm's decisions that wait for a reward which may still come
FEWEST_OF_AN_ARM = 50  # decisions, before its share of waiting ones is judged
NOTED_CORRELATION = 0.05
CORRELATION_SDS = 4.5  # rewards with tails exceed it more often than Gaussian ones: see the tests


@dataclass(frozen=True)
class Delays:
    """Decisions that wait for a reward, and how the delay of a reward goes with its size.

    Args:
        labels: A name for every arm.
        seconds: The time within which 99 % of the rewards came.
        rewards: How many rewards have a delay.
        decided: How many decisions each arm has.
        waiting: How many of these have no reward and are younger than that.
        age_rewarded: The median age of decisions with a reward, in seconds.
        age_waiting: The median age of decisions without one.
        correlation: The correlation of a reward with the rank of its delay.
        sds: How many standard deviations it is from 0.
    """

    labels: list[str]
    seconds: float
    rewards: float
    decided: Floats
    waiting: Floats
    age_rewarded: float
    age_waiting: float
    correlation: float
    sds: float


def delay_correlation(table: pl.DataFrame) -> tuple[float, float]:
    """The correlation of rewards with the ranks of their delays, and its distance from 0 in sds.

    Rewards are compared within their arm and the age of their decision. So it has no effect that
    arms differ, that the level moves, or that only the early rewards of a recent decision are here.
    The standard deviation is that of all ways to assign the delays to the rewards.

    Args:
        table: A row per stratum and delay: `stratum`, `delay`, and the number `n`, sum `total` and
            sum of squares `squares` of the rewards.
    """
    by_delay = table.sort("stratum", "delay")
    n, total, squares = (
        by_delay[name].to_numpy().astype(float) for name in ("n", "total", "squares")
    )
    stratum = np.unique(by_delay["stratum"].to_numpy(), return_inverse=True)[1]
    size = int(stratum.max(initial=-1)) + 1

    def summed(x: Floats) -> Floats:
        return np.asarray(np.bincount(stratum, x, minlength=size), dtype=np.float64)

    count = summed(n)
    mean = summed(total) / count
    # The average rank of a delay among those of its stratum, from 0 to 1; their mean is 1/2.
    so_far = np.cumsum(n)
    start = (so_far - n)[np.searchsorted(stratum, np.arange(size))]
    gap = (so_far - start[stratum] - n / 2) / count[stratum] - 0.5
    spread = summed(squares) - count * mean**2
    ranks = summed(n * gap**2)
    covered = summed(gap * (total - n * mean[stratum]))
    useful = (count > 2) & (spread > 0) & (ranks > 0)
    if not useful.any():
        return 0.0, 0.0
    covariance = float(covered[useful].sum())
    variance = float((spread[useful] * ranks[useful] / (count[useful] - 1)).sum())
    most = float(np.sqrt(spread[useful] * ranks[useful]).sum())
    return covariance / most, covariance / float(np.sqrt(variance))


def check_delays(delays: Delays) -> Finding:
    """Whether decisions that wait for a reward distort the means."""
    name = "late rewards"
    if delays.rewards < FEWEST_REWARDS:
        return too_few(name, "rewards with a delay", delays.rewards, FEWEST_REWARDS)
    enough = delays.decided >= FEWEST_OF_AN_ARM
    share = np.where(enough, delays.waiting / np.maximum(delays.decided, 1), 0.0)
    arm = int(share.argmax())
    worst = float(share[arm])
    came = f"99 % of the rewards came within {duration(delays.seconds)}"
    if worst < NOTED_WAITING:
        text = f"{came}, and few decisions are younger than that and have none"
        return Finding(name, OK, worst, text)
    waiting = (
        f"{percent(worst)} of the decisions of {delays.labels[arm]!r} wait for a reward that may "
        f"still come: {came} (median age of decisions: {duration(delays.age_rewarded)} with a "
        f"reward, {duration(delays.age_waiting)} without)"
    )
    related = abs(delays.correlation) >= NOTED_CORRELATION and abs(delays.sds) >= CORRELATION_SDS
    if not related:
        return Finding(
            name,
            NOTE,
            worst,
            f"{waiting}; there is no sign that late rewards differ from early ones, but decisions "
            "without any reward can't show it; set window to be sure",
        )
    sooner, wrong = ("sooner", "high") if delays.correlation < 0 else ("later", "low")
    part = "rewards but no zeros" if delays.correlation < 0 else "zeros but no rewards"
    return Finding(
        name,
        WARNING,
        worst,
        f"{waiting}; larger rewards come {sooner} than small ones (correlation "
        f"{delays.correlation:.2f}), so recent decisions contribute {part}, and the means are too "
        f"{wrong}, most of all those of new arms; set window, so that a decision counts when its "
        "window has closed",
    )


def weighted_median(values: NDArray[np.int64], weights: Floats) -> float:
    """The value below which half of the weight lies.

    >>> weighted_median(np.array([1, 2, 9]), np.array([1.0, 1.0, 3.0]))
    9.0
    """
    if not weights.sum() > 0:
        return 0.0
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)])
