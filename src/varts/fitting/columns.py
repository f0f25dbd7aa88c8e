"""The columns of a table: what they are called, and their cells as numbers and names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from varts._text import printable, unquote_formulas
from varts._text_format import LIKE_A_NUMBER, MARKS, WITH_COMMA, refuse_number
from varts.checks.finding import FALLBACK
from varts.fitting.sources import Source

KEYS = ("experiment", "arm", "group")  # our names for the columns that identify an arm
STATISTICS = ("n", "mean", "m2")
MOMENTS = ("m3", "m4")  # sums of third and fourth powers; NaN where only n, mean and sd are known


@dataclass(frozen=True)
class Columns:
    """The names of a history's columns.

    Args:
        experiment: The column that names the experiment; None if there is only one experiment.
        arm: The column that names the arm.
        reward: The column of rewards.
        group: The column that arms are grouped by, which may be `arm`; None for no groups.

    >>> Columns(experiment="route", arm="slot", reward="early").keys
    {'experiment': 'route', 'arm': 'slot'}
    """

    experiment: str | None = "experiment"
    arm: str = "arm"
    reward: str = "reward"
    group: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """Our names of the columns that identify an arm, and the history's names for them.

        Grouping by the arm itself adds no column.
        """
        group = None if self.group == self.arm else self.group
        given = zip(KEYS, (self.experiment, self.arm, group), strict=True)
        return {ours: theirs for ours, theirs in given if theirs is not None}

    def select_keys(self) -> dict[str, pl.Expr]:
        """The columns that identify an arm, under our names."""
        return {ours: pl.col(theirs) for ours, theirs in self.keys.items()}


MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")  # words that stand for no number


def parse_numbers(name: str, dtype: pl.DataType, decimal: str = ".") -> tuple[pl.Expr, pl.Expr]:
    """Return a column as it is, null where nothing is given; and as numbers, null where it has
    none."""
    column = pl.col(name)
    if is_text(dtype):
        text = column.cast(pl.String).str.strip_chars()
        given = pl.when(text.str.to_lowercase().is_in(MISSING_WORDS).not_()).then(text)
        plain = given
        if decimal != ".":
            plain = pl.when(given.str.contains(WITH_COMMA)).then(given.str.replace(decimal, "."))
        return given, plain.cast(pl.Float64, strict=False)
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ValueError(f"column {name!r} must hold numbers, got {dtype}")
    return column, column.cast(pl.Float64)


def check_numbers(source: Source, names: Iterable[str]) -> None:
    """Refuse a table with cells that a person would take for numbers, but that can't be read.

    Leaving out "1.234,50" and "12,5" would lose money without anybody noticing. A word is left out
    and counted, as before.

    Args:
        source: The table.
        names: The columns that must hold numbers; those that aren't text need no check.
    """
    schema = source.table.collect_schema()
    texts = [name for name in dict.fromkeys(names) if name in schema and is_text(schema[name])]
    if not texts:
        return
    wrong = {name: _is_misread(name, schema[name], source.decimal) for name in texts}
    found = source.table.select(test.any().alias(name) for name, test in wrong.items())
    for name, any_wrong in found.collect(engine="streaming").row(0, named=True).items():
        if any_wrong:
            raise ValueError(_describe_misread(source, name, wrong[name]))


def _is_misread(name: str, dtype: pl.DataType, decimal: str) -> pl.Expr:
    """Whether a cell is like a number, but not one with this decimal mark."""
    given, number = parse_numbers(name, dtype, decimal)
    return given.str.contains(LIKE_A_NUMBER) & number.is_null()


def _describe_misread(source: Source, name: str, wrong: pl.Expr) -> str:
    """The sentence that names the first such cell, and what to do."""
    dtype = source.table.collect_schema()[name]
    other = MARKS[source.decimal == "."]
    others = source.table.select(_is_misread(name, dtype, other).any()).collect(engine="streaming")
    other_fits = (source.csv or not source.files) and not others.item()  # NDJSON has its own mark
    for called, part in source.parts():
        cells = part.select(cell=pl.col(name).cast(pl.String), wrong=wrong).with_row_index("row", 1)
        first = cells.filter("wrong").head(1).collect(engine="streaming")
        if first.height:
            row, cell = first["row"].item(), printable(first["cell"].item().strip())
            what = f"column {name!r} of {called}"
            place = f"row {row:,} below the header" if source.files else f"row {row:,}"
            return refuse_number(what, cell, place, source.decimal, other_fits)
    raise AssertionError("a cell that was there is gone")


def is_fallback(schema: pl.Schema, columns: Columns) -> pl.Expr:
    """Whether a client made the decision of a row by itself, in a log that varts exported.

    Such rewards can't be compared with others: the client chose the arm, when something was wrong.
    """
    taken = {*columns.keys.values(), columns.reward}
    if "reason" not in schema or "reason" in taken or not is_text(schema["reason"]):
        return pl.lit(False)
    return (pl.col("reason").cast(pl.String) == FALLBACK).fill_null(False)


def parse_text(column: pl.Expr, name: str, dtype: pl.DataType, csv: bool) -> pl.Expr:
    """Return a column as text; an empty cell, or a NaN, is missing."""
    if dtype.is_nested():
        raise ValueError(f"column {name!r} must hold names, got {dtype}")
    if dtype.is_float():
        column = column.fill_nan(None)
    text = column.cast(pl.String)
    if is_text(dtype):
        text = (unquote_formulas(text) if csv else text).str.strip_chars()
        text = pl.when(text != "").then(text)
    return text


def is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Enum)
