"""How the numbers of a plan are written."""

from __future__ import annotations

import math
from typing import Any


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
