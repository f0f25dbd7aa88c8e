"""Simulation-based calibration: draw the truth from the prior, rewards from the truth, update.

The posterior's CDF at the truth must then be uniform, whatever rule stopped the sampling, as long
as the rule saw only rewards. Chi-square on 50 bins, limit p = 1e-6; 14 tests make the false-alarm
rate of the file below 2e-5. Negative controls must fall below the limit.
"""

import numpy as np
import pytest
from scipy import special

from tests.reference import t_cdf, uniform_p
from tests.seeds import fresh
from varts import ArmStats, Normal, NormalGamma

pytestmark = pytest.mark.statistical

LIMIT = 1e-6
DRAWS = 40_000


def rewards(rng, mean, sd, most, adaptive):
    """Statistics of up to `most` rewards per draw; adaptively, stop once the sum passes 1."""
    x = mean[:, None] + sd[:, None] * rng.standard_normal((mean.size, most))
    n = np.full(mean.size, most)
    if adaptive:
        passed = x.cumsum(axis=1) > 1
        n = np.where(passed.any(axis=1), passed.argmax(axis=1) + 1, most)
    used = np.arange(most) < n[:, None]
    center = np.where(used, x, 0).sum(axis=1) / np.maximum(n, 1)
    m2 = (np.where(used, x - center[:, None], 0) ** 2).sum(axis=1)
    return ArmStats(n, center, m2)


def mean_uniform(posterior, mean):
    """The posterior marginal's CDF at the true means."""
    belief = posterior.belief()
    x = (mean - belief.loc) / belief.scale
    u = np.empty(x.size)
    for df in np.unique(belief.df):
        rows = belief.df == df
        u[rows] = t_cdf(np.sign(x[rows]), np.log(np.abs(x[rows])), df)
    return u


def precision_uniform(posterior, lam):
    return special.gammainc(posterior.alpha, posterior.beta * lam)


def normal_gamma_case(most, adaptive, alpha=2.5, kappa=0.7, seed=1):
    rng = np.random.default_rng(fresh(seed))
    prior = NormalGamma(mu=0.5, kappa=kappa, alpha=alpha, beta=1.5)
    mean, lam = prior.sample(rng, DRAWS)
    stats = rewards(rng, mean, lam**-0.5, most, adaptive)
    return prior, stats, mean, lam


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("most", [1, 3, 12])
def test_normal_gamma_is_calibrated(most, adaptive):
    prior, stats, mean, lam = normal_gamma_case(most, adaptive)
    posterior = prior.posterior(stats)
    assert uniform_p(mean_uniform(posterior, mean)) > LIMIT
    assert uniform_p(precision_uniform(posterior, lam)) > LIMIT


def test_normal_gamma_without_rewards_is_the_prior():
    prior, stats, mean, lam = normal_gamma_case(0, adaptive=False)
    posterior = prior.posterior(stats)
    assert (posterior.alpha == 2.5).all() and (posterior.mu == 0.5).all()
    assert uniform_p(mean_uniform(posterior, mean)) > LIMIT
    assert uniform_p(precision_uniform(posterior, lam)) > LIMIT


@pytest.mark.parametrize("adaptive", [False, True])
def test_alpha_off_by_a_half_is_rejected(adaptive):
    prior, stats, _, lam = normal_gamma_case(3, adaptive)
    right = prior.posterior(stats)
    wrong = NormalGamma(right.mu, right.kappa, right.alpha + 0.5, right.beta)
    assert uniform_p(precision_uniform(wrong, lam)) < LIMIT


def test_beta_without_its_kappa_term_is_rejected():
    prior, stats, mean, lam = normal_gamma_case(3, adaptive=False)
    right = prior.posterior(stats)
    wrong = NormalGamma(right.mu, right.kappa, right.alpha, prior.beta + stats.m2 / 2)
    assert uniform_p(precision_uniform(wrong, lam)) < LIMIT
    assert uniform_p(mean_uniform(wrong, mean)) < LIMIT


def test_a_stop_that_knows_the_truth_is_rejected():
    """The adaptive test has power: peeking at the true mean destroys uniformity."""
    prior, stats, mean, _ = normal_gamma_case(3, adaptive=False)
    peeked = mean_uniform(prior.posterior(stats), mean)[stats.mean > mean]
    assert uniform_p(peeked) < LIMIT


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("most", [1, 12])
def test_normal_is_calibrated(most, adaptive):
    rng = np.random.default_rng(fresh(3))
    prior, sigma = Normal(0.5, 0.8), 1.3
    mean = prior.sample(rng, DRAWS)
    stats = rewards(rng, mean, np.full(DRAWS, sigma), most, adaptive)
    assert uniform_p(mean_uniform(prior.posterior(stats, sigma), mean)) > LIMIT
    assert uniform_p(mean_uniform(prior.posterior(stats, sigma**2), mean)) < LIMIT
