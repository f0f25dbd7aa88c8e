"""How each family of policies picks an arm, compiled.

Three functions per family, plugged into the loop of `play.py`:
`select(t, n, mean, m2, params, memory, state) -> (arm, state)` picks an arm,
`refresh(arm, n, mean, m2, params, memory)` notes that this arm's statistics changed,
`transform(reward, state) -> (reward, state)` is what the statistics record of a reward.
`memory` is what the samplers of `argmax.py` keep between rounds. The names in capitals and
`index`, `believe` are put in place by `kernels.specialise`.
"""

from __future__ import annotations

import math

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from varts.engine.argmax import DF, LOC, SCALE, better, drawn
from varts.engine.rng import beta, jit, log_gamma, normal, uniform
from varts.policies.thompson import MVTS, BernoulliTS

PARAMETERS = 0  # how many extra arguments the formula takes
POOLED = False  # whether the first three of them are all rewards so far, seen as one arm
index = believe = None


@jit
def keep(x, state):
    """The transform of every policy but Bernoulli TS."""
    return x, state


# ----------------------------------------------------------------------------------------- index


def select_index(t, n, mean, m2, params, memory, state):
    """The largest index, -1 if all are NaN; the k-th of equal ones wins with probability 1/k."""
    best, arm, ties = -np.inf, -1, 0
    for i in range(len(n)):
        extra = to_fixed_tuple(params[i], PARAMETERS)
        value = float(index(n[i], mean[i], m2[i], float(t), *extra))
        if value > best:
            best, arm, ties = value, i, 1
        elif value == best:
            ties += 1
            u, state = uniform(state)
            if u * ties < 1:
                arm = i
    return arm, state


@jit
def refresh_nothing(arm, n, mean, m2, params, memory):
    """Index policies are recomputed from scratch."""


# --------------------------------------------------------------------------------------- beliefs


@jit
def select_draw(t, n, mean, m2, params, memory, state):
    """The largest of one draw per arm, each from its Student-t belief (location, scale, df)."""
    work = memory[0]
    best, best_log, arm, ties = -np.inf, -np.inf, -1, 0
    for i in range(len(n)):
        x, x_log, state = drawn(i, work, state)
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def refresh_belief(arm, n, mean, m2, params, memory):
    """The belief of the arm that was pulled; of all arms if every reward moves them all."""
    work = memory[0]
    first, last = arm, arm + 1
    if POOLED:
        pool(n, mean, m2, params)
        first, last = 0, len(n)
    for i in range(first, last):
        extra = to_fixed_tuple(params[i], PARAMETERS)
        loc, scale, df = believe(n[i], mean[i], m2[i], *extra)
        work[i, LOC] = float(loc)
        work[i, SCALE] = float(scale)
        work[i, DF] = float(df)


@jit
def pool(n, mean, m2, params):
    """Write n, mean and m2 of all rewards into the first three parameters of every arm."""
    total = 0.0
    center = 0.0
    spread = 0.0
    for i in range(len(n)):
        if n[i] > 0:
            total += n[i]
            gap = mean[i] - center
            center += gap * n[i] / total
            spread += m2[i] + gap * (mean[i] - center) * n[i]
    for i in range(len(n)):
        params[i, 0] = total
        params[i, 1] = center
        params[i, 2] = spread


# ---------------------------------------------------------------------------------- Bernoulli TS

bernoulli_posterior = jit(BernoulliTS.believe)
clip = jit(BernoulliTS.clip)


@jit
def select_beta(t, n, mean, m2, params, memory, state):
    """The largest of one Beta draw per arm."""
    best, arm = -1.0, 0
    for i in range(len(n)):
        a, b = bernoulli_posterior(n[i], mean[i], m2[i])
        x, state = beta(a, b, state)
        if x > best:
            best, arm = x, i
    return arm, state


@jit
def toss(x, state):
    """1 with the probability of the clipped reward, else 0."""
    u, state = uniform(state)
    return (1.0 if u < clip(x) else 0.0), state


# ------------------------------------------------------------------------------------------ MVTS

mv_score = jit(MVTS.score)
mv_precision = jit(MVTS.precision)


@jit
def select_mean_variance(t, n, mean, m2, params, memory, state):
    """The largest rho * theta - 1/tau; the last parameter is rho."""
    best, arm = -np.inf, 0
    for i in range(len(n)):
        z, state = normal(state)
        shape, rate = mv_precision(n[i], m2[i])
        log_g, state = log_gamma(shape, state)
        theta = mean[i] + z / math.sqrt(n[i])
        x = mv_score(theta, math.exp(log_g) / rate, params[i, 0])
        if x > best:
            best, arm = x, i
    return arm, state
