"""Locks between threads and processes: places for those who come first.

Every wait ends at a deadline. An exception may arrive at any moment, since Python runs signal
handlers between any two instructions of the main thread. So what is held is noted by who holds it,
and giving it back may be done twice; the locks held meanwhile are the interpreter's own, which
`with` takes and releases without such a moment in between (those of `threading.Condition` are not).
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
from typing import TypeVar

try:
    import fcntl
except ImportError:  # Windows: SQLite's own polling has to do
    fcntl = None  # type: ignore[assignment]

HAS_FILE_LOCKS = fcntl is not None
File = FileIO | BytesIO  # the latter where there is none
T = TypeVar("T")


class WaitedTooLong(Exception):  # noqa: N818  it says what happened
    """The deadline has passed; the text is what was waited for."""


class Deadline:
    """Until when something may wait, in all of its waits together."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; 0 when it has passed."""
        return max(self.end - time.monotonic(), 0.0)

    def take(self, mailbox: SimpleQueue[T], awaited: str) -> T:
        """What is put into the mailbox; raises WaitedTooLong if nothing comes in time."""
        with suppress(Empty):
            return mailbox.get(timeout=self.left)
        raise WaitedTooLong(awaited)


class Queue:
    """So many threads of this process at a time, in the order in which they came.

    Args:
        places: How many; without a number all of them.
    """

    def __init__(self, places: float = float("inf")) -> None:
        self.places, self.lock = places, threading.RLock()
        self.inside: set[SimpleQueue[None]] = set()  # a mailbox for each of them
        self.waiting: dict[SimpleQueue[None], None] = {}

    @contextmanager
    def place(self, deadline: Deadline) -> Iterator[None]:
        """A place for as long as the context lasts."""
        mailbox: SimpleQueue[None] = SimpleQueue()
        try:
            try:
                with self.lock:
                    self.waiting[mailbox] = None
                    self._admit()
                deadline.take(mailbox, "other threads of this process")
                yield
            finally:
                self._leave(mailbox)
        finally:
            self._leave(mailbox)  # if an exception came before it had

    def _leave(self, mailbox: SimpleQueue[None]) -> None:
        with self.lock:
            self.waiting.pop(mailbox, None)
            self.inside.discard(mailbox)
            self._admit()

    def _admit(self) -> None:
        while self.waiting and len(self.inside) < self.places:
            first = next(iter(self.waiting))
            self.inside.add(first)
            first.put(None)
            self.waiting.pop(first)

    def before_fork(self) -> None:
        """Let nobody change anything."""
        self.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        with suppress(RuntimeError):  # an exception kept us from acquiring it
            self.lock.release()

    def after_fork_in_child(self) -> None:
        """Be of no use, but whoever has a place must be able to leave it."""
        self.lock = threading.RLock()


class FairQueue(Queue):
    """One thread at a time of all processes: those of this one in order, and the first of them in
    the kernel's queue for a file.

    The kernel knows no deadline. Who does not get the file at once lets a thread wait for it, which
    stays in the queue for the next one if the deadline passes, and steps aside if there is nobody.
    Closing the file gives the place back, and so does the death of the process.

    Args:
        database: The path of the database; the file is beside it.
    """

    def __init__(self, database: str) -> None:
        super().__init__(places=1)
        self.database = os.path.abspath(database)
        self.path = str(queue_file(self.database))
        self.files: weakref.WeakSet[FileIO] = weakref.WeakSet()
        self.first: SimpleQueue[File] | None = None  # who waits for the kernel
        self.standing = False  # whether a thread does so for them

    @contextmanager
    def place(self, deadline: Deadline) -> Iterator[None]:
        """A place for as long as the context lasts."""
        with super().place(deadline), self._come_first(deadline) as file:
            try:
                yield
            finally:
                _release(file)

    def _come_first(self, deadline: Deadline) -> File:
        """The file, locked, or nothing where there is none: then SQLite's polling has to do."""
        file = self._open()
        try:
            if _lock(file, wait=False):
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        mailbox: SimpleQueue[File] = SimpleQueue()
        try:
            try:
                with self.lock:
                    if not self.standing:
                        try:
                            threading.Thread(target=self._stand, daemon=True).start()
                        except RuntimeError:  # there are too many, or Python is about to exit
                            return BytesIO()
                    self.standing, self.first = True, mailbox
                return deadline.take(mailbox, "other processes")
            except BaseException:
                self._give_up(mailbox)
                raise
        except BaseException:
            self._give_up(mailbox)  # if an exception came before it had
            raise

    def _stand(self) -> None:
        """Wait in the kernel's queue, as long as it takes, and hand the file to who is first."""
        file = self._open()
        _lock(file, wait=True)
        with self.lock:
            self.standing = False
            if self.first is None:
                _release(file)
            else:
                self.first.put(file)
                self.first = None

    def _give_up(self, mailbox: SimpleQueue[File]) -> None:
        with self.lock:
            if self.first is mailbox:
                self.first = None
        with suppress(Empty):
            _release(mailbox.get_nowait())

    def _open(self) -> File:
        try:
            with self.lock:
                file = FileIO(self.path, "r+", opener=_open_or_create)
                self.files.add(file)
        except OSError:
            return BytesIO()
        self._admit_writers(file)
        return file

    def _admit_writers(self, file: FileIO) -> None:
        """Exactly those who may write the database may open the file: whoever opens it may hold it.

        Only its owner can see to that, and does so whenever it is not as it should be.
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
        """Close the files, or the parent's place would outlive the parent."""
        super().after_fork_in_child()
        for file in list(self.files):
            file.close()


def queue_file(database: str) -> Path:
    """The file beside a database at which its writers queue."""
    return Path(database + "-queue")


def _open_or_create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _lock(file: File, wait: bool) -> bool:
    """False if somebody else has it; no file, or one without such locks, counts as success."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _release(file: File) -> None:
    """Closing is not enough: a child that is forked meanwhile may have the file open, too."""
    with suppress(OSError, ValueError):  # no locks here, or closed
        fcntl.flock(file, fcntl.LOCK_UN)
    file.close()
