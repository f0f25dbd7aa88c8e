"""A prior for slopes, estimated from the arms' own regressions.

`unit_free_linear_prior` lets the effect of one standard deviation of a feature be as large as the
standard deviation of the rewards. Real effects are much smaller, so with many features such a prior
mistakes noise for effects. This prior has two parts, both learned from the data:

- A slope that all arms share. For each arm it is estimated from the *other* arms, so that no reward
  counts twice. How far shared slopes are from 0 is estimated from all arms together.
- The difference between an arm's slopes and the shared ones. How large differences are is estimated
  by how well the other arms predict each arm's rewards.

Sizes are in units of (noise sd) / (sd of the feature), on a grid with a wide hyperprior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats
from varts.linear_stats import LinearStats, check_linear_stats
from varts.policies.unit_free_line import NO_EFFECT, unit_free_linear_prior
from varts.priors import LinearNormalGamma

# The size of an effect: one sd of a feature moves the mean reward by this many sds of the noise.
# The hyperprior is lognormal: most effects lie between 0.03 and 0.3.
SIZES = np.geomspace(0.005, 2.0, 14)
TYPICAL, SPREAD = 0.1, 1.25
LOG_HYPERPRIOR = -0.5 * (np.log(SIZES / TYPICAL) / SPREAD) ** 2


def shrunk_linear_prior(stats: LinearStats, wider: float = 1.0) -> LinearNormalGamma:
    """Return a prior per arm: level and variance as without a prior, slopes from the other arms.

    Args:
        stats: The arms' statistics; at least one reward.
        wider: By how much the variance of the differences between arms is larger than estimated;
            above 1 it pulls arms together less.

    >>> rng = np.random.default_rng(1)
    >>> arm, x = rng.integers(0, 3, 600), rng.standard_normal((600, 2))
    >>> stats = LinearStats.empty(K=3, d=2).observe(arm, x, x[:, 0] + rng.standard_normal(600))
    >>> prior = shrunk_linear_prior(stats)
    >>> prior.slopes.round(1).tolist()              # feature 1 has the same effect in all arms
    [[1.0, -0.0], [1.1, -0.0], [1.0, -0.0]]
    """
    pooled = check_linear_stats(stats, stats.d).pooled()
    plain = unit_free_linear_prior(pooled)
    K, d = stats.K, stats.d
    variance = np.diagonal(plain.precision)
    varied = np.flatnonzero(variance < NO_EFFECT)
    if not varied.size:
        return plain.for_arms(K)
    unit = 1 / np.sqrt(variance[varied])  # slopes per sd of a feature
    xx = stats.products[:, varied[:, None], varied] * unit[:, None] * unit
    xy, yy = stats.products[:, varied, d] * unit, stats.products[:, d, d]
    center, covariance = _slopes_from_others(stats.n, xx, xy, yy, wider)
    slopes, precision = np.zeros((K, d)), np.zeros((K, d, d)) + NO_EFFECT * np.eye(d)
    slopes[:, varied] = center * unit
    found = np.linalg.inv(covariance) / (unit[:, None] * unit)
    precision[:, varied[:, None], varied] = (found + np.swapaxes(found, 1, 2)) / 2
    return LinearNormalGamma(
        *(plain.mu, plain.kappa, plain.alpha, plain.beta), slopes, precision, plain.center
    )


def _slopes_from_others(
    n: Floats, xx: Floats, xy: Floats, yy: Floats, wider: float
) -> tuple[Floats, Floats]:
    """Prior means and covariances (over the noise variance) of every arm's standardized slopes.

    Args:
        n: How many rewards each arm has had.
        xx: The products of the features within each arm.
        xy: Their products with the reward.
        yy: The squares of the rewards.
        wider: The factor of the variance of differences between arms.
    """
    K, d = xy.shape
    one = np.eye(d)
    shared = _size_of_shared(n, xx.sum(axis=0), xy.sum(axis=0), yy.sum())
    if K == 1:
        return np.zeros((1, d)), wider * shared * one[None]
    others = np.linalg.inv(xx.sum(axis=0) - xx + one / shared)
    mean = (others @ (xy.sum(axis=0) - xy)[:, :, None])[:, :, 0]
    own = _size_of_differences(n, xx, xy, yy, mean, others)
    return mean, wider * own * one + others


def _size_of_shared(n: Floats, xx: Floats, xy: Floats, yy: float) -> float:
    """The mean square of shared slopes, given the sums within arms."""
    s, basis = np.linalg.eigh(xx)
    s, u, size = np.maximum(s, 0.0), basis.T @ xy, SIZES[:, None] ** 2
    left = yy - (u * u * size / (1 + size * s)).sum(axis=1)
    determinant = np.log1p(size * s).sum(axis=1)
    freedom = max(float(n.sum()) - len(n), 1.0)
    return _mean_square(_log_evidence(determinant, left, freedom, yy / freedom))


def _size_of_differences(
    n: Floats, xx: Floats, xy: Floats, yy: Floats, mean: Floats, others: Floats
) -> float:
    """The mean square of the differences between arms' slopes and the shared ones."""
    K, d = xy.shape
    pull = xy - (xx @ mean[:, :, None])[:, :, 0]
    rest = np.maximum(yy - (mean * (xy + pull)).sum(axis=1), 0.0)
    freedom = np.maximum(n - 1, 0.0)
    noise = yy.sum() / max(freedom.sum(), 1.0)
    evidence = np.zeros(len(SIZES))
    for i, size in enumerate(SIZES):  # one at a time: hundreds of features need memory
        # With V the covariance, (xx + V^-1)^-1 pull is (1 + V xx)^-1 V pull.
        covariance = size**2 * np.eye(d) + others
        inner = np.eye(d) + covariance @ xx
        determinant = np.linalg.slogdet(inner)[1]
        move = np.linalg.solve(inner, covariance @ pull[:, :, None])[:, :, 0]
        left = rest - (pull * move).sum(axis=1)
        evidence[i] = _log_evidence(determinant, left, freedom, noise).sum()
    # K arms that are predicted from each other show K - 1 differences.
    return _mean_square(evidence * (K - 1) / K)


def _log_evidence(determinant: Floats, left: Floats, freedom: Any, noise: float) -> Floats:
    """The log of the marginal density, with an unknown noise variance worth one reward."""
    rate = noise / 2 + np.maximum(left, 0.0) / 2
    return np.asarray(-determinant / 2 - (freedom + 1) / 2 * np.log(np.maximum(rate, 1e-300)))


def _mean_square(evidence: Floats) -> float:
    """The posterior mean of a squared size, given the log evidence for each of SIZES."""
    score = evidence + LOG_HYPERPRIOR
    weight = np.exp(score - score.max())
    return float((weight * SIZES**2).sum() / weight.sum())
