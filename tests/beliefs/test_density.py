"""Densities against SciPy's, and against the slope of the distribution's own quantiles."""

import numpy as np
import pytest
from scipy import stats

from varts.beliefs import Beta, SkewedT, StudentT

PLACES = np.linspace(-4.0, 9.0, 41)


def test_student_t_has_the_density_of_scipy():
    loc, scale, df = np.array([0.0, 2.0, 5.0]), np.array([1.0, 0.3, 4.0]), np.array([3.0, 22, 1e3])
    found = StudentT(loc, scale, df).density(PLACES)
    assert found.shape == (41, 3)
    wanted = stats.t.pdf(PLACES[:, None], df, loc, scale)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    assert not np.allclose(found, stats.t.pdf(PLACES[:, None], df + 1, loc, scale), rtol=1e-3)


def test_infinite_df_is_the_normal_density():
    found = StudentT([1.0], [2.0], np.inf).density(PLACES)[:, 0]
    np.testing.assert_allclose(found, stats.norm.pdf(PLACES, 1, 2), rtol=1e-8)


@pytest.mark.parametrize("skew", [0.0, 0.4, -0.4])
def test_the_density_is_the_slope_of_the_quantiles(skew):
    belief = SkewedT([3.0], [1.0], [12.0], [skew])
    p, step = np.linspace(0.05, 0.95, 19), 1e-6
    x = np.array([belief.quantile(q)[0] for q in p])
    slope = [2 * step / (belief.quantile(q + step) - belief.quantile(q - step))[0] for q in p]
    np.testing.assert_allclose(belief.density(x)[:, 0], slope, rtol=1e-5)


def test_beta_has_the_density_of_scipy_and_none_outside():
    a, b, x = np.array([0.5, 3.0, 400.0]), np.array([0.5, 9.0, 100.0]), np.linspace(0.01, 0.99, 33)
    np.testing.assert_allclose(
        Beta(a, b).density(x), stats.beta.pdf(x[:, None], a, b), rtol=1e-9, atol=1e-200
    )
    assert not Beta(a, b).density([-0.5, 0.0, 1.0, 2.0]).any()


def test_a_point_mass_and_a_huge_unit_do_not_warn():
    found = StudentT([1.0, 1e70], [0.0, 1e69], [np.inf, 5.0]).density([0.0, 2.0, 1e70])
    assert not found[:, 0].any() and found[2, 1] == pytest.approx(stats.t.pdf(0, 5) / 1e69)
