"""The paper's bounds: numbers worked by hand, their limits, and simulated regret below them.

Regret plus 5 standard errors must stay below the bound; were the bound exactly met, a false alarm
would be near certain, but true regret is several times smaller, so the false-alarm rate is nil.
The negative controls show that the comparison can fail.
"""

import math

import numpy as np
import pytest

from tests.seeds import fresh
from varts import GaussianBandit, KnownVarianceTS, Normal, NormalGamma, VarTS, simulate
from varts.bounds import theorem1, theorem2

KNOWN = [
    (Normal(np.linspace(0, 1, 4), 0.5), np.array([0.1, 0.5, 1.0, 2.0])),
    (Normal(np.zeros(6), 1.0), np.full(6, 0.3)),
    (Normal(np.zeros(3), 0.05), np.full(3, 1.0)),
]
UNKNOWN = [
    NormalGamma(np.arange(1, 6) / 6, 5, 4, 1),
    NormalGamma(np.zeros(3), 0.5, 1.5, 1),
    NormalGamma(np.zeros(8), 20, 3, [0.1, 0.2, 0.5, 1, 1, 2, 3, 5]),
]


def regret(problem, policy, horizon=300):
    study = simulate(problem, {"it": policy}, horizon, runs=800, seed=fresh(5), threads=1)
    return study.regret["it"][-1], study.se["it"][-1]


@pytest.mark.statistical
@pytest.mark.parametrize(("prior", "sigma"), KNOWN)
def test_theorem1_is_above_simulated_regret(prior, sigma):
    mean, se = regret(GaussianBandit(prior, sigma=sigma), KnownVarianceTS(prior, sigma))
    assert mean + 5 * se < theorem1(prior, sigma, n=300)


@pytest.mark.statistical
@pytest.mark.parametrize("prior", UNKNOWN)
def test_theorem2_is_above_simulated_regret(prior):
    mean, se = regret(GaussianBandit(prior), VarTS(prior))
    assert mean + 5 * se < theorem2(prior, n=300) < theorem2(prior, n=300, corrected=True)


@pytest.mark.statistical
def test_bounds_of_an_easier_problem_are_rejected():
    """Regret scales with the unit of the rewards; bounds in a unit 100 times larger are too low."""
    prior, sigma = KNOWN[1]
    mean, se = regret(GaussianBandit(prior, sigma=sigma), KnownVarianceTS(prior, sigma))
    assert mean - 5 * se > theorem1(Normal(prior.mu, prior.sigma / 100), sigma / 100, n=300)
    prior = UNKNOWN[1]
    mean, se = regret(GaussianBandit(prior), VarTS(prior))
    easier = NormalGamma(prior.mu, prior.kappa, prior.alpha, prior.beta / 1e4)
    assert mean - 5 * se > theorem2(easier, n=300, corrected=True)


def test_theorem1_by_hand():
    """Two arms, n = 100, delta = 0.1: 2 sqrt(2/pi) * 10 + sqrt(200 ln 10 * 2 (ln 101 + 1))."""
    tail = 2 * math.sqrt(2 / math.pi) * 100 * 0.1
    width = 2 * (math.log(101) + 1)
    expected = tail + math.sqrt(200) * math.sqrt(width * math.log(10))
    assert theorem1(Normal([0, 0], 1), 1, n=100, delta=0.1) == pytest.approx(expected, rel=1e-14)
    assert expected == pytest.approx(87.8723, abs=1e-4)


def test_theorem1_with_different_arms():
    """sigma0 = 1, 2 and sigma = 2, 1: ratios 1/4 and 4, n = 4, delta = 1/4."""
    tail = (1 + 2) * math.sqrt(2 / math.pi)
    width = 4 * (math.log(2) + 0.25) + 1 * (math.log(17) + 4)
    expected = tail + math.sqrt(8 * width * math.log(4))
    assert theorem1(Normal([5, 9], [1, 2]), [2, 1], n=4) == pytest.approx(expected, rel=1e-14)


def test_theorem2_by_hand():
    """One arm, beta/(alpha-1) = 1/2, kappa = 2, n = 6, delta = 1/e: C^2 = (1 + 1/8 + 5 ln 4)/2."""
    c = math.sqrt((1 + 0.125 + 5 * math.log(4)) / 2)
    second = math.exp(-1) * c * math.sqrt(6 / (2 * math.pi))
    prior = NormalGamma(0, 2, 3, 1)
    printed = theorem2(prior, n=6, delta=math.exp(-1), K=1)
    assert printed == pytest.approx(c * math.sqrt(6) + second, rel=1e-14)
    corrected = theorem2(prior, n=6, delta=math.exp(-1), corrected=True, K=1)
    assert corrected == pytest.approx(c * math.sqrt(12) + second, rel=1e-14)


def test_theorem2_second_term_counts_arms():
    """K equal arms: C grows by sqrt(K), the second term by another sqrt(K)."""
    one, four = NormalGamma([0], 2, 3, 1), NormalGamma([0] * 4, 2, 3, 1)
    c = math.sqrt((1 + 0.125 + 5 * math.log(4)) / 2)
    extra = 0.5 * c * math.sqrt(6 / (2 * math.pi))
    difference = theorem2(four, n=6, delta=0.5) - 2 * theorem2(one, n=6, delta=0.5)
    assert difference == pytest.approx(2 * extra, rel=1e-12)


def test_corrected_is_at_most_sqrt_2_times_printed():
    for prior in UNKNOWN:
        for n in (2, 100, 10**6):
            ratio = theorem2(prior, n, corrected=True) / theorem2(prior, n)
            assert 1 < ratio < math.sqrt(2)
    assert ratio == pytest.approx(math.sqrt(2), rel=1e-6)  # the other term vanishes


def test_delta_is_one_over_n_by_default():
    assert theorem1(KNOWN[0][0], 1.0, n=50) == theorem1(KNOWN[0][0], 1.0, n=50, delta=1 / 50)
    assert theorem2(UNKNOWN[0], n=50) == theorem2(UNKNOWN[0], n=50, delta=1 / 50)


def test_a_shared_prior_needs_the_number_of_arms():
    """It was taken for a single arm, and the bound came out too low."""
    known, unknown = Normal(0, 1), NormalGamma(0, 10, 4, 1)
    with pytest.raises(ValueError, match="K must be given for a prior that all arms share"):
        theorem1(known, 0.5, n=100)
    with pytest.raises(ValueError, match="K must be given for a prior that all arms share"):
        theorem2(unknown, n=100)
    assert theorem1(known, 0.5, n=100, K=4) == theorem1(known.for_arms(4), 0.5, n=100)
    assert theorem1(known, 0.5, n=100, K=4) == theorem1(known, [0.5] * 4, n=100)
    assert theorem2(unknown, n=100, K=4) == theorem2(unknown.for_arms(4), n=100)
    with pytest.raises(ValueError, match=r"prior must have one entry per arm \(3\)"):
        theorem2(unknown.for_arms(4), n=100, K=3)
    with pytest.raises(ValueError, match=r"sigma must be one number or one per arm \(4\), got 3"):
        theorem1(known, [1, 2, 3], n=100, K=4)


@pytest.mark.parametrize("bigger", ["n", "sigma", "sigma0"])
def test_theorem1_grows(bigger):
    base = {"n": 100, "sigma": 1.0, "sigma0": 0.5}

    def bound(n, sigma, sigma0):
        return theorem1(Normal([0, 0], sigma0), sigma, n, delta=0.01)

    assert bound(**{**base, bigger: 2 * base[bigger]}) > bound(**base)


@pytest.mark.parametrize(("field", "sign"), [("kappa", -1), ("alpha", -1), ("beta", 1), ("mu", 0)])
def test_theorem2_is_monotone(field, sign):
    base = {"mu": 1.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}
    other = {**base, field: 2 * base[field]}
    change = theorem2(NormalGamma(**other), 100, K=1) - theorem2(NormalGamma(**base), 100, K=1)
    assert np.sign(change) == sign


@pytest.mark.parametrize("sigma", [1e-3, 1e-8, 1e-100])
def test_theorem1_does_not_vanish_with_the_reward_noise(sigma):
    """Its limit is sqrt(2 n log(1/delta) sum sigma0^2) plus the n delta term."""
    sigma0, n, delta = np.array([0.5, 1.0]), 100, 0.02
    limit = math.sqrt(2 * n * math.log(1 / delta) * (sigma0**2).sum())
    limit += math.sqrt(2 / math.pi) * sigma0.sum() * n * delta
    assert theorem1(Normal(0, sigma0), sigma, n, delta) == pytest.approx(limit, rel=30 * sigma**0.5)


def test_theorem1_vanishes_with_the_prior_width():
    sizes = [theorem1(Normal([0, 0], s), 1.0, 100) for s in (1e-2, 1e-4, 1e-8)]
    assert sizes[0] > sizes[1] > sizes[2] > 0
    assert sizes[2] < 1e-5
