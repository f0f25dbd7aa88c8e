"""The loop of a simulation. There is one, for every policy and every problem.

`make_play` returns it for one policy. Compile-time flags leave out what a study doesn't need, so an
ordinary one pays nothing for moving means, features, fading, stopping rules, late rewards or a
floor. Around a policy in plain Python the same function runs uncompiled.

An arm's next reward is drawn when the one before is paid. Which arm comes next depends on the
current reward, and the processor can draw the next one while it waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts.problems.drift import CYCLE, STILL
from varts.problems.returning import ALIKE, POPULATION, STICKY
from varts.simulation.engine import initial_pulls, late_rewards
from varts.simulation.engine.late_rewards import (
    ARM,
    BATCH,
    LATE_COLUMNS,
    NEXT,
    NONE,
    Queue,
    make_queue,
)
from varts.simulation.engine.scratch import (
    COLUMN,
    FIRST_Z,
    GATE,
    HITS,
    LACKING,
    LEFT,
    REGRET,
    ROUND,
    RULE_NUMBERS,
    SKIPPED,
    WAITING,
)

# A run's streams of random numbers, by purpose. Part of every result: append, never renumber.
CHOICES, REWARDS, MEMORY, REWARDS_BY_ROUND, WALKS, DELAYS, FLOORS, VISITORS = map(
    np.int64, range(8)
)
# How a call of the loop ended. A kernel returns 0 if compiled code raised an exception.
RAISED, DONE, STOPPED, BAD_REWARD, BAD_POLICY, BAD_DELAY, TOO_MANY_LATE = range(7)


@dataclass(frozen=True)
class Flags:
    """The cases that the loop of a study must handle."""

    context: bool = False  # rewards depend on features, and runs are played in pieces
    moving: bool = False  # the means of the arms move from round to round
    fading: bool = False  # each reward makes older ones count less
    stopping: bool = False  # a rule may end a run
    late: bool = False  # rewards are late, or handed over in batches
    floored: bool = False  # every arm has a smallest probability
    returning: bool = False  # a round is a visit of somebody, who may come again
    counts_pulls: bool = False  # `own_pulls` takes the place of n: see `Policy.counts_pulls`

    @property
    def awaits(self) -> bool:
        """Whether the policy needs its initial number of known rewards."""
        return self.late and not self.counts_pulls


@dataclass(frozen=True)
class Hooks:
    """The functions that the loop calls.

    `c` is a `Call`, `s` a `Scratch`, and `state` the state of the random numbers.
    """

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
    #: (u, reward, numbers) -> how many rounds late the reward is.
    delay: Callable[..., Any]
    #: See `checkpoints.py`, `initial_pulls.py` and `rng.py`.
    note: Callable[..., Any]
    initial_pull: Callable[..., Any]
    extra_pull: Callable[..., Any]
    stream: Callable[..., Any]
    uniform_at: Callable[..., Any]
    move: Callable[..., Any]
    #: (condition) -> the condition, with a hint to the compiler.
    unlikely: Callable[..., Any]
    #: (function) -> the function as the loop calls it: compiled, or as it is.
    ready: Callable[..., Any]


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


def make_learn(hooks: Hooks, flags: Flags) -> Callable[..., Any]:
    """Return the function by which a policy learns from one reward."""
    transform, observe, refresh = hooks.transform, hooks.observe, hooks.refresh
    fade_policy, ready = hooks.fade, hooks.ready
    pull_again = ready(initial_pulls.pull_again)
    expect_again = ready(initial_pulls.expect_again)
    CONTEXT, FADING, AWAITS = flags.context, flags.fading, flags.awaits

    def learn(arm: Any, x: Any, c: Any, s: Any, waiting: Any, lacking: Any, state: Any) -> Any:
        """Learn from the reward x of an arm; return the new `waiting`, `lacking` and state."""
        n, mean, m2 = s.n, s.mean, s.m2
        x, state = transform(x, state)
        if CONTEXT:
            s.unit[s.d] = x
        if FADING:
            factor = c.fade[0]
            for i in range(s.K):
                n[i] *= factor
                m2[i] *= factor
            fade_policy(factor, s, c.parameters)
        observe(arm, x, s, c.parameters)
        n[arm] += 1
        step = x - mean[arm]
        mean[arm] += step / n[arm]
        m2[arm] += step * (x - mean[arm])
        if AWAITS and s.rewards_left[arm] > 0:
            s.rewards_left[arm] -= 1
            if s.rewards_left[arm] == 0:
                lacking -= 1
        if FADING:
            if AWAITS:
                waiting, lacking = expect_again(waiting, lacking, s, c.least)
            else:
                waiting = pull_again(waiting, s, c.least)
        refresh(arm, s, c.parameters)
        return waiting, lacking, state

    return learn


def make_hand_over(learn: Callable[..., Any], queue: Queue, flags: Flags) -> Callable[..., Any]:
    """Return the function that hands late rewards over to a policy.

    Args:
        learn: What `make_learn` returns.
        queue: The functions of the queue.
        flags: The cases that the loop must handle.
    """
    take, append, free = queue.take, queue.append, queue.free
    CONTEXT = flags.context

    def hand_over(batch: Any, c: Any, s: Any, waiting: Any, lacking: Any, state: Any) -> Any:
        """Learn from all rewards that are due at the end of a batch, in the order of pulls."""
        entry = take(batch, c, s)
        while entry != NONE:
            at, following = LATE_COLUMNS * entry, s.late[LATE_COLUMNS * entry + NEXT]
            if s.late[at + BATCH] == batch:
                arm, x = s.late[at + ARM], s.late_rewards[(1 + s.d) * entry]
                if CONTEXT:
                    for j in range(s.d):
                        s.unit[j] = s.late_rewards[(1 + s.d) * entry + 1 + j]
                free(entry, c, s)
                waiting, lacking, state = learn(arm, x, c, s, waiting, lacking, state)
            else:
                append(entry, s.late[at + BATCH], c, s)
            entry = following
        return waiting, lacking, state

    return hand_over


def make_play(hooks: Hooks, flags: Flags) -> Callable[..., int]:
    """Return the loop for one policy."""
    # Numba compiles local names in, and leaves out the branches of flags that are False.
    begin, select, prepare, ready = hooks.begin, hooks.select, hooks.prepare, hooks.ready
    pay, valid, ends, recommend = hooks.pay, hooks.valid, hooks.ends, hooks.recommend
    note, stream, move, unlikely = hooks.note, hooks.stream, hooks.move, hooks.unlikely
    delay_of, uniform_at = hooks.delay, hooks.uniform_at
    initial_pull, extra_pull = hooks.initial_pull, hooks.extra_pull
    begin_initial_pulls = ready(initial_pulls.begin_initial_pulls)
    expect_rewards = ready(initial_pulls.expect_rewards)
    count_pull = ready(initial_pulls.count_pull)
    learn = ready(make_learn(hooks, flags))
    queue, batch_due = make_queue(ready, flags.context), ready(late_rewards.batch_due)
    empty_queue, store = queue.empty, queue.store
    hand_over = ready(make_hand_over(learn, queue, flags))
    CONTEXT, MOVING = flags.context, flags.moving
    FADING, STOPPING = flags.fading, flags.stopping
    LATE, FLOORED, OWN_PULLS = flags.late, flags.floored, flags.counts_pulls
    AWAITS, RETURNING = flags.awaits, flags.returning
    STILL_MEANS = not (CONTEXT or MOVING)
    BY_ROUND = RETURNING or not STILL_MEANS  # a reward belongs to a round, not to a pull
    COUNTS_PULLS = FADING or LATE  # n is not the number of pulls

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
            floors = stream(run, FLOORS)
            visits = stream(run, VISITORS)
            visitor, likeness = 0, stream(visits, np.int64(1))
            lacking, skipped, batch, batch_end = 0, 0, 0, 0
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
                if STILL_MEANS:
                    for i in range(K):
                        best = max(best, c.true_mean[row + i])
                    for i in range(K):
                        gap[i] = best - c.true_mean[row + i]
                if not BY_ROUND:
                    for i in range(K):
                        s.next_reward[i] = pay(
                            c.kind, s.tapes[i], np.int64(0), c.a[row + i], c.b[row + i], c.data
                        )
                if RETURNING and c.visitors[STICKY] > 0:
                    for j in range(int(c.visitors[POPULATION])):
                        s.kept[j] = -1
                if LATE:
                    empty_queue(c, s)
                    delays = stream(run, DELAYS)
                    for i in range(K):
                        s.delay_tapes[i] = stream(delays, i)
                if OWN_PULLS:
                    for i in range(K):
                        s.own_pulls[i] = 0
                if STOPPING:
                    for j in range(RULE_NUMBERS):
                        c.rule_state[j] = 0
                waiting = begin_initial_pulls(c, s)
                if AWAITS:
                    lacking = expect_rewards(c, s)
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
                lacking, skipped = int(s.progress[LACKING]), int(s.progress[SKIPPED])
            next_round = c.rounds[column]
            while c.check_rounds[check] != 0 and c.check_rounds[check] < first:
                check += 1
            next_check = c.check_rounds[check]
            needed = 0
            if FADING:
                for i in range(K):
                    needed += c.initial_pulls[i]
            if LATE:
                batch = (first - 1) // c.batch + 1
                batch_end = batch * c.batch
            last = min(first - 1 + c.rounds_now, horizon)
            for t in range(first, last + 1):
                # 1. The visitor, and the arms' means for them.
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
                arm = -1
                if RETURNING:
                    visitor = int(uniform_at(visits, t) * c.visitors[POPULATION])
                    if c.visitors[STICKY] > 0:
                        arm = s.kept[visitor]
                        if arm >= 0:
                            skipped += 1
                            if not OWN_PULLS:
                                waiting = count_pull(arm, waiting, s)
                if FLOORED and arm < 0:
                    u = uniform_at(floors, t)
                    if u < K * c.floor[0]:
                        arm = min(int(u / c.floor[0]), K - 1)
                        skipped += 1
                        if not OWN_PULLS:
                            waiting = count_pull(arm, waiting, s)
                if arm < 0:
                    if unlikely(waiting > 0):
                        arm, waiting, state = initial_pull(waiting, s, state)
                    elif AWAITS and unlikely(lacking > 0):
                        arm, state = extra_pull(s, state)
                    else:
                        time = t
                        if OWN_PULLS:
                            time = t - skipped
                        if FADING:  # the policy sees weights, and their sum for the round
                            total = 0.0
                            for i in range(K):
                                total += n[i]
                            time = max(int(total), needed) + 1
                        arm, state = select(time, s, parameters, state)
                        if unlikely(arm < 0):
                            return BAD_POLICY
                    if OWN_PULLS:
                        s.own_pulls[arm] += 1
                # 3. Pay.
                if BY_ROUND:
                    place = t
                    if RETURNING:
                        if c.visitors[STICKY] > 0:
                            s.kept[visitor] = arm
                        if uniform_at(likeness, t) < c.visitors[ALIKE]:
                            place = -1 - visitor  # what this visitor's other such visits pay
                    x = pay(c.kind, s.tapes[arm], place, c.a[row + arm], c.b[row + arm], c.data)
                    if MOVING:
                        x += s.shift[arm]
                else:
                    x = s.next_reward[arm]
                if unlikely(x - x != 0):  # NaN or infinite
                    return BAD_REWARD
                paid = x
                earlier = 0  # pulls of this arm
                if COUNTS_PULLS:
                    earlier = s.pulls[arm]
                    s.pulls[arm] = earlier + 1
                elif not BY_ROUND:
                    earlier = int(n[arm])
                if not BY_ROUND:
                    s.next_reward[arm] = pay(
                        c.kind, s.tapes[arm], earlier + 1, c.a[row + arm], c.b[row + arm], c.data
                    )
                # 4. Learn, from this reward or from those that are due.
                if LATE:
                    u = uniform_at(s.delay_tapes[arm], t if BY_ROUND else earlier)
                    rounds = delay_of(u, x, c.delay_numbers)
                    if unlikely(not (rounds >= 0 and np.floor(rounds) == rounds)):
                        return BAD_DELAY
                    if rounds <= horizon - t:
                        due = batch_due(t, rounds, c.batch)
                        if due * c.batch <= horizon and unlikely(not store(due, arm, x, c, s)):
                            return TOO_MANY_LATE
                    if t == batch_end:
                        waiting, lacking, state = hand_over(batch, c, s, waiting, lacking, state)
                        batch += 1
                        batch_end += c.batch
                        if CONTEXT:  # the visitor of this round again
                            for j in range(s.d):
                                s.unit[j] = c.features[(t - first) * s.d + j]
                else:
                    waiting, lacking, state = learn(arm, x, c, s, waiting, lacking, state)
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
                s.progress[LACKING], s.progress[SKIPPED] = lacking, skipped
                s.state[0] = state
                if last < horizon:
                    return DONE
            if waiting == 0 and lacking == 0 and not valid(horizon + 1, s, parameters):
                return BAD_POLICY
            c.final[r] = regret
            c.best_share[r] = hits / played
            c.counter[0] += horizon & 63
        return DONE

    return play
