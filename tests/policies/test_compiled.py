"""Which policies the engine may play in compiled code, as their classes declare it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import varts
from tests.policies.built import built
from varts.policies import known
from varts.policies.base import Compiled, compiled_family

FAMILIES = {
    "Bernoulli-TS": "beta",
    "MVTS": "belief",
    "T3C": "top_two",
    "EB-TCI": "top_two_means",
    "TTEI": "top_two_gain",
    "SHVar": "state",
    "SHAdaVar": "state",
    "LinearVarTS": "linear_belief",
    "LinearTS": "linear_belief",
    "LinUCB": "linear_index",
    "Linear-Bayes-UCB": "linear_index",
    "Linear-Greedy": "linear_index",
    "EB-VarTS": None,
    "EUCBV": None,
}


def family_by_base(policy):
    """The family of a policy that isn't in the table."""
    return "index" if isinstance(policy, varts.IndexPolicy) else "belief"


@pytest.mark.parametrize("label", known())
def test_every_policy_has_its_family(label):
    policy = built(label)
    expected = FAMILIES[label] if label in FAMILIES else family_by_base(policy)
    assert compiled_family(policy) == expected


def test_mvts_is_an_ordinary_sampler_only_without_variances():
    assert compiled_family(varts.MVTS(rho=1.0)) == "mean_variance"
    assert compiled_family(varts.MVTS(rho=np.inf)) == "belief"


DECLARING = [
    *(varts.BernoulliTS(), varts.MVTS(), varts.MVTS(rho=1.0), varts.T3C(), varts.EBTCI()),
    *(varts.UCB1(), varts.BayesUCB(), varts.VarTS(), varts.LinUCB(), varts.LinearTS()),
]


@pytest.mark.parametrize("policy", DECLARING, ids=repr)
def test_overriding_a_replaced_method_means_plain_python(policy):
    kind = type(policy)
    for name in (*policy.compiled.replaces, "start", "update"):
        own = type("Own", (kind,), {name: lambda self, *args: None})
        changed = object.__new__(own)
        changed.__dict__.update(policy.__dict__)
        assert compiled_family(changed) is None, name


def test_a_method_that_is_not_replaced_may_be_overridden():
    class Patient(varts.UCB1):
        def pulls_needed(self, K):
            return np.full(K, 3)

    assert compiled_family(Patient()) == "index"


def test_a_class_may_declare_that_its_own_method_is_compiled():
    """As Bayes-UCB does; one that inherits from it is held to it."""

    class Exact(varts.UCB1):
        compiled: ClassVar = Compiled("index", ("choose", "transform", "indices"))

        def indices(self, stats, t, u=None):
            return super().indices(stats, t, u)

    class Other(Exact):
        def indices(self, stats, t, u=None):
            return -stats.n

    assert compiled_family(Exact()) == "index"
    assert compiled_family(Other()) is None


def test_a_class_may_ask_for_plain_python():
    class Plain(varts.UCB1):
        compiled = None

    assert compiled_family(Plain()) is None


def test_plain_python_is_what_is_played():
    @dataclass(frozen=True)
    class Last(varts.UCB1):
        """UCB1 by name, but it always pulls the last arm."""

        def indices(self, stats, t, u=None):
            return np.arange(stats.K) * 1.0

    problem = varts.GaussianBandit.fixed([0.0, 0.0, 1.0], 1.0)
    study = varts.simulate(problem, Last(), horizon=12, runs=2, checkpoints=[12])
    assert (study.pulls["UCB1"] == [1, 1, 10]).all()
