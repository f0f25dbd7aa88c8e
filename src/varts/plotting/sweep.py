"""The figure of a sweep: a metric over one axis, with a line per policy and a panel per setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from varts._validation import choice, unknown
from varts.plotting.style import (
    figure,
    line_style,
    metric_label,
    shared_legend,
    shown_in_notebooks,
    with_math,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS_PER_ROW = 4
MOST_PANELS = 64
MOST_TICKS = 8  # more values than this, and matplotlib chooses the ticks
SPREAD = 10  # a ratio between the ends of an axis from which it is logarithmic
DODGE = 0.4  # how far apart the points of one category are, all together


def sweep_figure(
    table: pl.DataFrame,
    x: str | None = None,
    panels: str | Iterable[str] | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    against: str | None = None,
    policies: Iterable[str] | None = None,
    labels: Mapping[str, str] | None = None,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    highlight: str | Iterable[str] = (),
    xscale: str | None = None,
    yscale: str = "linear",
    sharey: bool = True,
) -> list[Axes]:
    """Draw a metric over one axis of a sweep: a line per policy, with the intervals as bands.

    An axis of words, such as names of problems, gets a point per policy and an interval.

    Args:
        table: What `Sweep.outcomes` returns: the axes, the policy, and a metric with its interval.
        x: The axis to draw over; by default the first with several numbers.
        panels: The axes that have a panel per value; by default all others with several values.
        where: Values of some axes: only these settings are drawn.
        against: The policy that the metric is a difference to. It isn't drawn.
        policies: The labels of the policies to draw; by default all.
        labels: Names for the legend, by label. They may have formulas.
        styles: Properties of matplotlib lines, such as `{"color": "black"}`, by label.
        highlight: The labels of policies to draw with a thicker line.
        xscale: "linear" or "log"; by default "log" if the largest value is ten times the smallest.
        yscale: "linear", "log" or "symlog".
        sharey: Whether all panels have the same vertical axis.
    """
    place = table.columns.index("policy")
    axes, metric = table.columns[:place], table.columns[place + 1]
    for axis, value in (where or {}).items():
        known = table[choice("axis", axis, axes)].unique(maintain_order=True).to_list()
        if value not in known:
            raise ValueError(unknown(axis, value, map(str, known)))
        table = table.filter(pl.col(axis).eq_missing(value))
    varying = [axis for axis in axes if table[axis].n_unique() > 1]
    if x is None:
        numbers = [axis for axis in varying if _has_numbers(table[axis])]
        x = (numbers or varying or axes)[0]
    choice("x", x, axes)
    if panels is None:
        panels = [axis for axis in varying if axis != x]
    panels = [panels] if isinstance(panels, str) else list(panels)
    for axis in varying:
        if axis != x and axis not in panels:
            raise ValueError(
                f"{axis} has several values and must be x, one of panels, or fixed with where"
            )
    all_labels = table["policy"].unique(maintain_order=True).to_list()
    others = [label for label in all_labels if label != against]
    drawn = others if policies is None else list(policies)
    highlighted = [highlight] if isinstance(highlight, str) else list(highlight)
    for label in [*drawn, *(labels or {}), *(styles or {}), *highlighted]:
        if label not in all_labels:
            raise ValueError(unknown("policy", label, all_labels))
    lines = {
        label: {
            "label": with_math((labels or {}).get(label, label)),
            **line_style(label, all_labels.index(label), label in highlighted),
            **(styles or {}).get(label, {}),
        }
        for label in drawn
    }
    groups = [table]
    if panels:
        groups = table.partition_by([choice("panel", axis, axes) for axis in panels])
    values = table[x].unique(maintain_order=True)
    made = _draw_panels(groups, values, metric, lines, sharey)
    if _has_numbers(values):
        wide = values.min() > 0 and values.max() >= SPREAD * values.min()  # type: ignore[operator]
        xscale = xscale or ("log" if wide else "linear")
    title = metric_label(metric)
    if against is not None:
        title = f"{title} minus that of {with_math((labels or {}).get(against, against))}"
    for i, (ax, group) in enumerate(zip(made, groups, strict=True)):
        _finish_x(ax, values, xscale)
        ax.set_yscale(choice("yscale", yscale, ("linear", "log", "symlog")))
        if panels:
            shown = ", ".join(f"{axis} = {group[axis][0]}" for axis in panels)
            ax.set_title(with_math(shown), fontsize=9)
        if i % PANELS_PER_ROW == 0:
            ax.set_ylabel(title)
        if against is not None:
            ax.axhline(0, color="#333333", linewidth=0.8)
        elif yscale == "linear" and (table[metric] >= 0).all():
            ax.set_ylim(bottom=0)
        shown_in_notebooks(ax)
    return made


def _has_numbers(values: pl.Series) -> bool:
    """Return whether an axis has only numbers: half-lives may be None, too."""
    return values.dtype.is_numeric() and values.null_count() == 0


def _draw_panels(
    groups: Sequence[pl.DataFrame],
    values: pl.Series,
    metric: str,
    lines: Mapping[str, Mapping[str, Any]],
    sharey: bool,
) -> list[Axes]:
    """Draw the lines of every panel, and one legend."""
    if len(groups) > MOST_PANELS:
        raise ValueError(
            f"panels must be at most {MOST_PANELS}, got {len(groups)}; fix some axes with where"
        )
    columns = min(len(groups), PANELS_PER_ROW)
    rows = -(-len(groups) // columns)
    width = 5.2 if columns == 1 else 3.2
    made, axes = figure(rows * columns, height=2.9, width=width, rows=rows)
    for spare in axes[len(groups) :]:
        made.delaxes(spare)
    axes = axes[: len(groups)]
    x, positions = values.name, {value: i for i, value in enumerate(values)}
    for ax, group in zip(axes, groups, strict=True):
        if sharey and ax is not axes[0]:
            ax.sharey(axes[0])
        for i, (label, line) in enumerate(lines.items()):
            points = group.filter(policy=label).sort(x)
            if points.is_empty():
                continue
            y, low, high = (points[f"{metric}{end}"].to_numpy() for end in ("", "_low", "_high"))
            if _has_numbers(values):
                ax.plot(points[x], y, **{"marker": "o", "markersize": 3, **line})
                ax.fill_between(points[x], low, high, color=line["color"], alpha=0.2, linewidth=0)
            else:
                shift = DODGE * ((i + 0.5) / len(lines) - 0.5)
                at = [positions[value] + shift for value in points[x]]
                look = {"marker": "o", "markersize": 4, **line, "linestyle": ""}
                ax.errorbar(at, y, [y - low, high - y], capsize=2, **look)
    shared_legend(made, *axes)
    return axes


def _finish_x(ax: Axes, values: pl.Series, xscale: str | None) -> None:
    """Label the horizontal axis; few values are all named."""
    ax.set_xlabel(with_math(values.name))
    if not _has_numbers(values):
        ax.set_xticks(range(len(values)), [with_math(str(value)) for value in values])
        ax.set_xlim(-0.5, len(values) - 0.5)
        return
    ax.set_xscale(choice("xscale", xscale, ("linear", "log")))
    if len(values) <= MOST_TICKS:
        ax.set_xticks(values.to_list(), [f"{value:,g}" for value in values])
        ax.minorticks_off()
