"""What the cells of a table hold: numbers, and names."""

from __future__ import annotations

import polars as pl

from varts._text import unquote_formulas

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")  # words that stand for no number


def parse_numbers(name: str, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """A column as it is, null where nothing is given; and as numbers, null where it has none."""
    column = pl.col(name)
    if is_text(dtype):
        text = column.cast(pl.String).str.strip_chars()
        given = pl.when(text.str.to_lowercase().is_in(MISSING_WORDS).not_()).then(text)
        return given, given.cast(pl.Float64, strict=False)
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ValueError(f"column {name!r} must hold numbers, got {dtype}")
    return column, column.cast(pl.Float64)


def parse_text(column: pl.Expr, name: str, dtype: pl.DataType, csv: bool) -> pl.Expr:
    """A column as text; an empty cell, or a NaN, is missing."""
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
