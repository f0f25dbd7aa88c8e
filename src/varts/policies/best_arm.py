"""Best-arm identification: find the best arm soon, whatever the regret on the way.

Top-two policies pick a leader, which is probably the best arm, and a challenger, the arm that is
hardest to distinguish from it, and pull one of the two. Thompson sampling nearly always pulls the
leader, so it learns little about the others. Sequential Halving plays a fixed budget in batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, integer, real
from varts.anytime import likelihood_ratio, transport_cost
from varts.beliefs import StudentT, pick_best
from varts.policies.base import Compiled, IndexPolicy, Policy, even_share
from varts.policies.registry import register
from varts.policies.thompson import VarTS
from varts.priors import PriorLike
from varts.stats import ArmStats


def leader_share(variance: Any, variance2: Any, beta: Any) -> Any:
    """Return the probability of pulling the leader rather than the challenger.

    It is beta, or for a NaN the leader's share of the variances of the two means: pulling the arm
    whose mean is less certain separates the two fastest.
    """
    total = variance + variance2
    by_variance = np.where(total > 0, variance / np.where(total > 0, total, 1.0), 0.5)
    return np.where(np.isnan(beta), by_variance, beta)


def beta_number(beta: float | None) -> float:
    """Validate `beta` and return it as formulas take it: NaN for None."""
    return np.nan if beta is None else real("beta", beta, above=0, below=1)


def challenge(n: Any, m2: Any, n2: Any, m22: Any, gap: Any) -> Any:
    """Return EB-TCI's cost of the second arm as a challenger of the first; the smallest wins."""
    least = 1e-300  # arms whose rewards are all equal are distinguished at once
    ratio = likelihood_ratio(n, np.maximum(m2, least), n2, np.maximum(m22, least), gap)
    return ratio + np.log(n2)


def pull_one(
    leader: int, costs: Floats, variance: Floats, beta: float, rng: np.random.Generator
) -> int:
    """Draw the leader or the challenger, which is the arm with the smallest cost."""
    challenger = pick_best(-costs, rng)
    share = leader_share(variance[leader], variance[challenger], beta)
    return leader if rng.random() < share else challenger


def pull_probabilities(
    leaders: Floats, costs_of: Callable[[int], Floats], variance: Floats, beta: float
) -> Floats:
    """Return the probability of pulling each arm, given each arm's probability of leading."""
    out = np.zeros(len(leaders))
    for leader in np.flatnonzero(leaders):
        challengers = leaders[leader] * even_share(-costs_of(int(leader)))
        share = leader_share(variance[leader], variance, beta)
        out[leader] += (challengers * share).sum()
        out += challengers * (1 - share)
    return out


@register
@dataclass(frozen=True)
class T3C(VarTS):
    """T3C (Shang et al. 2020) with the beliefs of VarTS: finds the best arm soon.

    The leader is the arm with the largest draw, as in Thompson sampling. The challenger is the arm
    with the smallest transportation cost: half the squared difference of the two beliefs'
    locations, divided by the sum of their squared scales, or 0 where the leader is not ahead. Ties
    are broken at random. With a prior, arms that were never pulled have a belief, too.

    Args:
        prior: As for `VarTS`.
        tails: As for `VarTS`.
        beta: The share of the leader; by default leader and challenger are pulled in proportion to
            the variances of their means (information-directed selection, Qin & You 2025).

    >>> stats = ArmStats([40, 60, 50], [1, 1.3, 0.8], [39, 118, 12.25])
    >>> T3C(beta=0.5).probabilities(stats, t=151).round(4)
    array([0.4996, 0.4996, 0.0008])
    >>> T3C().probabilities(stats, t=151).round(3)
    array([0.427, 0.573, 0.   ])
    """

    beta: float | None = None

    label: ClassVar[str] = "T3C"
    compiled: ClassVar[Compiled | None] = Compiled(
        "top_two", ("choose", "transform", "belief", "believe")
    )

    if TYPE_CHECKING:

        def __init__(
            self, prior: PriorLike | None = None, tails: bool = False, beta: float | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        beta_number(self.beta)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        leader = self.belief(stats).argmax(rng)
        loc, variance = self._moments(stats)
        costs = self._costs(leader, loc, variance)
        return pull_one(leader, costs, variance, beta_number(self.beta), rng)

    def probabilities(self, stats: ArmStats, t: int) -> Floats:
        """Return the exact probability of pulling each arm; P(best) is that of leading.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1; not used.
        """
        loc, variance = self._moments(stats)

        def costs_of(leader: int) -> Floats:
            return self._costs(leader, loc, variance)

        leaders = self._belief(stats).p_best()
        return pull_probabilities(leaders, costs_of, variance, beta_number(self.beta))

    def _moments(self, stats: ArmStats) -> tuple[Floats, Floats]:
        belief = self._belief(stats)
        assert isinstance(belief, StudentT)
        return belief.loc, belief.scale**2

    @staticmethod
    def _costs(leader: int, loc: Floats, variance: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):  # two arms without any spread
            costs: Floats = transport_cost(loc[leader] - loc, variance[leader], variance)
        costs[leader] = np.inf
        return costs


@register
@dataclass(frozen=True)
class EBTCI(Policy):
    """EB-TCI (Jourdan, Degenne & Kaufmann 2023): top two without sampling, variances unknown.

    The leader has the highest mean. The challenger has the smallest sum of log(n), which favors
    arms with few pulls, and its generalised likelihood ratio against the leader. Only the choice
    between the two is random. If the best arm starts badly it takes long to lead, so some runs are
    long. Every arm has four initial pulls.

    Args:
        beta: The share of the leader; None for the shares of `T3C`.

    >>> stats = ArmStats([40, 60, 50], [1, 1.3, 0.8], [39, 118, 12.25])
    >>> EBTCI().costs(stats, leader=1).round(4)        # 0.7812 + ln(40), 3.1814 + ln(50)
    array([4.4701,    inf, 7.0934])
    >>> EBTCI().probabilities(stats, t=151)
    array([0.5, 0.5, 0. ])
    """

    beta: float | None = 0.5

    label: ClassVar[str] = "EB-TCI"
    initial_pulls: ClassVar[int] = 4
    compiled: ClassVar[Compiled | None] = Compiled(
        "top_two_means", ("choose", "transform", "costs")
    )

    def __post_init__(self) -> None:
        beta_number(self.beta)

    def costs(self, stats: ArmStats, leader: int) -> Floats:
        """Return the cost of each arm as a challenger; infinite for the leader.

        Args:
            stats: The arms' statistics.
            leader: The index of the arm with the highest mean.
        """
        self._ready(stats)
        n, m2, gap = stats.n, stats.m2, stats.mean[leader] - stats.mean
        with np.errstate(over="ignore"):  # arms whose rewards are all equal
            costs: Floats = challenge(n[leader], m2[leader], n, m2, gap)
        costs[leader] = np.inf
        return costs

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        leader = pick_best(stats.mean, rng)
        variance = stats.m2 / stats.n**2
        return pull_one(leader, self.costs(stats, leader), variance, beta_number(self.beta), rng)

    def probabilities(self, stats: ArmStats, t: int) -> Floats:
        """Return the probability of pulling each arm.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1; not used.
        """
        leaders, variance = even_share(stats.mean), stats.m2 / stats.n**2
        beta = beta_number(self.beta)
        return pull_probabilities(leaders, lambda arm: self.costs(stats, arm), variance, beta)

    def parameters(self, stats: ArmStats) -> Floats:
        return np.full((stats.K, 1), beta_number(self.beta))


# ------------------------------------------------------------------------------ Sequential Halving
# Sequential Halving: for experiments that must commit to a few large batches.


@register
@dataclass(frozen=True)
class SequentialHalving(IndexPolicy):
    """Sequential Halving (Karnin, Koren & Somekh 2013): the better half of the arms stays.

    The budget is split evenly into log2(K) batches, rounded up. A batch pulls the remaining arms
    equally often, and the half with the higher means stays for the next. Means are those of all
    rewards so far, which finds the best arm more often than those of the last batch alone. The rest
    of the budget goes to the winner. The policy needs no memory: the number of pulls shows which
    arms remain.

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
    counts_pulls: ClassVar[bool] = True

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
        """Compute the pulls of each remaining arm before this batch, and 1 while the batch pulls
        its arms for the first time, else 0.

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
            "stats must be taken between two batches of this budget, got "
            f"{abbreviate(stats.n.tolist())} pulls"
        )

    def recommend(self, stats: ArmStats) -> int:
        """Return the arm to recommend: the remaining arm with the highest mean.

        Args:
            stats: The arms' statistics.
        """
        still_in = np.flatnonzero(stats.n == stats.n.max())
        return int(still_in[stats.mean[still_in].argmax()])


def batch_count(K: int) -> int:
    """Return the number of batches: how often K arms can be halved, at least once.

    >>> [batch_count(K) for K in (1, 2, 3, 64, 65)]
    [1, 1, 2, 6, 7]
    """
    return max((K - 1).bit_length(), 1)
