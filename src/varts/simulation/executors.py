"""Who plays the blocks of a study: this process's threads here, a cluster in distributed.py."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from varts._progress import Progress
from varts.simulation.reduction import Part, Tally

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Work


def prepare(work: Work, bar: Progress) -> None:
    """Compile in the main thread, one after the other: Numba's compiler takes a lock anyway."""
    from varts.simulation.engine.compilation import is_ready

    for label, policy in work.policies.items():
        if not is_ready(policy, work.problem):
            bar.stage(f"compiling {label}")
        work.compile(label)


class Crew(Protocol):
    """Whoever plays the blocks: the threads of this process, or a cluster."""

    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...

    def futures(self) -> Iterator[Future[Part]]:
        """Blocks in their order, each submitted when it is asked for."""

    def ahead(self) -> int:
        """How many futures to keep waiting."""

    def rounds(self) -> float:
        """How many rounds have been played, for the progress bar."""

    def stop(self) -> None:
        """Give up what is not done."""


class Threads:
    """Blocks on a pool of threads; kernels release the GIL."""

    def __init__(self, work: Work, threads: int) -> None:
        self._work = work
        self._pool = ThreadPoolExecutor(threads)
        self._stop = np.zeros(1, dtype=np.uint8)
        self._ticks = [np.zeros(1, dtype=np.int64) for _ in range(threads)]
        self._free = list(self._ticks)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._pool.shutdown()

    def futures(self) -> Iterator[Future[Part]]:
        blocks = self._work.blocks
        # A few short blocks a task, so that handing them out costs little: a power of two, from a
        # multiple of it on, to be part of the tally's tree; soon done, as Ctrl-C keeps whole tasks
        # only; and fewer towards the end, so that all threads finish at about the same time.
        threads = len(self._ticks)
        first, most = 0, blocks // (8 * threads)
        while first < blocks:
            size = self._work.at_once
            left = (blocks - first) // (2 * threads if threads > 1 else 1)
            while size > 1 and (size > most or first % size or size > left):
                size //= 2
            yield self._pool.submit(self._play, first, size)
            first += size

    def ahead(self) -> int:
        return 4 * len(self._ticks)

    def rounds(self) -> float:
        return float(sum(int(tick[0]) for tick in self._ticks))

    def stop(self) -> None:
        self._stop[0] = 1  # the kernels look at it every 64 rounds
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _play(self, first: int, count: int) -> Part:
        mine = self._free.pop()  # a counter of its own per thread: no lost updates
        try:
            part = self._work.play_part(first, count, self._stop, mine)
        finally:
            self._free.append(mine)
        if part is None:
            raise CancelledError
        return part


def play(work: Work, crew: Crew, bar: Progress) -> Part:
    """All blocks, added up as their turn comes; Ctrl-C keeps those that were complete."""
    bar.stage("playing", work.runs * work.horizon * len(work.policies))
    tally = Tally()
    waiting: deque[Future[Part]] = deque()
    with crew:
        futures = crew.futures()
        try:
            while True:
                waiting.extend(islice(futures, max(0, crew.ahead() - len(waiting))))
                if not waiting:
                    break
                wait([waiting[0]], timeout=0.1)
                while waiting and waiting[0].done():
                    tally.add(waiting.popleft().result())
                bar.at(crew.rounds())
        except KeyboardInterrupt:
            crew.stop()
            if tally.total() is None:
                raise
        except BaseException:
            crew.stop()
            raise
    total = tally.total()
    assert total is not None
    return total
