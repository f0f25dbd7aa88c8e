"""`Experiment.evaluate`: the experiment's own log, and the same from what it exports."""

import numpy as np
import pytest

import varts

PAYS = {"9": 4.5, "12": 5.4, "15": 3.75}


def run(store="memory://", visits=300, unit=None, **options):
    exp = varts.open("price", list(PAYS), store=store, seed=5, **options)
    play(exp, visits, unit)
    return exp


def play(exp, visits, unit=None, start=0):
    rng = np.random.default_rng(start + 1)
    for i in range(start, start + visits):
        decision = exp.decide(unit=None if unit is None else unit(i), id=f"visit-{i}")
        exp.reward(decision.id, rng.normal(PAYS.get(decision.arm, 5.0)))


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
def test_the_same_from_the_export(tmp_path, form):
    exp = run(floor=0.1)
    path = tmp_path / f"log.{form}"
    exp.export(path)
    for policy in (varts.always("12"), varts.EvenSplit()):
        ours, theirs = exp.evaluate(policy), varts.evaluate(path, policy)
        assert ours.name == "price"
        for name, one in ours.estimates.items():
            assert theirs.estimates[name] == pytest.approx(one, rel=1e-12)
        assert theirs.worth == pytest.approx(ours.worth, rel=1e-12)


def test_another_floor_makes_the_probabilities_again():
    """On top of a floor of 10 % nothing at all is the log itself: all weights are 1."""
    exp = run(floor=0.1, holdout=0.2)
    found = exp.evaluate(varts.with_floor(0.0))
    collected = found.estimates["self-normalised"].value
    assert found.largest_weight == pytest.approx(1, abs=1e-9)
    assert found.worth == pytest.approx(300)
    assert found.estimates["inverse probability"].value == pytest.approx(collected, rel=1e-9)
    assert exp.evaluate(varts.with_floor(1 / 3)).estimates["inverse probability"].value == (
        pytest.approx(exp.evaluate(varts.EvenSplit()).estimates["inverse probability"].value)
    )


def test_arms_that_come_and_go():
    """What was decided while an arm was not in play says nothing about it."""
    exp = run(floor=0.1)
    exp.add_arm("18")
    play(exp, 200, start=300)
    exp.pause_arm("9")
    play(exp, 100, start=500)
    assert exp.evaluate(varts.always("18")).left_out == {"without a choice": 300}
    assert exp.evaluate(varts.always("9")).left_out == {"without a choice": 100}
    assert exp.evaluate(varts.always("12")).left_out == {}
    exp.stop("12")
    play(exp, 50, start=600)
    assert exp.evaluate(varts.always("18")).left_out == {"without a choice": 350}
    assert exp.evaluate(varts.always("12")).used == 650


def test_pending_and_expired_decisions_are_left_out():
    exp = run(floor=0.1)
    exp.decide(id="late")
    found = exp.evaluate(varts.always("12"))
    assert (found.used, found.rows, found.left_out) == (300, 301, {"pending": 1})


def test_sticky_units_are_one_draw():
    exp = run(floor=0.1, sticky=True, unit=lambda i: f"user-{i % 60}")
    found = exp.evaluate(varts.EvenSplit())
    assert found.used == 300
    assert found.worth <= 60
    assert any(note.startswith("the log says too little") for note in found.notes)
    # Also with the probabilities made again: those with which a unit first got its arm.
    assert exp.evaluate(varts.with_floor(0.0)).largest_weight == pytest.approx(1, abs=1e-9)


def test_index_policies_are_refused_without_a_floor():
    exp = run(policy="UCB1")
    with pytest.raises(ValueError, match="decisions were certain"):
        exp.evaluate(varts.always("12"))
    found = run(policy="UCB1", floor=0.1).evaluate(varts.always("12"))
    assert found.low < PAYS["12"] < found.high  # this seed's; 95 % of all do


def test_what_is_refused():
    exp = run(visits=0)
    with pytest.raises(ValueError, match="'price' must have decisions to evaluate, got none"):
        exp.evaluate(varts.always("12"))
    with pytest.raises(ValueError, match="must not learn"):
        exp.evaluate(varts.VarTS())
    play(exp, 10)
    with pytest.raises(ValueError, match="unknown arm '13'"):
        exp.evaluate(varts.always("13"))
