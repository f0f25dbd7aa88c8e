"""Location-scale Student t beliefs: VarTS, TS14, TS20, and with df = inf the Gaussian samplers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._caching import computed_once
from varts._validation import Floats, reals
from varts.beliefs import best_arm
from varts.beliefs.base import Belief, pick_best
from varts.beliefs.distributions import Students
from varts.beliefs.quadrature import NARROWEST_SCALE, POINT_SCALE

# Below this shape a Gamma draw may underflow, and a t draw overflow, so we use logarithms.
SMALL_SHAPE = 1.0
TWO_PI = 2 * np.pi
LARGEST = np.finfo(float).max
SMALLEST_SQUARED = 1e-150  # the square of a smaller scale would underflow


@dataclass(frozen=True, eq=False)
class StudentT(Belief):
    """One location-scale Student t per arm; df = inf is a Gaussian, scale = 0 a point mass.

    Args:
        loc: The locations, one number or one per arm.
        scale: The scales, from 0 to infinity.
        df: The degrees of freedom, positive, or infinite.

    >>> belief = StudentT(loc=[0.0, 1.0], scale=[1.0, 2.0], df=[4.0, np.inf])
    >>> belief.interval(0.9)[1].round(4)      # 2.1318 is t(4)'s 95 % quantile, 1.6449 the normal's
    array([2.1318, 4.2897])
    """

    loc: Floats
    scale: Floats
    df: Floats

    def __post_init__(self) -> None:
        loc, scale, df = np.broadcast_arrays(
            reals("loc", self.loc),
            reals("scale", self.scale, at_least=0, infinite=True),
            reals("df", self.df, above=0, infinite=True),
        )
        for name, array in (("loc", loc), ("scale", scale), ("df", df)):
            object.__setattr__(self, name, np.atleast_1d(array))

    @classmethod
    def _trusted(cls, loc: Floats, scale: Floats, df: Any) -> StudentT:
        """Make a belief from arrays that are known to be valid."""
        belief = object.__new__(cls)
        df = df if np.ndim(df) else np.full(loc.shape, df)
        belief.__dict__.update(loc=loc, scale=scale, df=df)
        return belief

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        sign, logdev = self.sample_log(rng, size)
        with np.errstate(over="ignore"):  # a t with tiny df has infinite draws
            return self.loc + sign * np.exp(logdev)

    def sample_log(
        self, rng: np.random.Generator, size: int | None = None
    ) -> tuple[Floats, Floats]:
        """Draw in the form loc + sign * exp(logdev), which works for any df, however small.

        Args:
            rng: The random generator.
            size: How many rows of draws; None for a single one, without an axis.

        Returns:
            The signs and the logdevs.

        A t draw is z / sqrt(g / alpha) with z normal, g ~ Gamma(alpha), alpha = df/2. For small
        alpha, log g comes from g = g' * u^(1/alpha) with g' ~ Gamma(alpha + 1).
        """
        shape = self.loc.shape if size is None else (size, *self.loc.shape)
        z = rng.standard_normal(shape)
        alpha = self.df / 2
        finite = np.isfinite(alpha)
        a = np.where(finite, alpha, 1.0)
        small = a < SMALL_SHAPE
        log_g = np.log(rng.standard_gamma(a + small, shape))
        if small.any():
            log_g = np.where(small, log_g - rng.standard_exponential(shape) / a, log_g)
        with np.errstate(divide="ignore"):
            logdev = np.log(np.abs(z)) + np.log(self.scale)
        return np.sign(z), logdev - np.where(finite, 0.5 * (log_g - np.log(a)), 0.0)

    def argmax(self, rng: np.random.Generator) -> int:
        sign, logdev = self.sample_log(rng)
        with np.errstate(over="ignore"):
            draws = self.loc + sign * np.exp(logdev)
        best = draws.max()
        if np.isinf(best):  # infinite draws don't tie, because their logarithms differ
            draws = np.where(draws == best, sign * logdev, -np.inf)
            best = draws.max()
        largest = np.flatnonzero(draws == best)
        return int(largest[0]) if largest.size == 1 else pick_best(draws, rng)

    def at(self, u: Floats, v: Floats) -> Floats:
        # Bailey (1994): sqrt(df (u^(-2/df) - 1)) cos(2 pi v) is a t draw; df = inf, Box-Muller.
        if self._wild:
            return self._wild_at(u, v)
        power, spread, gaussian = self._for_draws
        square = np.expm1(np.log(u) * power) * spread
        if gaussian is not None:
            square = np.where(gaussian, np.log(u) * (-2.0 * self.scale**2), square)
        return np.asarray(self.loc + np.sqrt(square) * np.cos(v * TWO_PI))

    def _wild_at(self, u: Floats, v: Floats) -> Floats:
        """Compute `at` where a square may overflow or underflow."""
        power, spread, gaussian = self._for_draws
        small = self.scale < SMALLEST_SQUARED
        with np.errstate(over="ignore", invalid="ignore"):
            grown, df = np.expm1(np.log(u) * power), self.df
            square = grown * spread
            if gaussian is not None:
                square = np.where(gaussian, np.log(u) * (-2.0 * self.scale**2), square)
                grown = np.where(gaussian, np.log(u) * -2.0, grown)
                df = np.where(gaussian, 1.0, df)
            size = np.where(small, self.scale * np.sqrt(df * grown), np.sqrt(square))
        size = np.where(self.scale == 0, 0.0, size)  # a point mass, however large the draw
        return np.asarray(self.loc + size * np.cos(v * TWO_PI))

    def argmax_at(self, u: Floats, v: Floats, tie: Floats) -> NDArray[np.int64]:
        best = super().argmax_at(u, v, tie)
        if self._wild:  # infinite draws don't tie, because their logarithms differ
            draws, wave = self.at(u, v), np.cos(v * TWO_PI)
            power, spread, _ = self._for_draws
            with np.errstate(divide="ignore", invalid="ignore"):
                small = self.scale < SMALLEST_SQUARED
                log_spread = np.where(
                    small, np.log(self.df) + 2 * np.log(self.scale), np.log(spread)
                )
                growth = np.log(u) * power
                square = growth + np.log1p(-np.exp(-growth)) + log_spread
                score = np.sign(wave) * (0.5 * square + np.log(np.abs(wave)))
            for i in np.flatnonzero(np.isinf(draws.max(axis=1))):
                best[i] = np.where(draws[i] == draws[i].max(), score[i], -np.inf).argmax()
        return best

    @computed_once
    def _for_draws(self) -> tuple[Floats, Floats, NDArray[np.bool_] | None]:
        gaussian = np.isinf(self.df)
        if not gaussian.any():
            return -2.0 / self.df, self.df * self.scale**2, None
        df = np.where(gaussian, 1.0, self.df)
        return -2.0 / df, df * self.scale**2, gaussian

    @property
    def _may_tie(self) -> bool:
        return self._wild  # point masses, and draws too large for a float

    @computed_once
    def _wild(self) -> bool:
        """Whether a draw or an intermediate square may overflow or underflow."""
        return bool(
            self.df.min() < 1 or self.scale.max() > 1e100 or self.scale.min() < SMALLEST_SQUARED
        )

    def quantile(self, p: Any) -> Floats:
        p = reals("p", p, above=0, below=1)
        finite = np.isfinite(self.df)
        t = special.stdtrit(np.where(finite, self.df, 1.0), p)
        t = np.where(finite, t, special.ndtri(p))
        with np.errstate(invalid="ignore"):  # infinity times 0: the median is loc at any scale
            return np.asarray(np.where(p == 0.5, self.loc, self.loc + self.scale * t))

    def density(self, x: Any) -> Floats:
        """Return the density of each arm's mean: a row per point, a column per arm.

        Args:
            x: The points, in the unit of the rewards. The density of a point mass is practically
                infinite at its location, and 0 elsewhere.

        >>> StudentT([0.0, 1.0], [1.0, 2.0], np.inf).density([0.0, 1.0]).round(4)
        array([[0.3989, 0.176 ],
               [0.242 , 0.1995]])
        """
        arms = self._unchecked(*(x[None] for x in self._arrays()))
        away = np.ravel(reals("x", x)) - self.loc[:, None]
        with np.errstate(over="ignore"):  # far from a narrow belief the density is 0
            density = arms._students(arms.loc.T, arms.scale.T, 1.0).density(away[..., None])
        return density[..., 0].T

    def _arrays(self) -> tuple[Floats, ...]:
        return self.loc, self.scale, self.df

    def mirrored(self) -> StudentT:
        """Return the belief about minus the means, for when lower is better.

        >>> StudentT([20.0, 30.0], [4.0, 3.0], np.inf).mirrored().p_best().round(4)   # Phi(10 / 5)
        array([0.9772, 0.0228])
        """
        return StudentT(-self.loc, self.scale, self.df)

    def _ordinary(self) -> NDArray[np.bool_]:
        return np.asarray((self.scale.min(axis=1) > 0) & (self.scale.max(axis=1) < np.inf))

    def _p_best(self) -> Floats:
        if np.count_nonzero(self.scale == np.inf):
            known, unknown = self._apart()
            p = unknown._beside_points(min(known.K, 1))._p_best()
            n = unknown.K
            return self._together(p[:, n:] * known._p_best() if known.K else p[:, n:], p[:, :n])
        loc, scale, unit = self._in_reach()
        if np.count_nonzero(scale) == scale.size:
            return best_arm.p_best(self._students(loc, scale, unit))[0].T
        free, point = scale[:, 0] > 0, scale[:, 0] == 0
        p, highest, atom = np.zeros(loc.shape), loc[point].max(), np.ones(1)
        if free.any():
            arms = self._students(loc, scale, unit).take(free)
            p[free], atom = best_arm.p_best(arms, highest)
        tied = point & (loc[:, 0] == highest)
        p[tied] = atom / tied.sum()
        return p.T

    def _expected_loss(self) -> Floats:
        """The difference is never negative, so its expectation exists, but may be infinite."""
        if self.K == 1:
            return np.zeros(self.loc.shape)
        infinite = (self.scale == np.inf) | ((self.df <= 1) & (self.scale > 0))
        if np.count_nonzero(infinite):
            loss, rows = np.full(self.loc.shape, np.inf), ~infinite.any(axis=1)
            if rows.any():
                some = self._unchecked(*(x[rows] for x in self._arrays()))
                loss[rows] = some._expected_loss()
            return loss
        loc, scale, unit = self._in_reach()
        arms, mean = self._students(loc, scale, unit), self.mean
        loss = np.asarray(mean.max(axis=1, keepdims=True) - mean)
        points = scale[:, 0] == 0
        if np.count_nonzero(scale) == scale.size:
            loss += (unit * best_arm.gap_to_best(arms))[:, None]
        elif not points.all():
            loss += unit * best_arm.gap_to_best(arms.take(~points), loc[points].max())
        return loss

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean, if it exists."""
        return self.loc

    def _students(self, loc: Floats, scale: Floats, unit: Any) -> Students:
        """The distributions to integrate, arms first, in this unit; points are very narrow ones."""
        if np.count_nonzero(scale) == scale.size:
            return Students(loc, scale, self.df.T)
        point = scale == 0
        df = np.where(point, np.inf, self.df.T)
        return Students(loc, np.where(point, POINT_SCALE, scale), df)

    def _top(self, m: int) -> Floats:
        if np.count_nonzero(self.scale == np.inf):
            known, unknown = self._apart()
            p, n = np.zeros((1, known.K)), unknown.K
            # By the number of unknown arms above all known ones.
            for above in range(min(m, n + 1) if known.K else 0):
                places = min(m - above, known.K)
                p += special.binom(n, above) * 0.5**n * known._top(places)
            return self._together(p, unknown._beside_points(known.K)._top(m)[:, :n])
        loc, scale, unit = self._in_reach()
        return best_arm.p_top(self._students(loc, scale, unit), m).T

    def _p_better(self) -> Floats:
        if self.scale.max() == np.inf:
            p, wide = np.full((1, self.K, self.K), 0.5), np.isinf(self.scale[0])
            for belief, which in zip(self._apart(), (~wide, wide), strict=True):
                p[0][np.ix_(which, which)] = belief._p_better()[0] if belief.K else 0.5
            return p
        loc, scale, unit = self._in_reach()
        if np.count_nonzero(scale) == scale.size:
            return best_arm.p_better(self._students(loc, scale, unit)).transpose(2, 0, 1)
        free, point = np.flatnonzero(scale), scale[:, 0] == 0
        p = 0.5 * (np.sign(loc - loc.T) + 1)
        if free.size:
            arms = self._students(loc, scale, unit).take(free)
            p[np.ix_(free, free)] = best_arm.p_better(arms)[:, :, 0]
            below, above = arms.ends(loc[point].T - arms.loc)
            p[np.ix_(free, point)], p[np.ix_(point, free)] = above, below.T
        return p[None]

    def _in_reach(self) -> tuple[Floats, Floats, Floats]:
        """Locations and scales, arms first, in a unit of the order of each row's spread.

        Nothing that matters is rounded: the unit is a power of 2, and locations are shifted only
        if they are so close together that differences of doubles are exact. Scales much smaller
        than the unit are raised to `NARROWEST_SCALE`.
        """
        loc, scale = self.loc.T, self.scale.T
        low, high = np.minimum.reduce(loc), np.maximum.reduce(loc)  # faster than loc.min(axis=0)
        range_ = high - low
        together = range_ <= np.minimum(np.abs(low), np.abs(high))
        if np.count_nonzero(together):
            loc = loc - np.where(together, high, 0.0)
        spread = np.minimum(np.maximum(range_, np.maximum.reduce(scale)), LARGEST)
        unit = np.spacing(spread) * 2.0**52  # the highest power of 2 that is not above it
        bounded = np.maximum(scale / unit, NARROWEST_SCALE)
        if np.count_nonzero(scale) < scale.size:
            bounded = np.where(scale > 0, bounded, 0.0)
        return loc / unit, bounded, unit

    # Nothing is known about an arm of infinite scale. It is the limit of growing scales, equal ones
    # if there are several such arms. They lie far above or far below all other arms, and from there
    # the others look like a single point.

    def _apart(self) -> tuple[StudentT, StudentT]:
        """The arms of finite scale; those of infinite scale, measured in that scale."""
        wide = np.isinf(self.scale[0])
        known = StudentT._trusted(*(x[:, ~wide] for x in (self.loc, self.scale, self.df)))
        df = self.df[:, wide]
        return known, StudentT._trusted(np.zeros(df.shape), np.ones(df.shape), df)

    def _beside_points(self, n: int) -> StudentT:
        points = np.zeros((1, n))
        ends = ((self.loc, points), (self.scale, points), (self.df, points + 1))
        return StudentT._trusted(*(np.concatenate(pair, axis=1) for pair in ends))

    def _together(self, known: Floats, unknown: Floats) -> Floats:
        """Merge the results of both kinds of arms, in the order of the arms."""
        wide = np.isinf(self.scale[0])
        result = np.empty((1, self.K))
        result[:, ~wide], result[:, wide] = known, unknown
        return result
