"""`varts.evaluate` against the Open Bandit Pipeline, whose numbers `make bench NAME=obp` has kept.

obp itself is not installed for the tests. The logs are made again, from their seeds, and evaluated
from their files. If a change makes live experiments decide otherwise, run
`make bench NAME=obp` again.
"""

import json
from pathlib import Path

import pytest

from tests.evaluation.open_bandit import CONTROL, RESULTS, TOLERANCE, compare, jobs

ROOT = Path(__file__).parents[2]
KEPT = json.loads(RESULTS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    asked = jobs(tmp_path_factory.mktemp("logs"))
    kept = [(one["log"], one["target"]) for one in KEPT["found"]]
    assert [(log, target) for log, _, _, target in asked] == kept
    return list(compare(asked, KEPT["found"]))


@pytest.mark.when_changed("src/varts/evaluation")
def test_estimates_agree(rows):
    gaps = [abs(ours - theirs) for _, _, name, ours, theirs in rows if name != CONTROL]
    assert len(gaps) == 18
    assert max(gaps) < TOLERANCE


@pytest.mark.when_changed("src/varts/evaluation")
def test_a_model_that_knows_later_rewards_does_not_agree(rows):
    """The control: the smallest of the six gaps was 0.004 when the logs were made."""
    gaps = [abs(ours - theirs) for _, _, name, ours, theirs in rows if name == CONTROL]
    assert len(gaps) == 6
    assert min(gaps) > 1e6 * TOLERANCE


@pytest.mark.when_changed("src/varts/evaluation", "docs/evaluation-results.md")
def test_the_page_has_these_numbers(rows):
    """The table of the page and the numbers that are kept are of one run, by the version of obp
    that is pinned."""
    page = (ROOT / "docs" / "evaluation-results.md").read_text(encoding="utf-8")
    name, version = KEPT["by"].split()
    pins = (ROOT / "benchmarks" / "constraints-obp.txt").read_text(encoding="utf-8").splitlines()
    assert f"{name}=={version}" in pins
    assert f"installs its version {version} " in page
    for log, policy, name, _, theirs in rows:
        assert f"| {log} | {policy} | {name} | " in page
        assert f"| {theirs:.10f} |" in page
