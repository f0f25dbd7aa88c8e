"""Which of several independent uncertain numbers is the largest: the formulas and their integrals.

With F_i the distribution function and f_i the density of arm i, and G = F_1 ... F_K that of the
largest,

    P(i is best)     = integral of f_i G / F_i
    P(i in top m)    = integral of f_i P(fewer than m of the others lie above)
    P(i > j)         = integral of f_i F_j
    E[max] - E[mu_b] = integral of F_b (1 - product of the other F_j)
"""

from __future__ import annotations

from collections.abc import Callable
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

MOST_ERROR = 1e-8  # of what must add up
CERTAINLY_BELOW = 1e-17  # a probability above that F does not see: it is 1 to the last bit


def _check_sum(error: float) -> None:
    """Check what must add up, before it is used to correct the rounding."""
    if not error < MOST_ERROR:
        raise ArithmeticError(f"quadrature is off by {error:.1e}, more than 1e-8")


def measure_wins(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
    """P(the arm is best, and lies in the panel) of every arm."""
    F = running[:, :, :NODES_PER_PANEL] + (panels.F0[:, :, None] + TINY)
    f = f / F
    f *= F.prod(axis=0)
    value, error = integrate_panels(f)
    G0, G1 = panels.F0.prod(axis=0), panels.F1.prod(axis=0)
    error += np.abs(value.sum(axis=0) - (G1 - G0))
    return value, G1 / (panels.F1 + TINY), error


def _may_win(arms: Arms, panels: Panels) -> NDArray[np.bool_]:
    """Which arms do not lie below these panels for certain; F of the others is 1 there."""
    return np.asarray((panels.S0 > CERTAINLY_BELOW).any(axis=1))


def p_best(arms: Arms, floor: float | None = None) -> tuple[Floats, float]:
    """P(best) of every arm, and of a known value `floor` beside them."""
    K = arms.loc.size
    segments = arms.segments(NEGLIGIBLE, 1, NEGLIGIBLE_WHEN_SQUARED / K, floor)
    p = np.zeros(K)
    for segment in segments:
        panels = segment.panels
        first = np.count_nonzero(panels.F1.prod(axis=0) < NEGLIGIBLE)  # before it none can win
        if first == len(panels):
            continue
        panels = panels[first:] if first else panels
        keep = panels.S0[:, 0] > NEGLIGIBLE  # the others cannot win from here on
        if keep.all():
            p += integrate(Segment(segment.arms, panels), measure_wins, K, _may_win)
        elif keep.any():
            part = Segment(segment.arms.take(keep), panels.of_arms(keep))
            p[keep] += integrate(part, measure_wins, int(keep.sum()), _may_win)
    atom = 0.0 if floor is None else float(segments[0].panels.F0[:, 0].prod())
    end = segments[-1].panels.S1[:, -1]
    p += end * (1 - 0.5 * (end.sum() - end))
    total = float(p.sum()) + atom
    _check_sum(abs(total - 1))
    return np.maximum(p, 0) / total, atom / total


def _fewer_others_above(F: Floats, m: int) -> Floats:
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
        F = running[:, :, :NODES_PER_PANEL] + panels.F0[:, :, None]
        value, error = integrate_panels(f * _fewer_others_above(F, m))
        return value, _fewer_above(panels.F1, m + 2), error

    segments = arms.segments(NEGLIGIBLE, m, NEGLIGIBLE_WHEN_SQUARED / K)
    p = np.zeros(K)
    for segment in segments:
        possible = _fewer_above(segment.panels.F1, m + 1) > NEGLIGIBLE
        if possible.any():
            p += integrate(Segment(segment.arms, segment.panels[possible]), measure, K * m)
    p += segments[-1].panels.S1[:, -1]
    _check_sum(abs(p.sum() - m))
    return np.clip(p, 0, 1)


def p_better(arms: Arms) -> Floats:
    """P(row > column) of every pair."""
    K = arms.loc.size

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dy: Floats) -> Any:
        F = running[:, :, :NODES_PER_PANEL] + panels.F0[:, :, None]
        value = (f * INTEGRAL[:, 0]).transpose(1, 0, 2) @ F.transpose(1, 2, 0)
        known = _pair_products(panels.F1) - _pair_products(panels.F0)
        error = np.abs(value + value.transpose(0, 2, 1) - known).max(axis=(1, 2))
        return value.transpose(1, 2, 0), 1.0, error

    segments = arms.segments(NEGLIGIBLE_WHEN_SQUARED, K, NEGLIGIBLE_WHEN_SQUARED)
    start, end = segments[0].panels.F0[:, 0], segments[-1].panels.S1[:, -1]
    p = end[:, None] * (1 - 0.5 * end) + 0.5 * start[:, None] * start
    for segment in segments:
        p = p + integrate(segment, measure, K * max(1, K // NODES_PER_PANEL))
    np.fill_diagonal(p, 0.5)
    _check_sum(np.abs(p + p.T - 1).max())
    return np.clip(0.5 * (p + 1 - p.T), 0, 1)


def _pair_products(F: Floats) -> Floats:
    """F_i F_j of every pair, panels first."""
    return np.asarray(F.T[:, :, None] * F.T[:, None, :])


def gap_to_best(arms: Any, floor: float | None = None) -> float:
    """E[max] - (highest mean) of arms whose means exist, beside a known value `floor`."""
    b = None if floor is not None and floor >= arms.mean.max() else int(arms.mean.argmax())
    K = arms.loc.size
    others = np.arange(K) != b
    top = (floor if b is None else arms.loc[b]) - arms.loc[:, None]
    spread = arms.above(top, arms.ends(top)[1]).max()  # E[max] - top is at least one of these
    if not spread > 0:
        return 0.0

    def best_of(arms: Any) -> tuple[int | None, NDArray[np.bool_]]:
        """Arm b, which is never left out, and the others among these arms."""
        which = None if b is None else int(arms.mean.argmax())
        return which, np.arange(arms.loc.size) != which

    def matters(arms: Arms, panels: Panels) -> NDArray[np.bool_]:
        width = (panels.right[0] - panels.left[0]) + (panels.right[1] - panels.left[1])
        keep = (panels.S0 * width > CERTAINLY_BELOW / K * spread).any(axis=1)
        which, _ = best_of(arms)
        if which is not None:
            keep[which] = True
        return np.asarray(keep)

    def measure(arms: Arms, panels: Panels, f: Floats, running: Floats, dx: Floats) -> Any:
        b, others = best_of(arms)
        below = 1.0 if b is None else running[b, :, :NODES_PER_PANEL] + panels.F0[b, :, None]
        to_end = running[:, :, NODES_PER_PANEL, None] - running[:, :, :NODES_PER_PANEL]
        S = to_end + panels.S1[:, :, None]
        dx = dx / spread
        value, error = integrate_panels((below * any_above(S[others]) * dx)[None])
        width = dx @ INTEGRAL[:, 0]
        weight = np.empty(panels.F1.shape)
        weight[:] = width if b is None else width * panels.F1[b]
        if b is not None:
            weight[b] = width * any_above(panels.S0[others])
        return value[0], weight, error

    low = np.full(K, NEGLIGIBLE)  # what is left out is a product of E[(x - mu_b)^+] and other F
    if b is not None:
        low[b] = arms.negligible(b)
    ((_, panels),) = arms.segments(low, 1, max(NEGLIGIBLE_WHEN_SQUARED**2 / K**2, 1e-18), floor)
    t = arms.at(*np.column_stack([panels.left, panels.right[:, -1]]))
    F = np.column_stack([panels.F0, panels.F1[:, -1]])
    S = np.column_stack([panels.S0, panels.S1[:, -1]])
    # To the left of `start` F_b alone is integrated, to the right of `stop` the sum of all S.
    above = arms.above(t, S)
    if b is None:
        under = t[0] + arms.loc[0] - floor
    else:
        under = arms.take([b]).mirrored().above(-t[[b]], F[[b]])[0]
    small = NEGLIGIBLE_WHEN_SQUARED**2 * spread
    start = max(int((under * F[others].prod(axis=0) <= small).sum()) - 1, 0)
    stop = max(int((S.sum(axis=0) * above.sum(axis=0) > small).sum()), start)
    stop = min(stop, len(panels))
    inner = integrate(Segment(arms, panels[start:stop]), measure, K, matters)
    return float(under[start] + spread * inner + above[others, stop].sum())


def any_above(S: Floats) -> Floats:
    """P(at least one lies above)."""
    return np.asarray(-np.expm1(np.log1p(-np.minimum(S, 1 - 1e-16)).sum(axis=0)))


# --------------------------------------------------------------------------------------- who leads
# When an arm may be said to be ahead of the others.


REWARDS_PER_ARM = 10  # in play and on average, before an arm is said to be ahead
ODDS_OF_A_LEADER = 3.0  # times those among equal arms: P(best) of 0.75 with two arms, 0.25 with ten


def leads(p_best: Floats) -> Any:
    """Whether the best arm's odds are three times those that it would have among equal arms.

    Args:
        p_best: P(best) of every arm, or a row of them per question.

    >>> import numpy as np
    >>> leads(np.array([0.7, 0.3])), leads(np.array([0.8, 0.2])), leads(np.array([1.0]))
    (False, True, True)
    """
    K = p_best.shape[-1]
    odds = ODDS_OF_A_LEADER / max(K - 1, 1)
    found = (p_best.max(axis=-1) >= odds / (1 + odds)) | (K == 1)
    return found if found.ndim else bool(found)


# -------------------------------------------------------------------------- formulas of one number
# Formulas of one number that are worked out once for each.
#
# A reward changes what is known of one arm. The degrees of freedom of the others are what they
# were, and with them the dearest numbers of a t distribution, its quantiles.


MOST_REMEMBERED = 2_000  # answers of a formula; then all are forgotten


class Remembered:
    """A formula whose answers are remembered by the number that they were asked for.

    An answer depends on nothing else, not even on the numbers beside it: what is remembered is what
    the formula would say again, to the last bit. Threads may share it.

    Args:
        formula: From an array of numbers to an array of answers, a number or a row for each.

    >>> asked = []
    >>> square = Remembered(lambda x: asked.append(x.tolist()) or x * x)
    >>> square(np.array([1.0, 2.0])), square(np.array([3.0, 2.0]))
    (array([1., 4.]), array([9., 4.]))
    >>> asked
    [[1.0, 2.0], [3.0]]
    """

    def __init__(self, formula: Callable[[Floats], Floats]) -> None:
        self.formula = formula
        self._answers: dict[float, Any] = {}

    def __call__(self, x: Floats) -> Floats:
        """The answers for these numbers, in their order.

        Args:
            x: An array with one axis.
        """
        numbers = x.tolist()
        found = list(map(self._answers.get, numbers))
        if None in found:
            new = [i for i, answer in enumerate(found) if answer is None]
            if len(self._answers) > MOST_REMEMBERED:
                self._answers.clear()
            for i, answer in zip(new, self.formula(x[new]).tolist(), strict=True):
                found[i] = self._answers[numbers[i]] = answer
        return np.array(found)
