"""SQLite: a file that processes share, or a database in memory.

A file is in WAL mode, so that readers never block writers, and every commit is synced to disk: what
was acknowledged survives SIGKILL and power loss. Writers queue (`queue.py`) and take the write lock
at once (BEGIN IMMEDIATE).

The file may disappear under a running process: deleted, moved, unmounted, or replaced by a backup.
SQLite would go on writing to a file without a name. So every transaction compares device and inode
before it begins and after it commits.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa

from varts.live.errors import StoreError
from varts.live.store.engine import (
    Clock,
    Connection,
    Engine,
    How,
    file_clock,
    process_clock,
)
from varts.live.store.queue import (
    HAS_FILE_LOCKS,
    Deadline,
    FileQueue,
    Queue,
    WaitedTooLong,
    queue_file,
)
from varts.live.store.url import file_of, in_memory

IDLE_CONNECTIONS = 5
WAL_RETRY_SECONDS = 0.01
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN)
_torn: set[object] = set()  # databases that this process inherited in the middle of a transaction


class SQLite(Engine):
    """A SQLite database.

    Args:
        url: Its URL, with an absolute path.
        name: The URL as messages show it.
        timeout: How many seconds a transaction may wait.
        read_only: Whether the caller only wants to read; a file that can't be written to is
            detected as such.
    """

    sqlite = True

    def __init__(self, url: sa.URL, name: str, timeout: float, read_only: bool = False) -> None:
        self.memory = in_memory(url)
        self.file = file_of(url)
        self.read_only = read_only or (not self.memory and _is_read_only(url, self.file))
        self._frozen = self.file is not None and _is_frozen(self.file)
        self._identity: tuple[int, int] | None = None  # device and inode of the file we know
        self._torn_as: object = object() if self.memory else str(url.database)
        super().__init__(url, name, timeout)
        if self.memory:
            self._memory = sqlite3.connect(":memory:", check_same_thread=False)
            self._memory.isolation_level = None
        # A deque, because nobody waits for a connection to a file: a pool's lock would only be one
        # more that an interrupted thread can leave taken.
        self._idle: deque[sqlite3.Connection] = deque()
        self._generation = 0  # connections of an earlier one are not kept
        weakref.finalize(self, _close_all, self._idle)

    def clock(self) -> Clock:
        """The clock that all users of the database share."""
        return process_clock if self.file is None else file_clock(queue_file(self.file))

    def close(self) -> None:
        """Close idle connections; a database in memory stays."""
        self._generation += 1
        _close_all(self._idle)

    def _forget_connections(self) -> None:
        self._generation += 1
        self._idle.clear()

    # ------------------------------------------------------------------ connections

    def _connect(self) -> sqlite3.Connection:
        """Open the file. Only opening the store may create it: a file that went missing later must
        not come back empty."""
        if self.file is None:  # a URI of the user's own
            dialect: Any = sa.make_url("sqlite://").get_dialect()()
            arguments, options = dialect.create_connect_args(self.url)
            options |= {"check_same_thread": False}
            connection: sqlite3.Connection = sqlite3.connect(*arguments, **options)
        else:
            frozen = self._frozen and _is_frozen(self.file)
            mode = "immutable=1" if frozen else "mode=ro" if self._frozen else "mode=rwc"
            if self._identity is not None and mode == "mode=rwc":
                mode = "mode=rw"
            uri = f"file:{quote(str(self.file))}?{mode}"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection.isolation_level = None  # transactions begin where we say
        connection.execute("PRAGMA synchronous = FULL")
        if not self.read_only:
            self._use_wal(connection)
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch a file to WAL mode: a new one, or a copy made by VACUUM INTO.

        Here SQLite doesn't wait for others who do the same, so we must.
        """
        deadline = Deadline(self.timeout)
        while True:
            try:
                (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
                if mode != "wal":
                    connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    connection.close()
                    raise
                if not deadline.left:
                    connection.close()
                    raise WaitedTooLong("another process") from None
                time.sleep(WAL_RETRY_SECONDS)

    # ------------------------------------------------------------------ transactions

    def _new_queue(self) -> Queue | None:
        if self.file is not None and HAS_FILE_LOCKS:
            return FileQueue(self.file)
        return Queue()

    def _place(self, write: bool, deadline: Deadline) -> AbstractContextManager[None]:
        if write or self.memory:
            return super()._place(write, deadline)
        return nullcontext()  # readers of a file wait for nobody

    @contextmanager
    def _begun(self, how: How, deadline: Deadline) -> Iterator[Connection]:
        if self._torn_as in _torn:
            raise StoreError(
                f"store {self.name} can't be used in this process: it was forked while another "
                f"thread had used the store for {self.timeout:g} s. Start a new process"
            )
        identity = self._check_file()
        content = self._frozen and _Content.of(self.file)
        with self._connection() as driver:
            if driver.in_transaction:  # left behind in memory by an interrupted thread
                driver.rollback()
            driver.execute(f"PRAGMA busy_timeout = {milliseconds(deadline.left)}")
            driver.execute("BEGIN IMMEDIATE" if how.write else "BEGIN")
            connection = Connection(driver, sqlite=True)
            try:
                answers = [driver.execute(query).fetchone() for query in how.first]
                connection.first = answers[0][0] if answers and answers[0] else None
                yield connection
                driver.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    driver.rollback()
                raise
            finally:
                for statement in connection.afterwards:
                    driver.execute(statement)
        if identity != self._check_file() and identity is not None:
            raise StoreError(
                f"store {self.name} was replaced by another file during the call, which may not "
                "have taken effect; retrying with the same ids is safe"
            )
        if self._frozen and _Content.of(self.file) != content:
            raise StoreError(f"store {self.name} changed while it was read; repeat the call")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self.memory:
            yield self._memory
            return
        generation = self._generation
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        usable = False
        try:
            yield connection
            usable = True
        except Exception as error:
            # On a full disk it must be kept: opening another one needs space.
            usable = _code(error) not in DAMAGED and not connection.in_transaction
            raise
        finally:
            many = len(self._idle) >= IDLE_CONNECTIONS
            # A frozen file may thaw at any time, so its connections are not kept either.
            if usable and not many and not self._frozen and generation == self._generation:
                self._idle.append(connection)
            else:
                connection.close()

    def _check_file(self) -> tuple[int, int] | None:
        """The file's device and inode; None before it exists. Raises StoreError if it is gone.

        Connections to another file than before are closed.
        """
        if self.file is None:
            return None
        try:
            found = os.stat(self.file)
        except OSError as error:
            if self._identity is None:
                return None
            self.close()
            raise StoreError(
                f"store {self.name} is gone: {error.strerror or error}. Its file was deleted, "
                "moved or unmounted, and the call may not have taken effect. Put the file back, "
                "or open a store again"
            ) from None
        identity = found.st_dev, found.st_ino
        if self._identity not in (None, identity):
            self.close()
        self._identity = identity
        return identity

    # ------------------------------------------------------------------ errors

    @property
    def _driver_error(self) -> type[Exception]:
        return sqlite3.Error

    def _is_lock_timeout(self, error: BaseException | None) -> bool:
        return _code(error) == sqlite3.SQLITE_BUSY

    # ------------------------------------------------------------------ forks

    def before_fork(self) -> None:
        """Wait for transactions and close all connections: a child must not inherit them."""
        self._fork_was_clean = self._gate.close(Deadline(self.timeout))
        self.close()
        if self._queue is not None:
            self._queue.before_fork()

    def after_fork_in_child(self) -> None:
        """Forget the parent's connections."""
        if not self._fork_was_clean:
            _torn.add(self._torn_as)
        super().after_fork_in_child()


def _code(error: BaseException | None) -> int | None:
    """SQLite's primary code of an error; None for other errors."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def _close_all(idle: deque[sqlite3.Connection]) -> None:
    with suppress(IndexError):
        while True:
            idle.pop().close()


def milliseconds(seconds: float) -> int:
    """At least 1: databases take 0 for "no limit"."""
    return max(math.ceil(seconds * 1000), 1)


def _is_read_only(url: sa.URL, file: Path | None) -> bool:
    """Whether the URL asks for reading only, or the file can't be written to."""
    if file is None:
        return url.query.get("mode") == "ro" or "immutable" in url.query
    return file.exists() and (_is_frozen(file) or not _may_write(file))


def _is_frozen(file: Path) -> bool:
    """Whether the file was closed cleanly in a folder that can't be written to.

    SQLite can't create the files there that it needs even for reading. But no process has the
    database open, and all of it is in one file, so it can be read as immutable.
    """
    return file.exists() and not _may_write(file.parent) and not _Content.of(file).log


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=effective)


class _Content(NamedTuple):
    """Changes when somebody writes to a SQLite file."""

    size: int
    time: int
    log: bool  # whether there is a write-ahead log

    @classmethod
    def of(cls, file: Path | None) -> _Content:
        log = Path(f"{file}-wal").exists()
        with suppress(OSError):
            found = os.stat(str(file))
            return cls(found.st_size, found.st_mtime_ns, log)
        return cls(0, 0, log)  # it is gone
