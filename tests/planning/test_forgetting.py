"""Which half-life a plan advises, and how it gets there."""

import json

import pytest

import varts
from tests.planning.shared import PRIOR, small
from varts import Cycle, Fading, GaussianBandit, NormalGamma, Plan, Steps, VarTS, Walk
from varts.planning.forgetting import (
    best_half_life,
    describe_drift,
    drifting_problem,
    read_drift,
    space_half_lives,
)


@pytest.fixture(scope="module")
def changing():
    """Three arms, drawn anew about every 150 of 1,200 rounds."""
    return small(PRIOR, 3, horizon=1200, runs=160, drift="steps=150")


def test_a_drift_is_read_as_text_or_as_a_mapping():
    assert read_drift("steps=2e3") == read_drift({"steps": 2000}) == ("steps", 2000.0)
    assert describe_drift("walk=0.02").startswith("the means wander by 0.02 a round")
    assert describe_drift("cycle=1000").endswith("every 1,000 rounds, each arm at its own time")


@pytest.mark.parametrize(
    ("drift", "kind", "words"),
    [
        (5, TypeError, "drift must be one of steps=ROUNDS, cycle=ROUNDS, walk=STEP, got 5"),
        ({}, ValueError, "drift must be one of steps=ROUNDS, cycle=ROUNDS, walk=STEP, got {}"),
        ({"steps": 5, "walk": 1}, ValueError, "drift must be one of steps=ROUNDS"),
        ({"step": 5}, ValueError, "unknown drift 'step'; did you mean 'steps'"),
        ({"cycle": "long"}, TypeError, "cycle of drift must be finite and >= 1, got 'long'"),
        ("walk=2", ValueError, "walk of drift must be below the sd of the arms' means, 2, got 2.0"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_simulated(drift, kind, words):
    with pytest.raises(kind) as caught:
        varts.plan(PRIOR, 3, 10**12, drift=drift)  # which would take for ever
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_the_problems_that_the_words_stand_for():
    prior = NormalGamma([1.0, 3.0], 16, 11, 640)
    steps, cycle, walk = (
        drifting_problem(prior, *read_drift(drift))
        for drift in ("steps=70.5", "cycle=90", "walk=0.1")
    )
    assert isinstance(steps, Steps) and steps.every == 70.5 and steps.random
    assert isinstance(cycle, Cycle) and cycle.amplitude == pytest.approx([2, 2])
    assert isinstance(walk, Walk) and walk.spread == pytest.approx([2, 2])
    assert walk.center.tolist() == [1, 3]


def test_half_lives_are_spaced_evenly_on_a_log_scale():
    assert space_half_lives(2, 300) == [10, 20, 50, 100, 200]
    assert space_half_lives(40, 300) == [100, 200]
    assert space_half_lives(10, 10**6)[0] == 2000 and len(space_half_lives(10, 10**6)) == 9
    assert space_half_lives(3, 5) == []


def test_the_table_is_what_simulations_say(changing):
    """Both columns from studies of their own, paired with no half-life."""
    problem = GaussianBandit(PRIOR, K=3)
    policies = {"none": VarTS(PRIOR), "50": Fading(VarTS(PRIOR), 50)}
    row = changing.half_lives.filter(half_life=50).row(0, named=True)
    for drifting, names in (
        (Steps(problem, 150, random=True), ("regret", "difference")),
        (problem, ("still", "cost")),
    ):
        final = varts.simulate(drifting, policies, 1200, 160).final
        assert row[names[0]] == pytest.approx(final["50"].mean())
        assert row[names[1]] == pytest.approx((final["50"] - final["none"]).mean())
        assert row[f"{names[1]}_low"] < row[names[1]] < row[f"{names[1]}_high"]
    none = changing.half_lives.row(0, named=True)
    assert none["half_life"] is None and none["difference"] is None and none["cost"] is None


def test_it_advises_to_forget_where_arms_change_and_says_what_that_costs_where_not(changing):
    """The advice is the least regret, and its gain is certain: the paired interval is below 0."""
    table = changing.half_lives
    best = table.row(int(table["regret"].arg_min()), named=True)
    assert changing.half_life == best["half_life"]
    assert best["difference_high"] < 0 < best["cost_low"]
    last = str(changing).split("what VarTS should forget, if the means are drawn anew")[1]
    assert f"use a half-life of {best['half_life']}: it saves" in last
    assert f"it costs {best['cost']:,.0f} [" in last


def test_it_advises_nothing_where_arms_hardly_move():
    still = small(PRIOR, 3, horizon=200, runs=64, drift={"walk": 1e-6})
    assert still.half_life is None
    assert "use no half-life: under this drift none of these is certain" in str(still)
    assert best_half_life(still.half_lives.head(0)) is None
    tiny = small(PRIOR, 3, horizon=5, drift="steps=2")  # no half-life fits into it
    assert tiny.half_lives["half_life"].to_list() == [None] and tiny.half_life is None
    assert "use no half-life" in str(tiny)


def test_costs_are_mirrored(changing):
    other = small(PRIOR.mirrored(), 3, horizon=1200, runs=160, drift="steps=150", goal="min")
    assert other.half_lives["regret"].to_list() == changing.half_lives["regret"].to_list()


def test_a_plan_with_drift_goes_through_json_and_files(changing, tmp_path):
    assert Plan.from_json(changing.to_json()) == changing
    assert (tmp_path / "half_lives.csv") in changing.save(tmp_path)
    plain = small(PRIOR, 3)
    assert plain.drift is None and plain.half_lives.height == 0 and plain.half_life is None
    assert "forget" not in str(plain)
    assert not any(path.stem == "half_lives" for path in plain.save(tmp_path / "plain"))
    body = json.loads(plain.to_json())
    del body["drift"], body["half_lives"]  # as plans were saved before there was drift
    assert Plan.from_json(json.dumps(body)) == plain


def test_threads_change_nothing():
    one, two = (
        small(PRIOR, 3, horizon=80, runs=32, drift="cycle=20", threads=n).half_lives for n in (1, 2)
    )
    assert one.equals(two) and one["regret"].is_finite().all()
