"""The largest index: compared at once or one by one, of all arms or only those that can win."""

from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

import varts
from tests.seeds import fresh
from varts import BernoulliBandit, GaussianBandit, NormalGamma
from varts.policies.base import as_numbers, clock_of
from varts.simulation.engine import index_selectors
from varts.simulation.engine.blocks import Work
from varts.simulation.engine.compilation import formula_jit
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import MIN_ARMS_GROWING
from varts.simulation.engine.memory import allocate_memory
from varts.simulation.engine.parts import OPTIONS, inlined
from varts.simulation.engine.rng import bits
from varts.simulation.engine.specialisation import specialise
from varts.simulation.results import recorded_rounds

pytestmark = pytest.mark.no_cover


def curve(problem, policy, horizon, naive):
    work = Work(problem, {"it": policy}, horizon, 3, 1, recorded_rounds(horizon), naive)
    return work.play_blocks(0, 1).policies["it"].curve


@pytest.mark.when_changed(
    "src/varts/simulation/engine", except_for=["just many-UCB1()", "700-UCB1()"]
)
@pytest.mark.parametrize(
    "policy",
    [
        *(varts.UCB1(), varts.UCB1Tuned(), varts.UCBV(), varts.UCBV(horizon=3000)),
        *(varts.UCB1Normal(), varts.MOSS(3000), varts.MOSSAnytime(), varts.KLUCB(), varts.CHK()),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "problem", [BernoulliBandit(MIN_ARMS_GROWING), BernoulliBandit(700)], ids=["just many", "700"]
)
def test_the_same_choices_to_the_last_bit(policy, problem):
    """Bernoulli rewards make many equal indices: ties must be broken alike, too."""
    assert curve(problem, policy, 3000, naive=False) == curve(problem, policy, 3000, naive=True)


DEAR = [varts.KLUCB(), varts.KLUCB(c=3.0)]


@pytest.mark.when_changed("src/varts/simulation/engine", except_for=["problem0-KLUCB(c=0.0)"])
@pytest.mark.parametrize("policy", DEAR, ids=repr)
@pytest.mark.parametrize(
    "problem", [BernoulliBandit(5), GaussianBandit(NormalGamma(0.5, 4, 4, 1), 5)]
)
def test_dear_indices_left_out_change_no_choice(policy, problem):
    """What `reaches` spares is spared; ties of Bernoulli rewards are broken alike, too."""
    assert curve(problem, policy, 2000, naive=False) == curve(problem, policy, 2000, naive=True)


@dataclass(frozen=True)
class Hasty(varts.KLUCB):
    """KL-UCB that says of an arm that it is below a level when it is not."""

    @staticmethod
    def reaches(level, p, nth, information, explored):
        return np.where(level > p + 0.5 * np.sqrt(explored * nth), -1.0, 1.0)


@pytest.mark.when_changed("src/varts/simulation/engine")
def test_a_wrong_word_about_a_level_does_change_choices():
    """The control: the test above would notice."""
    problem = BernoulliBandit(5)
    assert curve(problem, Hasty(), 2000, naive=False) != curve(problem, Hasty(), 2000, naive=True)


@pytest.mark.parametrize("policy", DEAR, ids=repr)
def test_what_is_said_of_a_level_is_true(policy):
    """Of levels far from the index, near it and next to it, over arms of all kinds."""
    rng, size = np.random.default_rng(1), 20_000
    n = np.where(rng.random(size) < 0.5, rng.integers(3, 30, size), rng.integers(3, 2000, size))
    mean, m2 = rng.normal(0.5, 0.3, size), n * rng.exponential(0.1, size)
    fields = policy.parameters(varts.ArmStats.empty(1))[0]
    terms = policy.terms(n * 1.0, mean, m2, *fields)
    for t in (10.0, 2000.0, 1e7):
        moment = (t,) if policy.clock is None else as_numbers(clock_of(policy, t, *fields))
        if policy.common is not None:
            moment += policy.common(n[:50], mean[:50], m2[:50])
        index = policy.index(*terms, *moment)
        said = []
        for away in (0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-4, -1e-4, 0.02, -0.02, 0.3, -0.3):
            level = index + away * np.abs(index)
            found = policy.reaches(level, *terms, *moment)
            assert not ((found == 1) & (index < level)).any()
            assert not ((found == -1) & (index >= level)).any()
            said.append((found != 0).mean())
        assert max(said) > 0.2  # it does say something


@pytest.mark.parametrize(
    "policy",
    [
        *(varts.UCB1(), varts.UCB1Tuned(), varts.UCBV(), varts.UCB1Normal(), varts.MOSS(3000)),
        *(varts.MOSSAnytime(), varts.KLUCB(), varts.KLUCBGauss(c=3.0), varts.CHK()),
    ],
    ids=repr,
)
def test_indices_that_claim_to_grow_do(policy):
    rng = np.random.default_rng(0)
    n = rng.integers(3, 50, 200).astype(float)
    stats = varts.ArmStats(n, rng.normal(size=200), rng.exponential(size=200) * n)
    times = [601, 602, 650, 1000, 10**6, 10**9]
    indices = np.array([policy.indices(stats, t) for t in times])
    assert policy.grows and (indices[1:] >= indices[:-1]).all()  # infinite ones may stay so


@pytest.mark.when_changed("src/varts/simulation/engine")
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
        if value > best or (value == best and index_selectors.before(i, arm, np.uint64(word))):
            best, arm = value, i
    return arm


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine", except_for=["2", "11"])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8, 11, 16])
def test_indices_compared_at_once_and_one_by_one(K):
    """Few different values, so that many are equal, and some that are NaN or infinite."""
    index_of = inlined(
        specialise(
            index_selectors.index_of, index=formula_jit(Formula.of(given, "it")), PARAMETERS=0
        )
    )
    bound = {"index_of": index_of, "time_of": index_selectors.time_of}
    bound["moment_of"] = inlined(specialise(index_selectors.moment_of, **bound))
    select = njit(**OPTIONS)(specialise(index_selectors.select_index, **bound))
    rng = np.random.default_rng(fresh(4))
    rows = rng.integers(0, 5, (1000, K)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.02] = np.inf
    rows[:50] = np.nan
    rows[50:250] = -np.inf
    memory, params, state = allocate_memory(K), np.empty((K, 0)), np.uint64(fresh(1))
    arms = np.zeros(len(rows), dtype=np.int64)
    for r, row in enumerate(rows):
        word, _ = bits(np.uint64(state))
        arms[r], state = select(r, row, row, row, params, memory, np.uint64(state))
        assert arms[r] == one_by_one(row, word)
    assert (arms[:50] == -1).all()  # nothing to choose from
    # equal ones at random: all arms of the rows of -inf get their share, p below 1e-6 of an alarm
    assert len(set(arms[50:250])) >= min(K, 8)
