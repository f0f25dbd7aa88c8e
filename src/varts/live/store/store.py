"""A store: the database that live experiments are kept in."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from varts._validation import abbreviate, needs_extra
from varts.live.core.clients import Clients
from varts.live.core.events import COPYING, CREATE, Event, Key
from varts.live.core.state import Config, State
from varts.live.core.sums import Sums, read_sums
from varts.live.errors import StoreError
from varts.live.store.engine import Clock, Connection, Engine, moment, process_clock
from varts.live.store.migrations import upgrade
from varts.live.store.schema import SCHEMA_VERSION
from varts.live.store.sqlite import SQLite
from varts.live.store.transaction import (
    ALL_TRAFFIC,
    EXPERIMENTS,
    FIND,
    FIND_SCHEMA,
    LAST_REWARDS,
    NAMES,
    NAMES_ASIDE,
    STATISTICS,
    SUMMARIES,
    Aside,
    ChangeRow,
    ExperimentRow,
    Query,
    Traffic,
    Transaction,
    check_schema,
    create_experiment,
    find_aside,
    lock_experiment,
    read_traffic,
    seed_aside,
)
from varts.live.store.url import (
    absolute,
    in_memory,
    name_options,
    read_url,
    shown,
    split_timeout,
    without_options,
    without_secrets,
)

MIGRATION_LOCK_KEY = 0x7661727473  # "varts", for PostgreSQL's advisory lock
MOST_ROWS = 2**62  # "no limit"
MOST_CHANGES = 1000  # read at a time

_memories: dict[str, Store] = {}


class Activity(NamedTuple):
    """How busy an experiment is: its decisions, and when the last reward came, if there is one."""

    traffic: Traffic
    last_reward: datetime | None


class Summary(NamedTuple):
    """An experiment's entry in a list.

    Args:
        created: When it was created, in microseconds since 1970.
        pending: How many of its decisions wait for a reward.
    """

    created: int
    pending: int


class Glance(NamedTuple):
    """An experiment at one moment, as far as a page about it depends on that.

    Args:
        version: How many events its log has.
        revision: The version of the last change of configuration.
        tag: Names the configuration; see `Experiment.tag`.
        created: When it was created.
        activity: Its decisions, and the time of its last reward.
        changes: Its first changes after a version; `varts.live.audit.records.read_changes` reads
            them.
    """

    version: int
    revision: int
    tag: str
    created: datetime
    activity: Activity
    changes: list[ChangeRow]


class Store:
    """One database; safe for any number of threads and processes.

    Args:
        url: sqlite:///file, postgresql://user:password@host/name, memory:// (gone with the last
            reference) or memory://name (shared in this process, when `varts.open` opens it). The
            option timeout=5 says how many seconds a transaction may wait (60).
        clock: Returns the time in microseconds since 1970; by default the database's own.
        read_only: Only read: tables are neither created nor upgraded, and decisions whose window
            has closed are not settled. A file that you can't write to is read-only by itself.

    Raises:
        ValueError: The URL is invalid.
        ImportError: The store is on PostgreSQL, and psycopg is not installed.
        StoreError: The database can't be used.

    >>> store = Store("memory://")
    >>> store.names()
    []
    """

    def __init__(self, url: str, clock: Clock | None = None, read_only: bool = False) -> None:
        if not isinstance(url, str):
            raise TypeError(f"store must be a URL, got {abbreviate(url)}")
        given = read_url(url)
        self.name = shown(given, url)
        self.url = absolute(given)  # a later chdir must not change which file it is
        self.engine = _new_engine(self.url, self.name, read_only)
        self.clock = clock
        if clock is None and isinstance(self.engine, SQLite):
            self.clock = self.engine.clock()
        self.clients = Clients()  # that draw arms by themselves, of all experiments
        self._prepare()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def address(self) -> str:
        """The URL without its password, to find the store again."""
        return without_secrets(self.url)._replace(password=None).render_as_string()

    @property
    def sqlite(self) -> bool:
        """Whether the database is SQLite; otherwise it is PostgreSQL."""
        return self.engine.sqlite

    @property
    def memory(self) -> bool:
        """Whether the database is in the memory of this process."""
        return self.engine.memory

    @property
    def read_only(self) -> bool:
        """Whether the store is only read."""
        return self.engine.read_only

    @property
    def timeout(self) -> float:
        """How many seconds a transaction may wait."""
        return self.engine.timeout

    def close(self) -> None:
        """Close the connections; a store that is used again opens new ones."""
        self.engine.close()

    # ------------------------------------------------------------------ experiments

    def names(self) -> list[str]:
        """The names of the experiments in this store."""
        with self._begun() as connection:
            return [name for (name,) in _rows(connection, NAMES)]

    def states(self, after: str | None = None, limit: int | None = None) -> dict[str, State]:
        """Configuration and statistics of experiments, by name.

        Args:
            after: Only experiments whose names come later.
            limit: How many at most.
        """
        rows: dict[int, dict[Key, Sums]] = {}
        with self._begun() as connection:
            bounds = {"after": after or "", "limit": MOST_ROWS if limit is None else limit}
            found = [ExperimentRow._make(row) for row in _rows(connection, EXPERIMENTS, **bounds)]
            ids = json.dumps([row.id for row in found])
            for experiment, metric, arm, epoch, *sums in _rows(connection, STATISTICS, ids=ids):
                rows.setdefault(experiment, {})[metric, arm, epoch] = read_sums(sums)
        return {
            row.name: State(
                Config.from_json(json.loads(row.config)),
                row.version,
                row.rewards,
                rows.get(row.id, {}),
                revision=row.revision,
                configured=row.configured,
            )
            for row in found
        }

    def activities(self, names: Collection[str]) -> dict[str, Activity]:
        """The decisions of experiments by arm, and the times of their last rewards.

        Args:
            names: Names of experiments; unknown ones are left out.
        """
        with self._begun() as connection:
            return _activities(connection, names)

    def glance(self, name: str, after: int = 0, limit: int = MOST_CHANGES) -> Glance | None:
        """Look up an experiment's progress in one transaction; None if no experiment has this name.

        Args:
            name: The experiment's name.
            after: The version up to which you know its changes.
            limit: How many later changes to return at most.
        """
        with self.finding(name) as (row, transaction):
            if row is None:
                return None
            return Glance(
                row.version,
                row.revision,
                row.tag,
                moment(row.created),
                _activities(transaction.connection, [name])[name],
                transaction.changes(after, limit) if row.version > after else [],
            )

    def summaries(self, after: str | None = None, limit: int | None = None) -> dict[str, Summary]:
        """When experiments were created and how many decisions wait for a reward, by name.

        Args:
            after: Only experiments whose names come later.
            limit: How many at most.
        """
        bounds = {"after": after or "", "limit": MOST_ROWS if limit is None else limit}
        with self._begun() as connection:
            rows = _rows(connection, SUMMARIES, **bounds)
            return {name: Summary(created, int(waiting)) for name, created, waiting in rows}

    def has(self, name: str) -> bool:
        """Whether there is an experiment of this name.

        Args:
            name: The experiment's name.
        """
        return self.find(name) is not None

    def find(self, name: str) -> ExperimentRow | None:
        """The row of an experiment; None if no experiment has this name.

        Args:
            name: The experiment's name.
        """
        with self._begun() as connection:
            return find_experiment(connection, name)

    def find_aside(self, name: str) -> tuple[ExperimentRow | None, Aside | None]:
        """The row of an experiment, and why it is set aside, if it is.

        Args:
            name: The experiment's name.
        """
        with self._begun() as connection:
            return find_row(connection, name), find_aside(connection, name)

    def names_aside(self) -> list[str]:
        """The names of the experiments that are set aside."""
        with self._begun() as connection:
            return [name for (name,) in _rows(connection, NAMES_ASIDE)]

    def add_aside(self, row: ExperimentRow, source: str) -> bool:
        """Add an experiment without a log, set aside until it is a complete copy; False if there
        is one of that name.

        Args:
            row: The experiment's row in the other store, with its seed.
            source: The address of that store.
        """
        same = {name: getattr(row, name) for name in ("name", "created", "config")}
        begun = {**same, "seed": seed_aside(row.seed)}
        begun |= dict.fromkeys(("version", "revision", "rewards", "swept"), 0)
        with self._begun(write=True) as connection:
            if not create_experiment(connection, begun):
                return False
            made = find_row(connection, row.name)
            assert made is not None
            transaction = Transaction(connection, made.id, self.name, self.clock)
            transaction.set_aside(row.seed, COPYING, source)
            return True

    def create(self, name: str, seed: int, config: dict[str, Any]) -> bool:
        """Add an experiment with its first event; False if there is one of that name.

        Args:
            name: The experiment's name.
            seed: The number that its decisions are drawn from.
            config: Its configuration, as plain values.
        """
        row = {
            "name": name,
            "seed": seed,
            # For people to read, and to tell experiments of one name and seed apart.
            "created": process_clock(),
            "version": 1,
            "revision": 1,
            "rewards": 0,
            "swept": 0,
            "config": json.dumps(config),
        }
        with self._begun(write=True) as connection:
            if not create_experiment(connection, row):
                return False
            made = find_experiment(connection, name)
            assert made is not None
            transaction = Transaction(connection, made.id, self.name, self.clock)
            now, batch = transaction.head(name, seed, -1).time, transaction.batch
            transaction.add_events([Event(1, CREATE, now, batch=batch, body=config)])
            return True

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def writing(
        self, experiment: int, single: bool = False, lock: bool = False
    ) -> Iterator[Transaction]:
        """A transaction that may write, all of it or nothing.

        Args:
            experiment: The experiment's id.
            single: Whether it runs one statement, which checks the schema by itself.
            lock: Whether to keep others from changing the experiment until the transaction ends.
        """
        first: tuple[str, ...] = () if single and not self.sqlite else (FIND_SCHEMA,)
        if lock and not self.sqlite:  # SQLite has one lock for everything
            first += (lock_experiment(experiment),)
        with self.engine.transaction(write=True, single=single, first=first) as connection:
            if first:
                check_schema(connection.first, self.name)
            yield Transaction(connection, experiment, self.name, self.clock)

    @contextmanager
    def reading(
        self, experiment: int, single: bool = False, still: bool = False
    ) -> Iterator[Transaction]:
        """A transaction that sees one moment of the database and blocks nobody.

        Args:
            experiment: The experiment's id.
            single: Whether it runs one statement, which checks the schema by itself.
            still: Whether the moment must have every decision up to its last number.
        """
        with self.engine.transaction(single=single, still=still) as connection:
            yield Transaction(connection, experiment, self.name, self.clock)

    @contextmanager
    def finding(
        self, name: str, aside: bool = False
    ) -> Iterator[tuple[ExperimentRow | None, Transaction]]:
        """A transaction that sees one moment, with the row of an experiment, or None.

        Args:
            name: The experiment's name.
            aside: Whether it may be set aside.
        """
        with self._begun() as connection:
            row = (find_row if aside else find_experiment)(connection, name)
            yield row, Transaction(connection, row.id if row else 0, self.name, self.clock)

    @contextmanager
    def _begun(self, write: bool = False) -> Iterator[Connection]:
        """A transaction that isn't about a single experiment."""
        with self.engine.transaction(write=write, first=(FIND_SCHEMA,)) as connection:
            check_schema(connection.first, self.name)
            yield connection

    # ------------------------------------------------------------------ the schema

    def _prepare(self) -> None:
        """Bring the database to the present schema; any number of processes may try at once."""
        with self.engine.transaction() as connection:
            found = self._found_schema(connection)
        if found == SCHEMA_VERSION:
            return
        if self.read_only:
            raise StoreError(
                f"store {self.name} is read-only and was not written by this version of varts: "
                "open it for writing, as varts experiment list does, to upgrade it, or open a copy "
                "that you may write to"
            )
        with self.engine.transaction(write=True) as connection:
            if not self.sqlite:
                connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK_KEY})")
            found = self._found_schema(connection)
            if found == SCHEMA_VERSION:
                return
            if not self.sqlite:
                from varts.live.store.postgres import allow_long_statements

                allow_long_statements(connection)
                if found is not None:  # wait for transactions of the old schema, let no others in
                    connection.execute("LOCK TABLE varts_schema IN ACCESS EXCLUSIVE MODE")
            upgrade(connection, found)

    def _found_schema(self, connection: Connection) -> str | None:
        """The schema of the database; None if it has no tables."""
        if connection.sqlite:
            there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'varts_schema'"
        else:
            # to_regclass alone may answer from a cache that is older than our advisory lock.
            there = "SELECT 1 FROM pg_class WHERE oid = to_regclass('varts_schema')"
        if connection.execute(there).fetchone() is None:
            return None
        row = connection.execute(FIND_SCHEMA).fetchone()
        found = None if row is None else str(row[0])
        if found is None or found > SCHEMA_VERSION:
            check_schema(found, self.name)
        return found


def _activities(connection: Connection, names: Collection[str]) -> dict[str, Activity]:
    given = json.dumps(list(names))
    last = dict(_rows(connection, LAST_REWARDS, names=given))
    counts: dict[str, list[Any]] = {name: [] for name in last}
    for name, *row in _rows(connection, ALL_TRAFFIC, names=given):
        counts[name].append(row)
    return {
        name: Activity(read_traffic(counts[name]), None if time is None else moment(time))
        for name, time in last.items()
    }


def find_experiment(connection: Connection, name: str) -> ExperimentRow | None:
    """The row of an experiment; None if no experiment has this name.

    Raises:
        StoreError: It is set aside: an incomplete copy, or moved to another store.
    """
    row = find_row(connection, name)
    if row is not None and row.seed < 0:
        aside = find_aside(connection, name)
        assert aside is not None
        raise aside.explain(name)
    return row


def find_row(connection: Connection, name: str) -> ExperimentRow | None:
    """The same, also if it is set aside."""
    row = next(iter(_rows(connection, FIND, name=name)), None)
    return None if row is None else ExperimentRow._make(row)


def _rows(connection: Connection, asked: Query, **given: Any) -> list[Any]:
    text = asked.sqlite if connection.sqlite else asked.postgres
    return list(connection.execute(text, given).fetchall())


def _new_engine(given: Any, name: str, read_only: bool) -> Engine:
    """The engine for a URL; raises ValueError for options that it doesn't know."""
    url, timeout = split_timeout(given)
    if url.get_backend_name() == "sqlite":
        if not in_memory(url) and "uri" not in url.query and url.query:
            raise _unknown_options(url)
        return SQLite(url, name, timeout, read_only)
    try:
        from varts.live.store.postgres import Postgres, known_options

        if not known_options(url):
            raise _unknown_options(url)
        return Postgres(url, name, timeout, read_only)  # SQLAlchemy imports the driver, too
    except ImportError:
        raise ImportError(needs_extra("PostgreSQL", "postgres")) from None


def _unknown_options(url: Any) -> ValueError:
    return ValueError(
        f"store must be a URL with valid options, got {without_options(url)} with "
        f"{name_options(url)}"
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
