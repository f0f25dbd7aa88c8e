"""Decisions whose reward window has passed are settled: an event each, in the log.

A sweep goes by the time of decisions and notes how far it came; the next one goes on from there.
Decisions and sweeps go by the same clock, that of the database (`clock.py`).
"""

from __future__ import annotations

import math

from varts.live.allocation import counted, holdout_mark
from varts.live.contextual_allocation import features_marks
from varts.live.options import Options
from varts.live.snapshot import Change, Snapshot
from varts.live.state import EXPIRED, MISSING
from varts.live.transaction import Transaction

DECISIONS_PER_SWEEP = 200  # settled in one transaction: 10 to 30 ms


def expire(snapshot: Snapshot, beside: int) -> None:
    """Settle some of what is overdue, for a call about so many decisions, whom it must not delay.

    At least twice as many, so that what has piled up gets less whatever the traffic.
    """
    if _some_are_due(snapshot):
        with snapshot.changing() as change:
            _sweep(snapshot, change, change.already_swept, max(DECISIONS_PER_SWEEP, 2 * beside))


def expire_all(snapshot: Snapshot, again: bool = False) -> None:
    """Settle all that is overdue; `again` begins at the beginning of the log."""
    more = (again and not snapshot.store.read_only) or _some_are_due(snapshot)
    while more:
        with snapshot.changing() as change:
            since = 0 if again else change.already_swept
            more = _sweep(snapshot, change, since, 5 * DECISIONS_PER_SWEEP)


def _sweep(snapshot: Snapshot, change: Change, since: int, limit: int) -> bool:
    """Settle the oldest decisions after `since`; whether there may be more."""
    config, transaction = change.state.config, change.transaction
    if config.options.window is None:  # it may have been taken away since we looked
        return False
    until = _passed(change.time, config.options)
    rows = transaction.overdue(since, until, limit)
    features = {} if config.options.missing is None else features_marks(config, rows)
    for row in rows:
        if config.options.missing is None:
            change.apply(EXPIRED, row.id, row.arm, row.epoch)
        else:
            value = counted(snapshot.seed, config, row.id, config.options.missing)
            body = {**holdout_mark(snapshot.seed, config, row), **features.get(row.id, {})}
            change.apply(MISSING, row.id, row.arm, row.epoch, value=value, body=body or None)
    more = len(rows) == limit
    # Others of the last one's time may have been cut off.
    change.swept = rows[-1].time - 1 if more else transaction.last_decided(until)
    return more


def sweeps_missed_some(transaction: Transaction, options: Options, now: int, pending: int) -> bool:
    """Whether more decisions are pending than have a window still open.

    Those were stamped, by a clock that was set back or in a transaction that outlasted the window,
    before the time that was swept already.
    """
    if options.window is None or not pending:
        return False
    return pending > transaction.count_unsettled(_passed(now, options), pending)


def is_late(now: int, decided: int, options: Options) -> bool:
    """Whether the reward of a decision of that time can no longer count."""
    return options.window is not None and decided <= _passed(now, options)


def _some_are_due(snapshot: Snapshot) -> bool:
    if snapshot.state.config.options.window is None:  # the common case costs no transaction
        return False
    if snapshot.store.read_only:
        return False
    with snapshot.reading() as transaction:
        state, head = snapshot.refresh(transaction)
        until = _passed(head.time, state.config.options)
        return transaction.last_decided(until) > head.swept


def _passed(now: int, options: Options) -> int:
    """Up to which time the window of decisions has passed, however far the clock is off."""
    if options.window is None:
        return 0
    return max(math.ceil(now - (options.window + options.skew) * 1e6) - 1, 0)
