"""Rewards with heavy tails: Pareto amounts, and mixtures of normals such as contaminated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate, common_shape, integer, real, reals
from varts.priors import PriorLike
from varts.problems.base import Fixed, Instances, Problem
from varts.problems.classic import GaussianBandit

#: The smallest tail index. A uniform double can't be nearer to 1 than 2^-53. From this index on,
#: what lies beyond is less than 0.1 % of the mean.
SMALLEST_TAIL = 1.25


def pareto_instances(mean: Floats, tail: Floats) -> Instances:
    """Pareto rewards with these means; the variance is infinite for a tail of at most 2."""
    least = mean * (tail - 1) / tail
    with np.errstate(divide="ignore"):
        variance = np.where(tail > 2, mean**2 / (tail * np.where(tail > 2, tail - 2, 1.0)), np.inf)
    return Instances(mean, variance, a=least, b=np.broadcast_to(tail, mean.shape))


class ParetoBandit(Problem):
    """Rewards are Pareto: positive, mostly small, and now and then very large.

    A reward exceeds x with probability (x_m / x)^tail, where x_m, the smallest reward, is
    mean * (tail - 1) / tail. The variance is mean^2 / (tail (tail - 2)). For a tail of at most 2 it
    is infinite: sample variances then grow without end, and so does the width of every interval
    that rests on them. The kurtosis is infinite for a tail of at most 4.

    Every run draws the arms' means; their logarithm is normal.

    Args:
        K: The number of arms; by default the length of `amount` or `tail`, or 5.
        tail: The tail index, at least 1.25: a number or one per arm. The smaller, the heavier.
        amount: The median over the runs of an arm's mean; a number or one per arm.
        arm_spread: How much the arms' means differ: the sd of their logarithm.

    >>> drawn = ParetoBandit(K=3, tail=[3, 2.5, 1.5]).draw(np.random.default_rng(0), size=1)
    >>> drawn.mean.round(2), (drawn.variance / drawn.mean**2).round(3)    # 1 / (tail (tail - 2))
    (array([[1.03, 0.97, 1.14]]), array([[0.333, 0.8  ,   inf]]))
    """

    def __init__(
        self, K: int | None = None, *, tail: Any = 3.0, amount: Any = 1.0, arm_spread: float = 0.2
    ) -> None:
        tail = reals("tail", tail, at_least=SMALLEST_TAIL)
        amount = reals("amount", amount, above=0)
        sizes = common_shape(tail=tail, amount=amount)
        size = sizes[0] if sizes else K
        if K is not None and size != K:
            raise ValueError(f"K must be the number of arms ({size}), got {K!r}")
        self.K = integer("K", 5 if size is None else size, at_least=1)
        self.tail, self.amount = np.broadcast_to(tail, self.K), np.broadcast_to(amount, self.K)
        self.arm_spread = real("arm_spread", arm_spread, at_least=0)

    @classmethod
    def fixed(cls, mean: Any, tail: Any = 3.0) -> Fixed:
        """Return the problem with one instance, the same in every run.

        Args:
            mean: The arms' means.
            tail: The tail index, at least 1.25: a number or one per arm.
        """
        means = np.atleast_1d(reals("mean", mean, above=0))
        tails = reals("tail", tail, at_least=SMALLEST_TAIL)
        common_shape(mean=means, tail=tails)
        return Fixed(cls, pareto_instances(means, np.broadcast_to(tails, means.shape)))

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        spread = np.exp(self.arm_spread * rng.standard_normal((size, self.K)))
        return pareto_instances(self.amount * spread, self.tail)

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        """Compute one reward by inversion.

        Args:
            a: The smallest reward.
            b: The tail index.
            z: Not used.
            u: A uniform number in [0, 1).
        """
        return a * (1 - u) ** (-1 / b)

    def describe(self) -> dict[str, Any]:
        own = {"tail": self.tail.tolist(), "amount": self.amount.tolist()}
        return {**super().describe(), **own, "arm_spread": self.arm_spread}


# --------------------------------------------------------------------------- mixtures of normals


def standardized_mixture(weights: Any, offsets: Any, scales: Any) -> Floats:
    """Return a mixture with mean 0 and variance 1: upper ends of u, offsets and scales, flat.

    Args:
        weights: How often each component is drawn, up to a factor.
        offsets: The components' means.
        scales: Their standard deviations.
    """
    columns = {"weights": weights, "offsets": offsets, "scales": scales}
    w, d, s = (np.atleast_1d(reals(name, x)) for name, x in columns.items())
    if not w.shape == d.shape == s.shape or w.ndim != 1:
        raise ValueError(
            "weights, offsets and scales must have an entry per component, got "
            f"{w.size}, {d.size} and {s.size}"
        )
    if w.min() <= 0:
        raise ValueError(f"weights must be finite and > 0, got {abbreviate(w[w <= 0][0])}")
    if s.min() < 0:
        raise ValueError(f"scales must be finite and >= 0, got {abbreviate(s[s < 0][0])}")
    w = w / w.sum()
    d = d - w @ d
    sd = np.sqrt(w @ (d**2 + s**2))
    if sd == 0:
        raise ValueError("offsets and scales must give rewards that vary, got a constant")
    return np.concatenate([np.cumsum(w), d / sd, s / sd])


class MixtureBandit(GaussianBandit):
    """Rewards with the means and variances of a `GaussianBandit`, but from a mixture of normals.

    Whatever the mixture, a reward is mean + sigma * noise, and the noise is scaled to have mean 0
    and variance 1. So every difference to the `GaussianBandit` with the same prior is one of
    shape. By default the noise is contaminated: one reward in twenty has ten times the standard
    deviation of the others. Two offsets make two humps, and a rare one far away makes skewness.

    Args:
        prior: The prior of the arms, as for `GaussianBandit`.
        K: The number of arms; needed for a prior that all arms share.
        sigma: The rewards' standard deviation, shared or per arm; only with a Normal prior.
        correlation: As for `GaussianBandit`.
        weights: How often each component of the noise is drawn, up to a factor.
        offsets: The components' means, up to a shift and a factor.
        scales: Their standard deviations, up to the same factor.

    >>> rare = MixtureBandit(K=3, weights=[0.99, 0.01], offsets=[0, 30], scales=[1, 1])
    >>> rare.reward(0.0, 1.0, 0.0, np.array([0.5, 0.995]), rare.data).round(2)
    array([-0.1 ,  9.43])
    """

    def __init__(
        self,
        prior: PriorLike | None = None,
        K: int | None = None,
        *,
        sigma: Any = None,
        correlation: Any = None,
        weights: Any = (0.95, 0.05),
        offsets: Any = (0.0, 0.0),
        scales: Any = (1.0, 10.0),
    ) -> None:
        super().__init__(prior, K, sigma=sigma, correlation=correlation)
        self.data: Floats = standardized_mixture(weights, offsets, scales)

    @classmethod
    def fixed(
        cls,
        mean: Any,
        sigma: Any,
        weights: Any = (0.95, 0.05),
        offsets: Any = (0.0, 0.0),
        scales: Any = (1.0, 10.0),
    ) -> Fixed:
        """Return the problem with one instance, the same in every run.

        Args:
            mean: The arms' means.
            sigma: The rewards' standard deviation, shared or per arm.
            weights: How often each component of the noise is drawn, up to a factor.
            offsets: The components' means, up to a shift and a factor.
            scales: Their standard deviations, up to the same factor.
        """
        row = GaussianBandit.fixed(mean, sigma).row
        return Fixed(cls, row, standardized_mixture(weights, offsets, scales))

    @staticmethod
    def reward(  # type: ignore[override]  # it has data
        a: Any, b: Any, z: Any, u: Any, data: Any
    ) -> Any:
        """Compute one reward.

        Args:
            a: The mean.
            b: The standard deviation.
            z: A standard normal number.
            u: A uniform number in [0, 1), which picks the component.
            data: The components: upper ends of u, offsets and scales.
        """
        count = len(data) // 3
        noise = data[2 * count - 1] + data[3 * count - 1] * z
        for j in range(count - 2, -1, -1):
            noise = np.where(u < data[j], data[count + j] + data[2 * count + j] * z, noise)
        return a + b * noise

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "noise": np.reshape(self.data, (3, -1)).tolist()}
