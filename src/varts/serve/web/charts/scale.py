"""From numbers and times to places on a drawing, and the ticks between."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from varts._validation import Floats

TICKS = 5  # about so many on an axis
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
TIME_STEPS = (
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR),
    *(DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY),
)


class Tick(NamedTuple):
    """A mark of an axis."""

    at: float
    label: str


class Scale(NamedTuple):
    """A straight line from numbers to places: `low` is at `start`, `high` at `end`.

    >>> Scale(0.0, 10.0, 40.0, 240.0)(2.5)
    90.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: float) -> float:
        # In this order, so that the width of -1e300 to 1e300 does not overflow.
        share = (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)

    def places(self, values: Floats) -> list[float]:
        """Of many numbers at once."""
        share = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return [float(x) for x in self.start + share * (self.end - self.start)]


def span(values: Iterable[float | None], pad: float = 0.0) -> tuple[float, float]:
    """From the smallest to the largest of these that are finite, with some room on both sides.

    >>> span([3.0, None, 5.0, math.nan], pad=0.5), span([7.0]), span([])
    ((2.0, 6.0), (6.5, 7.5), (0.0, 1.0))
    """
    known = [float(x) for x in values if x is not None and math.isfinite(x)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # one place: some room around it
        half = 0.5 * max(abs(low) * 1e-3, 1.0)
        return low - half, high + half
    return low - pad * (high - low), high + pad * (high - low)


def number_ticks(low: float, high: float, count: int = TICKS) -> list[Tick]:
    """Round numbers between two others, 1, 2 or 5 times a power of ten apart.

    >>> [tick.label for tick in number_ticks(3.1, 6.9)]
    ['4', '5', '6']
    >>> [tick.label for tick in number_ticks(0, 40_000)]
    ['0', '10,000', '20,000', '30,000', '40,000']
    >>> [tick.label for tick in number_ticks(-1e70, 1e70)]
    ['-1e+70', '-5e+69', '0', '5e+69', '1e+70']
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [Tick(i * step, number_label(i * step, step)) for i in range(first, last + 1)]


def number_label(x: float, step: float) -> str:
    """A number with the digits that tell it from its neighbour.

    >>> number_label(0.30000000000000004, 0.1), number_label(2e-9, 1e-9)
    ('0.3', '2e-09')
    """
    if x == 0:
        return "0"
    if abs(x) >= 1e7 or step < 1e-5:
        digits = math.ceil(math.log10(abs(x) / step) - 1e-9) + 1
        return f"{x:.{max(1, min(digits, 15))}g}"
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{x:,.{places}f}"


def time_ticks(low: float, high: float, count: int = 4) -> list[Tick]:
    """Round times, in seconds since 1970, UTC.

    >>> [tick.label for tick in time_ticks(0.0, 8 * HOUR)]
    ['1 Jan', '02:00', '04:00', '06:00', '08:00']
    >>> [tick.label for tick in time_ticks(0.0, 60 * DAY)]
    ['1 Jan', '15 Jan', '29 Jan', '12 Feb', '26 Feb']
    """
    rough = (high - low) / count
    step = next((step for step in TIME_STEPS if step >= 0.8 * rough), TIME_STEPS[-1])
    while (high - low) / step > 2 * count:
        step *= 2
    places = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    return [Tick(float(x), time_label(float(x), step)) for x in places]


def time_label(x: float, step: float) -> str:
    """A time with the parts that tell it from its neighbour."""
    moment = datetime.fromtimestamp(x, UTC)
    if step < MINUTE:
        return f"{moment:%H:%M:%S}"
    if step < DAY:
        return f"{moment:%H:%M}" if moment.hour or moment.minute or step < HOUR else day(moment)
    return day(moment) if step < 365 * DAY else f"{moment:%Y}"


def day(moment: datetime) -> str:
    """A date without its year.

    >>> day(datetime(2026, 11, 6))
    '6 Nov'
    """
    return f"{moment.day} {moment:%b}"


def spread_over(count: int, most: int) -> list[int]:
    """Indices of at most so many of `count` things, first and last among them.

    >>> spread_over(5, 12), spread_over(100, 4)
    ([0, 1, 2, 3, 4], [0, 33, 66, 99])
    """
    if count <= most:
        return list(range(count))
    return [int(i) for i in np.linspace(0, count - 1, most).round()]


def finite(values: Floats) -> list[float | None]:
    """The numbers, None for those that are not."""
    return [float(x) if math.isfinite(x) else None for x in values]
