"""Which tests run when: the rules of `tests/tiers.py`, on made-up tests and files."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests import seeds, tiers

ENGINE = "src/varts/simulation/engine"


class Item:
    """As much of a pytest item as the rules look at."""

    def __init__(self, *marks, id=None, **params):
        self._marks = [mark.mark for mark in marks]
        self.nodeid = f"tests/test_it.py::test_it[{id}]"
        if id is not None:
            self.callspec = SimpleNamespace(id=id, params=params)

    def iter_markers(self, name):
        return [mark for mark in self._marks if mark.name == name]

    def get_closest_marker(self, name):
        return next(iter(self.iter_markers(name)), None)


def in_gate(*marks, changed=(), **more):
    return tiers.in_gate(Item(*marks, **more), "tests/test_it.py", frozenset(changed))


def test_a_test_without_a_marker_is_in_the_gate():
    assert in_gate()
    assert not in_gate(pytest.mark.full)


def test_parameters_can_stay_in_the_gate():
    some = pytest.mark.full(except_for=["steps", "UCB1-Tuned"])
    assert in_gate(some, id="steps") and in_gate(some, id="memory-UCB1-Tuned")
    assert not in_gate(some, id="random steps") and not in_gate(some, id="UCB1")


def test_a_test_of_the_engine_runs_when_the_engine_changed():
    mark = pytest.mark.when_changed(ENGINE)
    assert in_gate(mark, changed=[f"{ENGINE}/rng.py"])
    assert in_gate(mark, changed=["tests/test_it.py"])
    assert not in_gate(mark, changed=["src/varts/simulation/engines.py", "README.md"])
    assert in_gate(pytest.mark.when_changed(ENGINE, except_for=["2"]), id="2")


def test_stores_as_parameters_run_on_postgresql_in_the_full_tier():
    assert in_gate(id="sqlite", store="sqlite")
    assert not in_gate(id="postgres", store="postgres")
    assert in_gate(pytest.mark.gate, id="postgres", store="postgres")


def test_a_marker_that_names_nothing_is_found():
    right = (
        Item(pytest.mark.full(except_for=["a"]), id="a-b"),
        Item(pytest.mark.when_changed("src")),
    )
    assert tiers.stale_markers(right) == []
    wrong = (
        Item(pytest.mark.full(except_for=["c"]), id="a-b"),
        Item(pytest.mark.when_changed("gone")),
    )
    assert len(tiers.stale_markers(wrong)) == 2


@pytest.mark.parametrize(
    ("changed", "related"),
    [
        ("src/varts/live/errors.py", "tests/live/test_errors.py"),  # by its path
        ("src/varts/_text.py", "tests/test_text.py"),
        ("src/varts/live/core/sums.py", "tests/live/test_experiment_sessions.py"),  # by an import
        ("tests/live/stores.py", "tests/live/test_store.py"),
        ("tests/test_stats.py", "tests/test_stats.py"),
    ],
)
def test_a_changed_file_has_its_tests(changed, related):
    found = tiers.related_tests(frozenset([changed]))
    assert related in found
    assert "tests/test_bounds.py" not in found


def test_nothing_is_related_to_a_page():
    assert tiers.related_tests(frozenset(["docs/live.md"])) == set()


def test_what_changed_is_what_git_says():
    assert tiers.changed_files(None) == frozenset()
    with pytest.raises(pytest.UsageError, match="--since must be a git revision"):
        tiers.changed_files("no-such-revision")


def test_seeds_are_fixed_unless_fresh_ones_are_wanted(monkeypatch):
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    assert seeds.fresh(7) == 7
    monkeypatch.setenv(seeds.VARIABLE, "1")
    first = seeds.fresh(7)
    assert first == seeds.fresh(7) != seeds.fresh(8)
    monkeypatch.setenv(seeds.VARIABLE, "2")
    assert first != seeds.fresh(7)


@pytest.mark.parametrize("seed", ["5", ""])
def test_a_failure_with_fresh_seeds_prints_how_to_repeat_it(tmp_path, monkeypatch, seed):
    monkeypatch.setenv(seeds.VARIABLE, seed)
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 0\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.tiers",
        "-c",
        "/dev/null",
        str(tmp_path),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tiers.ROOT)
    assert run.returncode == 1
    assert ("VARTS_TEST_SEED=5 python -m pytest" in run.stdout) == bool(seed)


def test_a_change_without_tests_passes_the_check(tmp_path):
    (tmp_path / "test_it.py").write_text("")
    command = [sys.executable, "-m", "pytest", "-p", "tests.tiers", "-c", "/dev/null"]
    for tier, code in (("check", 0), ("full", 5)):
        asked = [*command, f"--rootdir={tmp_path}", "--tier", tier, str(tmp_path)]
        run = subprocess.run(asked, capture_output=True, text=True, cwd=tiers.ROOT)
        assert run.returncode == code, run.stdout + run.stderr
