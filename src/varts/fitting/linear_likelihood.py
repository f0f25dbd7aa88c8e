"""How probable rewards with features are under a linear prior, and which makes them most probable.

The evidence of an arm is that of `LinearNormalGamma`; this module has its gradient. By Fisher's
identity that is the gradient of the log prior density, averaged over the posterior of level, slopes
and precision, and needs no derivative of a determinant.

Everything is in standardised units, where the center is 0. The maximum is searched in
phi = (mu, slopes, log kappa, log precisions, log alpha, log v), v = beta/alpha: `Shape` says where
these are. Slopes have one precision for all features, or one for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from varts._validation import Floats
from varts.fitting.marginal_likelihood import (
    PENALTY_CENTER,
    Maximum,
    Penalty,
    Terms,
    weak_penalty,
)
from varts.fitting.pooling import information
from varts.linear_stats import LinearStats
from varts.priors.linear import Regression, inverse_root, log_evidence, regress

STEEPEST = 10.0  # sds of all rewards per sd of a feature: how large a mean slope may well be
GUESSES = ((0.0, 2.0, 3.0), (3.0, 5.0, 10.0), (-3.0, -2.0, 0.7))  # log kappa, log precision, alpha


@dataclass(frozen=True)
class Shape:
    """Which entry of phi is what.

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

    def regression(self, phi: Floats, K: int) -> Regression:
        """The prior that phi stands for, with an entry for each of K arms."""
        kappa, alpha = np.exp(phi[self.kappa]), np.exp(phi[self.alpha])
        diagonal = np.broadcast_to(np.exp(phi[self.precisions]), self.d)
        level = (phi[0], kappa, alpha, alpha * np.exp(phi[self.v]))
        parts = (*level, phi[self.slopes], np.diag(diagonal), np.zeros(self.d))
        return Regression(*(np.broadcast_to(part, (K, *np.shape(part))) for part in parts))


def evidence_terms(stats: LinearStats, phi: Floats, shape: Shape) -> tuple[Floats, Floats]:
    """The log evidence of every arm (J), and its gradients (size, J)."""
    prior = shape.regression(phi, stats.K)
    learnt = regress(prior, stats)
    root = inverse_root(learnt.precision)
    # What the posterior says at the prior's center: its gap to the prior, and its variance * lam.
    reach = (root @ -learnt.center[:, :, None])[:, :, 0]
    gap = learnt.mu - (learnt.center * learnt.slopes).sum(axis=1) - prior.mu
    spread = 1 / learnt.kappa + (reach * reach).sum(axis=1)
    turn, turn_spread = learnt.slopes - prior.slopes, (root * root).sum(axis=1)
    lam = learnt.alpha / learnt.beta
    log_lam = special.psi(learnt.alpha) - np.log(learnt.beta)

    alpha, beta = prior.alpha, prior.beta
    own = np.diagonal(prior.precision, axis1=1, axis2=2)
    worth = 0.5 * (1 - own * (lam[:, None] * turn * turn + turn_spread))
    gradient = np.empty((shape.size, stats.K))
    gradient[0] = lam * prior.kappa * gap
    gradient[shape.slopes] = (lam[:, None] * own * turn).T
    gradient[shape.kappa] = 0.5 * (1 - prior.kappa * (lam * gap * gap + spread))
    gradient[shape.precisions] = worth.T if shape.each else worth.sum(axis=1)
    gradient[shape.v] = alpha - beta * lam
    gradient[shape.alpha] = (
        alpha * (np.log(beta) - special.psi(alpha) + log_lam) + gradient[shape.v]
    )
    return log_evidence(prior, learnt, stats.n), gradient


def weak_linear_penalty(stats: LinearStats, shape: Shape) -> Penalty:
    """`weak_penalty`, on the slopes' precisions as on kappa, and a weaker one on the mean slopes.

    Of two columns that say the same, the second decides how their effect is shared out.
    """
    pooled = stats.pooled()
    variance = float(pooled.products[0, -1, -1] / pooled.n[0])
    pull = 1 / (STEEPEST**2 * max(variance, 1.0))

    def penalty(phi: Floats) -> Terms:
        value, slope, _ = weak_penalty(phi[shape.level])
        gradient = np.zeros(shape.size)
        gradient[shape.level] = slope
        for i in range(shape.kappa + 1, shape.alpha):
            like_kappa = np.array([0.0, phi[i], *PENALTY_CENTER[2:]])
            held, slope, _ = weak_penalty(like_kappa)
            value, gradient[i] = value + held, slope[1]
        slopes = phi[shape.slopes]
        gradient[shape.slopes] = -pull * slopes
        return value - 0.5 * pull * float((slopes * slopes).sum()), gradient, None

    return penalty


def starting_points(stats: LinearStats, shape: Shape, searches: int) -> list[Floats]:
    """The mean level and slopes of the arms as if by ridge regression, and rough guesses."""
    middle = np.zeros(shape.size)
    learnt = regress(shape.regression(middle, stats.K), stats)
    level = learnt.mu - (learnt.center * learnt.slopes).sum(axis=1)
    middle[0], middle[shape.slopes] = np.median(level), np.median(learnt.slopes, axis=0)
    starts = []
    for kappa, precision, alpha in GUESSES[:searches]:
        start = middle.copy()
        start[shape.kappa], start[shape.precisions] = kappa, precision
        start[shape.alpha] = np.log(alpha)
        starts.append(start)
    return starts


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # steps too far out are handled
def maximise(
    stats: LinearStats,
    shape: Shape,
    starts: Sequence[Floats],
    penalty: Penalty,
    fixed: dict[int, float] | None = None,
) -> Maximum:
    """The largest penalised evidence; `fixed` holds entries of phi at a value."""
    fixed = fixed or {}
    free = np.array([i for i in range(shape.size) if i not in fixed])
    scale = 1.0 / stats.K

    def full(u: Floats) -> Floats:
        phi = np.empty(shape.size)
        phi[free], phi[list(fixed)] = u, list(fixed.values())
        return phi

    def total(u: Floats) -> tuple[float, Floats]:
        phi = full(u)
        values, gradients = evidence_terms(stats, phi, shape)
        held, slope, _ = penalty(phi)
        return float(values.sum() + held), (gradients.sum(axis=1) + slope)[free]

    def objective(u: Floats) -> tuple[float, Floats]:
        value, gradient = total(u)
        return -value * scale, -gradient * scale

    limits = _limits(shape)
    ends = [
        optimize.minimize(
            objective,
            start[free],
            jac=True,
            method="L-BFGS-B",
            bounds=[limits[i] for i in free],
            options={"gtol": 1e-7, "ftol": 1e-14, "maxiter": 1000},
        )
        for start in starts
    ]
    best = min(ends, key=lambda end: end.fun)
    u, found = best.x, information(total, best.x)
    for _ in range(3):  # Newton steps: the last digits
        moved = u + np.linalg.pinv(found, hermitian=True) @ total(u)[1]
        if not np.abs(total(moved)[1]).max() < np.abs(total(u)[1]).max():
            break
        u, found = moved, information(total, moved)
    phi, covariance = full(u), np.zeros((shape.size, shape.size))
    covariance[np.ix_(free, free)] = np.linalg.pinv(found, hermitian=True)
    return Maximum(
        phi,
        covariance,
        float(evidence_terms(stats, phi, shape)[0].sum()),
        bool(np.linalg.eigvalsh(found)[0] > 0 and np.abs(total(u)[1]).max() < 1e-4 * stats.K),
        len(ends),
        sum(bool(np.abs(end.x - best.x).max() < 0.02) for end in ends),
    )


def _limits(shape: Shape) -> list[tuple[float | None, float | None]]:
    """Far from any solution."""
    limits: list[tuple[float | None, float | None]] = [(None, None)] * (1 + shape.d)
    limits += [(-20, 25)] * (shape.alpha - shape.kappa)
    return [*limits, (-10, 15), (-30, 30)]
