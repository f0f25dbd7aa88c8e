"""Confidence intervals of means, shares and quantiles, one definition each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from varts._validation import Floats

CONFIDENCE = 0.95  # of an interval, unless another level is asked for


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def t_factor(n: int, level: float = CONFIDENCE) -> float:
    """How many standard errors of a mean of n numbers its t interval reaches to each side.

    >>> round(t_factor(3), 3), round(t_factor(1000), 3)
    (4.303, 1.962)
    """
    return float(special.stdtrit(max(n - 1, 1), (1 + level) / 2))


def standard_error(values: Floats) -> float:
    """Of the mean of these values; NaN for a single one.

    >>> round(standard_error(np.array([1.0, 2.0, 3.0])), 3)
    0.577
    """
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def mean_interval(values: Floats, level: float = CONFIDENCE) -> Interval:
    """The mean and its t interval, whose ends are NaN for a single value.

    >>> [round(x, 3) for x in mean_interval(np.array([1.0, 2.0, 3.0]))]    # 2 +- 4.303 / sqrt(3)
    [2.0, -0.484, 4.484]
    """
    mean, half = float(values.mean()), t_factor(values.size, level) * standard_error(values)
    return Interval(mean, mean - half, mean + half)


def mean_p_value(values: Floats) -> float:
    """Return the two-sided p-value of the t test that the mean is 0; NaN for a single value.

    Args:
        values: The sample.

    >>> round(mean_p_value(np.array([1.0, 2.0, 3.0])), 4)                  # t = 2 sqrt(3)
    0.0742
    """
    mean, error = float(values.mean()), standard_error(values)
    if error == 0:  # all values are equal
        return float(mean == 0)
    return float(2 * special.stdtr(max(values.size - 1, 1), -abs(mean) / error))


def holm(p: Floats) -> Floats:
    """Return Holm's adjusted p-values.

    If you reject every hypothesis whose adjusted value is at most 5 %, the chance that you reject
    any true one is at most 5 %, however the tests depend on each other.

    Args:
        p: The p-values of the single tests.

    >>> holm(np.array([0.04, 0.01, 0.03])).round(2)                # 1 x 0.04, 3 x 0.01, 2 x 0.03
    array([0.06, 0.03, 0.06])
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


def share_interval(hits: float, n: int, level: float = CONFIDENCE) -> Interval:
    """The share of `hits` in n cases and Wilson's interval.

    >>> [round(x, 3) for x in share_interval(5, 10)]
    [0.5, 0.237, 0.763]
    """
    z = special.ndtri((1 + level) / 2)
    middle = (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(hits * (n - hits) / n + z * z / 4)
    return Interval(hits / n, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


def quantile_interval(values: Floats, share: float, level: float = CONFIDENCE) -> Interval:
    """The smallest value that this share of all values do not exceed, and its interval.

    The interval is one of order statistics and holds for any distribution, infinities included;
    an end that the sample is too small for is infinite.

    >>> tuple(quantile_interval(np.arange(1.0, 101.0), 0.5))
    (50.0, 40.0, 61.0)
    """
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    n = len(values)
    at_most = special.bdtr(np.arange(n), n, share)  # P(at most k of n values are below it)
    low = int((at_most <= (1 - level) / 2).sum())
    high = int((at_most < (1 + level) / 2).sum()) + 1
    at = int(np.ceil(n * share - 1e-9))
    return Interval(float(ordered[at]), float(ordered[low]), float(ordered[high]))
