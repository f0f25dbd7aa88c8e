"""The paper's two bounds of the Bayes regret; natural logarithms, delta = 1/n by default."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from varts._validation import Floats, common_shape, integer, real, reals
from varts.priors import Normal, NormalGamma, Prior, PriorLike, prior_from

P = TypeVar("P", bound=Prior)


def theorem1(
    prior: PriorLike, sigma: Any, n: int, delta: float | None = None, *, K: int | None = None
) -> float:
    """Return Theorem 1's bound: Thompson sampling with known standard deviations of the rewards.

    Args:
        prior: A Normal, or whatever stands for one.
        sigma: The rewards' standard deviation, shared or per arm.
        n: The number of rounds.
        delta: In (0, 1); 1/n by default.
        K: The number of arms; needed when all arms share both prior and sigma.

    >>> round(theorem1(Normal(0, 1), sigma=0.5, n=1000, K=2), 1)
    293.0
    """
    n, delta = _rounds(n, delta)
    sigma = reals("sigma", sigma, above=0)
    common_shape(sigma=sigma)
    made = prior_from(prior, Normal)
    if K is None and made.K is None and sigma.ndim:
        K = sigma.size
    sigma0 = _written_out(made, K).sigma
    if sigma.size not in (1, sigma0.size):
        raise ValueError(
            f"sigma must be one number or one per arm ({sigma0.size}), got {sigma.size}"
        )
    sigma = np.broadcast_to(sigma, sigma0.shape)
    tail = np.sqrt(2 / np.pi) * sigma0.sum() * n * delta
    # log(1 + n sigma0^2/sigma^2), which a tiny sigma does not overflow
    log = np.logaddexp(0, np.log(n) + 2 * (np.log(sigma0) - np.log(sigma)))
    width = (sigma**2 * log + sigma0**2).sum()
    return float(tail + np.sqrt(2 * n * width * np.log(1 / delta)))


def theorem2(
    prior: PriorLike,
    n: int,
    delta: float | None = None,
    corrected: bool = False,
    *,
    K: int | None = None,
) -> float:
    """Return Theorem 2's bound: VarTS with its prior, which needs every alpha > 1.

    Args:
        prior: A NormalGamma, or whatever stands for one.
        n: The number of rounds.
        delta: In (0, 1); 1/n by default.
        corrected: Whether to put back the factor sqrt(2) that the printed first term,
            C sqrt(n log(1/delta)), lost on the way through the proof (docs/errata.md).
        K: The number of arms; needed for a prior that all arms share.

    >>> prior = NormalGamma(mu=[0, 0], kappa=10, alpha=4, beta=1)
    >>> round(theorem2(prior, n=2000), 1), round(theorem2(prior, n=2000, corrected=True), 1)
    (520.6, 736.2)
    """
    made = _written_out(prior_from(prior, NormalGamma), K)
    n, delta = _rounds(n, delta)
    kappa = reals("kappa", made.kappa, above=0)
    alpha = reals("alpha", made.alpha, above=1)
    c2 = _c_squared(kappa, alpha, made.beta, n)
    factor = 2.0 if corrected else 1.0
    first = np.sqrt(factor * n * np.log(1 / delta))
    return float(np.sqrt(c2.sum()) * (first + delta * np.sqrt(n * c2.size / (2 * np.pi))))


def _c_squared(kappa: Floats, alpha: Floats, beta: Floats, n: int) -> Floats:
    """The summands of the theorem's C^2, one per arm."""
    inner = 2 / kappa + 0.5 / (kappa * (alpha - 1)) + 5 * np.log1p(n / kappa)
    return np.asarray(beta / (alpha - 1) * inner)


def _written_out(prior: P, K: int | None) -> P:
    """The prior with an entry per arm: both theorems sum over the arms."""
    if prior.K is None and K is None:
        raise ValueError("K must be given for a prior that all arms share, got None")
    return prior.for_arms(prior.K if K is None else integer("K", K, at_least=1))


def _rounds(n: int, delta: float | None) -> tuple[int, float]:
    n = integer("n", n, at_least=2 if delta is None else 1)
    return n, 1 / n if delta is None else real("delta", delta, above=0, below=1)
