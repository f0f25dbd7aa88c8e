"""Anytime-valid inference: statements about arms that hold no matter how often you look.

The first functions compute the evidence against a mean or a difference of means from (n, mean, m2).
`Evidence` applies them to all arms, and `burn_in` says how many rewards skewed data need. The
guarantee, its assumptions and our measurements are in docs/anytime.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._intervals import CONFIDENCE
from varts._validation import Floats, abbreviate, choice, real, reals
from varts.stats import ArmStats

__all__ = ["Evidence", "burn_in"]

# ---------------------------------------------------------------------------------- the martingale
# The evidence against a mean, and against a difference of two means, as plain arithmetic.
#
# The evidence against "the mean of this arm is mu" is the log of a test martingale in the arm's own
# Gaussian rewards of unknown variance (Lai 1976; Wang & Ramdas 2023). By Ville's inequality, the
# probability that it ever exceeds log(1/p) is at most p. The martingale belongs to the sequence of
# rewards that the arm would pay; a policy only decides how soon they are drawn.
#
# Two arms have independent sequences, so 1/(U V) bounds both martingales together, with U and V
# uniform. That is Fisher's combination: chi-square with 4 degrees of freedom. The common mean is
# unknown, so we take the one with the least evidence against it.
#
# Notation: c2 is the precision of the effect sizes that are mixed over, kappa = c2 / (n + c2).

Pairs = Literal["fisher", "product"]  # how the evidence of two arms is combined
PAIRS: tuple[Pairs, ...] = ("fisher", "product")
TUNED_ERROR = 0.05  # one c2 for all errors, so that intervals, p-values and verdicts agree

# Points of [0, 1], dense at both ends, where the valley of an arm with a small variance is narrow.
HALF_GRID = np.sin(np.linspace(0, np.pi / 2, 33)) ** 4 / 2
GRID = np.unique(np.concatenate([HALF_GRID, 1 - HALF_GRID]))
GOLDEN = (np.sqrt(5) - 1) / 2
GOLDEN_STEPS = 36  # they leave 3e-8 of a grid cell; a minimum's error is the square of that


def mixture_for(n_opt: float) -> float:
    """Return the c2 whose intervals are narrowest after n_opt rewards. Any other c2 is also valid.

    It is n_opt / lam, where lam = -1 - W(-error^2 / e) on the lower branch of Lambert's W.

    >>> round(1000 / mixture_for(1000), 6)
    8.211968
    """
    return n_opt / float(-special.lambertw(-(TUNED_ERROR**2) / np.e, -1).real - 1)


# ---------------------------------------------------------------------------------- one arm's mean


def mean_evidence(n: Any, gap: Any, m2: Any, c2: Any) -> Any:
    """Return the evidence that the true mean is not `gap` away from the arm's mean.

    It is log(kappa)/2 + n/2 (log1p(r) - log1p(kappa r)) with r = n gap^2 / m2, written with one
    logarithm instead of two that nearly cancel. It needs n >= 2 and m2 > 0, and is at most
    (n - 1)/2 log(1/kappa), however small m2 is.
    """
    kappa = c2 / (n + c2)
    square = n * gap * gap
    return 0.5 * np.log(kappa) + 0.5 * n * np.log1p(n / (n + c2) * square / (m2 + kappa * square))


def mean_reach(n: Any, m2: Any, evidence: Any, c2: Any) -> Any:
    """Return the distance from the arm's mean with this much evidence, or infinity."""
    log_kappa = np.log(c2 / (n + c2))
    growth = (2 * evidence - log_kappa) / n
    left = -np.expm1(np.minimum(growth + log_kappa, 0.0))
    finite = left > 0
    # At the mean itself, rounding may leave -1e-17.
    ratio = np.maximum(np.expm1(np.where(finite, growth, 0.0)), 0.0) / np.where(finite, left, 1.0)
    return np.where(finite, np.sqrt(m2 / n * ratio), np.inf)


def rewards_for(evidence: float, c2: float) -> float:
    """Return how many rewards this much evidence needs. With fewer, `mean_reach` is infinite.

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
    """Return the evidence that a pair ever reaches by chance with at most this probability.

    "fisher" bounds the largest values of both martingales, no matter how arms are chosen. "product"
    is Ville's inequality for their product, which is a martingale if the choice of arms doesn't
    depend on the rewards.

    >>> round(pair_threshold(0.05), 6), round(pair_threshold(0.05, "product"), 6)
    (4.743865, 2.995732)
    """
    return float(special.chdtri(4, error)) / 2 if pairs == "fisher" else -math.log(error)


def pair_p_value(evidence: Any, pairs: Pairs = "fisher") -> Any:
    """Return the chance of ever seeing this much evidence: the inverse of `pair_threshold`.

    >>> round(float(pair_p_value(pair_threshold(0.05))), 12)
    0.05
    >>> round(float(pair_p_value(pair_threshold(0.05, "product"), "product")), 12)
    0.05
    """
    z = np.maximum(evidence, 0.0)
    return (1 + z) * np.exp(-z) if pairs == "fisher" else np.exp(-z)


def pair_evidence(n: Any, m2: Any, n2: Any, m22: Any, gap: Any, c2: float) -> Floats:
    """Return the evidence against a hypothesis about the difference of two means.

    Their sample means differ from the hypothesis by `gap`. The two true means divide the gap in the
    way that is most favorable to the hypothesis.
    """
    gap = np.asarray(gap)

    def shared(x: Floats) -> Floats:
        evidence = mean_evidence(n, gap * x, m2, c2) + mean_evidence(n2, gap * (1 - x), m22, c2)
        return np.asarray(evidence)

    return minimum(shared, np.zeros(gap.shape), np.ones(gap.shape))


def pair_reach(n: Any, m2: Any, n2: Any, m22: Any, evidence: float, c2: float) -> Floats:
    """Return the gap that gives this much evidence; infinite if no gap is large enough.

    A gap is too small if the evidence can be split so that both arms' intervals still meet. So the
    result is the largest sum of half widths of two such intervals, and needs no search for a gap.
    """
    least = np.asarray(0.5 * np.log(c2 / (n + c2)))  # an arm's evidence against its own mean
    least2 = np.asarray(0.5 * np.log(c2 / (n2 + c2)))

    def negative_reach(x: Floats) -> Floats:
        return np.asarray(-(mean_reach(n, m2, x, c2) + mean_reach(n2, m22, evidence - x, c2)))

    return -minimum(negative_reach, least, evidence - least2)


def minimum(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the smallest value of f on [low, high], elementwise: a grid, then golden sections."""
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


# ---------------------------------------------------------------------------- the likelihood ratio
# The generalized likelihood ratio of two arms with unknown variances, as plain arithmetic. EB-TCI
# samples by it (Jourdan, Degenne & Kaufmann 2023).
#
# It tests "both means are equal". An arm whose mean is `gap` away from the common mean adds
# n/2 log(1 + n gap^2 / m2), and the common mean is the one that makes the sum smallest. `Evidence`
# doesn't use it, because the thresholds in use have no proof.


# We tried 200,000 pairs with n, variances and gap over orders of magnitude. After 48 steps the
# relative error was above 1e-6 for 1 pair in 10,000, and 6e-5 for the worst: flat minima are slow.
STEPS = 48


def mean_ratio(n: Any, gap: Any, m2: Any) -> Any:
    """Return one arm's log-likelihood ratio against a mean `gap` away from its own, for m2 > 0."""
    return 0.5 * n * np.log1p(n * gap * gap / m2)


def likelihood_ratio(n: Any, m2: Any, n2: Any, m22: Any, gap: Any) -> Any:
    """Return the log-likelihood ratio of two arms against equal means, for m2 > 0 of both.

    Their sample means are `gap` apart. Let x be the part of the gap between the first arm and the
    common mean. A minimum has x = b / (a + b), where a = n / (m2/n + (x gap)^2) and b is the same
    for the other arm with 1 - x. The right side grows with x, so repeating it moves up from x = 0
    to the smallest solution, and down from x = 1 to the largest. The solutions are the roots of a
    cubic, so there is no other minimum.

    >>> round(float(likelihood_ratio(60.0, 118.0, 50.0, 12.25, 0.5)), 8)
    3.1813687
    """
    v, v2, square = m2 / n, m22 / n2, gap * gap
    low, high = 0.0 * square, 0.0 * square + 1.0
    for _ in range(STEPS):
        b = n2 * (v + square * low * low)
        low = b / (b + n * (v2 + square * (1 - low) * (1 - low)))
        b = n2 * (v + square * high * high)
        high = b / (b + n * (v2 + square * (1 - high) * (1 - high)))
    one = mean_ratio(n, low * gap, m2) + mean_ratio(n2, (1 - low) * gap, m22)
    other = mean_ratio(n, high * gap, m2) + mean_ratio(n2, (1 - high) * gap, m22)
    return np.minimum(one, other)


def transport_cost(gap: Any, variance: Any, variance2: Any) -> Any:
    """Return the log-likelihood ratio for known variances of both means: an upper bound.

    T3C chooses its challenger by it. It is 0 unless the leader is ahead, `gap` > 0.

    >>> round(float(transport_cost(0.5, 118 / 60**2, 12.25 / 50**2)), 8)
    3.31760543
    """
    return np.where(gap > 0, 0.5 * gap * gap / (variance + variance2), 0.0)


# ---------------------------------------------------------------------------------- skewed rewards
# How many rewards it takes before skewed ones may be treated as Gaussian.
#
# After a number of rewards proportional to their kurtosis, a mean of skewed rewards is Gaussian
# enough and their variance is known well enough. For rewards of 0 and 1, a share p of them 1, the
# kurtosis is about 1/p, so this is a number of ones.


# Rewards per unit of kurtosis. We chose among 1, 2, 3, 5, 7.5, 10, 15, 20 and 30, in other worlds
# than those of docs/anytime.md, which has the results. For pairs, 10 is the smallest that kept
# errors of 5, 1 and 0.1 %. For means, 15 kept 5 and 1 %, and 20 leaves a margin.
PAIR_BURN_IN, MEAN_BURN_IN = 10.0, 20.0


def burn_in(kurtosis: float | None) -> tuple[float, float]:
    """Return how many rewards an arm needs before it is compared, and before it has an interval.

    Args:
        kurtosis: The kurtosis of the rewards; None if they are certainly Gaussian.

    >>> burn_in(18.05)      # 0 or 1, with 5 % ones: about ten and twenty of them
    (180.5, 361.0)
    """
    if kurtosis is None:
        return 0.0, 0.0
    kurtosis = real("kurtosis", kurtosis, at_least=1, infinite=True)
    return PAIR_BURN_IN * kurtosis, MEAN_BURN_IN * kurtosis


# ---------------------------------------------------------------------------------------- all arms
# `Evidence`: anytime-valid statements about all arms.


N_OPT = 1000.0  # rewards of an arm at which intervals are narrowest, by default
ERROR = 0.05
ROUNDING = 8 * np.finfo(np.float64).eps  # of a mean: rewards that differ by less are equal
SPLITS = 9  # ways to split the evidence between two arms, to find pairs that could be decided
MOST_PAIRS = 200_000  # examined at a time


@dataclass(frozen=True, eq=False)
class Evidence:
    """Anytime-valid intervals and comparisons of arms, under any policy.

    They are exact for independent Gaussian rewards with constant means and variances. Other rewards
    need their kurtosis. Don't use them for statistics with a half-life, or for units with several
    rewards.

    Args:
        stats: The statistics of all arms that ever took part.
        kurtosis: The kurtosis of the rewards, from `Tails.of(stats)`: an arm counts only after
            `burn_in(kurtosis)` rewards. None if they are certainly Gaussian.
        n_opt: The rewards per arm at which intervals should be narrowest, chosen before the first
            look. A factor of 3 costs 5 % of width.
        pairs: How the evidence of two arms is combined. "fisher" is valid under any policy.
            "product" needs less evidence: ln(1/error) instead of 4.74 at 5 %. It is a theorem only
            if the choice of arms doesn't depend on the rewards, as with an even split. With a
            policy that learns there is no proof; docs/anytime.md has the measured false alarms.

    >>> evidence = Evidence(ArmStats([400, 300, 300], [1.3, 0.8, 1.2], [420, 280, 300]))
    >>> evidence.possible_best()
    array([ True, False,  True])
    >>> evidence.p_value(0, [1, 2]).round(6)
    array([1.2e-05, 1.0e+00])
    >>> low, high = evidence.mean_intervals()
    >>> low.round(3), high.round(3)
    (array([1.139, 0.62 , 1.014]), array([1.461, 0.98 , 1.386]))
    """

    stats: ArmStats
    kurtosis: float | None = None
    n_opt: float = N_OPT
    pairs: Pairs = "fisher"

    def __post_init__(self) -> None:
        choice("pairs", self.pairs, PAIRS)
        if not isinstance(self.stats, ArmStats):
            raise TypeError(f"stats must be an ArmStats, got {abbreviate(self.stats)}")
        burn_in(self.kurtosis)
        real("n_opt", self.n_opt, above=0)

    def mean_intervals(self, level: float = CONFIDENCE) -> tuple[Floats, Floats]:
        """Return an anytime-valid interval for each arm's mean.

        Args:
            level: The probability that an arm's interval never misses its mean.

        Returns:
            The lower and the upper ends; infinite while an arm has too few rewards.
        """
        level = real("level", level, above=0, below=1)
        half = self._reach(-np.log1p(-level), self._counts(burn_in(self.kurtosis)[1]))
        return self.stats.mean - half, self.stats.mean + half

    def rewards_needed(self, level: float = CONFIDENCE) -> float:
        """Return how many rewards an arm needs before `mean_intervals` has an interval for it.

        Args:
            level: The level of that interval.

        >>> stats = ArmStats([40, 30], [1.3, 0.8], [42, 28])
        >>> Evidence(stats, kurtosis=18.05).rewards_needed()      # twenty times the kurtosis
        361.0
        """
        level = real("level", level, above=0, below=1)
        return max(burn_in(self.kurtosis)[1], rewards_for(-np.log1p(-level), self._c2))

    def against(self, a: Any, b: Any, difference: Any = 0.0) -> Floats:
        """Return the evidence, a natural logarithm, that mean(a) - mean(b) is not `difference`.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            difference: The hypothesis.

        Returns:
            At most 0 where there is no evidence; `p_value` translates it.

        >>> Evidence(ArmStats([400, 300], [1.3, 0.8], [420, 280])).against(0, 1).round(2)
        np.float64(14.02)
        """
        a, b = self._arms("a", a), self._arms("b", b)
        return self._against(a, b, reals("difference", difference))

    def p_value(self, a: Any, b: Any, difference: Any = 0.0) -> Floats:
        """Return the anytime-valid p-value of the hypothesis mean(a) - mean(b) = `difference`.

        If the hypothesis is true, the chance that the p-value is ever below p is at most p.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            difference: The hypothesis.
        """
        return np.asarray(pair_p_value(self.against(a, b, difference), self.pairs))[()]

    def difference_interval(
        self, a: Any, b: Any, level: float = CONFIDENCE
    ) -> tuple[Floats, Floats]:
        """Return an anytime-valid interval for mean(a) - mean(b).

        It contains the differences whose `p_value` is above 1 - level.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            level: The probability that the interval never misses.

        Returns:
            The lower and the upper end; infinite while one of the two arms has too few rewards.

        >>> low, high = Evidence(
        ...     ArmStats([400, 300], [1.3, 0.8], [420, 280])
        ... ).difference_interval(0, 1)
        >>> low.round(3), high.round(3)
        (np.float64(0.189), np.float64(0.811))
        """
        threshold = pair_threshold(1 - real("level", level, above=0, below=1), self.pairs)
        a, b = self._arms("a", a), self._arms("b", b)
        (n, m2), counts = self._harmless, self._compared
        half = pair_reach(n[a], m2[a], n[b], m2[b], threshold, self._c2)
        half = np.where(counts[a] & counts[b], half, np.inf)
        middle = self.stats.mean[a] - self.stats.mean[b]
        return (middle - half)[()], (middle + half)[()]

    def possible_best(self, error: float = ERROR) -> NDArray[np.bool_]:
        """Return which arms may still have the highest mean.

        An arm is ruled out by another arm whose mean is certainly higher. Only its own K - 1 pairs
        could rule out the best arm, so each pair gets an error of error / (K - 1).

        Args:
            error: The probability of ever ruling out the best arm, no matter how often you look.
        """
        error = real("error", error, above=0, below=1)
        K, mean = self.stats.K, self.stats.mean
        possible = np.ones(K, dtype=bool)
        threshold = pair_threshold(error / max(K - 1, 1), self.pairs)
        # A pair is decided only if no split of the evidence between the two arms lets their
        # intervals meet. A few splits show for which pairs to search for the worst split.
        parts = np.linspace(0, threshold, SPLITS)
        reach = np.stack([self._reach(part, self._compared) for part in parts])
        lows, highs, middle = mean - reach, mean + reach[::-1], SPLITS // 2
        strongest_first = np.argsort(-lows[middle], kind="stable")
        start, count = 0, 1
        while start < K:
            arms = strongest_first[start : start + count]
            rivals = np.flatnonzero(possible & (highs[middle] < lows[middle, arms[0]]))
            if rivals.size == 0:  # later arms can't rule out more
                break
            decided = (highs[:, None, rivals] <= lows[:, arms, None]).all(axis=0)
            arm, rival = np.nonzero(decided)
            evidence = self._against(arms[arm], rivals[rival], np.zeros(()))
            possible[rivals[rival[evidence >= threshold]]] = False
            # The first few arms rule out nearly all others, so take more arms at a time.
            start, count = start + count, min(2 * count, max(1, MOST_PAIRS // rivals.size))
        return possible

    def certain_best(self, error: float = ERROR) -> int | None:
        """Return the arm with the highest mean once all others are ruled out, otherwise None.

        Args:
            error: The probability of ever naming a wrong arm, no matter how often you look.

        >>> Evidence(ArmStats([400, 300], [1.3, 0.8], [420, 280])).certain_best()
        0
        >>> Evidence(ArmStats([40, 30], [1.3, 0.8], [42, 28])).certain_best() is None
        True
        """
        possible = np.flatnonzero(self.possible_best(error))
        return int(possible[0]) if possible.size == 1 else None

    # ------------------------------------------------------------------------------------- inside

    @cached_property
    def _c2(self) -> float:
        return mixture_for(float(self.n_opt))

    @cached_property
    def _compared(self) -> NDArray[np.bool_]:
        """Which arms have enough rewards for comparisons."""
        return self._counts(burn_in(self.kurtosis)[0])

    @cached_property
    def _harmless(self) -> tuple[Floats, Floats]:
        """n and m2, with valid numbers for arms that the formulas can't take."""
        valid = self._counts(0.0)
        return np.where(valid, self.stats.n, 2.0), np.where(valid, self.stats.m2, 1.0)

    def _counts(self, rewards: float) -> NDArray[np.bool_]:
        """Which arms have this many rewards, not all equal: equal ones don't show a variance."""
        n, mean, m2 = self.stats.n, self.stats.mean, self.stats.m2
        return np.asarray((n >= max(rewards, 2.0)) & (m2 > n * (ROUNDING * np.abs(mean)) ** 2))

    def _reach(self, evidence: float, counts: NDArray[np.bool_]) -> Floats:
        return np.where(counts, mean_reach(*self._harmless, evidence, self._c2), np.inf)

    def _against(self, a: Any, b: Any, difference: Floats) -> Floats:
        """Zero where one of the two arms has too few rewards."""
        (n, m2), counts = self._harmless, self._compared
        gap = np.abs(self.stats.mean[a] - self.stats.mean[b] - difference)
        evidence = pair_evidence(n[a], m2[a], n[b], m2[b], gap, self._c2)
        return np.asarray(np.where(counts[a] & counts[b], evidence, 0.0))[()]

    def _arms(self, name: str, value: Any) -> NDArray[np.int64]:
        K, arms = self.stats.K, np.asarray(value)
        if arms.dtype.kind not in "iu":
            got = abbreviate(value)
            raise TypeError(f"{name} must be an index from 0 to {K - 1} or several, got {got}")
        outside = (arms < 0) | (arms >= K)
        if outside.any():
            raise ValueError(
                f"{name} must be an index from 0 to {K - 1}, got {arms[outside].flat[0]}"
            )
        return arms.astype(np.int64)
