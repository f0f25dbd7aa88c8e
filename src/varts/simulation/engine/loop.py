"""The loop of a simulation. There is one, for every policy and every problem.

`make_play` returns it for one policy. Compile-time flags leave out what a study doesn't need, so an
ordinary one pays nothing for moving means, features, fading or stopping rules. Around a policy in
plain Python the same function runs uncompiled.

An arm's next reward is drawn when the one before is paid. Which arm comes next depends on the
current reward, and the processor can draw the next one while it waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts.problems.drift import CYCLE, STILL
from varts.simulation.engine.scratch import (
    COLUMN,
    FIRST_Z,
    GATE,
    HITS,
    LEFT,
    REGRET,
    ROUND,
    RULE_NUMBERS,
    WAITING,
)

# What a run's streams of random numbers are for. Part of every result: append, never renumber.
CHOICES, REWARDS, MEMORY, REWARDS_BY_ROUND, WALKS = (np.int64(k) for k in range(5))
# How a call of the loop ended. A kernel returns 0 if compiled code raised an exception.
RAISED, DONE, STOPPED, BAD_REWARD, BAD_POLICY = range(5)


@dataclass(frozen=True)
class Flags:
    """What the loop of a study must handle."""

    context: bool = False  # rewards depend on features, and runs are played in pieces
    moving: bool = False  # the means of the arms move from round to round
    fading: bool = False  # each reward makes older ones count less
    stopping: bool = False  # a rule may end a run


@dataclass(frozen=True)
class Hooks:
    """What the loop calls. `c` is a `Call`, `s` a `Scratch`, `state` that of the random numbers."""

    #: (c, s): prepares the policy's own memory for a run.
    begin: Callable[..., Any]
    #: (t, s, parameters, state) -> (arm, state): chooses; -1 if there is no valid choice.
    select: Callable[..., Any]
    #: (arm, s, parameters): updates what is stored about an arm whose statistics changed.
    refresh: Callable[..., Any]
    #: The same as a plain call, for the start of a run: a second copy would cost registers.
    prepare: Callable[..., Any]
    #: (reward, state) -> (reward, state): what the statistics record.
    transform: Callable[..., Any]
    #: (arm, reward, s, parameters): sees a reward before the statistics do.
    observe: Callable[..., Any]
    #: (weight, s, parameters): multiplies what a policy stores about older rewards.
    fade: Callable[..., Any]
    #: (kind, tape, pull, a, b, data) -> reward.
    pay: Callable[..., Any]
    #: (t, s, parameters) -> bool: whether every arm has a valid index or belief.
    valid: Callable[..., Any]
    #: (t, c, s) -> bool: whether a stopping rule ends the run after this round.
    ends: Callable[..., Any]
    #: (s, parameters) -> the arm to recommend at a checkpoint, or -1: that with the highest mean.
    recommend: Callable[..., Any]
    #: See `checkpoints.py`, `initial_pulls.py` and `rng.py`.
    note: Callable[..., Any]
    begin_initial_pulls: Callable[..., Any]
    initial_pull: Callable[..., Any]
    pull_again: Callable[..., Any]
    stream: Callable[..., Any]
    move: Callable[..., Any]
    #: (condition) -> the condition, with a hint to the compiler.
    unlikely: Callable[..., Any]


def make_move(normal: Any, cycle_shift: Any, walk_moved: Any) -> Callable[..., Any]:
    """Return the function that moves the means."""

    def move(t: Any, c: Any, s: Any, start: Any, state: Any) -> Any:
        """Bring `shift` to round t: how far each arm's mean is from that of its phase."""
        numbers, K = c.motion_numbers, s.K
        for i in range(K):
            if c.motion == CYCLE:
                shape = numbers[i], numbers[K + i], numbers[2 * K + i]
                s.shift[i] = cycle_shift(float(t), *shape)
            elif t == 1:
                s.away[i] = c.true_mean[start + i] - numbers[2 * K + i]
                s.shift[i] = 0.0
            else:
                z, state = normal(state)
                s.away[i] = walk_moved(s.away[i], numbers[i], numbers[K + i], z)
                s.shift[i] = numbers[2 * K + i] + s.away[i] - c.true_mean[start + i]
        return state

    return move


def make_play(hooks: Hooks, flags: Flags) -> Callable[..., int]:
    """Return the loop for one policy."""
    # Numba compiles local names in, and leaves out the branches of flags that are False.
    begin, select, refresh, prepare = hooks.begin, hooks.select, hooks.refresh, hooks.prepare
    transform, observe, fade_policy = hooks.transform, hooks.observe, hooks.fade
    pay, valid, ends, recommend = hooks.pay, hooks.valid, hooks.ends, hooks.recommend
    note, stream, move = hooks.note, hooks.stream, hooks.move
    begin_initial_pulls, initial_pull = hooks.begin_initial_pulls, hooks.initial_pull
    pull_again, unlikely = hooks.pull_again, hooks.unlikely
    CONTEXT, MOVING = flags.context, flags.moving
    FADING, STOPPING = flags.fading, flags.stopping
    BY_ROUND = CONTEXT or MOVING  # a reward belongs to a round, not to a pull
    COUNTS_PULLS = FADING  # n is not the number of pulls

    def play(c: Any, s: Any) -> Any:
        """Play one run per row of `true_mean`, or a piece of one run, and return how it ended.

        Per run, `final` gets the regret at the horizon, `best_share` the share of rounds on a best
        arm, and `curve` the regret after each of `rounds`. `counter` counts rounds for a progress
        bar; set `stop` to end the call early. A run that a stopping rule ended adds no regret.
        """
        K, horizon, parameters = s.K, c.horizon, c.parameters
        n, mean, m2, gap = s.n, s.mean, s.m2, s.gap
        for r in range(c.runs):
            row = r * K
            run = stream(c.seed, c.first_run + r)
            state = stream(run, CHOICES)
            walk = stream(run, WALKS)
            regret, best, hits, column, played = 0.0, -np.inf, 0, 0, horizon
            phase, check, first = -1, 0, 1
            if CONTEXT:
                first = int(s.progress[ROUND]) + 1
            if first == 1:
                tape = stream(run, REWARDS_BY_ROUND if BY_ROUND else REWARDS)
                for j in range(FIRST_Z):
                    s.level[j] = 0.0
                s.level[GATE] = np.inf
                s.level[LEFT] = -1.0
                for i in range(K):
                    n[i] = mean[i] = m2[i] = 0.0
                    s.pulls[i] = 0
                    s.tapes[i] = stream(tape, i)
                    if MOVING:
                        s.shift[i] = s.away[i] = 0.0
                if not BY_ROUND:
                    for i in range(K):
                        best = max(best, c.true_mean[row + i])
                    for i in range(K):
                        gap[i] = best - c.true_mean[row + i]
                        s.next_reward[i] = pay(
                            c.kind, s.tapes[i], np.int64(0), c.a[row + i], c.b[row + i], c.data
                        )
                if STOPPING:
                    for j in range(RULE_NUMBERS):
                        c.rule_state[j] = 0
                waiting = begin_initial_pulls(c, s)
                begin(c, s)
                for i in range(K):
                    if s.pulls_left[i] == 0:
                        prepare(i, s, parameters)
            else:
                regret, hits, column = (
                    s.progress[REGRET],
                    int(s.progress[HITS]),
                    int(s.progress[COLUMN]),
                )
                waiting, state = int(s.progress[WAITING]), s.state[0]
            next_round = c.rounds[column]
            while c.check_rounds[check] != 0 and c.check_rounds[check] < first:
                check += 1
            next_check = c.check_rounds[check]
            needed = 0
            if FADING:
                for i in range(K):
                    needed += c.initial_pulls[i]
            last = min(first - 1 + c.rounds_now, horizon)
            for t in range(first, last + 1):
                # 1. Who comes, and what the arms are worth to them.
                if MOVING:
                    changed = c.motion != STILL
                    while phase + 1 < c.phases and c.starts[phase + 1] <= t:
                        phase += 1
                        changed = True
                    row = phase * K
                    if c.motion != STILL:
                        walk = move(t, c, s, row, walk)
                    if changed:
                        best = -np.inf
                        for i in range(K):
                            s.truth[i] = c.true_mean[row + i] + s.shift[i]
                            best = max(best, s.truth[i])
                        for i in range(K):
                            gap[i] = best - s.truth[i]
                if CONTEXT:
                    for j in range(s.d):
                        s.unit[j] = c.features[(t - first) * s.d + j]
                    row = (t - first) * K
                    best = -np.inf
                    for i in range(K):
                        best = max(best, c.true_mean[row + i])
                    for i in range(K):
                        gap[i] = best - c.true_mean[row + i]
                # 2. Choose an arm.
                if unlikely(waiting > 0):
                    arm, waiting, state = initial_pull(waiting, s, state)
                else:
                    time = t
                    if FADING:  # the policy sees weights for counts, and their sum for the round
                        total = 0.0
                        for i in range(K):
                            total += n[i]
                        time = max(int(total), needed) + 1
                    arm, state = select(time, s, parameters, state)
                    if unlikely(arm < 0):
                        return BAD_POLICY
                # 3. Pay.
                if BY_ROUND:
                    x = pay(c.kind, s.tapes[arm], t, c.a[row + arm], c.b[row + arm], c.data)
                    if MOVING:
                        x += s.shift[arm]
                else:
                    x = s.next_reward[arm]
                if unlikely(x - x != 0):  # NaN or infinite
                    return BAD_REWARD
                paid = x
                x, state = transform(x, state)
                if CONTEXT:
                    s.unit[s.d] = x
                # 4. Learn.
                if FADING:
                    factor = c.fade[0]
                    for i in range(K):
                        n[i] *= factor
                        m2[i] *= factor
                    fade_policy(factor, s, parameters)
                observe(arm, x, s, parameters)
                n[arm] += 1
                if COUNTS_PULLS:
                    s.pulls[arm] += 1
                if not BY_ROUND:
                    pull = s.pulls[arm] if COUNTS_PULLS else int(n[arm])
                    s.next_reward[arm] = pay(
                        c.kind, s.tapes[arm], pull, c.a[row + arm], c.b[row + arm], c.data
                    )
                step = x - mean[arm]
                mean[arm] += step / n[arm]
                m2[arm] += step * (x - mean[arm])
                if FADING:
                    waiting = pull_again(waiting, s, c.least)
                refresh(arm, s, parameters)
                # 5. Record.
                regret += gap[arm]
                if gap[arm] == 0:
                    hits += 1
                if unlikely(t == next_round):
                    c.curve[r * c.columns + column] = regret
                    column += 1
                    next_round = c.rounds[min(column, c.columns - 1)]
                if unlikely(t == next_check):
                    pulls = s.pulls if COUNTS_PULLS else n
                    note(c, s, arm, paid, pulls, recommend(s, parameters), hits)
                    check += 1
                    next_check = c.check_rounds[check]
                if STOPPING and ends(t, c, s):
                    played = t
                    for later in range(column, c.columns):
                        c.curve[r * c.columns + later] = regret
                    c.counter[0] += horizon - horizon % 64 - (t - 1) // 64 * 64
                    last = horizon
                    break
                if unlikely(t & 63 == 0):
                    c.counter[0] += 64
                    if c.stop[0] != 0:
                        return STOPPED
            if CONTEXT:
                s.progress[ROUND] = last
                s.progress[HITS], s.progress[COLUMN], s.progress[WAITING] = hits, column, waiting
                s.progress[REGRET] = regret
                s.state[0] = state
                if last < horizon:
                    return DONE
            if waiting == 0 and not valid(horizon + 1, s, parameters):
                return BAD_POLICY
            c.final[r] = regret
            c.best_share[r] = hits / played
            c.counter[0] += horizon & 63
        return DONE

    return play
