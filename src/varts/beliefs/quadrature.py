"""The quadrature in one dimension behind `best_arm`.

The line is cut into panels with Gauss-Legendre nodes. Only densities are evaluated at the nodes;
a distribution function is known at the ends of a panel, and in between it is the running integral
of the density's interpolant, which is ten times cheaper. A panel is split until two estimates
of its error are small:

- truth: the density of every arm must integrate to the known difference of its F, so that no
  narrow arm hides between nodes (and for `p_best` the sum over arms to that of G);
- resolution: the last Legendre coefficients of every density and integrand must be small, as they
  fall geometrically and the rule is exact to twice their degree (`roughness`).

Every panel has a chart, y = origin + unit sinh(v), where origin and unit are the location and scale
of some arm: distances from that arm are exact however small, and the line is covered in logarithmic
steps however long. What lies beyond the panels is added to first order, and they reach so far that
the second order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats

NODES_PER_PANEL = 24
FIRST_PANEL_WIDTH = 1.6  # in v
ERROR_PER_PANEL = 1e-11  # the largest estimated error of a panel that is not split
NEGLIGIBLE = 1e-14  # a probability that may be left out for every arm
NEGLIGIBLE_WHEN_SQUARED = 1e-6  # a probability whose square may be left out
POWER_LAW_DISTANCE = 1e20  # in spreads: so far out, every t is a power law
NARROWEST_SCALE = 1e-100  # in spreads: it replaces smaller scales
POINT_SCALE = 1e-120  # in spreads: it replaces a scale of 0
GAUSSIAN_DF = 1e15  # degrees of freedom that make a Gaussian to the last bit
SQRT_2PI = np.sqrt(2 * np.pi)
EPSILON = 2.0**-52
TINY = 1e-300  # added to a denominator that may be 0
ENTRIES_PER_ARRAY = 100_000  # at most, where one panel has fewer: they stay in the cache
MANY_ARMS = 100  # from here on it is worth leaving out those that do not matter
WORTH_LEAVING_OUT = 0.25  # of the arms, at least
PANELS_PER_ARM, MORE_PANELS = 200, 10_000  # far more than it takes: then something is wrong


def _rule() -> tuple[Floats, Floats, Floats]:
    """The nodes; the matrix from values at the nodes to the integral and the last coefficients; and
    the same matrix preceded by the running integral at every node."""
    x, w = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    P = np.polynomial.legendre.legvander(x, NODES_PER_PANEL)
    k = np.arange(NODES_PER_PANEL)
    coefficients = P[:, :-1] * w[:, None] * (k + 0.5)
    running = np.vstack([x + 1, (P[:, 2:] - P[:, :-2]).T / (2 * k[1:, None] + 1)])
    integral = np.column_stack([w, coefficients[:, -3:]])
    return x, integral, np.column_stack([coefficients @ running, integral])


NODES, INTEGRAL, RUNNING = _rule()


# ------------------------------------------------------------------------------------- panels


@dataclass
class Panels:
    """Intervals of charts. The last axis of every array is that of the panels.

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

    def apart(self, count: int) -> tuple[Panels, Panels]:
        """The first panels, so many of them, and the others."""
        return (self, NO_PANELS) if len(self) <= count else (self[:count], self[count:])

    def mass(self) -> Floats:
        """The probability of each arm on each panel, from the smaller of its tails."""
        return np.where(self.F1 > 0.5, self.S0 - self.S1, self.F1 - self.F0)

    @staticmethod
    def join(parts: list[Panels]) -> Panels:
        if len(parts) == 1:
            return parts[0]
        return Panels(*(np.concatenate([getattr(p, n) for p in parts], -1) for n in _FIELDS))


_FIELDS = tuple(field.name for field in fields(Panels))
NO_PANELS = Panels(*(np.empty((2, 0)) for _ in _FIELDS))


End = Any  # a base and an offset


class Segment(NamedTuple):
    """A stretch of the line: the arms as seen there, and panels from left to right."""

    arms: Arms
    panels: Panels


def column(numbers: Floats) -> Floats:
    """Numbers of arms beside panels: one column for all of them, or one per panel already."""
    return numbers if numbers.ndim == 2 else numbers[:, None]


class Arms:
    """K distributions on a line, each concentrated around `loc` on the scale `scale`.

    Their numbers have an entry per arm; for panels of different lines (`varts.beliefs.rows`) they
    have a column per panel.
    """

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

    def segments(
        self, low: Any, order: int, high: float, floor: float | None = None
    ) -> list[Segment]:
        """The line from where the `order`-th highest arm has probability `low` below, or from
        `floor` if that is higher, to where no arm has more than `high` above."""
        raise NotImplementedError

    def at(self, base: Any, offset: Any) -> Floats:
        """The distance of points from every loc."""
        return np.asarray((base - column(self.loc)) + offset)

    def cut(self, origin: float, unit: float, left: End, right: End) -> Panels:
        """Panels of a chart, from one end to another."""
        begin, end = (math.asinh(((base - origin) + off) / unit) for base, off in (left, right))
        n = max(1, math.ceil((end - begin) / FIRST_PANEL_WIDTH))
        step = (end - begin) / n
        inner = [begin + k * step for k in range(1, n)]
        v = np.array([[begin, *inner], [*inner, end]])
        chart = np.array([[origin] * n, [unit] * n])
        places = np.empty((2, n + 1))
        places[:, 0], places[:, -1] = left, right
        places[0, 1:-1], places[1, 1:-1] = origin, unit * np.sinh(v[0, 1:])
        F, S = self.ends(self.at(places[0], places[1]))
        ends = F[:, :-1], S[:, :-1], F[:, 1:], S[:, 1:]
        return Panels(chart, v, places[:, :-1], places[:, 1:], *ends)

    def split(self, panels: Panels, unresolved: Any) -> Panels:
        """Halve panels, and cut those that `hides` says in the chart of the arm that they hide."""
        close = self.hides(panels, unresolved)
        recharted = close.any(axis=0)
        parts = []
        for p in np.flatnonzero(recharted):
            j = np.argmin(np.where(close[:, p], self.scale, np.inf))
            ends: list[End] = [panels.left[:, p], panels.right[:, p]]
            lo, hi = ((base - self.loc[j]) + offset for base, offset in ends)
            if lo < 0 < hi:
                ends.insert(1, (self.loc[j], 0.0))
            parts += [self.cut(self.loc[j], self.scale[j], *pair) for pair in pairwise(ends)]
        rest = panels[~recharted] if parts else panels
        if len(rest):
            parts += self.halve(rest)
        return Panels.join(parts)

    def hides(self, panels: Panels, unresolved: Any) -> NDArray[np.bool_]:
        """Which unresolved arms are in a panel or next to it that is much wider than they are, or
        too far from the origin of its chart to be exact."""
        origin, unit = panels.chart
        lo, hi = self.at(*panels.left), self.at(*panels.right)
        loc, scale, width = column(self.loc), column(self.scale), hi - lo
        near = np.maximum(lo, -hi)
        close = (near < 0.05 * width) & (20 * scale < width)
        close |= (near < 20 * scale) & (np.abs(origin - loc) > 1e5 * scale)
        close &= unresolved & ((origin != loc) | (unit > scale))
        return np.asarray(close)

    def halve(self, panels: Panels) -> list[Panels]:
        """The left halves of panels, and the right ones."""
        (origin, unit), (v0, v1) = panels.chart, panels.v
        middle = 0.5 * (v0 + v1)
        place = np.array([origin, unit * np.sinh(middle)])
        F, S = self.ends(self.at(*place))
        v = np.array([v0, middle])
        first = Panels(panels.chart, v, panels.left, place, panels.F0, panels.S0, F, S)
        v = np.array([middle, v1])
        return [first, Panels(panels.chart, v, place, panels.right, F, S, panels.F1, panels.S1)]


# ---------------------------------------------------------------------------------- integration

# A measure takes the arms, panels, density * dy/dv at the nodes, its running integrals, and dy/dv.
# It returns the value of every panel (panels last), how much an error in each F matters, and an
# estimate of its own error.
Measure = Callable[[Arms, Panels, Floats, Floats, Floats], tuple[Floats, Any, Any]]
Matters = Callable[[Arms, Panels], NDArray[np.bool_]]


def integrate(segment: Segment, measure: Measure, rows: int, matters: Matters | None = None) -> Any:
    """The sum of a measure over the panels of a segment, split until their errors are small.

    The measure has `rows` values per node. `matters` says which arms make a difference on panels,
    for a measure that has a value per arm, or one in all: of thousands of arms most lie far below
    the best, and every density costs as much as that of the best.
    """
    arms, remaining = segment
    bound = tolerance(arms.loc.size)
    limit = max(1, ENTRIES_PER_ARRAY // (rows * NODES_PER_PANEL))
    most_panels = PANELS_PER_ARM * arms.loc.size + MORE_PANELS
    total: Any = 0.0
    tried = 0
    while len(remaining):
        panels, remaining = remaining.apart(limit)
        if matters is not None and arms.loc.size >= MANY_ARMS:
            keep = matters(arms, panels)
            kept = int(keep.sum())
            if kept <= (1 - WORTH_LEAVING_OUT) * keep.size:
                part = Segment(arms.take(keep), panels.of_arms(keep))
                total = total + _spread(integrate(part, measure, kept, matters), keep)
                continue
        value, errors, error = evaluate(arms, panels, measure)
        if error.max() <= bound:
            total = total + value.sum(axis=-1)
            continue
        good = error <= bound
        tried += len(panels)
        if tried > most_panels:
            raise ArithmeticError(f"quadrature did not converge after {tried} panels")
        bad = ~good
        total = total + value[..., good].sum(axis=-1)
        halves = arms.split(panels[bad], errors[:, bad] > 0.01 * bound)
        remaining = Panels.join([halves, remaining]) if len(remaining) else halves
    return total


def tolerance(K: int) -> float:
    """The largest error of a panel that is not split; each F is itself known to some 1e-13."""
    return ERROR_PER_PANEL * (1 + 0.01 * K)


def evaluate(arms: Arms, panels: Panels, measure: Measure) -> tuple[Floats, Floats, Floats]:
    """The measure of every panel, the error that each arm makes in it, and the whole error."""
    (origin, unit), (v0, v1) = panels.chart[:, :, None], panels.v[:, :, None]
    half = 0.5 * (v1 - v0)
    v = 0.5 * (v0 + v1) + half * NODES
    y, dy = unit * np.sinh(v), unit * half * np.cosh(v)
    f = arms.density((origin - column(arms.loc)[:, :, None]) + y)
    f *= dy
    running = f @ RUNNING
    if type(arms).slope is not Arms.slope:
        dy = dy * arms.slope(origin + y)
    value, weight, error = measure(arms, panels, f, running, dy)
    mass = panels.mass()
    found, last = running[:, :, NODES_PER_PANEL], running[:, :, NODES_PER_PANEL + 1 :]
    errors = np.abs(found - mass) + roughness(last, mass)
    errors *= weight
    return value, errors, errors.sum(axis=0) + error


def _spread(value: Any, keep: NDArray[np.bool_]) -> Any:
    """A value per kept arm as one per arm; one in all as it is."""
    if not np.ndim(value):
        return value
    out = np.zeros(keep.shape)
    out[keep] = value
    return out


def roughness(last: Floats, value: Any) -> Floats:
    """The error of an integral, from its last Legendre coefficients and its value.

    Coefficients fall geometrically: over the known ones by the quotient of the last and the value,
    and by the same quotient again until the degree where the rule's error begins.
    """
    last = np.abs(last)  # whose max(axis=-1) would be slow along so short an axis
    largest = np.maximum(last[..., 0], last[..., 1])
    np.maximum(largest, last[..., 2], out=largest)
    below = np.abs(value)
    below += largest
    below += TINY
    largest *= largest
    largest /= below
    return largest


def integrate_panels(values: Floats) -> tuple[Floats, Floats]:
    """Integrals over panels, and the largest of their errors."""
    got = values @ INTEGRAL
    return got[..., 0], roughness(got[..., 1:], got[..., 0]).max(axis=0)
