"""Numerical integration in one dimension, behind `best_arm`.

We cut the line into panels with Gauss-Legendre nodes. Only densities are evaluated at the nodes.
Distribution functions are known at the ends of a panel; in between, they are the running integral
of the density's interpolant, which is ten times cheaper. A panel is split until two estimates of
its error are small:

- truth: the density of every arm must integrate to the known difference of its F, so that no
  narrow arm hides between nodes. For `p_best`, the sum over arms must also match that of G.
- resolution: the last Legendre coefficients of every density and integrand must be small, because
  they fall geometrically and the rule is exact to twice their degree (`roughness`).

Every panel has a chart, y = origin + unit sinh(v), where origin and unit are the location and scale
of one arm. Distances from that arm are exact however small they are, and logarithmic steps cover
the line however long it is. The parts beyond the panels are added to first order. The panels reach
so far that the second order doesn't matter.

Everything works on a batch: several rows of K arms, each row a problem of its own. Every panel
knows its row, and the panels of all rows share the same arrays, because a single row spends most of
its time calling NumPy. A single set of arms is a batch with one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats

NODES_PER_PANEL = 24
FIRST_PANEL_WIDTH = 1.6  # in v
ERROR_PER_PANEL = 1e-11  # a panel with a larger estimated error is split
NEGLIGIBLE = 1e-14  # a probability that may be left out for every arm
NEGLIGIBLE_WHEN_SQUARED = 1e-6  # a probability whose square may be left out
NEAR_ITS_END = 1e-3  # the arm with the highest quantile at this level provides the chart
POWER_LAW_DISTANCE = 1e20  # in spreads: at this distance, every t is a power law
NARROWEST_SCALE = 1e-100  # in spreads: it replaces smaller scales
POINT_SCALE = 1e-120  # in spreads: it replaces a scale of 0
GAUSSIAN_DF = 1e15  # with these degrees of freedom, a t equals a Gaussian to the last bit
SQRT_2PI = np.sqrt(2 * np.pi)
EPSILON = 2.0**-52
TINY = 1e-300  # added to a denominator that may be 0
ENTRIES_PER_ARRAY = 100_000  # of densities of a single row: they stay in the cache
ENTRIES_PER_BATCH = 30_000  # of densities of several rows, whose parameters need room, too
MANY_ARMS = 100  # from here on it pays to leave out arms that don't matter
WORTH_LEAVING_OUT = 0.25  # leave out at least this share of the arms, or none
PANELS_PER_ARM, MORE_PANELS = 200, 10_000  # per row; needing more means that something is wrong

SIDES = np.array([[0], [1]])  # left and right

Rows = NDArray[np.intp]
AnyArms = TypeVar("AnyArms", bound="Arms")


def _rule() -> tuple[Floats, Floats, Floats]:
    """Return the nodes, the matrix from values at the nodes to the integral and the last
    coefficients, and the same matrix preceded by the running integral at every node."""
    x, w = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    P = np.polynomial.legendre.legvander(x, NODES_PER_PANEL)
    k = np.arange(NODES_PER_PANEL)
    coefficients = P[:, :-1] * w[:, None] * (k + 0.5)
    running = np.vstack([x + 1, (P[:, 2:] - P[:, :-2]).T / (2 * k[1:, None] + 1)])
    integral = np.column_stack([w, coefficients[:, -3:]])
    return x, integral, np.column_stack([coefficients @ running, integral])


NODES, INTEGRAL, RUNNING = _rule()
BETWEEN = np.array([0.5 * (1 - NODES), 0.5 * (1 + NODES)])  # from the ends of a panel to its nodes


# ------------------------------------------------------------------------------------- panels


@dataclass
class Panels:
    """Intervals of charts. The last axis of every array is that of the panels.

    An end is a base, which is the location of some arm, and an offset from it. Neighbors share
    their ends to the last bit, whatever their charts, so that nothing is lost in between.
    """

    row: Rows  # the row of the batch that each panel belongs to
    chart: Floats  # origin and unit
    v: Floats  # both ends in the chart, rounded
    left: Floats  # base and offset
    right: Floats
    F0: Floats  # of every arm at the left end; S = 1 - F
    S0: Floats
    F1: Floats  # at the right end
    S1: Floats

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, which: Any) -> Panels:
        return Panels(*(getattr(self, name)[..., which] for name in _FIELDS))

    def of_arms(self, keep: Any) -> Panels:
        ends = (end[keep] for end in (self.F0, self.S0, self.F1, self.S1))
        return Panels(self.row, self.chart, self.v, self.left, self.right, *ends)

    def first_of_rows(self, m: int) -> Any:
        """Where each of m rows has its first panel, if it has any, for panels in order."""
        if m == 1:
            return slice(0, 1)
        return np.minimum(np.searchsorted(self.row, np.arange(m)), len(self) - 1)

    def mass(self) -> Floats:
        """The probability of each arm on each panel, from the smaller of its tails."""
        return np.where(self.F1 > 0.5, self.S0 - self.S1, self.F1 - self.F0)

    @staticmethod
    def join(parts: list[Panels]) -> Panels:
        if len(parts) == 1:
            return parts[0]
        return Panels(*(np.concatenate([getattr(p, n) for p in parts], -1) for n in _FIELDS))


_FIELDS = tuple(field.name for field in fields(Panels))


class Segment(NamedTuple):
    """A stretch of the line in every row: the arms as seen there, and panels from left to right.

    The panels of a row are neighbors in the arrays, and rows are in order. A row may have none.
    """

    arms: Arms
    panels: Panels


class Line(NamedTuple):
    """The segments from left to right, and both tails of every arm in every row beyond them."""

    segments: list[Segment]
    F0: Floats  # below the first panel
    S1: Floats  # above the last panel


class Arms:
    """K distributions in each of m rows, each concentrated around `loc` on the scale `scale`.

    All attributes are arrays of shape (K, m). `beside` replaces the rows by panels, so that the
    arrays have shape (K, panels), or (K, 1) if there is only one row.
    """

    loc: Floats
    scale: Floats
    power_laws = False  # whether tails are power laws far from all arms

    # ------------------------------------------------------------ what a distribution provides

    def mirrored(self: AnyArms) -> AnyArms:
        """The arms on the line with its direction reversed."""
        raise NotImplementedError

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        """F and S at a distance t from loc, both with small relative error where they are small."""
        raise NotImplementedError

    def density(self, t: Floats) -> Floats:
        """The density at a distance t from loc; may overwrite t, whose last axis is for nodes."""
        raise NotImplementedError

    def slope(self, y: Floats) -> Any:
        """How fast the arm's mean moves along the line."""
        return 1.0

    def reach(self, low: float, high: float, best: Any = None) -> Floats:
        """Three distances from loc, on the first axis: with probability `low` below, with
        probability `high` above, and with probability `NEAR_ITS_END` below.

        For the arms marked in `best`, there is next to no integral of F below the first distance.
        """
        raise NotImplementedError

    def far_tails(self, row: Rows, tail: Floats, level: float, order: int, left: bool) -> Segment:
        """Panels in the logarithm of the distance, far from all arms, where tails are power laws.

        Args:
            row: The rows that need them.
            tail: The probability of every arm beyond the other panels, in all rows.
            level: The panels end where the `order`-th highest arm (on the left) or all arms (on the
                right) have this probability beyond.
            order: 1 for the highest arm.
            left: Which side.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------------- rows and panels

    @property
    def m(self) -> int:
        """The number of rows."""
        return int(self.loc.shape[1])

    def changed(self: AnyArms, **arrays: Floats) -> AnyArms:
        """The same arms with some arrays replaced."""
        arms = object.__new__(type(self))
        arms.__dict__.update(self.__dict__, **arrays)
        return arms

    def take(self: AnyArms, keep: Any) -> AnyArms:
        """Some of the arms, in all rows."""
        return self.changed(**{name: array[keep] for name, array in self.__dict__.items()})

    def beside(self: AnyArms, row: Rows, arm: Rows | None = None) -> AnyArms:
        """The arms beside panels or points of these rows, or only one arm beside each."""
        if arm is not None:
            return self.changed(**{k: array[arm, row][None] for k, array in self.__dict__.items()})
        if self.m == 1:
            return self
        return self.changed(**{name: array[:, row] for name, array in self.__dict__.items()})

    def at(self, base: Any, offset: Any) -> Floats:
        """The distance of points from every loc."""
        return np.asarray((base - self.loc) + offset)

    def line(
        self, low: float, order: int, high: float, floor: float | None = None, best: Any = None
    ) -> Line:
        """Cut every row into panels.

        Args:
            low: Panels begin where the `order`-th highest arm has this probability below.
            order: 1 for the highest arm.
            high: Panels end where no arm has more than this probability above.
            floor: Panels begin here if that is higher.
            best: Arms that need panels further down, see `reach`.
        """
        each = np.arange(self.m)
        reach = self.reach(low, high, best)
        chart = _largest(self.loc + reach[2], order), each
        origin, unit = self.loc[chart], self.scale[chart]
        distance = (self.loc - origin) + reach[:2]
        outermost = distance.argmax(axis=1)
        if order > 1:
            outermost[0] = _largest(distance[0], order)
        begin, end = distance[SIDES, outermost, each]
        ends = np.array([self.loc[outermost, each], reach[SIDES, outermost, each]])
        if floor is not None:
            bound = floor - origin >= begin
            ends[:, 0, bound] = [[floor], [0.0]]
            begin, end = np.where(bound, 0.0, begin), np.where(bound, end + (origin - floor), end)
            origin = np.where(bound, floor, origin)
        short = end < begin + unit
        if np.count_nonzero(short):
            end = np.where(short, begin + unit, end)
            ends[:, 1, short] = origin[short], end[short]
        far = POWER_LAW_DISTANCE * unit
        if not self.power_laws or np.count_nonzero(np.maximum(-begin, end) >= far) == 0:
            panels = self.cut(each, np.array([origin, unit]), ends)
            return Line([Segment(self, panels)], *_edges(panels, self.m))
        # Only now do we need to know how far away all tails of a row are power laws.
        away = np.maximum(np.abs(self.loc - origin).max(axis=0), self.scale.max(axis=0))
        far = POWER_LAW_DISTANCE * away
        ends[:, 0] = np.where(begin > -far, ends[:, 0], [origin, -far])
        ends[:, 1] = np.where(end < far, ends[:, 1], [origin, far])
        panels = self.cut(each, np.array([origin, unit]), ends)
        segments = [Segment(self, panels)]
        F0, S1 = (edge.copy() for edge in _edges(panels, self.m))
        row = np.flatnonzero(begin < -far)
        if row.size:
            segments.insert(0, self.far_tails(row, F0, low, order, left=True))
            F0[:, row] = _edges(segments[0].panels, row.size)[0]
        row = np.flatnonzero(end > far)
        if row.size:
            segments.append(self.far_tails(row, S1, high, 1, left=False))
            S1[:, row] = _edges(segments[-1].panels, row.size)[1]
        return Line(segments, F0, S1)

    def cut(self, row: Rows, chart: Floats, ends: Floats) -> Panels:
        """Cut lines into panels, one line after the other.

        Args:
            row: The row of every line.
            chart: Origin and unit of its chart.
            ends: Base and offset (first axis) of its left and right end (second axis).
        """
        v0, v1 = np.arcsinh(((ends[0] - chart[0]) + ends[1]) / chart[1])
        n = np.maximum(np.ceil((v1 - v0) / FIRST_PANEL_WIDTH), 1).astype(np.intp)
        first: Any = slice(0, 1)
        last: Any = slice(-1, None)
        begins: Any = slice(None, -1)
        stops: Any = slice(1, None)
        step = (v1 - v0) / n
        if len(row) == 1:  # slices are faster than masks
            number = np.arange(n[0] + 1)
            row, chart = row.repeat(number.size), chart.repeat(number.size, axis=1)
        else:
            line = np.repeat(np.arange(n.size), n + 1)
            last = np.cumsum(n + 1) - 1
            first = last - n
            number = np.arange(line.size) - first[line]
            begins, stops = number < n[line], number > 0  # a panel begins or stops here
            row, chart, v0, step = row[line], chart[:, line], v0[line], step[line]
        v = v0 + number * step
        v[last] = v1
        place = chart.copy()
        place[1] *= np.sinh(v)
        place[:, first], place[:, last] = ends[:, 0], ends[:, 1]
        F, S = self.beside(row).ends_at(*place)
        return Panels(
            *(row[begins], chart[:, begins], np.array([v[begins], v[stops]])),
            *(place[:, begins], place[:, stops]),
            *(F[:, begins], S[:, begins], F[:, stops], S[:, stops]),
        )

    def ends_at(self, base: Any, offset: Any) -> tuple[Floats, Floats]:
        """F and S of every arm at points."""
        return self.ends(self.at(base, offset))

    def split(self, panels: Panels, unresolved: NDArray[np.bool_]) -> Panels:
        """Halve panels, but cut a panel that hides an arm in that arm's chart."""
        beside = self.beside(panels.row)
        hidden = beside.hides(panels, unresolved)
        wide = hidden.any(axis=0)
        if not wide.any():
            return Panels.join(beside.halve(panels))
        parts = []
        p = np.flatnonzero(wide)
        row = panels.row[p]
        narrowest = np.where(hidden, beside.scale, np.inf)[:, p].argmin(axis=0), row
        chart = np.array([self.loc[narrowest], self.scale[narrowest]])
        left, right = panels.left[:, p], panels.right[:, p]
        lo, hi = ((base - chart[0]) + offset for base, offset in (left, right))
        inside = (lo < 0) & (hi > 0)
        middle = np.array([chart[0], np.zeros(p.size)])
        lines = np.concatenate([np.arange(p.size), np.flatnonzero(inside)])
        lefts = np.concatenate([left, middle[:, inside]], axis=1)
        rights = np.concatenate([np.where(inside, middle, right), right[:, inside]], axis=1)
        ends = np.stack([lefts, rights], axis=1)
        parts = [self.cut(row[lines], chart[:, lines], ends)]
        if not wide.all():
            rest = panels[~wide]
            parts += self.beside(rest.row).halve(rest)
        return Panels.join(parts)

    def hides(self, panels: Panels, unresolved: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which unresolved arms lie in or next to a panel that is much wider than they are, or too
        far from the origin of its chart to be exact."""
        origin, unit = panels.chart
        lo, hi = self.at(*panels.left), self.at(*panels.right)
        width = hi - lo
        near = np.maximum(lo, -hi)
        close = (near < 0.05 * width) & (20 * self.scale < width)
        close |= (near < 20 * self.scale) & (np.abs(origin - self.loc) > 1e5 * self.scale)
        close &= unresolved & ((origin != self.loc) | (unit > self.scale))
        return np.asarray(close)

    def halve(self, panels: Panels) -> list[Panels]:
        """The left halves of panels, and the right ones."""
        row, chart, (v0, v1) = panels.row, panels.chart, panels.v
        middle = 0.5 * (v0 + v1)
        place = np.array([chart[0], chart[1] * np.sinh(middle)])
        F, S = self.ends_at(*place)
        v = np.array([v0, middle])
        first = Panels(row, chart, v, panels.left, place, panels.F0, panels.S0, F, S)
        v = np.array([middle, v1])
        return [first, Panels(row, chart, v, place, panels.right, F, S, panels.F1, panels.S1)]


def _edges(panels: Panels, m: int) -> tuple[Floats, Floats]:
    """F at the left end and S at the right end of every line, where lines are in order."""
    if m == 1:
        return panels.F0[:, :1], panels.S1[:, -1:]
    first = np.flatnonzero(np.diff(panels.row, prepend=-1))
    last = np.append(first[1:], len(panels)) - 1
    return panels.F0[:, first], panels.S1[:, last]


def _largest(x: Floats, order: int) -> Any:
    """The index of the `order`-th largest value in every row."""
    return x.argmax(axis=0) if order == 1 else np.argsort(x, axis=0)[-order]


# ---------------------------------------------------------------------------------- integration

# A measure takes the arms beside panels, the panels, density * dy/dv at the nodes, its running
# integrals, and dy/dv. It returns the value of every panel (panels last), how much an error in each
# F matters, and an estimate of its own error.
Measure = Callable[[Any, Panels, Floats, Floats, Floats], tuple[Floats, Any, Any]]
Matters = Callable[[Any, Panels], NDArray[np.bool_]]


def integrate(
    segment: Segment, measure: Measure, values: int, matters: Matters | None = None
) -> Any:
    """Return the sum of a measure over the panels of every row (rows last).

    Panels are split until their errors are small.

    Args:
        segment: The arms and their panels.
        measure: The integrand.
        values: How many values per node the measure works with.
        matters: Which arms make a difference on panels, for a measure with a value per arm or a
            single one. Of thousands of arms, most lie far below the best, and every density takes
            as long as that of the best.
    """
    arms, panels = segment
    K, m = arms.loc.shape
    bound = ERROR_PER_PANEL * (1 + 0.01 * K)  # each F is itself known to some 1e-13
    entries = ENTRIES_PER_ARRAY if m == 1 else ENTRIES_PER_BATCH
    limit = max(1, entries // (values * NODES_PER_PANEL))
    tried: Any = 0
    total: Any = 0.0
    while len(panels):
        rough, unresolved = [], []
        for start in range(0, len(panels), limit):
            some = panels if len(panels) <= limit else panels[start : start + limit]
            if matters is not None and K >= MANY_ARMS:
                keep = matters(arms, some)
                kept = int(keep.sum())
                if kept <= (1 - WORTH_LEAVING_OUT) * K:
                    part = Segment(arms.take(keep), some.of_arms(keep))
                    total = total + _spread(integrate(part, measure, kept, matters), keep)
                    continue
            value, errors, error = evaluate(arms.beside(some.row), some, measure)
            good = error <= bound
            if np.count_nonzero(good) < len(some):
                bad = np.flatnonzero(~good)
                value = np.where(good, value, 0.0)
                rough.append(start + bad)
                unresolved.append(errors[:, bad] > 0.01 * bound)
            total = _add_rows(total, value, some.row, m)
        if not rough:
            break
        rest = panels[np.concatenate(rough)]
        tried = tried + np.bincount(rest.row, minlength=m)
        if tried.max() > PANELS_PER_ARM * K + MORE_PANELS:
            raise ArithmeticError(f"quadrature did not converge after {tried.max()} panels")
        panels = arms.split(rest, np.concatenate(unresolved, axis=1))
    return total


def _add_rows(total: Any, value: Floats, row: Rows, m: int) -> Floats:
    """Add the values of panels to the totals of their rows."""
    if m == 1:
        return np.asarray(total + value.sum(axis=-1, keepdims=True))
    if np.ndim(total) == 0:
        total = np.moveaxis(np.zeros((m, *value.shape[:-1])), 0, -1)
    np.add.at(np.moveaxis(total, -1, 0), row, np.moveaxis(value, -1, 0))
    return np.asarray(total)


def evaluate(arms: Arms, panels: Panels, measure: Measure) -> tuple[Floats, Floats, Floats]:
    """Return the measure of every panel, the error that each arm causes, and the total error."""
    origin, unit = panels.chart[:, :, None]
    v = panels.v.T @ BETWEEN
    half = 0.5 * (panels.v[1] - panels.v[0])[:, None]
    y, dy = unit * np.sinh(v), unit * half * np.cosh(v)
    f = arms.density((origin - arms.loc[:, :, None]) + y)
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
    """Turn a value per kept arm into one per arm; leave a single value as it is."""
    if np.ndim(value) < 2:
        return value
    out = np.zeros((keep.size, value.shape[1]))
    out[keep] = value
    return out


def roughness(last: Floats, value: Any) -> Floats:
    """Return the error of an integral, from its last Legendre coefficients and its value.

    Coefficients fall geometrically: over the known ones by the quotient of the last and the value,
    and by the same quotient again until the degree where the rule's error begins.
    """
    last = np.abs(last)  # max(axis=-1) would be slow along such a short axis
    largest = np.maximum(last[..., 0], last[..., 1])
    np.maximum(largest, last[..., 2], out=largest)
    below = np.abs(value)
    below += largest
    below += TINY
    largest *= largest
    largest /= below
    return largest


def integrate_panels(values: Floats) -> tuple[Floats, Floats]:
    """Return integrals over panels, and the largest of their errors."""
    got = values @ INTEGRAL
    return got[..., 0], roughness(got[..., 1:], got[..., 0]).max(axis=0)
