"""Workers die at any moment: nothing acknowledged is lost, nothing counted twice or half-written.

The last part shows that the check would notice: stores that lose, repeat or change something.
"""

import json
import os
import signal
import time
from contextlib import contextmanager, nullcontext, suppress

import pytest
import sqlalchemy as sa

import varts
from tests.live import chaos
from tests.live.chaos import ARMS, check, in_new_process, say_last, work
from tests.live.conformance import fold
from varts.live import Store
from varts.live.store.log import Log
from varts.live.store.transaction import RECOUNT_TRAFFIC, Transaction, query

pytestmark = pytest.mark.no_cover

KILLS = 10
shared = pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)


@pytest.mark.when_changed("src/varts/live")
@shared
def test_killed_workers_lose_nothing_and_count_nothing_twice(store_url, tmp_path):
    options = json.dumps({"kills": KILLS, "seed": 20230309, "pauses": 3})
    outcome = in_new_process("torment", store_url, tmp_path, options)
    assert outcome["failed"] == [], outcome["stderr"]
    assert outcome["killed"] == KILLS
    problems, numbers = check(store_url, tmp_path)
    assert problems == []
    # It was worth something: all eight worked, and the check has seen everything sent twice, but
    # for what a worker was ahead of the others at the end.
    assert len(chaos.diaries(tmp_path)) == 8
    assert 2 * numbers["rewards"] >= numbers["rewards acknowledged"] >= 2 * chaos.IDS


@pytest.fixture(autouse=True)
def own_clock(monkeypatch):
    """A worker that works in the tests' own process sets its clock: until the test is over."""
    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, getattr(time, name))


def dies_at(point):
    """A reward_many of three whose process dies at a certain point of it."""

    def now(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)

    def after(function):
        return lambda *args, **kwargs: now(function(*args, **kwargs))

    def run(url, ids):
        exp = varts.open("carousel", store=url)
        writing = exp._session.writing

        @contextmanager
        def writing_once(**how):
            with writing(**how) as transaction:
                yield transaction
            now()

        if point == "log written":
            Transaction.add_events = after(Transaction.add_events)
        elif point == "caches written":
            Transaction.save = after(Transaction.save)
        elif point == "committed":
            exp._session.writing = writing_once
        exp.reward_many([(id, 2.0) for id in ids])

    return run


@shared
@pytest.mark.parametrize("point", ["log written", "caches written", "committed"])
def test_a_batch_is_whole_or_not_there(store_url, point):
    with varts.open("carousel", ARMS, store=store_url, seed=1) as exp:
        ids = [d.id for d in exp.decide_many(3)]
        exp.reward(exp.decide().id, 1.0)
    pid = chaos.forked(lambda: dies_at(point)(store_url, ids))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    with varts.open("carousel", store=store_url) as exp:
        written = 3 if point == "committed" else 0
        assert exp.report().frame["n"].sum() == 1 + written
        assert exp.verify(replay=True).ok
        # Whoever repeats the batch gets what is right in either case.
        assert exp.reward_many([(id, 2.0) for id in ids]) == [not written] * 3
        assert exp.report().frame["n"].sum() == 4
        assert exp.verify(replay=True).ok


def test_a_commit_waits_for_the_disk(tmp_path):
    """What SIGKILL cannot show: the settings under which SQLite survives power loss."""
    store = Store(f"sqlite:///{tmp_path / 'varts.db'}")
    with store.engine.transaction() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    store.close()


# ------------------------------------------------------------------------------ negative controls


@pytest.fixture
def clean(tmp_path):
    """The URL and diaries of two chunks of work by one worker, in which nothing is wrong."""
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    say_last(tmp_path, 1)
    work(url, tmp_path)
    assert check(url, tmp_path)[0] == []
    return url


def by_hand(url, *statements):
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            assert connection.exec_driver_sql(statement).rowcount > 0
    engine.dispose()


def in_diary(folder, **line):
    with open(folder / "diary-0.ndjson", "a") as file:
        file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("verb", "told"), [("save", "was applied 2 times"), ("add_decisions", "is lost")]
)
def test_a_commit_that_is_none_is_caught(tmp_path, monkeypatch, verb, told):
    honest, count = getattr(Transaction, verb), 0

    def faked(self, *args):
        nonlocal count
        count += 1
        answer = honest(self, *args)
        if count == 9:
            self.connection.execute("ROLLBACK")
            self.connection.execute("BEGIN")  # for the commit that follows
        return answer

    monkeypatch.setattr(Transaction, verb, faked)
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    say_last(tmp_path, 1)
    with suppress(varts.live.UnknownDecision):  # a reward of the decision that is lost
        work(url, tmp_path)
    monkeypatch.undo()
    assert count >= 9
    assert any(told in problem for problem in check(url, tmp_path)[0])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE varts_statistics SET mean = mean + 1e-6 WHERE arm = 0",
        "UPDATE varts_statistics SET rewards = rewards + 1, n = n + 1 WHERE arm = 1",
        "UPDATE varts_events SET value = value + 1 WHERE version = 9",
        "UPDATE varts_experiments SET rewards = rewards + 1",
        "UPDATE varts_decisions SET arm = (arm + 1) % 4 WHERE seq = 7",
        "UPDATE varts_decisions SET probability = probability / 2 WHERE seq = 7",
    ],
)
def test_a_change_by_hand_is_caught(clean, tmp_path, change):
    by_hand(clean, change)
    problems, _ = check(clean, tmp_path)
    assert any("verify" in problem for problem in problems)


def test_a_loss_that_verify_cannot_see_is_caught(clean, tmp_path):
    """The last reward and all that depends on it are taken back: the store is sound, but poorer."""
    by_hand(
        clean,
        "DELETE FROM varts_events WHERE (experiment, version) IN "
        "(SELECT id, version FROM varts_experiments WHERE name = 'plain')",
    )
    store = Store(clean)
    with store.writing(store.find("plain").id) as transaction:
        state = fold(Log(transaction, lambda: nullcontext(transaction)).events())
        state.touched = set(state.rows)
        transaction.run(query("DELETE FROM varts_traffic WHERE experiment = :x"))
        transaction.run(RECOUNT_TRAFFIC)
        transaction.save(state)
    with varts.open("plain", store=store) as exp:
        assert exp.verify(replay=True).ok
    problems, _ = check(clean, tmp_path)
    assert any("acknowledged reward" in problem and "lost" in problem for problem in problems)


def test_a_second_application_is_caught(clean, tmp_path):
    in_diary(tmp_path, what="rewarded", call=[0, 99, 0], applied=[["0-0", True]])
    assert "plain: reward 0-0 was applied 2 times" in check(clean, tmp_path)[0]


def test_a_reward_from_nowhere_is_caught(clean, tmp_path):
    with varts.open("plain", store=clean) as exp:
        exp.decide(id="ghost")
    assert "plain: decision ghost was never asked for" in check(clean, tmp_path)[0]


def test_half_a_batch_is_caught(clean, tmp_path):
    """A call that was interrupted and whose repetition finds one of two rewards there."""
    ids = ["88-0", "88-1"]
    call = [88, 0, 0]
    in_diary(tmp_path, what="began", call=call, ids=ids)
    in_diary(tmp_path, what="began", call=call, ids=ids)
    in_diary(tmp_path, what="rewarded", call=call, applied=[[ids[0], False], [ids[1], True]])
    with varts.open("plain", store=clean) as exp:
        exp.decide_many([None, None], ids)
        exp.reward_many([(id, chaos.value_of(id)) for id in ids])
    problems, _ = check(clean, tmp_path, finished=False)
    assert problems == ["plain: the interrupted call (88, 0, 0) had written some of its rewards"]
