"""Rewards that aren't known yet: a queue by the round in which they are due.

Rounds are counted in batches: batch b ends with round b * size, and what is due within it is handed
over at its end. Every batch has a bucket, a linked list of the rewards that are due then, in the
order in which they were earned. There are fewer buckets than batches in a long run. A reward that
is due much later shares the bucket of an earlier batch, and stays there when that ends.

An entry of the queue is used again once its reward is known. So the memory that a run touches grows
with the number of rewards that are late at the same time, and not with the horizon. Rewards that
are due after the horizon are never stored.

`late` has three numbers per entry. Two per bucket follow: the first entry of its list, and where
the number of the next entry is to be written. The last two are the queue's own: the first entry to
use again, and the number of entries that were ever used. `late_rewards` has a reward and the
features of its visitor per entry.
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


class Queue(NamedTuple):
    """The functions of a queue."""

    empty: Any  # (c, s)
    store: Any  # (batch, arm, reward, c, s) -> whether there was room
    take: Any  # (batch, c, s) -> the first entry of a batch's bucket, which is then empty
    append: Any  # (entry, batch, c, s)
    free: Any  # (entry, c, s)


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


def allocate_queue(size: QueueSize, d: int) -> tuple[NDArray[np.int64], Floats]:
    """Return `late` and `late_rewards`. The system provides their memory when it is used.

    Args:
        size: The size of the queue.
        d: The number of features.
    """
    numbers = LATE_COLUMNS * size.entries + 2 * size.buckets + 2
    return np.empty(numbers, dtype=np.int64), np.empty((1 + d) * size.entries)


def bucket_of(batch: Any, c: Any) -> Any:
    """Return where the two numbers of a batch's bucket are."""
    return LATE_COLUMNS * c.most_late + 2 * (batch & (c.buckets - 1))


def own_numbers(c: Any) -> Any:
    """Return where the queue's own two numbers are."""
    return LATE_COLUMNS * c.most_late + 2 * c.buckets


def make_queue(ready: Any, with_features: bool) -> Queue:
    """Return the functions of the queue.

    Args:
        ready: As in `Hooks`.
        with_features: Whether rewards have features.
    """
    bucket, own = ready(bucket_of), ready(own_numbers)

    def empty(c: Any, s: Any) -> None:
        """Empty the queue at the start of a run."""
        for b in range(c.buckets):
            at = bucket(b, c)
            s.late[at] = NONE
            s.late[at + 1] = at
        s.late[own(c)] = NONE
        s.late[own(c) + 1] = 0

    def append(entry: Any, batch: Any, c: Any, s: Any) -> None:
        """Append an entry to the list of its batch."""
        at, following = bucket(batch, c), LATE_COLUMNS * entry + NEXT
        s.late[following] = NONE
        s.late[s.late[at + 1]] = entry
        s.late[at + 1] = following

    append = ready(append)

    def store(batch: Any, arm: Any, reward: Any, c: Any, s: Any) -> Any:
        """Store a reward until the end of its batch; return whether there was room for it."""
        mine = own(c)
        entry = s.late[mine]
        if entry != NONE:
            s.late[mine] = s.late[LATE_COLUMNS * entry + NEXT]
        else:
            entry = s.late[mine + 1]
            if entry == c.most_late:
                return False
            s.late[mine + 1] = entry + 1
        s.late[LATE_COLUMNS * entry + ARM] = arm
        s.late[LATE_COLUMNS * entry + BATCH] = batch
        s.late_rewards[(1 + s.d) * entry] = reward
        if with_features:
            for j in range(s.d):
                s.late_rewards[(1 + s.d) * entry + 1 + j] = s.unit[j]
        append(entry, batch, c, s)
        return True

    def take(batch: Any, c: Any, s: Any) -> Any:
        """Empty the bucket of a batch and return its first entry; `NEXT` leads to the others."""
        at = bucket(batch, c)
        first = s.late[at]
        s.late[at] = NONE
        s.late[at + 1] = at
        return first

    def free(entry: Any, c: Any, s: Any) -> None:
        """Use an entry again."""
        s.late[LATE_COLUMNS * entry + NEXT] = s.late[own(c)]
        s.late[own(c)] = entry

    return Queue(ready(empty), ready(store), ready(take), append, ready(free))


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
