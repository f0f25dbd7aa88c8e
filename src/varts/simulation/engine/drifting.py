"""The loop of a run in which something fades or drifts: `loop.play` for one run, with more to do.

It is a loop of its own so that ordinary simulations pay nothing for it. Two things differ:

- **Drift.** What an arm pays depends on the round, and so do its mean and the best arm. Means are
  made as the run goes on: nothing of the size of the horizon is kept but the phases of `Steps`.
  A reward is drawn for its round, not for its pull.
- **Fading.** Each reward multiplies the weights n and m2 of all older ones by `fade`, which is 1 if
  nothing fades. A policy is then told the sum of the weights as the number of rounds before, and
  an arm with a weight below its `least` is pulled again.

With `fade` 1 and an arm's rewards by pull it plays what `loop.play` plays, bit for bit.
"""

from __future__ import annotations

import numpy as np

from varts.problems import Cycle, Walk
from varts.problems.drift import CYCLE, STILL, WALK
from varts.simulation.engine.looks import NO_LOOKS, note
from varts.simulation.engine.loop import (
    CHOICES,
    DONE,
    NO_REWARD,
    REWARDS,
    STOPPED,
    UNSOUND,
    Hooks,
)
from varts.simulation.engine.memory import allocate_memory, reset_memory
from varts.simulation.engine.parts import jit
from varts.simulation.engine.rng import below, normal, stream
from varts.simulation.engine.specialisation import UNBOUND

hooks: Hooks = UNBOUND

# Purposes of a run's streams beside those in loop.py. Part of every result, too.
REWARDS_BY_ROUND, WALKS = np.int64(3), np.int64(4)

cycle_shift = jit(Cycle.shift)
walk_moved = jit(Walk.moved)


def allocate(K, looks=NO_LOOKS):
    """Room for one run, and for what is noted at looks."""
    memory = allocate_memory(K)
    return (
        np.zeros(K),  # n
        np.zeros(K),  # mean
        np.zeros(K),  # m2
        np.zeros(K),  # the true means of the round
        np.zeros(K),  # how far they are from those of the phase
        np.zeros(K),  # how far a walk is from its center
        memory[6],  # pulls still owed to each arm
        np.zeros(K, dtype=np.int64),  # the arms still owed pulls, in its first places
        np.zeros(K, dtype=np.int64),  # pulls
        np.zeros(K, dtype=np.uint64),  # each arm's reward stream
        memory,
        looks,
        np.zeros(K),  # how far each arm's mean is below the best, at a look
    )


@jit
def move(t, motion, numbers, start, away, shift, state):
    """Bring `shift` to round t: how far each arm's mean is from that of its phase."""
    for i in range(len(shift)):
        if motion == CYCLE:
            shift[i] = cycle_shift(float(t), numbers[0, i], numbers[1, i], numbers[2, i])
        elif motion == WALK:
            if t == 1:
                away[i] = start[i] - numbers[2, i]
                shift[i] = 0.0
            else:
                z, state = normal(state)
                away[i] = walk_moved(away[i], numbers[0, i], numbers[1, i], z)
                shift[i] = numbers[2, i] + away[i] - start[i]
    return state


def play(
    seed, run, horizon, owed, params, scratch, kind, data, true_mean, a, b, rounds, stop, counter,
    final, best_share, curve, by_round, starts, motion, numbers, fade, least,
):  # fmt: skip
    """Play one run and say how it ended; a phase that begins in `starts` has a row in `true_mean`.

    The rest is as in `loop.play`. `motion` and its `numbers` are those of a `drift.Path`.
    """
    if horizon == 0:  # it is only compiled
        return DONE
    phases, K = true_mean.shape
    n, mean, m2, now, shift, away, still_owed, owed_arms, pulls, tapes, memory, looks, gaps = (
        scratch
    )
    look_rounds = looks[0]
    look, next_look = 0, look_rounds[0]
    own = np.uint64(stream(seed, run))
    state = np.uint64(stream(own, CHOICES))
    tape = np.uint64(stream(own, REWARDS_BY_ROUND if by_round else REWARDS))
    walk = np.uint64(stream(own, WALKS))
    reset_memory(memory)
    regret, best, hits, column = 0.0, -np.inf, 0, 0
    owed_count, all_owed, phase = np.int64(0), np.int64(0), np.int64(-1)
    for i in range(K):
        n[i] = mean[i] = m2[i] = shift[i] = away[i] = 0.0
        pulls[i] = 0
        tapes[i] = stream(tape, i)
        still_owed[i] = owed[i]
        all_owed += owed[i]
        if still_owed[i] > 0:
            owed_arms[owed_count] = i
            owed_count += 1
    for i in range(K):
        if still_owed[i] == 0:
            hooks.begin(i, n, mean, m2, params, memory)
    for t in range(1, horizon + 1):
        changed = False
        while phase + 1 < phases and starts[phase + 1] <= t:
            phase += 1
            changed = True
        if motion != STILL:
            walk = np.uint64(move(t, motion, numbers, true_mean[phase], away, shift, walk))
            changed = True
        if changed:
            best = -np.inf
            for i in range(K):
                now[i] = true_mean[phase, i] + shift[i]
                best = max(best, now[i])
        if owed_count > 0:  # uniformly among the arms still owed a pull
            place, state = below(owed_count, state)
            arm = owed_arms[place]
            still_owed[arm] -= 1
            if still_owed[arm] == 0:
                owed_count -= 1
                owed_arms[place] = owed_arms[owed_count]
        else:
            time = np.int64(t)
            if fade < 1:
                total = 0.0
                for i in range(K):
                    total += n[i]
                time = max(np.int64(total), all_owed) + 1
            arm, state = hooks.select(time, n, mean, m2, params, memory, state)
            if arm < 0:
                return UNSOUND
        key = np.int64(t) if by_round else np.int64(pulls[arm])
        x = hooks.pay(kind, tapes[arm], key, a[phase, arm], b[phase, arm], data) + shift[arm]
        if x - x != 0:  # NaN or infinite
            return NO_REWARD
        paid = x
        x, state = hooks.transform(x, np.uint64(state))
        state = np.uint64(state)
        pulls[arm] += 1
        if fade < 1:
            for i in range(K):
                n[i] *= fade
                m2[i] *= fade
            hooks.fade(fade, params)
        hooks.observe(arm, x, n, mean, m2, params)
        n[arm] += 1
        step = x - mean[arm]
        mean[arm] += step / n[arm]
        m2[arm] += step * (x - mean[arm])
        if fade < 1:
            for i in range(K):
                if n[i] < least[i] and still_owed[i] == 0:
                    still_owed[i] = 1
                    owed_arms[owed_count] = i
                    owed_count += 1
        hooks.refresh(arm, n, mean, m2, params, memory)
        gap = best - now[arm]
        regret += gap
        if gap == 0:
            hits += 1
        if t == rounds[column]:
            curve[0, column] = regret
            column += 1
        if t == next_look:
            for i in range(K):
                gaps[i] = best - now[i]
            note(looks, arm, paid, n, mean, m2, pulls, gaps)
            look += 1
            next_look = look_rounds[look]
        if t & 63 == 0:
            counter[0] += 64
            if stop[0]:
                return STOPPED
    if owed_count == 0 and not hooks.sound(horizon + 1, n, mean, m2, params, memory):
        return UNSOUND
    final[0] = regret
    best_share[0] = hits / horizon
    counter[0] += horizon & 63
    return DONE
