"""The distributions that the quadrature integrates: densities, tails and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.beliefs.quadrature import (
    ENTRIES_PER_ARRAY,
    EPSILON,
    GAUSSIAN_DF,
    NEAR_ITS_END,
    SQRT_2PI,
    TINY,
    Arms,
    Rows,
    Segment,
)

MOST_REMEMBERED = 2_000  # results of a formula; then all are forgotten


class Remembered:
    """A formula whose results are remembered for each number.

    A reward changes one arm. The degrees of freedom of the others stay the same, and so do the most
    expensive numbers of a t distribution, its quantiles. A result depends on one number only, so
    the remembered result equals a fresh one to the last bit. Threads may share it.

    Args:
        formula: From an array of numbers to an array of results, a number or a row for each.

    >>> computed = []
    >>> square = Remembered(lambda x: computed.append(x.tolist()) or x * x)
    >>> square(np.array([1.0, 2.0])), square(np.array([3.0, 2.0]))
    (array([1., 4.]), array([9., 4.]))
    >>> computed
    [[1.0, 2.0], [3.0]]
    """

    def __init__(self, formula: Callable[[Floats], Floats]) -> None:
        self.formula = formula
        self._results: dict[float, Any] = {}

    def __call__(self, x: Floats) -> Floats:
        """Return the results for these numbers, in their order.

        Args:
            x: An array with one axis.
        """
        numbers = x.tolist()
        found = list(map(self._results.get, numbers))
        if None in found:
            new = [i for i, result in enumerate(found) if result is None]
            if len(self._results) > MOST_REMEMBERED:
                self._results.clear()
            for i, result in zip(new, self.formula(x[new]).tolist(), strict=True):
                found[i] = self._results[numbers[i]] = result
        return np.array(found)


class Students(Arms):
    """Location-scale Student t, every scale positive and finite."""

    power_laws = True

    def __init__(self, loc: Floats, scale: Floats, df: Floats) -> None:
        self.loc, self.scale = loc, scale
        self.df = np.maximum(np.minimum(df, GAUSSIAN_DF), 1e-100)
        one = self.df == 1
        if np.count_nonzero(one):
            self.df[one] += EPSILON  # at 1 itself SciPy's F has errors of 1e-9
        self.height = self.of_df(t_heights) / scale
        self.inverse = 1 / (scale * np.sqrt(self.df))
        self.exponent = -0.5 * (self.df + 1)

    def of_df(self, formula: Callable[[Floats], Floats]) -> Floats:
        """A formula of the degrees of freedom. If it has several results, they come first.

        The result has one column for all rows if an arm has the same df in all of them.
        """
        if self.m == 1 or (self.df == self.df[:, :1]).all():
            return formula(self.df[:, 0]).T[..., None]
        df, place = np.unique(self.df, return_inverse=True)
        return formula(df).T[..., place.reshape(self.df.shape)]

    @property
    def mean(self) -> Floats:
        return self.loc

    def mirrored(self) -> Students:
        return self.changed(loc=-self.loc)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        tail = special.stdtr(self.df, -np.abs(t) / self.scale)
        right, rest = t > 0, 1 - tail
        return np.where(right, rest, tail), np.where(right, tail, rest)

    def density(self, t: Floats) -> Floats:
        t *= self.inverse[:, :, None]
        t *= t
        np.log1p(t, out=t)
        t *= self.exponent[:, :, None]
        np.exp(t, out=t)
        t *= self.height[:, :, None]
        return t

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at x = loc + t, for df > 1."""
        df, scale = self.df, self.scale
        weight = (df * scale * scale + t * t) / (df - 1)
        return np.asarray(weight * self.density(t[..., None].copy())[..., 0] - t * S)

    def reach(self, low: float, high: float, best: Any = None) -> Floats:
        t = self.of_df(t_reach(low, high))
        if best is not None:
            t = np.array(np.broadcast_to(t, (3, *self.df.shape)))
            t[0, best] = t_negligible(self.df[best])
        return self.scale * t

    def power(self, left: bool) -> Floats:
        """The exponent of each far tail."""
        return self.df

    def far_tails(self, row: Rows, tail: Floats, level: float, order: int, left: bool) -> Segment:
        arms = Powers(self.power(left), tail, left)
        length = np.log(np.maximum(tail / level, 1)) / arms.df
        unit = np.where(length > 0, arms.scale, 1e300).min(axis=0)
        end = -np.sort(length, axis=0)[order - 1] if left else length.max(axis=0)
        ends = np.zeros((2, 2, row.size))
        ends[1, 0 if left else 1] = end[row]
        chart = np.array([np.zeros(row.size), unit[row]])
        return Segment(arms, arms.cut(row, chart, ends))


def negligible_below(power: Any) -> Floats:
    """A probability such that a tail of this power, above 1, has next to no integral beyond it."""
    return np.asarray(10.0 ** np.maximum(-12 * power / (power - 1), -100.0))


class Powers(Arms):
    """The far tails of Student t, `tail` exp(-df |y|), where y is the logarithm of the distance."""

    def __init__(self, df: Floats, tail: Floats, left: bool) -> None:
        self.df, self.tail = df, tail.copy()
        self.loc, self.scale = np.zeros(df.shape), 1 / df
        self.left = np.full(df.shape, left)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        tail = self.tail * np.exp(-self.df * np.abs(t))
        return np.where(self.left, tail, 1 - tail), np.where(self.left, 1 - tail, tail)

    def density(self, t: Floats) -> Floats:
        df = self.df[:, :, None]
        return np.asarray(self.tail[:, :, None] * df * np.exp(-df * np.abs(t)))


class Betas(Arms):
    """Beta distributions, on the line y = log(x / (1 - x))."""

    def __init__(self, a: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        self.loc, self.scale = np.log(a / b), np.sqrt(1 / a + 1 / b)
        self.mean = a / (a + b)
        excess = stirling_excess(a + b) - stirling_excess(a) - stirling_excess(b)
        self.height = np.exp(excess) / (self.scale * SQRT_2PI)

    def mirrored(self) -> Betas:
        return Betas(self.b, self.a)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        return _beta_ends(self.a, self.b, t + self.loc)

    def density(self, t: Floats) -> Floats:
        """x^a (1-x)^b / B(a, b), from its ratio to the value at the mean."""
        a, b, mean = (x[:, :, None] for x in (self.a, self.b, self.mean))
        t, beyond = np.clip(t, -500, 500), t
        fall = a * np.log1p((1 - mean) * np.expm1(-t)) + b * np.log1p(mean * np.expm1(t))
        fall += a * np.maximum(t - beyond, 0) + b * np.maximum(beyond - t, 0)
        return np.asarray(self.height[:, :, None] * np.exp(-fall))

    def slope(self, y: Floats) -> Floats:
        return np.asarray(special.expit(y) * special.expit(-y))

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at the x of y = loc + t."""
        y = t + self.loc
        return np.asarray(self.mean * _beta_ends(self.a + 1, self.b, y)[1] - special.expit(y) * S)

    def reach(self, low: float, high: float, best: Any = None) -> Floats:
        a, b = self.a, self.b
        below = _beta_reach(a, b, low if best is None else np.where(best, 1e-24, low))
        above, near_end = -_beta_reach(b, a, high), _beta_reach(a, b, NEAR_ITS_END)
        return np.array([below, above, near_end]) - self.loc


def t_height(df: Floats) -> Floats:
    """Return the density of a standard t at 0, to 1e-14 (gamma functions lose digits at 1e4).

    >>> t_height(np.array([1.0, 1e15])) * [np.pi, np.sqrt(2 * np.pi)]
    array([1., 1.])
    """
    x = 0.5 * df  # gamma(x + 1/2) / (gamma(x) sqrt(x)), from x = 50 on as a series in y = 1/x
    small = np.minimum(x, 50)
    ratio = special.poch(small, 0.5) / np.sqrt(small)
    if (x > 50).any():
        y = 1 / np.maximum(x, 50)
        terms = 1 / 128 + y * (5 / 1024 + y * (-21 / 32768 - y * 399 / 262144))
        ratio = np.where(x > 50, 1 + y * (-1 / 8 + y * terms), ratio)
    return np.asarray(ratio / SQRT_2PI)


t_heights = Remembered(t_height)


@lru_cache(maxsize=64)  # the levels depend on the number of arms
def t_reach(low: float, high: float) -> Remembered:
    """From degrees of freedom to a row each: where a standard t has the probability `low` below,
    `high` above, and `NEAR_ITS_END` below.

    >>> t_reach(0.5, 0.025)(np.array([4.0, 1e15]))[:, :2].round(4)
    array([[0.    , 2.7764],
           [0.    , 1.96  ]])
    """
    levels, sign = [low, high, NEAR_ITS_END], [1.0, -1.0, 1.0]
    return Remembered(lambda df: np.asarray(sign * special.stdtrit(df[:, None], levels)))


t_negligible = Remembered(lambda df: np.asarray(special.stdtrit(df, negligible_below(df))))
t_negligible_stretched = Remembered(  # for a tail with half the power
    lambda df: np.asarray(special.stdtrit(df, negligible_below(0.5 * df)))
)


def log_beta(a: Floats, b: Floats) -> Floats:
    """Return log B(a, b) without subtracting logarithms of large gamma functions.

    >>> np.exp(-log_beta(np.array([1.0, 2.0]), np.array([1e9, 3.0]))).round(6)
    array([1.0e+09, 1.2e+01])
    """
    excess = stirling_excess(a) + stirling_excess(b) - stirling_excess(a + b)
    powers = -a * np.log1p(b / a) - b * np.log1p(a / b) - 0.5 * np.log(a / (a + b) * b)
    return np.asarray(excess + powers + np.log(SQRT_2PI))


def _beta_ends(a: Any, b: Any, y: Floats) -> tuple[Floats, Floats]:
    """F and S of Beta(a, b) at x = expit(y), from the nearer end of [0, 1].

    Within e^-40 of it the tail is x^a / (a B(a, b)) to the last bit.
    """
    left, y, log_B = y < 0, -np.abs(y), log_beta(a, b)
    a, b = np.where(left, a, b), np.where(left, b, a)
    power = np.exp(a * y - np.log(a) - log_B)
    tail = np.where(y < -40, power, special.betainc(a, b, special.expit(y)))
    return np.where(left, tail, 1 - tail), np.where(left, 1 - tail, tail)


def _beta_reach(a: Floats, b: Floats, p: Any) -> Floats:
    """The y where F of Beta(a, b) is p."""
    x, rest = special.betaincinv(a, b, p), special.betainccinv(b, a, p)
    log_B = log_beta(a, b)
    y: Floats = np.log(np.maximum(x, TINY)) - np.log(np.maximum(rest, TINY))
    y = np.where(x < 1e-290, (np.log(p) + np.log(a) + log_B) / a, y)
    return np.where(rest < 1e-290, -(np.log1p(-p) + np.log(b) + log_B) / b, y)


# --------------------------------------------------------------------------- stretched on one side
# Student t distributions that are stretched on one side; see `SkewedT`.


LAGUERRE_NODES, LAGUERRE_WEIGHTS = np.polynomial.laguerre.laggauss(64)


class SkewedStudents(Students):
    """Student t on a line that is stretched on one side, as in `SkewedT`.

    At a distance x from loc, z = x / sqrt(scale^2 + skew x) is a t. Beyond -scale^2 / skew the
    density is 0. The far tail on the stretched side has half the power, because x grows with z^2.
    """

    def __init__(self, loc: Floats, scale: Floats, df: Floats, skew: Floats) -> None:
        super().__init__(loc, scale, df)
        self.skew = skew
        self.bend = skew / scale

    @property
    def mean(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):  # for arms without skew
            shift = 0.5 * self.skew / (1 - 2 / self.df)
        return self.loc + np.where(self.skew == 0, 0.0, shift)

    def mirrored(self) -> SkewedStudents:
        return self.changed(loc=-self.loc, skew=-self.skew, bend=-self.bend)

    def power(self, left: bool) -> Floats:
        stretched = self.skew < 0 if left else self.skew > 0
        return np.where(stretched, self.df / 2, self.df)

    def reach(self, low: float, high: float, best: Any = None) -> Floats:
        z = self.of_df(t_reach(low, high))
        if best is not None:
            z = np.array(np.broadcast_to(z, (3, *self.df.shape)))
            plain, long = best & (self.skew >= 0), best & (self.skew < 0)
            z[0, plain] = t_negligible(self.df[plain])
            z[0, long] = t_negligible_stretched(self.df[long])
        return stretch(z, self.scale, self.skew)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        z = _standardized(t / self.scale, self.bend)
        tail = special.stdtr(self.df, -np.abs(z))
        right = z > 0
        return np.where(right, 1 - tail, tail), np.where(right, tail, 1 - tail)

    def density(self, t: Floats) -> Floats:
        x = t / self.scale[:, :, None]
        bent = self.bend[:, :, None] * x
        inside = bent > -1
        variance = np.where(inside, 1 + bent, 1.0)
        log = self.exponent[:, :, None] * np.log1p(x * x / (variance * self.df[:, :, None]))
        return np.asarray(
            np.where(inside, (1 + 0.5 * bent) * np.exp(log - 1.5 * np.log(variance)), 0.0)
            * self.height[:, :, None]
        )

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at x = loc + t, for df > 2, or df > 1 where nothing is skewed."""
        skewed = np.broadcast_to(self.skew != 0, t.shape)
        out = np.empty(t.shape) if skewed.all() else super().above(t, S)
        if skewed.any():
            numbers = (self.df, self.scale, self.skew, t, S)
            args = [np.broadcast_to(x, t.shape)[skewed] for x in numbers]
            size = max(1, ENTRIES_PER_ARRAY // LAGUERRE_NODES.size)
            blocks = [slice(start, start + size) for start in range(0, args[0].size, size)]
            out[skewed] = np.concatenate([_skewed_above(*(x[b] for x in args)) for b in blocks])
        return out


def _standardized(x: Floats, bend: Floats) -> Floats:
    variance = 1 + bend * x
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(variance > 0, x / np.sqrt(variance), np.copysign(np.inf, x))


def _skewed_above(df: Floats, scale: Floats, skew: Floats, t: Floats, S: Floats) -> Floats:
    """E[(mu - x)^+] at x = loc + t of skewed arms, one per number, for df > 2.

    It is E[c z^2/2 + z sqrt(s^2 + z^2 c^2/4); z > a] - t S. The first term has a closed form. In
    the second, whose integrand is odd, r = (1 + a^2/df) / (1 + z^2/df) makes an integral over
    (0, 1) of r^(p - 1) sqrt(A r + B) with p = df/2 - 1. We write it in y = -p log r, or in
    y = -(p + 1/2) log r less the part that doesn't decay, and use Gauss-Laguerre nodes. That gives
    some eight digits, and twelve where df is above 4; it is only used for remainders.
    """
    a = _standardized(t / scale, skew / scale)
    inside = np.abs(a) < 1e50  # otherwise next to all of the arm is on one side of x
    a = np.where(inside, a, 0.0)
    f = t_height(df) * np.exp(-0.5 * (df + 1) * np.log1p(a * a / df))
    squares = (a * (df + a * a) * f + df * S) / (df - 2)
    p = 0.5 * df - 1
    start = scale * scale + 0.25 * skew * skew * a * a  # A + B
    B = 0.25 * skew * skew * (df + a * a)
    odd = np.empty(t.shape)
    many = p > 1
    if many.any():
        x = LAGUERRE_NODES / p[many, None]
        inner = np.sqrt(start[many, None] * np.exp(-x) - B[many, None] * np.expm1(-x))
        odd[many] = inner @ LAGUERRE_WEIGHTS / p[many]
    if not many.all():
        few = ~many
        x = LAGUERRE_NODES / (p[few, None] + 0.5)
        inner = np.sqrt(start[few, None] * np.exp(-x) - B[few, None] * np.expm1(-x))
        inner = np.exp(-0.5 * x) * (start - B)[few, None] / (inner + np.sqrt(B[few, None]))
        odd[few] = inner @ LAGUERRE_WEIGHTS / (p[few] + 0.5) + np.sqrt(B[few]) / p[few]
    odd = 0.5 * df * f * (1 + a * a / df) * odd
    within = 0.5 * skew * squares + odd - t * S
    beyond = np.maximum(0.5 * skew / (1 - 2 / df) - t, 0.0)
    return np.where(inside, within, beyond)


def stretch(z: Floats, scale: Floats, skew: Floats) -> Floats:
    """Return the distance from loc where a skewed t has the standardized value z.

    It solves z = x / sqrt(scale^2 + skew x), on the short side in a form without cancellation.

    >>> stretch(np.array([-2.0, 2.0]), np.ones(2), np.array([0.5, 0.5])).round(4)
    array([-1.2361,  3.2361])
    """
    half = 0.5 * skew * z
    root = np.hypot(scale, half)
    with np.errstate(invalid="ignore", divide="ignore"):
        short = z * scale * (scale / (root - half))
    return np.where(half < 0, short, z * (root + half))


# --------------------------------------------------------------------------------------- log Gamma
# log Gamma beyond Stirling's formula (x - 1/2) log x - x + log sqrt(2 pi).
#
# Differences of large log Gammas lose digits. This excess is small, and its differences don't. The
# two parts are plain arithmetic, which the simulation engine also compiles.


LOG_SQRT_2PI = float(np.log(np.sqrt(2 * np.pi)))
SERIES_FROM = 20  # where the series is exact to the last digit


def stirling_excess(x: Floats) -> Floats:
    """Return the excess to 1e-15, for arrays of any x > 0.

    >>> stirling_excess(np.array([1.0, 50.0])).round(6)     # 1 - log sqrt(2 pi); nearly 1/600
    array([0.081061, 0.001667])
    """
    small, large = np.minimum(x, SERIES_FROM), np.maximum(x, SERIES_FROM)
    exact = beyond_stirling(special.gammaln(small), small)
    return np.asarray(np.where(x > SERIES_FROM, stirling_series(large), exact))


def beyond_stirling(log_gamma: Any, x: Any) -> Any:
    """Return the excess of a known log Gamma(x)."""
    return log_gamma - (x - 0.5) * np.log(x) + x - LOG_SQRT_2PI


def stirling_series(x: Any) -> Any:
    """Return the excess of a large x: the next term would be 1 / (1188 x^9)."""
    w = 1 / (x * x)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / x
