"""The loop of a simulation: a few runs of one policy, one compiled call.

`play` is written once. `compilation.py` puts a policy's `select`, `refresh` and `transform` in the
place of the names below and compiles it; a policy in plain Python runs the very same loop
uncompiled. What a round calls is made part of the loop, as a call that hands over the arrays one by
one costs 20 ns and more. `begin` and `first_pay` are `refresh` and `pay` again, as plain calls, for
what is done once a run and arm: a second copy in the loop would cost it registers.

An arm's next reward is drawn when the one before is paid out. Which arm comes next depends on the
reward at hand, and the processor works on the drawing of the next one while it waits for that.
"""

from __future__ import annotations

import numpy as np

from varts import stats
from varts.problems import BernoulliBandit, GaussianBandit
from varts.simulation.engine.lazy_argmax import forget, remember
from varts.simulation.engine.rng import below, beta, jit, normal, stream, uniform

first_pay = begin = select = refresh = transform = None  # put in place by compilation.py

# Purposes of a run's streams, and reward selectors. Part of every result: append, never renumber.
CHOICES, REWARDS = np.int64(0), np.int64(1)
GAUSSIAN, BERNOULLI, BETA, CUSTOM = 0, 1, 2, 3
STOPPED, DONE, NO_REWARD, NO_CHOICE = 0, 1, 2, 3  # how `play` ended

STRIDE = np.uint64((0x9E3779B97F4A7C15 << 20) & (2**64 - 1))

merged = jit(stats.merged)
gaussian_reward = jit(GaussianBandit.reward)
bernoulli_reward = jit(BernoulliBandit.reward)


@jit
def no_custom_reward(a, b, z, u):
    """Stands in for a user's reward function where there is none."""
    return np.nan


custom_reward = no_custom_reward


def pay(family, tape, pull, a, b):
    """What a pull of an arm pays, by the arm's tape: the same for every policy, whenever pulled.

    Pulls are 2^20 steps of the generator apart, more than one reward ever takes.
    """
    state = tape + np.uint64(pull) * STRIDE
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
    return float(custom_reward(a, b, z, u))


def allocate(K):
    """Room for one run: kernels allocate nothing themselves."""
    return (
        np.zeros(K),  # n
        np.zeros(K),  # mean
        np.zeros(K),  # m2
        np.zeros(K),  # gap
        np.zeros(K, dtype=np.int64),  # pulls still owed to each arm
        np.zeros(K, dtype=np.int64),  # the arms still owed pulls, in its first places
        np.zeros(K, dtype=np.uint64),  # each arm's reward stream
        np.zeros(K),  # what each arm pays next
        remember(K),
    )


def play(
    seed, first_run, horizon, owed, params, scratch, family, true_mean, a, b, rounds, stop, ticks,
    final, best_share, curve,
):  # fmt: skip
    """Play one run per row of `true_mean` and say how it ended; raise `stop` to end it early.

    Per run, `final` gets the regret at the horizon, `best_share` the share of rounds on a best arm
    and `curve` the regret after each of `rounds`. `ticks` counts rounds for whoever watches.
    """
    runs, K = true_mean.shape
    n, mean, m2, gap, due, waiting, tapes, coming, memory = scratch
    for r in range(runs):
        run = stream(seed, first_run + r)
        state = np.uint64(stream(np.uint64(run), CHOICES))
        tape = np.uint64(stream(np.uint64(run), REWARDS))
        best = -np.inf
        for i in range(K):
            best = max(best, true_mean[r, i])
        forget(memory)
        regret, hits, column, queue = 0.0, 0, 0, np.int64(0)
        for i in range(K):
            n[i] = mean[i] = m2[i] = 0.0
            gap[i] = best - true_mean[r, i]
            tapes[i] = stream(tape, i)
            coming[i] = first_pay(family, tapes[i], np.int64(0), a[r, i], b[r, i])
            due[i] = owed[i]
            if due[i] > 0:
                waiting[queue] = i
                queue += 1
        for i in range(K):
            if due[i] == 0:
                begin(i, n, mean, m2, params, memory)
        for t in range(1, horizon + 1):
            if queue > 0:  # uniformly among the arms still owed a pull
                place, state = below(queue, state)
                arm = waiting[place]
                due[arm] -= 1
                if due[arm] == 0:
                    queue -= 1
                    waiting[place] = waiting[queue]
            else:
                arm, state = select(t, n, mean, m2, params, memory, state)
                if arm < 0:
                    return NO_CHOICE
            i = np.uint64(arm)  # else every array would be asked whether arm counts from its end
            x = coming[i]
            if x - x != 0:  # NaN or infinite
                return NO_REWARD
            x, state = transform(x, np.uint64(state))
            state = np.uint64(state)
            n[i] += 1
            coming[i] = pay(family, tapes[i], np.int64(n[i]), a[r, i], b[r, i])
            step = x - mean[i]
            mean[i] += step / n[i]
            m2[i] += step * (x - mean[i])
            refresh(arm, n, mean, m2, params, memory)
            regret += gap[i]
            if gap[i] == 0:
                hits += 1
            if t == rounds[column]:
                curve[r, column] = regret
                column += 1
            if t & 63 == 0:
                ticks[0] += 64
                if stop[0]:
                    return STOPPED
        final[r] = regret
        best_share[r] = hits / horizon
        ticks[0] += horizon & 63
    return DONE


def over_runs(curve, size, n, mean, m2):
    """Mean and sum of squared deviations of each column, left in the first row of `mean` and `m2`.

    Of blocks of `size` rows first, then of neighbouring blocks in pairs, of pairs in pairs and so
    on, as `Tally` adds them up. Row by row, so that it vectorises.
    """
    runs, columns = curve.shape
    for block in range(len(n)):
        first, last = block * size, min((block + 1) * size, runs)
        n[block] = last - first
        for r in range(first, last):
            for c in range(columns):
                mean[block, c] += curve[r, c] / n[block]
        for r in range(first, last):
            for c in range(columns):
                m2[block, c] += (curve[r, c] - mean[block, c]) ** 2
    step = 1
    while step < len(n):
        for one in range(0, len(n) - step, 2 * step):
            other = one + step
            for c in range(columns):
                _, mean[one, c], m2[one, c] = merged(
                    n[one], mean[one, c], m2[one, c], n[other], mean[other, c], m2[other, c]
                )
            n[one] += n[other]
        step *= 2
