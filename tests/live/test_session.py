"""The one way to change an experiment: locked, copied, applied, written, and only then known."""

import pytest

import varts
from tests.live.conformance import log_of
from varts.live.core.events import PAUSE, REWARD
from varts.live.store.transaction import Transaction


@pytest.fixture
def exp():
    return varts.open("change", ["a", "b"], store="memory://", seed=1)


def test_a_change_is_known_after_its_commit_and_not_before(exp):
    session, before = exp._session, exp.state
    with session.changing() as change:
        change.apply(PAUSE, body={"arm": "a"})
        assert change.state.config.paused == {0}
        assert session.state is before and before.version == 1  # a copy was changed
    assert exp.state is change.state and exp.state.config.paused == {0}
    assert [(e.version, e.kind) for e in log_of(exp)] == [(1, "create"), (2, PAUSE)]
    assert exp.verify()


def test_events_of_one_change_are_numbered_and_have_one_time(exp):
    made = exp.decide_many(3)
    with exp._session.changing() as change:
        for d in made:
            change.apply(REWARD, d.id, exp.arms.index(d.arm), 1, 5.0, 5.0)
    events = log_of(exp)[1:]
    assert [e.version for e in events] == [2, 3, 4]
    assert {e.time for e in events} == {change.time}
    assert exp.verify(replay=True).rewards == 3


def test_an_error_in_the_body_leaves_everything_as_it_was(exp):
    before = exp.state

    def break_off():
        with exp._session.changing() as change:
            change.apply(PAUSE, body={"arm": "a"})
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        break_off()
    assert exp.state is before
    assert exp.report().version == len(log_of(exp)) == 1


def test_a_change_of_nothing_writes_nothing(exp, monkeypatch):
    written = []
    for step in ("add_events", "save"):
        monkeypatch.setattr(Transaction, step, lambda *args, step=step: written.append(step))
    with exp._session.changing():
        pass
    assert written == []
    with exp._session.changing() as change:  # a sweep that found nothing to settle
        change.swept = 7
    assert written == ["save"]


def test_who_recounts_and_who_reads_name_the_same_revision(tmp_path):
    """Events of a recount follow the change of configuration in the same transaction."""
    url = f"sqlite:///{tmp_path}/revisions.db"
    with varts.open("price", ["a", "b"], store=url) as one, varts.open("price", store=url) as two:
        one.reward_many([(d.id, float(i)) for i, d in enumerate(one.decide_many(6))])
        one.configure(clip=(0.0, 2.0), recount=True)
        two.report()
        assert one.revision == two.revision
        one.add_arm("c", expected=two.revision)
