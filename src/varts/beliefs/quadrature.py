"""Quadrature in one dimension for the questions of `questions.py`.

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

from varts._validation import Floats

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


def sums(values: Floats) -> tuple[Floats, Floats]:
    """Integrals over panels, and the largest of their errors."""
    got = values @ WHOLE
    return got[..., 0], roughness(got[..., 1:], got[..., 0]).max(axis=0)
