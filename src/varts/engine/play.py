"""The loop of a simulation: a few runs of one policy, one compiled call.

`play` is written once. `kernels.py` puts a policy's `select`, `refresh` and `transform` in the
place of the names below and compiles it; a policy in plain Python runs the very same loop
uncompiled.
"""

from __future__ import annotations

import numpy as np

from varts.engine.rng import below, beta, jit, normal, scalar, stream, uniform
from varts.problems import BernoulliBandit, GaussianBandit

select = refresh = transform = None  # put in place by kernels.py

# Purposes of a run's streams, and reward families. Part of every result: append, never renumber.
CHOICES, REWARDS = 0, 1
GAUSSIAN, BERNOULLI, BETA, CUSTOM = 0, 1, 2, 3

gaussian_reward = jit(GaussianBandit.reward)
bernoulli_reward = jit(BernoulliBandit.reward)


@jit
def no_custom_reward(a, b, z, u):
    """Stands in for a user's reward function where there is none."""
    return np.nan


custom_reward = no_custom_reward


def pay(family, tape, arm, pull, a, b):
    """What the given pull of the given arm pays: the same for every policy, whenever it is made."""
    state = stream(stream(tape, arm), pull)
    if family == GAUSSIAN:
        z, state = normal(state)
        return gaussian_reward(a, b, z, 0.0)
    if family == BERNOULLI:
        u, state = uniform(state)
        return bernoulli_reward(a, b, 0.0, u)
    if family == BETA:
        x, state = beta(a, b, state)
        return x
    z, state = normal(state)
    u, state = uniform(state)
    return scalar(custom_reward(a, b, z, u))


def play(
    seed, first_run, horizon, owed, params, work, family, true_mean, a, b, rounds, stop, ticks,
    final, best_share, curve,
):  # fmt: skip
    """Play one run per row of `true_mean`; False if `stop` was raised before the end.

    `ticks` counts rounds played, for whoever watches.

    Per run, `final` gets the regret at the horizon, `best_share` the share of rounds on a best arm
    and `curve` the regret after each of `rounds`.
    """
    runs, K = true_mean.shape
    n, mean, m2 = np.zeros(K), np.zeros(K), np.zeros(K)
    due = np.zeros(K, dtype=np.int64)
    waiting = np.zeros(K, dtype=np.int64)  # the arms still owed pulls, in its first places
    for r in range(runs):
        run = stream(seed, first_run + r)
        state = np.uint64(stream(np.uint64(run), CHOICES))
        tape = np.uint64(stream(np.uint64(run), REWARDS))
        gap = true_mean[r].max() - true_mean[r]
        regret, hits, column, queue = 0.0, 0, 0, 0
        for i in range(K):
            n[i] = mean[i] = m2[i] = 0.0
            due[i] = owed[i]
            if due[i] > 0:
                waiting[queue] = i
                queue += 1
        for i in range(K):
            if due[i] == 0:
                refresh(i, n, mean, m2, params, work)
        for t in range(1, horizon + 1):
            if queue > 0:  # uniformly among the arms still owed a pull
                place, state = below(queue, state)
                arm = waiting[place]
                due[arm] -= 1
                if due[arm] == 0:
                    queue -= 1
                    waiting[place] = waiting[queue]
            else:
                arm, state = select(t, n, mean, m2, params, work, state)
            x = pay(family, tape, arm, np.int64(n[arm]), a[r, arm], b[r, arm])
            x, state = transform(x, np.uint64(state))
            state = np.uint64(state)
            n[arm] += 1
            step = x - mean[arm]
            mean[arm] += step / n[arm]
            m2[arm] += step * (x - mean[arm])
            refresh(arm, n, mean, m2, params, work)
            regret += gap[arm]
            if gap[arm] == 0:
                hits += 1
            if t == rounds[column]:
                curve[r, column] = regret
                column += 1
            if t & 63 == 0:
                ticks[0] += 64
                if stop[0]:
                    return False
        final[r] = regret
        best_share[r] = hits / horizon
        ticks[0] += horizon & 63
    return not stop[0]
