"""Long work: in worker processes with limits, kept within budgets, refreshed with rests."""

import asyncio
import errno
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import varts
from varts.live import Experiment, StoreError
from varts.live.core.state import State
from varts.serve import background
from varts.serve.background import (
    MOST_WAITING,
    REFRESH_SHARE,
    Background,
    Cache,
    Killed,
    Limits,
    Moment,
    NotStarted,
    about,
)
from varts.serve.errors import Problem

# These start processes, which takes a second or two each.
in_processes = pytest.mark.when_changed("src/varts/live", "src/varts/serve")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Stands still unless a test moves it."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memory():
    """An experiment in memory, whose work runs in a thread."""
    return varts.open("price", ["9", "12"], store="memory://")


@pytest.fixture
def exp(tmp_path, monkeypatch):
    """An experiment in a file, whose work runs in a worker process however short the log is."""
    monkeypatch.setattr(background, "SHORT", 0)
    made = varts.open("price", ["9", "12"], store=f"sqlite:///{tmp_path / 'a b.db'}?timeout=9")
    made.reward_many([(one.id, float(one.arm)) for one in made.decide_many(60)])
    yield made
    made.close()


def at(version, rows=0):
    """A moment of the experiment."""
    return Moment(version, "tag", START, rows, 0)


def run(test, store, **options):
    """Run a test with a Background, and close it."""

    async def main():
        made = Background(store, **options)
        try:
            await test(made)
        finally:
            await made.close()

    asyncio.run(main())
    assert not [one for one in multiprocessing.active_children() if one.name == "varts-background"]


class Read:
    """A function that takes some time by a clock, and counts its calls."""

    def __init__(self, clock=None, seconds=0.0, value="found"):
        self.clock, self.seconds, self.value, self.count = clock, seconds, value, 0

    def __call__(self, experiment):
        self.count += 1
        if self.clock is not None:
            self.clock.now += self.seconds
        return self.value


# ------------------------------------------------------------------------------ answers


def test_a_quick_answer_is_there_at_once_and_made_once_per_moment(memory, clock):
    async def test(made):
        read = Read(clock)
        first = await made.ask(("price", "a"), at(1), read)
        again = await made.ask(("price", "a"), at(1), read)
        assert (first.value, first.moment.version, again) == ("found", 1, first)
        assert read.count == 1
        assert (await made.ask(("price", "a"), at(2), read)).moment.version == 2
        # A deleted experiment may have been created again, at the same version.
        other = at(2)._replace(created=START + timedelta(seconds=1))
        assert (await made.ask(("price", "a"), other, read)).moment == other
        assert read.count == 3

    run(test, memory.store, clock=clock)


def test_refreshing_takes_five_percent_of_the_time(memory, clock):
    async def test(made):
        read = Read(clock, seconds=10.0)
        await made.ask(("price", "a"), at(1), read)
        for version in range(2, 2000):
            clock.now += 1
            found = await made.ask(("price", "a"), at(version), read)
            assert found.moment.version <= version
            while made._works:
                await asyncio.sleep(0.001)
        assert read.count >= 8  # negative control: it is refreshed
        # The last refresh may begin when a little is left, and takes 10 s.
        assert 10.0 * read.count <= background.FREE_SECONDS + REFRESH_SHARE * clock.now + 10.0

    run(test, memory.store, clock=clock)


def test_the_budget_is_that_of_the_experiment_and_not_of_a_question(memory, clock):
    """Otherwise a thousand what-ifs would be refreshed a thousand times 5 % of the time."""

    async def test(made):
        read = Read(clock, seconds=10.0)
        for number in range(8):
            await made.ask(("price", str(number)), at(1), read)
        assert read.count == 8  # the first answers are always made
        clock.now += 200.0  # a single one of them would have rested for long enough
        for number in range(8):
            assert (await made.ask(("price", str(number)), at(2), read)).moment.version == 1
        assert read.count == 8
        await made.ask(("other", "0"), at(1), read)
        assert (await made.ask(("other", "0"), at(1), read)).moment.version == 1

    run(test, memory.store, clock=clock)


def test_an_answer_that_depends_on_the_time_is_made_again(memory, monkeypatch):
    async def test(made):
        read = Read()
        await made.ask(("price", "a"), at(1), read, max_age=3600.0)
        await made.ask(("price", "a"), at(1), read, max_age=3600.0)
        assert read.count == 1
        await made.ask(("price", "a"), at(1), read, max_age=0.0)
        assert read.count == 2

    run(test, memory.store)


def test_pages_never_wait_long(memory, monkeypatch):
    monkeypatch.setattr("varts.serve.background.pickle.dumps", lambda value: b"")
    go = threading.Event()

    def wait(experiment):
        return go.wait(60)

    async def test(made):
        began = time.monotonic()
        assert await made.ask(("price", "a"), at(1), wait) is None
        assert time.monotonic() - began < 20
        began = time.monotonic()
        assert await made.ask(("price", "a"), at(1), wait, patience=0.0) is None
        assert len(made._works) == 1  # the same call, which is still running
        go.set()
        while await made.ask(("price", "a"), at(1), wait) is None:
            await asyncio.sleep(0.01)

    run(test, memory.store)


def test_many_who_ask_the_same_get_one_answer(memory):
    async def test(made):
        read = Read()
        asked = [made.answer(("price", "a"), at(1), read) for _ in range(50)]
        found = await asyncio.gather(*asked)
        assert read.count == 1 and {id(one) for one in found} == {id(found[0])}

    run(test, memory.store)


def test_an_api_request_gets_the_moment_it_asked_for(memory):
    """Also if the answer of an earlier moment is being made when it asks."""
    go = threading.Event()
    versions = []

    def read(experiment):
        go.wait(60)
        versions.append(experiment.state.version)
        return len(versions)

    async def test(made):
        first = asyncio.create_task(made.answer(("price", "a"), at(1), read))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(made.answer(("price", "a"), at(2), read))
        await asyncio.sleep(0.05)
        go.set()
        assert ((await first).moment.version, (await second).moment.version) == (1, 2)

    run(test, memory.store)


def test_an_error_is_kept_like_an_answer(memory):
    async def test(made):
        def fail(experiment):
            raise ValueError("play must be an arm")

        found = await made.ask(("price", "a"), at(1), fail)
        assert str(found.error) == "play must be an arm" and found.value is None
        for _ in range(3):
            with pytest.raises(ValueError, match="play must be an arm") as caught:
                await made.answer(("price", "a"), at(1), fail)
        depth, where = 0, caught.value.__traceback__
        while where is not None:
            depth, where = depth + 1, where.tb_next
        assert depth < 10  # an error that is raised often collects no tracebacks

    run(test, memory.store)


def test_an_error_of_the_store_is_not_kept_for_long(memory, monkeypatch):
    failures = [StoreError("lost the connection")]

    def read(experiment):
        if failures:
            raise failures.pop()
        return "found"

    async def test(made):
        with pytest.raises(StoreError):
            await made.answer(("price", "a"), at(1), read)
        monkeypatch.setattr(background, "STORE_RETRY_SECONDS", 0.0)
        assert (await made.answer(("price", "a"), at(1), read)).value == "found"

    run(test, memory.store)


def test_a_thread_that_cannot_be_started_fails_one_request(memory, monkeypatch):
    def fail(self):
        raise RuntimeError("can't start new thread")

    async def test(made):
        with monkeypatch.context() as patched:
            patched.setattr("threading.Thread.start", fail)
            with pytest.raises(NotStarted, match="can't start new thread; repeat the request"):
                await made.answer(("price", "a"), at(1), pid)
        assert (await made.answer(("price", "a"), at(1), pid)).value == os.getpid()

    run(test, memory.store)


def test_an_answer_that_takes_too_long_for_a_request_is_a_503(memory, monkeypatch):
    monkeypatch.setattr(background, "API_PATIENCE_SECONDS", 0.05)
    go = threading.Event()

    def wait(experiment):
        go.wait(60)
        return "done"

    async def test(made):
        with pytest.raises(Problem, match="still being read") as caught:
            await made.answer(("price", "a"), at(1), wait)
        assert caught.value.kind.status == 503 and caught.value.headers["retry-after"] == "5"
        go.set()
        while made._works:
            await asyncio.sleep(0.01)
        assert (await made.answer(("price", "a"), at(1), wait)).value == "done"

    run(test, memory.store)


def test_waiting_calls_of_an_experiment_are_bounded_and_others_go_on(memory):
    go = threading.Event()
    other = varts.open("other", ["a"], store=memory.store)

    def wait(experiment):
        return go.wait(60) and experiment.name

    async def test(made):
        for number in range(MOST_WAITING):
            assert await made.ask(("price", str(number)), at(1), wait, patience=0.0) is None
        await asyncio.sleep(0.05)
        assert await made.ask(("price", "one more"), at(1), wait) is None
        assert len(made._works) == MOST_WAITING  # a page comes without it
        with pytest.raises(Problem, match="still being read; repeat the request") as caught:
            await made.answer(("price", "one more"), at(1), wait)
        assert caught.value.kind.status == 503
        with pytest.raises(Problem, match=f"{MOST_WAITING} other calls are waiting"):
            await made.run("price", about("price", wait))
        asked = asyncio.create_task(made.answer((other.name, "a"), at(1), wait))
        await asyncio.sleep(0.05)
        go.set()
        assert (await asked).value == "other"
        assert len(made._works) >= MOST_WAITING - 2  # it came second, not last

    run(test, memory.store)


# ------------------------------------------------------------------------------ the cache


def test_flooding_the_cache_of_one_experiment_leaves_those_of_others():
    cache = Cache(Limits(16, 1000), Limits(100, 10_000))
    for number in range(10):
        cache.put((f"exp-{number}", "history"), number, 10)
    for number in range(10_000):
        cache.put(("exp-0", "what-if", str(number)), number, 10)
    assert [cache.get((f"exp-{n}", "history")) for n in range(10)] == [None, *range(1, 10)]
    assert len(cache) == 9 + 16
    cache.put(("exp-1", "large"), "large", 1_000_000)  # the newest is always kept
    assert cache.get(("exp-1", "large")) == "large" and len(cache) == 1
    cache.put(("exp-1", "small"), "small", 1)
    assert cache.get(("exp-1", "large")) is None and cache.get(("exp-1", "small")) == "small"


def test_the_cache_is_bounded_in_total_and_by_bytes():
    cache = Cache(Limits(16, 100), Limits(20, 150))
    for number in range(100):
        cache.put((f"exp-{number}", "a"), number, 1)
    assert len(cache) == 20 and cache.get(("exp-79", "a")) is None
    for number in range(100):
        cache.put((f"exp-{number}", "a"), number, 50)
    assert len(cache) == 3
    for number in range(5):
        cache.put(("one", str(number)), number, 40)
    assert [cache.get(("one", str(number))) for number in range(5)] == [None, None, None, 3, 4]
    cache.drop("one")
    assert cache.get(("one", "4")) is None
    for number in range(100):
        cache.drop(f"exp-{number}")
    assert len(cache) == 0 and not cache._owned and not cache._sizes and cache._size == 0


# ------------------------------------------------------------------------------ worker processes


def pid(experiment):
    return os.getpid()


def fail(experiment):
    raise ValueError(f"no such thing in {experiment.name}")


def die(experiment):
    os._exit(3)


def sleep(experiment):
    time.sleep(60)


def grow(experiment):
    hoard = []
    while True:
        hoard.append(bytearray(10_000_000))


def crash(experiment):
    raise ZeroDivisionError("a bug")


class Odd(Exception):  # noqa: N818
    """Can be pickled, but not be unpickled."""

    def __init__(self, one, two):
        super().__init__(one)


def odd(experiment):
    raise Odd(1, 2)


def read_name(experiment):
    return experiment.name, type(experiment.state).__name__


def test_a_worker_answers_and_is_used_again(exp):
    async def test(made):
        first = await made.answer(("price", "a"), at(1, 99), pid)
        second = await made.answer(("price", "b"), at(1, 99), pid)
        assert first.value == second.value != os.getpid()
        found = await made.answer(("price", "c"), at(1, 99), read_name)
        assert found.value == ("price", State.__name__)

    run(test, exp.store)


@in_processes
def test_a_worker_reads_the_same_as_this_process(exp):
    evaluate = partial(
        Experiment.evaluate, policy=varts.always("12"), against=varts.EvenSplit(), settle=False
    )

    async def test(made):
        there = await made.answer(("price", "a"), at(1, 99), evaluate)
        assert str(there.value) == str(evaluate(exp))

    run(test, exp.store)


@in_processes
def test_a_worker_reads_postgres(postgres, monkeypatch):
    monkeypatch.setattr(background, "SHORT", 0)
    url = postgres()
    exp = varts.open("price", ["9", "12"], store=url)
    exp.reward_many([(one.id, float(one.arm)) for one in exp.decide_many(20)])

    async def test(made):
        there = await made.answer(("price", "a"), at(1, 99), Experiment.history)
        assert there.value.frame.equals(exp.history().frame)

    run(test, exp.store)
    exp.close()


def test_short_logs_and_stores_in_memory_are_read_here(memory, tmp_path):
    short = varts.open("price", ["9", "12"], store=f"sqlite:///{tmp_path / 'short.db'}")
    for store, rows in ((memory.store, 10**9), (short.store, 5)):

        async def test(made, rows=rows):
            assert (await made.answer(("price", "a"), at(1, rows), pid)).value == os.getpid()

        run(test, store)
    short.close()


@in_processes
def test_what_goes_wrong_in_a_worker_is_known_here(exp):
    async def test(made):
        with pytest.raises(ValueError, match="no such thing in price"):
            await made.answer(("price", "a"), at(1, 99), fail)
        with pytest.raises(ZeroDivisionError) as caught:
            await made.answer(("price", "b"), at(1, 99), crash)
        assert "test_background.py" in caught.value.__notes__[0]  # where it happened, for the log
        with pytest.raises(RuntimeError, match="Odd: 1"):
            await made.answer(("price", "c"), at(1, 99), odd)
        with pytest.raises(Killed, match="the worker process died with exit code 3"):
            await made.answer(("price", "d"), at(1, 99), die)
        assert (await made.answer(("price", "e"), at(1, 99), read_name)).value[0] == "price"

    run(test, exp.store)


@in_processes
def test_a_call_that_takes_too_long_is_ended(exp):
    async def test(made):
        await made.answer(("price", "warm"), at(1, 99), pid)
        made.deadline = 0.2
        with pytest.raises(Killed, match=r"took longer than 0.2 s and was ended") as caught:
            await made.answer(("price", "a"), at(1, 99), sleep)
        assert caught.value.kind.status == 503
        began = time.monotonic()  # asking again at once doesn't run it again
        with pytest.raises(Killed):
            await made.answer(("price", "a"), at(1, 99), sleep)
        assert time.monotonic() - began < 0.2
        made.deadline = 60.0
        assert (await made.answer(("price", "b"), at(1, 99), pid)).value

    run(test, exp.store)


@in_processes
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_a_call_that_needs_too_much_memory_is_ended(exp):
    async def test(made):
        with pytest.raises(Killed, match="needed more than 600 MB and was ended"):
            await made.answer(("price", "a"), at(1, 99), grow)
        assert (await made.answer(("price", "b"), at(1, 99), pid)).value

    run(test, exp.store, memory=600 * 2**20)


@in_processes
def test_an_answer_that_is_too_large_is_refused(exp):
    async def test(made):
        with pytest.raises(
            Problem, match="the answer must have at most 67,108,864 bytes"
        ) as caught:
            await made.answer(("price", "a"), at(1, 99), huge)
        assert caught.value.kind.status == 422

    run(test, exp.store)


def huge(experiment):
    return bytes(background.LARGEST_ANSWER + 1)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM])
def test_a_worker_that_cannot_be_started_fails_one_request(exp, monkeypatch, code):
    starts = []

    def start(self):
        starts.append(1)
        raise OSError(code, os.strerror(code))

    async def test(made):
        with monkeypatch.context() as patched:
            patched.setattr("multiprocessing.context.SpawnProcess.start", start)
            with pytest.raises(NotStarted, match="no worker process could be started") as caught:
                await made.answer(("price", "a"), at(1, 99), pid)
            assert caught.value.kind.status == 503
            plan = made.start_plan({"arms": 2})
            while made.find_plan(plan.id).status == "running":
                await asyncio.sleep(0.01)
            assert "no worker process" in made.find_plan(plan.id).detail
        assert len(starts) == 2
        assert (await made.answer(("price", "a"), at(1, 99), pid)).value != os.getpid()
        # A plan that failed can be asked for again; this one has no prior.
        plan = made.start_plan({"arms": 2})
        assert plan.status == "running"
        while made.find_plan(plan.id).status == "running":
            await asyncio.sleep(0.05)
        assert "prior" in made.find_plan(plan.id).detail

    run(test, exp.store)


def test_a_process_without_file_descriptors_recovers(exp):
    """As after a flood of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def test(made):
        await made.answer(("price", "small"), at(0), pid)  # what it needs, it has opened
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            for _ in range(3):
                with pytest.raises(NotStarted, match="too many open files"):
                    await made.answer(("price", "a"), at(1, 99), pid)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await made.answer(("price", "a"), at(1, 99), pid)).value != os.getpid()

    run(test, exp.store)


@in_processes
def test_a_worker_that_died_while_idle_is_replaced(exp):
    async def test(made):
        first = (await made.answer(("price", "a"), at(1, 99), pid)).value
        os.kill(first, 9)
        (worker,) = made._workers
        worker._process.join(10)
        assert (await made.answer(("price", "b"), at(1, 99), pid)).value != first
        assert len(made._workers) == 1

    run(test, exp.store)


@in_processes
def test_a_service_that_ends_waits_for_no_call(exp):
    async def main():
        made = Background(exp.store)
        await made.answer(("price", "warm"), at(1, 99), pid)
        asked = asyncio.create_task(made.answer(("price", "a"), at(1, 99), sleep))
        once = asyncio.create_task(made.run("price", about("price", sleep)))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await made.close()
        assert time.monotonic() - began < 20
        for task in (asked, once):
            with pytest.raises((Problem, asyncio.CancelledError)):
                await task
        with pytest.raises(Problem, match="shutting down"):
            await made.ask(("price", "b"), at(1, 99), pid)

    asyncio.run(main())
    assert not [one for one in multiprocessing.active_children() if one.name == "varts-background"]


@in_processes
def test_a_worker_leaves_no_files_behind(exp, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def test(made):
        folder = (await made.answer(("price", "a"), at(1, 99), leave_file)).value
        assert folder.startswith(str(tmp_path)) and os.path.isdir(folder)

    run(test, exp.store)
    assert not list(tmp_path.glob("varts-*"))


@in_processes
def test_a_worker_is_there_before_it_is_needed(exp, memory):
    async def test(made):
        made.warm_up()
        async with asyncio.timeout(60):
            while not made._idle:
                await asyncio.sleep(0.01)
        (worker,) = made._workers
        assert (await made.answer(("price", "a"), at(1, 99), pid)).value == worker.pid

    run(test, exp.store)

    async def nothing(made):
        made.warm_up()
        await asyncio.sleep(0.2)
        assert not made._workers

    run(nothing, memory.store)


ORPHAN = """
import os, signal, sys
from varts.serve.background import Worker
if __name__ == "__main__":
    print(Worker(None, False).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@in_processes
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_a_worker_ends_when_its_service_is_killed(tmp_path):
    script = tmp_path / "service.py"
    script.write_text(ORPHAN)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    stat = Path(f"/proc/{int(done.stdout)}/stat")
    until = time.monotonic() + 30
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_sandbox_that_forbids_nice_is_no_reason_to_fail(monkeypatch):
    """As the systemd unit does, with SystemCallFilter=~@resources."""
    asked = []

    def forbid(*arguments, **options):
        asked.append(arguments)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "nice", forbid)
    monkeypatch.setattr("pathlib.Path.write_text", forbid)
    background._give_way()
    assert len(asked) == 2


def leave_file(experiment):
    folder = tempfile.gettempdir()
    Path(folder, "left.ndjson").write_text("line")
    return folder


@in_processes
def test_a_store_that_is_gone_is_a_store_error(exp, tmp_path):
    async def test(made):
        await made.answer(("price", "a"), at(1, 99), read_name)
        exp.store.close()
        for file in tmp_path.iterdir():
            if file.is_file():
                file.unlink()
        with pytest.raises(StoreError):
            await made.answer(("price", "b"), at(1, 99), read_name)

    run(test, exp.store)


@in_processes
def test_a_call_that_is_not_kept_keeps_its_place_if_its_request_goes(exp):
    """Otherwise cancelled downloads would pile up processes."""

    async def test(made):
        task = asyncio.create_task(made.run("price", about("price", nap)))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert made._owner("price").lock.locked()
        assert await made.run("price", about("price", pid))
        assert len(made._workers) == 1

    run(test, exp.store)


def nap(experiment):
    time.sleep(0.5)


# ------------------------------------------------------------------------------ small answers


def test_a_look_knows_all_changes_and_the_latest_corrections(memory, monkeypatch):
    monkeypatch.setattr(background, "MOST_CORRECTIONS", 5)
    made = Background(memory.store)
    decided = memory.decide_many(20)
    memory.reward_many([(one.id, 1.0) for one in decided])
    assert [one.kind for one in made.look("price").changes] == ["create"]
    memory.pause_arm("9", by="ops", why="broken")
    for one in decided[:12]:
        memory.amend(one.id, 2.0)
    memory.resume_arm("9")
    found = made.look("price")
    kinds = ["create", "pause-arm", *5 * ["amend"], "resume-arm"]
    assert [one.kind for one in found.changes] == kinds
    every = memory.changes()
    assert [one for one in every if one.kind != "amend"] == [
        one for one in found.changes if one.kind != "amend"
    ]
    assert [one for one in every if one.kind == "amend"][-5:] == found.changes[2:7]
    assert made.look("price") == found
    assert found.moment.version == memory.state.version == every[-1].version
    assert (found.moment.decided, found.moment.settled) == (20, 20)
    assert made.moment("price") == found.moment


def test_a_look_reads_changes_page_by_page(memory, monkeypatch):
    monkeypatch.setattr(background, "MOST_CHANGES", 3)
    glance = type(memory.store).glance
    monkeypatch.setattr(
        type(memory.store), "glance", lambda store, name, after: glance(store, name, after, 3)
    )
    for n in range(8):
        memory.configure(floor=(n + 1) / 100)
    made = Background(memory.store)
    assert made.look("price").changes == memory.changes()
    memory.configure(floor=0.2)
    assert made.look("price").changes == memory.changes()


def test_another_experiment_of_the_same_name_has_other_changes(memory):
    memory.pause_arm("9")
    made, store = Background(memory.store), memory.store
    assert len(made.look("price").changes) == 2
    memory.delete("price", export=None)
    with pytest.raises(varts.live.UnknownExperiment, match=r"unknown experiment 'price'$"):
        made.look("price")
    varts.open("price", ["a", "b"], store=store)
    (created,) = made.look("price").changes
    assert created.change["arms"] == ["a", "b"]
