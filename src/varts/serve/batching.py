"""Micro-batches: whatever arrived while the last transaction ran goes into the next one.

There is no timer: a request alone is a batch of one, at once. Requests belong to the event loop;
the work is done in a thread, one batch after the other.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, NamedTuple, TypeVar

from varts.serve.problems import Problem

LARGEST_BATCH = 500  # items in one transaction: more would keep others waiting for too long
MOST_WAITING = 2_000  # items; more are refused at once
LONGEST_WAIT_SECONDS = 2.0  # of the oldest item, before new ones are refused
# A connection that is found broken at once is opened anew by the next try; where that took long, so
# would the next one, and callers have waited already.
PROMPT_SECONDS = 1.0

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Act = Callable[[list[Item]], Sequence[Outcome | Exception]]


class Parcel(NamedTuple, Generic[Item, Outcome]):
    """Items of one request."""

    items: Sequence[Item]
    done: asyncio.Future[Sequence[Outcome | Exception]]
    since: float


class Batcher(Generic[Item, Outcome]):
    """Does what many requests ask for, in few transactions.

    Args:
        act: Does it for some items, in order; the outcome of an item that is refused is why. It
            must be safe to repeat.
        broken: The error after which all items are tried once more; any other fails them at once.
        threads: Where it is done; by default where the event loop does such things.
        observe: Told of every batch: how many items, how many seconds.
    """

    def __init__(
        self,
        act: Act[Item, Outcome],
        broken: type[Exception],
        threads: Executor | None = None,
        observe: Callable[[int, float], None] = lambda items, seconds: None,
    ) -> None:
        self._act, self._broken, self._threads, self._observe = act, broken, threads, observe
        self._parcels: deque[Parcel[Item, Outcome]] = deque()
        self._at_work: asyncio.Task[None] | None = None
        self._closed = False
        self.waiting = 0

    async def submit(self, items: Sequence[Item]) -> list[Outcome | Exception]:
        """The outcome of each item, in order; raises what `act` does, and a Problem if there is no
        room."""
        now = time.monotonic()
        self._check_room(len(items), now)
        parcels = [
            Parcel(items[at : at + LARGEST_BATCH], asyncio.get_running_loop().create_future(), now)
            for at in range(0, len(items), LARGEST_BATCH)
        ]
        self._parcels.extend(parcels)
        self.waiting += len(items)
        if self._at_work is None:
            self._at_work = asyncio.create_task(self._work())
        done = await asyncio.gather(*(parcel.done for parcel in parcels))
        return [outcome for outcomes in done for outcome in outcomes]

    async def close(self) -> None:
        """Take no more, and finish what was taken."""
        self._closed = True
        if self._at_work is not None:
            await self._at_work

    def _check_room(self, count: int, now: float) -> None:
        if self._closed:
            raise Problem("draining", "the service is shutting down")
        # A large request that finds nobody before it is let in.
        if self.waiting and self.waiting + count > MOST_WAITING:
            raise Problem("busy", f"{self.waiting} items are waiting already")
        if self._parcels and now - self._parcels[0].since > LONGEST_WAIT_SECONDS:
            raise Problem("busy", f"others have been waiting for {LONGEST_WAIT_SECONDS:g} s")

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := self._next_batch():
                items = [item for parcel in batch for item in parcel.items]
                started = time.monotonic()
                try:
                    outcomes = await loop.run_in_executor(self._threads, self._try_twice, items)
                except Exception as error:
                    for parcel in batch:
                        if not parcel.done.done():
                            parcel.done.set_exception(error)
                else:
                    self._deliver(batch, outcomes)
                self._observe(len(items), time.monotonic() - started)
        finally:
            self._at_work = None

    def _next_batch(self) -> list[Parcel[Item, Outcome]]:
        """As many parcels as fit, without those of requests that were cancelled."""
        batch: list[Parcel[Item, Outcome]] = []
        size = 0
        while self._parcels:
            parcel = self._parcels[0]
            if not parcel.done.cancelled():
                if size + len(parcel.items) > LARGEST_BATCH:
                    break
                batch.append(parcel)
                size += len(parcel.items)
            self.waiting -= len(parcel.items)
            self._parcels.popleft()
        return batch

    def _try_twice(self, items: list[Item]) -> Sequence[Outcome | Exception]:
        started = time.monotonic()
        try:
            return self._act(items)
        except self._broken:
            if time.monotonic() - started > PROMPT_SECONDS:
                raise
            return self._act(items)

    def _deliver(
        self, batch: list[Parcel[Item, Outcome]], outcomes: Sequence[Outcome | Exception]
    ) -> None:
        at = 0
        for parcel in batch:
            end = at + len(parcel.items)
            if not parcel.done.done():  # else its request was cancelled meanwhile
                parcel.done.set_result(outcomes[at:end])
            at = end
