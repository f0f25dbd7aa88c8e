"""Notes of a report about what its numbers assume and mean."""

from itertools import cycle

import numpy as np
import pytest

import varts
from varts.anytime import Evidence, burn_in
from varts.kurtosis import Tails
from varts.live.report.thin import MOST_P_BEST, limit_p_best


def shop(values, **options):
    """An experiment whose arms have these rewards."""
    exp = varts.open(
        "shop", list(values), store="memory://", seed=1, floor=min(0.2, 1 / len(values)), **options
    )
    left = {arm: list(rewards) for arm, rewards in values.items()}
    number = 0
    while any(left.values()):
        made = exp.decide_many(ids=[f"d{number + i}" for i in range(50)])
        number += 50
        exp.reward_many([(d.id, left[d.arm].pop()) for d in made if left[d.arm]])
    return exp


def busy(values, decisions=120, **options):
    """An experiment in which every decision has a reward, from these, over and over."""
    exp = varts.open("shop", list(values), store="memory://", seed=1, floor=0.3, **options)
    rewards = {arm: cycle(list(some)) for arm, some in values.items()}
    made = exp.decide_many(ids=[f"d{i}" for i in range(decisions)])
    exp.reward_many([(d.id, float(next(rewards[d.arm]))) for d in made])
    return exp


def said(exp, words):
    return [note for note in exp.report().notes if words in note]


def test_why_an_anytime_interval_is_missing_and_when_it_appears():
    rng = np.random.default_rng(1)
    revenue = (rng.random(900) < 0.1) * rng.exponential(30, 900)
    exp = shop({"9": revenue[:800], "12": revenue[800:]})
    found = exp.report()
    stats = exp.state.statistics()
    needed = Evidence(stats, Tails.of(stats).kurtosis).rewards_needed()
    assert needed == burn_in(Tails.of(stats).kurtosis)[1] > 100
    shown = found.frame["anytime_low"].is_not_null().to_list()
    assert shown == (stats.n >= needed).tolist() == [True, False]
    assert said(exp, "anytime interval") == [
        f"the anytime interval of 12 appears after about {int(np.ceil(needed)):,} rewards (it has "
        "100): rewards this uneven need that many"
    ]
    even = shop({"9": rng.normal(size=200), "12": rng.normal(size=200)})
    assert said(even, "anytime interval") == []  # the control: no interval is missing
    few = shop({"9": rng.normal(size=20), "12": rng.normal(size=20)})
    assert few.report().frame["anytime_low"].null_count() == 2
    assert said(few, "anytime interval") == []  # too few to know how uneven they are
    assert said(shop({"9": revenue, "12": revenue[:50]}, half_life=500.0), "anytime interval") == []


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999, 1 - 1e-9])
def test_an_interval_appears_with_as_many_rewards_as_it_needs(level):
    needed = Evidence(varts.ArmStats([9], [0.0], [9.0])).rewards_needed(level)
    for n, there in ((np.floor(needed), False), (np.ceil(needed + 1e-6), True)):
        low, _ = Evidence(varts.ArmStats([n], [0.0], [n])).mean_intervals(level)
        assert np.isfinite(low[0]) == there


def test_many_intervals_do_not_hold_together():
    rng = np.random.default_rng(2)
    many = shop({f"arm {i}": rng.normal(size=20) for i in range(12)})
    assert said(many, "each of the 12 intervals holds on its own") != []
    few = shop({f"arm {i}": rng.normal(size=20) for i in range(3)})
    assert said(few, "intervals holds") == []


def test_rewards_that_are_all_equal_are_in_the_report():
    found = shop({"a": [0.0, 1.0] * 30, "b": [0.0] * 30})
    assert len(said(found, "paid the same reward every time ('b': 30 times 0)")) == 1
    assert said(shop({"a": [0.0, 1.0] * 30, "b": [1.0, 0.0] * 15}), "paid the same") == []


def test_the_first_crossing_of_p_best_is_optimistic():
    rng = np.random.default_rng(3)
    values = {"a": rng.normal(0, 1, 60), "b": rng.normal(2, 1, 60)}
    words = "P(best) is optimistic when it first reaches its target"
    assert len(said(busy(values, stop_p_best=0.95), words)) == 1
    assert said(busy(values, stop_loss=1.0), words) == []
    assert said(busy(values), words) == []
    prior = {"mu": 0, "kappa": 1, "alpha": 2, "beta": 2}
    assert busy(values, stop_p_best=0.95, prior=prior).report().stop
    assert said(busy(values, stop_p_best=0.95, prior=prior), words) == []
    undecided = {"a": values["a"], "b": values["a"] + 0.01}
    assert said(busy(undecided, stop_p_best=0.95), words) == []
    exp = busy(values, stop_p_best=0.95)
    exp.stop("b")
    assert said(exp, words) == []


def test_the_stop_rule_and_the_doubt_stand_together_with_an_explanation():
    """In the sentences, in JSON and in the text."""
    rng = np.random.default_rng(4)
    found = busy({"a": rng.normal(0, 1, 60), "b": rng.normal(0.5, 1, 60)}, stop_p_best=0.9).report()
    assert found.stop and len(found.possible) == 2
    for text in (found.certainty, found.to_dict()["certainty"], str(found)):
        assert "the stop rule assumes a single look; if you look repeatedly" in text


@pytest.mark.parametrize(
    ("p_best", "thin", "right"),
    [
        ([0.98, 0.015, 0.005], [], [0.98, 0.015, 0.005]),
        ([0.98, 0.015, 0.005], [2], [0.9, 0.015, 0.085]),
        ([0.98, 0.01, 0.01], [1, 2], [0.9, 0.05, 0.05]),
        ([0.98, 0.015, 0.005], [0], [0.9, 0.055, 0.045]),
        ([0.9, 0.06, 0.04], [2], [0.9, 0.06, 0.04]),
    ],
)
def test_p_best_stays_below_a_limit_while_an_arm_is_thin(p_best, thin, right):
    found = limit_p_best(np.array(p_best), np.arange(3), thin)
    assert found == pytest.approx(right)
    assert found.sum() == pytest.approx(1)
    assert not thin or found.max() <= MOST_P_BEST


def test_p_best_of_prices_that_nobody_paid_yet():
    """Prices of 5 and 120: the expensive one has 25 visitors and no buyer."""
    exp = shop({"5": [5.0, 0.0] * 150, "120": [0.0] * 25}, stop_p_best=0.95)
    found = exp.report()
    assert found.frame["p_best"].to_list() == pytest.approx([0.9, 0.1])
    assert not found.stop
    history = exp.history(points=3).frame.filter(arm="5")["p_best"]
    assert history[-1] == pytest.approx(0.9)
    from varts.live.report.estimates import p_best_in_play

    assert p_best_in_play(exp.state) == pytest.approx([0.9, 0.1])
