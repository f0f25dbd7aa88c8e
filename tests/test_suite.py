"""Rules that the test suite itself must follow."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def imported_packages(source):
    """The top-level packages that a source file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def test_tests_do_not_import_benchmarks():
    """Benchmarks build on the tests' worlds, never the other way round."""
    sources = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert Path(__file__) in sources
    suspects = {path: text for path, text in sources.items() if "benchmarks" in text}  # saves time
    guilty = [p for p, text in suspects.items() if "benchmarks" in imported_packages(text)]
    assert guilty == []


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
    assert all("benchmarks" in imported_packages(source) for source in caught)
    assert not any("benchmarks" in imported_packages(source) for source in innocent)
