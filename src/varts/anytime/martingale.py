"""The evidence against a mean, and against a difference of two means, as plain arithmetic.

The evidence against "the mean of this arm is mu" is the log of a test martingale in the arm's own
Gaussian rewards, whose variance nobody knows (Lai 1976; Wang & Ramdas 2023). By Ville's inequality
it exceeds log(1/p) with probability p at most, at any look: the martingale is that of the sequence
of rewards the arm would pay, and a policy only decides how soon they are asked for.

Two arms have independent sequences, so both martingales together are bounded by 1/(U V), U and V
uniform, which is Fisher's combination: chi-square with 4 degrees of freedom. Nothing is said about
the common mean, so that the one counts which has least evidence against it.

Notation: c2 is the precision of the effect sizes that are mixed over, kappa = c2 / (n + c2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import special

from varts._validation import Floats

Pairs = Literal["fisher", "product"]  # how the evidence of two arms is combined
PAIRS: tuple[Pairs, ...] = ("fisher", "product")
TUNED_ERROR = 0.05  # one c2 for all errors, so that intervals, p-values and verdicts agree

# Points of [0, 1] that crowd at both ends, where the valley of an arm of little variance is narrow.
HALF_GRID = np.sin(np.linspace(0, np.pi / 2, 33)) ** 4 / 2
GRID = np.unique(np.concatenate([HALF_GRID, 1 - HALF_GRID]))
GOLDEN = (np.sqrt(5) - 1) / 2
GOLDEN_STEPS = 36  # leave 3e-8 of a cell of the grid, whose square is the error of a minimum


def mixture_for(n_opt: float) -> float:
    """The c2 whose intervals are narrowest after n_opt rewards; any other is as valid.

    It is n_opt / lam, where lam = -1 - W(-error^2 / e) on the lower branch of Lambert's W.

    >>> round(1000 / mixture_for(1000), 6)
    8.211968
    """
    return n_opt / float(-special.lambertw(-(TUNED_ERROR**2) / np.e, -1).real - 1)


# ---------------------------------------------------------------------------------- one arm's mean


def mean_evidence(n: Any, gap: Any, m2: Any, c2: Any) -> Any:
    """Evidence that the true mean is not `gap` away from the arm's mean, for n >= 2 and m2 > 0.

    log(kappa)/2 + n/2 (log1p(r) - log1p(kappa r)) with r = n gap^2 / m2, written with one logarithm
    instead of two that nearly cancel. At most (n - 1)/2 log(1/kappa), however small m2 is.
    """
    kappa = c2 / (n + c2)
    square = n * gap * gap
    return 0.5 * np.log(kappa) + 0.5 * n * np.log1p(n / (n + c2) * square / (m2 + kappa * square))


def mean_reach(n: Any, m2: Any, evidence: Any, c2: Any) -> Any:
    """How far from the arm's mean that evidence is reached; infinite if it never is."""
    log_kappa = np.log(c2 / (n + c2))
    growth = (2 * evidence - log_kappa) / n
    left = -np.expm1(np.minimum(growth + log_kappa, 0.0))
    finite = left > 0
    # Rounding may leave -1e-17 where the evidence is that of the mean itself.
    ratio = np.maximum(np.expm1(np.where(finite, growth, 0.0)), 0.0) / np.where(finite, left, 1.0)
    return np.where(finite, np.sqrt(m2 / n * ratio), np.inf)


def rewards_for(evidence: float, c2: float) -> float:
    """How many rewards it takes for evidence this large against any mean: with fewer, `mean_reach`
    is infinite.

    No mean has more than (n - 1)/2 log(1/kappa) of evidence against it.

    >>> round(rewards_for(np.log(20), mixture_for(1000)), 3)
    29.026
    """
    low, high = 1.0, 2.0
    while 0.5 * (high - 1) * np.log1p(high / c2) <= evidence:
        high *= 2
    for _ in range(60):
        middle = 0.5 * (low + high)
        enough = 0.5 * (middle - 1) * np.log1p(middle / c2) > evidence
        low, high = (low, middle) if enough else (middle, high)
    return high


# --------------------------------------------------------------------------------------- two arms


def pair_threshold(error: float, pairs: Pairs = "fisher") -> float:
    """The evidence that a pair ever reaches by chance with at most this probability.

    "fisher" bounds the largest values of both martingales, however arms are chosen. "product" is
    Ville's inequality for their product, which is a martingale if the choice of arms doesn't depend
    on the rewards.

    >>> round(pair_threshold(0.05), 6), round(pair_threshold(0.05, "product"), 6)
    (4.743865, 2.995732)
    """
    return float(special.chdtri(4, error)) / 2 if pairs == "fisher" else -math.log(error)


def pair_p_value(evidence: Any, pairs: Pairs = "fisher") -> Any:
    """The inverse of `pair_threshold`: the chance that evidence this large ever turns up.

    >>> round(float(pair_p_value(pair_threshold(0.05))), 12)
    0.05
    >>> round(float(pair_p_value(pair_threshold(0.05, "product"), "product")), 12)
    0.05
    """
    z = np.maximum(evidence, 0.0)
    return (1 + z) * np.exp(-z) if pairs == "fisher" else np.exp(-z)


def pair_evidence(n: Any, m2: Any, n2: Any, m22: Any, gap: Any, c2: float) -> Floats:
    """Evidence of two arms whose means are `gap` off what a hypothesis says of their difference.

    The two true means share out the gap as suits the hypothesis best.
    """
    gap = np.asarray(gap)

    def shared(x: Floats) -> Floats:
        evidence = mean_evidence(n, gap * x, m2, c2) + mean_evidence(n2, gap * (1 - x), m22, c2)
        return np.asarray(evidence)

    return minimum(shared, np.zeros(gap.shape), np.ones(gap.shape))


def pair_reach(n: Any, m2: Any, n2: Any, m22: Any, evidence: float, c2: float) -> Floats:
    """How large a gap must be for that evidence; infinite if none is large enough.

    A gap is too small if the evidence can be split so that both arms' intervals still meet, hence
    it is the largest sum of two such intervals' half widths. No search for a gap is needed.
    """
    least = np.asarray(0.5 * np.log(c2 / (n + c2)))  # an arm's evidence against its own mean
    least2 = np.asarray(0.5 * np.log(c2 / (n2 + c2)))

    def negative_reach(x: Floats) -> Floats:
        return np.asarray(-(mean_reach(n, m2, x, c2) + mean_reach(n2, m22, evidence - x, c2)))

    return -minimum(negative_reach, least, evidence - least2)


def minimum(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """The smallest value of f on [low, high], elementwise: a grid, then golden sections."""
    width = high - low
    values = np.stack([f(low + width * x) for x in GRID])
    at, least = values.argmin(axis=0), np.asarray(values.min(axis=0))
    edges = np.concatenate([GRID[:1], GRID, GRID[-1:]])
    left, right = low + width * edges[at], low + width * edges[at + 2]
    for _ in range(GOLDEN_STEPS):
        step = GOLDEN * (right - left)
        one, other = right - step, left + step
        value, other_value = f(one), f(other)
        least = np.minimum(least, np.minimum(value, other_value))
        leftwards = value < other_value
        left, right = np.where(leftwards, left, one), np.where(leftwards, other, right)
    return least
