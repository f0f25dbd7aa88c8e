"""One clock for everybody: that of the database, whatever the processes' own clocks say."""

import os
import time

import pytest

import varts
from tests.live.conformance import Clock
from tests.live.stores import open_in, shared
from varts.live import Store, UnknownDecision, settle
from varts.live.store.engine import file_clock, process_clock

HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def skewed(monkeypatch):
    """Sets this process's clock off by some seconds."""
    real = time.time_ns

    def skew(seconds):
        monkeypatch.setattr(time, "time_ns", lambda: real() + round(seconds * 1e9))
        monkeypatch.setattr(time, "time", lambda: time.time_ns() / 1e9)

    return skew


@pytest.mark.gate
@shared
@pytest.mark.parametrize("ahead", [HOUR, DAY, -DAY])
def test_a_process_whose_clock_is_off_settles_nothing(store_url, skewed, ahead):
    exp = open_in(store_url, window=HOUR / 2, missing=0.0)
    waiting = exp.decide_many(5)
    skewed(ahead)
    with open_in(Store(store_url), window=HOUR / 2, missing=0.0) as other:
        assert other.report().frame["pending"].sum() == 5
        late = other.decide()
        other.reward(waiting[0].id, 1.0)
    skewed(0)
    assert exp.reward_many([(d.id, 2.0) for d in (*waiting[1:], late)]) == [True] * 5
    frame = exp.report().frame
    assert (frame["n"].sum(), frame["pending"].sum()) == (0, 6)  # no window has closed
    assert exp.decision(waiting[0].id).reward == 1.0 and exp.decision(late.id).reward == 2.0
    assert exp.verify(replay=True)


@shared
def test_a_clock_that_is_ahead_for_everybody_settles_everything(store_url):
    """The control: such a report, if it went by that clock."""
    exp = open_in(store_url, window=HOUR / 2, missing=0.0)
    exp.decide_many(5)
    ahead = Store(store_url, clock=lambda: process_clock() + HOUR * 1_000_000)
    with varts.open("options", store=ahead) as other:
        assert other.report().frame["pending"].sum() == 0


@pytest.mark.parametrize("skew", [0.0, 2 * HOUR])
def test_a_jump_of_the_database_clock_within_the_bound_settles_nothing(store_url, skew):
    """A failover to a server whose clock is an hour ahead, and back."""
    clock = Clock()
    exp = open_in(Store(store_url, clock), window=60, missing=0.0, skew=skew)
    d = exp.decide()
    clock.advance(HOUR)
    pending = exp.report().frame["pending"].sum()
    clock.advance(10 - HOUR)
    if skew:
        assert pending == 1 and exp.reward(d.id, 1.0)
    else:  # what no bound was set for
        assert pending == 0
        with pytest.raises(UnknownDecision, match="expired"):
            exp.reward(d.id, 1.0)
    clock.advance(60 + skew + 1)
    exp.decide()
    assert exp.verify(replay=True)


def test_the_window_is_longer_by_the_bound(store_url):
    clock = Clock()
    exp = open_in(Store(store_url, clock), window=60, skew=30)
    first, second = exp.decide(), exp.decide()
    clock.advance(90)
    assert exp.reward(first.id, 1.0)
    clock.advance(1e-6)
    with pytest.raises(UnknownDecision, match="expired"):
        exp.reward(second.id, 1.0)


def test_the_clock_of_a_file_is_that_of_its_file_system(tmp_path, skewed):
    file = tmp_path / "varts.db-queue"
    file.touch()
    os.utime(file, (0, 0))
    now, real = file_clock(file), process_clock()
    assert abs(now() - real) < 60e6
    skewed(DAY)
    assert abs(now() - real) < 60e6
    gone = file_clock(tmp_path / "gone")
    assert abs(gone() - process_clock()) < 60e6  # a day ahead: there is no better one


def test_one_call_settles_a_bounded_number(store_url):
    """A decision after a quiet night does not wait for all that has expired."""
    clock = Clock()
    exp = open_in(Store(store_url, clock), window=60, missing=0.0)
    step = settle.DECISIONS_PER_CALL
    many = 3 * step + 5
    exp.decide_many(many)
    clock.advance(61)
    settled = []
    for _ in range(5):
        exp.decide()
        settled.append(exp.state.rewards)
    assert settled == [step, 2 * step, 3 * step, many, many]
    clock.advance(61)
    exp.decide_many(many)
    clock.advance(61)
    exp.decide_many(many)  # in which up to twice as many are settled
    assert exp.state.rewards == 2 * many + 5
    clock.advance(61)
    assert exp.report().frame["pending"].sum() == 0  # and all of them by a report
    assert exp.verify(replay=True)
