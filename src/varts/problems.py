"""Bandit problems: a prior over instances, and how an arm of an instance pays.

Every run of a simulation draws a new instance. An instance gives each arm a mean, a variance and
two numbers a, b for its reward function. To add a problem, subclass `Problem` and define `draw` and
`reward`; docs/extending.md walks through an example.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import special

from varts import _seeding
from varts._moments import check_moments
from varts._validation import Floats, abbreviate, common_shape, integer, real, reals
from varts.instances import (
    Instances,
    bernoulli_instances,
    beta_instances,
    gaussian_instances,
)
from varts.priors import Normal, NormalGamma, PriorLike, prior_from

ARMS_CHECKED = 8  # by `Problem.check`


class Problem:
    """The base of all problems.

    `reward(a, b, z, u)` is plain arithmetic: one reward from a standard normal z and a uniform u in
    [0, 1), both fresh for every pull.
    """

    K: int
    #: Whether rewards depend on the features of who comes: see `ContextualProblem`.
    contextual: ClassVar[bool] = False
    #: The arms' names, if they have any: `simulate` finds a policy's prior by them.
    names: tuple[str, ...] | None = None
    #: A list of numbers that `reward` gets as a fifth argument, if there is one: what all arms
    #: share, or what they look up. It is not compiled in, so other numbers cost no compiling.
    data: Any = None

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        """Draw instances.

        Args:
            rng: Where the randomness comes from.
            size: How many.
        """
        raise NotImplementedError(f"{type(self).__name__} must define draw(rng, size)")

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        """Compute one reward of an arm.

        Args:
            a: The arm's first number.
            b: Its second.
            z: A standard normal number.
            u: A uniform number in [0, 1).
        """
        raise NotImplementedError("a Problem must define reward(a, b, z, u)")

    def estimate_prior(
        self, samples: int = 10_000, seed: int = 0, kappa: str = "paper"
    ) -> NormalGamma:
        """Estimate the prior of VarTS by the method of moments, on instances drawn for it alone.

        Args:
            samples: How many instances.
            seed: Same seed, same instances.
            kappa: "paper" or "consistent", as in `NormalGamma.from_moments`.

        Returns:
            A prior with an entry per arm.

        >>> prior = BernoulliBandit(K=4).estimate_prior()
        >>> prior.mu.round(2)          # close to i / (K + 1)
        array([0.2, 0.4, 0.6, 0.8])
        """
        samples = integer("samples", samples, at_least=2)
        drawn = self.draw(_seeding.generator(seed, _seeding.PRIOR_SAMPLES), samples)
        return NormalGamma.from_moments(drawn.mean, 1 / drawn.variance, kappa)

    def own_prior(self) -> NormalGamma:
        """Return the prior of a VarTS that knows where the instances come from.

        It is the true one where that is a NormalGamma, else `estimate_prior()`.
        """
        return self.estimate_prior()

    def check(self, pulls: int = 25_000, seed: int = 0) -> None:
        """Raise ValueError if rewards do not have the means that `draw` states.

        Some arms of an instance are pulled that often. A false alarm has a chance of less than one
        in a million. `simulate` does it when it first meets a problem that is not of this package.

        Args:
            pulls: How often each of the arms is pulled.
            seed: Same seed, same rewards.
        """
        rng = _seeding.generator(seed, _seeding.PROBLEM_CHECK)
        drawn = self.draw(rng, 1)
        arrays = [drawn.array(name, 1, self.K)[0] for name in ("mean", "variance", "a", "b")]
        some = np.linspace(0, self.K - 1, min(self.K, ARMS_CHECKED)).astype(int)
        pulls = integer("pulls", pulls, at_least=2)
        what = f"reward of {type(self).__name__}"
        check_moments(what, self._reward, np.array(arrays)[:, some], pulls, rng)

    def _reward(self, a: Any, b: Any, z: Any, u: Any) -> Any:
        """`reward`, given the data that there may be."""
        if self.data is None:
            return self.reward(a, b, z, u)
        return self.reward(a, b, z, u, np.asarray(self.data, dtype=np.float64))  # type: ignore[call-arg]

    def describe(self) -> dict[str, Any]:
        """Return what a saved study records about the problem."""
        return {"problem": type(self).__name__, "K": self.K}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K})"


class GaussianBandit(Problem):
    """Rewards N(mean, variance), drawn from a NormalGamma, or a Normal with known `sigma`.

    Args:
        prior: What the arms are drawn from, or whatever stands for a prior; by default the paper's
            for K arms, mu_i = i/(K+1), kappa = K, alpha = 4, beta = 1.
        K: The number of arms; needed for a prior that all arms share.
        sigma: The rewards' standard deviation, shared or per arm; only with a Normal prior.

    >>> problem = GaussianBandit(NormalGamma(mu=0, kappa=10, alpha=4, beta=1), K=3)
    >>> problem.draw(np.random.default_rng(0), size=2).mean.shape
    (2, 3)
    >>> GaussianBandit(Normal([0, 1], 0.5), sigma=2).K
    2
    >>> GaussianBandit(K=3).prior
    NormalGamma(mu=[0.25 0.5  0.75], kappa=[3. 3. 3.], alpha=[4. 4. 4.], beta=[1. 1. 1.])
    """

    def __init__(
        self, prior: PriorLike | None = None, K: int | None = None, *, sigma: Any = None
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
            mean = self.prior.sample(rng, size)
            sigma = np.broadcast_to(np.asarray(self.sigma, dtype=np.float64), mean.shape)
        else:
            mean, lam = self.prior.sample(rng, size)
            sigma = 1 / np.sqrt(lam)
        return gaussian_instances(mean, sigma)

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        return a + b * z

    def own_prior(self) -> NormalGamma:
        return self.prior if isinstance(self.prior, NormalGamma) else super().own_prior()

    def describe(self) -> dict[str, Any]:
        sigma = {} if self.sigma is None else {"sigma": self.sigma.tolist()}
        return {**super().describe(), "prior": self.prior.to_dict(), **sigma}


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
        K: The number of arms; 10 by default, or as many as a and b have.
        a: The first parameter of the prior of the means, shared or per arm; with `b` or not at all.
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
        K: The number of arms; 10 by default, or as many as a and b have.
        s: How concentrated the rewards are; above 0.
        a: The first parameter of the prior of the means, shared or per arm; with `b` or not at all.
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


class Fixed(Problem):
    """One instance, the same in every run; made by the `fixed` methods above.

    Args:
        kind: The problem that says how an arm pays.
        row: The instance.
    """

    def __init__(self, kind: type[Problem], row: Instances):
        self.kind, self.row, self.K = kind, row, row.mean.shape[-1]
        self.reward = kind.reward  # type: ignore[method-assign]

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        row = self.row
        shape = size, self.K
        return Instances(
            *(np.broadcast_to(x, shape) for x in (row.mean, row.variance, row.a, row.b))
        )

    def describe(self) -> dict[str, Any]:
        row = {"mean": self.row.mean.tolist(), "variance": self.row.variance.tolist()}
        return {"problem": f"{self.kind.__name__}.fixed", "K": self.K, **row}


def _within_unit(mean: Any) -> Floats:
    means: Floats = np.atleast_1d(reals("mean", mean, at_least=0))
    if means.max() > 1:
        raise ValueError(f"mean must be at most 1, got {means.max()}")
    return means
