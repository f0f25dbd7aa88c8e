"""Text that comes from data, made harmless for those who show it, terminals and spreadsheets; and
how numbers are written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# What a terminal obeys instead of showing it (C0, C1 and DEL), what ends a line or turns the
# direction of the text around, and halves of characters, which cannot be printed at all.
COMMANDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}

# How a cell begins that a spreadsheet takes for a formula, or for one that we have quoted.
FORMULA = r"'*[=+\-@＝＋－＠\t\r\n]"


def printable(text: str) -> str:
    r"""The text on one line, with what a terminal would obey written out as JSON does.

    >>> print(printable("red\x1b[2J\nblue"))
    red\u001b[2J\nblue
    """
    return COMMANDS.sub(lambda found: SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def quote_formulas(column: pl.Expr) -> pl.Expr:
    """Text for a CSV file: one ' before every cell that a spreadsheet would run as a formula.

    A cell that begins with ' and would be one without it gets another, so that taking one away
    again (`unquote_formulas`, `unquote_formula`) gives back every text there is.
    """
    return column.str.replace(f"^({FORMULA})", "'${1}")


def unquote_formulas(column: pl.Expr) -> pl.Expr:
    """The text that `quote_formulas` was given."""
    return column.str.replace(f"^'({FORMULA})", "${1}")


def unquote_formula(cell: str) -> str:
    """The same for one cell.

    >>> [unquote_formula(cell) for cell in ("'=1+1", "''-x", "'tis", "-x")]
    ['=1+1', "'-x", "'tis", '-x']
    """
    return re.sub(f"^'({FORMULA})", r"\1", cell)


def places_for(widths: Iterable[float]) -> int:
    """Decimals that show the smallest of these with three digits.

    >>> places_for([12.5, 0.031])
    4
    """
    wide = [width for width in widths if 0 < width < math.inf]
    return min(max(2 - math.floor(math.log10(min(wide))), 0), 15) if wide else 2


def decimal(value: float | None, places: int, sign: str = "") -> str:
    """A number with so many decimals; - for none.

    >>> decimal(5.25, 3, "+"), decimal(None, 3)
    ('+5.250', '-')
    """
    if value is None:
        return "-"
    return f"{value:{sign}.{places}f}" if abs(value) < 1e15 else f"{value:{sign}.6g}"
