"""Anytime-valid evidence against plain loops and worked values."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from tests.anytime import plain
from tests.tiers import examples
from varts import ArmStats, Evidence, StopAtError, anytime
from varts.anytime import burn_in

WORKED = ArmStats([40, 60, 50], [1, 1.3, 0.8], [39, 118, 12.25])
C2 = anytime.mixture_for(1000)


def random_arms(rng, K, spread=0.3, rewards=300):
    """Statistics of arms that differ in everything, as Gaussian rewards give them."""
    n = np.ceil(rewards * rng.exponential(size=K)) + 2
    sd = np.exp(rng.normal(0, 0.7, K))
    mean = rng.normal(0, spread, K) + sd * rng.normal(size=K) / np.sqrt(n)
    return ArmStats(n, mean, sd**2 * rng.chisquare(n - 1))


# ------------------------------------------------------------------------- the martingale of an arm


def test_worked_values_of_an_arm():
    """n = 100, mean 0.3, m2 = 99, c2 = 122, worked out with 12 digits."""
    assert anytime.mean_evidence(100, 0.3, 99, 122) == pytest.approx(1.6136825124, abs=1e-10)
    reach = anytime.mean_reach(100, 99, math.log(20), 122)
    assert reach == pytest.approx(0.4040881122, abs=1e-10)
    found = anytime.mean_reach(WORKED.n, WORKED.m2, math.log(20), 50)
    assert found == pytest.approx([0.71068584, 0.69216793, 0.28598829], abs=1e-8)


def test_the_mixture_is_best_where_it_says():
    assert anytime.mixture_for(1000) == pytest.approx(1000 / plain.lam(0.05), rel=1e-12)
    widths = [
        anytime.mean_reach(1000, 1000, math.log(20), 1000 / x / plain.lam(0.05))
        for x in (0.33, 0.9, 1.0, 1.1, 3)
    ]
    assert min(widths) == widths[2] and max(widths) < 1.06 * widths[2]


@pytest.mark.parametrize("n", [2, 3, 5, 20, 300])
@pytest.mark.parametrize("c2", [1.0, 122.0])
def test_the_martingale_is_1_on_average(n, c2):
    """r = t^2/(n - 1) with t Student of n - 1 degrees: one integral, to 1e-6."""

    def average(evidence):
        def integrand(t):
            return math.exp(evidence(t * t / (n - 1)) + stats.t.logpdf(t, n - 1))

        # M grows like a power of t as the density falls: t = sinh(u) makes the tail short.
        return integrate.quad(
            lambda u: 2 * integrand(math.sinh(u)) * math.cosh(u),
            0,
            200 if n < 4 else 60,
            limit=2000,
        )[0]

    found = average(lambda r: anytime.mean_evidence(n, math.sqrt(r / n), 1.0, c2))
    assert found == pytest.approx(1, abs=1e-6)
    kappa = c2 / (n + c2)  # the control: the biased variance's exponent, n - 1 instead of n
    wrong = average(
        lambda r: 0.5 * math.log(kappa) + (n - 1) / 2 * (math.log1p(r) - math.log1p(kappa * r))
    )
    assert abs(wrong - 1) > 1e-3 * (1 - kappa)


@examples(150)
@given(st.floats(2, 1e7), st.floats(1e-6, 1e6), st.floats(1e-9, 0.5), st.floats(0.1, 1e4))
def test_an_interval_ends_where_the_evidence_is_reached(n, sd, error, c2):
    reach = float(anytime.mean_reach(n, n * sd**2, math.log(1 / error), c2))
    most = (n - 1) / 2 * math.log1p(n / c2)
    if math.isinf(reach):
        assert most <= math.log(1 / error) * (1 + 1e-9)
    else:
        found = anytime.mean_evidence(n, reach, n * sd**2, c2)
        assert found == pytest.approx(math.log(1 / error), rel=1e-6, abs=1e-6)


def test_an_arm_against_plain_loops(rng):
    arms = random_arms(rng, 40, rewards=20)
    low, high = Evidence(arms).mean_intervals(0.9)
    expected = [plain.half_width(n, m2, 0.1, C2) for n, m2 in zip(arms.n, arms.m2, strict=True)]
    assert np.isinf(expected).any() and np.isfinite(expected).any()
    assert (high - low) / 2 == pytest.approx(expected, rel=1e-8)
    some = np.isfinite(low)
    assert (high[some] + low[some]) / 2 == pytest.approx(arms.mean[some])


# --------------------------------------------------------------------------------------- two arms


def test_worked_values_of_pairs():
    """Three pairs at c2 = 50, and thresholds: chi-square of 4 degrees of freedom, halved."""
    n, mean, m2 = WORKED.n, WORKED.mean, WORKED.m2
    for (a, b), expected in {
        (1, 0): -0.30146975,
        (1, 2): 0.94369098,
        (0, 2): -0.33716212,
    }.items():
        found = anytime.pair_evidence(n[a], m2[a], n[b], m2[b], mean[a] - mean[b], 50)
        assert found == pytest.approx(expected, abs=1e-8)
    assert anytime.pair_threshold(0.05) == pytest.approx(4.743865, abs=1e-6)
    assert anytime.pair_threshold(0.05 / 4) == pytest.approx(6.380926, abs=1e-6)


def test_pairs_against_plain_loops(rng):
    """400 pairs; sds between e^-2 and e^2 of each other, some far apart."""
    arms = random_arms(rng, 40, spread=1.0, rewards=100)
    a, b = rng.integers(0, 40, (2, 400))
    difference = rng.normal(0, 1, 400)
    found = Evidence(arms).against(a, b, difference)
    rows = list(zip(arms.n, arms.mean, arms.m2, strict=True))
    expected = [
        plain.pair_evidence(rows[i], rows[j], d, C2)
        for i, j, d in zip(a, b, difference, strict=True)
    ]
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)
    p = [min(1.0, float(stats.chi2.sf(2 * max(z, 0), 4))) for z in expected]
    assert Evidence(arms).p_value(a, b, difference) == pytest.approx(p, rel=1e-5)


@examples(100)
@given(
    st.tuples(st.floats(2, 1e6), st.floats(2, 1e6)),
    st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
    st.floats(0.1, 1e4),
)
def test_the_reach_of_a_pair_is_the_gap_with_that_evidence(n, sd, c2):
    """Found without a search for the gap; sds that differ a millionfold included."""
    m2 = n[0] * sd[0] ** 2, n[1] * sd[1] ** 2
    gap = anytime.pair_reach(n[0], m2[0], n[1], m2[1], 4.74, c2)
    if np.isfinite(gap):
        for factor, low, high in ((1.0, 4.7399, 4.7401), (0.99, -99, 4.74), (1.01, 4.74, 999)):
            found = anytime.pair_evidence(n[0], m2[0], n[1], m2[1], factor * gap, c2)
            assert low <= found <= high


def test_a_difference_is_in_the_interval_if_its_p_value_is_high_enough(rng):
    arms = random_arms(rng, 20)
    evidence = Evidence(ArmStats(arms.n + 20, arms.mean, arms.m2))
    a, b = np.arange(10), np.arange(10, 20)
    low, high = evidence.difference_interval(a, b, 0.9)
    width = high - low
    for end in (low, high):
        inside, outside = end + 1e-6 * width, end - 1e-6 * width
        if end is high:
            inside, outside = outside, inside
        assert (evidence.p_value(a, b, inside) > 0.1).all()
        assert (evidence.p_value(a, b, outside) < 0.1).all()
    low99, high99 = evidence.difference_interval(a, b, 0.99)
    assert (low99 < low).all() and (high99 > high).all()


# --------------------------------------------------------------------------------------- all arms


@pytest.mark.when_changed("src/varts/anytime.py", except_for=["0-0.3", "1-1.0", "2-0.3"])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_possible_best_is_what_all_pairs_say(spread, seed):
    arms = random_arms(np.random.default_rng(seed), 12, spread)
    arms = ArmStats([*arms.n, 1, 0, 50], [*arms.mean, 9, 0, 9], [*arms.m2, 0, 0, 0])
    found = Evidence(arms).possible_best(0.2)
    assert found.tolist() == plain.possible_best(arms.n, arms.mean, arms.m2, 0.2, C2)
    assert found[-3:].all() and (spread == 0) == found.all()


def test_the_certain_best_is_the_only_possible_one():
    few, many = (ArmStats([n] * 3, [1, 1.5, 0], [n] * 3) for n in (100, 400))
    assert Evidence(few).certain_best() is None and Evidence(few).possible_best().sum() == 2
    assert Evidence(many).certain_best() == 1
    assert Evidence(ArmStats([5], [1], [2])).certain_best() == 0  # there is no other


def test_an_arm_may_be_ruled_out_by_one_that_is_not_the_best():
    """The third is known too little to rule out the first, but the second does."""
    arms = ArmStats([5000, 5000, 150], [0.0, 0.15, 0.3], [5000, 5000, 150])
    evidence = Evidence(arms)
    assert evidence.against(2, 0) < anytime.pair_threshold(0.025) < evidence.against(1, 0)
    assert evidence.possible_best().tolist() == [False, True, True]


def test_ten_thousand_arms_take_less_than_a_second():
    for spread in (0.0, 0.05, 1.0):
        evidence = Evidence(random_arms(np.random.default_rng(1), 10_000, spread))
        start = time.perf_counter()
        evidence.possible_best()
        assert time.perf_counter() - start < 1


# ------------------------------------------------------------------------- numbers at their limits


def test_arms_that_have_said_nothing():
    """No reward, one, and equal ones, exactly or up to rounding: never any evidence."""
    tenth = ArmStats.empty(1).observe(np.zeros(3, dtype=int), [0.1] * 3)
    for _ in range(200):
        tenth = tenth.merge(ArmStats([7], [0.1 * (1 + 3e-16)], [0]))
    assert tenth.m2[0] > 0  # what rounding leaves
    arms = ArmStats(
        [0, 1, 500, *tenth.n, 300, 300],
        [0, 7, 3, *tenth.mean, 0, 9],
        [0, 0, 0, *tenth.m2, 300, 300],
    )
    evidence = Evidence(arms)
    low, high = evidence.mean_intervals()
    assert np.isinf(low[:4]).all() and np.isinf(high[:4]).all() and np.isfinite(low[4:]).all()
    assert (evidence.against([0, 1, 2, 3], 4) == 0).all()
    assert (evidence.p_value([0, 1, 2, 3], 4) == 1).all()
    assert np.isinf(evidence.difference_interval(2, 4)).all()
    assert evidence.possible_best().tolist() == [True] * 4 + [False, True]


def test_very_little_variance_is_no_infinite_evidence():
    """Two rewards that differ by 1e-9 of each other say at most (n - 1)/2 log(1/kappa) each."""
    arms = ArmStats([2, 2], [1.0, 2.0], [1e-18, 1e-18])
    found = Evidence(arms).against(0, 1)
    assert found < 0.5 * math.log1p(2 / C2) < 0.01
    assert np.isinf(Evidence(arms).mean_intervals()[0]).all()


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**30, 1e-7, 3e5])
def test_units_and_origin_do_not_matter(rng, factor):
    arms = random_arms(rng, 12)
    moved = ArmStats(arms.n, arms.mean * factor, arms.m2 * factor**2)
    a, b = np.arange(6), np.arange(6, 12)
    one, other = Evidence(arms), Evidence(moved)
    assert other.against(a, b) == pytest.approx(one.against(a, b), rel=1e-9, abs=1e-12)
    if math.frexp(factor)[0] == 0.5:  # a power of 2: to the bit
        assert (other.against(a, b) == one.against(a, b)).all()
    assert (other.possible_best() == one.possible_best()).all()
    assert np.asarray(other.difference_interval(a, b)) == pytest.approx(
        np.asarray(one.difference_interval(a, b)) * factor, rel=1e-9
    )


def test_large_means_and_many_rewards():
    arms = ArmStats([2000, 2000], [1e9 + 1, 1e9], [2000, 2000])
    assert Evidence(arms).against(0, 1) == pytest.approx(
        float(Evidence(ArmStats(arms.n, [1, 0], arms.m2)).against(0, 1)), rel=1e-9
    )
    # 1e12 rewards: as if the variance were known, Robbins' normal mixture.
    n, z = 1e12, 5.0
    found = anytime.mean_evidence(n, z / math.sqrt(n), n, 1e9)
    kappa = 1e9 / (n + 1e9)
    assert found == pytest.approx(0.5 * math.log(kappa) + z * z / 2 * (1 - kappa), abs=1e-6)


# ------------------------------------------------------------------------------------------- skewed


def test_an_arm_is_not_heard_before_its_time():
    pairs, means = burn_in(18.05)
    arms = ArmStats([pairs - 1, pairs, means - 1, means], [5, 5, 0, 0], [200, 200, 200, 200])
    evidence = Evidence(arms, kurtosis=18.05)
    assert np.isinf(evidence.mean_intervals()[0]).tolist() == [True, True, True, False]
    assert evidence.against(0, 3) == 0 and evidence.against(1, 3) > 20
    assert evidence.possible_best().tolist() == [True, True, False, False]
    assert Evidence(arms).possible_best().tolist() == [True, True, False, False]
    nobody = Evidence(arms, kurtosis=math.inf)
    assert nobody.possible_best().all() and np.isinf(nobody.difference_interval(1, 3)).all()
    assert burn_in(None) == (0, 0)


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda e: Evidence([1, 2]), TypeError, "stats must be an ArmStats, got [1, 2]"),
        (
            lambda e: Evidence(WORKED, kurtosis=0.5),
            ValueError,
            "kurtosis must be a number and >= 1, got 0.5",
        ),
        (
            lambda e: Evidence(WORKED, kurtosis="3"),
            TypeError,
            "kurtosis must be a number and >= 1, got '3'",
        ),
        (lambda e: Evidence(WORKED, n_opt=0), ValueError, "n_opt must be finite and > 0, got 0"),
        (
            lambda e: e.mean_intervals(1.0),
            ValueError,
            "level must be finite and > 0 and < 1, got 1.0",
        ),
        (
            lambda e: e.possible_best(0),
            ValueError,
            "error must be finite and > 0 and < 1, got 0",
        ),
        (lambda e: e.against(0, 3), ValueError, "b must be an index from 0 to 2, got 3"),
        (lambda e: e.against(-1, 0), ValueError, "a must be an index from 0 to 2, got -1"),
        (
            lambda e: e.p_value(0.0, 1),
            TypeError,
            "a must be an index from 0 to 2 or several, got 0.0",
        ),
        (lambda e: e.against(0, 1, math.nan), ValueError, "difference must be finite, got nan"),
    ],
)
def test_a_wrong_argument_is_one_sentence(ask, error, sentence):
    with pytest.raises(error) as raised:
        ask(Evidence(WORKED))
    assert sentence in str(raised.value)


def test_lambert_w_is_on_the_lower_branch():
    """lam solves x - log(1 + x) = 2 log(1/error); the upper branch gives its negative root."""
    lower = -special.lambertw(-(0.05**2) / np.e, -1).real - 1
    assert lower - math.log1p(lower) == pytest.approx(2 * math.log(20))
    assert lower == pytest.approx(8.211968, abs=1e-6)


# ------------------------------------------------------------------------------ how pairs combine


def test_the_product_needs_log_1_over_error():
    """By a loop over common means on a fine grid, with the threshold of Ville's inequality."""
    arms = ArmStats([400, 300], [1.3, 1.02], [420, 280])
    c2 = 1000 / 8.211968
    grid = np.linspace(1.02, 1.3, 200_001)

    def log_m(n, d, m2):
        kappa = c2 / (n + c2)
        r = n * d**2 / m2
        return 0.5 * math.log(kappa) + n / 2 * (np.log1p(r) - np.log1p(kappa * r))

    least = (log_m(400, grid - 1.3, 420) + log_m(300, grid - 1.02, 280)).min()
    product, fisher = Evidence(arms, pairs="product"), Evidence(arms)
    assert product.against(0, 1) == pytest.approx(least, abs=1e-6)
    assert product.p_value(0, 1) == pytest.approx(min(1, math.exp(-least)), rel=1e-5)
    assert fisher.p_value(0, 1) > product.p_value(0, 1)  # and not the same
    error = math.exp(-least)
    assert product.certain_best(error * 1.001) == 0
    assert product.certain_best(error * 0.999) is None
    assert fisher.certain_best(error * 1.001) is None
    low, high = product.difference_interval(0, 1, 1 - error)
    assert low == pytest.approx(0, abs=1e-6)
    wide = fisher.difference_interval(0, 1, 1 - error)
    assert wide[0] < low < high < wide[1]


def test_pairs_must_be_known():
    with pytest.raises(ValueError, match="unknown pairs 'sum'"):
        Evidence(ArmStats.empty(2), pairs="sum")
    with pytest.raises(ValueError, match="unknown pairs 'sum'"):
        StopAtError(pairs="sum")
