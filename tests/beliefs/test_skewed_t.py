"""The skewed t: its formulas against its definition, and against integrals of another kind."""

import numpy as np
import pytest
from scipy import integrate, stats

from tests.seeds import fresh
from varts import SkewedT, StudentT
from varts.beliefs.distributions import SkewedStudents

RNG = np.random.default_rng(fresh(7))
PAIRS = [
    SkewedT(loc, scale, df, skew)
    for loc, scale, df, skew in [
        ([0.0, 0.3], [1.0, 0.5], [5.0, 9.0], [0.4, 0.2]),
        ([0.0, 0.3], [1.0, 0.5], [2.1, 40.0], [-0.6, 0.9]),
        ([1.0, 1.1], [0.02, 0.5], [3.0, 3.0], [0.01, 2.0]),
        ([0.0, 2.0], [1.0, 1.0], [np.inf, 4.0], [0.5, -0.5]),
        ([1e9, 1e9 + 1], [1.0, 2.0], [6.0, 6.0], [0.3, 0.3]),
        ([0.0, 0.0], [1.0, 1.0], [8.0, 8.0], [1e-12, -1e-12]),
        ([0.0, 1e-3], [1e-3, 1e-3], [12.0, 300.0], [1e-3, 1e-2]),
        ([0.0, 0.2], [1.0, 0.5], [1.5, 9.0], [0.0, 0.3]),  # a mean that exists as nothing is skewed
    ]
]


def below(belief, j, x):
    """P(mean of arm j < x), by the definition: z = (x - loc) / sqrt(scale^2 + skew (x - loc))."""
    away = np.asarray(x) - belief.loc[j]
    square = belief.scale[j] ** 2 + belief.skew[j] * away
    z = np.where(
        square > 0, away / np.sqrt(np.where(square > 0, square, 1)), np.copysign(np.inf, away)
    )
    return cdf(z, belief.df[j])


def cdf(z, df):
    return stats.norm.cdf(z) if np.isinf(df) else stats.t.cdf(z, df)


def integral(belief, i, g):
    """E[g(mean of arm i)], over the quantiles of arm i, in panels that shrink towards both ends."""
    ends = np.concatenate([[0.0], np.logspace(-14, np.log10(0.5), 8000)])
    ends = np.concatenate([ends, 1 - ends[-2::-1]])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    p = np.clip(middle[:, None] + half[:, None] * nodes, 1e-17, 1 - 1e-16)
    df = belief.df[i]
    z = stats.norm.ppf(p) if np.isinf(df) else stats.t.ppf(p, df)
    root = np.sqrt(belief.scale[i] ** 2 + (belief.skew[i] * z / 2) ** 2)
    x = belief.loc[i] + z * (root + belief.skew[i] * z / 2)
    return float((g(x) * half[:, None] * weights).sum())


@pytest.mark.parametrize("belief", PAIRS)
def test_quantiles_invert_the_definition(belief):
    for p in (1e-6, 0.025, 0.5, 0.9, 1 - 1e-6):
        for j, x in enumerate(belief.quantile(p)):
            close = 1e-9 if abs(belief.loc[j]) < 1e6 else 1e-6
            assert below(belief, j, x) == pytest.approx(p, rel=close * 100, abs=close)


@pytest.mark.parametrize("belief", PAIRS)
def test_p_best_against_an_integral_over_quantiles(belief):
    expected = integral(belief, 0, lambda x: below(belief, 1, x))
    assert belief.p_best()[0] == pytest.approx(expected, abs=1e-6)
    assert belief.p_better(0, 1) == pytest.approx(expected, abs=1e-6)
    assert belief.top(1)[0] == pytest.approx(expected, abs=1e-6)
    assert belief.mirrored().p_best()[1] == pytest.approx(expected, abs=1e-6)
    turned = SkewedT(belief.loc, belief.scale, belief.df, -belief.skew)
    if np.abs(belief.skew).max() > 0.1:  # the control: the other way round is another answer
        assert abs(turned.p_best()[0] - expected) > 1e-3


@pytest.mark.parametrize("belief", PAIRS)
def test_expected_loss_against_an_integral(belief):
    """E[max] - E[mean of 1] = E[(mean of 0 - mean of 1)^+] = integral of F_1 S_0."""
    far = max(
        np.abs(belief.quantile(1e-15) - belief.loc).max(),
        np.abs(belief.quantile(1 - 1e-15) - belief.loc).max(),
    )
    grid = belief.loc.mean() + np.concatenate(
        [-np.logspace(np.log10(far) + 2, -9, 4000), np.logspace(-9, np.log10(far) + 2, 4000)]
    )
    nodes, weights = np.polynomial.legendre.leggauss(12)
    middle, half = (grid[1:] + grid[:-1]) / 2, np.diff(grid) / 2
    x = middle[:, None] + half[:, None] * nodes
    expected = ((1 - below(belief, 0, x)) * below(belief, 1, x) * half[:, None] * weights).sum()
    # A tail of power 1.05, as of the second pair, is still worth a thousandth out there.
    close = 2e-2 if belief.df.min() < 2.5 else 1e-5
    assert belief.expected_loss()[1] == pytest.approx(expected, rel=close)
    gap = belief.mean[1] - belief.mean[0]
    assert belief.expected_loss()[0] - belief.expected_loss()[1] == pytest.approx(
        gap, rel=1e-6, abs=1e-12
    )


def test_without_skew_it_is_a_student_t():
    loc, scale, df = RNG.normal(size=6), np.exp(RNG.normal(size=6)), 1.5 + RNG.exponential(5, 6)
    skewed, plain = SkewedT(loc, scale, df, 0.0), StudentT(loc, scale, df)
    for name in ("p_best", "expected_loss", "interval", "p_better"):
        assert np.allclose(getattr(skewed, name)(), getattr(plain, name)(), rtol=1e-10, atol=1e-12)


@pytest.mark.statistical
def test_draws_have_the_distribution():
    """Kolmogorov-Smirnov with 20,000 draws at 1e-6; the mirrored belief, the control, fails."""
    belief = SkewedT([1.0], [0.5], [6.0], [0.3])
    uniform = RNG.random((2, 20_000, 1))
    for draws in (belief.sample(RNG, 20_000), belief.at(*uniform)):
        found = below(belief, 0, draws[:, 0])
        assert stats.kstest(found, "uniform").pvalue > 1e-6
        other = below(SkewedT([1.0], [0.5], [6.0], [-0.3]), 0, draws[:, 0])
        assert stats.kstest(other, "uniform").pvalue < 1e-6
    assert 0 <= belief.argmax(RNG) < 1


@pytest.mark.parametrize("df", [2.2, 3.0, 3.9, 4.1, 20.0, 1e7, np.inf])
@pytest.mark.parametrize("skew", [-0.8, -0.01, 0.3, 2.0])
def test_what_lies_above(df, skew):
    """E[(mu - x)^+] - E[(x - mu)^+] = E[mu] - x, each by the formula for one tail."""
    loc, scale = np.zeros((1, 1)), np.ones((1, 1))
    arms = SkewedStudents(loc, scale, np.array([[df]]), np.array([[skew]]))
    for x in (-3.0, -0.2, 0.0, 1.0, 30.0):
        t = np.array([[x]])
        below_x, above_x = arms.ends(t)
        up = arms.above(t, above_x)[0, 0]
        down = arms.mirrored().above(-t, below_x)[0, 0]
        mean = skew / 2 / (1 - 2 / df)
        assert up >= 0
        assert down >= 0
        assert up - down == pytest.approx(mean - x, rel=1e-8, abs=1e-8)
    inner = integrate.quad(lambda y: arms.ends(np.array([[y]]))[1][0, 0], 0.1, 0.4)[0]
    above = [arms.above(np.array([[x]]), arms.ends(np.array([[x]]))[1])[0, 0] for x in (0.1, 0.4)]
    assert above[0] - above[1] == pytest.approx(inner, abs=1e-7)


def test_extremes():
    points = SkewedT([1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0], [1.0, 1.0, 1.0])
    assert points.p_best().tolist() == [0, 0.5, 0.5]
    assert points.expected_loss().tolist() == [1, 0, 0]
    one = SkewedT([1.0], [0.3], [9.0], [0.2])
    assert one.p_best().tolist() == [1]
    assert one.expected_loss().tolist() == [0]
    beside = SkewedT([1.0, 1.2], [0.0, 0.5], [9.0, 9.0], [0.0, 0.4])
    assert beside.p_best()[0] == pytest.approx(float(below(beside, 1, 1.0)), abs=1e-9)
    heavy = SkewedT([0.0, 1.0], [1.0, 1.0], [1.8, 9.0], [0.5, 0.5])
    assert np.isinf(heavy.expected_loss()).all()
    assert np.isfinite(heavy.p_best()).all()
    left = SkewedT([0.0, 1.0], [1.0, 1.0], [1.8, 9.0], [-0.5, 0.5]).expected_loss()
    assert np.isinf(left[0])
    assert np.isfinite(left[1])
    with pytest.raises(
        ValueError, match="skew must be at most 30 scales, got 31 with a scale of 1"
    ):
        SkewedT([0.0], [1.0], [5.0], [31.0])
    with pytest.raises(ValueError, match="scale of a skewed belief"):
        SkewedT([0.0], [np.inf], [5.0], [0.1])


def test_rows_of_arms():
    belief = SkewedT([[0.0, 1.0], [1.0, 0.0]], 1.0, 5.0, [[0.1, 0.2], [0.2, 0.1]])
    assert np.allclose(belief.p_best()[0], belief.p_best()[1][::-1])
