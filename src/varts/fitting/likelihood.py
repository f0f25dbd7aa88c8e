"""How probable rewards are under a prior, and which prior makes them most probable.

With the mean and the precision of an arm integrated out, n rewards with statistics (mean, m2) have
the density

    Gamma(A)/Gamma(alpha) * beta^alpha / B^A * sqrt(kappa/(kappa + n)) * (2 pi)^(-n/2),

where A = alpha + n/2 and B = beta + (m2 + kappa n/(kappa + n) (mean - mu)^2) / 2 are alpha and beta
of the posterior. An arm with one reward counts too.

The search is in theta = (mu, log kappa, log alpha, log v), v = beta/alpha: any theta is a prior,
and v is a variance, so that a change of alpha alone leaves the scale in place.

With features, theta = (mu, slopes, log kappa, log precisions, log alpha, log v), and `Layout` says
where these are. Everything is in standardised units, where the center is 0. Layout have one
precision for all features, or one for each. The evidence of an arm is that of `LinearNormalGamma`.
By Fisher's identity its gradient is that of the log prior density, averaged over the posterior of
level, slopes and precision, and needs no derivative of a determinant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from varts._validation import Floats
from varts.linear_stats import LinearStats
from varts.priors import NormalGamma, linear, normal_gamma_update
from varts.priors.linear import Regression, inverse_root, regress
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


def starting_points(stats: ArmStats) -> list[Floats]:
    """Rough guesses around the spread of the means, in standardised units."""
    spread = max(float(stats.mean.var()) - float((1 / stats.n).mean()), 0.01 * stats.mean.var())
    x = float(np.clip(-np.log(max(spread, 1e-300)), -6, 12))
    m = float(np.median(stats.mean))
    guesses = [(x, np.log(3)), (x + 3, np.log(30)), (x - 3, np.log(0.7)), (x, np.log(0.05))]
    return [np.array([m, x, y, 0.0]) for x, y in guesses]


# ------------------------------------------------------------------------------- with features

STEEPEST = 10.0  # sds of all rewards per sd of a feature: how large a mean slope may well be
GUESSES = ((0.0, 2.0, 3.0), (3.0, 5.0, 10.0), (-3.0, -2.0, 0.7))  # log kappa, log precision, alpha


@dataclass(frozen=True)
class Layout:
    """Which entry of theta is what.

    Args:
        d: The number of features.
        each: Whether every slope has a precision of its own.
    """

    d: int
    each: bool

    @property
    def slopes(self) -> slice:
        return slice(1, 1 + self.d)

    @property
    def kappa(self) -> int:
        return 1 + self.d

    @property
    def precisions(self) -> slice:
        return slice(2 + self.d, self.alpha)

    @property
    def alpha(self) -> int:
        return 2 + self.d + (self.d if self.each else 1)

    @property
    def v(self) -> int:
        return self.alpha + 1

    @property
    def size(self) -> int:
        return self.v + 1

    @property
    def level(self) -> list[int]:
        """Where theta of a prior without features is: mu, kappa, alpha and v."""
        return [0, self.kappa, self.alpha, self.v]

    def limits(self) -> list[tuple[float | None, float | None]]:
        """Bounds of a search, far from any solution."""
        limits: list[tuple[float | None, float | None]] = [(None, None)] * (1 + self.d)
        limits += [(-20, 25)] * (self.alpha - self.kappa)
        return [*limits, (-10, 15), (-30, 30)]

    def regression(self, theta: Floats, K: int) -> Regression:
        """The prior that theta stands for, with an entry for each of K arms."""
        kappa, alpha = np.exp(theta[self.kappa]), np.exp(theta[self.alpha])
        diagonal = np.broadcast_to(np.exp(theta[self.precisions]), self.d)
        level = (theta[0], kappa, alpha, alpha * np.exp(theta[self.v]))
        parts = (*level, theta[self.slopes], np.diag(diagonal), np.zeros(self.d))
        return Regression(*(np.broadcast_to(part, (K, *np.shape(part))) for part in parts))


def slope_evidence_terms(
    stats: LinearStats, theta: Floats, layout: Layout
) -> tuple[Floats, Floats]:
    """The log evidence of every arm (J), and its gradients (size, J)."""
    prior = layout.regression(theta, stats.K)
    learnt = regress(prior, stats)
    root = inverse_root(learnt.precision)
    # The posterior at the prior's center: its gap to the prior, and its variance * lam.
    reach = (root @ -learnt.center[:, :, None])[:, :, 0]
    gap = learnt.mu - (learnt.center * learnt.slopes).sum(axis=1) - prior.mu
    spread = 1 / learnt.kappa + (reach * reach).sum(axis=1)
    turn, turn_spread = learnt.slopes - prior.slopes, (root * root).sum(axis=1)
    lam = learnt.alpha / learnt.beta
    log_lam = special.psi(learnt.alpha) - np.log(learnt.beta)

    alpha, beta = prior.alpha, prior.beta
    own = np.diagonal(prior.precision, axis1=1, axis2=2)
    worth = 0.5 * (1 - own * (lam[:, None] * turn * turn + turn_spread))
    gradient = np.empty((layout.size, stats.K))
    gradient[0] = lam * prior.kappa * gap
    gradient[layout.slopes] = (lam[:, None] * own * turn).T
    gradient[layout.kappa] = 0.5 * (1 - prior.kappa * (lam * gap * gap + spread))
    gradient[layout.precisions] = worth.T if layout.each else worth.sum(axis=1)
    gradient[layout.v] = alpha - beta * lam
    gradient[layout.alpha] = (
        alpha * (np.log(beta) - special.psi(alpha) + log_lam) + gradient[layout.v]
    )
    return linear.log_evidence(prior, learnt, stats.n), gradient


def weak_slope_penalty(stats: LinearStats, layout: Layout) -> Penalty:
    """`weak_penalty`, on the slopes' precisions as on kappa, and a weaker one on the mean slopes.

    Of two columns that say the same, the second decides how their effect is shared out.
    """
    pooled = stats.pooled()
    variance = float(pooled.products[0, -1, -1] / pooled.n[0])
    pull = 1 / (STEEPEST**2 * max(variance, 1.0))

    def penalty(theta: Floats) -> Terms:
        value, slope, _ = weak_penalty(theta[layout.level])
        gradient = np.zeros(layout.size)
        gradient[layout.level] = slope
        for i in range(layout.kappa + 1, layout.alpha):
            like_kappa = np.array([0.0, theta[i], *PENALTY_CENTER[2:]])
            held, slope, _ = weak_penalty(like_kappa)
            value, gradient[i] = value + held, slope[1]
        slopes = theta[layout.slopes]
        gradient[layout.slopes] = -pull * slopes
        return value - 0.5 * pull * float((slopes * slopes).sum()), gradient, None

    return penalty


def slope_starting_points(stats: LinearStats, layout: Layout, searches: int) -> list[Floats]:
    """The mean level and slopes of the arms as if by ridge regression, and rough guesses."""
    middle = np.zeros(layout.size)
    learnt = regress(layout.regression(middle, stats.K), stats)
    level = learnt.mu - (learnt.center * learnt.slopes).sum(axis=1)
    middle[0], middle[layout.slopes] = np.median(level), np.median(learnt.slopes, axis=0)
    starts = []
    for kappa, precision, alpha in GUESSES[:searches]:
        start = middle.copy()
        start[layout.kappa], start[layout.precisions] = kappa, precision
        start[layout.alpha] = np.log(alpha)
        starts.append(start)
    return starts


# --------------------------------------------------------------------------------- the two searches


@dataclass(frozen=True)
class Maximum:
    """Where the search ended, and how certain that is."""

    theta: Floats
    covariance: Floats  #: the inverse of the observed information
    value: float  #: the log evidence there, without the penalty
    converged: bool
    starts: int
    agreed: int  #: how many of the starts ended there


class _Free:
    """The entries of theta that a search may change; `fixed` holds the others at a value."""

    def __init__(self, size: int, fixed: dict[int, float] | None) -> None:
        self.size, self.fixed = size, fixed or {}
        self.places: NDArray[np.int64] = np.array([i for i in range(size) if i not in self.fixed])

    def theta(self, u: Floats) -> Floats:
        """All entries, from the free ones."""
        theta = np.empty(self.size)
        theta[self.places], theta[list(self.fixed)] = u, list(self.fixed.values())
        return theta

    def covariance(self, free: Floats) -> Floats:
        """That of all entries; 0 for those that are fixed."""
        covariance = np.zeros((self.size, self.size))
        covariance[np.ix_(self.places, self.places)] = free
        return covariance


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # steps too far out are handled
def maximise(
    stats: ArmStats,
    starts: Sequence[Floats],
    penalty: Penalty = weak_penalty,
    fixed: dict[int, float] | None = None,
) -> Maximum:
    """The largest penalised evidence, by Newton steps in a trust region from every start.

    `fixed` holds entries of theta at a value; the covariance has zeros there.
    """
    free, scale = _Free(4, fixed), 1.0 / stats.K  # a mean over arms: one tolerance for any number

    def terms(u: Floats) -> Terms:
        theta = free.theta(u)
        value, gradient, H = evidence_terms(stats, theta)
        held, held_gradient, held_H = penalty(theta)
        total = value.sum() + held
        if not np.isfinite(total):  # too far out: the trust region shrinks
            return np.inf, np.zeros(u.size), np.eye(u.size)
        hessian = (H.sum(axis=2) + held_H)[np.ix_(free.places, free.places)]
        gradient = (gradient.sum(axis=1) + held_gradient)[free.places]
        return -total * scale, -gradient * scale, -hessian * scale

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
            np.asarray(start)[free.places],
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
    theta = free.theta(u)
    return Maximum(
        theta,
        free.covariance(np.linalg.pinv(H, hermitian=True) * scale),
        float(evidence_terms(stats, theta)[0].sum()),
        bool(np.linalg.eigvalsh(H)[0] > 0 and np.abs(gradient).max() < 1e-6),
        len(ends),
        agreed,
    )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def maximise_with_slopes(
    stats: LinearStats,
    layout: Layout,
    starts: Sequence[Floats],
    penalty: Penalty,
    fixed: dict[int, float] | None = None,
) -> Maximum:
    """The same with features, where the evidence has a gradient only."""
    free, limits = _Free(layout.size, fixed), layout.limits()

    def total(u: Floats) -> tuple[float, Floats]:
        theta = free.theta(u)
        values, gradients = slope_evidence_terms(stats, theta, layout)
        held, slope, _ = penalty(theta)
        return float(values.sum() + held), (gradients.sum(axis=1) + slope)[free.places]

    found = climb(
        total,
        [start[free.places] for start in starts],
        [limits[i] for i in free.places],
        stats.K,
    )
    theta = free.theta(found.theta)
    value = float(slope_evidence_terms(stats, theta, layout)[0].sum())
    return Maximum(
        theta,
        free.covariance(found.covariance),
        value,
        found.converged,
        found.starts,
        found.agreed,
    )


Limits = Sequence[tuple[float | None, float | None]]


def climb(
    total: Callable[[Floats], tuple[float, Floats]],
    starts: Sequence[Floats],
    limits: Limits,
    arms: int,
) -> Maximum:
    """The maximum of a function with a gradient and no Hessian; `value` is the function's.

    Quasi-Newton steps from every start find it, and Newton steps its last digits.
    """
    scale = 1.0 / arms

    def objective(u: Floats) -> tuple[float, Floats]:
        value, gradient = total(u)
        return -value * scale, -gradient * scale

    ends = [
        optimize.minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"gtol": 1e-7, "ftol": 1e-14, "maxiter": 1000},
        )
        for start in starts
    ]
    best = min(ends, key=lambda end: end.fun)
    u, found = best.x, _information(total, best.x)
    for _ in range(3):
        moved = u + np.linalg.pinv(found, hermitian=True) @ total(u)[1]
        if not np.abs(total(moved)[1]).max() < np.abs(total(u)[1]).max():
            break
        u, found = moved, _information(total, moved)
    value, gradient = total(u)
    return Maximum(
        u,
        np.asarray(np.linalg.pinv(found, hermitian=True), np.float64),
        value,
        bool(np.linalg.eigvalsh(found)[0] > 0 and np.abs(gradient).max() < 1e-4 * arms),
        len(ends),
        sum(bool(np.abs(end.x - best.x).max() < 0.02) for end in ends),
    )


def _information(
    total: Callable[[Floats], tuple[float, Floats]], u: Floats, step: float = 1e-4
) -> Floats:
    """Minus the Hessian, by central differences of the gradient."""
    sides = [total(u - step * unit)[1] - total(u + step * unit)[1] for unit in np.eye(u.size)]
    H = np.array(sides) / (2 * step)
    return np.asarray((H + H.T) / 2)
