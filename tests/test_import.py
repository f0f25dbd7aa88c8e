"""What importing costs, and that every public name is there."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import varts
from tests.interpreter import python


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
    assert dir(varts) == sorted([*varts.__all__, "open"])


def test_live_is_there_when_asked_for():
    """The guide says `varts.live.Store(url)` and `except varts.live.LiveError`."""
    program = """
        import json, sys, varts
        before = "sqlalchemy" in sys.modules
        assert issubclass(varts.live.StoreError, varts.live.LiveError) and "live" in dir(varts)
        print(json.dumps([before, varts.live.Store("memory://").names()]))
    """
    assert python(program) == [False, []]


def test_every_public_name_loads_and_type_checkers_see_the_same():
    """They read the stub; of its imports they export only `name as name`."""
    stub = ast.parse(Path(varts.__file__).with_suffix(".pyi").read_text())
    imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    shown = [alias for line in imports for alias in line.names]
    assert all(alias.name == alias.asname for alias in shown)
    names = [alias.name for alias in shown]
    assert sorted(names) == dir(varts) == sorted([*varts.__all__, "open"])
    for name in names:
        assert getattr(varts, name) is not None


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'varts' has no attribute 'Nothing'"):
        _ = varts.Nothing


@pytest.mark.full
def test_a_type_checker_sees_the_types(tmp_path):
    """Also of users, who have the stub and not its tests."""
    program = tmp_path / "program.py"
    program.write_text(
        "import varts\n"
        "reveal_type(varts.VarTS)\n"
        "reveal_type(varts.live.Store)\n"
        "reveal_type(varts.__version__)\n"
        "varts.Nothing\n"
    )
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(varts.__file__).parents[1])},
    )
    said = done.stdout
    assert ".VarTS" in said and ".Store" in said, said + done.stderr
    assert 'Revealed type is "str"' in said and 'has no attribute "Nothing"' in said
    assert "Found 1 error" in said
