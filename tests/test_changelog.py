"""The changelog: towncrier prints every fragment in changes/, and this version has a section."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import varts

ROOT = Path(__file__).parents[1]


def build(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `towncrier build` for a version 9.9.9."""
    command = [sys.executable, "-m", "towncrier", "build", "--dir", str(project)]
    return subprocess.run(
        [*command, "--version", "9.9.9", "--date", "2099-12-31", *options],
        capture_output=True,
        text=True,
        check=False,
    )


def mistakes(project: Path) -> list[str]:
    """What is wrong with a project's fragments: towncrier's complaint, or the empty ones."""
    draft = build(project, "--draft")
    if draft.returncode != 0:
        return [draft.stderr]
    fragments = [path for path in (project / "changes").iterdir() if path.name != "README.md"]
    return [f"{path.name} is empty" for path in fragments if not path.read_text().strip()]


def versions(changelog: str) -> list[str]:
    """The versions that have a section, from top to bottom."""
    return re.findall(r"^## (\S+) \(.+\)$", changelog, re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the configuration, the changelog and the README, without fragments."""
    for name in ("pyproject.toml", "CHANGELOG.md", "changes/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_fragment_has_a_known_type_and_a_text():
    assert mistakes(ROOT) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("+arms.feature.md", "New arms.", "Invalid news fragment name: +arms.feature.md"),
        ("notes.md", "New arms.", "Invalid news fragment name: notes.md"),
        ("arms.added.md", "New arms.", "Issue name 'arms' does not match"),
        ("+arms.added.md", " \n", "+arms.added.md is empty"),
    ],
)
def test_a_wrong_fragment_is_found(project, name, text, complaint):
    (project / "changes" / name).write_text(text)
    (found,) = mistakes(project)
    assert complaint in found


def test_a_draft_has_the_fragments_and_not_the_readme(project):
    (project / "changes/+arms.added.md").write_text("New arms.\n")
    (project / "changes/+draws.numbers.md").write_text("UCB1 breaks ties differently.\n")
    (project / "changes/12.fixed.md").write_text("Ties are broken.\n")
    assert mistakes(project) == []
    assert build(project, "--draft").stdout.strip() == (
        "## 9.9.9 (2099-12-31)\n\n"
        "### Added\n\n- New arms.\n\n"
        "### Numbers change\n\n- UCB1 breaks ties differently.\n\n"
        "### Fixed\n\n- Ties are broken. (#12)"
    )


def test_a_release_goes_above_the_earlier_ones_and_below_the_introduction(project):
    before = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    (project / "changes/+arms.added.md").write_text("New arms.\n")
    done = build(project, "--yes")
    assert done.returncode == 0, done.stderr
    after = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    introduction, _, earlier = before.partition("\n## ")
    assert after.startswith(introduction)
    assert after.endswith("\n## " + earlier)
    assert versions(after) == ["9.9.9", *versions(before)]
    assert [path.name for path in (project / "changes").iterdir()] == ["README.md"]


def test_this_version_has_a_section():
    assert varts.__version__ in versions((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
