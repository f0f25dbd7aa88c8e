"""Sums of rewards and conversion, against the log."""

import numpy as np
import pytest

import varts
from varts.live.report.earned import conversions, total_rewards

BUYS = {"9": 0.3, "12": 0.2}


def sold(visits=200, **options):
    """A shop with two prices, and what each arm was paid."""
    exp = varts.open("price", list(BUYS), store="memory://", seed=1, **options)
    rng = np.random.default_rng(1)
    paid = {arm: [] for arm in exp.arms}
    for one in exp.decide_many(ids=[f"v{i}" for i in range(visits)]):
        value = float(one.arm) * (rng.random() < BUYS.get(one.arm, 0.5))
        exp.reward(one.id, value)
        paid[one.arm].append(value)
    return exp, paid


def test_sums_are_those_of_the_log():
    exp, paid = sold()
    assert total_rewards(exp.report()) == pytest.approx({arm: sum(v) for arm, v in paid.items()})
    exp.add_arm("18")
    assert total_rewards(exp.report())["18"] == 0.0


def test_rewards_count_as_they_were_clipped():
    exp, paid = sold(clip=(0.0, 10.0))
    expected = {arm: sum(min(value, 10.0) for value in v) for arm, v in paid.items()}
    assert total_rewards(exp.report()) == pytest.approx(expected)


@pytest.mark.parametrize("options", [{"half_life": 50.0}, {"policy": "Bernoulli-TS"}])
def test_there_is_no_sum_where_the_statistics_have_something_else(options):
    exp = varts.open("price", ["a", "b"], store="memory://", **options)
    exp.reward_many([(one.id, 0.5) for one in exp.decide_many(20)])
    assert total_rewards(exp.report()) is None


def test_conversion_is_counted_reward_by_reward():
    exp, paid = sold()
    found = conversions(exp.history(points=7).frame)
    for one, (arm, values) in zip(found, paid.items(), strict=True):
        bought = [value for value in values if value]
        assert (one.arm, one.rewards, one.nonzero) == (arm, len(values), len(bought))
        assert one.rate == pytest.approx(len(bought) / len(values))
        assert one.value == pytest.approx(float(arm))


def test_conversion_is_for_rewards_that_are_mostly_0():
    exp = varts.open("price", ["a", "b"], store="memory://")
    assert conversions(exp.history().frame) is None
    made = exp.decide_many(100)
    exp.reward_many([(one.id, 0.0) for one in made[:40]])
    assert conversions(exp.history().frame) is None  # nothing was sold
    exp.reward_many([(one.id, 1.0) for one in made[40:]])
    assert conversions(exp.history().frame) is None  # 60 of 100
    exp.amend_many([(one.id, 0.0) for one in made[40:60]])
    assert sum(one.nonzero for one in conversions(exp.history().frame)) == 40
