"""What Thompson sampling believes about one arm: location, scale and degrees of freedom of a t.

Plain arithmetic on numbers or arrays; the engine compiles these very functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats
from varts.priors import normal_gamma_update, normal_update, student_t
from varts.stats import ArmStats


def normal_gamma_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
) -> tuple[Any, Any, Any]:
    """Unknown mean and variance: the Student-t marginal of the Normal-Gamma posterior."""
    mu, kappa, alpha, beta = normal_gamma_update(n, mean, m2, mu, kappa, alpha, beta)
    return student_t(mu, kappa, alpha, beta)


def known_variance_belief(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, sigma: Any
) -> tuple[Any, Any, Any]:
    """Known reward sd `sigma`, prior mean `mu` worth `kappa` rewards: a Gaussian."""
    mu, kappa = normal_update(n, mean, mu, kappa)
    return mu, sigma / np.sqrt(kappa), np.inf


def unit_free_belief(
    n: Any, mean: Any, m2: Any, all_n: Any, all_mean: Any, all_m2: Any
) -> tuple[Any, Any, Any]:
    """VarTS without a prior: all rewards so far, seen as one arm, are worth one observation.

    The prior is NormalGamma(pooled mean, 1, 1/2, pooled variance / 2): it has the rewards' own
    unit, so cents and euros give the same choices. Equal rewards say nothing about a variance
    (revenue is 0 most of the time): until an arm has shown two different ones, its variance is
    what all rewards together say, Gamma(all_n / 2, all_m2 / 2), and it is not written off.
    """
    mu, kappa, alpha, beta = normal_gamma_update(
        n, mean, m2, all_mean, 1.0, 0.5, 0.5 * all_m2 / all_n
    )
    alpha, beta = np.where(m2 > 0, alpha, all_n / 2), np.where(m2 > 0, beta, all_m2 / 2)
    return student_t(mu, kappa, alpha, beta)


def unit_free_known_belief(
    n: Any, mean: Any, m2: Any, all_n: Any, all_mean: Any, all_m2: Any, sigma: Any
) -> tuple[Any, Any, Any]:
    """KnownVarianceTS without a prior: the pooled mean, worth one observation."""
    return known_variance_belief(n, mean, m2, all_mean, 1.0, sigma)


def pooled_rows(stats: ArmStats) -> Floats:
    """Return n, mean and m2 of all rewards so far, the same row for every arm."""
    pooled = stats.pooled()
    rows = np.empty((stats.K, 3))
    rows[:, 0], rows[:, 1], rows[:, 2] = pooled.n, pooled.mean, pooled.m2
    return rows
