"""A store that is restored under the processes that use it, and caches that are made anew."""

import sqlite3

import pytest

from tests.live.conformance import append, earn, log_of
from tests.live.diaries import contents, restore
from tests.live.stores import open_in
from varts.live import StoreError, UnknownDecision
from varts.live.core.events import CONFIGURE, REPAIR, REWARD, Event
from varts.live.store import log
from varts.live.store.store import Store
from varts.live.store.transaction import Gone, Transaction


@pytest.fixture
def store(store_url):
    return Store(store_url)


@pytest.fixture
def again(store, store_url):
    """Opens the same experiment, each time as another process would."""

    def open_again(**more):
        own = store if store.memory else Store(store_url)
        return open_in(own, **{"name": "restored", "floor": 0.3, "sticky": True, **more})

    return open_again


def agrees(exp, rewards):
    """Statistics, log and report say the same."""
    assert exp.verify(replay=True), str(exp.verify(replay=True))
    assert sum(event.kind == REWARD for event in log_of(exp)) == rewards
    assert exp.report().frame["n"].sum() == exp.state.rewards == rewards


def test_a_process_goes_on_after_a_restore_to_an_older_state(store, again):
    """50 rewards, a backup, 30 more, the backup put back, 5 more by a process that knows of 80."""
    exp = again()
    earn(exp, 50)
    backup = contents(store)
    lost = exp.decide("somebody")
    earn(exp, 30)
    restore(store, backup)
    earn(exp, 5)
    agrees(exp, 55)
    with pytest.raises(UnknownDecision):
        exp.reward(lost.id, 1.0)
    agrees(again(), 55)


@pytest.mark.gate
@pytest.mark.parametrize("lost", [3, 10, 17])
def test_a_process_that_slept_through_the_restore_recognises_another_history(store, again, lost):
    """By then the new history may be as long as the old one was, or longer."""
    asleep, awake = again(), again()
    earn(asleep, 50)
    backup = contents(store)
    earn(asleep, lost)
    restore(store, backup)
    earn(awake, 10)
    earn(asleep, 4)
    agrees(asleep, 64)
    agrees(awake, 64)


@pytest.mark.gate
@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
@pytest.mark.parametrize("grown", [0, 20])
def test_a_restore_while_an_arm_is_chosen(store, again, monkeypatch, sticky, grown):
    """The decision must not be logged with a version of the lost history."""
    exp, other = again(sticky=sticky), again(sticky=sticky)
    earn(exp, 10)
    backup = contents(store)
    earn(exp, 10)
    choose, restored = exp._session.allocation, []

    def slowly(state):
        if not restored:
            restored.append(1)
            restore(store, backup)
            earn(other, grown)
        return choose(state)

    monkeypatch.setattr(exp._session, "allocation", slowly)
    made = exp.decide("somebody")
    monkeypatch.undo()
    assert restored and made.version <= exp.state.version
    assert exp.reward(made.id, 1.0)
    agrees(exp, 11 + grown)


def test_without_the_batches_another_history_is_not_recognised(store, again, monkeypatch):
    """The control of the test above."""
    exp, other = again(), again()
    earn(exp, 50)
    backup = contents(store)
    earn(exp, 20)  # to every arm, but for one time in a million: the floor is 0.3
    restore(store, backup)
    earn(other, 20)
    head = Transaction.head

    def trusting(self, name, seed, known):
        return head(self, name, seed, known)._replace(known_batch=exp.state.batch)

    monkeypatch.setattr(Transaction, "head", trusting)
    for i in range(5):
        exp.reward(other.decide(f"guest {i}").id, 1.0)
    monkeypatch.undo()
    assert not again().verify()


def test_a_decision_that_can_never_be_appended_ends(store_url, monkeypatch):
    exp = open_in(Store(f"{store_url}{'&' if '?' in store_url else '?'}timeout=0.3"), name="short")

    def gone(*given):
        raise Gone

    monkeypatch.setattr(Transaction, "add_decisions", gone)
    with pytest.raises(StoreError, match=r"waited 0\.3 s for other processes"):
        exp.decide()


def test_options_and_arms_of_the_lost_history_are_forgotten(store, again):
    exp = again()
    earn(exp, 20)
    backup = contents(store)
    exp.configure(floor=0.2)
    exp.add_arm("late")
    restore(store, backup)
    exp.decide("somebody")
    assert exp.options.floor == 0.3 and exp.arms == ["a", "b", "c"]
    exp.configure(floor=0.1)
    exp.add_arm("later")
    earn(exp, 40)
    agrees(exp, 60)
    assert exp.arms == ["a", "b", "c", "later"]


def test_an_experiment_that_was_created_anew_is_another_one(store, again):
    empty = contents(store)
    exp = again(seed=1)
    earn(exp, 5)
    restore(store, empty)
    with pytest.raises(
        StoreError, match=r"'restored' in store .* was deleted, or deleted and created again"
    ):
        exp.decide("somebody")
    other = again(seed=2)
    for call in (exp.decide, exp.report, lambda: exp.pause_arm("a")):
        with pytest.raises(StoreError, match="open it again"):
            call()
    agrees(other, 0)


def with_copy(folder):
    """An experiment of 80 rewards, its file, and a copy from when it had 50."""
    file, copy = folder / "varts.db", folder / "copy.db"
    exp = open_in(f"sqlite:///{file}")
    earn(exp, 50)
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    earn(exp, 30)
    return exp, file, copy


def test_a_file_restored_in_place(tmp_path):
    """As `.restore` of SQLite's shell does it, under a process that is at work."""
    exp, file, copy = with_copy(tmp_path)
    with sqlite3.connect(copy) as source, sqlite3.connect(file) as target:
        source.backup(target)
    earn(exp, 5)
    agrees(exp, 55)


def test_a_file_replaced_by_another(tmp_path, monkeypatch):
    """Its write-ahead log goes with it; who went on in the old one would write to nowhere."""
    exp, file, copy = with_copy(tmp_path)
    waiting = exp.decide()

    def replace(self, events):
        for name in ("varts.db-wal", "varts.db-shm"):
            (tmp_path / name).unlink()
        copy.replace(file)
        add_events(self, events)

    add_events = Transaction.add_events
    monkeypatch.setattr(Transaction, "add_events", replace)
    with pytest.raises(StoreError, match="was replaced by another file during the call"):
        exp.reward(waiting.id, 1.0)  # in the middle of which it happens
    monkeypatch.undo()
    with pytest.raises(UnknownDecision):
        exp.reward(waiting.id, 1.0)
    earn(exp, 5)
    agrees(exp, 55)
    agrees(open_in(f"sqlite:///{file}"), 55)


def test_a_log_restored_while_it_is_read_is_not_mixed(store, again, monkeypatch):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 7)
    exp = again()
    earn(exp, 20)
    backup = contents(store)
    earn(exp, 20)
    with exp._session.reading() as transaction:
        rows = exp._session.log(transaction).decisions()
    next(rows)
    restore(store, backup)
    with pytest.raises(StoreError, match="was restored while its log was read; begin again"):
        list(rows)


@pytest.mark.parametrize("order", ["time", "version"])
def test_a_log_is_that_of_one_moment(again, monkeypatch, order):
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 7)
    exp = again()
    earn(exp, 20)
    waiting = exp.decide_many([f"guest {i}" for i in range(10)])
    with exp._session.reading() as transaction:
        moment = exp._session.log(transaction)
    rows = moment.decisions(order)
    first = next(rows)
    exp.reward_many((d.id, 1.0) for d in waiting)
    earn(exp, 20)
    found = [first, *rows]
    assert len({row.id for row in found}) == len(found) == 30
    assert {row.id for row in found if row.settled is None} == {d.id for d in waiting}
    assert len(list(moment.events())) == moment.version == 21
    assert exp.verify(replay=True)  # which reads pages of seven, too


# ------------------------------------------------------------------------------ repair


DAMAGES = {
    "statistics": "UPDATE varts_statistics SET n = n + 1, mean = 0",
    "a statistic lost": "DELETE FROM varts_statistics WHERE arm = 1",
    "a statistic of nobody": "UPDATE varts_statistics SET block = 7 WHERE arm = 1",
    "version": "UPDATE varts_experiments SET version = version + 5, rewards = 3",
    "configuration": "UPDATE varts_experiments SET config = '{}'",
    "no JSON": "UPDATE varts_experiments SET config = 'x'",
    "units": "UPDATE varts_units SET arm = CASE WHEN arm = 2 THEN 0 ELSE arm + 1 END",
    "no units": "DELETE FROM varts_units",
    "a unit's rewards": "UPDATE varts_unit_rewards SET n = n + 1 WHERE unit = 'unit-3'",
    "a unit's mean": "UPDATE varts_unit_rewards SET mean = mean + 0.001 WHERE unit = 'unit-3'",
    "no rewards of a unit": "DELETE FROM varts_unit_rewards WHERE unit = 'unit-3'",
    "a unit of nobody": "UPDATE varts_unit_rewards SET unit = 'ghost' WHERE unit = 'unit-3'",
    "no rewards of units": "DELETE FROM varts_unit_rewards",
    "units in common": "UPDATE varts_statistics SET unit_squares = unit_squares * 1.001 + 1",
    "number of units": "UPDATE varts_statistics SET units = units + 1",
}


@pytest.mark.when_changed("src/varts/live", except_for=["sqlite"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_caches_are_made_anew_from_the_log(store, again, damage):
    exp = again()
    earn(exp, 30)
    for i in range(12):
        exp.reward(exp.decide(unit=f"unit-{i}").id, 1.0)
    kept = [exp.decide(unit=f"unit-{i}", id=f"before-{i}").arm for i in range(12)]
    with store._begun(write=True) as connection:
        connection.execute(DAMAGES[damage])
    if damage in ("configuration", "no JSON"):
        with pytest.raises(StoreError, match="verify --repair restores it"):
            again()
    else:
        assert not again().verify()
    found = exp.verify(replay=True, repair=True)
    assert found and found.repaired, str(found)
    assert str(found).startswith("repaired: ")
    assert found.replayed == 0  # nothing has been decided since
    last = log_of(exp)[-1]
    assert last.kind == REPAIR and last.body["changed"] == found.repaired
    assert [exp.decide(unit=f"unit-{i}", id=f"after-{i}").arm for i in range(12)] == kept
    earn(exp, 5)
    found = exp.verify(replay=True, repair=True)
    assert found and not found.repaired and found.replayed == 17
    agrees(again(), 47)


def test_a_log_with_a_gap_is_taken_as_it_is(store, again):
    """What an older varts left behind after a restore: events 22 to 51 are in no log."""
    exp = again()
    earn(exp, 20)
    rewards = [
        Event(52 + i, REWARD, 0, d.id, exp.arms.index(d.arm), 1, 1.0, 1.0)
        for i, d in enumerate(exp.decide_many(["x", "y", "z"]))
    ]
    append(exp, *rewards)
    with store._begun(write=True) as connection:
        connection.execute("UPDATE varts_experiments SET version = 54, rewards = 53")
    assert "events 22 to 51 are missing from the log" in again().verify().problems
    found = exp.verify(repair=True)
    assert found and "events 22 to 51 are missing from the log" in found.repaired
    earn(exp, 5)
    agrees(again(), 28)


def test_a_log_that_makes_no_sense_is_not_repaired(store, again):
    exp = again()
    earn(exp, 5)
    append(exp, Event(exp.state.version + 1, CONFIGURE, 0, body={}))
    before = contents(store)
    with pytest.raises(StoreError, match=r"cannot be repaired, restore it .*: event 7 cannot be"):
        exp.verify(repair=True)
    assert contents(store) == before


def test_nothing_is_repaired_that_is_sound(again):
    exp = again()
    earn(exp, 20)
    version = exp.state.version
    assert exp.verify(repair=True).repaired == [] and exp.report().version == version
