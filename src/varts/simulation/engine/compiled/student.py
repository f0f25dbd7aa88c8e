"""Student-t beliefs for the lazy sampler of `lazy_argmax.py`.

**The bound.** Let X be t with nu > 1 degrees of freedom and f its density. For x > s > 0 the
density lies below (x/s) f(x), whose mass and inverse are closed form:

    B(s, nu) = c(nu) nu / ((nu - 1) s) (1 + s^2/nu)^(-(nu - 1)/2)   >=   P(X > s),
    c(nu) = Gamma((nu + 1)/2) / (Gamma(nu/2) sqrt(pi nu))           <=   1/sqrt(2 pi);

for a Gaussian, phi(s)/s. B falls in s and in nu: the derivative of (nu - 1) log(1 + s^2/nu) in nu
is at least log(1 + a) - a/(1 + a) >= 0 with a = s^2/nu. So a bound computed once stays valid while
s and nu don't fall, which saves most recomputations. Gamma functions are only needed when an event
is examined; everywhere else c(nu) is replaced by its limit.

**Examining an event.** Draw x from the envelope and accept it with probability s/x. Accepted draws
have density f(x) on x > s exactly.
"""

from __future__ import annotations

import math

import numpy as np

from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.rng import (
    ONE,
    bits,
    exponential,
    normal,
    student,
    student_heavy,
    student_light,
    t_root,
    uniform,
    unlikely,
)
from varts.simulation.engine.scratch import WIDTH

# Columns of `beliefs`, a row per arm.
LOC, SCALE, DF = 0, 1, 2
S_REF, DF_REF = 3, 4  # the s and nu that the stored bound was computed for
HELD = 5  # what is known about this round's draw: see `half_draw`
BOUND = 6  # the bound for the present belief and tau; -1: unknown

UNDERFLOW = -745.2  # exp of less is 0
PHI0 = 1 / math.sqrt(2 * math.pi)
ACTIVE_S = 0.98  # up to here the bound is above lazy_argmax.ACTIVE_ABOVE for every nu
SLACK = 0.3  # how far the leader's s may fall before its bound is computed again


def make_learn(believe, parameters_of):
    """Return a function that updates the belief about an arm by the policy's formula.

    It returns whether the belief is valid. An invalid one, such as a negative scale, is replaced by
    a point mass, because a draw from it might never end. `parameters_of(parameters, i)` returns the
    extra arguments of `believe` as a tuple.
    """

    @inlined
    def learn(i, n, mean, m2, parameters, beliefs):
        loc, scale, df = believe(n[i], mean[i], m2[i], *parameters_of(parameters, i))
        loc, scale, df = float(loc), float(scale), float(df)
        valid = scale >= 0 and df > 0 and loc - loc == 0
        if unlikely(not valid):
            loc, scale, df = 0.0, 0.0, np.inf
        beliefs[WIDTH * i + LOC] = loc
        beliefs[WIDTH * i + SCALE] = scale
        beliefs[WIDTH * i + DF] = df
        beliefs[WIDTH * i + BOUND] = -1.0
        return valid

    return learn


@inlined
def center(i, beliefs):
    """Return the location of a belief. The leader has the highest."""
    return beliefs[WIDTH * i + LOC]


Z_STEPS: tuple[float, ...] = (-0.5, 0.5)


@jit
def first_z(K):
    """Return the z to try first."""
    return 2.5


@jit
def level_at(z, i, beliefs):
    """Return the level z scales below arm i."""
    loc = beliefs[WIDTH * i + LOC]
    tau = loc - z * beliefs[WIDTH * i + SCALE]
    if tau == loc:  # a point mass, or a scale lost in rounding: any level below works
        tau = loc - 1e-9 * max(abs(loc), 1e-300)
    return tau


# ------------------------------------------------------------------------------------- the bound


@jit
def bound(s, nu):
    """B(s, nu) with c(nu) replaced by its limit; nu > 1, s > 0."""
    if nu == np.inf:
        factor, exponent = PHI0 / s, -0.5 * s * s
    else:
        factor = PHI0 * nu / ((nu - 1) * s)
        exponent = -0.5 * (nu - 1) * math.log1p(s * s / nu)
    # The C library takes ten times as long for an exponential that underflows.
    return factor * math.exp(exponent) if exponent > UNDERFLOW else 0.0


@jit
def bound_above(i, tau, beliefs):
    """Bound the chance that arm i is above tau (1: no bound), and store what the bound assumes."""
    loc, scale, nu = beliefs[WIDTH * i + LOC], beliefs[WIDTH * i + SCALE], beliefs[WIDTH * i + DF]
    if not (loc < tau and nu > 1):
        return 1.0
    s = (tau - loc) / scale
    beliefs[WIDTH * i + S_REF] = s
    beliefs[WIDTH * i + DF_REF] = nu
    if not s > ACTIVE_S:
        return 1.0
    beliefs[WIDTH * i + BOUND] = bound(s, nu) if s < np.inf else 0.0
    return beliefs[WIDTH * i + BOUND]


@jit
def bound_above_holds(i, tau, beliefs):
    """Return whether the stored bound for arm i still holds."""
    loc, scale, nu = beliefs[WIDTH * i + LOC], beliefs[WIDTH * i + SCALE], beliefs[WIDTH * i + DF]
    return (
        loc < tau
        and (tau - loc) / scale >= beliefs[WIDTH * i + S_REF]
        and nu >= beliefs[WIDTH * i + DF_REF]
    )


@jit
def bound_below(i, tau, beliefs):
    """Bound the chance that arm i, the leader, is below tau, with some slack."""
    scale, nu = beliefs[WIDTH * i + SCALE], beliefs[WIDTH * i + DF]
    beliefs[WIDTH * i + BOUND] = -1.0
    above = beliefs[WIDTH * i + LOC] - tau
    s = above / scale if scale > 0 else math.copysign(np.inf, above)
    if s < 1 or not nu > 1:
        return 1.0
    reference = max(s - SLACK, 0.5 * s)
    beliefs[WIDTH * i + S_REF] = reference
    beliefs[WIDTH * i + DF_REF] = nu
    return bound(reference, nu) if reference < np.inf else 0.0


@inlined
def bound_below_holds(i, tau, beliefs):
    """Return whether the leader's bound still holds and isn't much too wide."""
    scale = beliefs[WIDTH * i + SCALE]
    reference = beliefs[WIDTH * i + S_REF] * scale
    above = beliefs[WIDTH * i + LOC] - tau
    return (
        above >= reference
        and above <= reference + 3 * SLACK * scale
        and beliefs[WIDTH * i + DF] >= beliefs[WIDTH * i + DF_REF]
    )


@jit
def chance_above(i, tau, beliefs):
    """Approximate `bound_above` without storing anything."""
    nu = beliefs[WIDTH * i + DF]
    s = (tau - beliefs[WIDTH * i + LOC]) / beliefs[WIDTH * i + SCALE]
    if s > 8 and nu > 20:
        return 0.0  # practically never
    return bound(s, nu) if s > ACTIVE_S and nu > 1 else 1.0


@jit
def chance_below(z, i, beliefs):
    """Approximate the chance that the leader's draw is more than z scales low."""
    return bound(z - SLACK, beliefs[WIDTH * i + DF]) if beliefs[WIDTH * i + DF] > 1 else 1.0


@jit
def peak_ratio(nu):
    """Return c(nu) / c(inf)."""
    if nu > 1e6:
        return 1 - 0.25 / nu
    return math.exp(math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu)) / math.sqrt(0.5 * nu)


@jit
def beyond(s, nu, ratio, state):
    """Draw from the standard distribution beyond s, or return -1 if the event didn't happen.

    `ratio` is B(s, nu) with c(inf) for c(nu), over the probability of the
    event being examined at all.
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


@inlined
def examine(i, below, tau, chance, beliefs, state):
    """Examine arm i's event, which happens with probability `chance`: did it, and what is the draw?

    The event is a draw above tau, or `below` it for the leader.
    """
    side = -1.0 if below else 1.0
    s = side * (tau - beliefs[WIDTH * i + LOC]) / beliefs[WIDTH * i + SCALE]
    if beliefs[WIDTH * i + BOUND] < 0:
        beliefs[WIDTH * i + BOUND] = bound(s, beliefs[WIDTH * i + DF])
    x, state = beyond(s, beliefs[WIDTH * i + DF], beliefs[WIDTH * i + BOUND] / chance, state)
    return x > 0, beliefs[WIDTH * i + LOC] + side * x * beliefs[WIDTH * i + SCALE], state


# ----------------------------------------------------------------------------------------- draws


@inlined
def draw(i, beliefs, state):
    """Draw arm i in full."""
    at = WIDTH * i
    return student(beliefs[at + LOC], beliefs[at + SCALE], beliefs[at + DF], state)


@jit
def draw_given(i, tau, above, beliefs, state):
    """Draw arm i in full, given that it is above tau, or given that it isn't.

    There are two loops because LLVM would move the logarithms of the heavy tails out of a common
    one and compute them for every draw.
    """
    loc, scale, df = beliefs[WIDTH * i + LOC], beliefs[WIDTH * i + SCALE], beliefs[WIDTH * i + DF]
    if not df >= 4:
        while True:
            x, state = student_heavy(loc, scale, df, state)
            if (x > tau) == above:
                return x, state
    while True:
        x, state = student_light(loc, scale, df, state)
        if (x > tau) == above:
            return x, state


@inlined
def draw_above(i, tau, best, beliefs, state):
    """Draw an active arm; return whether the draw is complete, and the draw.

    A draw that can't win is left incomplete.
    """
    if beliefs[WIDTH * i + DF] >= 4 and beliefs[WIDTH * i + LOC] <= tau:
        x, state = half_draw(i, max(tau, best), beliefs, state)
        if x == -np.inf:
            return False, x, state
        beliefs[WIDTH * i + HELD] = 0.0
        return True, x, state
    beliefs[WIDTH * i + HELD] = 0.0
    x, state = draw(i, beliefs, state)
    return True, x, state


@inlined
def half_draw(i, floor, beliefs, state):
    """Draw arm i, whose location is not above `floor`, only as far as necessary; df >= 4.

    Returns the draw if it is above `floor`, else -inf. HELD keeps what has been decided: -1 for a
    draw below the location (a coin decides that, and half the time nothing more is needed), or the
    z^2 of one above it. Its root is not taken, because squares are compared first.
    """
    word, state = bits(state)
    if word & ONE:
        beliefs[WIDTH * i + HELD] = -1.0
        return -np.inf, state
    nu = beliefs[WIDTH * i + DF]
    if nu == np.inf:
        z, state = normal(state)
    else:
        z, state = t_root(nu, state)
    z2 = z * z
    beliefs[WIDTH * i + HELD] = z2
    need = floor - beliefs[WIDTH * i + LOC]
    top, bottom = square(z2, nu)
    if top * beliefs[WIDTH * i + SCALE] ** 2 <= need * need * bottom:
        return -np.inf, state
    return beliefs[WIDTH * i + LOC] + beliefs[WIDTH * i + SCALE] * math.sqrt(top / bottom), state


@inlined
def is_incomplete(i, beliefs):
    """Return whether `half_draw` stopped before the draw of arm i was complete."""
    return beliefs[WIDTH * i + HELD] != 0


@jit
def complete(i, beliefs, state):
    """Complete a draw that `half_draw` left."""
    z2, nu = beliefs[WIDTH * i + HELD], beliefs[WIDTH * i + DF]
    side = 1.0
    if z2 < 0:
        side = -1.0
        if nu == np.inf:
            z, state = normal(state)
        else:
            z, state = t_root(nu, state)
        z2 = z * z
    top, bottom = square(z2, nu)
    scale = beliefs[WIDTH * i + SCALE]
    return beliefs[WIDTH * i + LOC] + side * scale * math.sqrt(top / bottom), state


@inlined
def square(z2, nu):
    """Return the numerator and the denominator of the squared standard draw."""
    if nu == np.inf:
        return z2, 1.0
    return z2 * nu, nu - 2 - z2
