"""What importing costs, and that every public name is there."""

import ast
from pathlib import Path

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
    block = next(x for x in ast.parse(Path(varts.__file__).read_text()).body if type(x) is ast.If)
    shown = {alias.asname for line in block.body for alias in line.names}
    assert shown == {*varts.__all__, "open"}
    for name in shown:
        assert getattr(varts, name) is not None
