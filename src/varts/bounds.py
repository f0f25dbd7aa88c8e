"""The paper's two Bayes-regret bounds as functions; natural logarithms, delta = 1/n by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate, common_shape, integer, real, reals
from varts.priors import Normal, NormalGamma


def theorem1(prior: Normal, sigma: Any, n: int, delta: float | None = None) -> float:
    """Theorem 1: Thompson sampling with known reward standard deviations `sigma`, n rounds.

    >>> round(theorem1(Normal([0, 0], 1), sigma=0.5, n=1000), 1)     # two arms
    293.0
    """
    if not isinstance(prior, Normal):
        raise TypeError(f"prior must be a Normal, got {abbreviate(prior)}")
    n, delta = _rounds(n, delta)
    sigma = reals("sigma", sigma, above=0)
    sigma0 = np.asarray(prior.sigma)
    common_shape(sigma=sigma, prior=sigma0)
    sigma, sigma0 = np.broadcast_arrays(np.atleast_1d(sigma), sigma0)
    tail = np.sqrt(2 / np.pi) * sigma0.sum() * n * delta
    # log(1 + n sigma0^2/sigma^2), which a tiny sigma does not overflow
    log = np.logaddexp(0, np.log(n) + 2 * (np.log(sigma0) - np.log(sigma)))
    width = (sigma**2 * log + sigma0**2).sum()
    return float(tail + np.sqrt(2 * n * width * np.log(1 / delta)))


def theorem2(
    prior: NormalGamma, n: int, delta: float | None = None, corrected: bool = False
) -> float:
    """Theorem 2: VarTS with prior `prior`, n rounds; needs every alpha > 1.

    A prior of scalars is one arm; `prior.for_arms(K)` writes it out for K of them.

    The printed first term, C sqrt(n log(1/delta)), lost a factor sqrt(2) on the way through the
    proof; `corrected=True` puts it back (docs/errata.md).

    >>> prior = NormalGamma(mu=[0, 0], kappa=10, alpha=4, beta=1)
    >>> round(theorem2(prior, n=2000), 1), round(theorem2(prior, n=2000, corrected=True), 1)
    (520.6, 736.2)
    """
    if not isinstance(prior, NormalGamma):
        raise TypeError(f"prior must be a NormalGamma, got {abbreviate(prior)}")
    n, delta = _rounds(n, delta)
    kappa = reals("kappa", prior.kappa, above=0)
    alpha = reals("alpha", prior.alpha, above=1)
    c2 = np.atleast_1d(_c_squared(kappa, alpha, np.asarray(prior.beta), n))
    factor = 2.0 if corrected else 1.0
    first = np.sqrt(factor * n * np.log(1 / delta))
    return float(np.sqrt(c2.sum()) * (first + delta * np.sqrt(n * c2.size / (2 * np.pi))))


def _c_squared(kappa: Floats, alpha: Floats, beta: Floats, n: int) -> Floats:
    """The summands of the theorem's C^2, one per arm."""
    inner = 2 / kappa + 0.5 / (kappa * (alpha - 1)) + 5 * np.log1p(n / kappa)
    return np.asarray(beta / (alpha - 1) * inner)


def _rounds(n: int, delta: float | None) -> tuple[int, float]:
    n = integer("n", n, at_least=2 if delta is None else 1)
    return n, 1 / n if delta is None else real("delta", delta, above=0, below=1)
