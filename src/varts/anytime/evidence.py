"""`Evidence`: what the statistics of arms say at any look."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._intervals import CONFIDENCE
from varts._validation import Floats, abbreviate, choice, real, reals
from varts.anytime.kurtosis import burn_in
from varts.anytime.martingale import (
    PAIRS,
    Pairs,
    mean_reach,
    mixture_for,
    pair_evidence,
    pair_p_value,
    pair_reach,
    pair_threshold,
    rewards_for,
)
from varts.stats import ArmStats

N_OPT = 1000.0  # rewards of an arm at which intervals are narrowest, unless told otherwise
ERROR = 0.05
ROUNDING = 8 * np.finfo(np.float64).eps  # of a mean: rewards that differ by less are equal
SPLITS = 9  # of the evidence between two arms, to see which pairs could be decided at all
MOST_PAIRS = 200_000  # that are looked at in one go


@dataclass(frozen=True, eq=False)
class Evidence:
    """What may be said of arms at every look together, whichever policy chose them.

    Exact for independent Gaussian rewards whose mean and variance stay as they are; other rewards
    need their kurtosis. Not for statistics with a half-life, nor for units with several rewards.

    Args:
        stats: The statistics of all arms that ever took part.
        kurtosis: That of the rewards, from `Tails.of(stats)`: an arm is heard only after
            `burn_in(kurtosis)` rewards. None if they are Gaussian for certain.
        n_opt: The rewards per arm at which intervals should be narrowest, chosen before the first
            look. A factor of 3 costs 5 % of width.
        pairs: How the evidence of two arms is combined. "fisher" is valid whichever policy chose.
            "product" needs less evidence: ln(1/error) instead of 4.74 at 5 %. It is a theorem only
            if the choice of arms doesn't depend on the rewards, as with an even split. With a
            policy that learns there is no proof; docs/anytime.md has the false alarms that were
            measured.

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
        """Intervals of the arms' means, each of which holds at all looks together.

        Args:
            level: The chance that the interval of an arm never misses its mean.

        Returns:
            The lower and the upper ends; infinite while an arm has said too little.
        """
        level = real("level", level, above=0, below=1)
        half = self._reach(-np.log1p(-level), self._heard(burn_in(self.kurtosis)[1]))
        return self.stats.mean - half, self.stats.mean + half

    def rewards_needed(self, level: float = CONFIDENCE) -> float:
        """How many rewards an arm needs before `mean_intervals` has an interval for it.

        Args:
            level: The level of that interval.

        >>> stats = ArmStats([40, 30], [1.3, 0.8], [42, 28])
        >>> Evidence(stats, kurtosis=18.05).rewards_needed()      # twenty times the kurtosis
        361.0
        """
        level = real("level", level, above=0, below=1)
        return max(burn_in(self.kurtosis)[1], rewards_for(-np.log1p(-level), self._c2))

    def against(self, a: Any, b: Any, difference: Any = 0.0) -> Floats:
        """Evidence that the mean of a minus that of b is not `difference`, in natural logarithms.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            difference: What the hypothesis says.

        Returns:
            At most 0 where nothing is said; `p_value` translates it.

        >>> Evidence(ArmStats([400, 300], [1.3, 0.8], [420, 280])).against(0, 1).round(2)
        np.float64(14.02)
        """
        a, b = self._arms("a", a), self._arms("b", b)
        return self._against(a, b, reals("difference", difference))

    def p_value(self, a: Any, b: Any, difference: Any = 0.0) -> Floats:
        """The anytime p-value of "the mean of a minus that of b is `difference`".

        If that is so, the chance that it is ever below p, at any look, is at most p.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            difference: What the hypothesis says.
        """
        return np.asarray(pair_p_value(self.against(a, b, difference), self.pairs))[()]

    def difference_interval(
        self, a: Any, b: Any, level: float = CONFIDENCE
    ) -> tuple[Floats, Floats]:
        """The interval of the mean of a minus that of b that holds at all looks together.

        It has the differences whose `p_value` is above 1 - level.

        Args:
            a: The index of an arm, or several.
            b: The index of another, or several.
            level: The chance that the interval never misses.

        Returns:
            The lower and the upper end; infinite while one of the two arms has said too little.

        >>> low, high = Evidence(
        ...     ArmStats([400, 300], [1.3, 0.8], [420, 280])
        ... ).difference_interval(0, 1)
        >>> low.round(3), high.round(3)
        (np.float64(0.189), np.float64(0.811))
        """
        threshold = pair_threshold(1 - real("level", level, above=0, below=1), self.pairs)
        a, b = self._arms("a", a), self._arms("b", b)
        (n, m2), heard = self._harmless, self._compared
        half = pair_reach(n[a], m2[a], n[b], m2[b], threshold, self._c2)
        half = np.where(heard[a] & heard[b], half, np.inf)
        middle = self.stats.mean[a] - self.stats.mean[b]
        return (middle - half)[()], (middle + half)[()]

    def possible_best(self, error: float = ERROR) -> NDArray[np.bool_]:
        """Which arms may still have the highest mean.

        An arm is ruled out by another one whose mean is higher for certain. The best arm could only
        be ruled out in its own K - 1 pairs, each of which is held to error / (K - 1).

        Args:
            error: The chance of ever ruling out the best arm, at any look.
        """
        error = real("error", error, above=0, below=1)
        K, mean = self.stats.K, self.stats.mean
        possible = np.ones(K, dtype=bool)
        threshold = pair_threshold(error / max(K - 1, 1), self.pairs)
        # A pair is decided only if its intervals do not meet however the evidence is split between
        # the two arms. A few splits show which pairs are worth the search for the worst one.
        parts = np.linspace(0, threshold, SPLITS)
        reach = np.stack([self._reach(part, self._compared) for part in parts])
        lows, highs, middle = mean - reach, mean + reach[::-1], SPLITS // 2
        strongest_first = np.argsort(-lows[middle], kind="stable")
        start, count = 0, 1
        while start < K:
            arms = strongest_first[start : start + count]
            rivals = np.flatnonzero(possible & (highs[middle] < lows[middle, arms[0]]))
            if rivals.size == 0:  # what this arm cannot rule out, those after it cannot either
                break
            decided = (highs[:, None, rivals] <= lows[:, arms, None]).all(axis=0)
            arm, rival = np.nonzero(decided)
            evidence = self._against(arms[arm], rivals[rival], np.zeros(()))
            possible[rivals[rival[evidence >= threshold]]] = False
            # The first few rule out nearly all that can be: few pairs are left for many arms.
            start, count = start + count, min(2 * count, max(1, MOST_PAIRS // rivals.size))
        return possible

    def certain_best(self, error: float = ERROR) -> int | None:
        """The arm that has the highest mean for certain: all others are ruled out. Else None.

        Args:
            error: The chance of ever naming an arm that is not the best, at any look.

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
        """Which arms are heard in comparisons."""
        return self._heard(burn_in(self.kurtosis)[0])

    @cached_property
    def _harmless(self) -> tuple[Floats, Floats]:
        """n and m2, with some number for arms that no formula is made for."""
        said = self._heard(0.0)
        return np.where(said, self.stats.n, 2.0), np.where(said, self.stats.m2, 1.0)

    def _heard(self, rewards: float) -> NDArray[np.bool_]:
        """Which arms have so many rewards, and not all equal: those do not show a variance."""
        n, mean, m2 = self.stats.n, self.stats.mean, self.stats.m2
        return np.asarray((n >= max(rewards, 2.0)) & (m2 > n * (ROUNDING * np.abs(mean)) ** 2))

    def _reach(self, evidence: float, heard: NDArray[np.bool_]) -> Floats:
        return np.where(heard, mean_reach(*self._harmless, evidence, self._c2), np.inf)

    def _against(self, a: Any, b: Any, difference: Floats) -> Floats:
        """Zero where one of the two arms is not heard."""
        (n, m2), heard = self._harmless, self._compared
        gap = np.abs(self.stats.mean[a] - self.stats.mean[b] - difference)
        evidence = pair_evidence(n[a], m2[a], n[b], m2[b], gap, self._c2)
        return np.asarray(np.where(heard[a] & heard[b], evidence, 0.0))[()]

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
