"""`varts.evaluate` on logs of any kind: what is read, left out, noted and refused."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from varts.evaluation.log import read_decisions


def table(n=1000, seed=3, p=0.25):
    rng = np.random.default_rng(seed)
    b = rng.random(n) < p
    return pl.DataFrame(
        {
            "arm": np.where(b, "b", "a"),
            "reward": rng.normal(np.where(b, 3.0, 1.0)),
            "probability": np.where(b, p, 1 - p),
        }
    )


def test_headline_is_adaptive_for_an_arm_and_doubly_robust_for_a_mixture():
    log = table()
    arm = varts.evaluate(log, varts.always("b"))
    assert (arm.headline, arm.target) == ("adaptive", "always b")
    assert arm.value == arm.estimates["adaptive"].value
    assert (arm.low, arm.high) == arm.estimates["adaptive"][2:]
    assert arm.low < 3 < arm.high  # this seed's; 95 % of all do
    even = varts.evaluate(log, varts.EvenSplit())
    assert (even.headline, even.target) == ("doubly robust", "an even split")
    same = varts.evaluate(log, {"a": 0.5, "b": 0.5})
    assert same.value == pytest.approx(even.value, rel=1e-12)
    assert same.difference.value == pytest.approx(even.value - log["reward"].mean(), rel=1e-9)


def test_difference_of_two_arms():
    found = varts.evaluate(table(), varts.always("b"), against=varts.always("a"))
    means = {one.arm: one.mean.value for one in found.arms}
    assert found.difference.value == pytest.approx(means["b"] - means["a"], rel=1e-12)
    assert found.against == "always a"


def test_worth_and_weights():
    log = table()
    found = varts.evaluate(log, varts.always("b"))
    count = log.filter(pl.col("arm") == "b").height
    assert found.worth == pytest.approx(count)  # equal weights
    assert found.largest_weight == 4
    assert found.largest_share == pytest.approx(1 / count)
    assert found.mean_weight == pytest.approx(4 * count / 1000)
    assert found.notes == ()


@pytest.mark.parametrize("form", ["csv", "parquet", "ndjson"])
def test_files_and_names_of_columns(tmp_path, form):
    log = table().rename({"arm": "colour", "reward": "sale", "probability": "propensity"})
    path = tmp_path / f"log.{form}"
    getattr(log, f"write_{form}")(path)
    names = {"arm": "colour", "reward": "sale", "probability": "propensity"}
    found = varts.evaluate(path, varts.always("b"), **names)
    assert found.name == f"log.{form}"
    assert found.value == varts.evaluate(table(), varts.always("b")).value


def test_rows_are_put_in_order_by_time():
    log = table().with_row_index("time").with_columns(settled_time=pl.col("time") + 1)
    mixed = log.sample(fraction=1.0, shuffle=True, seed=1)
    a, b = (varts.evaluate(one, varts.always("b")).value for one in (log, mixed))
    assert a == b
    plain = varts.evaluate(mixed.drop("time", "settled_time"), varts.always("b")).value
    assert plain != a


def test_rewards_settled_later_are_not_known():
    log = table().with_row_index("time")
    late = log.with_columns(settled_time=pl.lit(10_000))
    read = read_decisions(late)
    assert (read.settled > read.known.max()).all()
    soon = varts.evaluate(log, varts.always("b")).estimates["doubly robust"].se
    assert varts.evaluate(late, varts.always("b")).estimates["doubly robust"].se > soon


def test_rows_left_out_by_reason():
    log = pl.DataFrame(
        {
            "arm": ["a", "b", None, "a", "b", "a", "a", "b", "b"],
            "reward": ["1", "2", "1", None, "x", "inf", "1", "1", "3"],
            "probability": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, None, 0.5],
        }
    )
    found = varts.evaluate(log, varts.EvenSplit())
    assert found.left_out == {
        "arm missing": 1,
        "reward missing": 1,
        "reward not a number": 1,
        "reward not finite": 1,
        "probability not in (0, 1]": 1,
        "probability missing": 1,
    }
    assert (found.used, found.rows) == (3, 9)
    assert any(
        note.startswith("the log says too little") and "size is 3 decisions" in note
        for note in found.notes
    )
    assert any("11 % of the decisions have no reward" in note for note in found.notes)


def test_notes():
    rare = varts.evaluate(table(100_000, p=0.005), varts.always("b"))
    assert [note for note in rare.notes if "the smallest probability is 0.005" in note]
    wrong = table().with_columns(probability=pl.lit(0.5))
    said = varts.evaluate(wrong, varts.always("b")).notes
    assert len(said) == 1
    assert "should be 1" in said[0]
    assert not varts.evaluate(table(), varts.always("b")).notes
    estimated = table().with_columns(estimated=pl.lit(True))
    (note,) = varts.evaluate(estimated, varts.always("b")).notes
    assert note == "1,000 of the probabilities were estimated from draws"


def test_skewed_rewards_are_noted():
    """One in a hundred pays 1: a kurtosis of about 98, which takes 20 times as many rewards."""
    ones = pl.when(pl.int_range(pl.len()) % 100 == 0).then(1.0).otherwise(0.0)
    (note,) = varts.evaluate(table(4000).with_columns(reward=ones), varts.always("b")).notes
    assert note.startswith("the intervals of this policy and arm b may miss more often")
    assert not varts.evaluate(table(20_000).with_columns(reward=ones), varts.always("b")).notes


def test_estimated_probabilities_have_a_least():
    log = table(10).with_columns(probability=pl.lit(1e-9), estimated=pl.lit(True))
    assert (read_decisions(log).probability == 1e-3).all()


def test_units_that_repeat_widen_the_interval():
    log = table(500)
    twice = pl.concat([log.with_row_index("unit")] * 2)
    alone = varts.evaluate(twice.drop("unit"), varts.always("b"))
    found = varts.evaluate(twice, varts.always("b"))
    assert found.worth == pytest.approx(alone.worth / 2)
    assert found.se > 1.3 * alone.se


def test_another_floor_with_the_probabilities_of_all_arms():
    log = table().with_columns(pa=pl.lit(0.75), pb=pl.lit(0.25))
    columns = {"a": "pa", "b": "pb"}
    found = varts.evaluate(log, varts.with_floor(0.25), chances=columns)
    shares = {"a": 0.25 + 0.5 * 0.75, "b": 0.25 + 0.5 * 0.25}
    same = varts.evaluate(log, shares, chances=columns)
    assert found.value == pytest.approx(same.value, rel=1e-12)
    assert found.se == pytest.approx(same.se, rel=1e-12)
    assert "adaptive" not in found.estimates


def test_text_and_json():
    found = varts.evaluate(table(), varts.always("b"))
    text = str(found)
    assert text.startswith("log: always b: ")
    assert "against what was collected: +" in text
    body = json.loads(json.dumps(found.to_dict()))
    assert body["estimates"]["adaptive"]["value"] == found.value
    assert [one["arm"] for one in body["arms"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("policy", "kind", "sentence"),
    [
        (varts.VarTS(), ValueError, "policy must not learn, got VarTS.*EmpiricalBandit"),
        ("b", TypeError, 'policy must be always."arm".*got .b.'),
        ({"c": 1.0}, ValueError, "unknown arm 'c'; .*known: a, b"),
        ({"a": 0.5}, ValueError, "shares must add up to 1, got 0.5"),
        ({"a": 2.0, "b": -1.0}, ValueError, "share of 'a' must be finite and >= 0 and <= 1, got 2"),
        ({"a": "1"}, TypeError, "share of 'a' must be"),
        (varts.with_floor(0.1), ValueError, "another floor needs the probabilities of all arms"),
    ],
)
def test_targets_that_are_refused(policy, kind, sentence):
    with pytest.raises(kind, match=sentence):
        varts.evaluate(table(), policy)


def test_arguments_that_are_refused():
    with pytest.raises(TypeError, match="arm must be the name of an arm, got 12"):
        varts.always(12)
    with pytest.raises(ValueError, match="floor must be finite and >= 0 and < 1, got 1"):
        varts.with_floor(1)
    with pytest.raises(ValueError, match="against must not learn"):
        varts.evaluate(table(), varts.always("a"), against=varts.TS14())
    with pytest.raises(ValueError, match="level must be"):
        varts.evaluate(table(), varts.always("a"), level=1)
    with pytest.raises(ValueError, match=r"unknown column 'sale'.*for the reward"):
        varts.evaluate(table(), varts.always("a"), reward="sale")
    two = table(2).with_columns(experiment=pl.Series(["x", "y"]))
    with pytest.raises(ValueError, match="log must be of one experiment, got 2"):
        varts.evaluate(two, varts.always("a"))
    with pytest.raises(ValueError, match="got none in 2 rows"):
        varts.evaluate(table(2).with_columns(reward=pl.lit(None)), varts.always("a"))


def test_a_log_without_chance_is_refused():
    log = table().with_columns(probability=pl.lit(1.0))
    with pytest.raises(ValueError, match="1,000 of 1,000 decisions were certain"):
        varts.evaluate(log, varts.always("b"))


def test_certain_decisions_are_left_out():
    """Some after a winner was named: they tell nothing about another arm."""
    log = table().with_columns(reason=pl.lit("policy"))
    winner = pl.DataFrame({"arm": "a", "reward": [9.0] * 2000, "probability": 1.0})
    both = pl.concat([log, winner.with_columns(reason=pl.lit("winner"))])
    found, alone = (varts.evaluate(one, varts.always("b")) for one in (both, log))
    assert found.left_out == {"without a choice": 2000}
    assert found.used == 1000
    for name in ("self-normalised", "inverse probability"):
        assert found.estimates[name] == pytest.approx(alone.estimates[name], rel=1e-12)
    assert found.mean_weight == pytest.approx(alone.mean_weight, rel=1e-12)
