"""A store that many share: all at once, by threads, while others read; and stores that cannot be
used: read-only, full, broken, lost, from another version."""

import gc
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import traceback
import weakref
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

import varts
from tests.live import chaos
from tests.live.chaos import ARMS, in_new_process, say_last, start_in_new_process
from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live import Store, StoreError, UnknownExperiment
from varts.live.store import postgres as postgresql
from varts.live.store.engine import Connection
from varts.live.store.schema import SCHEMA_VERSION
from varts.live.store.transaction import AGGREGATES, ARRIVALS, CORRECTIONS, Transaction

NOBODY = 65534


# ------------------------------------------------------------------------------ many at once


@pytest.mark.parametrize("options", ["", pytest.param("?timeout=50", marks=pytest.mark.full)])
def test_32_processes_open_a_new_file_at_once(url, options):
    _all_get_the_same_experiment(url + options)


def test_32_processes_open_a_new_database_at_once(postgres):
    _all_get_the_same_experiment(postgres())


def _all_get_the_same_experiment(url):
    rush = in_new_process("stampede", url, 32)
    assert [answer for answer in rush["answers"] if "error" in answer] == []
    assert rush["codes"] == [0] * 32 and rush["stderr"] == ""
    assert len({answer["seed"] for answer in rush["answers"]}) == 1
    store = Store(url)
    assert store.names() == ["rush"]
    with varts.open("rush", store=store) as exp:
        verification = exp.verify(replay=True)
        assert verification.ok and verification.decisions == 32


def test_opening_waits_for_whoever_uses_the_file(url, file):
    """SQLite itself waits nearly everywhere, but not when a file changes to WAL mode."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with sqlite3.connect(file, timeout=60) as impatient, pytest.raises(sqlite3.OperationalError):
        impatient.execute("PRAGMA journal_mode = WAL")
    impatient.close()
    timer = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    timer.start()
    assert rewards(with_rewards(url).store.name) == 5
    timer.join()
    other.close()


@shared
def test_reports_are_consistent_while_others_write(store_url, tmp_path):
    say_last(tmp_path, 4)
    chaos.open_all(store_url)["plain"].close()
    options = json.dumps({"kills": 0, "workers": 4})
    writers = start_in_new_process("torment", store_url, tmp_path, options)
    exp = varts.open("plain", store=store_url)
    seen = []
    while writers.poll() is None:
        report = exp.report()
        frame = report.frame
        n, pending = frame["n"].sum(), frame["pending"].sum()
        # Of one moment: every event but the first one is a reward, no arm has more rewards than
        # decisions, and shares are of the same decisions that pending ones are among.
        assert report.version == n + 1
        made = n + pending
        for arm, share, counted, open_ in frame.select("arm", "share", "n", "pending").rows():
            assert open_ >= 0 and round(share * max(made, 1), 6) == counted + open_, arm
        seen.append((n, made, report.version))
    out, err = writers.communicate()
    assert json.loads(out)["failed"] == [], err
    assert seen == sorted(seen)
    assert len({n for n, _, _ in seen}) > 5  # it did watch them at work
    assert exp.report().frame["n"].sum() == 2 * chaos.IDS
    exp.close()
    assert chaos.check(store_url, tmp_path)[0] == []


@shared
def test_a_reader_stops_no_writer_and_a_writer_no_reader(store_url):
    """One thread, so that anyone who waited would wait for ever."""
    exp, other = with_rewards(store_url), varts.open("carousel", store=store_url)
    with other._session.reading() as transaction:
        before = other._session.reload(transaction)[0]
        exp.reward(exp.decide().id, 1.0)
        assert other._session.reload(transaction)[0] == before  # the reader still sees its moment
    with exp._session.writing(lock=True) as transaction:
        transaction.connection.execute("UPDATE varts_experiments SET swept = 7")
        assert other.report().frame["n"].sum() == 6
        assert other.verify().ok
    exp.close()
    other.close()


@pytest.mark.gate
def test_threads_share_one_experiment(store_url):
    exp = varts.open("carousel", ARMS, store=store_url, seed=1)
    failed, start = [], threading.Barrier(16)

    def one(number):
        try:
            start.wait()
            for i in range(8):
                decision = exp.decide(unit=f"unit-{i}", id=f"{number // 2}-{i}")  # two ask for each
                exp.reward(decision.id, float(i))
                batch = exp.decide_many(3)
                assert exp.reward_many([(d.id, 2.0) for d in batch]) == [True] * 3
                if i == 4:
                    exp.report()
        except Exception:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert exp.report().frame["n"].sum() == 16 * 8 * 3 + 8 * 8
    assert exp.verify(replay=True).ok
    exp.close()


def test_batches_of_the_same_ids_do_not_wait_for_each_other(postgres, monkeypatch):
    """Rows that two transactions add in opposite orders are a deadlock, unless they are sorted."""
    orders = []
    with with_rewards(postgres()) as exp:
        execute = Connection.execute

        def listen(self, text, given=()):
            if "INSERT INTO varts_decisions" in text:
                orders.append([row["id"] for row in json.loads(given["rows"])])
            return execute(self, text, given)

        monkeypatch.setattr(Connection, "execute", listen)
        for ids in ("abcd", "dcba"):
            asked = [f"{ids}{id}" for id in ids]
            assert [d.id for d in exp.decide_many(4, asked)] == asked
    assert orders == [[f"{ids}{id}" for id in "abcd"] for ids in ("abcd", "dcba")]


@shared
def test_no_call_reads_the_whole_log(store_url, monkeypatch):
    """A planner that knows little of a new table prefers to read all of an experiment: every look
    into the log must go by an index on the decision, however many are looked for."""
    plans, execute = [], Connection.execute
    exp = with_rewards(store_url, 2000)

    def explain(self, text, given=()):
        if text.startswith("SELECT") and ("varts_events" in text or "json" in text):
            plan = "EXPLAIN QUERY PLAN" if exp.store.sqlite else "EXPLAIN"
            plans.append("\n".join(map(str, execute(self, f"{plan} {text}", given).fetchall())))
        return execute(self, text, given)

    monkeypatch.setattr(Connection, "execute", explain)
    ids = [f"new-{i}" for i in range(50)]
    exp.decide_many(50, ids)
    exp.reward_many([(id, 1.0) for id in ids])
    exp.reward(exp.decide(id="one").id, 1.0)
    exp.close()
    # A look at decisions for each decide, at decisions and rewards for each reward.
    by_decision = [p for p in plans if "varts_events_decision" in p or "varts_decisions_id" in p]
    assert len(by_decision) == 6
    # All others look for the batch of an event, by its version.
    by_version = [p for p in plans if p not in by_decision]
    assert by_version and all("PRIMARY KEY" in p or "varts_events_pkey" in p for p in by_version)
    # The only table that may be read as a whole has one row.
    whole = re.findall(r"(?:Seq Scan on|SCAN) (varts\w+)", "\n".join(plans))
    assert set(whole) == {"varts_schema"}


@shared
@pytest.mark.parametrize(
    ("asked", "index"),
    [
        (CORRECTIONS, "varts_events_corrects"),
        (ARRIVALS, "varts_events_arrives"),
        (AGGREGATES, "varts_events_arrives"),
    ],
    ids=["corrections", "arrivals", "aggregates"],
)
def test_few_events_are_found_without_reading_the_others(store_url, asked, index):
    """The key of the table begins with the experiment, too, and leads through its whole log."""
    with with_rewards(store_url, 2000) as exp, exp.store.reading(exp._session.id) as transaction:
        plan = "EXPLAIN QUERY PLAN" if exp.store.sqlite else "EXPLAIN"
        text = asked.sqlite if exp.store.sqlite else asked.postgres
        given = {"x": exp._session.id, "keys": '["a", "b"]'}
        steps = transaction.connection.execute(f"{plan} {text}", given).fetchall()
        found = "\n".join(map(str, steps))
    assert index in found
    assert "PRIMARY KEY" not in found and "Seq Scan" not in found and "_pkey" not in found


# ------------------------------------------------------------------------------ what cannot be used


@shared
def test_a_newer_database_is_refused(store_url):
    with_rewards(store_url).close()
    engine = sa.create_engine(store_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE varts_schema SET version_num = '9001'")
    refused(
        lambda: varts.open("carousel", store=store_url), "newer", "9001", SCHEMA_VERSION, "upgrade"
    )
    with engine.begin() as connection:  # as it was before
        asked = "SELECT version_num FROM varts_schema"
        assert connection.exec_driver_sql(asked).scalar() == "9001"
        connection.exec_driver_sql(f"UPDATE varts_schema SET version_num = '{SCHEMA_VERSION}'")
    engine.dispose()
    assert rewards(store_url) == 5


def test_a_file_opened_read_only_can_be_read(url, file):
    with_rewards(url).close()
    with varts.open("carousel", store=f"sqlite:///file:{file}?mode=ro&uri=true") as exp:
        assert exp.report().frame["n"].sum() == 5
        assert exp.verify(replay=True).ok
        refused(exp.decide, "readonly", "nothing was written")
        refused(lambda: exp.decide_many(3), "readonly")
        refused(lambda: varts.open("another", ARMS, store=exp.store), "readonly")
        refused(lambda: exp.configure(floor=0.1), "readonly")
    assert rewards(url) == 5


def read_everything(url, folder):
    """What can be done with a store that nobody can write to, and what cannot."""
    store = Store(url)
    assert store.read_only and store.names() == ["carousel"]
    with varts.open("carousel", store=store) as exp:
        assert exp.report().frame["n"].sum() == 5
        assert exp.verify(replay=True).ok
        assert exp.export(folder / "log.csv") == 6
        for write in (exp.decide, lambda: exp.configure(floor=0.1)):
            refused(write, "nothing was written")
    refused(lambda: varts.open("new", ARMS, store=url), "nothing was written")


def reading(url, folder, user="None"):
    """The command that does so in a new process, perhaps as another user: polars, which reports and
    exports need, does not survive a fork."""
    root = Path(__file__).parents[2]
    code = (
        f"import os, sys; sys.path.insert(0, {str(root)!r}); import pathlib, polars; "
        "from tests.live.test_store import become, read_everything; "
        f"become({user}); read_everything({url!r}, pathlib.Path({str(folder)!r}))"
    )
    return [sys.executable, "-c", code]


def become(user):
    """Have no rights but those of this user."""
    if user is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def succeeds(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_on_a_read_only_disk_can_be_read(tmp_path):
    """In a process with mounts of its own, which vanish with it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with with_rewards(f"sqlite:///{disk}/varts.db") as exp:
        exp.decide()
    (disk / "varts.db-queue").unlink()
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    command = reading(f"sqlite:///{disk}/varts.db", tmp_path)
    succeeds(["unshare", "--mount", "sh", "-c", mount, disk, *command])
    assert sorted(path.name for path in disk.iterdir()) == ["varts.db"]


@pytest.fixture
def open_folder():
    """A folder that everybody may enter; pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="varts-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(action):
    """In a child that is nobody, since root may do everything."""

    def child():
        become(NOBODY)
        action()

    assert os.waitstatus_to_exitcode(os.waitpid(chaos.forked(child), 0)[1]) == 0


def test_a_file_of_somebody_else_can_be_read(open_folder):
    url = f"sqlite:///{open_folder}/varts.db"
    with with_rewards(url) as exp:
        exp.decide()
    place = open_folder / "place"
    place.mkdir()
    place.chmod(0o777)
    (open_folder / "varts.db").chmod(0o444)
    open_folder.chmod(0o555)
    succeeds(reading(url, place, NOBODY))


def test_a_file_that_changes_while_it_is_read_as_frozen_is_told(open_folder):
    """Somebody who may write comes while somebody who may not is reading."""
    url = f"sqlite:///{open_folder}/varts.db"
    with_rewards(url).close()
    open_folder.chmod(0o555)
    asked_read, asked = os.pipe()
    done_read, done = os.pipe()

    def reader():
        exp = varts.open("carousel", store=url)

        def read():
            with exp._session.reading() as transaction:
                transaction.head(exp.name, exp._session.seed, 0)
                os.write(asked, b"x")
                os.read(done_read, 1)

        refused(read, "changed while it was read", "repeat")
        assert exp.verify().rewards == 10

    def writer():
        os.read(asked_read, 1)
        with_rewards(url).close()
        os.write(done, b"x")

    thread = threading.Thread(target=writer)
    thread.start()
    as_nobody(reader)
    thread.join()
    for descriptor in (asked_read, asked, done_read, done):
        os.close(descriptor)


def test_a_read_only_file_of_another_version_is_told(file):
    file.touch()
    refused(
        lambda: Store(f"sqlite:///file:{file}?mode=ro&uri=true"),
        "read-only and was not written by this version",
    )


def test_a_file_without_permission_is_refused(open_folder):
    url = f"sqlite:///{open_folder}/varts.db"
    with_rewards(url).close()
    (open_folder / "varts.db").chmod(0o444)
    (open_folder / "varts.db-queue").unlink()
    open_folder.chmod(0o555)

    def nobody():
        new = f"sqlite:///{open_folder}/new.db"
        refused(lambda: with_rewards(url), "nothing was written")
        refused(lambda: varts.open("new", ARMS, store=new), "write to it")

    as_nobody(nobody)
    open_folder.chmod(0o755)
    (open_folder / "varts.db").chmod(0o644)
    assert rewards(url) == 5


def fill_until_refused(exp, *words):
    """How many rewards were acknowledged before it was full."""
    acknowledged = 0

    def fill():
        nonlocal acknowledged
        for _ in range(2000):
            batch = [d.id for d in exp.decide_many([f"unit-{'x' * 100}"] * 20)]
            acknowledged += sum(exp.reward_many([(id, 1.0) for id in batch]))

    refused(fill, "nothing was written", *words)
    return acknowledged


def test_a_full_disk_is_told_and_loses_nothing(url, monkeypatch):
    exp = with_rewards(url)
    pages, connect = 100, exp.store.engine._connect

    def limited():
        connection = connect()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(exp.store.engine, "_connect", limited)
    exp.close()
    acknowledged = fill_until_refused(exp, "full")
    assert acknowledged > 0
    refused(lambda: [exp.decide_many(200) for _ in range(20)], "full")  # still
    assert exp.report().frame["n"].sum() == 5 + acknowledged
    assert rewards(url) == 5 + acknowledged  # for others too
    pages = 10**6
    exp.close()
    for decision in exp.decide_many(50):  # somebody has made room
        assert exp.reward(decision.id, 1.0)
    exp.close()
    assert rewards(url) == 5 + acknowledged + 50


def test_a_file_that_may_not_grow_loses_nothing(url):
    """The kernel refuses to write more, in the middle of SQLite's own log."""
    read, write = os.pipe()

    def limited():
        exp = with_rewards(url)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        acknowledged = fill_until_refused(exp)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        acknowledged += exp.reward(exp.decide().id, 1.0)
        os.write(write, b"%d" % acknowledged)

    pid = chaos.forked(limited)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    acknowledged = int(os.read(read, 99))
    os.close(read)
    os.close(write)
    assert acknowledged > 1
    assert rewards(url) == 5 + acknowledged


@pytest.mark.parametrize("content", [b"hello", b"SQLite format 3\0" + bytes(range(256)) * 32])
def test_a_file_that_is_no_database_is_refused(file, url, content):
    file.write_bytes(content)
    refused(lambda: varts.open("carousel", ARMS, store=url), "not a database", str(file))
    assert file.read_bytes() == content


def test_a_damaged_file_is_told(file, url):
    with_rewards(url, 300).close()
    damaged = bytearray(file.read_bytes())
    damaged[5 * 4096 :] = os.urandom(len(damaged) - 5 * 4096)
    file.write_bytes(damaged)

    def use():
        with varts.open("carousel", store=url) as exp:
            exp.verify()
            exp.decide()

    refused(use, "malformed")


@shared
def test_an_empty_table_of_the_schema_is_told(store_url):
    with_rewards(store_url).close()
    engine = sa.create_engine(store_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM varts_schema")
    engine.dispose()
    refused(lambda: Store(store_url), "varts_schema", "is empty", "backup")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_is_not_in_utf8_is_told(postgres, encoding):
    url = sa.make_url(postgres())
    name = f"{url.database}_{encoding.lower()}"
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0"
        )
    engine.dispose()
    other = url.set(database=name).render_as_string(hide_password=False)
    refused(lambda: Store(other), "encoding UTF8", encoding, "CREATE DATABASE")


@pytest.mark.parametrize("config", ["xx", "{}", "[]", "5", '{"arms": 3}'])
def test_a_configuration_that_cannot_be_read_is_told(file, url, config):
    with_rewards(url).close()
    connection = sqlite3.connect(file)
    connection.execute("UPDATE varts_experiments SET config = ?", (config,))
    connection.commit()
    connection.close()
    refused(lambda: varts.open("carousel", store=url), "configuration of experiment 'carousel'")


def test_a_folder_that_is_not_there(tmp_path):
    url = f"sqlite:///{tmp_path / 'none' / 'varts.db'}"
    refused(lambda: varts.open("carousel", ARMS, store=url), "does its folder exist")


@shared
def test_an_experiment_that_is_not_there(store_url):
    with_rewards(store_url).close()
    refused(
        lambda: varts.open("carousell", store=store_url),
        "carousell",
        "give its arms",
        error=UnknownExperiment,
    )


@contextmanager
def ending_connections(url):
    """A function that ends all connections to the database, as an administrator does."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))

    def end_all():
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    yield end_all
    engine.dispose()


def test_a_lost_connection_is_told_and_the_next_call_works(postgres, monkeypatch):
    """Nobody knows whether a commit arrived whose answer did not: the sentence must not say so."""
    url = postgres()
    exp = with_rewards(url)
    decision = exp.decide()
    with ending_connections(url) as end_all:
        end_all()  # idle ones: nobody notices
        assert exp.decide().arm in ARMS
        save = Transaction.save
        monkeypatch.setattr(Transaction, "save", lambda *args: (save(*args), end_all()))
        error = refused(lambda: exp.reward(decision.id, 1.0), "lost the connection", "same id")
        assert "nothing was written" not in str(error)
        monkeypatch.undo()
        assert exp.reward(decision.id, 1.0)
        exp.close()
    assert rewards(url) == 6


def test_a_connection_that_ends_between_two_calls_in_a_row_is_noticed(postgres, monkeypatch):
    """It is tested before it is used, unless it was used just now."""
    url = postgres()
    with with_rewards(url) as exp, ending_connections(url) as end_all:
        end_all()
        assert exp.decide().arm in ARMS
        end_all()
        monkeypatch.setattr(postgresql, "FRESH_SECONDS", 60.0)
        refused(exp.decide, "lost the connection", "same id")  # without a test it is an error
        assert exp.decide().arm in ARMS
    assert rewards(url) == 5


def test_a_store_that_is_only_looked_at_makes_no_tables(tmp_path, postgres):
    for url in (f"sqlite:///{tmp_path / 'varts.db'}", postgres()):
        with pytest.raises(StoreError, match="is read-only and was not written by this version"):
            Store(url, read_only=True)
        with varts.open("price", ["9", "12"], store=url, window=60, missing=0) as exp:
            exp.decide(id="a")
        store = Store(url, clock=lambda: 2**60, read_only=True)  # long after the window
        exp = varts.open("price", store=store)
        assert exp.report().frame["pending"].sum() == 1 and exp.state.version == 1
        store.close()
        with varts.open("price", store=Store(url, clock=lambda: 2**60)) as exp:
            assert exp.report().frame["pending"].sum() == 0  # one that may write settles it


@shared
def test_a_store_that_nobody_refers_to_closes_its_connections(store_url):
    """...even if nobody closed it. PostgreSQL would run out of connections."""
    exp = with_rewards(store_url)
    engine = exp.store.engine
    idle = engine._idle[0] if engine.sqlite else engine._pool.raw_connection().driver_connection
    engine = weakref.ref(engine)
    del exp
    gc.collect()
    assert engine() is None
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        idle.execute("SELECT 1")
