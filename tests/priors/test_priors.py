"""Priors: posteriors worked by hand, files, and the ways to come by a prior."""

import json

import numpy as np
import pytest

from tests.seeds import fresh
from varts import ArmStats, Normal, NormalGamma
from varts.priors import Prior, prior_from

STATS = ArmStats.from_rewards([[1, 3, 5], [2, 2, 2], []])


def test_normal_gamma_posterior():
    """Arm 0: kappa 1 + 3, mu 9/4, alpha 2 + 3/2, beta 1 + 8/2 + 1*3*9/(2*4) = 8.375."""
    posterior = NormalGamma(mu=0, kappa=1, alpha=2, beta=1).posterior(STATS)
    assert posterior.kappa.tolist() == [4, 4, 1]
    assert posterior.mu.tolist() == [2.25, 1.5, 0]
    assert posterior.alpha.tolist() == [3.5, 3.5, 2]
    assert posterior.beta.tolist() == [8.375, 1 + 1 * 3 * 4 / 8, 1]


def test_normal_gamma_belief():
    belief = NormalGamma([1, 2], [4, 1], [2, 3], [8, 3]).belief()
    assert belief.loc.tolist() == [1, 2]
    assert belief.scale.tolist() == [1, 1]  # sqrt(8 / (2 * 4)), sqrt(3 / (3 * 1))
    assert belief.df.tolist() == [4, 6]


def test_kappa_zero_says_nothing_about_the_mean():
    prior = NormalGamma(5, 0, 1, 1)
    assert np.isinf(prior.belief().scale).all()
    posterior = prior.posterior(ArmStats.from_rewards([[1, 3]]))
    assert (posterior.mu, posterior.kappa, posterior.beta) == (2, 2, 1 + 1)
    untouched = prior.posterior(ArmStats.empty(1))
    assert (untouched.mu, untouched.kappa, untouched.beta) == (5, 0, 1)


def test_normal_posterior():
    """Precision 1/4 + 3/4 = 1; mean (0/4 + 9/4) / 1."""
    posterior = Normal(0, 2).posterior(ArmStats.from_rewards([[1, 3, 5]]), sigma=2)
    assert (posterior.mu, posterior.sigma) == (2.25, 1)


def test_normal_posterior_with_a_sigma_per_arm():
    """Precisions 1 + 2/1 = 3 and 1 + 1/4 = 1.25."""
    posterior = Normal(0, 1).posterior(ArmStats([2, 1], [3, 5], 0), sigma=[1, 2])
    assert posterior.mu == pytest.approx([2, 1])
    assert posterior.sigma == pytest.approx([3**-0.5, 1.25**-0.5])


def test_a_shared_prior_serves_any_number_of_arms():
    prior = NormalGamma(0, 1, 2, 1)
    assert prior.K is None
    assert prior.for_arms(3) == NormalGamma([0, 0, 0], 1, 2, 1)
    assert prior.for_arms(3).K == 3


def test_fields_cannot_be_changed(prior):
    with pytest.raises(ValueError):
        prior.mu[0] = 1
    with pytest.raises(AttributeError):
        prior.mu = 1


@pytest.mark.statistical
def test_sample_has_the_prior_moments():
    """Means over 100,000 draws within 5 standard errors (false-alarm rate 6e-7 each)."""
    rng = np.random.default_rng(fresh(20230309))
    prior = NormalGamma([1, -1], [4, 1], 6, [2, 10])
    mean, lam = prior.sample(rng, 100_000)
    for sample, expected in ((mean, prior.mu), (lam, prior.alpha / prior.beta)):
        error = sample.std(axis=0) / np.sqrt(len(sample))
        assert (np.abs(sample.mean(axis=0) - expected) < 5 * error).all()
        assert (np.abs(sample.mean(axis=0) - 1.1 * expected) > 5 * error).all()  # the control
    square = (mean - prior.mu) ** 2
    error = square.std(axis=0) / np.sqrt(len(square))
    expected = prior.beta / (prior.kappa * (prior.alpha - 1))
    assert (np.abs(square.mean(axis=0) - expected) < 5 * error).all()


def test_sample_shapes(rng):
    assert NormalGamma(0, 1, 2, 1).sample(rng)[0].shape == ()
    assert NormalGamma([0, 0], 1, 2, 1).sample(rng)[1].shape == (2,)
    assert NormalGamma([0, 0], 1, 2, 1).sample(rng, 5)[0].shape == (5, 2)
    assert NormalGamma([0, 0], 1, 2, 1).sample(rng, (4, 5))[0].shape == (4, 5, 2)
    assert Normal([0, 0], 1).sample(rng, 5).shape == (5, 2)


def test_from_moments_by_hand():
    """m = 2, V = 1, l = 4, nu = 4: beta 1, alpha 4, kappa 1/4 as printed, 1/3 consistently."""
    assert NormalGamma.from_moments([1, 3], [2, 6]) == NormalGamma(2, 0.25, 4, 1)
    consistent = NormalGamma.from_moments([1, 3], [2, 6], kappa="consistent")
    assert consistent.kappa == pytest.approx(1 / 3)


def test_from_moments_per_arm():
    prior = NormalGamma.from_moments([[1, 10], [3, 30]], [[2, 1], [6, 3]])
    assert prior.mu.tolist() == [2, 20]
    assert prior.beta.tolist() == [1, 2]
    assert prior.alpha.tolist() == [4, 4]
    assert prior.kappa.tolist() == [0.25, 0.005]


def test_elicit_by_hand():
    """Rewards scatter 4 times as much as the mean: 16 observations' worth; alpha 1 + 20/2."""
    assert NormalGamma.elicit(12, 2, 8, 20) == NormalGamma(12, 16, 11, 640)


def test_files(tmp_path, prior):
    path = tmp_path / "prior.json"
    prior.save(path)
    assert json.loads(path.read_text())["type"] == "NormalGamma"
    assert NormalGamma.load(path) == Prior.load(path) == prior_from(path) == prior
    assert prior_from(str(path)) == prior


def test_prior_from_a_mapping():
    fields = {"mu": [0, 1], "kappa": 1, "alpha": 2, "beta": 1}
    assert prior_from(fields) == NormalGamma([0, 1], 1, 2, 1)
    assert prior_from({"mu": 0, "sigma": 2}) == Normal(0, 2)
    assert prior_from({"type": "Normal", "mu": 0, "sigma": 2}) == Normal(0, 2)
    given = NormalGamma(0, 1, 2, 1)
    assert prior_from(given) is given


def test_types_do_not_equal_each_other():
    assert Normal(0, 1) != NormalGamma(0, 1, 1, 1)
    assert NormalGamma(0, 1, 1, 1) != NormalGamma(0, 1, 1, 2)
