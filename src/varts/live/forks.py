"""Forks: a gate that they shut, and who must know of them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Protocol

from varts.live.locks import Deadline, WaitedTooLong


class Gate:
    """Transactions pass through it; a fork shuts it when those of other threads are over.

    A process that forks must have no SQLite connection open. The locks on a file belong to a
    process, but what SQLite remembers of them is inherited: a child would believe it holds locks
    that it does not, and go on writing to a log that others have deleted.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # whoever forks holds it, so that nobody else gets in
        self.inside: dict[object, int] = {}  # the thread of each passage
        self.left: SimpleQueue[None] = SimpleQueue()  # a word to who wants to fork
        self.shutting = False

    @contextmanager
    def passage(self, deadline: Deadline) -> Iterator[None]:
        """Inside for as long as the context lasts; a fork that waits goes first."""
        token, me = object(), threading.get_ident()
        try:
            try:
                forking = self.shutting
                if me in list(self.inside.values()):  # a fork would wait for this thread anyway
                    self.inside[token] = me
                else:
                    with self.lock:  # no longer than a fork may wait
                        self.inside[token] = me
                    if forking and not deadline.left:
                        raise WaitedTooLong("a fork of this process")
                yield
            finally:
                self._leave(token)
        finally:
            self._leave(token)  # if an exception came before it had

    def _leave(self, token: object) -> None:
        self.inside.pop(token, None)
        if self.shutting:
            self.left.put(None)

    def shut(self, deadline: Deadline) -> bool:
        """Let nobody in until `reopen` and wait until the others are out; False if some are not."""
        self.lock.acquire()
        self.shutting = True
        me = threading.get_ident()
        with suppress(WaitedTooLong):
            while any(other != me for other in list(self.inside.values())):
                deadline.take(self.left, "other threads of this process")
            return True
        return False

    def reopen(self) -> None:
        """After the fork, in the parent."""
        self.shutting = False
        with suppress(RuntimeError):  # an exception kept us from shutting it
            self.lock.release()


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
_forking = threading.RLock()


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
    with suppress(RuntimeError):  # an exception kept us from acquiring it
        _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
