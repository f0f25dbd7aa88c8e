"""The database of live experiments: opening, locking, transactions. The queries are in log.py.

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
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

from varts._validation import abbreviate
from varts.live.errors import LiveError, StoreError
from varts.live.locks import FAIR, WAIT, FairQueue, Gate, NoQueue, OneAtATime
from varts.live.schema import experiments
from varts.live.state import CREATE, Event
from varts.live.transaction import Log

SCHEMA = "0001"  # the newest step in migrations/versions
MIGRATION_LOCK = 0x7661727473  # "varts", for PostgreSQL's advisory lock

_memories: dict[str, Store] = {}
_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_shut: list[Store] = []  # while a fork is under way
_forking = threading.Lock()


def _secret(url: sa.URL) -> list[str]:
    """The options of a URL that are not to be shown: PostgreSQL takes passwords there too."""
    return [name for name in url.query if "password" in name]


def read_url(text: str) -> sa.URL:
    """The URL of a database that can be a store; raises StoreError for any other."""
    try:
        url = sa.make_url("sqlite://" if text.startswith("memory:") else text)
    except (sa.exc.ArgumentError, ValueError, TypeError):
        raise StoreError(
            "store must be a URL like sqlite:///varts.db, postgresql://user@host/name or "
            "memory://, got something else"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
        raise StoreError(f"store must be on sqlite, postgresql or memory, got {url.drivername!r}")
    if url.get_backend_name() == "sqlite" and url.host:  # which SQLAlchemy takes for no file at all
        raise StoreError(
            f"store must have three slashes before a file, sqlite:///{url.host}, "
            f"got two in {url.render_as_string()!r}"
        )
    return url


def file_of(text: str) -> Path | None:
    """The file of a store's URL; None if it is not one on SQLite, or named by a URI of its own."""
    url = read_url(text)
    plain = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(str(url.database)) if plain and "uri" not in url.query else None


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
        self.url = read_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = self.sqlite and self.url.database in (None, "", ":memory:")
        shown = self.url.difference_update_query(_secret(self.url))
        self.name = url if self.memory else shown.render_as_string(hide_password=True)
        self._insert: Any = sqlite.insert if self.sqlite else postgresql.insert
        self._turn, self._gate = self._queue(), Gate()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", sa.exc.SAWarning)  # an option nobody knows
                self.engine = self._connect()
        except (sa.exc.ArgumentError, sa.exc.SAWarning, ValueError, TypeError):  # of its options
            raise StoreError(f"store {self.name} must be a URL with valid options") from None
        # Who lets a store go without closing it leaves no connection behind.
        weakref.finalize(self, self.engine.dispose)
        _stores.add(self)
        with self._errors(), self._turn:
            self._migrate()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    @property
    def address(self) -> str:
        """The URL without its password, to find the store by where that is kept elsewhere."""
        open_ = self.url.difference_update_query(_secret(self.url))._replace(password=None)
        return open_.render_as_string()

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

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            how = connection.get_execution_options().get("begin", "DEFERRED")
            connection.exec_driver_sql(f"BEGIN {how}")

        return engine

    def _queue(self) -> Any:
        if self.memory:
            return OneAtATime()
        if self.sqlite and FAIR and not self.url.query:
            return FairQueue(Path(str(self.url.database) + "-queue"))
        return NoQueue()

    def _before_fork(self) -> None:
        self._gate.shut()
        if self.sqlite and not self.memory:
            self.engine.dispose()

    def _after_fork(self) -> None:
        """In the child: nothing of the parent's but what is in memory."""
        if not self.memory:
            self.engine.dispose(close=False)
        self._turn.abandon()
        self._turn, self._gate = self._queue(), Gate()

    def close(self) -> None:
        """Give the connections back; a store that is used again opens new ones."""
        if not self.memory:
            self.engine.dispose()
            self._turn.close()

    @contextmanager
    def writing(self, experiment: int = 0) -> Iterator[Log]:
        """A transaction that writes, all of it or nothing, about the experiment of this id."""
        options: dict[str, Any] = {"begin": "IMMEDIATE"} if self.sqlite else {}
        with self._errors(), self._turn, self._transaction(options) as connection:
            yield Log(self, connection, experiment, steady=self.sqlite)

    @contextmanager
    def reading(self, experiment: int = 0) -> Iterator[Log]:
        """A transaction that sees one moment of the database and blocks nobody."""
        options = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        turn = self._turn if self.memory else nullcontext()
        with self._errors(), turn, self._transaction(options) as connection:
            yield Log(self, connection, experiment, steady=True)

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
            return log.has(name)

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
            if not log.append(experiments, list(row), [tuple(row.values())]):
                return False
            log.experiment = log.find(name).id
            log.add_events([Event(1, CREATE, now, body=config)])
            return True


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


def open_store(store: Any) -> Store:
    """A store from its URL; memory://name is the same store for all of this process."""
    if isinstance(store, Store):
        return store
    if not isinstance(store, str):
        raise StoreError(f"store must be a URL or a Store, got {abbreviate(store)}")
    if store.startswith("memory://") and store != "memory://":
        if store not in _memories:
            _memories[store] = Store(store)
        return _memories[store]
    return Store(store)
