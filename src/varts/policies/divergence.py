"""Index policies from divergences: how surprising an arm's rewards would be for a larger mean.

KL-UCB (Garivier & Cappe 2011) and CHK (Cowan, Honda & Katehakis 2018) use the largest mean that is
not too surprising; IMED (Honda & Takemura 2015) pulls the arm that would be best with the least
surprise. There are divergences for Bernoulli rewards, for Gaussian rewards with a known variance,
and for Gaussian rewards with an unknown one: 1/2 ln(1 + gap^2 / v), with the biased variance v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import real
from varts.policies.base import IndexPolicy
from varts.policies.registry import register

SURE = 1e-15  # Bernoulli means stay this far from 0 and 1, to keep logarithms finite
NEWTON_STEPS = 5  # from `_above`; the error is then below 2e-14
TINY = 1e-300
SLACK = 1e-9  # for rounding, where a level must not be missed


def clip_mean(mean: Any) -> Any:
    """Clip a mean to [0, 1]."""
    return np.minimum(np.maximum(mean, 0.0), 1.0)


def neg_entropy(p: Any) -> Any:
    """Compute p ln p + (1 - p) ln(1 - p)."""
    return p * np.log(np.maximum(p, TINY)) + (1 - p) * np.log(np.maximum(1 - p, TINY))


def upper_mean(p: Any, surprise: Any, information: Any) -> Any:
    """Compute the largest q with kl(p, q) <= surprise, for Bernoulli rewards.

    Newton's method from above, where it decreases towards the solution because kl is convex in q.

    Args:
        p: The mean so far.
        surprise: The largest divergence.
        information: `neg_entropy(p)`.

    >>> p = 0.3
    >>> round(float(upper_mean(p, 0.1, neg_entropy(p))), 10)
    0.5210276121
    """
    q = np.minimum(_above(p, surprise), 1 - SURE)
    for _ in range(NEWTON_STEPS):
        excess = information - p * np.log(q) - (1 - p) * np.log(1 - q) - surprise
        step = excess * q * (1 - q) / np.maximum(q - p, TINY)
        q = np.minimum(np.maximum(q - step, p), 1 - SURE)
    return q


def _above(p: Any, surprise: Any) -> Any:
    """Compute an upper bound of `upper_mean`.

    kl(p, q) is at least (1 - p) ln((1 - p) / (1 - q)) + p ln p, 2 (q - p)^2 and (q - p)^2 / (2 q),
    and for p >= 1/2 at least (q - p)^2 / (2 p (1 - p)).
    """
    rest = np.maximum(1 - p, SURE)
    exponent = (surprise - p * np.log(np.maximum(p, TINY))) / rest
    far = 1 - rest * np.exp(-exponent)
    low = np.minimum(np.sqrt(surprise / 2), surprise + np.sqrt(surprise * (surprise + 2 * p)))
    high = np.sqrt(2 * surprise * p * rest)
    return np.maximum(np.minimum(far, p + np.where(p < 0.5, low, high)), p + SURE)


def variance_shown(variance: Any, otherwise: Any, square: Any) -> Any:
    """Compute an arm's variance, or another one where its rewards were all equal.

    If both are 0, it is so small that `square` divided by it is about 1e300.
    """
    return np.maximum(np.where(variance > 0, variance, otherwise), TINY * (1 + square))


def verdict(surely: Any, perhaps: Any) -> Any:
    """Compute what `reaches` returns."""
    return np.where(surely, 1.0, np.where(perhaps, 0.0, -1.0))


def gap_below(level: Any, mean: Any) -> Any:
    """Compute how far a level is above a mean; no further than that, for all rounding."""
    return np.maximum(level - mean - SLACK * np.abs(level), 0.0)


def gap_above(level: Any, mean: Any) -> Any:
    """Compute the same, and no less far."""
    return np.maximum(level - mean + SLACK * np.abs(level), 0.0)


def log1p_below(x: Any) -> Any:
    """Compute a lower bound of ln(1 + x), Pade's [3/3]; close up to 2, and at most 11/3."""
    x = np.minimum(x, 1e6)
    return x * ((11 * x + 60) * x + 60) / (((3 * x + 36) * x + 90) * x + 60)


def log1p_above(x: Any) -> Any:
    """Compute an upper bound of ln(1 + x), Pade's [3/2]."""
    x = np.minimum(x, 1e9)
    return x * ((x + 21) * x + 30) / ((9 * x + 36) * x + 30)


def exploration(t: Any, c: Any) -> Any:
    """Compute ln(t) + c ln(ln(t)), with an ln(t) of at least 1 in the second term."""
    return np.log(t) + c * np.log(np.maximum(np.log(t), 1.0))


@register
@dataclass(frozen=True)
class KLUCB(IndexPolicy):
    """KL-UCB for Bernoulli rewards: the largest q with n kl(mean, q) <= ln(t) + c ln(ln(t)).

    Rewards are in [0, 1]; means outside are clipped.

    Args:
        c: The factor of ln(ln(t)); 3 in the theory, 0 in practice.

    >>> from varts import ArmStats
    >>> KLUCB().indices(ArmStats(n=[10], mean=[0.5], m2=[4.0]), t=100).round(9)
    array([0.88790876])
    """

    c: float = 0.0

    label: ClassVar[str] = "KL-UCB"
    reflection: ClassVar[float] = 1.0
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real("c", self.c, at_least=0)

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, c: Any) -> Any:
        p = clip_mean(mean)
        return p, 1 / n, neg_entropy(p)

    @staticmethod
    def clock(t: Any, c: Any) -> Any:
        return exploration(t, c)

    @staticmethod
    def index(p: Any, nth: Any, information: Any, explored: Any) -> Any:
        return upper_mean(p, explored * nth, information)

    @staticmethod
    def reaches(level: Any, p: Any, nth: Any, information: Any, explored: Any) -> Any:
        q = np.minimum(np.maximum(level, SURE), 1 - SURE)
        divergence = information - p * np.log(q) - (1 - p) * np.log(1 - q)
        rounding = SLACK * (1 + 1 / (1 - q))  # grows for a q close to 1
        margin = np.where(p >= q, 1.0, explored * nth - divergence)
        return verdict(margin > rounding, margin >= -rounding)


@register
@dataclass(frozen=True)
class KLUCBGauss(IndexPolicy):
    """KL-UCB for Gaussian rewards: mean + sqrt(2 sigma^2 (ln(t) + c ln(ln(t))) / n).

    Args:
        sigma: The rewards' standard deviation; 1/2 is the largest that [0, 1] allows.
        c: The factor of ln(ln(t)); 3 in the theory, 0 in practice.

    >>> from varts import ArmStats
    >>> KLUCBGauss().indices(ArmStats(n=[10], mean=[0.5], m2=[4.0]), t=100).round(9)
    array([0.97985259])
    """

    sigma: float = 0.5
    c: float = 0.0

    label: ClassVar[str] = "KL-UCB-Gauss"
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real("sigma", self.sigma, above=0)
        real("c", self.c, at_least=0)

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, sigma: Any, c: Any) -> Any:
        return mean, sigma * np.sqrt(2 / n)

    @staticmethod
    def clock(t: Any, sigma: Any, c: Any) -> Any:
        return np.sqrt(exploration(t, c))

    @staticmethod
    def index(mean: Any, width: Any, growth: Any) -> Any:
        return mean + width * growth


@register
@dataclass(frozen=True)
class CHK(IndexPolicy):
    """CHK, for Gaussian rewards of unknown variance: mean + sqrt(v (t^(2 / (n - 2)) - 1)).

    It solves (n - 2) / 2 ln(1 + (index - mean)^2 / v) = ln(t), v = m2 / n. An arm whose rewards
    were all equal has no width.

    >>> from varts import ArmStats
    >>> CHK().indices(ArmStats(n=[10], mean=[0.5], m2=[4.0]), t=100).round(9)
    array([1.43000595])
    """

    label: ClassVar[str] = "CHK"
    initial_pulls: ClassVar[int] = 3
    grows: ClassVar[bool] = True

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        return mean, m2 / n, 2 / (n - 2)

    @staticmethod
    def clock(t: Any) -> Any:
        return np.log(t)

    @staticmethod
    def index(mean: Any, variance: Any, rate: Any, log_t: Any) -> Any:
        return mean + np.sqrt(variance * np.expm1(rate * log_t))


@register
@dataclass(frozen=True)
class IMED(IndexPolicy):
    """IMED for Bernoulli rewards: -(n kl(mean, best) + ln(n)), best being the largest mean.

    Rewards are in [0, 1]; means outside are clipped.

    >>> from varts import ArmStats
    >>> stats = ArmStats(n=[10, 20], mean=[0.5, 0.8], m2=[4.0, 3.0])
    >>> IMED().indices(stats, t=100).round(9)
    array([-4.53402061, -2.99573227])
    """

    label: ClassVar[str] = "IMED"
    reflection: ClassVar[float] = 1.0

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        p = clip_mean(mean)
        return np.log(n) + n * neg_entropy(p), n * p, n * (1 - p)

    @staticmethod
    def common(n: Any, mean: Any, m2: Any) -> Any:
        best = np.minimum(np.maximum(np.max(mean), SURE), 1 - SURE)
        return np.log(best), np.log(1 - best)

    @staticmethod
    def index(base: Any, ones: Any, zeros: Any, t: Any, log_best: Any, log_rest: Any) -> Any:
        return ones * log_best + zeros * log_rest - base


@register
@dataclass(frozen=True)
class IMEDGauss(IndexPolicy):
    """IMED for Gaussian rewards: -(n (best - mean)^2 / (2 sigma^2) + ln(n)).

    Args:
        sigma: The rewards' standard deviation; 1/2 is the largest that [0, 1] allows.

    >>> from varts import ArmStats
    >>> stats = ArmStats(n=[10, 20], mean=[0.5, 0.8], m2=[4.0, 3.0])
    >>> IMEDGauss().indices(stats, t=100).round(4)         # 10 * 0.09 / 0.5 + ln(10), ln(20)
    array([-4.1026, -2.9957])
    """

    sigma: float = 0.5

    label: ClassVar[str] = "IMED-Gauss"

    def __post_init__(self) -> None:
        real("sigma", self.sigma, above=0)

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, sigma: Any) -> Any:
        return mean, 0.5 * n / (sigma * sigma), np.log(n)

    @staticmethod
    def common(n: Any, mean: Any, m2: Any) -> Any:
        return np.max(mean)

    @staticmethod
    def index(mean: Any, weight: Any, log_n: Any, t: Any, best: Any) -> Any:
        gap = best - mean
        return -(weight * gap * gap + log_n)


@register
@dataclass(frozen=True)
class IMEDUV(IndexPolicy):
    """IMED for Gaussian rewards of unknown variance: -(n/2 ln(1 + (best - mean)^2 / v) + ln(n)).

    v = m2 / n. With v = 0, an arm whose rewards were all equal would never be pulled again. Until
    it has two different rewards, v is 1/n of the variance within all arms.

    >>> from varts import ArmStats
    >>> stats = ArmStats(n=[10, 20], mean=[0.5, 0.8], m2=[4.0, 3.0])
    >>> IMEDUV().indices(stats, t=100).round(9)
    array([-3.31728931, -2.99573227])
    """

    label: ClassVar[str] = "IMED-UV"
    initial_pulls: ClassVar[int] = 2

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        return mean, m2 / n, 1 / n, 0.5 * n, np.log(n)

    @staticmethod
    def common(n: Any, mean: Any, m2: Any) -> Any:
        return np.max(mean), np.sum(m2) / np.sum(n)

    @staticmethod
    def index(
        mean: Any, variance: Any, nth: Any, half: Any, log_n: Any, t: Any, best: Any, within: Any
    ) -> Any:
        square = (best - mean) * (best - mean)
        return -(half * np.log1p(square / variance_shown(variance, nth * within, square)) + log_n)
