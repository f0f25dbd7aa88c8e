"""What every store must do with contexts: `ContextConformance` beside `StoreConformance`."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import varts
from varts.features import Features
from varts.linear_stats import LinearStats
from varts.live.core.allocation import allocate, linear_statistics
from varts.live.core.events import THE_REWARD
from varts.live.core.sums import RegressionSums

FEATURES = {"country": ["NL", "BE"], "visits": "number"}
NOT_CONTEXTS = [
    (None, "context must be given, since experiment .* has features, got none"),
    ({}, "context must have the number 'visits', got none"),
    ({"visits": 1, "land": "NL"}, "unknown feature 'land'; known: country, visits"),
    ({"visits": "3"}, "visits must be a number, got '3'"),
    ({"visits": float("inf")}, "visits must be a number of at most 1e70, got inf"),
    ({"visits": 1, "country": 2.5}, "country must be a category, got 2.5"),
    ({"visits": 1, "country": "x" * 256}, "country must be text of 1 to 255 characters"),
    ({"visits": 1, "country": "\ud800"}, "country must be text that is valid Unicode"),
    ("NL", "context must be a mapping from features to values, got 'NL'"),
]


def context(number):
    """That of a visit of this number."""
    country = ["NL", "BE", "FR", None, "naïve ☃"][number % 5]
    return {"country": country, "visits": number % 7 + 0.25}


def paid(arm, known, noise):
    """In the Netherlands the first arm pays more, elsewhere the others do."""
    here = known["country"] == "NL"
    return (2.0 if (arm == "9") == here else 0.0) + 0.1 * known["visits"] + noise


def unit_of(id, units=11):
    """The unit of a decision: they come again."""
    return f"unit {int(id[1:]) % units}"


def visit(exp, count, start=0, noise=0.3, seed=1, units=11, **given):
    """Decisions of units that return, with their rewards: {id: (arm, context, reward)}."""
    rng, out = random.Random(seed), {}
    for i in range(start, start + count):
        made = exp.decide(unit_of(f"v{i}", units), id=f"v{i}", context=context(i), **given)
        out[made.id] = made.arm, context(i), paid(made.arm, context(i), rng.gauss(0, noise))
        assert exp.reward(made.id, out[made.id][2]) is True
    return out


def exact(rows):
    """Means and centred products of columns, without rounding."""
    rows = [[Fraction(float(one)) for one in row] for row in rows]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    away = [[one - m for one, m in zip(row, mean, strict=True)] for row in rows]
    products = [
        [sum(row[i] * row[j] for row in away) for j in range(len(mean))] for i in range(len(mean))
    ]
    return np.array(mean, dtype=float), np.array(products, dtype=float)


def with_half(line, half):
    """A line with another second half."""
    return line._replace(parts=(line.parts[0], half, line.parts[2]))


def check_lines(exp, given):
    """The regressions' numbers against exact arithmetic on {id: (arm, context, reward)}."""
    features, seen = Features(exp.options.features["kinds"]), linear_statistics(exp.state)
    effects = exp.state.effective().design_effect
    if effects is None:  # no unit came again
        effects = np.ones(len(exp.arms))
    for arm, name in enumerate(exp.arms):
        rows = [[*features.encode(known), y] for one, known, y in given.values() if one == name]
        assert seen.n[arm] * effects[arm] == pytest.approx(len(rows), rel=1e-12)
        if rows:
            mean, products = exact(rows)
            sd = np.sqrt(np.diagonal(products) / len(rows))
            digit = np.spacing(
                np.abs(mean)
            )  # of the mean as a float: the sums themselves keep more
            assert (np.abs(seen.mean[arm] - mean) <= np.maximum(1e-9 * sd, digit)).all()
            size = np.sqrt(np.outer(np.diagonal(products), np.diagonal(products)))
            assert (np.abs(seen.products[arm] * effects[arm] - products) <= 1e-9 * size).all()


def naive_stats(exp, given):
    """The same rewards through the statistics of the package, without a log. Choices count the
    rewards of units that return as if they were independent."""
    features, out = (
        Features(exp.options.features["kinds"]),
        LinearStats.empty(len(exp.arms), exp.features.d),
    )
    for arm, known, reward in given.values():
        out = out.observe(exp.arms.index(arm), features.encode(known), reward)
    return out


class ContextConformance:
    """The tests; `begin` is the fixture of `StoreConformance`."""

    def test_decisions_go_by_their_contexts(self, begin):
        exp = begin(features=FEATURES)
        assert exp.options.policy == {"label": "LinearVarTS"}
        given = visit(exp, 120)
        home, abroad = {"country": "NL", "visits": 3}, {"country": "BE", "visits": 3}
        for known, best in ((home, {"9"}), (abroad, {"12", "15"})):
            made = exp.decide_many(contexts=[known] * 30)
            assert sum(d.arm in best for d in made) >= 27  # each with more than 0.99
            belief = varts.LinearVarTS().belief_at(
                naive_stats(exp, given), exp.features.encode(known)
            )
            chances = dict(zip(exp.arms, belief.p_best(), strict=True))
            for d in made:
                assert d.probability == pytest.approx(chances[d.arm], abs=1e-9)
        check_lines(exp, given)
        check_lines(begin(), given)
        found = begin().verify(replay=True)
        assert found.ok and found.replayed == 180, str(found)

    @pytest.mark.statistical
    def test_choices_have_the_probabilities_that_are_logged(self, begin):
        """A chi-square test of one state's choices by context, false alarms 1e-6; with the
        probabilities of another context it fails."""
        exp = begin(features=FEATURES)
        visit(exp, 30, noise=3.0)
        counts, chances = {}, {}
        for country in ("NL", "BE"):
            known = {"country": country, "visits": 2}
            made = exp.decide_many(contexts=[known] * 2000)
            counts[country] = [sum(d.arm == arm for d in made) for arm in exp.arms]
            chances[country] = allocate(exp._session.seed, exp.state).chances_for([known])[0]
        for country, other in (("NL", "BE"), ("BE", "NL")):
            expected = 2000 * chances[country]
            assert (expected > 5).all()
            assert stats.chisquare(counts[country], expected).pvalue > 1e-6
            assert stats.chisquare(counts[country], 2000 * chances[other]).pvalue < 1e-6

    @pytest.mark.parametrize(("wrong", "said"), NOT_CONTEXTS, ids=range(len(NOT_CONTEXTS)))
    def test_a_wrong_context_gets_one_sentence(self, begin, wrong, said):
        exp = begin(features=FEATURES)
        with pytest.raises((TypeError, ValueError), match=f"^{said}"):
            exp.decide(context=wrong)
        with pytest.raises((TypeError, ValueError), match=f"^{said}"):
            exp.decide_many(contexts=[context(1), wrong])
        assert exp.report().frame["share"].sum() == 0

    def test_contexts_and_features_come_together(self, begin):
        exp = begin()
        with pytest.raises(
            ValueError, match=r"^context must be left out, since experiment .* has no"
        ):
            exp.decide(context=context(1))
        with pytest.raises(ValueError, match="features must stay None once an experiment exists"):
            exp.configure(features=FEATURES)
        with pytest.raises(ValueError, match="features must be given for LinearVarTS, got none"):
            exp.configure(policy="LinearVarTS")
        other = begin(part="other", features=FEATURES)
        with pytest.raises(ValueError, match=r"contexts must be one per unit \(2\), got 1"):
            other.decide_many(2, contexts=[context(1)])
        with pytest.raises(TypeError, match="contexts must be a list, got 'NL'"):
            other.decide_many(contexts="NL")
        with pytest.raises(ValueError, match="features must stay"):
            other.configure(features=None, policy="VarTS")
        assert other.decide_many(contexts=[]) == []

    def test_the_same_id_gets_the_same_decision_whatever_its_context(self, begin):
        exp = begin(features=FEATURES)
        visit(exp, 60)
        first = exp.decide(id="d", context={"country": "NL", "visits": 3})
        assert begin().decide(id="d", context={"country": "BE", "visits": 9}) == first
        twice = exp.decide_many(ids=["e", "e"], contexts=[context(0), context(1)])
        assert twice[0] == twice[1]
        assert exp.decision("e").context == {"country": "NL", "visits": 0.25}
        assert exp.verify(replay=True).ok

    def test_a_sticky_unit_keeps_its_arm_whatever_its_context(self, begin):
        exp = begin(features=FEATURES, sticky=True)
        arms = {}
        for i in range(60):
            made = exp.decide(f"unit {i % 11}", context=context(i))
            assert arms.setdefault(i % 11, made.arm) == made.arm
            exp.reward(made.id, paid(made.arm, context(i), i % 3 - 1))
        assert exp.verify(replay=True).ok

    def test_floor_holdout_and_paused_arms_are_as_without(self, begin):
        exp = begin(features=FEATURES, floor=0.05, holdout=0.2)
        visit(exp, 60)
        exp.add_arm("18")
        exp.pause_arm("12")
        known = {"country": "NL", "visits": 3}
        made = exp.decide_many([f"u{i}" for i in range(300)], contexts=[known] * 300)
        reasons = {d.reason for d in made}
        assert reasons == {"policy", "forced", "floor", "holdout"}
        assert "12" not in {d.arm for d in made}
        assert min(d.probability for d in made) >= 0.05
        assert {d.probability for d in made if d.reason == "holdout"} == {1 / 3}
        for d in made:
            exp.reward(d.id, paid(d.arm, known, 0.0))
        assert begin().report().gain is not None
        assert exp.verify(replay=True).ok

    def test_a_context_is_kept_exported_and_shown(self, begin, tmp_path):
        import polars as pl

        exp = begin(features=varts.Features({**FEATURES, "age": "number"}, optional=["age"]))
        known = [{"country": "FR", "visits": 1 / 3, "age": 40}, {"visits": True}]
        for i, one in enumerate(known):
            exp.decide(id=f"d{i}", context=one)
        assert exp.decision("d0").context == {"country": "FR", "visits": 1 / 3, "age": 40.0}
        assert exp.decision("d1").context == {"country": "missing", "visits": 1.0}
        for kind in ("parquet", "ndjson"):
            exp.export(tmp_path / f"log.{kind}")
        table = pl.read_parquet(tmp_path / "log.parquet")
        assert table["country"].to_list() == ["FR", "missing"]
        assert table["visits"].to_list() == [1 / 3, 1.0]
        assert table["age"].to_list() == [40.0, None]
        lines = (tmp_path / "log.ndjson").read_text().splitlines()
        assert json.loads(lines[0])["visits"] == 1 / 3

    def test_a_sample_of_contexts_is_even_and_bounded(self, begin):
        exp = begin(features=FEATURES)
        assert exp.contexts() == []
        for i in range(6):
            known = [{"country": "NL", "visits": 50 * i + j} for j in range(50)]
            made = exp.decide_many(contexts=known)
            exp.reward_many((d.id, 1.0) for d in made)
        assert len(exp.contexts()) == 300
        some = [one["visits"] for one in exp.contexts(10)]
        assert len(some) == 10 and max(np.diff(some)) <= 31 and min(np.diff(some)) >= 29
        with pytest.raises(ValueError, match="limit must be a whole number >= 1 and <= 1000"):
            exp.contexts(1001)

    def test_missing_rewards_count_with_their_features(self, begin, clock):
        exp = begin(features=FEATURES, window=10.0, missing=0.0)
        given = {}
        for i in range(20):
            made = exp.decide(id=f"v{i}", context=context(i))
            given[made.id] = made.arm, context(i), 0.0
        clock.advance(60)
        exp.settle()
        check_lines(exp, given)
        assert exp.verify(replay=True).ok

    def test_corrections_leave_no_trace_in_the_digits(self, begin):
        """Features and rewards like 1e9 +- 0.001, one of each typed as something else."""
        exp, rng = begin(features={"at": "number", "one": "number"}), random.Random(3)
        given = {}
        for i in range(60):
            known = {"at": 1e9 + rng.gauss(0, 1e-3), "one": float(i == 7)}
            made = exp.decide(id=f"v{i}", context=known)
            y = 1e9 + rng.gauss(0, 1e-3)
            given[made.id] = made.arm, known, y
            exp.reward(made.id, 1e300 if i == 5 else y)
        exp.amend("v5", given["v5"][2])
        check_lines(exp, given)
        exp.void("v7")  # the only unit that had the feature
        kept = {id: one for id, one in given.items() if id != "v7"}
        check_lines(begin(), kept)
        exp.amend("v7", given["v7"][2])
        check_lines(begin(), given)
        exp.add_reward("v9", 0.5, "more")
        given["v9"] = (*given["v9"][:2], given["v9"][2] + 0.5)
        check_lines(exp, given)
        exp.configure(clip=(1e9 - 1e-3, 1e9 + 1e-3), recount=True)
        clipped = {
            id: (arm, known, min(max(y, 1e9 - 1e-3), 1e9 + 1e-3))
            for id, (arm, known, y) in given.items()
        }
        check_lines(begin(), clipped)
        found = exp.verify(replay=True)
        assert found.ok and found.replayed == 60, str(found)

    def test_epochs_and_half_lives(self, begin):
        exp = begin(features=FEATURES, half_life=20.0)
        given = visit(exp, 50)
        seen = linear_statistics(exp.state)
        ages = [2.0 ** (-(49 - i) / 20) for i in range(50)]
        for arm, name in enumerate(exp.arms):
            rows = [
                (w, [*exp.features.encode(known), y])
                for w, (one, known, y) in zip(ages, given.values(), strict=True)
                if one == name
            ]
            w, x = np.array([w for w, _ in rows]), np.array([row for _, row in rows])
            mean = w @ x / w.sum()
            assert seen.n[arm] == pytest.approx(w.sum(), rel=1e-12)
            assert seen.mean[arm] == pytest.approx(mean, rel=1e-12)
            assert seen.products[arm] == pytest.approx(((x - mean).T * w) @ (x - mean), abs=1e-12)
        exp.configure(half_life=None)
        visit(exp, 20, start=50)
        exp.configure(half_life=5.0)
        visit(exp, 20, start=70)
        assert begin().verify(replay=True).ok

    def test_a_policy_without_context_may_become_one_with_it(self, begin):
        exp = begin(features=FEATURES, policy="UCB1")
        given = visit(exp, 60)
        exp.configure(policy="LinearVarTS")
        check_lines(begin(), given)
        known = {"country": "NL", "visits": 3}
        assert {d.reason for d in exp.decide_many(contexts=[known] * 20)} == {"policy"}
        others = ("LinUCB", "Linear-Greedy", "Linear-Bayes-UCB", varts.LinearTS(sigma=0.5))
        for i, policy in enumerate(others):
            exp.configure(policy=policy)
            visit(exp, 10, start=100 * (i + 1))
        assert exp.verify(replay=True).ok
        assert exp.report().best is not None

    def test_priors_of_arms(self, begin):
        columns = Features(FEATURES).columns
        line = varts.LinearNormalGamma(
            [1.0, 2.0, 3.0], 4, 3, 2, slopes=np.zeros(3), precision=np.ones(3), features=columns
        )
        exp = begin(features=FEATURES, prior=line)
        assert exp.decide(context=context(0)).reason == "policy"  # nobody is owed anything
        with pytest.raises(ValueError, match="prior must be given for a new arm"):
            exp.add_arm("18")
        new = varts.LinearNormalGamma(
            9.0, 400, 3, 2, slopes=np.zeros(3), precision=100 * np.ones(3)
        )
        exp.add_arm("18", prior=new)
        made = exp.decide_many(contexts=[context(1)] * 20)
        assert sum(d.arm == "18" for d in made) > 15
        begin(prior=line)  # the one it was created with opens it
        visit(exp, 30)
        assert begin().verify(replay=True).ok

    def test_a_forgotten_unit_takes_its_contexts_along(self, begin, tmp_path):
        import polars as pl

        exp = begin(features=FEATURES)
        given = visit(exp, 60)
        pending = exp.decide("unit 3", context=context(3))
        exp.amend("v14", 1.25)
        given["v14"] = (*given["v14"][:2], 1.25)
        mine = [f"v{i}" for i in range(3, 60, 11)]
        assert exp.forget_unit("unit 3") == len(mine) + 1
        assert exp.decision(mine[0]).context is None
        kept = {id: one for id, one in given.items() if id not in mine}
        check_lines(exp, kept)
        check_lines(begin(), kept)
        assert exp.report().frame["n"].sum() == 60  # its rewards are still there
        exp.reward(pending.id, 1.0)
        check_lines(begin(), kept)
        exp.export(tmp_path / "log.parquet")
        table = pl.read_parquet(tmp_path / "log.parquet")
        assert table.filter(pl.col("country").is_null())["id"].to_list() == [*mine, pending.id]
        assert exp.changes()[-1].kind == "erase"
        made = visit(exp, 20, start=60)
        found = begin().verify(replay=True)
        assert found.ok and found.replayed == len(made), str(found)

    def test_the_numbers_of_a_forgotten_unit_may_be_kept(self, begin):
        exp = begin(features=FEATURES)
        given = visit(exp, 60)
        assert exp.forget_unit("unit 3", keep_numbers=True) == 6
        assert exp.decision("v3").context is None
        check_lines(begin(), given)
        found = exp.verify(replay=True)
        assert found.ok and found.replayed == 54, str(found)
        with pytest.raises(TypeError, match="keep_numbers must be True or False, got 1"):
            exp.forget_unit("unit 4", keep_numbers=1)

    def test_verify_finds_another_line(self, begin):
        exp = begin(features=FEATURES)
        visit(exp, 30)
        key = THE_REWARD, 0, 0
        row = exp.state.rows[key]
        half: RegressionSums = row.line.parts[1]
        products = half.products.copy()
        products[0, 1] = products[1, 0] = products[0, 1] + 1e-5
        for wrong in (half._replace(products=products), half._replace(n=half.n + 1), None):
            _overwrite(exp, {key: row._replace(line=with_half(row.line, wrong))})
            found = begin().verify()
            assert not found.ok and "the effects of features differ" in str(found)
        assert exp.verify(repair=True).ok
        assert begin().verify().ok
        _overwrite(exp, {key: row._replace(line=None)})
        assert not begin().verify().ok
        assert exp.verify(repair=True).ok
        nearly = half._replace(n=half.n * (1 + 1e-15))
        _overwrite(exp, {key: row._replace(line=with_half(row.line, nearly))})
        assert begin().verify().ok  # the last bits are forgiven

    def test_a_history_ends_where_a_report_is(self, begin):
        exp = begin(features=FEATURES)
        visit(exp, 80)
        exp.amend("v5", 3.0)
        exp.void("v6")
        history, report = exp.history(points=4), exp.report()
        last = history.frame.filter(checkpoint=4)
        for column in ("n", "mean", "mean_low", "mean_high", "p_best", "expected_loss"):
            assert last[column].to_list() == pytest.approx(report.frame[column].to_list(), rel=1e-6)
        assert report.frame["anytime_low"].null_count() == 3
        assert "features choose the arms" in report.certainty

    def test_a_report_is_about_the_average_unit(self, begin):
        """Against the regression of each arm by hand, with a weak prior: within a hundredth."""
        exp = begin(features={"visits": "number"}, floor=0.3)
        rng = random.Random(2)
        rows = {arm: [] for arm in exp.arms}
        for i in range(400):
            made = exp.decide(context={"visits": i % 10})
            y = {"9": 1.0, "12": 0.0, "15": 0.5}[made.arm] * (i % 10) + rng.gauss(0, 0.1)
            rows[made.arm].append((i % 10, y))
            exp.reward(made.id, y)
        average = np.mean([x for one in rows.values() for x, _ in one])
        for row in exp.report().frame.iter_rows(named=True):
            x, y = np.array(rows[row["arm"]]).T
            slope, level = np.polyfit(x, y, 1)
            assert row["estimate"] == pytest.approx(level + slope * average, abs=0.05)
            assert row["mean_low"] < row["estimate"] < row["mean_high"]

    def test_other_ways_of_deciding_can_be_weighed(self, begin):
        exp = begin(features=FEATURES, floor=0.05)
        given = visit(exp, 150, noise=0.1)
        found = exp.evaluate(varts.with_floor(0.1))
        collected = np.mean([reward for _, _, reward in given.values()])
        assert abs(found.value - collected) < 4 * found.se
        best = exp.evaluate(varts.always("9"))
        home = np.mean([paid("9", known, 0.0) for _, known, _ in given.values()])
        assert abs(best.value - home) < 4 * best.se
        exp.forget_unit("unit 3")
        with pytest.raises(ValueError, match="depend on contexts that were forgotten"):
            exp.evaluate(varts.with_floor(0.1))
        assert exp.evaluate(varts.always("9")).value == best.value

    def test_hashed_units_and_client_ids(self, begin):
        exp = begin(features=FEATURES, hash_units=True, client_ids=True, goal="min")
        visit(exp, 40)
        assert exp.forget_unit("unit 3") == 4
        visit(exp, 20, start=40)
        found = begin().verify(replay=True)
        assert found.ok and found.replayed == 20, str(found)


def _overwrite(exp, rows):
    with exp._session.changing() as change:
        change.state.rows |= rows
        change.state.touched |= set(rows)
        change.transaction.save(change.state)
