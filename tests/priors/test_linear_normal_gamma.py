"""The linear prior against textbook formulas in exact fractions, SciPy and quadrature."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as distributions

from tests.reference import without_features
from tests.textbook import Textbook
from tests.tiers import examples
from varts import ArmStats, LinearNormalGamma, LinearStats, NormalGamma
from varts.priors import Prior, prior_from


def numbers(seed=0, d=3, scale=1.0, level=0.0):
    """A prior with dense precision, features in units of `scale` around `level`."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    precision = (root @ root.T + np.eye(d)) * np.outer(np.ones(d) * scale, np.ones(d) * scale)
    slopes = rng.standard_normal(d) / scale
    center = level + scale * rng.standard_normal(d)
    return level + 1.0, 2.0, 3.0, 4.0, slopes, (precision + precision.T) / 2, center


def draw(seed, n, d, scale=1.0, level=0.0):
    rng = np.random.default_rng([seed, 1])
    x = level + scale * rng.standard_normal((n, d))
    y = level + (x - level) @ rng.standard_normal(d) / scale + rng.standard_normal(n)
    return x, y


def observed(x, y):
    return LinearStats.empty(1, x.shape[1]).observe(np.zeros(len(y), int), x, y)


def distance(belief, exact):
    """Of locations in scales, of scales and degrees of freedom relative."""
    loc, scale, df = exact
    off = (belief.loc.flat[0] - loc) / scale, belief.scale.flat[0] / scale - 1, belief.df[0] - df
    return np.abs(off).max()


# ------------------------------------------------------------------ against exact fractions


@pytest.mark.parametrize("n", [0, 1, 2, 12])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_posterior_is_the_textbook_one(n, d, scale):
    """d > n included. Rounding is about 1e-16 times the condition of the matrix, here some 100."""
    given, (x, y) = numbers(d=d, scale=scale), draw(0, n, d, scale)
    posterior = LinearNormalGamma(*given).posterior(observed(x, y))
    exact = Textbook.prior(*given).posterior(x, y)
    assert posterior.alpha[0] == exact.a
    assert posterior.beta[0] == pytest.approx(float(exact.b), rel=1e-12)
    slopes = np.array([float(value) for value in exact.m[1:]])
    assert posterior.slopes[0] * scale == pytest.approx(slopes * scale, rel=1e-11, abs=1e-12)
    for unit in scale * np.random.default_rng(2).standard_normal((3, d)):
        assert distance(posterior.belief(unit), exact.at(unit)) < 1e-11


def test_a_wrong_update_is_that_far_away():
    """The controls of the test above: a reward counted twice, and a precision not updated."""
    given, (x, y) = numbers(), draw(0, 12, 3)
    exact = Textbook.prior(*given).posterior(x, y).at(x[0])
    prior = LinearNormalGamma(*given)
    right = prior.posterior(observed(x, y))
    assert distance(right.belief(x[0]), exact) < 1e-11
    twice = prior.posterior(observed(np.vstack([x, x[:1]]), np.append(y, y[0])))
    assert distance(twice.belief(x[0]), exact) > 0.01
    stale = LinearNormalGamma(
        *(right.mu, right.kappa, right.alpha, right.beta),
        *(right.slopes, prior.precision, right.center),
    )
    assert distance(stale.belief(x[0]), exact) > 0.01


def test_features_and_rewards_at_a_billion():
    """1e9 +- 1: a double is 1.2e-7 wide there, and so is the error."""
    given, (x, y) = numbers(level=1e9), draw(0, 40, 3, level=1e9)
    posterior = LinearNormalGamma(*given).posterior(observed(x, y))
    exact = Textbook.prior(*given).posterior(x, y)
    assert posterior.beta[0] == pytest.approx(float(exact.b), rel=1e-6)
    assert distance(posterior.belief(x[0]), exact.at(x[0])) < 1e-5


def test_collinear_and_constant_features():
    """The same column twice, and a constant one: the prior separates them."""
    given, (x, y) = numbers(), draw(0, 30, 3)
    x[:, 1], x[:, 2] = x[:, 0], 7.0
    posterior = LinearNormalGamma(*given).posterior(observed(x, y))
    exact = Textbook.prior(*given).posterior(x, y)
    for unit in (x[0], np.array([1.0, -1.0, 3.0])):
        assert distance(posterior.belief(unit), exact.at(unit)) < 1e-10


def test_kappa_0_says_nothing_about_the_level():
    given, (x, y) = numbers(), draw(0, 12, 3)
    flat = (5.0, 0.0, *given[2:])
    posterior = LinearNormalGamma(*flat).posterior(observed(x, y))
    exact = Textbook.prior(*flat).posterior(x, y)
    assert distance(posterior.belief(x[0]), exact.at(x[0])) < 1e-11
    nothing = LinearNormalGamma(*flat).posterior(LinearStats.empty(2, 3))
    assert np.isinf(nothing.belief(x[0]).scale).all()
    assert (nothing.at(x[0])[1] == 0).all()


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 6))
def test_any_prior_and_any_rewards(seed, d, n):
    given, (x, y) = numbers(seed, d), draw(seed, n, d)
    posterior = LinearNormalGamma(*given).posterior(observed(x, y))
    exact = Textbook.prior(*given).posterior(x, y)
    unit = np.random.default_rng([seed, 2]).standard_normal(d)
    assert distance(posterior.belief(unit), exact.at(unit)) < 1e-8


def test_two_hundred_features_and_a_thousand_arms():
    """Against least squares with the prior as rows of data, solved by SciPy's QR or SVD."""
    for K, d, n in ((2, 200, 150), (1000, 3, 4)):
        rng = np.random.default_rng(d)
        x, y = rng.standard_normal((K, n, d)), rng.standard_normal((K, n))
        stats = LinearStats.empty(K, d).observe(
            np.repeat(np.arange(K), n), x.reshape(-1, d), y.ravel()
        )
        unit = rng.standard_normal(d)
        belief = LinearNormalGamma.ridge(d).posterior(stats).belief(unit)
        for k in (0, K - 1):
            design = np.vstack([np.column_stack([np.ones(n), x[k]]), np.eye(d + 1)])
            rewards = np.append(y[k], np.zeros(d + 1))
            m, *_ = np.linalg.lstsq(design, rewards)
            rate = 1 + ((rewards - design @ m) ** 2).sum() / 2
            z = np.append(1.0, unit)
            width = np.linalg.norm(np.linalg.lstsq(design.T, z)[0])
            exact = float(z @ m), np.sqrt(rate / (1 + n / 2)) * width, 2.0 + n
            one = LinearNormalGamma.ridge(d).posterior(stats.take([k])).belief(unit)
            assert distance(one, exact) < 1e-9
            assert belief.loc[k] == pytest.approx(one.loc[0], abs=1e-12)


# ------------------------------------------------------------------ evidence and quadrature


def test_evidence_is_a_multivariate_t():
    given, (x, y) = numbers(), draw(0, 9, 3)
    mu, kappa, alpha, beta, slopes, precision, center = given
    away = x - center
    spread = np.eye(9) + 1 / kappa + away @ np.linalg.inv(precision) @ away.T
    exact = distributions.multivariate_t(mu + away @ slopes, beta / alpha * spread, 2 * alpha)
    prior = LinearNormalGamma(*given)
    assert prior.log_evidence(observed(x, y))[0] == pytest.approx(exact.logpdf(y), abs=1e-9)
    assert prior.log_evidence(observed(x, y + 0.01))[0] != pytest.approx(exact.logpdf(y), abs=1e-4)
    assert prior.log_evidence(LinearStats.empty(2, 3)).tolist() == [0, 0]


def test_rewards_may_come_in_parts():
    """The posterior is the next prior, and evidence a product of conditional densities."""
    prior, (x, y) = LinearNormalGamma(*numbers()), draw(0, 12, 3)
    first, rest, whole = (observed(x[s], y[s]) for s in (slice(5), slice(5, 12), slice(12)))
    step = prior.posterior(first)
    assert step.posterior(rest).belief(x[0]).scale == pytest.approx(
        prior.posterior(whole).belief(x[0]).scale, rel=1e-12
    )
    total = prior.log_evidence(first) + step.log_evidence(rest)
    assert total == pytest.approx(prior.log_evidence(whole), abs=1e-10)


def integrate(given, x, y, unit, means):
    """The joint density of the rewards and of a mean at `unit`, for one feature: sums over a grid
    of slope and log precision. Of what is smooth and has thin tails, such sums are nearly exact.
    """
    mu, kappa, alpha, beta, slope, precision, center = given
    s = np.linspace(-12, 12, 1201)[:, None]
    log_lam = np.linspace(-9, 5, 801)[None, :]
    lam = np.exp(log_lam)
    out = []
    for mean in means:
        level = mean - (unit - center) * s  # at the center, for this mean at the unit
        log = distributions.gamma.logpdf(lam, alpha, scale=1 / beta) + log_lam
        log = log + distributions.norm.logpdf(level, mu, 1 / np.sqrt(kappa * lam))
        log = log + distributions.norm.logpdf(s, slope, 1 / np.sqrt(precision * lam))
        for features, reward in zip(x, y, strict=True):
            at = level + (features - center) * s
            log = log + distributions.norm.logpdf(reward, at, 1 / np.sqrt(lam))
        out.append(np.exp(log).sum() * (24 / 1200) * (14 / 800))
    return np.array(out)


def test_one_feature_by_numerical_integration():
    """Density of the mean and evidence at once: what is integrated is their product."""
    given = (0.5, 1.5, 6.0, 5.0, 0.7, 2.0, 0.3)
    x, y, unit = np.array([0.2, 1.0, -0.5, 1.4]), np.array([1.0, 1.9, -0.2, 1.5]), 0.8
    means = np.array([0.2, 0.9, 1.3, 2.1])
    found = integrate(given, x, y, unit, means)
    mu, kappa, alpha, beta, slope, precision, center = given
    prior = LinearNormalGamma(mu, kappa, alpha, beta, [slope], [precision], [center])

    def claimed(stats):
        belief = prior.posterior(stats).belief([unit])
        t = distributions.t(belief.df[0], belief.loc[0], belief.scale[0])
        return np.exp(prior.log_evidence(stats)[0]) * t.pdf(means)

    assert claimed(observed(x[:, None], y)) == pytest.approx(found, rel=1e-7)
    assert claimed(observed(x[:3, None], y[:3])) != pytest.approx(found, rel=1e-2)  # the control


# ------------------------------------------------------------------ without features


def test_without_features_it_is_normal_gamma_bit_for_bit():
    rng = np.random.default_rng(3)
    arms, y = rng.integers(0, 4, 50), 1e3 + rng.standard_normal(50)
    stats = LinearStats.empty(4, 0).observe(arms, np.zeros((50, 0)), y)
    plain = NormalGamma([1.0, 2, 3, 4], 1.7, [2.2, 1, 1, 5], 0.9)
    linear = LinearNormalGamma([1.0, 2, 3, 4], 1.7, [2.2, 1, 1, 5], 0.9, [], [])
    one, other = plain.posterior(without_features(stats)), linear.posterior(stats)
    for name in ("mu", "kappa", "alpha", "beta"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    a, b = one.belief(), other.belief([])
    assert all(np.array_equal(getattr(a, f), getattr(b, f)) for f in ("loc", "scale", "df"))
    assert other.level() == one
    nudged = ArmStats(stats.n, np.nextafter(stats.mean[:, 0], np.inf), stats.products[:, 0, 0])
    assert not np.array_equal(plain.posterior(nudged).mu, other.mu)  # the control


# ------------------------------------------------------------------ the same in other words


def test_recoded_features_give_the_same_beliefs():
    prior, (x, y) = LinearNormalGamma(*numbers()), draw(0, 12, 3)
    matrix, shift = np.array([[2.0, 1, 0], [0, 1e-3, 5], [1, 0, 400]]), np.array([1.0, -2, 30])
    one = prior.posterior(observed(x, y)).belief(x[0])
    coded = x @ matrix.T + shift
    other = prior.recoded(matrix, shift).posterior(observed(coded, y)).belief(coded[0])
    assert distance(other, (one.loc[0], one.scale[0], one.df[0])) < 1e-9
    left = prior.posterior(observed(coded, y)).belief(coded[0])  # the control: prior not re-coded
    assert distance(left, (one.loc[0], one.scale[0], one.df[0])) > 0.01


def test_recoding_works_in_any_unit():
    """Forty features in units of 1e-9: the determinant is 0 in doubles."""
    prior = LinearNormalGamma.ridge(40).recoded(1e-9 * np.eye(40))
    assert np.diag(prior.precision) == pytest.approx(1e-18)
    with_others = LinearNormalGamma(
        [0.0],
        1,
        1,
        1,
        [3.0],
        [4.0],
        names=["a"],
        others=LinearNormalGamma(0, 1, 1, 1, [5.0], [4.0]),
    )
    assert with_others.recoded([[100.0]]).others.slopes == pytest.approx([0.05])


def test_mirrored():
    prior, (x, y) = LinearNormalGamma(*numbers()), draw(0, 12, 3)
    stats = observed(x, y)
    one = prior.posterior(stats).belief(x[0])
    other = prior.mirrored().posterior(stats.mirrored()).belief(x[0])
    assert -other.loc == pytest.approx(one.loc) and other.scale == pytest.approx(one.scale)


def test_elicited_in_words():
    """The stated standard deviations of level and effects are exactly the prior's."""
    prior = LinearNormalGamma.elicit(
        12, 2, 8, worth=20, effects={"visits": 0.5, "age": 0.1}, typical={"age": 40}
    )
    assert prior.features == ("visits", "age") and prior.center.tolist() == [0, 40]
    for belief, sd in ((prior.belief([0, 40]), 2), (prior.slope_beliefs(), np.array([0.5, 0.1]))):
        found = belief.scale * np.sqrt(belief.df / (belief.df - 2))
        assert found.ravel() == pytest.approx(sd)
    assert LinearNormalGamma.elicit(12, 2, 8, worth=20, effects={}).level() == NormalGamma.elicit(
        12, 2, 8, worth=20
    )


def test_beliefs_about_slopes_are_those_of_differences():
    """A slope is the difference of the means of two units a step apart; far from the center."""
    posterior = LinearNormalGamma(*numbers()).posterior(observed(*draw(0, 12, 3)))
    belief = posterior.slope_beliefs()
    assert belief.loc.shape == (1, 3) and belief.df.ravel()[0] == 2 * posterior.alpha[0]
    spread = np.sqrt(
        np.diag(np.linalg.inv(posterior.precision[0])) * posterior.beta / posterior.alpha
    )
    assert belief.scale[0] == pytest.approx(spread, rel=1e-12)
    step = posterior.belief(np.eye(3)).loc - posterior.belief(np.zeros(3)).loc
    assert belief.loc[0] == pytest.approx(step[:, 0])


# ------------------------------------------------------------------ files, names, sentences


@pytest.mark.parametrize("d", [0, 1, 3])
def test_json_and_back(d):
    shared = LinearNormalGamma(*numbers(d=d), features=[f"f{i}" for i in range(d)])
    learned = shared.posterior(LinearStats.empty(2, d))
    named = LinearNormalGamma([1.0, 2.0], *numbers(d=d)[1:], names=["a", "b"], others=shared)
    for prior in (shared, learned, named):
        again = Prior.from_json(prior.to_json())
        assert again == prior and type(again) is LinearNormalGamma
        assert again.belief(np.ones(d)).scale == pytest.approx(prior.belief(np.ones(d)).scale)
    assert json.loads(named.to_json())["arms"] == ["a", "b"]
    assert LinearNormalGamma(9.0, *numbers(d=d)[1:]) != shared


def test_a_mapping_with_slopes_is_a_linear_prior():
    body = {"mu": 0, "kappa": 1, "alpha": 1, "beta": 1, "slopes": [0, 1], "precision": [1, 2]}
    made = prior_from(body)
    assert made == LinearNormalGamma(0, 1, 1, 1, [0, 1], [[1, 0], [0, 2]])
    assert made.center.tolist() == [0, 0]


def test_arms_by_name_and_all_others():
    rest = LinearNormalGamma(9, 1, 1, 1, [7, 7], [1, 1])
    prior = LinearNormalGamma(
        [0, 5], 1, 1, 1, [[0, 1], [2, 3]], [1, 1], names=["a", "b"], others=rest
    )
    with pytest.warns(UserWarning, match="z"):
        found = prior.for_arms(["b", "z"])
    assert found.slopes.tolist() == [[2, 3], [7, 7]] and found.mu.tolist() == [5, 9]
    assert found.names == ("b", "z")
    assert rest.for_arms(3).slopes.shape == (3, 2)


def make(**changed):
    given = {"mu": 0, "kappa": 1, "alpha": 1, "beta": 1, "slopes": [0, 0], "precision": [1, 1]}
    return LinearNormalGamma(**{**given, **changed})


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: make(mu="x"), TypeError, "mu must be finite, got 'x'"),
        (lambda: make(kappa=-1), ValueError, "kappa must be finite and >= 0, got -1"),
        (lambda: make(alpha=0), ValueError, "alpha must be finite and > 0, got 0"),
        (lambda: make(beta=np.inf), ValueError, "beta must be finite and > 0, got inf"),
        (lambda: make(slopes=["a"]), TypeError, "slopes must be finite"),
        (
            lambda: make(center=[1]),
            ValueError,
            "center must be 2 for 2 features",
        ),
        (lambda: make(precision=[1, 2, 3]), ValueError, "precision must be 2 by 2 for 2 features"),
        (lambda: make(precision=[[1, 2], [2, 1]]), ValueError, "symmetric and positive definite"),
        (lambda: make(precision=[[1, 0.5], [0, 1]]), ValueError, "symmetric and positive definite"),
        (lambda: make(precision=[0, 1]), ValueError, "symmetric and positive definite"),
        (lambda: make(mu=[1, 2], beta=[1, 2, 3]), ValueError, "must have one number of arms"),
        (lambda: make(features="ab"), TypeError, "features must be a list of names, got 'ab'"),
        (lambda: make(features=3), TypeError, "features must be a list of names, got 3"),
        (lambda: make(features=["a"]), ValueError, "features must be 2 different names"),
        (lambda: make(features=["a", "a"]), ValueError, "features must be 2 different names"),
        (lambda: make(names=["a"]), ValueError, "names must not be given"),
        (
            lambda: make().belief([1]),
            ValueError,
            r"x must have 2 features, or rows of 2 features, got",
        ),
        (lambda: make().belief([1, np.nan]), ValueError, "x must be finite, got nan"),
        (lambda: make().posterior(ArmStats.empty(1)), TypeError, "stats must be a LinearStats"),
        (lambda: make().posterior(LinearStats.empty(1, 1)), ValueError, "the prior's 2 features"),
        (lambda: make(mu=[1, 2]).posterior(LinearStats.empty(3, 2)), ValueError, "one entry per"),
        (lambda: make().recoded([[1, 2], [2, 4]]), ValueError, "matrix must be invertible, 2 by 2"),
        (lambda: make().recoded([[1.0]]), ValueError, "matrix must be invertible, 2 by 2, got"),
        (
            lambda: make(kappa=0).sample(np.random.default_rng()),
            ValueError,
            "kappa must be > 0 to sample from a prior, got 0.0",
        ),
        (lambda: make().sample(np.random.default_rng(), 0), ValueError, "size must be a whole num"),
        (lambda: LinearNormalGamma.ridge(-1), ValueError, "d must be a whole number >= 0, got -1"),
        (
            lambda: LinearNormalGamma.elicit(1, 1, 1, 5, [1]),
            TypeError,
            "effects must be a size for",
        ),
        (lambda: LinearNormalGamma.elicit(1, 1, 1, 5, {"a": 0}), ValueError, "effects must be fin"),
        (
            lambda: LinearNormalGamma.elicit(1, 1, 1, 5, {"a": 1}, typical=3),
            TypeError,
            "typical must be a value by feature, got 3",
        ),
        (
            lambda: LinearNormalGamma.elicit(1, 1, 1, 5, {"age": 1}, typical={"agee": 3}),
            ValueError,
            "unknown feature 'agee'; did you mean 'age'",
        ),
        (
            lambda: Prior.from_json('{"type": "LinearNormalGamma", "mu": 1}'),
            ValueError,
            "a LinearNormalGamma must have the fields",
        ),
    ],
)
def test_wrong_arguments_get_a_sentence(call, kind, said):
    with pytest.raises(kind, match=said):
        call()
