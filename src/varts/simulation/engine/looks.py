"""What a loop notes of a run in the rounds at which it is looked at, if it is at all.

A look is a row of `Notes`. The loop compares the round with that of the next look, a number in a
register, and writes the row when they are equal.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from varts.simulation.engine.parts import jit

NEVER = 0  # rounds begin with 1
N, MEAN, M2, PULLS, GAP = 0, 1, 2, 3, 4  # rows of a look, with a column per arm
ARM, REWARD, HIGHEST = 0, 1, 2  # what happened in its round, and which arm has the highest mean
LEVEL = -1  # in the place of that arm, if there are several


class Notes(NamedTuple):
    """The rounds to look at and what is seen there, run after run."""

    rounds: np.ndarray  # increasing, with NEVER at the end
    arms: (
        np.ndarray
    )  # (5, looks, K): n, mean, m2, pulls, and how far the true mean is below the best
    acts: np.ndarray  # (looks, 3): the arm pulled, what it paid, and the arm with the highest mean
    written: np.ndarray  # one number: the looks that were written down


def allocate_notes(rounds, runs, K):
    """Room for so many runs, looked at in these rounds."""
    looks = runs * len(rounds)
    return arrange_notes(rounds, looks, K, np.empty((5 * K + 3) * looks))


def arrange_notes(rounds, looks, K, memory):
    """So many looks in memory that may be more than they need."""
    end = 5 * K * looks
    return Notes(
        np.append(rounds, NEVER).astype(np.int64),
        memory[:end].reshape(5, looks, K),
        memory[end : end + 3 * looks].reshape(looks, 3),
        np.zeros(1, dtype=np.int64),
    )


class MemoryKept(threading.local):
    """That of a thread's last call: new memory costs as much as what is written to it."""

    memory = np.empty(0)

    def notes(self, rounds, runs, K):
        """Room for so many runs that nobody else uses, until the thread asks again."""
        looks = runs * len(rounds)
        if self.memory.size < (5 * K + 3) * looks:
            self.memory = np.empty((5 * K + 3) * looks)
        return arrange_notes(rounds, looks, K, self.memory)


memory_kept = MemoryKept()
NO_LOOKS = allocate_notes((), 0, 1)


@jit
def note(notes, arm, paid, n, mean, m2, pulls, gap):
    """Write down a look."""
    row = notes.written[0]
    notes.written[0] += 1
    notes.acts[row, ARM] = arm
    notes.acts[row, REWARD] = paid
    highest, best = LEVEL, -np.inf
    for i in range(len(n)):
        if n[i] > 0 and mean[i] >= best:
            highest = i if mean[i] > best else LEVEL
            best = mean[i]
        notes.arms[N, row, i] = n[i]
        notes.arms[MEAN, row, i] = mean[i]
        notes.arms[M2, row, i] = m2[i]
        notes.arms[PULLS, row, i] = pulls[i]
        notes.arms[GAP, row, i] = gap[i]
    notes.acts[row, HIGHEST] = highest
