"""The gain from learning: rewards of decisions outside the holdout, compared with those in it.

Decisions in the holdout split the traffic evenly between the arms, so their rewards show what the
experiment would have earned without learning.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from varts._intervals import CONFIDENCE
from varts._text import decimal, places_for
from varts._validation import abbreviate, choice, real
from varts.anytime import ERROR, Evidence
from varts.checks.rewards import FEWEST_PER_ARM
from varts.kurtosis import Tails
from varts.policies import VarTS
from varts.stats import ArmStats

GOALS = {"max": ("earned", "gain"), "min": ("saved", "saving")}  # the verb and noun of a gain


@dataclass(frozen=True)
class Gain:
    """The gain from learning compared with an even split; a saving if the goal is `min`.

    Args:
        estimate: Gain per decision: the difference between the mean rewards of the two groups.
        low: Lower end of its interval at `level`, for this look alone.
        high: Upper end of that interval.
        anytime_low: Lower end of its anytime-valid interval.
        anytime_high: Upper end of that interval.
        total: `estimate` times the number of rewarded decisions outside the holdout.
        total_low: `low` times that number.
        total_high: `high` times that number.
        n: Number of rewarded decisions outside the holdout.
        n_holdout: Number of rewarded decisions in the holdout.
        level: Confidence of the interval from `low` to `high`.
        error: Probability that the anytime-valid interval ever misses; None if there isn't one.
        goal: `max` or `min`.

    Numbers are None while a group has too few rewards, or only equal ones.
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

    @property
    def clear(self) -> bool:
        """Whether the interval of this look excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    def __str__(self) -> str:
        """A sentence that claims no more than the intervals show.

        "Learning earned" needs an anytime-valid interval without 0. If only the interval of this
        look excludes 0, the sentence says "probably".
        """
        verb, noun = GOALS[self.goal]
        if self.estimate is None or self.low is None or self.high is None:
            why = f"{self.n:,} rewards outside the holdout and {self.n_holdout:,} in it"
            if min(self.n, self.n_holdout) >= FEWEST_PER_ARM:
                why = "one of the two groups has only equal rewards"
            return f"too early to say what learning {verb}: {why}"
        places = places_for([self.high - self.low])
        cost = self.high < 0  # stated without its sign

        def interval(low: float, high: float) -> str:
            ends = (-high, -low) if cost else (low, high)
            return f"[{decimal(ends[0], places)}, {decimal(ends[1], places)}]"

        size = decimal(-self.estimate, places) if cost else decimal(self.estimate, places, "+")
        text = f"{size} per decision {interval(self.low, self.high)}"
        anytime, excludes_0 = "", False
        if self.anytime_low is not None and self.anytime_high is not None:
            excludes_0 = not self.anytime_low <= 0 <= self.anytime_high
            anytime = f"; anytime-valid {interval(self.anytime_low, self.anytime_high)}"
        elif self.error is not None:
            anytime = "; too few rewards for an anytime-valid interval yet"
        if not self.clear:
            return f"no clear {noun} from learning yet: {text}{anytime}"
        total = decimal(abs(self.n * self.estimate), max(places - int(math.log10(self.n)), 0))
        verb = "cost" if cost else verb
        probably = "" if excludes_0 else "probably "
        return f"learning {probably}{verb} {text}, {total} in total{anytime}"

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name, and the sentence."""
        return {**asdict(self), "sentence": str(self)}


def gain(
    stats: ArmStats,
    goal: str = "max",
    level: float = CONFIDENCE,
    error: float | None = ERROR,
) -> Gain:
    """Compare the rewards of decisions outside the holdout with those in it.

    The interval combines the intervals of both means (Zou & Donner 2008). These come from the
    inference that reports use, so rewards that are mostly 0 aren't treated as Gaussian. Adaptive
    choices do no harm: given the past, each reward is still unbiased.

    Args:
        stats: Statistics of two groups, with m3 and m4: first the decisions outside the holdout,
            then those in it.
        goal: `max` or `min`.
        level: Confidence of the interval for this look alone.
        error: Probability that the anytime-valid interval ever misses; None for no such interval,
            as with a half-life.

    >>> groups = ArmStats([9000, 1000], [5.4, 4.8], [81e3, 9e3], [0, 0], [22e5, 24e4])
    >>> print(gain(groups))
    learning earned +0.600 per decision [0.404, 0.796], 5400 in total; anytime-valid [0.176, 1.024]
    >>> print(gain(groups, goal="min"))
    learning cost 0.600 per decision [0.404, 0.796], 5400 in total; anytime-valid [0.176, 1.024]
    >>> print(gain(groups.take([1, 1]), error=None))
    no clear gain from learning yet: +0.000 per decision [-0.263, 0.263]
    """
    if not isinstance(stats, ArmStats):
        raise TypeError(f"stats must be an ArmStats, got {abbreviate(stats)}")
    if stats.K != 2:
        raise ValueError(f"stats must have two groups, got {stats.K}")
    choice("goal", goal, tuple(GOALS))
    level = real("level", level, above=0, below=1)
    if error is not None:
        error = real("error", error, above=0, below=1)
    n, n_holdout = (round(float(count)) for count in stats.n)
    estimate = low = high = anytime_low = anytime_high = None
    if stats.n.min() >= FEWEST_PER_ARM and (stats.m2 > 0).all():
        seen = stats if goal == "max" else stats.mirrored()
        estimate, low, high = _interval(seen, level)
        if error is not None:
            anytime_low, anytime_high = _anytime_interval(seen, error)
    total, total_low, total_high = (
        None if value is None else n * value for value in (estimate, low, high)
    )
    return Gain(
        estimate=estimate,
        low=low,
        high=high,
        anytime_low=anytime_low,
        anytime_high=anytime_high,
        total=total,
        total_low=total_low,
        total_high=total_high,
        n=n,
        n_holdout=n_holdout,
        level=level,
        error=error,
        goal=goal,
    )


def _interval(seen: ArmStats, level: float) -> tuple[float, float, float]:
    """The difference of the means, and its interval combined from those of both means."""
    estimate = float(seen.mean[0] - seen.mean[1])
    belief = VarTS()._inference(seen)
    down, up = (np.abs(end - belief.loc) for end in belief.interval(level))
    return estimate, estimate - math.hypot(down[0], up[1]), estimate + math.hypot(up[0], down[1])


def _anytime_interval(seen: ArmStats, error: float) -> tuple[float, float] | tuple[None, None]:
    """The anytime-valid interval of the difference; None while a group has too few rewards."""
    evidence = Evidence(seen, Tails.of(seen).kurtosis)
    low, high = (float(end) for end in evidence.difference_interval(0, 1, 1 - error))
    return (low, high) if math.isfinite(low) else (None, None)
