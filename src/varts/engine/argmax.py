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
exponential E tells where the first point is. If E >= R (nearly always) there is none, and no arm
was touched. Otherwise the arm i it falls on is examined: with probability B_i/b_i draw x from the
envelope, accept it with probability s/x; what remains has density f(x) on x > s exactly. The next
point is sought beyond arm i's interval.

**The rest.** Arms likely to exceed tau are *active*: drawn in full every round. If some value
exceeds tau, the leader is drawn given that it exceeds tau (unless it is known not to) and the
largest wins. If nothing exceeds tau, not even the leader, all other arms are drawn given that they
do not. tau is set before a round's draws, so the choice is exact whatever tau is; a bad tau only
costs time. `test_exactness.py` holds all this against quadrature.
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
RATE = 3  # r_i, the length of its interval in the process
S_REF, DF_REF = 4, 5  # the s and nu that the rate's bound was computed for
HELD = 6  # what is known of this round's draw: see `half_drawn`

# Places in `level`, the state of the sampler as a whole.
TAU, TOTAL, LEADER, ACTIVES, VALID, Z = 0, 1, 2, 3, 4, 5
WASTE_UP, WASTE_LOW, BUDGET, SPENT = 6, 7, 8, 9
# The leader wins outright when the exponential is beyond this: the total rate if no arm is active
# and no re-levelling is due, else infinity.
GATE = 10
BLOCK = 64  # arms whose rates are summed together, to find an arm quickly


def remember(K):
    """work, level, blocks of rates, the list of active arms, and each arm's place in it or -1."""
    return (
        np.zeros((K, 7)),
        np.zeros(11),
        np.zeros(K // BLOCK + 1),
        np.zeros(K, dtype=np.int64),
        np.full(K, -1),
    )


@jit
def forget(memory):
    """Begin a new run: no level yet, and the gate closed."""
    memory[1][:] = 0.0
    memory[1][GATE] = np.inf


PHI0 = 1 / math.sqrt(2 * math.pi)
ACTIVE_ABOVE = 0.25  # an event likelier than this is cheaper drawn outright than examined

Z_FIRST, Z_LEAST, Z_MOST, Z_STEP = 3.0, 1.4, 5.0, 0.25  # tau below the leader, in its scales
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
def set_rate(i, rate, work, level, blocks):
    """Change an arm's share of the process."""
    change = rate - work[i, RATE]
    work[i, RATE] = rate
    blocks[i // BLOCK] += change
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
def classify(i, work, level, blocks, active, place):
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
    set_rate(i, rate, work, level, blocks)


@jit
def follow_leader(work, level, blocks):
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
    set_rate(i, as_rate(b), work, level, blocks)


@jit
def relevel(n, work, level, blocks, active, place):
    """Choose the leader and tau anew and sort all arms into quiet and active."""
    K = len(n)
    leader = 0
    for i in range(1, K):
        if work[i, LOC] > work[leader, LOC]:
            leader = i
    # Which of the two wastes was larger? Move tau against it.
    if level[Z] == 0:
        level[Z] = Z_FIRST
    if level[WASTE_UP] > 2 * level[WASTE_LOW]:
        level[Z] = max(Z_LEAST, level[Z] - Z_STEP)
    elif level[WASTE_LOW] > 2 * level[WASTE_UP]:
        level[Z] = min(Z_MOST, level[Z] + Z_STEP)
    loc, scale = work[leader, LOC], work[leader, SCALE]
    tau = loc - level[Z] * scale
    if not tau < loc:  # a point mass, or a scale lost in rounding: any level below will do
        tau = loc - 1e-9 * max(abs(loc), 1e-300)
    level[TAU] = tau
    level[LEADER] = leader
    level[ACTIVES] = 0.0
    level[TOTAL] = 0.0
    blocks[:] = 0.0
    for i in range(K):
        place[i] = -1
        work[i, RATE] = 0.0
        work[i, S_REF] = 0.0
    for i in range(K):
        if i != leader:
            classify(i, work, level, blocks, active, place)
    level[VALID] = 1.0
    follow_leader(work, level, blocks)
    if level[VALID] == 0:  # its tail is too heavy for a bound: draw it like the active ones
        level[VALID] = 1.0
        level[LEADER] = -1.0
        active[np.int64(level[ACTIVES])] = leader
        place[leader] = np.int64(level[ACTIVES])
        level[ACTIVES] += 1
    # Re-levelling costs about as much as 2 K draws: let it stay a fraction of all that was spent.
    level[SPENT] += level[WASTE_UP] + level[WASTE_LOW]
    level[BUDGET] = 2.0 * K + 0.5 * level[SPENT]
    level[WASTE_UP] = level[WASTE_LOW] = 0.0


@jit
def find(position, work, blocks):
    """The arm whose interval holds `position`, and where that interval ends; -1 beyond the last."""
    start = 0.0
    for b in range(len(blocks)):
        if position < start + blocks[b]:
            for i in range(b * BLOCK, min((b + 1) * BLOCK, len(work))):
                start += work[i, RATE]
                if position < start:
                    return i, start
            # rounding put the block's sum a hair beyond its arms': no arm is meant
            return -1, start
        start += blocks[b]
    return -1, start


@jit
def set_gate(level):
    """Let the common case pass if there is one."""
    due = level[WASTE_UP] + level[WASTE_LOW] > level[BUDGET]
    closed = level[VALID] == 0 or level[ACTIVES] > 0 or level[LEADER] < 0 or due
    level[GATE] = np.inf if closed else level[TOTAL]


@jit
def replace(arm, memory):
    """Find the place in the process for an arm whose belief changed."""
    work, level, blocks, active, place = memory
    if level[VALID] != 0:
        if arm == level[LEADER]:
            follow_leader(work, level, blocks)
        else:
            classify(arm, work, level, blocks, active, place)
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


@jit
def select_lazy(t, n, mean, m2, params, memory, state):
    """The arm with the largest draw; the common case is short enough to be inlined."""
    e, state = exponential(state)
    level = memory[1]
    if e >= level[GATE]:
        return np.int64(level[LEADER]), state
    return select_with_care(e, n, memory, state)


@jit
def select_with_care(e, n, memory, state):
    """The same where it takes more than one exponential draw e."""
    work, level, blocks, active, place = memory
    if level[VALID] == 0 or level[WASTE_UP] + level[WASTE_LOW] > level[BUDGET]:
        relevel(n, work, level, blocks, active, place)
    tau = level[TAU]
    leader = np.int64(level[LEADER])
    count = np.int64(level[ACTIVES])
    best, best_log, arm, ties = -np.inf, -np.inf, -1, 1
    low = leader < 0
    # 1. active arms
    level[WASTE_UP] += count
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
    while e < level[TOTAL]:
        i, end = find(e, work, blocks)
        if i < 0:
            break
        side = 1.0 if i != leader else -1.0
        s = side * (tau - work[i, LOC]) / work[i, SCALE]
        ratio = bound(s, work[i, DF]) / -math.expm1(-work[i, RATE])
        x, state = examine(s, work[i, DF], ratio, state)
        if i == leader:
            level[WASTE_LOW] += 2
        else:
            level[WASTE_UP] += 2
        if x > 0:
            low = low or i == leader
            x = work[i, LOC] + side * x * work[i, SCALE]
            best, best_log, arm, ties, state = better(x, 0.0, i, best, best_log, arm, ties, state)
        step, state = exponential(state)
        e = end + step
    # 3. the leader
    if not low:
        if not best > tau:
            set_gate(level)
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
    level[WASTE_LOW] += len(n)
    for i in range(len(n)):
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
