"""Beta beliefs for the lazy sampler of `lazy_argmax.py`.

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
examined. B also bounds other beliefs:

- it falls as p falls, N the same. d log B / dp is
  (1/p - 1/(1-p))/2 + N (logit s - logit p) + N/(d + r); the second term is positive, and the
  third is at least 1/(1-p), as d + r <= N (1-p);
- it falls as N grows, p the same, if d >= r. d log B / dN is
  1/(2N) - KL(p, s) - d/(d + r)/N, and d/(d + r) >= 1/2. (d then grows as well.)

So a bound computed for (p, N) holds while p doesn't grow, because N never falls and tau stays
where it is. A leader's draw *below* tau is the same with X replaced by 1 - X: swap a and b, and
s and r. Both s and r are passed on because 1 - r may differ from s in the last digit.
"""

from __future__ import annotations

import math

from varts.beliefs import distributions
from varts.policies.thompson import BernoulliTS
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.rng import exponential, gamma, uniform
from varts.simulation.engine.scratch import WIDTH

posterior = jit(BernoulliTS.believe)
beyond_stirling, stirling_series = (
    jit(distributions.beyond_stirling),
    jit(distributions.stirling_series),
)

# Columns of `beliefs`, a row per arm.
A, B = 0, 1
P_REF, N_REF = 2, 3  # the p and N that the stored bound was computed for

ROOT_2_PI = math.sqrt(2 * math.pi)
SLACK = 0.3  # how many standard deviations a leader may fall before its bound is computed again


@inlined
def learn(i, n, mean, m2, parameters, beliefs):
    """Update the belief about arm i: one more than its successes and failures; always valid."""
    beliefs[WIDTH * i + A], beliefs[WIDTH * i + B] = posterior(n[i], mean[i], m2[i])
    return True


@inlined
def center(i, beliefs):
    """Return the mean of a belief. The leader has the highest."""
    return beliefs[WIDTH * i + A] / (beliefs[WIDTH * i + A] + beliefs[WIDTH * i + B])


# The last step is for cases where levels above and below the leader are both good.
Z_STEPS: tuple[float, ...] = (-0.5, 0.5, 1.5)


@jit
def first_z(K):
    """Return the z to try first: about one in K draws from Beta(1, 1) is above that level."""
    return -math.log(K) / math.sqrt(2)


@jit
def level_at(z, i, beliefs):
    """Return the level z standard deviations below arm i on the log odds scale: never 0 or 1."""
    a, b = beliefs[WIDTH * i + A], beliefs[WIDTH * i + B]
    odds = a / b * math.exp(-z * math.sqrt(1 / a + 1 / b))
    return odds / (1 + odds)


# ------------------------------------------------------------------------------------- the bound


@jit
def bound(a, b, s, r):
    """Return B of a Beta(a, b) at the level s = 1 - r, or 1 if d < r, where it would not last."""
    d = s * b - r * a
    if not d >= r:
        return 1.0
    exponent = a * math.log1p(d / a) + b * math.log1p(-d / b)
    return math.sqrt(a * b / (a + b)) / ROOT_2_PI * math.exp(exponent) / (d + r)


@jit
def bound_above(i, tau, beliefs):
    """Bound the chance that arm i is above tau (1: no bound), and store what the bound assumes."""
    a, b = beliefs[WIDTH * i + A], beliefs[WIDTH * i + B]
    beliefs[WIDTH * i + P_REF] = a / (a + b)
    return bound(a, b, tau, 1 - tau)


@jit
def bound_above_holds(i, tau, beliefs):
    """Return whether the stored bound for arm i still holds."""
    return beliefs[WIDTH * i + A] <= beliefs[WIDTH * i + P_REF] * (
        beliefs[WIDTH * i + A] + beliefs[WIDTH * i + B]
    )


@jit
def bound_below(i, tau, beliefs):
    """Bound the chance that arm i, the leader, is below tau, with some slack."""
    a, b = beliefs[WIDTH * i + A], beliefs[WIDTH * i + B]
    N = a + b
    slack = SLACK * math.sqrt(a * b / N)  # N times a standard deviation or so; less than a
    beliefs[WIDTH * i + P_REF] = (a - slack) / N
    beliefs[WIDTH * i + N_REF] = N
    return bound(b + slack, a - slack, 1 - tau, tau)


@inlined
def bound_below_holds(i, tau, beliefs):
    """Return whether the leader's bound still holds and isn't much too wide."""
    N = beliefs[WIDTH * i + A] + beliefs[WIDTH * i + B]
    return (
        beliefs[WIDTH * i + A] >= beliefs[WIDTH * i + P_REF] * N
        and 1.5 * beliefs[WIDTH * i + N_REF] >= N
    )


@jit
def chance_above(i, tau, beliefs):
    """Approximate `bound_above` without storing anything."""
    a, b = beliefs[WIDTH * i + A], beliefs[WIDTH * i + B]
    d = tau * b - (1 - tau) * a
    if d > 0 and d * d > 16 * (a + b):
        return 0.0  # practically never: N KL >= 2 d^2/N
    return bound(a, b, tau, 1 - tau)


@jit
def chance_below(z, i, beliefs):
    """Approximate the chance that the leader's draw is more than z standard deviations low."""
    tau = level_at(z - SLACK, i, beliefs)
    return bound(beliefs[WIDTH * i + B], beliefs[WIDTH * i + A], 1 - tau, tau)


@jit
def theta(x):
    """Return log Gamma(x) minus Stirling's formula; from 8 on by a series, to 1e-11."""
    return beyond_stirling(math.lgamma(x), x) if x < 8 else stirling_series(x)


@jit
def beyond(a, b, s, r, chance, state):
    """Return 1 - x for a draw x > s from Beta(a, b), or -1 if the event didn't happen.

    `chance` is the probability of the event being examined at all. No digits are lost, however
    large a and b are: all logarithms are of numbers near 1, taken as log1p, and theta is small.
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
    """Examine arm i's event, which happens with probability `chance`: did it, and what is the draw?

    The event is a draw above tau, or `below` it for the leader.
    """
    if below:
        x, state = beyond(
            beliefs[WIDTH * i + B], beliefs[WIDTH * i + A], 1 - tau, tau, chance, state
        )
        return x >= 0, x, state
    x, state = beyond(beliefs[WIDTH * i + A], beliefs[WIDTH * i + B], tau, 1 - tau, chance, state)
    return x >= 0, 1 - x, state


# ----------------------------------------------------------------------------------------- draws


@inlined
def draw(i, beliefs, state):
    """Draw arm i in full, as g/(g + h) of two Gammas."""
    g, state = gamma(beliefs[WIDTH * i + A], state)
    h, state = gamma(beliefs[WIDTH * i + B], state)
    return g / (g + h), state


@jit
def draw_given(i, tau, above, beliefs, state):
    """Draw arm i in full, given that it is above tau, or given that it isn't."""
    while True:
        x, state = draw(i, beliefs, state)
        if (x > tau) == above:
            return x, state


@inlined
def draw_above(i, tau, best, beliefs, state):
    """Draw an active arm; the draw is always complete."""
    x, state = draw(i, beliefs, state)
    return True, x, state


@inlined
def is_incomplete(i, beliefs):
    """Return False: no draw is left incomplete."""
    return False


@jit
def complete(i, beliefs, state):
    """Never called: see `is_incomplete`."""
    return 0.0, state
