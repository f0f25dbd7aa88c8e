"""The priors of VarTS (`NormalGamma`) and of KnownVarianceTS (`Normal`), and their updates.

The update of one arm is plain arithmetic, written once. The classes apply these functions to NumPy
arrays; the engine compiles the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import Floats, choice, common_shape, reals
from varts.beliefs import StudentT
from varts.priors.base import Prior, check_stats, sample_shape
from varts.stats import ArmStats


def data_share(n: Any, kappa: Any) -> Any:
    """Return the weight of n rewards, against a prior with the weight of kappa rewards.

    The tiny number turns 0 / 0 into 0.

    Args:
        n: The number of rewards.
        kappa: The prior weight, in rewards.

    >>> data_share(3, 1)
    0.75
    """
    return n / (kappa + n + 1e-300)


def normal_gamma_update(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the Normal-Gamma posterior of one arm: Algorithm 2, lines 9 to 14.

    Args:
        n: The number of rewards.
        mean: Their mean.
        m2: The sum of their squared deviations from it.
        mu: The prior's location.
        kappa: The weight of that location, in rewards.
        alpha: The shape of the precision's Gamma distribution.
        beta: Its rate.

    Returns:
        mu, kappa, alpha and beta of the posterior.

    >>> normal_gamma_update(3, 3.0, 8.0, 0.0, 1.0, 2.0, 1.0)   # beta: 1 + 8/2 + 1*3*3^2/(2*4)
    (2.25, 4.0, 3.5, 8.375)
    """
    share, gap = data_share(n, kappa), mean - mu
    return mu + share * gap, kappa + n, alpha + n / 2, beta + (m2 + kappa * share * gap * gap) / 2


def normal_update(n: Any, mean: Any, mu: Any, kappa: Any) -> tuple[Any, Any]:
    """Return location and weight of a mean's posterior: Algorithm 1, lines 9 and 10.

    Args:
        n: The number of rewards.
        mean: Their mean.
        mu: The prior's location.
        kappa: The weight of that location, in rewards.

    >>> normal_update(3, 5.0, 1.0, 1)      # (1*1 + 3*5) / 4
    (4.0, 4)
    """
    return mu + data_share(n, kappa) * (mean - mu), kappa + n


def student_t(mu: Any, kappa: Any, alpha: Any, beta: Any) -> tuple[Any, Any, Any]:
    """Return the marginal of the mean: location, scale and degrees of freedom of a Student t.

    Args:
        mu: The location of a Normal-Gamma distribution.
        kappa: The weight of that location, in rewards.
        alpha: The shape of the precision's Gamma distribution.
        beta: Its rate.
    """
    return mu, np.sqrt(beta / (alpha * kappa)), 2 * alpha


def normal_gamma_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
) -> tuple[Any, Any, Any]:
    """Unknown mean and variance: the Student-t marginal of the Normal-Gamma posterior."""
    mu, kappa, alpha, beta = normal_gamma_update(n, mean, m2, mu, kappa, alpha, beta)
    return student_t(mu, kappa, alpha, beta)


# ----------------------------------------------------------------------- mean and variance unknown
# The prior of VarTS: mean and variance of an arm are unknown.


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(Prior):
    """Mean and precision unknown: lam ~ Gamma(alpha, rate beta), mean ~ N(mu, 1/(kappa lam)).

    Scalars are shared by all arms, vectors have one entry per arm. With kappa = 0 the prior knows
    nothing about the mean: a policy then pulls that arm once before it samples.

    Args:
        mu: The expected mean.
        kappa: The weight of `mu`, in rewards of an arm; at least 0.
        alpha: The shape of the precision's Gamma distribution; above 0.
        beta: Its rate; above 0.
        names: The arms that the entries are for (see `Prior`).
        others: The prior of all other arms.
        group: The kind of group that the entries are for, if they are for groups.
        tails: The shape of the rewards that the prior was learned from, if known.

    >>> prior = NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> posterior = prior.posterior(ArmStats.from_rewards([[1, 3, 5]]))
    >>> posterior
    NormalGamma(mu=[2.25], kappa=[4.], alpha=[3.5], beta=[8.375])
    >>> posterior.belief().interval(0.9)[1].round(4)   # 2.25 + sqrt(8.375/14) * t(7; 0.95)
    array([3.7153])
    """

    mu: Any
    kappa: Any
    alpha: Any
    beta: Any

    _fields: ClassVar[tuple[str, ...]] = ("mu", "kappa", "alpha", "beta")

    def __post_init__(self) -> None:
        self._store(
            mu=reals("mu", self.mu),
            kappa=reals("kappa", self.kappa, at_least=0),
            alpha=reals("alpha", self.alpha, above=0),
            beta=reals("beta", self.beta, above=0),
        )

    def posterior(self, stats: ArmStats) -> NormalGamma:
        """Return the posterior after these rewards.

        Args:
            stats: The arms' statistics; as many arms as the prior has entries, or any number for
                a shared prior.
        """
        prior = self.per_arm(check_stats(stats).K)
        return self._learned(*normal_gamma_update(stats.n, stats.mean, stats.m2, *prior))

    def belief(self) -> StudentT:
        """Return the marginal of each arm's mean: Student t with 2 alpha degrees of freedom."""
        with np.errstate(divide="ignore"):  # kappa = 0: infinitely wide
            return StudentT(*student_t(*(np.asarray(getattr(self, f)) for f in self._fields)))

    def predictive(self) -> StudentT:
        """Return the distribution of a single reward of each arm, also a Student t.

        >>> prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
        >>> [end.round(1) for end in prior.predictive().interval(0.9)]   # 9 of 10 rewards lie here
        [array([-1.5]), array([25.5])]
        """
        kappa = np.asarray(self.kappa)  # a reward is the mean plus one reward's noise
        return NormalGamma(self.mu, kappa / (kappa + 1), self.alpha, self.beta).belief()

    @property
    def mean_sd(self) -> Floats:
        """The sd of an arm's mean, infinite for alpha <= 1.

        >>> NormalGamma(mu=12, kappa=16, alpha=11, beta=640).mean_sd      # sqrt(640 / (16 * 10))
        array(2.)
        """
        kappa, alpha, beta = (np.asarray(x) for x in (self.kappa, self.alpha, self.beta))
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(beta / (kappa * np.maximum(alpha - 1, 0))))

    def sample(self, rng: np.random.Generator, size: Any = None) -> tuple[Floats, Floats]:
        """Draw means and precisions, one pair per arm.

        Args:
            rng: The random generator.
            size: How many pairs per arm: a number or a shape; by default one.
        """
        mu, kappa, alpha, beta = (np.asarray(getattr(self, f)) for f in self._fields)
        if not (kappa > 0).all():
            raise ValueError("kappa must be > 0 to sample from a prior, got 0.0")
        shape = sample_shape(mu, size)
        lam = rng.standard_gamma(alpha, shape) / beta
        with np.errstate(divide="ignore", over="ignore"):
            return mu + rng.standard_normal(shape) / np.sqrt(kappa * lam), lam

    @classmethod
    def from_moments(cls, means: Any, precisions: Any, kappa: str = "paper") -> NormalGamma:
        """Estimate a prior by the method of moments, from samples of (mean, precision).

        With m, V the mean and variance (divisor: the number of samples) of the means, and l, nu
        those of the precisions: mu = m, beta = l/nu, alpha = l^2/nu. The paper sets
        kappa = beta/(alpha V), which takes 1/E[precision] for E[variance]; "consistent" uses
        beta/((alpha - 1) V) and needs alpha > 1.

        Args:
            means: The means; one per sample, or a row per sample with a column per arm.
            precisions: The precisions, in the same shape.
            kappa: "paper" or "consistent".

        >>> NormalGamma.from_moments([1, 3], [2, 6])    # m=2, V=1, l=4, nu=4
        NormalGamma(mu=2.0, kappa=0.25, alpha=4.0, beta=1.0)
        """
        choice("kappa", kappa, ("paper", "consistent"))
        means, precisions = reals("means", means), reals("precisions", precisions, above=0)
        if means.shape != precisions.shape or means.ndim not in (1, 2) or len(means) < 2:
            raise ValueError(
                "means and precisions must have equal shapes and at least 2 samples, "
                f"got {means.shape} and {precisions.shape}"
            )
        m, V = means.mean(axis=0), means.var(axis=0)
        lbar, nu = precisions.mean(axis=0), precisions.var(axis=0)
        for name, values, variance in (("means", means, V), ("precisions", precisions, nu)):
            spread = np.where(np.ptp(values, axis=0) > 0, variance, 0.0)  # ignore rounding
            reals(f"variance of the {name}", spread, above=0)
        beta = lbar / nu
        alpha = beta * lbar
        if kappa == "consistent":
            reals('alpha for kappa="consistent"', alpha, above=1)
            return cls(m, beta / ((alpha - 1) * V), alpha, beta)
        return cls(m, beta / (alpha * V), alpha, beta)

    @classmethod
    def elicit(cls, mean: Any, mean_sd: Any, reward_sd: Any, worth: Any) -> NormalGamma:
        """Make a prior from a person's guess.

        "The mean is about `mean`, give or take `mean_sd`. Single rewards have a standard deviation
        of `reward_sd`, and I know that as well as from `worth` observations." Then E[variance] =
        reward_sd^2 and the sd of the mean is mean_sd, exactly.

        Args:
            mean: The expected mean of an arm.
            mean_sd: The standard deviation of the arms' means.
            reward_sd: The standard deviation of one arm's rewards.
            worth: How many observations the guess of `reward_sd` is worth.

        >>> NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
        NormalGamma(mu=12.0, kappa=16.0, alpha=11.0, beta=640.0)
        """
        mean = reals("mean", mean)
        mean_sd = reals("mean_sd", mean_sd, above=0)
        reward_sd = reals("reward_sd", reward_sd, above=0)
        worth = reals("worth", worth, above=0)
        kappa, alpha = (reward_sd / mean_sd) ** 2, 1 + worth / 2
        return cls(mean, kappa, alpha, reward_sd**2 * worth / 2)


# -------------------------------------------------------------------------------- the mean unknown
# The prior of KnownVarianceTS: only the mean of an arm is unknown.


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Prior):
    """Only the mean unknown: mean ~ N(mu, sigma^2). The rewards' own sd is given elsewhere.

    Args:
        mu: The expected mean.
        sigma: The standard deviation of the means; above 0.
        names: The arms that the entries are for (see `Prior`).
        others: The prior of all other arms.
        group: The kind of group that the entries are for, if they are for groups.
        tails: The shape of the rewards that the prior was learned from, if known.

    >>> Normal(mu=0, sigma=2).posterior(ArmStats.from_rewards([[1, 3, 5]]), sigma=2)
    Normal(mu=[2.25], sigma=[1.])
    """

    mu: Any
    sigma: Any

    _fields: ClassVar[tuple[str, ...]] = ("mu", "sigma")

    def __post_init__(self) -> None:
        self._store(mu=reals("mu", self.mu), sigma=reals("sigma", self.sigma, above=0))

    def posterior(self, stats: ArmStats, sigma: Any) -> Normal:
        """Return the posterior after these rewards.

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
            rng: The random generator.
            size: How many per arm: a number or a shape; by default one.
        """
        mu = np.asarray(self.mu)
        shape = sample_shape(mu, size)
        return np.asarray(mu + self.sigma * rng.standard_normal(shape))
