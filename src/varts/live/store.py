"""The database of live experiments: opening, locking, and every query. No statistics here.

SQLite is in WAL mode (readers never block writers) with a full sync on every commit, so what was
acknowledged survives SIGKILL and power loss. Writers take the write lock at once (BEGIN
IMMEDIATE), and before it a place in a queue: SQLite's own waiting is by polling, which starves
some of many writers; a `flock` on a file beside the database is fair, and the kernel releases it
when a process dies. On PostgreSQL the row of an experiment is locked by whoever changes its state;
decisions only add rows and wait for nobody.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

from varts.checks import short
from varts.live.errors import LiveError, StoreError
from varts.live.schema import decisions, events, experiments, statistics, units
from varts.live.state import CREATE, Event, State

try:
    import fcntl
except ImportError:  # Windows: SQLite's own polling has to do
    fcntl = None  # type: ignore[assignment]

SCHEMA = "0001"  # the newest step in migrations/versions
WAIT = 60  # seconds to wait for a lock before giving up
MIGRATION_LOCK = 0x7661727473  # "varts", for PostgreSQL's advisory lock

_memories: dict[str, Store] = {}
_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_shut: list[Store] = []  # while a fork is under way
_forking = threading.Lock()


def _secret(url: sa.URL) -> list[str]:
    """The options of a URL that are not to be shown: PostgreSQL takes passwords there too."""
    return [name for name in url.query if "password" in name]


def utc_now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class Store:
    """One database, in one process; safe for any number of threads and processes.

    `url` is sqlite:///file, postgresql://user:password@host/name, memory:// (gone with the last
    reference) or memory://name (shared in this process).
    """

    def __init__(self, url: str, clock: Callable[[], int] = utc_now) -> None:
        self.clock = clock
        self.memory = url.startswith("memory:")
        try:
            self.url = sa.make_url("sqlite://" if self.memory else url)
        except (sa.exc.ArgumentError, ValueError, TypeError):
            raise StoreError(
                "store must be a URL like sqlite:///varts.db, postgresql://user@host/name or "
                "memory://, got something else"
            ) from None
        driver = self.url.drivername
        if driver in ("postgresql", "postgres"):
            self.url = self.url.set(drivername="postgresql+psycopg")
        elif driver not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
            raise StoreError(f"store must be on sqlite, postgresql or memory, got {driver!r}")
        kind = self.url.get_backend_name()
        if kind == "sqlite" and self.url.database in (None, "", ":memory:"):
            self.memory = True
        self.sqlite = kind == "sqlite"
        shown = self.url.difference_update_query(_secret(self.url))
        self.name = url if self.memory else shown.render_as_string(hide_password=True)
        self._insert: Any = sqlite.insert if self.sqlite else postgresql.insert
        self._turn, self._gate = self._queue(), _Gate()
        try:
            self.engine = self._connect()
        except (sa.exc.ArgumentError, ValueError, TypeError):  # of the URL's own options
            raise StoreError(f"store {self.name} must be a URL with valid options") from None
        # Who lets a store go without closing it leaves no connection behind.
        weakref.finalize(self, self.engine.dispose)
        _stores.add(self)
        with self._errors(), self._turn:
            self._migrate()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    # ------------------------------------------------------------------ connections

    def _connect(self) -> Engine:
        if not self.sqlite:
            try:
                engine = sa.create_engine(
                    self.url, pool_pre_ping=True, pool_size=5, max_overflow=20, pool_timeout=WAIT
                )
            except ImportError:
                raise StoreError(
                    "PostgreSQL needs psycopg, which is not installed; "
                    "run: pip install 'varts[postgres]'"
                ) from None
            return engine
        if self.memory:
            engine = sa.create_engine(
                "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
            )
        else:
            engine = sa.create_engine(
                self.url, connect_args={"timeout": WAIT}, max_overflow=50, pool_timeout=WAIT
            )

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # transactions begin where we say
            connection.execute(f"PRAGMA busy_timeout = {WAIT * 1000}")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            how = connection.get_execution_options().get("begin", "DEFERRED")
            connection.exec_driver_sql(f"BEGIN {how}")

        return engine

    def _queue(self) -> Any:
        if self.memory:
            return _Lock()
        if self.sqlite and fcntl is not None and not self.url.query:
            return _FairQueue(Path(str(self.url.database) + "-queue"))
        return _NoQueue()

    def _before_fork(self) -> None:
        self._gate.shut()
        if self.sqlite and not self.memory:
            self.engine.dispose()

    def _after_fork(self) -> None:
        """In the child: nothing of the parent's but what is in memory."""
        if not self.memory:
            self.engine.dispose(close=False)
        self._turn.abandon()
        self._turn, self._gate = self._queue(), _Gate()

    def close(self) -> None:
        """Give the connections back; a store that is used again opens new ones."""
        if not self.memory:
            self.engine.dispose()
            self._turn.close()

    @contextmanager
    def writing(self) -> Iterator[Log]:
        """A transaction that writes: all of it or nothing."""
        options: dict[str, Any] = {"begin": "IMMEDIATE"} if self.sqlite else {}
        with self._errors(), self._turn, self._transaction(options) as connection:
            yield Log(self, connection, steady=self.sqlite)

    @contextmanager
    def reading(self) -> Iterator[Log]:
        """A transaction that sees one moment of the database and blocks nobody."""
        options = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        turn = self._turn if self.memory else nullcontext()
        with self._errors(), turn, self._transaction(options) as connection:
            yield Log(self, connection, steady=True)

    @contextmanager
    def _transaction(self, options: dict[str, Any]) -> Iterator[Connection]:
        with self._gate, self.engine.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """A driver's error as one sentence; it never contains the URL's password."""
        try:
            yield
        except LiveError:
            raise
        except sa.exc.TimeoutError:
            raise StoreError(f"store {self.name} must have a free connection, got none") from None
        except sa.exc.DBAPIError as error:
            text = " ".join(str(error.orig).split())
            for secret in (self.url.password, *(self.url.query[n] for n in _secret(self.url))):
                text = text.replace(str(secret), "***") if secret else text
            if not self.sqlite and isinstance(error, sa.exc.IntegrityError):
                raise
            if "unable to open" in text:
                text += "; is its folder there, and may you write to it?"
            what = "cannot be used, nothing was written"
            if error.connection_invalidated:  # perhaps after a commit arrived, before its answer
                what = "lost its connection, repeat the call with the same id"
            try:
                raise StoreError(f"store {self.name} {what}: {text}")
            except StoreError as clean:
                clean.__context__ = None  # the driver's error knows the password
                raise

    # ------------------------------------------------------------------ the schema

    def _migrate(self) -> None:
        """Bring the database to this version's schema; any number of processes may try at once."""
        with self.reading() as log:
            if self._schema(log.connection) == SCHEMA:
                return
        if self.sqlite and not self.memory:
            self._use_wal()
        with self.writing() as log:
            if not self.sqlite:
                log.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            if self._schema(log.connection) != SCHEMA:
                _upgrade(log.connection)

    def _use_wal(self) -> None:
        """Here SQLite does not wait for others who do the same, so we must."""
        end = time.monotonic() + WAIT
        while True:
            try:
                with self._gate, self.engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
                return
            except sqlite3.OperationalError as error:
                if time.monotonic() > end or "locked" not in str(error):
                    raise StoreError(f"store {self.name} cannot be used: {error}") from None
                time.sleep(0.01)

    def _schema(self, connection: Connection) -> str | None:
        if not sa.inspect(connection).has_table("varts_schema"):
            return None
        found = connection.exec_driver_sql("SELECT version_num FROM varts_schema").scalar()
        if found is not None and found > SCHEMA:
            raise StoreError(
                f"store {self.name} was written by a newer varts (schema {found}, this one knows "
                f"{SCHEMA}): upgrade varts"
            )
        return found

    # ------------------------------------------------------------------ experiments

    def names(self) -> list[str]:
        """The experiments in this store."""
        with self.reading() as log:
            query = sa.select(experiments.c.name).order_by(experiments.c.name)
            return list(log.connection.execute(query).scalars())

    def has(self, name: str) -> bool:
        """Whether there is an experiment of this name."""
        with self.reading() as log:
            return log.connection.execute(_find, {"name": name}).one_or_none() is not None

    def create(self, name: str, seed: int, config: dict[str, Any]) -> bool:
        """A new experiment with its first event; False if there is one of that name."""
        now = self.clock()
        with self.writing() as log:
            row = {
                "name": name,
                "seed": seed,
                "created": now,
                "version": 1,
                "revision": 1,
                "rewards": 0,
                "swept": 0,
                "config": json.dumps(config),
            }
            if not log._append(experiments, list(row), [tuple(row.values())]):
                return False
            log.experiment = log.find(name).id
            log.add_events([Event(1, CREATE, now, body=config)])
            return True


class Log:
    """The queries of one transaction; `experiment` is the id of the one they are about."""

    def __init__(self, store: Store, connection: Connection, steady: bool) -> None:
        self.store, self.connection, self.experiment = store, connection, 0
        # Whether several statements see the same moment.
        self.steady = steady

    def find(self, name: str) -> Any:
        """The row of an experiment."""
        row = self.connection.execute(_find, {"name": name}).one_or_none()
        if row is None:
            raise StoreError(f"unknown experiment {name!r} in store {self.store.name}")
        return row

    def lock(self) -> None:
        """Be the only one to change this experiment until the transaction ends."""
        if not self.store.sqlite:
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

    def rewarded(self, ids: Sequence[str]) -> dict[str, Any]:
        """The events that settled these decisions, by the decisions' ids."""
        return self._by_id(events, _REWARDED, ids)

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
        if self.store.sqlite:
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
        return self._append(decisions, names, [tuple(row.values()) for row in rows])

    def assign(self, rows: list[dict[str, Any]]) -> None:
        """Remember the arms of sticky units."""
        self.connection.execute(_upsert(self.store._insert, units), rows)

    def add_events(self, new: Sequence[Event]) -> None:
        """Append to the log."""
        rows = [
            (self.experiment, *event[:-1], None if event.body is None else json.dumps(event.body))
            for event in new
        ]
        if self._append(events, ["experiment", *Event._fields], rows) != len(rows):
            raise StoreError(f"the log of store {self.store.name} was changed by somebody else")

    def _append(
        self, table: sa.Table, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        """Add rows but those whose key is taken; how many were added.

        The hot statement of the whole package, so it goes to the driver as text: SQLite is fastest
        row by row, PostgreSQL with all of them as one value.
        """
        start = f"INSERT INTO {table.name} ({', '.join(names)})"
        values: Any = rows
        if self.store.sqlite:
            text = f"{start} VALUES ({', '.join('?' for _ in names)}) ON CONFLICT DO NOTHING"
        else:
            dialect = self.connection.dialect
            kinds = ", ".join(f"{name} {table.c[name].type.compile(dialect)}" for name in names)
            given = f"json_to_recordset(%s::json) AS given({kinds})"
            text = f"{start} SELECT * FROM {given} ON CONFLICT DO NOTHING"
            values = (json.dumps([dict(zip(names, row, strict=True)) for row in rows]),)
        return self.connection.exec_driver_sql(text, values).rowcount

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
            self.connection.execute(_upsert(self.store._insert, statistics), rows)

    def unswept(self, swept: int, limit: int) -> Sequence[Any]:
        """The decisions after number `swept`, oldest first."""
        query = (
            sa.select(
                decisions.c.seq,
                decisions.c.id,
                decisions.c.arm,
                decisions.c.epoch,
                decisions.c.time,
            )
            .where(decisions.c.experiment == self.experiment, decisions.c.seq > swept)
            .order_by(decisions.c.seq)
            .limit(limit)
        )
        return self.connection.execute(query).all()

    def decided_by_arm(self) -> Sequence[Any]:
        """How many decisions every arm has, by arm and epoch."""
        return self.connection.execute(_decided_by_arm, {"x": self.experiment}).all()

    def settled_by_arm(self) -> Sequence[Any]:
        """How many of them are settled, by arm and epoch."""
        return self.connection.execute(_settled_by_arm, {"x": self.experiment}).all()

    def all_events(self) -> Iterator[Event]:
        """The whole log of events, in order."""
        query = (
            sa.select(*(events.c[name] for name in Event._fields))
            .where(events.c.experiment == self.experiment)
            .order_by(events.c.version)
        )
        for row in self._stream(query):
            body = None if row.body is None else json.loads(row.body)
            yield Event._make((*row[:-1], body))

    def all_decisions(self, order: str = "seq") -> Iterator[Any]:
        """Every decision with what settled it, by number or by the version it saw."""
        if not self.store.sqlite:
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
            )
            .outerjoin(events, _settles)
            .where(decisions.c.experiment == self.experiment)
            .order_by(*([decisions.c.version] if order == "version" else []), decisions.c.seq)
        )
        yield from self._stream(query)

    def _stream(self, query: Any) -> Iterator[Any]:
        """Row by row without holding them all."""
        with self.connection.execute(query, execution_options={"yield_per": 5000}) as rows:
            yield from rows

    def settlements(self) -> int:
        """How many events name a decision."""
        query = sa.select(sa.func.count(events.c.decision))
        query = query.where(events.c.experiment == self.experiment)
        return int(self.connection.execute(query).scalar_one())


_DECIDED = ("id", "version", "epoch", "arm", "probability", "estimated", "reason", "time")
_REWARDED = ("decision", "kind", "raw")
_ASSIGNED = ("unit", "arm", "probability", "estimated", "decision")
_settles = sa.and_(
    events.c.experiment == decisions.c.experiment, events.c.decision == decisions.c.id
)
_x: Any = sa.bindparam("x")
_find = sa.select(experiments).where(experiments.c.name == sa.bindparam("name"))
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
    sa.select(decisions.c.arm, decisions.c.epoch, sa.func.count().label("decisions"))
    .where(decisions.c.experiment == _x)
    .group_by(decisions.c.arm, decisions.c.epoch)
)
_settled_by_arm = (
    sa.select(events.c.arm, events.c.epoch, sa.func.count().label("decisions"))
    .where(events.c.experiment == _x, events.c.decision.is_not(None))
    .group_by(events.c.arm, events.c.epoch)
)


@cache
def _upsert(insert: Any, table: sa.Table) -> Any:
    """Add rows, or replace those of the same key; made once, since making it is slow."""
    made, key = insert(table), [column.name for column in table.primary_key]
    new = {name: made.excluded[name] for name in table.c.keys() if name not in key}  # noqa: SIM118
    return made.on_conflict_do_update(index_elements=key, set_=new)


def _upgrade(connection: Connection) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    script = ScriptDirectory.from_config(config)
    with EnvironmentContext(
        config, script, fn=lambda revision, _: script._upgrade_revs(SCHEMA, revision)
    ):
        script.run_env()


def _before_fork() -> None:
    _forking.acquire()  # one thread at a time, and released by the same one, on both sides
    _shut.extend(_stores)
    for store in _shut:
        store._before_fork()


def _after_fork(child: bool) -> None:
    for store in _shut:
        if child:
            store._after_fork()
        else:
            store._gate.reopen()
    _shut.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )


class _Gate:
    """Transactions pass through it; a fork shuts it when those of other threads are over.

    A process that forks must have no SQLite connection open. The locks on a file belong to a
    process, but what SQLite remembers of them is inherited: a child would believe it holds locks
    that it does not, and go on writing to a log that others have deleted.
    """

    def __init__(self) -> None:
        self.changed, self.inside, self.shutting = threading.Condition(), 0, 0
        self.own = threading.local()  # .inside: how many of them are this thread's

    def __enter__(self) -> None:
        mine = getattr(self.own, "inside", 0)
        with self.changed:
            self.changed.wait_for(lambda: mine or not self.shutting)
            self.inside += 1
        self.own.inside = mine + 1

    def __exit__(self, *error: object) -> None:
        self.own.inside -= 1
        with self.changed:
            self.inside -= 1
            self.changed.notify_all()

    def shut(self) -> None:
        """Wait for the others, then hold the lock until `reopen`."""
        mine = getattr(self.own, "inside", 0)
        self.changed.acquire()
        self.shutting += 1
        self.changed.wait_for(lambda: self.inside == mine, WAIT)

    def reopen(self) -> None:
        """After the fork, in the parent."""
        self.shutting -= 1
        self.changed.notify_all()
        self.changed.release()


class _NoQueue:
    """Writers need not queue: the database does it."""

    def abandon(self) -> None:
        """Leave it to the parent process."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        """Nothing to give back."""


class _Lock(_NoQueue):
    """One connection, one user at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


class _FairQueue(_Lock):
    """Threads of this process by a lock, processes by the kernel's queue for a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.file, self.depth = path, -1, 0

    def __enter__(self) -> None:
        super().__enter__()
        self.depth += 1
        if self.depth > 1:
            return
        try:
            if self.file < 0:
                self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(self.file, fcntl.LOCK_EX)
        except OSError:  # a folder we may not write to, a file system without locks: SQLite copes
            pass

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if self.depth == 0 and self.file >= 0:
            fcntl.flock(self.file, fcntl.LOCK_UN)
        super().__exit__(*error)

    def abandon(self) -> None:
        """Close the file, on which the parent's place in the queue would outlive the parent."""
        self.lock = threading.RLock()  # the old one may be held by a thread that is not here
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            if self.file >= 0:
                os.close(self.file)
                self.file = -1

    def __del__(self) -> None:
        self.close()


def open_store(store: Any) -> Store:
    """A store from its URL; memory://name is the same store for all of this process."""
    if isinstance(store, Store):
        return store
    if not isinstance(store, str):
        raise StoreError(f"store must be a URL or a Store, got {short(store)}")
    if store.startswith("memory://") and store != "memory://":
        if store not in _memories:
            _memories[store] = Store(store)
        return _memories[store]
    return Store(store)
