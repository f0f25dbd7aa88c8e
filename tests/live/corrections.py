"""What every store must do with corrections, metrics, notes and what is forgotten.

Part of the conformance suite: `StoreConformance` inherits it.
"""

import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import varts
from tests.live.loops import effects_of
from varts.live import (
    Changed,
    ExpiredDecision,
    InvalidReward,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
)
from varts.live.core.events import THE_REWARD


def exact(values):
    """Mean and sum of squared deviations, without rounding."""
    given = [Fraction(value) for value in values]
    mean = sum(given) / len(given)
    return float(mean), float(sum((value - mean) ** 2 for value in given))


def check_statistics(exp, rewards):
    """The statistics against exact arithmetic on {id: (arm, value)}."""
    seen = exp.state.statistics()
    for arm, name in enumerate(exp.arms):
        values = [value for one, value in rewards.values() if one == name and value is not None]
        assert seen.n[arm] == len(values)
        if values:
            mean, m2 = exact(values)
            sd = (m2 / len(values)) ** 0.5
            assert abs(seen.mean[arm] - mean) <= 1e-9 * max(sd, abs(mean) * 1e-6)
            assert seen.m2[arm] == pytest.approx(m2, rel=1e-9, abs=1e-12)


class CorrectionConformance:
    """The tests; `begin` is the fixture of `StoreConformance`."""

    def test_a_reward_that_was_typed_wrong_leaves_no_trace_in_the_digits(self, begin):
        exp, rng, rewards = begin(), random.Random(3), {}
        for wrong in (1e9, -1e15, 1e70, 1e300):
            for d in exp.decide_many(20):
                rewards[d.id] = d.arm, rng.gauss(5, 1)
                exp.reward(d.id, rewards[d.id][1])
            (d,) = exp.decide_many(1)
            exp.reward(d.id, wrong)
            assert exp.amend(d.id, 5.5) is True and exp.amend(d.id, 5.5) is False
            rewards[d.id] = d.arm, 5.5
            check_statistics(exp, rewards)
            check_statistics(begin(), rewards)
        assert exp.verify(replay=True), str(exp.verify(replay=True))

    def test_a_first_reward_that_was_wrong_is_no_origin(self, begin):
        exp = begin(arms=["only"])
        first = exp.decide(id="first")
        exp.reward(first.id, 1e12)
        rewards = {first.id: ("only", 0.125)}
        for i in range(10):
            d = exp.decide(id=f"d{i}")
            rewards[d.id] = "only", 1 / (i + 3)
            exp.reward(d.id, 1 / (i + 3))
        exp.amend("first", 0.125)
        check_statistics(exp, rewards)
        (row,) = (row for key, row in exp.state.rows.items() if key[0] == THE_REWARD)
        assert row.origin == 0.125 and exp.verify()

    def test_thousands_of_parts_cost_no_digits(self, begin):
        exp, rng = begin(arms=["only"]), random.Random(5)
        ids = [d.id for d in exp.decide_many(40)]
        totals = dict.fromkeys(ids, 0.0)
        for turn in range(25):
            parts = [(id, rng.choice([12.5, 30.0, -12.5, 0.01]), {}, f"{turn}") for id in ids]
            assert all(exp.reward_many(parts))
            for id, part, _, _ in parts:
                totals[id] += part
        check_statistics(exp, {id: ("only", total) for id, total in totals.items()})
        assert exp.verify(replay=True)
        assert exp.decision(ids[0]).corrections == 24

    def test_void_takes_a_reward_back_and_amend_gives_one_again(self, begin):
        exp = begin()
        for i, d in enumerate(exp.decide_many(9)):
            exp.reward(d.id, float(i))
        before, d = exp.report().frame, exp.decide()
        exp.reward(d.id, 1e6)
        assert exp.void(d.id) is True and exp.void(d.id) is False
        after = exp.report().frame
        same = ["arm", "n", "mean", "sd", "pending"]
        assert after.sort("arm").select(same).equals(before.sort("arm").select(same))
        found = exp.decision(d.id)
        assert (found.settled, found.reward, found.value) == ("void", None, None)
        assert exp.reward(d.id, 1e6) is False  # a late repetition changes nothing
        with pytest.raises(RewardConflict, match="was voided, so nothing can be added to it"):
            exp.add_reward(d.id, 1.0, "part")
        assert exp.amend(d.id, 4.5) and exp.decision(d.id).reward == 4.5
        assert exp.report().frame["n"].sum() == 10
        assert exp.verify(replay=True)

    def test_the_only_reward_of_an_arm_can_go(self, begin):
        exp = begin(arms=["only"])
        exp.reward(exp.decide(id="x").id, 7.0)
        exp.void("x")
        assert exp.report().frame.row(0, named=True)["mean"] is None
        exp.reward(exp.decide(id="y").id, 3.0)
        exp.reward(exp.decide(id="z").id, 5.0)
        assert exp.report().frame.row(0, named=True)["mean"] == 4.0
        assert exp.verify(replay=True)

    def test_what_has_no_reward_cannot_be_corrected(self, begin, clock):
        exp = begin(window=60.0)
        exp.decide(id="late")
        clock.advance(100)
        exp.decide(id="pending")
        for verb in (lambda id: exp.amend(id, 1.0), exp.void):
            with pytest.raises(UnknownDecision, match=r"^unknown decision 'never'"):
                verb("never")
            with pytest.raises(UnknownDecision, match="'pending' has no reward yet"):
                verb("pending")
            with pytest.raises(ExpiredDecision, match="'late' expired without a reward"):
                verb("late")
        with pytest.raises(ExpiredDecision, match="'late' expired: its reward came 100 s after it"):
            exp.add_reward("late", 1.0, "part")
        with pytest.raises(InvalidReward):
            exp.amend("pending", float("nan"))
        assert exp.state.version == 2  # the expiry, and nothing else

    def test_a_reward_that_went_missing_can_be_amended(self, begin, clock):
        exp = begin(arms=["only"], window=60.0, missing=0.0)
        exp.decide(id="late")
        clock.advance(100)
        exp.report()
        assert exp.decision("late").settled == "missing"
        assert exp.amend("late", 9.0) and exp.add_reward("late", 1.0, "tip")
        assert exp.decision("late").reward == 10.0
        assert exp.report().frame["mean"].to_list() == [10.0] and exp.verify(replay=True)

    def test_a_part_counts_once_by_its_key(self, begin):
        exp = begin(arms=["only"])
        exp.decide(id="x")
        assert exp.add_reward("x", 10.0, "order 1") is True
        assert exp.add_reward("x", 10.0, "order 1") is False
        assert exp.add_reward("x", 5.0, "order 2") is True
        for value, key in ((10.5, "order 1"), (6.0, "order 2")):
            with pytest.raises(RewardConflict, match=f"part '{key}' of decision 'x' is already"):
                exp.add_reward("x", value, key)
        with pytest.raises(RewardConflict, match="has its reward in parts; add_reward adds"):
            exp.reward("x", 10.0)
        assert exp.decision("x").reward == 15.0
        assert begin(arms=["only"]).add_reward("x", -5.0, "refund of order 2") is True
        assert exp.report().frame["mean"].to_list() == [10.0] and exp.verify()

    def test_a_batch_of_corrections_is_whole_or_not_there(self, begin):
        exp = begin()
        ids = [d.id for d in exp.decide_many(3)]
        exp.reward_many([(id, 1.0) for id in ids])
        version = exp.state.version
        with pytest.raises(UnknownDecision):
            exp.amend_many([*((id, 2.0) for id in ids), ("never", 2.0)])
        with pytest.raises(UnknownDecision):
            exp.void_many([*ids, "never"])
        assert begin().state.version == version
        assert exp.amend_many([(ids[0], 2.0), (ids[0], 3.0), (ids[1], 1.0)]) == [True, True, False]
        assert exp.decision(ids[0]).reward == 3.0 and exp.verify(replay=True)

    @pytest.mark.parametrize("half_life", [3.0, 50.0])
    def test_with_a_half_life_a_correction_weighs_what_the_reward_does(self, begin, half_life):
        right = begin(part="right", arms=["only"], half_life=half_life)
        wrong = begin(part="wrong", arms=["only"], half_life=half_life)
        values = [3.0, 8.0, 1.0, 4.0, 7.5, 2.0, 6.0]
        for exp, slip in ((right, 0.0), (wrong, 1.0)):
            for i, value in enumerate(values):
                exp.reward(exp.decide(id=f"d{i}").id, value + slip * (i == 2))
        wrong.amend("d2", 1.0)
        wrong.amend("d6", 9.0)
        wrong.amend("d6", 6.0)
        for name in ("n", "mean", "m2", "m3", "m4"):
            a, b = (getattr(exp.state.statistics(), name) for exp in (right, wrong))
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
        assert wrong.verify(replay=True)
        wrong.configure(half_life=None)
        right.configure(half_life=None)
        wrong.void("d3")
        wrong.amend("d3", 4.0)  # the weights are those of before the change
        a, b = (exp.state.statistics() for exp in (right, wrong))
        assert a.mean == pytest.approx(b.mean, rel=1e-9) and a.m2 == pytest.approx(b.m2, rel=1e-9)
        assert wrong.verify(replay=True)

    def test_a_clip_range_can_hold_for_what_was_before(self, begin):
        exp = begin(arms=["only"])
        values = [1.0, 50.0, 3.0, 800.0]
        for i, value in enumerate(values):
            exp.reward(exp.decide(id=f"d{i}").id, value)
        exp.configure(clip=(0, 10))
        assert exp.report().frame["mean"].to_list() == [np.mean(values)]
        exp.configure(clip=(0, 10), recount=True, by="ops")
        assert exp.report().frame["mean"].to_list() == [6.0]
        assert exp.decision("d3").reward == 800.0 and exp.decision("d3").value == 10.0
        exp.configure(clip=None, recount=True)
        assert exp.report().frame["mean"].to_list() == pytest.approx([np.mean(values)], rel=1e-15)
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ metrics and the holdout

    def test_metrics_are_counted_once_beside_their_reward(self, begin):
        exp = begin(metrics=["refund", "latency"])
        sums = {arm: [] for arm in exp.arms}
        for i, d in enumerate(exp.decide_many(30)):
            assert exp.reward(d.id, float(i), refund=i % 2, latency=None) is True
            assert exp.reward(d.id, float(i), refund=i % 2) is False
            with pytest.raises(RewardConflict, match=r"already has the reward .* refund"):
                exp.reward(d.id, float(i), refund=1 - i % 2)
            sums[d.arm].append(i % 2)
        found = begin().state.metric_statistics()
        assert found["refund"].n.tolist() == [len(sums[arm]) for arm in exp.arms]
        assert found["refund"].mean == pytest.approx([np.mean(sums[arm]) for arm in exp.arms])
        assert found["latency"].n.tolist() == [0, 0, 0]
        with pytest.raises(InvalidReward, match="unknown metric 'refunds'; did you mean 'refund'"):
            exp.reward(exp.decide().id, 1.0, refunds=1)
        with pytest.raises(InvalidReward, match=r"^refund must be a finite number, got 'x'"):
            exp.reward(exp.decide().id, 1.0, refund="x")
        assert exp.verify(replay=True)

    def test_metrics_follow_corrections(self, begin):
        exp = begin(arms=["only"], metrics=["refund", "latency"])
        for i in range(4):
            exp.reward(exp.decide(id=f"d{i}").id, 1.0, refund=0, latency=float(i))
        exp.amend("d0", 1.0, refund=1)
        exp.void("d1")
        exp.add_reward("d2", -1.0, "back", refund=1)
        found = exp.state.metric_statistics()
        assert (found["refund"].n[0], found["refund"].mean[0]) == (3, pytest.approx(2 / 3))
        assert (found["latency"].n[0], found["latency"].mean[0]) == (3, pytest.approx(5 / 3))
        assert exp.decision("d2").metrics == {"refund": 1.0, "latency": 2.0}
        assert exp.verify(replay=True)

    @pytest.mark.parametrize("sticky", [False, True])
    def test_the_holdout_is_counted_by_itself(self, begin, sticky):
        exp = begin(holdout=0.3, sticky=sticky)
        sides, values = {}, {}
        for turn in range(3):
            for i in range(40):
                d = exp.decide(f"unit-{i}", f"{turn}-{i}")
                if d.reason != "sticky":
                    sides[f"unit-{i}"] = d.reason == "holdout"
                values[d.id] = float(i * (turn + 1))
                exp.reward(d.id, values[d.id])
        exp.amend("1-3", 1000.0)
        values["1-3"] = 1000.0
        stats = exp.state.holdout_statistics()
        groups = [
            [
                (unit, v)
                for id, v in values.items()
                if sides[unit := "unit-" + id.split("-")[1]] is side
            ]
            for side in (False, True)
        ]
        effects, _ = effects_of(groups)
        assert (effects > 1.2).any()  # three rewards of every unit
        for place, group in enumerate(groups):
            assert len(group) > 10
            assert stats.n[place] == pytest.approx(len(group) / effects[place], rel=1e-9)
            mean = np.mean([v for _, v in group])
            assert stats.mean[place] == pytest.approx(mean, rel=1e-12)
        exp.configure(floor=0.05)
        assert exp.state.holdout_statistics().n.tolist() == stats.n.tolist()
        exp.configure(holdout=0.5)  # other shares: the comparison begins again
        assert exp.state.holdout_statistics().n.sum() == 0
        exp.amend("1-4", 7.0)
        assert exp.state.holdout_statistics().n.sum() == 0
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ who and why

    def test_changes_say_who_and_why(self, begin):
        exp = begin()
        exp.stop("9", by="ops", why="asked by finance")
        exp.restart()
        exp.reward(exp.decide(id="x").id, 1.0)
        exp.amend("x", 2.0, by="ann", why="typed wrong")
        exp.add_reward("x", 1.0, "more")
        found = exp.changes()
        assert [one.kind for one in found] == ["create", "stop", "restart", "amend"]
        assert (found[1].by, found[1].why) == ("ops", "asked by finance")
        assert found[1].change == {"winner": "9"} and found[2].by is None
        assert found[3].change == {"decision": "x", "before": 1.0, "after": 2.0}
        assert exp.changes(after=found[2].version) == found[3:]
        assert exp.changes(limit=1) == found[:1] and begin().changes() == found
        with pytest.raises(ValueError, match=r"^why must be text of 1 to 255 characters, got ''"):
            exp.restart(why="")

    def test_a_change_of_what_somebody_else_has_changed_is_refused(self, begin):
        ours, theirs = begin(), begin()
        seen = ours.revision
        theirs.pause_arm("9")
        for change in (
            lambda: ours.stop("12", expected=seen),
            lambda: ours.configure(floor=0.1, expected=seen),
            lambda: ours.add_arm("18", expected=seen),
            lambda: ours.resume_arm("9", expected=seen),
        ):
            with pytest.raises(
                Changed, match=r"somebody else has changed experiment .*: it is at revision 2"
            ):
                change()
        ours.report()
        ours.stop("12", expected=ours.revision)
        with pytest.raises(UnknownArm, match="unknown arm '13'; known: 9, 12, 15"):
            ours.stop("13")

    def test_a_tag_names_one_configuration(self, begin):
        """Unlike a revision: a later experiment of that name may come to the same number."""
        exp, tags, last = begin(), [], 0
        steps = [{}, {"floor": 0.1}, {"floor": 0.0}, {"clip": (0.0, 1.0), "recount": True}]
        for _ in range(2):
            for step in steps:
                if step:
                    exp.configure(**step)
                assert exp.tag == begin().tag == exp.store.find(exp.name).tag
                tags.append(exp.tag)
                exp.reward(exp.decide().id, 2.0)
                assert exp.tag == tags[-1]
            exp.resume_arm("9", expected=exp.tag)  # changes nothing
            assert exp.tag == tags[-1]
            last = exp.revision
            exp.delete(exp.name, export=None)
            exp = begin()
        assert len(set(tags)) == 8
        while exp.revision < last:
            exp.configure(floor=exp.options.floor + 0.01)
        for stale in (tags[-1], tags[0], "none"):
            with pytest.raises(Changed, match=f"is at revision {exp.tag}, got {stale}"):
                exp.stop("12", expected=stale)
        exp.stop("12", expected=exp.tag)
        with pytest.raises(ValueError, match="expected must be"):
            exp.restart(expected="")

    def test_a_winner_is_not_taken_away(self, begin):
        exp = begin()
        exp.stop("12")
        with pytest.raises(ValueError, match=r"^winner must be given: everybody gets '12'"):
            exp.stop()
        assert exp.decide().arm == "12"
        exp.stop("9")
        assert begin().decide().arm == "9"
        exp.restart()
        assert exp.decide().reason != "winner" and not exp.state.config.stopped
        exp.stop()
        exp.stop("9")  # one may be named later
        assert exp.decide().arm == "9" and exp.verify(replay=True)

    # ------------------------------------------------------------------ what is forgotten

    @pytest.mark.parametrize("options", [{}, {"sticky": True}, {"hash_units": True}])
    def test_a_unit_is_forgotten(self, begin, options):
        exp = begin(holdout=0.3, **options)
        for i in range(30):
            exp.reward(exp.decide(f"unit-{i % 6}", f"d{i}").id, float(i))
        before = exp.report()
        assert exp.forget_unit("unit-3", why="asked us to") == 5
        assert exp.forget_unit("unit-3") == 0
        assert exp.forget_unit("nobody") == 0
        names = {exp.decision(f"d{i}").unit for i in range(30)}
        assert len(names) == 6 and "unit-3" not in names
        assert exp.report().frame.equals(before.frame)
        assert exp.changes()[-1].change["decisions"] == 5
        assert "unit-3" not in str(exp.changes())
        exp.amend("d3", 7.0)
        exp.decide("unit-3", "again")
        assert exp.verify(replay=True), str(exp.verify(replay=True))
        with pytest.raises(ValueError, match=r"^unit must not begin with 'forgotten:'"):
            begin(part="plain").decide("forgotten:somebody")

    def test_an_experiment_is_deleted_with_its_log_in_a_file(self, begin, tmp_path):
        exp, other = begin(metrics=["refund"]), begin(part="other")
        for d in exp.decide_many(4):
            exp.reward(d.id, 1.0, refund=1)
        other.reward(other.decide(id="x").id, 2.0)
        with pytest.raises(ValueError, match=r"^confirm must be the experiment's name"):
            exp.delete("yes", export=None)
        file = tmp_path / "log.parquet"
        assert exp.delete(exp.name, export=file) == 4
        assert pl.read_parquet(file)["refund"].to_list() == [1.0] * 4
        with pytest.raises(StoreError, match="was deleted, or deleted and created again"):
            exp.decide()
        anew = begin(metrics=["refund"])
        assert anew.report().frame["n"].sum() == 0 and anew.verify(replay=True)
        assert other.decision("x").reward == 2.0 and other.verify(replay=True)

    def test_what_happens_during_the_export_is_not_deleted(self, begin, tmp_path, monkeypatch):
        exp = begin()
        exp.decide(id="x")
        from varts.live import experiment as administration

        write = administration.export_decisions

        def slow(*given):
            begin().reward("x", 1.0)
            return write(*given)

        monkeypatch.setattr(administration, "export_decisions", slow)
        with pytest.raises(Changed, match="was used while its log was exported"):
            exp.delete(exp.name, export=tmp_path / "log.csv")
        assert exp.decision("x").reward == 1.0

    def test_an_exported_log_has_the_rewards_of_now(self, begin, tmp_path):
        exp = begin(metrics=["refund"])
        for id in ("kept", "amended", "voided"):
            exp.reward(exp.decide(id=id).id, 1.0, refund=0)
        exp.amend("amended", 2.0, refund=1)
        exp.void("voided")
        exp.export(tmp_path / "log.ndjson")
        rows = {row["id"]: row for row in pl.read_ndjson(tmp_path / "log.ndjson").to_dicts()}
        told = {id: (row["settled"], row["reward"], row["refund"]) for id, row in rows.items()}
        assert told == {
            "kept": ("reward", 1.0, 0.0),
            "amended": ("reward", 2.0, 1.0),
            "voided": ("void", None, None),
        }
        assert rows["kept"]["corrected_version"] is None
        assert rows["amended"]["corrected_version"] == 5
        found = varts.evaluate(tmp_path / "log.ndjson", varts.EvenSplit())
        assert (found.used, found.left_out) == (2, {"void": 1})
