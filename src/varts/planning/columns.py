"""Numbers of a plan and the columns they stand in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from varts._text import printable

WIDTH = 120  # characters of a line of a table


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


def count_decimals(half: float) -> int:
    """How many decimals show half the width of an interval to two digits.

    >>> count_decimals(21.4), count_decimals(0.034), count_decimals(0.0)
    (0, 3, 2)
    """
    if not half > 0:
        return 2
    return max(0, min(12, 1 - math.floor(math.log10(half))))


def format_number(x: float | None, digits: int, sign: bool = False) -> str:
    """A number with commas; - for None."""
    if x is None:
        return "-"
    text = f"{x:{'+' if sign else ''},.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 and not sign else text


def format_interval(low: float | None, high: float | None, digits: int, sign: bool = False) -> str:
    """An interval in brackets; - for None."""
    if low is None or high is None:
        return "-"
    return f"[{format_number(low, digits, sign)}, {format_number(high, digits, sign)}]"


def format_round(n: Any) -> str:
    """A number of rounds; - for None, which is later than the simulation."""
    return "-" if n is None else f"{n:,}"
