"""Laws that hold for all inputs, searched for counter-examples by hypothesis."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import varts
from varts import ArmStats, Normal, NormalGamma, VarTS
from varts.priors import Prior

# Rewards on a grid: differences below it would be rounding, not a law.
rewards = st.integers(-2000, 2000).map(lambda k: k / 16)
arm_rewards = st.lists(rewards, max_size=12)
several_arms = st.lists(arm_rewards, min_size=1, max_size=5)
positive = st.floats(0.01, 100)


def close(a: ArmStats, b: ArmStats, rel=1e-9):
    """Equal up to rounding; m2 relative to the size of the rewards it came from."""
    size = np.maximum(a.m2, a.n * (1 + a.mean**2))
    return (
        np.array_equal(a.n, b.n)
        and np.allclose(a.mean, b.mean, rtol=rel, atol=rel)
        and bool((np.abs(a.m2 - b.m2) <= rel * size).all())
    )


def log_of(arms):
    """The rewards as a log of (arm, reward)."""
    return [(i, x) for i, xs in enumerate(arms) for x in xs]


@st.composite
def priors(draw, K=None):
    size = draw(st.integers(1, 4)) if K is None else K
    vector = st.lists(positive, min_size=size, max_size=size)
    mu = draw(st.lists(st.floats(-50, 50), min_size=size, max_size=size))
    return NormalGamma(mu, draw(vector), draw(vector), draw(vector))


# ------------------------------------------------------------------------------------- statistics


@given(several_arms)
def test_statistics_are_the_textbook_ones(arms):
    stats = ArmStats.from_rewards(arms)
    for i, x in enumerate(arms):
        assert stats.n[i] == len(x)
        if x:
            assert stats.mean[i] == pytest.approx(np.mean(x), abs=1e-9)
            assert stats.m2[i] == pytest.approx(np.var(x) * len(x), abs=1e-7)


@given(several_arms, st.randoms(use_true_random=False))
def test_the_order_of_rewards_does_not_matter(arms, random):
    log = log_of(arms)
    random.shuffle(log)
    stats = ArmStats.empty(len(arms))
    for arm, x in log:
        stats = stats.observe(arm, x)
    assert close(stats, ArmStats.from_rewards(arms))


@given(several_arms)
def test_one_by_one_equals_many_at_once(arms):
    log = log_of(arms)
    assume(log)
    index, x = zip(*log, strict=True)
    assert close(ArmStats.empty(len(arms)).observe(index, x), ArmStats.from_rewards(arms))


@given(st.lists(st.tuples(arm_rewards, arm_rewards, arm_rewards), min_size=1, max_size=3))
def test_merging_is_associative_and_commutative(arms):
    a, b, c = (ArmStats.from_rewards(column) for column in zip(*arms, strict=True))
    assert close(a.merge(b), b.merge(a))
    assert close(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert close(a.merge(b).merge(c), ArmStats.from_rewards([x + y + z for x, y, z in arms]))


@given(several_arms)
def test_nothing_is_the_neutral_element(arms):
    stats = ArmStats.from_rewards(arms)
    empty = ArmStats.empty(len(arms))
    assert stats.merge(empty) == stats
    assert empty.merge(stats) == stats


@given(several_arms)
def test_pooling_is_one_arm_with_all_rewards(arms):
    pooled = ArmStats.from_rewards(arms).pooled()
    assert close(pooled, ArmStats.from_rewards([[x for xs in arms for x in xs]]))


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=2, max_size=50))
def test_large_rewards_keep_their_variance(signs):
    """1e9 +/- 1: a sum of squares would have lost it all."""
    x = [1e9 + s for s in signs]
    expected = np.var(signs) * len(signs)
    one_by_one = ArmStats.empty(1)
    for value in x:
        one_by_one = one_by_one.observe(0, value)
    half = len(x) // 2
    merged = ArmStats.from_rewards([x[:half]]).merge(ArmStats.from_rewards([x[half:]]))
    for stats in (
        ArmStats.from_rewards([x]),
        one_by_one,
        merged,
        ArmStats.empty(1).observe([0] * len(x), x),
    ):
        assert stats.m2[0] == pytest.approx(expected, abs=1e-4)


# ----------------------------------------------------------------------------------------- priors


def same_prior(a, b, rel=1e-8):
    fields = ("mu", "kappa", "alpha", "beta") if isinstance(a, NormalGamma) else ("mu", "sigma")
    return all(np.allclose(getattr(a, f), getattr(b, f), rtol=rel, atol=1e-8) for f in fields)


@given(st.data(), several_arms, several_arms)
def test_posterior_of_a_posterior_is_the_posterior_of_all(data, first, second):
    K = min(len(first), len(second))
    a, b = ArmStats.from_rewards(first[:K]), ArmStats.from_rewards(second[:K])
    prior = data.draw(priors(K))
    assert same_prior(prior.posterior(a).posterior(b), prior.posterior(a.merge(b)))
    normal, sigma = Normal(prior.mu, prior.kappa), prior.beta
    twice = normal.posterior(a, sigma).posterior(b, sigma)
    assert same_prior(twice, normal.posterior(a.merge(b), sigma))


@given(st.data(), several_arms)
def test_posterior_moves_between_prior_and_data(data, arms):
    prior, stats = data.draw(priors(len(arms))), ArmStats.from_rewards(arms)
    posterior = prior.posterior(stats)
    low = np.where(stats.n > 0, np.minimum(prior.mu, stats.mean), prior.mu)
    high = np.where(stats.n > 0, np.maximum(prior.mu, stats.mean), prior.mu)
    slack = 1e-9 * (1 + np.abs(low) + np.abs(high))
    assert (posterior.mu >= low - slack).all() and (posterior.mu <= high + slack).all()
    assert (posterior.beta >= prior.beta).all()
    assert (posterior.kappa == prior.kappa + stats.n).all()


@given(st.data(), several_arms, st.sampled_from([-3.0, 0.01, 2.0, 100.0]), st.floats(-20, 20))
def test_varts_is_equivariant(data, arms, c, d):
    """x -> c x + d with the prior moved alike moves the belief alike (|c| for the scale)."""
    prior, stats = data.draw(priors(len(arms))), ArmStats.from_rewards(arms)
    moved = NormalGamma(c * prior.mu + d, prior.kappa, prior.alpha, c**2 * prior.beta)
    moved_stats = ArmStats.from_rewards([[c * x + d for x in xs] for xs in arms])
    a, b = VarTS(prior).belief(stats), VarTS(moved).belief(moved_stats)
    assert np.allclose(b.loc, c * a.loc + d, rtol=1e-8, atol=1e-8)
    assert np.allclose(b.scale, abs(c) * a.scale, rtol=1e-6)
    assert np.array_equal(a.df, b.df)


at_least_two = st.lists(st.lists(rewards, min_size=2, max_size=8), min_size=1, max_size=5)


@given(at_least_two, st.sampled_from([2.0**-7, 0.5, 8.0, 1024.0]), st.integers(0, 2**32))
def test_varts_without_a_prior_has_no_unit(arms, c, seed):
    """Rewards in another unit: the same belief in that unit, and the same arm from the same rng.

    A power of two changes no mantissa, so nothing is left to rounding but the sampler's logarithms.
    """
    euros = ArmStats.from_rewards(arms)
    cents = ArmStats.from_rewards([[c * x for x in xs] for xs in arms])
    a, b = VarTS().belief(euros), VarTS().belief(cents)
    assert np.array_equal(b.loc, c * a.loc)
    assert np.array_equal(b.scale, c * a.scale)
    one, other = (varts.choose(VarTS(), s, rng=np.random.default_rng(seed)) for s in (euros, cents))
    assert one == other


@given(at_least_two, st.sampled_from([0.01, 3.0, 100.0]), st.floats(-20, 20))
def test_varts_without_a_prior_is_equivariant(arms, c, d):
    a = VarTS().belief(ArmStats.from_rewards(arms))
    b = VarTS().belief(ArmStats.from_rewards([[c * x + d for x in xs] for xs in arms]))
    assert np.allclose(b.loc, c * a.loc + d, rtol=1e-8, atol=1e-8)
    assert np.allclose(b.scale, c * a.scale, rtol=1e-5, atol=1e-8 * (1 + abs(d)))


@given(priors())
def test_json_round_trip(prior):
    assert NormalGamma.from_json(prior.to_json()) == prior
    assert Prior.from_json(prior.to_json()) == prior
    normal = Normal(prior.mu, prior.kappa)
    assert Normal.from_json(normal.to_json()) == normal


@given(st.floats(-50, 50), positive, positive, positive)
def test_json_round_trip_of_a_shared_prior(mu, kappa, alpha, beta):
    prior = NormalGamma(mu, kappa, alpha, beta)
    back = NormalGamma.from_json(prior.to_json())
    assert back == prior and back.K is None


@given(
    st.floats(-5, 5), st.floats(0.1, 10), st.floats(1.1, 20), st.floats(0.1, 10),
    st.sampled_from(["paper", "consistent"]),
)  # fmt: skip
def test_from_moments_recovers(mu, kappa, alpha, beta, form):
    """Two-point samples with exactly the moments of NormalGamma(mu, kappa, alpha, beta).

    Var(mean) = beta / (kappa (alpha - 1)); the paper's form takes alpha for alpha - 1.
    """
    sd = np.sqrt(beta / (kappa * (alpha - 1)))
    lam, lam_sd = alpha / beta, np.sqrt(alpha) / beta
    assume(lam_sd < 0.999 * lam)
    means, precisions = [mu - sd, mu + sd], [lam - lam_sd, lam + lam_sd]
    found = NormalGamma.from_moments(means, precisions, form)
    expected = kappa if form == "consistent" else kappa * (alpha - 1) / alpha
    assert [found.mu, found.kappa, found.alpha, found.beta] == pytest.approx(
        [mu, expected, alpha, beta], rel=1e-6, abs=1e-9
    )


@given(st.floats(-50, 50), positive, positive, st.floats(0.1, 1000))
def test_elicit_has_the_stated_moments(mean, mean_sd, reward_sd, worth):
    prior = NormalGamma.elicit(mean, mean_sd, reward_sd, worth)
    variance = prior.beta / (prior.alpha - 1)  # E[1/lam]
    assert prior.mu == mean
    assert variance == pytest.approx(reward_sd**2, rel=1e-6)
    assert variance / prior.kappa == pytest.approx(mean_sd**2, rel=1e-6)
    assert prior.alpha == pytest.approx(1 + worth / 2)


# --------------------------------------------------------------------------------------- policies


@given(at_least_two, st.sampled_from(["UCB1", "UCB1-Tuned", "UCB-V"]), st.integers(0, 4))
def test_ucb_indices_are_above_the_mean_and_ignore_other_arms(arms, name, other):
    stats = ArmStats.from_rewards(arms)
    policy, t = varts.policies.make(name), 50
    indices = policy.indices(stats, t)
    assert (indices >= stats.mean).all()
    other %= stats.K
    moved = policy.indices(stats.observe(other, 3.0), t)
    keep = np.arange(stats.K) != other
    assert np.array_equal(moved[keep], indices[keep])


@given(at_least_two, st.randoms(use_true_random=False))
def test_renaming_arms_renames_beliefs(arms, random):
    order = list(range(len(arms)))
    random.shuffle(order)
    for policy in (VarTS(), varts.TS20(), varts.GaussianTS(), varts.MVTS()):
        a = policy.belief(ArmStats.from_rewards(arms))
        b = policy.belief(ArmStats.from_rewards([arms[i] for i in order]))
        assert np.allclose(b.loc, a.loc[order]) and np.allclose(b.scale, a.scale[order])
