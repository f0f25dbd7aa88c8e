"""Decisions whose reward window has passed are settled: an event each, in the log.

A sweep goes by the time of decisions and notes how far it came; the next one goes on from there.
"""

from __future__ import annotations

import math

from varts.live.allocation import counted
from varts.live.snapshot import View
from varts.live.state import EXPIRED, MISSING, Event
from varts.live.transaction import Log

SWEEP = 1000  # decisions settled in one transaction


def expire(view: View, everything: bool = False) -> None:
    """Settle what is overdue; `everything` begins at the beginning of the log."""
    while everything or _some_are_due(view):
        with view.writing() as log:
            log.lock()
            state = view.current(log).copy()
            window, missing = state.config.options.window, state.config.options.missing
            if window is None:  # it may have been taken away since we looked
                return
            until, now, new = _past(view, window), view.store.clock(), []
            rows = log.overdue(0 if everything else _swept(view, log), until, SWEEP)
            for row in rows:
                event = Event(state.version + 1, EXPIRED, now, row.id, row.arm, row.epoch)
                if missing is not None:
                    value = counted(view.seed, state.config, row.id, missing)
                    event = event._replace(kind=MISSING, value=value)
                state.apply(event)
                new.append(event)
            if new:
                log.add_events(new)
            # Others of the last one's time may have been cut off.
            cut = len(rows) == SWEEP
            log.save(state, swept=rows[-1].time - 1 if cut else log.latest(until))
        view.publish(state)
        if not cut:
            return


def sweeps_missed_some(view: View, log: Log, pending: int) -> bool:
    """Whether more decisions are pending than have a window still open.

    Those were stamped, by a clock that is behind or in a transaction that outlasted the window,
    before the time that was swept already.
    """
    window = view.state.config.options.window
    return window is not None and pending > log.unsettled(_past(view, window))


def _some_are_due(view: View) -> bool:
    window = view.state.config.options.window
    if window is None:  # the common case costs no transaction
        return False
    with view.reading() as log:
        return log.latest(_past(view, window)) > _swept(view, log)


def _swept(view: View, log: Log) -> int:
    """Up to which time decisions are known to be settled."""
    return int(log.head(view.state.version)[0].swept)


def _past(view: View, window: float) -> int:
    """Up to which time the window of decisions has passed."""
    return max(math.ceil(view.store.clock() - window * 1e6) - 1, 0)
