"""An arm is three numbers: pulls n, mean reward, and m2, the sum of squared deviations from it.

They are sufficient for every algorithm here, and they merge in any order (Chan, Golub & LeVeque
1983), so late and out-of-order rewards need no special care. We never compute sums of squares, so
rewards like 1e9 +/- 1 keep their variance. Two more numbers, m3 and m4, are the sums of third and
fourth powers of the deviations. They measure how far the rewards are from Gaussian (`Tails`), and
merge as exactly (Pebay 2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate, common_shape, integer, reals


@dataclass(frozen=True, eq=False)
class ArmStats:
    """Sufficient statistics of K arms; a value: every method returns a new one.

    Args:
        n: How many rewards each arm has had. Each argument is one number or one per arm.
        mean: Their mean.
        m2: The sum of their squared deviations from it.
        m3: The sum of the third powers of these deviations; None if unknown.
        m4: The sum of the fourth powers; None if unknown.

    >>> stats = ArmStats.from_rewards([[1, 3, 5], [2]])
    >>> stats
    ArmStats(n=[3. 1.], mean=[3. 2.], m2=[8. 0.])
    >>> stats.observe(1, 4.0).mean
    array([3., 3.])
    >>> stats.merge(stats).m2
    array([16.,  0.])
    """

    n: Floats
    mean: Floats
    m2: Floats
    m3: Floats | None = None
    m4: Floats | None = None
    #: The number of arms.
    K: int = field(init=False)

    def __post_init__(self) -> None:
        if (self.m3 is None) != (self.m4 is None):
            raise ValueError("m3 and m4 must be given both or neither, got one of them")
        given = {
            "n": reals("n", self.n, at_least=0),
            "mean": reals("mean", self.mean),
            "m2": reals("m2", self.m2, at_least=0),
        }
        if self.m3 is not None:
            given["m3"], given["m4"] = reals("m3", self.m3), reals("m4", self.m4, at_least=0)
        shape = common_shape(**given) or (1,)
        for name, array in given.items():
            array = np.broadcast_to(array, shape).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "K", self.n.size)

    @classmethod
    def _trusted(
        cls,
        n: Floats,
        mean: Floats,
        m2: Floats,
        m3: Floats | None = None,
        m4: Floats | None = None,
    ) -> ArmStats:
        """Make statistics from arrays that are known to be valid."""
        stats = object.__new__(cls)
        for name, array in (("n", n), ("mean", mean), ("m2", m2), ("m3", m3), ("m4", m4)):
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(stats, name, array)
        object.__setattr__(stats, "K", n.size)
        return stats

    @classmethod
    def empty(cls, K: int) -> ArmStats:
        """Return the statistics of K arms without rewards.

        Args:
            K: The number of arms.
        """
        K = integer("K", K, at_least=1)
        return cls._trusted(*np.zeros((5, K)))

    @classmethod
    def from_rewards(cls, rewards: Iterable[Sequence[float]]) -> ArmStats:
        """Return the statistics of these rewards.

        Args:
            rewards: One sequence of rewards per arm; their lengths may differ.

        >>> ArmStats.from_rewards([[1e9 - 1, 1e9 + 1]]).m2
        array([2.])
        """
        if not isinstance(rewards, Iterable):
            raise TypeError(f"rewards must be one sequence per arm, got {abbreviate(rewards)}")
        arms = [np.atleast_1d(reals(f"rewards of arm {i}", arm)) for i, arm in enumerate(rewards)]
        for i, arm in enumerate(arms):
            if arm.ndim > 1:
                raise ValueError(
                    f"rewards of arm {i} must be a flat sequence, got shape {arm.shape}"
                )
        if not arms:
            raise ValueError("rewards must have at least one arm, got none")
        n = np.array([float(arm.size) for arm in arms])
        mean = np.array([arm.mean() if arm.size else 0.0 for arm in arms])
        gaps = [arm - m for arm, m in zip(arms, mean, strict=True)]
        powers = (np.array([(gap**power).sum() for gap in gaps]) for power in (2, 3, 4))
        return cls._trusted(n, mean, *powers)

    @property
    def variance(self) -> Floats:
        """Unbiased reward variance per arm; NaN below two rewards."""
        out: Floats = np.full(self.K, np.nan)
        np.divide(self.m2, self.n - 1, out=out, where=self.n > 1)
        return out

    def observe(self, arm: Any, reward: Any) -> ArmStats:
        """Return the statistics after one more reward, or several.

        Args:
            arm: The index of the arm that was pulled, or one per reward.
            reward: The reward, or one per arm index.

        >>> ArmStats.empty(2).observe([0, 1, 0], [1.0, 7.0, 3.0])
        ArmStats(n=[2. 1.], mean=[2. 7.], m2=[2. 0.])
        """
        arms, rewards = np.asarray(arm), reals("reward", reward)
        if arms.size == 0:
            arms = arms.astype(np.int64)
        if arms.dtype.kind not in "iu" or arms.ndim > 1:
            raise TypeError(
                f"arm must be an index from 0 to {self.K - 1} or several, got {abbreviate(arm)}"
            )
        if arms.shape != rewards.shape:
            raise ValueError(
                f"arm and reward must have equal lengths, got {arms.size} and {rewards.size}"
            )
        outside = (arms < 0) | (arms >= self.K)
        if outside.any():
            raise ValueError(
                f"arm must be an index from 0 to {self.K - 1}, got {arms[outside].flat[0]}"
            )
        if arms.ndim == 0:
            batch = _one(self.K, int(arms), float(rewards))
        else:
            n = np.bincount(arms, minlength=self.K).astype(np.float64)
            total = np.bincount(arms, rewards, self.K)
            mean = np.divide(total, n, out=np.zeros(self.K), where=n > 0)
            gap = rewards - mean[arms]
            powers = (
                np.bincount(arms, gap**power, self.K).astype(np.float64) for power in (2, 3, 4)
            )
            batch = ArmStats._trusted(n, mean, *powers)
        return self.merge(batch)

    def merge(self, other: ArmStats) -> ArmStats:
        """Return the statistics of both sets of rewards together.

        Args:
            other: Other rewards of the same arms.
        """
        if not isinstance(other, ArmStats):
            raise TypeError(f"statistics to merge must be an ArmStats, got {abbreviate(other)}")
        if other.K != self.K:
            raise ValueError(f"statistics must have equal numbers of arms, got {self.K}, {other.K}")
        mine, others = self._known(), other._known()
        known = min(len(mine), len(others))
        merge = merged if known == 3 else merged_moments
        return ArmStats._trusted(*merge(*mine[:known], *others[:known]))

    def take(self, arms: Any) -> ArmStats:
        """Return the statistics of some of the arms.

        Args:
            arms: Their indices, in the order of the result.
        """
        return ArmStats._trusted(*(x[arms] for x in self._known()))

    def mirrored(self, reflection: float = 0.0) -> ArmStats:
        """Return the statistics of `reflection - reward`, for when lower is better.

        Args:
            reflection: The number to subtract the rewards from.

        >>> ArmStats.from_rewards([[1, 3, 5]]).mirrored().mean
        array([-3.])
        """
        m3 = None if self.m3 is None else -self.m3
        return ArmStats._trusted(self.n, reflection - self.mean, self.m2, m3, self.m4)

    def differ(self) -> bool:
        """Return whether any two rewards differ. Rounding in a sum over arms could hide that.

        >>> ArmStats.from_rewards([[3.0] * 28, [3.0] * 12]).differ()
        False
        """
        means = self.mean[self.n > 0]
        return bool((self.m2 > 0).any() or (means.size > 0 and means.max() > means.min()))

    def pooled(self) -> ArmStats:
        """Return all arms merged into one, at once rather than two by two.

        >>> ArmStats.from_rewards([[0, 2], [4, 6]]).pooled()
        ArmStats(n=[4.], mean=[3.], m2=[20.])
        """
        n = self.n.sum()
        share = self.n / n if n > 0 else np.zeros(self.K)
        mean = (self.mean * share).sum()
        m2 = (self.m2 + self.n * (self.mean - mean) ** 2).sum()
        return ArmStats._trusted(*(np.array([x]) for x in (n, mean, m2)))

    def _known(self) -> tuple[Floats, ...]:
        if self.m3 is None or self.m4 is None:
            return self.n, self.mean, self.m2
        return self.n, self.mean, self.m2, self.m3, self.m4

    def __eq__(self, other: object) -> bool:
        # m3 and m4 are compared only if both have them.
        return isinstance(other, ArmStats) and all(
            map(np.array_equal, self._known(), other._known())
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        return f"ArmStats(n={self.n}, mean={self.mean}, m2={self.m2})"


def _one(K: int, arm: int, reward: float) -> ArmStats:
    one = np.zeros((5, K))
    one[:2, arm] = 1.0, reward
    return ArmStats._trusted(*one)


def merged(n: Any, mean: Any, m2: Any, n2: Any, mean2: Any, m22: Any) -> tuple[Any, Any, Any]:
    """Merge two sets of rewards (Chan's formula), for numbers, arrays and the compiled engine."""
    total = n + n2
    share = n2 / np.maximum(total, 1e-300)  # 0 if both are empty
    gap = mean2 - mean
    return total, mean + gap * share, m2 + m22 + gap * gap * n * share


def faded(rewards: int, half_life: float | None) -> float:
    """Return the weight that remains of 1 after this many rewards; without a half-life it is 1.

    >>> faded(500, 500.0), faded(500, None)
    (0.5, 1.0)
    """
    return 1.0 if half_life is None else 2.0 ** (-rewards / half_life)


def merged_moments(
    n: Any,
    mean: Any,
    m2: Any,
    m3: Any,
    m4: Any,
    n2: Any,
    mean2: Any,
    m22: Any,
    m32: Any,
    m42: Any,
) -> tuple[Any, Any, Any, Any, Any]:
    """Merge two sets of rewards with five moments (Pebay 2008). n may be a weight.

    >>> [float(x) for x in merged_moments(1, 0, 0, 0, 0, 3, 4, 8, 0, 32)]   # 0 and 2, 4, 6
    [4.0, 3.0, 20.0, 0.0, 164.0]
    """
    total = n + n2
    share = n2 / (total + 1e-300)  # 0 if both are empty
    rest = 1 - share  # the share of the first set
    gap = mean2 - mean
    square = gap * gap
    m2_sum, m3_sum = m2 + m22, m3 + m32
    return (
        total,
        mean + gap * share,
        m2_sum + square * n * share,
        m3_sum + gap * (square * n * share * (rest - share) + 3 * (rest * m22 - share * m2)),
        m4
        + m42
        + square * square * n * share * (1 - 3 * rest * share)
        + 6 * square * (rest * rest * m22 + share * share * m2)
        + 4 * gap * (rest * m32 - share * m3),
    )
