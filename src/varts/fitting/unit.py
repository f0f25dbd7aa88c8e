"""The history's own unit, and the prior in the unit of the rewards that a theta stands for.

The origin of rewards is the median of the arms' means, their scale the median of their sds.
Everything is estimated in this unit and converted back at the end, so that cents and euros, or an
offset of 1e9, give the same prior up to the unit. With features, these are taken as deviations from
their mean over all rewards, in sds, and the scale is the noise of a typical arm.

A theta is known only up to its covariance; the prior of a new arm is widened for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from varts._validation import Floats
from varts.checks.finding import list_reasons
from varts.fitting.history import History
from varts.fitting.likelihood import ALPHA, KAPPA, MU, Layout, V
from varts.linear_stats import LinearStats
from varts.policies.linear import unit_free_linear_prior
from varts.priors import LinearNormalGamma, NormalGamma
from varts.stats import ArmStats

LARGEST_SQUARED_ERROR = 2.0  # of a logarithm, when a prior is widened: by a factor of e at most
SAME = 1e-13  # relative: a feature whose sd is no larger does not vary, but for rounding


@dataclass(frozen=True)
class Unit:
    """The history's origin and scale."""

    origin: float
    scale: float

    def prior(self, theta: Floats, covariance: Floats | None = None) -> NormalGamma:
        """The prior that theta stands for, or rows of theta, in the rewards' unit.

        With a covariance it is widened by it.
        """
        if covariance is not None:
            every = zip(theta.reshape(-1, 4), covariance.reshape(-1, 4, 4), strict=True)
            theta = np.array([widen(*one) for one in every]).reshape(theta.shape)
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


@dataclass(frozen=True)
class LinearUnit:
    """Origin and scale of rewards and features.

    Args:
        rewards: Those of the rewards.
        center: The means of the features.
        sds: Their sds; 1 for a feature that did not vary.
        varies: Which did.
        names: Their names.
        layout: Which entry of theta is what.
    """

    rewards: Unit
    center: Floats
    sds: Floats
    varies: NDArray[np.bool_]
    names: tuple[str, ...]
    layout: Layout

    def prior(self, theta: Floats, covariance: Floats | None = None) -> LinearNormalGamma:
        """The prior that theta stands for, or rows of theta, in the unit of rewards and features.

        With a covariance it is widened by it: the slope of a new arm varies by its own spread and
        by what is not known of the mean slope.
        """
        if theta.ndim == 1:
            return self._prior(theta, covariance)
        every = [None] * len(theta) if covariance is None else covariance
        priors = [self._prior(*one) for one in zip(theta, every, strict=True)]
        fields: dict[str, Any] = {
            name: np.array([getattr(prior, name) for prior in priors])
            for name in LinearNormalGamma._fields
        }
        return LinearNormalGamma(**fields, features=self.names)

    def _prior(self, theta: Floats, covariance: Floats | None) -> LinearNormalGamma:
        at, level = self.layout, theta[self.layout.level]
        unsure = np.zeros((at.size, at.size)) if covariance is None else covariance
        if covariance is not None:
            level = widen(level, covariance[np.ix_(at.level, at.level)])
        of_log = np.minimum(np.diag(unsure)[at.precisions], LARGEST_SQUARED_ERROR)
        variances = np.exp(theta[at.v] - theta[at.precisions] + of_log / 2)
        spread = np.diag(np.broadcast_to(variances, at.d)) + unsure[at.slopes, at.slopes]
        d = len(self.sds)
        # A feature that never varied is taken to have an effect like those of the others.
        typical = float(np.exp(np.log(np.diag(spread)).mean()))
        every = np.diag(np.full(d, typical))
        every[np.ix_(self.varies, self.varies)] = spread
        precision = np.exp(level[V]) * np.linalg.inv(every) * np.outer(self.sds, self.sds)
        slopes = np.zeros(d)
        slopes[self.varies] = theta[at.slopes]
        center = self.rewards.prior(level)
        return LinearNormalGamma(
            *(center.mu, center.kappa, center.alpha, center.beta),
            slopes=slopes * self.rewards.scale / self.sds,
            precision=(precision + precision.T) / 2,
            center=self.center,
            features=self.names,
        )

    def errors(self, theta: Floats, covariance: Floats) -> dict[str, Any]:
        """Standard errors; that of a slope which never varied is the spread it is taken to have."""
        if theta.ndim > 1:
            every = [self.errors(*one) for one in zip(theta, covariance, strict=True)]
            return {name: np.array([one[name] for one in every]) for name in every[0]}
        at = self.layout
        errors = self.rewards.errors(theta[at.level], covariance[np.ix_(at.level, at.level)])
        of_slopes = np.sqrt(np.diag(covariance)[at.slopes])
        of_logs = np.broadcast_to(np.sqrt(np.diag(covariance)[at.precisions]), at.d)
        worth = np.broadcast_to(np.exp(theta[at.precisions]), at.d)
        typical = float(np.exp((theta[at.v] - theta[at.precisions].mean()) / 2))
        slopes, precisions = np.full((2, len(self.sds)), typical)
        slopes[self.varies] = of_slopes
        precisions[:] = np.exp(theta[at.precisions].mean())
        precisions[self.varies] = worth * of_logs
        errors["slopes"] = slopes * self.rewards.scale / self.sds
        errors["precision"] = precisions * self.sds**2
        return errors


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


def standardise_features(history: History) -> tuple[LinearStats, LinearUnit, list[str]]:
    """The statistics of the features that vary, in the history's own unit."""
    features, contexts = history.features, history.contexts
    if features is None or contexts is None:
        raise ValueError("history must be read with features, got none")
    arms, unit, notes = standardise(history)
    pooled = contexts.pooled()
    center = pooled.mean[0, :-1]
    sds = np.sqrt(np.diagonal(pooled.products[0])[:-1] / pooled.n[0])
    varies = sds > SAME * np.abs(center)
    names = features.columns
    if not varies.any():
        raise ValueError(f"features must vary in the history, got {', '.join(names)}, which do not")
    noise = unit_free_linear_prior(pooled).posterior(contexts)
    scale = float(np.sqrt(np.median((noise.beta / noise.alpha)[contexts.n > 1])))
    if not varies.all():
        still = [name for name, moves in zip(names, varies, strict=True) if not moves]
        notes.append(
            f"{', '.join(still)} never varied in the history: the effect is taken to be of the "
            "size of the others"
        )
    own = np.where(varies, sds, 1.0)
    kept = np.append(varies, True)
    shift, size = np.append(center, unit.origin), np.append(own, scale)
    products = contexts.products / (size[:, None] * size)
    products[:, -1, -1] = arms.m2 * (unit.scale / scale) ** 2  # equal rewards have one filled in
    stats = LinearStats(
        contexts.n,
        ((contexts.mean - shift) / size)[:, kept],
        products[:, kept][:, :, kept],
    )
    rewards = Unit(unit.origin, scale)
    return stats, LinearUnit(rewards, center, own, varies, names, Layout(stats.d, False)), notes


# ---------------------------------------------------------------------------------------- widening


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
