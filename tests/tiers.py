"""Which tests run when.

`--tier` chooses how much of the suite runs, and `--since REV` says what counts as changed: files
that differ from that revision, and files git doesn't track yet.

- `check`: the tests of the changed files, as far as the gate has them.
- `gate`: what must pass before a change lands.
- `full`, the default: everything. So `pytest tests/test_stats.py` runs every test of that file.

A test says where it runs by its markers:

- No marker: in the gate, and so in the full tier.
- `full`: in the full tier only.
- `when_changed("path", ...)`: in the full tier, and in the gate if one of these files or folders
  changed, or the test's own file.
- Both take `except_for=["id", ...]`: tests with one of these parameters stay in the gate.
- `gate`: in the gate on PostgreSQL, too. A test that has stores as parameters otherwise runs there
  in memory and on SQLite only; a test that exists for PostgreSQL alone needs no marker.

Doctests run in the gate when their module changed.
"""

from __future__ import annotations

import ast
import os
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import settings

from tests.seeds import VARIABLE

ROOT = Path(__file__).parents[1]
TIERS = ("check", "gate", "full")
TIER = "VARTS_TEST_TIER"
PAGES = "tests/test_docs.py"  # runs the pages of the documentation that changed
MARKERS = (
    "full(except_for=()): runs in `make test-full` only",
    "when_changed(path, ..., except_for=()): runs in the gate only if one of these paths changed",
    "gate: runs in the gate with the parameter `postgres`, too",
    "postgres: uses PostgreSQL (added automatically)",
    "statistical: has a stated false-alarm rate; `make test-seeds` runs it with fresh seeds",
)


def pytest_addoption(parser):
    group = parser.getgroup("varts")
    group.addoption("--tier", choices=TIERS, default="full", help="how much of the suite to run")
    group.addoption(
        "--since", metavar="REV", help="what counts as changed: all since this revision"
    )


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    os.environ[TIER] = config.getoption("--tier")
    settings.register_profile("varts", examples(80))
    settings.load_profile("varts")


def examples(count):
    """Hypothesis settings: `count` examples, a fifth of them outside the full tier.

    The examples are the same in every run, unless `VARTS_TEST_SEED` asks for fresh ones.

    Args:
        count: The number of examples in the full tier.
    """
    few = os.environ.get(TIER, "full") != "full"
    return settings(
        max_examples=max(count // 5, 5) if few else count,
        derandomize=not os.environ.get(VARIABLE),
        deadline=None,
    )


def pytest_ignore_collect(collection_path, config):
    """Don't import modules whose tests this tier doesn't run anyway."""
    tier = config.getoption("--tier")
    ours = collection_path.is_relative_to(ROOT) and collection_path.suffix == ".py"
    if tier == "full" or not ours:
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    changed = changed_files(config.getoption("--since"))
    if path.startswith("src/"):
        return path not in changed or None
    if tier == "check" and is_test_file(path) and path != PAGES:
        return path not in related_tests(changed) or None
    return None


def pytest_itemcollected(item):
    if uses_postgres(item):
        item.add_marker("postgres")


def pytest_collection_modifyitems(config, items):
    tier = config.getoption("--tier")
    if tier == "full":
        return
    if tier == "gate" and (stale := stale_markers(items)):
        raise pytest.UsageError("\n".join(stale))
    changed = changed_files(config.getoption("--since"))
    kept, left_out = [], []
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        here = tier == "gate" or path != PAGES or path in changed or watches(item, changed)
        (kept if here and in_gate(item, path, changed) else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(left_out)
    config.stash[LEFT_OUT] = len(left_out)


LEFT_OUT = pytest.StashKey[int]()
NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Print the command that repeats a failure with fresh seeds."""
    report = yield
    chosen = os.environ.get(VARIABLE)
    if chosen and report.failed:
        again = f"{VARIABLE}={chosen} python -m pytest -n 0 '{item.nodeid}'"
        report.sections.append(("to repeat this failure", again))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """With xdist only the workers collect: take over how many tests they left out."""
    output = getattr(node, "workeroutput", {})
    if "left_out" in output:
        node.config.stash[LEFT_OUT] = output["left_out"]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """In the check tier, a change without tests of its own is no failure."""
    if session.config.getoption("--tier") == "check" and exitstatus == NO_TESTS:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter, config):
    left_out = config.stash.get(LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(
            f"{config.getoption('--tier')} tier: left out {left_out} tests; "
            "`make test-full` runs everything"
        )


# ------------------------------------------------------------------------------ one test


def in_gate(item, path, changed):
    """Whether the gate runs this test, given the changed files."""
    if not left_to_gate(item, "full"):
        return False
    if not left_to_gate(item, "when_changed"):
        return path in changed or watches(item, changed)
    if isinstance(item, pytest.DoctestItem):
        return path in changed
    return not has_parameter(item, "postgres") or bool(item.get_closest_marker("gate"))


def left_to_gate(item, name):
    """Whether the test lacks this marker, or the marker makes an exception for its parameters."""
    id = f"-{item.callspec.id}-" if hasattr(item, "callspec") else ""
    return all(
        any(f"-{kept}-" in id for kept in mark.kwargs.get("except_for", ()))
        for mark in item.iter_markers(name)
    )


def watches(item, changed):
    """Whether a path that the test's `when_changed` names has changed."""
    watched = [path for mark in item.iter_markers("when_changed") for path in mark.args]
    return any(PurePosixPath(file).is_relative_to(path) for path in watched for file in changed)


def has_parameter(item, wanted):
    """Whether a parameter of this test is this string."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(isinstance(value, str) and value == wanted for value in parameters)


def uses_postgres(item):
    """Whether a fixture or a parameter of this test is PostgreSQL."""
    return "postgres" in getattr(item, "fixturenames", ()) or has_parameter(item, "postgres")


def stale_markers(items):
    """Sentences about markers that name a parameter or a path that doesn't exist.

    Args:
        items: All tests, so that every parameter is among them.
    """
    ids = {}
    for item in items:
        function = item.nodeid.partition("[")[0]
        ids.setdefault(function, set()).add(
            f"-{item.callspec.id}-" if hasattr(item, "callspec") else ""
        )
    found = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        for mark in (*item.iter_markers("full"), *item.iter_markers("when_changed")):
            for kept in mark.kwargs.get("except_for", ()):
                if not any(f"-{kept}-" in id for id in ids[function]):
                    found.add(
                        f"{function}: except_for names {kept!r}, but no parameter is called that"
                    )
            for path in mark.args:
                if not (ROOT / path).exists():
                    found.add(f"{function}: when_changed names {path}, which doesn't exist")
    return sorted(found)


# ------------------------------------------------------------------------------ what changed


@cache
def changed_files(since):
    """The files that differ from this revision, as posix paths from the root. None: nothing."""
    if not since:
        return frozenset()
    commands = (
        ("git", "diff", "--name-only", since, "--"),
        ("git", "ls-files", "--others", "--exclude-standard"),
    )
    names = set()
    for command in commands:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if run.returncode:
            raise pytest.UsageError(f"--since must be a git revision: {run.stderr.strip()}")
        names |= set(run.stdout.splitlines())
    return frozenset(names)


@cache
def related_tests(changed):
    """The test files of changed files: the ones that changed, import them or mirror their path.

    Args:
        changed: A frozen set of posix paths from the root.
    """
    names = {module_name(path): path for path in changed if path.endswith(".py")}
    names.pop("varts", None)  # every test imports it
    related = {path for path in changed if is_test_file(path)}
    mirrored = set(map(mirror, names.values()))
    for path, imported in imports_of_tests().items():
        if path in mirrored or not imported.isdisjoint(names):
            related.add(path)
    return related


@cache
def imports_of_tests():
    """The names each test file imports, by its path."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return {
        file.relative_to(ROOT).as_posix(): imported_names(file.read_text(encoding="utf-8"))
        for file in files
    }


def is_test_file(path):
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")


def module_name(path):
    """`src/varts/cli/report.py` -> `varts.cli.report`; a package is its folder's name."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def mirror(path):
    """`src/varts/live/report.py` -> `tests/live/test_report.py`; `_text.py` -> `test_text.py`."""
    parts = PurePosixPath(path).parts
    if parts[:2] != ("src", "varts"):
        return path
    return PurePosixPath("tests", *parts[2:-1], f"test_{parts[-1].lstrip('_')}").as_posix()


def imported_names(source):
    """Every module that a source may import: `from a import b` gives `a` and `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
