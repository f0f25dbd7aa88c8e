"""Which of several independent uncertain numbers is the largest: quadrature in one dimension.

With F_i the distribution function and f_i the density of arm i, and G = F_1 ... F_K that of the
largest,

    P(i is best)     = integral of f_i G / F_i
    P(i in top m)    = integral of f_i P(fewer than m of the others lie above)
    P(i > j)         = integral of f_i F_j
    E[max] - E[mu_b] = integral of F_b (1 - product of the other F_j)

The line is cut into panels with Gauss-Legendre nodes. Only densities are evaluated at the nodes;
a distribution function is known at the ends of a panel, and in between it is the running integral
of the density's interpolant, which is ten times cheaper. A panel is split until two estimates
of its error are small:

- truth: the density of every arm must integrate to the known difference of its F, so that no
  narrow arm hides between nodes (and for `p_best` the sum over arms to that of G);
- resolution: the last Legendre coefficients of every density and integrand must be small, as they
  fall geometrically and the rule is exact to twice their degree (`roughness`).

Every panel has a chart, y = origin + unit sinh(v), where origin and unit are some arm's location
and scale: differences to that arm are exact however small, and the line is covered in logarithmic
steps however long. What lies beyond the panels is added to first order, and they reach so far
that the second order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from varts.checks import Floats

NODES = 24  # of a panel
STEP = 1.6  # the first width of a panel, in v
ERROR = 1e-11  # bound of the estimated error of a panel
NOTHING = 1e-14  # a probability that may be left out for every arm
SECOND = 1e-6  # a probability whose square may be left out
FAR = 1e20  # at so many spreads from everything only power laws are left
NARROW, POINT = 1e-100, 1e-120  # scales, against the spread, that do for smaller ones and for 0
GAUSSIAN = 1e15  # degrees of freedom that make a Gaussian to the last bit
SQRT_2PI = np.sqrt(2 * np.pi)
EPS = 2.0**-52
TINY = 1e-300  # added to what may be 0 before a division
ENTRIES = 2_000_000  # of the largest array
PANELS = 200  # an arm, and for 50 more: no question needs so many


def _rule() -> tuple[Floats, Floats, Floats]:
    """Nodes; the matrix from values to integral and last coefficients; the same preceded by the
    running integral at every node."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    P = np.polynomial.legendre.legvander(x, NODES)
    k = np.arange(NODES)
    coefficients = P[:, :-1] * w[:, None] * (k + 0.5)
    running = np.vstack([x + 1, (P[:, 2:] - P[:, :-2]).T / (2 * k[1:, None] + 1)])
    whole = np.column_stack([w, coefficients[:, -3:]])
    return x, whole, np.column_stack([coefficients @ running, whole])


X, WHOLE, RULE = _rule()


# ------------------------------------------------------------------------------------- panels


@dataclass
class Panels:
    """Intervals of charts. Every array has the panels last.

    An end is a base, which is the location of some arm, and an offset from it. Neighbours share
    their ends to the last bit, whatever their charts, so that nothing is lost in between.
    """

    chart: Floats  # origin and unit
    v: Floats  # both ends in the chart, rounded
    left: Floats  # base and offset
    right: Floats
    F0: Floats  # of every arm at the left end; S = 1 - F
    S0: Floats
    F1: Floats  # at the right end
    S1: Floats

    def __len__(self) -> int:
        return int(self.v.shape[1])

    def __getitem__(self, which: Any) -> Panels:
        return Panels(*(getattr(self, name)[..., which] for name in _FIELDS))

    def of_arms(self, keep: Any) -> Panels:
        ends = (end[keep] for end in (self.F0, self.S0, self.F1, self.S1))
        return Panels(self.chart, self.v, self.left, self.right, *ends)

    def mass(self) -> Floats:
        """What each arm has on each panel, by the smaller of its tails."""
        return np.where(self.F1 > 0.5, self.S0 - self.S1, self.F1 - self.F0)

    @staticmethod
    def join(parts: list[Panels]) -> Panels:
        if len(parts) == 1:
            return parts[0]
        return Panels(*(np.concatenate([getattr(p, n) for p in parts], -1) for n in _FIELDS))


_FIELDS = tuple(field.name for field in fields(Panels))


End = Any  # a base and an offset


class Part(NamedTuple):
    """A stretch of the line: the arms as they are there, and panels from left to right."""

    arms: Arms
    panels: Panels


class Arms:
    """K distributions on a line. `loc` and `scale` say where on it each does what it does."""

    loc: Floats
    scale: Floats

    def take(self, keep: Any) -> Arms:
        raise NotImplementedError

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        """F and S at a distance t from loc, both with small relative error where they are small."""
        raise NotImplementedError

    def density(self, t: Floats) -> Floats:
        """At a distance t from loc; may overwrite t."""
        raise NotImplementedError

    def slope(self, y: Floats) -> Any:
        """How fast the arm's mean moves along the line."""
        return 1.0

    def parts(self, low: Any, order: int, high: float, floor: float | None = None) -> list[Part]:
        """The line from where the `order`-th highest arm has probability `low` below, or from
        `floor` if that is higher, to where no arm has more than `high` above."""
        raise NotImplementedError

    def at(self, base: Any, offset: Any) -> Floats:
        """The distance of points from every loc."""
        return np.asarray((base - self.loc[:, None]) + offset)

    def cut(self, origin: float, unit: float, left: End, right: End) -> Panels:
        """Panels of a chart, from one end to another."""
        begin, end = (math.asinh(((base - origin) + off) / unit) for base, off in (left, right))
        n = max(1, math.ceil((end - begin) / STEP))
        v = np.empty((2, n))
        v[0] = begin + np.arange(n) * ((end - begin) / n)
        v[1, :-1], v[1, -1] = v[0, 1:], end
        chart, places = np.empty((2, n)), np.empty((2, n + 1))
        chart[0], chart[1] = origin, unit
        places[0, 1:-1], places[1, 1:-1] = origin, unit * np.sinh(v[0, 1:])
        places[:, 0], places[:, -1] = left, right
        F, S = self.ends(self.at(places[0], places[1]))
        ends = F[:, :-1], S[:, :-1], F[:, 1:], S[:, 1:]
        return Panels(chart, v, places[:, :-1], places[:, 1:], *ends)

    def split(self, panels: Panels, unresolved: Any) -> Panels:
        """Halve panels. One that has an unresolved arm in it or next to it, and is much wider than
        that arm or too far from the origin of its chart to be exact, is cut in the arm's chart."""
        origin, unit = panels.chart
        lo, hi = self.at(*panels.left), self.at(*panels.right)
        loc, scale, width = self.loc[:, None], self.scale[:, None], hi - lo
        near = np.maximum(lo, -hi)
        close = (near < 0.05 * width) & (20 * scale < width)
        close |= (near < 20 * scale) & (np.abs(origin - loc) > 1e5 * scale)
        close &= unresolved & ((origin != loc) | (unit > scale))
        recharted = close.any(axis=0)
        parts = []
        for p in np.flatnonzero(recharted):
            j = np.argmin(np.where(close[:, p], self.scale, np.inf))
            ends: list[End] = [panels.left[:, p], panels.right[:, p]]
            if lo[j, p] < 0 < hi[j, p]:
                ends.insert(1, (self.loc[j], 0.0))
            parts += [self.cut(self.loc[j], self.scale[j], *pair) for pair in pairwise(ends)]
        rest = panels[~recharted] if parts else panels
        if len(rest):
            (origin, unit), (v0, v1) = rest.chart, rest.v
            middle = 0.5 * (v0 + v1)
            place = np.array([origin, unit * np.sinh(middle)])
            F, S = self.ends(self.at(*place))
            v = np.array([v0, middle])
            parts.append(Panels(rest.chart, v, rest.left, place, rest.F0, rest.S0, F, S))
            v = np.array([middle, v1])
            parts.append(Panels(rest.chart, v, place, rest.right, F, S, rest.F1, rest.S1))
        return Panels.join(parts)


# ------------------------------------------------------------------------------------- families


class Students(Arms):
    """Location-scale Student t, every scale positive and finite."""

    def __init__(self, loc: Floats, scale: Floats, df: Floats) -> None:
        self.loc, self.scale = loc, scale
        self.df = np.maximum(np.minimum(df, GAUSSIAN), 1e-100)
        self.df[self.df == 1] += EPS  # at 1 itself SciPy's F has errors of 1e-9
        self.height = t_height(self.df) / scale
        self.inverse = 1 / (scale * np.sqrt(self.df))
        self.exponent = -0.5 * (self.df + 1)

    @property
    def mean(self) -> Floats:
        return self.loc

    def take(self, keep: Any) -> Students:
        some = object.__new__(Students)
        some.__dict__.update((name, values[keep]) for name, values in self.__dict__.items())
        return some

    def mirrored(self) -> Students:
        return Students(-self.loc, self.scale, self.df)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        tail = special.stdtr(self.df[:, None], -np.abs(t) / self.scale[:, None])
        right = t > 0
        return np.where(right, 1 - tail, tail), np.where(right, tail, 1 - tail)

    def density(self, t: Floats) -> Floats:
        t *= self.inverse[:, None, None]
        t *= t
        np.log1p(t, out=t)
        t *= self.exponent[:, None, None]
        np.exp(t, out=t)
        t *= self.height[:, None, None]
        return t

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at x = loc + t, for df > 1."""
        df, scale = self.df[:, None], self.scale[:, None]
        weight = (df * scale * scale + t * t) / (df - 1)
        return np.asarray(weight * self.density(t[..., None].copy())[..., 0] - t * S)

    def negligible(self, j: int) -> float:
        """A probability such that F has next to no integral below its quantile."""
        df = float(self.df[j])
        return float(10.0 ** max(-12 * df / (df - 1), -100.0))

    def parts(self, low: Any, order: int, high: float, floor: float | None = None) -> list[Part]:
        levels = np.empty((3, self.loc.size))
        levels[0], levels[1], levels[2] = low, 1e-3, high
        q = self.scale * special.stdtrit(self.df, levels)
        a = _largest(self.loc + q[1], order)
        origin, unit = self.loc[a], self.scale[a]
        away = self.loc - origin
        lo, hi = away + q[0], away - q[2]
        first, last = _largest(lo, order), _largest(hi, 1)
        begin, end = lo[first], hi[last]
        left, right = (self.loc[first], q[0, first]), (self.loc[last], -q[2, last])
        if floor is not None and floor - origin >= begin:
            left, begin, end, origin = (floor, 0.0), 0.0, end + (origin - floor), floor
            away = self.loc - floor
        far = FAR * max(np.abs(away).max(), self.scale.max())
        if end < begin + unit:
            end, right = begin + unit, (origin, begin + unit)
        near = self.cut(
            origin,
            unit,
            left if begin > -far else (origin, -far),
            right if end < far else (origin, far),
        )
        parts = [Part(self, near)]
        if begin < -far:
            parts.insert(0, Powers(self.df, near.F0[:, 0], left=True).stretch(low, order))
        if end > far:
            parts.append(Powers(self.df, near.S1[:, -1], left=False).stretch(high, 1))
        return parts


class Powers(Arms):
    """The far tails of Student t, `tail` exp(-df |y|), with y the logarithm of the distance."""

    def __init__(self, df: Floats, tail: Floats, left: bool) -> None:
        self.df, self.tail, self.left = df, tail, left
        self.loc, self.scale = np.zeros(df.size), 1 / df

    def take(self, keep: Any) -> Powers:
        return Powers(self.df[keep], self.tail[keep], self.left)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        tail = self.tail[:, None] * np.exp(-self.df[:, None] * np.abs(t))
        return (tail, 1 - tail) if self.left else (1 - tail, tail)

    def density(self, t: Floats) -> Floats:
        df = self.df[:, None, None]
        return np.asarray(self.tail[:, None, None] * df * np.exp(-df * np.abs(t)))

    def stretch(self, level: float, order: int) -> Part:
        """To where the `order`-th nearest (left) or the last (right) tail falls to `level`."""
        length = np.log(np.maximum(self.tail / level, 1)) / self.df
        unit = self.scale[length > 0].min(initial=1e300)
        if self.left:
            return Part(self, self.cut(0.0, unit, (0.0, -np.sort(length)[order - 1]), (0.0, 0.0)))
        return Part(self, self.cut(0.0, unit, (0.0, 0.0), (0.0, length.max())))


class Betas(Arms):
    """Beta distributions, on the line y = log(x / (1 - x))."""

    def __init__(self, a: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        self.loc, self.scale = np.log(a / b), np.sqrt(1 / a + 1 / b)
        self.mean = a / (a + b)
        excess = stirling_excess(a + b) - stirling_excess(a) - stirling_excess(b)
        self.height = np.exp(excess) / (self.scale * SQRT_2PI)

    def take(self, keep: Any) -> Betas:
        return Betas(self.a[keep], self.b[keep])

    def mirrored(self) -> Betas:
        return Betas(self.b, self.a)

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        return _beta_ends(self.a[:, None], self.b[:, None], t + self.loc[:, None])

    def density(self, t: Floats) -> Floats:
        """x^a (1-x)^b / B(a, b), as its quotient with the value at the mean."""
        a, b, mean = (x[:, None, None] for x in (self.a, self.b, self.mean))
        t, beyond = np.clip(t, -500, 500), t
        fall = a * np.log1p((1 - mean) * np.expm1(-t)) + b * np.log1p(mean * np.expm1(t))
        fall += a * np.maximum(t - beyond, 0) + b * np.maximum(beyond - t, 0)
        return np.asarray(self.height[:, None, None] * np.exp(-fall))

    def slope(self, y: Floats) -> Floats:
        return np.asarray(special.expit(y) * special.expit(-y))

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at the x of y = loc + t."""
        a, b, y = self.a[:, None], self.b[:, None], t + self.loc[:, None]
        return np.asarray(self.mean[:, None] * _beta_ends(a + 1, b, y)[1] - special.expit(y) * S)

    def negligible(self, j: int) -> float:
        return 1e-24

    def parts(self, low: Any, order: int, high: float, floor: float | None = None) -> list[Part]:
        lo = _beta_reach(self.a, self.b, low)
        a = _largest(_beta_reach(self.a, self.b, 1e-3), order)
        ends = lo[_largest(lo, order)], -_beta_reach(self.b, self.a, high).min()
        return [Part(self, self.cut(self.loc[a], self.scale[a], (0.0, ends[0]), (0.0, ends[1])))]


def t_height(df: Floats) -> Floats:
    """The density of a standard t at 0, to 1e-14 relative (gamma functions lose digits at 1e4).

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


def stirling_excess(x: Floats) -> Floats:
    """log gamma(x) beyond Stirling's (x - 1/2) log x - x + log sqrt(2 pi).

    >>> stirling_excess(np.array([1.0, 50.0])).round(6)     # 1 - log sqrt(2 pi); nearly 1/600
    array([0.081061, 0.001667])
    """
    small = np.minimum(x, 20)
    exact = special.gammaln(small) - (small - 0.5) * np.log(small) + small - np.log(SQRT_2PI)
    y = 1 / np.maximum(x, 20) ** 2
    return np.where(x > 20, np.polyval([-1 / 1680, 1 / 1260, -1 / 360, 1 / 12], y) / x, exact)


def log_beta(a: Floats, b: Floats) -> Floats:
    """log B(a, b), without the logarithms of large gamma functions whose difference it is.

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


def _largest(x: Floats, order: int) -> int:
    """The index of the `order`-th largest."""
    return int(x.argmax() if order == 1 else np.argsort(x)[-order])


# ---------------------------------------------------------------------------------- integration

# A measure looks at panels, at density * dy/dv and the running integrals there, and at dy/dv. It
# returns the value of every panel (panels last), how much an error in each F matters, and an
# estimate of the error of its own.
Measure = Callable[[Arms, Panels, Floats, Floats, Floats], tuple[Floats, Any, Any]]


def integrate(part: Part, measure: Measure, rows: int) -> Any:
    """The sum of a measure over panels, split as far as it takes; it has `rows` values a node."""
    arms, waiting = part
    bound = ERROR * (1 + 0.01 * arms.loc.size)  # each F is itself known to some 1e-13
    limit = max(1, ENTRIES // (rows * NODES))
    total: Any = 0.0
    seen = 0
    while len(waiting):
        panels = waiting[:limit] if len(waiting) > limit else waiting
        (origin, unit), (v0, v1) = panels.chart[:, :, None], panels.v[:, :, None]
        half = 0.5 * (v1 - v0)
        v = 0.5 * (v0 + v1) + half * X
        y, dy = unit * np.sinh(v), unit * half * np.cosh(v)
        f = arms.density((origin - arms.loc[:, None, None]) + y)
        f *= dy
        running = f @ RULE
        if type(arms).slope is not Arms.slope:
            dy = dy * arms.slope(origin + y)
        value, weight, error = measure(arms, panels, f, running, dy)
        mass = panels.mass()
        errors = np.abs(running[:, :, NODES] - mass) + roughness(running[:, :, NODES + 1 :], mass)
        errors *= weight
        good = errors.sum(axis=0) + error <= bound
        if good.all():
            total = total + value.sum(axis=-1)
            waiting = waiting[limit:]
            continue
        seen += len(panels)
        if seen > PANELS * (arms.loc.size + 50):
            raise ArithmeticError(f"quadrature must settle, got no further after {seen} panels")
        bad = ~good
        total = total + value[..., good].sum(axis=-1)
        halves = arms.split(panels[bad], errors[:, bad] > 0.01 * bound)
        waiting = Panels.join([halves, waiting[limit:]])
    return total


def roughness(last: Floats, value: Any) -> Floats:
    """The error of an integral, from the last coefficients and the value.

    Coefficients fall geometrically, by this quotient over the known ones, so by it again until the
    degree where the rule's error begins.
    """
    last = np.abs(last).max(axis=-1)
    return np.asarray(last * last / (np.abs(value) + last + TINY))


def _agree(found: Any, known: float) -> None:
    """A last look at what must add up, before it is used to even out the rounding."""
    error = np.abs(found - known).max()
    if not error < 1e-8:
        raise ArithmeticError(f"quadrature must be right to 1e-8, got an error of {error:.1e}")


def _sums(values: Floats) -> tuple[Floats, Floats]:
    """Integrals over panels, and the largest of their errors."""
    got = values @ WHOLE
    return got[..., 0], roughness(got[..., 1:], got[..., 0]).max(axis=0)


def _win(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
    F = running[:, :, :NODES] + (panels.F0[:, :, None] + TINY)
    f = f / F
    f *= F.prod(axis=0)
    value, error = _sums(f)
    G0, G1 = panels.F0.prod(axis=0), panels.F1.prod(axis=0)
    error += np.abs(value.sum(axis=0) - (G1 - G0))
    return value, G1 / (panels.F1 + TINY), error


def p_best(arms: Arms, floor: float | None = None) -> tuple[Floats, float]:
    """P(best) of every arm, and of a certain value `floor` beside them."""
    K = arms.loc.size
    parts = arms.parts(NOTHING, 1, SECOND / K, floor)
    p = np.zeros(K)
    for part in parts:
        panels = part.panels
        first = int((panels.F1.prod(axis=0) < NOTHING).sum())  # before it nobody wins
        if first == len(panels):
            continue
        panels = panels[first:] if first else panels
        keep = panels.S0[:, 0] > NOTHING  # the others cannot win from here on
        if keep.all():
            p += integrate(Part(part.arms, panels), _win, K)
        elif keep.any():
            p[keep] += integrate(Part(part.arms.take(keep), panels.of_arms(keep)), _win, K)
    atom = 0.0 if floor is None else float(parts[0].panels.F0[:, 0].prod())
    end = parts[-1].panels.S1[:, -1]
    p += end * (1 - 0.5 * (end.sum() - end))
    total = p.sum() + atom
    _agree(total, 1.0)
    return np.maximum(p, 0) / total, float(atom / total)


def _others_above(F: Floats, m: int) -> Floats:
    """P(fewer than m of the other arms lie above), for every arm, at every node (F: arms first).

    Sums of products of probabilities, nothing subtracted: the count of those before an arm,
    and of those after it.
    """
    S = 1 - F
    before = np.empty((len(F), m, *F.shape[1:]))
    count = np.zeros(before.shape[1:])
    count[0] = 1
    for j in range(len(F)):
        before[j] = count
        count[1:] = count[1:] * F[j] + count[:-1] * S[j]
        count[0] *= F[j]
    after = np.ones(before.shape[1:])  # after[c] = P(at most c)
    result = np.empty(F.shape)
    for j in reversed(range(len(F))):
        np.sum(before[j] * after[::-1], axis=0, out=result[j])
        after[1:] = after[1:] * F[j] + after[:-1] * S[j]
        after[0] *= F[j]
    return result


def _fewer_above(F: Floats, m: int) -> Floats:
    """P(fewer than m of all arms lie above), at every point."""
    count = np.ones((m, *F.shape[1:]))
    for row in F:
        count[1:] = count[1:] * row + count[:-1] * (1 - row)
        count[0] *= row
    return np.asarray(count[-1])


def p_top(arms: Any, m: int) -> Floats:
    """P(among the m highest) of every arm."""
    K = arms.loc.size
    if m == K:
        return np.ones(K)
    if 2 * m > K:
        return np.asarray(1 - p_top(arms.mirrored(), K - m))
    if m == 1:
        return p_best(arms)[0]

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
        F = running[:, :, :NODES] + panels.F0[:, :, None]
        value, error = _sums(f * _others_above(F, m))
        return value, _fewer_above(panels.F1, m + 2), error

    parts = arms.parts(NOTHING, m, SECOND / K)
    p = np.zeros(K)
    for part in parts:
        possible = _fewer_above(part.panels.F1, m + 1) > NOTHING
        if possible.any():
            p += integrate(Part(part.arms, part.panels[possible]), measure, K * m)
    p += parts[-1].panels.S1[:, -1]
    _agree(p.sum(), m)
    return np.clip(p, 0, 1)


def p_better(arms: Arms) -> Floats:
    """P(row > column) of every pair."""
    K = arms.loc.size

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
        F = running[:, :, :NODES] + panels.F0[:, :, None]
        value = (f * WHOLE[:, 0]).transpose(1, 0, 2) @ F.transpose(1, 2, 0)
        known = _products(panels.F1) - _products(panels.F0)
        error = np.abs(value + value.transpose(0, 2, 1) - known).max(axis=(1, 2))
        return value.transpose(1, 2, 0), 1.0, error

    parts = arms.parts(SECOND, K, SECOND)
    start, end = parts[0].panels.F0[:, 0], parts[-1].panels.S1[:, -1]
    p = end[:, None] * (1 - 0.5 * end) + 0.5 * start[:, None] * start
    for part in parts:
        p = p + integrate(part, measure, K * max(1, K // NODES))
    np.fill_diagonal(p, 0.5)
    _agree(p + p.T, 1.0)
    return np.clip(0.5 * (p + 1 - p.T), 0, 1)


def _products(F: Floats) -> Floats:
    return np.asarray(F.T[:, :, None] * F.T[:, None, :])


def gap_to_best(arms: Any, floor: float | None = None) -> float:
    """E[max] - (highest mean) of arms whose means exist, beside a certain value `floor`."""
    b = None if floor is not None and floor >= arms.loc.max() else int(arms.mean.argmax())
    K = arms.loc.size
    others = np.arange(K) != b
    top = (floor if b is None else arms.loc[b]) - arms.loc[:, None]
    spread = arms.above(top, arms.ends(top)[1]).max()  # E[max] - top is at least one of these
    if not spread > 0:
        return 0.0

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dx: Floats) -> Any:
        below = 1.0 if b is None else running[b, :, :NODES] + panels.F0[b, :, None]
        S = running[:, :, NODES, None] - running[:, :, :NODES] + panels.S1[:, :, None]
        dx = dx / spread
        value, error = _sums((below * _some(S[others]) * dx)[None])
        width = dx @ WHOLE[:, 0]
        weight = np.empty(panels.F1.shape)
        weight[:] = width if b is None else width * panels.F1[b]
        if b is not None:
            weight[b] = width * _some(panels.S0[others])
        return value[0], weight, error

    low = np.full(K, NOTHING)  # what is neglected has the factors E[(x - mu_b)^+] and other F
    if b is not None:
        low[b] = arms.negligible(b)
    ((_, panels),) = arms.parts(low, 1, max(SECOND**2 / K**2, 1e-18), floor)
    t = arms.at(*np.column_stack([panels.left, panels.right[:, -1]]))
    F = np.column_stack([panels.F0, panels.F1[:, -1]])
    S = np.column_stack([panels.S0, panels.S1[:, -1]])
    # To the left of `start` F_b alone is integrated, to the right of `stop` the sum of all S.
    above = arms.above(t, S)
    if b is None:
        under = t[0] + arms.loc[0] - floor
    else:
        under = arms.take([b]).mirrored().above(-t[[b]], F[[b]])[0]
    small = SECOND**2 * spread
    start = max(int((under * F[others].prod(axis=0) <= small).sum()) - 1, 0)
    stop = max(int((S.sum(axis=0) * above.sum(axis=0) > small).sum()), start)
    stop = min(stop, len(panels))
    inner = integrate(Part(arms, panels[start:stop]), measure, K)
    return float(under[start] + spread * inner + above[others, stop].sum())


def _some(S: Floats) -> Floats:
    """P(at least one lies above)."""
    return np.asarray(-np.expm1(np.log1p(-np.minimum(S, 1 - 1e-16)).sum(axis=0)))
