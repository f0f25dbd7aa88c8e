"""How each family of policies picks an arm: the `select`, `refresh` and `transform` of its `Hooks`.

`memory` is what `memory.py` allocates, kept between rounds. The largest index has
`index_selectors.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varts.kurtosis import kurtosis_of, variance_weight, weight_for_choosing
from varts.policies.thompson import MVTS, BernoulliTS
from varts.simulation.engine.lazy_argmax import better
from varts.simulation.engine.loop import merged, merged_moments
from varts.simulation.engine.memory import UNSOUND, note_unsound
from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import log_gamma, normal, uniform, unlikely
from varts.simulation.engine.specialisation import UNBOUND, specialise

PARAMETERS: int = UNBOUND  # how many extra arguments the formula takes
TAILS: bool = UNBOUND  # whether the last parameter is what a reward is worth for a variance
POOLED: bool = UNBOUND  # whether the first three parameters are all rewards so far, as of one arm
drawn: Any = UNBOUND  # (i, beliefs, state) -> a full draw of an arm, as in `Envelope`
# (i, n, mean, m2, params, beliefs) -> bool: an arm's belief, by the policy's formula; if it is one
learn: Any = UNBOUND


@jit
def keep(x, state):
    """The transform of every policy but Bernoulli TS."""
    return x, state


@inlined
def observe_nothing(arm, x, n, mean, m2, params):
    """Where a policy is content with the statistics."""


@inlined
def fade_nothing(weight, params):
    """Where nothing is kept that could fade."""


@jit
def refresh_nothing(arm, n, mean, m2, params, memory):
    """Where a policy keeps nothing of an arm."""


refresh_one: Any = UNBOUND  # what brings one arm up to date


def refresh_every(arm, n, mean, m2, params, memory):
    """Where every reward moves the statistics of all arms."""
    for i in range(len(n)):
        refresh_one(i, n, mean, m2, params, memory)


@jit
def sound(t, n, mean, m2, params, memory):
    """Where a policy has neither indices nor beliefs that could be none."""
    return True


# --------------------------------------------------------------------------------------- beliefs


def select_draw(t, n, mean, m2, params, memory, state):
    """The largest of one draw per arm, each from its belief."""
    beliefs = memory[0]
    best, best_log, arm, ties = -np.inf, -np.inf, -1, 0
    for i in range(len(n)):
        x, x_log, state = drawn(i, beliefs, state)
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def refresh_belief(arm, n, mean, m2, params, memory):
    """The belief of the arm that was pulled; of all arms if every reward moves them all."""
    beliefs = memory[0]
    first, last = arm, arm + 1
    if POOLED:
        pool(n, mean, m2, params)
    if TAILS:
        weigh(n, m2, params, PARAMETERS)
    if POOLED or TAILS:
        first, last = 0, len(n)
    sound = True
    for i in range(first, last):
        sound &= learn(i, n, mean, m2, params, beliefs)
    if unlikely(not sound):
        for i in range(first, last):
            if not learn(i, n, mean, m2, params, beliefs):
                note_unsound(i, memory)


@jit
def sound_beliefs(t, n, mean, m2, params, memory):
    """Whether every belief of the run was one."""
    return memory[1][UNSOUND] == 0


@jit
def pool(n, mean, m2, params):
    """Write n, mean and m2 of all rewards into the first three parameters of every arm."""
    total, center, spread = 0.0, 0.0, 0.0
    for i in range(len(n)):
        total, center, spread = merged(total, center, spread, n[i], mean[i], m2[i])
    for i in range(len(n)):
        params[i, 0] = total
        params[i, 1] = center
        params[i, 2] = spread


# Beliefs that learn variances by the rewards' tails keep of every arm, behind the parameters of
# their formula, m3 and m4, and what is known of other rewards: their kurtosis and number.
M3, M4, KURTOSIS_BEFORE, N_BEFORE, TAIL_COLUMNS = 0, 1, 2, 3, 4
kurtosis_of_arm = jit(kurtosis_of)
worth_of_reward = jit(specialise(weight_for_choosing, variance_weight=jit(variance_weight)))


def observe_moments(arm, x, n, mean, m2, params):
    """The third and fourth moment of the arm that is pulled, before the others know the reward."""
    kept = params[arm, PARAMETERS:]
    if n[arm] == 0:
        kept[M3] = kept[M4] = 0.0
    _, _, _, kept[M3], kept[M4] = merged_moments(
        n[arm], mean[arm], m2[arm], kept[M3], kept[M4], 1.0, x, 0.0, 0.0, 0.0
    )


def fade_moments(weight, params):
    """Where older rewards count less."""
    for i in range(len(params)):
        params[i, PARAMETERS + M3] *= weight
        params[i, PARAMETERS + M4] *= weight


@jit
def weigh(n, m2, params, parameters):
    """Write what a reward is worth for learning a variance into every arm's last parameter.

    The kurtosis is that of `Tails.of`, together with the tails of the prior.
    """
    total = params[0, parameters + N_BEFORE]
    weighted = total * params[0, parameters + KURTOSIS_BEFORE]
    for i in range(len(n)):
        if m2[i] > 0:
            total += n[i]
            weighted += n[i] * kurtosis_of_arm(n[i], m2[i], params[i, parameters + M4])
    worth = worth_of_reward(weighted / total) if total > 0 else 1.0
    for i in range(len(n)):
        params[i, parameters - 1] = worth


# ---------------------------------------------------------------------------------- Bernoulli TS

clip = jit(BernoulliTS.clip)


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
