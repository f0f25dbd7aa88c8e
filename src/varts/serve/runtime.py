"""The running service: open experiments with their batches, the threads that read and write, and
the clock that settles overdue decisions.

Batches have no timer: whatever arrived while the last transaction ran goes into the next one, and a
request alone is a batch of one, at once.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from varts.live import (
    ConnectionLost,
    Decision,
    Experiment,
    ExposureResult,
    LocalAllocation,
    Store,
    StoreError,
    UnknownExperiment,
)
from varts.live.arguments import check_contexts
from varts.live.local import INVALID
from varts.serve.background import Answer, Background, Key, open_experiment
from varts.serve.errors import Problem, refusing
from varts.serve.responses import encode_json
from varts.serve.telemetry import Metrics, tell, tell_error

LARGEST_BATCH = 500  # items in one transaction: more would keep others waiting for too long
MOST_WAITING = 2_000  # decisions; more are refused at once
# Exposures and rewards come up to a thousand at a time, and nobody's page waits for them.
MOST_REPORTS_WAITING = 20_000
LONGEST_WAIT_SECONDS = 2.0  # of the oldest item, before new ones are refused
# If a connection turns out to be broken at once, the next try opens another one. If that took long,
# so would the next try, and callers have waited already.
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
    """Runs the work of many requests in few transactions.

    Args:
        act: Processes some items in order and returns their outcomes; an error for an item that is
            refused. It must be safe to repeat.
        broken: The error after which all items are tried once more; any other fails them at once.
        threads: Where `act` runs; by default in the event loop's own threads.
        observe: Called after every batch with the number of items and of seconds.
        most_waiting: How many items may wait before more are refused.
    """

    def __init__(
        self,
        act: Act[Item, Outcome],
        broken: type[Exception],
        threads: Executor | None = None,
        observe: Callable[[int, float], None] = lambda items, seconds: None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._most_waiting = most_waiting
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
        # A large request is let in if no other request is waiting.
        if self.waiting and self.waiting + count > self._most_waiting:
            raise Problem("busy", f"{self.waiting} items are waiting already")
        if self._parcels and now - self._parcels[0].since > LONGEST_WAIT_SECONDS:
            raise Problem(
                "busy", f"other requests have been waiting for {LONGEST_WAIT_SECONDS:g} s"
            )

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


WRITERS = 32  # transactions at a time, of different experiments
READERS = 4
READING_SECONDS = 10.0  # what reads a few rows takes no longer, unless the store is in trouble
TICK_SECONDS = 1.0
DOUBT_SECONDS = 1.0  # between two looks at whether an experiment is still the same
PROBE_SECONDS = 2.0  # that the store has to show that it can be used
PROBE_LASTS_SECONDS = 1.0  # and for how long that is known
ENDING_SECONDS = 1.0  # for batches under way when the service ends: nobody waits for them any more

T = TypeVar("T")
Asked = tuple[str, str | None, Mapping[str, Any] | None]  # id, unit, context
# An id, a reward, metrics, a key, and whether anybody could have sent it.
Sent = tuple[str, float, Mapping[str, float | None], str | None, bool]


@dataclass(frozen=True, eq=False)
class Sender:
    """The client that sent some exposures, and its tickets."""

    client: str
    tickets: list[str]


Exposed = tuple[Sender, tuple[Any, ...]]  # with the fields of an exposure


class Running:
    """An open experiment with its batches.

    Args:
        experiment: The experiment.
        threads: Where its transactions run.
        metrics: Where they are counted.
    """

    def __init__(self, experiment: Experiment, threads: Executor, metrics: Metrics) -> None:
        self.experiment, self.stale = experiment, False
        self.changing = asyncio.Lock()  # one change of configuration at a time
        self.decided = metrics.decisions.labels(experiment.name)
        self._doubted = -math.inf  # when a refused decision last raised a doubt
        self.deciding: Batcher[Asked, Decision] = Batcher(
            self._decide, ConnectionLost, threads, partial(metrics.observe_batch, "decide")
        )
        self.rewarding: Batcher[Sent, bool] = Batcher(
            self._reward,
            ConnectionLost,
            threads,
            partial(metrics.observe_batch, "reward"),
            MOST_REPORTS_WAITING,
        )
        self.recording: Batcher[Exposed, ExposureResult] = Batcher(
            self._record,
            ConnectionLost,
            threads,
            partial(metrics.observe_batch, "expose"),
            MOST_REPORTS_WAITING,
        )
        self._allocation: tuple[LocalAllocation, bytes] | None = None  # the last one, as JSON

    async def close(self) -> None:
        """Finish what is under way."""
        batchers = (self.deciding, self.rewarding, self.recording)
        await asyncio.gather(*(one.close() for one in batchers))

    def ask(self, question: Callable[[Experiment], T]) -> T:
        """Ask the experiment something.

        After its store has failed it is opened again: the store may have been restored, or the
        experiment deleted.
        """
        try:
            return question(self.experiment)
        except StoreError:
            self.stale = True
            raise

    def check_contexts(self, contexts: Sequence[Any]) -> None:
        """Refuse a request with a wrong context before anything is decided: its client would not
        learn the ids of the other decisions."""
        experiment = self.experiment
        try:
            with refusing():
                check_contexts(experiment.name, experiment.features, contexts, len(contexts))
        except Problem:
            self._doubt()
            raise

    def _decide(self, asked: list[Asked]) -> Sequence[Decision | Exception]:
        ids, units, contexts = map(list, zip(*asked, strict=True))
        found = self.ask(lambda experiment: experiment.decide_each(units, ids, contexts))
        if any(type(one) in (ValueError, TypeError) for one in found):
            self._doubt()
        return found

    def local_allocation(self) -> tuple[str, bytes]:
        """The allocation that clients draw from, as JSON, after its tag."""
        made, known = self.ask(lambda experiment: experiment.allocation()), self._allocation
        if known is None or known[0] is not made:
            known = self._allocation = made, encode_json(made.to_dict())
        return made.tag, known[1]

    def _record(self, sent: list[Exposed]) -> Sequence[ExposureResult | Exception]:
        batches = [
            ([exposure for _, exposure in exposures], sender.tickets, sender.client)
            for sender, exposures in groupby(sent, itemgetter(0))
        ]
        found = self.ask(lambda experiment: experiment.record_exposures_of(batches))
        results = [one for results in found for one in results]
        if any(one.status == INVALID for one in results):
            self._doubt()
        return results

    def _reward(self, sent: list[Sent]) -> Sequence[bool | Exception]:
        rewards, public = [one[:4] for one in sent], [one[4] for one in sent]
        return self.ask(lambda experiment: experiment.reward_each(rewards, public))

    def _doubt(self) -> None:
        """Open the experiment again, but not with every bad request: somebody may have deleted it
        and created another one of that name, with other features."""
        now = time.monotonic()
        if now - self._doubted >= DOUBT_SECONDS:
            self._doubted, self.stale = now, True


class Service:
    """The experiments of a store, and the threads that work with it.

    Args:
        store: The database. If it is read-only, nothing is written, not even by the clock.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.draining = store, False
        self.metrics, self.background = Metrics(), Background(store)
        self.streams = 0  # whole logs that are being sent
        self._running: dict[str, Running] = {}
        self._batches = ThreadPoolExecutor(WRITERS, thread_name_prefix="varts-batch")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="varts-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="varts-write")
        self._ticking: asyncio.Task[None] | None = None
        self._prober = ThreadPoolExecutor(1, thread_name_prefix="varts-probe")
        self._probe: asyncio.Future[Any] | None = None
        self._ready, self._probed = False, -math.inf

    async def start(self) -> None:
        """Begin to settle what is overdue."""
        if not self.store.read_only:
            self._ticking = asyncio.create_task(self._tick())

    async def close(self) -> None:
        """Finish what is under way, and give the store back."""
        self.draining = True
        if self._ticking is not None:
            self._ticking.cancel()
        await self.background.close()
        closing = [asyncio.ensure_future(one.close()) for one in self._running.values()]
        if closing:
            await asyncio.wait(closing, timeout=ENDING_SECONDS)
        for pool in (self._batches, self._readers, self._writer, self._prober):
            pool.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    async def running(self, name: str) -> Running:
        """The experiment of this name; raises UnknownExperiment."""
        running = self._running.get(name)
        if running is not None and not running.stale:
            return running
        try:
            experiment = await self.read(open_experiment, name, self.store)
        except UnknownExperiment:
            self._running.pop(name, None)
            raise
        running = self._running.get(name)  # another request may have been faster
        if running is None:
            running = self._running[name] = Running(experiment, self._batches, self.metrics)
        elif running.stale:
            running.experiment, running.stale = experiment, False
        return running

    async def look(self, name: str, question: Callable[[Experiment], T]) -> T:
        """Ask an experiment something that reads a little; raises UnknownExperiment."""
        running = await self.running(name)
        return await self.read(running.ask, question)

    async def answer(
        self,
        name: str,
        asked: Key,
        read: Callable[[Experiment], Any],
        max_age: float | None = None,
    ) -> Answer:
        """The answer to a question that may read the whole log; see `Background.answer`."""
        moment = await self.read(self.background.moment, name)
        return await self.background.answer((name, *asked), moment, read, max_age=max_age)

    async def change(self, name: str, act: Callable[[Experiment], T]) -> T:
        """Change an experiment in the thread that writes; raises UnknownExperiment."""
        running = await self.running(name)
        return await self.write(running.ask, act)

    def drop(self, name: str) -> None:
        """Forget an experiment that was deleted."""
        self._running.pop(name, None)
        self.background.cache.drop(name)

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function that reads a little."""
        work = self._run(self._readers, function, *arguments)
        try:
            return await asyncio.wait_for(work, READING_SECONDS)
        except TimeoutError:
            detail = f"the store has not answered for {READING_SECONDS:g} s"
            raise Problem("busy", detail) from None

    async def write(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function that changes something other than decisions and rewards."""
        return await self._run(self._writer, function, *arguments)

    async def is_ready(self) -> bool:
        """Whether the store can be used; asked at most once per second, by one thread."""
        if time.monotonic() - self._probed >= PROBE_LASTS_SECONDS:
            if self._probe is None or self._probe.done():
                self._probe = self._run(self._prober, self.store.has, "")
            try:
                await asyncio.wait_for(asyncio.shield(self._probe), PROBE_SECONDS)
                self._ready = True
            except (StoreError, TimeoutError):
                self._ready = False
            self._probed = time.monotonic()
        return self._ready

    def count_waiting(self) -> None:
        """Bring the metrics up to date."""
        queues = [
            (one.deciding.waiting, one.rewarding.waiting, one.recording.waiting)
            for one in self._running.values()
        ]
        verbs = ("decide", "reward", "expose")
        for verb, waiting in zip(verbs, zip(*queues, strict=True), strict=False):
            self.metrics.waiting.labels(verb).set(sum(waiting))

    def _run(
        self, pool: ThreadPoolExecutor, function: Callable[..., T], *arguments: Any
    ) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    async def _tick(self) -> None:
        """Settle the overdue decisions of open experiments, so that nobody's request has to."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for name, running in list(self._running.items()):
                if running.experiment.options.window is None:
                    continue
                try:
                    await self.change(name, lambda experiment: experiment.settle())
                except UnknownExperiment:  # deleted by somebody else
                    continue
                except StoreError as error:
                    tell("overdue decisions were not settled", logging.WARNING, error=str(error))
                except Exception as error:  # the next tick may do better
                    tell_error("overdue decisions were not settled", error)
