"""The integrals of `best_arm` for many rows of Student t arms at once: a unit per row.

One row takes a fraction of a millisecond, nearly all of it spent in calling NumPy. Here the panels
of all rows lie beside each other in the same arrays, with the same charts, the same rule and the
same tests of their errors. A row with tails that go on in the logarithm of the distance is left
alone: it is not among those that are `done`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._caching import computed_once
from varts._validation import Floats
from varts.beliefs.best_arm import MOST_ERROR, any_above, measure_wins
from varts.beliefs.distributions import NEAR_ITS_END, Students, negligible_below
from varts.beliefs.quadrature import (
    FIRST_PANEL_WIDTH,
    INTEGRAL,
    NARROWEST_SCALE,
    NEGLIGIBLE,
    NEGLIGIBLE_WHEN_SQUARED,
    NODES_PER_PANEL,
    POWER_LAW_DISTANCE,
    Measure,
    Panels,
    evaluate,
    integrate_panels,
    tolerance,
)

Rows = NDArray[np.intp]  # the row that each panel belongs to
Done = NDArray[np.bool_]
Answer = Callable[[Floats, Floats, Floats], tuple[Floats, Done]]  # to locations, scales and df

ENTRIES_AT_ONCE = 30_000  # of an array of densities: several of them stay in the cache
MOST_ROUNDS = 40  # of splitting; a row that needs more is left alone


class StudentRows(Students):
    """Arms with a column per row."""

    def of_df(self, formula: Callable[[Floats], Floats]) -> Floats:
        return np.asarray(formula(self._distinct[0])[self._distinct[1]])

    @computed_once
    def _distinct(self) -> tuple[Floats, NDArray[np.intp]]:
        """Each df once, and its places: an arm has one df for all units, so there are few."""
        df, place = np.unique(self.df, return_inverse=True)
        return df, place.reshape(self.df.shape)

    def beside(self, row: Rows, arm: Any = slice(None)) -> Students:
        """The arms beside panels of these rows, or one arm beside each."""
        seen = object.__new__(Students)
        for name in ("loc", "scale", "df", "height", "inverse", "exponent"):
            seen.__dict__[name] = np.atleast_2d(self.__dict__[name][arm, row])
        return seen

    def quantiles_at(self, level: float | Callable[[Floats], Floats]) -> Floats:
        """Distances from loc with this probability below; the level may be a formula of df."""

        def quantile(df: Floats) -> Floats:
            return np.asarray(special.stdtrit(df, level(df) if callable(level) else level))

        return np.asarray(self.scale * self.of_df(quantile))


class Cut(NamedTuple):
    """Lines cut into panels, one line after the other, and the ends of all panels."""

    panels: Panels
    line: Rows  # of every panel
    ends: Rows  # the line of every end
    first: Rows  # the place of every line's first end
    t: Floats  # the distance of every end from every loc
    F: Floats
    S: Floats


def cut(arms: StudentRows, row: Rows, chart: Floats, left: Floats, right: Floats) -> Cut:
    """What `Arms.cut` does for one line: panels of charts, from one end to another.

    Args:
        arms: The arms of all rows.
        row: The row of every line.
        chart: Origin and unit of its chart.
        left: Base and offset of its left end.
        right: The same of its right end.
    """
    origin, unit = chart
    v0, v1 = (np.arcsinh(((base - origin) + offset) / unit) for base, offset in (left, right))
    n = np.maximum(np.ceil((v1 - v0) / FIRST_PANEL_WIDTH), 1).astype(np.intp)
    ends = np.repeat(np.arange(len(row)), n + 1)
    first = np.cumsum(n + 1) - (n + 1)
    number = np.arange(len(ends)) - first[ends]
    begins, stops = number < n[ends], number > 0  # a panel begins here, or one stops
    v = np.where(begins, v0[ends] + number * ((v1 - v0) / n)[ends], v1[ends])
    place = np.array([origin[ends], unit[ends] * np.sinh(v)])
    place[:, ~stops], place[:, ~begins] = left, right
    beside = arms.beside(row[ends])
    t = beside.at(*place)
    F, S = beside.ends(t)
    line = ends[begins]
    panels = Panels(
        *(chart[:, line], np.array([v[begins], v[stops]]), place[:, begins], place[:, stops]),
        *(F[:, begins], S[:, begins], F[:, stops], S[:, stops]),
    )
    return Cut(panels, line, ends, first, t, F, S)


def cut_rows(arms: StudentRows, below: Floats, above: Floats) -> tuple[Cut, Done]:
    """What `Students.segments` does for one row: from the highest `below` to the highest `above`.

    Args:
        arms: The arms of all rows.
        below: Distances from loc where panels may begin.
        above: Distances from loc where they may end.

    Returns:
        The panels, and the rows that do not reach where all tails are power laws.
    """
    row = np.arange(arms.loc.shape[1])
    a = (arms.loc + arms.quantiles_at(NEAR_ITS_END)).argmax(axis=0)
    origin, unit = arms.loc[a, row], arms.scale[a, row]
    away = arms.loc - origin
    lo, hi = away + below, away + above
    first, last = (lo.argmax(axis=0), row), (hi.argmax(axis=0), row)
    left = np.array([arms.loc[first], below[first]])
    begin, end = lo[first], hi[last]
    short = end < begin + unit
    right = np.where(short, [origin, begin + unit], [arms.loc[last], above[last]])
    far = POWER_LAW_DISTANCE * np.maximum(np.abs(away).max(axis=0), arms.scale.max(axis=0))
    within = (begin > -far) & (np.maximum(end, begin + unit) < far)
    nowhere = np.array([origin, np.zeros(len(row))])
    left, right = np.where(within, left, nowhere), np.where(within, right, nowhere)
    return cut(arms, row, np.array([origin, unit]), left, right), within


def split(arms: StudentRows, panels: Panels, row: Rows, unresolved: Any) -> tuple[Panels, Rows]:
    """What `Arms.split` does for one row: smaller panels, and the rows that they belong to.

    Args:
        arms: The arms of all rows.
        panels: The panels to split.
        row: The row of each.
        unresolved: Which arms each of them does not resolve.
    """
    beside = arms.beside(row)
    hidden = beside.hides(panels, unresolved)
    wide = hidden.any(axis=0)
    parts, rows = [], []
    if wide.any():
        p = np.flatnonzero(wide)
        j = np.where(hidden[:, p], beside.scale[:, p], np.inf).argmin(axis=0)
        chart = np.array([beside.loc[j, p], beside.scale[j, p]])
        left, right = panels.left[:, p], panels.right[:, p]
        inside = (beside.at(*panels.left)[j, p] < 0) & (beside.at(*panels.right)[j, p] > 0)
        middle = np.array([chart[0], np.zeros(len(p))])
        both = np.concatenate([np.arange(len(p)), np.flatnonzero(inside)])
        lefts = np.concatenate([left, middle[:, inside]], axis=1)
        rights = np.concatenate([np.where(inside, middle, right), right[:, inside]], axis=1)
        found = cut(arms, row[p][both], chart[:, both], lefts, rights)
        parts, rows = [found.panels], [row[p][both][found.line]]
    if not wide.all():
        rest = row[~wide]
        parts += arms.beside(rest).halve(panels[~wide])
        rows += [rest, rest]
    return Panels.join(parts), np.concatenate(rows)


def integrate(
    arms: StudentRows, panels: Panels, row: Rows, measure: Callable[[Rows], Measure]
) -> tuple[Floats, Done]:
    """The sum of a measure over the panels of every row, and the rows where that came out.

    Args:
        arms: The arms of all rows.
        panels: Their panels.
        row: The row of each panel.
        measure: The measure of panels of these rows.
    """
    K, m = arms.loc.shape
    bound, limit = tolerance(K), max(1, ENTRIES_AT_ONCE // (K * NODES_PER_PANEL))
    total = np.zeros((m, K))
    if not len(panels):
        return total, np.ones(m, dtype=np.bool_)
    for _ in range(MOST_ROUNDS):
        rough, unresolved = [], []
        for start in range(0, len(panels), limit):
            some, at = panels[start : start + limit], row[start : start + limit]
            value, errors, error = evaluate(arms.beside(at), some, measure(at))
            good = error <= bound
            np.add.at(total, at, np.atleast_2d(np.where(good, value, 0.0)).T)
            bad = np.flatnonzero(~good)
            rough.append(start + bad)
            unresolved.append(errors[:, bad] > 0.01 * bound)
        which = np.concatenate(rough)
        if not which.size:
            return total, np.ones(m, dtype=np.bool_)
        panels, row = split(arms, panels[which], row[which], np.concatenate(unresolved, axis=1))
    return total, ~np.isin(np.arange(m), row)


def in_reach(loc: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """What `StudentT` does with one row before it is integrated: a unit for each row.

    Args:
        loc: The locations, arms first.
        scale: The scales, all positive.
    """
    low, high = loc.min(axis=0), loc.max(axis=0)
    together = ((high > 0) & (high <= 2 * low)) | ((low < 0) & (2 * high <= low))
    loc = loc - np.where(together, high, 0.0)
    half = np.maximum(0.5 * high - 0.5 * low, 0.5 * scale.max(axis=0))
    unit = np.ldexp(1.0, np.minimum(np.frexp(half)[1], 1023))
    return loc / unit, np.maximum(scale / unit, NARROWEST_SCALE), unit


def p_best(loc: Floats, scale: Floats, df: Floats) -> tuple[Floats, Done]:
    """P(best) of the arms of every row, and the rows that are done.

    Args:
        loc: The locations, a row of arms per row.
        scale: The scales, positive and finite.
        df: The degrees of freedom.
    """
    arms = StudentRows(*in_reach(loc.T, scale.T)[:2], df.T)
    K, m = arms.loc.shape
    below, above = arms.quantiles_at(NEGLIGIBLE), -arms.quantiles_at(NEGLIGIBLE_WHEN_SQUARED / K)
    found, done = cut_rows(arms, below, above)
    can_win = found.panels.F1.prod(axis=0) >= NEGLIGIBLE
    panels, row = found.panels[can_win], found.line[can_win]
    first = np.searchsorted(row, np.arange(m))
    total, converged = integrate(arms, panels, row, lambda at: measure_wins)
    done &= converged & np.isin(np.arange(m), row)
    p = np.where(panels.S0[:, np.minimum(first, len(row) - 1)] > NEGLIGIBLE, total.T, 0.0)
    end = found.S[:, np.append(found.first[1:], len(found.ends)) - 1]
    p += end * (1 - 0.5 * (end.sum(axis=0) - end))
    whole = p.sum(axis=0)
    done &= np.abs(whole - 1) < MOST_ERROR
    return (np.maximum(p, 0) / np.where(done, whole, 1.0)).T, done


def expected_loss(loc: Floats, scale: Floats, df: Floats) -> tuple[Floats, Done]:
    """E[highest mean - the arm's mean] of every row, and the rows that are done.

    Args:
        loc: The locations, a row of arms per row.
        scale: The scales, positive and finite.
        df: The degrees of freedom.
    """
    loss = loc.max(axis=1, keepdims=True) - loc
    done = (df > 1).all(axis=1) & (loc.shape[1] > 1)  # the others are known without an integral
    if done.any():
        place, scale, unit = in_reach(loc[done].T, scale[done].T)
        gap, found = gap_to_best(StudentRows(place, scale, df[done].T))
        loss[done] += (unit * gap)[:, None]
        done[done] = found
    return loss, done


def gap_to_best(arms: StudentRows) -> tuple[Floats, Done]:
    """E[max] - (highest mean) of every row, and the rows that are done.

    Args:
        arms: The arms of all rows, with positive and finite scales and df above 1.
    """
    K, m = arms.loc.shape
    each = np.arange(m)
    best = arms.loc.argmax(axis=0)
    is_best = np.arange(K)[:, None] == best
    top = arms.loc[best, each] - arms.loc
    spread = arms.above(top, arms.ends(top)[1]).max(axis=0)
    some = spread > 0
    spread = np.where(some, spread, 1.0)
    below = np.where(is_best, arms.quantiles_at(negligible_below), arms.quantiles_at(NEGLIGIBLE))
    high = max(NEGLIGIBLE_WHEN_SQUARED**2 / K**2, 1e-18)
    found, done = cut_rows(arms, below, -arms.quantiles_at(high))

    # To the left of `start` F of the best alone is integrated, to the right of `stop` all S.
    at, ends = found.ends, np.arange(len(found.ends))
    b, others = best[at], ~is_best[:, at]
    above = arms.beside(at).above(found.t, found.S)
    under = arms.beside(at, b).above(-found.t[b, ends][None], found.F[b, ends][None])[0]
    small = NEGLIGIBLE_WHEN_SQUARED**2 * spread[at]
    before = under * found.F.prod(axis=0, where=others) <= small
    after = found.S.sum(axis=0) * above.sum(axis=0) > small
    start = np.maximum(np.add.reduceat(before, found.first, dtype=np.intp) - 1, 0)
    stop = np.maximum(np.add.reduceat(after, found.first, dtype=np.intp), start)
    stop = np.minimum(stop, np.bincount(found.line, minlength=m))

    def measure_gaps(row: Rows) -> Measure:
        b, others, one = best[row], ~is_best[:, row], np.arange(len(row))

        def measure(arms: Any, panels: Panels, f: Floats, running: Floats, dx: Floats) -> Any:
            nodes = running[:, :, :NODES_PER_PANEL]
            F = nodes[b, one] + panels.F0[b, one, None]
            S = (running[:, :, NODES_PER_PANEL, None] - nodes) + panels.S1[:, :, None]
            dx = dx / spread[row, None]
            S *= others[:, :, None]
            value, error = integrate_panels((F * any_above(S) * dx)[None])
            width = dx @ INTEGRAL[:, 0]
            weight = width * panels.F1[b, one]
            own = width * any_above(panels.S0 * others)
            return value[0], np.where(others, weight, own), error

        return measure

    row = found.line
    number = np.arange(len(row)) - (found.first - np.arange(m))[row]
    inside = (number >= start[row]) & (number < stop[row])
    total, converged = integrate(arms, found.panels[inside], row[inside], measure_gaps)
    beyond = found.first + stop
    gap = under[found.first + start] + spread * total[:, 0]
    gap += above[:, beyond].sum(axis=0, where=~is_best)
    return np.where(some, gap, 0.0), (done & converged) | ~some
