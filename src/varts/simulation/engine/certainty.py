"""Stopping rules in the loop: whether a run is certain of an arm, from (n, mean, m2).

An arm keeps a run from ending as long as it may be best. Nearly always it is the one that did so at
the last look, and a bound without a logarithm shows it: no rule has more evidence of two arms than
their transportation cost with the sample's variances. The search for the common mean that suits a
hypothesis best is made only where that, and the evidence at the cost's own common mean, suffice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts import anytime
from varts.anytime import GOLDEN, GOLDEN_STEPS, GRID, ROUNDING
from varts.simulation.engine.parts import jit
from varts.simulation.engine.specialisation import UNBOUND

# Places in what a rule is told, and in what it remembers of a run.
ERROR, C2, LEAST = 0, 1, 2  # the threshold or the error; of the mixture; rewards an arm must have
POSITION, RIVAL, ENDED = 0, 1, 2  # of the next look; who kept the run from ending; its last round

is_certain: Any = UNBOUND  # (t, n, mean, m2, numbers, notes) -> bool
likelihood_ratio: Any = UNBOUND  # (n, m2, n2, m22, gap) -> number
mean_ratio: Any = UNBOUND
stylised_threshold: Any = UNBOUND  # (t, error) -> number

mean_evidence = jit(anytime.mean_evidence)


# What a loop gets that no rule ends: numbers, looks and notes, as of any rule.
NO_RULING = np.zeros(3), np.zeros(0, dtype=np.int64), np.zeros(3, dtype=np.int64)


@jit  # not `inlined`: a policy in plain Python calls it, too
def never_ends(t, n, mean, m2, ruling):
    """Where there is no rule."""
    return False


def ends_when_certain(t, n, mean, m2, ruling):
    """Whether the run ends here, asked at the given looks, or in every round without any."""
    numbers, looks, notes = ruling
    if len(looks) > 0:
        if t != looks[notes[POSITION]]:
            return False
        notes[POSITION] += 1
    if not is_certain(t, n, mean, m2, numbers, notes):
        return False
    notes[ENDED] = t
    return True


@jit
def highest_mean(mean):
    """The arm with the highest mean, the first of equal ones."""
    leader = 0
    for i in range(1, len(mean)):
        if mean[i] > mean[leader]:
            leader = i
    return leader


@jit
def plain_cost(a, b, n, mean, m2):
    """More evidence than any rule has of two arms, and the share of the gap that a gives way."""
    one, other = m2[a] / n[a] ** 2, m2[b] / n[b] ** 2
    gap = mean[a] - mean[b]
    return 0.5 * gap * gap / (one + other), one / (one + other)


# ---------------------------------------------------------------------------------- the exact rule


@jit
def is_heard(i, n, mean, m2, least):
    """As `Evidence` has it: enough rewards, and not all equal."""
    return n[i] >= max(least, 2.0) and m2[i] > n[i] * (ROUNDING * abs(mean[i])) ** 2


@jit
def evidence_at(x, gap, n, m2, n2, m22, c2):
    """The evidence of two arms if the first gives way a share x of the gap."""
    return mean_evidence(n, gap * x, m2, c2) + mean_evidence(n2, gap * (1 - x), m22, c2)


@jit
def least_evidence(gap, n, m2, n2, m22, c2):
    """`anytime.pair_evidence` of single numbers, by the same search."""
    at, least = 0, np.inf
    for k in range(len(GRID)):
        value = evidence_at(GRID[k], gap, n, m2, n2, m22, c2)
        if value < least:
            at, least = k, value
    left, right = GRID[max(at - 1, 0)], GRID[min(at + 1, len(GRID) - 1)]
    for _ in range(GOLDEN_STEPS):
        step = GOLDEN * (right - left)
        one, other = right - step, left + step
        value = evidence_at(one, gap, n, m2, n2, m22, c2)
        other_value = evidence_at(other, gap, n, m2, n2, m22, c2)
        least = min(least, min(value, other_value))
        if value < other_value:
            right = other
        else:
            left = one
    return least


@jit
def is_beaten(i, by, n, mean, m2, numbers):
    """Whether one arm's mean is below another's for certain."""
    threshold, c2 = numbers[ERROR], numbers[C2]
    if not (mean[by] > mean[i] and is_heard(by, n, mean, m2, numbers[LEAST])):
        return False
    cost, x = plain_cost(by, i, n, mean, m2)
    if not cost >= threshold:
        return False
    gap = mean[by] - mean[i]
    if evidence_at(x, gap, n[by], m2[by], n[i], m2[i], c2) < threshold:
        return False
    return least_evidence(gap, n[by], m2[by], n[i], m2[i], c2) >= threshold


@jit
def may_be_best(i, n, mean, m2, numbers):
    """Whether no arm beats this one for certain."""
    if not is_heard(i, n, mean, m2, numbers[LEAST]):
        return True
    beaten = False
    for by in range(len(n)):
        beaten = beaten or is_beaten(i, by, n, mean, m2, numbers)
    return not beaten


@jit
def is_certain_by_evidence(t, n, mean, m2, numbers, notes):
    """Whether all arms but one are ruled out: `Evidence.certain_best`."""
    leader, rival = highest_mean(mean), notes[RIVAL]
    if rival != leader and may_be_best(rival, n, mean, m2, numbers):
        return False
    for i in range(len(n)):
        if i != leader and may_be_best(i, n, mean, m2, numbers):
            notes[RIVAL] = i
            return False
    return True


# -------------------------------------------------------------------------- the likelihood ratio


def is_ahead(a, b, n, mean, m2, threshold, least):
    """Whether the likelihood ratio of two arms reaches the threshold."""
    if not (min(n[a], n[b]) >= least and min(m2[a], m2[b]) > 0 and mean[a] > mean[b]):
        return False
    cost, x = plain_cost(a, b, n, mean, m2)
    if not cost >= threshold:
        return False
    gap = mean[a] - mean[b]
    if mean_ratio(n[a], x * gap, m2[a]) + mean_ratio(n[b], (1 - x) * gap, m2[b]) < threshold:
        return False
    return likelihood_ratio(n[a], m2[a], n[b], m2[b], gap) >= threshold


ahead: Any = UNBOUND  # `is_ahead`, compiled


def is_certain_by_ratio(t, n, mean, m2, numbers, notes):
    """Whether the highest mean is ahead of every other."""
    leader, rival = highest_mean(mean), notes[RIVAL]
    threshold, least = stylised_threshold(float(t), numbers[ERROR]), numbers[LEAST]
    if rival != leader and not ahead(leader, rival, n, mean, m2, threshold, least):
        return False
    for i in range(len(n)):
        if i != leader and not ahead(leader, i, n, mean, m2, threshold, least):
            notes[RIVAL] = i
            return False
    return True
