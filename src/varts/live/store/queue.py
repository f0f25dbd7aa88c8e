"""Waiting: deadlines, places in a queue, and what a fork has to wait for.

SQLite itself waits by polling, which starves some of many writers. So writers first take a place in
a queue: the threads of a process in the order they came, and the first thread of every process in
the kernel's queue for a file lock. The kernel releases the lock when its process dies.

Every wait has a deadline. A caller that waits longer gets `WaitedTooLong`, and nothing was written.

A signal handler may raise an exception at any moment. One that hits the few lines which give a
place back may leave it taken. The next callers then get `WaitedTooLong`, until the store is opened
again. Other processes aren't affected: their queue is the file lock, and a lock file is closed when
nobody refers to it. Locks are `RLock`s, because a signal handler may use the store itself while its
thread is in here.
"""

from __future__ import annotations

import os
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, FileIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

try:
    import fcntl
except ImportError:  # Windows: SQLite's own polling has to do
    fcntl = None  # type: ignore[assignment]

HAS_FILE_LOCKS = fcntl is not None
LONGEST_NAP_SECONDS = 0.5  # a waiting thread checks its place this often, in case no wake-up comes
FORK_NAP_SECONDS = 0.002  # how often a fork looks whether transactions are over, and they at it
File = FileIO | BytesIO  # the latter if there can be no lock
T = TypeVar("T")


class WaitedTooLong(Exception):  # noqa: N818  it says what happened
    """The deadline has passed; the text names what the caller waited for."""


class Deadline:
    """The time by which all waits of a transaction must be over.

    Args:
        seconds: How long from now.
    """

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 when it has passed."""
        return max(self.end - time.monotonic(), 0.0)

    def take(self, mailbox: SimpleQueue[T], awaited: str) -> T:
        """Wait for what is put into the mailbox; raises WaitedTooLong if nothing comes in time."""
        with suppress(Empty):
            return mailbox.get(timeout=self.left)
        raise WaitedTooLong(awaited)


class Queue:
    """Lets one thread in at a time, in the order they came."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # A mailbox for every thread. The first one is inside, the others wait.
        self._line: dict[SimpleQueue[None], None] = {}

    @contextmanager
    def place(self, deadline: Deadline) -> Iterator[None]:
        """Hold the place for as long as the context lasts; raises WaitedTooLong."""
        turn: SimpleQueue[None] = SimpleQueue()
        try:
            self._enter(turn, deadline)
            yield
        finally:
            self._leave(turn)

    def _enter(self, turn: SimpleQueue[None], deadline: Deadline) -> None:
        with self._lock:
            self._line[turn] = None
        while not self._is_inside(turn):
            if not deadline.left:
                raise WaitedTooLong("other threads of this process")
            with suppress(Empty):
                turn.get(timeout=min(deadline.left, LONGEST_NAP_SECONDS))

    def _is_inside(self, turn: SimpleQueue[None]) -> bool:
        with self._lock:
            return next(iter(self._line), None) is turn

    def _leave(self, turn: SimpleQueue[None]) -> None:
        with self._lock:
            self._line.pop(turn, None)
            first = next(iter(self._line), None)
            if first is not None:
                first.put(None)

    def before_fork(self) -> None:
        """Let no thread open a lock file that the child would inherit without knowing it."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Let threads in again."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Replace the lock, which another thread may have held at the fork.

        The child gets a queue of its own, but a thread that forked inside must be able to leave.
        """
        self._lock = threading.RLock()


class FileQueue(Queue):
    """Lets one thread of all processes in: each process in turn, and its threads in theirs.

    The kernel's queue knows no deadline. So a thread that can't have the lock at once starts a
    helper thread, which waits in the kernel's queue for as long as it takes. If the deadline passes
    first, the helper keeps its place for the next thread of this process, or releases it.

    Args:
        database: The path of the database; the lock file is next to it.
    """

    def __init__(self, database: Path) -> None:
        super().__init__()
        self.database = database
        self.path = queue_file(database)
        self._first: SimpleQueue[File] | None = None  # the mailbox of the first in line
        self._helper = False  # whether a helper thread waits there
        self._files: weakref.WeakSet[FileIO] = weakref.WeakSet()

    @contextmanager
    def place(self, deadline: Deadline) -> Iterator[None]:
        """Hold the only place for as long as the context lasts; raises WaitedTooLong."""
        with super().place(deadline), self._locked(deadline) as file:
            try:
                yield
            finally:
                _release(file)

    def _locked(self, deadline: Deadline) -> File:
        """The lock file, locked. Whatever happens, it is closed when nobody refers to it."""
        file = self._open()
        if _lock(file, wait=False):
            return file
        file.close()
        mailbox: SimpleQueue[File] = SimpleQueue()
        try:
            with self._lock:
                if not self._helper:
                    try:
                        threading.Thread(target=self._wait_for_kernel, daemon=True).start()
                    except RuntimeError:  # too many threads: SQLite's own polling has to do
                        return BytesIO()
                self._helper, self._first = True, mailbox
            return deadline.take(mailbox, "other processes")
        except BaseException:
            self._give_up(mailbox)
            raise

    def _wait_for_kernel(self) -> None:
        file = self._open()
        _lock(file, wait=True)
        with self._lock:
            self._helper = False
            if self._first is None:
                _release(file)
            else:
                self._first.put(file)
                self._first = None

    def _give_up(self, mailbox: SimpleQueue[File]) -> None:
        with self._lock:
            if self._first is mailbox:
                self._first = None
        with suppress(Empty):
            _release(mailbox.get_nowait())

    def _open(self) -> File:
        try:
            with self._lock:
                file = FileIO(str(self.path), "r+", opener=_open_or_create)
                self._files.add(file)
        except OSError:
            return BytesIO()
        self._admit_writers(file)
        return file

    def _admit_writers(self, file: FileIO) -> None:
        """Let exactly the users who may write the database open the lock file.

        Every user who can open the file can hold the lock. Only the file's owner can change its
        permissions, and does so whenever they differ from the database's.
        """
        with suppress(OSError):
            found, database = os.fstat(file.fileno()), os.stat(self.database)
            if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
                return
            owner = database.st_uid if found.st_uid == 0 else found.st_uid  # root can give it away
            if (owner, database.st_gid) != (found.st_uid, found.st_gid):
                with suppress(OSError):
                    os.fchown(file.fileno(), owner, database.st_gid)
                    found = os.fstat(file.fileno())
            writers = database.st_mode & 0o222
            if found.st_gid != database.st_gid:
                writers &= ~0o020
            if stat.S_IMODE(found.st_mode) != writers | writers << 1:
                os.fchmod(file.fileno(), writers | writers << 1)

    def after_fork_in_child(self) -> None:
        """Close the inherited files: the parent's lock must not outlive the parent."""
        super().after_fork_in_child()
        for file in list(self._files):
            file.close()


def queue_file(database: Path) -> Path:
    """The lock file of a database: `shop.db-queue` next to `shop.db`."""
    return Path(f"{database}-queue")


def _open_or_create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _lock(file: File, wait: bool) -> bool:
    """Lock a file; False if somebody else has it. No lock at all counts as success."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # no file, or a file system without such locks
        pass
    return True


def _release(file: File) -> None:
    """Closing is not enough: a forked child may have the same file open."""
    with suppress(OSError, ValueError):  # there is no lock, or it is closed
        fcntl.flock(file, fcntl.LOCK_UN)
    file.close()


# ------------------------------------------------------------------------------ forks


class Gate:
    """Transactions pass through it; a fork closes it and waits until they are over.

    A process must not fork with an open SQLite connection. File locks belong to one process, but
    SQLite's memory of them is inherited. The child would believe that it holds locks, and write to
    a file that others have deleted.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside: dict[object, int] = {}  # the thread of every transaction
        self._closed_by: int | None = None  # the thread that forks

    @contextmanager
    def passage(self, deadline: Deadline) -> Iterator[None]:
        """Stay inside for as long as the context lasts. A fork that waits goes first."""
        token = object()
        try:
            while not self._enter(token):
                if not deadline.left:
                    raise WaitedTooLong("a fork of this process")
                time.sleep(FORK_NAP_SECONDS)
            yield
        finally:
            self._inside.pop(token, None)

    def _enter(self, token: object) -> bool:
        me = threading.get_ident()
        with self._lock:
            # A thread that is inside already may enter again: the fork waits for it anyway.
            if self._closed_by not in (None, me) and me not in list(self._inside.values()):
                return False
            self._inside[token] = me
            return True

    def close(self, deadline: Deadline) -> bool:
        """Let nobody in until `reopen`; True once no other thread is inside, False if some stay."""
        me = threading.get_ident()
        with self._lock:
            self._closed_by = me
        while any(thread != me for thread in list(self._inside.values())):
            if not deadline.left:
                return False
            time.sleep(FORK_NAP_SECONDS)
        return True

    def reopen(self) -> None:
        """Let transactions in again."""
        self._closed_by = None


class Forkable(Protocol):
    """An object that must know of forks."""

    def before_fork(self) -> None:
        """Called in the parent, before."""

    def after_fork_in_parent(self) -> None:
        """Called in the parent, after."""

    def after_fork_in_child(self) -> None:
        """Called in the child."""


_forkables: weakref.WeakSet[Forkable] = weakref.WeakSet()
_prepared: list[Forkable] = []  # for the fork that is under way
_forking = threading.RLock()


def register_for_forks(one: Forkable) -> None:
    """Call the methods of this object at every fork, for as long as it lives."""
    _forkables.add(one)


def _before_fork() -> None:
    _forking.acquire()
    _prepared.extend(_forkables)
    for one in _prepared:
        one.before_fork()


def _after_fork(child: bool) -> None:
    for one in _prepared:
        if child:
            one.after_fork_in_child()
        else:
            one.after_fork_in_parent()
    _prepared.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
