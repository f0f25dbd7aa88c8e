"""The beliefs of Thompson samplers about one arm: location, scale and degrees of freedom of a t.

Plain arithmetic on numbers or arrays; the engine compiles the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats
from varts.priors import normal_gamma_update, normal_update, student_t
from varts.stats import ArmStats


def known_variance_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, sigma: Any
) -> tuple[Any, Any, Any]:
    """Known reward sd `sigma`, prior mean `mu` with a weight of `kappa` rewards: a Gaussian."""
    mu, kappa = normal_update(n, mean, mu, kappa)
    return mu, sigma / np.sqrt(kappa), np.inf


def unit_free_belief(
    n: Any, mean: Any, m2: Any, all_n: Any, all_mean: Any, all_m2: Any
) -> tuple[Any, Any, Any]:
    """VarTS without a prior: all rewards so far, pooled, have the weight of one observation.

    The prior (`unit_free_prior`) scales with the rewards, so cents and euros give the same choices.
    Equal rewards carry no information about a variance (revenue is 0 most of the time). Until an
    arm has two different rewards, its precision is estimated from all rewards, Gamma(all_n / 2,
    all_m2 / 2), so that the arm stays in play.
    """
    prior = unit_free_prior(all_n, all_mean, all_m2)
    mu, kappa, alpha, beta = normal_gamma_update(n, mean, m2, *prior)
    alpha, beta = np.where(m2 > 0, alpha, all_n / 2), np.where(m2 > 0, beta, all_m2 / 2)
    return student_t(mu, kappa, alpha, beta)


def tailed_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any, variance_weight: Any
) -> tuple[Any, Any, Any]:
    """`normal_gamma_belief` that learns the variance at the rate the rewards' tails allow.

    For the variance, each reward counts as `variance_weight` Gaussian ones (see `Tails`); for the
    mean it counts in full. With a weight of 1 this is `normal_gamma_belief`.
    """
    center, weight, shape, rate = normal_gamma_update(n, mean, m2, mu, kappa, alpha, beta)
    return student_t(
        center,
        weight,
        alpha + variance_weight * (shape - alpha),
        beta + variance_weight * (rate - beta),
    )


def own_prior_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any, variance_weight: Any
) -> tuple[Any, Any, Any]:
    """`tailed_belief` for a prior that is estimated from the arms themselves.

    Equal rewards carry no information about a variance: until an arm has two different rewards, its
    variance is that of the prior, no matter how many rewards it has.
    """
    loc, scale, df = tailed_belief(n, mean, m2, mu, kappa, alpha, beta, variance_weight)
    own = m2 > 0
    scale = np.where(own, scale, np.sqrt(beta / alpha / (kappa + n)))
    return loc, scale, np.where(own, df, 2 * alpha)


def unit_free_tailed_belief(
    n: Any, mean: Any, m2: Any, all_n: Any, all_mean: Any, all_m2: Any, variance_weight: Any
) -> tuple[Any, Any, Any]:
    """`tailed_belief` without a prior: `unit_free_belief` for heavy-tailed rewards."""
    prior = unit_free_prior(all_n, all_mean, all_m2)
    loc, scale, df = tailed_belief(n, mean, m2, *prior, variance_weight)
    scale, df = spread_or_pooled(n, m2, scale, df, all_n, all_m2, variance_weight)
    return loc, scale, df


def spread_or_pooled(
    n: Any, m2: Any, scale: Any, df: Any, all_n: Any, all_m2: Any, variance_weight: Any
) -> tuple[Any, Any]:
    """Scale and df; for an arm whose rewards are all equal, those of all rewards pooled.

    Equal rewards carry no information about a variance, as in `unit_free_belief`.
    """
    pooled_df = np.maximum(variance_weight * all_n, 1.0)
    pooled_scale = np.sqrt(all_m2 / all_n / (1 + n))
    return np.where(m2 > 0, scale, pooled_scale), np.where(m2 > 0, df, pooled_df)


def unit_free_prior(all_n: Any, all_mean: Any, all_m2: Any) -> tuple[Any, Any, Any, Any]:
    """NormalGamma(pooled mean, 1, 1/2, pooled variance / 2): a weight of one reward."""
    return all_mean, 1.0, 0.5, 0.5 * all_m2 / all_n


# The share of the rewards' skewness that shows in the quantiles of their standardised mean. To
# second order the quantiles are z + skewness (2 z^2 + 1) / (6 sqrt(n)) (Johnson 1978; Hall 1992),
# and a third of skewness z^2 / sqrt(n) is two thirds of the z^2 / 2 of `SkewedT`.
SKEWNESS_SHOWN = 2 / 3
# The largest skew of a belief, in multiples of its scale: without a limit, an arm with little
# spread would get an absurd skew if another arm has huge rewards. (Revenue with few payers comes to
# 2 or 3.)
LARGEST_SKEW = 10.0


def skewed_belief(
    loc: Any, scale: Any, df: Any, weight: Any, slope: Any
) -> tuple[Any, Any, Any, Any]:
    """A belief of `tailed_belief` whose variance moves with the mean: a `SkewedT`.

    `weight` is kappa + n. The skew shrinks to 0 as the degrees of freedom fall to 2, by the factor
    that keeps the belief's mean the same for all degrees of freedom: an unknown variance must not
    make the mean infinite.
    """
    skew = SKEWNESS_SHOWN * slope / weight * np.maximum(1 - 2 / df, 0.0)
    most = LARGEST_SKEW * scale
    return loc, scale, df, np.minimum(np.maximum(skew, -most), most)


def unit_free_known_belief(
    n: Any, mean: Any, m2: Any, all_n: Any, all_mean: Any, all_m2: Any, sigma: Any
) -> tuple[Any, Any, Any]:
    """KnownVarianceTS without a prior: the pooled mean has the weight of one observation."""
    return known_variance_belief(n, mean, m2, all_mean, 1.0, sigma)


def pooled_rows(stats: ArmStats) -> Floats:
    """Return n, mean and m2 of all rewards so far, the same row for every arm."""
    pooled = stats.pooled()
    rows = np.empty((stats.K, 3))
    rows[:, 0], rows[:, 1], rows[:, 2] = pooled.n, pooled.mean, pooled.m2
    return rows
