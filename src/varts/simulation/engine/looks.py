"""What a loop notes of a run in the rounds at which it is looked at, if it is at all.

A look is a row of `Notes`. The loop compares the round with that of the next look, a number in a
register, and writes the row when they are equal.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from varts.simulation.engine.rng import jit

NEVER = 0  # rounds begin with 1
N, MEAN, M2, PULLS, GAP = 0, 1, 2, 3, 4  # rows of a look, with a column per arm
ARM, REWARD = 0, 1  # what happened in its round


class Notes(NamedTuple):
    """The rounds to look at and what is seen there, run after run."""

    rounds: np.ndarray  # increasing, with NEVER at the end
    arms: (
        np.ndarray
    )  # (5, looks, K): n, mean, m2, pulls, and how far the true mean is below the best
    acts: np.ndarray  # (looks, 2): the arm pulled and what it paid
    written: np.ndarray  # one number: the looks that were written down


def allocate_notes(rounds, runs, K):
    """Room for so many runs, looked at in these rounds."""
    looks = runs * len(rounds)
    return Notes(
        np.append(rounds, NEVER).astype(np.int64),
        np.empty((5, looks, K)),
        np.empty((looks, 2)),
        np.zeros(1, dtype=np.int64),
    )


class NotesKept(threading.local):
    """Those of a thread's last call: new memory costs as much as what is written to it."""

    notes = None

    def of(self, rounds, runs, K):
        """Room that nobody else uses, until the thread asks again."""
        kept = self.notes
        shape = 5, runs * len(rounds), K
        if kept is None or kept.arms.shape != shape or tuple(kept.rounds[:-1]) != tuple(rounds):
            self.notes = allocate_notes(rounds, runs, K)
        return self.notes


notes_kept = NotesKept()
NO_LOOKS = allocate_notes((), 0, 1)


@jit
def note(notes, arm, paid, n, mean, m2, pulls, gap):
    """Write down a look."""
    row = notes.written[0]
    notes.written[0] += 1
    notes.acts[row, ARM] = arm
    notes.acts[row, REWARD] = paid
    for i in range(len(n)):
        notes.arms[N, row, i] = n[i]
        notes.arms[MEAN, row, i] = mean[i]
        notes.arms[M2, row, i] = m2[i]
        notes.arms[PULLS, row, i] = pulls[i]
        notes.arms[GAP, row, i] = gap[i]
