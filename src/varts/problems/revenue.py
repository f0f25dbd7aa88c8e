"""Revenue: most visitors pay nothing, a few pay very different amounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats, abbreviate, choice, common_shape, integer, real, reals
from varts.problems.base import Instances, Problem


def lognormal_revenue(a: Any, b: Any, z: Any, u: Any, data: Any) -> Any:
    """With probability a, an amount whose logarithm is N(log b - s^2/2, s^2): its mean is b."""
    return np.where(u < a, b * np.exp(data[0] * z - 0.5 * data[0] ** 2), 0.0)


def gamma_revenue(a: Any, b: Any, z: Any, u: Any, data: Any) -> Any:
    """With probability a, a gamma amount with mean b and sd s b.

    If u is below a, u / a is uniform, so we invert it. The engine is faster.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        amount = data[0] ** 2 * special.gammaincinv(data[0] ** -2, np.minimum(u / a, 1.0))
        return np.where(u < a, b * amount, 0.0)


def normal_revenue(a: Any, b: Any, z: Any, u: Any, data: Any) -> Any:
    """With probability a, an amount N(b, (s b)^2)."""
    return np.where(u < a, b + b * data[0] * z, 0.0)


REVENUES: dict[str, Callable[..., Any]] = {
    "lognormal": lognormal_revenue,
    "gamma": gamma_revenue,
    "normal": normal_revenue,
}


class RevenueBandit(Problem):
    """Rewards are 0, or with some chance an amount, like the purchases of a shop's visitors.

    Every run draws each arm's chance, uniformly between two numbers, and its mean amount, whose
    logarithm is normal. An arm's mean is chance * amount, and its variance is
    chance * amount^2 * (1 + cv^2 - chance), where cv is the amounts' sd over their mean: `spread`,
    or for log-normal amounts sqrt(exp(spread^2) - 1).

    Args:
        K: The number of arms; by default the length of `chance` or `amount`, or 5.
        chance: The least and the greatest chance that a visitor pays, each a number or one per arm.
        amount: The median over the arms of their mean amount; a number or one per arm.
        arm_spread: How much the arms' mean amounts differ: the sd of their logarithm.
        spread: How much the amounts of one arm differ: the sd of their logarithm if they are
            log-normal, otherwise their sd divided by their mean.
        shape: "lognormal", "gamma" or "normal", the distribution of an arm's amounts; normal ones
            may be negative.

    >>> problem = RevenueBandit(K=3, chance=(0.02, 0.06), amount=30.0, spread=0.8)
    >>> drawn = problem.draw(np.random.default_rng(0), size=2)
    >>> drawn.mean.round(2)                      # between 0.02 * 30 and 0.06 * 30, more or less
    array([[1.77, 1.12, 0.56],
           [0.48, 1.39, 1.71]])
    >>> RevenueBandit.fixed(chance=[0.02, 0.04], amount=[40.0, 25.0]).draw(None, 1).mean
    array([[0.8, 1. ]])
    """

    def __init__(
        self,
        K: int | None = None,
        *,
        chance: Any = (0.02, 0.06),
        amount: Any = 30.0,
        arm_spread: float = 0.2,
        spread: float = 0.8,
        shape: str = "lognormal",
    ) -> None:
        try:
            low, high = chance
        except (TypeError, ValueError):
            raise TypeError(
                f"chance must be two numbers that increase, got {abbreviate(chance)}"
            ) from None
        low, high = (
            reals(f"{which} chance", x, at_least=0, at_most=1)
            for which, x in (("least", low), ("greatest", high))
        )
        amount = reals("amount", amount, above=0)
        sizes = common_shape(chance=low, greatest=high, amount=amount)
        if (low > high).any():
            raise ValueError(f"chance must be two numbers that increase, got {abbreviate(chance)}")
        size = sizes[0] if sizes else K
        if K is not None and size != K:
            raise ValueError(f"K must be the number of arms ({size}), got {K!r}")
        self.K = integer("K", 5 if size is None else size, at_least=1)
        self.low, self.high, self.amount = (np.broadcast_to(x, self.K) for x in (low, high, amount))
        self.arm_spread = real("arm_spread", arm_spread, at_least=0)
        self.spread = real("spread", spread, above=0)
        self.shape = choice("shape", shape, REVENUES)
        self.data: Floats = np.array([self.spread])
        self.reward = REVENUES[shape]  # type: ignore[method-assign]

    @classmethod
    def fixed(
        cls, chance: Any, amount: Any, spread: float = 0.8, shape: str = "lognormal"
    ) -> RevenueBandit:
        """Return the problem with one instance, the same in every run.

        Args:
            chance: The arms' chances of a payment.
            amount: The arms' mean amounts.
            spread: How much the amounts of one arm differ, as above.
            shape: The distribution of the amounts, as above.
        """
        chance = np.atleast_1d(reals("chance", chance, at_least=0, at_most=1))
        return cls(chance=(chance, chance), amount=amount, arm_spread=0, spread=spread, shape=shape)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        chance, amount = np.broadcast_to(self.low, (size, self.K)), self.amount
        if (self.high > self.low).any():
            chance = rng.uniform(self.low, self.high, (size, self.K))
        amount = np.broadcast_to(amount, (size, self.K))
        if self.arm_spread > 0:
            amount = amount * np.exp(self.arm_spread * rng.standard_normal((size, self.K)))
        square = np.expm1(self.spread**2) if self.shape == "lognormal" else self.spread**2
        variance = chance * amount**2 * (1 + square - chance)
        return Instances(chance * amount, variance, a=chance, b=amount)

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "chance": [self.low.tolist(), self.high.tolist()],
            "amount": self.amount.tolist(),
            "arm_spread": self.arm_spread,
            "spread": self.spread,
            "shape": self.shape,
        }
