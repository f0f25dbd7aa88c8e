"""Statistics of arms whose rewards depend on features: counts, means and cross products.

The last column of `mean` and the last row and column of `products` belong to the reward, the others
to the features. Products are of deviations from the means, so features and rewards like 1e9 +/- 1
keep their digits. They merge in any order, like those of `ArmStats`: this is Chan's formula with
vectors. Without features it is `ArmStats` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate, integer, reals

ROUNDING = 1e-9  # relative: a smaller asymmetry is rounding


@dataclass(frozen=True, eq=False)
class LinearStats:
    """Sufficient statistics of K arms whose rewards depend on d features; a value.

    The constant feature is not among the d: every arm has a level of its own.

    Args:
        n: How many rewards each arm has had.
        mean: A row per arm: the means of its d features, then that of its rewards.
        products: A matrix per arm: the sums of products of their deviations from these means.

    >>> stats = LinearStats.empty(K=2, d=1).observe([0, 0, 0], [[1], [2], [3]], [5.0, 7.0, 9.0])
    >>> stats.mean[0], stats.products[0].tolist()
    (array([2., 7.]), [[2.0, 4.0], [4.0, 8.0]])
    """

    n: Floats
    mean: Floats
    products: Floats

    def __post_init__(self) -> None:
        n = np.atleast_1d(reals("n", self.n, at_least=0))
        mean, products = reals("mean", self.mean), reals("products", self.products)
        K, D = n.size, mean.shape[-1] if mean.ndim else 0
        if n.ndim > 1 or D < 1 or mean.shape != (K, D) or products.shape != (K, D, D):
            raise ValueError(
                "n, mean and products must have shapes (K,), (K, d + 1) and (K, d + 1, d + 1), "
                f"got {n.shape}, {mean.shape} and {products.shape}"
            )
        diagonal = np.diagonal(products, axis1=-2, axis2=-1)
        if (diagonal < 0).any() or not is_symmetric(products):
            raise ValueError(
                f"products must be symmetric with squares >= 0, got {abbreviate(products.tolist())}"
            )
        self._keep(n, mean, products)

    def _keep(self, n: Floats, mean: Floats, products: Floats) -> None:
        for name, array in (("n", n), ("mean", mean), ("products", products)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def _trusted(cls, n: Floats, mean: Floats, products: Floats) -> LinearStats:
        """Make statistics from arrays that are known to be valid."""
        stats = object.__new__(cls)
        stats._keep(n, mean, products)
        return stats

    @classmethod
    def empty(cls, K: int, d: int) -> LinearStats:
        """Return the statistics of K arms without rewards.

        Args:
            K: The number of arms.
            d: The number of features.
        """
        K, D = integer("K", K, at_least=1), integer("d", d, at_least=0) + 1
        return cls._trusted(np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D)))

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self.n.size)

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.mean.shape[1]) - 1

    def observe(self, arm: Any, x: Any, reward: Any) -> LinearStats:
        """Return the statistics after one more reward, or several.

        Args:
            arm: The index of the arm that was played, or one per reward.
            x: The features of the unit; a row per reward if there are several.
            reward: The reward, or one per arm index.
        """
        arms, rewards = np.atleast_1d(np.asarray(arm)), np.atleast_1d(reals("reward", reward))
        features = np.atleast_2d(reals("x", x)) if self.d else np.zeros((len(rewards), 0))
        if arms.size and arms.dtype.kind not in "iu":
            raise TypeError(
                f"arm must be an index from 0 to {self.K - 1} or several, got {abbreviate(arm)}"
            )
        if arms.shape != rewards.shape or features.shape != (len(rewards), self.d):
            raise ValueError(
                f"arm, x and reward must have equal lengths and x {self.d} columns, "
                f"got shapes {arms.shape}, {features.shape} and {rewards.shape}"
            )
        outside = (arms < 0) | (arms >= self.K)
        if outside.any():
            raise ValueError(f"arm must be an index from 0 to {self.K - 1}, got {arms[outside][0]}")
        n, mean, products = self.n.copy(), self.mean.copy(), self.products.copy()
        rows = np.column_stack([features, rewards])
        for i in np.unique(arms):
            batch = row_moments(rows[arms == i])
            n[i], mean[i], products[i] = merged_products(n[i], mean[i], products[i], *batch)
        return LinearStats._trusted(n, mean, products)

    def merge(self, other: LinearStats) -> LinearStats:
        """Return the statistics of both sets of rewards together.

        Args:
            other: Other rewards of the same arms, with the same features.
        """
        if not isinstance(other, LinearStats):
            raise TypeError(f"statistics to merge must be a LinearStats, got {abbreviate(other)}")
        if (other.K, other.d) != (self.K, self.d):
            raise ValueError(
                "statistics must have equal numbers of arms and features, got "
                f"{self.K} and {self.d}, {other.K} and {other.d}"
            )
        mine, others = ((s.n, s.mean, s.products) for s in (self, other))
        return LinearStats._trusted(*merged_products(*mine, *others))

    def take(self, arms: Any) -> LinearStats:
        """Return the statistics of some of the arms.

        Args:
            arms: Their indices, in the order of the result.
        """
        return LinearStats._trusted(self.n[arms], self.mean[arms], self.products[arms])

    def mirrored(self, reflection: float = 0.0) -> LinearStats:
        """Return the statistics of `reflection - reward`, for when lower is better.

        Args:
            reflection: The number to subtract the rewards from.
        """
        mean, products = self.mean.copy(), self.products.copy()
        mean[:, -1] = reflection - mean[:, -1]
        products[:, -1, :-1] *= -1
        products[:, :-1, -1] *= -1
        return LinearStats._trusted(self.n, mean, products)

    def pooled(self) -> LinearStats:
        """Return all arms merged into one, at once rather than two by two."""
        n = self.n.sum()
        share = self.n / n if n > 0 else np.zeros(self.K)
        mean = (self.mean * share[:, None]).sum(axis=0)
        gap = self.mean - mean
        square = gap[:, :, None] * gap[:, None, :]
        # Add in the order of `ArmStats.pooled`, so that without features all bits agree.
        products = (self.products + self.n[:, None, None] * square).sum(axis=0)
        return LinearStats._trusted(np.array([n]), mean[None], products[None])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearStats) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("n", "mean", "products")
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        return f"LinearStats(n={self.n}, {self.d} features)"


def row_moments(rows: Floats) -> tuple[float, Floats, Floats]:
    """Return the number of rows, their means, and the products of their deviations from these.

    Args:
        rows: A row per reward: the features, then the reward.
    """
    mean = rows.mean(axis=0)
    away = rows - mean
    return float(len(rows)), mean, away.T @ away


def merged_products(
    n: Any, mean: Floats, products: Floats, n2: Any, mean2: Floats, products2: Floats
) -> tuple[Any, Floats, Floats]:
    """Merge two sets of rows, of one arm or many: `varts.stats.merged` for vectors.

    Args:
        n: The number of rows of the first set, or their weight.
        mean: Their means.
        products: The sums of products of their deviations.
        n2: The same of the second set.
        mean2: Its means.
        products2: Its products.
    """
    total = n + n2
    share = np.asarray(n2 / np.maximum(total, 1e-300))  # 0 if both are empty
    gap = mean2 - mean
    weight = np.asarray(n * share)[..., None, None]
    square = gap[..., :, None] * gap[..., None, :]
    return total, mean + gap * share[..., None], products + products2 + square * weight


def is_symmetric(matrix: Floats) -> bool:
    """Return whether matrices are symmetric up to rounding, in any units of the features.

    Args:
        matrix: A matrix per arm, or one, with squares on its diagonal.
    """
    size = np.sqrt(np.maximum(np.diagonal(matrix, axis1=-2, axis2=-1), 0.0))
    lopsided = np.abs(matrix - np.swapaxes(matrix, -1, -2))
    return bool((lopsided <= ROUNDING * size[..., :, None] * size[..., None, :]).all())


def feature_rows(x: Any, d: int) -> Floats:
    """Validate features and return them as an array whose last axis has length `d`.

    Args:
        x: The features of one unit, or a row of them per unit.
        d: How many there must be.
    """
    rows = reals("x", x if np.size(x) or d else np.zeros((*np.shape(x)[:-1], 0)))
    if rows.ndim not in (1, 2) or rows.shape[-1] != d:
        wrong: Sequence[int] = rows.shape
        raise ValueError(f"x must have {d} features, or rows of {d} features, got shape {wrong}")
    return rows


def check_linear_stats(stats: Any, d: int) -> LinearStats:
    """Validate statistics and return them.

    Args:
        stats: The statistics.
        d: How many features they must have.
    """
    if not isinstance(stats, LinearStats):
        raise TypeError(f"stats must be a LinearStats, got {abbreviate(stats)}")
    if stats.d != d:
        raise ValueError(f"stats must have the prior's {d} features, got {stats.d}")
    return stats
