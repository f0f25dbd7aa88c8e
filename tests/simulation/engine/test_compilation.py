"""What importing costs, and that compiled kernels are kept between processes, never stale."""

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import varts
from varts.policies.formulas import unit_free_belief
from varts.simulation.engine.compilation import kernel

SOURCES = Path(varts.__file__).parent


def python(program, **environment):
    """Run a program in a new interpreter and read the JSON it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_import_is_light():
    program = """
        import json, sys, varts
        varts.choose("UCB1", varts.ArmStats.empty(2))
        heavy = ["numba", "matplotlib", "polars", "pandas", "rich", "cyclopts"]
        print(json.dumps([name for name in heavy if name in sys.modules]))
    """
    assert python(program) == []


def test_heavy_names_are_there_when_asked_for():
    program = """
        import json, sys, varts
        assert callable(varts.simulate) and "Study" in dir(varts)
        print(json.dumps([name for name in ("numba", "matplotlib") if name in sys.modules]))
    """
    assert "matplotlib" not in python(program)


def test_every_public_name_is_there():
    assert [name for name in varts.__all__ if not hasattr(varts, name)] == []
    assert dir(varts) == sorted(varts.__all__)


@pytest.mark.parametrize("module", ["numpy", "cyclopts", "varts.cli.simulate"])
def test_ctrl_c_while_the_command_line_loads(module):
    program = f"""
        import sys
        class Interrupt:
            def find_spec(self, name, *rest):
                if name == {module!r}:
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        from varts.cli import main
        main(["policies"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    told = "varts: stopped; nothing was complete yet\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", told)


def test_live_is_there_when_asked_for():
    """The guide says `varts.live.Store(url)` and `except varts.live.LiveError`."""
    program = """
        import json, sys, varts
        before = "sqlalchemy" in sys.modules
        assert issubclass(varts.live.StoreError, varts.live.LiveError) and "live" in dir(varts)
        print(json.dumps([before, varts.live.Store("memory://").names()]))
    """
    assert python(program) == [False, []]


PLAY = """
    import json, varts
    from varts.simulation.engine import compilation
    problem = varts.GaussianBandit.fixed([0.0, 0.3], 1.0)
    final = varts.simulate(problem, "UCB1", 50, 16, threads=1).final["UCB1"].sum()
    stats = compilation.kernel(varts.UCB1(), problem).stats
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

    names = [kernel(policy, problem).py_func.__qualname__ for policy in (varts.VarTS(), Static())]
    assert names[0] != names[1]


def test_every_public_name_loads_and_type_checkers_see_the_same():
    block = next(x for x in ast.parse(Path(varts.__file__).read_text()).body if type(x) is ast.If)
    shown = {alias.asname for line in block.body for alias in line.names}
    assert shown == set(varts.__all__)
    for name in varts.__all__:
        assert getattr(varts, name) is not None
