"""How probable rewards are under a Normal-Gamma prior, and which prior makes them most probable.

With the mean and the precision of an arm integrated out, n rewards with statistics (mean, m2) have
the density

    Gamma(A)/Gamma(alpha) * beta^alpha / B^A * sqrt(kappa/(kappa + n)) * (2 pi)^(-n/2),

where A = alpha + n/2 and B = beta + (m2 + kappa n/(kappa + n) (mean - mu)^2) / 2 are alpha and beta
of the posterior. An arm with one reward counts too.

The maximum is searched in theta = (mu, log kappa, log alpha, log v), v = beta/alpha: any theta is a
prior, and v is a variance, so that a change of alpha alone leaves the scale in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from varts._validation import Floats
from varts.priors import NormalGamma, normal_gamma_update
from varts.stats import ArmStats

Terms = tuple[Any, Any, Any]  # value, gradient and Hessian
Penalty = Callable[[Floats], Terms]

MU, KAPPA, ALPHA, V = range(4)  # the entries of theta


def log_evidence(stats: ArmStats, prior: NormalGamma) -> Floats:
    """The log density of each arm's rewards under the prior.

    >>> prior = NormalGamma(mu=0, kappa=1, alpha=1, beta=1)
    >>> log_evidence(ArmStats.from_rewards([[0.0]]), prior).round(4)  # a t with df 2, scale sqrt(2)
    array([-1.3863])
    """
    _, kappa, alpha, beta = prior.per_arm(stats.K)
    _, kappa_n, A, B = normal_gamma_update(stats.n, stats.mean, stats.m2, *prior.per_arm(stats.K))
    with np.errstate(divide="ignore"):  # kappa = 0 explains nothing: -inf
        half = 0.5 * (np.log(kappa / kappa_n) - stats.n * np.log(2 * np.pi))
    ratio = special.gammaln(A) - special.gammaln(alpha)
    grown = A * np.log1p((B - beta) / beta) + stats.n / 2 * np.log(beta)
    return np.asarray(ratio - grown + np.where(stats.n > 0, half, 0.0))


def evidence_terms(stats: ArmStats, theta: Any) -> Terms:
    """The same in theta, per arm: values (J), gradients (4, J) and Hessians (4, 4, J)."""
    n, m2 = stats.n, stats.m2
    m, x, y, z = theta
    k, a = np.exp(x), np.exp(y)
    b = a * np.exp(z)
    gap = stats.mean - m
    q = n / (k + n)  # the data's share; d q / d x = -q (1 - q)
    h = k * q
    S = 0.5 * (m2 + h * gap**2)
    A, B = a + n / 2, b + S
    share, grown = b / B, np.log1p(S / b)
    rise = special.psi(A) - special.psi(a) - grown
    value = special.gammaln(A) - special.gammaln(a) - n / 2 * np.log(2 * np.pi * b) - A * grown
    value = value + 0.5 * np.log1p(-q)

    # Derivatives of log B, and from them those of the value.
    Bm, Bx, By = -h * gap / B, 0.5 * h * q * gap**2 / B, share
    gradient = np.stack([-A * Bm, 0.5 * q - A * Bx, a * rise + a - A * By, a - A * By])
    H = np.empty((4, 4, n.size))
    H[0, 0] = -A * (h / B - Bm**2)
    H[0, 1] = -A * (-h * q * gap / B - Bm * Bx)
    H[0, 2] = -a * Bm + A * Bm * By
    H[0, 3] = A * Bm * By
    H[1, 1] = -0.5 * q * (1 - q) - A * (Bx * (2 * q - 1) - Bx**2)
    H[1, 2] = -a * Bx + A * Bx * By
    H[1, 3] = A * Bx * By
    H[3, 3] = -A * By * (1 - By)
    H[2, 3] = a * (1 - By) + H[3, 3]
    curve = a * (special.zeta(2.0, A) - special.zeta(2.0, a))  # trigammas
    H[2, 2] = a * (rise + curve + 1 - By) + H[2, 3]
    for i in range(4):
        for j in range(i):
            H[i, j] = H[j, i]
    return value, gradient, H


# A weak penalty on kappa, alpha and v, worth about half an arm: smallest at kappa = 10, alpha = 3
# and v = the history's typical variance, with tails like a half-Cauchy's. It only matters where the
# history says nothing: it keeps kappa and alpha finite when the arms do not differ at all.
PENALTY_CENTER = np.array([0.0, np.log(10.0), np.log(3.0), 0.0])
PENALTY_SLOPE = np.array([0.0, 0.5, 0.5, 1.0])


def weak_penalty(theta: Floats) -> Terms:
    """-2 slope log cosh(distance/2) per entry of theta, in standardised units."""
    t = np.tanh((theta - PENALTY_CENTER) / 2)
    far = np.abs(theta - PENALTY_CENTER)
    value = -(PENALTY_SLOPE * (far + 2 * np.log1p(np.exp(-far)))).sum()
    return value, -PENALTY_SLOPE * t, np.diag(-PENALTY_SLOPE * (1 - t**2) / 2)


def pull_towards(center: Floats, precision: Floats) -> Penalty:
    """The log density of a Gaussian around `center`."""

    def penalty(theta: Floats) -> Terms:
        gap = theta - center
        return -0.5 * gap @ precision @ gap, -precision @ gap, -precision

    return penalty


@dataclass(frozen=True)
class Maximum:
    """Where the search ended, and how certain that is."""

    theta: Floats
    covariance: Floats  #: the inverse of the observed information
    value: float  #: the log evidence there, without the penalty
    converged: bool
    starts: int
    agreed: int  #: how many of the starts ended there


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # steps too far out are handled
def maximise(
    stats: ArmStats,
    starts: Iterable[Floats],
    penalty: Penalty = weak_penalty,
    fixed: dict[int, float] | None = None,
) -> Maximum:
    """The largest penalised evidence, by Newton steps in a trust region from every start.

    `fixed` holds entries of theta at a value; the covariance has zeros there.
    """
    fixed = fixed or {}
    free = np.array([i for i in range(4) if i not in fixed])
    scale = 1.0 / stats.K  # a mean over arms: one tolerance for any number of them

    def full(u: Floats) -> Floats:
        theta = np.empty(4)
        theta[free], theta[list(fixed)] = u, list(fixed.values())
        return theta

    def terms(u: Floats) -> Terms:
        theta = full(u)
        value, gradient, H = evidence_terms(stats, theta)
        held, held_gradient, held_H = penalty(theta)
        total = value.sum() + held
        if not np.isfinite(total):  # too far out: the trust region shrinks
            return np.inf, np.zeros(free.size), np.eye(free.size)
        hessian = H.sum(axis=2) + held_H
        gradient = (gradient.sum(axis=1) + held_gradient)[free]
        return -total * scale, -gradient * scale, -hessian[np.ix_(free, free)] * scale

    cache: dict[bytes, Terms] = {}

    def at(u: Floats) -> Terms:
        key = u.tobytes()
        if key not in cache:
            cache.clear()
            cache[key] = terms(u)
        return cache[key]

    ends = [
        optimize.minimize(
            lambda u: at(u)[0],
            np.asarray(start)[free],
            method="trust-exact",
            jac=lambda u: at(u)[1],
            hess=lambda u: at(u)[2],
            options={"gtol": 1e-8, "maxiter": 500, "max_trust_radius": 4.0},
        )
        for start in starts
    ]
    u = min(ends, key=lambda end: end.fun).x
    agreed = sum(bool(np.abs(end.x - u).max() < 1e-3) for end in ends)
    for _ in range(5):  # values are rounded sums of thousands; the gradient is more precise
        _, gradient, H = at(u)
        moved = u - np.linalg.pinv(H, hermitian=True) @ gradient
        if not np.abs(at(moved)[1]).max() < np.abs(gradient).max():
            break
        u = moved
    _, gradient, H = at(u)
    theta, covariance = full(u), np.zeros((4, 4))
    covariance[np.ix_(free, free)] = np.linalg.pinv(H, hermitian=True) * scale
    return Maximum(
        theta,
        covariance,
        float(evidence_terms(stats, theta)[0].sum()),
        bool(np.linalg.eigvalsh(H)[0] > 0 and np.abs(gradient).max() < 1e-6),
        len(ends),
        agreed,
    )


def starting_points(stats: ArmStats) -> list[Floats]:
    """Rough guesses around the spread of the means, in standardised units."""
    spread = max(float(stats.mean.var()) - float((1 / stats.n).mean()), 0.01 * stats.mean.var())
    x = float(np.clip(-np.log(max(spread, 1e-300)), -6, 12))
    m = float(np.median(stats.mean))
    guesses = [(x, np.log(3)), (x + 3, np.log(30)), (x - 3, np.log(0.7)), (x, np.log(0.05))]
    return [np.array([m, x, y, 0.0]) for x, y in guesses]
