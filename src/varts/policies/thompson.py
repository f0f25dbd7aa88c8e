"""Thompson sampling: VarTS and KnownVarianceTS (the paper's Algorithms 2 and 1) and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, common_shape, real, reals
from varts.beliefs import Beta, SkewedT, StudentT, pick_best
from varts.kurtosis import Tails
from varts.policies.base import BeliefPolicy, Compiled, Policy
from varts.policies.formulas import (
    known_variance_belief,
    own_prior_belief,
    pooled_rows,
    skewed_belief,
    tailed_belief,
    unit_free_belief,
    unit_free_known_belief,
    unit_free_tailed_belief,
)
from varts.policies.registry import register
from varts.priors import Normal, NormalGamma, PriorLike, own_prior, prior_from
from varts.priors.normal import normal_gamma_belief
from varts.priors.own_arms import rounded_numbers
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class VarTS(BeliefPolicy):
    """VarTS (Algorithm 2): Gaussian-Gamma Thompson sampling for unknown means and variances.

    Without a prior, the policy pulls every arm twice and then starts from a unit-free prior with
    the weight of one observation.

    Args:
        prior: A NormalGamma, a result of `fit_prior`, the path of a prior's JSON file, a mapping of
            its numbers, or None.
        tails: Whether to learn variances only as fast as the rewards' kurtosis allows. On revenue
            and other heavy-tailed rewards, this avoids the worst runs at the cost of some mean
            regret.

    >>> stats = ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> VarTS(NormalGamma(0, 1, 2, 1)).belief(stats).scale.round(4)   # sqrt(8.375/14), sqrt(2.5/14)
    array([0.7734, 0.4226])
    >>> VarTS().belief(stats).scale.round(4)     # sqrt(9.5/6/4): the spread of all six rewards
    array([0.7815, 0.6292])
    >>> sales = ArmStats.from_rewards([[0.0] * 40 + [30.0], [0.0] * 40 + [20.0]])
    >>> VarTS().belief(sales).df.round(1), VarTS(tails=True).belief(sales).df.round(1)
    (array([42., 42.]), array([5.5, 5.5]))
    """

    prior: NormalGamma | None = None
    tails: bool = False

    label: ClassVar[str] = "VarTS"

    if TYPE_CHECKING:  # the argument may be anything that converts to a prior

        def __init__(self, prior: PriorLike | None = None, tails: bool = False) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, NormalGamma))
        if not isinstance(self.tails, bool):
            raise TypeError(f"tails must be True or False, got {abbreviate(self.tails)}")

    @property
    def pooled(self) -> bool:  # type: ignore[override]
        return self.prior is None

    @property
    def tailed(self) -> bool:  # type: ignore[override]
        return self.tails

    @property
    def believe(self) -> Any:
        if self.tails:
            return unit_free_tailed_belief if self.prior is None else tailed_belief
        return unit_free_belief if self.prior is None else normal_gamma_belief

    def tails_of(self, stats: ArmStats) -> Tails:
        """Return the shape of the rewards so far, together with those behind the prior.

        Args:
            stats: The arms' statistics, with m3 and m4.
        """
        before = None if self.prior is None else self.prior.tails
        seen = Tails.of(stats)
        return seen if before is None else before.merge(seen)

    def inference(self, stats: ArmStats) -> SkewedT:
        """Return the belief to report about the arms' means, no matter what chose the arms.

        A policy can treat rewards as Gaussian and still choose well, but people rely on a reported
        interval. So this belief accounts for the rewards' tails: it learns variances as fast as
        the kurtosis allows, and lets them move with the means where rewards are skewed. For
        Gaussian rewards it is `belief`, up to the noise in the measured skewness and kurtosis.

        Args:
            stats: The arms' statistics, with m3 and m4.

        >>> sales = ArmStats.from_rewards([[0.0] * 95 + [12.0, 20.0, 25.0, 30.0, 60.0]])
        >>> [end.round(1) for end in VarTS().belief(sales).interval()]
        [array([0.]), array([2.9])]
        >>> [end.round(1) for end in VarTS().inference(sales).interval()]
        [array([0.4]), array([3.6])]
        """
        self._ready(stats)
        return self._inference(stats)

    def _inference(self, stats: ArmStats) -> SkewedT:
        """Return `inference(stats)` without checking that every arm has its initial pulls."""
        tails = self.tails_of(stats)
        believe: Any = unit_free_tailed_belief
        rows, kappa = pooled_rows(stats).T, np.ones(stats.K)
        if self.prior is not None:
            believe, rows = tailed_belief, np.stack(self.prior.per_arm(stats.K))
            kappa = rows[1]
        t = believe(stats.n, stats.mean, stats.m2, *rows, tails.weight_given_mean)
        loc, scale, df = t
        made = skewed_belief(loc, scale, df, kappa + stats.n, tails.slopes(stats))
        return SkewedT(*made)

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        if self.prior is None:
            return np.full(K, 2, dtype=np.int64)
        return np.asarray(self.prior.per_arm(K)[1] == 0, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        return least_weight_of(self, K)

    def parameters(self, stats: ArmStats) -> Floats:
        if self.prior is None:
            rows = pooled_rows(stats)
        else:
            rows = np.stack(self.prior.per_arm(stats.K), axis=1)
        if not self.tailed:
            return rows
        return np.column_stack([rows, np.full(stats.K, self.tails_of(stats).weight_for_choosing)])


@register
@dataclass(frozen=True)
class KnownVarianceTS(BeliefPolicy):
    """Algorithm 1: Gaussian Thompson sampling with known standard deviations of the rewards.

    Without a prior, it pulls every arm once and starts from the pooled mean, with the weight of one
    reward.

    Args:
        prior: A Normal, the path of its JSON file, a mapping of its numbers, or None.
        sigma: The rewards' standard deviation, shared or per arm.

    >>> policy = KnownVarianceTS(Normal(0, 2), sigma=2)
    >>> policy.belief(ArmStats.from_rewards([[1, 3, 5]])).loc
    array([2.25])
    """

    prior: Normal | None = None
    sigma: Any = 1.0

    label: ClassVar[str] = "KnownVarianceTS"

    if TYPE_CHECKING:

        def __init__(self, prior: PriorLike | None = None, sigma: Any = 1.0) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, Normal))
        sigma = reals("sigma", self.sigma, above=0)
        common_shape(sigma=sigma)
        object.__setattr__(self, "sigma", sigma if sigma.ndim else float(sigma))

    @property
    def pooled(self) -> bool:  # type: ignore[override]
        return self.prior is None

    @property
    def believe(self) -> Any:
        return unit_free_known_belief if self.prior is None else known_variance_belief

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        return np.full(K, 1 if self.prior is None else 0, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        return least_weight_of(self, K)

    def parameters(self, stats: ArmStats) -> Floats:
        sigma = per_arm_sigma(self.sigma, stats.K)
        if self.prior is None:
            return np.column_stack([pooled_rows(stats), sigma])
        mu, sigma0 = self.prior.per_arm(stats.K)
        return np.column_stack([mu, (sigma / sigma0) ** 2, sigma])


def per_arm_sigma(sigma: Any, K: int) -> Floats:
    """Return a policy's option `sigma` with an entry per arm, or raise if there are others."""
    given = np.asarray(sigma)
    if given.size not in (1, K):
        raise ValueError(f"sigma must be one number or one per arm ({K}), got {given.size}")
    return np.broadcast_to(given, K)


def least_weight_of(policy: BeliefPolicy, K: int) -> Floats:
    """Return 0 for a sampler with a pooled prior: as rewards fade, the belief widens towards it."""
    return (
        np.zeros(K)
        if policy.pooled and policy.samples
        else policy.pulls_needed(K).astype(np.float64)
    )


# ---------------------------------------------------------------- a prior from the arms themselves
# EB-VarTS: VarTS whose prior comes from the arms themselves.


HARDLY = 0.03  # sds of a reward: the arms of many A/B tests don't differ by more


@register
@dataclass(frozen=True)
class EBVarTS(BeliefPolicy):
    """VarTS with a prior that it learns from the arms themselves, after two pulls of each.

    After every reward, `own_prior` estimates from all arms how much their means and variances
    differ. With many arms this saves much of the exploration that VarTS needs without a prior; with
    two to five arms it makes little difference. Simulations play it in plain Python, far more
    slowly than VarTS.

    >>> stats = ArmStats.from_rewards([[1, 3, 5], [2, 2, 2], [4, 3, 3]])
    >>> round(own_prior(stats).kappa, 1)
    2.6
    >>> EBVarTS().belief(stats).loc.round(2)
    array([2.9 , 2.36, 3.08])
    """

    label: ClassVar[str] = "EB-VarTS"
    initial_pulls: ClassVar[int] = 2
    pooled: ClassVar[bool] = True  # every reward moves every belief

    believe: ClassVar[Any] = staticmethod(own_prior_belief)

    def belief(self, stats: ArmStats) -> StudentT:
        # Overriding `belief` makes simulations play it in plain Python: compiled code can't
        # estimate this prior. An arm without rewards, or whose rewards have faded, has the prior
        # of the others.
        own_prior(stats)  # raises if there are no rewards at all
        return self._belief(stats)

    def _belief(self, stats: ArmStats) -> StudentT:
        loc, scale, df = own_prior_belief(
            stats.n, stats.mean, stats.m2, *rounded_numbers(stats), 1.0
        )
        return StudentT._trusted(loc, scale, df)

    def inference(self, stats: ArmStats) -> SkewedT:
        """Return the belief to report about the arms' means, which accounts for heavy tails.

        Like `VarTS.inference`, with the prior from the arms themselves.

        Args:
            stats: The arms' statistics, with m3 and m4.

        >>> few, most = [0.0] * 98 + [9.0, 9.0], [0.0] * 95 + [12.0, 20.0, 25.0, 30.0, 60.0]
        >>> sales = ArmStats.from_rewards([most, few])
        >>> [end.round(1) for end in EBVarTS().inference(sales).interval()]
        [array([0.5, 0.1]), array([3.5, 1.3])]
        """
        own_prior(stats)
        return self._inference(stats)

    def _inference(self, stats: ArmStats) -> SkewedT:
        """Return `inference(stats)` without checking that there are rewards."""
        return self._reported(stats, rounded_numbers(stats))

    def sceptical(self, stats: ArmStats, spread: float = HARDLY) -> SkewedT:
        """Return the belief to report if the arms hardly differ: the other plausible extreme.

        Two to five arms can't show how much such arms usually differ. If you
        stop at the first look with P(best) >= 0.95, that number is right in about 95 of 100
        experiments whose arms differ by a tenth of an sd or more, but too high where they differ
        less. The P(best) of this belief is right where they differ by `spread`.

        Args:
            stats: The arms' statistics, with m3 and m4.
            spread: The sd of the arms' means, in sds of a reward.

        >>> stats = ArmStats([2000, 2000], [0.06, 0.0], [2000, 2000])
        >>> EBVarTS()._inference(stats).p_best()[0].round(2)
        np.float64(0.97)
        >>> EBVarTS().sceptical(stats).p_best()[0].round(2)
        np.float64(0.94)
        """
        real("spread", spread, above=0)
        mu, kappa, alpha, beta = rounded_numbers(stats)
        return self._reported(stats, (mu, np.maximum(kappa, spread**-2), alpha, beta))

    def _reported(self, stats: ArmStats, numbers: tuple[Any, Any, Any, Any]) -> SkewedT:
        tails = Tails.of(stats)
        given = tails.weight_given_mean
        loc, scale, df = own_prior_belief(stats.n, stats.mean, stats.m2, *numbers, given)
        weight = numbers[1] + stats.n
        return SkewedT(*skewed_belief(loc, scale, df, weight, tails.slopes(stats)))

    def least_weight(self, K: int) -> Floats:
        return np.zeros(K)  # an arm whose rewards have faded has the prior of the others

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([*map(float, rounded_numbers(stats)), 1.0], (stats.K, 1))

    def restricted(self, arms: NDArray[np.int64]) -> EBVarTS:
        return self  # it holds nothing per arm


# ------------------------------------------------------------------------------------------ rivals
# The Thompson samplers that VarTS is compared with.
#
# All but Bernoulli TS and MVTS with finite rho have a location-scale Student t per arm as a belief.
# It comes from one of two formulas: the Normal-Gamma posterior (VarTS, TS14, TS20) or the Gaussian
# one with known variances (KnownVarianceTS, Gaussian TS, MVTS with rho = inf).


@register
@dataclass(frozen=True)
class BernoulliTS(Policy):
    """Bernoulli TS (Agrawal & Goyal 2013): Beta(1, 1) priors; no initial pulls.

    Rewards are clipped to [0, 1] and then tossed: 1 with that probability, else 0. The statistics
    hold the tossed rewards.

    >>> belief = BernoulliTS().belief(ArmStats.from_rewards([[1, 0, 1]]))
    >>> belief.a, belief.b
    (array([3.]), array([2.]))
    """

    label: ClassVar[str] = "Bernoulli-TS"
    reflection: ClassVar[float] = 1.0
    compiled: ClassVar[Compiled | None] = Compiled(
        "beta", ("choose", "transform", "belief", "believe", "clip")
    )

    @property
    def samples(self) -> bool:
        return True

    @staticmethod
    def believe(n: Any, mean: Any, m2: Any) -> tuple[Any, Any]:
        """Compute the parameters a and b of the Beta posterior.

        Args:
            n: The number of rewards.
            mean: Their mean.
            m2: Not used.
        """
        return 1 + n * mean, 1 + n * (1 - mean)

    @staticmethod
    def clip(reward: Any) -> Any:
        """Compute the probability of the toss.

        Args:
            reward: The reward.
        """
        return np.minimum(1.0, np.maximum(0.0, reward))

    def belief(self, stats: ArmStats) -> Beta:
        reals("mean of tossed rewards", stats.mean, at_least=0, below=1 + 1e-12)
        return Beta(*self.believe(stats.n, stats.mean, stats.m2))

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        return self.belief(stats).argmax(rng)

    def transform(self, reward: float, rng: np.random.Generator) -> float:
        return float(rng.random() < self.clip(reward))


@register
@dataclass(frozen=True)
class GaussianTS(BeliefPolicy):
    """Gaussian TS (Agrawal & Goyal 2013): N(0, 1) prior, unit reward variances, no initial pulls.

    >>> GaussianTS().belief(ArmStats.from_rewards([[1, 3, 5]])).loc      # 9 / (3 + 1)
    array([2.25])
    """

    label: ClassVar[str] = "Gaussian-TS"
    believe = staticmethod(known_variance_belief)

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([0.0, 1.0, 1.0], (stats.K, 1))


@register
@dataclass(frozen=True)
class TS14(BeliefPolicy):
    """TS14 (Honda & Takemura 2014): prior (sigma^2)^(-1-a), max(2, 3 - floor(2a)) initial pulls.

    The Normal-Gamma formula with the improper parameters (0, 0, a - 1/2, 0): location mean, scale
    sqrt(m2 / (n (n + 2a - 1))), df n + 2a - 1. Only a < 0 has the optimality guarantee. Equal
    rewards (m2 = 0) make a point mass.

    Args:
        a: The prior's exponent, called alpha in their paper.

    >>> belief = TS14().belief(ArmStats.from_rewards([[1, 2, 3, 4]]))    # m2 = 5, df = 4 - 2
    >>> belief.scale.round(4), belief.df
    (array([0.7906]), array([2.]))
    """

    a: float = -0.5

    label: ClassVar[str] = "TS14"
    believe = staticmethod(normal_gamma_belief)

    def __post_init__(self) -> None:
        real("a", self.a, above=-1e6, below=1e6)

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        return np.full(K, max(2, 3 - int(np.floor(2 * self.a))), dtype=np.int64)

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([0.0, 0.0, self.a - 0.5, 0.0], (stats.K, 1))


@register
@dataclass(frozen=True)
class TS20(BeliefPolicy):
    """TS20 as in the paper: VarTS with mu = kappa = 0, alpha = beta = 1/2, one initial pull.

    The algorithm that the paper cites (Zhu & Tan 2020, Algorithm 3, rho -> inf) differs: `MVTS`.

    >>> TS20().belief(ArmStats.from_rewards([[1, 3, 5]])).scale.round(4)   # sqrt(4.5 / (2 * 3))
    array([0.866])
    """

    label: ClassVar[str] = "TS20"
    initial_pulls: ClassVar[int] = 1
    believe = staticmethod(normal_gamma_belief)

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([0.0, 0.0, 0.5, 0.5], (stats.K, 1))


@register
@dataclass(frozen=True)
class MVTS(BeliefPolicy):
    """Mean-variance TS (Zhu & Tan 2020): largest rho * theta - 1/tau, drawn independently.

    tau ~ Gamma(1/2 + n/2, rate 1/2 + m2/2) and theta ~ N(mean, 1/n). rho = inf plays the largest
    theta: their limit, whose sampling ignores the variance.

    Args:
        rho: The weight of the mean against the variance; at least 0.

    >>> MVTS().belief(ArmStats.from_rewards([[1, 2, 3, 4]])).scale     # 1 / sqrt(n)
    array([0.5])
    """

    rho: float = np.inf

    label: ClassVar[str] = "MVTS"
    initial_pulls: ClassVar[int] = 1

    def __post_init__(self) -> None:
        real("rho", self.rho, at_least=0, infinite=True)

    @property
    def compiled(self) -> Compiled:  # type: ignore[override]
        family = "belief" if np.isinf(self.rho) else "mean_variance"
        replaces = "choose", "transform", "belief", "believe", "score", "precision"
        return Compiled(family, replaces)

    @property
    def samples(self) -> bool:
        return bool(np.isinf(self.rho))

    @staticmethod
    def believe(n: Any, mean: Any, m2: Any, rho: Any) -> tuple[Any, Any, Any]:
        """Compute theta's distribution.

        Args:
            n: The number of rewards.
            mean: Their mean.
            m2: Not used.
            rho: Not used.
        """
        return mean, 1 / np.sqrt(n), np.inf

    @staticmethod
    def score(theta: Any, tau: Any, rho: Any) -> Any:
        """Compute the mean-variance trade-off that a finite rho plays.

        Args:
            theta: The sampled mean.
            tau: The sampled precision.
            rho: The weight of the mean.
        """
        return rho * theta - 1 / tau

    @staticmethod
    def precision(n: Any, m2: Any) -> tuple[Any, Any]:
        """Compute shape and rate of tau's Gamma distribution.

        Args:
            n: The number of rewards.
            m2: The sum of their squared deviations from their mean.
        """
        return 0.5 + 0.5 * n, 0.5 + 0.5 * m2

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        belief = self.belief(stats)
        if np.isinf(self.rho):
            return belief.argmax(rng)
        shape, rate = self.precision(stats.n, stats.m2)
        tau = rng.standard_gamma(shape) / rate
        return pick_best(self.score(belief.sample(rng), tau, self.rho), rng)
