"""The memory of a run: everything that is kept between rounds, allocated in one place.

Kernels allocate nothing themselves. A `Scratch` holds NumPy arrays in Python and pointers inside a
kernel (see `call.py`), so the same loop runs compiled and uncompiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

WIDTH = 8  # numbers stored per belief: seven are enough for every family of beliefs
CHANCE = 7  # the last belongs to the sampler: the probability of the arm's event, or -1
CLOCK_NUMBERS = 4096  # what an index policy's clock may store: see `select_index.py`
ARMS_PER_BLOCK = 64  # arms whose rates are summed together, to find an arm quickly
NO_FLOATS, NO_INTS = np.zeros(1), np.zeros(1, dtype=np.int64)

# Places in `level`, the state of the lazy sampler as a whole.
TAU, TOTAL, LEADER, ACTIVES, VALID, Z = 0, 1, 2, 3, 4, 5
WASTE, BUDGET, SPENT = 6, 7, 8
# The leader wins outright if the exponential is beyond this: the total rate if no arm is active and
# the level is fine, else infinity.
GATE = 9
LEFT = 10  # the unused part of the exponential draw; negative if a new one is needed
INVALID = 11  # 1 if some belief of this run was invalid, such as one with a negative scale
FIRST_Z = 12  # the z that all runs of a call start with; NaN if unknown
LEVEL_NUMBERS = 13

# Places in what a stopping rule stores about a run: its next look; the arm that kept the run from
# ending; the round in which it ended.
POSITION, RIVAL, ENDED = 0, 1, 2
RULE_NUMBERS = 3

# A policy that corrects for kurtosis stores per arm, after the parameters of its formula, m3 and
# m4, and what is known from other rewards: their kurtosis and number.
M3, M4, KURTOSIS_BEFORE, N_BEFORE, KURTOSIS_COLUMNS = 0, 1, 2, 3, 4

# Places in `progress`, where a run that is played in pieces stands.
ROUND, HITS, COLUMN, WAITING, REGRET, LACKING, SKIPPED = 0, 1, 2, 3, 4, 5, 6
PROGRESS_NUMBERS = 7


class Scratch(NamedTuple):
    """The numbers that the loop and the policies store. All but K and d are arrays or pointers."""

    K: Any
    d: Any  # the number of features
    n: Any
    mean: Any
    m2: Any
    gap: Any  # how far each arm's true mean is below the best
    next_reward: Any  # what each arm pays next
    truth: Any  # the true means of the round, if they move
    shift: Any  # how far they are from those of the phase
    away: Any  # how far a random walk is from its center
    beliefs: Any  # WIDTH numbers per arm
    level: Any
    rates: Any  # a rate per arm, close together for a quick search, then the sum of each block
    clock: Any
    pulls: Any
    own_pulls: Any  # pulls that the policy made itself, without those of a floor
    pulls_left: Any  # initial pulls that each arm still needs
    rewards_left: Any  # late rewards: how many must arrive before the policy chooses
    waiting: Any  # the arms that still need initial pulls, in the first places
    active: Any
    place: Any  # the place of each arm in `active`, or -1
    tapes: Any  # the start of each arm's reward stream
    delay_tapes: Any  # the start of each arm's stream of delays
    late: Any  # rewards that aren't known yet: see `late_rewards.py`
    late_rewards: Any
    kept: Any  # the arm of each sticky visitor, or -1
    unit: Any  # the features of this round's visitor, then the reward
    memory: Any  # what a policy itself keeps: its state per arm, or the regressions of `linear.py`
    run_memory: Any  # its state per run
    progress: Any
    state: Any  # the random state between two pieces of a run; that of a policy that learns


def allocate(
    K: int,
    d: int = 0,
    memory: Any = None,
    run_numbers: int = 0,
    late: Any = None,
    sticky_visitors: int = 0,
) -> Scratch:
    """Allocate the memory for one run at a time of a policy on K arms.

    Args:
        K: The number of arms.
        d: The number of features.
        memory: An array for what the policy itself keeps about the arms.
        run_numbers: How many numbers it keeps about a run.
        late: Two arrays for rewards that aren't known yet: see `late_rewards.py`.
        sticky_visitors: How many visitors keep the arm of their first visit.
    """
    waiting_rewards = (NO_INTS, NO_FLOATS) if late is None else late
    level = np.zeros(LEVEL_NUMBERS)
    level[FIRST_Z] = np.nan
    n, mean, m2, gap, next_reward, truth, shift, away = np.zeros((8, K))
    return Scratch(
        K,
        d,
        n,
        mean,
        m2,
        gap,
        next_reward,
        truth,
        shift,
        away,
        beliefs=np.zeros(WIDTH * K),
        level=level,
        rates=np.zeros(K + block_count(K)),
        clock=np.zeros(CLOCK_NUMBERS),
        pulls=np.zeros(K, dtype=np.int64),
        own_pulls=np.zeros(K, dtype=np.int64),
        pulls_left=np.zeros(K, dtype=np.int64),
        rewards_left=np.zeros(K, dtype=np.int64),
        waiting=np.zeros(K, dtype=np.int64),
        active=np.zeros(K, dtype=np.int64),
        place=np.full(K, -1),
        tapes=np.zeros(K, dtype=np.uint64),
        delay_tapes=np.zeros(K, dtype=np.uint64),
        late=waiting_rewards[0],
        late_rewards=waiting_rewards[1],
        kept=np.full(max(sticky_visitors, 1), -1),
        unit=np.zeros(d + 1),
        memory=np.zeros(1) if memory is None else memory,
        run_memory=np.zeros(max(run_numbers, 1)),
        progress=np.zeros(PROGRESS_NUMBERS),
        state=np.zeros(2, dtype=np.uint64),
    )


def block_count(K: Any) -> Any:
    """Return the number of blocks of arms."""
    return (K + ARMS_PER_BLOCK - 1) // ARMS_PER_BLOCK
