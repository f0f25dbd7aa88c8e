"""Gaussian, Bernoulli and Beta rewards: the problems of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats, abbreviate, common_shape, integer, real, reals
from varts.priors import Normal, NormalGamma, PriorLike, prior_from
from varts.problems.base import Fixed, Instances, Problem


def gaussian_instances(mean: Floats, sigma: Floats) -> Instances:
    """Rewards N(mean, sigma^2)."""
    return Instances(mean, sigma**2, a=mean, b=sigma)


def bernoulli_instances(mean: Floats) -> Instances:
    """Rewards 0 or 1."""
    return Instances(mean, mean * (1 - mean), a=mean, b=np.zeros_like(mean))


def beta_instances(mean: Floats, s: float) -> Instances:
    """Rewards Beta(s mean, s (1 - mean))."""
    return Instances(mean, mean * (1 - mean) / (s + 1), a=s * mean, b=s * (1 - mean))


class GaussianBandit(Problem):
    """Rewards N(mean, variance), drawn from a NormalGamma, or a Normal with known `sigma`.

    Args:
        prior: The prior of the arms, in any form that `prior_from` takes; by default the paper's
            for K arms, mu_i = i/(K+1), kappa = K, alpha = 4, beta = 1.
        K: The number of arms; needed for a prior that all arms share.
        sigma: The rewards' standard deviation, shared or per arm; only with a Normal prior.
        correlation: How the arms' means go together; only with a Normal prior. One number between
            all pairs, or a matrix. By default they are independent.

    >>> problem = GaussianBandit(NormalGamma(mu=0, kappa=10, alpha=4, beta=1), K=3)
    >>> problem.draw(np.random.default_rng(0), size=2).mean.shape
    (2, 3)
    >>> GaussianBandit(Normal([0, 1], 0.5), sigma=2).K
    2
    >>> GaussianBandit(K=3).prior
    NormalGamma(mu=[0.25 0.5  0.75], kappa=[3. 3. 3.], alpha=[4. 4. 4.], beta=[1. 1. 1.])
    """

    def __init__(
        self,
        prior: PriorLike | None = None,
        K: int | None = None,
        *,
        sigma: Any = None,
        correlation: Any = None,
    ) -> None:
        if prior is None:
            K = integer("K", 10 if K is None else K, at_least=1)
            prior = NormalGamma(np.arange(1, K + 1) / (K + 1), float(K), 4.0, 1.0)
        prior = prior_from(prior)
        if not isinstance(prior, (NormalGamma, Normal)):
            raise TypeError(f"prior must be a NormalGamma or a Normal, got {abbreviate(prior)}")
        known = isinstance(prior, Normal)
        if known == (sigma is None):
            rule = "given with a Normal prior" if known else "left out with a NormalGamma prior"
            raise ValueError(f"sigma must be {rule}, got {abbreviate(sigma)}")
        self.sigma = reals("sigma", sigma, above=0) if known else None
        if self.sigma is not None:
            common_shape(sigma=self.sigma, mu=np.asarray(prior.mu))
        sizes = {prior.K, self.sigma.size if self.sigma is not None and self.sigma.ndim else None}
        size = K if K is not None else max(n or 0 for n in sizes)
        if size == 0:
            raise ValueError("K must be given when every arm shares the prior, got None")
        self.K = integer("K", size, at_least=1)
        self.prior = prior.for_arms(self.K)
        self.names = self.prior.names
        if self.sigma is not None and self.sigma.size not in (1, self.K):
            raise ValueError(
                f"sigma must be one number or one per arm ({self.K}), got {self.sigma.size}"
            )
        if correlation is not None and not known:
            got = abbreviate(correlation)
            raise ValueError(f"correlation must be left out with a NormalGamma prior, got {got}")
        self.correlation = None if correlation is None else correlation_matrix(correlation, self.K)

    @classmethod
    def fixed(cls, mean: Any, sigma: Any) -> Fixed:
        """Return the problem with one instance, the same in every run.

        Args:
            mean: The arms' means.
            sigma: The rewards' standard deviation, shared or per arm.

        >>> GaussianBandit.fixed(mean=[0.0, 0.5], sigma=[1.0, 0.1]).K
        2
        """
        mean, sigma = np.atleast_1d(reals("mean", mean)), reals("sigma", sigma, above=0)
        common_shape(mean=mean, sigma=sigma)
        return Fixed(cls, gaussian_instances(mean, np.broadcast_to(sigma, mean.shape)))

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        if isinstance(self.prior, Normal):
            mean = self._means(rng, size, self.prior)
            sigma = np.broadcast_to(np.asarray(self.sigma, dtype=np.float64), mean.shape)
        else:
            mean, lam = self.prior.sample(rng, size)
            sigma = 1 / np.sqrt(lam)
        return gaussian_instances(mean, sigma)

    def _means(self, rng: np.random.Generator, size: int, prior: Normal) -> Floats:
        if self.correlation is None:
            return prior.sample(rng, size)
        mu, sigma0 = prior.per_arm(self.K)
        z = rng.standard_normal((size, self.K)) @ np.linalg.cholesky(self.correlation).T
        return np.asarray(mu + sigma0 * z)

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        return a + b * z

    def own_prior(self) -> NormalGamma:
        return self.prior if isinstance(self.prior, NormalGamma) else super().own_prior()

    def describe(self) -> dict[str, Any]:
        sigma = {} if self.sigma is None else {"sigma": self.sigma.tolist()}
        if self.correlation is not None:
            sigma["correlation"] = self.correlation.tolist()
        return {**super().describe(), "prior": self.prior.to_dict(), **sigma}


def correlation_matrix(correlation: Any, K: int) -> Floats:
    """Return the matrix for K arms, or raise if means can't be correlated like this.

    Args:
        correlation: One number between all pairs, or a matrix.
        K: The number of arms.

    >>> correlation_matrix(0.5, 2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    given: Floats = reals("correlation", correlation)
    matrix = np.where(np.eye(K) > 0, 1.0, given) if given.ndim == 0 else given
    rule = f"correlation must be a number or a matrix of correlations between {K} arms"
    if matrix.shape != (K, K) or (matrix != matrix.T).any() or (np.diag(matrix) != 1).any():
        raise ValueError(f"{rule}, got {abbreviate(correlation)}")
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"correlation must be a positive definite matrix, got {abbreviate(correlation)}"
        ) from None
    return matrix


class _UnitInterval(Problem):
    """Means in [0, 1] with Beta(a, b) priors; the paper's Beta(i, K + 1 - i) by default."""

    def __init__(self, K: int | None = None, a: Any = None, b: Any = None):
        if (a is None) != (b is None):
            raise ValueError(f"a and b must be given together, got a={a!r}, b={b!r}")
        if a is None:
            K = integer("K", 10 if K is None else K, at_least=1)
            i = np.arange(1.0, K + 1)
            a, b = i, K + 1 - i
        a, b = reals("a", a, above=0), reals("b", b, above=0)
        shape = common_shape(a=a, b=b)
        size = shape[0] if shape else K
        if size is None or K not in (None, size):
            raise ValueError(f"K must be the number of arms in a and b, got {K!r}")
        self.K = integer("K", size, at_least=1)
        self.a, self.b = np.broadcast_to(a, self.K), np.broadcast_to(b, self.K)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "a": self.a.tolist(), "b": self.b.tolist()}

    def _means(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.beta(self.a, self.b, (size, self.K))


class BernoulliBandit(_UnitInterval):
    """Rewards 0 or 1; means from Beta(a, b) priors, by default the paper's Beta(i, K + 1 - i).

    Args:
        K: The number of arms; by default the length of a and b, or 10.
        a: The first parameter of the means' prior, shared or per arm; requires `b`.
        b: The second.

    >>> BernoulliBandit(K=3).a, BernoulliBandit(a=[1, 2], b=[2, 1]).K
    (array([1., 2., 3.]), 2)
    """

    @classmethod
    def fixed(cls, mean: Any) -> Fixed:
        """Return the problem with one instance, the same in every run.

        Args:
            mean: The arms' means, in [0, 1].
        """
        return Fixed(cls, bernoulli_instances(_within_unit(mean)))

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        return bernoulli_instances(self._means(rng, size))

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        return 1.0 * (u < a)


class BetaBandit(_UnitInterval):
    """Rewards Beta(s mean, s (1 - mean)); means as in `BernoulliBandit`.

    The variance is mean (1 - mean) / (s + 1).

    Args:
        K: The number of arms; by default the length of a and b, or 10.
        s: How concentrated the rewards are; above 0.
        a: The first parameter of the means' prior, shared or per arm; requires `b`.
        b: The second.
    """

    def __init__(self, K: int | None = None, s: float = 10.0, a: Any = None, b: Any = None):
        self.s = real("s", s, above=0)
        super().__init__(K, a, b)

    @classmethod
    def fixed(cls, mean: Any, s: float = 10.0) -> Fixed:
        """Return the problem with one instance, the same in every run.

        Args:
            mean: The arms' means, in [0, 1].
            s: How concentrated the rewards are; above 0.
        """
        return Fixed(cls, beta_instances(_within_unit(mean), real("s", s, above=0)))

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        return beta_instances(self._means(rng, size), self.s)

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        """Compute one reward by inversion; the engine draws from the same distribution, faster.

        Args:
            a: The first parameter of the rewards' Beta distribution.
            b: The second.
            z: Not used.
            u: A uniform number in [0, 1).
        """
        return special.betaincinv(a, b, u)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "s": self.s}


def _within_unit(mean: Any) -> Floats:
    means: Floats = np.atleast_1d(reals("mean", mean, at_least=0))
    if means.max() > 1:
        raise ValueError(f"mean must be at most 1, got {means.max()}")
    return means
