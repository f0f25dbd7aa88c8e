"""Rules that the test suite itself must follow."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.live import corrections  # a helper with many asserts, which pytest doesn't collect
from tests.tiers import imported_names

TESTS = Path(__file__).parent


# ------------------------------------------------------------------------------ benchmarks


def imports_benchmarks(source):
    return any(name.partition(".")[0] == "benchmarks" for name in imported_names(source))


def test_tests_do_not_import_benchmarks():
    """Benchmarks build on the tests' worlds, never the other way round."""
    sources = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert Path(__file__) in sources
    suspects = {path: text for path, text in sources.items() if "benchmarks" in text}  # saves time
    assert [path for path, text in suspects.items() if imports_benchmarks(text)] == []


def test_every_form_of_import_is_noticed():
    """The negative control."""
    caught = (
        "import benchmarks",
        "import numpy, benchmarks.run as run",
        "from benchmarks import run",
        "from benchmarks.run import main",
        "def late():\n    from benchmarks import run",
    )
    innocent = ("'import benchmarks'", "import benchmarks_of_mine", "from tests import benchmarks")
    assert all(map(imports_benchmarks, caught))
    assert not any(map(imports_benchmarks, innocent))


# ------------------------------------------------------------------------------ asserts


def with_plain_asserts(modules):
    """The names of modules with asserts that pytest hasn't rewritten as it did this module's."""
    return [
        module.__name__
        for module in modules
        if type(module.__loader__) is not type(__loader__) and has_asserts(module)
    ]


def has_asserts(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_asserts_are_rewritten_here():
    one = 1
    with pytest.raises(AssertionError, match="1 == 2"):  # a plain assert has no message
        assert one == 2


def test_asserts_are_rewritten_in_all_modules():
    """In all that this process has imported: every module, when the whole suite runs."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    assert corrections in modules
    assert with_plain_asserts(modules) == []


def test_a_module_with_plain_asserts_is_found():
    spec = importlib.util.spec_from_file_location("plain", corrections.__file__)
    assert with_plain_asserts([importlib.util.module_from_spec(spec)]) == ["plain"]
