"""Revenue: moments and rewards against SciPy's, and a world that is known from elsewhere."""

import math

import numpy as np
import pytest
from scipy import stats

import varts
from tests.seeds import fresh
from tests.simulation.engine import calling
from varts import RevenueBandit
from varts.problems.revenue import REVENUES
from varts.simulation.engine.kernel import kernel_of

FALSE_ALARM = 1e-6
CHANCE, AMOUNT = [0.05, 0.4, 1.0], [20.0, 3.0, 100.0]
SPREADS = [0.3, 1.2]  # gamma amounts of shape 11.1 and 0.69: the engine draws them in two ways


def amounts(shape, mean, spread):
    """The distribution of an arm's amounts, by SciPy."""
    if shape == "lognormal":
        return stats.lognorm(spread, scale=mean * math.exp(-(spread**2) / 2))
    if shape == "gamma":
        return stats.gamma(spread**-2, scale=mean * spread**2)
    return stats.norm(mean, spread * mean)


def pulled(problem, arm, count=100_000):
    """Rewards of one arm by the engine's own `pay`."""
    return calling.pulled(problem, arm, count, fresh(2))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("shape", REVENUES)
def test_stated_moments_are_scipys(shape, spread):
    drawn = RevenueBandit.fixed(CHANCE, AMOUNT, spread, shape).draw(None, 2)
    for i, (chance, mean) in enumerate(zip(CHANCE, AMOUNT, strict=True)):
        law = amounts(shape, mean, spread)
        square = chance * (law.var() + law.mean() ** 2)
        assert drawn.mean[1, i] == pytest.approx(chance * law.mean(), rel=1e-12)
        assert drawn.variance[1, i] == pytest.approx(square - (chance * law.mean()) ** 2, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.when_changed(
    "src/varts/problems/revenue.py", except_for=["lognormal-0.3", "normal-1.2"]
)
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("shape", REVENUES)
def test_rewards_are_as_stated(shape, spread):
    """How many pay (binomial) and what they pay (Kolmogorov-Smirnov): false alarms 1 in a million.

    The control is the same test with a chance, or a spread, that is 10 % larger.
    """
    problem = RevenueBandit.fixed(CHANCE, AMOUNT, spread, shape)
    for arm in range(3):
        x = pulled(problem, arm)
        paid = x[x != 0]

        def chance_p(chance, paid=paid, x=x):
            return stats.binomtest(len(paid), len(x), chance).pvalue

        assert chance_p(CHANCE[arm]) > FALSE_ALARM
        assert CHANCE[arm] == 1 or chance_p(1.1 * CHANCE[arm]) < FALSE_ALARM
        assert stats.kstest(paid, amounts(shape, AMOUNT[arm], spread).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(paid, amounts(shape, AMOUNT[2], 1.1 * spread).cdf).pvalue < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("shape", REVENUES)
def test_the_formula_pays_what_the_engine_pays(shape):
    """`check` uses the formula, `simulate` the engine; for gamma amounts they differ."""
    problem = RevenueBandit.fixed(CHANCE, AMOUNT, 1.2, shape)
    problem.check(pulls=200_000, seed=fresh(0))
    z, u = np.random.default_rng(fresh(3)).standard_normal(50_000), np.linspace(0, 1, 50_001)[:-1]
    x = problem.reward(0.4, 3.0, z, u, problem.data)
    engine = pulled(problem, 1)
    assert stats.ks_2samp(x[x != 0], engine[engine != 0]).pvalue > FALSE_ALARM
    assert stats.ks_2samp(1.2 * x[x != 0], engine[engine != 0]).pvalue < FALSE_ALARM  # the control


@pytest.mark.statistical
def test_what_is_drawn_for_every_run():
    """Uniform chances and log-normal mean amounts, by Kolmogorov-Smirnov."""
    problem = RevenueBandit(2, chance=(0.02, 0.06), amount=[30.0, 60.0], arm_spread=0.2)
    drawn = problem.draw(np.random.default_rng(fresh(0)), 20_000)
    for arm, median in enumerate((30.0, 60.0)):
        chances = stats.uniform(0.02, 0.04)
        assert stats.kstest(drawn.a[:, arm], chances.cdf).pvalue > FALSE_ALARM
        assert stats.kstest(drawn.b[:, arm], stats.lognorm(0.2, scale=median).cdf).pvalue > 1e-6
        assert stats.kstest(drawn.b[:, arm], stats.lognorm(0.2, scale=31.0).cdf).pvalue < 1e-6
    assert drawn.a[:, 0].tolist() != drawn.a[:, 1].tolist()


def test_a_fixed_instance_is_the_same_in_every_run(rng):
    drawn = RevenueBandit.fixed([0.0, 0.1, 1.0], 20.0).draw(rng, 4)
    assert (drawn.a == [0.0, 0.1, 1.0]).all() and (drawn.b == 20).all()
    assert (drawn.mean == [0.0, 2.0, 20.0]).all()


def test_an_arm_that_never_pays():
    problem = RevenueBandit.fixed([0.0, 0.5], 20.0, shape="gamma")
    assert not pulled(problem, 0).any()
    problem.check()


@pytest.mark.when_changed("src/varts/problems/revenue.py", except_for=["lognormal"])
@pytest.mark.parametrize("shape", REVENUES)
def test_the_same_bits_on_any_number_of_threads(shape):
    problem = RevenueBandit(3, chance=(0.2, 0.6), shape=shape)
    one, two, three = (
        varts.simulate(problem, ["VarTS", "TS14"], 200, 100, threads=n) for n in (1, 2, 3)
    )
    assert one == two == three


@pytest.mark.parametrize("shape", REVENUES)
def test_another_spread_compiles_nothing(shape):
    """It is data, not part of the formula."""
    problems = [RevenueBandit(3, spread=spread, shape=shape) for spread in (0.5, 0.9)]
    assert len({kernel_of(varts.VarTS(), problem) for problem in problems}) == 1
    first, second = (varts.simulate(problem, "VarTS", 200, 16) for problem in problems)
    assert first != second


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/problems/revenue.py")
def test_a_world_whose_numbers_are_known_from_another_simulator():
    """5 arms, 2 to 6 % buy, log amounts N(N(3, 0.2), 0.8), 20,000 rounds, VarTS without a prior.

    A simulator in NumPy gave a mean regret of 2,437 with a standard error of 126, and 9,652 with
    334 for an even split. Within 5 standard errors of the difference: a false-alarm rate of 6e-7.
    """
    problem = RevenueBandit(5, chance=(0.02, 0.06), amount=math.exp(3 + 0.8**2 / 2), arm_spread=0.2)
    study = varts.simulate(problem, ["VarTS", "Even-Split"], 20_000, 400, seed=fresh(0))
    for label, regret, error in (("VarTS", 2437, 126), ("Even-Split", 9652, 334)):
        mean, se = study.final[label].mean(), study.se[label][-1]
        assert abs(mean - regret) < 5 * np.hypot(se, error)
    assert study.final["Even-Split"].mean() - 2437 > 5 * np.hypot(study.se["Even-Split"][-1], 126)


def test_provenance_and_prior():
    problem = RevenueBandit(2, shape="gamma")
    body = problem.describe()
    assert body["chance"] == [[0.02, 0.02], [0.06, 0.06]] and body["shape"] == "gamma"
    assert problem.own_prior() == problem.estimate_prior()
    assert problem.own_prior().mu == pytest.approx([0.04 * 30 * math.exp(0.02)] * 2, rel=0.02)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"chance": 0.5}, TypeError, "chance must be two numbers that increase, got 0.5"),
        ({"chance": (0.5, 0.2)}, ValueError, "chance must be two numbers that increase"),
        ({"chance": (0.5, 1.2)}, ValueError, "greatest chance must be finite and >= 0 and <= 1"),
        ({"chance": ("a", 1)}, TypeError, "least chance must be finite"),
        ({"amount": -1}, ValueError, "amount must be finite and > 0, got -1"),
        ({"amount": [1, 2], "K": 3}, ValueError, r"K must be the number of arms \(2\), got 3"),
        ({"K": 0}, ValueError, "K must be a whole number >= 1, got 0"),
        ({"spread": 0}, ValueError, "spread must be finite and > 0, got 0"),
        ({"arm_spread": -1}, ValueError, "arm_spread must be finite and >= 0, got -1"),
        ({"shape": "log-normal"}, ValueError, "unknown shape 'log-normal'; did you mean 'lognorm"),
    ],
)
def test_a_wrong_argument_is_one_sentence(options, error, said):
    with pytest.raises(error, match=f"^{said}"):
        RevenueBandit(**options)
