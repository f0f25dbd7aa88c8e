"""One transaction about one experiment: every query that live experiments need."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from varts._caching import computed_once
from varts.live.clock import Clock
from varts.live.connections import limit_statements
from varts.live.contexts import forget_contexts, sample_contexts
from varts.live.errors import StoreError
from varts.live.head import Head, read_head
from varts.live.log_rows import Assigned, Corrected, Decided, NewDecision, Settled
from varts.live.row import Row, written
from varts.live.schema import decisions, events, experiments, statistics, traffic, units
from varts.live.state import CONFIGURE, MISSING, PART, REWARD, Event, State
from varts.live.statements import (
    Runner,
    as_value,
    compiled,
    insertion,
    lookup,
    replacement,
    update,
    with_values,
)
from varts.live.traffic import (
    Traffic,
    add_decided,
    add_settled,
    count_anew,
    count_traffic,
    counting_decided,
    counting_settled,
    read_traffic,
)


class Transaction:
    """What is read and written about the experiment of this id, all of it or nothing.

    `clock` tells the time where the database has no clock of its own.
    """

    def __init__(
        self, connection: Connection, experiment: int, store: str, clock: Clock | None
    ) -> None:
        self.connection, self.experiment = connection, experiment
        self.store, self.clock = store, clock
        self.runner = Runner(connection)
        self.sqlite = self.runner.sqlite

    @computed_once
    def batch(self) -> int:
        """The random number that all events of this transaction carry."""
        return int.from_bytes(os.urandom(8), "big") >> 1

    def lock(self) -> None:
        """Be the only one to change this experiment until the transaction ends."""
        if not self.sqlite:
            self.runner.run(compiled(self.sqlite, _lock), {"x": self.experiment})

    def head(self, name: str, seed: int, known: int) -> Head:
        """Where the experiment is, with what changed after version `known`: one statement, so that
        all of it is of one moment."""
        found = read_head(self.runner, self.experiment, name, seed, known, self.clock)
        if found is None:
            raise StoreError(
                f"experiment {name!r} in store {self.store} is gone or was created anew; open it "
                "again"
            )
        return found

    def decided(self, ids: Sequence[str]) -> dict[str, Any]:
        """Decisions by their ids."""
        return {row[0]: Decided._make(row) for row in self._look_up(decisions, Decided, ids)}

    def settled(self, ids: Sequence[str]) -> dict[str, Any]:
        """The events that settled these decisions, by the decisions' ids."""
        return {row[0]: Settled._make(row) for row in self._look_up(events, Settled, ids)}

    def corrections(self, ids: Sequence[str]) -> dict[str, list[Corrected]]:
        """What has corrected the rewards of these decisions, in order, by the decisions' ids."""
        out: dict[str, list[Corrected]] = {}
        found = map(Corrected._make, self._look_up(events, Corrected, ids))
        for row in sorted(found, key=lambda row: row.version):
            out.setdefault(row.corrects, []).append(row)
        return out

    def number_of(self, version: int, rewards: int) -> int | None:
        """Which one of the experiment's rewards that of an event was, if there have been so many;
        None if the configuration has changed since."""
        given = {"x": self.experiment, "version": version}
        later, changes = self.connection.execute(_since, given).one()
        return None if changes else rewards - later

    def assigned(self, names: Sequence[str]) -> dict[str, Assigned]:
        """The arm that sticky units have, by unit."""
        return {row[0]: Assigned._make(row) for row in self._look_up(units, Assigned, names)}

    def _look_up(self, table: sa.Table, kind: Any, ids: Sequence[str]) -> list[Any]:
        """The columns of a kind of row, of the rows whose first of them is among the ids."""
        text = lookup(self.sqlite, table, kind._fields)
        found: list[Any] = self.runner.run(text, (json.dumps(ids), self.experiment)).fetchall()
        return found

    def add_decisions(self, rows: Sequence[NewDecision]) -> int:
        """How many were new; an id that is taken is left as it is."""
        if not self.sqlite:
            return self._add_counting(counting_decided, decisions, NewDecision._fields, rows)
        added = self.runner.add(decisions, NewDecision._fields, rows)
        if added == len(rows):
            add_decided(self.runner, self.experiment, [row.arm for row in rows])
        elif added:  # nobody else can have been first, but if so, nobody knows with which
            count_anew(self.connection, self.experiment)
        return added

    def _add_counting(
        self,
        counting: Callable[[str], str],
        table: sa.Table,
        names: tuple[str, ...],
        rows: Sequence[Sequence[Any]],
    ) -> int:
        """On PostgreSQL, add rows but those whose key is taken, and to the traffic; how many."""
        names, rows = with_values(names, rows)
        text = counting(insertion(self.sqlite, table, names))
        return int(self.runner.run(text, as_value(names, rows)).fetchone()[0])

    def assign(self, rows: Sequence[dict[str, Any]]) -> None:
        """Remember the arms of sticky units."""
        values = [tuple(row.values()) for row in rows]
        self.runner.replace(units, tuple(rows[0]), values)

    def add_events(self, new: Sequence[Event]) -> None:
        """Append to the log."""
        rows = [
            (self.experiment, *event[:-1], None if event.body is None else json.dumps(event.body))
            for event in new
        ]
        if self.sqlite:
            added = self.runner.add(events, _EVENT, rows)
            settled = [event.arm or 0 for event in new if event.decision is not None]
            add_settled(self.runner, self.experiment, settled)
        else:
            added = self._add_counting(counting_settled, events, _EVENT, rows)
        if added != len(rows):
            raise StoreError(f"the log in store {self.store} was changed by another program")

    def save(self, state: State, swept: int | None = None) -> None:
        """Bring the caches to this state."""
        head: dict[str, Any] = {"version": state.version, "rewards": state.rewards}
        if state.reconfigured:
            head |= {"revision": state.version, "config": json.dumps(state.config.to_json())}
        if swept is not None:
            head["swept"] = swept
        change = update(self.sqlite, experiments, tuple(head))
        given = (*head.values(), self.experiment)
        if not state.touched:
            self.runner.run(change, given)
            return
        *rows, last = [
            (self.experiment, *key, state.version, *written(state.rows[key]))
            for key in sorted(state.touched)
        ]
        self.runner.replace(statistics, _STATISTIC, rows)
        keep = replacement(self.sqlite, statistics, _STATISTIC)
        self.runner.run_both(keep, last, change, given)

    def save_anew(self, state: State, assigned: Sequence[dict[str, Any]]) -> None:
        """Replace the caches: all statistics, the traffic and all arms of sticky units."""
        count_anew(self.connection, self.experiment)
        for table in (statistics, units):
            self.connection.execute(sa.delete(table).where(table.c.experiment == self.experiment))
        if assigned:
            self.assign([{"experiment": self.experiment, **row} for row in assigned])
        state.touched, state.reconfigured = set(state.rows), True
        self.save(state)

    def rename_unit(self, unit: str, alias: str) -> int:
        """Another name for a unit, wherever it is named; how many decisions that were."""
        self._leave_no_trace()
        count = 0
        for table in (units, decisions):
            here = sa.and_(table.c.experiment == self.experiment, table.c.unit == unit)
            count = self.connection.execute(
                sa.update(table).where(here).values(unit=alias)
            ).rowcount
        return count

    def forget_contexts(self, unit: str, keep_numbers: bool) -> set[tuple[int, int]]:
        """Take the contexts of a unit out of its decisions, and out of the events of its rewards
        unless the numbers are kept; the arms and epochs of rewards that have lost theirs."""
        self._leave_no_trace()
        return forget_contexts(self.connection, self.experiment, unit, keep_numbers)

    def contexts(self, version: int, limit: int) -> list[dict[str, Any]]:
        """Contexts of decisions that are settled, evenly spaced over the log up to a version."""
        return sample_contexts(self.connection, self.experiment, version, limit)

    def delete(self) -> int:
        """Everything there is of the experiment; how many decisions it had."""
        self._leave_no_trace()
        count = 0
        for table in (units, statistics, traffic, events, decisions):
            here = table.c.experiment == self.experiment
            count = self.connection.execute(sa.delete(table).where(here)).rowcount
        self.connection.execute(sa.delete(experiments).where(experiments.c.id == self.experiment))
        return count

    def _leave_no_trace(self) -> None:
        """SQLite overwrites what goes, for once. All rows may be looked at, which takes a while."""
        if self.sqlite:
            self.connection.exec_driver_sql("PRAGMA secure_delete = ON")
        else:
            limit_statements(self.connection, statement_timeout=0)

    def last_decided(self, until: int) -> int:
        """The time of the last decision made up to `until`; 0 if there is none."""
        text = compiled(self.sqlite, _last_decided)
        found = self.runner.run(text, {"x": self.experiment, "until": until}).fetchone()
        return int(found[0] or 0)

    def overdue(self, since: int, until: int, limit: int) -> Sequence[Any]:
        """The oldest decisions made after `since` and up to `until` that nothing has settled."""
        span = {"x": self.experiment, "since": since, "until": until, "limit": limit}
        return self.connection.execute(_overdue, span).all()

    def count_unsettled(self, since: int, most: int) -> int:
        """How many decisions made after `since` nothing has settled, counted from the latest
        backwards and only up to so many."""
        span = {"x": self.experiment, "since": since, "most": most}
        return int(self.connection.execute(_unsettled, span).scalar_one())

    def changes(self, after: int, limit: int) -> Sequence[Any]:
        """The first events after a version that settle no decision and add to no reward."""
        span = {"x": self.experiment, "after": after, "limit": limit}
        return self.connection.execute(_changes, span).all()

    def traffic(self) -> Traffic:
        """How many decisions every arm has, and how many of them are settled."""
        return read_traffic(self.connection, self.experiment)

    def count_traffic(self) -> Traffic:
        """The same, from the log."""
        return count_traffic(self.connection, self.experiment)


def read_event(row: Any) -> Event:
    """An event as it was before it was written."""
    return Event._make((*row[:-1], None if row[-1] is None else json.loads(row[-1])))


_EVENT = ("experiment", *Event._fields)
_STATISTIC = ("experiment", "metric", "arm", "epoch", "version", *Row._fields)
_CHANGE = ("version", "time", "kind", "corrects", "value", "body")
_OVERDUE = ("id", "arm", "epoch", "time", "reason", "unit", "context")
_settles = sa.and_(
    events.c.experiment == decisions.c.experiment, events.c.decision == decisions.c.id
)
_x: Any = sa.bindparam("x")
_last_decided = sa.select(sa.func.max(decisions.c.time)).where(
    decisions.c.experiment == _x, decisions.c.time <= sa.bindparam("until")
)
_open = sa.and_(
    decisions.c.experiment == _x,
    decisions.c.time > sa.bindparam("since"),
    sa.select(events.c.version).where(_settles).scalar_subquery().is_(None),
)
_latest = sa.select(decisions.c.seq).where(_open).order_by(decisions.c.time.desc())
_unsettled = sa.select(sa.func.count()).select_from(_latest.limit(sa.bindparam("most")).subquery())
_overdue = (
    sa.select(*(decisions.c[name] for name in _OVERDUE))
    .where(_open, decisions.c.time <= sa.bindparam("until"))
    .order_by(decisions.c.time, decisions.c.seq)
    .limit(sa.bindparam("limit"))
)
_since = sa.select(
    sa.func.coalesce(sa.func.sum(sa.case((events.c.kind.in_((REWARD, MISSING)), 1), else_=0)), 0),
    sa.func.coalesce(sa.func.sum(sa.case((events.c.kind == CONFIGURE, 1), else_=0)), 0),
).where(events.c.experiment == _x, events.c.version > sa.bindparam("version"))
_changes = (
    sa.select(*(events.c[name] for name in _CHANGE))
    .where(
        events.c.experiment == _x,
        events.c.version > sa.bindparam("after"),
        events.c.decision.is_(None),  # which the index finds
        events.c.kind != PART,
    )
    .order_by(events.c.version)
    .limit(sa.bindparam("limit"))
)
_lock = sa.select(experiments.c.id).where(experiments.c.id == _x).with_for_update(key_share=True)
