"""What goes wrong around a store: files that vanish, networks that fall silent, other versions of
varts, and several users of one experiment at the same moment."""

import math
import os
import shutil
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from queue import SimpleQueue

import polars as pl
import pytest

import varts
from tests.live import chaos
from tests.live.chaos import ARMS
from tests.live.conformance import at_once, earn
from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live import InvalidReward, Store, StoreError
from varts.live.store import queue as queue_module
from varts.live.store.queue import Deadline, Queue
from varts.live.store.schema import SCHEMA_VERSION

NEXT_SCHEMA = f"{int(SCHEMA_VERSION) + 1:04}"

HANG_SECONDS = 60  # what takes longer hangs, even on a busy machine

by_package = pytest.mark.when_changed("src/varts/live")


@contextmanager
def tables(url):
    """Run SQL on a store, past varts: `sql(text)` returns the rows, and every statement commits."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///").partition("?")[0]
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            yield lambda text: connection.execute(text).fetchall()
        return
    import psycopg

    with psycopg.connect(url.partition("&timeout")[0], autocommit=True) as connection:

        def sql(text):
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

        yield sql


TABLES = ("experiments", "decisions", "events", "statistics", "traffic", "units", "schema")


def contents(url):
    """All rows of all tables."""
    with tables(url) as sql:
        return {name: sorted(map(repr, sql(f"SELECT * FROM varts_{name}"))) for name in TABLES}


def exported(exp, folder, **which):
    """The ids that an export has."""
    exp.export(folder / "log.parquet", **which)
    return pl.read_parquet(folder / "log.parquet")["id"].to_list()


def limited(url, seconds):
    """The same store, with a limit for waiting."""
    return f"{url}{'&' if '?' in url else '?'}timeout={seconds}"


class Crowd:
    """Threads that repeat something until the context ends, which raises the first of their errors.

    >>> with Crowd(lambda: None):
    ...     pass
    """

    def __init__(self, *actions):
        self.over, self.errors, self.times = threading.Event(), [], [0] * len(actions)
        self.threads = [
            threading.Thread(target=self._repeat, args=(number, action))
            for number, action in enumerate(actions)
        ]

    def _repeat(self, number, action):
        try:
            while not self.over.is_set():
                action()
                self.times[number] += 1
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        for thread in self.threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]
        assert error[0] is not None or all(self.times)  # everybody had a turn


def wait_until(condition):
    """Until something is so."""
    until = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


# ------------------------------------------------------------------------------ opening


def test_threads_that_open_different_new_stores_do_not_disturb_each_other(tmp_path):
    for round in range(10):
        urls = [f"sqlite:///{tmp_path}/{round}-{number}.db" for number in range(4)]
        for exp in at_once(lambda number, url: with_rewards(url), urls):
            exp.close()
        assert [rewards(url) for url in urls] == [5] * 4


# ------------------------------------------------------------------------------ files


def test_a_copy_made_by_vacuum_into_lets_readers_and_writers_work_at_once(url, file, tmp_path):
    """VACUUM INTO makes a file that isn't in WAL mode, whatever the original was in."""
    copy = tmp_path / "copy.db"
    with_rewards(url).close()
    with tables(url) as sql:
        sql(f"VACUUM INTO '{copy}'")
    with closing(sqlite3.connect(copy)) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with varts.open("carousel", store=f"sqlite:///{copy}?timeout=2") as exp:
        with closing(sqlite3.connect(copy, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM varts_events").fetchone()
            assert exp.reward(exp.decide().id, 1.0)
            reader.execute("COMMIT")
        assert exp.report().frame["n"].sum() == 6


def test_a_copy_that_is_put_in_place_of_the_file_gets_into_wal_mode(url, file, tmp_path):
    copy = tmp_path / "copy.db"
    exp = with_rewards(f"{url}?timeout=2")
    with tables(url) as sql:
        sql(f"VACUUM INTO '{copy}'")
    exp.close()
    os.replace(copy, file)
    assert exp.report().frame["n"].sum() == 5
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM varts_events").fetchone()
        assert exp.reward(exp.decide().id, 1.0)
        reader.execute("COMMIT")
    exp.close()


def remove(folder):
    for path in folder.glob("varts.db*"):
        path.unlink()


def move(folder):
    folder.rename(folder.with_name("elsewhere"))


def swap_folder(folder):
    """An empty disk at the same place."""
    move(folder)
    folder.mkdir()


calls = {
    "decide": lambda exp, id: exp.decide(),
    "decide with an id": lambda exp, id: exp.decide(id="mine"),
    "reward": lambda exp, id: exp.reward(id, 1.0),
    "change": lambda exp, id: exp.pause_arm(ARMS[0]),
    "report": lambda exp, id: exp.report(),
    "verify": lambda exp, id: exp.verify(),
    "list": lambda exp, id: exp.store.names(),
}


@pytest.mark.parametrize("vanish", [remove, move, swap_folder])
def test_a_file_that_is_gone_is_an_error_and_nothing_is_acknowledged(tmp_path, vanish):
    folder = tmp_path / "disk"
    folder.mkdir()
    with with_rewards(f"sqlite:///{folder}/varts.db") as exp:
        id = exp.decide().id
        vanish(folder)
        for call in calls.values():
            refused(lambda call=call: call(exp, id), "is gone", "deleted, moved or unmounted")
        assert not (folder / "varts.db").exists()  # an empty store would be worse than none
        if vanish is move:
            (tmp_path / "elsewhere").rename(folder)
            assert exp.reward(id, 1.0) and exp.report().frame["n"].sum() == 6


def test_a_file_that_vanishes_during_a_call_is_an_error(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    url, vanishing = f"sqlite:///{folder}/varts.db", False

    def clock():  # asked in the middle of a transaction
        if vanishing:
            move(folder)
        return time.time_ns() // 1000

    with varts.open("carousel", ARMS, store=Store(url, clock)) as exp:
        id = exp.decide().id
        vanishing = True
        refused(lambda: exp.reward(id, 1.0), "is gone", "may not have taken effect")


def test_the_service_says_that_its_file_is_gone(tmp_path):
    import httpx

    from tests.serve.processes import serve

    folder = tmp_path / "disk"
    folder.mkdir()
    store = f"sqlite:///{folder}/varts.db"
    with_rewards(store).close()
    with ExitStack() as open_until_the_end:
        process = open_until_the_end.enter_context(serve(tmp_path, "--no-auth", store=store))
        http = httpx.Client(base_url=process.address, timeout=HANG_SECONDS)
        open_until_the_end.enter_context(http)
        decide = "/v1/experiments/carousel/decisions"
        assert http.post(decide, json={"decisions": [{}]}).status_code == 200
        assert http.get("/readyz").status_code == 200
        move(folder)
        assert http.post(decide, json={"decisions": [{}]}).status_code == 503
        wait_until(lambda: http.get("/readyz").status_code == 503)  # its answer is kept a second
        assert http.get("/healthz").status_code == 200
        (tmp_path / "elsewhere").rename(folder)
        wait_until(lambda: http.get("/readyz").status_code == 200)
        assert http.post(decide, json={"decisions": [{}]}).status_code == 200


def test_a_volume_with_the_same_inode_number_is_another_file(url, file, tmp_path, monkeypatch):
    """Inode numbers are only unique within a device. A restored snapshot has the same ones."""
    backup = tmp_path / "backup.db"
    exp = with_rewards(url)
    exp.close()
    shutil.copy(file, backup)
    ids = [decision.id for decision in exp.decide_many(3)]
    old = os.stat(file)
    for path in (f"{file}-wal", f"{file}-shm"):  # connections are open, as before an unmount
        os.rename(path, f"{tmp_path}/{os.path.basename(path)}-old")
    os.replace(backup, file)
    real = os.stat

    def on_another_device(path, **options):
        found = real(path, **options)
        if not os.path.samestat(found, real(file)):
            return found
        return os.stat_result((*found[:1], old.st_ino, old.st_dev + 1, *found[3:10]))

    monkeypatch.setattr(os, "stat", on_another_device)
    acknowledged = 0
    for id in ids:  # the new file has no such decisions
        with suppress(StoreError, varts.live.UnknownDecision):
            acknowledged += exp.reward(id, 1.0)
    for decision in exp.decide_many(2):
        acknowledged += exp.reward(decision.id, 1.0)
    monkeypatch.undo()
    exp.close()
    assert acknowledged == 2 and rewards(url) == 5 + acknowledged


def test_a_relative_path_stays_the_same_file_after_chdir(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    exp = with_rewards("sqlite:///varts.db")
    monkeypatch.chdir(there)
    queue, file = here / "varts.db-queue", here / "varts.db"

    os.utime(queue, (0, 0))  # the clock that all processes share stamps this file
    assert exp.reward(exp.decide().id, 1.0)
    assert queue.stat().st_mtime > 0

    def child():
        assert exp.reward(exp.decide().id, 1.0)
        with queue.open() as lock:  # somebody else is inside: it has to wait for the same queue
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
            thread = threading.Thread(target=exp.decide, daemon=True)
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()

    assert os.waitstatus_to_exitcode(os.waitpid(chaos.forked(child), 0)[1]) == 0
    assert exp.report().frame["n"].sum() == 7
    exp.close()
    shutil.copy(file, here / "copy.db")
    exp.reward(exp.decide().id, 1.0)  # which the copy doesn't have
    exp.close()
    os.replace(here / "copy.db", file)
    assert exp.report().frame["n"].sum() == 7
    file.unlink()
    refused(exp.report, "is gone")
    assert list(there.iterdir()) == []


# ------------------------------------------------------------------------------ queues


class Interruption(BaseException):
    """What a signal handler raises."""


def test_a_lost_wake_up_delays_the_next_thread_but_keeps_it_out_of_nothing(monkeypatch):
    """The exception hits a thread that has left its place and is about to wake the next one."""

    class Mailbox(SimpleQueue):
        interrupts = False

        def put(self, item):
            if Mailbox.interrupts:
                Mailbox.interrupts = False
                raise Interruption
            super().put(item)

    monkeypatch.setattr(queue_module, "SimpleQueue", Mailbox)
    queue, inside, leave = Queue(), threading.Event(), threading.Event()

    def hold():
        with suppress(Interruption), queue.place(Deadline(HANG_SECONDS)):
            inside.set()
            leave.wait(HANG_SECONDS)
            Mailbox.interrupts = True

    def wait():
        with queue.place(Deadline(HANG_SECONDS)):
            pass

    holder, waiter = threading.Thread(target=hold), threading.Thread(target=wait, daemon=True)
    holder.start()
    inside.wait(HANG_SECONDS)
    waiter.start()
    wait_until(lambda: len(queue._line) == 2)
    leave.set()
    holder.join(HANG_SECONDS)
    assert not Mailbox.interrupts  # the wake-up was lost
    waiter.join(HANG_SECONDS / 2)
    assert not waiter.is_alive()


# ------------------------------------------------------------------------------ repairs


@shared
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE varts_statistics SET mean = mean + 3, version = version + 1 WHERE arm = 0",
        # Not in the log, so that a repair has nothing to put in its place.
        "INSERT INTO varts_statistics (experiment, metric, arm, block, rewards, n, mean, m2, m3, "
        "m4, origin, at, version, units, unit_squares, unit_products, unit_counts) "
        "SELECT experiment, metric, arm, 7, 9, 9.0, 5.0, 1.0, 0.0, 1.0, "
        "0.0, at, version, 0, 0.0, 0.0, 0.0 FROM varts_statistics WHERE arm = 1",
    ],
    ids=["changed", "added"],
)
def test_a_process_goes_by_the_repair_that_another_one_made(store_url, damage):
    with with_rewards(store_url, 40) as exp, varts.open("carousel", store=store_url) as other:
        with tables(store_url) as sql:
            sql(damage)
        exp.report()  # it has seen the damage
        assert not other.verify()
        assert other.verify(repair=True).repaired
        made = exp.decide_many(20)
        found = other.verify(replay=True)
        assert found.ok and found.replayed == len(made), str(found)


# ------------------------------------------------------------------------------ several users


@pytest.mark.gate
@by_package
@shared
def test_an_experiment_that_is_in_use_verifies(store_url):
    """Sticky units get their arms, and new ones when an arm is paused, while somebody verifies."""
    exp = varts.open("carousel", ARMS, store=store_url, sticky=True, seed=1)
    others = [varts.open("carousel", store=store_url) for _ in range(3)]
    numbers = iter(range(10**9))

    def visit(exp):
        # Every second one is new, and the others come again.
        pair = [next(numbers) for _ in range(2)]
        units = [f"unit {number // 2 if number % 2 else number}" for number in pair]
        made = exp.decide_many(units)
        exp.reward_each([(decision.id, 1.0) for decision in made])

    def pause_and_resume():
        exp.pause_arm(ARMS[1])
        exp.resume_arm(ARMS[1])

    with Crowd(*(lambda one=one: visit(one) for one in others), pause_and_resume):
        rounds, found = 0, exp.verify(replay=True)
        while rounds < 12 or found.decisions <= 20:
            found = exp.verify(replay=True)
            assert found.ok, str(found)
            rounds += 1


@pytest.mark.gate
@shared
def test_an_arm_that_is_added_as_paused_gets_no_traffic(store_url):
    with with_rewards(store_url) as exp, varts.open("carousel", store=store_url) as other:
        new = [f"new {number}" for number in range(8)]
        with Crowd(lambda: other.decide_many(5)) as crowd:
            for arm in new:
                exp.add_arm(arm, paused=True)
                before = crowd.times[0]
                wait_until(lambda before=before: crowd.times[0] > before + 1 or crowd.errors)
        frame = exp.report().frame
        assert frame.filter(pl.col("arm").is_in(new))["share"].to_list() == [0.0] * len(new)
        exp.resume_arm(new[0])
        assert new[0] in {decision.arm for decision in other.decide_many(50)}


# ------------------------------------------------------------------------------ other versions

with_schema = {
    **calls,
    "decide for a unit": lambda exp, id: exp.decide("somebody"),
    "reward each": lambda exp, id: exp.reward_each([(id, 1.0)]),
    "part": lambda exp, id: exp.add_reward(id, 1.0, key="order 1"),
    "amend": lambda exp, id: exp.amend(id, 2.0),
    "void": lambda exp, id: exp.void(id),
    "find": lambda exp, id: exp.decision(id),
    "changes": lambda exp, id: exp.changes(),
    "history": lambda exp, id: exp.history(),
    "check": lambda exp, id: exp.check(),
    "repair": lambda exp, id: exp.verify(repair=True),
    "configure": lambda exp, id: exp.configure(floor=0.05, recount=True),
    "add an arm": lambda exp, id: exp.add_arm("new"),
    "stop": lambda exp, id: exp.stop(),
    "forget": lambda exp, id: exp.forget_unit("somebody"),
    "delete": lambda exp, id: exp.delete("carousel", export=None),
    "states": lambda exp, id: exp.store.states(),
    "summaries": lambda exp, id: exp.store.summaries(),
    "activities": lambda exp, id: exp.store.activities(["carousel"]),
    "create": lambda exp, id: varts.open("another", ARMS, store=exp.store),
}


@pytest.mark.gate
@shared
@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
def test_a_newer_schema_ends_every_call_and_nothing_is_written(store_url, tmp_path, sticky):
    with varts.open("carousel", ARMS, store=store_url, sticky=sticky, seed=1) as exp:
        earn(exp, 5)
        rewarded, id = exp.decide_many(["somebody", "somebody else"])
        exp.reward(rewarded.id, 1.0)
        with tables(store_url) as sql:
            sql(f"UPDATE varts_schema SET version_num = '{NEXT_SCHEMA}'")
        before = contents(store_url)
        newer = "newer version of varts", NEXT_SCHEMA, "Upgrade varts"
        for call in with_schema.values():
            refused(lambda call=call: call(exp, id.id), *newer)
        refused(lambda: exp.export(tmp_path / "log.csv"), *newer)
        refused(lambda: varts.open("carousel", store=store_url), *newer)
        assert contents(store_url) == before
        with tables(store_url) as sql:
            sql(f"UPDATE varts_schema SET version_num = '{SCHEMA_VERSION}'")
        assert exp.reward(id.id, 1.0) and exp.verify(replay=True).ok


# ------------------------------------------------------------------------------ numbers


@shared
def test_parts_that_add_up_to_infinity_are_refused(store_url):
    with varts.open("carousel", ARMS, store=store_url, metrics=["revenue"], seed=1) as exp:
        first, second = (decision.id for decision in exp.decide_many(2))
        assert exp.add_reward(first, 1e308, key="1", revenue=1e308)
        with pytest.raises(
            InvalidReward, match=r"reward of decision .* must be a finite number in all"
        ):
            exp.add_reward(first, 1e308, key="2")
        assert exp.add_reward(first, 1.0, key="2", revenue=1e308)  # a metric counts as 1e70 at most
        parts = [(first, 1e308, {}, "3"), (second, 1.0, {}, "1"), (first, -1e308, {}, "4")]
        infinite, *fine = exp.reward_each(parts)
        assert isinstance(infinite, InvalidReward) and fine == [True, True]
        assert exp.decision(first).reward == 0.0
        with tables(store_url) as sql:
            numbers = sql("SELECT raw, value, 0, 0, 0 FROM varts_events WHERE raw IS NOT NULL")
            numbers += sql("SELECT n, mean, m2, m3, m4 FROM varts_statistics")
            assert not any("inf" in body.lower() for (body,) in sql(
                "SELECT body FROM varts_events WHERE body IS NOT NULL"
            ))  # fmt: skip
        assert all(math.isfinite(number) for row in numbers for number in row)
        assert exp.verify().ok


@shared
def test_a_version_that_no_database_can_hold_is_refused(store_url):
    with with_rewards(store_url) as exp:
        for name in ("after", "limit"):
            with pytest.raises(ValueError, match=f"{name} must be"):
                exp.changes(**{name: 2**70})
        assert exp.changes(after=2**63 - 1) == []


def test_a_metric_called_held_is_a_metric_like_any_other():
    gains = {}
    for name in ("held", "other"):
        options = {"metrics": [name], "holdout": 0.3}
        with varts.open("carousel", ARMS, store="memory://", seed=1, **options) as exp:
            units = [f"unit {number}" for number in range(200)]
            exp.decide_many(units, ids=units)
            exp.reward_many(
                (id, number % 7, {name: 1000.0 + number}) for number, id in enumerate(units)
            )
            gains[name] = exp.history(points=4).gains
            assert exp.verify().ok
    assert gains["held"] == gains["other"] != ()


def secure_delete(exp):
    with exp.store.engine.transaction() as connection:
        return connection.execute("PRAGMA secure_delete").fetchone()


@pytest.mark.parametrize(("before", "number"), [("OFF", 0), ("ON", 1), ("FAST", 2)])
def test_deleted_data_is_overwritten_and_then_all_is_as_before(url, before, number):
    with with_rewards(url) as exp:
        exp.decide("somebody")
        with exp.store.engine.transaction() as connection:
            connection.execute(f"PRAGMA secure_delete = {before}")
        assert secure_delete(exp) == (number,)  # the one connection in the pool
        exp.forget_unit("somebody")
        assert secure_delete(exp) == (number,)
        exp.delete("carousel", export=None)
        with exp.store.engine.transaction() as connection:
            assert connection.execute("PRAGMA secure_delete").fetchone() == (number,)


@by_package
@shared
def test_a_store_may_have_more_experiments_than_a_statement_has_parameters(store_url):
    many = 33_000  # SQLite takes 32,766 parameters
    with with_rewards(store_url) as exp:
        numbers = (
            "WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers "
            f"WHERE n < {many}) "
        )
        with tables(store_url) as sql:
            sql(
                "INSERT INTO varts_experiments (id, name, seed, created, version, revision, "
                f"rewards, swept, config) {numbers} SELECT n, 'name ' || n, seed, created, "
                "version, revision, rewards, swept, config FROM varts_experiments, numbers"
            )
        assert len(exp.store.states()) == len(exp.store.names()) == many
        assert len(exp.store.summaries()) == many
        assert len(exp.store.activities(exp.store.names())) == many
