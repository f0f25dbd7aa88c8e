"""Typical mistakes in a formula get one sentence that names the policy or the problem."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import special

import varts
from varts import ArmStats, BeliefPolicy, IndexPolicy, Instances, Problem

pytestmark = pytest.mark.when_changed("src/varts/simulation/engine")

STATS = ArmStats([4, 5, 6], [0.5, 0.2, 0.1], 1)


def index(function):
    return varts.index_policy("Mine")(function)


def belief(function):
    return type("Mine", (BeliefPolicy,), {"believe": staticmethod(function), "initial_pulls": 2})()


def refusal(call):
    with pytest.raises(ValueError) as refused:
        call()
    assert "\n" not in str(refused.value) and "numba.pydata" not in str(refused.value)
    return str(refused.value)


NUMBA = "must be plain arithmetic that Numba can compile, got "
BELIEF = "must return 3 numbers, got "


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (index(lambda n, mean, m2, t: [mean, n]), "index of Mine must return a number, got [0.5,"),
        (index(lambda n, mean, m2, t: None), "index of Mine must return a number, got None"),
        (index(lambda n, mean, m2, t: (mean, n)), "index of Mine must return a number, got (0.5,"),
        (
            index(lambda n, mean, m2, t: mean + np.sqr(n)),
            "index of Mine must be plain arithmetic, got AttributeError: module 'numpy' has",
        ),
        (index(lambda n, mean, m2, t: special.ndtri(n)), f"index of Mine {NUMBA}ndtri;"),
        (index(lambda n, mean, m2, t: math.fsum([n])), f"index of Mine {NUMBA}fsum;"),
        (index(lambda n, mean, m2, t: mean + "2"), "index of Mine must be plain arithmetic, got "),
        (index(lambda n, mean, m2: mean), "index of Mine must be plain arithmetic, got TypeError"),
        (belief(lambda n, mean, m2: None), f"believe of Mine {BELIEF}None"),
        (belief(lambda n, mean, m2: (mean, n)), f"believe of Mine {BELIEF}(0.5, 9.0)"),
        (IndexPolicy(), "index of IndexPolicy must be plain arithmetic, got NotImplementedError"),
    ],
)
def test_a_formula_that_cannot_be_compiled(problem, policy, sentence):
    assert refusal(lambda: varts.simulate(problem, policy, 10, 8)).startswith(sentence)


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (
            index(lambda n, mean, m2, t: mean + math.log(t) / math.log(n)),
            "index of Mine must be plain arithmetic on arrays, got TypeError: .*; write np.log for "
            "math.log",
        ),
        (
            index(lambda n, mean, m2, t: mean if n > 2 else 0.0),
            "index of Mine must be plain arithmetic on arrays, got ValueError: .*; write np.where",
        ),
        (index(lambda n, mean, m2, t: [mean]), r"index of Mine must be a number, got \[array"),
        (index(lambda n, mean, m2, t: None), "index of Mine must be a number, got None"),
        (belief(lambda n, mean, m2: mean), "believe of Mine must return location, scale and"),
        (belief(lambda n, mean, m2: (mean, -n, 3.0)), "belief of Mine: scale must be .*, got -4.0"),
        (belief(lambda n, mean, m2: (mean, n, 0.0)), "belief of Mine: df must be .*, got 0.0"),
    ],
)
def test_a_formula_that_does_not_take_arrays(policy, sentence):
    assert re.match(sentence, refusal(lambda: varts.choose(policy, STATS)))


def test_a_formula_on_numbers_alone_can_be_simulated(problem):
    """What the engine never calls with an array need not take one."""
    policy = index(lambda n, mean, m2, t: mean + math.log(t) if n > 2 else 9.0)
    assert np.isfinite(varts.simulate(problem, policy, 20, 8).final["Mine"]).all()


@pytest.mark.parametrize("base", [IndexPolicy, BeliefPolicy])
def test_a_label_without_classvar(problem, base):
    @dataclass(frozen=True)
    class Named(base):
        label: str = "Mine"

    assert refusal(lambda: varts.simulate(problem, Named(), 10, 8)) == (
        "Mine cannot play 3 arms: label of Named must be a number, got 'Mine'; mark a field "
        "that is not an option as ClassVar, or define parameters(stats)"
    )


# ----------------------------------------------------------------------------- unsound when played


@pytest.mark.parametrize(
    "formula",
    [
        lambda n, mean, m2: (mean, 3.0 - n, np.inf),  # from the fourth pull on
        lambda n, mean, m2: (mean, np.where(n == 4, -1.0, 1.0), np.inf),  # and only then
        lambda n, mean, m2: (mean, np.where(n == 3, np.nan, 1.0), 5.0),
        lambda n, mean, m2: (mean, 1.0, np.where(n == 3, np.nan, 5.0)),
        lambda n, mean, m2: (mean, 1.0, 2.0 - n),
        lambda n, mean, m2: (np.where(n == 3, np.inf, mean), 1.0, 5.0),
    ],
    ids=["negative scale", "once negative", "NaN scale", "NaN df", "negative df", "infinite"],
)
@pytest.mark.parametrize("pooled", [False, True])
def test_a_belief_that_is_none_is_found_and_ends(problem, formula, pooled):
    """A draw from such a belief might never end; compiled, the engine would not be stopped."""
    policy = belief(lambda n, mean, m2, *extra: formula(n, mean, m2))
    if pooled:
        kind = type(policy)
        kind.pooled, kind.parameters = True, varts.VarTS.parameters
        kind.prior = None
    assert refusal(lambda: varts.simulate(problem, policy, 100, 8)) == (
        "Mine must give every arm a finite location, a scale >= 0 and degrees of freedom > 0, got "
        "others"
    )


def test_a_belief_need_not_be_one_before_the_forced_pulls_are_done(problem):
    """With one reward there is no standard error yet."""
    policy = belief(lambda n, mean, m2: (mean, np.sqrt(m2 / n / (n - 1)), n - 1))
    assert np.isfinite(varts.simulate(problem, policy, 100, 8).final["Mine"]).all()


@pytest.mark.parametrize("K", [3, 200])
def test_an_index_that_is_nan_for_some_arms_is_found(K):
    """An arm without an index would never be pulled again, and nobody would know."""

    def formula(n, mean, m2, t):
        return mean + np.sqrt(m2 / n / (n - 1))  # 0 / 0 after one pull

    arms = varts.GaussianBandit(varts.NormalGamma(0, 1, 2, 1), K=K)
    for grows in (False, True):
        policy = index(formula)
        type(policy).grows = grows
        said = refusal(lambda policy=policy: varts.simulate(arms, policy, K + 50, 8))
        assert said == "Mine must give every arm a number, got NaN"
    two = varts.index_policy("Mine", initial_pulls=2)(formula)
    assert np.isfinite(varts.simulate(arms, two, 2 * K + 50, 8).final["Mine"]).all()


# --------------------------------------------------------------------------------------- problems


def problem_of(function, mean=1.0, variance=1.0):
    class Mine(Problem):
        K = 3

        def draw(self, rng, size):
            ones = np.ones((size, 3))
            return Instances(mean * ones, variance * ones, a=ones, b=ones)

        reward = staticmethod(function)

    return Mine()


def scipy_reward(a, b, z, u):
    return special.betaincinv(a, b, u)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (problem_of(lambda a, b, z, u: None), "reward of Mine must be a number, got None"),
        (problem_of(lambda a, b, z, u: [a, b]), "reward of Mine must be a number, got ["),
        (
            problem_of(lambda a, b, z, u: a + np.nrom(z)),
            "reward of Mine must be plain arithmetic, got",
        ),
        (
            problem_of(lambda a, b, z, u: a + z + "1"),
            "reward of Mine must be plain arithmetic, got",
        ),
        (problem_of(lambda a, b, z: a), "reward of Mine must be plain arithmetic, got TypeError"),
        (
            problem_of(lambda a, b, z, u: a / (z - z)),
            "reward of Mine must be a finite number, got inf",
        ),
    ],
)
@pytest.mark.parametrize("policy", ["UCB1", "plain"])
def test_a_reward_that_cannot_be(own, sentence, policy):
    class Plain(varts.Policy):
        def choose(self, stats, t, rng):
            return 0

    played = Plain() if policy == "plain" else policy
    assert refusal(lambda: varts.simulate(own, played, 10, 8)).startswith(sentence)


def test_a_reward_that_only_python_can_pay():
    """A policy in plain Python takes it as it is."""
    own = problem_of(scipy_reward, 0.5, 1 / 12)
    said = refusal(lambda: varts.simulate(own, "UCB1", 10, 8))
    assert said.startswith(f"reward of Mine {NUMBA}betaincinv; write a closed form")

    class Plain(varts.Policy):
        def choose(self, stats, t, rng):
            return t % 3

    assert varts.simulate(own, Plain(), 10, 8).final["Plain"].tolist() == [0.0] * 8


# ------------------------------------------------------------------- what indices have in common


@pytest.mark.parametrize(
    "common",
    [
        lambda n, mean, m2: special.ndtri(mean.max()),
        lambda n, mean, m2: np.quantile(mean, [0.1], method="hazen")[0],
        lambda n, mean, m2: sum({"a": mean.max(), "b": 1}.values()),
        lambda n, mean, m2: CONFIG["C"] * mean.max(),
    ],
    ids=["SciPy", "NumPy", "dict", "global dict"],
)
def test_a_common_that_cannot_be_compiled_is_named(problem, common):
    class Mine(IndexPolicy):
        label = "Mine"

        @staticmethod
        def index(n, mean, m2, t, level):
            return mean - level

    Mine.common = staticmethod(common)
    said = refusal(lambda: varts.simulate(problem, Mine(), 10, 8))
    assert said.startswith("common of Mine must ")
    assert "Resolution failure" not in said and len(said.partition(", got ")[2]) > 4


CONFIG = {"C": 1.0}


def test_a_function_that_is_called_by_a_formula_is_looked_into(problem):
    policy = index(lambda n, mean, m2, t: mean + helper(n))
    assert refusal(lambda: varts.simulate(problem, policy, 10, 8)).startswith("index of Mine must ")


def helper(n):
    return special.ndtri(n)
