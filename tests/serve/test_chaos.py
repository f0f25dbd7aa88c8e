"""A service to which everything happens: nothing acknowledged is lost, nothing counts twice.

The last part shows that the check would notice.
"""

import resource
import signal
import threading

import httpx
import pytest
import sqlalchemy as sa

import varts
from tests.serve.chaos import ARMS, EXPERIMENTS, Client, Supervisor, torment
from tests.serve.ledger import FIELDS, Ledger, check
from tests.serve.processes import wait_until

pytestmark = pytest.mark.no_cover

ONCE_OR_TWICE = {"kill": 3, "terminate": 1, "turn_clock": 1}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_whatever_happens_nothing_acknowledged_is_lost(kind, tmp_path, request):
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path / 'varts.db'}"
        more = {"fill_disk": int(hasattr(resource, "prlimit"))}  # Linux
        server, database = None, None
    else:
        url, more = request.getfixturevalue("postgres")(), {"end_connections": 2}
        database = sa.make_url(url).database
        server = Statements(url)
    problems, numbers = torment(
        url, tmp_path, {**ONCE_OR_TWICE, **more}, seed=20230309, server=server, database=database,
        within=30.0,  # seconds: other tests run beside it
    )  # fmt: skip
    assert problems == []
    assert numbers["pairs acknowledged"] > 100
    assert numbers["answers: no answer"] > 0  # it did happen


class Statements:
    """Runs statements on a server that others use, too."""

    def __init__(self, url):
        self._engine = sa.create_engine(
            sa.make_url(url).set(drivername="postgresql+psycopg", database="postgres")
        )

    def psql(self, statement):
        with self._engine.connect() as connection:
            assert connection.exec_driver_sql(statement).fetchall()
        self._engine.dispose()


# ------------------------------------------------------------------------------ rolling restarts


class Either:
    """A client of two services on one store, which uses the other one if one is unavailable."""

    def __init__(self, addresses):
        self._clients = [httpx.Client(base_url=address, timeout=30) for address in addresses]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for client in self._clients:
            client.close()

    def request(self, *arguments, **options):
        try:
            answer = self._clients[0].request(*arguments, **options)
        except httpx.TransportError:
            self._clients.reverse()
            raise
        if answer.status_code == 503:
            self._clients.reverse()
        return answer


@pytest.mark.when_changed("src/varts/serve")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_rolling_restart_under_load_loses_nothing(kind, tmp_path, request):
    """Two services on one store are restarted in turn; one of them is always there."""
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    if kind == "postgres":
        url = request.getfixturevalue("postgres")()
    for name, options in EXPERIMENTS.items():
        varts.open(name, ARMS, store=url, **options).close()
    ledger, over = Ledger(), threading.Event()
    services = [Supervisor(url, tmp_path) for _ in range(2)]
    addresses = [service.address for service in services]
    clients = [Client(n, Either(addresses[:: 1 - 2 * (n % 2)]), ledger, over) for n in range(6)]
    try:
        for service in services:
            service.start()
            wait_until(lambda service=service: service.ask("/readyz") == 200, 60)
        for client in clients:
            client.start()
        for service in 2 * services:
            before, process = ledger.pairs, service.process
            wait_until(lambda before=before: ledger.pairs > before + 20, 60)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda s=service, p=process: s.process is not p, 60)
            wait_until(lambda s=service: s.ask("/readyz") == 200, 60)
    finally:
        over.set()
        for client in clients:
            client.join(60)
        for service in services:
            service.stop()
    assert [dict(service.codes) for service in services] == [{0: 3}, {0: 3}]
    problems, numbers = check(ledger, url)
    assert problems == []
    assert numbers["pairs acknowledged"] > 80


# ------------------------------------------------------------------------------ negative controls


@pytest.fixture
def clean(tmp_path):
    """A store, and the ledger of clients that found nothing wrong."""
    url, ledger = f"sqlite:///{tmp_path / 'varts.db'}", Ledger()
    with varts.open("plain", ARMS, store=url) as exp:
        for decision in exp.decide_many(ids=[f"0-{i}" for i in range(20)]):
            ledger.asked["plain", decision.id] = 2.5
            ledger.note_decision("plain", decision._asdict())
            exp.reward(decision.id, 2.5)
            ledger.note_reward("plain", decision.id, "applied")
    assert check(ledger, url)[0] == []
    return url, ledger


def only_problem(url, ledger):
    (problem,) = check(ledger, url)[0]
    return problem


def test_a_lost_decision_is_noticed(clean):
    url, ledger = clean
    ledger.asked["plain", "1-0"] = 1.0
    ledger.decided["plain", "1-0"] = ledger.decided["plain", "0-0"]
    assert only_problem(url, ledger) == "plain: the acknowledged decision 1-0 is lost"


def test_another_arm_is_noticed(clean):
    url, ledger = clean
    ledger.decided["plain", "0-3"] = ["z", *ledger.decided["plain", "0-3"][1:]]
    assert "decision 0-3 was answered as ['z'" in only_problem(url, ledger)


def test_another_value_is_noticed(clean):
    url, ledger = clean
    ledger.asked["plain", "0-3"] = 2.25
    problem = "plain: the acknowledged reward 2.25 of 0-3 is 2.5"
    assert only_problem(url, ledger) == problem


def test_a_reward_that_was_applied_twice_is_noticed(clean):
    url, ledger = clean
    ledger.note_reward("plain", "0-3", "applied")
    assert only_problem(url, ledger) == "plain: the reward of 0-3 was applied 2 times"


def test_a_decision_that_nobody_asked_for_is_noticed(clean):
    url, ledger = clean
    with varts.open("plain", store=url) as exp:
        exp.decide(id="ghost")
    assert only_problem(url, ledger) == "plain: decision ghost was never asked for"


def test_statistics_that_are_not_those_of_the_log_are_noticed(clean):
    url, ledger = clean
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE varts_statistics SET mean = mean + 1e-6")
    engine.dispose()
    assert "plain: verify: " in check(ledger, url)[0][0]


def test_an_expired_decision_is_noticed(tmp_path):
    """A clock that goes back must not make one."""
    url, ledger = f"sqlite:///{tmp_path / 'varts.db'}", Ledger()
    with varts.open("windowed", ARMS, store=url, window=0.001, missing=0.0, skew=0.0) as exp:
        ledger.asked["windowed", "0-0"] = 1.0
        exp.decide(id="0-0")
        threading.Event().wait(0.05)
        exp.settle()
    assert only_problem(url, ledger).startswith("windowed: decisions ended as")


def answering(*answers):
    """A client of a service that gives these answers, one after the other."""
    left, ledger = iter(answers), Ledger()
    http = httpx.Client(
        base_url="http://service", transport=httpx.MockTransport(lambda request: next(left))
    )
    return Client(0, http, ledger, threading.Event()), ledger


def test_an_answer_of_500_is_noticed():
    good = httpx.Response(200, json={"id": "1"})
    again = httpx.Response(503, headers={"retry-after": "1"})
    client, ledger = answering(httpx.Response(500, text="oh"), again, good)
    assert client.insist("PUT", "/x", {}) == {"id": "1"}
    assert ledger.problems == ["500 was answered: oh"]
    assert dict(ledger.answers) == {"500": 1, "503": 1, "200": 1}


def test_a_503_that_does_not_say_when_to_come_again_is_noticed():
    client, ledger = answering(httpx.Response(503), httpx.Response(200, json={}))
    client.insist("PUT", "/x", {})
    assert "did not say when to come again" in ledger.problems[0]


def test_two_decisions_for_one_id_are_noticed():
    ledger = Ledger()
    made = {"id": "1", **dict.fromkeys(FIELDS, 1)}
    ledger.note_decision("plain", made)
    ledger.note_decision("plain", made)
    assert ledger.problems == []
    ledger.note_decision("plain", {**made, "arm": 2})
    assert len(ledger.problems) == 1
