"""Student t beliefs that are stretched on one side, for reports about rewards with tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, reals
from varts.beliefs.base import Belief
from varts.beliefs.distributions import SkewedStudents, stretch
from varts.beliefs.quadrature import POINT_SCALE
from varts.beliefs.student_t import StudentT

MOST_SKEW = 30.0  # in scales: the quadrature assumes that an arm is roughly as wide as its scale


@dataclass(frozen=True, eq=False)
class SkewedT(StudentT):
    """One skewed Student t per arm: z = (mu - loc) / sqrt(scale^2 + skew (mu - loc)) is a t.

    So an arm's variance moves with its mean. With skew > 0, a higher mean is also less certain, and
    values below loc - scale^2 / skew are impossible, as values below 0 are for revenue. With
    skew = 0 it is `StudentT`. The mean is a monotone function of a t, so quantiles have a closed
    form:

        mu = loc + skew z^2 / 2 + z sqrt(scale^2 + skew^2 z^2 / 4)

    Args:
        loc: The medians, one number or one per arm.
        scale: The scales, at least 0; 0 is a point.
        df: The degrees of freedom, positive, or infinite.
        skew: How much the squared scale grows with each unit of the mean; at most 30 scales.

    >>> belief = SkewedT(loc=[1.0], scale=[0.5], df=[np.inf], skew=[0.2])
    >>> low, high = belief.interval(0.95)
    >>> low.round(3), high.round(3)                    # 1 - 0.67 and 1 + 1.44
    (array([0.332]), array([2.437]))
    """

    skew: Floats = 0.0  # type: ignore[assignment]  # made an array below

    def __post_init__(self) -> None:
        super().__post_init__()
        reals("scale of a skewed belief", self.scale)
        arrays = np.broadcast_arrays(self.loc, self.scale, self.df, reals("skew", self.skew))
        for name, array in zip(("loc", "scale", "df", "skew"), arrays, strict=True):
            object.__setattr__(self, name, array)
        object.__setattr__(self, "skew", np.where(self.scale > 0, self.skew, 0.0))
        wide = np.abs(self.skew) > MOST_SKEW * self.scale
        if wide.any():
            raise ValueError(
                f"skew must be at most {MOST_SKEW:g} scales, got {self.skew[wide].flat[0]:g} "
                f"with a scale of {self.scale[wide].flat[0]:g}"
            )

    def _moved(self, z: Floats) -> Floats:
        return np.asarray(self.loc + stretch(z, self.scale, self.skew))

    @property
    def _standard(self) -> StudentT:
        return StudentT(np.zeros(self.loc.shape), np.ones(self.loc.shape), self.df)

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        return self._moved(self._standard.sample(rng, size))

    def at(self, u: Floats, v: Floats) -> Floats:
        return self._moved(self._standard.at(u, v))

    def quantile(self, p: Any) -> Floats:
        return self._moved(self._standard.quantile(p))

    def argmax(self, rng: np.random.Generator) -> int:
        return Belief.argmax(self, rng)

    def argmax_at(self, u: Floats, v: Floats, tie: Floats) -> NDArray[np.int64]:
        return Belief.argmax_at(self, u, v, tie)

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean; infinite where skewed tails have none."""
        with np.errstate(divide="ignore"):
            factor = np.where(self.df > 2, 1 / (1 - 2 / np.maximum(self.df, 2)), np.inf)
        return np.where(self.skew == 0, self.loc, self.loc + 0.5 * _times(self.skew, factor))

    def mirrored(self) -> SkewedT:
        """Return the belief about minus the means, for when lower is better."""
        return SkewedT(-self.loc, self.scale, self.df, -self.skew)

    def _arrays(self) -> tuple[Floats, ...]:
        return self.loc, self.scale, self.df, self.skew

    def _ordinary(self) -> NDArray[np.bool_]:
        return super()._ordinary() & np.isfinite(self.mean).all(axis=1)

    def _expected_loss(self) -> Floats:
        """Infinite for all arms if a mean is +infinity, and for arms whose mean is -infinity."""
        mean = self.mean
        if (mean == np.inf).any():
            return np.full(mean.shape, np.inf)
        known = mean > -np.inf
        if known.all():
            return super()._expected_loss()
        # An arm with a mean of -infinity adds next to nothing to the highest mean: leave it out.
        loss = np.full(mean.shape, np.inf)
        some = self._unchecked(*(x[:, known[0]] for x in self._arrays()))
        loss[known] = some._expected_loss()[0]
        return loss

    def _students(self, loc: Floats, scale: Floats, unit: Any) -> SkewedStudents:
        point = scale == 0
        df = np.where(point, np.inf, self.df.T)
        return SkewedStudents(loc, np.where(point, POINT_SCALE, scale), df, self.skew.T / unit)


def _times(skew: Floats, factor: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(skew == 0, 0.0, skew * factor)
