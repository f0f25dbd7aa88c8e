"""Settling decisions whose window has closed, and forgetting units and experiments.

A decision is settled when its window closes, an event each, in the log: with what it has earned by
then, or with what counts for a missing reward. Settling goes by the time of decisions and notes how
far it came; the next time it goes on from there. (Under rules 1 a reward settled its decision when
it arrived, and only decisions without one are left.)
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence

from varts.live.core.allocation import FORGOTTEN, counted, features_marks, holdout_mark
from varts.live.core.events import ERASE, EXPIRED, FORGET, MISSING, REWARD, Outcome
from varts.live.decide import stored_unit
from varts.live.errors import Changed
from varts.live.options import Options
from varts.live.session import Session, Write
from varts.live.store.log import Log
from varts.live.store.transaction import Overdue, Transaction

DECISIONS_PER_CALL = 200  # settled in one transaction: 10 to 30 ms


def settle_some(session: Session, beside: int) -> None:
    """Settle a bounded number of overdue decisions before serving a call.

    The bound is at least twice the call's number of decisions, so that a backlog shrinks whatever
    the traffic.

    Args:
        session: The experiment.
        beside: How many decisions the call is about.
    """
    if _some_are_due(session):
        with session.changing() as write:
            _settle(session, write, write.already_swept, max(DECISIONS_PER_CALL, 2 * beside))


def settle_all(session: Session, again: bool = False) -> None:
    """Settle all overdue decisions.

    Args:
        session: The experiment.
        again: Begin at the beginning of the log, for decisions that were missed.
    """
    more = (again and not session.store.read_only) or _some_are_due(session)
    while more:
        with session.changing() as write:
            since = 0 if again else write.already_swept
            more = _settle(session, write, since, 5 * DECISIONS_PER_CALL)


def _settle(session: Session, write: Write, since: int, limit: int) -> bool:
    """Settle the oldest overdue decisions after `since`; True if there may be more."""
    config, transaction = write.state.config, write.transaction
    options = config.options
    if options.window is None:  # it was removed in the meantime
        return False
    until = _closed_until(write.time, options)
    rows = transaction.overdue(since, until, limit)
    _close(session, write, rows)
    more = len(rows) == limit
    # If the limit cut the list, there may be more decisions with the time of the last row.
    write.swept = rows[-1].time - 1 if more else transaction.last_decided(until)
    return more


def settle_waiting(session: Session, write: Write) -> None:
    """Count all rewards that wait for their window to close, which an experiment that loses its
    window would never do."""
    _close(session, write, write.transaction.waiting())


def _close(session: Session, write: Write, rows: Sequence[Overdue]) -> None:
    """Settle these decisions."""
    config, options = write.state.config, write.state.config.options
    features = features_marks(session.seed, config, rows)
    arrivals = {}
    if options.rules > 1 and rows:
        arrivals = write.transaction.arrivals([row.id for row in rows])
    write.load_units(rows)
    for row in rows:
        outcome = Outcome(arrivals[row.id]) if row.id in arrivals else None
        raw = None if outcome is None else outcome.total
        given = options.missing if outcome is None else raw
        if given is None:  # no reward, or one that was voided
            voided = None if outcome is None else outcome.summary()
            write.apply(EXPIRED, row.id, body=voided, about=row)
            continue
        metrics = {**options.missing_metrics, **({} if outcome is None else outcome.metrics)}
        body = {
            **holdout_mark(session.seed, config, row),
            **features.get(row.id, {}),
            **({"metrics": metrics} if metrics else {}),
            **({} if outcome is None else outcome.summary()),
        }
        kind, value = MISSING, counted(session.seed, config, row.id, given)
        if outcome is not None:
            kind = REWARD
        write.apply(kind, row.id, raw=raw, value=value, body=body or None, about=row)


def some_were_missed(transaction: Transaction, options: Options, now: int, pending: int) -> bool:
    """Whether more decisions are pending than have an open window.

    A clock that was set back, or a transaction that outlasted the window, stamped them with a time
    that was settled already.
    """
    if options.window is None or not pending:
        return False
    return pending > transaction.count_unsettled(_closed_until(now, options), pending)


def next_close(transaction: Transaction, options: Options, swept: int) -> int | None:
    """When the next window closes; None without a window, or if all are closed."""
    if options.window is None:
        return None
    decided = transaction.next_decided(swept)
    return None if decided is None else round(decided + (options.window + options.skew) * 1e6)


def is_late(now: int, decided: int, options: Options) -> bool:
    """Whether the window of a decision made at that time has closed."""
    return options.window is not None and decided <= _closed_until(now, options)


def _some_are_due(session: Session) -> bool:
    if session.state.config.options.window is None or session.store.read_only:
        return False
    with session.reading() as transaction:
        state, head = session.catch_up(transaction)
        until = _closed_until(head.time, state.config.options)
        return transaction.last_decided(until) > head.swept


def _closed_until(now: int, options: Options) -> int:
    """The time up to which decisions have a closed window, however far the clock is off."""
    if options.window is None:
        return 0
    return max(math.ceil(now - (options.window + options.skew) * 1e6) - 1, 0)


# ------------------------------------------------------------------------------ forgetting


def forget(session: Session, unit: str, note: Mapping[str, str], keep_numbers: bool) -> int:
    """Replace a unit's name by a random one in all of its decisions; returns their number.

    All of them get the same name, so that a sticky experiment can still be verified. Their contexts
    are deleted. Unless the numbers are kept, the unit's rewards no longer count for the effects of
    features, and the statistics are computed again without them.

    Args:
        session: The experiment.
        unit: The unit as it was given to `decide`.
        note: The name of the person who asked for it, and the reason.
        keep_numbers: Whether its rewards keep their features.
    """
    stored = stored_unit(session, unit)
    alias = FORGOTTEN + secrets.token_hex(16)
    with session.changing() as write:
        contexts = write.state.config.features is not None
        count, lost = write.transaction.forget_unit(stored, alias, contexts, keep_numbers)
        if count:
            rows = {"rows": sorted(lost)} if lost else {}
            body = {"alias": alias, "decisions": count, **rows, **note}
            write.apply(ERASE if lost else FORGET, body=body)
    return count


def delete(session: Session, exported: Log | None) -> int:
    """Delete an experiment; returns how many decisions it had.

    Args:
        session: The experiment.
        exported: Its log, if that was exported first. If the experiment was used since, it is not
            deleted.
    """
    with session.writing(lock=True) as transaction:
        transaction.head(session.name, session.seed, -1)  # refuses another one of the same name
        if exported is not None:
            transaction.lock_out()
            now = Log(transaction, session.reading)
            if (now.version, now.seq) != (exported.version, exported.seq):
                raise used_meanwhile(session.name)
        return transaction.delete()


def used_meanwhile(name: str) -> Changed:
    """Why an experiment was not deleted."""
    return Changed(
        f"experiment {name!r} was used while its log was exported, so it was not deleted; stop it "
        "first"
    )
