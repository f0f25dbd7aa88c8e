"""An edit to any file of the package is noticed where results of other code must not be used."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import varts
from tests.interpreter import python
from varts import BetaBandit, Study, simulate

PACKAGE = Path(varts.__file__).parent

PROGRAM = """
    import json
    from pathlib import Path
    import varts
    from varts._digest import package_digest
    from varts.simulation.storage import is_current

    folder, saved = Path({folder!r}, "sweep"), Path({folder!r}, "saved.npz")
    grid = {{"problem": varts.BetaBandit(2), "policies": "UCB1"}}
    varts.sweep(grid, horizon=9, runs=8, folder=folder)
    if not saved.exists():
        varts.simulate(varts.BetaBandit(2), "UCB1", 9, 16).save(saved)
    current = is_current(varts.Study.load(saved).provenance)
    print(json.dumps([package_digest(), len(list(folder.iterdir())), current]))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that may be edited."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, tmp_path / "copy" / "varts", ignore=ignored)


def test_an_edit_to_any_file_makes_new_results(package, tmp_path):
    """Kernels are not compiled from results.py, but every number goes through it."""
    program = PROGRAM.format(folder=str(tmp_path))
    path = {"PYTHONPATH": str(package.parent)}
    first, files, current = python(program, **path)
    assert files == 1 and current
    assert python(program, **path) == [first, 1, True]  # the sweep used the file that was there
    results = package / "simulation" / "results.py"
    results.write_text(results.read_text() + "\n# edited\n")
    other, files, current = python(program, **path)
    assert other != first
    assert files == 2  # the study in the folder came from other code
    assert not current  # so did the saved one: `extend` plays its runs again


def test_a_file_that_is_added_or_renamed_changes_the_digest(monkeypatch, tmp_path):
    from varts import _digest

    monkeypatch.setattr(_digest, "PACKAGE", tmp_path)
    found = []
    for action in (
        lambda: (tmp_path / "one.py").write_text("1"),
        lambda: (tmp_path / "two.py").write_text(""),
        lambda: (tmp_path / "two.py").rename(tmp_path / "three.py"),
        lambda: (tmp_path / "notes.txt").write_text("not code"),
    ):
        action()
        found.append(_digest.package_digest.__wrapped__())
    assert len(set(found)) == 3 and found[2] == found[3]


def test_files_and_workers_are_compared_by_the_digest():
    from varts._digest import package_digest
    from varts.simulation import dask, storage

    for versions in (storage._versions(), dask._versions()):
        assert versions["sources"] == package_digest()


def test_extend_does_not_mix_blocks_of_studies_that_were_merged():
    """One study is of this code and the other is not: then all runs are played again."""
    current = simulate(BetaBandit(2), {"a": "UCB1"}, 9, 16)
    made = simulate(BetaBandit(2), {"b": "UCB1"}, 9, 16)
    versions = {**made.provenance["versions"], "sources": "0" * 16}
    other = Study(
        made.rounds,
        made.results,
        {**made.provenance, "versions": versions},
        tuple(_shifted(part) for part in made.parts),  # as if other code had played them
        made.origin,
    )
    for both in (current.merge(other), other.merge(current)):
        assert "sources" not in both.provenance["versions"]
        longer = both.extend(24)
        assert longer == simulate(BetaBandit(2), dict.fromkeys(both.labels, "UCB1"), 9, 24)
    assert current.merge(made).provenance["versions"] == current.provenance["versions"]


def _shifted(part):
    policies = {
        label: replace(result, final=result.final + 1) for label, result in part.policies.items()
    }
    return replace(part, policies=policies)
