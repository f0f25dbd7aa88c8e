"""Policies that are made of one function can be copied, pickled and sent to other processes."""

import copy
import gc
import multiprocessing
import pickle
import subprocess
import sys
import weakref
from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import numpy as np
import pytest

import varts
from varts import ArmStats, index_policy

STATS = ArmStats([4, 9], [0.5, 0.25], [1.0, 0.09])


@index_policy("Decorated", initial_pulls=2)
def decorated(n, mean, m2, t):
    """The mean and a bonus."""
    return mean + 1 / n


def bare(n, mean, m2, t):
    return mean - 1 / n


called = index_policy("Called")(bare)


@pytest.mark.parametrize("policy", [decorated, called], ids=["decorated", "called"])
@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_a_policy_of_a_module_survives_pickling(policy, pickler):
    same = pickler.loads(pickler.dumps(policy))
    assert same == policy and type(same) is type(policy)
    again = pickler.loads(pickler.dumps(same))
    assert (
        again == policy and again.indices(STATS, 14).tolist() == policy.indices(STATS, 14).tolist()
    )


@pytest.mark.parametrize("protocol", range(4, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_small(protocol):
    """They name the function and do not contain it."""
    assert len(pickle.dumps(decorated, protocol)) < 200


def test_copies_are_equal():
    @index_policy("Local")
    def local(n, mean, m2, t):
        return mean

    for policy in (decorated, called, local):
        assert copy.copy(policy) == copy.deepcopy(policy) == policy
        assert copy.deepcopy([policy])[0] == policy


def test_cloudpickle_takes_local_functions_along():
    bonus = 3.0

    @index_policy("Local", initial_pulls=2)
    def local(n, mean, m2, t):
        return mean + bonus

    same = cloudpickle.loads(cloudpickle.dumps(local))
    assert same.label == "Local" and same.pulls_needed(2).tolist() == [2, 2]
    assert same.indices(STATS, 14).tolist() == [3.5, 3.25]
    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


def test_a_policy_in_another_policy_survives():
    fading = varts.Fading(decorated, 5)
    assert pickle.loads(pickle.dumps(fading)) == fading


def indices_of(policy):
    return type(policy) is type(decorated), policy.indices(STATS, 14).tolist()


def test_another_process_gets_its_own_policy():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        same, indices = pool.submit(indices_of, decorated).result()
    assert same and indices == decorated.indices(STATS, 14).tolist()


SCRIPT = """
import copy, pickle, cloudpickle, varts

@varts.index_policy("Mine")
def mine(n, mean, m2, t):
    return mean

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(mine)) == mine == copy.deepcopy(mine)
    made = cloudpickle.dumps(mine)
    del mine
    print(cloudpickle.loads(made).label)
"""


def test_a_policy_of_a_script(tmp_path):
    """Where the module is __main__, which cloudpickle does not rely on elsewhere."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Mine\n"), done.stderr


class Careful(type(called)):
    """A subclass is pickled by its own name."""

    def pulls_needed(self, K):
        return np.full(K, 5)


def test_a_subclass_stays_one():
    policy = pickle.loads(pickle.dumps(Careful()))
    assert type(policy) is Careful and copy.deepcopy(policy) == policy


def test_a_function_may_have_several_policies():
    twice = index_policy("Called")(bare), index_policy("Called", initial_pulls=2)(bare)
    assert twice[0] == called != twice[1] != index_policy("Other")(bare)


def test_functions_are_not_kept_alive():
    def local(n, mean, m2, t):
        return mean

    kept, policy = weakref.ref(local), index_policy("Local")(local)
    del local, policy
    gc.collect()
    assert kept() is None
