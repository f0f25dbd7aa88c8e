"""Which of several independent uncertain numbers is the largest: formulas and integrals.

With F_i the distribution function and f_i the density of arm i, and G = F_1 ... F_K that of the
largest,

    P(i is best)     = integral of f_i G / F_i
    P(i in top m)    = integral of f_i P(fewer than m of the others lie above)
    P(i > j)         = integral of f_i F_j
    E[max] - E[mu_b] = integral of F_b (1 - product of the other F_j)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.beliefs.quadrature import (
    INTEGRAL,
    NEGLIGIBLE,
    NEGLIGIBLE_WHEN_SQUARED,
    NODES_PER_PANEL,
    TINY,
    Arms,
    Panels,
    Segment,
    integrate,
    integrate_panels,
)

MOST_ERROR = 1e-8  # of probabilities that must add up
CERTAINLY_BELOW = 1e-17  # F doesn't see a smaller probability above: it is 1 to the last bit


def _check_sum(error: Floats) -> None:
    """Check what must add up, before the sum is used to correct the rounding."""
    if np.count_nonzero(error < MOST_ERROR) < error.size:  # or not a number
        raise ArithmeticError(f"quadrature is off by {error.max():.1e}, more than 1e-8")


def _measure_wins(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
    """Measure P(the arm is best, and lies in the panel) of every arm."""
    F = running[:, :, :NODES_PER_PANEL] + (panels.F0[:, :, None] + TINY)
    f = f / F
    f *= F.prod(axis=0)
    value, error = integrate_panels(f)
    G0, G1 = panels.F0.prod(axis=0), panels.F1.prod(axis=0)
    error += np.abs(value.sum(axis=0) - (G1 - G0))
    return value, G1 / (panels.F1 + TINY), error


def _may_win(arms: Arms, panels: Panels) -> NDArray[np.bool_]:
    """Which arms don't lie below these panels for certain; F of the others is 1 there."""
    return np.asarray((panels.S0 > CERTAINLY_BELOW).any(axis=1))


def p_best(arms: Arms, floor: float | None = None) -> tuple[Floats, Floats]:
    """Return P(best) of every arm, and of a known value `floor` beside the arms of every row."""
    K, m = arms.loc.shape
    line = arms.line(NEGLIGIBLE, 1, NEGLIGIBLE_WHEN_SQUARED / K, floor)
    p = line.S1 * (1 - 0.5 * (line.S1.sum(axis=0) - line.S1))
    for segment in line.segments:
        panels = segment.panels
        possible = panels.F1.prod(axis=0) >= NEGLIGIBLE  # on the others none can win
        count = np.count_nonzero(possible)
        if count == 0:
            continue
        if count < len(panels):
            panels = panels[-count:] if m == 1 else panels[possible]  # slices are faster
        keep = panels.S0[:, panels.first_of_rows(m)] > NEGLIGIBLE
        some = keep[:, 0] if m == 1 else keep.any(axis=1)  # the others can't win in any row
        kept = int(np.count_nonzero(some))
        if kept == K:
            found = integrate(Segment(segment.arms, panels), _measure_wins, K, _may_win)
            p += found if m == 1 else np.where(keep, found, 0.0)
        elif kept:
            part = Segment(segment.arms.take(some), panels.of_arms(some))
            found = integrate(part, _measure_wins, kept, _may_win)
            p[some] += np.where(keep[some], found, 0.0)
    total, atom = p.sum(axis=0), np.zeros(m)
    if floor is not None:
        atom = line.F0.prod(axis=0)
        total += atom
    _check_sum(np.abs(total - 1))
    return np.maximum(p, 0) / total, atom / total


def _fewer_others_above(F: Floats, m: int) -> Floats:
    """Return P(fewer than m of the other arms lie above), for every arm, at every node.

    It adds products of probabilities and never subtracts: the count of arms before each arm, and of
    those after it. The first axis of F is that of the arms.
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
    """Return P(fewer than m of all arms lie above), at every point."""
    count = np.ones((m, *F.shape[1:]))
    for row in F:
        count[1:] = count[1:] * row + count[:-1] * (1 - row)
        count[0] *= row
    return np.asarray(count[-1])


def p_top(arms: Arms, m: int) -> Floats:
    """Return P(among the m highest) of every arm."""
    K = len(arms.loc)
    if m == K:
        return np.ones(arms.loc.shape)
    if 2 * m > K:
        return np.asarray(1 - p_top(arms.mirrored(), K - m))
    if m == 1:
        return p_best(arms)[0]

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
        F = running[:, :, :NODES_PER_PANEL] + panels.F0[:, :, None]
        value, error = integrate_panels(f * _fewer_others_above(F, m))
        return value, _fewer_above(panels.F1, m + 2), error

    line = arms.line(NEGLIGIBLE, m, NEGLIGIBLE_WHEN_SQUARED / K)
    p = line.S1.copy()
    for segment in line.segments:
        possible = _fewer_above(segment.panels.F1, m + 1) > NEGLIGIBLE
        if possible.any():
            p += integrate(Segment(segment.arms, segment.panels[possible]), measure, K * m)
    _check_sum(np.abs(p.sum(axis=0) - m))
    return np.clip(p, 0, 1)


def p_better(arms: Arms) -> Floats:
    """Return P(first arm > second arm) of every pair: the first axis, the second, and rows."""
    K = len(arms.loc)

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
        F = running[:, :, :NODES_PER_PANEL] + panels.F0[:, :, None]
        value = (f * INTEGRAL[:, 0]).transpose(1, 0, 2) @ F.transpose(1, 2, 0)
        known = _pair_products(panels.F1) - _pair_products(panels.F0)
        error = np.abs(value + value.transpose(0, 2, 1) - known).max(axis=(1, 2))
        return value.transpose(1, 2, 0), 1.0, error

    line = arms.line(NEGLIGIBLE_WHEN_SQUARED, K, NEGLIGIBLE_WHEN_SQUARED)
    p = line.S1[:, None] * (1 - 0.5 * line.S1) + 0.5 * line.F0[:, None] * line.F0
    for segment in line.segments:
        p = p + integrate(segment, measure, K * max(1, K // NODES_PER_PANEL))
    p[np.arange(K), np.arange(K)] = 0.5
    other = p.transpose(1, 0, 2)
    _check_sum(np.abs(p + other - 1))
    return np.clip(0.5 * (p + 1 - other), 0, 1)


def _pair_products(F: Floats) -> Floats:
    """F_i F_j of every pair, panels first."""
    return np.asarray(F.T[:, :, None] * F.T[:, None, :])


def gap_to_best(arms: Any, floor: float | None = None) -> Floats:
    """Return E[max] - (highest mean) of every row, where all means exist.

    Args:
        arms: The arms.
        floor: A known value beside the arms of every row.
    """
    K, m = arms.loc.shape
    each = np.arange(m)
    b = arms.mean.argmax(axis=0)
    is_best = np.arange(K)[:, None] == b
    top = arms.loc[b, each]
    if floor is not None:  # it may be higher than all means: then there is no best arm
        known = floor >= arms.mean[b, each]
        is_best &= ~known
        top = np.where(known, floor, top)
    t = top - arms.loc
    spread = arms.above(t, arms.ends(t)[1]).max(axis=0)  # E[max] - top is at least one of these
    wide = spread > 0
    spread = np.where(wide, spread, 1.0)
    arms = arms.changed(is_best=is_best)

    def matters(arms: Any, panels: Panels) -> NDArray[np.bool_]:
        width = (panels.right[0] - panels.left[0]) + (panels.right[1] - panels.left[1])
        small = CERTAINLY_BELOW / K * spread[panels.row]
        return np.asarray((panels.S0 * width > small).any(axis=1) | arms.is_best.any(axis=1))

    def measure(arms: Any, panels: Panels, f: Floats, running: Floats, dx: Floats) -> Any:
        nodes = running[:, :, :NODES_PER_PANEL]
        best, others, one = arms.is_best.argmax(axis=0), ~arms.is_best, np.arange(len(panels))
        F, F1 = nodes[best, one] + panels.F0[best, one, None], panels.F1[best, one]
        if floor is not None:
            no_best = others.all(axis=0)
            F, F1 = np.where(no_best[:, None], 1.0, F), np.where(no_best, 1.0, F1)
        S = (running[:, :, NODES_PER_PANEL, None] - nodes) + panels.S1[:, :, None]
        S *= others[:, :, None]
        dx = dx / spread[panels.row, None]
        value, error = integrate_panels((F * _any_above(S) * dx)[None])
        width = dx @ INTEGRAL[:, 0]
        weight = np.where(others, width * F1, width * _any_above(panels.S0 * others))
        return value[0], weight, error

    # The remainder is a product of E[(x - mu_b)^+] and the F of the other arms.
    high = max(NEGLIGIBLE_WHEN_SQUARED**2 / K**2, 1e-18)
    ((_, panels),) = arms.line(NEGLIGIBLE, 1, high, floor, is_best).segments
    count = np.bincount(panels.row, minlength=m)
    stops = np.cumsum(count)
    first = stops - count
    # All left ends, followed by the last right end of every row.
    row = np.concatenate([panels.row, each])
    end = np.concatenate([panels.left, panels.right[:, stops - 1]], axis=1)
    F = np.concatenate([panels.F0, panels.F1[:, stops - 1]], axis=1)
    S = np.concatenate([panels.S0, panels.S1[:, stops - 1]], axis=1)
    beside = arms.beside(row)
    t, others = beside.at(*end), ~beside.is_best
    above = beside.above(t, S)
    one = b[row], np.arange(row.size)
    under = arms.beside(row, b[row]).mirrored().above(-t[one][None], F[one][None])[0]
    if floor is not None:
        under = np.where(known[row], (end[0] - floor) + end[1], under)
    # To the left of `start` F_b alone is integrated, to the right of `stop` the sum of all S.
    small = NEGLIGIBLE_WHEN_SQUARED**2 * spread[row]
    before = under * F.prod(axis=0, where=others) <= small
    after = S.sum(axis=0) * above.sum(axis=0) > small
    start = np.maximum(_count(before, first) - 1, 0)
    stop = np.minimum(np.maximum(_count(after, first), start), count)
    start_end, stop_end = (
        np.where(number < count, first + number, len(panels) + each) for number in (start, stop)
    )
    remainder = under[start_end] + above[:, stop_end].sum(axis=0, where=~is_best)
    if m == 1:
        panels = panels[start[0] : stop[0]]
    else:
        at = panels.row
        number = np.arange(len(panels)) - first[at]
        panels = panels[(number >= start[at]) & (number < stop[at])]
    inner = integrate(Segment(arms, panels), measure, K, matters)
    return np.where(wide, remainder + spread * inner, 0.0)


def _count(which: NDArray[np.bool_], first: Any) -> Any:
    """How many of a row's ends are marked: all left ends, then the last right end of every row."""
    lefts, last = which[: -len(first)], which[-len(first) :]
    return np.add.reduceat(lefts, first, dtype=np.intp) + last


def _any_above(S: Floats) -> Floats:
    """Return P(at least one lies above)."""
    return np.asarray(-np.expm1(np.log1p(-np.minimum(S, 1 - 1e-16)).sum(axis=0)))


# --------------------------------------------------------------------------------------- the leader
# When reports call an arm the leader.


REWARDS_PER_ARM = 10  # that active arms need on average before reports name a leader
ODDS_OF_A_LEADER = 3.0  # relative to equal arms: P(best) of 0.75 with two arms, 0.25 with ten


def leads(p_best: Floats) -> Any:
    """Return whether the best arm's odds are at least three times those among equal arms.

    Args:
        p_best: P(best) of every arm; axes before the last are a batch.

    >>> import numpy as np
    >>> leads(np.array([0.7, 0.3])), leads(np.array([0.8, 0.2])), leads(np.array([1.0]))
    (False, True, True)
    """
    K = p_best.shape[-1]
    odds = ODDS_OF_A_LEADER / max(K - 1, 1)
    found = (p_best.max(axis=-1) >= odds / (1 + odds)) | (K == 1)
    return found if found.ndim else bool(found)
