"""How a policy that pulls the largest index picks an arm: `select`, `refresh` and `sound`.

`memory` is what `memory.py` allocates, kept between rounds. What the indices of a round have in
common is its *moment*, a tuple: the round's number or what the policy's clock makes of it, what the
policy's `common` makes of all arms, and a uniform number if the policy asks for one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.cpython.unsafe.tuple import tuple_setitem

from varts.simulation.engine.memory import ARMS_PER_BLOCK
from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import bits, first_of, stream, where
from varts.simulation.engine.selectors import refresh_nothing
from varts.simulation.engine.specialisation import UNBOUND

PARAMETERS: int = UNBOUND  # how many extra arguments the formula takes
# A zero for each number that `terms` makes of an arm, `clock` of a round, `common` of all arms.
TERMS: tuple[float, ...] = UNBOUND
TIMES: tuple[float, ...] = UNBOUND
SHARED: tuple[float, ...] = UNBOUND
CLOCK_PARAMETERS: int = UNBOUND  # how many of the parameters the clock takes: all, or none
index: Any = UNBOUND  # (n, mean, m2, *moment, *parameters), or (*terms, *moment) -> an arm's index
terms: Any = UNBOUND  # (n, mean, m2, *parameters) -> the numbers that `index` takes
clock: Any = UNBOUND  # (t, *parameters) -> what `index` takes for t
common: Any = UNBOUND  # (n, mean, m2) of all arms -> what `index` takes of them
# (level, *terms, *moment) -> 1 if the index is surely at least the level, -1 if surely below, or 0
reaches: Any = UNBOUND


# ---------------------------------------------------------------------------------------- moment


@inlined
def time_of(t, params, times):
    """What `index` takes for round t: its number."""
    return (float(t),)


@inlined
def one_number(made, zeros):
    """What a formula made, as a tuple: it was a number."""
    return (float(made),)


@inlined
def several_numbers(made, zeros):
    """The same of a tuple."""
    for k in range(len(zeros)):
        zeros = tuple_setitem(zeros, k, float(made[k]))
    return zeros


as_times: Any = UNBOUND  # one of these two for the clock
as_shared: Any = UNBOUND  # and for `common`


def read_clock(t, params):
    """What the policy's clock says; its parameters are those of the first arm."""
    return as_times(clock(float(t), *first_of(params[0], CLOCK_PARAMETERS)), TIMES)


def read_clock_of_columns(t, params):
    """The same where parameters are a column per arm, as policies with terms have them."""
    return as_times(clock(float(t), *first_of(params[:, 0], CLOCK_PARAMETERS)), TIMES)


def time_of_clock(t, params, times):
    """`time_of` by the policy's clock, of the first rounds from a table: all runs have them."""
    size = len(TIMES)
    if (t + 1) * size > len(times):
        return read_clock(t, params)
    first = np.uint64(t * size)
    made = TIMES
    if times[first] == 0:
        made = read_clock(t, params)
        for k in range(size):
            times[first + np.uint64(k)] = made[k]
    for k in range(size):
        made = tuple_setitem(made, k, times[first + np.uint64(k)])
    return made


@inlined
def share_nothing(n, mean, m2):
    """Where an index depends on its own arm alone."""
    return ()


def share(n, mean, m2):
    """What the policy's `common` makes of all arms."""
    return as_shared(common(n, mean, m2), SHARED)


@inlined
def draw_nothing(state):
    """Where a policy asks for no number of its own."""
    return 0.0, state


@inlined
def without(u):
    """What `index` takes of it then."""
    return ()


@inlined
def alone(u):
    """What `index` takes of a uniform number."""
    return (u,)


draw = draw_nothing  # or `uniform`
given = without  # or `alone`
shared_of = share_nothing  # or `share`


def moment_of(t, u, n, mean, m2, params, memory):
    """What the indices of round t have in common."""
    return time_of(t, params, memory[5]) + shared_of(n, mean, m2) + given(u)


# --------------------------------------------------------------------------------------- indices


def index_of(i, moment, n, mean, m2, params):
    """The index of arm i."""
    own = first_of(params[i], PARAMETERS)
    return float(index(n[i], mean[i], m2[i], *(moment + own)))


def index_of_terms(i, moment, n, mean, m2, params):
    """The index of arm i from its terms."""
    made = TERMS
    for k in range(len(TERMS)):
        made = tuple_setitem(made, k, params[PARAMETERS + k, i])
    return float(index(*(made + moment)))


def refresh_terms(arm, n, mean, m2, params, memory):
    """The terms of the arm that was pulled."""
    made = terms(n[arm], mean[arm], m2[arm], *first_of(params[:, arm], PARAMETERS))
    for k in range(len(TERMS)):
        params[PARAMETERS + k, arm] = made[k]


def select_index(t, n, mean, m2, params, memory, state):
    """The largest index, -1 if all are NaN; equal ones are told apart by a hash with this round.

    In three loops without a branch, so that LLVM handles four arms at once where it can; a branch
    on which arm is ahead would be guessed wrongly in many a round.
    """
    word, state = bits(state)
    u, state = draw(state)
    K, values = len(n), memory[2]
    moment = moment_of(t, u, n, mean, m2, params, memory)
    for i in range(K):
        values[i] = index_of(i, moment, n, mean, m2, params)
    # The maximum, of every fourth value apart, as each comparison waits for the one before.
    best0 = best1 = best2 = best3 = -np.inf
    i = np.uint64(0)
    for _ in range(K // 4):
        best0 = larger(values[i], best0)
        best1 = larger(values[i + np.uint64(1)], best1)
        best2 = larger(values[i + np.uint64(2)], best2)
        best3 = larger(values[i + np.uint64(3)], best3)
        i += np.uint64(4)
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


@jit
def larger(value, best):
    """The larger one; `best` if the value is NaN."""
    return value if value > best else best


@jit
def before(i, arm, word):
    """Whether arm i comes before `arm` in this round's random order, whatever arms are compared."""
    return arm < 0 or stream(word, i) > stream(word, arm)


refresh_index = refresh_nothing  # or `refresh_terms`


def sound_indices(t, n, mean, m2, params, memory):
    """Whether no arm's index is NaN: such an arm is never pulled, and its index remains what it is.

    It is looked at once a run, as a look in every round would take time.
    """
    moment = moment_of(t, 0.5, n, mean, m2, params, memory)
    missing = 0
    for i in range(len(n)):
        missing += np.isnan(index_of(i, moment, n, mean, m2, params))
    return missing == 0


# Indices that are dear. Whether one reaches a level is cheaper to say than what it is: if one arm
# alone does, it is the largest whatever the level. A level between the largest and the next, as
# they were when last looked at, mostly tells them apart; else that of the next, if it has fallen.
MIDDLE, NEXT = 0, 1  # places in `level`
reaches_of: Any = UNBOUND  # `reaches_of_terms`, compiled


def reaches_of_terms(i, near, moment, params):
    """Whether the index of arm i reaches the level."""
    made = TERMS
    for k in range(len(TERMS)):
        made = tuple_setitem(made, k, params[PARAMETERS + k, i])
    return float(reaches(near, *(made + moment)))


def mark_reaching(near, moment, params, marks, K):
    """Mark the arms whose index may reach a level: how many, and which if it is one."""
    arm, count = 0, 0
    for i in range(K):
        marks[i] = reaches_of(i, near, moment, params)
        arm += where(marks[i] >= 0, i, 0)
        count += where(marks[i] >= 0, 1, 0)
    return arm, count


def select_reaching(t, n, mean, m2, params, memory, state):
    """The same choice as `select_index`, to the last bit, computing an index only in a near tie."""
    word, state = bits(state)
    u, state = draw(state)
    K, marks, level = len(n), memory[2], memory[1]
    moment = moment_of(t, u, n, mean, m2, params, memory)
    near = level[MIDDLE]
    arm, count = mark_reaching(near, moment, params, marks, K)
    if count == 0:
        near = level[NEXT]
        arm, count = mark_reaching(near, moment, params, marks, K)
    if count == 1 and marks[arm] > 0:
        return arm, state
    best, second, arm = -np.inf, -np.inf, -1
    for everyone in (count == 0, True):  # those that may reach the level first
        best, second, arm = -np.inf, -np.inf, -1
        for i in range(K):
            if everyone or marks[i] >= 0:
                value = index_of(i, moment, n, mean, m2, params)
                if value > best or (value == best and before(i, arm, word)):
                    second = best
                    best, arm = value, i
                elif value > second:
                    second = value
        if best >= near or everyone:
            break
    if count != 1:
        level[NEXT] = second
        level[MIDDLE] = 0.5 * (best + second)
    return arm, state


# Many arms, indices that only grow with t. For a while, until round `until`, an arm's index is at
# most its *cap*, the index it would have then. The last winner's index is a floor; only arms whose
# cap reaches it are looked at. Caps are stored per arm, and their maximum per block of arms.
# With L rounds between two renewals of all caps, a round costs about K/L for the renewal and, as
# UCB policies keep all indices close together, L/ln(t) for arms whose cap alone is high enough:
# L = sqrt(K ln t) balances the two, and the cost grows like sqrt(K) instead of K.
UNTIL, WINNER = 0, 1  # places in `level`


def select_growing(t, n, mean, m2, params, memory, state):
    """The same choice as `select_index`, to the last bit, without computing every index."""
    _, level, caps, _, _, times, _ = (
        memory  # a cap per arm, and behind them the highest of each block
    )
    K = len(n)
    if t > level[UNTIL]:
        level[UNTIL] = t + math.floor(math.sqrt(K * math.log(t + 1.0)))
        then = time_of(np.int64(level[UNTIL]), params, times)
        for b in range(K, len(caps)):
            caps[b] = -np.inf
        for i in range(K):
            caps[i] = index_of(i, then, n, mean, m2, params)
            caps[K + i // ARMS_PER_BLOCK] = max(caps[K + i // ARMS_PER_BLOCK], caps[i])
    now = time_of(t, params, times)
    floor = index_of(np.int64(level[WINNER]), now, n, mean, m2, params)
    word, state = bits(state)
    best, arm = -np.inf, -1
    for b in range(len(caps) - K):
        if caps[K + b] < floor:
            continue
        for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
            if caps[i] < floor:
                continue
            value = index_of(i, now, n, mean, m2, params)
            if value > best or (value == best and before(i, arm, word)):
                best, arm = value, i
                floor = max(floor, best)
    level[WINNER] = arm
    return arm, state


def refresh_growing(arm, n, mean, m2, params, memory):
    """A new cap for the arm that was pulled, and for its block."""
    refresh_index(arm, n, mean, m2, params, memory)
    _, level, caps, _, _, times, _ = memory
    K = len(n)
    if level[UNTIL] > 0:
        then = time_of(np.int64(level[UNTIL]), params, times)
        caps[arm] = index_of(arm, then, n, mean, m2, params)
        b = arm // ARMS_PER_BLOCK
        top = -np.inf
        for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
            top = max(top, caps[i])
        caps[K + b] = top
