"""One transaction about one experiment: every query that live experiments need."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from varts.live.errors import StoreError
from varts.live.schema import decisions, events, experiments, statistics, units
from varts.live.state import Event, State

ROWS_PER_FETCH = 5000
Counts = dict[int, int]  # by arm


class Transaction:
    """What is read and written about the experiment of this id, all at one moment or not at all.

    `steady` says whether several statements see the same moment.
    """

    def __init__(self, connection: Connection, experiment: int, store: str, steady: bool) -> None:
        self.connection, self.experiment = connection, experiment
        self.store, self.steady = store, steady
        self.sqlite = connection.dialect.name == "sqlite"

    def lock(self) -> None:
        """Be the only one to change this experiment until the transaction ends."""
        if not self.sqlite:
            self.connection.execute(_lock, {"x": self.experiment})
            self.steady = True  # as to this experiment

    def head(self, since: int) -> Sequence[Any]:
        """Where the log is, with the statistics changed after version `since`: one statement, so
        that both are of one moment. Rows without an arm carry only the former."""
        return self.connection.execute(_head, {"x": self.experiment, "since": since}).all()

    def config(self) -> dict[str, Any]:
        """The cached configuration."""
        text = self.connection.execute(_config, {"x": self.experiment}).scalar_one()
        body: dict[str, Any] = json.loads(text)
        return body

    def decided(self, ids: Sequence[str]) -> dict[str, Any]:
        """Decisions by their ids."""
        return self._by_id(decisions, _DECIDED, ids)

    def settled(self, ids: Sequence[str]) -> dict[str, Any]:
        """The events that settled these decisions, by the decisions' ids."""
        return self._by_id(events, _SETTLED, ids)

    def assigned(self, names: Sequence[str]) -> dict[str, Any]:
        """The arm that sticky units have, by unit."""
        return self._by_id(units, _ASSIGNED, names)

    def _by_id(self, table: sa.Table, names: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
        """These columns of the rows whose first of them is among the ids, by it.

        The words leave a planner no choice but to look every id up in the index: while it knows
        little of a table, it would rather read all of the experiment.
        """
        columns, key = ", ".join(f"{table.name}.{name}" for name in names), names[0]
        here = f"{table.name}.experiment = {self.experiment:d} AND {table.name}.{key} = given.value"
        if self.sqlite:
            text = f"SELECT {columns} FROM json_each(?) AS given CROSS JOIN {table.name} ON {here}"
        else:
            text = (
                "SELECT found.* FROM json_array_elements_text(%s::json) AS given, "
                f"LATERAL (SELECT {columns} FROM {table.name} WHERE {here} OFFSET 0) AS found"
            )
        rows = self.connection.exec_driver_sql(text, (json.dumps(ids),))
        return {row[0]: row for row in rows}

    def add_decisions(self, rows: Sequence[dict[str, Any]]) -> int:
        """How many were new; an id that is taken is left as it is."""
        names = list(rows[0])
        return add_rows(self.connection, decisions, names, [tuple(row.values()) for row in rows])

    def assign(self, rows: list[dict[str, Any]]) -> None:
        """Remember the arms of sticky units."""
        self.connection.execute(_upsert(self.sqlite, units), rows)

    def add_events(self, new: Sequence[Event]) -> None:
        """Append to the log."""
        rows = [
            (self.experiment, *event[:-1], None if event.body is None else json.dumps(event.body))
            for event in new
        ]
        if add_rows(self.connection, events, ["experiment", *Event._fields], rows) != len(rows):
            raise StoreError(f"the log in store {self.store} was changed by another program")

    def save(self, state: State, swept: int | None = None) -> None:
        """Bring the caches to this state."""
        head: dict[str, Any] = {"version": state.version, "rewards": state.rewards}
        if state.reconfigured:
            head |= {"revision": state.version, "config": json.dumps(state.config.to_json())}
        if swept is not None:
            head["swept"] = swept
        self.connection.execute(
            sa.update(experiments).where(experiments.c.id == self.experiment).values(head)
        )
        if state.touched:
            rows = [
                {
                    "experiment": self.experiment,
                    "arm": arm,
                    "epoch": epoch,
                    "version": state.version,
                    **state.rows[arm, epoch]._asdict(),
                }
                for arm, epoch in sorted(state.touched)
            ]
            self.connection.execute(_upsert(self.sqlite, statistics), rows)

    def last_decided(self, until: int) -> int:
        """The time of the last decision made up to `until`; 0 if there is none."""
        found = self.connection.execute(
            _last_decided, {"x": self.experiment, "until": until}
        ).scalar()
        return 0 if found is None else int(found)

    def overdue(self, since: int, until: int, limit: int) -> Sequence[Any]:
        """The oldest decisions made after `since` and up to `until` that nothing has settled."""
        span = {"x": self.experiment, "since": since, "until": until, "limit": limit}
        return self.connection.execute(_overdue, span).all()

    def count_unsettled(self, since: int) -> int:
        """How many decisions made after `since` nothing has settled."""
        span = {"x": self.experiment, "since": since}
        return int(self.connection.execute(_unsettled, span).scalar_one())

    def decided_by_arm(self) -> Counts:
        """How many decisions every arm has."""
        return dict(self.connection.execute(_decided_by_arm, {"x": self.experiment}).all())

    def settled_by_arm(self) -> Counts:
        """How many of them are settled."""
        return dict(self.connection.execute(_settled_by_arm, {"x": self.experiment}).all())

    def all_events(self) -> Generator[Event, None, None]:
        """The whole log of events, in order."""
        query = (
            sa.select(*(events.c[name] for name in Event._fields))
            .where(events.c.experiment == self.experiment)
            .order_by(events.c.version)
        )
        with closing(self._stream(query)) as rows:
            for row in rows:
                body = None if row.body is None else json.loads(row.body)
                yield Event._make((*row[:-1], body))

    def all_decisions(self, order: str = "time") -> Generator[Any, None, None]:
        """Every decision with what settled it, by its time or by the version it saw."""
        if not self.sqlite:
            # Of a table that grew within the last minute PostgreSQL has no statistics yet, and may
            # look for each decision's event among all of them.
            self.connection.exec_driver_sql("SET LOCAL enable_nestloop = off")
        query = (
            sa.select(
                decisions,
                events.c.kind.label("settled"),
                events.c.raw,
                events.c.value,
                events.c.time.label("settled_time"),
                events.c.version.label("settled_version"),
                events.c.arm.label("settled_arm"),
                events.c.epoch.label("settled_epoch"),
            )
            .outerjoin(events, _settles)
            .where(decisions.c.experiment == self.experiment)
            .order_by(decisions.c[order], decisions.c.seq)
        )
        yield from self._stream(query)

    def _stream(self, query: Any) -> Generator[Any, None, None]:
        """Row by row without holding them all."""
        with self.connection.execute(
            query, execution_options={"yield_per": ROWS_PER_FETCH}
        ) as rows:
            yield from rows

    def count_settlements(self) -> int:
        """How many events name a decision."""
        query = sa.select(sa.func.count(events.c.decision))
        query = query.where(events.c.experiment == self.experiment)
        return int(self.connection.execute(query).scalar_one())


def add_rows(
    connection: Connection,
    table: sa.Table,
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> int:
    """Add rows but those whose key is taken; how many were added.

    The hot statement of the whole package, so it goes to the driver as text: SQLite is fastest
    row by row, PostgreSQL with all of them as one value.
    """
    start = f"INSERT INTO {table.name} ({', '.join(names)})"
    values: Any = rows
    if connection.dialect.name == "sqlite":
        text = f"{start} VALUES ({', '.join('?' for _ in names)}) ON CONFLICT DO NOTHING"
    else:
        kinds = ", ".join(
            f"{name} {table.c[name].type.compile(connection.dialect)}" for name in names
        )
        given = f"json_to_recordset(%s::json) AS given({kinds})"
        text = f"{start} SELECT * FROM {given} ON CONFLICT DO NOTHING"
        values = (json.dumps([dict(zip(names, row, strict=True)) for row in rows]),)
    return connection.exec_driver_sql(text, values).rowcount


_DECIDED = ("id", "version", "epoch", "arm", "probability", "estimated", "reason", "time")
_SETTLED = ("decision", "kind", "raw")
_ASSIGNED = ("unit", "arm", "probability", "estimated", "decision")
_settles = sa.and_(
    events.c.experiment == decisions.c.experiment, events.c.decision == decisions.c.id
)
_x: Any = sa.bindparam("x")
_last_decided = (
    sa.select(decisions.c.time)
    .where(decisions.c.experiment == _x, decisions.c.time <= sa.bindparam("until"))
    .order_by(decisions.c.time.desc())
    .limit(1)
)
_open = sa.and_(
    decisions.c.experiment == _x,
    decisions.c.time > sa.bindparam("since"),
    sa.select(events.c.version).where(_settles).scalar_subquery().is_(None),
)
_unsettled = sa.select(sa.func.count()).select_from(decisions).where(_open)
_overdue = (
    sa.select(decisions.c.id, decisions.c.arm, decisions.c.epoch, decisions.c.time)
    .where(_open, decisions.c.time <= sa.bindparam("until"))
    .order_by(decisions.c.time, decisions.c.seq)
    .limit(sa.bindparam("limit"))
)
_lock = sa.select(experiments.c.id).where(experiments.c.id == _x).with_for_update(key_share=True)
_config = sa.select(experiments.c.config).where(experiments.c.id == _x)
_head = (
    sa.select(
        experiments.c.version,
        experiments.c.revision,
        experiments.c.rewards,
        experiments.c.swept,
        *(statistics.c[name] for name in ("arm", "epoch", "n", "mean", "m2", "origin", "at")),
        statistics.c.rewards.label("rewarded"),
    )
    .outerjoin(
        statistics,
        sa.and_(
            statistics.c.experiment == experiments.c.id,
            statistics.c.version > sa.bindparam("since"),
        ),
    )
    .where(experiments.c.id == _x)
)
_decided_by_arm = (
    sa.select(decisions.c.arm, sa.func.count())
    .where(decisions.c.experiment == _x)
    .group_by(decisions.c.arm)
)
_settled_by_arm = (
    sa.select(events.c.arm, sa.func.count())
    .where(events.c.experiment == _x, events.c.decision.is_not(None))
    .group_by(events.c.arm)
)


@cache
def _upsert(on_sqlite: bool, table: sa.Table) -> Any:
    """Add rows, or replace those of the same key; made once, since making it is slow."""
    made: Any = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    key = [column.name for column in table.primary_key]
    new = {name: made.excluded[name] for name in table.c.keys() if name not in key}  # noqa: SIM118
    return made.on_conflict_do_update(index_elements=key, set_=new)
