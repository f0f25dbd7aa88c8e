"""The paper's two upper bounds on the Bayes regret, and two classical lower bounds for an instance.

delta is 1/n by default. Logarithms are natural.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy import special

from varts._validation import Floats, common_shape, integer, real, reals
from varts.priors import Normal, NormalGamma, Prior, PriorLike, prior_from

P = TypeVar("P", bound=Prior)


def theorem1(
    prior: PriorLike, sigma: Any, n: int, delta: float | None = None, *, K: int | None = None
) -> float:
    """Return Theorem 1's bound, for Thompson sampling with known standard deviations.

    Args:
        prior: A Normal, in any form that `prior_from` takes.
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
    # log(1 + n sigma0^2/sigma^2), written so that a tiny sigma doesn't overflow
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
    """Return Theorem 2's bound, for VarTS with its prior. Every alpha must be > 1.

    Args:
        prior: A NormalGamma, in any form that `prior_from` takes.
        n: The number of rounds.
        delta: In (0, 1); 1/n by default.
        corrected: Whether to restore the factor sqrt(2) that is missing from the printed first
            term, C sqrt(n log(1/delta)); see docs/errata.md.
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


def lai_robbins(mean: Any, sigma: Any = None) -> float:
    """Return the factor of log n in Lai & Robbins' lower bound of the regret on one instance.

    It holds for policies that are consistent on all instances, as n grows. Every arm but the best
    adds its gap divided by the divergence of its rewards from those of a best arm.

    Args:
        mean: The arms' means.
        sigma: The known standard deviation of Gaussian rewards, shared or per arm; None for
            rewards of 0 and 1.

    >>> round(lai_robbins([0.5, 0.0], sigma=1.0), 6)         # 2 sigma^2 / gap
    4.0
    >>> round(lai_robbins([0.9, 0.8]), 4)                    # 0.1 / kl(0.8, 0.9)
    2.2521
    """
    if sigma is not None:
        means, sigmas = _instance(mean, sigma)
        return _sum_of_ratios(means, 0.5 * ((means.max() - means) / sigmas) ** 2)
    means = np.atleast_1d(reals("mean", mean, at_least=0, at_most=1))
    best = means.max()
    with np.errstate(divide="ignore"):
        divergence = special.rel_entr(means, best) + special.rel_entr(1 - means, 1 - best)
    return _sum_of_ratios(means, divergence)


def burnetas_katehakis(mean: Any, sigma: Any) -> float:
    """Return the factor of log n in Burnetas & Katehakis' lower bound for unknown variances.

    It is like the bound of Lai & Robbins, for Gaussian rewards with unknown means and variances:
    the divergence is log(1 + gap^2 / sigma^2) / 2.

    Args:
        mean: The arms' means.
        sigma: The standard deviations of their rewards, shared or per arm.

    >>> round(burnetas_katehakis([1.8, 2.0, 1.5, 2.2], [0.5, 0.7, 0.5, 0.3]), 4)
    8.0046
    """
    means, sigmas = _instance(mean, sigma)
    return _sum_of_ratios(means, 0.5 * np.log1p(((means.max() - means) / sigmas) ** 2))


def _instance(mean: Any, sigma: Any) -> tuple[Floats, Floats]:
    means, sigmas = np.atleast_1d(reals("mean", mean)), reals("sigma", sigma, above=0)
    common_shape(mean=means, sigma=sigmas)
    return means, np.broadcast_to(sigmas, means.shape)


def _sum_of_ratios(means: Floats, divergence: Floats) -> float:
    gap = means.max() - means
    return float((gap[gap > 0] / divergence[gap > 0]).sum())


def _c_squared(kappa: Floats, alpha: Floats, beta: Floats, n: int) -> Floats:
    """The summands of the theorem's C^2, one per arm."""
    inner = 2 / kappa + 0.5 / (kappa * (alpha - 1)) + 5 * np.log1p(n / kappa)
    return np.asarray(beta / (alpha - 1) * inner)


def _written_out(prior: P, K: int | None) -> P:
    """Return the prior with an entry per arm, because both theorems sum over arms."""
    if prior.K is None and K is None:
        raise ValueError("K must be given for a prior that all arms share, got None")
    return prior.for_arms(prior.K if K is None else integer("K", K, at_least=1))


def _rounds(n: int, delta: float | None) -> tuple[int, float]:
    n = integer("n", n, at_least=2 if delta is None else 1)
    return n, 1 / n if delta is None else real("delta", delta, above=0, below=1)
