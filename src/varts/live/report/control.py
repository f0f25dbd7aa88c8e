"""Every arm compared with the control: the difference, the lift in percent, and P(better).

The interval of a difference combines the intervals of both means (Zou & Donner 2008). The lift is
the ratio of the two means; its interval has the ratios r for which the interval of
mean - r * control contains 0. That is Fieller's method, and for intervals that aren't symmetric it
is the one of Donner & Zou (2012). So the interval of a difference excludes 0 exactly if that of the
lift excludes 0 %. If the interval of the control's mean includes 0, the ratio could be anything,
and there is no percentage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from varts._decoding import decode
from varts._text import decimal, places_for, printable
from varts._validation import Floats
from varts.anytime import Evidence
from varts.kurtosis import Tails
from varts.live.core.effective import thin_arms
from varts.live.report.estimates import ArmEstimates, ReportingPolicy, anytime_unavailable
from varts.live.report.thin import MOST_P_BEST

if TYPE_CHECKING:
    import polars as pl

Interval = tuple[float, float, float]  # lower end, estimate, upper end


class Comparison(NamedTuple):
    """An arm compared with the control. Numbers that aren't known yet are None.

    Args:
        arm: The name of the arm.
        difference: Its estimated mean minus that of the control.
        low: Lower end of the interval of the difference, for this look alone.
        high: Upper end of that interval.
        anytime_low: Lower end of the anytime-valid interval of the difference.
        anytime_high: Upper end of that interval.
        lift: The difference in percent of the control's mean.
        lift_low: Lower end of the interval of the lift, by Fieller's method.
        lift_high: Upper end of that interval.
        p_better: Probability that the arm is better than the control: that its mean is higher, or
            lower if the goal is `min`.
    """

    arm: str
    difference: float | None
    low: float | None
    high: float | None
    anytime_low: float | None
    anytime_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p_better: float | None


@dataclass(frozen=True)
class Control:
    """All arms compared with the control.

    Args:
        arm: The name of the control.
        level: Probability of the intervals for this look alone.
        error: Probability that an anytime-valid interval ever misses; each has its own.
        comparisons: One for every other arm, in the order of the experiment.
        note: Why there are no percentages, or no differences; None if there are.
    """

    arm: str
    level: float
    error: float
    comparisons: tuple[Comparison, ...]
    note: str | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """The comparisons as a table, with a row per arm."""
        import polars as pl

        numbers = dict.fromkeys(Comparison._fields[1:], pl.Float64)
        return pl.DataFrame(self.comparisons, {"arm": pl.String, **numbers}, orient="row")

    def __getitem__(self, arm: str) -> Comparison:
        for one in self.comparisons:
            if one.arm == arm:
                return one
        raise KeyError(arm)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` is the inverse."""
        return {
            "arm": self.arm,
            "level": self.level,
            "error": self.error,
            "note": self.note,
            "arms": [one._asdict() for one in self.comparisons],
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Control:
        """Read the result of `to_dict`.

        Args:
            body: Plain values by name.
        """
        made: Control = decode(cls, {**body, "comparisons": body["arms"]}, "control")
        return made


def compare_with_control(
    arms: ArmEstimates, reporting: ReportingPolicy, level: float
) -> Control | None:
    """Compare every arm with the control; None if the experiment has none.

    Args:
        arms: The numbers of the report.
        reporting: The reporting policy that they come from.
        level: Probability of their credible intervals.
    """
    config = arms.config
    if config.options.control is None:
        return None
    control = config.index(config.options.control)
    name = printable(config.options.control)
    note = None
    own = arms.low[control], arms.estimate[control], arms.high[control]
    if not np.isfinite(own).all():
        note = f"{name} has too few rewards to compare other arms with it"
    elif own[0] <= 0 <= own[2]:
        places = places_for([own[2] - own[0]])
        ends = f"{decimal(own[0], places)} to {decimal(own[2], places)}"
        note = (
            f"there are no percentages, because the interval of the control's mean ({name}: "
            f"{ends}) includes 0 and the ratio could be anything"
        )
    p_better = _p_better(arms, reporting, control)
    anytime = _anytime_differences(arms, reporting, control)
    comparisons = []
    for arm in range(len(config.arms)):
        if arm == control:
            continue
        it = arms.low[arm], arms.estimate[arm], arms.high[arm]
        change = difference(it, own)
        ratio = lift(it, own) if note is None else (math.nan, math.nan, math.nan)
        numbers = (change[1], change[0], change[2], *anytime[:, arm])
        numbers = (*numbers, ratio[1], ratio[0], ratio[2], p_better[arm])
        known = (float(one) if np.isfinite(one) else None for one in numbers)
        comparisons.append(Comparison(config.arms[arm], *known))
    return Control(config.arms[control], level, arms.error, tuple(comparisons), note)


def difference(one: Interval, other: Interval) -> Interval:
    """One mean minus another, with an interval that is combined from those of both.

    Args:
        one: Lower end, estimate and upper end of the first mean.
        other: The same of the second mean.

    >>> [round(end, 6) for end in difference((9.0, 12.0, 16.0), (6.0, 10.0, 13.0))]
    [-2.242641, 2.0, 7.656854]
    """
    change = one[1] - other[1]
    return (
        change - math.hypot(one[1] - one[0], other[2] - other[1]),
        change,
        change + math.hypot(one[2] - one[1], other[1] - other[0]),
    )


def lift(one: Interval, other: Interval) -> Interval:
    """One mean minus another in percent of the other, with the interval of Fieller's method.

    If the other mean is negative, the percentage is one of its absolute value, so that a positive
    lift is always a higher mean.

    Args:
        one: Lower end, estimate and upper end of the first mean.
        other: The same of the second mean. Its interval must not include 0.

    >>> [round(end, 6) for end in lift((9.0, 12.0, 15.0), (6.0, 8.0, 10.0))]
    [4.322356, 50.0, 115.677644]
    """
    if other[2] < 0:  # the same ratio, with both signs changed
        low, ratio, high = lift((-one[2], -one[1], -one[0]), (-other[2], -other[1], -other[0]))
        return -high, -ratio, -low
    ratios = _lowest_ratio(one, other), one[1] / other[1], _highest_ratio(one, other)
    low, ratio, high = (100 * (each - 1) for each in ratios)
    return low, ratio, high


def _lowest_ratio(one: Interval, other: Interval) -> float:
    """The smallest r for which the interval of `one - r other` contains 0; `other` is above 0.

    With r > 0 the upper part of the other interval counts, with r < 0 the lower part. The lower end
    is 0 where (a - r c)^2 = (a - low)^2 + r^2 d^2, a quadratic equation in r.
    """
    (low, a, _), (low2, c, high2) = one, other
    d = high2 - c if low >= 0 else c - low2
    root = math.sqrt(max((a * c) ** 2 - (c * c - d * d) * low * (2 * a - low), 0.0))
    if a > 0:  # in the form that doesn't cancel
        return low * (2 * a - low) / (a * c + root)
    return (a * c - root) / (c * c - d * d)


def _highest_ratio(one: Interval, other: Interval) -> float:
    """The largest such r: the smallest one for -a, with its sign changed."""
    (low, a, high) = one
    return -_lowest_ratio((-high, -a, -low), other)


def _p_better(arms: ArmEstimates, reporting: ReportingPolicy, control: int) -> Floats:
    """P(better than the control) of every arm; NaN where an arm has no estimate.

    If one of the two has too little data, the probability stays between 0.1 and 0.9, as P(best)
    does.
    """
    out = np.full(len(arms.config.arms), np.nan)
    known = reporting.known
    if control not in known:
        return out
    at = int(np.flatnonzero(known == control)[0])
    out[known] = reporting.belief(known).p_better_than(at)
    thin = thin_arms(arms.config, arms.counts, arms.sd)
    doubtful = np.arange(out.size) if control in thin else np.array(thin, dtype=np.int64)
    out[doubtful] = out[doubtful].clip(1 - MOST_P_BEST, MOST_P_BEST)
    return out


def _anytime_differences(arms: ArmEstimates, reporting: ReportingPolicy, control: int) -> Floats:
    """Lower and upper ends of the anytime-valid intervals of the differences; NaN if unknown."""
    seen = reporting.seen
    if anytime_unavailable(arms.config, bool(arms.aggregated.any())) is not None:
        return np.full((2, seen.K), np.nan)
    evidence = Evidence(seen, Tails.of(seen).kurtosis)
    low, high = evidence.difference_interval(np.arange(seen.K), control, 1 - arms.error)
    ends = np.array([low, high] if arms.config.options.goal == "max" else [-high, -low])
    ends[~np.isfinite(ends)] = np.nan
    return ends
