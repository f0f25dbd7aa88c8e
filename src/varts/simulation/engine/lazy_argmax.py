"""The arm with the largest of K independent draws, sampled exactly, mostly without drawing: pay
only for what is uncertain.

A naive sampler draws every arm in every round. Most of those draws cannot matter. Fix a level tau
somewhat below the leader, the arm with the highest center. Then the winner is the leader
*unless* something rare happens: another arm's draw comes out above tau, or the leader's own below
it. Whether any of these rare events happens at all is decided by a single exponential draw.

**The bound.** All that the sampler needs to know of a family of beliefs is its `Envelope`: a curve
above the density that is easy to draw from, whose mass B bounds the chance of a rare event.
`student_envelope.py` and `beta_envelope.py` are the two there are. Both bounds stay bounds while a
belief moves away from tau and narrows, which spares most recomputations.

**The process.** Each arm that is not drawn outright has a bound b_i on the chance of its event and
the rate r_i = -log(1 - b_i). The arms share one Poisson process on [0, R), R = sum r_i, an interval
of length r_i each: an arm's interval holds a point with probability b_i, independently. One
exponential E tells where the first point is. If E >= R (nearly always) there is none, no arm was
touched, and E - R, which is exponential again, serves the next round: a draw lasts until something
happens. Otherwise the arm i it falls on is examined: with probability B_i/b_i draw x from the
envelope, accept it with probability density over envelope; what remains has the density of arm i
beyond tau exactly (b_i is B_i when it was last computed, and B_i has fallen since). The next point
is sought beyond arm i's interval.

**The rest.** Arms likely to exceed tau are *active*: drawn in full every round. If some value
exceeds tau, the leader is drawn given that it exceeds tau (unless it is known not to) and the
largest wins. If nothing exceeds tau, not even the leader, all other arms are drawn given that they
do not. With many contenders it is cheapest to have tau above the leader, which then is an arm like
the others. tau is set before a round's draws, so the choice is exact whatever tau is; a bad tau
only costs time. `tests/simulation/engine/test_lazy_argmax.py` holds all this against quadrature.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varts.simulation.engine.envelope import Envelope
from varts.simulation.engine.memory import (
    ACTIVES,
    ARMS_PER_BLOCK,
    BUDGET,
    CHANCE,
    FIRST_Z,
    GATE,
    LEADER,
    LEFT,
    SPENT,
    TAU,
    TOTAL,
    VALID,
    WASTE,
    Z,
    note_unsound,
)
from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import exponential, uniform, unlikely
from varts.simulation.engine.specialisation import UNBOUND

envelope: Envelope = UNBOUND
# (i, n, mean, m2, params, beliefs) -> bool: an arm's belief, by the policy's formula; if it is one
learn: Any = UNBOUND

ACTIVE_ABOVE = 0.25  # an event likelier than this is cheaper drawn outright than examined

# tau is z scales of the leader below it. From Z_LEAST on, the leader's own low draws are an event
# of the process; below, it is drawn like any other, and many contenders put tau even above it.
Z_LEAST, Z_FEWEST, Z_MOST = 1.5, -6.0, 5.5


@jit
def as_rate(b):
    """A little more than -log(1 - b), for b <= 1/4: a bound will do, a polynomial is cheaper."""
    return b * (1 + b * (0.5 + 0.6 * b))


@jit
def set_rate(i, rate, level, rates, beliefs):
    """Change an arm's share of the process."""
    change = rate - rates[i]
    rates[i] = rate
    rates[len(beliefs) + i // ARMS_PER_BLOCK] += change
    beliefs[i, CHANCE] = -1.0
    level[TOTAL] += change


def place_arm(i, beliefs, level, rates, active, place):
    """Make arm i, which is not the leader, quiet with a rate or active, by its belief and tau."""
    b, rate = envelope.bound_above(i, level[TAU], beliefs), 0.0
    count = np.int64(level[ACTIVES])
    if b < ACTIVE_ABOVE:
        rate = as_rate(b)
        if place[i] >= 0:  # leave the list of active arms: the last takes the place
            last = active[count - 1]
            active[place[i]] = last
            place[last] = place[i]
            place[i] = -1
            level[ACTIVES] = count - 1
    elif place[i] < 0:
        active[count] = i
        place[i] = count
        level[ACTIVES] = count + 1
    set_rate(i, rate, level, rates, beliefs)


def follow_leader(beliefs, level, rates):
    """A new bound on the leader's own event; without one, the level is no good any more."""
    i = np.int64(level[LEADER])
    b = envelope.bound_below(i, level[TAU], beliefs)
    if b < ACTIVE_ABOVE:
        set_rate(i, as_rate(b), level, rates, beliefs)
    else:
        level[VALID] = 0.0


def expected_cost(z, leader, beliefs):
    """What a round would cost at this level, roughly, in draws of an arm.

    An active arm costs most of a draw, an event to be examined two or three, and if nothing is
    above tau all K arms are drawn. From Z_LEAST on, the leader's own low draws are an event.
    """
    tau = envelope.level_at(z, leader, beliefs)
    cost, log_none = 0.0, 0.0
    for i in range(len(beliefs)):
        if i == leader and z >= Z_LEAST:
            continue
        b = envelope.chance_above(i, tau, beliefs)
        if b < ACTIVE_ABOVE:
            cost += 2.5 * b
            log_none -= 0.75 * b
        else:
            cost += 0.7
            log_none -= 0.4 if envelope.center(i, beliefs) < tau else 1.0
    none = math.exp(log_none)
    if z < Z_LEAST:
        return cost + none * len(beliefs)
    low = envelope.chance_below(z, leader, beliefs)
    return cost + 1 - none + min(low, 1.0) * (2.5 + none * len(beliefs))


def cheapest_z(z, leader, beliefs):
    """From z, go on in a direction that makes rounds cheaper, if there is one."""
    start, cost = z, expected_cost(z, leader, beliefs)
    for step in envelope.Z_STEPS:
        while Z_FEWEST <= z + step <= Z_MOST:
            other = expected_cost(z + step, leader, beliefs)
            if not other < cost:
                break
            z, cost = z + step, other
        if z != start:
            break
    return z


def relevel(t, beliefs, level, rates, active, place):
    """Choose the leader and tau anew and sort all arms into quiet and active."""
    K = len(beliefs)
    leader = np.int64(0)
    for i in range(1, K):
        if envelope.center(i, beliefs) > envelope.center(leader, beliefs):
            leader = i
    if t == 1 and level[FIRST_Z] == level[FIRST_Z]:  # every run begins with the same beliefs
        z = level[FIRST_Z]
    else:
        z = cheapest_z(level[Z] if level[Z] != 0 else envelope.first_z(K), leader, beliefs)
    if t == 1:
        level[FIRST_Z] = z
    level[Z] = z
    level[TAU] = envelope.level_at(z, leader, beliefs)
    level[LEADER] = leader if z >= Z_LEAST else -1
    level[ACTIVES] = 0.0
    level[TOTAL] = 0.0
    for i in range(len(rates)):
        rates[i] = 0.0
    for i in range(K):
        place[i] = -1
    for i in range(K):
        if i != level[LEADER]:
            place_arm(i, beliefs, level, rates, active, place)
    level[VALID] = 1.0
    if level[LEADER] >= 0:
        follow_leader(beliefs, level, rates)
    if level[VALID] == 0:  # its tail is too heavy for a bound: draw it like the active ones
        level[VALID] = 1.0
        level[LEADER] = -1.0
        place_arm(leader, beliefs, level, rates, active, place)
    # Re-levelling costs about as much as some K draws: let it stay a fraction of all that was
    # spent, so that the better the level, the less often it is moved.
    level[SPENT] += level[WASTE]
    level[BUDGET] = 16.0 * K + 0.25 * level[SPENT]
    level[WASTE] = 0.0


@jit
def find(position, block, start, rates, K):
    """The arm whose interval holds `position`, where that interval ends, and the block it is in.

    The search begins at a block and where it starts; -1 for a position beyond the last arm.
    """
    while K + block < len(rates):
        if position < start + rates[K + block]:
            end = start
            for i in range(block * ARMS_PER_BLOCK, min((block + 1) * ARMS_PER_BLOCK, K)):
                end += rates[i]
                if position < end:
                    return i, end, block, start
        start += rates[K + block]
        block += 1
    return -1, start, block, start


@jit
def set_gate(level):
    """Let the common case pass if there is one."""
    due = level[WASTE] > level[BUDGET]
    closed = level[VALID] == 0 or level[ACTIVES] > 0 or level[LEADER] < 0 or due
    level[GATE] = np.inf if closed else level[TOTAL]


def place_again(arm, memory):
    """Find the place in the process for an arm whose belief changed."""
    beliefs, level, rates, active, place, _, _ = memory
    if level[VALID] != 0:
        if arm == level[LEADER]:
            follow_leader(beliefs, level, rates)
        elif place[arm] >= 0 or not envelope.bound_above_holds(arm, level[TAU], beliefs):
            place_arm(arm, beliefs, level, rates, active, place)
    set_gate(level)


@inlined
def better(x, x_log, i, best, best_log, arm, ties, state):
    """The larger of two draws, infinite ones by their logarithms, equal ones at random."""
    if x > best or (x == best and math.isinf(x) and x_log > best_log):
        return x, x_log, i, 1, state
    if x == best and not math.isinf(x):
        ties += 1
        u, state = uniform(state)
        if u * ties < 1:
            arm = i
    return best, best_log, arm, ties, state


def select_lazy(t, n, mean, m2, params, memory, state):
    """The arm with the largest draw; in the common case that is the leader."""
    level = memory[1]
    if level[LEFT] >= level[GATE]:
        level[LEFT] -= level[GATE]
        return np.int64(level[LEADER]), state
    return select_with_care(t, memory, state)


def select_with_care(t, memory, state):
    """The same where something may happen."""
    beliefs, level, rates, active, place, _, _ = memory
    e = level[LEFT]
    if e < 0:
        e, state = exponential(state)
    # With the gate open we are here because e is small: this round is bound to the level that e
    # was compared with. Closed, e is as good as not drawn yet, and the level may be moved.
    if level[GATE] == np.inf and (level[VALID] == 0 or level[WASTE] > level[BUDGET]):
        relevel(t, beliefs, level, rates, active, place)
    set_gate(level)
    tau = level[TAU]
    leader = np.int64(level[LEADER])
    count = np.int64(level[ACTIVES])
    best, best_log, arm, ties = -np.inf, -np.inf, np.int64(-1), np.int64(1)
    low = leader < 0
    # 1. active arms
    level[WASTE] += count
    for j in range(count):
        i = active[j]
        done, x, x_log, state = envelope.drawn_above(i, tau, best, beliefs, state)
        if done:
            best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    # 2. the others, through the process
    block, start = np.int64(0), 0.0
    while e < level[TOTAL]:
        i, end, block, start = find(e, block, start, rates, len(beliefs))
        if i < 0:
            break
        if beliefs[i, CHANCE] < 0:  # most arms are examined many times at one rate
            beliefs[i, CHANCE] = -math.expm1(-rates[i])
        chance = beliefs[i, CHANCE]
        happened, x, state = envelope.examine(i, i == leader, tau, chance, beliefs, state)
        level[WASTE] += 2.5
        if happened:
            low = low or i == leader
            best, best_log, arm, ties, state = better(x, 0.0, i, best, best_log, arm, ties, state)
        step, state = exponential(state)
        e = end + step
    level[LEFT] = e - level[TOTAL]
    # 3. the leader
    if not low:
        if not best > tau:
            return leader, state
        # `not low` is True here and False below: two constants would have it compiled twice
        x, x_log, state = envelope.drawn_given(leader, tau, not low, beliefs, state)
        best, best_log, arm, ties, state = better(
            x, x_log, leader, best, best_log, arm, ties, state
        )
        return arm, state
    if best > tau:
        return arm, state
    # 4. nothing above tau, the leader is low: everything not yet drawn, given that it is not above
    level[WASTE] += len(beliefs)
    for i in range(len(beliefs)):
        if place[i] >= 0:
            if not envelope.unfinished(i, beliefs):
                continue
            x_log = 0.0
            x, state = envelope.finished(i, beliefs, state)
        elif i == leader:
            continue
        else:
            x, x_log, state = envelope.drawn_given(i, tau, not low, beliefs, state)
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def refresh_lazy(arm, n, mean, m2, params, memory):
    """The belief of the arm that was pulled, and its place in the process."""
    beliefs, level = memory[0], memory[1]
    i = np.uint64(arm)  # else every array would be asked whether arm counts from its end
    sound = learn(i, n, mean, m2, params, beliefs)
    if sound and arm == level[LEADER] and envelope.bound_below_holds(i, level[TAU], beliefs):
        return  # the common case
    if unlikely(not sound):
        note_unsound(arm, memory)
    place_again(arm, memory)


# What calls the envelope, callees first, and how `compilation.lazy_sampler` compiles it.
COMPILED = (
    (place_arm, jit),
    (follow_leader, jit),
    (expected_cost, jit),
    (cheapest_z, jit),
    (relevel, jit),
    (place_again, inlined),
    (select_with_care, inlined),
    (select_lazy, inlined),
)
