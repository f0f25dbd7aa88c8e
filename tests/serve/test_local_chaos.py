"""Local decisions while everything goes wrong: nothing acknowledged is lost, changed or doubled.

The last part shows that the check would notice.
"""

import json
import random
from collections import Counter
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

import varts
from tests.serve.local_chaos import ARMS, EXPERIMENTS, MISFORTUNES, check, in_holdout, torment
from tests.serve.local_worker import Journal, value_of

pytestmark = pytest.mark.no_cover

DECISIONS = 20_000
FALSE_ALARMS = 1e-6  # of the shares of arms, in a run: the draws of processes have no fixed seed


@pytest.mark.gate
def test_whatever_happens_nothing_acknowledged_is_lost(shared_url, tmp_path):
    misfortunes = len(MISFORTUNES)
    workers, happened = torment(shared_url, tmp_path, DECISIONS, misfortunes, clients=4, seed=7)
    problems, numbers = check(shared_url, workers, most_evidence=1 / FALSE_ALARMS)
    assert problems == []
    assert all(happened[name] for name in MISFORTUNES)
    assert numbers["processes killed"]
    assert numbers["versions decided at"] > 10
    assert numbers["of which local"] > DECISIONS / 2
    assert numbers["of which sticky"] > 0


# ------------------------------------------------------------------------------ negative controls


@pytest.fixture
def clean(tmp_path):
    """A store and the journal of one process, in which nothing is wrong."""
    url, journal = f"sqlite:///{tmp_path / 'varts.db'}", Journal(tmp_path / "0-0.tsv")
    ends, rng = {}, random.Random(8)
    for name, options in EXPERIMENTS.items():
        with varts.open(name, ARMS, store=url, **options) as exp:
            drawn = [*draw(exp, rng, 300), *draw(exp, rng, 300)]
        journal.write((name, *map(str, row)) for row in drawn)
        made = Counter(row[-1] for row in drawn)
        stats = {"recorded": len(drawn), "refused": {}, "waiting": 0, "dropped": 0}
        ends[name] = {"made": made, **stats}
    (tmp_path / "0-0.json").write_text(json.dumps(ends))
    workers = SimpleNamespace(folder=tmp_path, running={0: None}, killed=set(), problems=[])
    assert check(url, workers)[0] == []
    return url, workers


def draw(exp, rng, count):
    """Draw arms as a client does, record and reward them; the lines of its journal."""
    allocation = exp.allocation()
    even = [1 / len(ARMS)] * len(ARMS)
    rows = []
    for i in range(count):
        id, unit = f"{exp.name}-{allocation.version:x}{i:04x}", f"{allocation.version}-{i}"
        held = in_holdout(allocation.key, unit, allocation.holdout)
        shares = even if held else allocation.probabilities
        place = rng.choices(range(len(ARMS)), shares)[0]
        rows.append((id, ARMS[place], shares[place], allocation.version, "local", unit))
    sent = [
        {"id": id, "arm": arm, "version": version, "age": 0.1, "unit": unit}
        for id, arm, _, version, _, unit in rows
    ]
    exp.record_exposures(sent, [allocation.ticket])
    rewards = [(row[0], value_of(*row[:2])) for row in rows]
    exp.reward_many([(id, value) for id, value in rewards if value is not None])
    return [row[:-1] for row in rows]


def by_hand(url, statement):
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        assert connection.exec_driver_sql(statement).rowcount
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "noticed"),
    [
        ("DELETE FROM varts_decisions WHERE seq = 9", "1 acknowledged decisions are lost"),
        (
            "UPDATE varts_decisions SET arm = (arm + 1) % 4 WHERE seq = 9",
            "1 acknowledged decisions have another arm in the log",
        ),
        (
            "UPDATE varts_decisions SET version = 2 WHERE seq = 9",
            "1 acknowledged decisions have another version in the log",
        ),
        (
            "UPDATE varts_decisions SET probability = probability * 0.99 WHERE seq = 9",
            "1 acknowledged decisions have another probability in the log",
        ),
        (
            "UPDATE varts_decisions SET probability = probability * 0.99 WHERE seq = 9",
            "probabilities do not follow from the log",
        ),
        (
            "UPDATE varts_decisions SET reason = 'fallback' WHERE seq = 9",
            "1 acknowledged decisions are fallbacks only here, or only in the log",
        ),
    ],
)
def test_a_change_of_the_log_is_noticed(clean, statement, noticed):
    url, workers = clean
    by_hand(url, statement)
    assert any(noticed in problem for problem in check(url, workers)[0])


def test_a_decision_that_nobody_made_is_noticed(clean):
    url, workers = clean
    with varts.open("plain", store=url) as exp:
        allocation = exp.allocation()
        # The process 0 has this prefix, and was never told that this was recorded.
        sent = {"id": "plain-ghost", "arm": "a", "version": allocation.version, "age": 0.0}
        exp.record_exposures([sent], [allocation.ticket])
    assert any("601 of its decisions are in the log" in one for one in check(url, workers)[0])


def test_a_reward_that_was_never_sent_is_noticed(clean):
    url, workers = clean
    with varts.open("plain", store=url) as exp:
        exp.reward(exp.decide(id="plain-x").id, 123.0)
    assert "plain: 1 rewards in the log were never sent" in check(url, workers)[0]


def test_a_lost_reward_is_noticed(clean):
    url, workers = clean
    with varts.open("plain", store=url) as exp:
        id = next(id for id, *_ in read(workers, "plain") if exp.decision(id).reward is not None)
        exp.void(id)
    assert "plain: process 0-0: 1 of its rewards are lost" in check(url, workers)[0]


def read(workers, name):
    """The lines of the journal about one experiment, without its name."""
    lines = (workers.folder / "0-0.tsv").read_text().splitlines()
    return [line.split("\t")[1:] for line in lines if line.startswith(f"{name}\t")]


@pytest.mark.parametrize(
    ("name", "value", "noticed"),
    [
        ("waiting", 3, "3 items are waiting"),
        ("dropped", 3, "dropped 3 items"),
        ("refused", {"conflict": 1}, "1 were refused"),
        ("refused", {"unlikely": 1}, "decisions were refused as ['unlikely']"),
        ("recorded", 601, "noted 600 recorded decisions, and counted 601"),
    ],
)
def test_a_process_that_lost_something_is_noticed(clean, name, value, noticed):
    url, workers = clean
    path = workers.folder / "0-0.json"
    ends = json.loads(path.read_text())
    ends["plain"][name] = value
    path.write_text(json.dumps(ends))
    assert any(noticed in problem for problem in check(url, workers)[0])


def test_a_process_that_did_not_end_is_noticed(clean):
    url, workers = clean
    workers.running = {0: None, 1: None}
    assert "process 1 has not ended" in check(url, workers)[0]


def test_arms_that_are_not_as_frequent_as_logged_are_noticed(tmp_path, clean):
    """A client that always takes the first arm, in an experiment where it has a quarter."""
    url, workers = clean
    with varts.open("sticky", store=url) as exp:
        allocation = exp.allocation()
        sent = [
            {"id": f"z-{i}", "arm": "a", "version": allocation.version, "age": 0.0, "unit": f"z{i}"}
            for i in range(1000)
        ]
        exp.record_exposures(sent, [allocation.ticket])
    assert any("the arms are not as frequent as logged" in one for one in check(url, workers)[0])
