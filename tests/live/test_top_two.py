"""T3C in a live experiment: exact probabilities in the log, and decisions that are made again."""

import numpy as np
import pytest

import varts
from varts import T3C, ArmStats
from varts.live.core.effective import FEWEST_REWARDS


@pytest.mark.parametrize(
    "policy", ["T3C", "EB-TCI", T3C(prior={"mu": 1, "kappa": 1, "alpha": 2, "beta": 1})], ids=str
)
def test_every_decision_is_logged_with_its_exact_chance(policy, tmp_path):
    store = f"sqlite:///{tmp_path}/it.db"
    exp = varts.open(
        "price", ["a", "b", "c"], store=store, policy=policy, floor=0.02, seed=4, block=None
    )
    rng, means = np.random.default_rng(1), {"a": 1.0, "b": 1.3, "c": 0.2}
    rewards = {arm: [] for arm in means}
    exact = varts.policies.make(policy)
    for i in range(60):
        decision = exp.decide(id=f"visit-{i}")
        assert not decision.estimated
        seen = ArmStats.from_rewards(list(rewards.values()))
        if (
            seen.n >= np.maximum(exact.pulls_needed(3), FEWEST_REWARDS)
        ).all():  # else some are limited
            chances = 0.02 + (1 - 0.06) * exact.probabilities(seen, t=i + 1)
            at = list(means).index(decision.arm)
            assert decision.probability == pytest.approx(chances[at], abs=1e-9)
        rewards[decision.arm].append(float(rng.normal(means[decision.arm], 1)))
        exp.reward(decision.id, rewards[decision.arm][-1])
    found = exp.verify(replay=True)
    assert found.ok and found.replayed == 60
    assert "price" in str(exp.report())


def test_it_may_be_turned_on_while_an_experiment_runs(tmp_path):
    exp = varts.open("price", ["a", "b"], store=f"sqlite:///{tmp_path}/it.db", seed=1)
    for i in range(12):
        exp.reward(exp.decide(id=f"{i}").id, float(i % 3))
    exp.configure(policy="T3C", stop_error=0.05)
    for i in range(12, 24):
        exp.reward(exp.decide(id=f"{i}").id, float(i % 3))
    assert exp.verify(replay=True).ok
