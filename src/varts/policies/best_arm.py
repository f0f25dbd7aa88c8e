"""Best-arm identification: find the best arm soon, whatever the regret on the way.

Top-two policies pick a leader, which is probably the best arm, and a challenger, the arm that is
hardest to distinguish from it, and pull one of the two. Thompson sampling nearly always pulls the
leader, so it learns little about the others. Sequential Halving plays a fixed budget in batches;
SHVar and SHAdaVar give arms whose rewards vary more a larger part of each batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts import draws
from varts._validation import Floats, abbreviate, common_shape, integer, real, reals
from varts.anytime import likelihood_ratio, transport_cost
from varts.beliefs import StudentT, pick_best
from varts.policies.base import Compiled, IndexPolicy, Policy, even_share
from varts.policies.compiled import StatePolicy
from varts.policies.registry import register
from varts.policies.thompson import VarTS, per_arm_sigma
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
        """Return the exact probability of pulling each arm.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1; not used.
        """
        loc, variance = self._moments(stats)

        def costs_of(leader: int) -> Floats:
            return self._costs(leader, loc, variance)

        leaders = self._leaders(stats)
        return pull_probabilities(leaders, costs_of, variance, beta_number(self.beta))

    def _leaders(self, stats: ArmStats) -> Floats:
        """Return the probability that each arm is the leader: that of being the best."""
        return self._belief(stats).p_best()

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


# --------------------------------------------------------------------- top-two expected improvement

MIDDLE = 3.0  # standard deviations; nearer to 0 a series is exact, beyond it a continued fraction
SERIES, FRACTION = 35, 40  # terms until neither changes a double any more


def log_gain(gap: Any, scale: Any) -> Any:
    """Return the logarithm of E[max(X, 0)] for X normal with mean `gap` and sd `scale`.

    The expectation is scale * (z Phi(z) + phi(z)) with z = gap / scale. It underflows at z = -38,
    which arms reach after a few thousand rounds, but its logarithm doesn't. With a scale of 0 it is
    the logarithm of max(gap, 0).

    Args:
        gap: The mean.
        scale: The standard deviation.

    >>> log_gain(np.array([0.0, -1.0, -100.0]), 1.0).round(3).tolist()    # 1 / sqrt(2 pi) at 0
    [-0.919, -2.485, -5010.13]
    """
    some = np.where(scale > 0, scale, 1.0)
    z = gap / some
    x = np.abs(z)
    near, far = np.minimum(x, MIDDLE), np.maximum(x, MIDDLE)
    # Phi(-x) / phi(x), by the series of Phi(x) - 1/2; then 1 - x times that.
    term, total = near, near
    for k in range(1, SERIES):
        term = term * near * near / (2 * k + 1)
        total = total + term
    close = 1 - near * (np.sqrt(np.pi / 2) * np.exp(0.5 * near * near) - total)
    # The same by the continued fraction 1 / (x + 1 / (x + 2 / (x + ...))).
    rest = 0.0 * far
    for k in range(FRACTION, 0, -1):
        rest = k / (far + rest)
    beyond = rest / (far + rest)
    below = -0.5 * x * x - 0.5 * np.log(2 * np.pi) + np.log(np.where(x < MIDDLE, close, beyond))
    above = np.log(x + np.exp(below))  # E[max(X, 0)] - E[max(-X, 0)] is the mean
    least = 1e-300
    certain = np.where(gap > 0, np.log(np.maximum(gap, least)), -np.inf)
    return np.where(scale > 0, np.log(some) + np.where(z > 0, above, below), certain)


@register
@dataclass(frozen=True)
class TTEI(T3C):
    """TTEI (Qin, Klabjan & Russo 2017) with the beliefs of VarTS: top-two expected improvement.

    The leader is the arm that is expected to exceed the highest mean by most, counting only the
    cases in which it does. The challenger is the arm that is expected to exceed the leader by most.
    Only the choice between the two is random. Improvements are computed as if the beliefs were
    normal, with their locations and scales, which is exact for known variances, as in the paper.

    Args:
        prior: As for `VarTS`.
        tails: As for `VarTS`.
        beta: The share of the leader; None for the shares of `T3C`.

    >>> stats = ArmStats([40, 60, 50], [1, 1.3, 0.8], [39, 118, 12.25])
    >>> TTEI().probabilities(stats, t=151)
    array([0.5, 0.5, 0. ])
    """

    beta: float | None = 0.5

    label: ClassVar[str] = "TTEI"
    compiled: ClassVar[Compiled | None] = Compiled(
        "top_two_gain", ("choose", "transform", "belief", "believe")
    )

    if TYPE_CHECKING:

        def __init__(
            self, prior: PriorLike | None = None, tails: bool = False, beta: float | None = 0.5
        ) -> None: ...

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        self._ready(stats)
        loc, variance = self._moments(stats)
        leader = pick_best(log_gain(loc - loc.max(), np.sqrt(variance)), rng)
        costs = self._costs(leader, loc, variance)
        return pull_one(leader, costs, variance, beta_number(self.beta), rng)

    def _leaders(self, stats: ArmStats) -> Floats:
        loc, variance = self._moments(stats)
        return even_share(np.asarray(log_gain(loc - loc.max(), np.sqrt(variance))))

    @staticmethod
    def _costs(leader: int, loc: Floats, variance: Floats) -> Floats:
        costs: Floats = -log_gain(loc - loc[leader], np.sqrt(variance + variance[leader]))
        costs[leader] = np.inf
        return costs


# ----------------------------------------------------------------------------------------- EB-TCI


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
        check_budget(self.horizon, stats.K)
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


def check_budget(horizon: int, K: int) -> None:
    """Raise ValueError if a budget is too small to pull every arm once in the first batch."""
    least = K * batch_count(K)
    if horizon < least:
        raise ValueError(
            f"horizon must be at least {least} for the batches of {K} arms, got {horizon}"
        )


# --------------------------------------------------------------------------------- SHVar, SHAdaVar
# Within a stage, SHVar and SHAdaVar pull the arm whose mean has the largest variance.

# The numbers that these policies keep about an arm.
VARIANCE = 0  # the known variance of its rewards; not used by SHAdaVar
OUT = 1  # 1 if the arm was dropped
BASE_N, BASE_MEAN, BASE_M2 = 2, 3, 4  # statistics from before the stage, which don't count in it


def since_base(arms: Any, i: Any, n: Any, mean: Any, m2: Any) -> Any:
    """Return n, mean and m2 of the rewards of arm i that count."""
    before = arms[i, BASE_N]
    pulls = n[i] - before
    if before == 0 or pulls == 0:
        return pulls, mean[i], m2[i]
    center = (n[i] * mean[i] - before * arms[i, BASE_MEAN]) / pulls
    step = center - arms[i, BASE_MEAN]
    return pulls, center, max(m2[i] - arms[i, BASE_M2] - before * pulls / n[i] * step * step, 0.0)


def end_stage(
    t: Any, n: Any, mean: Any, m2: Any, arms: Any, run: Any, rng: Any, horizon: Any, restart: Any
) -> None:
    """Drop the worse half of the remaining arms if the stage is over. `run` counts the stages."""
    K = len(n)
    stages = max(math.ceil(math.log2(K) - 1e-9), 1)
    if run[0] >= stages or t - 1 < (run[0] + 1) * (horizon // stages):
        return
    run[0] += 1
    size = 0
    for i in range(K):
        size += 1 if arms[i, OUT] == 0 else 0
    for _ in range(size // 2):
        lowest, worst, ties = np.inf, 0, 0
        for i in range(K):
            if arms[i, OUT] == 0:
                _, center, _ = since_base(arms, i, n, mean, m2)
                if center < lowest:
                    lowest, worst, ties = center, i, 1
                elif center == lowest:
                    ties += 1
                    if draws.uniform(rng) * ties < 1:
                        worst = i
        arms[worst, OUT] = 1.0
    if restart > 0:
        for i in range(K):
            arms[i, BASE_N], arms[i, BASE_MEAN], arms[i, BASE_M2] = n[i], mean[i], m2[i]


@dataclass(frozen=True)
class StagedHalving(StatePolicy):
    """The base of `SHVar` and `SHAdaVar`: halving in stages of equal budgets.

    Args:
        horizon: The budget, in rounds.
        restart: Whether only the rewards of a stage count in it.
    """

    horizon: int = 2000
    restart: bool = False

    arm_numbers: ClassVar[int] = 5
    run_numbers: ClassVar[int] = 1

    def __post_init__(self) -> None:
        integer("horizon", self.horizon, at_least=1)
        if not isinstance(self.restart, bool):
            raise TypeError(f"restart must be True or False, got {abbreviate(self.restart)}")

    def check(self, K: int) -> None:
        super().check(K)
        check_budget(self.horizon, K)

    @staticmethod
    def answer(n: Any, mean: Any, m2: Any, arms: Any, run: Any, rng: Any, *fields: Any) -> Any:
        """Return the remaining arm with the highest mean; -1 if none was pulled in its stage.

        Args:
            n: The number of rewards of every arm.
            mean: Their means.
            m2: Their sums of squared deviations.
            arms: The policy's memory of the arms.
            run: Its memory of the run.
            rng: For `varts.draws`; used where means are equal.
            fields: Not used.
        """
        highest, best, ties = -np.inf, -1, 0
        for i in range(len(n)):
            if arms[i, OUT] == 0:
                pulls, center, _ = since_base(arms, i, n, mean, m2)
                if pulls > 0 and center > highest:
                    highest, best, ties = center, i, 1
                elif pulls > 0 and center == highest:
                    ties += 1
                    if draws.uniform(rng) * ties < 1:
                        best = i
        return best


@register
@dataclass(frozen=True)
class SHVar(StagedHalving):
    """SHVar (Lalitha et al. 2023): Sequential Halving for known and unequal variances.

    The budget is split evenly into log2(K) stages, rounded up. Within a stage, the policy pulls the
    remaining arm with the largest sigma^2 / n, so that all their means become equally certain. At
    the end of a stage, the half with the higher means stays. The rest of the budget goes to the
    winner. The policy remembers which arms remain, so it is for simulations only.

    Args:
        horizon: The budget, in rounds.
        restart: Whether only the rewards of a stage count in it, as in the paper. By default all
            rewards so far count, as in `SequentialHalving`: nothing is thrown away.
        sigma: The rewards' standard deviation, shared or per arm.

    >>> from varts import GaussianBandit, simulate
    >>> problem = GaussianBandit.fixed([0.0, 0.2, 0.4, 1.0], sigma=[1, 1, 1, 3])
    >>> study = simulate(problem, SHVar(240, sigma=[1, 1, 1, 3]), 120, 200, checkpoints=[120])
    >>> study.pulls["SHVar"][0]                    # the first stage: 120 pulls by 1 : 1 : 1 : 9
    array([10, 10, 10, 90])
    """

    sigma: Any = 1.0

    label: ClassVar[str] = "SHVar"
    arm_fields: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        sigma = reals("sigma", self.sigma, above=0)
        common_shape(sigma=sigma)
        object.__setattr__(self, "sigma", sigma if sigma.ndim else float(sigma))

    def parameters(self, stats: ArmStats) -> Floats:
        """Return the budget, whether stages restart, and the variance; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        sigma = per_arm_sigma(self.sigma, stats.K)
        shared = np.tile([float(self.horizon), float(self.restart)], (stats.K, 1))
        return np.column_stack([shared, sigma**2])

    @staticmethod
    def pick(
        t: Any, n: Any, mean: Any, m2: Any, arms: Any, run: Any, rng: Any, horizon: Any,
        restart: Any,
    ) -> Any:  # fmt: skip
        """Return the remaining arm with the largest variance of its mean.

        Args:
            t: The round, counted from 1.
            n: The number of rewards of every arm.
            mean: Their means.
            m2: Their sums of squared deviations.
            arms: The policy's memory of the arms.
            run: Its memory of the run.
            rng: For `varts.draws`; used where means are equal.
            horizon: The budget.
            restart: 1 if only the rewards of a stage count in it, else 0.
        """
        end_stage(t, n, mean, m2, arms, run, rng, horizon, restart)
        widest, arm = -1.0, 0
        for i in range(len(n)):
            if arms[i, OUT] == 0:
                pulls = n[i] - arms[i, BASE_N]
                width = arms[i, VARIANCE] / pulls if pulls > 0 else np.inf
                if width > widest:
                    widest, arm = width, i
        return arm


def variance_bound(n: Any, m2: Any, delta: Any) -> Any:
    """Return SHAdaVar's upper confidence bound of a variance; infinite with too few rewards.

    Args:
        n: The number of rewards.
        m2: Their sum of squared deviations.
        delta: The error of the bound.

    >>> round(variance_bound(60.0, 118.0, 0.05), 9)        # the sample variance is 2
    3.640777057
    """
    if n - 1 <= 4 * math.log(1 / delta):
        return np.inf
    return m2 / (n - 1) / (1 - 2 * math.sqrt(math.log(1 / delta) / (n - 1)))


@register
@dataclass(frozen=True)
class SHAdaVar(StagedHalving):
    """SHAdaVar (Lalitha et al. 2023): Sequential Halving for unknown and unequal variances.

    It is `SHVar` with an upper confidence bound in place of each variance,

        s^2 / (1 - 2 sqrt(ln(1/delta) / (n - 1))),

    where s^2 is the sample variance. The bound needs more than 4 ln(1/delta) + 1 rewards, 13 for
    delta = 0.05. Remaining arms with fewer are pulled first.

    Args:
        horizon: The budget, in rounds.
        restart: Whether only the rewards of a stage count in it, as in the paper. By default all
            rewards so far count, as in `SequentialHalving`: nothing is thrown away.
        delta: The error of each bound; a smaller one means more equal pulls.

    >>> from varts import GaussianBandit, simulate
    >>> problem = GaussianBandit.fixed([0.0, 0.2, 0.4, 1.0], sigma=[1, 1, 1, 3])
    >>> study = simulate(problem, SHAdaVar(1000), 500, 200, checkpoints=[500])
    >>> print(study.pulls["SHAdaVar"].mean(axis=0).argmax())    # the arm whose rewards vary most
    3
    """

    delta: float = 0.05

    label: ClassVar[str] = "SHAdaVar"

    def __post_init__(self) -> None:
        super().__post_init__()
        real("delta", self.delta, above=0, below=1)

    @staticmethod
    def pick(
        t: Any, n: Any, mean: Any, m2: Any, arms: Any, run: Any, rng: Any, horizon: Any,
        restart: Any, delta: Any,
    ) -> Any:  # fmt: skip
        """Return a remaining arm with too few rewards, or that with the largest bound over n.

        Args:
            t: The round, counted from 1.
            n: The number of rewards of every arm.
            mean: Their means.
            m2: Their sums of squared deviations.
            arms: The policy's memory of the arms.
            run: Its memory of the run.
            rng: For `varts.draws`; used where means are equal.
            horizon: The budget.
            restart: 1 if only the rewards of a stage count in it, else 0.
            delta: The error of each bound.
        """
        end_stage(t, n, mean, m2, arms, run, rng, horizon, restart)
        widest, fewest, arm = -1.0, np.inf, 0
        for i in range(len(n)):
            if arms[i, OUT] == 0:
                pulls, _, spread = since_base(arms, i, n, mean, m2)
                bound = variance_bound(pulls, spread, delta)
                if bound == np.inf:
                    if pulls < fewest:
                        widest, fewest, arm = np.inf, pulls, i
                elif bound / pulls > widest:
                    widest, arm = bound / pulls, i
        return arm
