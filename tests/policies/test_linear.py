"""Linear policies: what they believe without a prior, invariance, extremes, and their sentences."""

import numpy as np
import pytest
from scipy import special

import varts
from tests.reference import without_features
from tests.textbook import Textbook
from varts import ArmStats, LinearNormalGamma, LinearStats, LinearVarTS, NormalGamma, VarTS
from varts.policies import make
from varts.policies.linear import LinearIndexPolicy, LinearPolicy, LinearSampler

LABELS = ("LinearVarTS", "LinearTS", "LinUCB", "Linear-Bayes-UCB", "Linear-Greedy")
UNIT_FREE = ("LinearVarTS", "Linear-Bayes-UCB", "Linear-Greedy")  # no width in the reward's unit


def draw(K=3, d=2, n=30, seed=0):
    """Arms, features and rewards."""
    rng = np.random.default_rng(seed)
    arms, x = np.arange(n) % K, rng.standard_normal((n, d))
    y = (x * rng.standard_normal((K, d))[arms]).sum(axis=1) + rng.standard_normal(n)
    return arms, x, y


def observed(arms, x, y, K=3):
    return LinearStats.empty(K, x.shape[1]).observe(arms, x, y)


def choices(policy, stats, units, seed=1):
    """With the same uniforms for the same seed."""
    rng = np.random.default_rng(seed)
    return [varts.choose(policy, stats, rng=rng, x=x) for x in units]


def beliefs_agree(one, other, within=1e-9):
    off = np.abs(one.loc - other.loc) / one.scale, np.abs(one.scale / other.scale - 1)
    return max(off[0].max(), off[1].max()) < within and np.array_equal(one.df, other.df)


# ------------------------------------------------------------------ what the formulas are


def test_belief_without_a_prior_is_the_textbook_one():
    """All rewards as one are worth one: prior mean and variances by hand, the rest in fractions."""
    arms, x, y = draw()
    belief = LinearVarTS().belief_at(observed(arms, x, y), x[0])
    prior = Textbook.prior(
        y.mean(), 1, 0.5, 0.5 * y.var(), np.zeros(2), np.diag(x.var(axis=0)), x.mean(axis=0)
    )
    for arm in range(3):
        exact = prior.posterior(x[arms == arm], y[arms == arm]).at(x[0])
        found = belief.loc[arm], belief.scale[arm], belief.df[arm]
        assert found == pytest.approx(exact, rel=1e-10)


def test_each_index_is_its_formula():
    prior = LinearNormalGamma(1, 2, 3, 4, [0.5, -1], [1, 2])
    stats = observed(*draw())
    unit, t = np.array([0.3, 0.7]), 31
    loc, worth = prior.posterior(stats).at(unit)
    post = prior.posterior(stats)
    scale = np.sqrt(post.beta / post.alpha / worth)
    quantile = special.stdtrit(2 * post.alpha, 1 - 1 / t)
    expected = {
        "Linear-Greedy": loc,
        "LinUCB": loc + 1 / np.sqrt(worth),
        "Linear-Bayes-UCB": loc + scale * quantile,
    }
    for label, index in expected.items():
        assert make(label, prior=prior).indices_at(stats, unit, t) == pytest.approx(index)
    assert make("LinUCB", prior=prior, bonus=3).indices_at(stats, unit, t) == pytest.approx(
        loc + 3 / np.sqrt(worth)
    )
    known = make("LinearTS", prior=prior, sigma=2.0).belief_at(stats, unit)
    assert known.scale == pytest.approx(2 / np.sqrt(worth)) and np.isinf(known.df).all()


@pytest.mark.parametrize("K", [2, 3, 33])
def test_without_features_it_is_var_ts_bit_for_bit(K):
    """More than eight arms: sums are then in another order, here and there."""
    arms, _, y = draw(K, n=100)
    stats = observed(arms, np.zeros((100, 0)), y, K)
    plain = without_features(stats)
    pairs = [
        (VarTS(), LinearVarTS()),
        (
            VarTS(NormalGamma(1.0, 2.0, 3.0, 4.0)),
            LinearVarTS(LinearNormalGamma(1.0, 2.0, 3.0, 4.0, [], [])),
        ),
    ]
    for one, other in pairs:
        a, b = one.belief(plain), other.belief_at(stats, [])
        assert all(np.array_equal(getattr(a, f), getattr(b, f)) for f in ("loc", "scale", "df"))
        same = [varts.choose(one, plain, rng=i) for i in range(200)]
        assert same == [varts.choose(other, stats, rng=i, x=[]) for i in range(200)]
        assert len(set(same)) > 1


# ------------------------------------------------------------------ invariance


MATRIX = np.array([[2.0, 1.0], [-0.5, 30.0]])
SHIFT = np.array([5.0, -100.0])


@pytest.mark.parametrize("label", LABELS)
def test_recoded_features_give_the_same_choices(label):
    """Any invertible re-coding, with the prior carried over and the same uniforms; the control does
    not carry it over."""
    prior = LinearNormalGamma(0.2, 1, 3, 2, [0.5, -1], [[2, 0.3], [0.3, 1]], [0.1, 0.2])
    arms, x, y = draw(n=12)
    units = np.random.default_rng(5).standard_normal((300, 2))
    stats, coded = observed(arms, x, y), observed(arms, x @ MATRIX.T + SHIFT, y)
    expected = choices(make(label, prior=prior), stats, units)
    carried = make(label, prior=prior.recoded(MATRIX, SHIFT))
    assert choices(carried, coded, units @ MATRIX.T + SHIFT) == expected
    assert choices(make(label, prior=prior), coded, units @ MATRIX.T + SHIFT) != expected


@pytest.mark.parametrize("label", LABELS)
def test_without_a_prior_every_feature_may_have_any_unit_and_origin(label):
    arms, x, y = draw(n=12)
    units = np.random.default_rng(5).standard_normal((300, 2))
    factor = np.array([1e-9, -1e9])
    moved = observed(arms, x * factor + factor * 3, y)
    policy = make(label)
    expected = choices(policy, observed(arms, x, y), units)
    assert choices(policy, moved, units * factor + factor * 3) == expected
    wrong = units * factor  # the control: units in another origin than the rewards' features
    assert choices(policy, moved, wrong) != expected


@pytest.mark.parametrize("label", UNIT_FREE)
def test_cents_and_euros(label):
    arms, x, y = draw(n=12)
    units = np.random.default_rng(5).standard_normal((300, 2))
    stats, cents = observed(arms, x, y), observed(arms, x, 100 * y + 7)
    assert choices(make(label), stats, units) == choices(make(label), cents, units)


@pytest.mark.parametrize("label", ["LinearTS", "LinUCB"])
def test_a_width_in_units_of_the_reward_is_not_free_of_them(label):
    """The control of the test above: these two know the noise, in one unit."""
    arms, x, y = draw(n=12)
    units = np.random.default_rng(5).standard_normal((300, 2))
    stats, cents = observed(arms, x, y), observed(arms, x, 100 * y)
    assert choices(make(label), stats, units) != choices(make(label), cents, units)


# ------------------------------------------------------------------ extremes


def exact_beliefs(arms, x, y, unit, K):
    """Without a prior, in fractions, for features that all vary."""
    prior = Textbook.prior(
        *(y.mean(), 1, 0.5, 0.5 * y.var(), np.zeros(x.shape[1])),
        *(np.diag(x.var(axis=0)), x.mean(axis=0)),
    )
    each = [prior.posterior(x[arms == k], y[arms == k]).at(unit) for k in range(K)]
    return varts.StudentT(*np.array(each).T)


@pytest.mark.parametrize(
    ("K", "d", "n", "scale", "within"),
    [
        (3, 1, 12, 1.0, 1e-10),
        (2, 8, 6, 1.0, 1e-10),  # more features than rewards
        (2, 2, 20, 1e-9, 1e-10),
        (2, 2, 20, 1e9, 1e-10),
        (1, 2, 9, 1.0, 1e-10),
        (1000, 1, 2000, 1.0, 1e-9),
    ],
)
def test_extremes_against_fractions(K, d, n, scale, within):
    arms, x, y = draw(K, d, n)
    x = x * scale
    found = LinearVarTS().belief_at(observed(arms, x, y, K), x[0])
    few = min(K, 5)
    exact = exact_beliefs(arms, x, y, x[0], few)
    taken = varts.StudentT(found.loc[:few], found.scale[:few], found.df[:few])
    assert beliefs_agree(taken, exact, within)
    assert np.isfinite(found.loc).all() and (found.scale > 0).all()


def test_features_and_rewards_at_a_billion():
    """1e9 +- 1 keeps seven of sixteen digits."""
    arms, x, y = draw()
    found = LinearVarTS().belief_at(observed(arms, x + 1e9, y + 1e9), x[0] + 1e9)
    exact = exact_beliefs(arms, x + 1e9, y + 1e9, x[0] + 1e9, 3)
    assert beliefs_agree(found, exact, 1e-5)


def test_collinear_features_share_their_effect():
    arms, x, y = draw(d=2)
    x[:, 1] = x[:, 0]
    found = LinearVarTS().belief_at(observed(arms, x, y), x[0])
    assert beliefs_agree(found, exact_beliefs(arms, x, y, x[0], 3))


@pytest.mark.parametrize("value", [0.0, 0.1, 7.0, 1e9 / 3, -1e-9 / 3])
@pytest.mark.parametrize("batch", [1, 30])
def test_a_feature_that_never_varied_has_no_effect(value, batch):
    """In batches the mean of so many times 0.1 is not 0.1, which is no variance; nor has such a
    feature an effect where it takes another value."""
    arms, x, y = draw()
    constant = np.column_stack([x, np.full(30, value)])
    stats = LinearStats.empty(3, 3)
    for i in range(0, 30, batch):
        stats = stats.observe(arms[i : i + batch], constant[i : i + batch], y[i : i + batch])
    without = LinearVarTS().belief_at(observed(arms, x, y), x[0])
    for there in (value, value + 1):
        assert beliefs_agree(LinearVarTS().belief_at(stats, [*x[0], there]), without)
    constant[0, 2] = value + 1e-3 * max(abs(value), 1.0)  # the control: once it varies, it counts
    varied = LinearVarTS().belief_at(observed(arms, constant, y), [*x[0], value + 1])
    assert not beliefs_agree(varied, without)


def test_two_hundred_features():
    arms, x, y = draw(3, 200, 90)
    found = LinearVarTS().belief_at(observed(arms, x, y), x[0])
    prior = x.var(axis=0)
    for arm in range(3):  # least squares with the prior as rows of data, by SVD
        rows = arms == arm
        away, center = x[rows] - x.mean(axis=0), x[0] - x.mean(axis=0)
        design = np.column_stack([np.ones(rows.sum()), away])
        design = np.vstack([design, np.diag(np.append(1.0, np.sqrt(prior)))])
        rewards = np.append(y[rows] - y.mean(), np.zeros(201))
        m, *_ = np.linalg.lstsq(design, rewards)
        z = np.append(1.0, center)
        rate = 0.5 * y.var() + ((rewards - design @ m) ** 2).sum() / 2
        width = np.linalg.norm(np.linalg.lstsq(design.T, z)[0])
        scale = np.sqrt(rate / (0.5 + rows.sum() / 2)) * width
        assert found.loc[arm] - y.mean() == pytest.approx(z @ m, abs=1e-9 * scale)
        assert found.scale[arm] == pytest.approx(scale, rel=1e-9)


def test_equal_rewards_say_nothing_about_a_variance():
    """As VarTS without a prior: such an arm has the variance of all, and is not written off."""
    arms, x, y = draw()
    y[arms == 0] = 0.5
    found = LinearVarTS().belief_at(observed(arms, x, y), x[0])
    assert found.df[0] == 30 and found.scale[0] > 0
    same = LinearVarTS().belief_at(observed(arms, x, np.full(30, 2.0)), x[0])
    assert (same.loc == 2).all() and (same.scale == 0).all()


# ------------------------------------------------------------------ how they are called


@pytest.mark.parametrize("label", LABELS)
def test_first_every_arm_twice(label):
    stats, rng, seen = LinearStats.empty(3, 2), np.random.default_rng(0), []
    for i in range(6):
        seen.append(varts.choose(label, stats, rng=rng, x=[1.0, i]))
        stats = stats.observe(seen[-1], [1.0, i], float(i))
    assert sorted(seen) == [0, 0, 1, 1, 2, 2]
    prior = LinearNormalGamma.ridge(2)
    assert make(label, prior=prior).pulls_needed(3).tolist() == [0, 0, 0]
    assert make(label, prior=LinearNormalGamma(0, 0, 1, 1, [0, 0], [1, 1])).pulls_needed(
        2
    ).tolist() == [
        1,
        1,
    ]
    assert 0 <= varts.choose(make(label, prior=prior), LinearStats.empty(3, 2), rng=0, x=[1, 2]) < 3


def test_many_units_at_once_are_the_same_as_one_by_one():
    stats, units = observed(*draw()), np.random.default_rng(1).standard_normal((4, 2))
    rows = LinearVarTS().belief_at(stats, units)
    index = make("LinUCB").indices_at(stats, units, 31)
    for i, unit in enumerate(units):
        assert rows.loc[i] == pytest.approx(LinearVarTS().belief_at(stats, unit).loc)
        assert index[i] == pytest.approx(make("LinUCB").indices_at(stats, unit, 31))


STATS = observed(*draw())


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: varts.choose("LinearVarTS", STATS), ValueError, "x must be given for LinearVarTS"),
        (
            lambda: varts.choose("VarTS", ArmStats.empty(2), x=[1]),
            ValueError,
            r"x must be left out for VarTS, got \[1\]",
        ),
        (lambda: varts.choose("LinearVarTS", ArmStats.empty(2), x=[1]), TypeError, "LinearStats"),
        (lambda: varts.choose("VarTS", STATS), TypeError, "of the type ArmStats for VarTS"),
        (lambda: varts.choose("LinUCB", STATS, x=[1]), ValueError, "x must have 2 features"),
        (
            lambda: varts.choose("LinUCB", LinearStats.empty(2, 2), x=[1]),
            ValueError,
            "x must have 2 features, or rows of 2 features",
        ),
        (
            lambda: varts.choose("LinUCB", STATS, x=[[1, 2], [3, 4]]),
            ValueError,
            "x must be the features of one unit, got 2 rows",
        ),
        (
            lambda: LinearVarTS(NormalGamma(0, 1, 1, 1)),
            TypeError,
            "prior must be a LinearNormalGam",
        ),
        (lambda: make("LinearTS", sigma=0), ValueError, "sigma must be finite and > 0, got 0"),
        (lambda: make("LinUCB", bonus=-1), ValueError, "bonus must be finite and >= 0, got -1"),
        (lambda: LinearVarTS().choose(ArmStats.empty(1), 1, None), ValueError, "give x"),
        (lambda: VarTS().choose_at(STATS, [1, 2], 1, None), NotImplementedError, "VarTS does not"),
        (lambda: LinearSampler.believe(1), NotImplementedError, "must define believe"),
        (lambda: LinearIndexPolicy.index(1), NotImplementedError, "must define index"),
        (lambda: LinearVarTS().belief_at(LinearStats.empty(2, 2), [1, 2]), ValueError, "arm 0"),
        (
            lambda: LinearPolicy(LinearNormalGamma([1, 2], 1, 1, 1, [], [])).check(3),
            ValueError,
            "per",
        ),
    ],
)
def test_wrong_arguments_get_a_sentence(call, kind, said):
    with pytest.raises(kind, match=said):
        call()
