"""The experiments of a store, opened once, with their queues; the threads that read; the clock
that settles what is overdue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from varts.live import (
    ConnectionLost,
    Decision,
    Experiment,
    Store,
    StoreError,
    UnknownExperiment,
)
from varts.live.arguments import check_contexts
from varts.serve.batching import Batcher
from varts.serve.chronicles import Chronicles
from varts.serve.jobs import Jobs
from varts.serve.logs import tell, tell_error
from varts.serve.metrics import Metrics
from varts.serve.problems import Problem
from varts.serve.readings import Readings
from varts.serve.standings import Standings

WRITERS = 32  # transactions at a time, of different experiments
READERS = 4
READING_SECONDS = 10.0  # what reads a few rows takes no longer, unless the store is in trouble
SCANNERS = 2  # of whole logs, for as long as it takes
TICK_SECONDS = 1.0
ENDING_SECONDS = 1.0  # for batches under way when the service ends: nobody waits for them any more

T = TypeVar("T")
Asked = tuple[str, str | None, Mapping[str, Any] | None]  # id, unit, context
Sent = tuple[str, float, Mapping[str, float | None], str | None]  # id, reward, metrics, key


class Running:
    """An experiment that is open, with its queues.

    Args:
        experiment: It.
        threads: Where its transactions run.
        metrics: Where they are counted.
    """

    def __init__(self, experiment: Experiment, threads: Executor, metrics: Metrics) -> None:
        self.experiment, self.stale = experiment, False
        self.changing = asyncio.Lock()  # one change of configuration at a time
        self.deciding: Batcher[Asked, Decision] = Batcher(
            self._decide, ConnectionLost, threads, partial(metrics.observe_batch, "decide")
        )
        self.rewarding: Batcher[Sent, bool] = Batcher(
            self._reward, ConnectionLost, threads, partial(metrics.observe_batch, "reward")
        )

    async def close(self) -> None:
        """Finish what is under way."""
        await asyncio.gather(self.deciding.close(), self.rewarding.close())

    def ask(self, question: Callable[[Experiment], T]) -> T:
        """What the experiment answers. After its store has failed it is opened anew: it may have
        been restored, or the experiment deleted by somebody else."""
        try:
            return question(self.experiment)
        except StoreError:
            self.stale = True
            raise

    def check_contexts(self, contexts: Sequence[Any]) -> list[dict[str, float | str] | None]:
        """Contexts as they are stored; one that is wrong is refused before it meets the decisions
        of others. By then the experiment may be another one of that name: the next one looks."""
        experiment = self.experiment
        try:
            return check_contexts(experiment.name, experiment.features, contexts, len(contexts))
        except (ValueError, TypeError):
            self.stale = True
            raise

    def _decide(self, asked: list[Asked]) -> Sequence[Decision | Exception]:
        """A decision for each; if one is refused, each is asked for by itself."""
        try:
            return self._decide_all(asked)
        except (ValueError, TypeError) as error:
            return [error] if len(asked) == 1 else [self._decide([one])[0] for one in asked]

    def _decide_all(self, asked: list[Asked]) -> Sequence[Decision]:
        ids, units, contexts = map(list, zip(*asked, strict=True))
        return self.ask(lambda experiment: experiment.decide_many(units, ids, contexts))

    def _reward(self, sent: list[Sent]) -> Sequence[bool | Exception]:
        return self.ask(lambda experiment: experiment.reward_each(sent))


class Service:
    """What requests are answered from.

    Args:
        store: The database; into one that is read-only nothing is written, not even by the clock.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.draining = store, False
        self.metrics, self.standings, self.jobs = Metrics(), Standings(store), Jobs()
        self.readings, self.chronicles = Readings(), Chronicles()
        self._running: dict[str, Running] = {}
        self._batches = ThreadPoolExecutor(WRITERS, thread_name_prefix="varts-batch")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="varts-read")
        self._scanners = ThreadPoolExecutor(SCANNERS, thread_name_prefix="varts-scan")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="varts-write")
        self._ticking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to settle what is overdue."""
        if not self.store.read_only:
            self._ticking = asyncio.create_task(self._tick())

    async def close(self) -> None:
        """Finish what is under way, and give the store back."""
        self.draining = True
        if self._ticking is not None:
            self._ticking.cancel()
        await asyncio.gather(self.jobs.close(), self.readings.close())
        closing = [asyncio.ensure_future(one.close()) for one in self._running.values()]
        if closing:
            await asyncio.wait(closing, timeout=ENDING_SECONDS)
        for pool in (self._batches, self._readers, self._scanners, self._writer):
            pool.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    async def running(self, name: str) -> Running:
        """The experiment of this name; raises UnknownExperiment."""
        running = self._running.get(name)
        if running is not None and not running.stale:
            return running
        try:
            experiment = await self.read(self._open, name)
        except UnknownExperiment:
            self._running.pop(name, None)
            raise
        running = self._running.get(name)  # another request may have been faster
        if running is None:
            running = self._running[name] = Running(experiment, self._batches, self.metrics)
        elif running.stale:
            running.experiment, running.stale = experiment, False
        return running

    def _open(self, name: str) -> Experiment:
        try:
            return Experiment(name, self.store)
        except UnknownExperiment:  # whose words name the store
            raise UnknownExperiment(f"unknown experiment {name!r}") from None

    async def look(
        self, name: str, question: Callable[[Experiment], T], scanning: bool = False
    ) -> T:
        """What an experiment answers to a question that reads a little; `scanning` if it reads the
        whole log. Raises UnknownExperiment."""
        running = await self.running(name)
        return await (self.scan if scanning else self.read)(running.ask, question)

    async def change(self, name: str, act: Callable[[Experiment], T]) -> T:
        """What an experiment returns when it is changed; raises UnknownExperiment."""
        running = await self.running(name)
        return await self.write(running.ask, act)

    async def delete(self, name: str, confirm: str) -> int:
        """Delete an experiment; how many decisions it had."""
        running = await self.running(name)
        async with running.changing:
            count: int = await self.write(running.ask, lambda one: one.delete(confirm, export=None))
            self._running.pop(name, None)
            self.standings.drop(name)
        return count

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """What a function returns that reads a little."""
        work = self._run(self._readers, function, *arguments)
        try:
            return await asyncio.wait_for(work, READING_SECONDS)
        except TimeoutError:
            detail = f"the store has not answered for {READING_SECONDS:g} s"
            raise Problem("busy", detail) from None

    async def scan(self, function: Callable[..., T], *arguments: Any) -> T:
        """What a function returns that reads a whole log."""
        return await self._run(self._scanners, function, *arguments)

    async def write(self, function: Callable[..., T], *arguments: Any) -> T:
        """What a function returns that changes something, beside decisions and rewards."""
        return await self._run(self._writer, function, *arguments)

    def count_waiting(self) -> None:
        """Bring the metrics up to date."""
        queues = [(one.deciding.waiting, one.rewarding.waiting) for one in self._running.values()]
        for verb, waiting in zip(("decide", "reward"), zip(*queues, strict=True), strict=False):
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
