"""Student-t beliefs for the lazy sampler of `lazy_argmax.py`: an `Envelope`.

**The bound.** Let X be t with nu > 1 degrees of freedom and f its density. For x > s > 0 the
density lies below (x/s) f(x), whose mass and inverse are closed form:

    B(s, nu) = c(nu) nu / ((nu - 1) s) (1 + s^2/nu)^(-(nu - 1)/2)   >=   P(X > s),
    c(nu) = Gamma((nu + 1)/2) / (Gamma(nu/2) sqrt(pi nu))           <=   1/sqrt(2 pi);

for a Gaussian, phi(s)/s. B falls in s and in nu: the derivative of (nu - 1) log(1 + s^2/nu) in nu
is at least log(1 + a) - a/(1 + a) >= 0 with a = s^2/nu. So a bound computed once stays one while s
and nu do not fall, which spares most recomputations, and Gamma functions are only needed when an
event is examined: c(nu) is replaced by its limit everywhere else.

**An event examined.** Draw x from the envelope, accept it with probability s/x; what remains has
density f(x) on x > s exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import (
    ONE,
    bits,
    exponential,
    first_of,
    normal,
    student,
    student_heavy,
    student_light,
    t_root,
    uniform,
    unlikely,
)
from varts.simulation.engine.specialisation import UNBOUND

PARAMETERS: int = UNBOUND  # how many extra arguments the formula takes
believe: Any = UNBOUND  # (n, mean, m2, *parameters) -> location, scale, degrees of freedom

# Columns of `beliefs`, a row per arm.
LOC, SCALE, DF = 0, 1, 2
S_REF, DF_REF = 3, 4  # the s and nu that the bound behind its rate was computed for
HELD = 5  # what is known of this round's draw: see `half_drawn`
BOUND = 6  # the bound for the present belief and tau, or -1 if it is not known

UNDERFLOW = -745.2  # exp of less is 0
PHI0 = 1 / math.sqrt(2 * math.pi)
ACTIVE_S = 0.98  # up to here the bound is above lazy_argmax.ACTIVE_ABOVE for every nu
SLACK = 0.3  # how far the leader's s may fall before its bound is computed anew


def learn(i, n, mean, m2, params, beliefs):
    """Arm i's belief, by the policy's formula; whether it is one.

    What is none, such as a negative scale, is replaced by a point: a draw might never end.
    """
    extra = first_of(params[i], PARAMETERS)
    loc, scale, df = believe(n[i], mean[i], m2[i], *extra)
    loc, scale, df = float(loc), float(scale), float(df)
    sound = scale >= 0 and df > 0 and loc - loc == 0
    if unlikely(not sound):
        loc, scale, df = 0.0, 0.0, np.inf
    beliefs[i, LOC] = loc
    beliefs[i, SCALE] = scale
    beliefs[i, DF] = df
    beliefs[i, BOUND] = -1.0
    return sound


@inlined
def center(i, beliefs):
    """Where a belief is: the leader's is highest."""
    return beliefs[i, LOC]


Z_STEPS: tuple[float, ...] = (-0.5, 0.5)


@jit
def first_z(K):
    """Where to look for a level first."""
    return 2.5


@jit
def level_at(z, i, beliefs):
    """The level z scales below arm i."""
    loc = beliefs[i, LOC]
    tau = loc - z * beliefs[i, SCALE]
    if tau == loc:  # a point mass, or a scale lost in rounding: any level below will do
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
    # The C library takes ten times as long for an exponential that is too small for a number.
    return factor * math.exp(exponent) if exponent > UNDERFLOW else 0.0


@jit
def bound_above(i, tau, beliefs):
    """A bound on the chance that arm i is above tau, 1 for none; notes what it is computed for."""
    loc, scale, nu = beliefs[i, LOC], beliefs[i, SCALE], beliefs[i, DF]
    if not (loc < tau and nu > 1):
        return 1.0
    s = (tau - loc) / scale
    beliefs[i, S_REF] = s
    beliefs[i, DF_REF] = nu
    if not s > ACTIVE_S:
        return 1.0
    beliefs[i, BOUND] = bound(s, nu) if s < np.inf else 0.0
    return beliefs[i, BOUND]


@jit
def bound_above_holds(i, tau, beliefs):
    """Whether the bound noted for arm i still is one."""
    loc, scale, nu = beliefs[i, LOC], beliefs[i, SCALE], beliefs[i, DF]
    return loc < tau and (tau - loc) / scale >= beliefs[i, S_REF] and nu >= beliefs[i, DF_REF]


@jit
def bound_below(i, tau, beliefs):
    """As `bound_above` for the chance that arm i, the leader, is below tau; with some slack."""
    scale, nu = beliefs[i, SCALE], beliefs[i, DF]
    beliefs[i, BOUND] = -1.0
    above = beliefs[i, LOC] - tau
    s = above / scale if scale > 0 else math.copysign(np.inf, above)
    if s < 1 or not nu > 1:
        return 1.0
    reference = max(s - SLACK, 0.5 * s)
    beliefs[i, S_REF] = reference
    beliefs[i, DF_REF] = nu
    return bound(reference, nu) if reference < np.inf else 0.0


@inlined
def bound_below_holds(i, tau, beliefs):
    """Whether the leader's bound still is one, and not much too wide."""
    scale = beliefs[i, SCALE]
    reference = beliefs[i, S_REF] * scale
    above = beliefs[i, LOC] - tau
    return (
        above >= reference
        and above <= reference + 3 * SLACK * scale
        and beliefs[i, DF] >= beliefs[i, DF_REF]
    )


@jit
def chance_above(i, tau, beliefs):
    """`bound_above`, roughly, and without a note."""
    nu = beliefs[i, DF]
    s = (tau - beliefs[i, LOC]) / beliefs[i, SCALE]
    if s > 8 and nu > 20:
        return 0.0  # next to never
    return bound(s, nu) if s > ACTIVE_S and nu > 1 else 1.0


@jit
def chance_below(z, i, beliefs):
    """The leader's chance to be more than z scales low, roughly."""
    return bound(z - SLACK, beliefs[i, DF]) if beliefs[i, DF] > 1 else 1.0


@jit
def peak_ratio(nu):
    """c(nu) / c(inf)."""
    if nu > 1e6:
        return 1 - 0.25 / nu
    return math.exp(math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu)) / math.sqrt(0.5 * nu)


@jit
def beyond(s, nu, ratio, state):
    """A standard draw beyond s from the envelope, or -1 where the event did not happen.

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


@inlined
def examine(i, below, tau, chance, beliefs, state):
    """Whether arm i's event happened, which is looked at with probability `chance`, and its draw.

    The event is a draw above tau, or `below` it for the leader.
    """
    side = -1.0 if below else 1.0
    s = side * (tau - beliefs[i, LOC]) / beliefs[i, SCALE]
    if beliefs[i, BOUND] < 0:
        beliefs[i, BOUND] = bound(s, beliefs[i, DF])
    x, state = beyond(s, beliefs[i, DF], beliefs[i, BOUND] / chance, state)
    return x > 0, beliefs[i, LOC] + side * x * beliefs[i, SCALE], state


# ----------------------------------------------------------------------------------------- draws


@inlined
def drawn(i, beliefs, state):
    """A full draw of arm i, as (value, signed log of an infinite one, state)."""
    return student(beliefs[i, LOC], beliefs[i, SCALE], beliefs[i, DF], state)


@jit
def drawn_given(i, tau, above, beliefs, state):
    """A full draw given that it is above tau, or that it is not.

    Two loops, as LLVM would take the logarithms of the heavy tails out of a common one, and have
    them computed for every draw.
    """
    loc, scale, df = beliefs[i, LOC], beliefs[i, SCALE], beliefs[i, DF]
    if not df >= 4:
        while True:
            x, x_log, state = student_heavy(loc, scale, df, state)
            if (x > tau) == above:
                return x, x_log, state
    while True:
        x, state = student_light(loc, scale, df, state)
        if (x > tau) == above:
            return x, 0.0, state


@inlined
def drawn_above(i, tau, best, beliefs, state):
    """An active arm: whether its draw is done, and the draw. It need not be where it cannot win."""
    if beliefs[i, DF] >= 4 and beliefs[i, LOC] <= tau:
        x, state = half_drawn(i, max(tau, best), beliefs, state)
        if x == -np.inf:
            return False, x, 0.0, state
        beliefs[i, HELD] = 0.0
        return True, x, 0.0, state
    beliefs[i, HELD] = 0.0
    x, x_log, state = drawn(i, beliefs, state)
    return True, x, x_log, state


@inlined
def half_drawn(i, floor, beliefs, state):
    """Draw arm i, whose location is not above `floor`, only as far as needed; df >= 4.

    Returns the draw if it is above `floor`, else -inf. What was settled on the way is kept in HELD:
    -1 for a draw below its location (a coin decides that, and half the time nothing more is
    needed), or the z^2 of one above it, whose root was not needed as squares were compared first.
    """
    word, state = bits(state)
    if word & ONE:
        beliefs[i, HELD] = -1.0
        return -np.inf, state
    nu = beliefs[i, DF]
    if nu == np.inf:
        z, state = normal(state)
    else:
        z, state = t_root(nu, state)
    z2 = z * z
    beliefs[i, HELD] = z2
    need = floor - beliefs[i, LOC]
    top, bottom = square(z2, nu)
    if top * beliefs[i, SCALE] ** 2 <= need * need * bottom:
        return -np.inf, state
    return beliefs[i, LOC] + beliefs[i, SCALE] * math.sqrt(top / bottom), state


@inlined
def unfinished(i, beliefs):
    """Whether `half_drawn` left arm i's draw at that."""
    return beliefs[i, HELD] != 0


@jit
def finished(i, beliefs, state):
    """The draw that `half_drawn` left unfinished."""
    z2, nu = beliefs[i, HELD], beliefs[i, DF]
    side = 1.0
    if z2 < 0:
        side = -1.0
        if nu == np.inf:
            z, state = normal(state)
        else:
            z, state = t_root(nu, state)
        z2 = z * z
    top, bottom = square(z2, nu)
    return beliefs[i, LOC] + side * beliefs[i, SCALE] * math.sqrt(top / bottom), state


@inlined
def square(z2, nu):
    """Numerator and denominator of the squared standard draw."""
    if nu == np.inf:
        return z2, 1.0
    return z2 * nu, nu - 2 - z2
