"""The loop of a simulation: a few runs of one policy, one compiled call.

`play` is written once. `compilation.py` makes the `Hooks` of a policy, puts them in the place of
the name `hooks` and compiles it; a policy in plain Python runs the very same loop uncompiled. What
a round calls is made part of the loop, as a call that hands over the arrays one by one costs 20 ns
and more.

An arm's next reward is drawn when the one before is paid out. Which arm comes next depends on the
reward at hand, and the processor works on the drawing of the next one while it waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts import stats
from varts.problems import BernoulliBandit, EmpiricalBandit, GaussianBandit
from varts.simulation.engine.certainty import NO_RULING
from varts.simulation.engine.looks import NO_LOOKS, note
from varts.simulation.engine.memory import allocate_memory, reset_memory
from varts.simulation.engine.parts import jit
from varts.simulation.engine.rng import below, beta, log_gamma, normal, stream, uniform
from varts.simulation.engine.specialisation import UNBOUND


@dataclass(frozen=True)
class Hooks:
    """What `play` calls of a policy and a problem."""

    #: (t, n, mean, m2, params, memory, state) -> (arm, state): picks an arm; -1 if all are NaN.
    select: Callable[..., Any]
    #: (arm, n, mean, m2, params, memory): notes that this arm's statistics changed.
    refresh: Callable[..., Any]
    #: (reward, state) -> (reward, state): what the statistics record of a reward.
    transform: Callable[..., Any]
    #: (arm, reward, n, mean, m2, params): takes in a reward that the statistics do not know yet,
    #: for policies that need more of it than they keep.
    observe: Callable[..., Any]
    #: (weight, params): what a policy keeps of all rewards so far counts that much from here on.
    fade: Callable[..., Any]
    #: (kind, tape, pull, a, b, data) -> reward: what a pull pays.
    pay: Callable[..., Any]
    #: `refresh` and `pay` again, as plain calls, for what is done once per run and arm: a second
    #: copy in the loop would cost it registers.
    begin: Callable[..., Any]
    first_pay: Callable[..., Any]
    #: (t, n, mean, m2, params, memory) -> bool: at the end of a run, whether the policy had an
    #: index or a belief for every arm.
    sound: Callable[..., Any]
    #: (t, n, mean, m2, ruling) -> bool: after a round, whether a stopping rule ends the run.
    ends: Callable[..., Any]


hooks: Hooks = UNBOUND

# Purposes of a run's streams, and kinds of rewards. Part of every result: append, never renumber.
CHOICES, REWARDS, MEMORY = np.int64(0), np.int64(1), np.int64(2)
GAUSSIAN, BERNOULLI, BETA, CUSTOM, RECORDED, GAMMA_REVENUE = 0, 1, 2, 3, 4, 5
STOPPED, DONE, NO_REWARD, UNSOUND = 0, 1, 2, 3  # how `play` ended

STRIDE = np.uint64((0x9E3779B97F4A7C15 << 20) & (2**64 - 1))

merged = jit(stats.merged)
merged_moments = jit(stats.merged_moments)
gaussian_reward = jit(GaussianBandit.reward)
bernoulli_reward = jit(BernoulliBandit.reward)
recorded_reward = jit(EmpiricalBandit.reward)


@jit
def no_custom_reward(a, b, z, u, data=None):
    """Stands in for a user's reward function where there is none."""
    return np.nan


custom_reward = no_custom_reward


def pay(kind, tape, pull, a, b, data):
    """What a pull of an arm pays, by the arm's tape: the same for every policy, whenever pulled.

    Pulls are 2^20 steps of the generator apart, more than one reward ever takes. Problems with data
    have `pay_by_data`, so that this one, which is part of the loop, has no array to carry along.
    """
    state = tape + np.uint64(pull) * STRIDE
    if kind == GAUSSIAN:
        z, state = normal(state)
        return gaussian_reward(a, b, z, 0.0)
    if kind == BERNOULLI:
        u, state = uniform(state)
        return bernoulli_reward(a, b, 0.0, u)
    if kind == BETA:
        x, state = beta(a, b, state)
        return x
    z, state = normal(state)
    u, state = uniform(state)
    return float(custom_reward(a, b, z, u))


def pay_by_data(kind, tape, pull, a, b, data):
    """`pay` for a problem whose rewards look something up in its data."""
    state = tape + np.uint64(pull) * STRIDE
    if kind == RECORDED:
        u, state = uniform(state)
        return recorded_reward(a, b, 0.0, u, data)
    if kind == GAMMA_REVENUE:  # `gamma_revenue` without an inversion
        u, state = uniform(state)
        if u >= a:
            return 0.0
        log, state = log_gamma(1 / data[0] ** 2, state)
        return b * data[0] ** 2 * np.exp(log)
    z, state = normal(state)
    u, state = uniform(state)
    return float(custom_reward(a, b, z, u, data))


def allocate(K, looks=NO_LOOKS, ruling=NO_RULING):
    """Room for one run, for what is noted at looks and for a stopping rule.

    Kernels allocate nothing themselves.
    """
    memory = allocate_memory(K)
    return (
        np.zeros(K),  # n
        np.zeros(K),  # mean
        np.zeros(K),  # m2
        np.zeros(K),  # gap
        memory[6],  # pulls still owed to each arm
        np.zeros(K, dtype=np.int64),  # the arms still owed pulls, in its first places
        np.zeros(K, dtype=np.uint64),  # each arm's reward stream
        np.zeros(K),  # what each arm pays next
        memory,
        looks,
        ruling,
    )


def play(
    seed, first_run, horizon, owed, params, scratch, kind, data, true_mean, a, b, rounds, stop,
    counter, final, best_share, curve,
):  # fmt: skip
    """Play one run per row of `true_mean` and say how it ended; set `stop` to end it early.

    Per run, `final` gets the regret at the horizon, `best_share` the share of rounds on a best arm
    and `curve` the regret after each of `rounds`. `counter` counts rounds, for a progress bar.
    A run that a stopping rule ends costs no more after that.
    """
    runs, K = true_mean.shape
    n, mean, m2, gap, still_owed, owed_arms, tapes, next_reward, memory, looks, ruling = scratch
    look_rounds = looks[0]
    for r in range(runs):
        run = stream(seed, first_run + r)
        state = np.uint64(stream(np.uint64(run), CHOICES))
        tape = np.uint64(stream(np.uint64(run), REWARDS))
        best = -np.inf
        for i in range(K):
            best = max(best, true_mean[r, i])
        reset_memory(memory)
        regret, hits, column, owed_count, played = 0.0, 0, 0, np.int64(0), horizon
        look, next_look = 0, look_rounds[0]
        for i in range(K):
            n[i] = mean[i] = m2[i] = 0.0
            gap[i] = best - true_mean[r, i]
            tapes[i] = stream(tape, i)
            next_reward[i] = hooks.first_pay(kind, tapes[i], np.int64(0), a[r, i], b[r, i], data)
            still_owed[i] = owed[i]
            if still_owed[i] > 0:
                owed_arms[owed_count] = i
                owed_count += 1
        for i in range(K):
            if still_owed[i] == 0:
                hooks.begin(i, n, mean, m2, params, memory)
        for t in range(1, horizon + 1):
            if owed_count > 0:  # uniformly among the arms still owed a pull
                place, state = below(owed_count, state)
                arm = owed_arms[place]
                still_owed[arm] -= 1
                if still_owed[arm] == 0:
                    owed_count -= 1
                    owed_arms[place] = owed_arms[owed_count]
            else:
                arm, state = hooks.select(t, n, mean, m2, params, memory, state)
                if arm < 0:
                    return UNSOUND
            i = np.uint64(arm)  # else every array would be asked whether arm counts from its end
            x = next_reward[i]
            if x - x != 0:  # NaN or infinite
                return NO_REWARD
            paid = x
            x, state = hooks.transform(x, np.uint64(state))
            state = np.uint64(state)
            hooks.observe(arm, x, n, mean, m2, params)
            n[i] += 1
            next_reward[i] = hooks.pay(kind, tapes[i], np.int64(n[i]), a[r, i], b[r, i], data)
            step = x - mean[i]
            mean[i] += step / n[i]
            m2[i] += step * (x - mean[i])
            hooks.refresh(arm, n, mean, m2, params, memory)
            regret += gap[i]
            if gap[i] == 0:
                hits += 1
            if t == rounds[column]:
                curve[r, column] = regret
                column += 1
            if t == next_look:
                note(looks, arm, paid, n, mean, m2, n, gap)
                look += 1
                next_look = look_rounds[look]
            if hooks.ends(t, n, mean, m2, ruling):
                played = t
                for later in range(column, len(rounds)):
                    curve[r, later] = regret
                counter[0] += horizon - horizon % 64 - (t - 1) // 64 * 64
                break
            if t & 63 == 0:
                counter[0] += 64
                if stop[0]:
                    return STOPPED
        if owed_count == 0 and not hooks.sound(horizon + 1, n, mean, m2, params, memory):
            return UNSOUND
        final[r] = regret
        best_share[r] = hits / played
        counter[0] += horizon & 63
    return DONE


def average_runs(curve, runs_per_block, order, n, mean, m2):
    """Mean and sum of squared deviations of each column, left in the first row of `mean` and `m2`.

    Of each block of rows first, then of pairs of blocks in the `order` of `reduction.merge_order`.
    Row by row, so that it vectorises.
    """
    runs, columns = curve.shape
    for block in range(len(n)):
        first, last = block * runs_per_block, min((block + 1) * runs_per_block, runs)
        n[block] = last - first
        for r in range(first, last):
            for c in range(columns):
                mean[block, c] += curve[r, c] / n[block]
        for r in range(first, last):
            for c in range(columns):
                m2[block, c] += (curve[r, c] - mean[block, c]) ** 2
    for pair in range(len(order)):
        one, other = order[pair, 0], order[pair, 1]
        for c in range(columns):
            _, mean[one, c], m2[one, c] = merged(
                n[one], mean[one, c], m2[one, c], n[other], mean[other, c], m2[other, c]
            )
        n[one] += n[other]
