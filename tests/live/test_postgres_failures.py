"""PostgreSQL in trouble: a silent network, cut connections, a pooler, and races for one log."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import polars as pl
import psycopg
import pytest
import sqlalchemy as sa

import varts
from tests.live import chaos
from tests.live.chaos import ARMS
from tests.live.proxy import Proxy
from tests.live.stores import refused, rewards, with_rewards
from tests.live.test_failures import Crowd, limited, tables, wait_until
from tests.serve.processes import serve
from varts.live import Store, StoreError
from varts.live.errors import ConnectionLost
from varts.live.session import Session
from varts.live.store import postgres as postgresql
from varts.live.store import transaction as queries
from varts.live.store.transaction import Transaction
from varts.serve.runtime import PROBE_LASTS_SECONDS

HANG_SECONDS = 30  # what takes longer hangs: the limits below are one or two seconds, plus four
PROMISED_SECONDS = 4  # a silent network is noticed so long after the limit of the store

pytestmark = [pytest.mark.no_cover, pytest.mark.when_changed("src/varts/live")]


class Attempt(threading.Thread):
    """A call in a thread of its own: `outcome()` is what it returned or raised, once it has ended.

    The thread is a daemon, so that a call that hangs fails the test and doesn't stop it.
    """

    def __init__(self, call):
        super().__init__(daemon=True)
        self._call, self._outcome, self.seconds = call, None, None
        self.start()

    def run(self):
        began = time.monotonic()
        try:
            self._outcome = self._call()
        except BaseException as error:
            self._outcome = error
        self.seconds = time.monotonic() - began

    def outcome(self):
        self.join(HANG_SECONDS)
        assert not self.is_alive(), "the call hangs"
        return self._outcome


def fill_pool(exp, count):
    """Leave this number of idle connections in the pool of a store; returns them."""
    with ExitStack() as stack:
        begun = [stack.enter_context(exp._session.reading()) for _ in range(count)]
        drivers = [transaction.connection.driver.connection for transaction in begun]
    assert exp.store.engine._pool.pool.checkedin() == count
    time.sleep(2 * postgresql.FRESH_SECONDS)  # so that they are tested before they are used
    return drivers


def value(url, text):
    """The only value that a query finds, past varts."""
    with tables(url) as sql:
        ((found,),) = sql(text)
        return found


lost_or_late = pytest.mark.parametrize("lose", [True, False], ids=["lost", "late"])


# ------------------------------------------------------------------------------ silence


@lost_or_late
def test_every_call_ends_when_the_network_is_silent(postgres, lose):
    """Idle connections are half-open, new ones get no answer, and later all is well again."""
    url = postgres()
    with Proxy(url) as proxy, with_rewards(proxy.url(timeout=1)) as exp:
        id = exp.decide().id
        fill_pool(exp, 3)
        proxy.silence(lose)
        calls = {
            "decide": exp.decide,
            "decide with an id": lambda: exp.decide(id="mine"),
            "reward": lambda: exp.reward(id, 1.0),
            "report": exp.report,
            "verify": exp.verify,
            "list": exp.store.names,
            "open": lambda: Store(proxy.url(timeout=1)),
        }
        attempts = {name: Attempt(call) for name, call in calls.items()}
        for name, attempt in attempts.items():
            found = attempt.outcome()
            assert isinstance(found, StoreError), (name, found)
            assert "nothing was written" in str(found), name
        proxy.forward()
        assert exp.reward(id, 1.0) and not exp.reward(id, 1.0)
        assert exp.decide(id="mine") == exp.decide(id="mine")
        assert exp.verify(replay=True).decisions == 7
    assert rewards(url) == 6


@lost_or_late
def test_silence_in_the_middle_of_a_transaction(postgres, monkeypatch, lose):
    """Before the commit of a reward, and before the only statement of a decision."""
    if lose:  # then the server ends the session, else it waits for the commit
        monkeypatch.setattr(postgresql, "SHORTEST_PAUSE_SECONDS", 0.5)
    url = postgres()
    with Proxy(url) as proxy, with_rewards(proxy.url(timeout=1)) as exp:
        id = exp.decide().id
        for driver in fill_pool(exp, 2):
            driver.prepare_threshold = None  # so that COMMIT is one message
        both = threading.Barrier(2, lambda: proxy.silence(lose), timeout=HANG_SECONDS)
        save, add_decisions = Transaction.save, Transaction.add_decisions
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "save", lambda *args: (save(*args), both.wait()))
            patch.setattr(
                Transaction,
                "add_decisions",
                lambda *args: (both.wait(), add_decisions(*args))[1],
            )
            attempts = [
                Attempt(lambda: exp.reward(id, 1.0)),
                Attempt(lambda: exp.decide(id="mine")),
            ]
            for attempt in attempts:
                error = attempt.outcome()
                assert isinstance(error, ConnectionLost)
                assert "may or may not have taken effect" in str(error)
        assert rewards(url) == 5
        proxy.forward()
        if not lose:  # what had been sent arrives now, and is done although nobody waits for it
            wait_until(lambda: value(url, "SELECT count(*) FROM varts_decisions") == 7)
            wait_until(lambda: value(url, "SELECT rewards FROM varts_experiments") == 6)
        made, _ = chaos.insist(lambda: exp.decide(id="mine"))
        new, _ = chaos.insist(lambda: exp.reward(id, 1.0))
        assert new == lose
        assert exp.decide(id="mine") == made
    assert value(url, "SELECT count(*) FROM varts_decisions") == 7
    assert rewards(url) == 6


def test_without_the_watchdog_a_silent_call_hangs(postgres):
    """The control of the tests above. Beside it: a child of a fork has a watchdog, too, and a
    connection that a firewall has forgotten costs half of the limit, not the call."""
    url = postgres()
    with Proxy(url) as proxy:
        unwatched, forgotten = (
            with_rewards(proxy.url(timeout=1)),
            with_rewards(proxy.url(timeout=12)),
        )
        (driver,) = fill_pool(unwatched, 1)
        driver.wait = super(postgresql.WatchedConnection, driver).wait
        ready_read, ready = os.pipe()
        go_read, go = os.pipe()

        def child():
            with varts.open("carousel", store=proxy.url(timeout=1)) as exp:
                fill_pool(exp, 1)
                os.write(ready, b"x")
                os.read(go_read, 1)
                assert exp.decide().arm in ARMS

        pid = chaos.forked(child)
        os.read(ready_read, 1)
        proxy.silence(lose=True)
        proxy.forward()  # new connections work
        os.write(go, b"x")
        slow = Attempt(forgotten.decide)
        hanging = Attempt(unwatched.decide)
        hanging.join(1 + PROMISED_SECONDS + 2)
        assert hanging.is_alive()
        assert slow.outcome().arm in ARMS
        assert slow.seconds < 12  # and not 12 + 3
        proxy.cut()
        assert hanging.outcome().arm in ARMS  # a cut it notices, and connects again
        for exp in (unwatched, forgotten):
            exp.close()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        for end in (ready_read, ready, go_read, go):
            os.close(end)


# ------------------------------------------------------------------------------ cut connections


def test_connections_that_are_cut_lose_nothing(postgres, monkeypatch):
    """Nobody notices idle ones. In a transaction the caller gets an error; the next call works."""
    url = postgres()
    with Proxy(url) as proxy, with_rewards(proxy.url(timeout=2)) as exp:
        id = exp.decide().id
        fill_pool(exp, 3)
        proxy.cut()
        assert exp.decide().arm in ARMS
        save = Transaction.save
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "save", lambda *args: (save(*args), proxy.cut()))
            refused(lambda: exp.reward(id, 1.0), "may or may not", "same id", error=ConnectionLost)
        assert exp.reward(id, 1.0) and not exp.reward(id, 1.0)
    assert rewards(url) == 6


def test_retries_through_cut_connections_count_once(postgres):
    """Cuts at any moment, also in the middle of a commit: a caller that retries is counted once."""
    url = postgres()
    with Proxy(url) as proxy, with_rewards(proxy.url(timeout=10)) as exp:
        numbers, done, failed = iter(range(10**9)), [], []

        def insist(call):
            while True:
                try:
                    return call()
                except StoreError as error:
                    failed.append(error)

        def visit():
            id = f"visit {next(numbers)}"
            made = insist(lambda: exp.decide(id=id))
            insist(lambda: exp.reward(id, 1.0))
            done.append((id, made.arm))

        def enough():
            return len(done) > 40 and sum(isinstance(one, ConnectionLost) for one in failed) > 5

        rng, until = random.Random(1), time.monotonic() + HANG_SECONDS
        with Crowd(*[visit] * 4):
            while not enough() and time.monotonic() < until:
                time.sleep(rng.uniform(0.01, 0.1))
                proxy.cut()
        assert enough()  # some were cut in the middle of a call
        assert {id: exp.decide(id=id).arm for id, _ in done} == dict(done)
        assert value(url, "SELECT count(*) FROM varts_decisions") == 5 + len(done)
    assert rewards(url) == 5 + len(done)


# ------------------------------------------------------------------------------ the service


@pytest.mark.when_changed("src/varts/serve")
def test_the_service_on_a_silent_store_answers_recovers_and_ends(postgres, tmp_path):
    """One service with a short limit recovers. One with the usual limit of a minute is told to end,
    and doesn't wait for the store."""
    url = postgres()
    with_rewards(url).close()
    folders = [tmp_path / name for name in ("short", "usual")]
    for folder in folders:
        folder.mkdir()
    decide, body = "/v1/experiments/carousel/decisions", {"decisions": [{}]}
    with (
        Proxy(url) as proxy,
        serve(folders[0], "--no-auth", store=proxy.url(timeout=1)) as short,
        serve(folders[1], "--no-auth", "--drain", "1", store=proxy.url()) as usual,
        httpx.Client(base_url=short.address, timeout=HANG_SECONDS) as http,
        httpx.Client(base_url=usual.address, timeout=2 * HANG_SECONDS) as patient,
    ):
        for client in (http, patient):
            assert client.get("/readyz").status_code == 200
            assert client.post(decide, json=body).status_code == 200
        proxy.silence(lose=True)
        time.sleep(2 * PROBE_LASTS_SECONDS)  # the service keeps an answer of /readyz that long
        waiting = [Attempt(lambda: patient.post(decide, json=body).status_code) for _ in range(2)]
        waiting.append(Attempt(lambda: patient.get("/readyz").status_code))
        asked = {
            "ready": Attempt(lambda: http.get("/readyz").status_code),
            "decide": Attempt(lambda: http.post(decide, json=body).status_code),
            "look": Attempt(lambda: http.get("/v1/experiments/carousel").status_code),
        }
        assert http.get("/healthz").status_code == 200
        assert {name: one.outcome() for name, one in asked.items()} == dict.fromkeys(asked, 503)
        assert all(one.is_alive() for one in waiting[:2])
        usual.process.send_signal(signal.SIGTERM)
        assert usual.process.wait(HANG_SECONDS) == 0
        assert [one.outcome() for one in waiting] == [503] * 3
        proxy.forward()
        wait_until(lambda: http.get("/readyz").status_code == 200)
        assert http.post(decide, json=body).status_code == 200
        short.process.send_signal(signal.SIGTERM)
        assert short.process.wait(HANG_SECONDS) == 0
    assert rewards(url) == 5


# ------------------------------------------------------------------------------ PgBouncer

needs_pgbouncer = pytest.mark.skipif(
    shutil.which("pgbouncer") is None and not os.environ.get("VARTS_PGBOUNCER_REQUIRED"),
    reason="no PgBouncer: make pgbouncer installs it on Debian",
)
SERVER_CONNECTIONS = 2
SETTINGS = (
    "lock_timeout",
    "statement_timeout",
    "idle_in_transaction_session_timeout",
    "default_transaction_isolation",
    "enable_hashjoin",
)


@contextmanager
def pgbouncer(url, mode):
    """A pooler with few server connections in front of a database; its URL."""
    target = sa.make_url(url)
    server = Path(target.query["host"])
    folder = Path(tempfile.mkdtemp(prefix="varts-pgbouncer-"))
    folder.chmod(0o755)  # it runs as another user
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"""[databases]
* = host={server} user={target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {SERVER_CONNECTIONS if mode == "transaction" else 20}
"""
    )
    command = ["pgbouncer", "-q"]
    if os.geteuid() == 0:  # as which it refuses to run; only its owner may use the server's socket
        command += ["-u", pwd.getpwuid(server.stat().st_uid).pw_name]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, str(config)], stdout=log, stderr=log)
    try:

        def listens():
            assert process.poll() is None, (folder / "log").read_text()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(listens)
        yield f"postgresql://{target.username}@127.0.0.1:{port}/{target.database}"
    finally:
        process.terminate()
        process.wait(HANG_SECONDS)
        shutil.rmtree(folder)


def settings_of(url, connections):
    """What plain programs see that use a database at the same time, each in a transaction."""
    found = []
    with ExitStack() as stack:
        for _ in range(connections):
            one = stack.enter_context(psycopg.connect(url, prepare_threshold=None))
            one.execute("SELECT 1")  # which begins a transaction, and so takes a server connection
            found.append({name: one.execute(f"SHOW {name}").fetchone()[0] for name in SETTINGS})
    return found


@needs_pgbouncer
def test_many_clients_share_few_connections_of_a_pooler(postgres):
    """In transaction mode: no errors, nothing lost, and no setting is left behind."""
    url = postgres()
    (usual,) = settings_of(url, 1)
    clients, rounds = 6, 20
    with pgbouncer(url, "transaction") as pooled:
        stores = [Store(limited(pooled, HANG_SECONDS)) for _ in range(clients)]
        with varts.open("plain", ARMS, store=stores[0], window=3600) as exp:
            varts.open("sticky", ARMS, store=stores[0], sticky=True)
            fill_pool(exp, 1)

            def work(store, number):
                plain, sticky = varts.open("plain", store=store), varts.open("sticky", store=store)
                for i in range(rounds):
                    made = plain.decide_many(3)
                    assert plain.reward_many([(one.id, 1.0) for one in made]) == [True] * 3
                    one = sticky.decide(f"unit {i}", id=f"{number}-{i}")
                    assert sticky.reward(one.id, 2.0)
                    if i % 4 == number % 4:
                        plain.report()
                        assert plain.verify(replay=True).ok
                        sticky.configure(floor=0.01 + 0.001 * i)
                return True

            attempts = [Attempt(lambda n=n, s=s: work(s, n)) for n, s in enumerate(stores)]
            assert [one.outcome() for one in attempts] == [True] * clients
            # It does multiplex: more clients are connected than the server has connections.
            assert sum(store.engine._pool.pool.checkedin() for store in stores) >= clients
            servers = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid()"
            )
            assert 1 <= value(url, servers) <= SERVER_CONNECTIONS
            assert settings_of(pooled, SERVER_CONNECTIONS) == [usual] * SERVER_CONNECTIONS
            with psycopg.connect(pooled, autocommit=True) as careless:  # the control
                careless.execute("SET lock_timeout = 5000")
            assert settings_of(pooled, SERVER_CONNECTIONS) != [usual] * SERVER_CONNECTIONS
        for store in stores:
            store.close()
    for name, count in (("plain", 3), ("sticky", 1)):
        with varts.open(name, store=url) as exp:
            exp.configure(window=None)  # so that all rewards count
            found = exp.verify(replay=True)
            assert found.ok and found.decisions == found.rewards == clients * rounds * count


@needs_pgbouncer
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_is_recognised(postgres, mode):
    """It makes up the process id that it announces. Without one, settings are set once."""
    url = postgres()
    with pgbouncer(url, mode) as pooled:
        for where, expected in ((pooled, True), (url, False)):
            with with_rewards(where) as exp:
                (driver,) = fill_pool(exp, 1)
                assert driver.pooled == expected
                assert (driver.prepare_threshold is None) == expected
    assert rewards(url) == 10


# ------------------------------------------------------------------------------ races


def visits(exps, units=200):
    """Functions for a crowd: each decides for units that come again, and sends the rewards."""
    numbers = iter(range(10**9))

    def visit(exp):
        whom = [f"unit {next(numbers) % units}" for _ in range(3)]
        made = exp.decide_many(sorted(set(whom)))
        assert exp.reward_many([(one.id, 1.0) for one in made]) == [True] * len(made)

    return [lambda exp=exp: visit(exp) for exp in exps]


REPAIRS = "SELECT count(*) FROM varts_events WHERE kind = 'repair'"


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
def test_repairing_a_sound_experiment_in_use_changes_nothing(postgres, sticky):
    """The log gets no event about a repair, and nobody gets an error."""
    url = postgres()
    with varts.open("carousel", ARMS, store=url, sticky=sticky, seed=1) as exp:
        others = [varts.open("carousel", store=url) for _ in range(3)]

        def pause_and_resume():
            exp.pause_arm(ARMS[1])
            exp.resume_arm(ARMS[1])

        with Crowd(*visits(others), pause_and_resume):
            for _ in range(8):
                found = others[0].verify(repair=True)
                assert found.ok and found.repaired == [], str(found)
        assert value(url, REPAIRS) == 0
        with tables(url) as sql:  # the control
            sql("UPDATE varts_traffic SET decided = decided + 1 WHERE arm = 0")
        assert exp.verify(repair=True).repaired
        assert value(url, REPAIRS) == 1
        for other in others:
            other.close()


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
def test_a_decision_in_the_middle_of_a_repair_waits(postgres, monkeypatch, sticky):
    """Or the counts and the log would be of two moments, and the difference be repaired."""
    url = postgres()
    with (
        varts.open("carousel", ARMS, store=url, sticky=sticky, seed=1) as exp,
        varts.open("carousel", store=url) as other,
    ):
        exp.decide_many(["somebody", "somebody else"])
        deciding, count_traffic = [], Transaction.count_traffic

        def decide_first(transaction):
            if not deciding:
                deciding.append(Attempt(lambda: other.decide("a third one")))
                deciding[0].join(0.5)
            return count_traffic(transaction)

        monkeypatch.setattr(Transaction, "count_traffic", decide_first)
        found = exp.verify(repair=True)
        assert found.ok and found.repaired == [], str(found)
        assert deciding[0].outcome().arm in ARMS
        assert value(url, REPAIRS) == 0 and exp.verify(replay=True).decisions == 3


def test_a_sticky_decision_and_a_repair_do_not_deadlock(postgres, monkeypatch):
    """The decision has given a unit its arm when the repair begins to wait for it."""
    url = postgres()
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    add_decisions = Transaction.add_decisions
    with (
        varts.open("carousel", ARMS, store=url, sticky=True, seed=1) as exp,
        varts.open("carousel", store=url) as other,
    ):
        repairing = []

        def begin_repair(*args):
            repairing.append(Attempt(lambda: other.verify(repair=True)))
            wait_until(lambda: value(url, waiting) > 0)
            return add_decisions(*args)

        monkeypatch.setattr(Transaction, "add_decisions", begin_repair)
        assert exp.decide("somebody").arm in ARMS
        monkeypatch.undo()
        found = repairing[0].outcome()
        assert found.ok and found.repaired == []


def test_counting_again_while_rewards_arrive_counts_each_once(postgres, tmp_path):
    url = postgres()
    with varts.open("carousel", ARMS, store=url, seed=1) as exp:
        others = [varts.open("carousel", store=url) for _ in range(3)]
        highest = iter([0.5, 0.7] * 10**6)
        with Crowd(
            *visits(others), lambda: exp.configure(clip=(0.0, next(highest)), recount=True)
        ) as crowd:
            wait_until(lambda: crowd.times[-1] > 6 or crowd.errors)
            assert exp.verify(replay=True).ok
        exp.configure(clip=(0.0, 0.6), recount=True)
        found = exp.verify(replay=True)
        assert found.ok and found.rewards == found.decisions > 20, str(found)
        exp.export(tmp_path / "log.parquet")
        log = pl.read_parquet(tmp_path / "log.parquet")
        assert log["reward"].to_list() == [1.0] * found.decisions
        assert log["value"].to_list() == [0.6] * found.decisions
        assert log["corrected_version"].null_count() == 0
        for other in others:
            other.close()


OF_AN_EXPERIMENT = ("decisions", "events", "units", "traffic", "statistics")


def left_over(url, id):
    """How many rows of an experiment each table still has."""
    with tables(url) as sql:
        return {
            name: sql(f"SELECT count(*) FROM varts_{name} WHERE experiment = {id}")[0][0]
            for name in OF_AN_EXPERIMENT
        }


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
def test_an_experiment_deleted_in_use_leaves_nothing_behind(postgres, sticky):
    """Its users get the error that it was deleted, and no other."""
    url = postgres()
    with varts.open("carousel", ARMS, store=url, sticky=sticky) as exp:
        others, told = [varts.open("carousel", store=url) for _ in range(4)], []

        def until_deleted(visit):
            def use():
                try:
                    visit()
                except StoreError as error:
                    told.append(str(error))
                    time.sleep(0.05)

            return use

        with Crowd(*map(until_deleted, visits(others))) as crowd:
            wait_until(lambda: min(crowd.times) > 5 or crowd.errors)
            assert min(left_over(url, exp._session.id)[name] for name in ("events", "traffic")) > 0
            assert exp.delete("carousel", export=None) > 20
            wait_until(lambda: len(told) > 8 or crowd.errors)
        assert all("was deleted" in text for text in told), set(told)
        assert left_over(url, exp._session.id) == dict.fromkeys(OF_AN_EXPERIMENT, 0)
        for other in others:
            other.close()


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
def test_a_decision_that_comes_too_late_leaves_nothing_behind(postgres, monkeypatch, sticky):
    """The experiment is deleted after the decision has read it, and before it is written."""
    url = postgres()
    with (
        varts.open("carousel", ARMS, store=url, sticky=sticky) as exp,
        varts.open("carousel", store=url) as other,
    ):
        exp.decide("somebody")
        writing, deleted = Session.writing, []

        def delete_first(session, *args, **how):
            if session is other._session and not deleted:
                deleted.append(exp.delete("carousel", export=None))
            return writing(session, *args, **how)

        monkeypatch.setattr(Session, "writing", delete_first)
        refused(lambda: other.decide("somebody else"), "was deleted")
        assert deleted == [1]
        assert left_over(url, exp._session.id) == dict.fromkeys(OF_AN_EXPERIMENT, 0)


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
@pytest.mark.parametrize("change", ["delete", "forget"])
def test_a_decision_during_a_long_deletion_waits_for_nobody(postgres, monkeypatch, change, sticky):
    """Or it would wait for the deletion, and the deletion for it."""
    url = postgres()
    with (
        varts.open("carousel", ARMS, store=url, sticky=sticky) as exp,
        varts.open("carousel", store=url) as other,
    ):
        other.decide("somebody")
        exp.pause_arm(other.decide("somebody").arm)  # so that a sticky unit needs a new arm
        meanwhile, lock_out = [], Transaction.lock_out

        def decide_first(transaction):
            if not meanwhile:
                meanwhile.append(Attempt(lambda: other.decide("somebody")))
                meanwhile[0].join(2)  # it ends at once, unless it waits for us
            lock_out(transaction)

        monkeypatch.setattr(Transaction, "lock_out", decide_first)
        if change == "delete":
            assert exp.delete("carousel", export=None) == 3
            assert left_over(url, exp._session.id) == dict.fromkeys(OF_AN_EXPERIMENT, 0)
        else:
            assert exp.forget_unit("somebody") == 3
            found = exp.verify(replay=True)
            assert found.ok and found.decisions == 3, str(found)
        assert meanwhile[0].outcome().arm in ARMS


# ------------------------------------------------------------------------------ a whole log


def test_statements_that_read_a_whole_log_may_take_long(postgres, monkeypatch, tmp_path):
    """The server cancels others after 3 s, and without its margin the watchdog gives up before."""
    monkeypatch.setattr(postgresql, "SILENCE_MARGIN_SECONDS", 0.0)
    url = postgres()
    with with_rewards(limited(url, 2), 20) as exp:
        exp.decide_many(5)
        with tables(url) as sql:  # a clock that was set back, so that versions need to be sorted
            sql("UPDATE varts_decisions SET time = time - 10000000 WHERE seq > 20")
        varts.open("other", ARMS, store=exp.store).decide_many(5)
        calls = {
            "counts": (queries.COUNT_TRAFFIC, exp.verify),
            "settled": (queries.SETTLEMENTS, exp.verify),
            "order": (queries.DISORDER, lambda: exp.verify(replay=True)),
            "numbers": (queries.SEQS_BY_VERSION, lambda: exp.verify(replay=True)),
            "span": (queries.SPAN, lambda: exp.history(every="1h")),
            "delete": (
                "DELETE",
                lambda: varts.open("other", store=exp.store).delete("other", export=None),
            ),
            "head": (queries.HEAD, exp.report),  # the control
        }
        run, slow = Transaction.run, threading.local()  # what this thread makes slow, once

        def run_slowly(transaction, asked, **given):
            if getattr(slow, "asked", None) in (asked, asked.postgres.partition(" ")[0]):
                slow.asked = None
                transaction.connection.execute("SELECT pg_sleep(3.5)")
            return run(transaction, asked, **given)

        monkeypatch.setattr(Transaction, "run", run_slowly)

        def attempt(asked, call):
            slow.asked = asked
            found = call()
            assert slow.asked is None, "the statement was not run"
            return found

        attempts = {
            name: Attempt(lambda asked=asked, call=call: attempt(asked, call))
            for name, (asked, call) in calls.items()
        }
        found = {name: one.outcome() for name, one in attempts.items()}
        control = found.pop("head")
        assert isinstance(control, StoreError), control
        assert not [one for one in found.values() if isinstance(one, BaseException)], found
        assert found["counts"].ok and found["order"].replayed == 25 and found["delete"] == 5


@pytest.mark.parametrize("still", [True, False], ids=["export", "control"])
def test_an_export_waits_for_decisions_with_lower_numbers(postgres, monkeypatch, tmp_path, still):
    """A lower number may be committed later than a higher one, and pages are read by number."""
    url = postgres()
    columns = "experiment, version, epoch, arm, probability, estimated, reason, time"
    with with_rewards(url) as exp, psycopg.connect(url) as slow:
        slow.execute(
            f"INSERT INTO varts_decisions (id, {columns}) SELECT 'slow', {columns} "
            "FROM varts_decisions LIMIT 1"
        )
        later = exp.decide(id="later")
        if not still:
            reading = Session.reading
            monkeypatch.setattr(
                Session, "reading", lambda *args, **how: reading(*args, **{**how, "still": False})
            )
        export = Attempt(lambda: exp.export(tmp_path / "log.parquet"))
        if still:
            export.join(0.5)
            assert export.is_alive()
            slow.commit()
        assert export.outcome() == 6 + still
        ids = pl.read_parquet(tmp_path / "log.parquet")["id"].to_list()
        assert later.id in ids and ("slow" in ids) == still
