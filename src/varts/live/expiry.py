"""Decisions whose reward window has passed are settled: an event each, in the log.

A sweep goes by the time of decisions and notes how far it came; the next one goes on from there.
"""

from __future__ import annotations

import math

from varts.live.allocation import counted
from varts.live.snapshot import Snapshot
from varts.live.state import EXPIRED, MISSING
from varts.live.transaction import Transaction

DECISIONS_PER_SWEEP = 1000  # settled in one transaction


def expire(snapshot: Snapshot, everything: bool = False) -> None:
    """Settle what is overdue; `everything` begins at the beginning of the log."""
    while everything or _some_are_due(snapshot):
        with snapshot.changing() as change:
            config, transaction = change.state.config, change.transaction
            window, missing = config.options.window, config.options.missing
            if window is None:  # it may have been taken away since we looked
                return
            since = 0 if everything else _swept(snapshot, transaction)
            until = _passed(change.time, window)
            rows = transaction.overdue(since, until, DECISIONS_PER_SWEEP)
            for row in rows:
                if missing is None:
                    change.apply(EXPIRED, row.id, row.arm, row.epoch)
                else:
                    value = counted(snapshot.seed, config, row.id, missing)
                    change.apply(MISSING, row.id, row.arm, row.epoch, value=value)
            # Others of the last one's time may have been cut off.
            cut = len(rows) == DECISIONS_PER_SWEEP
            change.swept = rows[-1].time - 1 if cut else transaction.last_decided(until)
        if not cut:
            return


def sweeps_missed_some(snapshot: Snapshot, transaction: Transaction, pending: int) -> bool:
    """Whether more decisions are pending than have a window still open.

    Those were stamped, by a clock that is behind or in a transaction that outlasted the window,
    before the time that was swept already.
    """
    window = snapshot.state.config.options.window
    if window is None:
        return False
    return pending > transaction.count_unsettled(_passed(snapshot.store.clock(), window))


def _some_are_due(snapshot: Snapshot) -> bool:
    window = snapshot.state.config.options.window
    if window is None:  # the common case costs no transaction
        return False
    with snapshot.reading() as transaction:
        until = _passed(snapshot.store.clock(), window)
        return transaction.last_decided(until) > _swept(snapshot, transaction)


def _swept(snapshot: Snapshot, transaction: Transaction) -> int:
    """Up to which time decisions are known to be settled."""
    return int(transaction.head(snapshot.state.version)[0].swept)


def _passed(now: int, window: float) -> int:
    """Up to which time the window of decisions has passed."""
    return max(math.ceil(now - window * 1e6) - 1, 0)
