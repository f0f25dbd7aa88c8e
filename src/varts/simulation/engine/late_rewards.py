"""Rewards that aren't known yet: a queue by the round in which they are due.

Rounds are counted in batches: batch b ends with round b * size, and what is due within it is handed
over at its end. Every batch has a bucket, a linked list of the rewards that are due then, in the
order in which they were earned. There are fewer buckets than batches in a long run. A reward that
is due much later shares the bucket of an earlier batch, and stays there when that ends.

An entry of the queue is used again once its reward is known. So the memory that a run touches grows
with the number of rewards that are late at the same time, and not with the horizon. Rewards that
are due after the horizon are never stored.

`late` has three numbers per entry and `late_rewards` a reward and the features of its visitor.
`due` has two numbers per bucket, the first and the last entry of its list, and then the queue's
own: the first entry to use again, and the number of entries that were ever used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats

ARM, BATCH, NEXT, LATE_COLUMNS = 0, 1, 2, 3  # columns of `late`
NONE = -1  # in place of an entry
MOST_NUMBERS = 2**24  # that a queue may hold, 128 MB
MOST_BUCKETS = 2**16


class QueueSize(NamedTuple):
    """How large a queue must be."""

    entries: int
    buckets: int  # a power of two


def queue_size(horizon: int, longest: float, batch: int, d: int) -> QueueSize:
    """Return how large the queue of a study must be.

    Args:
        horizon: Rounds of a run.
        longest: The longest delay, in rounds; it may be infinite.
        batch: Rounds in a batch.
        d: The number of features.
    """
    at_once = int(min(horizon, longest + batch))  # how many rewards can be late
    buckets = at_once // batch + 2
    return QueueSize(
        min(at_once, most_entries(d)), min(1 << (buckets - 1).bit_length(), MOST_BUCKETS)
    )


def most_entries(d: int) -> int:
    """Return how many rewards may be late at the same time.

    Args:
        d: The number of features.
    """
    return MOST_NUMBERS // (LATE_COLUMNS + 1 + d)


def allocate_queue(size: QueueSize, d: int) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return `late`, `late_rewards` and `due`. The system provides their memory when it is used.

    Args:
        size: The size of the queue.
        d: The number of features.
    """
    return (
        np.empty(LATE_COLUMNS * size.entries, dtype=np.int64),
        np.empty((1 + d) * size.entries),
        np.empty(2 * size.buckets + 2, dtype=np.int64),
    )


def empty_queue(c: Any, s: Any) -> None:
    """Empty the queue at the start of a run."""
    for bucket in range(c.buckets):
        s.due[2 * bucket] = NONE
    s.due[2 * c.buckets] = NONE
    s.due[2 * c.buckets + 1] = 0


def append_entry(entry: Any, batch: Any, c: Any, s: Any) -> None:
    """Append an entry to the list of its batch."""
    at = 2 * (batch & (c.buckets - 1))
    s.late[LATE_COLUMNS * entry + NEXT] = NONE
    if s.due[at] == NONE:
        s.due[at] = entry
    else:
        s.late[LATE_COLUMNS * s.due[at + 1] + NEXT] = entry
    s.due[at + 1] = entry


def make_store(append_entry: Any, with_features: bool) -> Any:
    """Return the function that stores a reward.

    Args:
        append_entry: The function of this name.
        with_features: Whether rewards have features.
    """

    def store(batch: Any, arm: Any, reward: Any, c: Any, s: Any) -> Any:
        """Store a reward until the end of its batch; return whether there was room for it."""
        own = 2 * c.buckets
        entry = s.due[own]
        if entry != NONE:
            s.due[own] = s.late[LATE_COLUMNS * entry + NEXT]
        else:
            entry = s.due[own + 1]
            if entry == c.most_late:
                return False
            s.due[own + 1] = entry + 1
        s.late[LATE_COLUMNS * entry + ARM] = arm
        s.late[LATE_COLUMNS * entry + BATCH] = batch
        s.late_rewards[(1 + s.d) * entry] = reward
        if with_features:
            for j in range(s.d):
                s.late_rewards[(1 + s.d) * entry + 1 + j] = s.unit[j]
        append_entry(entry, batch, c, s)
        return True

    return store


def take_list(batch: Any, c: Any, s: Any) -> Any:
    """Empty the bucket of a batch and return its first entry; `NEXT` leads to the others."""
    at = 2 * (batch & (c.buckets - 1))
    first = s.due[at]
    s.due[at] = NONE
    return first


def free_entry(entry: Any, c: Any, s: Any) -> None:
    """Use an entry again."""
    s.late[LATE_COLUMNS * entry + NEXT] = s.due[2 * c.buckets]
    s.due[2 * c.buckets] = entry


def batch_due(t: Any, rounds: Any, size: Any) -> Any:
    """Return the batch at whose end a reward is handed over.

    Args:
        t: The round in which it is earned.
        rounds: Its delay, a finite number.
        size: Rounds in a batch.
    """
    due = t + int(rounds)
    if size == 1:
        return due
    return (due + size - 1) // size
