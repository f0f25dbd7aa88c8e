"""The database of live experiments: connections, transactions, and which experiments are in it.

SQLite is in WAL mode (readers never block writers) with a full sync on every commit, so what was
acknowledged survives SIGKILL and power loss. Writers take the write lock at once (BEGIN
IMMEDIATE), and before it a place in a queue: SQLite itself waits by polling, which starves some of
many writers; a `flock` on a file beside the database is fair, and the kernel releases it when a
process dies. On PostgreSQL the row of an experiment is locked by whoever changes its state;
decisions only add rows and wait for nobody.
"""

from __future__ import annotations

import json
import sqlite3
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

from varts._validation import abbreviate
from varts.live.errors import StoreError
from varts.live.locks import (
    HAS_FILE_LOCKS,
    LOCK_TIMEOUT_SECONDS,
    FairQueue,
    Gate,
    NoQueue,
    ThreadQueue,
    register_for_forks,
)
from varts.live.migrations import upgrade
from varts.live.schema import SCHEMA_VERSION, experiments
from varts.live.state import CREATE, Event
from varts.live.transaction import Transaction, add_rows
from varts.live.url import hide_secrets, in_memory, read_url, without_secrets

MIGRATION_LOCK_KEY = 0x7661727473  # "varts", for PostgreSQL's advisory lock

_memories: dict[str, Store] = {}


def utc_now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class Store:
    """One database, in one process; safe for any number of threads and processes.

    Args:
        url: sqlite:///file, postgresql://user:password@host/name, memory:// (gone with the last
            reference) or memory://name (shared in this process, when `varts.open` opens it).
        clock: What time it is, in microseconds since 1970.

    Raises:
        ValueError: The URL is not one of these.
        ImportError: It is on PostgreSQL, and psycopg is not installed.
        StoreError: The database cannot be used.
    """

    def __init__(self, url: str, clock: Callable[[], int] = utc_now) -> None:
        if not isinstance(url, str):
            raise TypeError(f"store must be a URL, got {abbreviate(url)}")
        self.clock = clock
        self.url = read_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = in_memory(self.url)
        shown = without_secrets(self.url).render_as_string(hide_password=True)
        self.name = url if self.memory else shown
        self._queue, self._gate = self._new_queue(), Gate()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", sa.exc.SAWarning)  # an option nobody knows
                self.engine = self._connect()
        except (sa.exc.ArgumentError, sa.exc.SAWarning, ValueError, TypeError):  # of its options
            raise ValueError(f"store must be a URL with valid options, got {self.name}") from None
        # A store that is let go without being closed leaves no connection behind.
        weakref.finalize(self, self.engine.dispose)
        register_for_forks(self)
        with self._errors(), self._queue:
            self._migrate()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    @property
    def address(self) -> str:
        """The URL without its password, to find the store by where that is kept elsewhere."""
        return without_secrets(self.url)._replace(password=None).render_as_string()

    # ------------------------------------------------------------------ experiments

    def names(self) -> list[str]:
        """The experiments in this store."""
        query = sa.select(experiments.c.name).order_by(experiments.c.name)
        with self._reading() as connection:
            return list(connection.execute(query).scalars())

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
        now = self.clock()
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
        with self._writing() as connection:
            if not add_rows(connection, experiments, list(row), [tuple(row.values())]):
                return False
            experiment = connection.execute(_find, {"name": name}).one().id
            created = Event(1, CREATE, now, body=config)
            Transaction(connection, experiment, self.name, self.sqlite).add_events([created])
            return True

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def writing(self, experiment: int) -> Iterator[Transaction]:
        """A transaction that may write, all of it or nothing.

        Args:
            experiment: The id of the experiment that it is about.
        """
        with self._writing() as connection:
            yield Transaction(connection, experiment, self.name, steady=self.sqlite)

    @contextmanager
    def reading(self, experiment: int) -> Iterator[Transaction]:
        """A transaction that sees one moment of the database and blocks nobody.

        Args:
            experiment: The id of the experiment that it is about.
        """
        with self._reading() as connection:
            yield Transaction(connection, experiment, self.name, steady=True)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        options: dict[str, Any] = {"begin": "IMMEDIATE"} if self.sqlite else {}
        with self._errors(), self._queue, self._transaction(options) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        options = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        queue = self._queue if self.memory else nullcontext()
        with self._errors(), queue, self._transaction(options) as connection:
            yield connection

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
        except sa.exc.TimeoutError:
            raise StoreError(
                f"all connections to store {self.name} were in use for {LOCK_TIMEOUT_SECONDS} s"
            ) from None
        except sa.exc.DBAPIError as error:
            if not self.sqlite and isinstance(error, sa.exc.IntegrityError):
                raise
            text = hide_secrets(self.url, " ".join(str(error.orig).split()))
            if "unable to open" in text:
                text += "; is its folder there, and may you write to it?"
            what = f"store {self.name} cannot be used, nothing was written"
            if error.connection_invalidated:  # perhaps after a commit arrived, before its answer
                what = f"lost the connection to store {self.name}, repeat the call with the same id"
            try:
                raise StoreError(f"{what}: {text}")
            except StoreError as clean:
                clean.__context__ = None  # the driver's error knows the password
                raise

    # ------------------------------------------------------------------ connections

    def _connect(self) -> Engine:
        wait = LOCK_TIMEOUT_SECONDS
        if not self.sqlite:
            try:
                return sa.create_engine(
                    self.url, pool_pre_ping=True, pool_size=5, max_overflow=20, pool_timeout=wait
                )
            except ImportError:
                raise ImportError(
                    "PostgreSQL needs psycopg: pip install 'varts[postgres]'"
                ) from None
        if self.memory:
            engine = sa.create_engine(
                "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
            )
        else:
            engine = sa.create_engine(
                self.url, connect_args={"timeout": wait}, max_overflow=50, pool_timeout=wait
            )

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # transactions begin where we say
            connection.execute(f"PRAGMA busy_timeout = {wait * 1000}")
            connection.execute("PRAGMA synchronous = FULL")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            how = connection.get_execution_options().get("begin", "DEFERRED")
            connection.exec_driver_sql(f"BEGIN {how}")

        return engine

    def close(self) -> None:
        """Give the connections back; a store that is used again opens new ones."""
        if not self.memory:
            self.engine.dispose()
            self._queue.close()

    def _new_queue(self) -> NoQueue:
        if self.memory:
            return ThreadQueue()
        if self.sqlite and HAS_FILE_LOCKS and not self.url.query:
            return FairQueue(Path(str(self.url.database) + "-queue"))
        return NoQueue()

    def before_fork(self) -> None:
        """Wait until no transaction is under way and close what a child must not inherit."""
        self._gate.shut()
        if self.sqlite and not self.memory:
            self.engine.dispose()

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        self._gate.reopen()

    def after_fork_in_child(self) -> None:
        """Keep nothing of the parent's but what is in memory."""
        if not self.memory:
            self.engine.dispose(close=False)
        self._queue.abandon()
        self._queue, self._gate = self._new_queue(), Gate()

    # ------------------------------------------------------------------ the schema

    def _migrate(self) -> None:
        """Bring the database to this version's schema; any number of processes may try at once."""
        with self._reading() as connection:
            if self._found_schema(connection) == SCHEMA_VERSION:
                return
        if self.sqlite and not self.memory:
            self._use_wal()
        with self._writing() as connection:
            if not self.sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK_KEY)))
            if self._found_schema(connection) != SCHEMA_VERSION:
                upgrade(connection)

    def _use_wal(self) -> None:
        """Here SQLite does not wait for others who do the same, so we must."""
        end = time.monotonic() + LOCK_TIMEOUT_SECONDS
        while True:
            try:
                with self._gate, self.engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
                return
            except sqlite3.OperationalError as error:
                if time.monotonic() > end or "locked" not in str(error):
                    raise StoreError(f"store {self.name} cannot be used: {error}") from None
                time.sleep(0.01)

    def _found_schema(self, connection: Connection) -> str | None:
        if not sa.inspect(connection).has_table("varts_schema"):
            return None
        found = connection.exec_driver_sql("SELECT version_num FROM varts_schema").scalar()
        if found is not None and found > SCHEMA_VERSION:
            raise StoreError(
                f"store {self.name} was written by a newer varts (schema {found}, this one knows "
                f"{SCHEMA_VERSION}): upgrade varts"
            )
        return found


_find = sa.select(experiments).where(experiments.c.name == sa.bindparam("name"))


def open_store(store: str | Store) -> Store:
    """A store from its URL; memory://name is the same store for all of this process."""
    if isinstance(store, Store):
        return store
    if isinstance(store, str) and store.startswith("memory://") and store != "memory://":
        if store not in _memories:
            _memories[store] = Store(store)
        return _memories[store]
    return Store(store)
