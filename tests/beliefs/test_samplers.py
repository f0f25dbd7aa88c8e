"""Samplers against SciPy's distribution functions.

Every sample is turned into what should be uniform numbers, and those are tested by chi-square on
50 bins. A test fails at p < 1e-6; about 50 such tests make the false-alarm rate of the whole file
5e-5. Negative controls must fall below the same limit.
"""

import numpy as np
import pytest
from numba import njit
from scipy import special
from scipy.stats import chisquare

from tests.reference import log_gamma_cdf, t_cdf, t_tail, uniform_p
from tests.seeds import fresh
from varts.beliefs import Beta, StudentT
from varts.simulation.engine.compiled import rng as engine
from varts.simulation.engine.splitmix import TO_UNIT, bits, stream

pytestmark = pytest.mark.no_cover

LIMIT = 1e-6
DRAWS = 200_000
DFS = [0.004, 0.5, 1, 3, 30, 1e6, np.inf]
UNIFORM, NORMAL, EXPONENTIAL, GAMMA, LOG_GAMMA, BETA, STUDENT = range(7)


@njit
def fill(kind, a, b, out, state):
    """One compiled loop for all samplers, so that the tests compile once."""
    for i in range(out.size):
        x = 0.0
        if kind == UNIFORM:
            x, state = engine.uniform(state)
        elif kind == NORMAL:
            x, state = engine.normal(state)
        elif kind == EXPONENTIAL:
            x, state = engine.exponential(state)
        elif kind == GAMMA:
            x, state = engine.gamma(a, state)
        elif kind == LOG_GAMMA:
            x, state = engine.log_gamma(a, state)
        elif kind == BETA:
            x, state = engine.beta(a, b, state)
        else:
            x, state = engine.student(0.0, b, a, state)
        out[i] = x


def draws(kind, a=0.0, b=0.0, seed=1, size=DRAWS):
    out = np.empty(size)
    fill(kind, float(a), float(b), out, np.uint64(stream(fresh(seed), kind)))
    return out


# ------------------------------------------------------------------------------ compiled samplers


@pytest.mark.statistical
def test_uniform():
    x = draws(UNIFORM)
    assert x.min() >= 0 and x.max() < 1
    assert uniform_p(x) > LIMIT


@pytest.mark.statistical
def test_uniform_neighbours_are_independent():
    x = draws(UNIFORM, seed=2)
    pairs = np.histogram2d(x[:-1:2], x[1::2], 16, [(0, 1), (0, 1)])[0]
    assert chisquare(pairs.ravel()).pvalue > LIMIT


@pytest.mark.statistical
def test_normal():
    assert uniform_p(special.ndtr(draws(NORMAL))) > LIMIT


@pytest.mark.statistical
def test_normal_tail():
    """Beyond 3.65 the ziggurat hands over to another sampler; test that alone."""
    x = np.abs(draws(NORMAL, seed=3, size=20_000_000))
    tail = x[x > engine.NORMAL_TAIL]
    beyond = 2 * special.ndtr(-engine.NORMAL_TAIL)
    assert abs(tail.size - beyond * x.size) < 5 * np.sqrt(beyond * x.size)
    assert uniform_p(2 * special.ndtr(-tail) / beyond, bins=20) > LIMIT


@pytest.mark.statistical
def test_exponential():
    x = draws(EXPONENTIAL)
    assert x.max() > engine.EXP_TAIL  # the tail was visited
    assert uniform_p(-np.expm1(-x)) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [1, 1.5, 4, 50, 1e4])
def test_gamma(shape):
    assert uniform_p(special.gammainc(shape, draws(GAMMA, shape))) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [0.002, 0.3, 0.9, 2.5])
def test_log_gamma(shape):
    x = draws(LOG_GAMMA, shape)
    assert np.isfinite(x).all()
    assert uniform_p(log_gamma_cdf(x, shape)) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (200, 1), (0.5, 0.5), (0.2, 9.8), (2, 0.4)])
def test_beta(a, b):
    x = draws(BETA, a, b)
    assert x.min() >= 0 and x.max() <= 1
    assert uniform_p(special.betainc(a, b, x)) > LIMIT


@pytest.mark.parametrize(("a", "b", "point"), [(0, 3, 0.0), (3, 0, 1.0)])
def test_beta_of_a_sure_arm_is_a_point(a, b, point):
    assert (draws(BETA, a, b, size=100) == point).all()


def student_uniform(df, scale=1.0, against=None):
    """An infinite draw is beyond every number: it counts as the tail beyond the largest one."""
    x = draws(STUDENT, df, scale)
    df = df if against is None else against
    with np.errstate(divide="ignore"):
        u = t_cdf(np.sign(x), np.log(np.abs(x)) - np.log(scale), df)
    infinite = np.isinf(x)
    tail = t_tail(np.log(np.finfo(float).max) - np.log(scale), df) / 2
    spread = tail * np.random.default_rng(fresh(6)).random(infinite.sum())
    u[infinite] = np.where(x[infinite] > 0, 1 - spread, spread)
    return u


@pytest.mark.statistical
@pytest.mark.parametrize("df", DFS)
def test_student(df):
    assert uniform_p(student_uniform(df)) > LIMIT


@pytest.mark.statistical
def test_student_scale():
    assert uniform_p(student_uniform(3, scale=0.01)) > LIMIT


@pytest.mark.statistical
def test_student_overflows_to_infinity_and_never_to_nan():
    """At df = 0.004, P(|T| > 1.8e308) = 0.06: as many are infinite, within 5 standard errors."""
    x = draws(STUDENT, 0.004, 1.0)
    assert not np.isnan(x).any()
    infinite, error = np.isinf(x).mean(), np.sqrt(0.06 / DRAWS)
    assert abs(infinite - t_tail(np.log(np.finfo(float).max), 0.004)) < 5 * error
    assert abs(infinite - t_tail(np.log(np.finfo(float).max), 0.005)) > 5 * error  # the control
    assert np.sign(x[np.isinf(x)]).mean() == pytest.approx(0, abs=5 / np.sqrt(0.06 * DRAWS))


@pytest.mark.parametrize("df", [0.5, 3, np.inf])
def test_student_of_scale_zero_is_a_point(df):
    assert (draws(STUDENT, df, 0.0, size=100) == 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("df", "wrong"), [(3, 4), (0.5, 0.6), (0.004, 0.005), (30, np.inf)])
def test_wrong_df_is_rejected(df, wrong):
    assert uniform_p(student_uniform(df, against=wrong)) < LIMIT


@pytest.mark.statistical
def test_streams_do_not_share_a_pattern():
    """The first numbers of streams with neighbouring keys, as the reward tape uses them."""
    run = stream(fresh(7), 0)
    first = [(bits(stream(run, key))[0] >> 11) * TO_UNIT for key in range(20_000)]
    assert uniform_p(first) > LIMIT
    pairs = np.histogram2d(first[:-1:2], first[1::2], 8, [(0, 1), (0, 1)])[0]
    assert chisquare(pairs.ravel()).pvalue > LIMIT


# --------------------------------------------------------------------------------------- ziggurat


@pytest.mark.parametrize(
    ("widths", "limits", "heights", "area", "base"),
    [
        (
            engine.NORMAL_W,
            engine.NORMAL_K,
            engine.NORMAL_F,
            engine.NORMAL_AREA,
            engine.NORMAL_TAIL * np.exp(-(engine.NORMAL_TAIL**2) / 2)
            + np.sqrt(2 * np.pi) * special.ndtr(-engine.NORMAL_TAIL),
        ),
        (
            engine.EXP_W,
            engine.EXP_K,
            engine.EXP_F,
            engine.EXP_AREA,
            (engine.EXP_TAIL + 1) * np.exp(-engine.EXP_TAIL),
        ),
    ],
    ids=["normal", "exponential"],
)
def test_ziggurat_closes(widths, limits, heights, area, base):
    """256 layers of equal area: rectangle times height for 255, body plus tail for the base."""
    edge = np.append(widths * 2.0**52, 0.0)
    assert (np.diff(edge) < 0).all()
    assert np.allclose(edge[1:-1] * np.diff(heights)[1:], area, rtol=0, atol=1e-11)
    assert base == pytest.approx(area, abs=1e-12)
    assert edge[0] * heights[0] == pytest.approx(area, abs=1e-12)
    assert np.allclose(limits * 2.0**-52, edge[1:] / edge[:-1], rtol=1e-12)
    assert heights[-1] == 1


# ------------------------------------------------------------------------------------ NumPy side


def numpy_student_uniform(df, against=None, scale=1.0, believed=1.0):
    belief = StudentT(0.0, scale, df)
    sign, log_x = belief.sample_log(np.random.default_rng(fresh(5)), DRAWS)
    df = df if against is None else against
    return t_cdf(sign, log_x - np.log(believed), df).ravel()


@pytest.mark.statistical
@pytest.mark.parametrize("df", DFS)
def test_numpy_student(df):
    assert uniform_p(numpy_student_uniform(df)) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize(("df", "wrong"), [(3, 4), (0.5, 0.6), (0.004, 0.005), (30, np.inf)])
def test_numpy_wrong_df_is_rejected(df, wrong):
    assert uniform_p(numpy_student_uniform(df, against=wrong)) < LIMIT


@pytest.mark.statistical
def test_numpy_variance_taken_for_a_standard_deviation_is_rejected():
    n = 2.0
    assert uniform_p(numpy_student_uniform(np.inf, scale=1 / n, believed=n**-0.5)) < LIMIT


def test_sample_is_location_and_scale_of_sample_log():
    belief = StudentT([1.0, -2.0], [0.5, 3.0], [4.0, 0.3])
    sign, log_x = belief.sample_log(np.random.default_rng(8), 1000)
    x = belief.sample(np.random.default_rng(8), 1000)
    assert np.array_equal(x, belief.loc + sign * np.exp(log_x))


@pytest.mark.statistical
def test_arms_are_independent_and_have_their_own_df():
    belief = StudentT([0.0, 0.0], [1.0, 1.0], [0.5, 8.0])
    sign, log_x = belief.sample_log(np.random.default_rng(fresh(6)), DRAWS)
    u, v = (t_cdf(sign[:, i], log_x[:, i], belief.df[i]) for i in range(2))
    pairs = np.histogram2d(u, v, 8, [(0, 1), (0, 1)])[0]
    assert chisquare(pairs.ravel()).pvalue > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (30, 2)])
def test_numpy_beta(a, b):
    x = Beta(a, b).sample(np.random.default_rng(fresh(7)), DRAWS).ravel()
    assert uniform_p(special.betainc(a, b, x)) > LIMIT
    assert uniform_p(special.betainc(1.05 * a, b, x)) < LIMIT


@pytest.mark.parametrize("df", [0.5, 1, 3, 30, np.inf])
def test_student_quantiles_invert_the_cdf(df):
    p = np.array([0.001, 0.3, 0.5, 0.9, 0.99])
    x = (StudentT(np.full(5, 2.0), 3.0, df).quantile(p) - 2) / 3
    with np.errstate(divide="ignore"):
        back = t_cdf(np.sign(x), np.log(np.abs(x)), df)
    assert np.allclose(back, p, rtol=1e-9)


@pytest.mark.statistical
def test_the_highest_level_has_an_interval():
    """Half of it more than 1 / 2 rounds to 1, which is no probability of a quantile."""
    level = float(np.nextafter(1, 0))
    low, high = StudentT([0.0, 1.0], [1.0, 2.0], [5.0, np.inf]).interval(level)
    assert (np.isfinite(low) & np.isfinite(high) & (low < high)).all()


def test_intervals_cover_their_level():
    """200,000 draws of each arm: coverage within 5 standard errors (false alarm 6e-7 each)."""
    for belief in (StudentT([0.0, 5.0], [1.0, 2.0], [2.5, np.inf]), Beta([2.0, 9.0], [3.0, 1.0])):
        low, high = belief.interval(0.8)
        x = belief.sample(np.random.default_rng(fresh(9)), DRAWS)
        inside = ((x > low) & (x < high)).mean(axis=0)
        assert (np.abs(inside - 0.8) < 5 * np.sqrt(0.16 / DRAWS)).all()
