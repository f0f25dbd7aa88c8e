"""Tests that every store must pass, of arms that clients drew by themselves.

Part of the conformance suite: `StoreConformance` inherits it.
"""

import numpy as np
import polars as pl
import pytest

import varts
from tests.live.local_client import LocalClient, statuses
from varts.live import ExperimentStopped, NotLocal

DAY = 86_400
FEATURES = {"country": ["NL", "BE"], "device": ["phone"]}


def recorded(exp, drawn, *allocations, client=None):
    """Record exposures, all of which must be new."""
    found = exp.record_exposures(drawn, [one.ticket for one in allocations], client)
    assert statuses(found) == ["recorded"] * len(drawn), found


def refused(exp, exposure, *tickets, client=None):
    """The status of one exposure that is not logged, and the arm that it names."""
    found = exp.record_exposures([exposure], tickets, client)[0]
    assert found.id == exposure["id"] and found.detail
    return found.status if found.arm is None else (found.status, found.arm)


class LocalConformance:
    """Inherit, and define the fixtures `begin` and `clock`."""

    # ------------------------------------------------------------------ allocations

    def test_an_allocation_has_the_probabilities_of_the_experiment(self, begin):
        exp = begin(floor=0.05, arms=["9", "12", "15", "18"])
        for i in range(40):
            exp.reward(exp.decide().id, float(i % 7))
        exp.pause_arm("12")
        made = exp.allocation()
        chances = exp._session.allocation(exp._session.state).probabilities.tolist()
        assert made.probabilities == chances and made.probabilities[1] == 0
        assert sum(chances) == pytest.approx(1)
        assert (made.experiment, made.version) == (exp.name, 42)
        assert (made.arms, made.active) == (["9", "12", "15", "18"], [True, False, True, True])
        assert (made.holdout, made.sticky, made.winner, made.context) == (0, False, None, None)
        assert (made.refresh, made.lifetime, len(made.key)) == (10, 3600, 32)
        assert begin(arms=None).allocation().probabilities == chances
        exp.reward(exp.decide().id, 100.0)
        assert exp.allocation().probabilities != chances

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"features": {"visits": "number"}}, "the number 'visits'"),
            ({"features": {c: [*"abcdefghi"] for c in "xyz"} | {"w": ["a"]}}, "2,000 combin"),
            ({"hash_units": True, "holdout": 0.1}, "hashed units"),
        ],
        ids=["a number", "too many cells", "a hashed holdout"],
    )
    def test_some_experiments_only_the_service_can_decide(self, begin, options, why):
        exp = begin(**options)
        with pytest.raises(NotLocal, match=rf"{why}.* ask the decisions endpoint"):
            exp.allocation()
        exp.stop("9")  # everybody gets it, whatever the features
        assert exp.allocation().probabilities == [1, 0, 0]

    def test_an_experiment_that_is_stopped_has_an_allocation_only_with_a_winner(self, begin):
        exp = begin(holdout=0.2, sticky=True)
        exp.stop()
        with pytest.raises(ExperimentStopped, match="is stopped and makes no decisions"):
            exp.allocation()
        exp.stop("12")
        made = exp.allocation()
        assert (made.winner, made.probabilities, made.holdout) == ("12", [0, 1, 0], 0)
        drawn = LocalClient(made).decide()
        recorded(exp, [drawn], made, client="c")
        assert (drawn["arm"], exp.decision(drawn["id"]).reason) == ("12", "winner")
        assert refused(exp, {**drawn, "id": "x", "arm": "9"}, made.ticket) == "impossible-arm"
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ exposures

    def test_what_a_client_draws_counts_like_our_own_decisions(self, begin, clock, tmp_path):
        exp = begin(holdout=0.2, floor=0.1)
        client = LocalClient(exp.allocation())
        for _ in range(4):
            client.allocation = its = exp.allocation()
            drawn = [client.decide(f"u{i}") for i in range(40)]
            recorded(exp, drawn, its, client="c")
            rewards = {one["id"]: float(one["arm"]) + i % 5 for i, one in enumerate(drawn)}
            assert exp.reward_each(rewards) == [True] * 40
            clock.advance(60)
        report = exp.report()
        assert report.frame["n"].sum() == 160 and report.frame["pending"].sum() == 0
        verified = exp.verify(replay=True)
        assert verified.ok and verified.replayed == 160
        kinds = {exp.decision(id).reason for id in rewards}
        assert kinds == {"local"}
        assert {one.verdict for one in exp.check()} <= {"ok", "note"}
        assert exp.check()["sample ratio"].verdict == "ok"
        even = exp.evaluate(varts.EvenSplit())
        assert even.used == 160 and abs(even.mean_weight - 1) < 4 * even.mean_weight_se
        assert exp.history(points=4).frame["rewards"].max() == 160
        assert exp.export(tmp_path / "log.parquet") == 160
        log = pl.read_parquet(tmp_path / "log.parquet")
        assert log["reason"].unique().to_list() == ["local"]
        there = varts.check(tmp_path / "log.parquet")["sample ratio"]
        assert there.number == pytest.approx(exp.check()["sample ratio"].number)
        assert varts.evaluate(tmp_path / "log.parquet", varts.EvenSplit()).used == 160

    def test_the_log_says_what_was_drawn_when(self, begin, clock):
        exp = begin()
        clock.advance(100)
        exp.pause_arm("9")  # the version that they drew from begins here
        made = exp.allocation()
        clock.advance(50)
        drawn = [LocalClient(made, prefix=str(age)).decide(age=age) for age in (0.0, 10.5, 80.0)]
        recorded(exp, drawn, made)
        times = [exp.decision(one["id"]).time.timestamp() for one in drawn]
        now = clock.now / 1e6
        assert times == [now, now - 10.5, now - 50]
        found = exp.decision(drawn[0]["id"])
        assert (found.version, found.probability, found.reason) == (2, 0.5, "local")

    def test_sending_exposures_again_is_safe(self, begin):
        exp = begin()
        client = LocalClient(exp.allocation())
        drawn, ticket = [client.decide() for _ in range(10)], client.allocation.ticket
        recorded(exp, drawn[:5], client.allocation, client="c")
        found = begin().record_exposures([*drawn, drawn[9]], [ticket], "c")
        assert statuses(found) == ["duplicate"] * 5 + ["recorded"] * 5 + ["duplicate"]
        assert statuses(exp.record_exposures(drawn, [], "another")) == ["duplicate"] * 10
        assert exp.report().frame["pending"].sum() == 10

    def test_a_refused_exposure_costs_the_others_nothing(self, begin, clock):
        exp, other = begin(holdout=0.3), begin(part="other")
        its = exp.allocation()
        client = LocalClient(its)
        logged = client.decide("ann")
        recorded(exp, [logged], its)
        exp.pause_arm("15")
        later = exp.allocation()
        good = client.decide("bob")
        base = {"arm": good["arm"], "version": its.version, "age": 0}
        elsewhere = next(arm for arm in its.arms if arm != logged["arm"])
        wrong = [
            ({**logged, "arm": elsewhere}, ("conflict", logged["arm"])),
            ({**logged, "unit": "bob"}, ("conflict", logged["arm"])),
            ({"id": "a", **base, "version": 7}, "unknown-version"),
            ({"id": "b", **base, "arm": "16"}, "impossible-arm"),
            ({"id": "c", **base, "arm": "15", "version": later.version}, "impossible-arm"),
            ({"id": "d", **base, "age": DAY + 1}, "too-old"),
            ({"id": "e", **base, "context": {"visits": 1}}, "invalid"),
            ({"id": "f", **base, "unit": "forgotten:ann"}, "invalid"),
            ({"id": "g", **base, "age": 1e300}, "too-old"),
        ]
        for exposure, status in wrong:
            assert refused(exp, exposure, its.ticket, later.ticket) == status
        several = [one for one, _ in wrong] + [good]
        found = exp.record_exposures(several, [its.ticket, later.ticket], "c")
        expected = [one if isinstance(one, str) else one[0] for _, one in wrong]
        assert statuses(found) == [*expected, "recorded"]
        for held in range(50):  # nobody draws a paused arm, on either side of the holdout
            at = {"id": f"h{held}", "unit": f"u{held}", "arm": "15", "version": later.version}
            assert refused(exp, {**at, "age": 0}, later.ticket) == "impossible-arm"
        for ticket in (other.allocation().ticket, its.ticket[:-2], "x.y", "", "☃", its.ticket[3:]):
            assert refused(exp, {"id": "t", **base}, ticket) == "unknown-version"
        assert exp.report().frame["pending"].sum() == 2 and exp.verify(replay=True)

    def test_a_version_may_be_replaced_for_a_day(self, begin, clock):
        exp = begin()
        its = exp.allocation()
        client = LocalClient(its)
        exp.pause_arm("9")
        clock.advance(DAY)
        recorded(exp, [client.decide(age=DAY)], its)
        clock.advance(1)
        assert refused(exp, client.decide(age=5), its.ticket) == "too-old"

    def test_an_exposure_comes_too_late_once_its_window_has_closed(self, begin, clock):
        exp = begin(window=60, missing=0)
        its = exp.allocation()
        client = LocalClient(its)
        clock.advance(200)
        open_, closed = client.decide(age=59), client.decide(age=61)
        recorded(exp, [open_], its)
        assert refused(exp, closed, its.ticket) == "too-old"
        clock.advance(2)
        exp.settle()
        assert exp.decision(open_["id"]).settled == "missing"
        assert refused(exp, client.decide(age=61), its.ticket) == "too-old"
        assert exp.report().frame["pending"].sum() == 0 and exp.verify(replay=True)

    # ------------------------------------------------------------------ units

    def test_a_sticky_unit_keeps_its_arm(self, begin):
        exp = begin(sticky=True, holdout=0.3)
        its = exp.allocation()
        client = LocalClient(its)
        drawn = [client.decide(f"u{i}") for i in range(20)]
        again = [client.decide(f"u{i}") for i in range(20)]
        recorded(exp, [*drawn[:10], *again[:10]], its, client="c")
        recorded(exp, [*again[10:], *drawn[10:]], its, client="c")
        assert [one["arm"] for one in drawn] == [one["arm"] for one in again]
        units = [f"u{i}" for i in range(20)]
        ours = exp.decide_many(units)
        assert [d.arm for d in ours] == [one["arm"] for one in drawn]
        assert {d.reason for d in ours} == {"sticky"}
        reasons = [exp.decision(one["id"]).reason for one in [*drawn[:10], *again[:10]]]
        assert reasons == ["local"] * 10 + ["sticky"] * 10
        moved = next(arm for arm in its.arms if arm != drawn[0]["arm"])
        wrong = {**client.decide("u0"), "arm": moved}
        assert refused(exp, wrong, its.ticket) == ("conflict", drawn[0]["arm"])
        assert refused(exp, {**client.decide("u0"), "unit": None}, its.ticket) == "invalid"
        assert exp.verify(replay=True)

    def test_a_sticky_unit_gets_another_arm_if_its_own_is_paused(self, begin):
        exp = begin(sticky=True)
        old = exp.allocation()
        client = LocalClient(old)
        drawn = {one["unit"]: one for one in (client.decide(f"u{i}") for i in range(30))}
        recorded(exp, list(drawn.values()), old)
        paused = [unit for unit, one in drawn.items() if one["arm"] == "9"]
        late, stays = client.decide(paused[0]), client.decide("u0")
        exp.pause_arm("9")
        client.allocation = new = exp.allocation()
        moved = [client.decide(unit) for unit in paused]
        assert paused and {one["arm"] for one in moved} <= {"12", "15"}
        at_once = {**moved[0], "version": old.version}  # drawn before the arm was paused
        assert refused(exp, {**at_once, "id": "x"}, old.ticket) == ("conflict", "9")
        recorded(exp, [*moved, client.decide(paused[0])], new, client="c")
        assert exp.decide(paused[0]).arm == moved[0]["arm"]
        assert refused(exp, late, old.ticket) == ("conflict", moved[0]["arm"])
        recorded(exp, [stays], old)
        assert exp.verify(replay=True)

    def test_a_visit_may_arrive_just_before_its_unit_gets_another_arm(self, begin):
        """Its version is then later than the one that the other arm was drawn from."""
        exp = begin(sticky=True)
        old = exp.allocation()
        client = LocalClient(old)
        drawn = [client.decide(f"u{i}") for i in range(30)]
        recorded(exp, drawn, old)
        unit = next(one["unit"] for one in drawn if one["arm"] == "9")
        late = client.decide(unit)
        exp.pause_arm("9")
        client.allocation = new = exp.allocation()
        moved = client.decide(unit)
        exp.reward(drawn[0]["id"], 1.0)  # the next version
        recorded(exp, [late], old)
        recorded(exp, [moved], new)
        late, moved = (exp.decision(one["id"]) for one in (late, moved))
        assert late.version > moved.version and late.arm != moved.arm
        assert exp.verify(replay=True)

    def test_a_unit_is_on_one_side_of_the_holdout_wherever_it_is_decided(self, begin):
        exp = begin(holdout=0.4)
        for i in range(12):
            exp.reward(exp.decide(f"x{i}").id, float(i % 4))
        its = exp.allocation()
        client, units = LocalClient(its), [f"u{i}" for i in range(60)]
        held = {d.reason == "holdout": d for d in exp.decide_many(units)}
        assert held.keys() == {True, False}
        for unit, ours in zip(units, exp.decide_many(units), strict=True):
            share = [1 / 3] * 3 if ours.reason == "holdout" else its.probabilities
            assert client.probabilities(unit) == share
        drawn = [client.decide(unit) for unit in units] + [client.decide() for _ in units]
        recorded(exp, drawn, its)
        exp.reward_many([(one["id"], 1.0) for one in drawn])
        sides = exp._session.state.holdout_statistics()
        exp.report()
        assert sides.n.sum() == 12 + len(drawn)
        exp.forget_unit(units[0])
        assert exp.verify(replay=True)
        floored = exp.evaluate(varts.with_floor(0.1))
        assert floored.used == 12 + len(drawn) and 0 < floored.mean_weight < 2

    # ------------------------------------------------------------------ contexts

    def test_probabilities_by_category(self, begin):
        exp = begin(features=FEATURES)
        rng = np.random.default_rng(1)
        for i in range(80):
            context = {"country": ["NL", "BE"][i % 2], "device": ["phone", "tv"][i // 2 % 2]}
            d = exp.decide(context=context)
            exp.reward(
                d.id, float({"NL": "9", "BE": "15"}[context["country"]] == d.arm) + rng.normal() / 9
            )
        its = exp.allocation()
        assert its.probabilities is None and its.context == ["country", "device"]
        assert its.cells.features == ["country", "device"]
        assert its.cells.values == [["NL", "BE", "other"], ["phone", "other"]]
        assert len(its.cells.probabilities) == 6
        client = LocalClient(its)
        contexts = [
            {"country": "NL", "device": "phone"},
            {"country": "BE", "device": "tv"},
            {"country": "FR"},
            {"country": None, "device": True},
        ]
        allocation = exp._session.allocation(exp._session.state)
        for context in contexts:
            chances = allocation.chances_for([exp.features.check(context)])[0]
            assert client.probabilities(None, context) == pytest.approx(chances.tolist(), abs=1e-12)
        drawn = [client.decide(context=contexts[i % 4]) for i in range(40)]
        recorded(exp, drawn, its, client="c")
        for one in drawn:
            found = exp.decision(one["id"])
            p = client.probabilities(None, one["context"])[exp.arms.index(one["arm"])]
            assert found.probability == p and {*found.context} == {"country", "device"}
        exp.reward_many([(one["id"], 1.0) for one in drawn])
        assert refused(exp, {**client.decide(), "id": "x"}, its.ticket) == "invalid"
        assert exp.verify(replay=True).replayed == 120

    def test_covariates_come_with_the_exposure(self, begin):
        exp = begin(adjust={"visits": "number"})
        its = exp.allocation()
        assert its.context == ["visits"] and its.cells is None
        client = LocalClient(its)
        drawn = [client.decide(context={"visits": float(i)}) for i in range(30)]
        recorded(exp, drawn, its)
        exp.reward_many([(one["id"], i % 3 + 0.5) for i, one in enumerate(drawn)])
        assert exp.decision(drawn[7]["id"]).context == {"visits": 7.0}
        assert refused(exp, client.decide(), its.ticket) == "invalid"
        assert exp.verify(replay=True)

    # ------------------------------------------------------------------ clients that are wrong

    @pytest.mark.parametrize(
        "skew",
        [
            lambda p: [1, 0, 0],
            lambda p: [p[1], p[2], p[0]],
            lambda p: [0.2 + 0.8 * p[0], 0.8 * p[1], 0.8 * p[2]],
        ],
        ids=["always the first arm", "arms mixed up", "a default now and then"],
    )
    def test_a_client_that_draws_something_else_is_refused(self, begin, skew):
        exp = begin(floor=0.1)
        for i in range(60):
            d = exp.decide()
            exp.reward(d.id, float(d.arm) + 10 * (i % 3))
        its = exp.allocation()
        honest, faulty = LocalClient(its, prefix="h"), LocalClient(its, skew=skew, prefix="f")
        seen = []
        for _ in range(30):
            recorded(exp, [honest.decide() for _ in range(100)], its, client="honest")
            drawn = [faulty.decide() for _ in range(100)]
            seen.append({*statuses(exp.record_exposures(drawn, [its.ticket], "faulty"))})
        alarm = seen.index({"unlikely"})
        assert seen == [{"recorded"}] * alarm + [{"unlikely"}] * (30 - alarm)
        pending = exp.report().frame["pending"].sum()
        assert pending == 3000 + 100 * alarm
        again = exp.record_exposures([faulty.decide()], [its.ticket], "another client")
        assert statuses(again) == ["recorded"]
