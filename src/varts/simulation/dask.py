"""Blocks of a study on the workers of a dask cluster, as `simulate(..., executor=client)` asks.

The client sends the problem and the policies once and then only numbers of blocks; what comes back
is already merged, so it takes little of the network. A worker that dies costs the blocks it was
playing: dask gives them to another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np

from varts._validation import abbreviate
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine.blocks import RUNS, Work
from varts.simulation.engine.compilation import sources_digest
from varts.simulation.reduction import Part

SECONDS = 1.0  # of work in a task: far above dask's cost of a task, and little to lose
SHARES = 4  # at least as many tasks per thread, so that no thread is idle for long at the end
AHEAD = 2  # tasks under way per thread
CONNECT_SECONDS = 10.0


def connect(address: str) -> Any:
    """A client of the scheduler at this address."""
    distributed = _dask()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # our own sentence is enough
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError):
        raise ValueError(
            f"scheduler must be an address where a dask scheduler answers, got {address!r}"
        ) from None


def check(executor: Any) -> None:
    """Refuse what is no client, or one that is of no use here."""
    if not isinstance(executor, _dask().Client):
        raise ValueError(f"executor must be a dask.distributed Client, got {abbreviate(executor)}")
    if executor.asynchronous or executor.status != "running":
        state = "an asynchronous" if executor.asynchronous else f"a {executor.status}"
        raise ValueError(f"executor must be a connected, blocking Client, got {state} one")


def _lost() -> ConnectionError:
    return ConnectionError("the scheduler must stay reachable, got a lost connection")


def _dask() -> Any:
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "a cluster must be reached through dask, got none: pip install 'varts[dask]'"
        ) from None
    return distributed


class Cluster:
    """Plays the blocks of a study on a client's workers."""

    def __init__(self, work: Work, client: Any) -> None:
        import cloudpickle

        self._work, self._client = work, client
        self._pool = client.get_executor(pure=False)
        self._threads = 1
        self._blocks, self._seconds = 0, 0.0  # of the tasks that are done
        for worker, theirs in client.run(_versions, on_error="return").items():
            if not isinstance(theirs, OSError):  # one that is gone is dask's to replace
                _compare(worker, theirs, _versions())
        # A task, not scattered data: should all workers die, the scheduler can make it again.
        players = cloudpickle.dumps((work.problem, work.policies))
        rest = replace(work, problem=Problem(), policies={})
        self._parcel = client.submit(Parcel, players, rest, _versions(), pure=False)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.stop()
        if isinstance(error, (CancelledError, _dask().comm.CommClosedError)):
            raise _lost() from None
        if isinstance(error, _dask().KilledWorker):
            raise ConnectionError(
                f"workers must survive their blocks, got {error.allowed_failures + 1} that died "
                "on the same ones"
            ) from None

    def ahead(self) -> int:
        """How many tasks to have under way; workers may come and go."""
        self._threads = max(1, sum(self._client.nthreads().values()))
        return AHEAD * self._threads

    def futures(self) -> Iterator[Future[Part]]:
        """Tasks in the order of their blocks, each submitted when it is asked for."""
        first = 0
        while first < self._work.blocks:
            count = self._size(first)
            future = self._pool.submit(play, self._parcel, first, count)
            future.add_done_callback(self._learn)
            yield future
            first += count

    def rounds(self) -> float:
        """How many rounds have been played in the tasks that are done."""
        if self._client.status == "closed":
            raise _lost()
        runs = min(self._blocks * RUNS, self._work.runs)
        return float(runs * self._work.horizon * len(self._work.policies))

    def stop(self) -> None:
        """Give up the tasks that are under way."""
        if self._client.status == "running":
            self._pool.shutdown(wait=False)

    def _size(self, first: int) -> int:
        """So many blocks from the first on: a whole part of the tally's tree."""
        left = self._work.blocks - first
        pace = self._blocks / self._seconds if self._seconds else 0.0  # unknown: begin with one
        wanted = min(left / (SHARES * self._threads), SECONDS * pace)
        size = 1
        while 2 * size <= wanted and first % (2 * size) == 0:
            size *= 2
        return size

    def _learn(self, future: Future[Part]) -> None:
        if not future.cancelled() and future.exception() is None:
            part = future.result()
            self._blocks += part.blocks
            self._seconds += part.seconds


# ------------------------------------------------------------------------------- on the workers


@dataclass(frozen=True)
class Parcel:
    """The work as it travels; what users define is bytes until `play` needs it."""

    players: bytes  # problem and policies
    rest: Work
    versions: dict[str, str]


_preparing = threading.Lock()


def play(parcel: Parcel, first: int, count: int) -> Part | None:
    """The task: `count` blocks from the first on, merged."""
    with _preparing:  # one thread compiles, the others find it done
        _compare("a worker", _versions(), parcel.versions)  # it may have come later
        problem, policies = _unpack(parcel.players)
        work = replace(parcel.rest, problem=problem, policies=policies)
        for label in policies:
            work.compile(label)
    began = time.perf_counter()
    idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    part = work.play_part(first, count, *idle)
    return part and replace(part, seconds=time.perf_counter() - began)


@lru_cache(maxsize=4)
def _unpack(players: bytes) -> tuple[Problem, dict[str, Policy]]:
    """Once per process: a class from the user's script would otherwise be compiled every time."""
    import cloudpickle

    try:
        return cloudpickle.loads(players)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"problem and policies must be of modules that workers can import, got: {error}"
        ) from None


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """What has to be equal for equal bits."""
    packages = {name: metadata.version(name) for name in ("varts", "numpy", "numba")}
    return {**packages, "sources": sources_digest()}


def _compare(worker: str, theirs: Any, ours: dict[str, str]) -> None:
    if theirs != ours:
        raise ValueError(f"{worker} must run {_spelled(ours)}, got {_spelled(theirs)}")


def _spelled(versions: Any) -> str:
    if not isinstance(versions, dict):  # what came of asking for them
        return abbreviate(versions)
    return ", ".join(f"{name} {version}" for name, version in versions.items())
