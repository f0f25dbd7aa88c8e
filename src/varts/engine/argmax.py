"""The arm with the largest of K independent Student-t draws, sampled exactly, mostly without
drawing: pay only for what is uncertain.

A naive sampler draws every arm in every round. Most of those draws cannot matter. Fix a level tau
somewhat below the leader, the arm with the highest location. Then the winner is the leader
*unless* something rare happens: another arm's draw comes out above tau, or the leader's own below
it. Whether any of these rare events happens at all is decided by a single exponential draw.

**The bound.** Let X be t with nu > 1 degrees of freedom and f its density. For x > s > 0 the
density lies below (x/s) f(x), whose mass and inverse are closed form:

    B(s, nu) = c(nu) nu / ((nu - 1) s) (1 + s^2/nu)^(-(nu - 1)/2)   >=   P(X > s),
    c(nu) = Gamma((nu + 1)/2) / (Gamma(nu/2) sqrt(pi nu))           <=   1/sqrt(2 pi);

for a Gaussian, phi(s)/s. B falls in s and in nu: the derivative of (nu - 1) log(1 + s^2/nu) in nu
is at least log(1 + a) - a/(1 + a) >= 0 with a = s^2/nu. So a bound computed once stays one while s
and nu do not fall, which spares most recomputations, and Gamma functions are only needed when an
event is examined.

**The process.** Each arm that is not drawn outright has a bound b_i on the chance of its event and
the rate r_i = -log(1 - b_i). The arms share one Poisson process on [0, R), R = sum r_i, an interval
of length r_i each: an arm's interval holds a point with probability b_i, independently. One
exponential E tells where the first point is. If E >= R (nearly always) there is none, no arm was
touched, and E - R, which is exponential again, serves the next round: a draw lasts until something
happens. Otherwise the arm i it falls on is examined: with probability B_i/b_i draw x from the
envelope, accept it with probability s/x; what remains has density f(x) on x > s exactly. The next
point is sought beyond arm i's interval.

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
from numba.np.unsafe.ndarray import to_fixed_tuple

from varts.engine.rng import ONE, bits, exponential, inlined, jit, normal, student, t_root, uniform

PARAMETERS = 0  # put in place by kernels.specialise, as in select.py
believe = None

# Columns of `work`, a row per arm.
LOC, SCALE, DF = 0, 1, 2
S_REF, DF_REF = 3, 4  # the s and nu that the bound behind its rate was computed for
HELD = 5  # what is known of this round's draw: see `half_drawn`

# Places in `level`, the state of the sampler as a whole.
TAU, TOTAL, LEADER, ACTIVES, VALID, Z = 0, 1, 2, 3, 4, 5
WASTE, BUDGET, SPENT = 6, 7, 8
# The leader wins outright when the exponential is beyond this: the total rate if no arm is active
# and no re-levelling is due, else infinity.
GATE = 9
LEFT = 10  # what is left of the exponential draw; negative when a new one is due
BLOCK = 64  # arms whose rates are summed together, to find an arm quickly


def remember(K):
    """work, level, rates, the list of active arms, and each arm's place in it or -1.

    `rates` has r_i per arm, close together so that they are quickly searched, and behind them the
    sum of each block of arms.
    """
    return (
        np.zeros((K, 6)),
        np.zeros(11),
        np.zeros(K + K // BLOCK + 1),
        np.zeros(K, dtype=np.int64),
        np.full(K, -1),
    )


@jit
def forget(memory):
    """Begin a new run: no level yet, and the gate closed."""
    memory[1][:] = 0.0
    memory[1][GATE] = np.inf
    memory[1][LEFT] = -1.0


PHI0 = 1 / math.sqrt(2 * math.pi)
ACTIVE_ABOVE = 0.25  # an event likelier than this is cheaper drawn outright than examined

# tau is z scales of the leader below it. From Z_LEAST on, the leader's own low draws are an event
# of the process; below, it is drawn like any other, and many contenders put tau even above it.
Z_FIRST, Z_LEAST, Z_FEWEST, Z_MOST, Z_STEP = 2.5, 1.5, -6.0, 5.5, 0.5
SLACK = 0.3  # how far the leader's s may fall before its bound is computed anew


@jit
def bound(s, nu):
    """B(s, nu) with c(nu) replaced by its limit; nu > 1, s > 0."""
    if nu == np.inf:
        return PHI0 / s * math.exp(-0.5 * s * s)
    return PHI0 * nu / ((nu - 1) * s) * math.exp(-0.5 * (nu - 1) * math.log1p(s * s / nu))


@jit
def peak_ratio(nu):
    """c(nu) / c(inf)."""
    if nu > 1e6:
        return 1 - 0.25 / nu
    return math.exp(math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu)) / math.sqrt(0.5 * nu)


@jit
def examine(s, nu, ratio, state):
    """A draw beyond s from the envelope, or -1 where the event did not happen.

    `ratio` is B(s, nu) with c(inf) for c(nu), over the probability with which we came here.
    """
    u, state = uniform(state)
    if u >= ratio:
        return -1.0, state
    e, state = exponential(state)
    if nu == np.inf:
        x = math.sqrt(s * s + 2 * e)
        return (x if u * x < ratio * s else -1.0), state
    x = math.sqrt(s * s + (nu + s * s) * math.expm1(2 * e / (nu - 1)))
    # Accept with probability ratio * c(nu)/c(inf) * s/x in all. 1 - 1/(4 nu) <= c(nu)/c(inf), and
    # the two are so close that Gamma functions are rarely needed.
    left, right = u * x, ratio * s
    if left < right * (1 - 0.25 / nu) or (left < right and left < right * peak_ratio(nu)):
        return x, state
    return -1.0, state


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


@inlined
def drawn(i, work, state):
    """A full draw of arm i, as (value, signed log of an infinite one, state)."""
    return student(work[i, LOC], work[i, SCALE], work[i, DF], state)


@inlined
def half_drawn(i, floor, work, state):
    """Draw arm i, whose location is not above `floor`, only as far as needed; df >= 4.

    Returns the draw if it is above `floor`, else -inf. What was settled on the way is kept in HELD:
    -1 for a draw below its location (a coin decides that, and half the time nothing more is
    needed), or the z^2 of one above it, whose root was not needed as squares were compared first.
    """
    word, state = bits(state)
    if word & ONE:
        work[i, HELD] = -1.0
        return -np.inf, state
    nu = work[i, DF]
    if nu == np.inf:
        z, state = normal(state)
    else:
        z, state = t_root(nu, state)
    z2 = z * z
    work[i, HELD] = z2
    need = floor - work[i, LOC]
    top, bottom = square(z2, nu)
    if top * work[i, SCALE] ** 2 <= need * need * bottom:
        return -np.inf, state
    return work[i, LOC] + work[i, SCALE] * math.sqrt(top / bottom), state


@jit
def finished(i, work, state):
    """The draw that `half_drawn` left unfinished."""
    z2, nu = work[i, HELD], work[i, DF]
    side = 1.0
    if z2 < 0:
        side = -1.0
        if nu == np.inf:
            z, state = normal(state)
        else:
            z, state = t_root(nu, state)
        z2 = z * z
    top, bottom = square(z2, nu)
    return work[i, LOC] + side * work[i, SCALE] * math.sqrt(top / bottom), state


@inlined
def square(z2, nu):
    """Numerator and denominator of the squared standard draw."""
    if nu == np.inf:
        return z2, 1.0
    return z2 * nu, nu - 2 - z2


@jit
def classify(i, work, level, rates, active, place):
    """Make arm i, which is not the leader, quiet with a rate or active, by its belief and tau."""
    tau, loc, scale, nu = level[TAU], work[i, LOC], work[i, SCALE], work[i, DF]
    quiet, rate, s = False, 0.0, 0.0
    if loc < tau and nu > 1:
        s = (tau - loc) / scale
        if s >= work[i, S_REF] and nu >= work[i, DF_REF] and work[i, S_REF] > 0:
            return  # the bound it has still holds
        if s > 0.8:
            b = bound(s, nu) if s < np.inf else 0.0
            if b < ACTIVE_ABOVE:
                quiet, rate = True, as_rate(b)
    count = np.int64(level[ACTIVES])
    if quiet:
        if place[i] >= 0:  # leave the list of active arms: the last takes the place
            last = active[count - 1]
            active[place[i]] = last
            place[last] = place[i]
            place[i] = -1
            level[ACTIVES] = count - 1
        work[i, S_REF] = s
        work[i, DF_REF] = nu
    else:
        if place[i] < 0:
            active[count] = i
            place[i] = count
            level[ACTIVES] = count + 1
        work[i, S_REF] = 0.0
    set_rate(i, rate, level, rates, len(work))


@jit
def follow_leader(work, level, rates):
    """The leader's belief changed: keep, renew or give up the bound on its own event."""
    i = np.int64(level[LEADER])
    scale, nu = work[i, SCALE], work[i, DF]
    above = work[i, LOC] - level[TAU]
    s = above / scale if scale > 0 else math.copysign(np.inf, above)
    reference = work[i, S_REF]
    holds = reference > 0 and s >= reference and nu >= work[i, DF_REF]
    if holds and (s < reference + 3 * SLACK or s == np.inf):
        return
    if s < 1 or not nu > 1:
        level[VALID] = 0.0
        return
    reference = max(s - SLACK, 0.5 * s)
    b = bound(reference, nu) if reference < np.inf else 0.0
    if not b < ACTIVE_ABOVE:
        level[VALID] = 0.0
        return
    work[i, S_REF] = reference
    work[i, DF_REF] = nu
    set_rate(i, as_rate(b), level, rates, len(work))


@jit
def level_at(z, leader, work):
    """tau at z scales below the leader."""
    loc = work[leader, LOC]
    tau = loc - z * work[leader, SCALE]
    if tau == loc:  # a point mass, or a scale lost in rounding: any level below will do
        tau = loc - 1e-9 * max(abs(loc), 1e-300)
    return tau


@jit
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
        nu = work[i, DF]
        s = (tau - work[i, LOC]) / work[i, SCALE]
        if s > 8 and nu > 20:
            continue  # next to never
        b = bound(s, nu) if s > 0.8 and nu > 1 else 1.0
        if b < ACTIVE_ABOVE:
            cost += 2.5 * b
            log_none -= 0.75 * b
        else:
            cost += 0.7
            log_none -= 0.4 if s > 0 else 1.0
    none = math.exp(log_none)
    if z < Z_LEAST:
        return cost + none * len(work)
    low = bound(z - SLACK, work[leader, DF]) if work[leader, DF] > 1 else 1.0
    return cost + 1 - none + min(low, 1.0) * (2.5 + none * len(work))


@jit
def relevel(work, level, rates, active, place):
    """Choose the leader and tau anew and sort all arms into quiet and active."""
    K = len(work)
    leader = 0
    for i in range(1, K):
        if work[i, LOC] > work[leader, LOC]:
            leader = i
    # From where tau was, go on in the direction that makes rounds cheaper.
    z = level[Z] if level[Z] != 0 else Z_FIRST
    cost, step, turned = expected_cost(z, leader, work), -Z_STEP, False
    while Z_FEWEST < z < Z_MOST:
        other = expected_cost(z + step, leader, work)
        if other < cost:
            z, cost, turned = z + step, other, True
        elif turned:
            break
        else:
            step, turned = -step, True
    level[Z] = z
    level[TAU] = level_at(z, leader, work)
    level[LEADER] = leader if z >= Z_LEAST else -1
    level[ACTIVES] = 0.0
    level[TOTAL] = 0.0
    for i in range(len(rates)):
        rates[i] = 0.0
    for i in range(K):
        place[i] = -1
        work[i, S_REF] = 0.0
    for i in range(K):
        if i != level[LEADER]:
            classify(i, work, level, rates, active, place)
    level[VALID] = 1.0
    if level[LEADER] >= 0:
        follow_leader(work, level, rates)
    if level[VALID] == 0:  # its tail is too heavy for a bound: draw it like the active ones
        level[VALID] = 1.0
        level[LEADER] = -1.0
        classify(leader, work, level, rates, active, place)
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


@inlined
def replace(arm, memory):
    """Find the place in the process for an arm whose belief changed."""
    work, level, rates, active, place = memory
    if level[VALID] != 0:
        if arm == level[LEADER]:
            follow_leader(work, level, rates)
        else:
            classify(arm, work, level, rates, active, place)
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


@inlined
def select_lazy(t, n, mean, m2, params, memory, state):
    """The arm with the largest draw; in the common case that is the leader."""
    level = memory[1]
    if level[LEFT] >= level[GATE]:
        level[LEFT] -= level[GATE]
        return np.int64(level[LEADER]), state
    return select_with_care(memory, state)


@inlined
def select_with_care(memory, state):
    """The same where something may happen."""
    work, level, rates, active, place = memory
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
    best, best_log, arm, ties = -np.inf, -np.inf, -1, 1
    low = leader < 0
    # 1. active arms
    level[WASTE] += count
    for j in range(count):
        i = active[j]
        if work[i, DF] >= 4 and work[i, LOC] <= tau:
            x, state = half_drawn(i, max(tau, best), work, state)
            if x == -np.inf:
                continue
            x_log = 0.0
        else:
            x, x_log, state = drawn(i, work, state)
        work[i, HELD] = 0.0
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    # 2. the others, through the process
    block, start = 0, 0.0
    while e < level[TOTAL]:
        i, end, block, start = find(e, block, start, rates, len(work))
        if i < 0:
            break
        side = 1.0 if i != leader else -1.0
        s = side * (tau - work[i, LOC]) / work[i, SCALE]
        ratio = bound(s, work[i, DF]) / -math.expm1(-rates[i])
        x, state = examine(s, work[i, DF], ratio, state)
        level[WASTE] += 2.5
        if x > 0:
            low = low or i == leader
            x = work[i, LOC] + side * x * work[i, SCALE]
            best, best_log, arm, ties, state = better(x, 0.0, i, best, best_log, arm, ties, state)
        step, state = exponential(state)
        e = end + step
    level[LEFT] = e - level[TOTAL]
    # 3. the leader
    if not low:
        if not best > tau:
            return leader, state
        while True:
            x, x_log, state = drawn(leader, work, state)
            if x > tau:
                break
        best, best_log, arm, ties, state = better(
            x, x_log, leader, best, best_log, arm, ties, state
        )
        return arm, state
    if best > tau:
        return arm, state
    # 4. nothing above tau: everything not yet drawn, given that it is not
    level[WASTE] += len(work)
    for i in range(len(work)):
        if place[i] >= 0:
            if work[i, HELD] == 0:
                continue
            x_log = 0.0
            x, state = finished(i, work, state)
        elif i == leader:
            continue
        else:
            while True:
                x, x_log, state = drawn(i, work, state)
                if x <= tau:
                    break
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def refresh_lazy(arm, n, mean, m2, params, memory):
    """The belief of the arm that was pulled, and its place in the process."""
    work, level = memory[0], memory[1]
    extra = to_fixed_tuple(params[arm], PARAMETERS)
    loc, scale, df = believe(n[arm], mean[arm], m2[arm], *extra)
    loc, scale, df = float(loc), float(scale), float(df)
    work[arm, LOC] = loc
    work[arm, SCALE] = scale
    work[arm, DF] = df
    # A leader whose bound still holds, and is not much too wide, needs nothing more.
    reference = work[arm, S_REF] * scale
    above = loc - level[TAU]
    if (
        arm == level[LEADER]
        and above >= reference
        and above <= reference + 3 * SLACK * scale
        and df >= work[arm, DF_REF]
    ):
        return
    replace(arm, memory)
