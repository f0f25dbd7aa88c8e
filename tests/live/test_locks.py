"""Queues and forks: nobody keeps a lock that is not theirs, whatever interrupts them."""

import errno
import fcntl
import gc
import linecache
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
from varts.live import forks, locks
from varts.live.forks import Gate
from varts.live.locks import Deadline, FairQueue, Queue, WaitedTooLong

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
            with exp.store._queue.place(Deadline(60)):
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


def interrupt(action, moment):
    """Do it, and raise an exception at this line of locks.py or forks.py; the exception, or None if
    it was over by then.

    A tracer may raise where no signal handler can: where a lock is left, which is one instruction,
    and at a `try`, which is none. These lines are spared.
    """
    count, held = 0, set()

    def trace(frame, event, value):
        nonlocal count
        file = frame.f_code.co_filename
        if file not in (locks.__file__, forks.__file__):
            return None
        line = linecache.getline(file, frame.f_lineno).strip()
        if event != "line" or line == "try:":
            return trace
        if line.startswith("with self.lock:"):
            held.symmetric_difference_update({(frame, frame.f_lineno)})
            if (frame, frame.f_lineno) not in held:
                return trace
        count += 1
        if count == moment:
            raise Interruption
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except Interruption as interruption:
        return interruption
    finally:
        sys.settrace(before)
    return None


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
            return len(queue.inside) == 1 and not queue.waiting
        return False

    return in_thread(enter)


def use(queue, seconds=60.0):
    with suppress(WaitedTooLong), queue.place(Deadline(seconds)):
        pass


def every_interruption(action):
    """Interrupt it at each moment in turn, and keep the exceptions, as a debugger would."""
    kept = []
    for moment in range(1, 1000):
        interruption = interrupt(action, moment)
        if interruption is None:
            assert len(kept) > 10  # it was interrupted
            kept.clear()
            gc.collect()
            return
        kept.append(interruption)
        yield moment
    raise AssertionError("it never came to its end")


def test_an_exception_at_any_moment_leaves_no_place_taken():
    queue = Queue(1)
    for moment in every_interruption(lambda: use(queue)):
        assert is_free(queue), moment


def test_an_exception_at_any_moment_of_waiting_leaves_no_place_taken():
    queue, over = Queue(1), threading.Event()

    def hold(inside):
        with queue.place(Deadline(60)):
            inside.set()
            over.wait()

    for seconds in (0.001, 60.0):

        def wait(seconds=seconds):
            inside = threading.Event()
            over.clear()
            thread = threading.Thread(target=hold, args=(inside,))
            thread.start()
            inside.wait()
            if seconds > 1:
                threading.Timer(0.002, over.set).start()
            try:
                use(queue, seconds)
            finally:
                over.set()
                thread.join()

        for moment in every_interruption(wait):
            assert is_free(queue), moment


dropped = pytest.mark.filterwarnings("ignore::ResourceWarning")  # a file that nobody has closed


@pytest.fixture
def file_queue(file):
    file.touch()
    return FairQueue(str(file))


@dropped
def test_an_exception_at_any_moment_leaves_no_file_locked(file_queue):
    for moment in every_interruption(lambda: use(file_queue)):
        assert is_free(file_queue), moment


@dropped
def test_an_exception_at_any_moment_of_waiting_leaves_no_file_locked(file_queue):
    """For a process that lets the file go after a while, or does not before they give up."""
    for seconds in (0.001, 60.0):

        def wait(seconds=seconds):
            with open(f"{file_queue.database}-queue", "a") as other:  # as of another process
                fcntl.flock(other, fcntl.LOCK_EX)
                release = threading.Timer(0.002, fcntl.flock, (other, fcntl.LOCK_UN))
                if seconds > 1:
                    release.start()
                try:
                    use(file_queue, seconds)
                finally:
                    if seconds > 1:
                        release.join()

        for moment in every_interruption(wait):
            assert is_free(file_queue) and is_free(FairQueue(file_queue.database)), moment


def test_an_exception_at_any_moment_leaves_the_gate_as_it_was():
    gate = Gate()

    def enter():
        with gate.passage(Deadline(60)):
            pass

    for moment in every_interruption(enter):
        assert not gate.inside, moment

    def fork():
        try:
            assert gate.shut(Deadline(60))
        finally:
            gate.reopen()

    for moment in every_interruption(lambda: (fork(), None)):
        gate.reopen()  # as the hook after the fork does, come what may
        assert in_thread(lambda: enter() or True), moment


@pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
def test_real_signals_at_any_moment_leave_the_store_usable(store_url):
    """In a process that nobody traces: the exception may leave a lock of the tracer's own held.

    One run of this test has hung on SQLite, on a busy machine, for a reason that is not known yet;
    it was not seen again in six runs at once. Until it is found, two hangs in a row are a failure.
    """
    program = f"from tests.live.test_locks import ring_alarms; ring_alarms({store_url!r})"
    command = [sys.executable, "-c", program]
    given = {"cwd": chaos.ROOT, "capture_output": True, "text": True, "check": False}
    try:
        done = subprocess.run(command, timeout=120, **given)
    except subprocess.TimeoutExpired:
        done = subprocess.run(command, timeout=120, **given)
    assert done.returncode == 0, done.stderr


@dropped
def ring_alarms(store_url):
    """Alarms at random moments of decisions and rewards, with other threads at work."""
    exp = with_rewards(f"{store_url}?timeout=20")
    over, failed, rng = threading.Event(), [], random.Random(1)

    def work():
        try:
            while not over.is_set():
                exp.reward(exp.decide().id, 1.0)
        except BaseException as error:
            failed.append(error)

    def ring(*_):
        raise Interruption

    threads = [threading.Thread(target=work) for _ in range(2)]
    before = signal.signal(signal.SIGALRM, ring)
    interrupted = 0
    try:
        for thread in threads:
            thread.start()
        for _ in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.01))
                for _ in range(100):
                    exp.reward(exp.decide().id, 1.0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (Interruption, AssertionError):  # SQLAlchemy asserts that it is not interrupted
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        over.set()
        for thread in threads:
            thread.join()
    assert failed == [] and interrupted > 100
    assert in_thread(lambda: exp.reward(exp.decide().id, 1.0))
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
    other = FairQueue(file_queue.database)

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
        with self.exp._snapshot.reading() as transaction:
            self.exp._snapshot.head(transaction, 0)
            self.inside.set()
            self.over.wait()
            self.exp._snapshot.head(transaction, 0)

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
        told = "forked while another thread had been using it for 0.2 s"
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
