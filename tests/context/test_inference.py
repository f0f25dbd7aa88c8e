"""The posterior of a report: slopes from the other arms, tails, skewness; and cross-fitting."""

import numpy as np
import pytest

from tests.context.shop import ARMS, FEATURES, halved, played, raw, report
from tests.seeds import fresh
from varts import ArmStats, LinearNormalGamma, LinearStats, LinearVarTS, context_report
from varts.beliefs import SkewedT
from varts.context import HalfPosterior, Units, crossfitted_worth, infer, infer_halves
from varts.context.inference import FEW_HIDE_TAILS, symmetric
from varts.policies.linear import LOG_HYPERPRIOR, NO_EFFECT, SIZES, shrunk_linear_prior


def dense_prior(arm, x, y, wider=1.0):
    """`shrunk_linear_prior` from raw rewards: dense matrices and multivariate densities.

    Rewards of an arm are centered. With the noise variance integrated out, they have a multivariate
    t density with covariance 1 + X V X'.
    """
    K, d, N = arm.max() + 1, x.shape[1], len(y)
    sd = x.std(axis=0)
    X = [(x[arm == a] - x[arm == a].mean(axis=0)) / sd for a in range(K)]
    Y = [y[arm == a] - y[arm == a].mean() for a in range(K)]
    noise = sum(each @ each for each in Y) / (N - K)

    def log_t(rows, rewards, mean, V, freedom):
        # The determinant and the quadratic form of all rewards; centered ones have one df less.
        S = np.eye(len(rows)) + rows @ V @ rows.T
        e = rewards - rows @ mean
        left = e @ np.linalg.solve(S, e)
        return -np.linalg.slogdet(S)[1] / 2 - (freedom + 1) / 2 * np.log((noise + left) / 2)

    def mean_square(scores):
        weight = np.exp(scores + LOG_HYPERPRIOR - (scores + LOG_HYPERPRIOR).max())
        return weight @ SIZES**2 / weight.sum()

    every, rewards = np.concatenate(X), np.concatenate(Y)
    zero, one = np.zeros(d), np.eye(d)
    shared = mean_square(np.array([log_t(every, rewards, zero, s**2 * one, N - K) for s in SIZES]))
    others = []
    for a in range(K):
        rows = np.concatenate([X[b] for b in range(K) if b != a])
        paid = np.concatenate([Y[b] for b in range(K) if b != a])
        C = np.linalg.inv(rows.T @ rows + one / shared)
        others.append((C @ rows.T @ paid, C))
    scores = np.array(
        [
            sum(
                log_t(X[a], Y[a], others[a][0], s**2 * one + others[a][1], len(Y[a]) - 1)
                for a in range(K)
            )
            for s in SIZES
        ]
    )
    own = wider * mean_square(scores * (K - 1) / K)
    slopes = np.array([mean / sd for mean, _ in others])
    return slopes, np.array([(own * one + C) / np.outer(sd, sd) for _, C in others])


@pytest.mark.parametrize("wider", [1.0, 6.0])
def test_the_prior_of_slopes_is_that_of_dense_matrices(wider):
    arm, x, y, _ = raw(150)
    x = x[:, [0, 2]]
    stats = LinearStats.empty(3, 2).observe(arm, x, y)
    prior = shrunk_linear_prior(stats, wider)
    slopes, covariance = dense_prior(arm, x, y, wider)
    np.testing.assert_allclose(prior.slopes, slopes, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.inv(prior.precision), covariance, rtol=1e-8)
    other = dense_prior(arm, x, y + 2 * (arm == 0) * x[:, 0], wider)  # another log differs
    assert not np.allclose(covariance, other[1], rtol=1e-3)


def test_the_prior_has_no_unit():
    arm, x, y, _ = raw(200)
    one = infer(None, LinearStats.empty(3, 3).observe(arm, x, y))
    two = infer(None, LinearStats.empty(3, 3).observe(arm, x * [1, 100, 7] + 5, 1000 * y + 3))
    np.testing.assert_allclose(one.slopes * 1000 / [1, 100, 7], two.slopes, rtol=1e-7)
    low, high = one.belief(x[:5]).interval()
    low2, high2 = two.belief(x[:5] * [1, 100, 7] + 5).interval()
    np.testing.assert_allclose(1000 * low + 3, low2, rtol=1e-6)
    np.testing.assert_allclose(1000 * high + 3, high2, rtol=1e-6)


def test_a_feature_that_never_varied_has_no_effect():
    arm, x, y, _ = raw(100)
    x[:, 1] = 4.0
    prior = shrunk_linear_prior(LinearStats.empty(3, 3).observe(arm, x, y))
    assert (prior.precision[:, 1, 1] == NO_EFFECT).all() and (prior.slopes[:, 1] == 0).all()
    nothing = shrunk_linear_prior(LinearStats.empty(2, 0).observe([0, 1], np.zeros((2, 0)), [1, 2]))
    assert nothing.d == 0


def test_one_arm_has_its_own_slopes():
    _, x, y, _ = raw(100)
    prior = shrunk_linear_prior(LinearStats.empty(1, 3).observe(np.zeros(100, dtype=int), x, y))
    assert (prior.slopes == 0).all() and (np.diagonal(prior.precision[0]) > 0).all()


def test_useless_features_get_small_slopes():
    rng = np.random.default_rng(fresh(11))
    arm, x, y = rng.integers(0, 3, 900), rng.standard_normal((900, 10)), rng.standard_normal(900)
    stats = LinearStats.empty(3, 10).observe(arm, x, y)
    free, shrunk = LinearVarTS().posterior(stats), infer(None, stats)
    assert np.abs(shrunk.slopes).mean() < 0.5 * np.abs(free.slopes).mean()
    differ = y + 1.0 * (arm == 0) * x[:, 0] - 1.0 * (arm == 1) * x[:, 1]  # real ones stay
    real = infer(None, LinearStats.empty(3, 10).observe(arm, x, differ))
    assert real.slopes[0, 0] == pytest.approx(1.0, abs=0.25)


def residuals_by_hand(values):
    """n, mean, m2, m3 and m4 by loops."""
    out = []
    for mine in values:
        mean = sum(mine) / len(mine)
        powers = [sum((v - mean) ** k for v in mine) for k in (2, 3, 4)]
        out.append((len(mine), mean, *powers))
    return ArmStats(*map(np.array, zip(*out, strict=True)))


def test_tails_widen_and_skew_by_the_formulas():
    rng = np.random.default_rng(fresh(12))
    arm, x = rng.integers(0, 2, 300), rng.standard_normal((300, 2))
    y = (rng.random(300) < 0.1) * rng.lognormal(0.0, 1.0, 300)
    stats = LinearStats.empty(2, 2).observe(arm, x, y)
    residuals = residuals_by_hand([y[arm == a].tolist() for a in (0, 1)])
    plain, tailed = infer(None, stats), infer(None, stats, residuals)
    n, m2, m3, m4 = residuals.n, residuals.m2, residuals.m3, residuals.m4
    kurtosis = (n * (n * m4 / m2**2)).sum() / 300
    kurtosis *= 1 + FEW_HIDE_TAILS * (kurtosis - 3) / 300
    skewness2 = (n * (m3 / n / (m2 / n) ** 1.5) ** 2).sum() / 300
    worth = min(1.0, 2 / (kurtosis - 1 - skewness2))
    np.testing.assert_allclose(tailed.alpha, 0.5 + worth * (plain.alpha - 0.5), rtol=1e-9)
    start = shrunk_linear_prior(stats).regression(2).beta
    np.testing.assert_allclose(tailed.beta, start + worth * (plain.beta - start), rtol=1e-9)
    at = np.array([0.5, -1.0])
    belief = tailed.belief(at)
    assert isinstance(belief, SkewedT) and (belief.skew > 0).all()
    for a in (0, 1):  # weights of the rewards in the estimate at x, if features are symmetric
        away = at - tailed.center[a]
        r = away @ np.linalg.solve(tailed.precision[a], away)
        k = tailed.kappa[a]
        cubes = (1 / k**2 + 3 * r / k) / (1 / k + r)
        factor = max(1 - 2 / belief.df[a], 0.0)
        assert belief.skew[a] == pytest.approx(2 / 3 * tailed.growth[a] * cubes * factor, rel=1e-9)
    assert tailed.mirrored().belief(at).skew == pytest.approx(-belief.skew)
    assert np.array_equal(tailed.mirrored().belief(at).loc, -belief.loc)
    width = [np.ptp(each.belief(at).interval(), axis=0) for each in (plain, tailed)]
    assert (width[1] > width[0]).all()


def test_gaussian_residuals_change_next_to_nothing():
    arm, x, y, _ = raw(3000, sd=(3.0, 3.0, 3.0))
    stats = LinearStats.empty(3, 3).observe(arm, x, y)
    posterior = infer(None, stats)
    expected = posterior.at(x)[0][np.arange(3000), arm]
    residuals = residuals_by_hand([(y - expected)[arm == a].tolist() for a in range(3)])
    one, two = (
        np.array(infer(None, stats, each).belief(x[0]).interval()) for each in (None, residuals)
    )
    np.testing.assert_allclose(one, two, atol=0.02 * np.ptp(one, axis=0).max())


# ------------------------------------------------------------------------------ cross-fitting


def gain_by_loop(rule, judge, x, goal):
    """The gain of one half's rule as the other half estimates it, unit by unit."""
    sign = 1 if goal == "max" else -1
    mine, theirs = sign * rule.at(x)[0], sign * judge.at(x)[0]
    single = int(mine.mean(axis=0).argmax())
    total = 0.0
    for m, t in zip(mine, theirs, strict=True):
        total += t[int(m.argmax())] - t[single]
    return total / len(x)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_each_half_judges_the_rule_of_the_other(goal):
    one, two = infer_halves(None, halved(400))
    *_, contexts = raw(400)
    units = Units.seen(FEATURES, contexts)
    worth = crossfitted_worth((one, two), units, "plain", goal)
    known = [
        gain_by_loop(rule, judge, units.x, goal)
        for rule, judge in ((one.rule, two.judge), (two.rule, one.judge))
    ]
    assert worth.gain == pytest.approx(np.mean(known), abs=1e-9)
    assert worth.crossfitted and worth.low < worth.gain < worth.high
    own = [gain_by_loop(h.rule, h.judge, units.x, goal) for h in (one, two)]
    assert np.mean(own) > worth.gain + 1e-3  # who judges itself is too high


def test_the_interval_is_the_average_of_two():
    """As wide as if both halves judged the same: draws of joint means, by hand."""
    one, two = infer_halves(None, halved(400))
    *_, contexts = raw(400)
    units = Units.seen(FEATURES, contexts)
    worth = crossfitted_worth((one, two), units, "plain", "max")
    ends = []
    for rule, judge in ((one.rule, two.judge), (two.rule, one.judge)):
        picked = rule.at(units.x)[0].argmax(axis=1)
        single = int(rule.at(units.mean)[0].argmax())
        level, slopes, _ = symmetric(judge).sample(np.random.default_rng(fresh(3)), 20_000)
        gain = 0.0
        for x, arm in zip(units.x, picked, strict=True):
            if arm != single:
                at = level + np.einsum("kd,skd->sk", x - judge.center, slopes)
                gain = gain + (at[:, arm] - at[:, single]) / len(units)
        ends.append(np.quantile(gain, [0.025, 0.975]))
    low, high = np.mean(ends, axis=0)
    room = 0.03 * (high - low)
    assert worth.low == pytest.approx(low, abs=room)
    assert worth.high == pytest.approx(high, abs=room)
    alone = np.sqrt((ends[0][1] - ends[0][0]) ** 2 + (ends[1][1] - ends[1][0]) ** 2) / 2
    assert high - low > alone + 3 * room  # independent judgments would have a narrower average


def null_claims(d, seeds, cross):
    """How often a gain is claimed for useless features, with equal arms and an even split."""
    claimed = 0
    for seed in seeds:
        rng = np.random.default_rng(fresh(seed))
        arm, x, y = np.arange(600) % 3, rng.standard_normal((600, d)), rng.standard_normal(600)
        empty = LinearStats.empty(3, d)
        sides = tuple(empty.observe(arm[i], x[i], y[i]) for i in (slice(300), slice(300, None)))
        features = {f"f{i}": "number" for i in range(d)}
        units = Units.seen(
            features, [dict(zip(features, row, strict=True)) for row in x[:50].tolist()]
        )
        halves = infer_halves(None, sides)
        if cross:
            claimed += crossfitted_worth(halves, units, "0", "max").claimed
        else:
            free = LinearVarTS().posterior(sides[0].merge(sides[1]))
            itself = HalfPosterior(free, free)
            claimed += crossfitted_worth((itself, itself), units, "0", "max").claimed
    return claimed


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/context/worth.py", "src/varts/context/inference.py")
def test_useless_features_gain_nothing():
    """At most 5 % claims: of 60, more than 9 have probability below 0.1 %."""
    assert null_claims(10, range(60), cross=True) <= 9
    assert null_claims(10, range(20), cross=False) >= 10  # judged by themselves, most do


def test_without_halves_nothing_is_claimed():
    found = report(2000)
    assert not found.worth.crossfitted and not found.worth.claimed
    assert "no claim that choosing by context beats plain for everybody" in str(found)
    claimed = report(2000, halves=True)
    assert claimed.worth.claimed and "choosing by context gains" in str(claimed)
    assert claimed.to_dict()["crossfitted"] is True
    few, contexts = played(40)
    small = context_report(
        LinearVarTS(), few, FEATURES, contexts, arms=ARMS, halves=(few, few.take([0, 1, 2]))
    )
    assert small.worth.crossfitted
    assert infer_halves(None, halved(12)) is None


def test_a_prior_that_is_given_selects_the_rule():
    prior = LinearNormalGamma(11, 1.0, 2.0, 20.0, slopes=np.zeros(3), precision=[1e9] * 3)
    one, two = infer_halves(prior, halved(600))
    assert np.abs(one.rule.slopes).max() < 1e-3 < np.abs(one.judge.slopes).max()
    found = report(600)
    worth = crossfitted_worth((one, two), found.units, "plain", "max")
    assert worth.gain == 0 and worth.low == worth.high == 0


@pytest.mark.parametrize("halves", [1, (1, 2), "ab"])
def test_halves_must_be_two_statistics(halves):
    with pytest.raises(TypeError, match="halves must be two LinearStats, got "):
        context_report(
            LinearVarTS(), played(50)[0], FEATURES, played(50)[1], arms=ARMS, halves=halves
        )


def test_halves_must_have_the_arms_and_features():
    stats, contexts = played(50)
    wrong = LinearStats.empty(2, 3)
    with pytest.raises(ValueError, match="halves must have 3 arms and 3 features, got 2 and 3"):
        context_report(LinearVarTS(), stats, FEATURES, contexts, halves=(wrong, wrong))


def test_the_table_says_how_many_intervals_miss_by_chance():
    found = report(600)
    intervals = sum(row["low"] is not None for row in found.coefficients.to_dicts())
    assert found.by_chance == {
        "intervals": intervals,
        "expected_misses": pytest.approx(0.05 * intervals),
    }
    assert f"each of the {intervals} intervals of effects holds at 95 %" in str(found)
    assert found.to_dict()["by_chance"]["intervals"] == intervals


@pytest.mark.statistical
def test_intervals_at_x_hold_with_many_features():
    """Slopes of 0.1 in 15 features, 60 logs of 3 arms: the share that covers is 95 % give or take;
    below 88 % or above 99.5 % has probability below 1e-3."""
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(fresh(200 + seed))
        slopes = 0.1 * rng.standard_normal((3, 15))
        arm, x = np.arange(450) % 3, rng.standard_normal((450, 15))
        y = (x * slopes[arm]).sum(axis=1) + rng.standard_normal(450)
        posterior = infer(None, LinearStats.empty(3, 15).observe(arm, x, y))
        at = rng.standard_normal((10, 15))
        low, high = posterior.belief(at).interval()
        truth = at @ slopes.T
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.88 < np.mean(covered) < 0.995
