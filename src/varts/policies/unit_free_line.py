"""What linear policies assume without a prior, in any unit of features and rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from varts.linear_stats import LinearStats
from varts.policies.formulas import unit_free_prior
from varts.priors import LinearNormalGamma

# The precision of the slope of a feature that has not varied yet: such a feature has no effect, in
# any unit, until it varies.
NO_EFFECT = 1e300
# Relative: a spread that is smaller is rounding, and the feature has not varied. The mean of a
# hundred times 0.1 is not 0.1.
ROUNDING = 1e-14


def unit_free_linear_prior(pooled: LinearStats) -> LinearNormalGamma:
    """Return what all arms together say, worth one reward: `unit_free_prior` with slopes of 0.

    A slope is worth as much as one reward says about it: its precision is the feature's variance.

    Args:
        pooled: The statistics of all arms as one.

    >>> pooled = LinearStats.empty(1, 1).observe([0, 0], [[3.0], [5.0]], [10.0, 30.0])
    >>> prior = unit_free_linear_prior(pooled)
    >>> prior.mu, prior.center, prior.precision.tolist(), prior.beta
    (20.0, array([4.]), [[1.0]], 50.0)
    """
    n, mean, products = float(pooled.n[0]), pooled.mean[0], np.diagonal(pooled.products[0])
    mu, kappa, alpha, beta = unit_free_prior(n, mean[-1], products[-1])
    return LinearNormalGamma(
        *(mu, kappa, alpha, max(beta, np.finfo(float).tiny)),  # rewards may all be equal
        slopes=np.zeros(pooled.d),
        precision=slope_precision(products[:-1] / n, mean[:-1]) * np.eye(pooled.d),
        center=mean[:-1],
    )


def slope_precision(variance: Any, mean: Any) -> Any:
    """Return what one reward is worth to the slope of a feature, for arrays and the engine.

    Args:
        variance: The feature's variance over all units.
        mean: Its mean.
    """
    varied = variance > (ROUNDING * mean) ** 2
    return varied * variance + (1 - varied) * NO_EFFECT  # Numba has no np.where of numbers
