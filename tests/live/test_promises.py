"""Every promise of docs/promises.md stands behind a test that exists, or says that it is none."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| promise")
]


def test_every_promise_names_what_shows_it():
    assert len(ROWS) > 20
    for promise, *_, shown in ROWS:
        assert promise.startswith("**Not promised:**") or "::" in shown, promise


def test_every_test_that_is_named_is_there():
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 30
    for file, test in named:
        folder = Path(__file__).parents[1 if "/" in file else 0]  # others name theirs
        source = (folder / file).read_text(encoding="utf-8")
        assert f"def {test}(" in source, f"{file}::{test}"
