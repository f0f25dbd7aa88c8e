"""Sequential Halving: for those who must commit to a few large batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, integer
from varts.policies.largest_index import IndexPolicy
from varts.policies.registry import register
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class SequentialHalving(IndexPolicy):
    """Sequential Halving (Karnin, Koren & Somekh 2013): the better half of the arms stays.

    log2(K) batches, rounded up, share the budget evenly; in each, the arms that are left are pulled
    equally often, and the half with the higher means goes on to the next. Means are those of all
    rewards so far, which finds the best arm more often than those of the last batch alone. What is
    left of the budget goes to the winner. It is a function of the statistics: who is still in shows
    in how often an arm was pulled.

    Args:
        horizon: The budget, in rounds.

    >>> policy = SequentialHalving(horizon=80)
    >>> policy.batch(ArmStats.empty(4))              # 40 rounds for 4 arms
    array([10, 10, 10, 10])
    >>> stats = ArmStats([10, 10, 10, 10], [0.1, 0.4, 0.3, 0.2], [1, 1, 1, 1])
    >>> policy.batch(stats)                          # and 40 for the better two
    array([ 0, 20, 20,  0])
    >>> policy.recommend(ArmStats([10, 30, 30, 10], [0.1, 0.25, 0.3, 0.31], [1, 1, 1, 1]))
    2
    """

    horizon: int = 2000

    label: ClassVar[str] = "Sequential-Halving"

    def __post_init__(self) -> None:
        integer("horizon", self.horizon, at_least=1)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return the budget and the number of arms, a row per arm.

        Args:
            stats: The arms' statistics.
        """
        least = stats.K * batch_count(stats.K)
        if self.horizon < least:
            raise ValueError(
                f"horizon must be at least {least} for the batches of {stats.K} arms, "
                f"got {self.horizon}"
            )
        return np.tile([float(self.horizon), float(stats.K)], (stats.K, 1))

    @staticmethod
    def clock(t: Any, horizon: Any, K: Any) -> Any:
        """Compute how often arms that are still in were pulled before this batch, and whether each
        arm's first pull in it is under way.

        Args:
            t: The round, counted from 1.
            horizon: The budget.
            K: The number of arms.
        """
        batches = np.maximum(np.ceil(np.log2(K) - 1e-9), 1.0)
        left, size, before = t - 1, K + 0.0, 0.0 * t
        for batch in range(32):  # more than any number of arms can be halved
            each = np.floor(horizon / (batches * size))
            over = (left >= each * size) & (batch < batches)
            left = left - np.where(over, each * size, 0.0)
            before = before + np.where(over, each, 0.0)
            size = np.where(over, np.ceil(size / 2), size)
        return before, np.where(left < size, 1.0, 0.0)

    @staticmethod
    def index(n: Any, mean: Any, m2: Any, before: Any, entering: Any, horizon: Any, K: Any) -> Any:
        best_first = np.where(n == before, mean, -np.inf)
        in_turn = np.where(n > before, -n, -np.inf)
        return np.where(entering > 0, best_first, in_turn)

    def batch(self, stats: ArmStats) -> NDArray[np.int64]:
        """Return how often to pull each arm in the next batch.

        Args:
            stats: The arms' statistics, all rewards of earlier batches included.
        """
        self.parameters(stats)
        size, before = stats.K, 0
        for _ in range(batch_count(stats.K)):
            each = self.horizon // (batch_count(stats.K) * size)
            if stats.n.max() == before:
                left = np.flatnonzero(stats.n == before)
                chosen = left[np.argsort(-stats.mean[left], kind="stable")[:size]]
                out = np.zeros(stats.K, dtype=np.int64)
                out[chosen] = each
                return out
            before, size = before + each, -(-size // 2)
        raise ValueError(
            "stats must be those between two batches of this budget, got "
            f"{abbreviate(stats.n.tolist())} pulls"
        )

    def recommend(self, stats: ArmStats) -> int:
        """Return the arm to recommend: of those that are still in, the one with the highest mean.

        Args:
            stats: The arms' statistics.
        """
        still_in = np.flatnonzero(stats.n == stats.n.max())
        return int(still_in[stats.mean[still_in].argmax()])


def batch_count(K: int) -> int:
    """How often K arms can be halved, at least once.

    >>> [batch_count(K) for K in (1, 2, 3, 64, 65)]
    [1, 1, 2, 6, 7]
    """
    return max((K - 1).bit_length(), 1)
