"""The loop of a run with context: `loop.play` for a piece of one run's visits.

Who comes, and what each arm is expected to pay them, is made outside and handed over piece by
piece; `Progress` and the policy's memory keep a run's state in between. A reward is drawn for its
round, not for its pull, as in drifting.py. `unit` has the features of who has come and, once an arm
was played, the reward: the memory of a policy that looks at features holds the same array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.simulation.engine.drifting import REWARDS_BY_ROUND
from varts.simulation.engine.loop import (
    CHOICES,
    DONE,
    NO_REWARD,
    STOPPED,
    UNSOUND,
    Hooks,
)
from varts.simulation.engine.rng import below, stream
from varts.simulation.engine.specialisation import UNBOUND

hooks: Hooks = UNBOUND

ROUND, HITS, COLUMN, OWED = 0, 1, 2, 3  # places in `counts`


class Progress(NamedTuple):
    """How far a run is, and what is kept of its arms."""

    n: Floats
    mean: Floats
    m2: Floats
    still_owed: NDArray[np.int64]  # pulls still owed to each arm
    owed_arms: NDArray[np.int64]  # the arms still owed pulls, in its first places
    tapes: NDArray[np.uint64]  # each arm's reward stream
    unit: Floats  # the features of who has come, then the reward
    counts: NDArray[np.int64]  # rounds played, those on a best arm, rounds recorded, arms owed
    regret: Floats  # one number
    state: NDArray[np.uint64]  # that of the random numbers


def begin_run(owed: NDArray[np.int64], still_owed: NDArray[np.int64], unit: Floats) -> Progress:
    """A run of which no round is played."""
    K = len(owed)
    owed_arms = np.zeros(K, dtype=np.int64)
    some = np.flatnonzero(owed > 0)
    owed_arms[: len(some)] = some
    still_owed[:] = owed
    counts = np.array([0, 0, 0, len(some)], dtype=np.int64)
    numbers = [np.zeros(K) for _ in range(3)]
    tapes, state = np.zeros(K, dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    return Progress(*numbers, still_owed, owed_arms, tapes, unit, counts, np.zeros(1), state)


def play(
    seed, run, horizon, params, progress, memory, kind, data, x, true_mean, b, rounds, stop,
    counter, final, best_share, curve,
):  # fmt: skip
    """Play the rounds of these visits, as far as the horizon, and say how it ended.

    `final`, `best_share` and `curve` are written for the run as in `loop.play`.
    """
    n, mean, m2, still_owed, owed_arms, tapes, unit, counts, kept_regret, kept_state = progress
    K = len(n)
    d = len(unit) - 1
    if counts[ROUND] == 0 and len(x) > 0:
        own = np.uint64(stream(seed, run))
        kept_state[0] = np.uint64(stream(own, CHOICES))
        tape = np.uint64(stream(own, REWARDS_BY_ROUND))
        for i in range(K):
            tapes[i] = stream(tape, i)
        for i in range(K):
            if still_owed[i] == 0:
                hooks.begin(i, n, mean, m2, params, memory)
    state, regret = np.uint64(kept_state[0]), kept_regret[0]
    t, hits, column, owed_count = int(counts[ROUND]), counts[HITS], counts[COLUMN], counts[OWED]
    for row in range(min(len(x), horizon - t)):
        t += 1
        for j in range(d):
            unit[j] = x[row, j]
        best = -np.inf
        for i in range(K):
            best = max(best, true_mean[row, i])
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
        y = hooks.pay(kind, tapes[arm], np.int64(t), true_mean[row, arm], b[row, arm], data)
        if y - y != 0:  # NaN or infinite
            return NO_REWARD
        y, state = hooks.transform(y, np.uint64(state))
        state = np.uint64(state)
        unit[d] = y
        hooks.observe(arm, y, n, mean, m2, params)
        n[arm] += 1
        step = y - mean[arm]
        mean[arm] += step / n[arm]
        m2[arm] += step * (y - mean[arm])
        hooks.refresh(arm, n, mean, m2, params, memory)
        gap = best - true_mean[row, arm]
        regret += gap
        if gap == 0:
            hits += 1
        if t == rounds[column]:
            curve[column] = regret
            column += 1
        if t & 63 == 0:
            counter[0] += 64
            if stop[0]:
                return STOPPED
    counts[ROUND], counts[HITS], counts[COLUMN], counts[OWED] = t, hits, column, owed_count
    kept_regret[0], kept_state[0] = regret, state
    if t == horizon and len(x) > 0:
        if owed_count == 0 and not hooks.sound(horizon + 1, n, mean, m2, params, memory):
            return UNSOUND
        final[0] = regret
        best_share[0] = hits / horizon
        counter[0] += horizon & 63
    return DONE
