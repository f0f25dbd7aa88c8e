"""Which arm for whom, in the reports of live experiments."""

import numpy as np
import polars as pl
import pytest

import varts
from varts.context.inference import symmetric

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
