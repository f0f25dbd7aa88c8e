"""VarTS with a prior from its own arms."""

import pickle

import numpy as np
import pytest

import varts
from varts import ArmStats, EBVarTS, VarTS, own_prior, simulate
from varts.policies.base import compiled_family
from varts.priors.own_arms import rounded_numbers


def rewards(K=6, n=12, seed=0):
    rng = np.random.default_rng(seed)
    return ArmStats.from_rewards(rng.normal(rng.normal(0, 0.5, (K, 1)), 1, (K, n)))


def rounded_prior(stats):
    """The prior that beliefs use, which is `own_prior` of rounded statistics."""
    return varts.NormalGamma(*rounded_numbers(stats))


def test_its_belief_is_that_of_varts_with_the_own_prior():
    stats = rewards()
    mine, same = EBVarTS().belief(stats), VarTS(rounded_prior(stats)).belief(stats)
    for name in ("loc", "scale", "df"):
        assert getattr(mine, name) == pytest.approx(getattr(same, name), rel=1e-12)
    exact = VarTS(own_prior(stats)).belief(stats)  # rounding is a small part of what is unknown
    assert (np.abs(mine.loc - exact.loc) < 0.05 * exact.scale).all()
    assert mine.scale == pytest.approx(exact.scale, rel=0.05)
    other = VarTS().belief(stats)  # the control
    assert not np.allclose(mine.loc, other.loc, rtol=1e-3)


def test_parameters_are_those_of_the_formula():
    stats, policy = rewards(), EBVarTS()
    loc, scale, df = policy.believe(stats.n, stats.mean, stats.m2, *policy.parameters(stats).T)
    belief = policy._belief(stats)
    assert np.array_equal(loc, belief.loc) and np.array_equal(scale, belief.scale)
    assert np.array_equal(df, belief.df)


def test_an_arm_of_equal_rewards_has_the_variance_of_the_prior():
    """By hand: nobody of 50 bought, which says nothing about a variance."""
    stats = ArmStats.from_rewards([[0.0] * 48 + [9.0, 7.0], [0.0] * 50])
    prior, belief = rounded_prior(stats), EBVarTS().belief(stats)
    assert belief.scale[1] == pytest.approx(np.sqrt(prior.beta / prior.alpha / (prior.kappa + 50)))
    assert belief.df[1] == pytest.approx(2 * prior.alpha)
    naive = VarTS(prior).belief(stats)  # the control: it would be sure of a tiny variance
    assert naive.scale[1] < 0.8 * belief.scale[1]


def test_equal_rewards_are_a_point_as_for_varts():
    belief = EBVarTS().belief(ArmStats.from_rewards([[3.0, 3.0], [3.0, 3.0]]))
    assert belief.loc.tolist() == [3.0, 3.0] and belief.scale.tolist() == [0.0, 0.0]


def test_it_needs_two_rewards_of_each_arm_once():
    assert EBVarTS().pulls_needed(3).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="n must be > 0 for at least one arm, got 0 for all"):
        EBVarTS().belief(ArmStats.empty(2))
    belief = EBVarTS().belief(ArmStats.from_rewards([[1.0, 2.0, 4.0], []]))
    assert belief.loc[1] == pytest.approx(7 / 3) and belief.scale[1] > belief.scale[0]
    faded = ArmStats([0.2, 3.0], [1.0, 2.0], [0.1, 2.0], [0.0, 0.0], [0.1, 2.0])
    assert EBVarTS().least_weight(2).tolist() == [0, 0]
    assert np.isfinite(EBVarTS()._belief(faded).scale).all()


def test_reports_account_for_tails():
    rng = np.random.default_rng(1)
    sales = ArmStats.from_rewards((rng.random((3, 400)) < 0.05) * rng.lognormal(3, 1, (3, 400)))
    policy = EBVarTS()
    told, chosen = policy.inference(sales), policy.belief(sales)
    assert told.loc == pytest.approx(chosen.loc, rel=1e-12)
    assert (told.df < chosen.df).all() and (told.skew > 0).all()
    gaussian = rewards(K=4, n=2000)
    assert policy._inference(gaussian).interval()[0] == pytest.approx(
        policy.belief(gaussian).interval()[0], abs=5e-3
    )
    with pytest.raises(ValueError, match="n must be > 0"):
        policy.inference(ArmStats.empty(2))


def test_fewer_arms_have_a_prior_of_their_own():
    stats, arms = rewards(), np.array([0, 2, 3])
    policy = EBVarTS().restricted(arms)
    assert policy == EBVarTS()
    some = policy.belief(stats.take(arms))
    assert not np.allclose(some.loc, policy.belief(stats).loc[arms], rtol=1e-6)


def test_it_is_played_as_it_is():
    """A compiled loop knows no prior of its own arms."""
    assert compiled_family(EBVarTS()) is None and compiled_family(VarTS()) == "belief"
    assert pickle.loads(pickle.dumps(EBVarTS())) == EBVarTS()
    problem = varts.GaussianBandit(varts.NormalGamma(0, 4, 4, 4), K=3)
    study = simulate(problem, [EBVarTS(), VarTS()], horizon=40, runs=8, checkpoints=[20])
    assert study.labels == ["EB-VarTS", "VarTS"] and np.isfinite(study.final["EB-VarTS"]).all()
    fading = varts.Fading(EBVarTS(), half_life=20)
    assert np.isfinite(simulate(problem, fading, horizon=60, runs=8).final[fading.label]).all()


def test_a_sceptical_report_has_the_prior_of_arms_that_hardly_differ():
    """VarTS with the same prior but for kappa = 1/0.03^2; and no less sceptical than the arms."""
    stats, policy = rewards(K=3, n=500), EBVarTS()
    own = rounded_prior(stats)
    prior = varts.NormalGamma(own.mu, 0.03**-2, own.alpha, own.beta)
    assert policy.sceptical(stats).loc == pytest.approx(VarTS(prior).inference(stats).loc)
    assert policy.sceptical(stats).p_best().max() < policy._inference(stats).p_best().max()
    assert policy.sceptical(stats, 100.0).loc == pytest.approx(policy._inference(stats).loc)
    with pytest.raises(ValueError, match="spread must be"):
        policy.sceptical(stats, 0.0)
