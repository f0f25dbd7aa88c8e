"""Locks between threads and processes: a queue for writers, and a gate that a fork can shut."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Protocol

try:
    import fcntl
except ImportError:  # Windows: SQLite's own polling has to do
    fcntl = None  # type: ignore[assignment]

HAS_FILE_LOCKS = fcntl is not None
LOCK_TIMEOUT_SECONDS = 60


class Gate:
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
        self.changed.wait_for(lambda: self.inside == mine, LOCK_TIMEOUT_SECONDS)

    def reopen(self) -> None:
        """After the fork, in the parent."""
        self.shutting -= 1
        self.changed.notify_all()
        self.changed.release()


class NoQueue:
    """Writers need not queue: the database does it."""

    def abandon(self) -> None:
        """Leave it to the parent process."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        """Nothing to give back."""


class ThreadQueue(NoQueue):
    """One thread of this process at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


class FairQueue(ThreadQueue):
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


# ------------------------------------------------------------------------------ forks


class Forkable(Protocol):
    """What must know of a fork."""

    def before_fork(self) -> None:
        """In the parent."""

    def after_fork_in_parent(self) -> None:
        """In the parent."""

    def after_fork_in_child(self) -> None:
        """In the child."""


_forkables: weakref.WeakSet[Forkable] = weakref.WeakSet()
_told: list[Forkable] = []  # of the fork that is under way
_forking = threading.Lock()


def register_for_forks(one: Forkable) -> None:
    """Tell it of every fork, as long as somebody holds it."""
    _forkables.add(one)


def _before_fork() -> None:
    _forking.acquire()  # one thread at a time, and released by the same one, on both sides
    _told.extend(_forkables)
    for one in _told:
        one.before_fork()


def _after_fork(child: bool) -> None:
    for one in _told:
        if child:
            one.after_fork_in_child()
        else:
            one.after_fork_in_parent()
    _told.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
