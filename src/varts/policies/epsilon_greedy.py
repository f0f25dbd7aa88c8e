"""Epsilon-greedy whose epsilon decays (Auer, Cesa-Bianchi & Fischer 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import Floats, real
from varts.policies.largest_index import IndexPolicy, even_share
from varts.policies.registry import register
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class EpsilonGreedy(IndexPolicy):
    """Epsilon-greedy: any arm with probability min(1, c K / (d^2 t)), else the largest mean.

    Its regret grows like ln(t) if c > 5 and d is at most the smallest gap.

    Args:
        c: How much to explore.
        d: A lower bound of the gap between the best arm and the next, for rewards in [0, 1].

    >>> stats = ArmStats(n=[50, 50], mean=[0.4, 0.6], m2=[12, 12])
    >>> EpsilonGreedy().epsilon(K=2, t=101)                   # 5 * 2 / 101
    0.09900990099009901
    >>> EpsilonGreedy().probabilities(stats, t=101).round(4)
    array([0.0495, 0.9505])
    """

    c: float = 5.0
    d: float = 1.0

    label: ClassVar[str] = "Epsilon-Greedy"
    chance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real("c", self.c, above=0)
        real("d", self.d, above=0)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return c K / d^2, the rounds of exploration that come first; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        return np.full((stats.K, 1), self.c * stats.K / self.d**2)

    def epsilon(self, K: int, t: int) -> float:
        """Return the probability of exploring.

        Args:
            K: The number of arms.
            t: The round, counted from 1.
        """
        return min(1.0, float(self.parameters(ArmStats.empty(K))[0, 0]) / t)

    def probabilities(self, stats: ArmStats, t: int) -> Floats:
        self._ready(stats)
        epsilon = self.epsilon(stats.K, self._round(stats, t))
        return epsilon / stats.K + (1 - epsilon) * even_share(stats.mean)

    @staticmethod
    def index(n: Any, mean: Any, m2: Any, t: Any, u: Any, first: Any) -> Any:
        return np.where(u * t < first, 0.0, mean)  # equal indices are told apart at random
