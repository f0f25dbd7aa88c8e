"""A look after every reward: the promise is kept, by loops that the benchmark runs longer.

False alarms are counted in 400 experiments; a count that errors of 5 % exceed with a probability of
1e-4 fails. Six such counts: a false-alarm rate below 1e-3. Welch's interval and P(best), looked at
in the same experiments, are the controls, and fail.
"""

import math

import numpy as np
import pytest
from scipy import stats

import varts
from tests.anytime.test_evidence import random_arms
from tests.seeds import fresh
from tests.worlds import monitoring
from varts import ArmStats, Evidence, Tails, anytime
from varts.kurtosis import kurtosis_of

pytestmark = [pytest.mark.no_cover, pytest.mark.when_changed("src/varts/anytime.py")]

RUNS, HORIZON = 400, 3000
MOST = stats.binom.isf(1e-4, RUNS, 0.05)  # 37 of 400
GAUSSIAN, ONES, EXPONENTIAL, REVENUE = monitoring.WORLDS


def evidence_of(state):
    n, mean, m2, m4 = state.T
    arms = ArmStats(n, mean, m2, np.zeros_like(m4), m4)
    return Evidence(arms, kurtosis=Tails.of(arms).kurtosis)


# --------------------------------------------------------------------------------- the loops' parts


def test_the_compiled_pair_is_the_package_s(rng):
    arms, c2 = random_arms(rng, 100, spread=1.0), anytime.mixture_for(1000)
    n, mean, m2 = arms.n, arms.mean, arms.m2
    a, b = rng.permutation(100)[:80].reshape(2, 40)
    found = [
        monitoring.pair_evidence(n[i], abs(mean[i] - mean[j]), m2[i], n[j], m2[j], c2)
        for i, j in zip(a, b, strict=True)
    ]
    assert found == pytest.approx(Evidence(arms).against(a, b), abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("world", monitoring.WORLDS, ids=lambda world: world.name)
def test_rewards_have_the_moments_of_their_world(world):
    """An even split of 400 x 200 rewards: |z| < 5 each, a false-alarm rate of 1e-5 in all."""
    _, states = monitoring.experiments(world, 2, 0.5, 0.2, runs=400, horizon=200, seed=fresh(0))
    n, mean, m2, m4 = states[:, -1].transpose(2, 0, 1)
    mean0, sd = world.moments()
    for arm, expected in ((0, mean0 + 0.2 * sd), (1, mean0)):
        pooled = ArmStats(n[:, arm], mean[:, arm], m2[:, arm]).pooled()
        z = (pooled.mean - expected) / np.sqrt(pooled.m2) * pooled.n
        assert abs(z) < 5
        assert abs(z + 0.2 * sd / np.sqrt(pooled.m2) * pooled.n) > 5  # the control: another mean
    assert kurtosis_of(n[0], m2[0], m4[0]).min() >= 1


@pytest.mark.statistical
def test_the_loop_plays_varts():
    """The share of the better arm against the engine's: z < 5, a false-alarm rate of 6e-7."""
    runs, horizon, gap = 400, 300, 0.5
    _, states = monitoring.experiments(
        GAUSSIAN, 2, 0.0, gap, runs=runs, horizon=horizon, seed=fresh(0), error=1e-9
    )
    # Means 0.5 and 0 and sds of 1, as good as fixed.
    problem = varts.GaussianBandit(varts.NormalGamma([gap, 0.0], 1e12, 1e9, 1e9))
    study = varts.simulate(problem, {"it": varts.VarTS()}, horizon, runs, seed=fresh(0))
    shares = states[:, -1, 0, 0] / horizon
    other = study.best_share["it"]
    se = math.sqrt((shares.var() + other.var()) / runs)
    assert abs(shares.mean() - other.mean()) < 5 * se
    split = varts.simulate(problem, {"it": varts.EvenSplit()}, horizon, runs, seed=fresh(0))
    even = split.best_share["it"]
    assert abs(shares.mean() - even.mean()) > 5 * se  # the control


def test_the_loop_says_what_the_package_says():
    """Not certain at any state before, and certain of the first arm in the round that it noted."""
    noted, states = monitoring.experiments(EXPONENTIAL, 3, 0.2, 0.5, runs=25, horizon=5000)
    when = noted[:, monitoring.CERTAIN]
    assert (when > 0).sum() > 20
    for run in np.flatnonzero(when)[:5]:
        before = states[run, : (when[run] - 1) // 50]
        assert all(evidence_of(one).certain_best() is None for one in before)
        for back in (0, 1):
            _, again = monitoring.experiments(
                EXPONENTIAL, 3, 0.2, 0.5, runs=int(run) + 1, horizon=int(when[run]) - back, kept=1
            )
            certain = evidence_of(again[run, -1]).certain_best()
            assert certain == (None if back else 0)


# ---------------------------------------------------------------------------------------- promises


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("world", "K", "floor"),
    [(GAUSSIAN, 2, 0.0), (ONES, 2, 0.05), (REVENUE, 5, 0.05)],
    ids=lambda value: getattr(value, "name", value),
)
def test_at_most_5_percent_of_experiments_are_ever_wrong(world, K, floor):
    noted, _ = monitoring.experiments(world, K, floor, runs=RUNS, horizon=HORIZON, seed=fresh(5))
    ever = (noted > 0).sum(axis=0)
    assert ever[monitoring.BEST_RULED_OUT] <= ever[monitoring.SOME_RULED_OUT] <= MOST
    assert ever[monitoring.MEAN_MISSED] <= MOST
    assert ever[monitoring.WELCH] > 4 * MOST  # the control: an interval made for one look


@pytest.mark.statistical
def test_p_best_is_not_made_for_looking():
    """The other control: of two equal arms, one looks like the best in most experiments."""
    _, states = monitoring.experiments(GAUSSIAN, 2, 0.0, runs=60, horizon=HORIZON, seed=fresh(5))
    policy = varts.VarTS()
    sure = sum(
        any(policy._belief(ArmStats(*one.T[:3])).p_best().max() >= 0.95 for one in experiment)
        for experiment in states
    )
    assert sure > stats.binom.isf(1e-4, 60, 0.05)


@pytest.mark.statistical
def test_skewed_rewards_need_the_burn_in():
    """The control of the burn-in: without it revenue alarms more often than 5 % allows."""
    noted, _ = monitoring.experiments(REVENUE, 5, 0.05, runs=RUNS, horizon=HORIZON, seed=fresh(5))
    assert (noted[:, monitoring.IMPATIENT] > 0).sum() > MOST


@pytest.mark.statistical
def test_certainty_comes_with_a_floor():
    share = []
    for floor in (0.0, 0.2):
        noted, _ = monitoring.experiments(
            GAUSSIAN, 2, floor, 0.5, runs=100, horizon=HORIZON, seed=fresh(0)
        )
        assert (noted[:, monitoring.BEST_RULED_OUT] > 0).sum() <= stats.binom.isf(1e-4, 100, 0.05)
        share.append((noted[:, monitoring.CERTAIN] > 0).mean())
    assert share[0] < 0.5 and share[1] > 0.95


# ------------------------------------------------------------------------------ another threshold


@pytest.mark.statistical
@pytest.mark.parametrize("floor", [0.5, 0.05])
def test_the_product_of_two_martingales_errs_no_more_than_it_may(floor):
    """An even split, for which it is a theorem, and VarTS with a floor, for which it was measured.
    The control is a threshold of 0: the evidence of equal arms exceeds it in most experiments."""
    noted, _ = monitoring.experiments(
        GAUSSIAN, 2, floor, runs=RUNS, horizon=HORIZON, seed=fresh(9), pairs="product"
    )
    assert (noted[:, monitoring.SOME_RULED_OUT] > 0).sum() <= MOST
    careless, _ = monitoring.experiments(
        GAUSSIAN, 2, floor, runs=RUNS, horizon=HORIZON, seed=fresh(9), pairs="product", error=0.999
    )
    assert (careless[:, monitoring.SOME_RULED_OUT] > 0).sum() > MOST


@pytest.mark.statistical
def test_the_product_decides_sooner():
    rounds = {}
    for pairs in ("fisher", "product"):
        noted, _ = monitoring.experiments(
            GAUSSIAN, 2, 0.5, 0.3, runs=100, horizon=HORIZON, seed=fresh(10), pairs=pairs
        )
        found = noted[:, monitoring.CERTAIN]
        rounds[pairs] = np.median(np.where(found > 0, found, HORIZON))
    assert rounds["product"] < 0.85 * rounds["fisher"]  # 0.67 of it
