"""Compiled kernels are kept between processes and never stale; formulas keep their own."""

import shutil
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

import varts
from tests.interpreter import python
from varts.policies.formulas import unit_free_belief
from varts.simulation import engine
from varts.simulation.engine.compilation import kernel_sources
from varts.simulation.engine.kernel import kernel_of

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
    ucb = tmp_path / "varts" / "policies" / "index.py"
    text = ucb.read_text()
    assert "np.sqrt(2 / n)" in text
    ucb.write_text(text.replace("np.sqrt(2 / n)", "np.sqrt(9 / n)"))
    hits, misses, edited = python(PLAY, **here)
    assert (hits, misses) == (0, 1)
    assert edited != first


def test_kernels_that_differ_have_names_that_differ(problem):
    class Static(varts.BeliefPolicy):
        """VarTS's unit-free formula with pooled statistics that stay fixed."""

        believe = staticmethod(unit_free_belief)

        def parameters(self, stats):
            return varts.VarTS().parameters(varts.ArmStats([5] * stats.K, 0, 1))

    names = [kernel_of(policy, problem).name for policy in (varts.VarTS(), Static())]
    assert names[0] != names[1]


def test_a_subclass_with_a_clock_of_its_own_is_not_played_by_the_built_in_kernel(problem):
    """The index is the built-in's, and so was the name of the kernel on disk."""

    class Curious(varts.UCB1):
        @staticmethod
        def clock(t):
            return 9 * np.sqrt(np.log(t - 1))

    assert not kernel_of(Curious(), problem).is_built_in
    study = varts.simulate(problem, {"UCB1": varts.UCB1(), "Curious": Curious()}, 200, 16)
    assert study.results["UCB1"] != study.results["Curious"]


def test_policies_with_equal_ingredients_share_a_kernel(problem, prior):
    one, other, third = (
        kernel_of(policy, problem) for policy in (varts.VarTS(prior), varts.TS20(), varts.VarTS())
    )
    assert one == other and hash(one) == hash(other)
    assert one != third and one.name != third.name


def test_every_compiled_function_is_in_a_file_that_the_digest_covers():
    """Else an edit there would leave stale kernels on disk."""
    covered = set(kernel_sources())
    modules = [module for module in vars(engine).values() if hasattr(module, "__file__")]
    functions = {
        function.py_func
        for module in modules
        for function in vars(module).values()
        if isinstance(function, Dispatcher)
    }
    assert len(functions) > 40
    assert {Path(function.__code__.co_filename) for function in functions} <= covered
