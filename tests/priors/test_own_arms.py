"""A prior from the experiment's own arms, against plain loops over the rewards."""

import numpy as np
import pytest
from scipy import optimize, stats

import varts
from tests.seeds import fresh
from varts import ArmStats, NormalGamma, own_prior
from varts.kurtosis import variance_weight
from varts.priors import own_kurtosis, own_numbers
from varts.priors.own_arms import ALPHA_CENTER, ALPHAS, KAPPA_CENTER, KAPPAS, LOG_SD, OWN_KURTOSIS


def looped(arms):
    """mu, kappa, alpha and beta from the rewards, by SciPy's F and a covariance matrix."""
    arms = [np.asarray(arm, float) for arm in arms if len(arm)]
    rest = [arm - arm.mean() for arm in arms]
    df = sum(len(arm) - 1 for arm in arms)
    pooled = sum((r**2).sum() for r in rest) / df
    # Kurtosis: what all arms share, from E[m4] of n rewards, and each arm's own.
    shared_seen = sum((r**4).sum() for r in rest) / pooled**2
    a = b = 0.0
    for arm in arms:
        n = len(arm)
        a += (n - 1) / n**2 * (n**2 - 3 * n + 3)
        b += (n - 1) / n**2 * 3 * (2 * n - 3)
    shared, total, weights = (shared_seen - b) / a, 0.0, 0
    for r in rest:
        n, var = len(r), (r**2).mean()
        if var > 0:
            trust = n / (n + OWN_KURTOSIS)
            total += n * (trust * (r**4).mean() / var**2 + (1 - trust) * shared)
            weights += n
    worth = 2 / max(max(total / weights, 1) - 1, 2)
    # Variances: each is F about v, on a grid of alpha with the most probable v.
    squares = [(r**2).sum() / (len(r) - 1) for r in rest]
    squares = [s if s > 0 else pooled for s in squares]
    dfs = [worth * (len(r) - 1) for r in rest]

    def score(log_v, alpha):
        v = np.exp(log_v) * pooled
        terms = (
            stats.f.logpdf(s / v, d, 2 * alpha) - log_v for s, d in zip(squares, dfs, strict=True)
        )
        return sum(terms)

    scores, log_vs = [], []
    for alpha in ALPHAS:
        found = optimize.minimize_scalar(lambda x, a=alpha: -score(x, a), bounds=(-6, 6),
                                         method="bounded", options={"xatol": 1e-9})  # fmt: skip
        log_vs.append(found.x)
        hyper = stats.norm.logpdf(np.log(alpha), np.log(ALPHA_CENTER), LOG_SD)
        scores.append(-found.fun + hyper)
    p = np.exp(np.array(scores) - max(scores))
    p /= p.sum()
    alpha, v = 1 / (p / ALPHAS).sum(), np.exp((p * log_vs).sum()) * pooled
    # Means: normal with a flat mu and a common scale, integrated out (restricted likelihood). An
    # arm counts by how near its mean is to normal: the excess kurtosis of a mean is 1/n of that of
    # the rewards.
    mean = np.array([arm.mean() for arm in arms])
    var = [(alpha * v + d * s / 2) / (alpha + d / 2) for s, d in zip(squares, dfs, strict=True)]
    excess = 2 / worth - 2
    normal = np.array([2 / (3 + excess / len(arm) - 1) for arm in arms])
    scores, mus, spreads = [], [], []
    for kappa in KAPPAS:
        V = np.array([x * (1 / len(arm) + 1 / kappa) for x, arm in zip(var, arms, strict=True)])
        information = (normal / V).sum()
        mu = (normal / V * mean).sum() / information
        Q = (normal / V * (mean - mu) ** 2).sum()
        total, count = sum(dfs), max(normal.sum(), 1)
        log = -0.5 * ((normal * np.log(V)).sum() + np.log(information))
        log -= (total + count - 1) / 2 * np.log(1 + Q / total)
        scores.append(log + stats.norm.logpdf(np.log(kappa), np.log(KAPPA_CENTER), LOG_SD))
        mus.append(mu)
        spreads.append(1 / information)
    p = np.exp(np.array(scores) - max(scores))
    p /= p.sum()
    mu = (p * mus).sum()
    unsure = (p * (np.array(spreads) + (np.array(mus) - mu) ** 2)).sum()
    return mu, 1 / ((p / KAPPAS).sum() + unsure / v), alpha, alpha * v


def numbers(prior):
    return np.array([prior.mu, prior.kappa, prior.alpha, prior.beta])


def drawn(kind, K, seed, low=2, high=40):
    """Rewards of K arms that differ."""
    rng = np.random.default_rng(seed)
    pay = {
        "gaussian": lambda mean, n: rng.normal(mean, 1.5, n),
        "sds": lambda mean, n: rng.normal(mean, rng.uniform(0.3, 3), n),
        "lognormal": lambda mean, n: np.exp(rng.normal(mean, 1, n)),
        "zero-one": lambda mean, n: (rng.random(n) < 0.1 * mean) * 1.0,
    }[kind]
    return [pay(rng.normal(3, 0.5), rng.integers(low, high)) for _ in range(K)]


@pytest.mark.parametrize("kind", ["gaussian", "sds", "lognormal", "zero-one"])
@pytest.mark.parametrize("K", [2, 5, 30])
def test_the_estimate_is_that_of_plain_loops(kind, K):
    """Five Newton steps end within 0.1 % of the maximum that SciPy finds."""
    arms = drawn(kind, K, seed=K)
    found = numbers(own_prior(ArmStats.from_rewards(arms)))
    assert found == pytest.approx(looped(arms), rel=2e-3)


def test_control_the_comparison_notices_what_is_left_out():
    """Without the kurtosis, or without one of the arms, it is another prior."""
    arms = drawn("lognormal", 30, seed=30)
    known = ArmStats.from_rewards(arms)
    right = np.array(looped(arms))
    blind = own_prior(ArmStats(known.n, known.mean, known.m2))
    fewer = own_prior(known.take(np.arange(29)))
    for wrong in (blind, fewer):
        assert not np.allclose(numbers(wrong), right, rtol=2e-3)


@pytest.mark.parametrize(("scale", "shift"), [(100.0, 0.0), (1e-6, 0.0), (1.0, 1e6), (-1.0, 3.0)])
def test_it_has_the_unit_of_the_rewards(scale, shift):
    arms = drawn("lognormal", 6, seed=1)
    prior = own_prior(ArmStats.from_rewards(arms))
    other = own_prior(ArmStats.from_rewards([scale * arm + shift for arm in arms]))
    assert other.mu == pytest.approx(scale * prior.mu + shift, rel=1e-7)
    assert other.kappa == pytest.approx(prior.kappa, rel=1e-6)
    assert other.alpha == pytest.approx(prior.alpha, rel=1e-6)
    assert other.beta == pytest.approx(scale**2 * prior.beta, rel=1e-6)


def test_rewards_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(3)
    arms = [rng.integers(-4, 5, 20) / 4 for _ in range(5)]  # exact in binary, also beside 1e9
    near, far = (own_prior(ArmStats.from_rewards([x + arm for arm in arms])) for x in (0.0, 1e9))
    assert far.mu - 1e9 == pytest.approx(near.mu, abs=1e-6)
    assert [far.kappa, far.alpha, far.beta] == pytest.approx(
        [near.kappa, near.alpha, near.beta], rel=1e-6
    )


def test_one_arm_has_the_hyperprior():
    prior = own_prior(ArmStats.from_rewards([[1.0, 2.0, 4.0, 5.0]]))
    assert prior.mu == pytest.approx(3.0) and prior.beta / prior.alpha == pytest.approx(10 / 3)
    assert 0.5 < prior.kappa < 10
    more = own_prior(ArmStats(n=[1000], mean=[3.0], m2=[3000.0]))
    assert more.kappa == pytest.approx(own_prior(ArmStats([500], [3.0], [1500.0])).kappa, rel=0.01)


def test_equal_rewards_give_the_start_of_plain_varts():
    equal = own_prior(ArmStats.from_rewards([[3.0, 3.0], [3.0] * 5]))
    assert (equal.mu, equal.kappa, equal.alpha) == (3.0, 1.0, 0.5) and 0 < equal.beta < 1e-200
    apart = own_prior(ArmStats.from_rewards([[1.0, 1.0], [3.0, 3.0]]))
    assert (apart.mu, apart.kappa, apart.alpha, apart.beta) == (2.0, 1.0, 0.5, 0.5)


def test_arms_without_rewards_say_nothing_and_n_need_not_be_whole():
    arms = drawn("gaussian", 4, seed=5)
    prior = own_prior(ArmStats.from_rewards(arms))
    known = ArmStats.from_rewards([*arms, [], []])
    assert numbers(own_prior(known)) == pytest.approx(numbers(prior), rel=1e-12)
    part = own_prior(ArmStats([1.5, 0.4, 7.3, 0.0], [1.0, 2.0, 1.5, 0.0], [0.6, 0.1, 6.0, 0.0]))
    assert np.isfinite(numbers(part)).all() and part.kappa > 0 and part.beta > 0
    with pytest.raises(ValueError, match=r"^n must be > 0 for at least one arm, got 0 for all$"):
        own_prior(ArmStats.empty(3))


def test_many_experiments_at_once_are_one_after_the_other():
    rng = np.random.default_rng(6)
    known = [
        ArmStats.from_rewards(drawn("lognormal", 4, seed=int(s))) for s in rng.integers(99, size=3)
    ]
    n, mean, m2, m4 = (
        np.array([getattr(one, x) for one in known]) for x in ("n", "mean", "m2", "m4")
    )
    many = np.array(own_numbers(n, mean, m2, variance_weight(own_kurtosis(n, m2, m4))))
    for i, one in enumerate(known):
        assert many[:, i] == pytest.approx(numbers(own_prior(one)), rel=1e-12)


def test_it_learns_whether_arms_differ():
    rng = np.random.default_rng(7)
    alike = own_prior(ArmStats.from_rewards(rng.normal(0, 1, (50, 40))))
    apart = own_prior(ArmStats.from_rewards(rng.normal(0, 1, (50, 40)) + rng.normal(0, 1, (50, 1))))
    noisy = own_prior(ArmStats.from_rewards(rng.normal(0, rng.uniform(0.1, 3, (50, 1)), (50, 40))))
    assert alike.kappa > 50 and alike.alpha > 25
    assert 0.6 < apart.kappa < 2.0 and apart.alpha > 25
    assert noisy.alpha < 2


def test_noisy_sample_variances_are_not_mistaken_for_different_ones():
    """Lognormal rewards of one variance. The control: taken for Gaussian, alpha is far smaller."""
    rng = np.random.default_rng(8)
    known = ArmStats.from_rewards(np.exp(rng.normal(0, 1, (60, 30))))
    careful = own_prior(known)
    careless = own_prior(ArmStats(known.n, known.mean, known.m2))
    assert careful.alpha > 3 * careless.alpha and careless.alpha < 2.5


def test_one_sale_among_two_visitors_is_no_sign_that_arms_differ():
    """Beside 6,000 visitors of whom 5 % bought. The control: taken for Gaussian, it is one."""
    arms = [[1.0] * 100 + [0.0] * 1900, [1.0] * 95 + [0.0] * 1905, [1.0] * 105 + [0.0] * 1895]
    known = ArmStats.from_rewards([*arms, [0.0, 1.0]])
    before, after = own_prior(ArmStats.from_rewards(arms)), own_prior(known)
    assert after.kappa > 0.8 * before.kappa and after.mu - before.mu < 0.004
    careless = own_prior(ArmStats(known.n, known.mean, known.m2))
    assert careless.kappa < 0.8 * before.kappa and careless.mu - before.mu > 0.008


def test_kurtosis_shows_in_samples_of_two():
    """`Tails.of` sees a kurtosis of 1 in any two rewards; that of an exponential one is 9."""
    known = ArmStats.from_rewards(np.random.default_rng(9).exponential(size=(20_000, 2)))
    assert varts.Tails.of(known).kurtosis == pytest.approx(1)
    assert float(own_kurtosis(known.n, known.m2, known.m4)) == pytest.approx(9, rel=0.15)
    assert float(own_kurtosis(known.n, known.m2, None)) == 3


@pytest.mark.statistical
def test_it_finds_the_prior_that_the_arms_are_from():
    """400 arms of 30 rewards. In 200 repetitions log kappa had sd 0.08 and log alpha 0.09 around
    the truth, so 0.5 is 5 sds: less than 1 false alarm in 100,000."""
    prior = NormalGamma(mu=2, kappa=6, alpha=5, beta=20)
    rng = np.random.default_rng(fresh(10))
    mean, lam = prior.sample(rng, 400)
    found = own_prior(
        ArmStats.from_rewards(
            mean[:, None] + rng.standard_normal((400, 30)) / np.sqrt(lam)[:, None]
        )
    )
    off = np.log([found.kappa / 6, found.alpha / 5, found.beta / 20])
    assert np.abs(off).max() < 0.5 and found.mu == pytest.approx(2, abs=0.3)
