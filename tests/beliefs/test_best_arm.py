"""P(best), expected loss, top m and pairs, where a closed form says what they are.

The answers are held to 1e-10, the losses relative to the spread; the stated accuracy is 1e-8.
"""

import numpy as np
import pytest
from scipy import special, stats

from varts import Beta, NormalGamma, StudentT
from varts.beliefs import distributions, quadrature

INF = np.inf
DFS = [0.004, 0.5, 1, 1.3, 3, INF]


def close(found, known, size=1.0):
    return np.allclose(found, known, rtol=0, atol=1e-10 * size)


# ------------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("gap", [0.0, 0.3, 5.0, -40.0])
@pytest.mark.parametrize("scales", [(3.0, 4.0), (1.0, 1e-12), (1e12, 1e-12)])
def test_two_gaussians(gap, scales):
    """The difference is N(gap, s^2); E[max] = mean of the first + E[(difference)^-]."""
    s = np.hypot(*scales)
    belief = StudentT([gap, 0.0], scales, INF)
    p = special.ndtr(gap / s)
    assert close(belief.p_best(), [p, 1 - p])
    assert close(belief.p_better(), [[0.5, p], [1 - p, 0.5]])
    assert belief.p_better(1, 0) == pytest.approx(1 - p, abs=1e-10)
    loss = s * stats.norm.pdf(gap / s) - gap * special.ndtr(-gap / s)
    assert close(belief.expected_loss(), [loss, loss + gap], size=s)


@pytest.mark.parametrize("scales", [(1.0, 2.0), (1e-12, 1e12), (1e-6, 1e-6)])
def test_two_cauchys(scales):
    """The difference of two Cauchys is a Cauchy whose scale is their sum."""
    p = 0.5 + np.arctan(1.5 / sum(scales)) / np.pi
    assert close(StudentT([1.5, 0.0], scales, 1).p_best(), [p, 1 - p])


@pytest.mark.parametrize(
    "scales", [(1, 1, 1), (1, 2, 3), (1e-12, 1, 1e12), (1, 1e-9, 1e-9), (1e150, 1e150, 3e150)]
)
def test_three_gaussians_at_one_place(scales):
    """P(X1 > X2 and X1 > X3) is an orthant: 1/4 + arcsin(correlation) / (2 pi).

    The correlation is v / sqrt((v + a)(v + b)); as an arctangent it keeps its digits near 1.
    """
    v = np.square(np.divide(scales, max(scales)))
    known = []
    for i in range(3):
        a, b = np.delete(v, i)
        angle = np.arctan2(v[i], np.sqrt(v[i] * a + v[i] * b + a * b))
        known.append(0.25 + angle / (2 * np.pi))
    assert close(StudentT(7.0, scales, INF).p_best(), known)


def test_a_race_of_tiny_df():
    """As df -> 0 a sign is a toss and log |T| exponential with rate df: count the cases."""
    df = np.array([1.0, 2.0, 5.0])
    known = []
    for i in range(3):
        a, (b, c) = df[i], np.delete(df, i)
        beats_b, beats_c = b / (a + b), c / (a + c)
        beats_both = 1 - a / (a + b) - a / (a + c) + a / (a + b + c)
        known.append((beats_both + beats_b + beats_c + 1) / 8 + a / (a + b + c) / 8)
    assert close(StudentT([0, 1, -1], [1, 2, 3], 1e-13 * df).p_best(), known)


@pytest.mark.parametrize("df", DFS)
@pytest.mark.parametrize("K", [1, 2, 7, 1000])
def test_identical_arms_share(df, K):
    belief = StudentT(np.full(K, 3.0), 0.1, df)
    assert close(belief.p_best(), 1 / K)
    assert close(belief.top(min(2, K)), min(2, K) / K)


def test_expected_maximum_of_identical_gaussians():
    """E[max] of 2, 3 and 5 standard normals (David and Nagaraja, Order Statistics)."""
    corner = np.arcsin(1 / 3)
    known = {2: np.pi**-0.5, 3: 1.5 * np.pi**-0.5, 5: (5 / 4 + 15 / (2 * np.pi) * corner)}
    known[5] *= np.pi**-0.5
    for K, value in known.items():
        assert close(StudentT(np.zeros(K), 2.0, INF).expected_loss(), 2 * value)


def test_loss_beside_a_certain_arm():
    """E[(mu - c)^+] of a t: ((df + z^2)/(df - 1) f(z) - z S(z)) s."""
    c, s, df = 1.0, 2.0, 2.5
    t = stats.t(df)
    z = (c - 0.5) / s
    gain = s * ((df + z * z) / (df - 1) * t.pdf(z) - z * t.sf(z))
    assert close(
        StudentT([0.5, c, -3.0], [s, 0, 0], df).expected_loss(), [gain + 0.5, gain, gain + 4]
    )
    z = (0.5 - c) / s  # the certain arm is the lower one
    gain = s * ((df + z * z) / (df - 1) * t.pdf(z) + z * t.cdf(z))
    assert close(StudentT([c, 0.5], [s, 0], df).expected_loss(), [gain, gain + 0.5])


@pytest.mark.parametrize("excess", [1e-9, 1e-4, 0.1])
def test_loss_just_above_df_one(excess):
    """E[max of two] = E|T1 - T2| / 2. Far out |T1 - T2| has twice the tail of |T|, so that this is
    E|T| = 2 f(0) df / (df - 1) up to something bounded."""
    df = 1 + excess
    mean_size = 2 * stats.t.pdf(0, df) * df / (df - 1)
    loss = StudentT([5.0, 5.0], 1.0, df).expected_loss()
    assert loss[0] == loss[1] == pytest.approx(mean_size, abs=0.5, rel=1e-9)


# ---------------------------------------------------------------------------------------- the ends


@pytest.mark.parametrize("df", [0.004, 0.5, 1.0])
def test_loss_is_infinite_without_a_mean(df):
    """One wide tail is enough: E[max] is infinite, or that arm's own shortfall is."""
    belief = StudentT([0.0, 9.0, 1.0], [1.0, 1.0, 0.0], [df, 5.0, df])
    assert (belief.expected_loss() == INF).all()
    assert np.isfinite(StudentT([0.0, 9.0], [1.0, 0.0], [5.0, df]).expected_loss()).all()
    assert StudentT([0.0], 1.0, df).expected_loss().tolist() == [0.0]


def test_certain_arms():
    belief = StudentT([0.0, 1.0, 1.0, 0.5], 0.0, 3.0)
    assert belief.p_best().tolist() == [0, 0.5, 0.5, 0]
    assert belief.expected_loss().tolist() == [1, 0, 0, 0.5]
    assert belief.p_better()[1].tolist() == [1, 0.5, 0.5, 1]
    assert close(belief.top(1), [0, 0.5, 0.5, 0])
    assert close(belief.top(3), [0, 1, 1, 1])


def test_certain_arms_beside_others():
    """t(2) has F(x) = 1/2 + x / (2 sqrt(2 + x^2)): F(1/2) = 2/3."""
    belief = StudentT([0.0, 1.0, 1.0, 0.5], [0, 0, 0, 1.0], [3, 3, 3, 2.0])
    assert close(belief.p_best(), [0, 1 / 3, 1 / 3, 1 / 3])
    assert close(belief.top(2), [0, 5 / 6, 5 / 6, 1 / 3])
    assert close(belief.p_better()[3], [2 / 3, 1 / 3, 1 / 3, 0.5])
    assert close(belief.p_better(0, 3), 1 / 3)


def test_an_infinite_scale_is_a_toss():
    """Twice the same unknown beside a known one: both are below it with probability 1/4."""
    assert close(StudentT([0, 50, 9], [INF, INF, 1.0], 5.0).p_best(), [3 / 8, 3 / 8, 1 / 4])
    belief = NormalGamma([0, 3, 1], [0, 4, 4], 2, 1).belief()
    assert belief.scale[0] == INF
    rest = StudentT(belief.loc[1:], belief.scale[1:], belief.df[1:]).p_best()
    assert close(belief.p_best(), [0.5, *(rest / 2)])
    assert (belief.expected_loss() == INF).all()
    assert close(belief.p_better()[0], 0.5)


def test_far_apart():
    belief = StudentT([0.0, 1e9, -1e9], 1.0, [INF, 5.0, 3.0])
    assert close(belief.p_best(), [0, 1, 0])
    assert close(belief.expected_loss(), [1e9, 0, 2e9])
    tail = stats.t.sf(1e9 / 2, 0.5)  # P(T1 + T2 > 1e9) is nearly 2 P(T > 1e9)
    p = StudentT([0.0, 1e9], 1.0, 0.5).p_best()[0]
    assert 1.4 * tail / 2 < p < 3 * tail


def test_a_large_offset_changes_nothing():
    """Locations that are exact both with and without it give the same bits."""
    loc, scale, df = np.array([0.0, 0.25, 0.375]), [0.125, 0.5, 1e-6], [5.0, 3.0, 2.0]
    plain, moved = StudentT(loc, scale, df), StudentT(loc + 2.0**30, scale, df)
    assert close(plain.p_best(), moved.p_best())
    assert close(plain.expected_loss(), moved.expected_loss())


def test_the_smallest_and_largest_numbers():
    for unit in (1e-300, 1e300):
        belief = StudentT([unit, 2 * unit], unit, 3.0)
        one = StudentT([1.0, 2.0], 1.0, 3.0)
        assert close(belief.p_best(), one.p_best())
        assert close(belief.expected_loss() / unit, one.expected_loss())
    assert close(StudentT([1.0, 1.0], [1e-320, 1.0], [1e-300, 1e300]).p_best(), 0.5)


def test_hopeless_arms_are_pruned():
    """Of 1000 arms two matter: the answer is that of the two."""
    loc = np.full(1000, -100.0)
    loc[[17, 600]] = 0.0, 1.0
    p = StudentT(loc, 1.0, INF).p_best()
    assert close(p[[17, 600]], StudentT([0.0, 1.0], 1.0, INF).p_best())
    assert np.delete(p, [17, 600]).sum() < 1e-10
    assert p.min() >= 0 and p.sum() == pytest.approx(1, abs=1e-12)


# -------------------------------------------------------------------------------------------- Beta


def test_beta_in_closed_form():
    """P(X > Y) of two Betas with a whole number a: Miller's sum."""
    (a, b), (c, d) = (31.0, 12.5), (40.0, 22.0)
    i = np.arange(a)
    terms = special.betaln(c + i, b + d) - special.betaln(1 + i, b) - special.betaln(c, d)
    p = np.sum(np.exp(terms) / (b + i))
    belief = Beta([a, c], [b, d])
    assert close(belief.p_best(), [p, 1 - p])
    assert close(belief.p_better()[0, 1], p)


def test_beta_maximum():
    """E[max] of K uniforms is K/(K + 1); of two arcsine ones 1/2 + 2/pi^2."""
    assert close(Beta(np.ones(9), 1.0).expected_loss(), 0.9 - 0.5)
    assert close(Beta([0.5, 0.5], 0.5).expected_loss(), 2 / np.pi**2)
    assert close(Beta(np.ones(9), 1.0).top(4), 4 / 9)


@pytest.mark.parametrize("n", [1e5, 1e9])
def test_beta_of_many_rewards_is_nearly_gaussian(n):
    """Third moments differ by O(n^-1/2) of a standard deviation."""
    mean = 0.3 + np.array([0.0, 0.5, -0.4]) / np.sqrt(n)
    belief = Beta(mean * n, (1 - mean) * n)
    normal = StudentT(mean, np.sqrt(mean * (1 - mean) / (n + 1)), INF)
    assert np.allclose(belief.p_best(), normal.p_best(), atol=n**-0.5)
    assert np.allclose(belief.expected_loss(), normal.expected_loss(), atol=1 / n)


def test_beta_with_tiny_shapes_is_a_toss():
    """Beta(e, 2e) and Beta(e, e) end at 0 or 1; if both at 1, 1 - x is a race of rates 2e and e."""
    e = 1e-9
    p = 1 / 3 * 1 / 2 + 1 / 3 * 1 / 2 * 1 / 3 + 2 / 3 * 1 / 2 * 1 / 2
    assert np.allclose(Beta([e, e], [2 * e, e]).p_best(), [p, 1 - p], atol=1e-7)


@pytest.mark.parametrize(("a", "b"), [(0.01, 1e4), (0.1, 1e6), (1e-3, 1e6), (1e6, 0.02)])
def test_betas_with_little_mass_at_one_end_and_much_at_the_other(a, b):
    """The tails are known as well as the density, though log gamma is 1e7 there."""
    assert close(Beta([a], [b]).p_best(), 1)
    assert close(Beta([a, a], [b, b]).p_better(), 0.5)
    found = Beta([a, 1.0], [b, 1.0])  # against a uniform: P = E[x]
    assert close(found.p_best()[0], a / (a + b)) and close(found.p_better(0, 1), a / (a + b))


# ------------------------------------------------------------------------------- shapes and errors


def test_rows_of_arms():
    loc = np.array([[[0.0, 1.0, 2.0]], [[5.0, 1.0, 1.0]]])
    rows = StudentT(loc, 1.0, 4.0)
    one = StudentT(loc[1, 0], 1.0, 4.0)
    assert rows.p_best().shape == rows.expected_loss().shape == rows.top(2).shape == (2, 1, 3)
    assert np.array_equal(rows.p_best()[1, 0], one.p_best())
    assert rows.p_better().shape == (2, 1, 3, 3)
    assert rows.p_better(0, 2)[1, 0] == one.p_better(0, 2)
    assert rows.p_better(1, 1).tolist() == [[0.5], [0.5]]


def test_lower_is_better():
    assert np.array_equal(StudentT([1.0, 2.0], 1.0, 3.0).mirrored().loc, [-1, -2])
    belief = StudentT([1.0, 2.0, 2.5], [1.0, 2.0, 0.3], [3.0, 9.0, INF])
    assert close(belief.mirrored().top(1), 1 - belief.top(2))
    beta = Beta([1.0, 3.0, 9.0], [2.0, 2.0, 7.0])
    assert close(beta.mirrored().p_best(), 1 - beta.top(2))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda b: b.top(0), "m must be a whole number >= 1, got 0"),
        (lambda b: b.top(3), "m must be a whole number >= 1 and <= 2, got 3"),
        (lambda b: b.p_better(0, 2), "j must be a whole number >= 0 and <= 1, got 2"),
        (lambda b: b.p_better(1), "j must be a whole number >= 0, got None"),
        (lambda b: b.p_better(-1, 0), "i must be a whole number >= 0, got -1"),
    ],
)
def test_a_wrong_argument_is_one_sentence(ask, words):
    with pytest.raises((TypeError, ValueError)) as refusal:
        ask(StudentT([0.0, 1.0], 1.0, 3.0))
    assert str(refusal.value) == words


# ------------------------------------------------------------------------------------ error control


def test_a_density_that_is_not_the_derivative_of_f_is_refused(monkeypatch):
    """Negative control of the error control: densities 1e-6 too high cannot pass for true."""
    belief = StudentT([0.0, 1.0], 1.0, 3.0)
    right = distributions.t_height
    monkeypatch.setattr(distributions, "t_heights", lambda df: right(df) * (1 + 1e-6))
    with pytest.raises(ArithmeticError, match=r"^quadrature did not converge after \d+ panels$"):
        belief.p_best()


def test_a_narrow_arm_between_nodes_is_found(monkeypatch):
    """One panel over 1e6 scales of the narrow arm, none of whose nodes sees it."""
    monkeypatch.setattr(quadrature, "FIRST_PANEL_WIDTH", 100.0)
    found = StudentT([0.3, 0.0], [1e-6, 1.0], INF).p_best()
    assert close(found[0], special.ndtr(0.3))
    monkeypatch.setattr(quadrature, "ERROR_PER_PANEL", 10.0)  # wrong if errors are not looked at
    with pytest.raises(ArithmeticError, match=r"^quadrature is off by .*, more than 1e-8$"):
        StudentT([0.3, 0.0], [1e-6, 1.0], INF).p_best()
