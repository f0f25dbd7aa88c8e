"""SVG as text: elements, and the frame of a chart.

Colours, lines and fonts are classes of style.css; nothing here has a style of its own, so that a
strict content security policy holds and light and dark are one block of variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from varts._text import printable
from varts._validation import Floats
from varts.serve.web.charts.scale import Scale, Tick

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
    """What lies between two lines."""
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
    """Invisible strips that tell the values under the pointer."""
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
