"""Which arm for whom, in the reports of live experiments."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from varts.context.inference import symmetric
from varts.live.store.transaction import REPLACE_BODY, query

FEATURES = {"country": ["NL", "BE"], "visits": "number"}


def play(rounds=400, goal="max", steep=4.0, **options):
    """Red is better for NL, blue for BE, by `steep` each; goal "min" has minus these rewards."""
    exp = varts.open(
        *("offer", ["red", "blue", "grey"]), store="memory://", features=FEATURES, goal=goal,
        floor=0.05, seed=1, **options,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    for start in range(0, rounds, 50):
        who = [{"country": ["NL", "BE"][i], "visits": 2} for i in rng.integers(0, 2, 50)]
        ids = [f"d{start + i}" for i in range(50)]
        rewards = []
        for made, context in zip(
            exp.decide_many([None] * 50, ids=ids, contexts=who), who, strict=True
        ):
            right = (made.arm == "red") == (context["country"] == "NL") and made.arm != "grey"
            reward = 10 + steep * right + rng.normal()
            rewards.append((made.id, reward if goal == "max" else -reward))
        exp.reward_many(rewards)
    return exp


@pytest.fixture(scope="module")
def experiment():
    return play()


def test_every_country_gets_its_arm(experiment):
    found = experiment.report().context
    best = {
        row["value"]: row["arm"]
        for row in found.segments.filter("named").sort("p_best").to_dicts()
        if row["feature"] == "country"
    }
    assert best == {"NL": "red", "BE": "blue"}
    countries = [context["country"] for context in experiment.contexts()]
    fewer = min(countries.count("NL"), countries.count("BE")) / len(countries)
    assert found.worth.low < 4 * fewer < found.worth.high


def test_the_best_arm_is_said_to_depend_on_the_context(experiment):
    assert experiment.report().verdict.startswith("which arm is best depends on the context")


def test_without_a_difference_it_is_not():
    assert not play(steep=0.0).report().verdict.startswith("which arm is best depends")


def test_chances_are_averages_over_units(experiment):
    report = experiment.report()
    contexts = experiment.contexts()
    x = experiment.features.encode_many(contexts)
    belief = symmetric(report.context.posterior).belief(x)
    np.testing.assert_allclose(report.frame["p_best"], belief.p_best().mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(
        report.frame["expected_loss"], belief.expected_loss().mean(axis=0), atol=1e-9
    )
    assert report.frame["p_best"].max() < 0.7  # no arm is best for everybody


def test_a_history_ends_with_the_report(experiment):
    frame = experiment.history(points=3).frame
    last = frame.filter(pl.col("checkpoint") == pl.col("checkpoint").max())
    report = experiment.report()
    # A history averages over fewer contexts; two countries of equal shares differ by their counts.
    np.testing.assert_allclose(last["p_best"], report.frame["p_best"], atol=0.1)


def test_lower_is_better_is_the_mirror_image(experiment):
    mirrored = play(goal="min").report()
    report = experiment.report()
    np.testing.assert_allclose(mirrored.frame["p_best"], report.frame["p_best"], atol=1e-9)
    np.testing.assert_allclose(mirrored.frame["estimate"], -report.frame["estimate"], atol=1e-9)
    assert mirrored.context.worth.gain == pytest.approx(report.context.worth.gain, rel=0.05)


def test_paused_arms_are_left_out():
    exp = play(200)
    exp.pause_arm("blue")
    report = exp.report()
    assert report.context.arms == ["red", "grey"]
    assert report.frame["p_best"][1] is None


def test_too_few_rewards_have_no_answer():
    exp = varts.open("new", ["a", "b"], store="memory://", features=FEATURES)
    assert exp.report().context is None
    made = exp.decide(context={"country": "NL", "visits": 1})
    exp.reward(made.id, 1.0)
    report = exp.report()
    assert report.context is None
    assert report.best is None


def test_a_report_is_plain_values(experiment):
    body = experiment.report().to_dict()
    assert {row["arm"] for row in body["context"]["arms"]} == {"red", "blue", "grey"}
    assert body["context"]["worth"]["single"] in ("red", "blue")


# ------------------------------------------------------------------ halves of the decisions


def halves_in_log(exp):
    """By unit, or decision without one, the half of every reward in the log."""
    with exp._session.reading() as transaction:
        decided = transaction.decided([f"d{i}" for i in range(400)])
        events = transaction.settled(list(decided))
    out = {}
    for id, event in events.items():
        half = json.loads(event.body)["half"]
        out.setdefault(decided[id].unit or id, set()).add(half)
    return out


def test_decisions_are_split_by_id_at_random(experiment):
    halves = [half for (half,) in halves_in_log(experiment).values()]
    assert len(halves) == 400 and abs(np.mean(halves) - 0.5) < 0.1
    lines = [row.line for row in experiment.state.by_arm().values()]
    for half in (0, 1):
        count = sum(line.parts[half].rewards for line in lines)
        assert count == halves.count(half)
    assert all(line.parts[2] is None for line in lines)


def test_decisions_of_a_unit_are_in_the_same_half():
    exp = varts.open("units", ["a", "b"], store="memory://", features=FEATURES, seed=3)
    for i in range(120):
        made = exp.decide(f"unit {i % 20}", id=f"d{i}", context={"country": "NL", "visits": i})
        exp.reward(made.id, float(i % 7))
    halves = halves_in_log(exp)
    assert len(halves) == 20 and all(len(each) == 1 for each in halves.values())
    assert len(set.union(*halves.values())) == 2
    exp.amend("d3", 9.0)
    exp.void("d4")
    assert exp.verify(replay=True).ok


def without_halves(exp):
    """The log of an older version: no reward has a half. The caches follow from it."""
    with exp._session.changing() as write:
        run = write.transaction.run
        rows = run(query("SELECT version, body FROM varts_events WHERE experiment = :x")).fetchall()
        for version, text in rows:
            body = json.loads(text or "{}")
            if body.pop("half", None) is not None:
                run(REPLACE_BODY, version=version, body=json.dumps(body))
    assert exp.verify(repair=True).ok


def test_rewards_of_an_older_version_claim_nothing():
    exp = play()
    before = exp.state.by_arm()[0].line.whole
    without_halves(exp)
    exp = varts.open("offer", store=exp._session.store)
    line = exp.state.by_arm()[0].line
    assert line.parts[:2] == (None, None)
    assert np.abs(line.whole.products - before.products).max() < 1e-8
    assert exp.verify(replay=False).ok
    found = exp.report()
    assert not found.depends_on_context and not found.verdict.startswith("which arm is best dep")
    assert "can't be cross-fitted for rewards recorded by an older version" in str(found)
    assert found.context.unsplit == 400
    # New rewards have halves, and the gain is estimated from these.
    rng = np.random.default_rng(5)
    for i in range(400, 700):
        country = ["NL", "BE"][i % 2]
        made = exp.decide(id=f"d{i}", context={"country": country, "visits": 2})
        right = (made.arm == "red") == (country == "NL") and made.arm != "grey"
        exp.reward(made.id, 10 + 4.0 * right + rng.normal())
    found = exp.report()
    if found.context.worth.crossfitted:
        assert "estimated without 400 rewards that an older version recorded" in str(found)
    assert found.context.unsplit == 400
    assert exp.verify(replay=False).ok


def test_a_goal_of_min_mirrors_the_gain(experiment):
    mirrored = play(goal="min").report().context
    same = experiment.report().context
    assert mirrored.worth.gain == pytest.approx(same.worth.gain, rel=1e-6)
    assert mirrored.worth.low == pytest.approx(same.worth.low, rel=0.05)
    assert mirrored.frame["mean_low"].to_numpy() == pytest.approx(
        -same.frame["mean_high"].to_numpy()
    )


def test_a_missing_interaction_is_in_the_report_and_in_the_check():
    exp = varts.open(
        "crossed", ["red", "blue"], store="memory://", features=FEATURES, floor=0.4, seed=1
    )
    rng = np.random.default_rng(2)
    for start in range(0, 1500, 500):
        who = [
            {"country": ["NL", "BE"][i], "visits": int(v)}
            for i, v in zip(rng.integers(0, 2, 500), rng.integers(0, 7, 500), strict=True)
        ]
        made = exp.decide_many(
            [None] * 500, ids=[f"d{start + i}" for i in range(500)], contexts=who
        )
        exp.reward_many(
            [
                (
                    one.id,
                    (1 if context["country"] == "NL" else -1) * (context["visits"] - 3)
                    + rng.normal(),
                )
                for one, context in zip(made, who, strict=True)
            ]
        )
    note = "than its regression says where country is"
    assert any(
        note in one and "add the interaction of country" in one for one in exp.report().notes
    )
    assert exp.check()["fit of features"].verdict == "warning"


def test_a_regression_that_fits_has_no_note(experiment):
    assert not any("than its regression says" in one for one in experiment.report().notes)
    assert experiment.check()["fit of features"].verdict == "ok"
