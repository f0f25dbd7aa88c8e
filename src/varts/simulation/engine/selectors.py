"""How each family of policies picks an arm: the `select`, `refresh` and `transform` of its `Hooks`.

`memory` is what `memory.py` allocates, kept between rounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.np.unsafe.ndarray import to_fixed_tuple

from varts.policies.thompson import MVTS, BernoulliTS
from varts.simulation.engine.lazy_argmax import better
from varts.simulation.engine.loop import merged, merged_moments
from varts.simulation.engine.memory import ARMS_PER_BLOCK, UNSOUND, note_unsound
from varts.simulation.engine.rng import (
    bits,
    inlined,
    jit,
    log_gamma,
    normal,
    stream,
    uniform,
    unlikely,
    where,
)
from varts.simulation.engine.specialisation import UNBOUND, specialise
from varts.tails import kurtosis_of, worth_for_choosing, worth_of

PARAMETERS: int = UNBOUND  # how many extra arguments the formula takes
TERMS: tuple[float, ...] = UNBOUND  # a zero for each number that `terms` makes of an arm
TAILS: bool = UNBOUND  # whether the last parameter is what a reward is worth for a variance
POOLED: bool = UNBOUND  # whether the first three parameters are all rewards so far, as of one arm
index: Any = UNBOUND  # (n, mean, m2, t, *parameters), or (*terms, t) -> the index of an arm
terms: Any = UNBOUND  # (n, mean, m2, *parameters) -> the numbers that `index` takes
clock: Any = UNBOUND  # (t) -> what `index` takes for t
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


# ----------------------------------------------------------------------------------------- index


@inlined
def time_of(t, times):
    """What `index` takes for round t: its number."""
    return float(t)


def time_of_clock(t, times):
    """The same by the policy's clock, of the first rounds from a table: all runs have them."""
    if t >= len(times):
        return float(clock(float(t)))
    i = np.uint64(t)
    if times[i] == 0:
        times[i] = float(clock(float(t)))
    return times[i]


def index_of(i, now, n, mean, m2, params):
    """The index of arm i."""
    return float(index(n[i], mean[i], m2[i], now, *to_fixed_tuple(params[i], PARAMETERS)))


def index_of_terms(i, now, n, mean, m2, params):
    """The same from the arm's terms."""
    made = TERMS
    for k in range(len(TERMS)):
        made = tuple_setitem(made, k, params[PARAMETERS + k, i])
    return float(index(*made, now))


def refresh_terms(arm, n, mean, m2, params, memory):
    """The terms of the arm that was pulled."""
    made = terms(n[arm], mean[arm], m2[arm], *to_fixed_tuple(params[:, arm], PARAMETERS))
    for k in range(len(TERMS)):
        params[PARAMETERS + k, arm] = made[k]


def select_index(t, n, mean, m2, params, memory, state):
    """The largest index, -1 if all are NaN; equal ones are told apart by a hash with this round.

    In three loops without a branch, so that LLVM handles four arms at once where it can; a branch
    on which arm is ahead would be guessed wrongly in many a round.
    """
    word, state = bits(state)
    K, values = len(n), memory[2]
    now = time_of(t, memory[5])
    for i in range(K):
        values[i] = index_of(i, now, n, mean, m2, params)
    # The maximum, of every fourth value apart, as each comparison waits for the one before.
    best0 = best1 = best2 = best3 = -np.inf
    i = np.uint64(0)
    for _ in range(K // 4):
        best0 = larger(values[i], best0)
        best1 = larger(values[i + np.uint64(1)], best1)
        best2 = larger(values[i + np.uint64(2)], best2)
        best3 = larger(values[i + np.uint64(3)], best3)
        i += np.uint64(4)
    for j in range(K - K % 4, K):
        best0 = larger(values[j], best0)
    best = larger(larger(best0, best1), larger(best2, best3))
    arm, ties = 0, 0
    for j in range(K):
        arm += where(values[j] == best, j, 0)
        ties += where(values[j] == best, 1, 0)
    if ties == 1:
        return arm, state
    arm = -1
    for j in range(K):
        if values[j] == best and before(j, arm, word):
            arm = j
    return arm, state


@jit
def larger(value, best):
    """The larger one; `best` if the value is NaN."""
    return value if value > best else best


@jit
def before(i, arm, word):
    """Whether arm i comes before `arm` in this round's random order, whatever arms are compared."""
    return arm < 0 or stream(word, i) > stream(word, arm)


@jit
def refresh_nothing(arm, n, mean, m2, params, memory):
    """Where a policy keeps nothing of an arm."""


refresh_index = refresh_nothing  # or `refresh_terms`
refresh_one: Any = UNBOUND  # what brings one arm up to date


def refresh_every(arm, n, mean, m2, params, memory):
    """Where every reward moves the statistics of all arms."""
    for i in range(len(n)):
        refresh_one(i, n, mean, m2, params, memory)


@jit
def sound(t, n, mean, m2, params, memory):
    """Where a policy has neither indices nor beliefs that could be none."""
    return True


def sound_indices(t, n, mean, m2, params, memory):
    """Whether no arm's index is NaN: such an arm is never pulled, and its index remains what it is.

    It is looked at once a run, as a look in every round would take time.
    """
    now = time_of(t, memory[5])
    missing = 0
    for i in range(len(n)):
        missing += np.isnan(index_of(i, now, n, mean, m2, params))
    return missing == 0


# Many arms, indices that only grow with t. For a while, until round `until`, an arm's index is at
# most its *cap*, the index it would have then. The last winner's index is a floor; only arms whose
# cap reaches it are looked at. Caps are stored per arm, and their maximum per block of arms.
# With L rounds between two renewals of all caps, a round costs about K/L for the renewal and, as
# UCB policies keep all indices close together, L/ln(t) for arms whose cap alone is high enough:
# L = sqrt(K ln t) balances the two, and the cost grows like sqrt(K) instead of K.
UNTIL, WINNER = 0, 1  # places in `level`


def select_growing(t, n, mean, m2, params, memory, state):
    """The same choice as `select_index`, to the last bit, without computing every index."""
    _, level, caps, _, _, times, _ = (
        memory  # a cap per arm, and behind them the highest of each block
    )
    K = len(n)
    if t > level[UNTIL]:
        level[UNTIL] = t + math.floor(math.sqrt(K * math.log(t + 1.0)))
        then = time_of(np.int64(level[UNTIL]), times)
        for b in range(K, len(caps)):
            caps[b] = -np.inf
        for i in range(K):
            caps[i] = index_of(i, then, n, mean, m2, params)
            caps[K + i // ARMS_PER_BLOCK] = max(caps[K + i // ARMS_PER_BLOCK], caps[i])
    now = time_of(t, times)
    floor = index_of(np.int64(level[WINNER]), now, n, mean, m2, params)
    word, state = bits(state)
    best, arm = -np.inf, -1
    for b in range(len(caps) - K):
        if caps[K + b] < floor:
            continue
        for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
            if caps[i] < floor:
                continue
            value = index_of(i, now, n, mean, m2, params)
            if value > best or (value == best and before(i, arm, word)):
                best, arm = value, i
                floor = max(floor, best)
    level[WINNER] = arm
    return arm, state


def refresh_growing(arm, n, mean, m2, params, memory):
    """A new cap for the arm that was pulled, and for its block."""
    refresh_index(arm, n, mean, m2, params, memory)
    _, level, caps, _, _, times, _ = memory
    K = len(n)
    if level[UNTIL] > 0:
        then = time_of(np.int64(level[UNTIL]), times)
        caps[arm] = index_of(arm, then, n, mean, m2, params)
        b = arm // ARMS_PER_BLOCK
        top = -np.inf
        for i in range(b * ARMS_PER_BLOCK, min((b + 1) * ARMS_PER_BLOCK, K)):
            top = max(top, caps[i])
        caps[K + b] = top


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
worth_of_reward = jit(specialise(worth_for_choosing, worth_of=jit(worth_of)))


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
