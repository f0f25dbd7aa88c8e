"""What a Thompson policy believes about each arm's mean reward.

`StudentT(loc, scale, df)` serves every sampler whose marginal is location-scale t: VarTS, TS14,
TS20, and with df = inf the Gaussian ones. `Beta(a, b)` serves Bernoulli Thompson sampling. Arms
are the last axis; the random generator is always an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from varts.checks import Floats, real, reals

# Below this shape a Gamma draw may underflow, and a t draw overflow: work with logarithms.
SMALL_SHAPE = 1.0


class Belief:
    """One marginal distribution per arm."""

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        """A draw per arm, or `size` rows of them."""
        raise NotImplementedError

    def quantile(self, p: Any) -> Floats:
        """The value that arm's mean stays below with probability p."""
        raise NotImplementedError

    def argmax(self, rng: np.random.Generator) -> int:
        """The arm with the highest draw, ties broken at random."""
        return pick_best(self.sample(rng), rng)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The central credible interval of each arm's mean."""
        level = real("level", level, above=0, below=1)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)


@dataclass(frozen=True, eq=False)
class StudentT(Belief):
    """Location-scale Student t per arm; df = inf is a Gaussian, scale = 0 a point mass.

    >>> belief = StudentT(loc=[0.0, 1.0], scale=[1.0, 2.0], df=[4.0, np.inf])
    >>> belief.interval(0.9)[1].round(4)      # 2.1318 is t(4)'s 95 % quantile, 1.6449 the normal's
    array([2.1318, 4.2897])
    """

    loc: Floats
    scale: Floats
    df: Floats

    def __post_init__(self) -> None:
        loc, scale, df = np.broadcast_arrays(
            reals("loc", self.loc),
            reals("scale", self.scale, at_least=0, infinite=True),
            reals("df", self.df, above=0, infinite=True),
        )
        for name, array in (("loc", loc), ("scale", scale), ("df", df)):
            object.__setattr__(self, name, np.atleast_1d(array))

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        sign, logdev = self.sample_log(rng, size)
        with np.errstate(over="ignore"):  # an infinite draw is what a t with tiny df looks like
            return self.loc + sign * np.exp(logdev)

    def sample_log(
        self, rng: np.random.Generator, size: int | None = None
    ) -> tuple[Floats, Floats]:
        """Draws as loc + sign * exp(logdev), which no df is too small for.

        A t draw is z / sqrt(g / alpha) with z normal, g ~ Gamma(alpha), alpha = df/2. For small
        alpha, log g comes from g = g' * u^(1/alpha) with g' ~ Gamma(alpha + 1).
        """
        shape = self.loc.shape if size is None else (size, *self.loc.shape)
        z = rng.standard_normal(shape)
        alpha = self.df / 2
        finite = np.isfinite(alpha)
        a = np.where(finite, alpha, 1.0)
        small = a < SMALL_SHAPE
        log_g = np.log(rng.standard_gamma(a + small, shape))
        if small.any():
            log_g = np.where(small, log_g - rng.standard_exponential(shape) / a, log_g)
        with np.errstate(divide="ignore"):
            logdev = np.log(np.abs(z)) + np.log(self.scale)
        return np.sign(z), logdev - np.where(finite, 0.5 * (log_g - np.log(a)), 0.0)

    def argmax(self, rng: np.random.Generator) -> int:
        sign, logdev = self.sample_log(rng)
        with np.errstate(over="ignore"):
            draws = self.loc + sign * np.exp(logdev)
        best = draws.max()
        if np.isinf(best):  # several infinite draws are no tie: their logarithms still differ
            draws = np.where(draws == best, sign * logdev, -np.inf)
        return pick_best(draws, rng)

    def quantile(self, p: Any) -> Floats:
        p = reals("p", p, above=0, below=1)
        finite = np.isfinite(self.df)
        t = special.stdtrit(np.where(finite, self.df, 1.0), p)
        return np.asarray(self.loc + self.scale * np.where(finite, t, special.ndtri(p)))


@dataclass(frozen=True, eq=False)
class Beta(Belief):
    """A Beta(a, b) distribution per arm.

    >>> Beta([1.0, 3.0], [1.0, 2.0]).quantile(0.5).round(4)
    array([0.5   , 0.6143])
    """

    a: Floats
    b: Floats

    def __post_init__(self) -> None:
        a, b = np.broadcast_arrays(reals("a", self.a, above=0), reals("b", self.b, above=0))
        object.__setattr__(self, "a", np.atleast_1d(a))
        object.__setattr__(self, "b", np.atleast_1d(b))

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        return rng.beta(self.a, self.b, self.a.shape if size is None else (size, *self.a.shape))

    def quantile(self, p: Any) -> Floats:
        return np.asarray(special.betaincinv(self.a, self.b, reals("p", p, above=0, below=1)))


def pick_best(scores: Floats, rng: np.random.Generator) -> int:
    """The index of the largest score; equal scores are drawn from uniformly."""
    if np.isnan(scores).any():
        raise ValueError(f"the score of every arm must be a number, got {scores}")
    best = np.flatnonzero(scores == scores.max())
    return int(best[0] if best.size == 1 else rng.choice(best))
