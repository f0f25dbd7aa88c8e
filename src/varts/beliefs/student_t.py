"""Location-scale Student t beliefs: VarTS, TS14, TS20, and with df = inf the Gaussian samplers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._caching import computed_once
from varts._validation import Floats, reals
from varts.beliefs import best_arm, rows
from varts.beliefs.base import Belief, pick_best
from varts.beliefs.distributions import Students
from varts.beliefs.quadrature import MANY_ARMS, NARROWEST_SCALE, POINT_SCALE

# Below this shape a Gamma draw may underflow, and a t draw overflow: work with logarithms.
SMALL_SHAPE = 1.0
FEW_ROWS = 3  # of a belief with several rows, that are as quickly asked one by one
ROWS_AT_ONCE = 500
TWO_PI = 2 * np.pi
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
        """Skip the checks for what a policy's formula has just computed."""
        belief = object.__new__(cls)
        df = df if np.ndim(df) else np.full(loc.shape, df)
        belief.__dict__.update(loc=loc, scale=scale, df=df)
        return belief

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        sign, logdev = self.sample_log(rng, size)
        with np.errstate(over="ignore"):  # an infinite draw is what a t with tiny df looks like
            return self.loc + sign * np.exp(logdev)

    def sample_log(
        self, rng: np.random.Generator, size: int | None = None
    ) -> tuple[Floats, Floats]:
        """Draws as loc + sign * exp(logdev), for which no df is too small.

        Args:
            rng: The random generator.
            size: How many rows of draws; None for one, without an axis of its own.

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
        if np.isinf(best):  # infinite draws do not tie: their logarithms differ
            draws = np.where(draws == best, sign * logdev, -np.inf)
        return pick_best(draws, rng)

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
        """The same where a square may overflow, or a scale is too small to be squared."""
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
        if self._wild:  # infinite draws do not tie: their logarithms differ
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
        """Whether a draw, or a square on the way to it, may be too large or small for a float."""
        return bool(
            self.df.min() < 1 or self.scale.max() > 1e100 or self.scale.min() < SMALLEST_SQUARED
        )

    def quantile(self, p: Any) -> Floats:
        p = reals("p", p, above=0, below=1)
        finite = np.isfinite(self.df)
        t = special.stdtrit(np.where(finite, self.df, 1.0), p)
        t = np.where(finite, t, special.ndtri(p))
        with np.errstate(invalid="ignore"):  # infinite times 0: the median is loc at any scale
            return np.asarray(np.where(p == 0.5, self.loc, self.loc + self.scale * t))

    def density(self, x: Any) -> Floats:
        """The probability density of each arm's mean: a row per place, a column per arm.

        Args:
            x: The places, in the unit of the rewards. A point mass has no density but at its own
                place, where it is as good as infinite.

        >>> StudentT([0.0, 1.0], [1.0, 2.0], np.inf).density([0.0, 1.0]).round(4)
        array([[0.3989, 0.176 ],
               [0.242 , 0.1995]])
        """
        away = np.ravel(reals("x", x)) - self.loc[:, None]
        with np.errstate(over="ignore"):  # far from a narrow belief there is nothing
            return self._students(self.loc, self.scale, 1.0).density(away[..., None])[..., 0].T

    def _arrays(self) -> tuple[Floats, ...]:
        return self.loc, self.scale, self.df

    def mirrored(self) -> StudentT:
        """The belief about minus the means, for when lower is better.

        >>> StudentT([20.0, 30.0], [4.0, 3.0], np.inf).mirrored().p_best().round(4)   # Phi(10 / 5)
        array([0.9772, 0.0228])
        """
        return StudentT(-self.loc, self.scale, self.df)

    def p_best(self) -> Floats:
        return self._in_bulk(rows.p_best, Belief.p_best)

    def expected_loss(self) -> Floats:
        return self._in_bulk(rows.expected_loss, Belief.expected_loss)

    def _in_bulk(self, many: rows.Answer, one: Callable[[StudentT], Floats]) -> Floats:
        """What is asked of every row: of many at once, and of those that are left one by one."""
        if self.loc.ndim == 1 or type(self) is not StudentT:
            return one(self)
        m, K = math.prod(self.loc.shape[:-1]), self.K
        if 0 < m < FEW_ROWS or K >= MANY_ARMS:
            return one(self)
        loc, scale, df = (x.reshape(m, K) for x in self._arrays())
        found, done = np.empty((m, K)), np.zeros(m, dtype=np.bool_)
        plain = np.flatnonzero((scale.min(axis=1) > 0) & (scale.max(axis=1) < np.inf))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            for at in range(0, len(plain), ROWS_AT_ONCE):
                some = plain[at : at + ROWS_AT_ONCE]
                found[some], done[some] = many(loc[some], scale[some], df[some])
        rest = ~done
        if rest.any():
            found[rest] = one(StudentT._trusted(loc[rest], scale[rest], df[rest]))
        return found.reshape(self.loc.shape)

    def _p_best(self) -> Floats:
        if self.scale.max() == np.inf:
            known, unknown = self._apart()
            p = unknown._beside_points(min(known.K, 1))._p_best()
            return self._together(p[-1] * known._p_best() if known.K else p[:0], p[: unknown.K])
        loc, scale, unit = self._in_reach()
        if scale.all():
            return best_arm.p_best(self._students(loc, scale, unit))[0]
        free, point = scale > 0, scale == 0
        p, highest, atom = np.zeros(self.K), loc[point].max(), 1.0
        if free.any():
            arms = self._students(loc, scale, unit).take(free)
            p[free], atom = best_arm.p_best(arms, highest)
        tied = point & (loc == highest)
        p[tied] = atom / tied.sum()
        return p

    def _expected_loss(self) -> Floats:
        """Of a difference that is never negative: it exists, though it may be infinite."""
        if self.K == 1:
            return np.zeros(1)
        free = self.scale > 0
        if (self.df[free] <= 1).any() or self.scale.max() == np.inf:
            return np.full(self.K, np.inf)
        loc, scale, unit = self._in_reach()
        floor = None if free.all() else loc[~free].max()
        loss: Floats = self.mean.max() - self.mean
        if free.any():
            arms = self._students(loc, scale, unit).take(free)
            loss += unit * best_arm.gap_to_best(arms, floor)
        return loss

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean, where there is one."""
        return self.loc

    def _students(self, loc: Floats, scale: Floats, unit: float) -> Students:
        """The distributions to integrate, in this unit; points are very narrow ones."""
        if scale.all():
            return Students(loc, scale, self.df)
        point = scale == 0
        df = np.where(point, np.inf, self.df)
        return Students(loc, np.where(point, POINT_SCALE, scale), df)

    def _top(self, m: int) -> Floats:
        if self.scale.max() == np.inf:
            known, unknown = self._apart()
            p, n = np.zeros(known.K), unknown.K
            for above in range(
                min(m, n + 1) if known.K else 0
            ):  # unknown arms above all known ones
                places = min(m - above, known.K)
                p += special.binom(n, above) * 0.5**n * known._top(places)
            return self._together(p, unknown._beside_points(known.K)._top(m)[:n])
        loc, scale, unit = self._in_reach()
        return best_arm.p_top(self._students(loc, scale, unit), m)

    def _p_better(self) -> Floats:
        if self.scale.max() == np.inf:
            p, wide = np.full((self.K, self.K), 0.5), np.isinf(self.scale)
            for belief, which in zip(self._apart(), (~wide, wide), strict=True):
                p[np.ix_(which, which)] = belief._p_better() if belief.K else 0.5
            return p
        loc, scale, unit = self._in_reach()
        free, point = np.flatnonzero(scale), scale == 0
        p = 0.5 * (np.sign(loc[:, None] - loc) + 1)
        if free.size:
            arms = self._students(loc, scale, unit).take(free)
            p[np.ix_(free, free)] = best_arm.p_better(arms)
            below, above = arms.ends(loc[point] - arms.loc[:, None])
            p[np.ix_(free, point)], p[np.ix_(point, free)] = above, below.T
        return p

    def _in_reach(self) -> tuple[Floats, Floats, float]:
        """Locations and scales in a unit of the order of their spread, scales within reason of it.

        Nothing is rounded that matters: the unit is a power of 2, and locations are shifted only
        if they are so close together that differences of doubles are exact.
        """
        loc, scale = self.loc, self.scale
        places, widths = loc.tolist(), scale.tolist()  # of few arms, quicker to look through
        low, high = min(places), max(places)
        if 0 < high <= 2 * low or 2 * high <= low < 0:
            loc = loc - high
        half = max(0.5 * high - 0.5 * low, 0.5 * max(widths))  # of the spread: cannot overflow
        unit = math.ldexp(1.0, min(math.frexp(half)[1], 1023)) if half > 0 else 1.0
        bounded = np.maximum(scale / unit, NARROWEST_SCALE)
        return loc / unit, bounded if all(widths) else np.where(scale > 0, bounded, 0.0), unit

    # An arm of infinite scale, of which nothing is known, is the limit of ever larger scales,
    # equal ones if there are several: such arms lie far above or far below all others, which to
    # them are a single point.

    def _apart(self) -> tuple[StudentT, StudentT]:
        """The arms of finite scale; those of infinite scale, measured in that scale."""
        wide = np.isinf(self.scale)
        known = (x[~wide] for x in (self.loc, self.scale, self.df))
        n = int(wide.sum())
        return StudentT._trusted(*known), StudentT._trusted(np.zeros(n), np.ones(n), self.df[wide])

    def _beside_points(self, n: int) -> StudentT:
        points = np.zeros(n)
        ends = (np.append(self.loc, points), np.append(self.scale, points))
        return StudentT._trusted(*ends, np.append(self.df, points + 1))

    def _together(self, known: Floats, unknown: Floats) -> Floats:
        """What was found for the two kinds of arms, in the order of the arms."""
        wide = np.isinf(self.scale)
        result = np.empty(self.K)
        result[~wide], result[wide] = known, unknown
        return result
