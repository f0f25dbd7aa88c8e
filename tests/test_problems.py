"""Problems: instances, and rewards with the moments they claim."""

import re

import numpy as np
import pytest

import varts
from tests.seeds import fresh
from tests.simulation.engine.calling import pulled
from varts import BernoulliBandit, BetaBandit, GaussianBandit, Normal, NormalGamma, Problem

PRIOR = NormalGamma([0.0, 1.0], [2, 8], 6, [5, 10])


def within(sample, expected, errors=5):
    """Column means within 5 standard errors: a false-alarm rate of 6e-7 per number."""
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return np.abs(sample.mean(axis=0) - expected) < errors * error


@pytest.mark.statistical
def test_gaussian_instances():
    rng = np.random.default_rng(fresh(20230309))
    drawn = GaussianBandit(PRIOR).draw(rng, 50_000)
    assert within(drawn.mean, PRIOR.mu).all()
    assert within(drawn.variance, PRIOR.beta / (PRIOR.alpha - 1)).all()
    assert not within(drawn.variance, PRIOR.beta / PRIOR.alpha).any()  # the control
    assert np.array_equal(drawn.a, drawn.mean)
    assert np.allclose(drawn.b**2, drawn.variance)


@pytest.mark.statistical
def test_mean_and_variance_of_a_gaussian_arm_are_dependent():
    """Given the variance, the mean has variance / kappa: their ratio averages 1 / kappa."""
    rng = np.random.default_rng(fresh(20230309))
    drawn = GaussianBandit(PRIOR).draw(rng, 50_000)
    assert within((drawn.mean - PRIOR.mu) ** 2 / drawn.variance, 1 / PRIOR.kappa).all()


@pytest.mark.statistical
def test_known_variance_instances():
    rng = np.random.default_rng(fresh(20230309))
    drawn = GaussianBandit(Normal([0, 1], 0.5), sigma=[2, 3]).draw(rng, 50_000)
    assert within((drawn.mean - [0, 1]) ** 2, 0.25).all()
    assert (drawn.variance == [4, 9]).all()


def test_a_shared_prior_needs_the_number_of_arms(rng):
    assert GaussianBandit(NormalGamma(0, 1, 2, 1), K=4).draw(rng, 3).mean.shape == (3, 4)
    assert GaussianBandit(Normal(0, 1), sigma=1, K=4).draw(rng, 3).mean.shape == (3, 4)
    assert GaussianBandit(Normal(0, 1), sigma=[1, 2]).K == 2


def test_the_number_of_arms_comes_second():
    """It used to be taken for sigma."""
    problem = GaussianBandit(NormalGamma(0, 1, 2, 1), 5)
    assert (problem.K, problem.sigma) == (5, None)
    assert problem.prior == NormalGamma([0] * 5, 1, 2, 1)
    with pytest.raises(TypeError, match="positional"):
        GaussianBandit(Normal(0, 1), 5, 2)


def test_a_prior_gives_the_arms_their_names():
    assert GaussianBandit(NormalGamma([0, 1], 1, 2, 1, names=["a", "b"])).names == ("a", "b")
    assert GaussianBandit(PRIOR).names is BernoulliBandit(2).names is None


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [BernoulliBandit, BetaBandit])
def test_means_of_the_papers_prior(kind):
    rng = np.random.default_rng(fresh(20230309))
    drawn = kind(4).draw(rng, 50_000)
    i = np.arange(1, 5)
    m = i / 5
    assert within(drawn.mean, m).all()
    assert within((drawn.mean - m) ** 2, m * (1 - m) / 6).all()
    divisor = 1 if kind is BernoulliBandit else 11
    assert np.allclose(drawn.variance, drawn.mean * (1 - drawn.mean) / divisor)


@pytest.mark.statistical
def test_own_beta_priors():
    rng = np.random.default_rng(fresh(20230309))
    problem = BernoulliBandit(a=[2, 6], b=2)
    assert problem.K == 2
    assert within(problem.draw(rng, 20_000).mean, [0.5, 0.75]).all()
    assert BetaBandit(K=3, a=1, b=1).K == 3
    assert BernoulliBandit().K == 10


def rewards(problem, count, seed):
    """What both arms pay, by what kernels call."""
    return np.stack([pulled(problem, arm, count, seed) for arm in range(2)], axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "problem",
    [
        GaussianBandit.fixed([1, -2], [0.5, 3]),
        BernoulliBandit.fixed([0.02, 0.7]),
        BetaBandit.fixed([0.02, 0.7], s=10),
        BetaBandit.fixed([0.5, 0.9], s=0.5),
    ],
    ids=["gaussian", "bernoulli", "beta", "beta, U-shaped"],
)
def test_rewards_have_their_instances_moments(problem):
    row = problem.row
    x = rewards(problem, 100_000, fresh(1))
    assert within(x, row.mean).all()
    assert within((x - row.mean) ** 2, row.variance).all()
    assert not within((x - row.mean) ** 2, 1.5 * row.variance).any()  # the control
    assert abs(np.corrcoef(x[:, 0], x[:, 1])[0, 1]) < 5 / np.sqrt(len(x))
    assert abs(np.corrcoef(x[:-1, 0], x[1:, 0])[0, 1]) < 5 / np.sqrt(len(x))


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_sure_arms_pay_their_mean(mean):
    for problem in (BernoulliBandit.fixed([mean, mean]), BetaBandit.fixed([mean, mean])):
        assert (rewards(problem, 1000, 5) == mean).all()


def test_fixed_instances_are_the_same_in_every_run(rng):
    drawn = GaussianBandit.fixed([0.0, 0.5], [1.0, 0.1]).draw(rng, 3)
    assert (drawn.mean == [0, 0.5]).all() and drawn.mean.shape == (3, 2)
    assert (drawn.b == [1, 0.1]).all()


def test_estimated_prior_of_a_gaussian_problem_is_its_own():
    """Within 10 %: the method of moments on 40,000 instances, with the consistent kappa."""
    found = GaussianBandit(PRIOR).estimate_prior(40_000, kappa="consistent")
    assert found.mu == pytest.approx(PRIOR.mu, abs=0.02)
    for field in ("kappa", "alpha", "beta"):
        assert getattr(found, field) == pytest.approx(getattr(PRIOR, field), rel=0.1)


def test_papers_kappa_is_smaller_by_one_minus_one_over_alpha():
    problem = GaussianBandit(PRIOR)
    paper, consistent = problem.estimate_prior(), problem.estimate_prior(kappa="consistent")
    assert paper.kappa == pytest.approx(consistent.kappa * (1 - 1 / paper.alpha))


def test_estimated_prior_has_a_stream_of_its_own():
    problem = BernoulliBandit(3)
    assert problem.estimate_prior() == problem.estimate_prior()
    assert problem.estimate_prior() != problem.estimate_prior(seed=1)


def test_estimated_alpha_of_the_outer_arms_is_tiny():
    """E[precision] is infinite there: alpha tends to 0 with the number of samples."""
    alpha = BernoulliBandit(10).estimate_prior().alpha
    assert alpha[[0, -1]].max() < 0.1 < alpha[4:6].min()


def test_a_problem_must_say_how_it_draws_and_pays(rng):
    with pytest.raises(NotImplementedError, match="draw"):
        Problem().draw(rng, 1)
    with pytest.raises(NotImplementedError, match="reward"):
        Problem.reward(0, 0, 0, 0)


# ---------------------------------------------------------------------------- what a problem states


class Stated(varts.Problem):
    """Rewards of several shapes, with a mean and a variance that may be wrong."""

    K = 20

    def __init__(self, shape, shift=0.0, factor=1.0):
        self.reward, self.shift, self.factor = shape, shift, factor
        self.mean, self.variance = MOMENTS[shape]

    def draw(self, rng, size):
        ones = np.ones((size, self.K))
        mean, variance = self.mean + self.shift, self.variance * self.factor
        return varts.Instances(mean * ones, variance * ones, a=ones, b=ones)


def normal(a, b, z, u):
    return 5 + 3 * z


def heavy(a, b, z, u):
    return np.exp(2 * z)  # its sample variance is a fraction of the true one


def rare(a, b, z, u):
    return 1e5 * (u < 1e-5)  # one pull in a hundred thousand pays


def coin(a, b, z, u):
    return 1.0 * (u < 0.5)  # every squared deviation is the same


def constant(a, b, z, u):
    return 0.1 + 0.2 + 0 * z  # not quite 0.3


def on_numbers(a, b, z, u):
    return 1.0 if u < 0.25 else 0.0  # takes no arrays


MOMENTS = {
    normal: (5.0, 9.0),
    heavy: (np.exp(2), np.exp(8) - np.exp(4)),
    rare: (1.0, 1e5 - 1),
    coin: (0.5, 0.25),
    constant: (0.3, 0.0),
    on_numbers: (0.25, 0.1875),
}


@pytest.mark.statistical
@pytest.mark.parametrize("shape", MOMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_problem_that_pays_what_it_states_passes(shape, seed):
    """The check is wrong about a right problem once in a million; these are 18."""
    Stated(shape).check(seed=fresh(seed))


@pytest.mark.parametrize(
    ("shape", "shift", "factor", "moment"),
    [
        (normal, 0.2, 1, "mean"),  # 0.2 of a standard deviation of 3: 10 standard errors
        (normal, 0.05, 1, "mean"),  # 2.6 for an arm alone, 7.5 for all eight together
        (normal, 0, 0.8, "variance"),
        (heavy, 30, 1, "mean"),
        (heavy, 0, 0.01, "variance"),
        (rare, 1e4, 1, "mean"),
        (coin, 0.05, 1, "mean"),
        (coin, 0, 0.9, "variance"),
        (constant, 0.01, 1, "mean"),
        (on_numbers, 0.1, 1, "mean"),
    ],
)
def test_a_problem_that_pays_something_else_is_refused(shape, shift, factor, moment):
    """The negative control, and how small an error is found."""
    with pytest.raises(ValueError, match=f"^reward of Stated must have the {moment} that draw"):
        Stated(shape, shift, factor).check()


@pytest.mark.parametrize("arm", [0, -1])
def test_a_wrong_mean_of_one_arm_is_found(arm):
    """The check looks at some of the arms, among them the first and the last."""

    class OneWrong(Stated):
        def draw(self, rng, size):
            drawn = super().draw(rng, size)
            drawn.mean[:, arm] += 1.0  # a third of a standard deviation
            return drawn

    with pytest.raises(ValueError, match="must have the mean that draw"):
        OneWrong(normal).check()


def test_infinite_variance_may_be_stated():
    Stated(heavy, factor=np.inf).check()


def test_simulate_checks_a_problem_once(monkeypatch):
    checked = []
    monkeypatch.setattr(Stated, "check", lambda problem: checked.append(problem.mean))
    for problem in (Stated(normal), Stated(normal), Stated(normal, 2.0), BernoulliBandit(3)):
        varts.simulate(problem, "UCB1", 5, 8)
    assert len(checked) == 2


def test_a_wrong_mean_is_refused_by_simulate():
    with pytest.raises(ValueError) as refused:
        varts.simulate(Stated(normal, shift=1.0), "UCB1", 5, 8)
    assert re.fullmatch(
        r"reward of Stated must have the mean that draw states for an arm, 6, got [45]\.\d+ in "
        r"25000 pulls",
        str(refused.value),
    )


def test_a_subclass_of_a_bandit_is_checked_too():
    class Lifted(GaussianBandit):
        def draw(self, rng, size):
            drawn = super().draw(rng, size)
            return varts.Instances(drawn.mean + 1, drawn.variance, drawn.a, drawn.b)

    with pytest.raises(ValueError, match=r"^reward of Lifted must have the mean that draw states"):
        varts.simulate(Lifted(K=3), "UCB1", 5, 8)
