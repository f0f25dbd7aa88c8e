"""What rewards make of a prior, for one arm: plain arithmetic, written once.

The classes beside this module apply these functions to NumPy arrays; the engine compiles the same
functions for its loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def data_share(n: Any, kappa: Any) -> Any:
    """Return how much n rewards weigh against a prior worth kappa of them.

    The tiny number only makes 0 / 0 into 0.

    Args:
        n: The number of rewards.
        kappa: How many rewards the prior is worth.

    >>> data_share(3, 1)
    0.75
    """
    return n / (kappa + n + 1e-300)


def normal_gamma_update(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the Normal-Gamma posterior of one arm: Algorithm 2, lines 9 to 14.

    Args:
        n: The number of rewards.
        mean: Their mean.
        m2: The sum of their squared deviations from it.
        mu: The prior's location.
        kappa: How many rewards that location is worth.
        alpha: The shape of the precision's Gamma distribution.
        beta: Its rate.

    Returns:
        mu, kappa, alpha and beta of the posterior.

    >>> normal_gamma_update(3, 3.0, 8.0, 0.0, 1.0, 2.0, 1.0)   # beta: 1 + 8/2 + 1*3*3^2/(2*4)
    (2.25, 4.0, 3.5, 8.375)
    """
    share, gap = data_share(n, kappa), mean - mu
    return mu + share * gap, kappa + n, alpha + n / 2, beta + (m2 + kappa * share * gap * gap) / 2


def normal_update(n: Any, mean: Any, mu: Any, kappa: Any) -> tuple[Any, Any]:
    """Return location and weight when `mu` is worth `kappa` rewards: Algorithm 1, lines 9 and 10.

    Args:
        n: The number of rewards.
        mean: Their mean.
        mu: The prior's location.
        kappa: How many rewards that location is worth.

    >>> normal_update(3, 5.0, 1.0, 1)      # (1*1 + 3*5) / 4
    (4.0, 4)
    """
    return mu + data_share(n, kappa) * (mean - mu), kappa + n


def student_t(mu: Any, kappa: Any, alpha: Any, beta: Any) -> tuple[Any, Any, Any]:
    """Return the marginal of the mean: location, scale and degrees of freedom of a Student t.

    Args:
        mu: The location of a Normal-Gamma distribution.
        kappa: How many rewards that location is worth.
        alpha: The shape of the precision's Gamma distribution.
        beta: Its rate.
    """
    return mu, np.sqrt(beta / (alpha * kappa)), 2 * alpha
