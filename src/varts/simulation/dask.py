"""Blocks of a study on the workers of a dask cluster, as `simulate(..., executor=client)` asks.

The client sends the problem and the policies once and then only numbers of blocks; what comes back
is already merged, so little travels over the network. A worker that dies costs the blocks it was
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

from varts._digest import package_digest
from varts._progress import Progress
from varts._validation import abbreviate
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine.blocks import Work
from varts.simulation.results import RUNS_PER_BLOCK, BlockResults, subtree_size

SECONDS_PER_TASK = 1.0  # far above dask's cost of a task, and little to lose with a worker
TASKS_PER_THREAD = 4  # at least, so that no thread is idle for long at the end
PENDING_TASKS_PER_THREAD = 2
CONNECT_SECONDS = 10.0


class ClusterError(ConnectionError):
    """The scheduler or the workers of a cluster cannot be reached, or are lost."""


def connect(address: str) -> Any:
    """A client of the scheduler at this address."""
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # our own sentence is enough
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError:
        raise ValueError(
            f"scheduler must be an address like tcp://host:8786, got {address!r}"
        ) from None
    except (OSError, TimeoutError):
        raise ClusterError(f"no dask scheduler answers at {address}") from None


def check(executor: Any) -> None:
    """Refuse an executor that is not a client, or a client that cannot be used here."""
    if not isinstance(executor, _distributed().Client):
        raise TypeError(f"executor must be a dask.distributed Client, got {abbreviate(executor)}")
    if executor.asynchronous or executor.status != "running":
        state = "an asynchronous" if executor.asynchronous else f"a {executor.status}"
        raise ValueError(f"executor must be a connected, blocking Client, got {state} one")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("dask is needed for a cluster: pip install 'varts[dask]'") from None
    return distributed


class Cluster:
    """Plays the blocks of a study on a client's workers: an `Executor`."""

    def __init__(self, work: Work, client: Any) -> None:
        self._work, self._client = work, client
        self._pool = client.get_executor(pure=False)
        self._threads = 1
        self._blocks, self._seconds = 0, 0.0  # of the tasks that are done

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.cancel()
        closed = isinstance(error, Exception) and self._client.status == "closed"
        if closed or isinstance(error, (CancelledError, _distributed().comm.CommClosedError)):
            raise _connection_lost() from None
        if isinstance(error, _distributed().KilledWorker):
            deaths = error.allowed_failures + 1
            raise ClusterError(
                f"{deaths} workers died while they played the same blocks; their logs may say why"
            ) from None

    def prepare(self, bar: Progress) -> None:
        """Ask the workers for their versions, and send them the problem and the policies."""
        import cloudpickle

        for worker, theirs in self._client.run(_versions, on_error="return").items():
            if not isinstance(theirs, OSError):  # dask replaces a worker that is gone
                _compare(worker, theirs, _versions())
        # A task, not scattered data: should all workers die, the scheduler can make it again.
        pickled = cloudpickle.dumps((self._work.problem, self._work.policies))
        rest = replace(self._work, problem=Problem(), policies={})
        self._pickled_work = self._client.submit(
            PickledWork, pickled, rest, _versions(), pure=False
        )

    def max_pending(self) -> int:
        """How many tasks to have under way; workers may come and go."""
        self._threads = max(1, sum(self._client.nthreads().values()))
        return PENDING_TASKS_PER_THREAD * self._threads

    def submit(self) -> Iterator[Future[BlockResults]]:
        """Tasks in the order of their blocks, each submitted when its future is asked for."""
        first = self._work.played
        while first < self._work.blocks:
            count = self._task_size(first)
            future = self._pool.submit(play, self._pickled_work, first, count)
            future.add_done_callback(self._note_pace)
            yield future
            first += count

    def rounds_played(self) -> float:
        """How many rounds have been played in the tasks that are done."""
        if self._client.status == "closed":
            raise _connection_lost()
        runs = min(self._blocks * RUNS_PER_BLOCK, self._work.runs)
        return float(runs * self._work.horizon * len(self._work.policies))

    def cancel(self) -> None:
        """Give up the tasks that are under way."""
        if self._client.status == "running":
            self._pool.shutdown(wait=False)

    def _task_size(self, first: int) -> int:
        """How many blocks from the first on make a task."""
        left = self._work.whole_blocks - first  # a short one is a task of its own
        pace = self._blocks / self._seconds if self._seconds else 0.0  # unknown: begin with one
        share = left / (TASKS_PER_THREAD * self._threads)
        return subtree_size(first, min(share, SECONDS_PER_TASK * pace))

    def _note_pace(self, future: Future[BlockResults]) -> None:
        if not future.cancelled() and future.exception() is None:
            done = future.result()
            self._blocks += done.blocks
            self._seconds += done.seconds


def _connection_lost() -> ClusterError:
    return ClusterError("lost connection to the dask scheduler")


# ------------------------------------------------------------------------------- on the workers


@dataclass(frozen=True)
class PickledWork:
    """The work as it is sent; what users define stays pickled until `play` needs it."""

    pickled: bytes  # problem and policies
    rest: Work
    versions: dict[str, str]


_preparing = threading.Lock()


def play(pickled_work: PickledWork, first: int, count: int) -> BlockResults | None:
    """The task: `count` blocks from the first on, merged."""
    with _preparing:  # one thread compiles, the others find it done
        _compare("a worker", _versions(), pickled_work.versions)  # it may have joined later
        problem, policies = _unpickle(pickled_work.pickled)
        work = replace(pickled_work.rest, problem=problem, policies=policies)
        for label in policies:
            work.compile(label)
    began = time.perf_counter()
    done = work.play_blocks(first, count)
    return done and replace(done, seconds=time.perf_counter() - began)


@lru_cache(maxsize=4)
def _unpickle(pickled: bytes) -> tuple[Problem, dict[str, Policy]]:
    """Once per process: a class from the user's script would otherwise be compiled every time."""
    import cloudpickle

    try:
        return cloudpickle.loads(pickled)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"problem and policies must be of modules that workers can import, got: {error}"
        ) from None


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """What must be equal for equal bits."""
    packages = {name: metadata.version(name) for name in ("varts", "numpy", "numba")}
    return {**packages, "sources": package_digest()}


def _compare(worker: str, theirs: Any, ours: dict[str, str]) -> None:
    if theirs != ours:
        raise ValueError(f"{worker} must run {_spelled(ours)}, got {_spelled(theirs)}")


def _spelled(versions: Any) -> str:
    if not isinstance(versions, dict):  # an error instead
        return abbreviate(versions)
    return ", ".join(f"{name} {version}" for name, version in versions.items())
