"""The Thompson samplers that VarTS is compared to.

All but Bernoulli TS and MVTS with finite rho believe in a location-scale Student t per arm, and
all of those are one of two formulas: the Normal-Gamma posterior (VarTS, TS14, TS20) or the
Gaussian one with known variances (KnownVarianceTS, Gaussian TS, MVTS with rho = inf).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, real, reals
from varts.beliefs import Beta, pick_best
from varts.policies.base import BeliefPolicy, Policy
from varts.policies.formulas import known_variance_belief, normal_gamma_belief
from varts.policies.registry import register
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class BernoulliTS(Policy):
    """Bernoulli TS (Agrawal & Goyal 2013): Beta(1, 1) priors; no forced pulls.

    Rewards are clipped to [0, 1] and then tossed: 1 with that probability, else 0. The statistics
    hold the tossed rewards.

    >>> belief = BernoulliTS().belief(ArmStats.from_rewards([[1, 0, 1]]))
    >>> belief.a, belief.b
    (array([3.]), array([2.]))
    """

    label: ClassVar[str] = "Bernoulli-TS"
    reflection: ClassVar[float] = 1.0

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
    """Gaussian TS (Agrawal & Goyal 2013): N(0, 1) prior, unit reward variances, no forced pulls.

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
    """TS14 (Honda & Takemura 2014): prior (sigma^2)^(-1-a), max(2, 3 - floor(2a)) pulls first.

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

    def owed(self, K: int) -> NDArray[np.int64]:
        return np.full(K, max(2, 3 - int(np.floor(2 * self.a))), dtype=np.int64)

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([0.0, 0.0, self.a - 0.5, 0.0], (stats.K, 1))


@register
@dataclass(frozen=True)
class TS20(BeliefPolicy):
    """TS20 as the paper has it: VarTS with mu = kappa = 0, alpha = beta = 1/2, one pull first.

    The algorithm it cites (Zhu & Tan 2020, Algorithm 3, rho -> inf) is another one: `MVTS`.

    >>> TS20().belief(ArmStats.from_rewards([[1, 3, 5]])).scale.round(4)   # sqrt(4.5 / (2 * 3))
    array([0.866])
    """

    label: ClassVar[str] = "TS20"
    forced: ClassVar[int] = 1
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
    forced: ClassVar[int] = 1

    def __post_init__(self) -> None:
        real("rho", self.rho, at_least=0, infinite=True)

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
