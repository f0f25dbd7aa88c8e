"""How far rewards are from Gaussian, and what that means for learning variances.

The sample variance of n rewards with kurtosis k is as uncertain as that of n 2/(k - 1) Gaussian
rewards. So a reward counts as 2/(k - 1) of a Gaussian one when we learn an arm's variance. Revenue,
where few buy and some buy much, has a kurtosis in the hundreds. Treating such rewards as Gaussian
means trusting a variance that the data can't show yet.

If rewards are skewed, an arm's variance also moves with its mean. In a natural exponential family,
dV/dmean is the third central moment divided by the second. Once the mean is known, the remaining
uncertainty about the variance is (k - 1 - skewness^2) / 2: nothing for 0/1 rewards, whose mean
determines their variance.

Everything is measured within arms, so different means or variances of arms don't look like tails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from varts._validation import Floats, real
from varts.stats import ArmStats

GAUSSIAN_KURTOSIS = 3.0
# After this many rewards, in Gaussian rewards, an arm's own skewness counts as much as that of all
# arms. We chose it, like the power below, on other worlds than those of docs/tails.md.
OWN_SKEWNESS = 5.0
# A policy pays for doubt with exploration, so it should trust a variance somewhat sooner than a
# report does: it uses the weight of a reward to this power.
CHOOSING_POWER = 0.75


@dataclass(frozen=True)
class Tails:
    """The shape of rewards within their arms; Gaussian by default.

    Args:
        slope: How much an arm's variance grows with each unit of its mean.
        skewness: Third central moment over the sd's third power, the root mean square of the arms,
            with the sign of the slope.
        kurtosis: Fourth central moment over the squared variance, the mean of the arms; 3 for
            Gaussian rewards, at least 1.
        n: How many rewards these numbers come from.

    >>> buys = [0.0] * 96 + [20.0, 25.0, 30.0, 60.0]
    >>> tails = Tails.of(ArmStats.from_rewards([buys]))
    >>> round(tails.kurtosis), round(tails.weight, 3), round(tails.slope, 1)
    (45, 0.045, 45.8)
    """

    slope: float = 0.0
    skewness: float = 0.0
    kurtosis: float = GAUSSIAN_KURTOSIS
    n: float = 0.0

    def __post_init__(self) -> None:
        real("slope", self.slope)
        real("skewness", self.skewness)
        real("kurtosis", self.kurtosis, at_least=1)
        real("n", self.n, at_least=0)

    @classmethod
    def of(cls, stats: ArmStats) -> Tails:
        """Measure the tails of the rewards so far; Gaussian ones if nothing is known.

        Args:
            stats: The arms' statistics, with m3 and m4.

        >>> Tails.of(ArmStats(n=[10], mean=[1], m2=[5]))
        Tails(slope=0.0, skewness=0.0, kurtosis=3.0, n=0.0)
        """
        spread = stats.m2 > 0
        if stats.m3 is None or stats.m4 is None or not spread.any():
            return cls()
        n, m2, m3, m4 = (x[spread] for x in (stats.n, stats.m2, stats.m3, stats.m4))
        # In units of the sd, because the fourth power of rewards near 1e-80 underflows.
        sd = np.sqrt(m2 / n)
        total = float(n.sum())
        squared_skewness = float((((m3 / sd / sd) / sd) ** 2 / n).sum()) / total
        kurtosis = float((n * kurtosis_of(n, m2, m4)).sum()) / total
        slope = float((m3 / sd.max() ** 2).sum() / (m2 / sd.max() ** 2).sum())
        return cls(
            slope,
            float(np.copysign(np.sqrt(squared_skewness), slope)),
            max(kurtosis, 1 + squared_skewness),  # true except for rounding
            total,
        )

    @property
    def weight(self) -> float:
        """How many Gaussian rewards a reward counts as for learning a variance; at most 1."""
        return float(variance_weight(self.kurtosis))

    @property
    def weight_given_mean(self) -> float:
        """The same if the variance moves with the mean by `slope`."""
        return float(variance_weight(self.kurtosis - self.skewness**2))

    @property
    def weight_for_choosing(self) -> float:
        """The same for choosing arms: more than `weight`, because doubt costs exploration."""
        return float(weight_for_choosing(self.kurtosis))

    def slopes(self, stats: ArmStats) -> Floats:
        """Return how much each arm's variance grows with its mean.

        With enough rewards, an arm's own skewness determines this; before that, `slope` does.

        Args:
            stats: The arms' statistics, with m3.

        >>> stats = ArmStats.from_rewards([[0.0] * 900 + [1.0] * 100, [0.0, 0.0, 1.0]])
        >>> Tails.of(stats).slopes(stats).round(2)     # 1 - 2 * 0.1 for 0/1 rewards, a tenth ones
        array([0.8 , 0.66])
        """
        if stats.m3 is None:
            return np.zeros(stats.K)
        prior = OWN_SKEWNESS / self.weight * stats.m2.sum() / max(stats.n.sum(), 1e-300)
        with np.errstate(invalid="ignore"):
            own = (stats.m3 + prior * self.slope) / (stats.m2 + prior)
        return np.where(stats.m2 + prior > 0, own, 0.0)

    def merge(self, other: Tails) -> Tails:
        """Return the average of both, weighted by their numbers of rewards.

        Args:
            other: The tails of other rewards.

        >>> Tails(slope=2, kurtosis=9, n=300).merge(Tails(kurtosis=5, n=100)).kurtosis
        8.0
        """
        n = self.n + other.n
        if n == 0:
            return self
        share = other.n / n
        slope = self.slope + share * (other.slope - self.slope)
        square = self.skewness**2 + share * (other.skewness**2 - self.skewness**2)
        kurtosis = self.kurtosis + share * (other.kurtosis - self.kurtosis)
        return Tails(slope, float(np.copysign(np.sqrt(square), slope)), kurtosis, n)

    def mirrored(self) -> Tails:
        """Return the tails of -reward."""
        return Tails(-self.slope, -self.skewness, self.kurtosis, self.n)

    def to_dict(self) -> dict[str, float]:
        """Return plain values by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, body: Any) -> Tails:
        """Make tails from the result of `to_dict`.

        Args:
            body: Plain values by name.
        """
        names = ("slope", "skewness", "kurtosis", "n")
        if not isinstance(body, Mapping) or set(body) != set(names):
            raise ValueError(f"tails must have the numbers {', '.join(names)}, got {body!r:.60}")
        return cls(**{name: real(f"{name} of the tails", body[name]) for name in names})


def kurtosis_of(n: Any, m2: Any, m4: Any) -> Any:
    """Return the kurtosis of rewards that are not all equal, for numbers, arrays and the engine.

    Args:
        n: How many there are.
        m2: The sum of their squared deviations.
        m4: The sum of the fourth powers.

    >>> kurtosis_of(4, 4.0, 4.0)      # 0, 0, 2, 2
    1.0
    """
    return m4 / m2 / m2 * n


def variance_weight(kurtosis: Any) -> Any:
    """Return how many Gaussian rewards a reward counts as for learning a variance.

    Args:
        kurtosis: At least 1.

    >>> float(variance_weight(3.0)), float(variance_weight(9.0))
    (1.0, 0.25)
    """
    return 2 / np.maximum(kurtosis - 1, 2.0)


def weight_for_choosing(kurtosis: Any) -> Any:
    """Return the same for a policy, which gains by trusting variances sooner.

    Args:
        kurtosis: At least 1.

    >>> round(float(weight_for_choosing(9.0)), 3)
    0.354
    """
    return variance_weight(kurtosis) ** CHOOSING_POWER
