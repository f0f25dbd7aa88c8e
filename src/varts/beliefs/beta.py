"""Beta beliefs: Bernoulli Thompson sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats, reals
from varts.beliefs import best_arm
from varts.beliefs.base import Belief
from varts.beliefs.distributions import Betas


@dataclass(frozen=True, eq=False)
class Beta(Belief):
    """A Beta(a, b) distribution per arm.

    Args:
        a: One number or one per arm, positive.
        b: One number or one per arm, positive.

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

    def at(self, u: Floats, v: Floats) -> Floats:
        return np.asarray(special.betaincinv(self.a, self.b, u))

    def quantile(self, p: Any) -> Floats:
        return np.asarray(special.betaincinv(self.a, self.b, reals("p", p, above=0, below=1)))

    def density(self, x: Any) -> Floats:
        """Return the density of each arm's mean: a row per point, a column per arm.

        Args:
            x: The points; the density is 0 at 0, at 1 and outside.

        >>> Beta([2.0], [1.0]).density([0.25, 0.5, 1.5])      # 2 x
        array([[0.5],
               [1. ],
               [0. ]])
        """
        x = np.ravel(reals("x", x))
        inside = (x > 0) & (x < 1)
        arms = Betas(self.a[:, None], self.b[:, None])
        y = special.logit(np.where(inside, x, 0.5))
        away = y - arms.loc
        found = arms.density(away[..., None])[..., 0] / arms.slope(y)
        return np.where(inside, found, 0.0).T

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean."""
        return np.asarray(self.a / (self.a + self.b))

    def _arrays(self) -> tuple[Floats, ...]:
        return self.a, self.b

    def mirrored(self) -> Beta:
        """Return the belief about one minus the means, for when lower is better.

        >>> Beta([2.0, 1.0], [1.0, 1.0]).mirrored().p_best().round(4)
        array([0.3333, 0.6667])
        """
        return Beta(self.b, self.a)

    def _p_best(self) -> Floats:
        return best_arm.p_best(Betas(self.a.T, self.b.T))[0].T

    def _expected_loss(self) -> Floats:
        mean = self.mean
        loss: Floats = mean.max(axis=1, keepdims=True) - mean
        if self.K > 1:
            loss += best_arm.gap_to_best(Betas(self.a.T, self.b.T))[:, None]
        return loss

    def _top(self, m: int) -> Floats:
        return best_arm.p_top(Betas(self.a.T, self.b.T), m).T

    def _p_better(self) -> Floats:
        return best_arm.p_better(Betas(self.a.T, self.b.T)).transpose(2, 0, 1)
