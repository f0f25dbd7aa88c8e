"""Stopping rules in the loop: is a run certain which arm is best, from (n, mean, m2)?

An arm keeps a run from ending as long as it may be best. Nearly always it is the one that did so
the last time, and a bound without a logarithm shows it: no rule has more evidence about two arms
than their transportation cost with the sample's variances. The search for the common mean that
suits a hypothesis best is only made if that, and the evidence at the cost's own common mean, are
enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from varts.anytime import GOLDEN, GOLDEN_STEPS, GRID, ROUNDING, mean_evidence
from varts.simulation.engine.compiled.jit import compile_formula, inlined, jit
from varts.simulation.engine.scratch import ENDED, POSITION, RIVAL

# Places in the numbers of a rule.
THRESHOLD, C2, LEAST = 0, 1, 2  # the last: how many rewards an arm must have

evidence_of_mean = compile_formula(mean_evidence)


def make_ends(is_certain: Any) -> Any:
    """Return the hook `ends` of the loop for a rule.

    Args:
        is_certain: `(t, c, s) -> bool`, compiled.
    """

    @jit
    def ends(t, c, s):
        """Return whether the run ends here: asked in the rounds of the rule, or in every one."""
        if c.rule_rounds[0] > 0:
            if t != c.rule_rounds[c.rule_state[POSITION]]:
                return False
            c.rule_state[POSITION] += 1
        if not is_certain(t, c, s):
            return False
        c.rule_state[ENDED] = t
        return True

    return ends


def make_user_rule(stops: Any, read_numbers: Any) -> Any:
    """Return `is_certain` for a user's own rule.

    Args:
        stops: `(t, n, mean, m2, *fields) -> bool` with arrays of all arms, compiled.
        read_numbers: Reads the fields: see `tuples.make_reader`.
    """

    @inlined
    def is_certain(t, c, s):
        n, mean, m2 = carray(s.n, s.K), carray(s.mean, s.K), carray(s.m2, s.K)
        return bool(stops(t, n, mean, m2, *read_numbers(c.rule_numbers, 0, 1)))

    return is_certain


@jit
def highest_mean(K, mean):
    """Return the arm with the highest mean, the first of equal ones."""
    leader = 0
    for i in range(1, K):
        if mean[i] > mean[leader]:
            leader = i
    return leader


@jit
def has_evidence(i, n, mean, m2, least):
    """Return whether `Evidence` counts this arm: enough rewards, and not all equal."""
    return n[i] >= max(least, 2.0) and m2[i] > n[i] * (ROUNDING * abs(mean[i])) ** 2


@jit
def evidence_at(x, gap, n, m2, n2, m22, c2):
    """Return the evidence about two arms if the first gives way by a share x of the gap."""
    return evidence_of_mean(n, gap * x, m2, c2) + evidence_of_mean(n2, gap * (1 - x), m22, c2)


@jit
def least_evidence(gap, n, m2, n2, m22, c2):
    """`anytime.pair_evidence` for single numbers, by the same search."""
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
    """Return whether one arm's mean is certainly below another's."""
    threshold, c2 = numbers[THRESHOLD], numbers[C2]
    if not (mean[by] > mean[i] and has_evidence(by, n, mean, m2, numbers[LEAST])):
        return False
    gap = mean[by] - mean[i]
    one, other = m2[by] / n[by] ** 2, m2[i] / n[i] ** 2
    # No rule has more evidence than this.
    if not 0.5 * gap * gap / (one + other) >= threshold:
        return False
    x = one / (one + other)
    if evidence_at(x, gap, n[by], m2[by], n[i], m2[i], c2) < threshold:
        return False
    return least_evidence(gap, n[by], m2[by], n[i], m2[i], c2) >= threshold


@jit
def may_be_best(i, K, n, mean, m2, numbers):
    """Return whether no arm certainly beats this one."""
    if not has_evidence(i, n, mean, m2, numbers[LEAST]):
        return True
    beaten = False
    for by in range(K):
        beaten = beaten or is_beaten(i, by, n, mean, m2, numbers)
    return not beaten


@jit
def is_certain(K, n, mean, m2, numbers, state):
    """Return 1 if all arms but one are ruled out, else 0: `Evidence.certain_best`."""
    leader, rival = highest_mean(K, mean), state[RIVAL]
    if rival != leader and may_be_best(rival, K, n, mean, m2, numbers):
        return 0
    for i in range(K):
        if i != leader and may_be_best(i, K, n, mean, m2, numbers):
            state[RIVAL] = i
            return 0
    return 1
