"""Which arm is chosen, against exact probabilities by quadrature (tests/reference.py).

The engine is read through its public door: on a fixed instance with means 0, 1, ..., K - 1 the
regret of a one-round run tells the arm. Chi-square tests with limit p = 1e-6; about 30 of them
make the false-alarm rate of the file 3e-5. Negative controls must fall below the limit.
"""

from functools import cache

import numpy as np
import pytest
from scipy import special

import varts
from tests.naive import highest
from tests.reference import frequency_p, p_best
from tests.seeds import fresh
from varts import ArmStats, GaussianBandit, Normal, NormalGamma, StudentT

pytestmark = pytest.mark.no_cover

LIMIT = 1e-6
RUNS = 20_000  # one-round runs of the engine
LIVE = 4000  # choices in plain Python


def last_arms(policy, K, rounds=1, runs=RUNS, seed=3):
    """The engine's choice in the last round, per run (all arms were pulled equally before)."""
    problem = GaussianBandit.fixed(np.arange(K), 1.0)
    study = varts.simulate(problem, {"it": policy}, rounds, runs, fresh(seed), threads=1)
    before = (rounds - 1) // K * (K * (K - 1) // 2)
    return (K - 1 - (study.final["it"] - before)).round().astype(int)


def live_arms(policy, stats, runs=LIVE, seed=4):
    rng = np.random.default_rng(fresh(seed))
    return np.array([varts.choose(policy, stats, rng=rng) for _ in range(runs)])


def belief_arms(belief, runs=LIVE, seed=5):
    rng = np.random.default_rng(fresh(seed))
    return np.array([belief.argmax(rng) for _ in range(runs)])


PRIORS = {
    "equal": NormalGamma([0, 0], 1, 2, 1),
    "different": NormalGamma([0.0, 0.5, 0.3, -1.0], [1, 4, 9, 0.3], [2, 1, 5, 0.6], [1, 2, 0.5, 3]),
    "nearly sure": NormalGamma([0, 0.5, 1], 400, 50, 50),
    "alpha 0.3": NormalGamma([0, 0.2, 0.1], [1, 2, 3], 0.3, 1),
    "alpha 0.002": NormalGamma([0, 0, 5], 1, [0.002, 0.004, 0.003], 1),
    "alpha 0.0008": NormalGamma([0, 0], 1, 0.0008, [1, 1e-6]),
    "one wild arm": NormalGamma([0, 1.8, 2], 10, [0.002, 4, 4], 1),
}


@cache
def exact(name):
    belief = PRIORS[name].belief()
    return p_best(belief.loc, belief.scale, belief.df)


def test_quadrature_against_symmetry_and_a_closed_form():
    assert p_best([0, 0, 0], 1, [3, 3, 3]) == pytest.approx([1 / 3] * 3, abs=1e-6)
    two = p_best([0, 1], [3, 4], np.inf)  # N(1, 5^2) > 0
    assert two == pytest.approx([0.4207403, 0.5792597], abs=1e-6)
    for name in PRIORS:
        assert exact(name).sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.statistical
@pytest.mark.parametrize("name", PRIORS)
def test_engine_chooses_by_p_best(name):
    prior = PRIORS[name]
    assert frequency_p(last_arms(varts.VarTS(prior), prior.K), exact(name)) > LIMIT


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/policies", except_for=["equal", "alpha 0.3"])
@pytest.mark.parametrize("name", PRIORS)
def test_live_choice_follows_p_best(name):
    prior = PRIORS[name]
    arms = live_arms(varts.VarTS(prior), ArmStats.empty(prior.K))
    assert frequency_p(arms, exact(name)) > LIMIT
    assert frequency_p(belief_arms(prior.belief()), exact(name)) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["different", "alpha 0.002"])
def test_wrong_df_is_rejected(name):
    """Degrees of freedom that belong to other arms."""
    prior = PRIORS[name]
    belief = prior.belief()
    wrong = p_best(belief.loc, belief.scale, belief.df[::-1])
    assert frequency_p(last_arms(varts.VarTS(prior), prior.K), wrong) < LIMIT
    assert frequency_p(belief_arms(belief), wrong) < LIMIT


@pytest.mark.statistical
def test_infinite_draws_are_ties_in_the_engine():
    """75 % of the first arm's draws overflow, 32 % of the others'. Simulations toss for the winner
    among them; `choose` compares their logarithms."""
    prior = NormalGamma([0, 0, 0], 1, [0.0002, 0.0008, 0.0008], 1)
    belief = prior.belief()
    rng = np.random.default_rng(fresh(6))
    tied = highest(belief.sample(rng, 50 * RUNS), rng)
    tossed = np.bincount(tied, minlength=3) / len(tied)
    probabilities = p_best(belief.loc, belief.scale, belief.df)
    assert frequency_p(last_arms(varts.VarTS(prior), 3), tossed) > LIMIT
    assert frequency_p(last_arms(varts.VarTS(prior), 3), probabilities) < LIMIT  # the control
    assert frequency_p(belief_arms(belief), probabilities) > LIMIT


@pytest.mark.statistical
def test_gaussian_beliefs():
    prior, sigma = Normal([0, 0.2, 0.5], [1, 0.5, 0.1]), 1.0
    probabilities = p_best(prior.mu, prior.sigma, np.inf)
    policy = varts.KnownVarianceTS(prior, sigma)
    assert frequency_p(last_arms(policy, 3), probabilities) > LIMIT
    assert frequency_p(live_arms(policy, ArmStats.empty(3)), probabilities) > LIMIT
    variances = p_best(prior.mu, prior.sigma**2, np.inf)
    assert frequency_p(last_arms(policy, 3), variances) < LIMIT


@pytest.mark.statistical
def test_live_choice_after_rewards():
    """TS14, TS20, MVTS and VarTS on the same statistics, each by its own t marginal."""
    stats = ArmStats(n=[6, 9, 5], mean=[0.5, 0.3, 0.45], m2=[1.0, 4.0, 0.2])
    n, mean, m2 = stats.n, stats.mean, stats.m2
    expected = {
        varts.TS14(): (mean, np.sqrt(m2 / (n * (n - 2))), n - 2),
        varts.TS14(a=0.0): (mean, np.sqrt(m2 / (n * (n - 1))), n - 1),
        varts.TS20(): (mean, np.sqrt((1 + m2) / (n * (1 + n))), 1 + n),
        varts.MVTS(): (mean, n**-0.5, np.inf),
        varts.GaussianTS(): (n * mean / (n + 1), (n + 1) ** -0.5, np.inf),
    }
    for policy, belief in expected.items():
        assert frequency_p(live_arms(policy, stats), p_best(*belief)) > LIMIT
    wrong = p_best(*expected[varts.TS14(a=0.0)])
    assert frequency_p(live_arms(varts.GaussianTS(), stats), wrong) < LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("K", [2, 7])
def test_first_forced_pull_is_uniform(K):
    uniform = np.full(K, 1 / K)
    for policy in (varts.UCB1(), varts.TS14()):
        assert frequency_p(last_arms(policy, K), uniform) > LIMIT
        assert frequency_p(live_arms(policy, ArmStats.empty(K)), uniform) > LIMIT


@pytest.mark.statistical
def test_forced_pulls_are_uniform_among_the_arms_still_owed():
    stats = ArmStats(n=[4, 2, 0, 4, 3], mean=0, m2=1)
    arms = live_arms(varts.TS14(), stats)
    assert set(arms) == {1, 2, 4}
    assert frequency_p(np.searchsorted([1, 2, 4], arms), np.full(3, 1 / 3)) > LIMIT


@pytest.mark.statistical
def test_second_forced_pull_is_uniform_in_the_engine():
    """Two of three arms, one pull each: regrets 2 + 1, 2 + 0 and 1 + 0 are equally likely."""
    problem = GaussianBandit.fixed([0, 1, 2], 1.0)
    study = varts.simulate(problem, "UCB1", 2, RUNS, seed=fresh(0), threads=1)
    final = study.final["UCB1"].astype(int)
    assert set(final) == {1, 2, 3}
    assert frequency_p(final - 1, np.full(3, 1 / 3)) > LIMIT


@varts.index_policy("Indifferent")
def indifferent(n, mean, m2, t):
    return 0.0 * mean


@varts.index_policy("Two of four")
def two_of_four(n, mean, m2, t):
    """Arms whose mean reward lies around 10 and 30 are equally good."""
    return 1.0 * ((mean > 5) & (mean < 15)) + 1.0 * (mean > 25)


@pytest.mark.statistical
def test_ties_are_broken_uniformly():
    K = 4
    assert frequency_p(last_arms(indifferent, K, rounds=K + 1), np.full(K, 1 / K)) > LIMIT
    stats = ArmStats(n=[1] * K, mean=[0, 10, 20, 30], m2=0)
    assert frequency_p(live_arms(indifferent, stats), np.full(K, 1 / K)) > LIMIT
    arms = live_arms(two_of_four, stats)
    assert set(arms) == {1, 3}
    assert frequency_p(arms // 2, [0.5, 0.5]) > LIMIT
    assert frequency_p(arms // 2, [0.4, 0.6]) < LIMIT


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/policies")
def test_ties_of_some_arms_in_the_engine():
    """Means 0, 10, 20, 30; the last round is a tie of arms 1 and 3."""
    problem = GaussianBandit.fixed([0, 10, 20, 30], 0.1)
    study = varts.simulate(problem, {"it": two_of_four}, 5, RUNS, seed=fresh(0), threads=1)
    final = study.final["it"]
    arms = ((30 - (final - 60)) / 10).round().astype(int)
    assert set(arms) == {1, 3}
    assert frequency_p(arms // 2, [0.5, 0.5]) > LIMIT


@pytest.mark.statistical
def test_point_masses_that_tie():
    """TS14 on equal rewards believes in points; equal points are equally likely."""
    stats = ArmStats(n=[4, 4, 4], mean=[1, 0, 1], m2=0)
    arms = live_arms(varts.TS14(), stats)
    assert set(arms) == {0, 2}
    assert frequency_p(arms // 2, [0.5, 0.5]) > LIMIT
    assert frequency_p(belief_arms(StudentT([1, 1], 0, 3)), [0.5, 0.5]) > LIMIT


@pytest.mark.statistical
def test_bernoulli_ts_follows_its_beta_posteriors():
    """P(Beta(2, 1) > Beta(1, 2)) = 5/6, worked by hand: integral of 2x * (1 - (1 - x)^2)."""
    stats = ArmStats.from_rewards([[1], [0]])
    arms = live_arms(varts.BernoulliTS(), stats)
    assert frequency_p(arms, [5 / 6, 1 / 6]) > LIMIT
    assert frequency_p(arms, [0.75, 0.25]) < LIMIT
    assert frequency_p(last_arms(varts.BernoulliTS(), 3), [1 / 3] * 3) > LIMIT


@pytest.mark.statistical
def test_mvts_follows_its_two_draws():
    """Equal statistics but one arm's spread: exact by integrating over 1/tau on a grid."""
    stats = ArmStats(n=[8, 8], mean=[0.5, 0.6], m2=[1.0, 6.0])
    rho, u = 2.0, (np.arange(2000) + 0.5) / 2000
    shape, rate = 0.5 + stats.n / 2, 0.5 + stats.m2 / 2
    loss = [rate[i] / special.gammaincinv(shape[i], u) for i in range(2)]
    gap = rho * (stats.mean[0] - stats.mean[1]) - (loss[0][:, None] - loss[1][None, :])
    probability = special.ndtr(gap / (rho * np.sqrt(1 / 8 + 1 / 8))).mean()
    arms = live_arms(varts.MVTS(rho=rho), stats)
    assert frequency_p(arms, [probability, 1 - probability]) > LIMIT
    ignorant = special.ndtr((stats.mean[0] - stats.mean[1]) / 0.5)
    assert frequency_p(arms, [ignorant, 1 - ignorant]) < LIMIT
