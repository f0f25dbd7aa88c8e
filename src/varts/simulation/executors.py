"""Play the blocks of a study on threads of this process; dask.py plays them on a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from varts._progress import Progress
from varts.simulation.results import (
    RUNS_PER_BLOCK,
    BlockResults,
    PairwiseTree,
    PolicyResult,
    split,
    subtree_size,
)

if TYPE_CHECKING:
    from varts.simulation.engine.work import Work

TASKS_PER_THREAD = 8  # at least: so that all threads finish at about the same time
PENDING_TASKS_PER_THREAD = 4
REFRESH_SECONDS = 0.1  # between two looks at the progress


class Executor(Protocol):
    """Plays the blocks of a study."""

    def __enter__(self) -> Executor: ...
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...

    def prepare(self, bar: Progress) -> None:
        """Prepare for the first block."""

    def submit(self) -> Iterator[Future[BlockResults]]:
        """Yield a future per task, blocks in order; each task is submitted when it is asked for."""

    def max_pending(self) -> int:
        """Return how many tasks may be pending."""

    def rounds_played(self) -> float:
        """Return how many rounds have been played so far, for the progress bar."""

    def cancel(self) -> None:
        """Cancel the tasks that are not done."""


def play(
    work: Work, executor: Executor, bar: Progress, before: Sequence[BlockResults] = ()
) -> tuple[Mapping[str, PolicyResult], tuple[BlockResults, ...], bool]:
    """Play all blocks and merge them in their order; Ctrl-C keeps those that were complete.

    `before` holds the subtrees of blocks that were played earlier, `work.played` in all. Returns
    the results, the subtrees of whole blocks, from which a longer study can continue, and whether
    Ctrl-C was pressed.
    """
    interrupted = False
    tree = PairwiseTree(BlockResults.merge)
    for part in before:
        tree.add(part, part.blocks)
    parts, played = tree.subtrees, work.played
    pending: deque[Future[BlockResults]] = deque()
    with executor:
        executor.prepare(bar)
        runs = work.runs - work.played * RUNS_PER_BLOCK
        bar.stage("playing", runs * work.horizon * len(work.policies))
        tasks = executor.submit()
        try:
            while True:
                pending.extend(islice(tasks, max(0, executor.max_pending() - len(pending))))
                if not pending:
                    break
                wait([pending[0]], timeout=REFRESH_SECONDS)
                while pending and pending[0].done():
                    done = pending.popleft().result()
                    tree.add(done, done.blocks)
                    played += done.blocks
                    parts = tree.subtrees if played <= work.whole_blocks else parts
                bar.at(executor.rounds_played())
        except KeyboardInterrupt:
            interrupted = True
            executor.cancel()
            if tree.total() is None:
                raise
        except BaseException:
            executor.cancel()
            raise
    total = tree.total()
    assert total is not None
    blocks = [part.blocks for _, part in parts]
    curves = {
        label: [
            (part.policies[label].curve.mean, part.policies[label].curve.m2) for _, part in parts
        ]
        for label in total.policies
    }
    return total.policies, split(total.policies, blocks, curves), interrupted


class Threads:
    """Plays blocks on a pool of threads; kernels release the GIL."""

    def __init__(self, work: Work, threads: int) -> None:
        self._work = work
        self._pool = ThreadPoolExecutor(threads)
        self._stop = np.zeros(1, dtype=np.int64)
        self._counters = [np.zeros(1, dtype=np.int64) for _ in range(threads)]
        self._idle_counters = list(self._counters)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._pool.shutdown()

    def prepare(self, bar: Progress) -> None:
        """Compile in the main thread: Numba's compiler takes a lock anyway."""
        self._work.compile(bar)

    def submit(self) -> Iterator[Future[BlockResults]]:
        """Yield tasks of a few short blocks, so that submitting them costs little.

        They are soon done, as Ctrl-C keeps whole tasks only, and fewer towards the end.
        """
        first, blocks, threads = self._work.played, self._work.blocks, len(self._counters)
        left = blocks - first
        most = min(self._work.blocks_per_call, left // (TASKS_PER_THREAD * threads))
        while first < blocks:
            left = self._work.whole_blocks - first  # a short one is a task of its own
            share = left // (2 * threads if threads > 1 else 1)
            count = subtree_size(first, min(most, share))
            yield self._pool.submit(self._play, first, count)
            first += count

    def max_pending(self) -> int:
        return PENDING_TASKS_PER_THREAD * len(self._counters)

    def rounds_played(self) -> float:
        return float(sum(int(counter[0]) for counter in self._counters))

    def cancel(self) -> None:
        self._stop[0] = 1  # the kernels look at it every 64 rounds
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _play(self, first: int, count: int) -> BlockResults:
        counter = self._idle_counters.pop()  # one per thread: no update is lost
        try:
            done = self._work.play_blocks(first, count, self._stop, counter)
        finally:
            self._idle_counters.append(counter)
        if done is None:
            raise CancelledError
        return done
