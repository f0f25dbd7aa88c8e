"""Connections to the database: how they are made and what they are told before they are used."""

from __future__ import annotations

import math
import os
import select
import sqlite3
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, Pool, StaticPool

from varts.live.errors import StoreError
from varts.live.locks import Deadline
from varts.live.url import file_of, in_memory

IDLE_CONNECTIONS = 5  # kept open for whoever is next
POSTGRES_CONNECTIONS = 25  # of one store in one process
SHORTEST_PAUSE_SECONDS = 10
MARGIN_SECONDS = 1  # for a statement, else nobody is told that it was a lock that took so long
TRUSTED_SECONDS = 0.005  # for so long after a use, a connection is there unless it says not
LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's code


class Attempt:
    """One transaction: until when it may wait, and where it was begun."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.connection: Any = None  # SQLite's own
        self.info: dict[Any, Any] = {}  # which the pool keeps with it

    def begin(self, connection: Connection, how: str) -> None:
        """Begin it on SQLite."""
        driver: Any = connection.connection.driver_connection
        connection.info["attempt"] = self
        self.connection, self.info = driver, connection.info
        if driver.in_transaction:  # memory, when something else had no time to end it
            driver.rollback()
        driver.execute(f"PRAGMA busy_timeout = {milliseconds(self.deadline.left)}")
        driver.execute(f"BEGIN {how}")

    def end(self) -> None:
        """Undo what SQLAlchemy has neither committed nor undone, since an exception of a signal
        interrupted it. Whoever has the connection now has written so before beginning."""
        with suppress(sqlite3.Error):  # it is closed
            if (
                self.connection is not None
                and self.connection.in_transaction
                and self.info.get("attempt") is self
            ):
                self.connection.rollback()


class Attempts(threading.local):
    """The latest transaction of each thread."""

    latest: Attempt | None = None


class Shelf(Pool):
    """Connections that nobody uses, the last used on top; nobody waits for one.

    SQLAlchemy's own pool has a `threading.Condition`, which an exception of a signal may leave
    locked for good (`locks.py`). Putting something on a deque, or taking it off, needs no lock.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle: deque[Any] = deque()

    def _do_get(self) -> ConnectionPoolEntry:
        with suppress(IndexError):
            found: ConnectionPoolEntry = self._idle.pop()
            return found
        return self._create_connection()

    def _do_return_conn(self, record: Any) -> None:
        if len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(record)
        else:
            record.close()

    def recreate(self) -> Shelf:
        """Another one, empty."""
        return type(self)(
            self._creator,
            echo=self.echo,
            logging_name=self._orig_logging_name,
            reset_on_return=self._reset_on_return,
            dialect=self._dialect,
            _dispatch=self.dispatch,
        )

    def dispose(self) -> None:
        """Close those that are here."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def status(self) -> str:
        """For people to read."""
        return f"Shelf with {len(self._idle)} connections"


def milliseconds(seconds: float) -> int:
    """For databases, to which 0 means for ever."""
    return max(math.ceil(seconds * 1000), 1)


def is_lock_timeout(error: BaseException | None) -> bool:
    """Whether it is the driver's word that somebody else had a lock for longer than the transaction
    might wait."""
    code = getattr(error, "sqlite_errorcode", None)
    busy = code is not None and code & 0xFF == sqlite3.SQLITE_BUSY
    return busy or getattr(error, "sqlstate", None) == LOCK_NOT_AVAILABLE


# ------------------------------------------------------------------------------ SQLite


def connect_sqlite(url: sa.URL, timeout: float, attempts: Attempts) -> Engine:
    """An engine for a file or for memory; a transaction waits for others as long as it may."""
    if in_memory(url):
        # Whatever happens to it, SQLAlchemy must not close it: the data are nowhere else.
        lasting = sqlite3.connect(":memory:", factory=LastingConnection, check_same_thread=False)
        engine = sa.create_engine(
            "sqlite://",
            poolclass=StaticPool,
            creator=lambda: lasting,
            pool_reset_on_return=None,  # which may be when another thread has begun to use it
        )
        weakref.finalize(engine, sqlite3.Connection.close, lasting)
    elif is_frozen(url):
        engine = sa.create_engine("sqlite://", poolclass=NullPool, creator=lambda: _look_at(url))
    else:
        options = {"factory": CleanConnection}
        engine = sa.create_engine(url, connect_args=options, poolclass=Shelf)

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        how = connection.get_execution_options().get("begin", "DEFERRED")
        (attempts.latest or Attempt(Deadline(timeout))).begin(connection, how)

    return engine


class CleanConnection(sqlite3.Connection):
    """A connection that keeps no lock when it is closed, though somebody still has a cursor."""

    def close(self) -> None:
        """Undo what was not committed."""
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


class LastingConnection(sqlite3.Connection):
    """A connection that is closed when nobody needs it any more, not when it is told to."""

    def close(self) -> None:
        """Stay open."""

    def create_function(self, *arguments: Any, **options: Any) -> None:
        """Make a function of SQLAlchemy's, unless it is there and in use."""
        with suppress(sqlite3.OperationalError):
            super().create_function(*arguments, **options)


def is_read_only(url: sa.URL) -> bool:
    """Whether it is a file that we cannot write to."""
    file = file_of(url)
    if file is None:
        return url.query.get("mode") == "ro" or "immutable" in url.query
    return file.exists() and (is_frozen(url) or not _may_write(file))


def is_frozen(url: sa.URL) -> bool:
    """Whether it is a file beside which SQLite cannot make those that it needs even to read, and
    which was closed cleanly: nobody has it open, and all of it is in the one file."""
    file = file_of(url)
    return (
        file is not None
        and file.exists()
        and not _may_write(file.absolute().parent)
        and not Content.of(file).log
    )


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=effective)


class Content(NamedTuple):
    """What tells whether somebody has changed a file of SQLite's."""

    size: int
    time: int
    log: bool  # whether there is a write-ahead log beside it

    @classmethod
    def of(cls, file: Path) -> Content:
        """As it is now."""
        log = Path(f"{file}-wal").exists()
        with suppress(OSError):
            found = file.stat()
            return cls(found.st_size, found.st_mtime_ns, log)
        return cls(0, 0, log)  # it is gone


def _look_at(url: sa.URL) -> sqlite3.Connection:
    """A connection to a file that nobody writes to, unless somebody has begun to."""
    path = quote(os.path.abspath(str(url.database)))
    option = "immutable=1" if is_frozen(url) else "mode=ro"
    return sqlite3.connect(f"file:{path}?{option}", uri=True, check_same_thread=False)


# ------------------------------------------------------------------------------ PostgreSQL


def connect_postgres(url: sa.URL, name: str, timeout: float, attempts: Attempts) -> Engine:
    """An engine whose connections wait for a lock, and work on a statement, for so long.

    A process that is paused in a transaction keeps others from changing the experiment. After half
    of the time that these wait, the server ends its session, and nothing of the transaction is
    written; but never so soon that a slow computation between two statements could be meant.
    """
    try:
        # As many connections as there are places in the store's queue.
        engine = sa.create_engine(url, poolclass=Shelf)
    except ImportError:
        raise ImportError("PostgreSQL needs psycopg: pip install 'varts[postgres]'") from None
    pause = max(timeout / 2, SHORTEST_PAUSE_SECONDS)
    settings = {
        "lock_timeout": timeout,
        "statement_timeout": timeout + MARGIN_SECONDS,
        "idle_in_transaction_session_timeout": pause,
    }

    def time_left() -> float:
        return attempts.latest.deadline.left if attempts.latest else timeout

    @sa.event.listens_for(engine, "do_connect")
    def connect(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        limits = {
            "connect_timeout": math.ceil(time_left()) or 1,
            "tcp_user_timeout": milliseconds(timeout),  # a network that has gone silent
            "keepalives_idle": math.ceil(timeout / 2),
        }
        connection = dialect.connect(*arguments, **{**limits, **options})
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise StoreError(
                f"store {name} must be a database with encoding UTF8, got {encoding}: make one "
                "with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )
        for setting, seconds in settings.items():
            connection.execute(f"SET {setting} = {milliseconds(seconds)}")
        connection.commit()
        return connection

    @sa.event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, proxy: Any) -> None:
        idle = time.monotonic() - record.info.get("used", -math.inf)
        if idle > TRUSTED_SECONDS or _has_news(connection):
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error:
                raise sa.exc.InvalidatePoolError from None

    @sa.event.listens_for(engine, "checkin")
    def stamp(connection: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        left = time_left()
        if left < 0.9 * timeout:  # it has waited already, for a connection
            work = left + MARGIN_SECONDS
            limit_statements(connection, lock_timeout=left or 1e-3, statement_timeout=work)

    return engine


def _has_news(connection: Any) -> bool:
    """Whether the server has said something unasked, such as that it hangs up, or may have."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def limit_statements(connection: Connection, **settings: float) -> None:
    """Change the limits of PostgreSQL until the end of the transaction; 0 is none."""
    for setting, seconds in settings.items():
        limit = milliseconds(seconds) if seconds else 0
        connection.exec_driver_sql(f"SET LOCAL {setting} = {limit}")


def knows_options(url: sa.URL) -> bool:
    """Whether PostgreSQL's library knows all of them; the error of the driver would name one, which
    may be the end of a password with an & in it."""
    from psycopg.pq import Conninfo

    return {option.keyword.decode() for option in Conninfo.get_defaults()} >= set(url.query)
