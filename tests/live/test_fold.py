"""Rewards taken in together, and decisions made again together: as one by one, to the last bit."""

import sqlite3

import numpy as np
import pytest

import varts
from tests.live.stores import shared
from varts._progress import Progress
from varts.live import Store, counting, fold, log, replay
from varts.live.comparison import Verification
from varts.live.fold import Fold
from varts.live.row import Row
from varts.live.state import REWARD, State
from varts.live.verify import verify

pytestmark = pytest.mark.when_changed("src/varts/live")

ARMS = ["9", "12", "15"]
FEATURES = {"visits": "number", "part": ["morning", "evening"]}
KINDS = {
    "plain": {},
    "clipped": {"clip": (0, 12), "goal": "min", "floor": 0.05},
    "fading": {"half_life": 50.0},
    "sticky, with a holdout": {"sticky": True, "holdout": 0.2, "half_life": 80.0},
    "metrics": {"holdout": 0.3, "metrics": ["stars"]},
    "missing": {"window": 30, "missing": 0.0},
    "expired": {"window": 30, "client_ids": True},
    "tossed": {"policy": "Bernoulli-TS", "clip": (0, 1)},
    "features": {"features": FEATURES, "holdout": 0.2},
}
NEVER = 10**9  # so many in a row


@pytest.fixture(params=KINDS)
def exp(request, url, clock):
    """An experiment to which much has happened, most of it in batches."""
    options, rng = KINDS[request.param], np.random.default_rng(5)
    with varts.open("shop", ARMS, store=Store(url, clock=clock), seed=3, **options) as exp:
        for number, size in enumerate((40, 1, 1, 30, 25, 25)):
            clock.advance(20)
            play(exp, size, number, rng)
            if number == 2:
                exp.amend("0-1", 0.5)
            if number == 3:
                exp.add_arm("18")
                exp.void("0-2")
        yield exp


def play(exp, size, number, rng):
    ids, units = ([f"{each}{number}-{i}" for i in range(size)] for each in ("", "u"))
    contexts = None
    if exp.features:
        contexts = [{"visits": i % 7, "part": FEATURES["part"][i % 2]} for i in range(size)]
    made = exp.decide_many(units, ids, contexts=contexts)
    paid = [(one.id, float(rng.random())) for i, one in enumerate(made) if i % 10 < 9]
    if exp.options.metrics:
        paid = [(id, value, {"stars": 5 * value}) for id, value in paid]
    exp.reward_many(paid)


def log_of(exp):
    with exp._snapshot.reading() as transaction:
        return exp._snapshot.log(transaction)


def folded(exp):
    out = Verification()
    made = Fold(log_of(exp), exp._snapshot.seed, out)
    made.finish(Progress())
    assert out.ok
    return made.state


def counted_calls(monkeypatch, module, name):
    """Says how often a function of a module was called."""
    calls, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(1) or real(*given))
    return calls


# ------------------------------------------------------------------------------ the same


@pytest.mark.parametrize("rows", [7, 20_000])
def test_rewards_together_are_as_one_by_one(exp, monkeypatch, rows):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", rows)
    calls = counted_calls(monkeypatch, fold, "count_together")
    together = folded(exp)
    used = len(calls)
    assert used >= 3
    monkeypatch.setattr(fold, "FEWEST_TOGETHER", NEVER)
    alone = folded(exp)
    assert len(calls) == used and together == alone  # rows to the last bit
    assert list(together.rows) == list(alone.rows)
    assert together == exp.state


def test_one_bit_is_a_difference(exp):
    """What the test above would find."""
    state = folded(exp)
    key, row = next(iter(state.rows.items()))
    other = folded(exp)
    other.rows[key] = row._replace(m4=float(np.nextafter(row.m4, np.inf)))
    assert other != state


def test_a_reward_that_makes_no_sense_changes_nothing():
    with varts.open("shop", ARMS, store="memory://", seed=1) as exp:
        exp.reward_many([(one.id, 1.0) for one in exp.decide_many(9)])
        state = exp.state.copy()
        good = (11, REWARD, 0, "d", 0, 1, 2.0, 2.0, 7, None, None)
        for wrong in ({4: 99}, {4: -1}, {5: None}, {7: None}, {7: "much"}, {10: "{"}):
            bad = tuple(wrong.get(i, one) for i, one in enumerate(good))
            with pytest.raises((ValueError, TypeError)):
                counting.count_together(state, [good, bad])
            assert state == exp.state
        counting.count_together(state, [good])
        assert state.version == 11 and state.rewards == 10 and state.batch == 7


def test_many_rewards_are_one_after_the_other():
    rng = np.random.default_rng(2)
    rewards = [(1e9 + float(one), at, None) for at, one in enumerate(rng.normal(size=50), 1)]
    for half_life in (None, 7.0):
        alone = Row()
        for value, at, x in rewards:
            alone = alone.observe(value, at, half_life, x)
        assert Row().observe_all(rewards, half_life) == alone
        assert Row().observe_all(rewards[::-1], half_life) != alone
        assert alone.observe_all([], half_life) == alone


# ------------------------------------------------------------------------------ what is told

DAMAGES = (
    "UPDATE varts_events SET value = value + 1 WHERE version = {event}",
    "UPDATE varts_events SET value = 'much' WHERE version = {event}",
    "UPDATE varts_events SET arm = 99 WHERE version = {event}",
    "UPDATE varts_events SET body = '[' WHERE version = {event}",
    "UPDATE varts_events SET kind = 'foo' WHERE version = {event}",
    "DELETE FROM varts_events WHERE version = {event}",
    "UPDATE varts_decisions SET arm = (arm + 1) % 3 WHERE seq = {seq}",
    "UPDATE varts_decisions SET probability = probability + 0.01 WHERE seq = {seq}",
    "UPDATE varts_decisions SET version = version + 500 WHERE seq = {seq}",
    "UPDATE varts_decisions SET context = '[' WHERE seq = {seq}",
    "UPDATE varts_decisions SET reason = 'sticky' WHERE seq = {seq}",
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_wrong_is_told_as_one_by_one(exp, file, monkeypatch, damage):
    with sqlite3.connect(file) as base:  # in the middle of the first large batch
        query = "SELECT max(version) FROM varts_events WHERE version < 30 AND kind = 'reward'"
        ((event,),) = base.execute(query)
        base.execute(damage.format(event=event, seq=60))
    base.close()
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 50)
    told = [exp.verify(again) for again in (False, True)]
    monkeypatch.setattr(fold, "FEWEST_TOGETHER", NEVER)
    monkeypatch.setattr(replay, "ARMS_TOGETHER", 1)
    assert told == [exp.verify(again) for again in (False, True)]
    if "context" not in damage or exp.features:
        assert told[1].found


def test_decisions_of_one_state_are_made_again_together(exp, monkeypatch):
    calls = counted_calls(monkeypatch, replay, "allocate")
    sizes, choose = [], replay.Replay._choose

    def counted(self, decisions, held=None):
        sizes.append(len(decisions))
        return choose(self, decisions, held)

    monkeypatch.setattr(replay.Replay, "_choose", counted)
    found = exp.verify(replay=True)
    assert found and found.replayed == 122 and max(sizes) >= 20
    assert len(calls) <= len(sizes) < 40


def test_a_correction_of_a_decision_without_a_reward_is_told(url, file):
    with varts.open("shop", ARMS, store=url, seed=1) as exp:
        first, second, *_ = exp.decide_many(6)
        exp.reward(first.id, 1.0)
        exp.void(first.id)
        with sqlite3.connect(file) as base:
            base.execute("UPDATE varts_events SET corrects = ? WHERE version = 3", (second.id,))
        base.close()
        assert "1 corrections name a decision without a reward" in exp.verify().problems


# ------------------------------------------------------------------------------ reading


@shared
@pytest.mark.parametrize("rows", [3, 20_000])
def test_decisions_come_in_the_order_of_their_versions(store_url, monkeypatch, rows):
    """Whatever their times say: a clock may be set back, and processes decide at once."""
    monkeypatch.setattr(log, "ROWS_PER_PAGE", rows)
    times = iter([5, 5, 9, 9, 1, 1, 7, 7, 3, 3, 2, 2] + 90 * [10])
    with varts.open("shop", ARMS, store=Store(store_url), seed=1) as exp:
        exp._snapshot.store.clock = lambda: next(times) * 1_000_000
        for _ in range(4):
            exp.reward_many([(one.id, 1.0) for one in exp.decide_many(3)])
        own = log_of(exp)
        assert not own._versions_follow_times()
        rows = list(own.decisions())
        assert [(row.time, row.seq) for row in rows] == sorted((r.time, r.seq) for r in rows)
        by_version = sorted(rows, key=lambda row: (row.version, row.seq))
        assert list(own.decisions("version")) == by_version != rows
        assert exp.verify(replay=True).replayed == 12


def test_decisions_in_order_are_not_sorted(exp, monkeypatch):
    monkeypatch.setattr(log.Log, "_sorted_pages", None)
    assert exp.verify(replay=True)


def test_what_is_no_number_is_not_exported_as_none(url, file, tmp_path):
    with varts.open("shop", ARMS, store=url, seed=1) as exp:
        exp.reward(exp.decide().id, 1.0)
        assert exp.export(tmp_path / "log.csv") == 1
        with sqlite3.connect(file) as base:
            base.execute("UPDATE varts_events SET raw = 'much' WHERE version = 2")
        base.close()
        with pytest.raises((TypeError, OSError)):
            exp.export(tmp_path / "log.csv")


# ------------------------------------------------------------------------------ progress


class Told(Progress):
    """What is shown of a long piece of work."""

    def __init__(self):
        super().__init__()
        self.stages = []

    def stage(self, text, total=None):
        self.stages.append((text, total, []))

    def at(self, done):
        self.stages[-1][-1].append(done)


def test_long_reads_tell_how_far_they_are(exp, tmp_path, monkeypatch):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 50)
    told = Told()
    exp.verify(replay=True, progress=told)
    exp.export(tmp_path / "log.csv", progress=told)
    exp.export(tmp_path / "log.csv", limit=60, progress=told)
    exp.check(progress=told)
    texts = [text.replace(str(tmp_path), "") for text, *_ in told.stages]
    assert texts[:3] == ["making decisions again", "adding up rewards", "looking at decisions"]
    assert texts[3:] == 2 * ["writing /log.csv"] + ["looking at decisions"]
    for text, total, done in told.stages:
        assert done == sorted(done)
        if text != "adding up rewards":  # the fold has come with the decisions
            assert done[-1] == total and len(done) >= 2
    assert [total for _, total, _ in told.stages] == [122, exp.state.version, 122, 122, 60, 122]


def test_a_state_is_what_its_log_adds_up_to(exp):
    found = verify(log_of(exp), exp.state, exp._snapshot.seed, False, Progress(), 0)
    assert found
    other: State = exp.state.copy()
    other.rewards += 1
    assert not verify(log_of(exp), other, exp._snapshot.seed, False, Progress(), 0)
