"""How a policy that pulls the arm with the largest index chooses.

What the indices of a round have in common is its *moment*, a tuple: the round or what the policy's
clock makes of it, what `common` makes of all arms, and a uniform number if the policy asks for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import carray

from varts.simulation.engine.compiled.arguments import blocks_of
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.rng import bits, stream, uniform, where
from varts.simulation.engine.compiled.select_belief import refresh_nothing
from varts.simulation.engine.compiled.tuples import as_floats, make_reader
from varts.simulation.engine.scratch import ARMS_PER_BLOCK, CLOCK_NUMBERS


@dataclass(frozen=True)
class IndexFormulas:
    """The compiled formulas of an index policy, and how many numbers they take and return."""

    index: Any  # (n, mean, m2, *moment, *parameters), or (*terms, *moment) -> an arm's index
    terms: Any = None  # (n, mean, m2, *parameters) -> the numbers that `index` takes
    clock: Any = None  # (t, *parameters) -> what `index` takes for t
    common: Any = None  # (n, mean, m2, t, *parameters) with arrays -> what `index` takes of them
    reaches: Any = None  # (level, *terms, *moment) -> 1: at least the level, -1: below, 0: unknown
    parameters: int = 0
    term_count: int = 0
    clock_count: int = 1
    clock_takes: int = 0  # how many of the parameters the clock takes: all, or none
    common_takes: int = 3  # how many arguments `common` takes
    chance: bool = False
    counts_pulls: bool = False  # whether `own_pulls` takes the place of n


# ---------------------------------------------------------------------------------------- moment


def make_time(formulas: IndexFormulas) -> Any:
    """Return `(t, s, parameters) -> tuple`: what indices take for round t."""
    if formulas.clock is None:

        @inlined
        def time_of(t, s, parameters):
            return (float(t),)

        return time_of
    clock, size = formulas.clock, formulas.clock_count
    read_own = make_reader(formulas.clock_takes)
    read_times = make_reader(size)
    by_column = formulas.term_count > 0

    @inlined
    def read_clock(t, s, parameters):
        """Ask the clock; its parameters are those of the first arm."""
        own = read_own(parameters, 0, s.K if by_column else 1)
        return as_floats(clock(float(t), *own))

    @inlined
    def time_of_clock(t, s, parameters):
        """Take the first rounds from a table, which all runs share."""
        if (t + 1) * size > CLOCK_NUMBERS:
            return read_clock(t, s, parameters)
        first = t * size
        if s.clock[first] == 0:
            made = read_clock(t, s, parameters)
            for k in range(size):
                s.clock[first + k] = made[k]
        return read_times(s.clock, first, 1)

    return time_of_clock


def make_common(formulas: IndexFormulas) -> Any:
    """Return `(t, s, parameters) -> tuple`: what indices take of all arms."""
    common, takes = formulas.common, formulas.common_takes
    if common is None:

        @inlined
        def nothing(t, s, parameters):
            return ()

        return nothing
    read_own = make_reader(max(takes - 4, 0))
    by_column = formulas.term_count > 0

    if takes == 3:

        @inlined
        def common_of(t, s, parameters):
            n, mean, m2 = carray(s.n, s.K), carray(s.mean, s.K), carray(s.m2, s.K)
            return as_floats(common(n, mean, m2))

        return common_of

    @inlined
    def common_of_round(t, s, parameters):
        n, mean, m2 = carray(s.n, s.K), carray(s.mean, s.K), carray(s.m2, s.K)
        own = read_own(parameters, 0, s.K if by_column else 1)
        return as_floats(common(n, mean, m2, float(t), *own))

    return common_of_round


# --------------------------------------------------------------------------------------- indices


@inlined
def larger(value, best):
    """Return the larger number, or `best` if the value is NaN."""
    return value if value > best else best


@jit
def before(i, arm, word):
    """Return whether arm i comes before `arm` in this round's random order."""
    return arm < 0 or stream(word, i) > stream(word, arm)


def make_index_hooks(formulas: IndexFormulas, growing: bool = False) -> tuple[Any, Any, Any]:
    """Return `select`, `refresh` and `valid` as in `Hooks`.

    Args:
        formulas: The policy's formulas.
        growing: Whether to skip arms that cannot win, with many arms and indices that only grow.
    """
    index, terms, chance = formulas.index, formulas.terms, formulas.chance
    counts_pulls = formulas.counts_pulls
    count, term_count = formulas.parameters, formulas.term_count
    time_of, common_of = make_time(formulas), make_common(formulas)
    read_parameters, read_terms = make_reader(count), make_reader(term_count)

    @inlined
    def moment_of(t, u, s, parameters):
        """Return what the indices of round t have in common."""
        moment = time_of(t, s, parameters) + common_of(t, s, parameters)
        if chance:
            return (*moment, u)
        return moment

    if terms is None:

        @inlined
        def index_of(i, moment, s, parameters):
            own = read_parameters(parameters, count * i, 1)
            n = float(s.own_pulls[i]) if counts_pulls else s.n[i]
            return float(index(n, s.mean[i], s.m2[i], *(moment + own)))

        refresh = refresh_nothing
    else:
        # A column per arm, with the terms below the parameters: side by side in memory, as the
        # vectors of the loop over indices want them.

        @inlined
        def index_of(i, moment, s, parameters):
            made = read_terms(parameters, count * s.K + i, s.K)
            return float(index(*(made + moment)))

        @inlined
        def refresh(arm, s, parameters):
            own = read_parameters(parameters, arm, s.K)
            made = as_floats(terms(s.n[arm], s.mean[arm], s.m2[arm], *own))
            for k in range(term_count):
                parameters[(count + k) * s.K + arm] = made[k]

    @jit
    def valid(t, s, parameters):
        """Return whether no index is NaN. An arm with such an index is never pulled, and its index
        doesn't change, so it is enough to look once per run."""
        moment = moment_of(t, 0.5, s, parameters)
        missing = 0
        for i in range(s.K):
            value = index_of(i, moment, s, parameters)
            missing += where(value != value, 1, 0)
        return missing == 0

    @jit
    def select(t, s, parameters, state):
        """Choose the largest index, -1 if all are NaN; a hash with this round breaks ties.

        Three loops without a branch, so that LLVM handles several arms at once where it can. A
        branch on which arm is ahead would often be mispredicted.
        """
        word, state = bits(state)
        u = 0.0
        if chance:
            u, state = uniform(state)
        K, values = s.K, s.rates
        moment = moment_of(t, u, s, parameters)
        for i in range(K):
            values[i] = index_of(i, moment, s, parameters)
        # The maximum of every fourth value separately: each comparison waits for the one before.
        best0 = best1 = best2 = best3 = -np.inf
        i = 0
        for _ in range(K // 4):
            best0 = larger(values[i], best0)
            best1 = larger(values[i + 1], best1)
            best2 = larger(values[i + 2], best2)
            best3 = larger(values[i + 3], best3)
            i += 4
        for j in range(K - K % 4, K):
            best0 = larger(values[j], best0)
        best = larger(larger(best0, best1), larger(best2, best3))
        arm, ties = 0, 0
        for j in range(K):
            arm += where(values[j] == best, j, 0)
            ties += where(values[j] == best, 1, 0)
        if ties == 1:
            return arm, state
        arm = -1
        for j in range(K):
            if values[j] == best and before(j, arm, word):
                arm = j
        return arm, state

    if formulas.reaches is not None:
        select = make_reaching(formulas, moment_of, index_of)
    if growing:
        select, refresh = make_growing(time_of, index_of, refresh)
    return select, refresh, valid


# ---------------------------------------------------------------------------- expensive indices
# It is cheaper to tell whether an index reaches a level than to compute it. If exactly one arm
# does, it has the largest index, whatever the level. A level between the largest and the second
# index, as they were when last computed, usually separates them; otherwise that of the second.
MIDDLE, NEXT = 0, 1  # places in `level`


def make_reaching(formulas: IndexFormulas, moment_of: Any, index_of: Any) -> Any:
    """Return a `select` that makes the same choices and computes an index only in a near tie."""
    reaches, chance, term_count = formulas.reaches, formulas.chance, formulas.term_count
    count, read_terms = formulas.parameters, make_reader(term_count)

    @inlined
    def mark_reaching(near, moment, s, parameters):
        """Mark the arms whose index may reach a level; return one of them and how many."""
        arm, marked = 0, 0
        for i in range(s.K):
            made = read_terms(parameters, count * s.K + i, s.K)
            s.rates[i] = float(reaches(near, *(made + moment)))
            arm += where(s.rates[i] >= 0, i, 0)
            marked += where(s.rates[i] >= 0, 1, 0)
        return arm, marked

    @jit
    def select(t, s, parameters, state):
        word, state = bits(state)
        u = 0.0
        if chance:
            u, state = uniform(state)
        K, marks, level = s.K, s.rates, s.level
        moment = moment_of(t, u, s, parameters)
        near = level[MIDDLE]
        arm, marked = mark_reaching(near, moment, s, parameters)
        if marked == 0:
            near = level[NEXT]
            arm, marked = mark_reaching(near, moment, s, parameters)
        if marked == 1 and marks[arm] > 0:
            return arm, state
        best, second, arm = -np.inf, -np.inf, -1
        for everyone in (marked == 0, True):  # the arms that may reach the level first
            best, second, arm = -np.inf, -np.inf, -1
            for i in range(K):
                if everyone or marks[i] >= 0:
                    value = index_of(i, moment, s, parameters)
                    if value > best or (value == best and before(i, arm, word)):
                        second = best
                        best, arm = value, i
                    elif value > second:
                        second = value
            if best >= near or everyone:
                break
        if marked != 1:
            level[NEXT] = second
            level[MIDDLE] = 0.5 * (best + second)
        return arm, state

    return select


# ----------------------------------------------------------------- many arms, indices that grow
# For a while, until round `until`, an arm's index is at most its *cap*, the index it would have
# then. The last winner's index is a floor, and only arms whose cap reaches it are computed. Caps
# are stored per arm, and their maximum per block of arms. With L rounds between two renewals of
# all caps, a round costs about K/L for the renewal and, because UCB policies keep all indices close
# together, L/ln(t) for arms whose cap alone is high enough: L = sqrt(K ln t) balances the two, and
# the cost grows like sqrt(K) instead of K.
UNTIL, WINNER = 0, 1  # places in `level`


def make_growing(time_of: Any, index_of: Any, refresh_index: Any) -> tuple[Any, Any]:
    """Return `select` and `refresh` that make the same choices without computing every index."""

    @jit
    def select(t, s, parameters, state):
        K, caps, level = s.K, s.rates, s.level
        blocks = blocks_of(K)
        if t > level[UNTIL]:
            level[UNTIL] = t + math.floor(math.sqrt(K * math.log(t + 1.0)))
            then = time_of(np.int64(level[UNTIL]), s, parameters)
            for b in range(K, K + blocks):
                caps[b] = -np.inf
            for i in range(K):
                caps[i] = index_of(i, then, s, parameters)
                caps[K + i // ARMS_PER_BLOCK] = max(caps[K + i // ARMS_PER_BLOCK], caps[i])
        now = time_of(t, s, parameters)
        floor = index_of(np.int64(level[WINNER]), now, s, parameters)
        word, state = bits(state)
        best, arm = -np.inf, -1
        for b in range(blocks):
            if caps[K + b] < floor:
                continue
            for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
                if caps[i] < floor:
                    continue
                value = index_of(i, now, s, parameters)
                if value > best or (value == best and before(i, arm, word)):
                    best, arm = value, i
                    floor = max(floor, best)
        level[WINNER] = arm
        return arm, state

    @jit
    def refresh(arm, s, parameters):
        """Renew the cap of the arm that was pulled, and of its block."""
        refresh_index(arm, s, parameters)
        K, caps, level = s.K, s.rates, s.level
        if level[UNTIL] > 0:
            then = time_of(np.int64(level[UNTIL]), s, parameters)
            caps[arm] = index_of(arm, then, s, parameters)
            b = arm // ARMS_PER_BLOCK
            top = -np.inf
            for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
                top = max(top, caps[i])
            caps[K + b] = top

    return select, refresh
