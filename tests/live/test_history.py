"""`Experiment.history`: at every checkpoint, what a report would have said just then."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import varts
from tests.live.conformance import START
from tests.live.stores import refused, sentence
from varts.live import StoreError
from varts.live.audit.follower import rebuild
from varts.live.audit.history import MOST_CHECKPOINTS, check_spacing, history
from varts.live.core.state import State
from varts.live.report.report import report_of
from varts.live.store import log
from varts.live.store.store import Store
from varts.live.store.transaction import Traffic

pytestmark = pytest.mark.when_changed("src/varts/live")

SAID = [
    "arm", "n", "mean", "sd", "mean_low", "mean_high", "anytime_low", "anytime_high", "p_best",
    "expected_loss", "may_be_best", "share",
]  # fmt: skip
# Sums in another order: the statistics agree to 1e-12, and P(best) is worked out to 1e-10.
CLOSE = {"rel_tol": 1e-8, "abs_tol": 1e-9}


def play(exp, clock, visits, start=0, mean=10.0, every=60):
    """A visit a minute; every seventh reward never comes."""
    rng = np.random.default_rng(start + 1)
    for i in range(start, start + visits):
        clock.advance(every)
        decision = exp.decide(id=f"visit-{i}")
        paid = mean + exp.arms.index(decision.arm) + rng.normal(0, 3)
        if i % 7:
            exp.reward(decision.id, paid)


def eventful(store, clock, **options):
    """Everything that can happen to an experiment, in 400 visits."""
    exp = varts.open("price", ["9", "12", "15"], store=store, seed=3, **options)
    play(exp, clock, 80)
    exp.configure(half_life=50.0, floor=0.05)
    play(exp, clock, 60, 80)
    exp.add_arm("18")
    play(exp, clock, 60, 140)
    exp.pause_arm("12")
    exp.configure(window=1200.0)
    play(exp, clock, 60, 200)
    exp.configure(half_life=None, missing=5.0, clip=(0.0, 14.0))
    play(exp, clock, 60, 260)
    exp.resume_arm("12")
    exp.configure(half_life=30.0)
    play(exp, clock, 80, 320)
    return exp


def whole_log(exp):
    with exp._session.reading() as transaction:
        found = exp._session.log(transaction)
    return list(found.events()), list(found.decisions())


def folded(exp, events, version):
    """The state at a version, event by event."""
    state = State.created(events[0])
    with exp._session.reading() as transaction:
        own = exp._session.log(transaction)
    for event in events[1:version]:
        if (state.stale or state.recount) and event.batch != state.batch:
            rebuild(state, own)
        state.apply(event)
    rebuild(state, own)
    return state


def said_at(exp, version, made, events):
    """The report of that state, with these decisions."""
    decided = {arm: made.count(arm) for arm in set(made)}
    state = folded(exp, events, version)
    return report_of(exp.name, state, Traffic(decided, {})).frame.select(SAID)


def checkpoints(found):
    return [part for _, part in found.frame.group_by("checkpoint", maintain_order=True)]


@pytest.mark.parametrize("goal", ["max", "min"])
def test_every_checkpoint_is_the_report_of_its_version(store_url, clock, goal):
    exp = eventful(Store(store_url, clock), clock, goal=goal)
    events, decisions = whole_log(exp)
    found = exp.history(every_rewards=23)
    parts = checkpoints(found)
    assert [part["rewards"][0] for part in parts[:-1]] == list(range(23, exp.state.rewards, 23))
    assert {part.height for part in parts} == {3, 4}  # before and after an arm was added
    for i, part in enumerate(parts):
        version, last = part["version"][0], part is parts[-1]
        made = [row.arm for row in decisions if row.version < version or last]
        assert_frame_equal(part.select(SAID), said_at(exp, version, made, events), **CLOSE)
        rewarded = [e for e in events[:version] if e.kind in ("reward", "missing")]
        assert part["rewards"][0] == len(rewarded)
        assert last or events[version - 1] is rewarded[-1]
        assert last or part["time"][0].timestamp() * 1e6 == rewarded[-1].time
        for arm, total in enumerate(part["cumulative_reward"]):
            assert total == pytest.approx(sum(e.value for e in rewarded if e.arm == arm))
            assert part["nonzero"][arm] == sum(e.value != 0 for e in rewarded if e.arm == arm)
        assert part["traffic"].sum() == pytest.approx(1)
        before = parts[i - 1]["decisions"] if i else pl.Series([0])
        new = part["decisions"].to_numpy() - np.pad(before, (0, part.height - len(before)))
        assert part["traffic"].to_numpy() == pytest.approx(new / new.sum())
        # The negative control: an event earlier, one arm has another mean.
        earlier = said_at(exp, rewarded[-1].version - 1, made, events)
        with pytest.raises(AssertionError):
            assert_frame_equal(part.select(SAID), earlier, **CLOSE)
    now = exp.report()
    assert parts[-1]["version"][0] == now.version
    assert_frame_equal(parts[-1].select(SAID), now.frame.select(SAID), **CLOSE)
    assert found.state.config == now.state.config
    assert {"missing", "expired", "reward", "configure"} <= {event.kind for event in events}
    exp.close()


def test_a_correction_counts_from_when_it_came(store_url, clock):
    exp = varts.open(
        "price",
        ["9", "12"],
        store=Store(store_url, clock),
        metrics=["m"],
        holdout=0.2,
        block=None,
    )
    play(exp, clock, 40)
    exp.amend("visit-5", 1e9)  # a slip
    play(exp, clock, 40, 40)
    exp.amend("visit-5", 8.0, m=1)
    exp.void_many(["visit-6", "visit-8"])
    play(exp, clock, 40, 80)
    exp.add_reward("visit-9", -4.0, "refund")
    exp.amend("visit-6", 11.0)
    exp.amend("visit-10", 0.0)
    events, _ = whole_log(exp)
    rebuilt = 0
    for part in checkpoints(exp.history(every_rewards=3)):
        values = {}
        for event in events[: part["version"][0]]:
            if event.kind in ("reward", "amend", "void", "part"):
                values[event.decision or event.corrects] = event.arm, event.value
        for arm, n, mean, sd, total, nonzero in part.select(
            "arm", "n", "mean", "sd", "cumulative_reward", "nonzero"
        ).iter_rows():
            place = exp.arms.index(arm)
            mine = [v for where, v in values.values() if where == place and v is not None]
            assert n == len(mine)
            assert nonzero == sum(v != 0 for v in mine)
            if n > 1:
                assert mean == pytest.approx(np.mean(mine), rel=1e-12)
                assert sd == pytest.approx(np.std(mine, ddof=1), rel=1e-9)
                assert total == pytest.approx(sum(mine), rel=1e-9, abs=1e-6)
                rebuilt += max(mine) > 1e6
    assert rebuilt > 3
    exp.close()


def test_the_gain_over_the_holdout_is_that_of_every_moment(store_url, clock):
    exp = varts.open("price", ["9", "12"], store=Store(store_url, clock), holdout=0.3)
    play(exp, clock, 150)
    exp.amend("visit-5", 1e9)
    exp.amend("visit-5", 8.0)
    exp.void_many(["visit-9", "visit-10"])
    play(exp, clock, 100, 150)
    found = exp.history(every_rewards=20)
    versions = [part["version"][0] for part in checkpoints(found)]
    events, decisions = whole_log(exp)
    held = {row.id: row.reason == "holdout" for row in decisions}
    known = 0
    for version, gain in zip(versions, found.gains, strict=True):
        values = {}
        for event in events[:version]:
            if event.kind in ("reward", "amend", "void"):
                values[event.decision or event.corrects] = event.value
        sides = [
            [v for id, v in values.items() if held[id] is side and v is not None]
            for side in (False, True)
        ]
        assert [gain.n, gain.n_holdout] == [len(side) for side in sides]
        if gain.estimate is not None:
            known += 1
            assert gain.estimate == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]), rel=1e-9)
    now = exp.report().gain
    last = found.gains[-1]
    assert known > 3 and (now.n, now.n_holdout) == (last.n, last.n_holdout)
    assert (now.low, now.high) == pytest.approx((last.low, last.high), rel=1e-8)
    exp.configure(holdout=0.0)
    before, after = exp.history(points=2).gains
    assert before is not None and after is None  # which has none any more
    exp.close()


def test_pages_make_no_difference(store_url, clock, monkeypatch):
    exp = eventful(Store(store_url, clock), clock)
    ways = ({"points": 13}, {"every": "1h"}, {"every_rewards": 5})
    whole = [exp.history(**way).frame for way in ways]
    for rows, way, frame in zip((1, 7, 7), ways, whole, strict=True):
        monkeypatch.setattr(log, "ROWS_PER_PAGE", rows)
        assert_frame_equal(exp.history(**way).frame, frame, **CLOSE)


def test_checkpoints_at_the_full_hour(clock):
    exp = eventful(Store("memory://", clock), clock)
    events, decisions = whole_log(exp)
    found = exp.history(every="1h")
    parts = checkpoints(found)
    hour = 3_600_000_000
    full = range((START // hour + 1) * hour, clock.now, hour)
    times = [round(part["time"][0].timestamp() * 1e6) for part in parts]
    assert times == [*full, max(events[-1].time, decisions[-1].time)]
    assert found.start == datetime.fromtimestamp(START / 1e6, UTC)
    for time, part in zip(times, parts, strict=True):
        version = sum(event.time <= time for event in events)
        made = [row.arm for row in decisions if row.time <= time]
        assert part["version"][0] == version
        assert_frame_equal(part.select(SAID), said_at(exp, version, made, events), **CLOSE)


def test_a_pause_of_the_visitors_and_a_clock_that_was_set_back(clock):
    exp = varts.open("price", ["9", "12"], store=Store("memory://", clock), seed=1)
    play(exp, clock, 10)
    clock.advance(3 * 3600)
    play(exp, clock, 10, 10)
    parts = checkpoints(exp.history(every="1h"))
    idle = [part["traffic"].is_null().all() for part in parts]
    assert idle == [False, True, True, False]  # 23:00, 00:00, 01:00 and the last visit
    clock.advance(-7200)
    play(exp, clock, 10, 20)
    parts = checkpoints(exp.history(every="1h"))
    rewards = [part["rewards"][0] for part in parts]
    assert rewards == sorted(rewards) and rewards[-1] == exp.state.rewards
    assert parts[-1]["decisions"].sum() == 30


def test_digits_of_large_rewards():
    exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    rng = np.random.default_rng(2)
    paid = {}
    for i in range(300):
        decision = exp.decide(id=str(i))
        paid.setdefault(decision.arm, []).append(1e9 + 0.001 * rng.integers(0, 2))
        exp.reward(decision.id, paid[decision.arm][-1])
    frame = exp.history(points=7).frame[-2:]
    for arm, sd, mean in frame["arm", "sd", "mean"].rows():
        exact = np.array(paid[arm]) - 1e9
        assert sd == pytest.approx(exact.std(ddof=1), rel=1e-9)
        assert mean - 1e9 == pytest.approx(exact.mean(), abs=2e-7)  # as floats near 1e9 have it


def test_rewards_beyond_all_measure_and_equal_ones(clock):
    exp = varts.open("price", ["9", "12"], store=Store("memory://", clock), seed=1)
    for i in range(8):
        exp.reward(exp.decide(id=str(i)).id, 5.0)
    frame = exp.history(points=1).frame
    assert frame["p_best"].is_null().all() and frame["posterior_mean"].is_null().all()
    assert frame["sd"].to_list() == [0.0, 0.0]
    exp.reward(exp.decide(id="huge").id, 1e300)
    frame = exp.history(points=3).frame
    assert frame["cumulative_reward"].max() == 1e70
    assert_frame_equal(frame[-2:].select(SAID), exp.report().frame.select(SAID), **CLOSE)


def test_points_are_spread_evenly():
    exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    exp.reward_many([(d.id, float(i)) for i, d in enumerate(exp.decide_many(101))])
    for points in (1, 2, 7, 50, 101, 5000):
        rewards = exp.history(points).frame["rewards"].unique().sort().to_list()
        count = min(points, 101)
        assert rewards == [-(-101 * i // count) for i in range(1, count + 1)]
    assert exp.history().frame["checkpoint"].max() == 50
    assert exp.history(every_rewards=101).frame["rewards"].unique().to_list() == [101]
    assert exp.history(every_rewards=10**9).frame["rewards"].unique().to_list() == [101]


def test_without_rewards_and_with_one_arm(tmp_path):
    exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    for way in ({}, {"every": 1}, {"every_rewards": 1}):
        found = exp.history(**way)
        assert found.frame["arm"].to_list() == ["9", "12"]
        assert found.frame["n"].to_list() == found.frame["share"].to_list() == [0, 0]
        assert found.frame["traffic"].is_null().all()
        assert found.densities().height == 0
        found.plot(tmp_path / "nothing.png")
    exp.decide_many(3)
    assert exp.history().frame["decisions"].sum() == 3
    lone = varts.open("lone", ["9"], store="memory://", seed=1)
    for i in range(5):
        lone.reward(lone.decide(id=str(i)).id, float(i))
    found = lone.history(points=2)
    assert found.frame["p_best"].to_list() == [1.0, 1.0]
    assert found.frame["traffic"].to_list() == [1.0, 1.0]
    found.plot(tmp_path / "one.svg")


def test_ten_thousand_arms():
    exp = varts.open("many", [f"arm {i}" for i in range(10_000)], store="memory://", seed=1)
    exp.reward_many([(d.id, float(i % 7)) for i, d in enumerate(exp.decide_many(500))])
    found = exp.history(points=2)
    assert found.frame.height == 20_000
    assert found.frame["n"].sum() == 750
    refused(
        lambda: exp.history(points=300),
        "points must make at most 200 checkpoints with 10,000 arms, got 300",
        error=ValueError,
    )


def test_the_posterior_mean_and_density_are_those_of_the_belief():
    """Bernoulli-TS believes in a Beta per arm, of which SciPy knows the density."""
    for goal in ("max", "min"):
        exp = varts.open(
            "clicks", ["a", "b"], store="memory://", seed=1, policy="Bernoulli-TS", goal=goal
        )
        rng = np.random.default_rng(4)
        for i in range(200):
            exp.reward(exp.decide(id=str(i)).id, float(rng.random() < 0.3))
        found = exp.history(points=3)
        for name in exp.arms:
            clicks, n = found.frame.filter(arm=name)["cumulative_reward", "n"].rows()[-1]
            beta = stats.beta(1 + clicks, 1 + n - clicks)
            assert found.frame.filter(arm=name)["posterior_mean"][-1] == pytest.approx(beta.mean())
            curve = found.densities().filter(arm=name)
            x, density = curve["mean"].to_numpy(), curve["density"].to_numpy()
            assert density == pytest.approx(beta.pdf(x), rel=0.01)
            assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-3)
            wrong = stats.beta(1 + clicks, 3 + n - clicks)  # the negative control
            assert density != pytest.approx(wrong.pdf(x), rel=0.01)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"points": 0}, ValueError, "points must be a whole number >= 1, got 0"),
        ({"points": 2.5}, ValueError, "points must be a whole number >= 1, got 2.5"),
        ({"points": "5"}, TypeError, "points must be a whole number >= 1, got '5'"),
        ({"points": True}, TypeError, "points must be a whole number >= 1, got True"),
        ({"every_rewards": 0}, ValueError, "every_rewards must be a whole number >= 1, got 0"),
        ({"every": 0}, ValueError, "every must be finite and > 0"),
        ({"every": "-1h"}, ValueError, "every must be finite and > 0"),
        ({"every": float("nan")}, ValueError, "every must be finite and > 0"),
        ({"every": "an hour"}, ValueError, "every must be seconds or a time like 30m, 24h or 7d"),
        ({"every": ""}, ValueError, "every must be seconds or a time like"),
        ({"every": [1]}, TypeError, "every must be seconds or a time like"),
        ({"every": True}, TypeError, "every must be seconds or a time like"),
        ({"points": 5, "every": 60}, ValueError, "must be given, got points and every"),
        ({"level": 1.0}, ValueError, "level must be finite and > 0 and < 1, got 1"),
        ({"level": "0.9"}, TypeError, "level must be finite and > 0 and < 1, got '0.9'"),
    ],
)
def test_mistakes_are_one_sentence(given, error, text):
    exp = varts.open("price", ["9", "12"], store="memory://")
    with pytest.raises(error) as caught:
        exp.history(**given)
    assert text in sentence(caught)


def test_too_many_checkpoints_are_refused_before_the_work(clock):
    exp = varts.open("price", ["9", "12"], store=Store("memory://", clock))
    play(exp, clock, 10, every=86_400)
    with pytest.raises(ValueError, match=f"every must make at most {MOST_CHECKPOINTS:,} check"):
        exp.history(every="1s")
    assert exp.history(every="1d").frame["checkpoint"].max() in (10, 11)


def test_a_log_that_was_restored_or_makes_no_sense(url, monkeypatch):
    exp = varts.open("price", ["9", "12"], store=url, seed=1)
    exp.reward_many([(d.id, float(i)) for i, d in enumerate(exp.decide_many(60))])
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 20)
    reading, pages = exp._session.reading, []

    def restored(**how):
        pages.append(1)
        if len(pages) == 4:
            execute("UPDATE varts_events SET batch = batch + 1")
        return reading(**how)

    def execute(text):
        with exp._session.writing() as transaction:
            transaction.connection.execute(text)

    monkeypatch.setattr(exp._session, "reading", restored)
    refused(exp.history, "was restored while its log was read; begin again")
    monkeypatch.undo()
    for damage in (
        "UPDATE varts_events SET arm = 2 WHERE version = 30",
        "UPDATE varts_events SET arm = 1, value = NULL WHERE version = 30",
        "UPDATE varts_events SET value = 1, kind = 'nonsense' WHERE version = 30",
        "DELETE FROM varts_events WHERE version = 1",
    ):
        execute(damage)
        refused(exp.history, "the log of experiment 'price' cannot be followed; verify says")
    exp.close()


def test_a_history_is_that_of_one_moment(store_url, clock, monkeypatch):
    exp = varts.open("price", ["9", "12"], store=Store(store_url, clock), seed=1)
    play(exp, clock, 40)
    whole = exp.history(points=5).frame
    other = varts.open("price", store=exp.store)
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 10)
    reading, count = exp._session.reading, iter(range(40, 10**6))

    def meanwhile():
        play(other, clock, 1, next(count))
        return reading()

    with exp._session.reading() as transaction:
        state, _ = exp._session.reload(transaction)
        moment = exp._session.log(transaction)
    moment.reading = meanwhile
    found = history(exp.name, moment, state, exp._session.seed, check_spacing(5, None, None), 0.95)
    assert_frame_equal(found.frame, whole, **CLOSE)
    assert next(count) > 50 and exp.report().state.rewards > whole["rewards"].max()


def test_a_log_that_has_lost_events_and_was_repaired(url):
    exp = varts.open("price", ["9", "12"], store=url, seed=1)
    exp.reward_many([(d.id, float(i % 9)) for i, d in enumerate(exp.decide_many(60))])
    with exp._session.writing() as transaction:
        transaction.connection.execute("DELETE FROM varts_events WHERE version IN (9, 30)")
    assert exp.verify(repair=True).repaired
    exp.pause_arm("9")
    frame = exp.history(every_rewards=10).frame
    assert frame["rewards"].unique().sort().to_list() == [10, 20, 30, 40, 50, 58]
    assert_frame_equal(frame[-2:].select(SAID), exp.report().frame.select(SAID), **CLOSE)
    assert frame[-2:]["p_best"].to_list() == [None, 1.0]
    exp.close()


def test_a_decision_for_an_arm_that_is_not_there():
    exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    exp.decide_many(5)
    with exp._session.writing() as transaction:
        transaction.connection.execute("UPDATE varts_decisions SET arm = 7")
    refused(exp.history, "2 arms but decisions for others; verify says", error=StoreError)


def test_as_text():
    exp = varts.open("pri\x1bce", ["9\x1b", "12"], store="memory://", seed=1)
    for i in range(6):
        exp.reward(exp.decide(id=str(i)).id, float(i))
    found = exp.history(points=2)
    assert "\x1b" not in str(found)
    assert "2 checkpoints, 6 rewards" in repr(found)
