"""Transactions on one database: what they wait for, how they end, and what can go wrong.

`Engine` has what SQLite and PostgreSQL share. `sqlite.py` and `postgres.py` know how to connect,
begin and recover. PostgreSQL's connections come from SQLAlchemy's pool. Statements go straight to
the driver.

All users of a database share its clock. A reward window concerns the process that decided and the
one that settles. If each went by its own clock, one that is an hour ahead would settle everybody's
decisions for good. PostgreSQL is asked for the time. Processes that share a file use the clock of
its file system: that of the machine, or of the server that has the disk.

A transaction has one deadline for everything it waits for: a place in a queue, a fork, a
connection, a lock. A caller that waits longer gets an error, and nothing was written.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from varts.live.errors import ConnectionLost, StoreError
from varts.live.store.queue import Deadline, Gate, Queue, WaitedTooLong, register_for_forks
from varts.live.store.url import hide_secrets

Given = Mapping[str, Any] | Sequence[Any]
Clock = Callable[[], int]  # microseconds since 1970, UTC


class Connection:
    """A connection inside a transaction.

    Args:
        driver: The driver's cursor, or its connection where that can run statements.
        sqlite: Whether the database is SQLite; otherwise it is PostgreSQL.
    """

    def __init__(self, driver: Any, sqlite: bool) -> None:
        self.driver, self.sqlite = driver, sqlite
        self.afterwards: list[str] = []  # statements to run when the transaction is over
        self.first: Any = None  # the answer to the first statement that was sent along with BEGIN

    def execute(self, text: str, given: Given | None = ()) -> Any:
        """Run a statement and return a cursor; read it before you run the next one."""
        return self.driver.execute(text, given)

    def execute_many(self, text: str, rows: Sequence[Given]) -> int:
        """Run a statement once per row; returns how many rows it changed."""
        if len(rows) == 1:
            return int(self.driver.execute(text, rows[0]).rowcount)
        cursor = self.driver.executemany(text, rows)  # SQLite makes a cursor, psycopg is one
        return int((cursor or self.driver).rowcount)


class How(NamedTuple):
    """How a transaction is to be run; see `Engine.transaction`."""

    write: bool
    single: bool
    still: bool
    first: tuple[str, ...]


class Engine(ABC):
    """One database, in one process; safe for any number of threads.

    Args:
        url: The database's URL, with absolute paths and without our own options.
        name: The URL as messages show it.
        timeout: How many seconds a transaction may wait.
    """

    sqlite: bool
    memory = False
    read_only = False

    def __init__(self, url: sa.URL, name: str, timeout: float) -> None:
        self.url, self.name, self.timeout = url, name, timeout
        self._gate = Gate()
        self._fork_was_clean = True
        self._queue = self._new_queue()
        register_for_forks(self)

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def transaction(
        self,
        write: bool = False,
        single: bool = False,
        still: bool = False,
        first: tuple[str, ...] = (),
    ) -> Iterator[Connection]:
        """Run a transaction: it is committed at the end, or rolled back by an exception.

        Args:
            write: Whether it writes. On SQLite it takes the write lock at once.
            single: Whether it consists of one statement, which is a transaction by itself: that
                saves PostgreSQL two round trips.
            still: Whether it must see every decision with a lower number than one it sees. On
                PostgreSQL a lower number may be committed later, so it waits for those.
            first: Queries without parameters to send along with BEGIN, which saves round trips.
                `Connection.first` is the answer to the first of them.
        """
        deadline = Deadline(self.timeout)
        how = How(write, single, still, first)
        try:
            with (
                self._errors(),
                self._place(write, deadline),
                self._gate.passage(deadline),
                self._begun(how, deadline) as connection,
            ):
                yield connection
        except BaseException as error:
            if not isinstance(error, Exception):
                # From a signal handler. It may have left the pool's lock taken.
                self._forget_connections()
            raise

    def _place(self, write: bool, deadline: Deadline) -> AbstractContextManager[None]:
        """The place in the queue that a transaction waits for before it gets a connection."""
        return nullcontext() if self._queue is None else self._queue.place(deadline)

    @abstractmethod
    def _begun(self, how: How, deadline: Deadline) -> AbstractContextManager[Connection]:
        """A connection with a transaction that has begun, and ends with the context."""

    @abstractmethod
    def _new_queue(self) -> Queue | None:
        """The queue in front of the database, if there is one."""

    @abstractmethod
    def close(self) -> None:
        """Close idle connections; the next transaction opens new ones."""

    @abstractmethod
    def _forget_connections(self) -> None:
        """Start with a new pool, without closing or even touching the connections of this one."""

    # ------------------------------------------------------------------ errors

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn a driver's error into one sentence, which never contains a password."""
        try:
            yield
        except WaitedTooLong as waited:
            raise self.waited(str(waited)) from None
        except sa.exc.TimeoutError:  # from the pool
            raise self.waited("other threads of this process") from None
        except (sa.exc.DBAPIError, self._driver_error) as error:
            found = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            try:
                raise self._explain(found)
            except StoreError as clean:
                clean.__context__ = None  # the driver's error may contain the password
                raise

    @property
    @abstractmethod
    def _driver_error(self) -> type[Exception]:
        """The base class of the driver's errors."""

    @abstractmethod
    def _is_lock_timeout(self, error: BaseException | None) -> bool:
        """Whether somebody else held a lock for longer than the transaction could wait."""

    def _is_lost(self, error: BaseException | None) -> bool:
        """Whether the connection broke, so that a commit may or may not have arrived."""
        return False

    def _explain(self, error: BaseException | None, lost: bool | None = None) -> StoreError:
        if self._is_lock_timeout(error):
            return self.waited("another process")
        text = " ".join(hide_secrets(self.url, str(error)).split())
        if "unable to open" in text:
            text += "; does its folder exist, and may you write to it?"
        if self._is_lost(error) if lost is None else lost:
            return ConnectionLost(
                f"lost the connection to store {self.name}; the call may or may not have taken "
                f"effect, and retrying with the same ids is safe: {text}"
            )
        return StoreError(f"store {self.name} cannot be used, nothing was written: {text}")

    def waited(self, awaited: str) -> StoreError:
        """The error of a transaction that waited too long."""
        return StoreError(
            f"waited {self.timeout:g} s for {awaited} to release store {self.name}, nothing was "
            "written"
        )

    # ------------------------------------------------------------------ forks

    @abstractmethod
    def before_fork(self) -> None:
        """Wait for transactions to end and close what a child must not inherit."""

    def after_fork_in_parent(self) -> None:
        """Let transactions in again."""
        self._gate.reopen()
        if self._queue is not None:
            self._queue.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Start with a new queue and a new gate: threads of the parent may have held the locks."""
        self._forget_connections()
        if self._queue is not None:
            self._queue.after_fork_in_child()
        self._queue, self._gate = self._new_queue(), Gate()


# ------------------------------------------------------------------------------ clocks


def process_clock() -> int:
    """The time of this process."""
    return time.time_ns() // 1000


def file_clock(path: Path) -> Clock:
    """The clock of a file system, which stamps this file when it is touched.

    A process that may not touch the file can't write to the database either, and uses its own.
    """
    name = str(path)

    def now() -> int:
        try:
            os.utime(name)
            return os.stat(name).st_mtime_ns // 1000
        except OSError:
            return process_clock()

    return now


def moment(microseconds: int) -> datetime:
    """A time of the log."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
