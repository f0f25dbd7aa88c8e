"""One description of a plan's columns: how values are written, and the list in the docs."""

from pathlib import Path

import polars as pl
import pytest

from tests.planning.shared import PRIOR
from varts import plan
from varts.planning import context
from varts.planning.columns import (
    AMOUNT,
    BESIDE,
    CHANGE,
    COUNT,
    HALF,
    INSIDE,
    NAME,
    NONE,
    PERCENT,
    TABLES,
    TENTHS,
    UNSHOWN,
    Column,
    Table,
)

PAGE = Path(__file__).parents[2] / "docs" / "planning.md"


def one(style, interval, *values, missing="-"):
    """The heads and the cells of a table with one column besides its name."""
    table = Table(Column("name", "who", NAME, NONE, ""), Column("x", "x", style, interval, ""))
    heads, cells = table.write(table.frame([["a", *values]]), missing)
    return heads[1:], cells[1:]


@pytest.mark.parametrize(
    ("written", "heads", "cells"),
    [
        (
            one(AMOUNT, BESIDE, 1234.5, 1204.0, 1265.0),
            ["x", "interval"],
            ["1,234", "[1,204, 1,265]"],
        ),
        (one(CHANGE, BESIDE, 0.5, -0.25, 1.25), ["x", "interval"], ["+0.50", "[-0.25, +1.25]"]),
        (one(CHANGE, BESIDE, None, None, None), ["x", "interval"], ["-", "-"]),
        (one(AMOUNT, BESIDE, 3.0, float("nan"), float("nan")), ["x", "interval"], ["3.00", "-"]),
        (one(AMOUNT, UNSHOWN, 1234.5, 1204.0, 1265.0), ["x"], ["1,234"]),
        (one(COUNT, BESIDE, 1200, 7, None), ["x", "interval"], ["1,200", "[7, -]"]),
        (one(COUNT, NONE, None, missing="> 9,000"), ["x"], ["> 9,000"]),
        (one(PERCENT, INSIDE, 0.5, 0.246, 0.754), ["x"], ["50% [25%, 75%]"]),
        (one(PERCENT, INSIDE, None, None, None, missing="> 9"), ["x"], ["-"]),
        (one(TENTHS, HALF, 0.5, 0.25, 0.75), ["x"], ["50.0% ± 25.0%"]),
    ],
)
def test_values_are_written_in_the_style_of_their_column(written, heads, cells):
    assert written == (heads, cells)


def test_all_amounts_have_the_decimals_of_the_first_interval():
    """None of which is known before the second row; the third is narrower and doesn't count."""
    regret, other = (Column(name, name, AMOUNT, BESIDE, "") for name in ("regret", "other"))
    table = Table(regret, other)
    rows = [[1.0] * 6, [5.0, 4.7, 5.3, 1.0, 0.9, 1.1], [5.0, 4.999, 5.001, 1.0, 0.9, 1.1]]
    assert table.digits(table.frame(rows)) == 2
    assert table.write(table.frame(rows))[3] == ["5.00", "[5.00, 5.00]", "1.00", "[0.90, 1.10]"]
    assert table.digits(table.frame(rows[:1])) == 2  # no interval at all
    assert Table(Column("n", "n", COUNT, NONE, "")).digits(pl.DataFrame({"n": [1]})) == 0


def test_a_plan_has_the_columns_of_the_description():
    made = plan(PRIOR, 2, 30, runs=4, followed=2, drift="steps=9", aim="best", limit=40)
    for name, table in TABLES.items():
        frame = getattr(made, name)
        if not name.startswith("recorded"):
            assert frame.height and dict(frame.schema) == table.schema
    text = str(made)
    assert text.count("1 in 20 above") == 3 and "3 in 4 within" in text


def listed():
    """A row for each column of a table that means something: the tables that have it, its name."""
    rows = {}
    for owner, tables in (("", TABLES), ("context ", context.TABLES)):
        for name, table in tables.items():
            for column in table.columns:
                mark = " ±" if column.interval else ""
                row = (f"`{column.name}`{mark}", column.meaning)
                rows.setdefault(row, []).append(f"{owner}`{name}`")
    return [f"| {', '.join(names)} | {name} | {text} |" for (name, text), names in rows.items()]


def test_the_page_lists_every_column_and_nothing_else():
    """If it fails, replace the rows on the page with those of `listed()`."""
    section = PAGE.read_text(encoding="utf-8").partition("## The columns of its tables\n")[2]
    section = section.partition("\n## ")[0]
    shown = [line for line in section.splitlines() if line.startswith("|")]
    assert shown[2:] == listed()
