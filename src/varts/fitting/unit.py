"""The history's own unit: origin the median of the arms' means, scale the median of their sds.

Everything is estimated in it and converted back at the end, so that cents and euros, or an offset
of 1e9, give the same prior up to the unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from varts._validation import Floats
from varts.checks.finding import list_reasons
from varts.fitting.history import History
from varts.fitting.marginal_likelihood import ALPHA, KAPPA, MU, V
from varts.priors import NormalGamma
from varts.stats import ArmStats


@dataclass(frozen=True)
class Unit:
    """The history's origin and scale."""

    origin: float
    scale: float

    def prior(self, theta: Floats) -> NormalGamma:
        """The prior that rows of theta stand for, in the rewards' unit."""
        m, x, y, z = theta.T
        kappa, alpha, v = np.exp(x), np.exp(y), np.exp(z)
        return NormalGamma(self.origin + self.scale * m, kappa, alpha, alpha * v * self.scale**2)

    def covariance(self, covariance: Floats) -> Floats:
        """The covariance of theta for mu and beta/alpha in the rewards' unit.

        A change of the unit shifts the logarithms, so it changes only the entries of mu.
        """
        scale = np.array([self.scale, 1.0, 1.0, 1.0])
        out: Floats = covariance * scale * scale[:, None]
        return out

    def errors(self, theta: Floats, covariance: Floats) -> dict[str, Any]:
        """Standard errors by the delta method: a log's error is a relative one."""
        kappa, alpha, v = np.exp(theta[..., 1:]).T
        of_log = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)).T
        cross = 2 * covariance[..., ALPHA, V]
        of_beta = np.sqrt(np.maximum(of_log[ALPHA] ** 2 + of_log[V] ** 2 + cross, 0))
        errors = {
            "mu": self.scale * of_log[MU],
            "kappa": kappa * of_log[KAPPA],
            "alpha": alpha * of_log[ALPHA],
            "beta": alpha * v * self.scale**2 * of_beta,
        }
        return {name: error if error.ndim else float(error) for name, error in errors.items()}


def standardise(history: History) -> tuple[ArmStats, Unit, list[str]]:
    """The statistics in the history's own unit; too little history is refused."""
    if history.arms.height == 0:
        lost = list_reasons(history.left_out, history.word)
        raise ValueError(f"history must have a usable reward, got {lost or 'no rows'}")
    stats = history.stats
    several = stats.n > 1
    if stats.K < 2:
        raise ValueError(
            "history must have at least 2 arms, got 1: it says nothing about how arms differ"
        )
    if several.sum() < 2:
        raise ValueError(
            f"at least 2 arms of the history must have 2 rewards or more, got {several.sum()} of "
            f"{stats.K}: else the spread within arms cannot be told from that between them"
        )
    if not (stats.m2 > 0).any():
        raise ValueError(
            "rewards must differ within at least one arm, got equal ones in each: "
            "there is no reward variance to learn"
        )
    stats, notes = fill_in_variances(stats)
    origin = float(np.median(stats.mean))
    scale = float(np.sqrt(np.median(stats.variance[several])))
    own = ArmStats(stats.n, (stats.mean - origin) / scale, stats.m2 / scale**2)
    return own, Unit(origin, scale), notes


def fill_in_variances(stats: ArmStats) -> tuple[ArmStats, list[str]]:
    """A variance for arms whose rewards are all equal, where rewards come in steps.

    A variance of 0 would be infinitely informative, and a tiny one nearly so: arms without a single
    buyer would then determine mu. Equal rewards say next to nothing about a variance, so they get
    the typical one of the other arms. A single reward has no variance, but equal single rewards in
    several arms would be a spike that outweighs everything else: they are treated as rounded. The
    smallest m2 is about a step squared; a step of one sd hides 1/12 of the typical variance.
    """
    flat, single = stats.m2 == 0, stats.n == 1
    equal = flat & ~single
    alone = stats.mean[single]
    if not equal.any() and np.unique(alone).size == alone.size:
        return stats, []
    typical = np.median(stats.m2[~flat] / (stats.n[~flat] - 1))
    hidden = np.minimum(stats.m2[~flat].min() / 4, typical / 12)
    spread = np.where(single, hidden, (stats.n - 1) * typical)
    notes = []
    if equal.any():
        notes.append(
            f"{equal.sum()} arms have equal rewards only, which says next to nothing about their "
            "variance: they count with the typical one of the others"
        )
    if single.any():
        notes.append(
            f"{single.sum()} arms have one reward only, and rewards come in steps: it counts as if "
            "it were off by half a step"
        )
    return ArmStats(stats.n, stats.mean, np.where(flat, spread, stats.m2)), notes
