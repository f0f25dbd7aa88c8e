"""The database of live experiments: which ones are in it, transactions about one, its tables."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from varts._validation import abbreviate
from varts.live.clock import Clock, file_clock, moment, process_clock
from varts.live.connections import limit_statements
from varts.live.database import Database
from varts.live.errors import StoreError
from varts.live.locks import Deadline, WaitedTooLong, queue_file
from varts.live.migrations import upgrade
from varts.live.row import Row, read_row
from varts.live.schema import SCHEMA_VERSION, events, experiments, statistics, traffic
from varts.live.state import CREATE, PART, REWARD, Config, Event, Key, State
from varts.live.statements import Runner
from varts.live.traffic import Traffic
from varts.live.transaction import Transaction

MIGRATION_LOCK_KEY = 0x7661727473  # "varts", for PostgreSQL's advisory lock

_memories: dict[str, Store] = {}


class Activity(NamedTuple):
    """How busy an experiment is: its decisions, and when the last reward came, if one has."""

    traffic: Traffic
    last_reward: datetime | None


class Summary(NamedTuple):
    """What a list shows of an experiment beside its state.

    Args:
        created: When, in microseconds since 1970.
        pending: How many of its decisions wait for a reward.
    """

    created: int
    pending: int


class Store(Database):
    """One database, in one process; safe for any number of threads and processes.

    Args:
        url: sqlite:///file, postgresql://user:password@host/name, memory:// (gone with the last
            reference) or memory://name (shared in this process, when `varts.open` opens it). The
            option timeout=5 says for how many seconds a transaction may wait (60).
        clock: What time it is, in microseconds since 1970; by default the database tells.
        read_only: Whether to look only: tables are neither made nor brought to this version, and
            looking settles nothing. A file that cannot be written is found to be so by itself.

    Raises:
        ValueError: The URL is not one of these.
        ImportError: It is on PostgreSQL, and psycopg is not installed.
        StoreError: The database cannot be used.
    """

    def __init__(self, url: str, clock: Clock | None = None, read_only: bool = False) -> None:
        if not isinstance(url, str):
            raise TypeError(f"store must be a URL, got {abbreviate(url)}")
        super().__init__(url)
        self.read_only = self.read_only or read_only
        self.clock = clock or self._own_clock()
        with self._errors():
            self._migrate()

    # ------------------------------------------------------------------ experiments

    def names(self) -> list[str]:
        """The experiments in this store."""
        query = sa.select(experiments.c.name).order_by(experiments.c.name)
        with self._reading() as connection:
            return list(connection.execute(query).scalars())

    def states(self, after: str | None = None, limit: int | None = None) -> dict[str, State]:
        """Configuration and statistics of the experiments in this store, by name, in two
        statements.

        Args:
            after: Only those whose names come later.
            limit: How many at most.
        """
        chosen = sa.select(experiments).order_by(experiments.c.name).limit(limit)
        if after is not None:
            chosen = chosen.where(experiments.c.name > after)
        found: dict[int, Any] = {}
        rows: dict[int, dict[Key, Row]] = {}
        with self._reading() as connection:
            for row in connection.execute(chosen):
                found[row.id], rows[row.id] = row, {}
            which = statistics.c.experiment.in_(list(found))
            for experiment, metric, arm, epoch, *sums in connection.execute(
                _statistics.where(which)
            ):
                rows[experiment][metric, arm, epoch] = read_row(sums)
        return {
            row.name: State(
                Config.from_json(json.loads(row.config)),
                row.version,
                row.rewards,
                rows[row.id],
                revision=row.revision,
            )
            for row in found.values()
        }

    def activities(self, names: Collection[str]) -> dict[str, Activity]:
        """The decisions of experiments by arm, and their last rewards, in two statements.

        Args:
            names: Those of experiments in this store; others are left out.
        """
        found = {}
        with self._reading() as connection:
            for row in connection.execute(_last_rewards, {"names": list(names)}):
                last = None if row.time is None else moment(row.time)
                found[row.name] = Activity(Traffic({}, {}), last)
            for name, arm, made, settled in connection.execute(_traffic, {"names": list(names)}):
                counts = found[name].traffic
                counts.decided[arm], counts.settled[arm] = int(made), int(settled)
        return found

    def summaries(self, after: str | None = None, limit: int | None = None) -> dict[str, Summary]:
        """When experiments were created and how many decisions wait for a reward, by name, in one
        statement that reads no log.

        Args:
            after: Only those whose names come later.
            limit: How many at most.
        """
        pending = sa.func.coalesce(sa.func.sum(traffic.c.decided - traffic.c.settled), 0)
        joined = sa.outerjoin(experiments, traffic, traffic.c.experiment == experiments.c.id)
        query = (
            sa.select(experiments.c.name, experiments.c.created, pending)
            .select_from(joined)
            .group_by(experiments.c.id, experiments.c.name, experiments.c.created)
            .order_by(experiments.c.name)
            .limit(limit)
        )
        if after is not None:
            query = query.where(experiments.c.name > after)
        with self._reading() as connection:
            rows = connection.execute(query)
            return {name: Summary(created, int(waiting)) for name, created, waiting in rows}

    def has(self, name: str) -> bool:
        """Whether there is an experiment of this name.

        Args:
            name: The experiment's name.
        """
        return self.find(name) is not None

    def find(self, name: str) -> Any:
        """The row of the experiment of this name, or None.

        Args:
            name: The experiment's name.
        """
        with self._reading() as connection:
            return connection.execute(_find, {"name": name}).one_or_none()

    def create(self, name: str, seed: int, config: dict[str, Any]) -> bool:
        """Add an experiment with its first event; False if there is one of that name.

        Args:
            name: The experiment's name.
            seed: What its decisions depend on.
            config: Its configuration, as plain values.
        """
        row = {
            "name": name,
            "seed": seed,
            "created": process_clock(),  # for people to read: nothing goes by it
            "version": 1,
            "revision": 1,
            "rewards": 0,
            "swept": 0,
            "config": json.dumps(config),
        }
        with self._writing() as connection:
            if not Runner(connection).add(experiments, tuple(row), [tuple(row.values())]):
                return False
            experiment = connection.execute(_find, {"name": name}).one().id
            transaction = Transaction(connection, experiment, self.name, self.clock)
            now, batch = transaction.head(name, seed, -1).time, transaction.batch
            transaction.add_events([Event(1, CREATE, now, batch=batch, body=config)])
            return True

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def writing(self, experiment: int) -> Iterator[Transaction]:
        """A transaction that may write, all of it or nothing.

        Args:
            experiment: The id of the experiment that it is about.
        """
        with self._writing() as connection:
            yield Transaction(connection, experiment, self.name, self.clock)

    @contextmanager
    def reading(self, experiment: int) -> Iterator[Transaction]:
        """A transaction that sees one moment of the database and blocks nobody.

        Args:
            experiment: The id of the experiment that it is about.
        """
        with self._reading() as connection:
            yield Transaction(connection, experiment, self.name, self.clock)

    def _own_clock(self) -> Clock | None:
        """The clock that all users of the database share; None if it must be asked for its time."""
        if not self.sqlite:
            return None
        return file_clock(queue_file(str(self.url.database))) if self._is_file else process_clock

    # ------------------------------------------------------------------ the schema

    def _migrate(self) -> None:
        """Bring the database to this version's schema; any number of processes may try at once."""
        with self._reading() as connection:
            found = self._found_schema(connection)
        if found == SCHEMA_VERSION:
            return
        if self.read_only:
            raise StoreError(
                f"store {self.name} is read-only and was not written by this version of varts: "
                "open a copy of it that may be written"
            )
        if self._is_file:
            self._use_wal()
        with self._writing() as connection:
            if not self.sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK_KEY)))
                limit_statements(connection, statement_timeout=0)  # a step may take long
            if self._found_schema(connection) != SCHEMA_VERSION:
                upgrade(connection)

    def _use_wal(self) -> None:
        """Here SQLite does not wait for others who do the same, so we must."""
        deadline = Deadline(self.timeout)
        while True:
            try:
                with self._gate.passage(deadline), self.engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise StoreError(f"store {self.name} cannot be used: {error}") from None
                if not deadline.left:
                    raise WaitedTooLong("another process") from None
                time.sleep(0.01)

    def _found_schema(self, connection: Connection) -> str | None:
        """The version of the tables; None if there are none."""
        if not sa.inspect(connection).has_table("varts_schema"):
            return None
        found = connection.exec_driver_sql("SELECT version_num FROM varts_schema").scalar()
        if found is None:
            raise StoreError(
                f"the table varts_schema in store {self.name} is empty, so that nobody knows what "
                "the others are: restore the store from a backup"
            )
        if found > SCHEMA_VERSION:
            raise StoreError(
                f"store {self.name} was written by a newer varts (schema {found}, this one knows "
                f"{SCHEMA_VERSION}): upgrade varts"
            )
        return str(found)


_find = sa.select(experiments).where(experiments.c.name == sa.bindparam("name"))
_statistics = sa.select(
    *(statistics.c[name] for name in ("experiment", "metric", "arm", "epoch", *Row._fields))
)
_named = experiments.c.name.in_(sa.bindparam("names", expanding=True))
_last_rewards = sa.select(
    experiments.c.name,
    sa.select(events.c.time)  # from the end of the log backwards: one of the latest events is one
    .where(events.c.experiment == experiments.c.id, events.c.kind.in_((REWARD, PART)))
    .order_by(events.c.version.desc())
    .limit(1)
    .scalar_subquery()
    .label("time"),
).where(_named)
_traffic = (
    sa.select(
        experiments.c.name,
        traffic.c.arm,
        sa.func.sum(traffic.c.decided).label("decided"),
        sa.func.sum(traffic.c.settled).label("settled"),
    )
    .join(traffic, traffic.c.experiment == experiments.c.id)
    .where(_named)
    .group_by(experiments.c.name, traffic.c.arm)
)


def open_store(store: str | Store) -> Store:
    """A store from its URL; memory://name is the same store for all of this process."""
    if isinstance(store, Store):
        return store
    if isinstance(store, str) and store.startswith("memory://"):
        name = store.partition("?")[0]
        if name != "memory://":
            if name not in _memories:
                _memories[name] = Store(store)
            return _memories[name]
    return Store(store)
