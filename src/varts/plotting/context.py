"""The figure of a contextual report: who gets which arm."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._validation import Floats, unknown
from varts.plotting.history import ARMS_DRAWN, COLOURS, OTHERS_COLOUR
from varts.plotting.style import figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from varts.context.report import ContextReport

STEPS = 80  # of an axis of numbers
EDGE = 0.02  # of the units, that an axis of numbers leaves out on either side
FAINTEST = 0.1  # the strength of a colour where all arms are equally likely to be best
STRONGEST = 0.8  # where one is for certain: text and dots can still be read on it
MARGIN = 0.03  # beside the numbers, as a part of what they span
MOST_CELLS_NAMED = 60
UNITS_DRAWN = 400


def context_figure(report: ContextReport, x: str | None = None, y: str | None = None) -> Figure:
    """Draw the arm that is most likely the best over two features, stronger where that is surer.

    The other features are those of a typical unit: medians, and the most frequent categories.

    Args:
        report: The report to draw.
        x: The feature along the horizontal axis; by default the one that matters most.
        y: The feature along the vertical axis; by default the next one, if there is one.
    """
    columns, rows = _axes(report, x, y)
    chance = _chances(report, columns, rows)
    colours = np.array([_rgb(_colour(i)) for i in range(len(report.arms))])
    best, K = chance.argmax(axis=-1), len(report.arms)
    sure = (chance.max(axis=-1) - 1 / K) / (1 - 1 / K) if K > 1 else np.ones(best.shape)
    strength = (FAINTEST + (STRONGEST - FAINTEST) * np.clip(sure, 0, 1))[..., None]
    made, (ax,) = figure(height=1.6 + 0.42 * min(max(len(rows.values), 3), 8), width=6.4)
    ax.grid(visible=False)
    (left, right), (low, high) = columns.span, rows.span
    ax.imshow(
        1 - strength * (1 - colours[best]),
        extent=(left, right, low, high),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    _label(ax.xaxis, columns)
    _label(ax.yaxis, rows)
    ax.set(xlabel=plain(columns.feature), ylabel=plain(rows.feature))
    if columns.words and rows.words and best.size <= MOST_CELLS_NAMED:
        for (j, i), arm in np.ndenumerate(best):
            text = f"{plain(report.arms[arm])}\n{chance[j, i, arm]:.0%}"
            ax.text(i, j, text, ha="center", va="center", fontsize="small")
    else:
        _scatter(ax, report, columns, rows)
    _legend(made, ax, report, best)
    better = "highest" if report.goal == "max" else "lowest"
    ax.set_title(f"Who gets which arm: the {better} mean, stronger where surer", fontsize="medium")
    return made


@dataclass(frozen=True)
class _Axis:
    """A feature along an axis: categories beside each other, or steps of a number."""

    feature: str
    values: list[Any]
    words: bool
    span: tuple[float, float]


def _axes(report: ContextReport, x: str | None, y: str | None) -> tuple[_Axis, _Axis]:
    features = report.units.features
    for name, value in (("x", x), ("y", y)):
        if value is not None and value not in features.kinds:
            raise ValueError(unknown(f"feature for {name}", value, features.kinds))
    if not features.kinds:
        raise ValueError("features must be at least one for a picture, got none")
    if x is not None and x == y:
        raise ValueError(f"x and y must be different features, got {x!r} twice")
    rest = [name for name in _by_weight(report) if name not in (x, y)]
    if x is None and y is None:
        first = rest[:2]
        numbers = [name for name in first if name not in features.categories]
        x = numbers[0] if numbers else first[0]  # a number is easier to read along the bottom
        rest = [name for name in rest if name != x]
    x = x if x is not None else rest.pop(0) if rest else y
    if y is None or y == x:
        y = rest[0] if rest else None
    assert x is not None
    nothing = _Axis("", [None], words=True, span=(-0.5, 0.5))
    return _axis(report, x), nothing if y is None else _axis(report, y)


def _by_weight(report: ContextReport) -> list[str]:
    """The features by how much of the arms' differences they make, the one that makes most first.

    Of a column that is the spread of its effects over the arms, per standard deviation."""
    table = report.coefficients.filter(report.coefficients["column"] != "")
    effects = table["per_sd"].fill_null(0.0).to_numpy().reshape(len(report.arms), -1)
    spread = dict(zip(report.units.features.columns, effects.var(axis=0), strict=True))

    def weight(name: str) -> float:
        parts = ((column.split(" x "), size) for column, size in spread.items())
        own = (size for names, size in parts if name in [one.split("=")[0] for one in names])
        return float(sum(own))

    return sorted(report.units.features.kinds, key=weight, reverse=True)


def _axis(report: ContextReport, name: str) -> _Axis:
    words = report.units.features.categories.get(name)
    seen = [context.get(name) for context in report.units.contexts]
    if words is not None:
        known = {value if value in words else words[-1] for value in seen}
        values: list[Any] = [word for word in words if word in known]
        return _Axis(name, values, words=True, span=(-0.5, len(values) - 0.5))
    numbers = np.array([value for value in seen if value is not None] or [0.0], dtype=np.float64)
    low, high = np.quantile(numbers, [EDGE, 1 - EDGE])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    half = (high - low) / STEPS / 2
    steps = np.linspace(low + half, high - half, STEPS).tolist()
    return _Axis(name, steps, words=False, span=(float(low), float(high)))


def _chances(report: ContextReport, columns: _Axis, rows: _Axis) -> Floats:
    """P(best) of every arm in every cell."""
    units = report.units
    typical: dict[str, Any] = {}
    for name in units.features.kinds:
        seen = [context[name] for context in units.contexts if name in context]
        if name in units.features.categories:
            typical[name] = Counter(seen).most_common(1)[0][0]
        elif seen:
            typical[name] = float(np.median(np.array(seen, dtype=np.float64)))
    places = [
        typical | {columns.feature: i} | ({} if rows.feature == "" else {rows.feature: j})
        for j in rows.values
        for i in columns.values
    ]
    x = np.array([units.features.encode(at) for at in places])
    belief = report.posterior.belief(x)
    chance = (belief if report.goal == "max" else belief.mirrored()).p_best()
    chance[report.beyond_data(x)] = 1 / len(report.arms)  # nothing is known there
    return chance.reshape(len(rows.values), len(columns.values), -1)


def _scatter(ax: Axes, report: ContextReport, columns: _Axis, rows: _Axis) -> None:
    """Dots where the units are; those of a category are spread over its stripe."""
    some = report.units.contexts[:: -(-len(report.units) // UNITS_DRAWN)]
    spread = (np.arange(len(some)) * 0.618034) % 1.0  # evenly, and the same every time
    place: list[Floats] = []
    for axis in (columns, rows):
        if axis.words:
            index = {word: i for i, word in enumerate(axis.values)}
            other = len(axis.values) - 1
            at = [index.get(context.get(axis.feature), other) for context in some]
            place.append(np.array(at) + 0.7 * (spread - 0.5))
        else:
            place.append(np.array([context.get(axis.feature, np.nan) for context in some]))
    ax.scatter(place[0], place[1], s=3, color="#222222", alpha=0.35, linewidths=0)
    ax.set(xlim=columns.span, ylim=rows.span)


def _label(axis: Any, along: _Axis) -> None:
    if along.words:
        texts = ["" if value is None else plain(str(value)) for value in along.values]
        axis.set_ticks(range(len(along.values)), texts)


def _legend(made: Figure, ax: Axes, report: ContextReport, best: Any) -> None:
    from matplotlib.patches import Patch

    shown = [i for i in range(len(report.arms)) if (best == i).any()]
    patches = [Patch(color=_colour(i), alpha=STRONGEST, label=plain(report.arms[i])) for i in shown]
    made.legend(
        handles=patches, loc="outside lower center", ncols=min(6, len(shown)), frameon=False
    )


def _colour(arm: int) -> str:
    return COLOURS[arm] if arm < ARMS_DRAWN else OTHERS_COLOUR


def _rgb(colour: str) -> Any:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)
