"""The report as a user meets it: arguments, words, files, and data that are too thin to speak."""

import json

import numpy as np
import pytest

import varts
from tests.context.shop import ARMS, FEATURES, played, report, visitors
from varts import LinearNormalGamma, LinearStats, LinearVarTS, context_report
from varts.context import Units, infer, report_on
from varts.context.text import NOT_ENOUGH


def test_each_country_gets_its_arm():
    found = report(2000, halves=True)
    named = found.segments.filter("named")
    by = {(row["feature"], row["value"]): row["arm"] for row in named.to_dicts()}
    assert by["country", "NL"] == "plain" and by["country", "BE"] == "offer"
    assert by["visits", "above 4"] == "plain"
    text = str(found)
    assert "choosing by context gains" in text and "over plain for everybody" in text
    assert "country BE against NL" in text and "visits, per 1" in text
    assert max(map(len, text.splitlines())) < 140


def test_thin_data_name_no_arm():
    """A prior that is sure of itself, and next to no rewards of these units."""
    few, contexts = played(12)
    early = context_report(LinearVarTS(), few, FEATURES, contexts, arms=ARMS)
    assert not early.segments["named"].any() and not early.enough
    assert f"{NOT_ENOUGH} to say whether the best arm depends on the context" in str(early)
    stats, contexts = played(2000)
    seen_twice = context_report(LinearVarTS(), stats, FEATURES, contexts[:9], arms=ARMS)
    assert not seen_twice.segments["named"].any()
    assert NOT_ENOUGH in str(seen_twice)


def test_a_group_that_was_never_rewarded_is_not_judged_by_the_others():
    contexts = visitors(2000)
    dutch = [i for i, context in enumerate(contexts) if context["country"] == "NL"]
    x, rng = FEATURES.encode_many(contexts), np.random.default_rng(1)
    arm = rng.integers(0, 3, len(dutch))
    reward = rng.normal(np.array([10.0, 11.0, 20.0])[arm], 1.0)
    only = LinearStats.empty(3, FEATURES.d).observe(arm, x[dutch], reward)
    prior = LinearNormalGamma.elicit(10, 5, 3, 20, dict.fromkeys(FEATURES.columns, 5.0))
    found = context_report(prior, only, FEATURES, contexts, arms=ARMS)
    named = {row["value"]: row["named"] for row in found.segments.to_dicts() if row["named"]}
    assert named.get("NL") and "BE" not in named


def test_without_a_prior_what_was_never_seen_is_not_known():
    """A policy without a prior gives a column that never varied no effect; that is no knowledge."""
    contexts, rng = [{**c, "country": "NL"} for c in visitors(300)], np.random.default_rng(1)
    arm = rng.integers(0, 3, 300)
    x, reward = FEATURES.encode_many(contexts), rng.normal(np.array([0.0, 1.0, 9.0])[arm], 1.0)
    stats = LinearStats.empty(3, FEATURES.d).observe(arm, x, reward)
    belgians = [{"country": "BE", "visits": 3}] * 100
    found = context_report(LinearVarTS(), stats, FEATURES, contexts + belgians, arms=ARMS)
    named = {row["value"] for row in found.segments.to_dicts() if row["named"]}
    assert "NL" in named and "BE" not in named
    assert found.unknown == 0.25
    assert "25.0% of the units have a feature value that no rewarded unit has" in str(found)
    effect = found.coefficients.filter(found.coefficients["column"] == "country=BE")
    assert effect["estimate"].to_list() == effect["low"].to_list() == [None] * 3
    colours = np.asarray(found.plot().axes[0].images[0].get_array())
    assert colours[1].min() > 0.8 > colours[0].min()  # next to no colour for Belgians
    assert context_report(LinearVarTS(), stats, FEATURES, contexts, arms=ARMS).unknown == 0


def test_groups_of_numbers_and_of_missing_ones():
    features = varts.Features({"age": "number"}, optional=["age"])
    ages = [{"age": age} for age in (20, 30, 40, 50, 60, 70, 70)] + [{}]
    sizes = {g.value: int(g.members.sum()) for g in Units.seen(features, ages).groups()}
    assert sizes == {"up to 40": 3, "40 to 60": 2, "above 60": 2, "missing": 1}
    few = Units.seen(features, [{"age": 1}, {"age": 2}, {"age": 1}]).groups()
    assert [(g.value, g.members.tolist()) for g in few] == [
        ("1", [True, False, True]),
        ("2", [False, True, False]),
    ]


def test_a_data_frame_of_contexts_and_the_default_names():
    import polars as pl

    stats, contexts = played(100)
    one = context_report(LinearVarTS(), stats, FEATURES, contexts)
    two = context_report(LinearVarTS(), stats, FEATURES.to_dict(), pl.DataFrame(contexts))
    assert one.arms == ["0", "1", "2"] and one.frame.equals(two.frame)


def test_the_report_is_json_and_repeats_itself():
    one, two = report(100), report(100)
    body = json.loads(json.dumps(one.to_dict()))
    assert body == json.loads(json.dumps(two.to_dict()))
    assert body["worth"]["single"] in ARMS and len(body["segments"]) == 18
    assert [row["arm"] for row in body["arms"]] == ARMS
    assert sum(row["p_best"] for row in body["arms"]) == pytest.approx(1)


def test_a_posterior_that_is_there_already_gives_the_same():
    stats, contexts = played(100)
    posterior = infer(None, stats)
    one = report_on(posterior, stats.n, FEATURES, contexts, arms=ARMS)
    assert one.frame.equals(report(100).frame) and one.worth == report(100).worth


@pytest.mark.parametrize("K", [1, 2, 30])
@pytest.mark.parametrize("kinds", [{}, {"a": "number"}, {"c": ["x"]}], ids=["none", "a", "c"])
def test_any_number_of_arms_and_features(K, kinds):
    features = varts.Features(kinds)
    context = {"a": 1.5} if "a" in kinds else {"c": "x"} if kinds else {}
    prior = LinearNormalGamma.ridge(features.d, alpha=2.0)
    found = context_report(prior, LinearStats.empty(K, features.d), features, [context] * 12)
    assert np.allclose(found.frame["p_best"], 1 / K)
    assert found.worth.gain == 0
    assert "All units" in str(found) and "nan" not in str(found)
    if kinds:
        found.plot()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"policy": varts.VarTS()}, TypeError, "policy must be a policy for contexts, such as"),
        ({"stats": varts.ArmStats.empty(3)}, TypeError, "stats must be a LinearStats, got"),
        ({"stats": LinearStats.empty(3, 3)}, ValueError, "n must be at least 2 for LinearVarTS"),
        ({"contexts": []}, ValueError, "contexts must be at least one context, got none"),
        ({"contexts": "NL"}, TypeError, "contexts must be a list of contexts, got 'NL'"),
        ({"contexts": [{"country": "NL"}]}, ValueError, "context must have the number 'visits'"),
        ({"features": {"visits": "number"}, "contexts": [{"visits": 1}]}, ValueError,
         "features must have the 3 columns of the statistics, got 1"),
        ({"arms": ["a", "b"]}, ValueError, "arms must be 3 different names, got"),
        ({"arms": "abc"}, TypeError, "arms must be a list of names, got 'abc'"),
        ({"goal": "up"}, ValueError, "unknown goal 'up'; known: max, min"),
        ({"level": 1.0}, ValueError, "level must be"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_sentence(change, error, words):
    stats, contexts = played(60)
    given = {"policy": LinearVarTS(), "stats": stats, "features": FEATURES, "contexts": contexts}
    with pytest.raises(error) as refusal:
        context_report(**(given | change))
    assert str(refusal.value).startswith(words) and "\n" not in str(refusal.value)


def test_an_arm_without_prior_and_rewards_is_refused():
    prior = LinearNormalGamma(0, 0, 1, 1, np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match=r"^n must be at least 1 for an arm without a prior, got"):
        context_report(prior, LinearStats.empty(2, 3), FEATURES, visitors(3))


def test_the_picture(tmp_path):
    found = report(400)
    made = found.plot(tmp_path / "who.png")
    ax = made.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("visits", "country")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["NL", "BE", "other"]
    colours = ax.images[0].get_array()
    chance = found.posterior.belief(FEATURES.encode({"country": "BE", "visits": 3})).p_best()
    assert colours.shape == (3, 80, 3) and ARMS[chance.argmax()] == "offer"
    red, _, blue = np.asarray(colours)[1, 40]
    assert blue > red  # the second arm's colour is blue
    assert found.plot(x="country", y="visits").axes[0].get_xlabel() == "country"
    assert found.plot(y="country").axes[0].get_xlabel() == "visits"
    assert (tmp_path / "who.png").read_bytes()[:4] == b"\x89PNG"
    for name in ("a.svg", "b.svg"):
        found.plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"x": "visit"}, "unknown feature for x 'visit'"),
        ({"x": "visits", "y": "visits"}, "x and y must be different features, got 'visits' twice"),
        ({"path": "who.txt"}, "path"),
    ],
)
def test_a_picture_of_what_is_not_there(options, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        report(60).plot(**options)
