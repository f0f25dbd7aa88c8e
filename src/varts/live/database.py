"""A database: its transactions, what they wait for, what can go wrong, and how it survives forks.

SQLite is in WAL mode (readers never block writers) with a full sync on every commit, so what was
acknowledged survives SIGKILL and power loss. Writers take the write lock at once (BEGIN
IMMEDIATE), and before it a place in a queue: SQLite itself waits by polling, which starves some of
many writers; a `flock` on a file beside the database is fair, and the kernel releases it when a
process dies. On PostgreSQL the row of an experiment is locked by whoever changes its state;
decisions only add rows and wait for nobody.

A transaction has one deadline for everything that it waits for before its first statement: a place,
a fork, a connection, a lock. Whoever waits longer gets an error, and nothing was written.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from varts.live.connections import (
    POSTGRES_CONNECTIONS,
    Attempt,
    Attempts,
    Content,
    connect_postgres,
    connect_sqlite,
    is_frozen,
    is_lock_timeout,
    is_read_only,
    knows_options,
)
from varts.live.errors import ConnectionLost, StoreError
from varts.live.forks import Gate, register_for_forks
from varts.live.locks import HAS_FILE_LOCKS, Deadline, FairQueue, Queue, WaitedTooLong
from varts.live.url import (
    file_of,
    hide_secrets,
    in_memory,
    name_options,
    read_url,
    shown,
    split_timeout,
    without_options,
    without_secrets,
)

MOMENT_SECONDS = 1.0
_torn: set[object] = set()  # what this process inherited in the middle of a transaction


class Database:
    """One database, in one process; safe for any number of threads and processes.

    Args:
        url: That of a store.
    """

    def __init__(self, url: str) -> None:
        self._given = read_url(url)
        self.name = shown(self._given, url)
        self.url, self.timeout = split_timeout(self._given)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = in_memory(self.url)
        self._is_file = self.sqlite and not self.memory
        self.read_only = self._is_file and is_read_only(self.url)
        self._file = file_of(self.url)
        self._frozen = self._file if is_frozen(self.url) else None
        # The same for all stores of this process on one file.
        self._identity = os.path.abspath(str(self.url.database)) if self._is_file else object()
        self._inode: int | None = None  # the file's number, which a restored one does not have
        self._at_rest = False  # whether a fork found it without a transaction
        self._queue, self._gate = self._new_queue(), Gate()
        self._attempts = Attempts()
        self.engine = self._new_engine()
        self._driver: Any = self.engine.dialect.loaded_dbapi  # a module, with its errors
        writing = {"begin": "IMMEDIATE"} if self.sqlite else {}
        reading = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        self._writers = self.engine.execution_options(**writing)
        self._readers = self.engine.execution_options(**reading)
        # A store that is let go without being closed leaves no connection behind.
        weakref.finalize(self, self.engine.dispose)
        register_for_forks(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def address(self) -> str:
        """The URL without its password, to find the store by where that is kept elsewhere."""
        return without_secrets(self._given)._replace(password=None).render_as_string()

    # ------------------------------------------------------------------ transactions

    def _writing(self) -> AbstractContextManager[Connection]:
        return self._transaction(self._writers, queues=True)

    def _reading(self) -> AbstractContextManager[Connection]:
        return self._transaction(self._readers, queues=not self._is_file)

    @contextmanager
    def _transaction(self, engine: Engine, queues: bool) -> Iterator[Connection]:
        deadline = Deadline(self.timeout)
        with self._errors(), self._queue.place(deadline) if queues else nullcontext():
            self._check_inheritance()
            before = self._frozen and Content.of(self._frozen)
            self._attempts.latest = attempt = Attempt(deadline)
            try:
                try:
                    with self._gate.passage(deadline):
                        inode = self._follow_file()
                        with engine.connect() as connection, connection.begin():
                            try:
                                yield connection
                            except BaseException as error:
                                self._give_up_if_lost(connection, error)
                                raise
                finally:
                    attempt.end()
            finally:
                attempt.end()  # if an exception came before it had
            if inode not in (None, self._follow_file()):  # which is where all was written to
                raise StoreError(
                    f"store {self.name} was replaced by another file, repeat the call with the "
                    "same id"
                )
            if self._frozen and Content.of(self._frozen) != before:
                raise StoreError(
                    f"store {self.name} was changed while it was read, repeat the call"
                )

    def _check_inheritance(self) -> None:
        if self._identity in _torn:
            raise StoreError(
                f"store {self.name} cannot be used in this process, which was forked while another "
                f"thread had been using it for {self.timeout:g} s: start a new process"
            )

    def _follow_file(self) -> int | None:
        """The number of the file that has the database's name; if it is another one than before,
        the connections to that are given up."""
        if self._file is None:
            return None
        try:
            found = os.stat(self._file).st_ino
        except OSError:
            return None  # SQLite will say so
        if self._inode not in (None, found):
            self.engine.dispose()
        self._inode = found
        return found

    def _give_up_if_lost(self, connection: Connection, error: BaseException) -> None:
        """What SQLAlchemy does after errors that it meets itself, for those of the driver."""
        if not isinstance(error, Exception):  # a signal, perhaps in the middle of a statement
            connection.invalidate(error)
        elif isinstance(error, self._driver.Error) and not connection.invalidated:
            driver: Any = connection.connection.dbapi_connection
            if self.engine.dialect.is_disconnect(error, driver, None):
                connection.invalidate(error)
                raise sa.exc.DBAPIError(None, None, error, connection_invalidated=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """A driver's error as one sentence; it never contains the URL's password."""
        try:
            yield
        except WaitedTooLong as waited:
            raise self._too_late(str(waited)) from None
        except (sa.exc.DBAPIError, self._driver.Error) as error:
            wrapped = isinstance(error, sa.exc.DBAPIError)
            found = error.orig if wrapped else error
            if not self.sqlite and isinstance(found, self._driver.IntegrityError):
                raise
            try:
                raise self._explain(found, lost=wrapped and error.connection_invalidated)
            except StoreError as clean:
                clean.__context__ = None  # the driver's error knows the password
                raise

    def _explain(self, error: BaseException | None, lost: bool) -> StoreError:
        if is_lock_timeout(error):
            return self._too_late("another process")
        text = " ".join(hide_secrets(self.url, str(error)).split())
        if "unable to open" in text:
            text += "; is its folder there, and may you write to it?"
        if lost:  # perhaps after a commit arrived, before its answer
            return ConnectionLost(
                f"lost the connection to store {self.name}, repeat the call with the same id: "
                f"{text}"
            )
        return StoreError(f"store {self.name} cannot be used, nothing was written: {text}")

    def _too_late(self, awaited: str) -> StoreError:
        return StoreError(
            f"waited {self.timeout:g} s for {awaited} to let go of store {self.name}, nothing was "
            "written"
        )

    # ------------------------------------------------------------------ connections

    def _new_engine(self) -> Engine:
        engine = None
        mistakes = sa.exc.ArgumentError, sa.exc.SAWarning, ValueError, TypeError  # in its options
        with suppress(*mistakes), warnings.catch_warnings():
            warnings.simplefilter("error", sa.exc.SAWarning)  # an option nobody knows
            if self.sqlite:
                engine = connect_sqlite(self.url, self.timeout, self._attempts)
            else:
                engine = connect_postgres(self.url, self.name, self.timeout, self._attempts)
        if engine is None or not (self.sqlite or knows_options(self.url)):
            raise ValueError(
                f"store must be a URL with valid options, got {without_options(self.url)} with "
                f"{name_options(self.url)}"
            )
        return engine

    def close(self) -> None:
        """Give the connections back; a store that is used again opens new ones."""
        if not self.memory:
            self.engine.dispose()

    def _new_queue(self) -> Queue:
        if not self.sqlite:
            return Queue(POSTGRES_CONNECTIONS)
        if self.memory:
            return Queue(1)
        file = file_of(self.url)
        return FairQueue(str(file)) if HAS_FILE_LOCKS and file is not None else Queue(1)

    def before_fork(self) -> None:
        """Wait until no transaction is under way and close what a child must not inherit.

        Connections to PostgreSQL may be inherited, for a child forgets them without a word to the
        server. Transactions get a moment to end all the same, so that a child does not inherit
        locks that other threads hold while they compute.
        """
        patience = self.timeout if self.sqlite else min(self.timeout, MOMENT_SECONDS)
        at_rest = self._gate.shut(Deadline(patience))
        if self._is_file:
            self.engine.dispose()
        self._queue.before_fork()
        self._at_rest = at_rest

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        self._at_rest = False
        self._gate.reopen()
        self._queue.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Keep nothing of the parent's but what is in memory."""
        if not self.memory:
            self.engine.dispose(close=False)
        if self.sqlite and not self._at_rest:
            _torn.add(self._identity)
        self._queue.after_fork_in_child()
        self._queue, self._gate = self._new_queue(), Gate()
