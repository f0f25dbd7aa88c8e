"""What every store of live experiments must do, as a class of tests to inherit from.

A store of your own passes when this does, run by pytest:

    class TestMine(StoreConformance):
        @pytest.fixture
        def connect(self):
            return lambda clock: MyStore("somewhere", clock)

`connect(clock)` opens the same store anew at every call, as another process would. It may hold
experiments already: every test has a name of its own. Nothing here knows SQL.
"""

import json
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

import varts
from tests.fixed_secrets import fix_secrets
from tests.live.corrections import CorrectionConformance
from tests.live.local_decisions import LocalConformance
from tests.seeds import fresh
from varts.live import (
    DecisionConflict,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)
from varts.live.arguments import check_arms
from varts.live.core.allocation import Allocation
from varts.live.core.events import CONFIGURE, MISSING, REWARD, Event
from varts.live.core.state import State
from varts.live.store.transaction import NewDecision, query

ARMS = ["9", "12", "15"]
START = 1_700_000_000_000_000  # microseconds: 14 November 2023
ODD_TEXTS = [
    "d 1",
    "d'; DROP TABLE varts_events; --",
    "100 %s ? :x %(id)s",
    "naïve ☃ 😀",
    "\\n\n\t",
    "{a,b}",
    "NULL",
    "x" * 255,
]
FINITE = [
    0.0,
    0.1,
    -1 / 3,
    5e-324,
    2.2250738585072014e-308,
    1e-12,
    1e9 + 1 / 3,
    1e16 + 2,
    1.7976931348623157e308,
    -1.7976931348623157e308,
]
NOT_REWARDS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float64("nan"),
    10**400,
    10**5000,
    "1.5",
    None,
    True,
    np.True_,
    np.array(True),
    np.array("1.5"),
    np.array([1.0]),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e400"),
    Fraction(10**400),
    1j,
    [1.0],
    {"reward": 1.0},
    b"1",
]


class Clock:
    """Time that passes when told to: a store's `clock`, in microseconds since 1970."""

    def __init__(self, now=START):
        self.now = now

    def __call__(self):
        return self.now

    def advance(self, seconds):
        """Let so many seconds pass."""
        self.now += round(seconds * 1e6)


class Interruption(Exception):  # noqa: N818
    """What a test throws into a transaction."""


class StoreConformance(CorrectionConformance, LocalConformance):
    """Inherit, and define the fixture `connect`."""

    @pytest.fixture
    def connect(self):
        raise NotImplementedError("define a fixture `connect`: connect(clock) -> Store")

    @pytest.fixture(autouse=True)
    def same_secrets(self, request, monkeypatch):
        """The same seeds and ids at every run, so that no statistic is unlucky now and then.

        Only statistical tests may get fresh ones: others may rely on who gets which arm.
        """
        statistical = request.node.get_closest_marker("statistical")
        fix_secrets(monkeypatch.setattr, fresh(4) if statistical else 4)

    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def begin(self, request, connect, clock):
        """Open this test's experiment, each time through a connection of its own."""

        def begin(arms=ARMS, seed=7, part="", **options):
            name = request.node.name + part
            return varts.open(name, arms, store=connect(clock), seed=seed, **options)

        return begin

    # ------------------------------------------------------------------ opening

    def test_an_experiment_that_is_not_there_needs_arms(self, begin):
        with pytest.raises(UnknownExperiment, match=r"unknown experiment .* give its arms"):
            begin(arms=None)
        with pytest.raises(UnknownExperiment, match="unknown experiment"):
            begin(arms=None)  # the first try created nothing

    def test_opening_again_gives_the_same_experiment(self, begin):
        prior = varts.NormalGamma([1, 2, 3], 1, 2, 1)
        first = begin(prior=prior, floor=0.05, clip=(0, 10), policy=varts.VarTS())
        again, plain = begin(), begin(arms=None, seed=None)
        same = begin(prior=prior, floor=0.05, clip=[0, 10])
        for other in (again, plain, same):
            assert other.arms == ARMS
            assert other.options == first.options
        for name in "def":
            decided = first.decide(id=name)
            assert [exp.decide(id=name) for exp in (again, plain, same)] == [decided] * 3

    def test_opening_as_something_else_is_refused(self, begin):
        begin(floor=0.05)
        for arms in (["9", "12"], ["12", "9", "15"], [*ARMS, "18"]):
            with pytest.raises(ValueError, match="arms must be those of the experiment"):
                begin(arms=arms)
        with pytest.raises(
            ValueError, match=r"^seed must be that of the experiment .*, got another$"
        ):
            begin(seed=8)
        with pytest.raises(ValueError, match=r"floor .* is 0.05, got 0.1; .* configure"):
            begin(floor=0.1)
        with pytest.raises(ValueError, match=r"goal .* is 'max', got 'min'"):
            begin(goal="min")
        assert begin(floor=0.05).options.floor == 0.05

    def test_the_arms_it_was_created_with_open_it_when_more_were_added(self, begin):
        begin().add_arm("18")
        assert begin().arms == begin(arms=[*ARMS, "18"]).arms == [*ARMS, "18"]

    def test_the_prior_it_was_created_with_opens_it_when_more_arms_were_added(self, begin):
        """A worker that restarts says what it said the first time."""
        each, shared = varts.NormalGamma([1, 2, 3], 1, 2, 1), varts.NormalGamma(1, 1, 2, 1)
        for part, prior in (("each", each), ("shared", shared)):
            begin(part=part, prior=prior).add_arm("18", prior=varts.NormalGamma(9, 2, 3, 4))
            assert begin(part=part, prior=prior).arms == [*ARMS, "18"]
            assert begin(part=part, policy=varts.VarTS(prior)).arms == [*ARMS, "18"]
            whole = begin(part=part).options.prior
            assert begin(part=part, arms=[*ARMS, "18"], prior=whole).options.prior == whole
            other = varts.NormalGamma([1, 2, 4], 1, 2, 1)
            for wrong in ({"prior": other}, {"policy": varts.VarTS(other)}):
                with pytest.raises(ValueError, match=r"^prior .* is .*; change it") as refused:
                    begin(part=part, **wrong)
                assert len(str(refused.value)) < 350

    def test_experiments_in_one_store_do_not_mix(self, begin):
        a, b = begin(part="a"), begin(part="b", arms=["x", "y"], seed=8)
        assert {a.name, b.name} <= set(a.store.names())
        assert a.decide(id="d").arm in ARMS
        with pytest.raises(UnknownDecision):
            b.reward("d", 1.0)
        assert b.decide(id="d").arm in ("x", "y")
        assert a.reward("d", 1.0) and b.reward("d", 2.0)
        assert a.report().frame["mean"].drop_nulls().to_list() == [1.0]
        assert b.report().frame["mean"].drop_nulls().to_list() == [2.0]
        assert a.verify(replay=True).decisions == b.verify(replay=True).decisions == 1

    def test_experiments_that_are_given_one_seed_decide_differently(self, begin):
        """By chance they would agree on 60 decisions in one of 3^60 cases."""
        ids = [f"d{i}" for i in range(60)]
        a, b = (begin(part=part).decide_many(60, ids) for part in "ab")
        assert [d.arm for d in a] != [d.arm for d in b]
        assert [d.arm for d in begin(part="a").decide_many(60, ids)] == [d.arm for d in a]

    def test_an_experiment_with_the_seed_that_it_was_given_opens_with_it(self, begin):
        """As experiments were made under schema 0001."""
        new = begin(part="new")
        new.store.create(new.name + "old", 7, new.state.config.to_json())
        old = begin(part="newold")
        assert [exp.store.find(exp.name).seed == 7 for exp in (new, old)] == [False, True]
        with pytest.raises(ValueError, match="seed must be that of the experiment"):
            begin(part="newold", seed=8)

    def test_the_seed_is_shown_nowhere(self, begin, tmp_path):
        exp = begin(client_ids=True)
        earn(exp, 9)
        shown = [repr(exp), str(exp.report()), str(exp.verify()), repr(exp.state), str(vars(exp))]
        with pytest.raises(ValueError, match="seed must be") as refused:
            begin(seed=8)
        shown.append(str(refused.value))
        for name in ("log.csv", "log.ndjson"):
            exp.export(tmp_path / name)
            shown.append((tmp_path / name).read_text("utf-8"))
        seed = str(exp.store.find(exp.name).seed)
        assert len(seed) > 10
        assert not any(seed in text for text in shown)

    # ------------------------------------------------------------------ decide

    def test_a_retried_decide_returns_the_same_decision(self, begin):
        exp = begin()
        first = exp.decide(unit="ann", id="d")
        assert first.id == "d" and first.arm in ARMS and first.version == 1
        assert first.probability == pytest.approx(1 / 3)
        earn(exp, 20)
        exp.pause_arm(first.arm)
        exp.configure(floor=0.2)
        for again in (exp, begin()):
            assert again.decide(unit="ann", id="d") == first
            assert again.decide(id="d") == first
        exp.stop()
        assert begin().decide(id="d") == first

    def test_an_id_belongs_to_one_unit(self, begin):
        exp = begin(hash_units=True)
        first, nobody = exp.decide(unit="ann", id="d"), exp.decide(id="e")
        for again in (exp, begin()):
            with pytest.raises(DecisionConflict, match="'d' was made for another unit; use a new"):
                again.decide(unit="bob", id="d")
            with pytest.raises(DecisionConflict, match="'e' was made without a unit"):
                again.decide(unit="bob", id="e")
            with pytest.raises(DecisionConflict, match="'new' was made for another unit"):
                again.decide_many(["ann", "bob"], ids=["new", "new"])
            assert again.decide_many(["ann", None, None], ids=["d", "d", "e"]) == [
                first,
                first,
                nobody,
            ]
        assert exp.report().frame["pending"].sum() == 2

    def test_whose_decision_it_was_is_not_known_after_the_unit_is_forgotten(self, begin):
        exp = begin()
        first = exp.decide(unit="ann", id="d")
        exp.forget_unit("ann")
        assert exp.decide(unit="ann", id="d") == exp.decide(unit="bob", id="d") == first

    def test_a_refused_decision_costs_the_others_nothing(self, begin):
        exp = begin(sticky=True, features={"visits": "number"})
        exp.decide("ann", "known", {"visits": 1})
        asked = [
            ("ann", "known", {"visits": 1}),
            ("ann", "new", {"visits": 2}),
            (None, "whose", {"visits": 2}),
            ("ann", "odd", {"visit": 2}),
            ("bob", "known", {"visits": 1}),
            ("bob", "whose", {"visits": 3}),
            ("", "blank", {"visits": 3}),
            ("cyd", 5, {"visits": 3}),
            ("cyd", "none", None),
            ("new", "new", {"visits": 2}),
            (None, "new", {"visits": 2}),
        ]
        kinds = ["known", "new", ValueError, ValueError, DecisionConflict, "whose", ValueError]
        kinds += [TypeError, ValueError, DecisionConflict, "new"]
        for again in (exp, begin()):
            out = again.decide_each(*(list(column) for column in zip(*asked, strict=True)))
            found = [type(one) if isinstance(one, Exception) else one.id for one in out]
            assert found == kinds
            kinds[2] = "whose"  # which is known from now on
            assert out[1] == out[-1] and exp.decision("whose").unit == "bob"
        with pytest.raises(ValueError, match=r"^unit must be given, because .* is sticky"):
            exp.decide_many([None], ["whose else"], [{"visits": 2}])
        assert exp.report().frame["pending"].sum() == 3
        assert exp.verify(replay=True)
        exp.stop()
        for again in (exp, begin()):
            out = again.decide_each(["ann", "dan"], ["known", "dan"], [{"visits": 1}] * 2)
            assert out[0].id == "known" and isinstance(out[1], ExperimentStopped)
        exp.stop("9")
        out = begin().decide_each([None] * 2, contexts=[{"visits": 1}, {"visits": "x"}])
        assert out[0].arm == "9" and isinstance(out[1], (TypeError, ValueError))
        assert exp.decide_each([], contexts=[]) == []

    def test_ids_are_made_when_none_is_given(self, begin):
        exp = begin()
        made = [exp.decide() for _ in range(5)] + exp.decide_many(5) + exp.decide_many(["a", None])
        assert len({d.id for d in made}) == 12
        assert exp.decide(id=made[7].id) == made[7]

    def test_a_batch_decides_as_one_by_one(self, begin, monkeypatch):
        """Equal seeds, ids and versions make equal decisions, however they are sent."""
        options = {"floor": 0.05, "holdout": 0.2}
        monkeypatch.setattr("varts.live.experiment.seed_for", lambda name, seed: seed)
        many, single = begin(part="many", **options), begin(part="single", **options)
        ids = [f"d{i}" for i in range(60)]
        units = [None if i % 3 else f"u{i % 7}" for i in range(60)]
        for exp in (many, single):
            earn(exp, 12, ids=[f"e{i}" for i in range(12)])
            exp.add_arm("18")
        batch = many.decide_many(units, ids)
        assert [d.id for d in batch] == ids
        assert batch == [single.decide(*pair) for pair in zip(units, ids, strict=True)]
        assert {d.reason for d in batch} == {"floor", "forced", "holdout", "policy"}

    def test_a_batch_may_repeat_ids_old_and_new(self, begin):
        exp = begin()
        old = exp.decide(id="old")
        batch = exp.decide_many(4, ids=["old", "new", "new", "old"])
        assert batch[0] == batch[3] == old and batch[1] == batch[2]
        assert exp.report().frame["pending"].sum() == 2

    def test_a_batch_with_a_mistake_decides_nothing(self, begin):
        exp = begin()
        for ids in (["a", ""], ["a", None], ["a", 5], ["a", "b\x00"], ["a", "x" * 256], ["a"]):
            with pytest.raises((TypeError, ValueError), match=r"^ids? must be"):
                exp.decide_many(2, ids)
        with pytest.raises(TypeError, match="unit must be text"):
            exp.decide_many(["ann", 7])
        assert exp.decide_many([]) == exp.decide_many(0) == []
        assert exp.report().frame["pending"].sum() == 0

    def test_ids_and_units_may_be_any_text(self, begin):
        exp = begin(sticky=True)
        made = exp.decide_many(ODD_TEXTS, ODD_TEXTS)
        again = begin()
        assert [again.decide(id=text) for text in ODD_TEXTS] == made
        assert again.reward_many({text: float(i) for i, text in enumerate(ODD_TEXTS)}) == [True] * 8
        assert [d.arm for d in again.decide_many(ODD_TEXTS)] == [d.arm for d in made]
        assert exp.verify(replay=True)

    def test_large_batches(self, begin):
        """More ids than a database takes parameters in one statement."""
        exp = begin(sticky=True)
        ids = [f"d{i}" for i in range(1201)]
        made = exp.decide_many([f"u{i}" for i in range(1201)], ids)
        assert begin().decide_many(1201, ids) == made
        rewards = {id: i % 10 for i, id in enumerate(ids)}
        assert exp.reward_many(rewards) == [True] * 1201
        assert begin().reward_many(rewards) == [False] * 1201
        frame = exp.report().frame
        assert frame["n"].sum() == 1201
        assert (frame["n"] * frame["mean"]).sum() == pytest.approx(sum(rewards.values()))
        assert exp.verify()

    def test_choices_for_client_ids_can_be_made_again(self, begin):
        """That some reason is missing among the first 100 happens in 0.8^100 = 2e-10 of cases."""
        exp = begin(client_ids=True, floor=0.2, holdout=0.2)
        ids = [f"d{i}" for i in range(100)]
        first = exp.decide_many(100, ids)
        earn(exp, 20)
        assert begin().decide_many(100, ids) == first
        exp.configure(sticky=True)
        kept = exp.decide_many(["ann", "bob", "ann"], ["a", "b", "c"])
        assert kept[0].arm == kept[2].arm and kept[2].reason == "sticky"
        exp.configure(client_ids=False, sticky=False)
        exp.decide_many(20)
        assert {d.reason for d in first} == {"forced", "floor", "holdout"}
        done = exp.verify(replay=True)
        assert done.ok and done.replayed == 100 + 20 + 3 + 20

    @pytest.mark.statistical
    @pytest.mark.parametrize(
        ("wish", "options"), [("arm", {}), ("reason", {"holdout": 0.2}), ("arm", {"sticky": True})]
    )
    def test_who_chooses_ids_does_not_choose_arms(self, begin, wish, options):
        """Somebody who knows the seed sends 60 ids that by his reckoning get what he wants.

        He gets it at most as often as 60 visitors do in 999,999 of a million cases: the false-alarm
        rate of each test is 1e-6. Where choices are drawn from ids he gets it every time.
        """
        for part, client_ids in (("drawn", True), ("from ids", False)):
            exp = begin(part=part, seed=fresh(7), client_ids=client_ids, **options)
            units = [f"unit {i}" if "sticky" in options else None for i in range(2000)]
            ids = [f"id {i}" for i in range(2000)]
            knows = Allocation(exp._session.seed, exp.state).choose(ids, units)
            wanted = {"arm": 2, "reason": "holdout"}[wish]
            good = [i for i, choice in enumerate(knows) if getattr(choice, wish) == wanted][:60]
            made = exp.decide_many([units[i] for i in good], [ids[i] for i in good])
            count = sum(getattr(d, wish) == {"arm": ARMS[2]}.get(wish, wanted) for d in made)
            share = options.get("holdout", 1 / 3)
            assert len(good) == 60
            assert (count <= stats.binom.ppf(1 - 1e-6, 60, share)) == client_ids
            assert count == 60 or client_ids
            assert exp.verify(replay=True)

    # ------------------------------------------------------------------ reward

    def test_a_reward_is_applied_exactly_once(self, begin):
        exp = begin()
        d = exp.decide()
        assert exp.reward(d.id, 11.7) is True
        assert exp.reward(d.id, 11.7) is False
        assert begin().reward(d.id, 11.7) is False
        row = of(exp, d.arm)
        assert (row["n"], row["mean"], row["pending"]) == (1, 11.7, 0)

    def test_another_value_for_the_same_decision_is_a_conflict(self, begin):
        exp = begin()
        d = exp.decide()
        exp.reward(d.id, 1.0)
        for store in (exp, begin()):
            with pytest.raises(RewardConflict, match=r"already has the reward 1\.0, got 2\.0"):
                store.reward(d.id, 2.0)
        assert of(exp, d.arm)["mean"] == 1.0
        assert exp.reward(d.id, 1.0) is False  # and the first still stands

    def test_a_reward_needs_its_decision(self, begin):
        exp = begin()
        with pytest.raises(UnknownDecision, match="unknown decision 'never'"):
            exp.reward("never", 1.0)
        assert exp.report().frame["n"].sum() == 0

    def test_any_finite_float_is_accepted_and_kept_to_the_last_bit(self, begin):
        exp, again = begin(half_life=100), begin()
        for value in FINITE:
            d = exp.decide()
            assert exp.reward(d.id, value) is True
            assert again.reward(d.id, value) is False
            with pytest.raises(RewardConflict):
                again.reward(d.id, np.nextafter(value, 1.0))
        assert again.verify(replay=True)

    def test_any_real_number_is_a_reward(self, begin):
        exp = begin()
        for value in (
            3,
            np.float32(0.1),
            np.int64(-2),
            np.array(0.7),
            np.array(5),
            Fraction(1, 3),
            Decimal("11.70"),
            10**300,
        ):
            d = exp.decide()
            assert exp.reward(d.id, value) is True
            assert exp.reward(d.id, float(value)) is False

    def test_what_is_no_finite_number_is_refused(self, begin):
        exp = begin()
        d = exp.decide()
        for value in NOT_REWARDS:
            with pytest.raises(InvalidReward, match=r"^reward must be a finite number, got"):
                exp.reward(d.id, value)
        assert exp.reward(d.id, 1.0) is True  # nothing had been written

    def test_a_batch_of_rewards_is_applied_wholly_or_not_at_all(self, begin, clock):
        exp = begin(window=60)
        a, b, c = (d.id for d in exp.decide_many(3))
        exp.reward(a, 1.0)
        version = exp.report().version
        bad = [
            ([(b, 1.0), ("never", 1.0)], UnknownDecision),
            ([(b, 1.0), (a, 2.0)], RewardConflict),
            ([(b, 1.0), (c, 1.0), (b, 2.0)], RewardConflict),
            ([(b, 1.0), (c, float("nan"))], InvalidReward),
            ([(b, 1.0), (c, "1")], InvalidReward),
            ([(b, 1.0), (7, 1.0)], TypeError),
        ]
        for rewards, error in bad:
            with pytest.raises(error):
                exp.reward_many(rewards)
            assert begin().report().version == exp.report().version == version
        assert exp.reward_many([(b, 1.0), (a, 1.0), (b, 1.0)]) == [True, False, False]
        assert exp.reward_many([]) == exp.reward_many({}) == []
        clock.advance(100)
        assert exp.report().frame["n"].sum() == 2

    def test_rewards_count_for_the_epoch_of_their_decision(self, begin):
        """However late and in whatever order they come, and after a pause or a stop."""
        exp = begin()
        first = exp.decide_many(6)
        exp.configure(floor=0.1)
        second = exp.decide_many(6)
        exp.pause_arm(first[0].arm)
        exp.stop()
        for d in reversed(first + second):
            assert begin().reward(d.id, 1.0) is True
        epochs = [event.epoch for event in log_of(exp) if event.kind == REWARD]
        assert epochs == [2] * 6 + [1] * 6
        assert exp.report().frame["n"].sum() == 12
        assert exp.verify(replay=True)

    def test_clipped_rewards_keep_their_raw_value(self, begin, tmp_path):
        exp = begin(clip=(0, 10))
        ids = [d.id for d in exp.decide_many(3)]
        exp.reward_many(zip(ids, [-5.0, 5.0, 1e300], strict=True))
        rows = exported(exp, tmp_path)
        raw, value = (
            dict(zip(rows["id"], rows[name], strict=True)) for name in ("reward", "value")
        )
        assert [raw[id] for id in ids] == [-5.0, 5.0, 1e300]
        assert [value[id] for id in ids] == [0.0, 5.0, 10.0]
        assert exp.reward(ids[2], 1e300) is False
        with pytest.raises(RewardConflict):
            exp.reward(ids[2], 10.0)

    # ------------------------------------------------------------------ the reward window

    def test_a_reward_after_its_window_comes_too_late(self, begin, clock):
        exp = begin(window=60)
        on_time, late = exp.decide_many(2)
        clock.advance(60)
        assert exp.reward(on_time.id, 1.0) is True
        clock.now += 1
        with pytest.raises(UnknownDecision, match="expired: its reward came 60 s after it"):
            begin().reward(late.id, 1.0)
        assert exp.reward(on_time.id, 1.0) is False  # a duplicate is one for ever
        frame = exp.report().frame
        assert frame["n"].sum() == 1 and frame["pending"].sum() == 0
        assert exp.verify(replay=True)

    @pytest.mark.parametrize("missing", [None, 0.0, -3.5])
    def test_whoever_comes_next_settles_what_is_overdue(self, begin, clock, tmp_path, missing):
        exp = begin(window=60, missing=missing)
        d = exp.decide()
        clock.advance(61)
        version = begin().decide().version  # another process
        assert version == 2
        row = of(exp, d.arm)
        assert row["n"] == (0 if missing is None else 1)
        assert row["mean"] == missing
        settled = exported(exp, tmp_path).filter(id=d.id).row(0, named=True)
        assert settled["settled"] == ("expired" if missing is None else "missing")
        assert settled["reward"] is None and settled["value"] == missing
        with pytest.raises(UnknownDecision, match="expired"):
            exp.reward(d.id, 1.0)
        with pytest.raises(UnknownDecision, match="expired"):
            exp.reward(d.id, 0.0)
        assert exp.verify(replay=True)

    @pytest.mark.parametrize(
        "call",
        [
            lambda exp: exp.report(),
            lambda exp: exp.reward("now", 1.0),
            lambda exp: exp.pause_arm("9"),
            lambda exp: exp.configure(floor=0.1),
        ],
        ids=["report", "reward", "pause", "configure"],
    )
    def test_every_verb_settles_what_is_overdue_first(self, begin, clock, call):
        exp = begin(window=60, missing=0.0)
        exp.decide(id="then")
        clock.advance(59)
        exp.decide(id="now")
        clock.advance(2)
        call(begin())
        kinds = [event.kind for event in log_of(exp)]
        assert kinds[:2] == ["create", "missing"]
        assert log_of(exp)[1].decision == "then"

    def test_more_overdue_than_one_transaction_settles(self, begin, clock):
        exp = begin(window=60, missing=1.0)
        kept = exp.decide_many(1500)[700]  # all at the same time
        exp.reward(kept.id, 3.0)
        clock.advance(61)
        frame = begin().report().frame
        assert frame["n"].sum() == 1500 and frame["pending"].sum() == 0
        assert (frame["n"] * frame["mean"]).sum() == pytest.approx(1502)
        assert exp.verify()

    def test_a_clock_that_is_ahead_holds_nobody_up(self, begin, clock):
        exp = begin(window=60, missing=0.0)
        clock.advance(86400)
        exp.decide(id="ahead")
        clock.advance(-86400)
        exp.decide_many(5)
        clock.advance(61)
        assert begin().decide().version == 6  # whoever comes next settles the five
        assert exp.reward("ahead", 1.0) is True
        frame = exp.report().frame
        assert frame["n"].sum() == 5 and frame["pending"].sum() == 2
        clock.advance(86400)  # its window closes last
        frame = exp.report().frame
        assert frame["n"].sum() == 7 and exp.decision("ahead").settled == "reward"
        assert exp.verify(replay=True)

    def test_a_decision_stamped_before_the_last_sweep_is_settled_by_a_report(self, begin, clock):
        """By a clock that is behind, or in a transaction that took longer than the window."""
        exp = begin(window=60, missing=0.0)
        exp.decide(id="then")
        clock.advance(61)
        exp.decide(id="now")
        clock.advance(-62)
        begin().decide(id="behind")
        clock.advance(200)
        frame = begin().report().frame
        assert frame["n"].sum() == 3 and frame["pending"].sum() == 0
        with pytest.raises(UnknownDecision, match="expired"):
            exp.reward("behind", 1.0)
        assert exp.verify(replay=True)

    def test_a_sweep_by_a_clock_that_is_ahead_does_not_end_all_others(self, begin, clock):
        exp = begin(window=60, missing=0.0)
        clock.advance(86400)
        exp.decide(id="ahead")
        clock.advance(61)
        exp.decide(id="swept up to here")
        clock.advance(-86461)
        for round in range(2):
            exp.decide_many(3)
            clock.advance(61)
            assert begin().report().frame["n"].sum() == 1 + 3 * (round + 1)
        exp.decide_many(3)
        clock.advance(61)
        assert begin().decide().version == 11  # and the sweeps are back in time

    def test_without_a_window_nothing_expires(self, begin, clock):
        exp = begin()
        d = exp.decide()
        clock.advance(1e9)
        assert exp.reward(d.id, 1.0) is True

    # ------------------------------------------------------------------ changes

    def test_every_change_is_an_event_that_all_connections_see(self, begin):
        exp, other = begin(), begin()
        other.decide()
        exp.add_arm("18")
        exp.pause_arm("9")
        exp.pause_arm("12")
        exp.resume_arm("12")
        exp.configure(floor=0.1)
        assert {d.arm for d in other.decide_many(200)} == {"12", "15", "18"}
        assert other.arms == [*ARMS, "18"] and other.options.floor == 0.1
        exp.stop(winner="12")
        assert {d.arm for d in other.decide_many(20)} == {"12"}
        assert other.decide().probability == 1.0 and other.decide().reason == "winner"
        events = log_of(begin())
        assert [event.version for event in events] == list(range(1, 8))
        assert [event.kind for event in events] == [
            "create",
            "add-arm",
            "pause-arm",
            "pause-arm",
            "resume-arm",
            "configure",
            "stop",
        ]
        assert exp.verify(replay=True)

    def test_a_change_of_nothing_is_no_event(self, begin):
        exp = begin()
        exp.resume_arm("9")
        exp.pause_arm("9")
        exp.pause_arm("9")
        exp.stop()
        exp.stop()
        assert [event.kind for event in log_of(exp)] == ["create", "pause-arm", "stop"]

    def test_a_refused_change_writes_nothing(self, begin):
        exp = begin(floor=0.3)
        refused = [
            (lambda: exp.add_arm("18"), "floor must be at most 1/4"),
            (lambda: exp.add_arm("9"), "arm must be a new name, got '9'"),
            (lambda: exp.add_arm("18", prior=varts.NormalGamma(0, 1, 2, 1)), "prior must be left"),
            (lambda: exp.pause_arm("10"), "unknown arm '10'"),
            (lambda: exp.pause_arm(None), "unknown arm None"),
            (lambda: exp.resume_arm(9), "unknown arm 9"),
            (lambda: exp.stop(winner="10"), "unknown arm '10'"),
            (lambda: exp.configure(goal="min"), "goal must stay 'max'"),
            (lambda: exp.configure(hash_units=True), "hash_units must stay False"),
            (lambda: exp.configure(policy="Bernoulli-TS"), "policy must count rewards as VarTS"),
            (lambda: exp.configure(floor=0.5), "floor must be at most 1/3"),
            (lambda: exp.configure(flor=0.1), "unknown option 'flor'; did you mean 'floor'"),
        ]
        for call, sentence in refused:
            with pytest.raises(ValueError, match=sentence):
                call()
        assert len(log_of(begin())) == 1
        assert begin().arms == exp.arms == ARMS
        assert begin().options == exp.options

    def test_one_arm_stays_in_play(self, begin):
        exp = begin()
        exp.pause_arm("9")
        exp.pause_arm("12")
        with pytest.raises(ValueError, match="one arm must stay in play, got none"):
            exp.pause_arm("15")
        assert begin().decide().arm == "15"

    def test_a_stopped_experiment_decides_no_more_and_still_counts(self, begin):
        exp = begin()
        d = exp.decide()
        exp.stop()
        with pytest.raises(ExperimentStopped, match="is stopped and makes no decisions"):
            begin().decide()
        with pytest.raises(ExperimentStopped):
            begin().decide_many(2, ids=[d.id, "new"])
        assert begin().decide(id=d.id) == d
        assert begin().reward(d.id, 1.0) is True
        report = exp.report()
        assert report.stop and report.because == "the experiment was stopped"

    def test_priors_of_added_arms(self, begin):
        each = begin(part="each", prior=varts.NormalGamma([1, 2, 3], 1, 2, 1))
        with pytest.raises(ValueError, match="prior must be given for a new arm"):
            each.add_arm("18")
        each.add_arm("18", prior=varts.NormalGamma(9, 2, 3, 4))
        stored = begin(part="each", arms=None).options.prior
        assert stored == {
            "mu": [1, 2, 3, 9],
            "kappa": [1, 1, 1, 2],
            "alpha": [2, 2, 2, 3],
            "beta": [1, 1, 1, 4],
        }
        shared = begin(part="shared", prior=varts.NormalGamma(1, 1, 2, 1))
        shared.add_arm("18")
        assert begin(part="shared").options.prior["mu"] == 1
        for exp in (each, shared):
            earn(exp, 10)
            assert exp.verify(replay=True)

    # ------------------------------------------------------------------ sticky and hashed units

    def test_a_sticky_unit_keeps_its_arm(self, begin):
        exp = begin(sticky=True)
        units = [f"u{i}" for i in range(12)]
        first = {d.id: d for d in exp.decide_many(units, ids=units)}
        earn(exp, 30)
        again = begin().decide_many(units)
        for unit, d in zip(units, again, strict=True):
            assert (d.arm, d.probability) == (first[unit].arm, first[unit].probability)
            assert d.reason == "sticky"
        away = again[0].arm
        exp.pause_arm(away)
        moved = dict(zip(units, begin().decide_many(units), strict=True))
        exp.resume_arm(away)
        for unit, d in zip(units, exp.decide_many(units), strict=True):
            stays = first[unit].arm if first[unit].arm != away else moved[unit].arm
            assert d.arm == moved[unit].arm == stays != away
        twice = exp.decide_many(["new", "new", "newer"], ["t0", "t1", "t2"])
        assert twice[0].arm == twice[1].arm
        assert [d.reason == "sticky" for d in twice] == [False, True, False]
        exp.decide_many(["fay"] * 3, ["z", "y", "x"])  # PostgreSQL writes them by their ids
        assert exp.verify(replay=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("varts.live.store.log.ROWS_PER_PAGE", 1)
            assert exp.verify(replay=True)
        assert exp.verify(replay=True)

    def test_a_sticky_experiment_needs_a_unit_for_every_new_decision(self, begin):
        exp = begin(sticky=True)
        first = exp.decide("ann", "d")
        for call in (lambda: exp.decide(), lambda: exp.decide_many(["bob", None], ["e", "f"])):
            with pytest.raises(
                ValueError, match=r"^unit must be given, because .* is sticky, got none"
            ):
                call()
        assert exp.report().frame["pending"].sum() == 1  # bob's was not made either
        assert exp.decide(id="d") == first  # a retry need not know the unit any more
        exp.stop(winner=ARMS[0])
        assert exp.decide().arm == ARMS[0]  # everybody gets it: there is nothing to keep

    def test_bernoulli_refuses_what_it_cannot_toss(self, begin):
        exp = begin(policy="Bernoulli-TS")
        ids = ["a", "b", "c", "d"]
        exp.decide_many(ids=ids)
        assert exp.reward("a", 1.0) and exp.reward("b", 0.25)
        for wrong in (-0.5, 1.0000001, 30.0):
            with pytest.raises(
                InvalidReward, match=f"^reward must be from 0 to 1 .* got {wrong!r}"
            ):
                exp.reward("c", wrong)
        found = exp.reward_each([("c", 3.0), ("c", 0.0)])
        assert [type(one) for one in found] == [InvalidReward, bool]
        arm = ARMS.index(exp.decide(id="d").arm)
        with exp._session.changing() as change:  # as versions before this one recorded it
            about = change.transaction.decided(["d"])["d"]
            assert about.arm == arm
            change.apply(REWARD, "d", raw=7.0, value=1.0, about=about)
        assert exp.verify(replay=True)
        assert exp.reward("d", 7.0) is False  # a retry from then
        exp.configure(clip=(0, 1))
        exp.decide(id="e")
        assert exp.reward("e", 5.0) is True  # asked for: a reward outside is the nearer end
        assert exp.verify(replay=True)

    @pytest.mark.parametrize("name", ["a\tb", "a\nb", "b\n", "\r", "a\u2028b"])
    def test_a_new_arm_has_no_tab_and_no_line_break(self, begin, monkeypatch, name):
        says = "^arm must be text without tabs and line breaks, got "
        with pytest.raises(ValueError, match=says):
            varts.open("named", ["a", name], store="memory://")
        exp, older = begin(), f"older {name!r}"
        with pytest.raises(ValueError, match=says):
            exp.add_arm(name)
        with monkeypatch.context() as before:  # an experiment from before that was refused
            before.setattr("varts.live.experiment.check_new_arms", check_arms)
            varts.open(older, ["a", name], store=exp.store)
            exp.add_arm(name)
        assert begin().arms == [*ARMS, name]
        opened = varts.open(older, ["a", name], store=exp.store)
        opened.pause_arm("a")
        assert opened.decide().arm == name and opened.verify(replay=True)

    def test_ids_alone_say_how_many(self, begin):
        exp = begin()
        made = exp.decide_many(ids=(id for id in ("x", "y", "z")))
        assert [d.id for d in made] == ["x", "y", "z"] and exp.decide_many(ids=[]) == []
        assert exp.decide_many(3, ["x", "y", "z"]) == made
        with pytest.raises(TypeError, match=r"^units must be a whole number >= 0, got None"):
            exp.decide_many()

    def test_sticky_may_be_switched_off_and_on(self, begin):
        exp = begin(sticky=True)
        units = [f"u{i}" for i in range(20)]
        first = exp.decide_many(units)
        exp.configure(sticky=False)
        between = exp.decide_many(units)
        assert {d.reason for d in between} == {"forced"}
        exp.configure(sticky=True)
        last = exp.decide_many(units)
        assert [d.arm for d in last] == [d.arm for d in first] != [d.arm for d in between]
        assert exp.verify(replay=True)

    def test_hashed_units_are_nowhere_to_be_read(self, begin, tmp_path):
        exp = begin(sticky=True, hash_units=True, holdout=0.5)
        units = [f"user-{i}@example.org" for i in range(20)]
        first = exp.decide_many(units)
        assert [d.arm for d in begin().decide_many(units)] == [d.arm for d in first]
        stored = exported(exp, tmp_path)["unit"].to_list()
        assert len(set(stored)) == 20 and not any("user" in text for text in stored)
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ nothing half-written

    @contextmanager
    def interrupted(self, exp, method, monkeypatch):
        """Inside, every transaction breaks off right after this step."""
        with exp._session.reading() as transaction:
            kind = type(transaction)
        original = getattr(kind, method)

        def broken(*args, **kwargs):
            original(*args, **kwargs)
            raise Interruption

        with monkeypatch.context() as patch:
            patch.setattr(kind, method, broken)
            yield

    @pytest.mark.parametrize("step", ["add_events", "save"])
    def test_a_transaction_that_breaks_off_leaves_nothing(self, begin, clock, monkeypatch, step):
        exp = begin(window=60, missing=0.0)
        earn(exp, 10)
        d = exp.decide()
        before, version = exp.report().frame, exp.report().version
        with self.interrupted(exp, step, monkeypatch):
            for call in (
                lambda: exp.reward(d.id, 5.0),
                lambda: exp.pause_arm("9"),
                lambda: exp.configure(half_life=10),
                lambda: exp.add_arm("18"),
                lambda: exp.stop(),
            ):
                with pytest.raises(Interruption):
                    call()
            clock.advance(61)
            with pytest.raises(Interruption):
                exp.report()
            clock.advance(-61)
        for one in (exp, begin()):  # this process, and one that comes new
            assert one.arms == ARMS
            assert one.report().version == version
            assert one.report().frame.equals(before, null_equal=True)
        assert exp.reward(d.id, 5.0) is True
        assert exp.report().version == version + 1
        assert exp.verify(replay=True)

    @pytest.mark.parametrize("step", ["add_decisions", "assign"])
    def test_a_decision_that_breaks_off_was_never_made(self, begin, monkeypatch, step):
        exp = begin(sticky=True)
        with self.interrupted(exp, step, monkeypatch), pytest.raises(Interruption):
            exp.decide(unit="ann", id="d")
        with pytest.raises(UnknownDecision):
            begin().reward("d", 1.0)
        assert exp.decide(unit="ann", id="e").reason == "forced"  # not an arm she never had
        assert exp.report().frame["pending"].sum() == 1
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ many at once

    def test_public_rewards_stay_within_clip(self, begin):
        exp, other = begin(clip=(0.0, 20.0)), begin()
        made = exp.decide_many(ids=["a", "b", "c", "d"])
        assert exp.reward_each([("a", 1e308), ("b", -1e308)], public=True) == [True, True]
        assert [exp.decision(id).reward for id in "ab"] == [20.0, 0.0]
        assert exp.reward_each([("a", 1e308), ("b", -5.0)], public=True) == [False, False]
        mixed = exp.reward_each([("c", 50.0), ("d", 50.0)], public=[True, False])
        assert mixed == [True, True]
        assert [exp.decision(id).reward for id in "cd"] == [20.0, 50.0]
        more = [("a", 1.0, {}, "key"), ("a", 1.0, {"m": 1.0})]
        for refused in exp.reward_each(more, public=True):
            assert isinstance(refused, InvalidReward) and "a value alone" in str(refused)
        made = exp.decide_many(ids=["e", "f"])
        other.configure(clip=None)
        public, private = exp.reward_each([(made[0].id, 1e308), ("f", 3.0)], public=[True, False])
        assert isinstance(public, InvalidReward) and "option clip" in str(public)
        assert private is True and exp.decision("e").reward is None
        with pytest.raises(ValueError, match="public must be one flag per reward"):
            exp.reward_each([("e", 1.0)], public=[])
        assert exp.verify(replay=True)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"window": 60, "missing": 0.0, "block": 1.0, "metrics": ["m"]},
            {"sticky": True, "holdout": 0.5, "client_ids": True},
            {"rules": 1, "half_life": 5.0},
            {"features": {"visits": "number"}, "hash_units": True},
        ],
        ids=["plain", "windowed", "sticky", "rules 1", "features"],
    )
    def test_a_fallback_is_logged_and_counts_nowhere(self, begin, clock, tmp_path, options):
        exp = begin(**options)
        known = {"contexts": [{"visits": 1.0}] * 60} if "features" in options else {}
        made = exp.decide_many([f"u{i % 7}" for i in range(60)], **known)
        exp.reward_many([(d.id, float(ARMS.index(d.arm) + i % 5)) for i, d in enumerate(made)])
        clock.advance(100)
        before = exp.report()
        context, checked = known and {"visits": 1.0}, str(exp.check())
        chances = exp._session.allocation(exp.state).chances_for([context])[0].tolist()
        traffic, history = exp.store.activities([exp.name])[exp.name].traffic, exp.history(points=3)

        items = [("f0", "9", "u1"), ("f1", "12", None), ("f2", "12", "new"), ("f2", "12", "new")]
        found = exp.record_fallbacks([*items, ("f3", "13", None), ("f0", "12", "u1"), ("f4", 5)])
        assert found[:4] == ["recorded", "recorded", "recorded", "duplicate"]
        refused = [UnknownArm, DecisionConflict, ValueError]
        assert [type(one) for one in found[4:]] == refused
        assert begin().record_fallbacks(items[:1]) == ["duplicate"]
        assert isinstance(exp.record_fallbacks([("f0", "9", "u2")])[0], DecisionConflict)
        again = exp.decide(id="f0", **({"context": {"visits": 1}} if known else {}))
        assert (again.arm, again.reason, again.probability) == ("9", "fallback", 1.0)

        assert exp.reward_each([("f0", 500.0), ("f0", 500.0), ("f1", 1e9)]) == [True, False, True]
        assert isinstance(exp.reward_each([("f0", 3.0)])[0], RewardConflict)
        assert exp.amend("f1", 7.0) and exp.void("f0") and exp.amend("f0", 1.0)
        assert exp.add_reward("f2", 1.0, "first") and exp.add_reward("f2", 2.0, "second")
        clock.advance(100)
        exp.settle()
        records = [begin().decision(f"f{i}") for i in range(3)]
        assert [one.reward for one in records] == [1.0, 7.0, 3.0]
        assert {(one.settled, one.value, one.reason) for one in records} == {
            ("expired", None, "fallback")
        }
        if exp.options.window is not None:
            exp.record_fallbacks([("f5", "9", None)])
            clock.advance(61)
            with pytest.raises(ExpiredDecision):
                exp.reward("f5", 1.0)

        for process in (exp, begin()):
            after = process.report()
            assert after.frame.equals(before.frame) and after.state.rows == before.state.rows
            allocation = process._session.allocation(process.state)
            assert allocation.chances_for([context])[0].tolist() == chances
            now = exp.store.activities([exp.name])[exp.name].traffic
            assert now[:2] == traffic[:2] and sum(now.fallbacks.values()) >= 3
            assert "fallbacks of clients that got no answer" in after.notes[0]
        drop = ("time", "version")
        assert exp.history(points=3).frame.drop(drop).equals(history.frame.drop(drop))
        found = exp.verify(replay=True)
        assert found and found.replayed == 60 and exp.verify(repair=True).repaired == []
        assert str(exp.check()) == checked

        exp.export(tmp_path / "log.parquet")
        log = pl.read_parquet(tmp_path / "log.parquet").sort("id")
        fallen = log.filter(pl.col("reason") == "fallback").head(3)
        assert fallen["reward"].to_list() == [1.0, 7.0, 3.0]
        assert fallen["value"].null_count() == 3 and set(fallen["settled"]) == {"expired"}
        own = exp.evaluate(varts.always("12"))
        assert own.value == pytest.approx(varts.evaluate(log, varts.always("12")).value)
        assert exp.forget_unit("new") == 1 and exp.verify(replay=True)

    def test_a_decision_that_nobody_saw_becomes_a_fallback(self, begin):
        """The answer came too late, so the client played another arm."""
        exp = begin()
        made = exp.decide_many(["ann", "bob", "cyd"], ids=["a", "b", "c"])
        exp.reward("c", 5.0)
        played = {d.id: next(arm for arm in ARMS if arm != d.arm) for d in made}
        found = exp.record_fallbacks([(id, arm, None) for id, arm in played.items()])
        assert found[:2] == ["recorded", "recorded"] and isinstance(found[2], DecisionConflict)
        assert exp.record_fallbacks([("a", played["a"], "ann")]) == ["duplicate"]
        (refused,) = exp.record_fallbacks([("a", played["a"], "bob")])
        assert isinstance(refused, DecisionConflict)
        assert exp.reward_each([("a", 100.0), ("b", 100.0), ("b", 100.0)]) == [True, True, False]
        report = exp.report()
        assert report.frame["n"].sum() == 1 and report.frame["pending"].sum() == 0
        assert exp.decision("a")[:2] == ("a", played["a"]) and exp.decision("a").reward == 100.0
        assert (exp.decision("a").reason, exp.decision("b").settled) == ("fallback", "expired")
        assert exp.verify(replay=True).replayed == 3

    def test_older_versions_add_up_all_slots(self, begin):
        """They don't know fallbacks, and count all rows of the log and of the counts alike."""
        exp = begin()
        exp.decide_many(5, ids=list("abcde"))
        exp.record_fallbacks([("a", "9", None), ("f", "9", None), ("g", "12", None)])
        exp.verify(repair=True)
        for rebuild in (False, True):
            with exp.store.writing(exp._session.id, lock=True) as transaction:
                if rebuild:
                    transaction.run(query("DELETE FROM varts_traffic WHERE experiment = :x"))
            if rebuild:
                assert len(exp.verify(repair=True).repaired) > 0
            with exp._session.reading() as transaction:
                counts = (
                    "SELECT sum(decided), sum(settled) FROM varts_traffic WHERE experiment = :x"
                )
                assert [*map(int, transaction.run(query(counts)).fetchone())] == [7, 3]
            assert exp.verify(replay=True)

    def test_a_race_of_fallbacks_and_decisions_has_one_outcome(self, begin):
        begin()

        def worker(number, exp):
            out = {}
            for id in np.random.default_rng(number).permutation([f"d{i}" for i in range(20)]):
                if number % 2:
                    out[id] = exp.record_fallbacks([(id, "9", None)])[0]
                else:
                    out[id] = exp.decide(id=id)
            return out

        results = at_once(worker, [begin() for _ in range(4)])
        exp = begin()
        for i in range(20):
            found = [out[f"d{i}"] for out in results[1::2]]
            assert sorted(found) == ["duplicate", "recorded"]
            assert exp.decision(f"d{i}").reason == "fallback"
        report = exp.report()
        assert report.frame["pending"].sum() == 0 and exp.verify(replay=True)

    def test_a_race_for_the_same_ids_has_one_outcome(self, begin):
        ids = [f"d{i}" for i in range(25)]
        begin()

        def worker(number, exp):
            order = np.random.default_rng(number).permutation(ids).tolist()
            made = {id: exp.decide(unit=f"u{id}", id=id) for id in order}
            won = {}
            for id in order:
                try:
                    won[id] = exp.reward(id, float(number))
                except RewardConflict:
                    won[id] = False
            return made, won

        results = at_once(worker, [begin() for _ in range(6)])
        made = [made for made, _ in results]
        assert all(one == made[0] for one in made)
        winners = {id: [i for i, (_, won) in enumerate(results) if won[id]] for id in ids}
        assert all(len(who) == 1 for who in winners.values())
        exp = begin()
        frame = exp.report().frame
        assert frame["n"].sum() == 25
        total = sum(float(who[0]) for who in winners.values())
        assert (frame["n"] * frame["mean"].fill_null(0)).sum() == pytest.approx(total)
        assert exp.verify(replay=True)

    def test_a_unit_that_comes_twice_at_once_gets_one_arm(self, begin):
        begin(sticky=True)
        units = [f"u{i}" for i in range(10)]
        results = at_once(
            lambda number, exp: [exp.decide(unit=u).arm for u in units], [begin() for _ in range(5)]
        )
        assert all(arms == results[0] for arms in results)
        assert begin().verify(replay=True)

    def test_changes_and_rewards_at_once(self, begin, clock):
        begin(window=3600)

        def worker(number, exp):
            for i in range(8):
                d = exp.decide()
                exp.reward(d.id, float(i))
                if i % 4 == number % 4:
                    exp.configure(floor=0.01 * (number + 1))
                    exp.report()

        at_once(worker, [begin() for _ in range(4)])
        exp = begin()
        assert exp.report().frame["pending"].sum() == 32
        clock.advance(3700)
        assert exp.report().frame["n"].sum() == 32
        events = log_of(exp)
        assert [event.version for event in events] == list(range(1, len(events) + 1))
        assert sum(event.kind == "configure" for event in events) == 8
        assert exp.verify(replay=True)

    def test_many_threads_with_one_pool_and_a_new_configuration(self, begin):
        """More threads than a pool has connections, each of which has to read the configuration."""
        exp, other = begin(), begin()

        def worker(number, exp):
            for i in range(3):
                if number == 0:
                    other.configure(floor=0.01 * (i + 1))
                exp.reward(exp.decide().id, 1.0)

        at_once(worker, [exp] * 40)
        assert begin().report().frame["n"].sum() == 120
        assert begin().verify(replay=True)

    def test_simultaneous_creation_makes_one_experiment(self, begin):
        exps = at_once(lambda number, _: begin(seed=None), [None] * 5)
        assert len({exp.store.find(exp.name).seed for exp in exps}) == 1
        assert len(log_of(exps[0])) == 1

    # ------------------------------------------------------------------ verify

    def test_verify_counts(self, begin):
        exp = begin()
        earn(exp, 9)
        exp.decide_many(3)
        found = exp.verify(replay=True)
        assert (found.decisions, found.rewards, found.replayed, found.problems) == (12, 9, 12, [])
        assert found and str(found).endswith("the statistics agree with the log")
        assert exp.verify().replayed == 0

    def test_verify_finds_a_wrong_cache(self, begin):
        exp = begin()
        earn(exp, 30)
        assert exp.verify()
        for field, change in (
            ("n", lambda x: x + 1),
            ("n", lambda x: x * (1 + 1e-8)),
            ("mean", lambda x: x + 1e-6 * (1 + abs(x))),  # relative to the first reward, may be 0
            ("m2", lambda x: x * (1 + 1e-8)),
            ("rewards", lambda x: x + 1),
            ("origin", lambda x: x + 1),
            ("at", lambda x: x - 1),
        ):
            key, row = max(exp.state.rows.items(), key=lambda item: item[1].n)
            overwrite(exp, {key: row._replace(**{field: change(getattr(row, field))})})
            found = begin().verify()
            assert not found and len(found.problems) == 1
            assert found.problems[0].startswith(f"arm {key[1]}, block {key[2]}: ")
            overwrite(exp, {key: row})
            assert begin().verify()

    def test_verify_forgives_the_last_bits(self, begin):
        exp = begin()
        earn(exp, 30)
        overwrite(
            exp,
            {
                key: row._replace(mean=row.mean * (1 + 1e-12), m2=row.m2 * (1 + 1e-12))
                for key, row in exp.state.rows.items()
            },
        )
        assert begin().verify()

    def test_verify_finds_a_reward_that_nobody_decided(self, begin):
        exp = begin()
        earn(exp, 5)
        with exp._session.changing() as change:
            change.apply(REWARD, "never", 0, 1, 1.0, 1.0)
        found = begin().verify()
        assert found.problems == ["1 rewards name a decision that was never made"]

    def test_verify_finds_an_event_the_cache_does_not_know(self, begin):
        exp = begin()
        d = exp.decide()
        append(exp, Event(2, REWARD, START, d.id, ARMS.index(d.arm), 1, 1.0, 1.0))
        found = begin().verify()
        assert found.problems[0] == (
            "the experiment is at version 1 with 0 rewards, its log at 2 with 1"
        )
        assert found.problems[1].endswith("0 rewards in the statistics, 1 in the log")

    def test_verify_finds_a_gap_in_the_log(self, begin):
        exp = begin()
        first = exp.decide()
        append(exp, Event(3, REWARD, START, first.id, ARMS.index(first.arm), 1, 1.0, 1.0))
        for replay in (False, True):
            assert begin().verify(replay).problems[0] == "event 2 is missing from the log"

    @pytest.mark.parametrize(
        ("event", "said"),
        [
            (
                {"kind": REWARD, "arm": 0, "epoch": 1, "raw": 1.0},
                "a reward must have a value, got none",
            ),
            (
                {"kind": REWARD, "arm": 99, "epoch": 1, "raw": 1.0, "value": 1.0},
                "arm must be below",
            ),
            ({"kind": "foo"}, "unknown kind of event 'foo'"),
            ({"kind": CONFIGURE, "body": {}}, "it has no 'options'"),
            ({"kind": CONFIGURE, "body": {"options": [7]}}, "list"),
            ({"kind": "pause-arm", "body": {"arm": "never"}}, "unknown arm 'never'"),
            ({"kind": "create", "body": {}}, "unknown kind of event 'create'"),
        ],
        ids=lambda one: one["kind"] if isinstance(one, dict) else "",
    )
    def test_verify_survives_an_event_that_makes_no_sense(self, begin, event, said):
        exp = begin()
        earn(exp, 5)
        d = exp.decide()
        version = exp.state.version + 1
        append(
            exp,
            Event(version, time=START, **event),
            Event(version + 1, REWARD, START, d.id, 0, 1, 1.0, 1.0),
        )
        for replay in (False, True):
            found = begin().verify(replay)
            problems = [p for p in found.problems if "event" in p]
            assert len(problems) == 1 and said in problems[0]
            assert problems[0].startswith(f"event {version} cannot be applied: ")
            assert found.decisions == 6 and found.rewards == 5

    @pytest.mark.parametrize("wrong", ["arm", "epoch", "no such arm"])
    def test_verify_finds_a_decision_that_contradicts_its_reward(self, begin, wrong):
        exp = begin()
        arm = {"arm": 1, "epoch": 0, "no such arm": 99}[wrong]
        epoch = 2 if wrong == "epoch" else 1
        batch = exp.state.batch
        with exp._session.changing() as change:
            row = decision_row(exp, arm=arm, epoch=epoch)
            change.transaction.add_decisions([row], exp._session.seed, batch, START)
            about = change.transaction.decided(["d"])["d"]._replace(arm=0, epoch=1)
            change.apply(REWARD, "d", raw=1.0, value=1.0, about=about)
        problems = begin().verify().problems
        assert problems[-1] == (
            f"decision 'd' is for arm {arm} in epoch {epoch}, its reward for arm 0 in epoch 1"
        )
        if wrong == "no such arm":
            assert problems[0] == "decision 'd' is for arm 99 of 3"
            for call in (lambda: exp.report(), lambda: exp.export("log.csv")):
                with pytest.raises(StoreError, match=r"has 3 arms but .* number 99; run verify"):
                    call()

    @pytest.mark.parametrize("policy", ["VarTS", "Bernoulli-TS"])
    def test_verify_finds_a_value_that_its_reward_does_not_make(self, begin, policy):
        """Under the clip, and with the toss, that held when it came."""
        exp = begin(policy=policy, clip=(0, 0.5), window=60, missing=-1.0)
        ids = [d.id for d in exp.decide_many(20)]
        exp.reward_many((id, i / 10) for i, id in enumerate(ids))
        exp.configure(clip=None)
        made = exp.decide_many(3)
        assert begin().verify()
        wrong = (REWARD, 0.25, 0.125), (REWARD, None, 1.0), (MISSING, None, -2.0)
        for d, (kind, raw, value) in zip(made, wrong, strict=True):
            with exp._session.changing() as change:
                about = change.transaction.decided([d.id])[d.id]
                change.apply(kind, d.id, raw=raw, value=value, about=about)
            (problem,) = begin().verify().problems[-1:]
            assert problem.startswith(f"event {exp.state.version} counts {value!r}; its reward ")

    @pytest.mark.parametrize("wrong", ["arm", "probability", "version"])
    def test_replay_finds_a_decision_that_was_not_made_so(self, begin, wrong):
        exp = begin()
        earn(exp, 20)
        (choice,) = exp._session.allocation(exp.state).choose(["d"], [None])
        version = exp.state.version
        row = decision_row(
            exp,
            version=version,
            arm=(choice.arm + (wrong == "arm")) % 3,
            probability=choice.probability + 0.01 * (wrong == "probability"),
            reason=choice.reason,
        )
        with exp._session.writing() as transaction:
            given = [row], exp._session.seed, exp.state.batch, START
            assert transaction.add_decisions(*given) == 1
            assert transaction.add_decisions(*given) == 0  # its id is taken
            if wrong == "version":
                later = query("UPDATE varts_decisions SET version = version + 5 WHERE id = 'd'")
                transaction.run(later)
        assert begin().verify()  # the statistics are what they should be
        found = begin().verify(replay=True)
        assert len(found.problems) == 1 and found.problems[0].startswith("decision 'd' ")

    # ------------------------------------------------------------------ looking

    def test_a_report_tells_what_happened(self, begin):
        exp = begin(stop_p_best=0.9)
        assert exp.report().frame["share"].to_list() == [0.0] * 3
        assert exp.report().because == "not every arm has enough rewards to compare yet"
        ids = {arm: [] for arm in ARMS}
        for d in exp.decide_many(60):
            ids[d.arm].append(d.id)
        for i, arm in enumerate(ARMS):
            exp.reward_many((id, 10.0 * i + k) for k, id in enumerate(ids[arm][:4]))
        report = begin().report()
        assert report.frame["arm"].to_list() == ARMS
        assert report.frame["n"].to_list() == [4, 4, 4]
        assert report.frame["mean"].to_list() == [1.5, 11.5, 21.5]
        assert report.frame["sd"].to_list() == pytest.approx([(5 / 3) ** 0.5] * 3)
        assert report.frame["pending"].to_list() == [len(ids[arm]) - 4 for arm in ARMS]
        assert report.frame["share"].to_list() == [len(ids[arm]) / 60 for arm in ARMS]
        assert (report.best, report.stop) == ("15", False)  # for 80 % of the decisions are pending
        assert report.because.startswith("80 % of the decisions have no reward yet")
        for i, arm in enumerate(ARMS):
            exp.reward_many((id, 10.0 * i + k % 4) for k, id in enumerate(ids[arm]) if k >= 4)
        report = begin().report()
        assert report.best == "15" and report.stop
        assert report.because.endswith("(target: at least 0.9)")

    @pytest.mark.parametrize(
        "look",
        [
            lambda exp, folder: exp.report(),
            lambda exp, folder: exp.export(folder / "log.csv"),
            lambda exp, folder: exp.verify(),
        ],
        ids=["report", "export", "verify"],
    )
    def test_an_experiment_knows_what_it_has_looked_at(self, begin, tmp_path, look):
        exp, other = begin(), begin()
        other.add_arm("18")
        other.configure(floor=0.1)
        earn(other, 3)
        look(exp, tmp_path)
        assert exp.arms == [*ARMS, "18"] and exp.options.floor == 0.1
        assert exp.state.rewards == 3
        report = exp.report()
        assert report.version == report.state.version == 6 and report.state.config.epoch == 2

    def test_the_log_can_be_exported(self, begin, clock, tmp_path):
        exp = begin(clip=(0, 1))
        first, second = exp.decide(unit="ann", id="a"), exp.decide(id="b")
        clock.advance(2.5)
        exp.reward("a", 7.0)
        files = [tmp_path / f"log.{kind}" for kind in ("parquet", "csv", "ndjson")]
        assert [exp.export(file) for file in files] == [2, 2, 2]
        rows = pl.read_parquet(files[0])
        moment = datetime.fromtimestamp(START / 1e6, UTC)
        assert rows.row(0, named=True) == {
            "id": "a",
            "time": moment,
            "unit": "ann",
            "arm": first.arm,
            "probability": first.probability,
            "estimated": False,
            "reason": "forced",
            "version": 1,
            "epoch": 1,
            "settled": "reward",
            "reward": 7.0,
            "value": 1.0,
            "settled_time": datetime.fromtimestamp(START / 1e6 + 2.5, UTC),
            "settled_version": 2,
            "corrected_version": None,
        }
        assert rows.row(1)[:4] == ("b", moment, None, second.arm)
        assert rows.row(1)[-5:] == (None,) * 5
        assert pl.read_csv(files[1])["id"].to_list() == ["a", "b"]
        lines = [json.loads(line) for line in files[2].read_text().splitlines()]
        assert [line["reward"] for line in lines] == [7.0, None]
        with pytest.raises(ValueError, match=r"path must end in \.parquet, \.csv or \.ndjson"):
            exp.export(tmp_path / "log.xlsx")

    def test_all_experiments_can_be_looked_at_together(self, begin):
        parts = {part: begin(part=part) for part in ("-a", "-b", "-c")}
        for count, exp in enumerate(parts.values()):
            made = exp.decide_many(3 * count)
            exp.reward_many([(one.id, 1.0) for one in made[: 2 * count]])
        store, (first, *_) = parts["-a"].store, (exp.name for exp in parts.values())
        mine = [exp.name for exp in parts.values()]
        states, summaries = store.states(), store.summaries()
        assert [name for name in states if name in mine] == mine
        assert [states[name] for name in mine] == [exp.state for exp in parts.values()]
        assert [summaries[name].pending for name in mine] == [0, 1, 2]
        assert [summaries[name].created for name in mine] == [
            store.find(name).created for name in mine
        ]
        assert list(store.states(after=first, limit=2)) == mine[1:]
        assert list(store.summaries(after=first, limit=2)) == mine[1:]
        assert [states[name].rewards for name in mine] == [0, 2, 4]

    def test_what_only_looks_settles_nothing(self, begin, clock):
        exp = begin(window=10, missing=0)
        exp.reward_many([(one.id, 1.0 + n) for n, one in enumerate(exp.decide_many(20))])
        clock.advance(60)
        exp.settle()
        first, *others = exp.decide_many(30)
        exp.reward_many([(one.id, float(n)) for n, one in enumerate(others)])
        clock.advance(60)
        version = exp.state.version
        exp.check(settle=False)
        exp.evaluate(varts.EvenSplit(), settle=False)
        exp.history(settle=False)
        assert exp.report(settle=False).version == version
        exp.check()
        assert exp.state.version == version + 30  # what settles, does
        assert exp.decision(first.id).settled == "missing"

    def test_the_log_can_be_exported_in_pages(self, begin, clock, tmp_path, monkeypatch):
        monkeypatch.setattr("varts.live.store.log.ROWS_PER_PAGE", 4)
        exp, file = begin(), tmp_path / "log.csv"
        for n in range(10):  # three at a time have the same one
            clock.advance(1 if n % 3 == 0 else 0)
            exp.decide(id=f"{n}")

        def written(**which):
            count = exp.export(file, **which)
            ids = pl.read_csv(file, infer_schema=False)["id"].to_list()
            assert len(ids) == count
            return "".join(ids)

        assert [written(limit=4), written(after="3", limit=5)] == ["0123", "45678"]
        assert [written(after="8"), written(after="9"), written()] == ["9", "", "0123456789"]
        with pytest.raises(UnknownDecision, match="unknown decision 'never'"):
            written(after="never")
        with pytest.raises(ValueError, match="limit must be a whole number >= 1, got 0"):
            written(limit=0)


def earn(exp, count, ids=None):
    """So many decisions, each with a reward that depends on its arm and number."""
    own = [f"guest {secrets.token_hex(8)}" for _ in range(count)]
    made = exp.decide_many(own if exp.options.sticky else count, ids)
    arms = exp.arms
    exp.reward_many((d.id, arms.index(d.arm) + (i * 7 % 5) / 3) for i, d in enumerate(made))


def of(exp, arm):
    """The row of an arm in the report."""
    return exp.report().frame.filter(arm=arm).row(0, named=True)


def log_of(exp):
    """All events."""
    with exp._session.reading() as transaction:
        log = exp._session.log(transaction)
    return list(log.events())


def fold(events):
    """The state that a whole log adds up to; its first event creates the experiment."""
    first, *rest = events
    state = State.created(first)
    for event in rest:
        state.apply(event)
    return state


def overwrite(exp, rows):
    """Write other statistics than the log adds up to."""
    with exp._session.changing() as change:
        change.state.rows |= rows
        change.state.touched |= set(rows)
        change.transaction.save(change.state)


def append(exp, *events):
    """Add events to the log that the statistics do not know of."""
    with exp._session.writing() as transaction:
        transaction.add_events(events)


def decision_row(exp, **columns):
    """The row of a decision `d` that nobody made."""
    row = {"experiment": exp._session.id, "id": "d", "version": 1, "epoch": 1, "arm": 0}
    row |= {"probability": 1 / 3, "estimated": False, "reason": "forced", "unit": None}
    return NewDecision(**row | {"salt": None, "context": None} | columns)


def exported(exp, folder):
    """The log as a table."""
    exp.export(folder / "log.parquet")
    return pl.read_parquet(folder / "log.parquet")


def at_once(work, subjects):
    """`work(number, subject)` for all of them, in threads that start together."""
    barrier = threading.Barrier(len(subjects))

    def run(number):
        barrier.wait(30)
        return work(number, subjects[number])

    with ThreadPoolExecutor(len(subjects)) as pool:
        return list(pool.map(run, range(len(subjects))))
