"""Following a log: the same state as event by event, to the last bit, at any moment of it."""

import sqlite3

import numpy as np
import pytest

import varts
from tests.live.stores import shared
from varts._progress import Progress
from varts.live import Store
from varts.live.audit import verify as replay
from varts.live.audit.comparison import Verification
from varts.live.audit.follower import Follower, rebuild
from varts.live.audit.verify import verify
from varts.live.core import state as state_module
from varts.live.core.events import MISSING, REWARD, Event
from varts.live.core.state import State
from varts.live.core.sums import Sums
from varts.live.store import log

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
    if not exp.options.holdout:
        units = [None] * size  # only rewards without a unit may be added up first
    contexts = None
    if exp.features:
        contexts = [{"visits": i % 7, "part": FEATURES["part"][i % 2]} for i in range(size)]
    made = exp.decide_many(units, ids, contexts=contexts)
    paid = [(one.id, float(rng.random())) for i, one in enumerate(made) if i % 10 < 9]
    if exp.options.metrics:
        paid = [(id, value, {"stars": 5 * value}) for id, value in paid]
    exp.reward_many(paid)


def log_of(exp):
    with exp._session.reading() as transaction:
        return exp._session.log(transaction)


def followed(exp, **moment):
    out = Verification()
    follower = Follower(log_of(exp), exp._session.seed, out)
    assert follower.go_to(**moment) and out.ok
    return follower


def folded(exp, until=lambda event, rewards: True):
    """The state after the events up to the first one that `until` refuses, one by one."""
    own = log_of(exp)
    first, *events = own.events()
    state, earned, rewards = State.created(first), np.zeros(4), 0
    for event in events:
        if not until(event, rewards):
            break
        if (state.stale or state.recount) and event.batch != state.batch:
            rebuild(state, own)
        state.apply(event)
        rewards += event.kind in (REWARD, MISSING)
        if event.arm is not None:
            earned[event.arm] += (event.value or 0.0) - ((event.body or {}).get("before") or 0.0)
    rebuild(state, own)
    return state, earned


def counted_calls(monkeypatch, module, name):
    """Says how often a function of a module was called."""
    calls, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(1) or real(*given))
    return calls


# ------------------------------------------------------------------------------ the same


@pytest.mark.parametrize("rows", [7, 20_000])
def test_rewards_together_are_as_one_by_one(exp, monkeypatch, rows):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", rows)
    sizes, apply_many = [], State.apply_many

    def counted(self, events, exact=True):
        sizes.append(len(events))
        apply_many(self, events, exact)

    monkeypatch.setattr(State, "apply_many", counted)
    together = followed(exp)
    assert max(sizes) >= 7
    alone, earned = folded(exp)
    assert together.state == alone  # rows to the last bit
    assert together.state == exp.state
    assert together.earned == pytest.approx(earned, rel=1e-12)


def test_without_checks_many_rewards_are_merged_and_differ_by_rounding(exp, monkeypatch):
    monkeypatch.setattr(state_module, "FEWEST_MERGED", 2)
    merged, of = [], Sums.of
    monkeypatch.setattr(Sums, "of", lambda *given: merged.append(1) or of(*given))
    follower = Follower(log_of(exp), exp._session.seed)
    assert follower.go_to()
    found, exact = follower.state, folded(exp)[0]
    options = exp.options
    alone = options.half_life is None and options.features is None and not options.holdout
    assert bool(merged) == alone
    assert found.rows.keys() == exact.rows.keys()
    for key, sums in exact.rows.items():
        assert (found.rows[key].rewards, found.rows[key].at) == (sums.rewards, sums.at)
        assert found.rows[key].moments == pytest.approx(sums.moments, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("rows", [7, 20_000])
def test_every_moment_is_the_state_just_then(exp, monkeypatch, rows):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", rows)
    events = list(log_of(exp).events())
    follower = Follower(log_of(exp), exp._session.seed)
    for version in (2, 3, 30, 31, 60, len(events)):
        assert follower.go_to(version=version)
        assert follower.state == folded(exp, lambda event, _, v=version: event.version <= v)[0]
    assert not follower.go_to(version=len(events) + 1) and not follower.broken
    follower = Follower(log_of(exp), exp._session.seed)
    times = sorted({event.time for event in events})
    for time in (times[0], times[1], times[1] + 1, times[-2], times[-1] + 5):
        assert follower.go_to(time=time)
        assert follower.state == folded(exp, lambda event, _, t=time: event.time <= t)[0]
    follower = Follower(log_of(exp), exp._session.seed)
    for reward in (1, 2, 14, 15, 40, exp.state.rewards):
        assert follower.go_to(reward=reward)
        assert follower.state.rewards == reward
        assert follower.state == folded(exp, lambda _, rewards, r=reward: rewards < r)[0]


def test_merged_epochs_are_those_of_a_state_read_from_the_store(exp):
    """What a process keeps of merged epochs must not depend on how it learned of the rewards."""
    for number in range(7, 12):
        exp.configure(floor=0.01 * number)
        play(exp, 8, number, np.random.default_rng(number))
        exp.amend(f"{number}-3", 0.25)
        exp.amend("0-4", 0.01 * number)  # a reward of an older epoch
        other = varts.open("shop", store=exp.store)
        assert other.state == exp.state
        for one, another in zip(
            exp.state.by_arm().values(), other.state.by_arm().values(), strict=True
        ):
            assert one == another
        moments = exp.state.statistics()
        again, _ = folded(exp)
        assert moments.m2.tolist() == again.statistics().m2.tolist()
        assert exp.state.counts().tolist() == again.counts().tolist()
    assert exp.verify(replay=True)


def test_one_bit_is_a_difference(exp):
    """The negative control of the tests above."""
    state = followed(exp).state
    key, row = next(iter(state.rows.items()))
    other = followed(exp).state
    other.rows[key] = row._replace(m4=float(np.nextafter(row.m4, np.inf)))
    assert other != state


def test_a_reward_that_makes_no_sense_changes_nothing():
    with varts.open("shop", ARMS, store="memory://", seed=1) as exp:
        exp.reward_many([(one.id, 1.0) for one in exp.decide_many(9)])
        state = exp.state.copy()
        good = Event(11, REWARD, 0, "d", 0, 1, 2.0, 2.0, 7)
        for wrong in (
            {"arm": 99},
            {"arm": -1},
            {"epoch": None},
            {"value": None},
            {"value": "much"},
            {"version": 13},
        ):
            with pytest.raises((ValueError, TypeError)):
                state.apply_many([good, good._replace(**{"version": 12, **wrong})])
            assert state == exp.state
        state.apply_many([good])
        assert state.version == 11 and state.rewards == 10 and state.batch == 7


def test_many_rewards_are_one_after_the_other():
    rng = np.random.default_rng(2)
    rewards = [(1e9 + float(one), at, None, None) for at, one in enumerate(rng.normal(size=50), 1)]
    for half_life in (None, 7.0):
        alone = Sums()
        for value, at, x, _ in rewards:
            alone = alone.observe(value, at, half_life, x)
        assert Sums().observe_all(rewards, half_life) == alone
        assert Sums().observe_all(rewards[::-1], half_life) != alone
        assert alone.observe_all([], half_life) == alone


# ------------------------------------------------------------------------------ damage

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
def test_damage_is_reported_as_one_by_one(exp, file, monkeypatch, damage):
    with sqlite3.connect(file) as base:  # in the middle of the first large batch
        rewards = "FROM varts_events WHERE kind = 'reward'"  # or when the first windows close
        query = (
            f"SELECT COALESCE((SELECT max(version) {rewards} AND version < 30), min(version) + 5) "
        )
        ((event,),) = base.execute(query + rewards)
        base.execute(damage.format(event=event, seq=60))
    base.close()
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 50)
    told = [exp.verify(again) for again in (False, True)]
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 1)  # one event at a time
    monkeypatch.setattr(replay, "ARMS_TOGETHER", 1)
    assert told == [exp.verify(again) for again in (False, True)]
    if "context" not in damage or exp.features:
        assert told[1].found


def test_a_log_without_events_is_reported_as_empty(url, file):
    with varts.open("shop", ARMS, store=url, seed=1) as exp:
        with sqlite3.connect(file) as base:
            base.execute("DELETE FROM varts_events")
        base.close()
        assert "event 1 cannot be applied: the log is empty" in exp.verify().problems


def test_decisions_of_one_state_are_replayed_together(exp, monkeypatch):
    calls = counted_calls(monkeypatch, replay, "allocate")
    sizes, choose = [], replay.Replay._choose

    def counted(self, decisions, held=None):
        sizes.append(len(decisions))
        return choose(self, decisions, held)

    monkeypatch.setattr(replay.Replay, "_choose", counted)
    found = exp.verify(replay=True)
    assert found and found.replayed == 122 and max(sizes) >= 20
    assert len(calls) <= len(sizes) < 40


def test_a_correction_of_a_decision_without_a_reward_is_reported(url, file):
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
        exp._session.store.clock = lambda: next(times) * 1_000_000
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


def test_a_value_that_is_not_a_number_is_not_exported_as_null(url, file, tmp_path):
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


def test_long_reads_show_their_progress(exp, tmp_path, monkeypatch):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 50)
    told = Told()
    exp.verify(replay=True, progress=told)
    exp.export(tmp_path / "log.csv", progress=told)
    exp.export(tmp_path / "log.csv", limit=60, progress=told)
    exp.check(progress=told)
    texts = [text.replace(str(tmp_path), "") for text, *_ in told.stages]
    assert texts[:3] == ["replaying decisions", "adding up rewards", "checking decisions"]
    assert texts[3:] == 2 * ["writing /log.csv"] + ["checking decisions"]
    for text, total, done in told.stages:
        assert done == sorted(done)
        if text != "adding up rewards":  # replaying has added up most of them
            assert done[-1] == total and len(done) >= 2
    assert [total for _, total, _ in told.stages] == [122, exp.state.version, 122, 122, 60, 122]


def test_a_state_is_what_its_log_adds_up_to(exp):
    found = verify(log_of(exp), exp.state, exp._session.seed, False, Progress(), 0)
    assert found
    other: State = exp.state.copy()
    other.rewards += 1
    assert not verify(log_of(exp), other, exp._session.seed, False, Progress(), 0)
