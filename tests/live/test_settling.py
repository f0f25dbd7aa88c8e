"""A decision counts when its window closes: what happens before, then and after."""

import polars as pl
import pytest

import varts
from tests.live.conformance import log_of
from tests.live.diaries import contents, restore
from tests.live.stores import shared
from varts.live import ExpiredDecision, InvalidReward, RewardConflict, Store, UnknownDecision
from varts.live.core.events import ARRIVAL, EXPIRED, MISSING, REWARD

HOUR = 3600


@pytest.fixture
def begin(clock):
    """Opens the experiment, in a process that comes new."""
    store = Store("memory://", clock)
    return lambda **options: varts.open("shop", ["only"], store=store, seed=1, **options)


def counts(exp):
    """How many rewards count, and how many decisions are open."""
    frame = exp.report().frame
    return frame["n"].sum(), frame["pending"].sum()


def kinds(exp):
    return [event.kind for event in log_of(exp)][1:]


def test_rewards_and_their_absence_count_together(begin, clock):
    exp = begin(window=HOUR, missing=0.0)
    exp.decide("ann", "bought")
    exp.decide("bob", "left")
    assert exp.reward("bought", 10.0) is True
    assert counts(exp) == (0, 2)
    clock.advance(HOUR / 2)
    assert counts(exp) == (0, 2) and kinds(exp) == [ARRIVAL]
    found = exp.decision("bought")
    assert (found.settled, found.reward, found.value) == (None, 10.0, None)
    clock.advance(HOUR / 2 + 1)
    assert counts(exp) == (2, 0) and sorted(kinds(exp)) == [ARRIVAL, MISSING, REWARD]
    found = exp.decision("bought")
    assert (found.settled, found.reward, found.value) == ("reward", 10.0, 10.0)
    assert exp.report().frame["mean"].to_list() == [5.0]
    assert exp.verify(replay=True)


def test_what_comes_again_or_contradicts(begin, clock):
    exp = begin(window=HOUR, metrics=["m"])
    exp.decide(id="a")
    assert exp.reward("a", 1.0, m=2.0) is True
    assert begin().reward("a", 1.0, m=2.0) is False
    for again in (lambda: exp.reward("a", 2.0), lambda: exp.reward("a", 1.0)):
        with pytest.raises(RewardConflict, match=r"already has the reward 1\.0, m 2"):
            again()
    assert exp.amend("a", 3.0) is True and exp.amend("a", 3.0) is False
    assert exp.reward("a", 1.0, m=2.0) is False  # as it first was
    assert exp.reward("a", 3.0, m=2.0) is False  # as it is now
    clock.advance(HOUR + 1)
    for given in ((1.0, 2.0), (3.0, 2.0)):
        assert exp.reward("a", given[0], m=given[1]) is False
    with pytest.raises(RewardConflict, match=r"already has the reward 3\.0"):
        exp.reward("a", 4.0)
    assert exp.amend("a", 5.0, m=0.0) is True and exp.reward("a", 1.0, m=2.0) is False
    assert exp.report().frame["mean"].to_list() == [5.0]
    assert exp.state.metric_statistics()["m"].mean.tolist() == [0.0]
    assert exp.verify(replay=True)


@pytest.mark.parametrize("missing", [None, 0.0])
def test_what_is_voided_before_the_window_closes_never_counts(begin, clock, missing):
    exp = begin(window=HOUR, missing=missing)
    for id in ("a", "b", "c"):
        exp.decide("ann", id)
    exp.reward("a", 7.0)
    exp.add_reward("b", 7.0, "order")
    exp.reward("c", 7.0)
    assert exp.void("a") is True and exp.void("a") is False and exp.void("b") is True
    exp.void("c")
    assert exp.amend("c", 2.0) is True  # given again, in time
    with pytest.raises(RewardConflict, match="was voided, so nothing can be added"):
        exp.add_reward("b", 1.0, "another")
    clock.advance(HOUR + 1)
    assert counts(exp) == (1, 0) and exp.report().frame["mean"].to_list() == [2.0]
    assert kinds(exp)[-3:] == [EXPIRED, EXPIRED, REWARD]
    assert exp.decision("a").reward is None
    # A caller that didn't get the answer may ask again.
    assert exp.void("a") is False and exp.reward("a", 7.0) is False and exp.void("b") is False
    assert exp.add_reward("b", 7.0, "order") is False
    for late in (
        lambda: exp.amend("a", 1.0),
        lambda: exp.reward("a", 1.0),
        lambda: exp.reward("b", 7.0),
        lambda: exp.add_reward("b", 1.0, "another"),
        lambda: exp.add_reward("a", 1.0, "order"),
    ):
        with pytest.raises(ExpiredDecision):
            late()
    assert exp.verify(replay=True)


def test_parts_before_and_after_the_window_closes(begin, clock):
    exp = begin(window=HOUR, metrics=["m"])
    exp.decide(id="parts")
    exp.decide(id="whole")
    assert exp.add_reward("parts", 1.0, "x", m=1.0) and exp.add_reward("parts", 2.0, "y", m=0.5)
    assert exp.reward("whole", 5.0) and exp.add_reward("whole", 1.0, "tip")
    with pytest.raises(RewardConflict, match="has its reward in parts"):
        exp.reward("parts", 3.0)
    for closed in (False, True):
        if closed:
            clock.advance(HOUR + 1)
            assert counts(exp) == (2, 0)
        assert begin().add_reward("parts", 1.0, "x", m=1.0) is False
        assert exp.reward("whole", 5.0) is False  # it came whole, and a part was added
        with pytest.raises(RewardConflict, match="part 'y' of decision 'parts' is already 2"):
            exp.add_reward("parts", 2.5, "y", m=0.5)
        with pytest.raises(RewardConflict, match="has its reward in parts"):
            exp.reward("parts", 1.0)
    assert exp.decision("parts").reward == 3.0 and exp.decision("parts").metrics == {"m": 1.5}
    assert exp.add_reward("parts", 4.0, "z") is True and exp.add_reward("parts", 4.0, "z") is False
    assert exp.decision("parts").reward == 7.0 and exp.decision("whole").reward == 6.0
    assert exp.report().frame["mean"].to_list() == [6.5]
    assert exp.verify(replay=True)


def test_the_counted_value_is_that_of_the_options_when_it_closes(begin, clock):
    exp = begin(window=HOUR)
    exp.decide(id="a")
    exp.reward("a", 50.0)
    exp.configure(clip=(0, 10))
    clock.advance(HOUR + 1)
    exp.report()
    assert (exp.decision("a").reward, exp.decision("a").value) == (50.0, 10.0)
    assert exp.verify(replay=True)
    exp.decide(id="b")
    exp.reward("b", 20.0)
    exp.configure(clip=(0, 30), recount=True)
    assert exp.decision("a").value == 30.0 and exp.decision("b").value is None
    with pytest.raises(InvalidReward):
        exp.amend("b", float("nan"))
    assert exp.verify(replay=True)


def test_refused_rewards_leave_no_trace(begin, clock):
    exp = begin(window=HOUR)
    exp.decide(id="a")
    with pytest.raises(UnknownDecision):
        exp.reward_many([("a", 1.0), ("never", 1.0)])
    assert kinds(exp) == []
    with pytest.raises(UnknownDecision, match="'a' has no reward yet"):
        exp.amend("a", 1.0)
    found = exp.reward_each([("a", 1.0), ("never", 1.0), ("a", 1.0), ("a", 2.0)])
    assert [type(one) for one in found] == [bool, UnknownDecision, bool, RewardConflict]
    assert kinds(exp) == [ARRIVAL]


@pytest.mark.parametrize("window", [None, HOUR / 2, 3 * HOUR])
def test_a_window_that_changes_leaves_nobody_waiting(begin, clock, window):
    exp = begin(window=HOUR)
    for id in ("a", "b", "c"):
        exp.decide("ann", id)
    exp.reward("a", 1.0)
    exp.reward("b", 2.0)
    exp.void("b")
    clock.advance(HOUR * 0.6)
    exp.configure(window=window)
    if window is None:
        assert counts(exp) == (1, 1) and exp.decision("b").settled == "expired"
        assert exp.reward("c", 3.0) and counts(exp) == (2, 0)
    elif window < HOUR:
        assert counts(exp) == (1, 0)
        with pytest.raises(ExpiredDecision):
            exp.reward("c", 3.0)
    else:
        clock.advance(HOUR)
        assert counts(exp) == (0, 3) and exp.amend("b", 4.0) and exp.reward("c", 3.0)
        clock.advance(2 * HOUR)
        assert counts(exp) == (3, 0) and exp.report().frame["mean"][0] == pytest.approx(8 / 3)
    exp.configure(window=HOUR)
    exp.decide("ann", "d")
    exp.reward("d", 9.0)
    clock.advance(HOUR + 1)
    assert counts(exp)[1] == 0 and exp.decision("d").settled == "reward"
    found = exp.verify(replay=True)
    assert found, str(found)


def test_a_window_that_comes_later(begin, clock):
    exp = begin()
    exp.decide(id="a")
    exp.decide(id="b")
    assert exp.reward("a", 1.0) and counts(exp) == (1, 1)
    exp.configure(window=HOUR, missing=0.0)
    assert exp.reward("b", 3.0) and counts(exp) == (1, 1)
    clock.advance(HOUR + 1)
    assert counts(exp) == (2, 0) and exp.verify(replay=True)


def test_metrics_need_their_own_number_for_what_is_missing(begin, clock):
    exp = begin(
        window=HOUR, missing=0.0, metrics=["margin", "stars"], missing_metrics={"margin": 0}
    )
    for i in range(4):
        exp.decide(f"unit {i}", f"d{i}")
    exp.reward("d0", 10.0, margin=4.0, stars=5.0)
    exp.reward("d1", 10.0, stars=3.0)
    clock.advance(HOUR + 1)
    exp.report()
    found = exp.state.metric_statistics()
    assert (found["margin"].n[0], found["margin"].mean[0]) == (4, 1.0)
    assert (found["stars"].n[0], found["stars"].mean[0]) == (2, 4.0)
    assert exp.amend("d2", 3.0, margin=8.0) and exp.void("d3")
    found = exp.state.metric_statistics()["margin"]
    assert (found.n[0], found.mean[0]) == (3, 4.0)
    assert exp.verify(replay=True)


def test_stopped_experiments_settle_too(begin, clock):
    exp = begin(window=HOUR)
    exp.decide(id="a")
    exp.stop("only")
    assert exp.reward("a", 1.0)
    clock.advance(HOUR + 1)
    assert counts(exp) == (1, 0)
    exp.restart()
    exp.decide(id="b")
    exp.reward("b", 3.0)
    clock.advance(HOUR + 1)
    assert counts(begin()) == (2, 0) and exp.verify(replay=True)


def test_an_export_has_what_waits(begin, clock, tmp_path):
    exp = begin(window=HOUR, metrics=["m"])
    for id in ("closed", "waits", "amended", "voided", "open"):
        exp.decide(id=id)
        if id == "closed":
            exp.reward(id, 1.0, m=1.0)
            clock.advance(HOUR + 1)
            exp.settle()
    exp.reward("waits", 2.0, m=2.0)
    exp.reward("amended", 2.0, m=2.0)
    exp.amend("amended", 3.0)
    exp.reward("voided", 2.0)
    exp.void("voided")
    exp.export(tmp_path / "log.ndjson")
    rows = {row["id"]: row for row in pl.read_ndjson(tmp_path / "log.ndjson").to_dicts()}
    told = {id: (row["settled"], row["reward"], row["m"]) for id, row in rows.items()}
    assert told == {
        "closed": ("reward", 1.0, 1.0),
        "waits": (None, 2.0, 2.0),
        "amended": (None, 3.0, 2.0),
        "voided": (None, None, None),
        "open": (None, None, None),
    }
    found = varts.evaluate(tmp_path / "log.ndjson", varts.EvenSplit())
    assert found.used == 1


def test_a_forgotten_unit_still_settles(begin, clock):
    exp = begin(window=HOUR, holdout=0.3, block=None)
    for i in range(6):
        exp.decide("ann", f"d{i}")
        exp.reward(f"d{i}", float(i))
    assert exp.forget_unit("ann") == 6
    clock.advance(HOUR + 1)
    assert counts(exp) == (6, 0)
    assert exp.state.by_arm()[0].shared.units == 1 and exp.verify(replay=True)


def test_a_backup_of_what_waits(begin, clock):
    exp, other = begin(window=HOUR), begin()
    exp.decide("ann", "a")
    exp.reward("a", 1.0)
    backup = contents(exp.store)
    assert other.amend("a", 5.0)
    clock.advance(HOUR + 1)
    assert counts(other) == (1, 0)
    restore(exp.store, backup)
    assert other.decision("a").reward == 1.0
    assert counts(exp) == (1, 0) and exp.report().frame["mean"].to_list() == [1.0]
    assert other.verify(replay=True) and exp.verify(replay=True)


@shared
def test_many_wait_and_two_processes_settle_them(store_url, clock):
    stores = [Store(store_url, clock) for _ in range(2)]
    ours, theirs = (
        varts.open("shop", ["a", "b"], store=store, seed=1, window=HOUR, missing=0.0)
        for store in stores
    )
    ids = [d.id for d in ours.decide_many([f"unit {i % 30}" for i in range(700)])]
    theirs.reward_many([(id, float(i % 5)) for i, id in enumerate(ids) if i % 3])
    clock.advance(HOUR + 1)
    ours.decide("unit 1")  # settles some of them
    assert 0 < ours.state.counted < 700
    theirs.report()
    assert theirs.state.counted == 700
    total = sum(i % 5 for i in range(700) if i % 3)
    rows = theirs.state.by_arm().values()
    assert sum(row.n * (row.origin + row.mean) for row in rows) == pytest.approx(total)
    found = ours.verify(replay=True)
    assert found, str(found)
    for store in stores:
        store.close()
