"""Choosing and reporting with rewards that have tails."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import ks_2samp

import varts
from tests.seeds import fresh
from varts import ArmStats, NormalGamma, Tails, VarTS

SALES = [[0.0] * 60 + [20.0, 35.0], [0.0] * 40 + [15.0, 22.0, 90.0], [0.0] * 9 + [10.0]]
PRIOR = NormalGamma([1.0, 2.0, 1.0], 4, 3, 900)


def test_the_belief_by_hand():
    """worth = (2 / (kurtosis - 1))^(3/4) times n/2 and the squares; the rest as in VarTS."""
    stats = ArmStats.from_rewards(SALES)
    worth = Tails.of(stats).weight ** 0.75
    assert 0.02 < worth < 0.3
    plain, tailed = VarTS(PRIOR).belief(stats), VarTS(PRIOR, tails=True).belief(stats)
    kappa, alpha, beta = 4 + stats.n, 3 + worth * stats.n / 2, 900.0
    beta = beta + worth * (stats.m2 + 4 * stats.n / kappa * (stats.mean - PRIOR.mu) ** 2) / 2
    assert np.allclose(tailed.loc, plain.loc)
    assert np.allclose(tailed.df, 2 * alpha)
    assert np.allclose(tailed.scale, np.sqrt(beta / alpha / kappa))


@pytest.mark.parametrize("prior", [None, PRIOR])
def test_gaussian_rewards_have_no_tails(prior):
    """A kurtosis below 3 is taken for 3, so that with flat rewards tails change nothing at all."""
    flat = ArmStats.from_rewards(
        [np.linspace(0, 1, 30), np.linspace(0, 2, 25), np.linspace(1, 2, 9)]
    )
    plain, tailed = VarTS(prior).belief(flat), VarTS(prior, tails=True).belief(flat)
    for name in ("loc", "scale", "df"):
        assert np.allclose(getattr(plain, name), getattr(tailed, name), rtol=1e-14)


def test_statistics_without_moments_are_taken_for_gaussian():
    stats = ArmStats.from_rewards(SALES)
    bare = ArmStats(stats.n, stats.mean, stats.m2)
    assert np.allclose(VarTS(tails=True).belief(bare).df, VarTS().belief(bare).df)
    assert (VarTS().inference(bare).skew == 0).all()


def test_a_prior_brings_the_tails_of_its_history():
    known = VarTS(NormalGamma(1, 4, 3, 900, tails=Tails(40.0, 9.0, 201.0, 1e9)), tails=True)
    few = ArmStats.from_rewards([[0.0, 1.0], [2.0, 1.0]])
    assert known.tails_of(few).weight == pytest.approx(0.01, rel=1e-6)
    assert np.allclose(known.belief(few).df, 6 + 0.01**0.75 * 2)


def test_no_unit_matters():
    """Cents and euros: the same choices, the same reports."""
    euros, cents = (
        ArmStats.from_rewards([np.multiply(arm, unit) for arm in SALES]) for unit in (1, 100)
    )
    for policy in (VarTS(tails=True), VarTS()):
        assert np.allclose(policy.belief(cents).scale, 100 * policy.belief(euros).scale)
        assert np.allclose(
            policy.inference(cents).quantile(0.9), 100 * policy.inference(euros).quantile(0.9)
        )
    assert np.allclose(
        VarTS().inference(cents).p_best(), VarTS().inference(euros).p_best(), atol=1e-12
    )


def test_the_other_way_round_where_lower_is_better():
    stats = ArmStats.from_rewards(SALES)
    up, down = VarTS().inference(stats), VarTS().inference(stats.mirrored())
    assert np.allclose(up.quantile(0.975), -down.quantile(0.025))
    assert up.skew[0] > 0 > down.skew[0]


class Sales(varts.Problem):
    """One visitor in twenty buys."""

    K = 4

    def draw(self, rng, size):
        a = rng.uniform(0.02, 0.08, (size, self.K))
        return varts.Instances(a * 10.0, a * 200.0 - (a * 10.0) ** 2, a, np.full_like(a, 10.0))

    @staticmethod
    def reward(a, b, z, u):
        return np.where(u < a, -b * np.log(np.maximum(1 - u / a, 1e-300)), 0.0)


def naive_regrets(problem, prior, horizon, runs, seed):
    """All runs at once, from raw sums of powers and the textbook's formulas."""
    rng = np.random.default_rng(seed)
    drawn = problem.draw(rng, runs)
    sums, rows = np.zeros((5, runs, problem.K)), np.arange(runs)
    regret = np.zeros(runs)
    owed = 2 if prior is None else 0
    for t in range(horizon):
        if t < owed * problem.K:
            arm = np.full(runs, t % problem.K)
        else:
            arm = naive_draws(sums, prior, rng).argmax(axis=1)
        z, u = rng.standard_normal(runs), rng.random(runs)
        x = problem.reward(drawn.a[rows, arm], 10.0, z, u)
        for power in range(5):
            sums[power, rows, arm] += x**power
        regret += drawn.mean.max(axis=1) - drawn.mean[rows, arm]
    return regret


def naive_draws(sums, prior, rng):
    n = np.maximum(sums[0], 1e-9)
    mean, square, cube, fourth = (s / n for s in sums[1:])
    variance = np.maximum(square - mean**2, 0)
    central = fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * mean**4
    spread = variance > 1e-12
    kurtosis = np.where(spread, central / np.where(spread, variance, 1) ** 2, 0)
    weight = np.where(spread, n, 0)
    total = weight.sum(axis=1, keepdims=True)
    pooled = np.where(
        total > 0, (weight * kurtosis).sum(axis=1, keepdims=True) / np.maximum(total, 1), 3
    )
    worth = np.minimum(1, 2 / np.maximum(pooled - 1, 1e-9)) ** 0.75
    if prior is None:
        N = sums[0].sum(axis=1, keepdims=True)
        mu = sums[1].sum(axis=1, keepdims=True) / N
        all_variance = sums[2].sum(axis=1, keepdims=True) / N - mu**2
        kappa, alpha, beta = 1.0, 0.5, 0.5 * all_variance
    else:
        mu, kappa, alpha, beta = prior.per_arm(n.shape[1])
    n = sums[0]
    gap = np.where(n > 0, mean - mu, 0)
    shape = alpha + worth * n / 2
    rate = beta + worth * (n * variance + kappa * n / (kappa + n) * gap**2) / 2
    if prior is None:  # arms that have shown no spread have that of all rewards
        shape = np.where(spread, shape, np.maximum(worth * N, 1) / 2)
        rate = np.where(spread, rate, shape * all_variance)
    precision = rng.gamma(shape) / np.maximum(rate, 1e-300)
    center = mu + n / (kappa + n) * gap
    return center + rng.standard_normal(n.shape) / np.sqrt(precision * (kappa + n))


@cache
def regrets(prior, seed, naive_seed):
    """Of 6,000 runs each: the compiled loop with and without tails, and the naive one."""
    problem = Sales()
    made = None if prior is None else problem.own_prior()
    policies = {"tails": VarTS(made, tails=True), "none": VarTS(made)}
    compiled = varts.simulate(problem, policies, 600, 6000, seed=seed)
    return compiled.final, naive_regrets(problem, made, 600, 6000, seed=naive_seed)


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/policies", except_for=["None"])
@pytest.mark.parametrize("prior", [None, "own"])
def test_compiled_choices_are_those_of_the_formula(prior):
    """The regrets of the compiled loop and of a naive one are of one distribution
    (Kolmogorov-Smirnov, one false alarm in a million)."""
    compiled, naive = regrets(prior, fresh(3), fresh(4))
    assert ks_2samp(compiled["tails"], naive).pvalue > 1e-6


@pytest.mark.when_changed("src/varts/policies", except_for=["None"])
@pytest.mark.parametrize("prior", [None, "own"])
def test_choices_without_tails_are_others(prior):
    """The control. Some seeds don't show the difference in 6,000 runs, so these stay fixed."""
    compiled, naive = regrets(prior, 3, 4)
    assert ks_2samp(compiled["none"], naive).pvalue < 1e-6


class Spelt(VarTS):
    """VarTS in plain Python: its own `choose` keeps it from being compiled."""

    label = "Spelt"

    def choose(self, stats, t, rng):
        assert stats.m4 is not None
        return self.belief(stats).argmax(rng)


@pytest.mark.statistical
def test_plain_python_sees_the_moments():
    policies, seed = {"a": Spelt(tails=True), "b": VarTS(tails=True)}, fresh(0)
    study = varts.simulate(Sales(), policies, 100, 64, seed=seed)
    a, b = study.summary().to_dicts()
    assert abs(a["regret"] - b["regret"]) < 5 * np.hypot(a["se"], b["se"])
    again = varts.simulate(Sales(), {"a": Spelt(tails=True)}, 100, 64, seed=seed, threads=1)
    assert np.array_equal(again.final["a"], study.final["a"])


def test_threads_do_not_matter():
    policies = {"a": VarTS(tails=True), "b": VarTS(Sales().own_prior(), tails=True)}
    one, two = (varts.simulate(Sales(), policies, 300, 100, threads=n) for n in (1, 2))
    assert one == two


def test_wrong_options():
    with pytest.raises(TypeError, match="tails must be True or False, got 'yes'"):
        VarTS(tails="yes")
