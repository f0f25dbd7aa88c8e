"""The records of a run at its checkpoints, written by the loop.

The loop compares the round with that of the next checkpoint, a number in a register, and calls
`note` when they are equal.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.simulation.engine.call import NEVER

N, MEAN, M2, PULLS, GAP = 0, 1, 2, 3, 4  # tables with a row per checkpoint and a column per arm
TABLES = 5
# The round's arm and reward, the arm with the highest mean, and the rounds so far on a best arm.
ARM, REWARD, HIGHEST, HITS = 0, 1, 2, 3
ACTS = 4
TIE = -1  # in place of that arm, if there are several


def note(c: Any, s: Any, arm: Any, paid: Any, pulls: Any, recommended: Any, hits: Any) -> None:
    """Write a row. `recommended` is an arm, or -1 for the arm with the highest mean."""
    row = c.check_written[0]
    c.check_written[0] += 1
    highest, best = TIE, -np.inf
    for i in range(s.K):
        if s.n[i] > 0 and s.mean[i] >= best:
            highest = i if s.mean[i] > best else TIE
            best = s.mean[i]
        at = row * s.K + i
        table = c.check_rows * s.K
        c.check_arms[N * table + at] = s.n[i]
        c.check_arms[MEAN * table + at] = s.mean[i]
        c.check_arms[M2 * table + at] = s.m2[i]
        c.check_arms[PULLS * table + at] = pulls[i]
        c.check_arms[GAP * table + at] = s.gap[i]
    c.check_acts[ACTS * row + ARM] = arm
    c.check_acts[ACTS * row + REWARD] = paid
    c.check_acts[ACTS * row + HIGHEST] = highest if recommended < 0 else recommended
    c.check_acts[ACTS * row + HITS] = hits


class Notes(NamedTuple):
    """The checkpoints of some runs and what was written there, run after run."""

    rounds: NDArray[np.int64]  # increasing, with NEVER at the end
    arms: Floats  # (5, rows, K): n, mean, m2, pulls, and how far the true mean is below the best
    acts: Floats  # (rows, 4): the arm pulled, what it paid, that with the highest mean, and hits
    written: NDArray[np.int64]  # one number: how many rows


def allocate_notes(rounds: Any, runs: int, K: int) -> Notes:
    """Allocate rows for a number of runs."""
    return _arrange(rounds, runs, K, np.empty((TABLES * K + ACTS) * runs * len(rounds)))


def _arrange(rounds: Any, runs: int, K: int, memory: Floats) -> Notes:
    rows = runs * len(rounds)
    end = TABLES * K * rows
    return Notes(
        np.append(rounds, NEVER).astype(np.int64),
        memory[:end].reshape(TABLES, rows, K),
        memory[end : end + ACTS * rows].reshape(rows, ACTS),
        np.zeros(1, dtype=np.int64),
    )


class NotesOfThread(threading.local):
    """Memory that a thread uses again: new memory costs as much as writing to it."""

    memory = np.empty(0)

    def allocate(self, rounds: Any, runs: int, K: int) -> Notes:
        """Like `allocate_notes`; the notes are overwritten when the thread asks again."""
        size = (TABLES * K + ACTS) * runs * len(rounds)
        if self.memory.size < size:
            self.memory = np.empty(size)
        return _arrange(rounds, runs, K, self.memory)


notes_of_thread = NotesOfThread()
NO_NOTES = allocate_notes((), 0, 1)
