"""The timetable of an experiment: visitors per day, days, and how late rewards are."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import abbreviate, is_real, real
from varts.live.arguments import seconds

DAY = 86_400.0  # seconds
# Words for a time in "500/day", and how many days it has.
TIMES = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 365.25 / 12}
MOST_PER_DAY = 1e9


@dataclass(frozen=True)
class Timetable:
    """When decisions are made and when their rewards count.

    A round of the simulation is a decision. Somebody looks at the report at the end of each day.

    Args:
        per_day: Decisions per day.
        days: How many days the experiment is planned for.
        window: Days until a reward counts.

    >>> table = Timetable(per_day=500, days=28, window=7)
    >>> table.horizon, table.delay, table.looks(3).tolist()
    (14000, 3500, [500, 1000, 1500])
    """

    per_day: float
    days: int
    window: float = 0.0

    @property
    def horizon(self) -> int:
        """The decisions of all days."""
        return round(self.per_day * self.days)

    @property
    def delay(self) -> int:
        """How many decisions are made before a reward counts."""
        return round(self.per_day * self.window)

    def looks(self, days: int) -> NDArray[np.int64]:
        """How many decisions have been made at the end of each of the first days.

        Args:
            days: How many days.
        """
        return np.round(self.per_day * np.arange(1, days + 1)).astype(np.int64)


def read_timetable(traffic: Any, days: Any, window: Any) -> Timetable:
    """Check what a user says about the time, and return the timetable.

    Args:
        traffic: Visitors per time, such as "500/day", or a number per day.
        days: How many days, a whole number or a text such as "28d" or "4 weeks".
        window: How long a reward may take, as for a live experiment: 7d, 24h or seconds; None if
            rewards are known at once.

    >>> read_timetable("3500/week", "4w", "36h")
    Timetable(per_day=500.0, days=28, window=1.5)
    """
    made = Timetable(read_traffic(traffic), read_days(days), read_window(window))
    if made.window >= made.days:
        raise ValueError(
            f"window must be shorter than the experiment ({made.days} days), because no reward "
            f"counts before its window closes, got {made.window:g} days"
        )
    return made


def read_traffic(traffic: Any) -> float:
    """Return the visitors per day.

    >>> read_traffic("500/day"), read_traffic("1,400 / week"), read_traffic(80)
    (500.0, 200.0, 80.0)
    """
    rule = f"traffic must be visitors per time, such as 500/day, got {abbreviate(traffic)}"
    if isinstance(traffic, str):
        found = re.fullmatch(
            r"\s*([\d.,_]+(?:e\d+)?)\s*(k|m)?\s*(?:/|per)\s*([a-z]+)\s*", traffic, re.I
        )
        if found is None:
            raise ValueError(rule)
        word = found[3].casefold()
        named = [name for name in TIMES if word in (name, f"{name}s", name[:1]) and word != "m"]
        try:
            count = float(found[1].replace(",", "").replace("_", ""))
        except ValueError:
            raise ValueError(rule) from None
        if not named:
            known = ", ".join(TIMES)
            raise ValueError(f"{rule}; the time must be one of {known}")
        count *= {"k": 1e3, "m": 1e6}.get((found[2] or "").casefold(), 1.0)
        traffic = count / TIMES[named[0]]
    elif not is_real(traffic):
        raise TypeError(rule)
    return real("traffic per day", traffic, at_least=1, at_most=MOST_PER_DAY)


def read_days(days: Any) -> int:
    """Return the number of days.

    >>> read_days(28), read_days("28d"), read_days("4 weeks")
    (28, 28, 28)
    """
    rule = (
        "days must be a whole number from 1 to 3,650, or text like 28d or 4 weeks, got "
        f"{abbreviate(days)}"
    )
    if isinstance(days, str):
        found = re.fullmatch(r"\s*(\d+)\s*(d|days?|w|weeks?)?\s*", days, re.I)
        if found is None:
            raise ValueError(rule)
        days = int(found[1]) * (7 if (found[2] or "").casefold().startswith("w") else 1)
    elif isinstance(days, bool) or not is_real(days):
        raise TypeError(rule)
    if days != int(days) or not 1 <= days <= 3650:
        raise ValueError(rule)
    return int(days)


def read_window(window: Any) -> float:
    """Return the days until a reward counts.

    >>> read_window("7d"), read_window("36h"), read_window(None)
    (7.0, 1.5, 0.0)
    """
    if window is None:
        return 0.0
    return real("window", seconds("window", window), at_least=0) / DAY


def days_text(days: float) -> str:
    """A number of days as text, with its unit.

    >>> days_text(1), days_text(7), days_text(0.125)
    ('1 day', '7 days', '3 hours')
    """
    if days < 1:
        hours = max(1, math.ceil(days * 24))
        return "1 hour" if hours == 1 else f"{hours} hours"
    return "1 day" if days == 1 else f"{days:,.4g} days"
