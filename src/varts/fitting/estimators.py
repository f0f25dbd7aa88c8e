"""Arm statistics -> theta: the two estimators, groups, and a prior widened by its uncertainty.

Everything is in the history's own unit; `varts.fitting.marginal_likelihood` defines theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from varts._progress import Progress
from varts._validation import Floats
from varts.fitting.marginal_likelihood import ALPHA, KAPPA, MU, V, maximise, starting_points
from varts.fitting.pooling import pool_means, pool_partly
from varts.stats import ArmStats

REWARDS_FOR_MOMENTS = 6  # the fewest of an arm: below, 1/variance^2 has no mean
POOL_WORTH_ARMS = 10.0  # what the pooled shape counts for in each group, with per_group="all"
LARGEST_SQUARED_ERROR = 2.0  # of a logarithm, when a prior is widened: by a factor of e at most


@dataclass(frozen=True)
class Estimate:
    """A theta and its covariance per group, in the history's own unit."""

    theta: Floats  #: (G, 4)
    covariance: Floats  #: (G, 4, 4)
    converged: bool
    search: str


def fit_likelihood(stats: ArmStats) -> tuple[Estimate, list[str]]:
    """The maximum of the marginal likelihood, and a note if the arms do not seem to differ."""
    found = maximise(stats, starting_points(stats))
    notes = []
    limits = {KAPPA: (18.0, "means", "kappa"), ALPHA: (12.0, "variances", "alpha")}
    for entry, (large, what, name) in limits.items():
        same = maximise(stats, [found.theta], fixed={entry: large})
        if found.value - same.value < 1.35:  # 5 % of histories without differences come out above
            limit = np.exp(found.theta[entry])
            notes.append(
                f"no differences between the arms' {what} are visible beyond chance: "
                f"{name} = {limit:.3g} is a cautious guess, and any larger number would do as well"
            )
    search = describe_search(found.agreed, found.starts)
    return Estimate(found.theta[None], found.covariance[None], found.converged, search), notes


def describe_search(agreed: int, starts: int) -> str:
    """How many of the searches found the maximum."""
    return f"likelihood: {agreed} of {starts} searches ended at this maximum"


def fit_groups(
    stats: ArmStats,
    index: NDArray[np.int64],
    shared: Estimate,
    per_group: str,
    shown: Progress,
) -> Estimate:
    """One theta per group; `index` is the group of each arm."""
    shown.stage("pooling groups")
    pooled = pool_means(stats, index, shared.theta[0])
    search = describe_search(pooled.agreed, pooled.starts)
    if per_group == "mu":
        return Estimate(pooled.theta, pooled.covariance, pooled.converged, search)
    shown.stage("fitting groups", len(pooled.theta))
    found = []
    for maximum in pool_partly(stats, index, pooled, POOL_WORTH_ARMS):
        found.append(maximum)
        shown.at(len(found))
    return Estimate(
        np.array([one.theta for one in found]),
        np.array([one.covariance for one in found]),
        pooled.converged and all(one.converged for one in found),
        f"{search}; then each group, the others worth {POOL_WORTH_ARMS:g} arms",
    )


def fit_moments(stats: ArmStats) -> tuple[Estimate, list[str]]:
    """The paper's moments with the sampling noise of means and variances removed.

    With d = n - 1, (d - 2)/m2 and (d - 2)(d - 4)/m2^2 have the means lam and lam^2 exactly; the
    variance of the observed means exceeds that of the true ones by the mean of variance/n. kappa is
    the mean variance over the variance of the means. Errors are from leaving out one arm at a time.
    """
    kept = stats.n >= REWARDS_FOR_MOMENTS
    J = int(kept.sum())
    if J < 3:
        raise ValueError(
            f"moments need at least 3 arms with {REWARDS_FOR_MOMENTS} rewards or more, "
            f"got {J} of {stats.K}; method='likelihood' uses every arm"
        )
    n, mean, m2 = stats.n[kept], stats.mean[kept], stats.m2[kept]
    d, variance = n - 1, m2 / (n - 1)
    lam = (d - 2) / m2
    lam2 = lam**2 * (d - 4) / (d - 2)
    columns = [np.ones(J), mean, mean**2, variance, variance / n, lam, lam**2, lam2, 2 / (d - 4)]
    total = np.sum(columns, axis=1, keepdims=True)
    theta, limited = _match_moments(total)
    without, _ = _match_moments(total - columns)
    gaps = without - without.mean(axis=1, keepdims=True)
    covariance = gaps @ gaps.T * (J - 1) / J
    notes = []
    if J < stats.K:
        few = f"{stats.K - J} arms with fewer than {REWARDS_FOR_MOMENTS} rewards"
        notes.append(f"{few} have no such moments and were left out of the estimate")
    named = zip(("means", "precisions"), ("kappa", "alpha"), limited, strict=True)
    for what, name, at_limit in named:
        if at_limit[0]:
            notes.append(
                f"the arms' {what} vary no more than their sampling noise: {name} is set from one "
                "standard error of that spread, and any larger number would do as well"
            )
    search = f"moments of {J} arms, sampling noise removed"
    return Estimate(theta.T, covariance[None], True, search), notes


def _match_moments(total: Floats) -> tuple[Floats, tuple[Any, Any]]:
    """theta from sums over arms (columns: samples), and which spreads were not above their noise.

    Such a spread is replaced by one standard error of the noise.
    """
    J = total[0]
    m, mean2, variance, noise, lam, lam_squares, lam2, lam_noise = total[1:] / J
    error = np.sqrt(2 / (J - 1))
    spread = (mean2 - m**2) * J / (J - 1) - noise
    nu = lam2 - (J * lam**2 - lam_squares) / (J - 1)  # pairs of different arms: no noise in common
    limited = spread <= 0, nu <= 0
    spread = np.where(limited[0], noise * error, spread)
    nu = np.where(limited[1], lam**2 * lam_noise * error, nu)
    theta = np.array([m, np.log(variance / spread), np.log(lam**2 / nu), -np.log(lam)])
    return theta, limited


def widen(theta: Floats, covariance: Floats) -> Floats:
    """The prior of a new arm when theta is only known up to this covariance.

    Averaged over what theta may be, an arm's log precision varies more than a Gamma(alpha) says,
    and its mean more than v/kappa. alpha and kappa are lowered to match, by about 2/J with J arms,
    and never by more than a factor of e.

    >>> widen(np.log([1.0, 10, 4, 1]), np.diag([0.1, 0.3, 0.3, 0.1]) ** 2).round(2)
    array([ 0.  ,  2.15,  1.3 , -0.01])
    """
    m, x, y, z = theta
    a = np.exp(y)
    s2 = np.minimum(np.diag(covariance), LARGEST_SQUARED_ERROR)
    # the mean of trigamma(alpha) over log alpha: Gauss-Hermite with three nodes is plenty
    nodes = np.exp(y + np.sqrt(3 * s2[ALPHA]) * np.array([-1, 0, 1]))
    within = special.polygamma(1, nodes) @ np.array([1, 4, 1]) / 6
    slope = np.array([a * special.polygamma(1, a) - 1, -1.0])  # of E[log precision] in (y, z)
    between = slope @ covariance[2:, 2:] @ slope
    wide = _log_inverse_trigamma(float(within + min(between, LARGEST_SQUARED_ERROR)))
    center = special.psi(a) - y - z  # E[log precision] stays
    z_wide = special.psi(np.exp(wide)) - wide - center
    spread = np.exp(z - x + s2[KAPPA] / 2) + covariance[MU, MU]
    return np.array([m, z_wide - np.log(spread), wide, z_wide])


def mean_spread(theta: Floats) -> Floats:
    """The scale sqrt(v/kappa) of the arms' means."""
    return np.asarray(np.exp((theta[..., V] - theta[..., KAPPA]) / 2))


def _log_inverse_trigamma(value: float) -> float:
    """log a with trigamma(a) = value; 1/a < trigamma(a) < 1/a + 1/a^2 brackets it."""
    low, high = -np.log(value), np.log((1 + np.sqrt(1 + 4 * value)) / (2 * value))
    found = optimize.brentq(
        lambda y: np.log(special.polygamma(1, np.exp(y)) / value),
        low - 1e-6,
        high + 1e-6,
        xtol=1e-13,
    )
    return float(found)
