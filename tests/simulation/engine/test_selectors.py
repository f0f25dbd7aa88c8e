"""The largest index: compared at once or one by one, of all arms or only those that can win."""

from dataclasses import dataclass

import numpy as np
import pytest

import varts
from tests.seeds import fresh
from tests.simulation.engine.calling import linked, run_memory, scratch_table
from varts import BernoulliBandit, GaussianBandit, NormalGamma
from varts.policies.base import as_numbers, clock_of
from varts.simulation.engine.compiled.arguments import read_scratch
from varts.simulation.engine.compiled.jit import compile_formula
from varts.simulation.engine.compiled.parts import i8, ints, words
from varts.simulation.engine.compiled.select_index import IndexFormulas, make_index_hooks
from varts.simulation.engine.kernel import MIN_ARMS_GROWING
from varts.simulation.engine.splitmix import bits, stream
from varts.simulation.engine.work import Work
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


class Wavering(varts.IndexPolicy):
    """Claims that its index grows, although it also falls."""

    label, grows = "Wavering", True

    @staticmethod
    def index(n, mean, m2, t):
        return mean + np.sqrt(2 * np.log(t) / n) + 0.05 * np.sin(n * t)


@pytest.mark.when_changed("src/varts/simulation/engine")
def test_a_wrong_claim_to_grow_is_noticed():
    """The control: it leaves no arm that could win, and the yardstick believes no claim."""
    few, many = BernoulliBandit(MIN_ARMS_GROWING - 1), BernoulliBandit(MIN_ARMS_GROWING)
    assert curve(few, Wavering(), 3000, naive=False) == curve(few, Wavering(), 3000, naive=True)
    assert curve(many, Wavering(), 3000, naive=True).mean[-1] > 0
    with pytest.raises(ValueError, match="it must give every arm a number"):
        curve(many, Wavering(), 3000, naive=False)


DEAR = [
    *(varts.KLUCB(), varts.KLUCB(c=3.0), varts.BayesUCB()),
    varts.BayesUCB(varts.NormalGamma(0.5, 2, 0.3, 0.1)),
]


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
    """What `select` should choose, in the plainest way: of equal ones, that of the largest hash."""
    best, arm = -np.inf, -1
    for i, value in enumerate(row):
        first = arm < 0 or stream(word, i) > stream(word, arm)
        if value > best or (value == best and first):
            best, arm = value, i
    return arm


@pytest.fixture(scope="module")
def choose():
    """A compiled function that chooses once: (t, table, state) -> arm."""
    select, _, _ = make_index_hooks(IndexFormulas(compile_formula(given)))

    def choose(t, table, state):
        s = read_scratch(table)
        arm, state[0] = select(t, s, s.n, state[0])
        return arm

    return linked(choose, i8(i8, ints, words))


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine", except_for=["2", "11"])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8, 11, 16])
def test_indices_compared_at_once_and_one_by_one(choose, K):
    """Few different values, so that many are equal, and some that are NaN or infinite."""
    rng = np.random.default_rng(fresh(4))
    rows = rng.integers(0, 5, (1000, K)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.02] = np.inf
    rows[:50] = np.nan
    rows[50:250] = -np.inf
    scratch, state = run_memory(K), np.array([fresh(1)], dtype=np.uint64)
    table, arms = scratch_table(scratch), np.zeros(len(rows), dtype=np.int64)
    for r, row in enumerate(rows):
        word, _ = bits(state[0])
        scratch.mean[:] = row
        arms[r] = choose(r, table, state)
        assert arms[r] == one_by_one(row, word)
    assert (arms[:50] == -1).all()  # nothing to choose from
    # equal ones at random: all arms of the rows of -inf get their share, p below 1e-6 of an alarm
    assert len(set(arms[50:250])) >= min(K, 8)
