"""Policies: indices and beliefs worked by hand."""

import math

import numpy as np
import pytest

import varts
from tests.seeds import fresh
from varts import MVTS, TS14, TS20, UCB1, UCBV, ArmStats, Normal, NormalGamma, StudentT

STATS = ArmStats(n=[4, 9], mean=[0.5, 0.25], m2=[1.0, 0.09])  # 13 plays; round 14 is next


def test_ucb1():
    expected = [0.5 + math.sqrt(2 * math.log(13) / 4), 0.25 + math.sqrt(2 * math.log(13) / 9)]
    assert UCB1().indices(STATS, t=14) == pytest.approx(expected, rel=1e-15)


def test_ucb1_tuned_takes_the_cap_where_it_binds():
    """Arm 0: v = 1/4 already. Arm 1 after 900 pulls: v = 0.0001 + sqrt(2 ln(903)/900) = 0.1231."""
    stats = ArmStats(n=[4, 900], mean=[0.5, 0.25], m2=[1.0, 0.09])
    e0, e1 = math.log(904) / 4, math.log(904) / 900
    low = 0.0001 + math.sqrt(2 * e1)
    assert low < 0.25
    expected = [0.5 + math.sqrt(e0 / 4), 0.25 + math.sqrt(e1 * low)]
    assert varts.UCB1Tuned().indices(stats, t=905) == pytest.approx(expected, rel=1e-14)


def test_ucb_v_with_ln_t():
    E = math.log(14)
    expected = [
        0.5 + math.sqrt(2 * 0.25 * E / 4) + 3 * E / 4,
        0.25 + math.sqrt(2 * 0.01 * E / 9) + 3 * E / 9,
    ]
    assert UCBV().indices(STATS, t=14) == pytest.approx(expected, rel=1e-14)


def test_ucb_v_parameters():
    E = 1.2 * math.log(14)
    expected = 0.5 + math.sqrt(2 * 0.25 * E / 4) + 3 * 2 * 5 * E / 4
    assert UCBV(zeta=1.2, c=2, b=5).indices(STATS, t=14)[0] == pytest.approx(expected, rel=1e-14)


def test_ucb_v_with_a_horizon_ignores_t_and_zeta():
    E = math.log(3 * 100**2)
    expected = 0.5 + math.sqrt(2 * 0.25 * E / 4) + 3 * E / 4
    for t, zeta in ((14, 1.0), (90, 7.0)):
        policy = UCBV(zeta=zeta, horizon=100)
        assert policy.indices(STATS, t=t)[0] == pytest.approx(expected, rel=1e-14)


def test_ucb_chooses_the_largest_index(rng):
    stats = ArmStats(n=[100, 100, 100], mean=[0.2, 0.9, 0.4], m2=1)
    for policy in (UCB1(), varts.UCB1Tuned(), UCBV()):
        assert varts.choose(policy, stats, rng=rng) == 1


def belief_of(policy, *rewards):
    belief = policy.belief(ArmStats.from_rewards(rewards))
    return belief.loc.tolist(), belief.scale.tolist(), belief.df.tolist()


def test_varts_with_a_prior():
    loc, scale, df = belief_of(varts.VarTS(NormalGamma(0, 1, 2, 1)), [1, 3, 5])
    assert (loc, df) == ([2.25], [7])
    assert scale == pytest.approx([math.sqrt(8.375 / (3.5 * 4))])


def test_varts_without_a_prior():
    """Rewards 1, 3 and 5, 5: pooled mean 3.5, variance 2.75, hence NG(3.5, 1, 1/2, 1.375).

    Arm 0: mu (3.5 + 4)/3 = 2.5, alpha 1.5, beta 1.375 + 2/2 + 2 * 1.5^2 / (2 * 3) = 3.125.
    Arm 1 has shown no spread of its own: mu (3.5 + 10)/3 = 4.5, and the precision that all four
    rewards say, alpha 4/2, beta 4 * 2.75 / 2 = 5.5; scale^2 = 5.5 / (2 * 3).
    """
    loc, scale, df = belief_of(varts.VarTS(), [1, 3], [5, 5])
    assert loc == pytest.approx([2.5, 4.5])
    assert scale == pytest.approx([math.sqrt(3.125 / 4.5), math.sqrt(5.5 / 6)])
    assert df == [3, 4]


def test_known_variance_with_a_prior():
    """Precision 1/0.25 + 3/4 = 4.75, mean (4 * 1 + 9/4) / 4.75."""
    policy = varts.KnownVarianceTS(Normal(1, 0.5), sigma=2)
    loc, scale, df = belief_of(policy, [1, 3, 5])
    assert loc == pytest.approx([6.25 / 4.75])
    assert scale == pytest.approx([4.75**-0.5])
    assert df == [np.inf]


def test_known_variance_without_a_prior():
    """Pooled mean 3.5 worth one reward: (3.5 + 4)/3 with sd 2/sqrt(3)."""
    loc, scale, _ = belief_of(varts.KnownVarianceTS(sigma=2), [1, 3], [5, 5])
    assert loc == pytest.approx([2.5, 4.5])
    assert scale == pytest.approx([2 / math.sqrt(3)] * 2)


def test_bernoulli_ts():
    belief = varts.BernoulliTS().belief(ArmStats.from_rewards([[1, 0, 1], []]))
    assert belief.a.tolist() == [3, 1]
    assert belief.b.tolist() == [2, 1]


@pytest.mark.statistical
def test_bernoulli_ts_clips_then_tosses():
    rng = np.random.default_rng(fresh(20230309))
    policy = varts.BernoulliTS()
    assert [policy.transform(x, rng) for x in (-3.0, 0.0, 1.0, 7.0)] == [0, 0, 1, 1]
    tosses = [policy.transform(0.3, rng) for _ in range(10_000)]
    assert set(tosses) == {0, 1}
    assert abs(np.mean(tosses) - 0.3) < 5 * math.sqrt(0.21 / 10_000)  # false-alarm rate 6e-7


def test_gaussian_ts():
    loc, scale, df = belief_of(varts.GaussianTS(), [1, 3, 5], [])
    assert (loc, scale, df) == ([2.25, 0], [0.5, 1], [np.inf, np.inf])


@pytest.mark.parametrize(("a", "first"), [(-1, 5), (-0.5, 4), (0, 3), (0.5, 2), (0.3, 3), (4, 2)])
def test_ts14_forced_pulls(a, first):
    assert TS14(a=a).pulls_needed(3).tolist() == [first] * 3


@pytest.mark.parametrize("a", [-1.0, -0.5, 0.0, 0.5])
def test_ts14_belief(a):
    """Rewards 1..5: n = 5, m2 = 10, df = 5 + 2a - 1, scale sqrt(10 / (5 df))."""
    loc, scale, df = belief_of(TS14(a=a), [1, 2, 3, 4, 5])
    assert (loc, df) == ([3], [4 + 2 * a])
    assert scale == pytest.approx([math.sqrt(10 / (5 * (4 + 2 * a)))])


def test_ts14_on_equal_rewards_is_a_point(rng):
    belief = TS14().belief(ArmStats(n=[4, 4], mean=[1, 0], m2=0))
    assert belief.scale.tolist() == [0, 0]
    assert belief.sample(rng).tolist() == [1, 0]


def test_ts20():
    """NG(0, 0, 1/2, 1/2) after 1, 3, 5: alpha 2, beta 4.5, kappa 3, no pull towards 0."""
    loc, scale, df = belief_of(TS20(), [1, 3, 5])
    assert (loc, df) == ([3], [4])
    assert scale == pytest.approx([math.sqrt(4.5 / 6)])
    assert TS20().pulls_needed(2).tolist() == [1, 1]


def test_mvts():
    loc, scale, df = belief_of(MVTS(), [1, 2, 3, 4])
    assert (loc, scale, df) == ([2.5], [0.5], [np.inf])
    assert MVTS.precision(4, 5.0) == (2.5, 3.0)
    assert MVTS.score(2.0, 0.5, 3.0) == 4.0
    assert MVTS().pulls_needed(2).tolist() == [1, 1]


def test_mvts_with_rho_zero_avoids_the_variance(rng):
    stats = ArmStats(n=[500, 500], mean=[0.0, 9.0], m2=[5.0, 5000.0])
    assert {varts.choose(MVTS(rho=0.0), stats, rng=rng) for _ in range(50)} == {0}


@pytest.mark.parametrize(
    ("policy", "owed"),
    [
        (UCB1(), 1),
        (varts.VarTS(), 2),
        (varts.VarTS(NormalGamma(0, 1, 2, 1)), 0),
        (varts.VarTS(NormalGamma(0, 0, 2, 1)), 1),
        (varts.KnownVarianceTS(), 1),
        (varts.KnownVarianceTS(Normal(0, 1)), 0),
        (varts.BernoulliTS(), 0),
        (varts.GaussianTS(), 0),
    ],
)
def test_forced_pulls(policy, owed):
    assert policy.pulls_needed(4).tolist() == [owed] * 4


def test_only_arms_without_a_prior_mean_are_owed_a_pull(rng):
    policy = varts.VarTS(NormalGamma(0, [1, 0, 1], 2, 1))
    assert policy.pulls_needed(3).tolist() == [0, 1, 0]
    assert {varts.choose(policy, ArmStats.empty(3), rng=rng) for _ in range(20)} == {1}


def test_varts_takes_its_prior_in_any_form(tmp_path, prior):
    prior.save(tmp_path / "prior.json")
    fields = {"mu": [0.2, 0.5, 0.8], "kappa": 3, "alpha": 4, "beta": 1}
    for given in (prior, tmp_path / "prior.json", fields):
        assert varts.VarTS(given).prior == prior


def test_round_counts_from_the_pulls(rng):
    """UCB-V's index depends on t; the default t is one more than the pulls so far."""

    class Witness(varts.Policy):
        def choose(self, stats, t, rng):
            seen.append(t)
            return 0

    seen = []
    varts.choose(Witness(), STATS, rng=rng)
    varts.choose(Witness(), STATS, t=77, rng=rng)
    assert seen == [14, 77]


def test_wild_beliefs_never_make_nan(rng):
    """alpha = 0.002 and far below: draws overflow, choices do not."""
    for alpha in (0.002, 0.0008, 1e-6):
        belief = NormalGamma([0, 1], 1, alpha, 1).belief()
        assert not np.isnan(belief.sample(rng, 1000)).any()
        assert {belief.argmax(rng) for _ in range(200)} == {0, 1}


def test_an_infinitely_wide_arm_is_a_coin_toss_against_a_sure_one(rng):
    belief = StudentT([0, 0], [np.inf, 0], 3)
    assert {belief.argmax(rng) for _ in range(50)} == {0, 1}


@pytest.mark.parametrize("sigma", [2.0, [2.0], [2.0, 3.0, 4.0]])
def test_a_policy_for_some_of_the_arms(sigma):
    """One entry is shared by all arms, in a list or not, as in a prior."""
    policy = varts.KnownVarianceTS(varts.Normal(0, 1), sigma=sigma)
    stats = varts.ArmStats([3, 3, 3], [1, 2, 3], [1, 1, 1])
    some = policy.restricted(np.array([1, 2])).belief(stats.take([1, 2]))
    whole = policy.belief(stats)
    assert some.loc.tolist() == whole.loc[1:].tolist()
    assert some.scale.tolist() == whole.scale[1:].tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("df", [0.01, 0.5, 3.0, np.inf])
def test_draws_from_given_numbers_at_any_scale(df, rng):
    """A scale of 0 is a point however wild the df; 1e-170 and 1e+90 are as good as 1."""
    u, v, tie = rng.random((200, 2)), rng.random((200, 2)), rng.random(200)
    point = StudentT([0.5, 0.0], [0.0, 1.0], df)
    assert (point.at(u, v)[:, 0] == 0.5).all()
    ordinary = StudentT([0.0, 0.0], [1.0, 2.0], df)
    for scale in (1e-170, 1e90):
        scaled = StudentT([0.0, 0.0], [scale, 2 * scale], df)
        assert (scaled.argmax_at(u, v, tie) == ordinary.argmax_at(u, v, tie)).all()
    assert set(point.argmax_at(u, v, tie)) == set(ordinary.argmax_at(u, v, tie)) == {0, 1}


@pytest.mark.filterwarnings("error")
def test_the_median_is_the_location_at_any_scale():
    belief = StudentT([1.0, 2.0, 3.0], [0.0, 1.0, np.inf], [0.01, 3.0, np.inf])
    assert belief.quantile(0.5).tolist() == [1, 2, 3]
    assert belief.quantile(0.9)[2] == np.inf
