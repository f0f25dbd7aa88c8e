"""What takes a whole log to know, such as a history: read in the background, kept, and read again
every so often, so that no page has to wait for it.

A page shows the latest reading and says as of when it is. However long a log takes to be read, it
is read a twentieth of the time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import Any, NamedTuple

PATIENCE_SECONDS = 0.6  # that a page waits for what may be quick
REST = 19.0  # times as long as the last reading took, until the next
MOST_AT_ONCE = 2
MOST_KEPT = 64

Key = tuple[Hashable, ...]


class Reading(NamedTuple):
    """What was read, or why it could not be; of which version of the log, when, and how long it
    took."""

    value: Any
    error: Exception | None
    version: int
    time: datetime
    seconds: float


class Readings:
    """The latest reading of everything that was asked for.

    Args:
        clock: Tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[Key, tuple[Reading, float]] = OrderedDict()
        self._at_work: dict[Key, tuple[asyncio.Task[None], float]] = {}  # waited for until then
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    async def ask(
        self, key: Key, version: int, read: Callable[[], Any], quick: bool = True
    ) -> Reading | None:
        """The latest reading, None while there is none; it is made anew if the log has grown.

        What took little the last time, or was never read, is waited for a little: until it has
        been read for `PATIENCE_SECONDS`. What cannot be `quick` is not waited for.
        """
        found, ended = self._known.get(key, (None, 0.0))
        if found is not None:
            self._known.move_to_end(key)
            if found.version == version:
                return found
        rested = found is None or self._clock() - ended >= REST * found.seconds
        if key not in self._at_work and rested:
            task = asyncio.create_task(self._read(key, version, read))
            self._at_work[key] = task, self._clock() + PATIENCE_SECONDS
        if quick and key in self._at_work and (found is None or found.seconds < PATIENCE_SECONDS):
            task, until = self._at_work[key]
            await asyncio.wait([task], timeout=max(until - self._clock(), 0.0))
        return self._known.get(key, (found, 0.0))[0]

    async def close(self) -> None:
        """Wait for nothing: what is being read is of no use any more."""
        tasks = [task for task, _ in self._at_work.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, key: Key, version: int, read: Callable[[], Any]) -> None:
        try:
            async with self._room:
                began, value, error = self._clock(), None, None
                moment = datetime.now(UTC)
                try:
                    value = await _in_thread(read)
                except Exception as failure:
                    error = failure
                ended = self._clock()
                self._known[key] = (Reading(value, error, version, moment, ended - began), ended)
                self._known.move_to_end(key)
                while len(self._known) > MOST_KEPT:
                    self._known.popitem(last=False)
        finally:
            del self._at_work[key]


async def _in_thread(function: Callable[[], Any]) -> Any:
    """What a function returns, from a thread that keeps no process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def tell(value: Any, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = function()
        except Exception as failure:
            error = failure
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=work, name="varts-reading", daemon=True).start()
    return await done
