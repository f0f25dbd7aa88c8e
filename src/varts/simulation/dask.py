"""Play the blocks of a study on a dask cluster: `simulate(..., executor=client)`.

The client sends the problem and the policies once, and then only block numbers. Workers return
merged results, so little travels over the network. If a worker dies, dask gives the blocks that it
was playing to another one.
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
from varts._validation import abbreviate, needs_extra
from varts.delays import Delay
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine.work import Work
from varts.simulation.results import RUNS_PER_BLOCK, BlockResults, subtree_size

SECONDS_PER_TASK = 1.0  # far above dask's overhead per task; little is lost with a worker
TASKS_PER_THREAD = 4  # at least: no thread should be idle for long at the end
PENDING_TASKS_PER_THREAD = 2
CONNECT_SECONDS = 10.0


class ClusterError(ConnectionError):
    """The scheduler or the workers of a cluster can't be reached, or the connection is lost."""


def connect(address: str) -> Any:
    """Return a client of the scheduler at this address."""
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # our own error is enough
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError:
        raise ValueError(
            f"scheduler must be an address like tcp://host:8786, got {address!r}"
        ) from None
    except (OSError, TimeoutError):
        raise ClusterError(f"no dask scheduler answers at {address}") from None


def check(executor: Any) -> None:
    """Raise an error unless the executor is a connected, blocking client."""
    if not isinstance(executor, _distributed().Client):
        raise TypeError(f"executor must be a dask.distributed Client, got {abbreviate(executor)}")
    if executor.asynchronous or executor.status != "running":
        state = "an asynchronous" if executor.asynchronous else f"a {executor.status}"
        raise ValueError(f"executor must be a connected, blocking Client, got {state} one")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError(needs_extra("a cluster", "dask")) from None
    return distributed


class Cluster:
    """Plays the blocks of a study on a client's workers: an `Executor`."""

    def __init__(self, work: Work, client: Any) -> None:
        self._work, self._client = work, client
        self._pool = client.get_executor(pure=False)
        self._threads = 1
        self._blocks, self._seconds = 0, 0.0  # of completed tasks

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
                f"{deaths} workers died while playing the same blocks; see their logs"
            ) from None

    def prepare(self, bar: Progress) -> None:
        """Check the workers' versions, and send them the problem, the policies and the delay."""
        import cloudpickle

        for worker, theirs in self._client.run(_versions, on_error="return").items():
            if not isinstance(theirs, OSError):  # that worker is gone; dask replaces it
                _compare(worker, theirs, _versions())
        # A task, not scattered data: if all workers die, the scheduler can run it again.
        own = self._work.problem, self._work.policies, self._work.delay
        pickled = cloudpickle.dumps(own)
        rest = replace(self._work, problem=Problem(), policies={}, delay=None)
        self._pickled_work = self._client.submit(
            PickledWork, pickled, rest, _versions(), pure=False
        )

    def max_pending(self) -> int:
        """Return how many tasks to submit at a time. Workers may come and go."""
        self._threads = max(1, sum(self._client.nthreads().values()))
        return PENDING_TASKS_PER_THREAD * self._threads

    def submit(self) -> Iterator[Future[BlockResults]]:
        """Yield a future per task, in the order of their blocks; submit each one when needed."""
        first = self._work.played
        while first < self._work.blocks:
            count = self._task_size(first)
            future = self._pool.submit(play, self._pickled_work, first, count)
            future.add_done_callback(self._note_pace)
            yield future
            first += count

    def rounds_played(self) -> float:
        """Return the number of rounds played in completed tasks."""
        if self._client.status == "closed":
            raise _connection_lost()
        runs = min(self._blocks * RUNS_PER_BLOCK, self._work.runs)
        return float(runs * self._work.horizon * len(self._work.policies))

    def cancel(self) -> None:
        """Cancel the tasks that are not done."""
        if self._client.status == "running":
            self._pool.shutdown(wait=False)

    def _task_size(self, first: int) -> int:
        """Return the number of blocks in the task that begins with this block."""
        left = self._work.whole_blocks - first  # an incomplete block is a task of its own
        pace = self._blocks / self._seconds if self._seconds else 0.0  # unknown: start with one
        share = left / (TASKS_PER_THREAD * self._threads)
        return subtree_size(first, min(share, SECONDS_PER_TASK * pace))

    def _note_pace(self, future: Future[BlockResults]) -> None:
        if not future.cancelled() and future.exception() is None:
            done = future.result()
            self._blocks += done.blocks
            self._seconds += done.seconds


def _connection_lost() -> ClusterError:
    return ClusterError("lost connection to the dask scheduler")


# --------------------------------------------------------------------------------- on the workers


@dataclass(frozen=True)
class PickledWork:
    """The work as workers receive it. The classes of users stay pickled until `play` needs them."""

    pickled: bytes  # the problem, the policies and the delay
    rest: Work
    versions: dict[str, str]


_preparing = threading.Lock()


def play(pickled_work: PickledWork, first: int, count: int) -> BlockResults | None:
    """Play `count` blocks, beginning with `first`, and return them merged. Runs on a worker."""
    with _preparing:  # one thread compiles, and the others wait for it
        _compare("a worker", _versions(), pickled_work.versions)  # it may have joined later
        problem, policies, delay = _unpickle(pickled_work.pickled)
        work = replace(pickled_work.rest, problem=problem, policies=policies, delay=delay)
        work.compile()
    began = time.perf_counter()
    done = work.play_blocks(first, count)
    return done and replace(done, seconds=time.perf_counter() - began)


@lru_cache(maxsize=4)
def _unpickle(pickled: bytes) -> tuple[Problem, dict[str, Policy], Delay | None]:
    """Return the problem, the policies and the delay.

    They are cached per process: a class from your script would be compiled again for every task.
    """
    import cloudpickle

    try:
        return cloudpickle.loads(pickled)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"workers can't import the modules of the problem or the policies: {error}"
        ) from None


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """Return the versions that must be the same on all workers to get the same bits."""
    packages = {name: metadata.version(name) for name in ("varts", "numpy", "numba")}
    return {**packages, "sources": package_digest()}


def _compare(worker: str, theirs: Any, ours: dict[str, str]) -> None:
    if theirs != ours:
        raise ValueError(f"{worker} must run {_spelled(ours)}, got {_spelled(theirs)}")


def _spelled(versions: Any) -> str:
    if not isinstance(versions, dict):  # the worker returned an error
        return abbreviate(versions)
    return ", ".join(f"{name} {version}" for name, version in versions.items())
