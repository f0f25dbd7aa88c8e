"""The history's own unit, with features: `varts.fitting.unit` for rewards that depend on them.

Features are taken as deviations from their mean over all rewards, in sds; rewards as deviations
from the median of the arms' means, in sds of the noise of a typical arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.fitting.estimators import widen
from varts.fitting.history import History
from varts.fitting.linear_likelihood import Shape
from varts.fitting.unit import Unit, standardise
from varts.linear_stats import LinearStats
from varts.policies.linear import unit_free_linear_prior
from varts.priors import LinearNormalGamma

SAME = 1e-13  # relative: a feature whose sd is no larger does not vary, but for rounding


@dataclass(frozen=True)
class LinearUnit:
    """Origin and scale of rewards and features.

    Args:
        rewards: Those of the rewards.
        center: The means of the features.
        sds: Their sds; 1 for a feature that did not vary.
        varies: Which did.
        names: Their names.
    """

    rewards: Unit
    center: Floats
    sds: Floats
    varies: NDArray[np.bool_]
    names: tuple[str, ...]

    def prior(self, shape: Shape, phi: Floats, covariance: Floats) -> LinearNormalGamma:
        """The prior that phi stands for, widened by its covariance; 0 leaves it as it is.

        The slope of a new arm varies by its own spread and by what is not known of the mean slope.
        """
        theta = widen(phi[shape.level], covariance[np.ix_(shape.level, shape.level)])
        spread = self._slope_spread(shape, phi, covariance) + covariance[shape.slopes, shape.slopes]
        return self._make(shape, phi, theta, spread)

    def estimate(self, shape: Shape, phi: Floats) -> LinearNormalGamma:
        """The same as it was found."""
        zero = np.zeros((shape.size, shape.size))
        return self._make(shape, phi, phi[shape.level], self._slope_spread(shape, phi, zero))

    def _slope_spread(self, shape: Shape, phi: Floats, covariance: Floats) -> Floats:
        of_log = np.minimum(np.diag(covariance)[shape.precisions], 2.0)
        variances = np.exp(phi[shape.v] - phi[shape.precisions] + of_log / 2)
        return np.diag(np.broadcast_to(variances, shape.d))

    def _make(self, shape: Shape, phi: Floats, theta: Floats, spread: Floats) -> LinearNormalGamma:
        level = self.rewards.prior(theta)
        d = len(self.sds)
        # A feature that never varied is taken to have an effect like those of the others.
        typical = float(np.exp(np.log(np.diag(spread)).mean()))
        every = np.diag(np.full(d, typical))
        every[np.ix_(self.varies, self.varies)] = spread
        precision = np.exp(theta[3]) * np.linalg.inv(every) * np.outer(self.sds, self.sds)
        slopes = np.zeros(d)
        slopes[self.varies] = phi[shape.slopes]
        return LinearNormalGamma(
            *(level.mu, level.kappa, level.alpha, level.beta),
            slopes=slopes * self.rewards.scale / self.sds,
            precision=(precision + precision.T) / 2,
            center=self.center,
            features=self.names,
        )

    def errors(self, shape: Shape, phi: Floats, covariance: Floats) -> dict[str, Any]:
        """Standard errors; that of a slope which never varied is the spread it is taken to have."""
        level = np.ix_(shape.level, shape.level)
        errors = self.rewards.errors(phi[shape.level], covariance[level])
        of_slopes = np.sqrt(np.diag(covariance)[shape.slopes])
        of_logs = np.broadcast_to(np.sqrt(np.diag(covariance)[shape.precisions]), shape.d)
        worth = np.broadcast_to(np.exp(phi[shape.precisions]), shape.d)
        typical = float(np.exp((phi[shape.v] - phi[shape.precisions].mean()) / 2))
        slopes, precisions = np.full((2, len(self.sds)), typical)
        slopes[self.varies] = of_slopes
        precisions[:] = np.exp(phi[shape.precisions].mean())
        precisions[self.varies] = worth * of_logs
        errors["slopes"] = slopes * self.rewards.scale / self.sds
        errors["precision"] = precisions * self.sds**2
        return errors


def standardise_contexts(history: History) -> tuple[LinearStats, LinearUnit, list[str]]:
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
    return stats, LinearUnit(Unit(unit.origin, scale), center, own, varies, names), notes
