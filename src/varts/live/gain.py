"""What learning has earned: the decisions outside the holdout against those in it.

A holdout is given its arms evenly, so it shows what would have been earned without learning.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from varts._intervals import CONFIDENCE
from varts._text import decimal, places_for
from varts._validation import abbreviate, choice, real
from varts.anytime import Evidence
from varts.anytime.evidence import ERROR
from varts.checks.rewards import FEWEST_PER_ARM
from varts.policies import VarTS
from varts.stats import ArmStats
from varts.tails import Tails

GOALS = {"max": ("earned", "cost"), "min": ("saved", "cost")}  # what learning did, for good or ill


@dataclass(frozen=True)
class Gain:
    """What learning has earned beside an even split, or saved where lower is better.

    Args:
        estimate: The gain of a decision: the difference of the two groups' mean rewards.
        low: The lower end of its interval at `level`, as of this look.
        high: The upper end.
        anytime_low: The lower end of the interval that holds at all looks together, with `error`.
        anytime_high: The upper end.
        total: The same gain of all rewarded decisions outside the holdout.
        total_low: Its lower end, at `level`.
        total_high: Its upper end.
        n: Rewarded decisions outside the holdout.
        n_holdout: Those in it.
        level: The confidence of `low` to `high`.
        error: The chance that `anytime_low` to `anytime_high` ever misses; None if they are left
            out.
        goal: Whether higher or lower is better.

    Numbers are None while the groups have too few rewards for them, or equal ones only.
    """

    estimate: float | None
    low: float | None
    high: float | None
    anytime_low: float | None
    anytime_high: float | None
    total: float | None
    total_low: float | None
    total_high: float | None
    n: int
    n_holdout: int
    level: float
    error: float | None
    goal: str

    def __str__(self) -> str:
        """It in a sentence, which never says more than the intervals do."""
        good, ill = GOALS[self.goal]
        if self.estimate is None or self.low is None or self.high is None:
            few = f"{self.n:,} rewards outside the holdout and {self.n_holdout:,} in it"
            return f"too early to say what learning {good}: {few}"
        places = places_for([self.high - self.low])
        lost = self.high < 0  # a cost is told without its sign

        def between(low: float, high: float) -> str:
            ends = (-high, -low) if lost else (low, high)
            return f"[{decimal(ends[0], places)}, {decimal(ends[1], places)}]"

        size = decimal(-self.estimate, places) if lost else decimal(self.estimate, places, "+")
        what = f"{size} a decision {between(self.low, self.high)}"
        unclear = self.low <= 0 <= self.high
        if unclear:
            text = f"learning may have {good} nothing: {what}"
        else:
            fewer = max(places - int(math.log10(self.n)), 0)
            total = decimal(abs(self.n * self.estimate), fewer)
            text = f"learning {ill if lost else good} {what}, {total} in all"
        if self.error is None:
            return text
        if self.anytime_low is None or self.anytime_high is None:
            return f"{text}; nothing is certain at any look yet"
        text = f"{text}; at any look {between(self.anytime_low, self.anytime_high)}"
        doubt = self.anytime_low <= 0 <= self.anytime_high and not unclear
        return f"{text}, so it may be nothing" if doubt else text

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name, and the sentence."""
        return {**asdict(self), "sentence": str(self)}


def gain(
    stats: ArmStats,
    goal: str = "max",
    level: float = CONFIDENCE,
    error: float | None = ERROR,
) -> Gain:
    """Compare what decisions outside a holdout have paid with those in it.

    The ends are put together from those of both means (Zou & Donner 2008), which come from the
    inference that reports make, so that rewards that are mostly 0 are not taken for Gaussian. Arms
    that were chosen by looking do no harm: given the past, each reward is still unbiased.

    Args:
        stats: The statistics of two groups: the decisions outside the holdout, and those in it;
            with m3 and m4.
        goal: `max`, or `min` if lower is better.
        level: The confidence of the interval of this look.
        error: The chance that the interval for all looks together ever misses; None to leave it
            out, as one must where old rewards fade.

    >>> groups = ArmStats([9000, 1000], [5.4, 4.8], [81e3, 9e3], [0, 0], [22e5, 24e4])
    >>> print(gain(groups))
    learning earned +0.600 a decision [0.404, 0.796], 5400 in all; at any look [0.176, 1.024]
    >>> print(gain(groups, goal="min"))
    learning cost 0.600 a decision [0.404, 0.796], 5400 in all; at any look [0.176, 1.024]
    >>> print(gain(groups.take([1, 1])))
    learning may have earned nothing: +0.000 a decision [-0.263, 0.263]; at any look [-0.531, 0.531]
    """
    if not isinstance(stats, ArmStats):
        raise TypeError(f"stats must be an ArmStats, got {abbreviate(stats)}")
    if stats.K != 2:
        raise ValueError(f"stats must be of two groups, got {stats.K}")
    choice("goal", goal, tuple(GOALS))
    level = real("level", level, above=0, below=1)
    if error is not None:
        error = real("error", error, above=0, below=1)
    n, n_holdout = (round(float(one)) for one in stats.n)
    known = stats.n.min() >= FEWEST_PER_ARM and bool((stats.m2 > 0).all())
    seen = stats if goal == "max" else stats.mirrored()
    estimate, low, high = _interval(seen, level) if known else (None, None, None)
    anytime = _anytime_interval(seen, error) if known and error is not None else (None, None)
    total, total_low, total_high = (
        None if one is None else n * one for one in (estimate, low, high)
    )
    return Gain(
        estimate,
        low,
        high,
        anytime[0],
        anytime[1],
        total,
        total_low,
        total_high,
        n,
        n_holdout,
        level,
        error,
        goal,
    )


def _interval(seen: ArmStats, level: float) -> tuple[float, float, float]:
    """The difference of the means, and its interval made of those of both."""
    estimate = float(seen.mean[0] - seen.mean[1])
    belief = VarTS().inferred(seen)
    down, up = (np.abs(end - belief.loc) for end in belief.interval(level))
    return estimate, estimate - math.hypot(down[0], up[1]), estimate + math.hypot(up[0], down[1])


def _anytime_interval(seen: ArmStats, error: float) -> tuple[float, float] | tuple[None, None]:
    evidence = Evidence(seen, Tails.of(seen).kurtosis)
    low, high = (float(end) for end in evidence.difference_interval(0, 1, 1 - error))
    return (low, high) if math.isfinite(low) else (None, None)
