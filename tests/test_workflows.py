"""The workflows run what a contributor runs, and nothing that can change under them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github/workflows"
FILES = sorted((ROOT / ".github").glob("**/*.yml"))
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def unpinned(text):
    """The actions of a workflow that a tag or a branch names; those of this repository are fine."""
    used = re.findall(r"(?m)^\s*(?:- )?uses: *(.+?) *$", text)
    return [one for one in used if not one.startswith("$/") and not PINNED.fullmatch(one)]


def targets_of(text):
    """The targets of the Makefile that a script or the steps of a workflow call."""
    called = re.findall(r"(?m)^\s*(?:- run: )?make ([a-z][\w-]*)", text)
    return {*called, *re.findall(r"(?:- |\{ |^ +)target: ([\w-]+)", text)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit(path):
    text = path.read_text()
    assert yaml.safe_load(text)
    assert unpinned(text) == []


def test_an_action_that_is_not_pinned_is_noticed():
    """A negative control of the test above."""
    commit = "0123456789" * 4
    fine = f"  - uses: actions/checkout@{commit} # v7.0.1\n  - uses: $/.github/actions/setup\n"
    assert unpinned(fine) == []
    for bad in ("actions/checkout@v7", f"actions/checkout@{commit}", f"a/b@{commit[1:]} # v7.0.1"):
        assert unpinned(f"{fine}  - uses: {bad}\n") == [bad]


def test_what_is_made_is_a_target_of_the_makefile():
    called = {path.name: targets_of(path.read_text()) for path in [*FILES, ROOT / ".ci/run"]}
    assert called["run"] == {"lint", "browser", "typescript", "pgbouncer", "chaos", "test"}
    assert {"test-full", "chaos", "audit", "test-oldest"} <= called["nightly.yml"]
    assert "sbom" in called["publish.yml"]
    assert set().union(*called.values()) <= TARGETS


def test_a_target_that_is_not_there_is_noticed():
    """A negative control of the test above."""
    for bad in ("      - run: make test-fast\n", "    - { target: test-fast, python: '3.13' }\n"):
        assert targets_of(bad) == {"test-fast"}
    assert "test-fast" not in TARGETS


def test_a_pull_request_runs_all_steps_of_the_script():
    jobs = yaml.safe_load((WORKFLOWS / "tests.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands == [".ci/run lint", ".ci/run $STEPS"]
    steps = re.search(r"steps=\((.+)\)", (ROOT / ".ci/run").read_text())[1].split()
    linux = jobs["gate"]["strategy"]["matrix"]["include"][0]
    assert linux["os"].startswith("ubuntu")
    assert ["lint", *linux["steps"].split()] == steps


@pytest.fixture
def oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / ".ci/oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_oldest_version_of_every_dependency_with_a_lower_bound_is_tested(oldest):
    text = (ROOT / "pyproject.toml").read_text()
    section = text[text.index("\ndependencies = [") : text.index("[project.scripts]")]
    found = oldest.constraints(text)
    assert len(found) == section.count(">=") > 10
    assert {line.split("==")[0] for line in found} >= {"numpy", "prometheus-client", "jinja2"}


@pytest.mark.parametrize(
    ("requirement", "constraint"),
    [
        ("numpy>=2.0", "numpy==2.0.*"),
        ("numpy >= 2.0.1, <3", "numpy==2.0.1.*"),
        ("numpy<3,>=2.0", "numpy==2.0.*"),
        ("rich>=14", "rich==14.0.*"),
        ("psycopg[binary]>=3.1", "psycopg==3.1.*"),
        ("prometheus-client>=0.21; python_version<'3.12'",
         "prometheus-client==0.21.* ; python_version<'3.12'"),
        ("llvmlite", None),
        ("varts[pandas,dask]", None),
        ("numpy<3", None),
    ],
)  # fmt: skip
def test_the_oldest_version_that_a_requirement_allows(oldest, requirement, constraint):
    assert oldest.oldest(requirement) == constraint


def test_what_is_not_a_requirement_is_refused(oldest):
    with pytest.raises(ValueError, match="not a requirement"):
        oldest.oldest(">=2.0")
