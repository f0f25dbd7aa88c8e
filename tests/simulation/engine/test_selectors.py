"""The largest index: compared at once or one by one, of all arms or only those that can win."""

import numpy as np
import pytest
from numba import njit

import varts
from varts import BernoulliBandit, GaussianBandit, NormalGamma
from varts.simulation.engine import selectors
from varts.simulation.engine.blocks import Work
from varts.simulation.engine.compilation import formula_jit
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import MIN_ARMS_GROWING
from varts.simulation.engine.memory import allocate_memory
from varts.simulation.engine.rng import OPTIONS, bits, inlined
from varts.simulation.engine.specialisation import specialise
from varts.simulation.results import recorded_rounds


def curve(problem, policy, horizon, naive):
    work = Work(problem, {"it": policy}, horizon, 3, 1, recorded_rounds(horizon), naive)
    return work.play_blocks(0, 1).policies["it"].curve


@pytest.mark.parametrize(
    "policy",
    [varts.UCB1(), varts.UCB1Tuned(), varts.UCBV(), varts.UCBV(horizon=3000)],
    ids=["UCB1", "UCB1-Tuned", "UCB-V", "UCB-V fixed"],
)
@pytest.mark.parametrize(
    "problem", [BernoulliBandit(MIN_ARMS_GROWING), BernoulliBandit(700)], ids=["just many", "700"]
)
def test_the_same_choices_to_the_last_bit(policy, problem):
    """Bernoulli rewards make many equal indices: ties must be broken alike, too."""
    assert curve(problem, policy, 3000, naive=False) == curve(problem, policy, 3000, naive=True)


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


def given(n, mean, m2, t):
    """An index that is whatever the test put into the means."""
    return mean


def one_by_one(row, word):
    """What `select_index` should choose, in the plainest way."""
    best, arm = -np.inf, -1
    for i, value in enumerate(row):
        if value > best or (value == best and selectors.before(i, arm, np.uint64(word))):
            best, arm = value, i
    return arm


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8, 11, 16])
def test_indices_compared_at_once_and_one_by_one(K):
    """Few different values, so that many are equal, and some that are NaN or infinite."""
    index_of = inlined(
        specialise(selectors.index_of, index=formula_jit(Formula.of(given, "it")), PARAMETERS=0)
    )
    select = njit(**OPTIONS)(specialise(selectors.select_index, index_of=index_of))
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 5, (1000, K)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.02] = np.inf
    rows[:50] = np.nan
    rows[50:150] = -np.inf
    memory, params, state = allocate_memory(K), np.empty((K, 0)), np.uint64(1)
    arms = np.zeros(len(rows), dtype=np.int64)
    for r, row in enumerate(rows):
        word, _ = bits(np.uint64(state))
        arms[r], state = select(r, row, row, row, params, memory, np.uint64(state))
        assert arms[r] == one_by_one(row, word)
    assert (arms[:50] == -1).all()  # nothing to choose from
    # equal ones at random: all arms of the rows of -inf get their share, p below 1e-6 of an alarm
    assert len(set(arms[50:150])) >= min(K, 8)
