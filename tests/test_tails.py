"""The shape of rewards within arms, and what it says about their variance."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from varts import ArmStats, NormalGamma, Prior, Tails


def test_of_agrees_with_scipy_for_one_arm():
    rewards = np.random.default_rng(2).exponential(3, 500)
    tails = Tails.of(ArmStats.from_rewards([rewards]))
    assert tails.skewness == pytest.approx(scipy_stats.skew(rewards))
    assert tails.kurtosis == pytest.approx(scipy_stats.kurtosis(rewards, fisher=False))
    assert tails.slope == pytest.approx(scipy_stats.moment(rewards, 3) / rewards.var())
    assert tails.n == 500


def test_arms_count_by_their_rewards():
    """And those that have shown one reward only not at all."""
    rng = np.random.default_rng(6)
    rewards = [rng.exponential(size=70), 50 + 3 * rng.normal(size=30), np.ones(9)]
    own = [scipy_stats.kurtosis(x, fisher=False) for x in rewards[:2]]
    found = Tails.of(ArmStats.from_rewards(rewards))
    assert found.kurtosis == pytest.approx((70 * own[0] + 30 * own[1]) / 100)


def test_arms_of_different_means_and_variances_have_no_tails():
    """Within arms all are Gaussian. The kurtosis of 20,000 rewards has a standard error of 0.035;
    seen as one arm they have a kurtosis of 6, the control."""
    rng = np.random.default_rng(3)
    arms = [
        rng.normal(mean, sd, 4000) for mean, sd in zip(range(5), (0.3, 0.5, 1, 2, 3), strict=True)
    ]
    assert Tails.of(ArmStats.from_rewards(arms)).kurtosis == pytest.approx(3, abs=0.2)
    assert Tails.of(ArmStats.from_rewards([np.concatenate(arms)])).kurtosis > 4


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5])
def test_the_mean_of_0_and_1_says_all_about_their_variance(chance):
    """k - 1 = skewness^2 for two values, and dV/dmean = 1 - 2p."""
    ones = round(1000 * chance)
    tails = Tails.of(ArmStats.from_rewards([[1.0] * ones + [0.0] * (1000 - ones)]))
    assert tails.slope == pytest.approx(1 - 2 * chance)
    assert tails.weight_given_mean == 1
    square = (1 - 2 * chance) ** 2 / (chance * (1 - chance))  # of the skewness
    assert tails.weight == pytest.approx(2 / max(2, square))


def test_worth_is_how_uncertain_a_sample_variance_is():
    """By simulation: the variance of s2 over that of Gaussian rewards of equal variance, in samples
    of 400 exponential rewards (kurtosis 9, worth 1/4). 20,000 samples: s.e. 2 %."""
    rng = np.random.default_rng(4)
    wild = rng.exponential(1, (20_000, 400)).var(axis=1).var()
    tame = rng.normal(0, 1, (20_000, 400)).var(axis=1).var()
    assert tame / wild == pytest.approx(Tails(kurtosis=9.0).weight, rel=0.08)


def test_no_unit_and_no_level_matters():
    rewards = np.random.default_rng(5).exponential(1, 100)
    one = Tails.of(ArmStats.from_rewards([rewards]))
    for unit in (1e-90, 1e60):
        other = Tails.of(ArmStats.from_rewards([rewards * unit]))
        if unit < 1e-80:  # m4 underflows: what is left is a shape, not a number that is not one
            assert np.isfinite([other.slope, other.kurtosis]).all() and other.kurtosis >= 1
        else:
            assert other.kurtosis == pytest.approx(one.kurtosis)
            assert other.slope == pytest.approx(one.slope * unit)


def test_thin_data_is_gaussian():
    for rewards in ([[]], [[5.0]], [[0.0] * 9], [[1.0], [2.0]]):
        assert Tails.of(ArmStats.from_rewards(rewards)) == Tails()


def test_merging_weighs_by_rewards():
    tails = Tails(1.0, 2.0, 9.0, 30).merge(Tails(-3.0, -1.0, 5.0, 10))
    assert (tails.slope, tails.kurtosis, tails.n) == (0.0, 8.0, 40)
    assert tails.skewness == pytest.approx(np.sqrt((30 * 4 + 10 * 1) / 40))
    assert Tails().merge(Tails()) == Tails()


def test_a_prior_carries_its_tails_through_json():
    tails = Tails(slope=40.0, skewness=9.0, kurtosis=130.0, n=5000)
    prior = NormalGamma([1.0, 2.0], 1, 2, 1, names=["a", "b"], tails=tails)
    assert Prior.from_json(prior.to_json()) == prior
    assert prior.take([0]).tails == tails
    assert prior.for_arms(["b"]).tails == tails
    assert prior.mirrored().tails == Tails(-40.0, -9.0, 130.0, 5000)
    for wrong in ({"slope": 1}, {"slope": 0, "skewness": 0, "kurtosis": "x", "n": 1}, 3):
        with pytest.raises((TypeError, ValueError), match="tails"):
            Prior.from_dict({**prior.to_dict(), "tails": wrong})
    with pytest.raises(TypeError, match="tails of a prior must be a Tails, got 4"):
        NormalGamma(0, 1, 2, 1, tails=4)
