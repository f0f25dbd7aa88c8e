"""Simulation-based calibration of the linear prior, and Thompson choices against quadrature.

Draw level, slopes and noise precision from the prior, rewards from them, update: the posterior's
CDFs at the truth must be uniform, for the mean at any x, for each slope and for the precision,
whatever rule chose the features, as long as it saw only rewards. Chi-square on 50 bins, limit
p = 1e-6; 23 tests of what must not be rejected make the false-alarm rate of the file below 3e-5.
Negative controls must fall below the limit.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

import varts
from tests.reference import frequency_p, p_best, uniform_p
from tests.seeds import fresh
from varts import LinearNormalGamma, LinearStats, LinearVarTS

pytestmark = pytest.mark.statistical

LIMIT = 1e-6
DRAWS = 20_000
UNIT = np.array([0.8, -1.5])
PRIOR = LinearNormalGamma(
    0.5, 0.7, 2.5, 1.5, slopes=[1.0, -0.5], precision=[[2.0, 0.6], [0.6, 0.5]], center=[0.3, -0.2]
)


def world(n, adaptive=False, seed=1):
    """A world per arm: statistics of n rewards, the true mean at UNIT, slopes and precisions.

    Adaptively, features are larger in size after a reward below 0. Moments are plain sums here.
    """
    rng = np.random.default_rng(fresh(seed))
    level, slopes, lam = (each[:, 0] for each in PRIOR.sample(rng, DRAWS))
    rows = np.zeros((DRAWS, n, 3))
    for i in range(n):
        x = rng.standard_normal((DRAWS, 2))
        if adaptive and i:
            x = x * np.where(rows[:, i - 1, 2] < 0, 3.0, 0.5)[:, None]
        mean = level + ((x - PRIOR.center) * slopes).sum(axis=1)
        rows[:, i, :2], rows[:, i, 2] = x, mean + rng.standard_normal(DRAWS) / np.sqrt(lam)
    mean = rows.sum(axis=1) / max(n, 1)
    away = rows - mean[:, None]
    stats = LinearStats(np.full(DRAWS, n), mean, np.einsum("kni,knj->kij", away, away))
    return stats, level + (UNIT - PRIOR.center) @ slopes.T, slopes, lam


def ranks(posterior, at_unit, slopes, lam):
    """The posterior's CDF at the truths."""
    belief, effects = posterior.belief(UNIT), posterior.slope_beliefs()
    return {
        "mean": special.stdtr(belief.df, (at_unit - belief.loc) / belief.scale),
        "first slope": special.stdtr(effects.df, (slopes - effects.loc) / effects.scale)[:, 0],
        "second slope": special.stdtr(effects.df, (slopes - effects.loc) / effects.scale)[:, 1],
        "precision": special.gammainc(posterior.alpha, posterior.beta * lam),
    }


@pytest.mark.parametrize(("n", "adaptive"), [(0, False), (1, False), (5, False), (5, True)])
def test_the_posterior_is_calibrated(n, adaptive):
    stats, *truth = world(n, adaptive)
    for name, rank in ranks(PRIOR.posterior(stats), *truth).items():
        assert uniform_p(rank) > LIMIT, name


def wrong_alpha(stats):
    posterior = PRIOR.posterior(stats)
    return replace(posterior, alpha=posterior.alpha + 0.5), "precision"


def one_reward_more(stats):
    return PRIOR.posterior(LinearStats(stats.n + 1, stats.mean, stats.products)), "precision"


def stale_precision(stats):
    return replace(PRIOR.posterior(stats), precision=PRIOR.precision), "first slope"


def stale_center(stats):
    return replace(PRIOR.posterior(stats), center=PRIOR.center), "mean"


def residuals_of_the_level_alone(stats):
    """beta from deviations of the rewards, as without features."""
    rate = PRIOR.beta + stats.products[:, 2, 2] / 2
    return replace(PRIOR.posterior(stats), beta=rate), "precision"


@pytest.mark.parametrize(
    "mistake",
    [wrong_alpha, one_reward_more, stale_precision, stale_center, residuals_of_the_level_alone],
)
def test_mistakes_are_rejected(mistake):
    stats, *truth = world(5)
    posterior, shown = mistake(stats)
    assert uniform_p(ranks(posterior, *truth)[shown]) < LIMIT


def test_an_allocation_that_knows_the_truth_is_rejected():
    """The adaptive test has power: features chosen by the true slope destroy uniformity."""
    stats, at_unit, slopes, lam = world(5)
    rank = ranks(PRIOR.posterior(stats), at_unit, slopes, lam)["mean"]
    assert uniform_p(rank[at_unit > PRIOR.belief(UNIT).loc[0]]) < LIMIT


# ------------------------------------------------------------------ choices


CHOICES = 3000
ARMS = np.arange(24) % 4


def observed():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((24, 2))
    noise = np.array([0.3, 1.0, 3.0, 0.5])[ARMS] * rng.standard_normal(24)
    effects = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5], [0.2, 0.2]])[ARMS]
    return LinearStats.empty(4, 2).observe(ARMS, x, (x * effects).sum(axis=1) + noise)


@pytest.mark.when_changed("src/varts/priors", except_for=["unit0-None"])
@pytest.mark.parametrize("prior", [PRIOR, None])
@pytest.mark.parametrize("unit", [UNIT, np.array([0.1, 0.2])])
def test_choices_follow_p_best_at_x(prior, unit):
    """Against quadrature over the Student t's of the four arms."""
    policy, stats = LinearVarTS(prior), observed()
    rng = np.random.default_rng(fresh(9))
    arms = np.array([varts.choose(policy, stats, rng=rng, x=unit) for _ in range(CHOICES)])
    belief = policy.belief_at(stats, unit)
    exact = p_best(belief.loc, belief.scale, belief.df)
    assert belief.p_best() == pytest.approx(exact, abs=1e-4)
    assert frequency_p(arms, exact) > LIMIT
    elsewhere = policy.belief_at(stats, unit + 0.5)  # the control: of another unit
    assert frequency_p(arms, p_best(elsewhere.loc, elsewhere.scale, elsewhere.df)) < LIMIT


def test_known_variance_follows_p_best_at_x():
    policy, stats = varts.LinearTS(PRIOR, sigma=0.7), observed()
    rng = np.random.default_rng(fresh(10))
    arms = np.array([varts.choose(policy, stats, rng=rng, x=UNIT) for _ in range(CHOICES)])
    belief = policy.belief_at(stats, UNIT)
    assert frequency_p(arms, p_best(belief.loc, belief.scale, np.inf)) > LIMIT
    unknown = LinearVarTS(PRIOR).belief_at(stats, UNIT)  # the control: own variances
    assert frequency_p(arms, p_best(unknown.loc, unknown.scale, unknown.df)) < LIMIT


@pytest.mark.parametrize("unit", [UNIT, np.array([0.1, 0.2])])
def test_draws_of_whole_lines_have_the_marginal_at_x(unit):
    """`sample` and `belief` come by different ways to the same distribution."""
    prior = replace(PRIOR, alpha=1.2)
    level, slopes, _ = prior.sample(np.random.default_rng(fresh(11)), DRAWS)
    means = level[:, 0] + ((unit - prior.center) * slopes[:, 0]).sum(axis=1)
    belief = prior.belief(unit)
    assert uniform_p(special.stdtr(belief.df, (means - belief.loc) / belief.scale)) > LIMIT
    flat = level[:, 0]  # the control: slopes left out
    assert uniform_p(special.stdtr(belief.df, (flat - belief.loc) / belief.scale)) < LIMIT
