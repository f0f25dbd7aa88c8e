"""Whether context is worth it: against the simulator, by hand, and where it is worth nothing."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from varts.planning.context import BLIND, BY_CONTEXT, _without_context

ROWS = [[0.0], [1.0], [2.0], [3.0]]
STEEP = varts.LinearNormalGamma(12, 16, 11, 160, slopes=[0.0], precision=[4.0], center=[1.5])
FLAT = varts.LinearNormalGamma(12, 16, 11, 160, slopes=[0.0], precision=[1e9], center=[1.5])


@pytest.fixture(scope="module")
def steep():
    return varts.plan_context(STEEP, ROWS, 3, 1600, runs=200, progress=False)


def test_steep_slopes_make_context_pay(steep):
    assert steep.pays_from is not None
    assert steep.horizons["gain"].is_sorted()  # the longer, the more of it is learnt
    assert steep.horizons["gain"][-1] < steep.worth.high
    assert "rounds and more" in str(steep)


def test_flat_lines_make_context_cost():
    """The control: with slopes of 0 there is nothing to gain, and slopes must still be learnt."""
    flat = varts.plan_context(FLAT, ROWS, 3, 400, runs=200, progress=False)
    assert flat.pays_from is None
    assert flat.worth.value < 1e-3
    assert "not certain" in str(flat) or "costs more" in str(flat)


def test_the_gain_is_that_of_the_simulation(steep):
    problem = varts.LinearBandit(STEEP, 3, contexts=ROWS)
    blind = _without_context(STEEP.for_arms(3), np.array(ROWS), 0)[1]
    policies = {BY_CONTEXT: varts.LinearVarTS(STEEP.for_arms(3)), BLIND: varts.VarTS(blind)}
    study = varts.simulate(problem, policies, 800, 200, progress=False)
    gain = (study.final[BLIND] - study.final[BY_CONTEXT]).mean() / 800
    assert steep.horizons.filter(pl.col("horizon") == 800)["gain"][0] == pytest.approx(gain)


def test_what_context_is_worth_against_a_plain_loop():
    """Two arms, levels equal, one slope each: E|s1 - s2| over two contexts, by hand."""
    prior = varts.LinearNormalGamma(0, 1e12, 50, 50, slopes=[0.0], precision=[1.0])
    rows = np.array([[-1.0], [1.0]])
    worth, _ = _without_context(prior.for_arms(2), rows, 1)
    rng = np.random.default_rng(2)
    lam = rng.gamma(50, 1 / 50, (20000, 2))
    slopes = rng.standard_normal((20000, 2)) / np.sqrt(lam)
    # Each arm averages 0 over the contexts, and the better one has |s1 - s2| / 2 more at both.
    by_hand = np.abs(slopes[:, 0] - slopes[:, 1]).mean() / 2
    assert worth.low - 0.02 < by_hand < worth.high + 0.02  # 4 sd of the plain loop


def test_lower_is_better_mirrors_the_plan(steep):
    other = varts.plan_context(
        STEEP.mirrored(), ROWS, 3, 1600, goal="min", runs=200, progress=False
    )
    assert other.horizons.equals(steep.horizons)


def test_contexts_with_features_are_the_same_rows(steep):
    contexts = [{"visits": v} for (v,) in ROWS]
    made = varts.plan_context(
        STEEP, contexts, 3, 1600, features={"visits": "number"}, runs=200, progress=False
    )
    assert made.table.equals(steep.table)
    assert json.loads(made.to_json())["pays_from"] == steep.pays_from


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"contexts": [[0.0, 1.0]]}, "contexts must be rows of 1 numbers"),
        ({"contexts": [{"visits": 1}]}, "contexts must be rows of numbers where features are not"),
        ({"goal": "best"}, "goal"),
        ({"runs": 1}, "runs must be"),
        ({"prior": varts.NormalGamma(0, 1, 2, 1)}, "prior must be a LinearNormalGamma"),
    ],
)
def test_wrong_arguments_get_a_sentence(wrong, message):
    given = {"prior": STEEP, "contexts": ROWS, "arms": 3, "horizon": 100} | wrong
    with pytest.raises((TypeError, ValueError), match=message):
        varts.plan_context(given.pop("prior"), given.pop("contexts"), **given)


def test_a_plan_without_contexts_says_where_to_go():
    with pytest.raises(ValueError, match="plan_context"):
        varts.plan(STEEP, 3, 100)
