"""Policies and problems of a user's own, in all the ways there are."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import varts
from tests.seeds import fresh
from varts import ArmStats, BeliefPolicy, GaussianBandit, IndexPolicy, NormalGamma, Policy, Problem
from varts.problems import Instances
from varts.simulation.engine.scratch import CLOCK_NUMBERS

pytestmark = pytest.mark.no_cover


@dataclass(frozen=True)
class MyUCB(IndexPolicy):
    """UCB1 with the constant as a field."""

    label = "MyUCB"
    c: float = 2.0

    @staticmethod
    def index(n, mean, m2, t, c):
        return mean + np.sqrt(c * np.log(t - 1) / n)


class TermsUCB(MyUCB):
    """The same formula, with what does not depend on t apart."""

    label = "TermsUCB"

    @staticmethod
    def terms(n, mean, m2, c):
        return mean, np.sqrt(c / n)

    @staticmethod
    def index(mean, width, t):
        return mean + width * np.sqrt(np.log(t - 1))


class ClockUCB(MyUCB):
    """The same formula, with what depends on t alone apart."""

    label = "ClockUCB"

    @staticmethod
    def clock(t):
        return np.log(t - 1)

    @staticmethod
    def index(n, mean, m2, log_plays, c):
        return mean + np.sqrt(c * log_plays / n)


class QuickUCB(TermsUCB):
    """Both."""

    label = "QuickUCB"
    grows = True

    @staticmethod
    def clock(t):
        return np.sqrt(np.log(t - 1))

    @staticmethod
    def index(mean, width, growth):
        return mean + width * growth


@varts.index_policy("FunctionUCB")
def function_ucb(n, mean, m2, t):
    return mean + np.sqrt(2 * np.log(t - 1) / n)


@dataclass(frozen=True)
class MyGaussianTS(BeliefPolicy):
    """Gaussian TS again, with its prior mean as a field."""

    label = "MyGaussianTS"
    mu: float = 0.0

    @staticmethod
    def believe(n, mean, m2, mu):
        return mu + n / (n + 1.0) * (mean - mu), 1 / np.sqrt(n + 1.0), np.inf


@dataclass(frozen=True)
class PlainUCB(Policy):
    """UCB1 in plain Python."""

    label = "PlainUCB"
    initial_pulls = 1

    def choose(self, stats, t, rng):
        return varts.UCB1().choose(stats, t, rng)


class Bare(Policy):
    """No dataclass, no fields: the example in Policy's own docstring."""

    label = "Bare"

    def choose(self, stats, t, rng):
        return rng.integers(stats.K)


def test_own_index_policies_play_like_the_built_in(problem):
    own = [MyUCB(), function_ucb, TermsUCB(), ClockUCB(), QuickUCB()]
    study = varts.simulate(problem, ["UCB1", *own], 100, 16)
    for label in ("MyUCB", "FunctionUCB", "TermsUCB", "ClockUCB", "QuickUCB"):
        assert np.array_equal(study.final[label], study.final["UCB1"])
    other = varts.simulate(problem, MyUCB(c=0.1), 100, 16)
    assert not np.array_equal(other.final["MyUCB"], study.final["UCB1"])


@pytest.mark.parametrize("K", [3, 130])
def test_a_clock_tells_the_time_in_every_round(K):
    """In those that are looked up and in later ones, with all indices computed and with few."""
    horizon, arms = CLOCK_NUMBERS + 200, GaussianBandit.fixed(np.linspace(0, 0.1, K), 0.5)
    study = varts.simulate(arms, [MyUCB(), QuickUCB()], horizon, 2)
    assert study.final["QuickUCB"] == pytest.approx(study.final["MyUCB"], rel=1e-12)
    stats = ArmStats(n=[4, 5], mean=[0.5, 0.25], m2=[1, 0.75])
    assert QuickUCB().indices(stats, 9) == pytest.approx(MyUCB().indices(stats, 9))


def test_terms_are_a_tuple(problem):
    class One(QuickUCB):
        @staticmethod
        def terms(n, mean, m2, c):
            return mean

    with pytest.raises(ValueError, match=r"terms of QuickUCB must be a tuple of numbers, got"):
        varts.simulate(problem, One(), 100, 16)


def test_own_belief_policies_play_like_the_built_in(problem):
    study = varts.simulate(problem, ["Gaussian-TS", MyGaussianTS()], 100, 16)
    assert study.final["MyGaussianTS"] == pytest.approx(study.final["Gaussian-TS"])


def test_plain_python_policies_play_like_the_built_in(problem):
    """Same initial pulls and rewards; an index without ties has nothing else random in it."""
    study = varts.simulate(problem, ["UCB1", PlainUCB()], 60, 16)
    assert study.final["PlainUCB"] == pytest.approx(study.final["UCB1"])


@pytest.mark.statistical
def test_plain_python_policies_are_reproducible(problem):
    @dataclass(frozen=True)
    class Random(Policy):
        label = "Random"

        def choose(self, stats, t, rng):
            return int(rng.integers(stats.K))

    seed = fresh(0)
    one, two = (varts.simulate(problem, Random(), 40, 20, seed=seed, threads=n) for n in (1, 2))
    assert np.array_equal(one.final["Random"], two.final["Random"])
    assert len(set(one.final["Random"])) > 10
    # a third of the rounds on the best arm: 800 rounds, 5 standard errors (false alarm 6e-7)
    assert abs(one.best_share["Random"].mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 800)


def test_a_policy_without_fields_needs_no_dataclass(problem):
    study = varts.simulate(problem, Bare(), 20, 8)
    assert np.isfinite(study.final["Bare"]).all()


def test_a_policy_that_transforms_rewards(problem):
    """Plain Python Bernoulli TS sees only zeros and ones."""
    seen = set()

    @dataclass(frozen=True)
    class Tosser(Policy):
        label = "Tosser"

        def choose(self, stats, t, rng):
            seen.update((stats.n * stats.mean).round(9).tolist())
            return int(rng.integers(stats.K))

        def transform(self, reward, rng):
            return float(rng.random() < np.clip(reward, 0, 1))

    varts.simulate(problem, Tosser(), 20, 8)
    assert all(total == int(total) for total in seen) and len(seen) > 2


def test_a_policy_must_choose_an_arm_that_exists(problem):
    @dataclass(frozen=True)
    class Astray(Policy):
        label = "Astray"

        def choose(self, stats, t, rng):
            return stats.K

    with pytest.raises(ValueError, match="Astray must choose an arm from 0 to 2, got 3"):
        varts.simulate(problem, Astray(), 5, 8)


def test_policies_do_not_see_the_engines_own_arrays(problem):
    @dataclass(frozen=True)
    class Vandal(Policy):
        label = "Vandal"

        def choose(self, stats, t, rng):
            with pytest.raises(ValueError):
                stats.n[0] = 100
            return 0

    varts.simulate(problem, Vandal(), 5, 8)


@varts.index_policy("Uncompilable")
def uncompilable(n, mean, m2, t):
    return math.fsum([n, mean])


def test_a_formula_numba_cannot_compile_gets_a_sentence(problem):
    with pytest.raises(ValueError, match=r"^index of Uncompilable must be .* fsum") as caught:
        varts.simulate(problem, uncompilable, 5, 8)
    assert "\n" not in str(caught.value)


def test_formulas_may_call_functions_and_use_where(problem):
    study = varts.simulate(problem, [with_helper], 40, 8)
    assert np.isfinite(study.final["Helper"]).all()
    stats = ArmStats([1, 5, 5], [0.1, 0.9, 0.2], 1)
    assert varts.choose(with_helper, stats, rng=np.random.default_rng(0)) == 0


def width(n, t):
    return np.where(n < 3, 10.0, np.sqrt(np.log(t) / n))


@varts.index_policy("Helper")
def with_helper(n, mean, m2, t):
    return mean + width(n, t)


def test_a_formula_may_be_compiled_already(problem):
    from numba import njit

    compiled = varts.index_policy("Compiled")(njit(lambda n, mean, m2, t: mean))
    varts.simulate(problem, compiled, 5, 8)


def test_a_constant_index_is_a_tie_live_as_in_the_engine(rng):
    same = varts.index_policy("Same")(lambda n, mean, m2, t: 0.0)
    stats = ArmStats([1, 1, 1], 0, 0)
    assert {varts.choose(same, stats, rng=rng) for _ in range(100)} == {0, 1, 2}


def test_a_constant_belief_is_per_arm_live_as_in_the_engine(rng):
    @dataclass(frozen=True)
    class Ignorant(BeliefPolicy):
        label = "Ignorant"

        @staticmethod
        def believe(n, mean, m2):
            return 0.0, 1.0, np.inf

    stats = ArmStats([1, 1, 1], 0, 0)
    assert {varts.choose(Ignorant(), stats, rng=rng) for _ in range(100)} == {0, 1, 2}


def test_registered_policies_are_found_by_label(problem, monkeypatch):
    from varts.policies import registry

    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    varts.register(MyUCB)
    assert "MyUCB" in varts.policies.known()
    assert varts.policies.make("my-ucb", c=3.0) == MyUCB(c=3.0)
    assert varts.simulate(problem, "myucb", 5, 8).labels == ["MyUCB"]


# --------------------------------------------------------------------------------------- problems


class Exponential(Problem):
    """Rewards a * Exp(1), means from a log-normal."""

    def __init__(self, K):
        self.K = K

    def draw(self, rng, size):
        mean = np.exp(rng.normal(0, 0.5, (size, self.K)))
        return Instances(mean, mean**2, a=mean, b=np.zeros_like(mean))

    @staticmethod
    def reward(a, b, z, u):
        return -a * np.log(1 - u)


class OwnGaussian(Problem):
    """The Gaussian bandit written as a user would."""

    def __init__(self, prior):
        self.inner, self.K = GaussianBandit(prior), prior.K

    def draw(self, rng, size):
        return self.inner.draw(rng, size)

    @staticmethod
    def reward(a, b, z, u):
        return a + b * z


def test_own_problem_plays_like_the_built_in(prior, problem):
    policies = [varts.VarTS(prior), varts.UCB1(), varts.BernoulliTS()]
    ours, theirs = (varts.simulate(p, policies, 80, 16) for p in (OwnGaussian(prior), problem))
    for label in ours.labels:
        assert np.array_equal(ours.final[label], theirs.final[label])


@pytest.mark.when_changed("src/varts/simulation")
def test_own_problem_with_its_own_rewards():
    """The reward arrives: an index that reads the mean reward tells the best arm in the end."""
    greedy = varts.index_policy("Greedy", initial_pulls=50)(lambda n, mean, m2, t: mean)
    study = varts.simulate(Exponential(3), ["UCB1", PlainUCB(), greedy], 400, 32)
    for label in study.labels:
        assert (study.final[label] >= 0).all() and np.isfinite(study.final[label]).all()
    # 250 of 400 rounds after the forced ones, plus a third of those
    assert study.best_share["Greedy"].mean() > 0.5
    prior = Exponential(3).estimate_prior(1000)
    assert isinstance(prior, NormalGamma) and prior.K == 3


@pytest.mark.when_changed("src/varts/simulation")
def test_a_subclass_may_pay_differently(prior, problem):
    class TwoPoint(GaussianBandit):
        """The same means and variances by the toss of a coin."""

        @staticmethod
        def reward(a, b, z, u):
            return a + b * np.sign(u - 0.5)

    coin, normal = (varts.simulate(p, "UCB1", 100, 16) for p in (TwoPoint(prior), problem))
    assert not np.array_equal(coin.final["UCB1"], normal.final["UCB1"])
