"""What the engine keeps of a run between rounds, beside the arms' statistics."""

from __future__ import annotations

import numpy as np

from varts.simulation.engine.parts import jit

BELIEF_COLUMNS = 8  # numbers kept of an arm's belief: seven are enough for every envelope
CHANCE = 7  # the last is the process's: the chance that belongs to the arm's rate, or -1
CLOCK_ROUNDS = 4096  # rounds for which the clock of an index policy is kept
ARMS_PER_BLOCK = 64  # arms whose rates are summed together, to find an arm quickly

# Places in `level`, the state of the lazy sampler as a whole.
TAU, TOTAL, LEADER, ACTIVES, VALID, Z = 0, 1, 2, 3, 4, 5
WASTE, BUDGET, SPENT = 6, 7, 8
# The leader wins outright when the exponential is beyond this: the total rate if no arm is active
# and no re-levelling is due, else infinity.
GATE = 9
LEFT = 10  # what is left of the exponential draw; negative when a new one is due
UNSOUND = 11  # 1 if a belief of this run was none, such as one with a negative scale
FIRST_Z = 12  # the z that runs begin with, for all runs of a call; NaN if it is not known yet


def allocate_memory(K):
    """beliefs, level, rates, the list of active arms, each arm's place in it or -1, clock times,
    pulls still owed to each arm.

    `rates` has r_i per arm, close together so that they are quickly searched, and behind them the
    sum of each block of arms.
    """
    return (
        np.zeros((K, BELIEF_COLUMNS)),
        np.append(np.zeros(FIRST_Z), np.nan),
        np.zeros(K + K // ARMS_PER_BLOCK + 1),
        np.zeros(K, dtype=np.int64),
        np.full(K, -1),
        np.zeros(CLOCK_ROUNDS),
        np.zeros(K, dtype=np.int64),
    )


@jit
def reset_memory(memory):
    """Begin a new run: no level yet, and the gate closed."""
    memory[1][:FIRST_Z] = 0.0
    memory[1][GATE] = np.inf
    memory[1][LEFT] = -1.0


@jit
def note_unsound(i, memory):
    """Arm i's belief is none; it need not be one before the arm has its initial pulls."""
    if memory[6][i] == 0:
        memory[1][UNSOUND] = 1.0
