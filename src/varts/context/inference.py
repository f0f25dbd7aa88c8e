"""The beliefs that a report states about the arms' regressions, whatever policy chose the arms.

A policy can treat rewards as Gaussian and slopes as unlimited, and still choose well. A reader
relies on an interval. So a report differs from a policy in two ways. Without a prior, slopes have
one that is estimated from the arms themselves (`shrunk_linear_prior`). And the noise variance is
learned only as fast as the tails of the residuals allow, with skewed beliefs if residuals are
skewed; see `varts.kurtosis` for the same without features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from varts._validation import Floats
from varts.beliefs import SkewedT, StudentT
from varts.kurtosis import GAUSSIAN_KURTOSIS, Tails
from varts.linear_stats import LinearStats, check_linear_stats
from varts.policies.formulas import LARGEST_SKEW, SKEWNESS_SHOWN
from varts.policies.linear import shrunk_linear_prior
from varts.priors import LinearNormalGamma
from varts.priors.normal import student_t
from varts.stats import ArmStats


class TailedRegression(LinearNormalGamma, stored=False):
    """A posterior of every arm's regression whose beliefs are skewed as the residuals are.

    Make one with `infer`. `growth` is how much an arm's noise variance grows with its mean.
    """

    growth: Floats

    @classmethod
    def of(cls, posterior: LinearNormalGamma, growth: Floats) -> TailedRegression:
        """Return a posterior with skewed beliefs.

        Args:
            posterior: The posterior, an entry per arm.
            growth: The third moment of each arm's residuals over the second.
        """
        made = object.__new__(cls)
        made.__dict__.update(posterior.__dict__, growth=np.asarray(growth))
        return made

    def belief(self, x: Any) -> StudentT:
        """Return the belief about each arm's mean at x: one skewed Student t per arm.

        An estimate at x is a weighted sum of rewards. With kappa rewards at a distance whose
        leverage is r, the weights' squares add up to 1/kappa + r, and their cubes to
        1/kappa^2 + 3 r/kappa if features are about symmetric.

        Args:
            x: The unit's features, or a row of them per unit; the belief then has a row for each.
        """
        loc, worth = self.at(x)
        kappa, alpha = np.asarray(self.kappa), np.asarray(self.alpha)
        loc, scale, df = student_t(loc, worth, alpha, np.asarray(self.beta))
        df = np.broadcast_to(df, loc.shape)
        away = kappa / worth  # 1 + kappa r
        cubes = self.growth / kappa * (3 * away - 2) / away
        skew = SKEWNESS_SHOWN * cubes * np.maximum(1 - 2 / df, 0.0)
        most = LARGEST_SKEW * scale
        return SkewedT(loc, scale, df, np.minimum(np.maximum(skew, -most), most))

    def mirrored(self) -> TailedRegression:
        return TailedRegression.of(symmetric(self).mirrored(), -self.growth)


def symmetric(posterior: LinearNormalGamma) -> LinearNormalGamma:
    """Return the posterior without skewness: P(best) of thousands of units takes much less time.

    Args:
        posterior: The posterior of every arm's regression.
    """
    if not isinstance(posterior, TailedRegression):
        return posterior
    made = object.__new__(LinearNormalGamma)
    made.__dict__.update({k: v for k, v in posterior.__dict__.items() if k != "growth"})
    return made


def infer(
    prior: LinearNormalGamma | None,
    stats: LinearStats,
    residuals: ArmStats | None = None,
    wider: float = 1.0,
) -> TailedRegression:
    """Return the posterior that a report states.

    Args:
        prior: The prior, or None for one that is estimated from the arms themselves.
        stats: The arms' statistics.
        residuals: Moments n, mean, m2, m3 and m4 of each arm's residuals; None if unknown, then
            they count as Gaussian.
        wider: As for `shrunk_linear_prior`.

    >>> rng = np.random.default_rng(1)
    >>> arm, x = rng.integers(0, 2, 400), rng.standard_normal((400, 1))
    >>> reward = (rng.random(400) < 0.05) * rng.lognormal(2.0, 1.0, 400)
    >>> stats = LinearStats.empty(K=2, d=1).observe(arm, x, reward)
    >>> residuals = ArmStats.from_rewards([reward[arm == i] for i in (0, 1)])
    >>> for known in (None, residuals):
    ...     low, high = infer(None, stats, known).belief([0.0]).interval()
    ...     print(low.round(2), high.round(2))
    [0.03 0.14] [2.3  1.81]
    [0.28 0.34] [2.95 2.37]
    """
    check_linear_stats(stats, stats.d)
    before = shrunk_linear_prior(stats, wider) if prior is None else prior
    after = before.posterior(stats)
    K = stats.K
    tails = Tails() if residuals is None else _measured_tails(residuals)
    if before.tails is not None:
        tails = before.tails.merge(tails)
    worth = tails.weight_given_mean
    start = before.regression(K)
    alpha = start.alpha + worth * (after.alpha - start.alpha)
    beta = start.beta + worth * (after.beta - start.beta)
    if prior is None:
        # Equal rewards say nothing about a variance: see `unit_free_belief`.
        pooled = stats.pooled()
        n, m2 = float(pooled.n[0]), float(pooled.products[0, -1, -1])
        own = stats.products[:, -1, -1] > 0
        df = max(worth * n, 1.0)
        alpha = np.where(own, alpha, df / 2)
        beta = np.where(own, beta, df / 2 * m2 / max(n, 1e-300))
    after.__dict__.update(alpha=alpha, beta=beta)
    growth = np.zeros(K) if residuals is None else tails.slopes(residuals)
    return TailedRegression.of(after, growth)


def _measured_tails(residuals: ArmStats) -> Tails:
    """The tails of residuals; few of them show less kurtosis than there is."""
    tails = Tails.of(residuals)
    more = FEW_HIDE_TAILS * max(tails.kurtosis - GAUSSIAN_KURTOSIS, 0.0) / max(tails.n, 1.0)
    return replace(tails, kurtosis=tails.kurtosis * (1 + more))


class HalfPosterior(NamedTuple):
    """The posterior from one half of the decisions, to cross-fit the value of context.

    Args:
        rule: The posterior that says which arm is best for whom.
        judge: The posterior that judges the rule of the other half. Its slopes have a wider prior:
            one that pulls them together would make real gains seem smaller than they are.
    """

    rule: LinearNormalGamma
    judge: LinearNormalGamma


# Kurtosis k of n residuals becomes k (1 + 2 (k - 3) / n). On revenue, coverage with 50 rewards per
# arm rises by one or two percent; Gaussian residuals don't change. Chosen on development worlds.
FEW_HIDE_TAILS = 2.0
# A judge allows arms to differ by more than its own half says: the variance of the differences is
# larger by this factor. Without a limit, adaptive choices would bias it: an arm that both halves
# prefer somewhere has more rewards there and recovers from bad luck, others don't. Chosen on the
# development worlds of benchmarks/features.py.
JUDGE_WIDER = 6.0
FEWEST_PER_HALF = 5  # rewards of every arm in each half, to judge a rule


def infer_halves(
    prior: LinearNormalGamma | None,
    halves: tuple[LinearStats, LinearStats],
    residuals: ArmStats | None = None,
) -> tuple[HalfPosterior, HalfPosterior] | None:
    """Return the posteriors of both halves of the decisions; None if a half has too few rewards.

    Args:
        prior: The prior for the rule, or None for one that is estimated from the half itself.
        halves: The statistics of both halves.
        residuals: As for `infer`.
    """
    if any((half.n < FEWEST_PER_HALF).any() for half in halves):
        return None
    one, two = (
        HalfPosterior(
            infer(prior, half, residuals),
            infer(None, half, residuals, JUDGE_WIDER),
        )
        for half in halves
    )
    return one, two
