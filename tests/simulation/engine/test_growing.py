"""Many arms: leaving out those that cannot win changes no choice, and memory stays bounded."""

import numpy as np
import pytest

import varts
from varts import BernoulliBandit, GaussianBandit, NormalGamma
from varts.simulation.engine.blocks import Work
from varts.simulation.engine.compilation import MANY
from varts.simulation.study import recorded_rounds


def final(problem, policy, horizon, naive):
    work = Work(problem, {"it": policy}, horizon, 3, 1, recorded_rounds(horizon), naive)
    stop, ticks = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    return work.play_block(0, stop, ticks)["it"].curve


@pytest.mark.parametrize(
    "policy",
    [varts.UCB1(), varts.UCB1Tuned(), varts.UCBV(), varts.UCBV(horizon=3000)],
    ids=["UCB1", "UCB1-Tuned", "UCB-V", "UCB-V fixed"],
)
@pytest.mark.parametrize(
    "problem", [BernoulliBandit(MANY), BernoulliBandit(700)], ids=["just many", "700"]
)
def test_the_same_choices_to_the_last_bit(policy, problem):
    """Bernoulli rewards make many equal indices: ties must be broken alike, too."""
    assert final(problem, policy, 3000, naive=False) == final(problem, policy, 3000, naive=True)


@pytest.mark.parametrize("policy", [varts.UCB1(), varts.UCB1Tuned(), varts.UCBV()])
def test_indices_that_claim_to_grow_do(policy):
    rng = np.random.default_rng(0)
    n = rng.integers(1, 50, 200).astype(float)
    stats = varts.ArmStats(n, rng.normal(size=200), rng.exponential(size=200) * n)
    times = [201, 202, 250, 1000, 10**6, 10**9]
    indices = np.array([policy.indices(stats, t) for t in times])
    assert policy.grows and (np.diff(indices, axis=0) >= 0).all()


def test_a_hundred_thousand_arms():
    K = 100_000
    prior = NormalGamma(np.arange(1, K + 1) / (K + 1), K, 4, 1)
    study = varts.simulate(GaussianBandit(prior), [varts.VarTS(prior)], horizon=3000, runs=1)
    regret = study.regret["VarTS"]
    assert np.isfinite(regret).all() and (np.diff(regret) >= 0).all()
    # far below what arms drawn at random would cost: their means are half a unit below the best
    assert regret[-1] < 0.1 * 3000
