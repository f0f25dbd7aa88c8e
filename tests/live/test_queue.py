"""Queues and forks: every wait ends, and a process that dies or is interrupted blocks no other."""

import errno
import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

import varts
from tests.live import chaos
from tests.live.chaos import in_new_process
from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live.errors import StoreError
from varts.live.store.queue import Deadline, FileQueue, WaitedTooLong

pytestmark = [pytest.mark.no_cover, pytest.mark.when_changed("src/varts/live")]


@shared
def test_children_go_on_when_their_parent_has_closed(store_url):
    """SQLite's locks are not inherited but the memory of them is: a child that kept its parent's
    connections would write into a file that the parent deletes when it closes."""
    told = in_new_process("family", store_url)
    assert told["codes"] == [0] * 12 and told["stderr"] == ""
    assert told["acknowledged"].count(5) >= 12 and len(told["acknowledged"]) == 3 + 12
    with varts.open("family", store=store_url) as exp:
        assert exp.verify(replay=True).ok
        assert exp.report().frame["n"].sum() == sum(told["acknowledged"])


def test_a_place_in_the_queue_dies_with_its_process(url, file):
    """...even if that process had forked a child that lives on."""
    exp = with_rewards(url)
    stay_read, stay = os.pipe()
    born_read, born = os.pipe()

    def parent():
        inside = threading.Event()

        def hold():
            with exp.store.engine._queue.place(Deadline(60)):
                inside.set()
                threading.Event().wait()

        threading.Thread(target=hold, daemon=True).start()
        inside.wait()
        os.close(stay)
        chaos.forked(lambda: (os.write(born, b"x"), os.read(stay_read, 1)))
        os.read(stay_read, 1)

    pid = chaos.forked(parent)
    os.read(born_read, 1)
    queue = os.open(f"{file}-queue", os.O_RDWR)
    with pytest.raises(BlockingIOError):  # the parent has it
        fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the child has not
    for descriptor in (queue, stay, stay_read, born, born_read):
        os.close(descriptor)
    exp.close()


# ------------------------------------------------------------------------------ interruptions


class Interruption(BaseException):
    """What a signal handler raises."""


def in_thread(action):
    """What it answers in another thread."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(action()))
    thread.start()
    thread.join()
    return answers[0]


def is_free(queue):
    """Whether another thread gets a place, all by itself."""

    def enter():
        with suppress(WaitedTooLong), queue.place(Deadline(2)):
            return len(queue._line) == 1
        return False

    return in_thread(enter)


def use(queue, seconds=60.0):
    with suppress(WaitedTooLong), queue.place(Deadline(seconds)):
        pass


@pytest.fixture
def file_queue(file):
    file.touch()
    return FileQueue(file)


@pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
def test_signals_leave_nothing_half_written_and_no_other_process_blocked(store_url):
    program = f"from tests.live.test_queue import ring_alarms; ring_alarms({store_url!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=chaos.ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    if store_url.startswith("sqlite"):
        with varts.open("carousel", store=store_url) as exp:  # the other process is this one
            assert exp.reward(exp.decide().id, 1.0)
            assert exp.verify(replay=True).ok


def ring_alarms(store_url):
    """Decisions and rewards of one thread, interrupted by alarms at random moments, next to others.

    An alarm may leave a place taken. Then calls end with a StoreError within the store's timeout,
    and a store that is opened again works.
    """
    url = f"{store_url}?timeout=2"
    exp, rng = with_rewards(url), random.Random(1)
    over, broken = threading.Event(), []

    def work():
        with suppress(StoreError):  # the place is taken
            while not over.is_set():
                exp.reward(exp.decide().id, 1.0)

    def ring(*_):
        raise Interruption

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    before = signal.signal(signal.SIGALRM, ring)
    interrupted = 0
    try:
        for thread in threads:
            thread.start()
        for _ in range(200):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.01))
                    for _ in range(100):
                        exp.reward(exp.decide().id, 1.0)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except (Interruption, AssertionError):  # SQLAlchemy asserts that it isn't interrupted
                interrupted += 1
            except StoreError as error:
                broken.append(error)
                break
    finally:
        signal.signal(signal.SIGALRM, before)
        over.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()  # every wait ends
    assert interrupted > 100 or broken
    if not exp.store.memory:
        exp.close()
        exp = varts.open("carousel", store=url)  # recovers
    if exp.store.memory and broken:
        return  # nothing to reopen: the store is gone with its process
    assert exp.reward(exp.decide().id, 1.0)
    assert exp.verify(replay=True).ok
    exp.close()


@pytest.mark.parametrize("operation", ["every", "unlock", "wait"])
def test_a_file_system_without_such_locks_is_no_error(url, monkeypatch, operation):
    exp, flock = with_rewards(url), fcntl.flock

    def refuse(file, flags):
        kind = "unlock" if flags & fcntl.LOCK_UN else "lock" if flags & fcntl.LOCK_NB else "wait"
        if operation == "wait" and kind == "lock":
            raise BlockingIOError(errno.EWOULDBLOCK, "taken")
        if operation in ("every", kind):
            raise OSError(errno.ENOLCK, "No locks available")
        flock(file, flags)

    monkeypatch.setattr(fcntl, "flock", refuse)
    for _ in range(3):
        assert exp.reward(exp.decide().id, 1.0)
    monkeypatch.undo()
    exp.close()
    assert rewards(url) == 8


def test_without_another_thread_there_is_no_queue_but_no_error_either(file_queue, monkeypatch):
    other = FileQueue(file_queue.database)

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with other.place(Deadline(60)):
        monkeypatch.setattr(threading.Thread, "start", refuse)
        use(file_queue)
        monkeypatch.undo()
    assert is_free(file_queue) and is_free(other)


# ------------------------------------------------------------------------------ forks


def forked_within(limit, action):
    """Fork, in less than this, and the exit code of the child."""
    began = time.monotonic()
    pid = chaos.forked(action)
    assert time.monotonic() - began < limit
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@shared
def test_a_fork_gets_its_turn_while_others_come_and_go(store_url):
    exp = with_rewards(store_url)
    over = threading.Event()

    def look():
        while not over.is_set():
            exp.report()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert forked_within(30, lambda: exp.reward(exp.decide().id, 1.0)) == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()
    exp.close()
    assert rewards(store_url) == 10


class Reader:
    """A thread that is in the middle of reading."""

    def __init__(self, exp):
        self.exp, self.inside, self.over = exp, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.read)

    def read(self):
        with self.exp._session.reading() as transaction:
            transaction.head(self.exp.name, self.exp._session.seed, 0)
            self.inside.set()
            self.over.wait()
            transaction.head(self.exp.name, self.exp._session.seed, 0)

    def __enter__(self):
        self.thread.start()
        assert self.inside.wait(30)

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()


def test_a_fork_does_not_wait_for_a_long_reading_on_postgresql(postgres):
    url = postgres()
    exp = with_rewards(url)
    with Reader(exp):
        assert forked_within(30, lambda: exp.reward(exp.decide().id, 1.0)) == 0
    exp.close()
    assert rewards(url) == 6


@pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
def test_a_child_of_a_fork_that_could_not_wait_any_longer_is_told(store_url):
    """What SQLite remembers of a transaction must not be inherited: the child may not go on."""
    exp = with_rewards(f"{store_url}?timeout=0.2")

    def child():
        told = "forked while another thread had used the store for 0.2 s"
        refused(exp.decide, told)
        if not exp.store.memory:
            refused(lambda: varts.open("carousel", store=store_url), "forked while")

    with Reader(exp):
        assert forked_within(30, child) == 0
    assert exp.reward(exp.decide().id, 1.0)
    assert forked_within(30, lambda: exp.reward(exp.decide().id, 1.0)) == 0
    exp.close()
    if not exp.store.memory:
        assert rewards(store_url) == 7
