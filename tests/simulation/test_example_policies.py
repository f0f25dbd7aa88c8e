"""The six policies of examples/compiled_policies.py: compiled, they play as in plain Python."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import varts
from varts.policies.base import compiled_family

FILE = Path(__file__).parents[2] / "examples" / "compiled_policies.py"
PROBLEM = varts.GaussianBandit(varts.NormalGamma(mu=0, kappa=1, alpha=3, beta=2), K=10)


def load():
    spec = importlib.util.spec_from_file_location("compiled_policies", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KINDS = {kind.label: kind for kind in load().POLICIES}


def regret(policy, runs, seed):
    return next(iter(varts.simulate(PROBLEM, policy, 100, runs, seed=seed).final.values()))


@pytest.mark.when_changed("src/varts/simulation/engine", "examples", except_for=["Laplace-TS"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_compiled_and_plain_agree(kind):
    """Means of 400 and 48 runs with other seeds: 4 standard errors, 6e-5 false alarms each."""
    plain = type("Plain", (kind,), {"compiled": None, "label": "Plain"})
    assert compiled_family(kind()) is not None and compiled_family(plain()) is None
    one, other = regret(kind(), 400, seed=1), regret(plain(), 48, seed=2)
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    assert abs(one.mean() - other.mean()) < 4 * error


def test_another_policy_would_be_noticed():
    """The negative control: always the first arm."""

    class First(varts.StatePolicy):
        label = "First"

        @staticmethod
        def pick(t, n, mean, m2, arms, run, rng):
            return 0

    one, other = regret(First(), 400, seed=1), regret(KINDS["Laplace-TS"](), 48, seed=2)
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    assert abs(one.mean() - other.mean()) > 4 * error
