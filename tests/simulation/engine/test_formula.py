"""A formula is known by everything that can change what it computes, and by nothing else."""

import dataclasses
import random
import textwrap
from random import gauss

import numpy as np
import pytest
from numba import njit
from numpy.random import normal

import varts
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import Kernel, kernel_of

pytestmark = pytest.mark.when_changed("src/varts/simulation/engine")

# Every value in braces is compiled into the kernel of Mine on Own.
TEMPLATE = """
    import types
    import numpy as np
    import varts

    settings = types.ModuleType("settings")
    settings.C = {attribute}
    C = {number}
    TABLE = np.array([1.0, {entry}])
    PAIR = (1.0, {pair})
    DEEP = {deep}

    def inner(x):
        return x + DEEP

    def helper(x, {argument}=0.0):
        return {called}(inner(x)) * {helper}

    def make(cell):
        def index(mean, width, growth, scale={default}):
            known = C + TABLE[1] + PAIR[1] + settings.C + cell
            return mean + np.{function}(width) * growth * scale + {constant} * helper(known)
        return index

    class Mine(varts.IndexPolicy):
        grows = {grows}
        index = staticmethod(make({cell}))

        @staticmethod
        def terms(n, mean, m2):
            return {terms}

        @staticmethod
        def clock(t):
            return {clock} * np.log(t)

    class Own(varts.Problem):
        K = 200

        @staticmethod
        def reward(a, b, z, u):
            return a + {reward} * b * z
"""
INGREDIENTS = {
    "attribute": 1.0, "number": 1.0, "entry": 2.0, "pair": 2.0, "deep": 0.5, "argument": "y",
    "called": "abs", "helper": 2.0, "default": 1.0, "function": "sqrt", "constant": 3.0,
    "grows": True, "cell": 0.25, "terms": "mean, 1 / n", "clock": 1.0, "reward": 1.0,
}  # fmt: skip
OTHERS = {"argument": "z", "called": "float", "function": "log1p", "terms": "mean, 2 / n"}


def kernel(**changes):
    namespace = {"__name__": "anywhere"}
    exec(textwrap.dedent(TEMPLATE).format(**{**INGREDIENTS, **changes}), namespace)
    return kernel_of(namespace["Mine"](), namespace["Own"]())


@pytest.mark.parametrize("name", INGREDIENTS)
def test_every_ingredient_is_in_the_key(name):
    changed = OTHERS.get(name, not INGREDIENTS[name] if name == "grows" else 7.0)
    assert kernel(**{name: changed}).digest != kernel().digest
    assert kernel(**{name: changed}) != kernel()


def test_equal_ingredients_have_equal_keys():
    """Also after a function has run for a while, when Python has adapted its bytecode."""
    first = kernel()
    for _ in range(1000):
        first.formula.function(1.0, 1.0, 1.0)
    assert kernel() == first and hash(kernel()) == hash(first)
    assert kernel().digest == first.digest


@pytest.mark.parametrize("field", dataclasses.fields(Kernel), ids=lambda field: field.name)
def test_every_field_of_a_kernel_is_in_the_key(field):
    base = kernel()
    value = getattr(base, field.name)
    other = {str: "other", bool: not value, int: 7}.get(
        type(value), Formula.of(lambda n: n + 1, "it")
    )
    changed = dataclasses.replace(base, **{field.name: other})
    assert changed.digest != base.digest and changed != base


def test_numbers_of_another_type_or_sign_are_others():
    contents = []
    for number in (0.0, -0.0, 0, False, np.float32(0), np.zeros(2), np.zeros((2, 1)), None, "0"):
        contents.append(Formula.of(lambda n, number=number: (n, number), "it").content)
    assert len(set(contents)) == len(contents)


def test_a_function_inside_a_formula_is_looked_into():
    def content(number):
        def formula(n):
            own = n

            def inside(m):
                here = m + own  # a variable of the formula: no name from outside
                return (lambda: here + number)()

            return inside(1.0)

        return Formula.of(formula, "it").content

    assert content(1.0) == content(1.0) != content(2.0)


def test_the_same_code_at_another_place_is_the_same():
    places = [{}, {}]
    for line, place in enumerate(places):
        exec(9 * line * "\n" + "def f(n):\n    return n + 1.5", place)
    one, other = (Formula.of(place["f"], "it") for place in places)
    assert one == other and one.function is not other.function


def test_compiled_or_not_a_function_is_the_same():
    def plain(n):
        return n + 1.0

    assert Formula.of(njit(plain), "it") == Formula.of(plain, "it")


CONFIG = {"C": 1.0}
LIST = [1.0]


class Settings:
    C = 1.0


SETTINGS = Settings()


def itself(n):
    return itself(n - 1)


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        (itself, "must not call itself, got itself"),
        (Settings().__init__, "must be a plain function"),
        (Settings, "must be a plain function, got <class"),
    ],
    ids=["recursion", "wrapper", "class"],
)
def test_what_has_no_key_is_refused(formula, sentence):
    with pytest.raises(ValueError) as refused:
        Formula.of(formula, "index of Mine")
    assert str(refused.value).startswith("index of Mine ") and sentence in str(refused.value)


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        (lambda n: n + CONFIG["C"], "CONFIG"),
        (lambda n: n + LIST[0], "LIST"),
        (lambda n: n + SETTINGS.C, "SETTINGS"),
        (lambda n: n + Settings.C, "Settings"),
    ],
)
def test_what_may_change_unseen_is_not_kept_on_disk(formula, name):
    made = Formula.of(formula, "it")
    assert not made.is_portable and made.opaque == (name,)
    assert Formula.of(lambda n: n + C, "it").is_portable


C = 1.0


@pytest.mark.parametrize(
    "formula",
    [
        lambda n, mean, m2, t: mean + np.random.normal(),
        lambda n, mean, m2, t: mean + normal(),
        lambda n, mean, m2, t: mean + random.random(),
        lambda n, mean, m2, t: mean + gauss(0.0, 1.0),
        lambda n, mean, m2, t: mean + GENERATOR.normal(),
        lambda n, mean, m2, t: mean + noisy(),
    ],
    ids=["np.random", "from numpy.random", "random", "from random", "generator", "in a function"],
)
def test_random_numbers_without_a_seed_are_refused(problem, formula):
    """The error names what to write instead."""
    with pytest.raises(ValueError, match=r"^index of Dice must not use .* repeat") as refused:
        varts.simulate(problem, varts.index_policy("Dice")(formula), 10, 8)
    assert "set chance = True" in str(refused.value) and "varts.draws" in str(refused.value)


GENERATOR = np.random.default_rng(0)


def noisy():
    return np.random.random()


def test_a_method_is_told_about_staticmethod(problem):
    class Forgetful(varts.IndexPolicy):
        def index(self, n, mean, m2, t):
            return mean

    with pytest.raises(ValueError, match=r"^index of Forgetful .* got a method: add @staticmethod"):
        varts.simulate(problem, Forgetful(), 10, 8)


# ------------------------------------------------------------------------------------- in memory


WEIGHT = 1.0


def weight():
    return WEIGHT


def sweep(policy, problem):
    """The regret and the indices with each weight, the module's number changed in between."""
    global WEIGHT
    stats, found = varts.ArmStats([4, 5, 6], [0.5, 0.2, 0.1], 1), []
    for WEIGHT in (0.1, 5.0, 0.1):  # noqa: B007
        study = varts.simulate(problem, {"it": policy}, 200, 16)
        found.append((study.final["it"].tolist(), policy.indices(stats, 16).tolist()))
    WEIGHT = 1.0
    return found


@varts.index_policy("Direct")
def direct(n, mean, m2, t):
    return mean + WEIGHT * np.sqrt(2 * np.log(t - 1) / n)


@varts.index_policy("Through a function")
def through_function(n, mean, m2, t):
    return mean + weight() * np.sqrt(2 * np.log(t - 1) / n)


@pytest.mark.parametrize("policy", [direct, through_function], ids=lambda policy: policy.label)
def test_a_swept_global_is_followed(policy, problem):
    @dataclasses.dataclass(frozen=True)
    class AsField(varts.IndexPolicy):
        weight: float

        @staticmethod
        def index(n, mean, m2, t, weight):
            return mean + weight * np.sqrt(2 * np.log(t - 1) / n)

    small, large, again = sweep(policy, problem)
    assert small == again and small[0] != large[0] and small[1] != large[1]
    for (final, _), number in ((small, 0.1), (large, 5.0)):
        expected = varts.simulate(problem, {"it": AsField(number)}, 200, 16).final["it"]
        assert final == expected.tolist()


def test_a_swept_closure_is_followed():
    first = 0.0

    @varts.index_policy("Closure")
    def closure(n, mean, m2, t):
        return np.where(n < first, 1000.0 - n, mean)

    regret, arms = {}, varts.GaussianBandit.fixed([0.0, 1.0], 1e-3)
    for first in (2.0, 9.0):
        regret[first] = varts.simulate(arms, closure, 50, 8).final["Closure"]
    for pulls, final in regret.items():
        assert final == pytest.approx(pulls)  # each of the worse arm costs 1


def test_a_swept_reward_is_followed():
    """A constant reward of `paid` for both arms: an index of the mean alone sees it."""
    paid = 0.0

    class Paying(varts.Problem):
        K = 2

        def draw(self, rng, size):
            means = np.full((size, 2), paid)
            return varts.Instances(means + np.array([0, 1e-6]), means**2, a=means, b=means)

        @staticmethod
        def reward(a, b, z, u):
            return paid + 0 * z

    @varts.index_policy("Modest")
    def modest(n, mean, m2, t):
        return np.where(mean > 5, -n, n)  # in turn, or one arm for good

    shares = []
    for paid in (1.0, 9.0, 1.0):  # noqa: B007
        shares.append(varts.simulate(Paying(), modest, 100, 16).best_share["Modest"].tolist())
    assert shares[0] == shares[2] and set(shares[0]) == {0.01, 0.99}
    assert set(shares[1]) == {0.5}
