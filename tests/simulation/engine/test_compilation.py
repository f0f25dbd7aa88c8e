"""Compiled kernels are kept between processes and never stale; formulas keep their own."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import varts
from tests.interpreter import python
from varts.policies.formulas import unit_free_belief
from varts.simulation import engine
from varts.simulation.engine import compilation
from varts.simulation.engine.kernel import kernel_of
from varts.simulation.engine.kernel_cache import kernel_sources

pytestmark = [pytest.mark.when_changed("src/varts/simulation/engine"), pytest.mark.no_cover]

SOURCES = Path(varts.__file__).parent


PLAY = """
    import json, varts
    from varts.simulation.engine import compilation
    problem = varts.GaussianBandit.fixed([0.0, 0.3], 1.0)
    final = varts.simulate(problem, "UCB1", 50, 16, threads=1).final["UCB1"].sum()
    stats = compilation.loop_of(varts.UCB1(), problem).stats
    hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
    print(json.dumps([hits, misses, final]))
"""


def test_kernels_are_cached_on_disk_and_an_edit_anywhere_renews_them(tmp_path):
    """A copy of the package: compile, hit, then edit a formula in another file and miss."""
    shutil.copytree(SOURCES, tmp_path / "varts", ignore=shutil.ignore_patterns("__pycache__"))
    here = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    where = python("import json, varts; print(json.dumps(varts.__file__))", **here)
    assert Path(where).parent == tmp_path / "varts"
    hits, misses, first = python(PLAY, **here)
    assert (hits, misses) == (0, 1)
    assert python(PLAY, **here) == [1, 0, first]
    ucb = tmp_path / "varts" / "policies" / "ucb.py"
    text = ucb.read_text()
    assert "np.sqrt(2 / n)" in text
    ucb.write_text(text.replace("np.sqrt(2 / n)", "np.sqrt(9 / n)"))
    hits, misses, edited = python(PLAY, **here)
    assert (hits, misses) == (0, 1)
    assert edited != first


# Whatever is overridden, the index is the built-in's.
OWN = """
    import json, sys
    import numpy as np
    import varts
    from varts.simulation.engine import compilation

    class Eager(varts.UCB1):
        @staticmethod
        def clock(t):
            return 3 * np.sqrt(np.log(t - 1))

    class Revenue(varts.Problem):
        K = 3

        def draw(self, rng, size):
            mean = rng.random((size, 3))
            return varts.Instances(mean, mean**2, a=mean, b=mean)

        @staticmethod
        def reward(a, b, z, u):
            return -a * np.log1p(-u)

    policies = {"UCB1": varts.UCB1(), "Eager": Eager()}
    problems = {"gaussian": varts.GaussianBandit(K=3), "revenue": Revenue()}
    found = []
    for which in PLAYED:
        policy, problem = policies[which[0]], problems[which[1]]
        final = varts.simulate(problem, {"it": policy}, 500, 16, threads=1).final["it"].mean()
        stats = compilation.loop_of(policy, problem).stats
        found.append([sum(stats.cache_hits.values()), final])
    print(json.dumps(found))
"""
A, B, C = ("UCB1", "gaussian"), ("Eager", "gaussian"), ("UCB1", "revenue")


def play(folder, *which):
    return python(OWN.replace("PLAYED", repr(which)), NUMBA_CACHE_DIR=str(folder))


def test_no_policy_gets_the_results_of_another_from_disk(tmp_path):
    """In new processes that share a folder, in both orders, alone and side by side."""
    one, other = tmp_path / "one", tmp_path / "other"
    (first,), (eager,), (revenue,) = play(one, A), play(one, B), play(one, C)
    assert [first[0], eager[0], revenue[0]] == [0, 0, 0]
    assert len({first[1], eager[1], revenue[1]}) == 3
    assert play(other, C, B) == [revenue, eager]
    # What is in memory and what is from disk are told apart, too; formulas of users are kept.
    assert play(other, B, A, C) == [[1, eager[1]], first, [1, revenue[1]]]
    assert play(one, A, B, C) == [[1, first[1]], [1, eager[1]], [1, revenue[1]]]


def test_kernels_that_differ_have_names_that_differ(problem):
    class Static(varts.BeliefPolicy):
        """VarTS's unit-free formula with pooled statistics that stay fixed."""

        believe = staticmethod(unit_free_belief)

        def parameters(self, stats):
            return varts.VarTS().parameters(varts.ArmStats([5] * stats.K, 0, 1))

    one, other = (kernel_of(policy, problem) for policy in (varts.VarTS(), Static()))
    assert one.digest != other.digest


@pytest.mark.parametrize("name", ["believe", "start", "update"])
def test_what_compiled_code_does_not_know_is_played_in_plain_python(problem, name):
    kind = type("Other", (varts.MVTS,), {name: lambda *_: (0.0, 1.0, np.inf)})
    assert kernel_of(varts.MVTS(rho=2.0), problem) is not None
    assert kernel_of(kind(rho=2.0), problem) is None


def test_policies_with_equal_ingredients_share_a_kernel(problem, prior):
    one, other, third = (
        kernel_of(policy, problem) for policy in (varts.VarTS(prior), varts.TS20(), varts.VarTS())
    )
    assert one == other and hash(one) == hash(other)
    assert one != third and one.digest != third.digest


def test_every_compiled_function_is_in_a_file_that_the_digest_covers():
    """Else an edit there would leave stale kernels on disk."""
    covered = set(kernel_sources())
    assert compilation in vars(engine).values()  # which imports all the others
    modules = [module for module in vars(engine).values() if hasattr(module, "__file__")]
    functions = {
        function.py_func
        for module in modules
        for function in vars(module).values()
        if isinstance(function, Dispatcher)
    }
    assert len(functions) > 40
    assert {Path(function.__code__.co_filename) for function in functions} <= covered
