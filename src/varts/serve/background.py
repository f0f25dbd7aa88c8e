"""All long work of the service: whatever reads a whole log, and plans.

Long work runs in worker processes, two at most, so that it can't slow decisions down. Each call has
a deadline and a memory limit. A worker that exceeds one is killed, and the caller gets a 503. Short
logs are read in a thread of the service, and so are stores in memory, which no other process can
read. Answers are kept in one cache and say as of which version of the log they are.

No experiment can take more than its share. Its calls run one after the other, and the numbers of
its waiting calls and cached answers are bounded. Refreshing its answers takes at most 5 % of
wall-clock time, not counting the first few seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from varts._progress import Progress
from varts.live import ChangeRecord, Experiment, Store, UnknownExperiment
from varts.live.audit.records import read_changes
from varts.live.core.events import AGGREGATE, CORRECTIONS
from varts.live.core.state import State
from varts.live.errors import LiveError, StoreError
from varts.live.report.estimates import p_best_in_play
from varts.live.store.store import MOST_CHANGES, Activity, Glance
from varts.serve.errors import Problem, refusing
from varts.serve.telemetry import tell, tell_error

WORKERS = 2
PATIENCE_SECONDS = 0.6  # how long a page waits for an answer that may be quick
API_PATIENCE_SECONDS = 30.0  # how long an API request waits
DEADLINE_SECONDS = 600.0
MEMORY_BYTES = 2 * 2**30  # resident; far more than any answer needs
WATCH_SECONDS = 0.05  # between two looks at a worker's memory
SHORT = 5_000  # rows of a log that are read in a thread: less than 0.1 s
LARGEST_ANSWER = 64 * 2**20  # bytes

REFRESH_SHARE = 0.05  # of wall-clock time
FREE_SECONDS = 5.0  # of refreshing before that limit applies: short logs are always read at once
RETRY_SECONDS = 60.0  # before a call that was killed, or met a bug, is tried again
STORE_RETRY_SECONDS = 1.0  # before one that failed because of the store is
MOST_WAITING = 8  # calls of one owner
ENDING_SECONDS = 5.0  # that killed processes get to end

STATES_PER_PAGE = 1_000  # held in memory at a time
NO_CHANGES = 2**62  # a version that no log reaches
MOST_CORRECTIONS = 100  # of an experiment that are kept, the latest

PLANS = ""  # the owner of all plans; no experiment has a blank name

Key = tuple[str, ...]  # the owner first, which is the experiment's name
Call = Callable[[Callable[[], Store], Progress], Any]  # is given a function that opens the store
T = TypeVar("T")


# ------------------------------------------------------------------------------ the cache


class Limits(NamedTuple):
    """How much a cache may keep."""

    entries: int
    bytes: int


EACH = Limits(entries=16, bytes=32 * 2**20)
TOTAL = Limits(entries=50_000, bytes=256 * 2**20)


class Cache:
    """The values that were used last, within limits for each owner and in total.

    Threads may share a cache.

    Keys are tuples whose first item is the owner. An owner that adds too much loses its own oldest
    values, not those of others. Its newest value is always kept.

    Args:
        each: The limits of one owner.
        total: The limits of all owners together.

    >>> cache = Cache(each=Limits(2, 100), total=Limits(10, 1000))
    >>> for number in range(5):
    ...     cache.put(("price", str(number)), number, size=1)
    >>> cache.put(("color", "one"), "kept", size=1)
    >>> cache.get(("price", "2")), cache.get(("price", "3")), cache.get(("color", "one"))
    (None, 3, 'kept')
    """

    def __init__(self, each: Limits, total: Limits) -> None:
        self._each, self._total = each, total
        self._values: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
        self._owned: dict[str, OrderedDict[Key, None]] = {}
        self._sizes: dict[str, int] = {}
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Any:
        """Return the value of a key, or None.

        Args:
            key: The key.
        """
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            self._owned[key[0]].move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Any, size: int) -> None:
        """Keep a value.

        Args:
            key: The key; its first item is the owner.
            value: The value. Don't change it afterwards.
            size: About how many bytes it takes.
        """
        with self._lock:
            self._remove(key)
            owner = key[0]
            self._values[key] = value, size
            owned = self._owned.setdefault(owner, OrderedDict())
            owned[key] = None
            self._sizes[owner] = self._sizes.get(owner, 0) + size
            self._size += size
            while len(owned) > 1 and _exceeds(self._each, len(owned), self._sizes[owner]):
                self._remove(next(iter(owned)))
            while len(self._values) > 1 and _exceeds(self._total, len(self._values), self._size):
                self._remove(next(iter(self._values)))

    def drop(self, owner: str) -> None:
        """Forget everything that an owner has.

        Args:
            owner: The first item of its keys.
        """
        with self._lock:
            for key in list(self._owned.get(owner, ())):
                self._remove(key)

    def __len__(self) -> int:
        return len(self._values)

    def _remove(self, key: Key) -> None:
        found = self._values.pop(key, None)
        if found is None:
            return
        owner, size = key[0], found[1]
        self._size -= size
        self._sizes[owner] -= size
        del self._owned[owner][key]
        if not self._owned[owner]:
            del self._owned[owner], self._sizes[owner]


def _exceeds(limits: Limits, entries: int, size: int) -> bool:
    return entries > limits.entries or size > limits.bytes


# ------------------------------------------------------------------------------ answers


class Moment(NamedTuple):
    """Where an experiment is. Reading the log twice at the same moment gives the same answer."""

    version: int
    tag: str  # names the configuration
    created: datetime
    decided: int
    settled: int

    @classmethod
    def of(cls, glance: Glance) -> Moment:
        """Where an experiment is, from a look at it."""
        traffic = glance.activity.traffic
        decided, settled = sum(traffic.decided.values()), sum(traffic.settled.values())
        return cls(glance.version, glance.tag, glance.created, decided, settled)

    @property
    def rows(self) -> int:
        """How many rows the log has."""
        return self.version + self.decided


class Seen(NamedTuple):
    """An experiment as a page needs to know it before it asks for anything that takes longer."""

    moment: Moment
    revision: int
    activity: Activity
    changes: list[ChangeRecord]  # the creation first; of corrections, the latest


class Answer(NamedTuple):
    """The result of a call, or its error; the moment and the time it is from, and its duration."""

    value: Any
    error: Exception | None
    moment: Moment | None
    time: datetime
    seconds: float

    def get(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            # Kept errors are raised again and again, and must not collect tracebacks.
            raise self.error.with_traceback(None)
        return self.value


class Killed(Problem):
    """A call that exceeded a limit, or whose process died. Trying again at once won't help."""


class NotStarted(Problem):
    """A call that never ran because no process could be started for it. Trying again may work."""


@dataclass(eq=False)
class Work:
    """A call that waits or runs.

    `stage` and `done` say how far it is, from 0 to 1; None if that isn't known.
    """

    key: Key
    moment: Moment | None
    call: Call
    here: bool  # whether it runs in a thread of this process
    since: float
    stage: str | None = None
    done: float | None = None
    task: asyncio.Task[Answer] = field(init=False)


class Owner:
    """The lock, the queue and the budget for refreshing that all calls about one experiment share.

    Args:
        now: The time in seconds.
    """

    def __init__(self, now: float) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0
        self._left, self._at = FREE_SECONDS, now

    def left(self, now: float) -> float:
        """How many seconds of work it may still use.

        Args:
            now: The time in seconds.
        """
        earned = REFRESH_SHARE * (now - self._at)
        self._left, self._at = min(self._left + earned, FREE_SECONDS), now
        return self._left

    def spend(self, seconds: float, now: float) -> None:
        """Count work against the budget.

        Args:
            seconds: How long it took.
            now: The time in seconds.
        """
        self._left = self.left(now) - seconds


# ------------------------------------------------------------------------------ a worker


class Worker:
    """A process that runs one call after the other.

    Args:
        url: The store's URL; None for a store in memory.
        read_only: Whether the store is only read.

    Raises:
        OSError: No process can be started.
    """

    def __init__(self, url: str | None, read_only: bool) -> None:
        context = multiprocessing.get_context("spawn")
        # Temporary files of the worker go here, and are removed even if it is killed.
        self._folder = tempfile.TemporaryDirectory(prefix="varts-", ignore_cleanup_errors=True)
        with ExitStack() as undo:
            undo.callback(self._folder.cleanup)
            self._connection, theirs = context.Pipe()
            undo.callback(self._connection.close)
            with theirs:
                # A daemon: it ends with the service.
                self._process = context.Process(
                    target=_work,
                    args=(theirs, url, read_only, self._folder.name),
                    name="varts-background",
                    daemon=True,
                )
                self._process.start()
            undo.pop_all()

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.is_alive()

    @property
    def memory(self) -> int:
        """How many bytes of memory it uses; 0 where that can't be seen."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def perform(
        self, call: Call, shown: Callable[[str, float | None], None], deadline: float, memory: int
    ) -> tuple[Any, int]:
        """Run a call and return what it returned, with its size in bytes.

        Args:
            call: The call.
            shown: Called with the stage of the work, and how much of it is done.
            deadline: How many seconds the call may take.
            memory: How many bytes of memory the process may use.

        Raises:
            Killed: The call exceeded a limit, or the process died. The worker is of no use then.
        """
        until = time.monotonic() + deadline
        try:
            self._connection.send(call)
            while True:
                if self._connection.poll(WATCH_SECONDS):
                    payload = self._connection.recv_bytes()
                    kind, value = pickle.loads(payload)
                    if kind == _ANSWER:
                        return value, len(payload)
                    if kind == _ERROR:
                        raise value
                    if kind == _TOO_LARGE:
                        raise Problem(
                            "refused",
                            f"the answer must have at most {LARGEST_ANSWER:,} bytes, got {value:,}",
                        )
                    shown(*value)
                if time.monotonic() > until:
                    raise Killed("busy", f"the work took longer than {deadline:g} s and was ended")
                if self.memory > memory:
                    limit = f"{memory / 2**20:,.0f} MB"
                    raise Killed("busy", f"the work needed more than {limit} and was ended")
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(1)
            code = self._process.exitcode
            raise Killed("busy", f"the worker process died with exit code {code}") from None
        except Killed:
            self.end()
            raise

    def end(self) -> None:
        """Kill the process, which only reads. Repeating this is safe."""
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._folder.cleanup()

    def kill(self) -> None:
        """Kill the process while another thread is waiting for its answer."""
        self._process.kill()


_ANSWER, _ERROR, _TOO_LARGE, _PROGRESS = "answer", "error", "too large", "progress"


def _work(connection: Connection, url: str | None, read_only: bool, folder: str) -> None:
    """Run calls until the service ends: the main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the service, which ends us
    import polars  # noqa: F401  before it is needed: this takes a while

    threading.Thread(target=_end_with_parent, daemon=True).start()
    _give_way()
    tempfile.tempdir = folder
    store: Store | None = None

    def open_store() -> Store:
        nonlocal store
        if store is None:
            if url is None:
                raise StoreError("a store in memory can't be read from another process")
            store = Store(url, read_only=read_only)
        return store

    while True:
        try:
            call = connection.recv()
        except EOFError:
            return
        try:
            payload = pickle.dumps((_ANSWER, call(open_store, _Sent(connection))))
            if len(payload) > LARGEST_ANSWER:
                payload = pickle.dumps((_TOO_LARGE, len(payload)))
        except Exception as error:
            payload = pickle.dumps((_ERROR, _portable(error)))
        if store is not None:
            store.close()  # an idle worker holds no connection
        connection.send_bytes(payload)


def _give_way() -> None:
    """Let the service go first. A sandbox may forbid this, which is no reason to fail."""
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError):  # if memory runs out, the kernel should end this process
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """An error that survives the way to another process, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        plain.__notes__ = error.__notes__
        return plain
    return error


class _Sent(Progress):
    """Progress that a worker sends to the service, at most ten times per second."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._text, self._total, self._sent = "", 0.0, 0.0

    def stage(self, text: str, total: float | None = None) -> None:
        self._text, self._total = text, total or 0.0
        self._send(None if total is None else 0.0)

    def at(self, done: float) -> None:
        if self._total and time.monotonic() - self._sent > 0.1:
            self._send(min(done / self._total, 1.0))

    def _send(self, done: float | None) -> None:
        self._sent = time.monotonic()
        self._connection.send_bytes(pickle.dumps((_PROGRESS, (self._text, done))))


# ------------------------------------------------------------------------------ all of it


class Background:
    """Runs the long work of a service, and keeps the answers.

    Args:
        store: The database.
        deadline: How many seconds a call may take in a worker process.
        memory: How many bytes of memory a worker process may use.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        store: Store,
        *,
        deadline: float = DEADLINE_SECONDS,
        memory: int = MEMORY_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._clock = store, clock
        self.deadline, self.memory = deadline, memory
        self.cache = Cache(EACH, TOTAL)
        self._works: dict[Key, Work] = {}
        self._once: set[asyncio.Task[Any]] = set()
        self._owners: dict[Any, Owner] = {}
        self._processes, self._thread = asyncio.Semaphore(WORKERS), asyncio.Semaphore(1)
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def warm_up(self) -> None:
        """Start a worker, so that the first call doesn't wait for one. Returns at once."""
        if not self._store.memory:
            threading.Thread(target=self._warm_up, name="varts-warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        with suppress(NotStarted):  # the first call tries again
            self._give_back(self._take_worker())

    async def close(self) -> None:
        """End all work. Nobody needs its answers any more."""
        self._closed = True
        with self._lock:
            workers, idle, self._idle = list(self._workers), self._idle, []
        for worker in workers:
            worker.kill()  # the thread that waits for its answer discards it
        tasks = [*(work.task for work in self._works.values()), *self._once]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in idle:
            await _in_thread(partial(self._discard, worker))
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_SECONDS):
                while self._workers:
                    await asyncio.sleep(0.01)

    # ------------------------------------------------------------------ asking

    async def ask(
        self,
        key: Key,
        moment: Moment,
        read: Callable[[Experiment], Any],
        *,
        patience: float | None = None,
        max_age: float | None = None,
    ) -> Answer | None:
        """Return the latest answer to a question about an experiment's log.

        It is as of `moment` if it can be made in time, and if the experiment's budget for
        refreshing allows it. Otherwise this returns an older answer, or None if this is the first
        time. The new answer is made in the background, unless too many calls about the experiment
        are waiting already, and asking again later returns it.

        Args:
            key: The experiment's name, and what is asked.
            moment: Where the experiment is now.
            read: What to do with the experiment: a function that another process can import.
            patience: How many seconds the work may have taken until this returns without it; by
                default a page's. If it took longer the last time, this doesn't wait at all.
            max_age: After how many seconds the answer is made again although nothing was written;
                for answers that depend on the time.

        Raises:
            Problem: The service is ending.
        """
        patience = PATIENCE_SECONDS if patience is None else patience
        while True:
            found: Answer | None = self.cache.get(key)
            if found is not None and self._is_fresh(found, moment, max_age):
                return found
            work, owner = self._works.get(key), self._owner(key[0])
            if work is None and (found is None or owner.left(self._clock()) > 0):
                if owner.waiting >= MOST_WAITING:
                    return found
                call = about(key[0], read)
                work = self._begin(key, moment, call, self._runs_here(moment.rows))
            if work is None or (found is not None and found.seconds >= patience):
                return found
            left = work.since + patience - self._clock()
            done, _ = await asyncio.wait([work.task], timeout=max(left, 0.0))
            if not done:
                return found
            answer = work.task.result()
            if answer.moment == moment or answer.error is not None:
                return answer

    async def answer(
        self,
        key: Key,
        moment: Moment,
        read: Callable[[Experiment], Any],
        *,
        max_age: float | None = None,
    ) -> Answer:
        """Return an answer that has a value, waiting for it as long as an API request may.

        Args:
            key: As for `ask`.
            moment: As for `ask`.
            read: As for `ask`.
            max_age: As for `ask`.

        Raises:
            Problem: The answer isn't there yet; asking again later returns it.
            Exception: The error that the call raised.
        """
        found = await self.ask(key, moment, read, patience=API_PATIENCE_SECONDS, max_age=max_age)
        if found is None:
            detail = "the log is still being read; repeat the request in a few seconds"
            raise Problem("busy", detail, {"retry-after": "5"})
        found.get()
        return found

    def remember(self, key: Key, moment: Any, compute: Callable[[], T]) -> T:
        """Return what was computed for this moment, or compute it here and now.

        Args:
            key: The experiment's name, and what is computed.
            moment: A value that changes when the result may change; compared with `==`.
            compute: Computes it.
        """
        known = self.cache.get(key)
        if known is not None and known[0] == moment:
            value: T = known[1]
            return value
        value = compute()
        self.cache.put(key, (moment, value), len(pickle.dumps((moment, value))))
        return value

    def _is_fresh(self, found: Answer, moment: Moment, max_age: float | None) -> bool:
        if found.moment != moment:
            return False
        limit = max_age if found.error is None else _kept_for(found.error)
        age = (datetime.now(UTC) - found.time).total_seconds()
        return limit is None or age < limit

    # ------------------------------------------------------------------ running

    def _runs_here(self, rows: float) -> bool:
        """Whether a call that reads some rows runs in a thread of this process."""
        return self._store.memory or rows <= SHORT

    def _begin(self, key: Key, moment: Moment | None, call: Call, here: bool = False) -> Work:
        self._enter(self._owner(key[0]))
        work = Work(key, moment, call, here, self._clock())
        work.task = asyncio.create_task(self._answer(work))
        self._works[key] = work
        return work

    async def _answer(self, work: Work) -> Answer:
        owner, began, moment = self._owner(work.key[0]), self._clock(), datetime.now(UTC)

        def begin() -> None:
            nonlocal began, moment
            began, moment = self._clock(), datetime.now(UTC)

        value, error, size = None, None, 0
        try:
            value, size = await self._run(work, owner, begin)
        except Exception as failure:
            error = failure
            if not isinstance(error, LiveError | Problem):
                tell_error("background work failed", error, work=work.key[1])
        finally:
            self._works.pop(work.key, None)
        seconds = self._clock() - began
        owner.spend(seconds, self._clock())
        answer = Answer(value, error, work.moment, moment, seconds)
        if not isinstance(error, NotStarted) or work.moment is None:
            self.cache.put(work.key, answer, size)
        return answer

    async def run(
        self, owner: Any, call: Call, *, rows: float = math.inf, let_in: bool = False
    ) -> Any:
        """Run a call about the store whose result is not kept, and return it.

        Args:
            owner: Calls of the same owner run one after the other.
            call: The call.
            rows: How many rows it reads at most. A thread reads a few rows, or a store in memory.
            let_in: Whether this goes on with something that was begun, and is never refused.

        Raises:
            Problem: Too many calls of this owner are waiting, or it was killed.
        """
        state = self._owner(owner)
        self._enter(state, let_in)
        work = Work(("",), None, call, self._runs_here(rows), self._clock())
        task = asyncio.create_task(self._run(work, state, lambda: None))
        self._once.add(task)
        task.add_done_callback(self._forget)
        # If the request is cancelled, its call still needs its place until it has ended.
        value, _ = await asyncio.shield(task)
        return value

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._once.discard(task)
        if not task.cancelled():
            task.exception()  # read it: the request may be gone

    async def _run(self, work: Work, owner: Owner, begin: Callable[[], None]) -> tuple[Any, int]:
        """Wait for this owner's other work and for a free place, then run a call there."""
        work.stage = "waiting for other work"
        try:
            async with owner.lock, self._thread if work.here else self._processes:
                work.stage = None
                begin()
                return await _in_thread(partial(self._perform, work))
        except (Killed, NotStarted) as error:
            if not self._closed:
                tell("background work ended", logging.WARNING, error=str(error))
            raise
        finally:
            owner.waiting -= 1

    def _perform(self, work: Work) -> tuple[Any, int]:
        """Run a call, in a thread that waits for it."""

        def show(stage: str, done: float | None) -> None:
            work.stage, work.done = stage, done

        if work.here:
            value = work.call(lambda: self._store, Progress())
            return value, len(pickle.dumps(value))
        worker = self._take_worker()
        try:
            return worker.perform(work.call, show, self.deadline, self.memory)
        finally:
            self._give_back(worker)

    def _take_worker(self) -> Worker:
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return self._start_worker()
            if worker.alive:
                return worker
            self._discard(worker)

    def _start_worker(self) -> Worker:
        store = self._store
        url = None if store.memory else store.url.render_as_string(hide_password=False)
        try:
            worker = Worker(url, store.read_only)
        except (OSError, MemoryError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or "no memory").lower()
            detail = f"no worker process could be started ({reason}); repeat the request"
            raise NotStarted("busy", detail) from None
        with self._lock:
            self._workers.add(worker)
        if self._closed:
            worker.kill()
        return worker

    def _give_back(self, worker: Worker) -> None:
        """Keep a worker for the next call, unless it is dead or has grown too much."""
        if self._closed or not worker.alive or worker.memory > self.memory / 2:
            self._discard(worker)
            return
        with self._lock:
            self._idle.append(worker)

    def _discard(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
        worker.end()

    def _owner(self, name: Any) -> Owner:
        found = self._owners.get(name)
        if found is None:
            now = self._clock()
            if len(self._owners) >= 1_000:  # those that have rested are as good as new ones
                self._owners = {
                    name: one
                    for name, one in self._owners.items()
                    if one.waiting or one.left(now) < FREE_SECONDS
                }
            found = self._owners[name] = Owner(now)
        return found

    def _enter(self, owner: Owner, let_in: bool = False) -> None:
        """Count a call that `_run` will wait for, or refuse it."""
        if self._closed:
            raise Problem("draining", "the service is shutting down")
        if owner.waiting >= MOST_WAITING and not let_in:
            raise Problem("busy", f"{owner.waiting} other calls are waiting; repeat the request")
        owner.waiting += 1

    # ------------------------------------------------------------------ what takes little

    def p_best(self, name: str, state: State) -> dict[str, float]:
        """Return P(best) of the arms in play, computed once per state of an experiment.

        States are compared, and not only their versions: the experiment may have been deleted and
        created again, or its store restored.

        Args:
            name: The experiment's name.
            state: Its configuration and statistics.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
        >>> for i, paid in enumerate([9.0, 0.0, 12.0, 12.0]):
        ...     applied = exp.reward(exp.decide(id=f"visit-{i}").id, paid)
        >>> found = Background(exp.store).p_best("price", exp.state)
        >>> {arm: round(chance, 2) for arm, chance in found.items()}
        {'9': 0.26, '12': 0.74}
        """

        def compute() -> dict[str, float]:
            arms, active = state.config.arms, state.config.active
            chances = map(float, p_best_in_play(state))  # none while too little is known
            return dict(zip((arms[at] for at in active), chances, strict=False))

        return self.remember((name, "p_best"), state, compute)

    def standings(
        self,
        covers: Callable[[str], bool],
        after: str | None = None,
        at_a_time: int = STATES_PER_PAGE,
    ) -> Iterator[Standing]:
        """Yield where experiments stand, by name: two statements per page, and one for all.

        Args:
            covers: Returns whether an experiment is wanted.
            after: Only those whose names come later.
            at_a_time: How many are read together.
        """
        summaries = self._store.summaries(after)
        while states := self._store.states(after, at_a_time):
            for name, state in states.items():
                if covers(name) and name in summaries:  # otherwise it was created just now
                    yield Standing(name, state, *summaries[name], self.p_best(name, state))
            after = list(states)[-1]

    def moment(self, name: str) -> Moment:
        """Return where an experiment is, from one small transaction; raises UnknownExperiment.

        Args:
            name: The experiment's name.
        """
        return Moment.of(self._glance(name, after=NO_CHANGES))

    def look(self, name: str) -> Seen:
        """Return where an experiment is, and its changes; raises UnknownExperiment.

        Reads only what is new since the last look, in one transaction.

        Args:
            name: The experiment's name.
        """
        key = (name, "changes")
        known: tuple[datetime, str, list[ChangeRecord]] | None = self.cache.get(key)
        glance = self._glance(name, after=0 if known is None else known[2][-1].version)
        if known is not None and _is_another(glance, known):
            known, glance = None, self._glance(name, after=0)
        records = [] if known is None else known[2]
        while glance.changes:
            records = _latest([*records, *read_changes(glance.changes)])
            if len(glance.changes) < MOST_CHANGES:
                break
            glance = self._glance(name, after=records[-1].version)
        if known is None or records is not known[2] or glance.tag != known[1]:
            value = glance.created, glance.tag, records
            self.cache.put(key, value, len(pickle.dumps(value)))
        return Seen(Moment.of(glance), glance.revision, glance.activity, records)

    def _glance(self, name: str, after: int) -> Glance:
        glance = self._store.glance(name, after)
        if glance is None:
            raise UnknownExperiment(f"unknown experiment {name!r}")
        return glance

    # ------------------------------------------------------------------ plans

    def start_plan(self, asked: Mapping[str, Any]) -> Job:
        """Begin to make a plan, unless the same was asked before.

        Args:
            asked: The arguments of `varts.plan`, or with a traffic of `varts.plan_experiment`.
        """
        text = json.dumps(asked, sort_keys=True)
        id = hashlib.sha256(text.encode()).hexdigest()[:32]
        key = (PLANS, "plan", id)
        answer = self.cache.get(key)
        if key not in self._works and (answer is None or answer.error is not None):
            self._begin(key, None, partial(_make_plan, text))
        return self.find_plan(id)

    def find_plan(self, id: str) -> Job:
        """Return the plan of an id, or how far it is.

        Args:
            id: The id that `start_plan` returned.

        Raises:
            Problem: There is no such plan.
        """
        key = (PLANS, "plan", id)
        work = self._works.get(key)
        if work is not None:
            return Job(id, "running", stage=work.stage, done=work.done)
        answer: Answer | None = self.cache.get(key)
        if answer is None:
            raise Problem("not-found", "there is no such plan, or it has expired")
        if answer.error is None:
            return Job(id, "done", plan=answer.value)
        known = isinstance(answer.error, Problem | ArithmeticError | MemoryError)
        detail = " ".join(str(answer.error).split()) if known else "the plan was not made"
        return Job(id, "failed", detail=detail)


def _is_another(glance: Glance, known: tuple[datetime, str, list[ChangeRecord]]) -> bool:
    """Whether this is not the experiment whose changes we know: it was deleted and created again,
    or its store was restored from a backup."""
    created, tag, records = known
    if glance.created != created or glance.version < records[-1].version:
        return True
    return glance.tag != tag and not glance.changes


def _latest(records: list[ChangeRecord]) -> list[ChangeRecord]:
    """Leave out all corrections but the latest, of which there may be many."""
    kinds = (*CORRECTIONS, AGGREGATE)
    corrections = [one.version for one in records if one.kind in kinds]
    if len(corrections) <= MOST_CORRECTIONS:
        return records
    first = corrections[-MOST_CORRECTIONS]
    return [one for one in records if one.kind not in kinds or one.version >= first]


class Standing(NamedTuple):
    """Where an experiment stands.

    Args:
        name: The experiment's name.
        state: Its configuration and statistics.
        created: When it was created, in microseconds since 1970.
        pending: How many of its decisions wait for a reward.
        p_best: P(best) by arm, for those in play; empty while too little is known, and if it
            depends on the features of a unit.
    """

    name: str
    state: State
    created: int
    pending: int
    p_best: dict[str, float]

    @property
    def best(self) -> str | None:
        """The arm that is most likely the best."""
        return max(self.p_best, key=self.p_best.__getitem__, default=None)


class Job(NamedTuple):
    """A plan that was asked for."""

    id: str
    status: str  # running, done or failed
    plan: bytes | None = None  # as JSON
    detail: str | None = None  # why it failed
    stage: str | None = None  # what is being done
    done: float | None = None  # how much of that, from 0 to 1; None if that isn't known


def _make_plan(text: str, open_store: Callable[[], Store], shown: Progress) -> bytes:
    import varts

    given = json.loads(text)
    make = varts.plan_experiment if "traffic" in given else varts.plan
    with refusing():
        return make(**given, progress=shown).to_json().encode()


def _kept_for(error: Exception) -> float | None:
    """How many seconds an error is an answer; None for a refusal, which always comes again."""
    if isinstance(error, StoreError):
        return STORE_RETRY_SECONDS
    refused = isinstance(error, LiveError | Problem) and not isinstance(error, Killed)
    return None if refused else RETRY_SECONDS


def about(name: str, read: Callable[[Experiment], Any]) -> Call:
    """Return a call that asks an experiment.

    Args:
        name: The experiment's name.
        read: What to do with it: a function that another process can import.
    """
    return partial(_read_experiment, name, read)


def _read_experiment(
    name: str,
    read: Callable[[Experiment], Any],
    open_store: Callable[[], Store],
    shown: Progress,
) -> Any:
    return read(open_experiment(name, open_store()))


def open_experiment(name: str, store: Store) -> Experiment:
    """Open an experiment; the error for an unknown one doesn't name the store.

    Args:
        name: The experiment's name.
        store: The database.
    """
    try:
        return Experiment(name, store)
    except UnknownExperiment:
        raise UnknownExperiment(f"unknown experiment {name!r}") from None


async def _in_thread(function: Callable[[], T]) -> T:
    """Return what a function returns, from a thread that doesn't keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: Exception | None) -> None:
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
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    try:
        threading.Thread(target=work, name="varts-background", daemon=True).start()
    except RuntimeError as error:
        raise NotStarted("busy", f"{error}; repeat the request") from None
    return await done
