"""What the rewards of one arm say about the effects of features.

Sums of features and rewards about a fixed origin, the first of them, as `Row` keeps those of the
rewards alone: 1e9 + 0.001 keeps its digits. With `Row` they fade, merge and are corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from varts._validation import Floats
from varts.linear_stats import merged_products

LEAST_LEFT = 0.5  # of a sum of squares or a weight: with less left after a removal, digits are lost
FARTHEST_ORIGIN = 1e4  # standard deviations from the mean: three or four digits of the sixteen
NUMBER = np.dtype("<f8")  # as it is stored


class Line(NamedTuple):
    """Of `d` features and the reward, the last one: means about `origin`, and centred products.

    Args:
        rewards: How many were counted with their features.
        n: What they weigh.
        mean: The d + 1 means, less the origin.
        products: The sums of products of deviations from these means.
        origin: The first of them.
    """

    rewards: int
    n: float
    mean: Floats
    products: Floats
    origin: Floats

    @classmethod
    def first(cls, point: Floats) -> Line:
        """One reward with its features."""
        D = point.size
        return cls(1, 1.0, np.zeros(D), np.zeros((D, D)), point)

    @classmethod
    def summed(cls, points: Floats, weight: Floats) -> Line:
        """Many of them at once, a row each, with their weights."""
        origin, n = points[0], float(weight.sum())
        offset = points - origin
        mean = weight @ offset / n
        gap = offset - mean
        return cls(len(points), n, mean, (gap * weight[:, None]).T @ gap, origin)

    def observe(self, point: Floats) -> Line:
        """One more.

        >>> line = Line.first(np.array([1e9, 5.0])).observe(np.array([1e9 + 2, 9.0]))
        >>> line.mean, line.products.tolist()
        (array([1., 2.]), [[2.0, 4.0], [4.0, 8.0]])
        """
        if point.shape != self.origin.shape:
            raise ValueError(
                f"a reward must have {self.origin.size - 1} features, got {point.size - 1}"
            )
        sums = merged_products(self.n, self.mean, self.products, 1.0, point - self.origin, _NONE)
        return Line(self.rewards + 1, *sums, self.origin)

    def replaced(self, before: Floats | None, after: Floats | None, weight: float) -> Line | None:
        """With `after` in the place of `before`, which weighs so much; None is nothing at all.

        Returns None if digits would be lost, as by `Row.replaced`.

        >>> line = Line.first(np.zeros(2))
        >>> for x in (1.0, 2.0, 0.0, 1.0):
        ...     line = line.observe(np.array([x, 3 * x]))
        >>> line.replaced(np.array([1.0, 3.0]), np.array([1.0, 4.0]), 1.0).rewards
        5
        >>> line.observe(np.array([1e9, 3.0])).replaced(np.array([1e9, 3.0]), None, 1.0) is None
        True
        """
        rewards, sums = self.rewards, (self.n, self.mean, self.products)
        if before is not None:
            sums = merged_products(*sums, -weight, before - self.origin, _NONE)
            rewards -= 1
        left, squares = np.diagonal(sums[2]), np.diagonal(self.products)
        if not (rewards and sums[0] > LEAST_LEFT * weight and (left >= LEAST_LEFT * squares).all()):
            return None
        if after is not None:
            sums = merged_products(*sums, weight, after - self.origin, _NONE)
            rewards += 1
        n, mean, products = sums
        if (np.abs(mean) > FARTHEST_ORIGIN * np.sqrt(np.diagonal(products) / n)).any():
            return None  # the origin was one of those that went
        return Line(rewards, n, mean, products, self.origin)

    def merge(self, other: Line) -> Line:
        """Both together, about this one's origin."""
        mean = (other.origin - self.origin) + other.mean
        sums = merged_products(self.n, self.mean, self.products, other.n, mean, other.products)
        return Line(self.rewards + other.rewards, *sums, self.origin)

    def faded(self, share: float) -> Line:
        """With this share of its weight."""
        return self._replace(n=self.n * share, products=self.products * share)

    def to_bytes(self) -> bytes:
        """All of it as numbers of eight bytes: 720 bytes with ten features.

        >>> line = Line.first(np.arange(11.0))
        >>> len(line.to_bytes()), Line.from_bytes(line.to_bytes()) == line
        (720, True)
        """
        upper = self.products[_triangle(self.origin.size)]
        numbers = np.concatenate([[self.rewards, self.n], self.origin, self.mean, upper])
        return numbers.astype(NUMBER).tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Line:
        """What `to_bytes` gave."""
        numbers = np.frombuffer(stored, dtype=NUMBER).astype(np.float64)
        # Two numbers, two for each of D columns, and the upper triangle of their products.
        D = (math.isqrt(max(9 + 8 * numbers.size, 0)) - 5) // 2
        if D < 1 or numbers.size != 2 + 2 * D + D * (D + 1) // 2:
            raise ValueError(f"a line must have the numbers of its columns, got {numbers.size}")
        origin, mean, upper = np.split(numbers[2:], [D, 2 * D])
        products = np.zeros((D, D))
        products[_triangle(D)] = upper
        products.T[_triangle(D)] = upper
        return cls(int(numbers[0]), float(numbers[1]), mean, products, origin)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and self.to_bytes() == other.to_bytes()

    def __ne__(self, other: object) -> bool:
        return not self == other


@cache
def _triangle(D: int) -> Any:
    return np.triu_indices(D)


_NONE: Any = 0.0  # the products of a single one


def point_of(x: Sequence[float], value: float) -> Floats:
    """Features and a reward, as a line takes them."""
    return np.array([*x, value], dtype=np.float64)
