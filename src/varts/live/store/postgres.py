"""PostgreSQL, directly or through a pooler such as PgBouncer.

Transactions state their isolation level: writers READ COMMITTED, readers REPEATABLE READ. The
server ends what takes too long: `lock_timeout`, `statement_timeout` and
`idle_in_transaction_session_timeout` follow from the store's timeout. On a connection of our own
they are set once. Behind a pooler in transaction mode other programs share the server's
connections, so there they are set for each transaction, and nothing is prepared.

The server can't help when the network goes silent. TCP keepalives notice a dead machine, but not a
middlebox that swallows packets. So a watchdog closes the socket of a wait that is overdue.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.pq import Conninfo
from sqlalchemy.pool import QueuePool

from varts.live.errors import StoreError
from varts.live.store.engine import Connection, Engine, How
from varts.live.store.queue import Deadline, Queue

IDLE_CONNECTIONS = 5
MOST_CONNECTIONS = 25  # of one store in one process
SHORTEST_PAUSE_SECONDS = 10.0
STATEMENT_MARGIN_SECONDS = 1.0  # a lock timeout comes first, and says what was waited for
SILENCE_MARGIN_SECONDS = 3.0  # the server's own timeouts come first, and leave the connection whole
LONG_STATEMENT_SECONDS = 3600.0  # for statements that read or change a whole log
MOMENT_SECONDS = 1.0
FRESH_SECONDS = 0.002  # since a connection was used: it is not tested again
LOCK_NOT_AVAILABLE = "55P03"
_MAY_NOT_LOCK = ("42501", "25006")  # no permission, or a standby

_BEGIN_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A snapshot that has every decision up to its last number: taken while none is being added. Going
# back to the savepoint releases the lock and keeps the snapshot. A process that is paused while it
# adds decisions delays this lock, which delays other processes, so we try for a moment at a time.
_BEGIN_STILL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
_TAKE_TURN = (
    "SAVEPOINT still",
    f"SET LOCAL lock_timeout = {MOMENT_SECONDS * 1000:.0f}",
    "LOCK TABLE varts_decisions IN SHARE MODE",
    "SELECT 1 FROM varts_schema",
)
_END_TURN = "ROLLBACK TO SAVEPOINT still"


class Postgres(Engine):
    """A PostgreSQL database.

    Args:
        url: Its URL.
        name: The URL as messages show it.
        timeout: How many seconds a transaction may wait.
        read_only: Whether the caller only wants to read.
    """

    sqlite = False

    def __init__(self, url: sa.URL, name: str, timeout: float, read_only: bool = False) -> None:
        self.read_only = read_only
        self._limits = {
            "lock_timeout": timeout,
            "statement_timeout": timeout + STATEMENT_MARGIN_SECONDS,
            # A process that is paused in a transaction holds its locks. The server ends its session
            # while others still wait, but never so soon that a slow computation could be meant.
            "idle_in_transaction_session_timeout": max(timeout / 2, SHORTEST_PAUSE_SECONDS),
        }
        super().__init__(url, name, timeout)
        self._pool = sa.create_engine(
            url,
            poolclass=QueuePool,
            pool_size=IDLE_CONNECTIONS,
            max_overflow=MOST_CONNECTIONS - IDLE_CONNECTIONS,
            pool_timeout=timeout,
        )
        sa.event.listen(self._pool, "do_connect", _weakly(self._connect))
        sa.event.listen(self._pool, "checkin", _note_time)
        sa.event.listen(self._pool, "checkout", _test)
        weakref.finalize(self, self._pool.dispose)  # if nobody closes the store

    def close(self) -> None:
        """Close idle connections."""
        self._pool.dispose()

    def _forget_connections(self) -> None:
        self._pool.dispose(close=False)

    # ------------------------------------------------------------------ connections

    def _connect(self, dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        left = min(self.timeout, watchdog.left)
        limits = {
            "connect_timeout": max(math.ceil(left), 2),  # psycopg takes no less
            "tcp_user_timeout": round(self.timeout * 1000),
            "keepalives_idle": max(math.ceil(self.timeout / 2), 1),
            "keepalives_interval": max(math.ceil(self.timeout / 6), 1),
            "keepalives_count": 3,
        }
        connection = WatchedConnection.connect(*arguments, **{**limits, **options})
        connection.autocommit = True  # transactions begin where we say
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise StoreError(
                f"store {self.name} must be a database with encoding UTF8, got {encoding}: create "
                "one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )
        # A pooler makes up the process id that it tells its clients.
        connection.prepare_threshold = None
        pid: Any = connection.execute("SELECT pg_backend_pid()").fetchone()
        connection.pooled = pid[0] != connection.info.backend_pid
        if not connection.pooled:
            connection.prepare_threshold = 5
            connection.execute("SET default_transaction_isolation = 'read committed'")
            connection.execute(_settings("SET", self._limits))
        return connection

    # ------------------------------------------------------------------ transactions

    def _new_queue(self) -> Queue | None:
        return None  # the pool is the queue

    @contextmanager
    def _begun(self, how: How, deadline: Deadline) -> Iterator[Connection]:
        with watchdog.limited(deadline.left + SILENCE_MARGIN_SECONDS):
            pooled = self._checked_out(deadline)
            driver: Any = pooled.driver_connection
            try:
                connection = Connection(driver.cursor(), sqlite=False)
                if how.single and not driver.pooled:
                    yield connection
                    return
                self._begin(driver, connection, how, deadline)
                yield connection
                connection.execute("COMMIT", None)  # without parameters it is not prepared
            except BaseException as error:
                self._undo(pooled, driver, error)
                raise
            finally:
                pooled.close()

    def _checked_out(self, deadline: Deadline) -> Any:
        """A connection from the pool, tested or new.

        The test takes up to half of the time. If that connection is silent, another may not be.
        """
        try:
            with watchdog.limited_each(max(deadline.left / 2, MOMENT_SECONDS)):
                return self._pool.raw_connection()
        except (psycopg.Error, sa.exc.DBAPIError) as error:
            found = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            refused = self._explain(found, lost=False)
        raise refused from None  # not as its context: the driver's error may contain the password

    def _begin(self, driver: Any, connection: Connection, how: How, deadline: Deadline) -> None:
        """Send BEGIN, limits that must be set, and the first statement in one round trip."""
        begin = [_BEGIN_WRITING if how.write else _BEGIN_READING]
        if driver.pooled or deadline.left < 0.9 * self.timeout:  # it waited for a connection
            left = max(deadline.left, 0.001)
            work = left + STATEMENT_MARGIN_SECONDS
            limits = {**self._limits, "lock_timeout": left, "statement_timeout": work}
            begin.append(_settings("SET LOCAL", limits))
        while how.still:
            try:
                answers = _send(
                    connection, [_BEGIN_STILL, *begin[1:], *_TAKE_TURN, *how.first, _END_TURN]
                )
                connection.first = answers[1] if how.first else None
                return
            except psycopg.Error as error:
                driver.execute("ROLLBACK")
                if error.sqlstate in _MAY_NOT_LOCK:
                    break
                if error.sqlstate != LOCK_NOT_AVAILABLE or not deadline.left:
                    raise
                time.sleep(MOMENT_SECONDS / 10)
        answers = _send(connection, [*begin, *how.first])
        connection.first = answers[0] if how.first else None

    def _undo(self, pooled: Any, driver: Any, error: BaseException) -> None:
        """Roll back; close the connection instead if its state is unknown."""
        if isinstance(error, Exception) and not driver.broken:
            with suppress(psycopg.Error):
                if driver.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    driver.execute("ROLLBACK")
                return
        pooled.invalidate()

    # ------------------------------------------------------------------ errors

    @property
    def _driver_error(self) -> type[Exception]:
        return psycopg.Error

    def _is_lock_timeout(self, error: BaseException | None) -> bool:
        return getattr(error, "sqlstate", None) == LOCK_NOT_AVAILABLE

    def _is_lost(self, error: BaseException | None) -> bool:
        # Errors of the server have a code, and these it sends before it hangs up.
        code = getattr(error, "sqlstate", None)
        if code is None:
            return isinstance(error, psycopg.OperationalError)
        return bool(code[:3] == "57P" or code == "25P03")

    # ------------------------------------------------------------------ forks

    def before_fork(self) -> None:
        """Give transactions a moment to end, so that a child inherits no lock of a busy thread.

        Connections may be inherited: the child forgets them without a word to the server.
        """
        self._fork_was_clean = self._gate.close(Deadline(min(self.timeout, MOMENT_SECONDS)))

    def after_fork_in_child(self) -> None:
        """Forget the parent's connections, but keep their objects: psycopg warns about objects of
        open connections that are deleted."""
        _inherited.append(self._pool.pool)
        super().after_fork_in_child()


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls a method without keeping its object alive: the pool of an engine would
    otherwise keep the engine alive, and the engine its pool.
    """
    reference = weakref.WeakMethod(method)

    def call(*given: Any) -> Any:
        found = reference()
        assert found is not None  # a pool connects only while somebody uses its engine
        return found(*given)

    return call


_inherited: list[Any] = []


def _note_time(connection: Any, record: Any) -> None:
    record.info["returned"] = time.monotonic()


def _test(connection: Any, record: Any, proxy: Any) -> None:
    """Test a connection before it is used, unless it was used just now.

    `pool_pre_ping` tests it every time. A decision is two transactions and its reward is a third,
    and three tests are a tenth of all that they cost.
    """
    if time.monotonic() - record.info.get("returned", math.inf) <= FRESH_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        raise sa.exc.InvalidatePoolError from None  # the pool connects again


def allow_long_statements(connection: Connection) -> None:
    """Let the statements of this transaction take up to an hour, for a whole log."""
    watchdog.extend(LONG_STATEMENT_SECONDS + SILENCE_MARGIN_SECONDS)
    connection.execute(_settings("SET LOCAL", {"statement_timeout": LONG_STATEMENT_SECONDS}))


def known_options(url: sa.URL) -> bool:
    """Whether PostgreSQL's library knows all options of a URL.

    The driver's own error would name one, which may be the end of a password with an & in it.
    """
    return {option.keyword.decode() for option in Conninfo.get_defaults()} >= set(url.query)


def _send(connection: Connection, statements: list[str]) -> list[Any]:
    """Run statements in one round trip; returns the first value that each query found."""
    cursor = connection.execute("; ".join(statements), None)
    found = []
    while True:
        if cursor.description is not None:
            row = cursor.fetchone()
            found.append(None if row is None else row[0])
        if not cursor.nextset():
            return found


def _settings(command: str, limits: dict[str, float]) -> str:
    """Statements that set time limits.

    >>> _settings("SET LOCAL", {"lock_timeout": 1.5})
    'SET LOCAL lock_timeout = 1500'
    """
    return "; ".join(
        f"{command} {name} = {max(math.ceil(seconds * 1000), 1)}"
        for name, seconds in limits.items()
    )


class _Limits(threading.local):
    """How long each thread may wait."""

    until = math.inf  # when all of its waits must be over
    each = math.inf  # seconds that one of them may take


class Watchdog:
    """Closes the sockets of waits that are overdue; their threads then get an OperationalError."""

    def __init__(self) -> None:
        self._limits = _Limits()
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Start again: the waits of other threads and our own thread don't survive a fork."""
        self._lock = threading.Lock()
        self._waits: dict[object, tuple[float, int]] = {}  # until when, for which socket
        self._running = False

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """End all waits of this thread within this number of seconds."""
        before = self._limits.until
        self._limits.until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._limits.until = before

    @contextmanager
    def limited_each(self, seconds: float) -> Iterator[None]:
        """End every single wait of this thread after this number of seconds."""
        before, self._limits.each = self._limits.each, seconds
        try:
            yield
        finally:
            self._limits.each = before

    @property
    def left(self) -> float:
        """How many seconds the waits of this thread may still take."""
        return max(self._limits.until - time.monotonic(), 0.0)

    def extend(self, seconds: float) -> None:
        """Give the present transaction of this thread this number of seconds from now."""
        self._limits.until = time.monotonic() + seconds

    def watch(self, file: int) -> object:
        """Watch a wait of this thread for a socket, until `unwatch`."""
        until = min(self._limits.until, time.monotonic() + self._limits.each)
        token = object()
        with self._lock:
            self._waits[token] = until, file
            if not self._running and until < math.inf:
                self._running = True
                threading.Thread(target=self._watch, daemon=True).start()
        return token

    def unwatch(self, token: object) -> None:
        """The wait is over: from here on the socket may be closed and its number used again."""
        with self._lock:
            self._waits.pop(token, None)

    def _watch(self) -> None:
        idle = 0
        while idle < 10:
            time.sleep(MOMENT_SECONDS)
            with self._lock:
                now = time.monotonic()
                for until, file in self._waits.values():
                    if until < now:
                        _shut_down(file)
                idle = 0 if self._waits else idle + 1
                self._running = idle < 10


def _shut_down(file: int) -> None:
    """End both directions of a socket; a thread that waits for it gets an error at once."""
    with suppress(OSError), socket.socket(fileno=os.dup(file)) as copy:
        copy.shutdown(socket.SHUT_RDWR)


watchdog = Watchdog()


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waits the watchdog knows of."""

    pooled = False  # whether other programs may share its server connection

    def wait(self, *arguments: Any, **options: Any) -> Any:
        """Wait for the server; the watchdog ends a wait that is overdue."""
        if self.pgconn.status != psycopg.pq.ConnStatus.OK:
            return super().wait(*arguments, **options)
        token = watchdog.watch(self.pgconn.socket)
        try:
            return super().wait(*arguments, **options)
        finally:
            watchdog.unwatch(token)
