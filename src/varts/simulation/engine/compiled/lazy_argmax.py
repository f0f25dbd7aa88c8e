"""The arm with the largest of K independent draws, sampled exactly and mostly without drawing.

A naive sampler draws every arm in every round. Most of those draws cannot matter. Fix a level tau
somewhat below the leader, the arm with the highest center. Then the winner is the leader
*unless* something rare happens: another arm's draw comes out above tau, or the leader's own below
it. A single exponential draw decides whether any of these rare events happens at all.

**The bound.** The sampler needs to know little about a family of beliefs: a curve above the density
that is easy to draw from, and its mass B, which bounds the chance of a rare event. `student.py` and
`beta.py` are the two families. Both bounds stay valid while a belief moves away from tau and
narrows, which saves most recomputations.

**The process.** Each arm that is not drawn outright has a bound b_i on the chance of its event and
the rate r_i = -log(1 - b_i). The arms share one Poisson process on [0, R), R = sum r_i, an interval
of length r_i each: an arm's interval holds a point with probability b_i, independently. One
exponential E places the first point. If E >= R (nearly always), there is no point, no arm was
touched, and E - R, which is exponential again, serves the next round: a draw lasts until something
happens. Otherwise the arm i it falls on is examined: with probability B_i/b_i draw x from the
envelope, and accept it with probability density over envelope. Accepted draws have the density of
arm i beyond tau exactly (b_i is B_i when it was last computed, and B_i has fallen since). The
search for the next point continues beyond arm i's interval.

**The rest.** Arms likely to exceed tau are *active*: drawn in full every round. If some value
exceeds tau, the leader is drawn given that it exceeds tau (unless it is known not to) and the
largest wins. If nothing exceeds tau, not even the leader, all other arms are drawn given that they
don't. With many contenders it is cheapest to have tau above the leader, which then is an arm like
the others. tau is set before a round's draws, so the choice is exact whatever tau is; a bad tau
only costs time. `tests/simulation/engine/test_lazy_argmax.py` compares all this with quadrature.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from varts.simulation.engine.compiled.arguments import blocks_of, note_invalid
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.rng import exponential, uniform, unlikely
from varts.simulation.engine.scratch import (
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
    WIDTH,
    Z,
)

ACTIVE_ABOVE = 0.25  # an event likelier than this is cheaper to draw outright than to examine

# tau is z scales of the leader below it. From Z_LEAST on, the leader's own low draws are an event
# of the process; below, it is drawn like any other, and many contenders put tau even above it.
Z_LEAST, Z_FEWEST, Z_MOST = 1.5, -6.0, 5.5


class Process(NamedTuple):
    """The part of a `Scratch` that the sampler works on."""

    K: Any
    beliefs: Any
    level: Any
    rates: Any
    active: Any
    place: Any


@jit
def as_rate(b):
    """Return slightly more than -log(1 - b), for b <= 1/4: a bound is enough, and cheaper."""
    return b * (1 + b * (0.5 + 0.6 * b))


@jit
def set_rate(i, rate, p):
    """Change an arm's share of the process."""
    change = rate - p.rates[i]
    p.rates[i] = rate
    p.rates[p.K + i // ARMS_PER_BLOCK] += change
    p.beliefs[WIDTH * i + CHANCE] = -1.0
    p.level[TOTAL] += change


@jit
def find(position, block, start, p):
    """Find the arm whose interval holds `position`; also return its end, its block and that start.

    The search begins at a block and its start. The arm is -1 for a position beyond the last one.
    """
    while block * ARMS_PER_BLOCK < p.K:
        if position < start + p.rates[p.K + block]:
            end = start
            for i in range(block * ARMS_PER_BLOCK, min((block + 1) * ARMS_PER_BLOCK, p.K)):
                end += p.rates[i]
                if position < end:
                    return i, end, block, start
        start += p.rates[p.K + block]
        block += 1
    return -1, start, block, start


@jit
def set_gate(level):
    """Open the gate for the common case, if there is one."""
    due = level[WASTE] > level[BUDGET]
    closed = level[VALID] == 0 or level[ACTIVES] > 0 or level[LEADER] < 0 or due
    level[GATE] = np.inf if closed else level[TOTAL]


@inlined
def better(x, i, best, arm, ties, state):
    """Return the larger of two draws, ties broken at random; two infinite draws are a tie."""
    if x > best:
        return x, i, 1, state
    if x == best:
        ties += 1
        u, state = uniform(state)
        if u * ties < 1:
            arm = i
    return best, arm, ties, state


def make_parts(family: Any) -> tuple[Any, Any]:
    """Return `select_carefully` and `place_again` for a family of beliefs.

    They don't depend on a policy, so they are compiled once for all kernels: see `parts.py`.

    Args:
        family: The module `student` or `beta`.
    """

    @jit
    def place_arm(i, p):
        """Make arm i, which is not the leader, quiet with a rate or active."""
        level = p.level
        b, rate = family.bound_above(i, level[TAU], p.beliefs), 0.0
        count = np.int64(level[ACTIVES])
        if b < ACTIVE_ABOVE:
            rate = as_rate(b)
            if p.place[i] >= 0:  # leave the list of active arms: the last one takes the place
                last = p.active[count - 1]
                p.active[p.place[i]] = last
                p.place[last] = p.place[i]
                p.place[i] = -1
                level[ACTIVES] = count - 1
        elif p.place[i] < 0:
            p.active[count] = i
            p.place[i] = count
            level[ACTIVES] = count + 1
        set_rate(i, rate, p)

    @jit
    def follow_leader(p):
        """Compute a new bound on the leader's own event. Without one, the level is invalid."""
        i = np.int64(p.level[LEADER])
        b = family.bound_below(i, p.level[TAU], p.beliefs)
        if b < ACTIVE_ABOVE:
            set_rate(i, as_rate(b), p)
        else:
            p.level[VALID] = 0.0

    @jit
    def expected_cost(z, leader, K, beliefs):
        """Estimate what a round would cost at this level, in draws of an arm.

        An active arm costs most of a draw, an event to be examined two or three, and if nothing is
        above tau, all K arms are drawn. From Z_LEAST on, the leader's own low draws are an event.
        """
        tau = family.level_at(z, leader, beliefs)
        cost, log_none = 0.0, 0.0
        for i in range(K):
            if i == leader and z >= Z_LEAST:
                continue
            b = family.chance_above(i, tau, beliefs)
            if b < ACTIVE_ABOVE:
                cost += 2.5 * b
                log_none -= 0.75 * b
            else:
                cost += 0.7
                log_none -= 0.4 if family.center(i, beliefs) < tau else 1.0
        none = math.exp(log_none)
        if z < Z_LEAST:
            return cost + none * K
        low = family.chance_below(z, leader, beliefs)
        return cost + 1 - none + min(low, 1.0) * (2.5 + none * K)

    @jit
    def cheapest_z(z, leader, K, beliefs):
        """Move z in a direction that makes rounds cheaper, if there is one."""
        start, cost = z, expected_cost(z, leader, K, beliefs)
        for step in family.Z_STEPS:
            while Z_FEWEST <= z + step <= Z_MOST:
                other = expected_cost(z + step, leader, K, beliefs)
                if not other < cost:
                    break
                z, cost = z + step, other
            if z != start:
                break
        return z

    @jit
    def relevel(t, p):
        """Choose the leader and tau again and sort all arms into quiet and active."""
        K, beliefs, level = p.K, p.beliefs, p.level
        leader = np.int64(0)
        for i in range(1, K):
            if family.center(i, beliefs) > family.center(leader, beliefs):
                leader = i
        if t == 1 and level[FIRST_Z] == level[FIRST_Z]:  # every run begins with the same beliefs
            z = level[FIRST_Z]
        else:
            first = level[Z] if level[Z] != 0 else family.first_z(K)
            z = cheapest_z(first, leader, K, beliefs)
        if t == 1:
            level[FIRST_Z] = z
        level[Z] = z
        level[TAU] = family.level_at(z, leader, beliefs)
        level[LEADER] = leader if z >= Z_LEAST else -1
        level[ACTIVES] = 0.0
        level[TOTAL] = 0.0
        for i in range(K + blocks_of(K)):
            p.rates[i] = 0.0
        for i in range(K):
            p.place[i] = -1
        for i in range(K):
            if i != level[LEADER]:
                place_arm(i, p)
        level[VALID] = 1.0
        if level[LEADER] >= 0:
            follow_leader(p)
        if level[VALID] == 0:  # its tail is too heavy for a bound: draw it like the active ones
            level[VALID] = 1.0
            level[LEADER] = -1.0
            place_arm(leader, p)
        # Releveling costs about as much as K draws. Let it stay a fraction of everything spent:
        # the better the level, the less often it moves.
        level[SPENT] += level[WASTE]
        level[BUDGET] = 16.0 * K + 0.25 * level[SPENT]
        level[WASTE] = 0.0

    @jit
    def place_again(arm, p):
        """Find the place in the process for an arm whose belief changed."""
        level = p.level
        if level[VALID] != 0:
            if arm == level[LEADER]:
                follow_leader(p)
            elif p.place[arm] >= 0 or not family.bound_above_holds(arm, level[TAU], p.beliefs):
                place_arm(arm, p)
        set_gate(level)

    @jit
    def select_carefully(t, p, state):
        """Return the arm with the largest draw when something rare may happen."""
        beliefs, level = p.beliefs, p.level
        e = level[LEFT]
        if e < 0:
            e, state = exponential(state)
        # With the gate open we are here because e is small: this round is bound to the level that e
        # was compared with. Closed, e is as good as not drawn yet, and the level may be moved.
        if level[GATE] == np.inf and (level[VALID] == 0 or level[WASTE] > level[BUDGET]):
            relevel(t, p)
        set_gate(level)
        tau = level[TAU]
        leader = np.int64(level[LEADER])
        count = np.int64(level[ACTIVES])
        best, arm, ties = -np.inf, np.int64(-1), np.int64(0)
        low = leader < 0
        # 1. active arms
        level[WASTE] += count
        for j in range(count):
            i = p.active[j]
            complete, x, state = family.draw_above(i, tau, best, beliefs, state)
            if complete:
                best, arm, ties, state = better(x, i, best, arm, ties, state)
        # 2. the others, through the process
        block, start = np.int64(0), 0.0
        while e < level[TOTAL]:
            i, end, block, start = find(e, block, start, p)
            if i < 0:
                break
            at = WIDTH * i + CHANCE
            if beliefs[at] < 0:  # most arms are examined many times at one rate
                beliefs[at] = -math.expm1(-p.rates[i])
            happened, x, state = family.examine(i, i == leader, tau, beliefs[at], beliefs, state)
            level[WASTE] += 2.5
            if happened:
                low = low or i == leader
                best, arm, ties, state = better(x, i, best, arm, ties, state)
            step, state = exponential(state)
            e = end + step
        level[LEFT] = e - level[TOTAL]
        # 3. the leader
        if not low:
            if not best > tau:
                return leader, state
            # `not low` is True here and False below: two constants would be compiled twice
            x, state = family.draw_given(leader, tau, not low, beliefs, state)
            best, arm, ties, state = better(x, leader, best, arm, ties, state)
            return arm, state
        if best > tau:
            return arm, state
        # 4. nothing is above tau and the leader is low: draw everything that isn't drawn yet, given
        # that it isn't above tau
        level[WASTE] += p.K
        for i in range(p.K):
            if p.place[i] >= 0:
                if not family.is_incomplete(i, beliefs):
                    continue
                x, state = family.complete(i, beliefs, state)
            elif i == leader:
                continue
            else:
                x, state = family.draw_given(i, tau, not low, beliefs, state)
            best, arm, ties, state = better(x, i, best, arm, ties, state)
        return arm, state

    return select_carefully, place_again


def make_lazy_sampler(family: Any, parts: tuple[Any, Any], learn: Any) -> tuple[Any, Any]:
    """Return `select` and `refresh` for a policy, as in `Hooks`.

    Args:
        family: The module `student` or `beta`.
        parts: What `make_parts` returns for that family; they get a `Scratch` for the process.
        learn: Updates an arm's belief and returns whether it is valid:
            `(i, n, mean, m2, parameters, beliefs) -> bool`.
    """
    select_carefully, place_again = parts

    @inlined
    def select(t, s, parameters, state):
        """Return the arm with the largest draw; in the common case that is the leader."""
        level = s.level
        if level[LEFT] >= level[GATE]:
            level[LEFT] -= level[GATE]
            return np.int64(level[LEADER]), state
        return select_carefully(t, s, state)

    @inlined
    def refresh(arm, s, parameters):
        """Update the belief about the arm that was pulled, and its place in the process."""
        level = s.level
        valid = learn(arm, s.n, s.mean, s.m2, parameters, s.beliefs)
        if valid and arm == level[LEADER]:
            if family.bound_below_holds(arm, level[TAU], s.beliefs):
                return  # the common case
        if unlikely(not valid):
            note_invalid(arm, s)
        place_again(arm, s)

    return select, refresh
