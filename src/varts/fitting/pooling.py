"""Partial pooling: groups of arms with different prior means that learn from each other.

The mu of a group is itself drawn, from N(m0, tau^2), and integrated out (adaptive Gauss-Hermite
quadrature per group) when m0, tau, kappa, alpha and v are estimated. A group with few arms is then
drawn towards the others, its mu stays as uncertain as it is, and kappa is not overestimated because
a mu was fitted to two arms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from varts._validation import Floats
from varts.fitting.marginal_likelihood import (
    ALPHA,
    KAPPA,
    MU,
    Maximum,
    V,
    evidence_terms,
    maximise,
    pull_towards,
    weak_penalty,
)
from varts.stats import ArmStats

HERMITE_NODES, _weights = np.polynomial.hermite.hermgauss(21)
LOG_WEIGHTS = np.log(_weights) + HERMITE_NODES**2  # for an integrand without its Gaussian factor
MODE_STEPS = 50  # towards the mode of a group's mu; the quadrature does not need it exactly


@dataclass(frozen=True)
class Pooled:
    """A theta and its covariance per group, and how the search went."""

    theta: Floats  #: (G, 4)
    covariance: Floats  #: (G, 4, 4)
    center: float  #: m0, what the groups' mu scatter around
    tau: float  #: and by how much
    converged: bool
    starts: int
    agreed: int


def pool_means(stats: ArmStats, index: NDArray[np.int64], guess: Floats) -> Pooled:
    """One mu per group, and the same kappa, alpha and v for all of them.

    `index` is the group of each arm, `guess` the theta that all arms would share.
    """
    integral = _Integral(stats, index)
    # The distance between groups explains part or all of the spread of the means.
    spread = max(float(np.var(integral.averages)), 1e-6)
    starts = [
        np.array([guess[MU], np.log(spread * part), guess[KAPPA] + more, guess[ALPHA], guess[V]])
        for part, more in ((0.5, 1.0), (0.02, 0.0))
    ]
    scale = 1.0 / stats.K

    def objective(phi: Floats) -> tuple[float, Floats]:
        value, gradient = integral(phi)
        return -value * scale, -gradient * scale

    limits = [(None, None), (-40, 40), (-25, 25), (-10, 15), (-30, 30)]  # far from any solution
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
    found = information(integral, best.x)
    covariance = np.linalg.pinv(found, hermitian=True)
    phi = best.x + covariance @ integral(best.x)[1]  # a Newton step: the last digits
    gradient = integral(phi)[1]
    G = integral.G
    theta = np.column_stack([integral.mean, np.tile(phi[2:], (G, 1))])
    spreads = np.zeros((G, 4, 4))
    spreads[:, MU, MU] = integral.variance
    spreads[:, 1:, 1:] = covariance[2:, 2:]
    return Pooled(
        theta,
        spreads,
        float(phi[0]),
        float(np.exp(phi[1] / 2)),
        bool(np.linalg.eigvalsh(found)[0] > 0 and np.abs(gradient).max() < 1e-4 * stats.K),
        len(ends),
        sum(bool(np.abs(end.x - best.x).max() < 0.02) for end in ends),
    )


def pool_partly(
    stats: ArmStats, index: NDArray[np.int64], pooled: Pooled, worth: float
) -> Iterator[Maximum]:
    """All four numbers per group, one group after the other.

    The pooled kappa, alpha and v count as much as `worth` average arms in every group (a Gaussian
    with that information), and mu is drawn from N(m0, tau^2): a group with few arms stays close to
    the others, one with many follows its own rewards.
    """
    H = evidence_terms(stats, pooled.theta[index].T)[2].sum(axis=2)
    precision = np.zeros((4, 4))
    precision[1:, 1:] = -H[1:, 1:] * worth / stats.K
    precision[MU, MU] = pooled.tau**-2
    for g, theta in enumerate(pooled.theta):
        own = index == g
        arms = ArmStats(stats.n[own], stats.mean[own], stats.m2[own])
        center = np.concatenate([[pooled.center], theta[1:]])
        starts = [theta, np.array([np.median(arms.mean), *theta[1:]])]
        yield maximise(arms, starts, pull_towards(center, precision))


class _Integral:
    """The log evidence with the groups' mu integrated out, in phi = (m0, log tau^2, shape)."""

    def __init__(self, stats: ArmStats, index: NDArray[np.int64]) -> None:
        self.stats, self.index = stats, index
        self.G = int(index.max()) + 1
        self.averages = self._sum(stats.mean) / np.bincount(index)
        self.mean = self.averages.copy()  # of each mu, given the rewards; kept as the next start
        self.variance = np.ones(self.G)

    def _sum(self, values: Floats) -> Floats:
        """Over the arms of each group."""
        return np.asarray(np.bincount(self.index, values, self.G), np.float64)

    def __call__(self, phi: Floats) -> tuple[float, Floats]:
        m0, log_tau2, x, y, z = phi
        n, index = self.stats.n, self.index
        k, a, tau2 = np.exp(x), np.exp(y), np.exp(log_tau2)
        b = a * np.exp(z)
        q = n / (k + n)
        h, A = k * q, a + n / 2

        # Towards the mode of each mu: a weighted mean, the weights of a t distribution (EM).
        center = self.mean
        for _ in range(MODE_STEPS):
            weight = (
                A * h / (b + 0.5 * (self.stats.m2 + h * (self.stats.mean - center[index]) ** 2))
            )
            total = self._sum(weight) + 1 / tau2
            moved = (self._sum(weight * self.stats.mean) + m0 / tau2) / total
            done = np.abs(moved - center).max() * np.sqrt(total.max()) < 1e-6
            center = moved
            if done:
                break
        width = 1 / np.sqrt(total)

        # The evidence of every arm at every node of its group, (nodes, J), and of every group.
        nodes = center + np.sqrt(2) * width * HERMITE_NODES[:, None]
        gap2 = (self.stats.mean - nodes[:, index]) ** 2
        S = 0.5 * (self.stats.m2 + h * gap2)
        grown, share = np.log1p(S / b), b / (b + S)
        log_f = np.stack([self._sum(-A * row) for row in grown])
        log_f -= 0.5 * ((nodes - m0) ** 2 / tau2 + np.log(2 * np.pi * tau2))
        log_w = log_f + LOG_WEIGHTS[:, None] + np.log(np.sqrt(2) * width)
        log_group = special.logsumexp(log_w, axis=0)
        weight = np.exp(log_w - log_group)  # the mu of a group, given its rewards, at its nodes
        constant = special.gammaln(A) - special.gammaln(a) - n / 2 * np.log(2 * np.pi * b)
        value = log_group.sum() + (constant + 0.5 * np.log1p(-q)).sum()

        # The gradient of a log integral is the mean of the gradient over that distribution.
        of_arms = weight[:, index]
        grown, share, pull = (
            (of_arms * t).sum(axis=0) for t in (grown, share, 0.5 * h * q * gap2 * share / b)
        )
        self.mean = (weight * nodes).sum(axis=0)
        self.variance = (weight * (nodes - self.mean) ** 2).sum(axis=0)
        off = self.mean - m0
        gradient = np.array(
            [
                (off / tau2).sum(),
                0.5 * ((self.variance + off**2) / tau2 - 1).sum(),
                (0.5 * q - A * pull).sum(),
                (a * (special.psi(A) - special.psi(a) - grown) + a - A * share).sum(),
                (a - A * share).sum(),
            ]
        )
        held, slope = self._penalty(phi)
        return value + held, gradient + slope

    def _penalty(self, phi: Floats) -> tuple[float, Floats]:
        """The weak penalty on kappa, alpha and v, and a similar one on tau^2 relative to v."""
        value, gradient, _ = weak_penalty(np.array([0.0, *phi[2:]]))  # mu has none
        slope = np.concatenate([[0.0], gradient])
        apart = phi[1] - phi[4]
        t = 0.5 * np.tanh(apart / 2)
        slope += np.array([0.0, -t, 0.0, 0.0, t])
        return value - np.log(np.cosh(apart / 2)), slope


def information(integral: Any, phi: Floats, step: float = 1e-4) -> Floats:
    """Minus the Hessian at phi, by central differences of the gradient."""
    sides = [
        integral(phi - step * unit)[1] - integral(phi + step * unit)[1] for unit in np.eye(phi.size)
    ]
    H = np.array(sides) / (2 * step)
    return np.asarray((H + H.T) / 2)
