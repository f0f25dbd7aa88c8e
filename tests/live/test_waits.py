"""Every wait has a limit: for other threads, for processes that are paused, for a silent server."""

import os
import signal
import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

import varts
from tests.live import chaos
from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live import Store
from varts.live.store import postgres as postgresql
from varts.live.store.queue import FileQueue

SLACK = 20  # seconds that a busy machine may take on top of a limit of one or two


def limited(url, seconds):
    """The same store, with a limit."""
    return f"{url}{'&' if '?' in url else '?'}timeout={seconds}"


@contextmanager
def paused_in_a_transaction(url, attempt=lambda change: change()):
    """Another process that holds what a writer holds, and is paused; it goes on at the end."""

    def hold():
        exp = varts.open("carousel", store=url)

        def change():
            with exp._session.changing():
                os.kill(os.getpid(), signal.SIGSTOP)

        attempt(change)
        exp.close()

    pid = chaos.forked(hold)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.gate
@shared
def test_a_paused_process_holds_nobody_up_for_longer_than_the_limit(store_url):
    with with_rewards(store_url) as exp:
        first, second = (d.id for d in exp.decide_many(2))
    with paused_in_a_transaction(store_url):
        began = time.monotonic()
        with varts.open("carousel", store=limited(store_url, 2)) as exp:  # opening does not wait
            assert exp.report().frame["n"].sum() == 5 and exp.verify().ok  # nor does reading
            assert time.monotonic() - began < 2 + SLACK
            refused(lambda: exp.reward(first, 1.0), "waited 2 s", "process", "nothing was written")
            refused(lambda: exp.configure(floor=0.1), "waited 2 s", "nothing was written")
            if exp.store.sqlite:
                refused(exp.decide, "waited 2 s", "nothing was written")
            else:
                assert exp.decide().arm in chaos.ARMS  # which only adds a row
            assert time.monotonic() - began < 6 + SLACK
    with varts.open("carousel", store=limited(store_url, 2)) as exp:
        assert exp.reward(first, 1.0) and exp.reward(second, 1.0)
    assert rewards(store_url) == 7


def test_the_limit_holds_behind_a_program_that_does_not_queue(url, file):
    """Another program that writes to the file, such as sqlite3 itself: SQLite's own lock."""
    exp = with_rewards(limited(url, 1))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    refused(exp.decide, "waited 1 s", "another process", "nothing was written")
    assert time.monotonic() - began < 1 + SLACK
    other.execute("ROLLBACK")
    other.close()
    assert exp.decide().arm in chaos.ARMS
    exp.close()


def test_who_gives_up_leaves_one_thread_in_the_queue_which_steps_aside(url, file):
    """However many give up; and it keeps the place for nobody."""
    exp = with_rewards(limited(url, 0.2))
    before = threading.active_count()
    with paused_in_a_transaction(url):
        for _ in range(5):
            refused(exp.decide, "waited 0.2 s for other processes")
        assert threading.active_count() == before + 1
    exp.close()
    assert rewards(url) == 5
    with varts.open("carousel", store=limited(url, SLACK)) as other:
        assert other.decide().arm in chaos.ARMS
    deadline = time.monotonic() + SLACK
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_place_that_was_given_up_serves_the_next_caller(url):
    exp = with_rewards(limited(url, 0.2))
    with paused_in_a_transaction(url):
        refused(exp.decide, "waited 0.2 s")
        exp.store.engine.timeout = SLACK
        answers = []
        thread = threading.Thread(target=lambda: answers.append(exp.decide()))
        thread.start()
    thread.join()
    assert len(answers) == 1
    exp.close()


def test_postgresql_ends_the_session_of_a_paused_process(postgres, monkeypatch):
    """While it is paused others go on; when it wakes up it is told, and nothing is written."""
    monkeypatch.setattr(postgresql, "SHORTEST_PAUSE_SECONDS", 0.5)
    url = postgres()
    with with_rewards(url) as exp:
        id = exp.decide().id
    with (
        paused_in_a_transaction(limited(url, 1), lambda change: refused(change, "same id")),
        varts.open("carousel", store=limited(url, SLACK)) as exp,
    ):
        assert exp.reward(id, 1.0)
    assert rewards(url) == 6


def test_threads_wait_for_a_store_in_memory_as_long_as_it_says():
    exp = with_rewards("memory://waits?timeout=0.2")
    assert varts.open("carousel", store="memory://waits").store is exp.store
    with exp._session.writing():
        for call in (exp.decide, exp.report):
            in_thread = []
            thread = threading.Thread(
                target=lambda call=call, told=in_thread: told.append(
                    refused(call, "waited 0.2 s for other threads", "memory://waits")
                )
            )
            thread.start()
            thread.join()
            assert len(in_thread) == 1
    assert exp.decide().arm in chaos.ARMS


def test_threads_wait_for_a_connection_as_long_as_the_store_says(postgres):
    exp = with_rewards(limited(postgres(), 1))
    with ExitStack() as stack:
        for _ in range(postgresql.MOST_CONNECTIONS):
            stack.enter_context(exp._session.reading())
        refused(exp.decide, "waited 1 s for other threads of this process", "nothing was written")
    assert exp.decide().arm in chaos.ARMS
    exp.close()


def test_a_statement_has_a_limit(postgres):
    exp = with_rewards(limited(postgres(), 0.1))

    def sleep():
        with exp._session.reading() as transaction:
            transaction.connection.execute("SELECT pg_sleep(1.5)")

    refused(sleep, "statement timeout", "nothing was written")
    exp.close()


def test_a_server_that_never_answers_is_given_up():
    """It accepts connections, as a paused server does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"postgresql://me@127.0.0.1:{listener.getsockname()[1]}/name?timeout=1"
        began = time.monotonic()
        refused(lambda: Store(url), "timeout expired", "nothing was written")
        assert time.monotonic() - began < 2 + SLACK  # the driver's shortest time is 2 s


# ------------------------------------------------------------------------------ the option


def test_the_timeout_of_the_url_is_the_one_that_counts(url, postgres):
    """And does not switch the fair queue off."""
    exp = with_rewards(limited(url, 5))
    assert isinstance(exp.store.engine._queue, FileQueue)
    assert exp.store.name == exp.store.address == f"{url}?timeout=5"
    with exp._session.writing() as transaction:
        (found,) = transaction.connection.execute("PRAGMA busy_timeout").fetchone()
        assert 0 < found <= 5000
    exp.close()
    exp = with_rewards(limited(postgres(), 5))
    with exp._session.writing() as transaction:

        def shown(setting):
            return transaction.connection.execute(f"SHOW {setting}").fetchone()[0]

        assert shown("lock_timeout") == "5s"
        assert shown("statement_timeout") == "6s"
        assert shown("idle_in_transaction_session_timeout") == "10s"
    exp.close()


def test_without_an_option_it_is_a_minute(url):
    store = Store(url)
    assert store.timeout == 60 and store.name == url
    store.close()


@pytest.mark.parametrize("start", ["sqlite:///x.db", "memory://", "postgresql://me@127.0.0.1:1/x"])
@pytest.mark.parametrize("value", ["0", "-1", "long", "nan", "inf", "1e7", "5&timeout=6"])
def test_a_timeout_that_is_none_is_refused(start, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(
        lambda: Store(f"{start}?timeout={value}"),
        "store must have a timeout in seconds, above 0 and at most 1000000, got",
        error=ValueError,
    )
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ who may hold it


@pytest.mark.parametrize(
    ("database", "queue"),
    [(0o600, 0o600), (0o644, 0o600), (0o660, 0o660), (0o664, 0o660), (0o666, 0o666)],
)
def test_the_queue_is_open_to_those_who_may_write(url, file, database, queue):
    exp = with_rewards(url)
    beside = file.with_name(file.name + "-queue")
    for found in (None, 0o644, 0o777):
        if found is None:
            beside.unlink()
        else:
            beside.chmod(found)
        file.chmod(database)
        exp.decide()
        assert beside.stat().st_mode & 0o777 == queue
    exp.close()


def test_a_link_in_place_of_the_queue_is_not_followed(url, file, tmp_path):
    exp = with_rewards(url)
    beside, elsewhere = file.with_name(file.name + "-queue"), tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    elsewhere.chmod(0o644)
    beside.unlink()
    beside.symlink_to(elsewhere)
    assert exp.decide().arm in chaos.ARMS
    assert elsewhere.stat().st_mode & 0o777 == 0o644 and elsewhere.read_text() == "precious"
    beside.unlink()
    beside.symlink_to(tmp_path / "not there")
    assert exp.decide().arm in chaos.ARMS
    assert not (tmp_path / "not there").exists()
    exp.close()
