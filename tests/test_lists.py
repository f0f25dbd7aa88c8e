"""Lists in the docs that go stale unnoticed: the glossary, and the supported versions."""

import itertools
import re
import tomllib

import pytest

from tests.docs import PAGES, ROOT, name_of
from tests.timings import EVIDENCE, measured

LINKED = re.compile(r"\]\(\S+\.md(#\S+)?\)$")


def glossary_mistakes(text: str) -> list[str]:
    """Terms that are out of order, or don't end in a link, to which a search for them leads."""
    entries = re.findall(r"^\*\*(.+?)\*\*: (.+)$", text, re.MULTILINE)
    terms = [term.casefold() for term, _ in entries]
    disorder = [b for a, b in itertools.pairwise(terms) if a >= b]
    return disorder + [term for term, meaning in entries if not LINKED.search(meaning)]


def test_the_glossary_is_alphabetical_and_every_term_has_a_link():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\*\*", text, re.MULTILINE)) > 50
    assert glossary_mistakes(text) == []


def test_mistakes_in_a_glossary_are_found():
    arm, belief = "**Arm**: an alternative. [Arm](a.md)\n\n", "**Belief**: [belief](b.md#c)\n\n"
    assert glossary_mistakes(arm + belief) == []
    assert glossary_mistakes(belief + arm) == ["arm"]
    assert glossary_mistakes(arm + arm) == ["arm"]
    assert glossary_mistakes(arm + "**Block**: a block.\n") == ["Block"]
    assert glossary_mistakes(arm + "**Block**: [a](b.md) or so\n") == ["Block"]


def test_the_supported_versions_of_python_are_those_of_the_package():
    page = (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = "Programming Language :: Python :: 3."
    minors = [int(one.removeprefix(name)) for one in project["classifiers"] if name in one]
    assert f"| Python | 3.{min(minors)} to 3.{max(minors)} |" in page
    assert project["requires-python"] == f">=3.{min(minors)}"


# ------------------------------------------------------------------ measured numbers in prose


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_has_no_timings(page):
    """They go stale and contradict each other; benchmarks write them between `generated` marks."""
    if not name_of(page).startswith(EVIDENCE):
        assert measured(page.read_text(encoding="utf-8")) == []


def test_a_timing_is_found_and_a_setting_is_not():
    """The control."""
    page = (
        "It took 3.5 ms a round.\n\n`9 ms`, a deadline of 5 seconds.\n\nIt is 12 times faster.\n\n"
        "<!-- speed: generated -->\n7 ms\n<!-- speed: end -->\n\n"
        "| limit | default |\n|---|---|\n| time | 30 s |\n"
    )
    assert [line for line, _ in measured(page)] == [1, 5]
