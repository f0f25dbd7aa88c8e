"""The prior of KnownVarianceTS: only the mean of an arm unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import Floats, common_shape, reals
from varts.beliefs import StudentT
from varts.priors.base import Prior, check_stats, sample_shape
from varts.priors.updates import normal_update
from varts.stats import ArmStats


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Prior):
    """Only the mean unknown: mean ~ N(mu, sigma^2), with the rewards' own sd known elsewhere.

    Args:
        mu: Where the means lie.
        sigma: By how much they differ; above 0.
        names: The arms that the entries are for (see `Prior`).
        others: The prior of all other arms.
        group: The kind of group that the entries are for, if they are for groups.
        tails: The shape of the rewards that it was learnt from, if that is known.

    >>> Normal(mu=0, sigma=2).posterior(ArmStats.from_rewards([[1, 3, 5]]), sigma=2)
    Normal(mu=[2.25], sigma=[1.])
    """

    mu: Any
    sigma: Any

    _fields: ClassVar[tuple[str, ...]] = ("mu", "sigma")

    def __post_init__(self) -> None:
        self._store(mu=reals("mu", self.mu), sigma=reals("sigma", self.sigma, above=0))

    def posterior(self, stats: ArmStats, sigma: Any) -> Normal:
        """Return what is known after these rewards.

        Args:
            stats: The arms' statistics; as many arms as the prior has entries, or any number for
                a shared prior.
            sigma: The standard deviation of a reward, shared or per arm.
        """
        mu, sigma0 = self.per_arm(check_stats(stats).K)
        sigma = reals("sigma", sigma, above=0)
        common_shape(sigma=sigma, mu=mu)
        mu, kappa = normal_update(stats.n, stats.mean, mu, (sigma / sigma0) ** 2)
        return self._learned(mu, sigma / np.sqrt(kappa))

    def belief(self) -> StudentT:
        """Return the Gaussian itself, as a Student t with df = inf."""
        return StudentT(self.mu, self.sigma, np.asarray(np.inf))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Floats:
        """Draw means, one per arm.

        Args:
            rng: Where the randomness comes from.
            size: How many per arm: a number or a shape; by default one.
        """
        mu = np.asarray(self.mu)
        shape = sample_shape(mu, size)
        return np.asarray(mu + self.sigma * rng.standard_normal(shape))
