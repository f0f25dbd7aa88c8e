"""Text that comes from data, made harmless for those who show it, terminals and spreadsheets; and
how numbers and tables are written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Characters that a terminal obeys instead of showing (C0, C1 and DEL), that end a line or reverse
# the direction of the text, and halves of characters, which cannot be printed at all.
COMMANDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}

WIDTH = 120  # characters of a line of a table

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


def percentages(shares: Iterable[float], places: int) -> list[str]:
    """Shares in percent with `places` decimals, rounded so that they add up to 100.

    Each is rounded down, and the rest goes to the shares that lost most by it.

    >>> percentages([1 / 3, 1 / 3, 1 / 3], 1)
    ['33.4', '33.3', '33.3']
    """
    given = list(shares)
    total, one = sum(given), 10**places
    exact = [100 * one * share / total for share in given]
    units = [int(x + 1e-9) for x in exact]  # 29.000 may be 28.999...
    lost = sorted(range(len(given)), key=lambda i: units[i] - exact[i])
    for i in lost[: 100 * one - sum(units)]:
        units[i] += 1
    if not places:
        return [str(unit) for unit in units]
    return [f"{unit // one}.{unit % one:0{places}d}" for unit in units]


def decimal(value: float | None, places: int, sign: str = "") -> str:
    """A number with `places` decimals; "-" for None.

    >>> decimal(5.25, 3, "+"), decimal(None, 3)
    ('+5.250', '-')
    """
    if value is None:
        return "-"
    return f"{value:{sign}.{places}f}" if abs(value) < 1e15 else f"{value:{sign}.6g}"


def range_text(low: float | None, high: float | None, places: int) -> str:
    """An interval; - if an end is missing.

    >>> range_text(3.3, 5.47, 2), range_text(None, None, 2)
    ('3.30 to 5.47', '-')
    """
    if low is None or high is None:
        return "-"
    return f"{decimal(low, places)} to {decimal(high, places)}"


def align_columns(title: str, rows: Iterable[list[str]], width: int = WIDTH) -> str:
    """A title, and rows below it: the first column aligned left, the others right.

    Columns that do not fit into the width go on below, with the first column once more; an interval
    stays beside its number.

    >>> print(align_columns("two", [["a", "b", "interval", "c"], ["x", "1.50", "[1, 2]", "3"]], 20))
    two
      a     b  interval
      x  1.50    [1, 2]
    <BLANKLINE>
      a  c
      x  3
    """
    body = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in body) for i in range(len(body[0]))]
    parts: list[list[int]] = [[]]
    for column in _keep_together(body[0]):
        wide = sum(2 + widths[i] for i in (0, *parts[-1], *column))
        if parts[-1] and wide > width:
            parts.append([])
        parts[-1] += column
    blocks = []
    for part in parts:
        lines = []
        for row in body:
            cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in part)]
            lines.append("  " + "  ".join(cells).rstrip())
        blocks.append("\n".join(lines))
    return f"{title}\n" + "\n\n".join(blocks)


def _keep_together(titles: list[str]) -> list[list[int]]:
    """The columns after the first, each with the interval that follows it.

    >>> _keep_together(["policy", "regret", "interval", "median"])
    [[1, 2], [3]]
    """
    columns: list[list[int]] = []
    for i, title in enumerate(titles[1:], 1):
        if title == "interval" and columns:
            columns[-1].append(i)
        else:
            columns.append([i])
    return columns
