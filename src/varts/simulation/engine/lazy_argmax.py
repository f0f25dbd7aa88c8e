"""The arm with the largest of K independent draws, sampled exactly, mostly without drawing: pay
only for what is uncertain.

A naive sampler draws every arm in every round. Most of those draws cannot matter. Fix a level tau
somewhat below the leader, the arm with the highest center. Then the winner is the leader
*unless* something rare happens: another arm's draw comes out above tau, or the leader's own below
it. Whether any of these rare events happens at all is decided by a single exponential draw.

**The bound.** All that the sampler needs to know of a family of beliefs is its *tail*: a bound B on
the chance of a rare event which is the mass of an envelope, a curve above the density that is easy
to draw from. `student_envelope.py` and `beta_envelope.py` have one each. Both bounds stay bounds
while a belief moves away from tau and narrows, which spares most recomputations.

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
only costs time. `tests/statistics/test_exactness.py` holds all this against quadrature.
"""

from __future__ import annotations

import math

import numpy as np

from varts.simulation.engine.rng import exponential, inlined, jit, uniform

# The tail of a family of beliefs, put in place by `compilation.lazy_sampler`. An arm's belief is
# a row of `work`, whose columns only the tail knows.
TAIL = (
    "center",  # where an arm's belief is
    "first_z",  # the z to begin a run with, and the steps in which a better one is sought
    "Z_STEPS",
    "level_at",  # the tau that is z scales below an arm
    "bound_above",  # on the chance of a draw above tau; the tail notes what it was computed for
    "bound_above_holds",  # whether what was noted is a bound for the present belief
    "bound_below",  # the same for a leader and a draw below tau
    "bound_below_holds",
    "chance_above",  # about the same, to compare levels
    "chance_below",
    "examine",  # whether the event happened, and the draw
    "drawn_given",  # a full draw that is above tau, or one that is not
    "drawn_above",  # a draw only as far as needed to know whether it can win
    "unfinished",  # whether it was left at that
    "finished",  # the rest of it
)
center = first_z = Z_STEPS = level_at = None
bound_above = bound_above_holds = bound_below = bound_below_holds = None
chance_above = chance_below = examine = None
drawn_given = drawn_above = unfinished = finished = None
learn = None  # a policy's belief about an arm, written into `work`

# Places in `level`, the state of the sampler as a whole.
TAU, TOTAL, LEADER, ACTIVES, VALID, Z = 0, 1, 2, 3, 4, 5
WASTE, BUDGET, SPENT = 6, 7, 8
# The leader wins outright when the exponential is beyond this: the total rate if no arm is active
# and no re-levelling is due, else infinity.
GATE = 9
LEFT = 10  # what is left of the exponential draw; negative when a new one is due
TIMES = 4096  # rounds of which the clock of an index policy is kept
COLUMNS = 7  # of `work`: enough for every tail
BLOCK = 64  # arms whose rates are summed together, to find an arm quickly


def remember(K):
    """work, level, rates, the list of active arms, each arm's place in it or -1, and clock times.

    `rates` has r_i per arm, close together so that they are quickly searched, and behind them the
    sum of each block of arms.
    """
    return (
        np.zeros((K, COLUMNS)),
        np.zeros(11),
        np.zeros(K + K // BLOCK + 1),
        np.zeros(K, dtype=np.int64),
        np.full(K, -1),
        np.zeros(TIMES),
    )


@jit
def forget(memory):
    """Begin a new run: no level yet, and the gate closed."""
    memory[1][:] = 0.0
    memory[1][GATE] = np.inf
    memory[1][LEFT] = -1.0


ACTIVE_ABOVE = 0.25  # an event likelier than this is cheaper drawn outright than examined

# tau is z scales of the leader below it. From Z_LEAST on, the leader's own low draws are an event
# of the process; below, it is drawn like any other, and many contenders put tau even above it.
Z_LEAST, Z_FEWEST, Z_MOST = 1.5, -6.0, 5.5


@jit
def as_rate(b):
    """A little more than -log(1 - b), for b <= 1/4: a polynomial is cheaper, and we may be rash."""
    return b * (1 + b * (0.5 + 0.6 * b))


@jit
def set_rate(i, rate, level, rates, K):
    """Change an arm's share of the process."""
    change = rate - rates[i]
    rates[i] = rate
    rates[K + i // BLOCK] += change
    level[TOTAL] += change


def place_anew(i, work, level, rates, active, place):
    """Make arm i, which is not the leader, quiet with a rate or active, by its belief and tau."""
    b, rate = bound_above(i, level[TAU], work), 0.0
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
    set_rate(i, rate, level, rates, len(work))


def follow_leader(work, level, rates):
    """A new bound on the leader's own event; without one, the level is no good any more."""
    i = np.int64(level[LEADER])
    b = bound_below(i, level[TAU], work)
    if b < ACTIVE_ABOVE:
        set_rate(i, as_rate(b), level, rates, len(work))
    else:
        level[VALID] = 0.0


def expected_cost(z, leader, work):
    """What a round would cost at this level, roughly, in draws of an arm.

    An active arm costs most of a draw, an event to be examined two or three, and if nothing is
    above tau all K arms are drawn. From Z_LEAST on the leader is watched from below.
    """
    tau = level_at(z, leader, work)
    cost, log_none = 0.0, 0.0
    for i in range(len(work)):
        if i == leader and z >= Z_LEAST:
            continue
        b = chance_above(i, tau, work)
        if b < ACTIVE_ABOVE:
            cost += 2.5 * b
            log_none -= 0.75 * b
        else:
            cost += 0.7
            log_none -= 0.4 if center(i, work) < tau else 1.0
    none = math.exp(log_none)
    if z < Z_LEAST:
        return cost + none * len(work)
    low = chance_below(z, leader, work)
    return cost + 1 - none + min(low, 1.0) * (2.5 + none * len(work))


def cheapest_z(z, leader, work):
    """From z, go on in a direction that makes rounds cheaper, if there is one."""
    start, cost = z, expected_cost(z, leader, work)
    for step in Z_STEPS:
        while Z_FEWEST <= z + step <= Z_MOST:
            other = expected_cost(z + step, leader, work)
            if not other < cost:
                break
            z, cost = z + step, other
        if z != start:
            break
    return z


def relevel(work, level, rates, active, place):
    """Choose the leader and tau anew and sort all arms into quiet and active."""
    K = len(work)
    leader = np.int64(0)
    for i in range(1, K):
        if center(i, work) > center(leader, work):
            leader = i
    z = cheapest_z(level[Z] if level[Z] != 0 else first_z(K), leader, work)
    level[Z] = z
    level[TAU] = level_at(z, leader, work)
    level[LEADER] = leader if z >= Z_LEAST else -1
    level[ACTIVES] = 0.0
    level[TOTAL] = 0.0
    for i in range(len(rates)):
        rates[i] = 0.0
    for i in range(K):
        place[i] = -1
    for i in range(K):
        if i != level[LEADER]:
            place_anew(i, work, level, rates, active, place)
    level[VALID] = 1.0
    if level[LEADER] >= 0:
        follow_leader(work, level, rates)
    if level[VALID] == 0:  # its tail is too heavy for a bound: draw it like the active ones
        level[VALID] = 1.0
        level[LEADER] = -1.0
        place_anew(leader, work, level, rates, active, place)
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
            for i in range(block * BLOCK, min((block + 1) * BLOCK, K)):
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


def replace(arm, memory):
    """Find the place in the process for an arm whose belief changed."""
    work, level, rates, active, place, _ = memory
    if level[VALID] != 0:
        if arm == level[LEADER]:
            follow_leader(work, level, rates)
        elif place[arm] >= 0 or not bound_above_holds(arm, level[TAU], work):
            place_anew(arm, work, level, rates, active, place)
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
    return select_with_care(memory, state)


def select_with_care(memory, state):
    """The same where something may happen."""
    work, level, rates, active, place, _ = memory
    e = level[LEFT]
    if e < 0:
        e, state = exponential(state)
    # With the gate open we are here because e is small: this round is bound to the level that e
    # was compared with. Closed, e is as good as not drawn yet, and the level may be moved.
    if level[GATE] == np.inf and (level[VALID] == 0 or level[WASTE] > level[BUDGET]):
        relevel(work, level, rates, active, place)
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
        done, x, x_log, state = drawn_above(i, tau, best, work, state)
        if done:
            best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    # 2. the others, through the process
    block, start = np.int64(0), 0.0
    while e < level[TOTAL]:
        i, end, block, start = find(e, block, start, rates, len(work))
        if i < 0:
            break
        happened, x, state = examine(i, i == leader, tau, -math.expm1(-rates[i]), work, state)
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
        x, x_log, state = drawn_given(leader, tau, not low, work, state)
        best, best_log, arm, ties, state = better(
            x, x_log, leader, best, best_log, arm, ties, state
        )
        return arm, state
    if best > tau:
        return arm, state
    # 4. nothing above tau, the leader is low: everything not yet drawn, given that it is not above
    level[WASTE] += len(work)
    for i in range(len(work)):
        if place[i] >= 0:
            if not unfinished(i, work):
                continue
            x_log = 0.0
            x, state = finished(i, work, state)
        elif i == leader:
            continue
        else:
            x, x_log, state = drawn_given(i, tau, not low, work, state)
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def refresh_lazy(arm, n, mean, m2, params, memory):
    """The belief of the arm that was pulled, and its place in the process."""
    work, level = memory[0], memory[1]
    learn(arm, n, mean, m2, params, work)
    if arm == level[LEADER] and bound_below_holds(arm, level[TAU], work):
        return  # the common case
    replace(arm, memory)


# What calls the tail, callees first, and how it is compiled by `compilation.lazy_sampler`.
COMPILED = (
    (place_anew, jit),
    (follow_leader, jit),
    (expected_cost, jit),
    (cheapest_z, jit),
    (relevel, jit),
    (replace, inlined),
    (select_with_care, inlined),
    (select_lazy, inlined),
)
