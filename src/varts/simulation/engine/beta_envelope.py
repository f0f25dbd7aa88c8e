"""Beta beliefs for the lazy sampler of `lazy_argmax.py`: an `Envelope`.

**The envelope.** Let X be Beta(a, b) with a, b >= 1, N = a + b, p = a/N, and f its density. Take a
level s >= p and write r = 1 - s, c = r/s, and y = (1 - x)/r for x in [s, 1]. Then
x/s = 1 + c (1 - y), and log(1 + c (1 - y)) <= c (1 - y) <= -c log y, so that

    f(x) = f(s) (x/s)^(a-1) y^(b-1)   <=   f(s) y^(m-1),   m = b - (a - 1) c.

With d = N (s - p) = s b - r a, which is how far out s is, m = (d + r)/s > 0: the envelope has the
mass f(s) r/m, and y is drawn from it as exp(-e/m), e exponential.

**The bound.** By Stirling, Gamma(x) = sqrt(2 pi/x) (x/e)^x exp(theta(x)), and theta > 0 falls. In
1/B(a, b), which f(s) contains, theta(N) - theta(a) - theta(b) < 0 may be left out for a bound:

    B = sqrt(ab / (2 pi N)) exp(-N KL(p, s)) / (d + r)   >=   P(X > s),
    -N KL(p, s) = a log(1 + d/a) + b log(1 - d/b),

the counterpart of the Gaussian's phi(s)/s, and Gamma functions are only needed when an event is
examined. B is a bound for other beliefs, too:

- it falls as p falls, N the same. d log B / dp is
  (1/p - 1/(1-p))/2 + N (logit s - logit p) + N/(d + r); the second term is positive, and the
  third is at least 1/(1-p), as d + r <= N (1-p);
- it falls as N grows, p the same, if d >= r. d log B / dN is
  1/(2N) - KL(p, s) - d/(d + r)/N, and d/(d + r) >= 1/2. (d then grows as well.)

So a bound computed for (p, N) is one while p does not grow, as N never falls and tau stays where it
is. A leader's draw *below* tau is the same with X turned into 1 - X: a and b change places, and
so do s and r. Both s and r are passed on, as 1 - r need not be s to the last digit.
"""

from __future__ import annotations

import math

from varts.beliefs import distributions
from varts.policies.thompson import BernoulliTS
from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import exponential, gamma, uniform

posterior = jit(BernoulliTS.believe)
beyond_stirling, stirling_series = (
    jit(distributions.beyond_stirling),
    jit(distributions.stirling_series),
)

# Columns of `beliefs`, a row per arm.
A, B = 0, 1
P_REF, N_REF = 2, 3  # the p and N that the bound behind its rate was computed for

ROOT_2_PI = math.sqrt(2 * math.pi)
SLACK = 0.3  # how many standard deviations a leader may fall before its bound is computed anew


@inlined
def learn(i, n, mean, m2, params, beliefs):
    """Arm i's belief: one more than its successes, and than its failures; always one."""
    beliefs[i, A], beliefs[i, B] = posterior(n[i], mean[i], m2[i])
    return True


@inlined
def center(i, beliefs):
    """Where a belief is: the leader's is highest."""
    return beliefs[i, A] / (beliefs[i, A] + beliefs[i, B])


# The last step is for where levels above and below the leader are both good.
Z_STEPS: tuple[float, ...] = (-0.5, 0.5, 1.5)


@jit
def first_z(K):
    """Where to look for a level first: about one in K draws from Beta(1, 1) is above it."""
    return -math.log(K) / math.sqrt(2)


@jit
def level_at(z, i, beliefs):
    """The level z standard deviations below arm i, in terms of the log odds: never 0 or 1."""
    a, b = beliefs[i, A], beliefs[i, B]
    odds = a / b * math.exp(-z * math.sqrt(1 / a + 1 / b))
    return odds / (1 + odds)


# ------------------------------------------------------------------------------------- the bound


@jit
def bound(a, b, s, r):
    """B of a Beta(a, b) at the level s = 1 - r; 1 where d < r, since it would not last."""
    d = s * b - r * a
    if not d >= r:
        return 1.0
    exponent = a * math.log1p(d / a) + b * math.log1p(-d / b)
    return math.sqrt(a * b / (a + b)) / ROOT_2_PI * math.exp(exponent) / (d + r)


@jit
def bound_above(i, tau, beliefs):
    """A bound on the chance that arm i is above tau, 1 for none; notes what it is computed for."""
    a, b = beliefs[i, A], beliefs[i, B]
    beliefs[i, P_REF] = a / (a + b)
    return bound(a, b, tau, 1 - tau)


@jit
def bound_above_holds(i, tau, beliefs):
    """Whether the bound noted for arm i still is one."""
    return beliefs[i, A] <= beliefs[i, P_REF] * (beliefs[i, A] + beliefs[i, B])


@jit
def bound_below(i, tau, beliefs):
    """As `bound_above` for the chance that arm i, the leader, is below tau; with some slack."""
    a, b = beliefs[i, A], beliefs[i, B]
    N = a + b
    slack = SLACK * math.sqrt(a * b / N)  # N times a standard deviation or so; less than a
    beliefs[i, P_REF] = (a - slack) / N
    beliefs[i, N_REF] = N
    return bound(b + slack, a - slack, 1 - tau, tau)


@inlined
def bound_below_holds(i, tau, beliefs):
    """Whether the leader's bound still is one, and not much too wide."""
    N = beliefs[i, A] + beliefs[i, B]
    return beliefs[i, A] >= beliefs[i, P_REF] * N and 1.5 * beliefs[i, N_REF] >= N


@jit
def chance_above(i, tau, beliefs):
    """`bound_above`, roughly, and without a note."""
    a, b = beliefs[i, A], beliefs[i, B]
    d = tau * b - (1 - tau) * a
    if d > 0 and d * d > 16 * (a + b):
        return 0.0  # next to never: N KL >= 2 d^2/N
    return bound(a, b, tau, 1 - tau)


@jit
def chance_below(z, i, beliefs):
    """The leader's chance to be more than z standard deviations low, roughly."""
    tau = level_at(z - SLACK, i, beliefs)
    return bound(beliefs[i, B], beliefs[i, A], 1 - tau, tau)


@jit
def theta(x):
    """log Gamma(x) beyond Stirling's formula for it: to 1e-11 by the series from 8 on."""
    return beyond_stirling(math.lgamma(x), x) if x < 8 else stirling_series(x)


@jit
def beyond(a, b, s, r, chance, state):
    """1 - x of a draw x > s from Beta(a, b), or -1 where the event did not happen.

    `chance` is the probability with which we came here. No digits are lost, however large a and b
    are: all logarithms are of numbers near 1, taken as log1p, and theta is small.
    """
    ratio = bound(a, b, s, r) / chance
    u, state = uniform(state)
    if u >= ratio:
        return -1.0, state
    e, state = exponential(state)
    c, log_y = r / s, -e * s / (s * b - r * a + r)
    # Accept with probability ratio * exp(theta(N) - theta(a) - theta(b)) * (x/s y^c)^(a-1) in all.
    # As 0 < theta(x) < 1/(12 x), Gamma functions are rarely needed.
    right = ratio * math.exp((a - 1) * (math.log1p(-c * math.expm1(log_y)) + c * log_y))
    if u < right * (1 - (1 / a + 1 / b) / 12) or (
        u < right and u < right * math.exp(theta(a + b) - theta(a) - theta(b))
    ):
        return r * math.exp(log_y), state
    return -1.0, state


@inlined
def examine(i, below, tau, chance, beliefs, state):
    """Whether arm i's event happened, which is looked at with probability `chance`, and its draw.

    The event is a draw above tau, or `below` it for the leader.
    """
    if below:
        x, state = beyond(beliefs[i, B], beliefs[i, A], 1 - tau, tau, chance, state)
        return x >= 0, x, state
    x, state = beyond(beliefs[i, A], beliefs[i, B], tau, 1 - tau, chance, state)
    return x >= 0, 1 - x, state


# ----------------------------------------------------------------------------------------- draws


@inlined
def drawn(i, beliefs, state):
    """A full draw of arm i, g/(g + h) of two Gammas, and no logarithm: it is never infinite."""
    g, state = gamma(beliefs[i, A], state)
    h, state = gamma(beliefs[i, B], state)
    return g / (g + h), 0.0, state


@jit
def drawn_given(i, tau, above, beliefs, state):
    """A full draw given that it is above tau, or that it is not."""
    while True:
        x, x_log, state = drawn(i, beliefs, state)
        if (x > tau) == above:
            return x, x_log, state


@inlined
def drawn_above(i, tau, best, beliefs, state):
    """An active arm: its draw is always done."""
    x, x_log, state = drawn(i, beliefs, state)
    return True, x, x_log, state


@inlined
def unfinished(i, beliefs):
    """No draw is left half done."""
    return False


@jit
def finished(i, beliefs, state):
    """Never called."""
    return 0.0, state
