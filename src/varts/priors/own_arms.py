"""A prior from the arms of the experiment itself (empirical Bayes).

Without a history, the arms that run side by side are the best evidence for what a new one of them
is like: how far apart their means lie, and whether their rewards vary alike. `own_prior` estimates
the four numbers of a `NormalGamma` from the arms' statistics:

- alpha and beta: an arm's sample variance, divided by beta/alpha, has an F distribution with d and
  2 alpha degrees of freedom. For each alpha of a grid, beta is the one that makes the sample
  variances most probable. d is not n - 1: rewards with heavy tails have noisy sample variances, and
  n - 1 of them say as much as (n - 1) 2/(kurtosis - 1) Gaussian ones (see `Tails`). Otherwise noise
  would pass for arms of different variances, or for certainty.
- kappa and mu: given these variances, the means of arms with n rewards lie around mu with the
  variance v (1/n + 1/kappa). The likelihood of kappa, with mu and the common scale of the variances
  integrated out, has a closed form, which is evaluated on a grid. The mean of a few rewards with
  heavy tails is not normal, and far from mu more often than it should be: one sale among two
  visitors is no sign of an arm with a rate of 50 %. So the log-likelihood of an arm's mean counts
  by 2/(kurtosis - 1), with the kurtosis of that mean.

Few arms say little. So both grids have weights of their own (a hyperprior): arms differ by a tenth
to one sd of a reward, that is kappa from 1 to 100, and alpha lies between 0.4 and 40. The estimates
are the harmonic means, because the spreads that a mixture of priors has are averages of 1/kappa and
1/alpha. kappa also pays for what is unknown about mu: with K arms it shrinks by about K/(K + 1).
With a single arm only the hyperprior is left.

Everything is measured in sds of a reward from the pooled mean, so cents and euros give the same
prior. The likelihood doesn't depend on how the arms were chosen: logs of a bandit are fine.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.kurtosis import GAUSSIAN_KURTOSIS, kurtosis_of, variance_weight
from varts.priors.base import check_stats
from varts.priors.normal import NormalGamma
from varts.stats import ArmStats

# The fewest arms for which a prior of their own is recommended. On the held-out worlds of
# benchmarks/own_prior.py it changed regret by -3 and +1 % with 2 arms (± 1.5), -7 to +3 % with 5,
# -3 to -19 % with 20, and -10 and -33 % with 100. With 2 to 4 arms there is little to gain, and
# 95 % intervals after 5 rewards of each arm cover 90 to 95 % (94 to 96 % for `VarTS()`).
FEWEST_ARMS = 5

# The hyperprior: log kappa and log alpha are normal. 95 % of them lie between a tenth and ten times
# the center, 10 for kappa (arms differ by 0.3 sd of a reward) and 4 for alpha.
KAPPA_CENTER, ALPHA_CENTER, LOG_SD = 10.0, 4.0, 1.2
KAPPAS = np.geomspace(0.03, 3000.0, 20)
ALPHAS = np.geomspace(0.5, 128.0, 9)
KAPPA_WEIGHTS = -0.5 * (np.log(KAPPAS / KAPPA_CENTER) / LOG_SD) ** 2
ALPHA_WEIGHTS = -0.5 * (np.log(ALPHAS / ALPHA_CENTER) / LOG_SD) ** 2
# An arm's own kurtosis counts as much as that of all arms once it has this many rewards: in a
# sample of n it is at most n, so small samples always look harmless.
OWN_KURTOSIS = 100.0
# How far `rounded_numbers` rounds: sample sizes, variances and kurtoses by 2.5 % at most, means by
# a tenth of their standard error. Small samples keep their size.
ROUGHLY, MEANS_ROUGHLY, FEW = 0.05, 0.2, 20.0
LEAST_EVIDENCE = 1e-3  # degrees of freedom, where there are next to none
NEWTON_STEPS, LONGEST_STEP, LEAST_CURVE = 5, 1.0, 1e-9  # for log beta
TINY = 1e-300


def own_prior(stats: ArmStats) -> NormalGamma:
    """Estimate the prior of an experiment's arms from these arms.

    Arms without rewards say nothing, and n need not be whole. Where no arm has shown two different
    rewards, the prior is that of `VarTS()`: the pooled mean and variance, each with the weight of
    one reward.

    Args:
        stats: The statistics of all arms; with m4 (see `ArmStats`) the prior accounts for heavy
            tails, without it rewards count as Gaussian.

    Raises:
        ValueError: No arm has a reward.

    >>> arms = ArmStats(n=[50] * 8, mean=[1, 2, 3, 4, 5, 6, 7, 8], m2=[49 * 9.0] * 8)
    >>> prior = own_prior(arms)      # sds of 3, means that differ by an sd of 2.4: kappa near 1.5
    >>> [round(x, 1) for x in (prior.mu, prior.kappa, prior.alpha, prior.beta / prior.alpha)]
    [4.5, 1.5, 28.3, 9.0]
    >>> round(own_prior(arms.take([0, 1, 2])).kappa, 1)      # closer together, and fewer
    4.8
    """
    check_stats(stats)
    if not (stats.n > 0).any():
        raise ValueError("n must be > 0 for at least one arm, got 0 for all")
    worth = variance_weight(own_kurtosis(stats.n, stats.m2, stats.m4))
    mu, kappa, alpha, beta = own_numbers(stats.n, stats.mean, stats.m2, worth)
    return NormalGamma(mu, kappa, alpha, np.maximum(beta, TINY))  # equal rewards: a variance of 0


def rounded_numbers(stats: ArmStats) -> tuple[Any, Any, Any, Any]:
    """Return mu, kappa, alpha and beta of `own_prior`, from rounded statistics.

    The statistics are rounded, to a small part of their standard errors and in units that
    move with the rewards. So a reward more rarely changes what the prior is estimated from, and the
    estimate can be kept: a live experiment needs it before every decision. It is a function of the
    statistics alone, whatever is kept.

    Args:
        stats: The statistics of all arms; at least one of them has a reward.
    """
    n, mean, m2 = stats.n, stats.mean, stats.m2
    df = np.maximum(n - 1, 0.0)
    within = float(np.where(df > 0, m2, 0.0).sum()) / max(float(df.sum()), TINY)
    if not within > 0:
        return own_numbers(n, mean, m2, variance_weight(own_kurtosis(n, m2, stats.m4)))
    center, unit = float((n * mean).sum() / n.sum()), np.sqrt(within)
    size = np.where(n < FEW, np.round(n, 1), np.exp(_rounded(np.log(np.maximum(n, 1.0)), ROUGHLY)))
    error = MEANS_ROUGHLY / np.sqrt(np.maximum(size, 1.0))
    gap = np.where(size > 0, _rounded((mean - center) / unit, error), 0.0)
    spread = (m2 > 0) & (size > 1)
    square = np.where(spread, m2 / within, 1.0)
    ratio = np.exp(_rounded(np.log(square / np.maximum(size - 1, 0.1)), ROUGHLY))
    kurtosis = np.zeros(0)
    if stats.m4 is not None:
        shape = kurtosis_of(n, np.where(spread, m2, 1.0), np.where(spread, stats.m4, 1.0))
        kurtosis = np.exp(_rounded(np.log(np.maximum(shape, TINY)), ROUGHLY))
    ratio = np.where(spread, ratio, 0.0)
    rounded = np.concatenate([size, gap, ratio, kurtosis])
    mu, kappa, alpha, beta = _own_numbers(rounded.tobytes(), stats.K)
    return center + mu * unit, kappa, alpha, beta * within


@lru_cache(maxsize=256)
def _own_numbers(rounded: bytes, K: int) -> tuple[Any, Any, Any, Any]:
    """The same for rounded statistics in sds of a reward: n, means, variances and kurtoses."""
    size, gap, ratio, *rest = np.frombuffer(rounded).reshape(-1, K)
    m2 = ratio * np.maximum(size - 1, 0.0)
    m4 = rest[0] * m2 * m2 / np.maximum(size, TINY) if rest else None
    return own_numbers(size, gap, m2, variance_weight(own_kurtosis(size, m2, m4)))


def _rounded(values: Any, step: Any) -> Any:
    return np.rint(values / step) * step


def own_numbers(n: Floats, mean: Floats, m2: Floats, worth: Any) -> tuple[Any, Any, Any, Any]:
    """Return mu, kappa, alpha and beta of `own_prior`; beta is 0 if all rewards are equal.

    Args:
        n: The number of rewards of each arm. The last axis is that of the arms; axes before it are
            experiments of their own.
        mean: The means.
        m2: The sums of squared deviations.
        worth: How many Gaussian rewards one of these is equal to for learning a variance, a number
            per experiment.
    """
    worth = np.asarray(worth)[..., None]
    total = _sum(n)
    some = np.maximum(total, TINY)
    center = _sum(n * mean) / some
    gap = np.where(n > 0, mean - center[..., None], 0.0)
    df = worth * np.maximum(n - 1, 0.0)
    all_df = _sum(df)
    within = _sum(worth * np.where(df > 0, m2, 0.0)) / np.maximum(all_df, TINY)
    known = within > 0
    unit = np.where(known, within, 1.0)  # the pooled variance within arms
    gap = gap / np.sqrt(unit)[..., None]
    # Half the sums of squares. Equal rewards say nothing about a variance: an arm that has shown no
    # others counts with the variance of all arms, or beta would end at 0.
    half = 0.5 * np.where(m2 > 0, worth * m2 / unit[..., None], df)
    half = np.where(df > 0, half, 0.0)
    alpha, v = _variances(df, half)
    variances = ((alpha * v)[..., None] + half) / (alpha[..., None] + 0.5 * df)
    # The mean of n rewards has 1/n of their excess kurtosis, 2 (1/worth - 1).
    normal = n * worth / (n * worth + 1 - worth + TINY)
    mu, kappa = _means(n, gap, variances, normal, np.maximum(all_df, LEAST_EVIDENCE), v)
    # Without a variance within arms: what `VarTS()` starts from.
    pooled = _sum(m2 + n * gap * gap) / some
    return (
        center + np.where(known, mu * np.sqrt(unit), 0.0),
        np.where(known, kappa, 1.0),
        np.where(known, alpha, 0.5),
        np.where(known, alpha * v * unit, 0.5 * pooled),
    )


def _variances(df: Floats, half: Floats) -> tuple[Any, Any]:
    """Return alpha and v = beta/alpha. An arm without degrees of freedom adds 0 to every sum."""
    axes = (-1, *(1,) * df.ndim)
    alpha = ALPHAS.reshape(axes)
    shape = alpha + 0.5 * df
    log_v = np.zeros((ALPHAS.size, *df.shape[:-1]))
    for _ in range(NEWTON_STEPS):
        beta = alpha * np.exp(log_v)[..., None]
        share = beta / (beta + half)
        found = shape * share
        all_found = _sum(found)
        curve = np.maximum(all_found - _sum(found * share), LEAST_CURVE)
        step = (df.shape[-1] * alpha[..., 0] - all_found) / curve
        log_v = log_v + np.maximum(np.minimum(step, LONGEST_STEP), -LONGEST_STEP)
    beta = alpha * np.exp(log_v)[..., None]
    terms = special.gammaln(shape) + alpha * np.log(beta) - shape * np.log(beta + half)
    value = _sum(terms) - df.shape[-1] * special.gammaln(alpha[..., 0])
    chance = _chances(value + ALPHA_WEIGHTS.reshape(axes[:-1]))
    return 1 / (chance / alpha[..., 0]).sum(0), np.exp((chance * log_v).sum(0))


def _means(
    n: Floats, gap: Floats, variances: Floats, normal: Floats, df: Any, v: Any
) -> tuple[Floats, Floats]:
    """Return mu and kappa, given each arm's variance, and how far its mean is normal (0 to 1).

    df is the evidence for the scale of the variances.
    """
    axes = (-1, *(1,) * n.ndim)
    kappa = KAPPAS.reshape(axes)
    weight = normal * kappa * n / (n + kappa) / variances
    sums = _sum(weight)
    mu = _sum(weight * gap) / np.maximum(sums, TINY)
    off = gap - mu[..., None]
    squares = _sum(weight * off * off)
    arms = np.maximum(_sum(normal), 1.0)
    value = -0.5 * (
        _sum(normal * np.log1p(n / kappa))
        + np.log(np.maximum(sums, TINY))
        + (df + arms - 1) * np.log1p(squares / df)
    )
    chance = _chances(value + KAPPA_WEIGHTS.reshape(axes[:-1]))
    center = (chance * mu).sum(0)
    unsure = (chance * (1 / np.maximum(sums, TINY) + (mu - center) ** 2)).sum(0)
    return center, 1 / ((chance / kappa[..., 0]).sum(0) + unsure / v)


def _sum(x: Floats) -> Any:
    """Add up the arms: `x.sum(-1)` without its overhead, which counts for a few arms."""
    return np.add.reduce(x, axis=-1)


def _chances(log_weights: Floats) -> Floats:
    """Return weights that add up to 1 along the first axis, from their logarithms."""
    weights = np.exp(log_weights - log_weights.max(0))
    return np.asarray(weights / weights.sum(0))


def own_kurtosis(n: Floats, m2: Floats, m4: Floats | None) -> Any:
    """Return the kurtosis of rewards within arms, also if each arm has but a few.

    An arm's own kurtosis is blind to tails in small samples. A kurtosis that all arms share can be
    estimated, if their variances are equal, from samples of two: n rewards with the fourth central
    moment k and variance 1 have E[m4] = (n-1)/n^2 ((n^2 - 3n + 3) k + 3 (2n - 3)).

    Args:
        n: The number of rewards of each arm, on the last axis.
        m2: The sums of squared deviations.
        m4: The sums of fourth powers; None if they are not known: then rewards count as Gaussian.

    >>> pairs = ArmStats.from_rewards([[0.0, 0.0]] * 9 + [[0.0, 1.0]])      # 5 % bought
    >>> round(float(own_kurtosis(pairs.n, pairs.m2, pairs.m4)), 1)
    16.7
    """
    if m4 is None:
        return np.full(n.shape[:-1], GAUSSIAN_KURTOSIS)
    more = n > 1
    size = np.where(more, n, 2.0)
    factor = np.where(more, (size - 1) / (size * size), 0.0)
    m2, m4 = np.where(more, m2, 0.0), np.where(more, m4, 0.0)
    variance = _sum(m2) / np.maximum(_sum(more * (size - 1)), TINY)
    unit = np.where(variance > 0, variance, 1.0)
    seen = _sum(m4 / unit[..., None] / unit[..., None])
    shared = (seen - _sum(factor * (6 * size - 9))) / np.maximum(
        _sum(factor * (size * size - 3 * size + 3)), TINY
    )
    spread = m2 > 0
    own = kurtosis_of(size, np.where(spread, m2, 1.0), np.where(spread, m4, 0.0))
    size = np.where(spread, n, 0.0)
    trust = size / (size + OWN_KURTOSIS)
    mixed = _sum(size * (trust * own + (1 - trust) * shared[..., None]))
    found = mixed / np.maximum(_sum(size), TINY)
    return np.where(variance > 0, np.maximum(found, 1.0), GAUSSIAN_KURTOSIS)
