"""A policy with a half-life has everything that the policy has."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, is_dataclass, replace

import cloudpickle
import numpy as np
import pytest

import varts
from varts import ArmStats, Fading, LinearNormalGamma, LinearStats, NormalGamma, Policy
from varts.policies.base import compiled_family

OWN = {"compiled", "label", "restricted", "for_arms", "split_fading"}  # what `Fading` says itself
EVERYTHING = [name for name in dir(Policy) if not name.startswith("__")]
STATS = ArmStats([4, 9], [0.5, 0.25], [1.0, 0.09])


@pytest.mark.parametrize("name", [name for name in EVERYTHING if name not in OWN])
def test_every_attribute_of_a_policy_is_forwarded(name):
    """Also those that will be added to `Policy`: they appear here by themselves."""
    answer = object()
    inner = type("Inner", (Policy,), {name: property(lambda self: answer)})()
    fading = object.__new__(Fading)  # without the checks, which ask for some of the attributes
    fading.__dict__.update(policy=inner, half_life=5.0)
    assert getattr(fading, name) is answer


def test_what_fading_says_itself():
    fading = Fading(varts.VarTS(NormalGamma([0, 1, 2], 1, 2, 1)), 5)
    assert fading.label == "VarTS, half-life 5"
    assert fading.compiled is None and compiled_family(fading) is None
    some = fading.restricted(np.array([0, 2]))
    assert isinstance(some, Fading) and some.policy.prior.mu.tolist() == [0, 2]
    named = varts.VarTS(NormalGamma([0, 1], 1, 2, 1, names=["a", "b"]))
    swapped = Fading(named, 5).for_arms(["b", "a"])
    assert isinstance(swapped, Fading) and swapped.policy.prior.mu.tolist() == [1, 0]


def test_chances_are_those_of_the_policy():
    policy = varts.EpsilonGreedy()
    expected = policy.probabilities(STATS, 14)
    assert Fading(policy, 5).probabilities(STATS, 14).tolist() == expected.tolist()


def test_reports_get_the_beliefs_of_the_policy():
    policy = varts.VarTS()
    fading = Fading(policy, 5)
    assert fading._belief(STATS).scale.tolist() == policy._belief(STATS).scale.tolist()
    assert fading._inference(STATS).scale.tolist() == policy._inference(STATS).scale.tolist()
    assert fading.initial_pulls == policy.initial_pulls and fading.prior is None


def test_a_policy_with_features():
    policy = varts.LinearVarTS(LinearNormalGamma.ridge(1))
    fading = Fading(policy, 5)
    stats = LinearStats.empty(2, 1).observe([0, 0, 1, 1], [[0], [1], [0], [1]], [1, 2, 2, 1])
    assert fading.contextual
    chosen = [varts.choose(p, stats, rng=3, x=[1.0]) for p in (fading, policy)]
    assert chosen[0] == chosen[1]
    assert fading.choose_at(stats, [1.0], 5, np.random.default_rng(3)) == chosen[0]
    x = np.array([[0.5]])
    posterior = fading.posterior(stats)
    assert fading.belief_from(posterior, x).loc.tolist() == policy.belief_at(stats, x).loc.tolist()


def test_copies_and_pickles():
    fading = Fading(varts.VarTS(NormalGamma(0, 1, 2, 1)), 5)
    fading._belief(STATS)  # keeps something for later calls
    for module in (pickle, cloudpickle):
        assert module.loads(module.dumps(fading)) == fading
    assert copy.copy(fading) == copy.deepcopy(fading) == replace(fading) == fading
    assert is_dataclass(fading) and len({Fading("UCB1", 5), Fading("UCB1", 5)}) == 1
    assert repr(fading).startswith("Fading(policy=VarTS(")
    with pytest.raises(FrozenInstanceError):
        fading.half_life = 7


def test_a_subclass_may_change_something():
    @dataclass(frozen=True)
    class Louder(Fading):
        factor: float

        def least_weight(self, K):
            return self.factor * self.policy.least_weight(K)

    assert Louder(varts.UCB1(), 5, 2.0).least_weight(2).tolist() == [2, 2]
    assert Louder(varts.UCB1(), 5, 2.0).pulls_needed(2).tolist() == [1, 1]


def test_a_misspelt_attribute_is_an_error_of_the_policy():
    with pytest.raises(AttributeError, match="'UCB1' object has no attribute 'least_wait'"):
        Fading("UCB1", 5).least_wait(3)
    with pytest.raises(AttributeError):
        object.__new__(Fading).policy  # noqa: B018
    assert not hasattr(object.__new__(Fading), "prior")
