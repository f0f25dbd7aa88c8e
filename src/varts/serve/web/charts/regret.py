"""The regret of policies in a plan, with bands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from varts._validation import Floats
from varts.serve.web.charts.chart import COLOURS, Chart, Table
from varts.serve.web.charts.course import Band
from varts.serve.web.charts.scale import number_ticks, spread_over
from varts.serve.web.charts.svg import (
    across,
    area,
    bottom_axis,
    drawing,
    left_axis,
    path,
    points,
    upward,
)

CEILING = 4.0  # times the first policy's regret: curves above it leave the picture


def regret_chart(rounds: Floats, regret: Mapping[str, Band]) -> Chart:
    """What each policy loses while it learns, the main one first.

    Args:
        rounds: Where the curves are known.
        regret: By policy.
    """
    key, title = "regret", "What it costs to learn"
    ends = [float(band.value[-1]) for band in regret.values()]
    high = min(1.05 * max(ends), CEILING * ends[0]) or 1.0
    x, y = across(0.0, float(rounds[-1])), upward(0.0, high)
    parts = bottom_axis(x, number_ticks(0.0, x.high), "round")
    parts += left_axis(y, number_ticks(0.0, high), x)
    shown = dict(list(regret.items())[:COLOURS])
    for i, band in enumerate(shown.values()):
        inside = band.value <= high
        own = Band(*(np.minimum(part[inside], high) for part in band))
        line, bottom, top = (points(x, y, rounds[inside], part) for part in own)
        if i == 0:  # more bands than one hide each other
            parts.append(area(top, bottom, "band arm-0"))
        parts.append(path(line, f"line arm-{i}"))
    rows = [
        [f"{rounds[i]:,.0f}", *(f"{band.value[i]:,.4g}" for band in shown.values())]
        for i in spread_over(len(rounds), 12)
    ]
    above = [name for name, band in shown.items() if np.any(band.value > high)]
    first = next(iter(regret))
    said = f"After {rounds[-1]:,.0f} rounds {first} has lost {ends[0]:,.4g} against the best arm."
    said += f" The band is the 95 % interval of {first}."
    if above:
        said += f" {', '.join(above)} leave the picture at the top."
    return Chart(
        key,
        title,
        drawing(key, title, parts),
        said,
        Table("Regret by round", ["Round", *shown], rows),
        [(f"arm-{i}", name) for i, name in enumerate(shown)],
    )
