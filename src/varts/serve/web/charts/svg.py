"""The parts of every chart: scales and ticks, SVG as text, and the chart with its numbers.

Colours, lines and fonts are classes of style.css. Nothing here has a style of its own, so that a
strict content security policy holds, and light and dark are one block of variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from varts._text import printable
from varts._validation import Floats

# --------------------------------------------------------------------------------- scales and ticks

TICKS = 5  # roughly, on an axis
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
    """A number with enough digits to differ from its neighbour.

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
    """A time with enough parts to differ from its neighbour."""
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
    """Indices of at most `most` of `count` things, including the first and the last.

    >>> spread_over(5, 12), spread_over(100, 4)
    ([0, 1, 2, 3, 4], [0, 33, 66, 99])
    """
    if count <= most:
        return list(range(count))
    return [int(i) for i in np.linspace(0, count - 1, most).round()]


# -------------------------------------------------------------------------------------- SVG as text

WIDTH, HEIGHT = 460.0, 240.0  # in the unit of the drawing: it is as wide as its column
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 12.0, 38.0  # margins


def element(tag: str, *content: str, **attributes: Any) -> str:
    """An element; `class_` is class, and `_` in a name is a hyphen. Content is SVG already.

    >>> element("text", escaped("a < b"), class_="tick", text_anchor="end", x=3.14159)
    '<text class="tick" text-anchor="end" x="3.1">a &lt; b</text>'
    """
    given = []
    for name, value in attributes.items():
        if value is not None:
            shown = place(value) if isinstance(value, float) else printable(str(value))
            given.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(shown)}")
    inner = "".join(content)
    return f"<{tag}{''.join(given)}>{inner}</{tag}>" if inner else f"<{tag}{''.join(given)}/>"


def escaped(text: str) -> str:
    """Anybody's text, harmless."""
    return escape(printable(text))


def place(x: float) -> str:
    """A coordinate, to a tenth.

    >>> place(12.04), place(-0.01)
    ('12', '0')
    """
    text = f"{x:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def short(text: str, most: int) -> str:
    """The text, with its middle left out if it is too long for its place.

    >>> short("banner number 12", 12)
    'banner…er 12'
    """
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def label(text: str, x: float, y: float, class_: str = "tick", anchor: str | None = None) -> str:
    """A piece of text."""
    return element("text", escaped(text), class_=class_, x=x, y=y, text_anchor=anchor)


def path(points: Iterable[tuple[float, float]], class_: str, closed: bool = False) -> str:
    """A line through points, with gaps where one is not finite."""
    parts, pen = [], "M"
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            pen = "M"
            continue
        parts.append(f"{pen}{place(x)} {place(y)}")
        pen = "L"
    return element("path", class_=class_, d="".join(parts) + "Z" * closed) if parts else ""


def points(x: Scale, y: Scale, across: Floats, up: Floats) -> list[tuple[float, float]]:
    """Where pairs of numbers are on the drawing."""
    return list(zip(x.places(across), y.places(up), strict=True))


def area(top: list[tuple[float, float]], bottom: list[tuple[float, float]], class_: str) -> str:
    """The area between two lines."""
    return path([*top, *reversed(bottom)], class_, closed=True)


def drawing(key: str, title: str, parts: Iterable[str], height: float = HEIGHT) -> str:
    """A whole picture; a screen reader says its title, the table below it has the numbers."""
    return element(
        "svg",
        element("title", escaped(title), id=f"{key}-title"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="picture",
        viewBox=f"0 0 {place(WIDTH)} {place(height)}",
        role="img",
        aria_labelledby=f"{key}-title",
    )


def across(low: float, high: float, left: float = LEFT) -> Scale:
    """The scale of a horizontal axis."""
    return Scale(low, high, left, WIDTH - RIGHT)


def upward(low: float, high: float) -> Scale:
    """The scale of a vertical axis."""
    return Scale(low, high, HEIGHT - BOTTOM, TOP)


def bottom_axis(
    x: Scale, ticks: Sequence[Tick], title: str, y: float = HEIGHT - BOTTOM, top: float = TOP
) -> list[str]:
    """Ticks and title below the picture. The first and last label may not leave it."""
    parts = [element("line", class_="axis", x1=x.start, x2=x.end, y1=y, y2=y)]
    for tick in ticks:
        at = x(tick.at)
        parts.append(element("line", class_="grid", x1=at, x2=at, y1=top, y2=y))
        edge = WIDTH - 3.4 * len(tick.label)  # half the width of a label
        parts.append(label(tick.label, min(at, edge), y + 16, anchor="middle"))
    return [*parts, label(title, x.end, y + 32, "axis-title", "end")]


def left_axis(y: Scale, ticks: Sequence[Tick], x: Scale) -> list[str]:
    """Ticks at the left of the picture, with lines across."""
    parts = []
    for tick in ticks:
        at = y(tick.at)
        parts.append(element("line", class_="grid", x1=x.start, x2=x.end, y1=at, y2=at))
        parts.append(label(tick.label, x.start - 6, at + 4, anchor="end"))
    return parts


def hover_strips(x: Scale, places: Sequence[float], texts: Sequence[str]) -> list[str]:
    """Invisible strips whose tooltips have the values under the pointer."""
    ends = [x.start, *((x(a) + x(b)) / 2 for a, b in pairwise(places)), x.end]
    return [
        element(
            "rect",
            element("title", escaped(text)),
            class_="strip",
            x=a,
            y=TOP,
            width=max(b - a, 0.1),
            height=HEIGHT - BOTTOM - TOP,
        )
        for a, b, text in zip(ends, ends[1:], texts, strict=False)
    ]


# ------------------------------------------------------------------------------------------- charts

COLOURS = 8  # classes arm-0 to arm-7 of style.css; more are hard to distinguish
OTHERS = "arm-others"


class Table(NamedTuple):
    """Cells as text; the first row of a table is `heads`, the first cell of a row its name."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Chart(NamedTuple):
    """A picture with what belongs to it.

    `key` names its parts on the page, `svg` is empty while there is nothing to draw, and `legend`
    has the class of a colour and what it stands for.
    """

    key: str
    title: str
    svg: str
    sentence: str
    table: Table | None = None
    legend: Sequence[tuple[str, str]] = ()


def arm_colours(arms: Sequence[str], weights: Sequence[float]) -> dict[str, str]:
    """The class of the colour of each arm that has one: the heaviest, in the order of the arms.

    >>> arm_colours(["a", "b"], [0.5, 0.5])
    {'a': 'arm-0', 'b': 'arm-1'}
    """
    heaviest = sorted(range(len(arms)), key=lambda i: -weights[i])[:COLOURS]
    return {arms[i]: f"arm-{place}" for place, i in enumerate(sorted(heaviest))}
