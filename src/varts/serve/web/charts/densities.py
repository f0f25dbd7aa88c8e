"""Hills: where a mean may lie, a row each, with the interval below it; of arms, and of a prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from varts._text import decimal, places_for
from varts._validation import Floats
from varts.beliefs import Belief
from varts.priors import NormalGamma
from varts.serve.web.charts.svg import (
    HEIGHT,
    Chart,
    Scale,
    Table,
    across,
    area,
    bottom_axis,
    drawing,
    element,
    escaped,
    label,
    number_ticks,
    path,
    points,
    short,
    span,
)

ROW, TALLEST_ROW = 44.0, 66.0  # the height of a row, with many and with few of them
ROOM_BELOW = 12.0  # a hill, for its interval
NAMES = 98.0  # the width of the column of names
LETTERS = 13  # of a name that fit into it
POINTS = 120  # of a curve
ROOM_BESIDE = 0.3  # of the widest interval, on both sides


class Hill(NamedTuple):
    """A distribution to draw: one arm's column of a belief."""

    name: str
    colour: str  # a class
    belief: Belief
    column: int
    level: float  # of the interval below it
    hint: str  # the tooltip

    def interval(self) -> tuple[float, float]:
        """The ends of its interval."""
        low, high = self.belief.interval(self.level)
        return float(low[self.column]), float(high[self.column])

    def middle(self) -> float:
        """Its median."""
        return float(self.belief.quantile(0.5)[self.column])


def draw_hills(key: str, title: str, axis: str, hills: Sequence[Hill]) -> str:
    """Hills above each other on one axis, all of the same height; nothing if none can be drawn."""
    ends = [hill.interval() for hill in hills]
    drawable = [all(map(math.isfinite, end)) for end in ends]
    if not any(drawable):
        return ""
    low, high = span((x for end in ends for x in end), pad=ROOM_BESIDE)
    x = across(low, high, NAMES)
    row = min(max((HEIGHT - 46) / len(hills), ROW), TALLEST_ROW)
    y = 8 + row * len(hills)
    parts = bottom_axis(x, number_ticks(low, high), axis, y, 4.0)
    for i, (hill, end, there) in enumerate(zip(hills, ends, drawable, strict=True)):
        base = 4 + row * (i + 1) - ROOM_BELOW
        drawn = [
            element("title", escaped(hill.hint)),
            label(short(hill.name, LETTERS), NAMES - 8, base, "row-name", "end"),
            *(_hill(hill, end, x, base, row - ROOM_BELOW) if there else ()),
        ]
        parts.append(element("g", *drawn, class_=hill.colour))
    return drawing(key, title, parts, y + 38)


def _hill(hill: Hill, ends: tuple[float, float], x: Scale, base: float, height: float) -> list[str]:
    grid = np.linspace(x.low, x.high, POINTS)
    # A narrow hill could fall between two points of the grid: add points where the hill is.
    own = np.linspace(ends[0], ends[1], POINTS // 2)
    grid = np.unique(np.concatenate([grid, own]))
    shape = _shape(hill.belief.density(grid)[:, hill.column])
    top = points(x, Scale(0.0, 1.0, base, base - height), grid, shape)
    middle = x(hill.middle())
    return [
        area(top, [(top[0][0], base), (top[-1][0], base)], "hill"),
        path(top, "hill-line"),
        element("line", class_="interval", x1=x(ends[0]), x2=x(ends[1]), y1=base + 4, y2=base + 4),
        element("circle", class_="dot", cx=middle, cy=base + 4, r=3.4),
    ]


def _shape(density: Floats) -> Floats:
    """Of a hill whose top is at 1."""
    top = density.max(initial=0.0)
    return density / top if 0 < top < math.inf else np.zeros_like(density)


def density_chart(
    arms: Sequence[str],
    belief: Belief | None,
    colours: dict[str, str],
    level: float,
    unknown: Sequence[str] = (),
) -> Chart:
    """Draw where each arm's mean may lie, given its rewards.

    Args:
        arms: The arms with enough rewards.
        belief: The belief about their means.
        colours: The classes of the arms to draw.
        level: The level of the intervals.
        unknown: The arms with too few rewards.
    """
    key, title = "means", "What each arm earns"
    if belief is None:
        return Chart(key, title, "", "There are too few rewards to estimate any arm's mean yet.")
    low, high = belief.interval(level)
    middle = belief.quantile(0.5)
    places = places_for(high - low)
    cells = [
        [arm, *(decimal(float(v[i]), places) for v in (low, middle, high))]
        for i, arm in enumerate(arms)
    ]
    percent = f"{100 * level:g} %"
    table = Table(f"Mean of each arm, {percent} interval", ["Arm", "From", "Median", "To"], cells)
    drawn = [i for i, arm in enumerate(arms) if arm in colours]
    hills = [
        Hill(
            arms[i],
            colours[arms[i]],
            belief,
            i,
            level,
            f"{arms[i]}: {cells[i][1]} to {cells[i][3]}",
        )
        for i in drawn
    ]
    said = [f"Each bar is the {percent} interval of an arm's mean; the dot is the median."]
    if len(drawn) < len(arms):
        said.append(f"Shown: the {len(drawn)} of {len(arms)} arms with the most traffic.")
    if unknown:
        said.append(f"Too few rewards to estimate {_listed(unknown)}.")
    axis = "mean reward"
    return Chart(key, title, draw_hills(key, title, axis, hills), " ".join(said), table)


def _listed(names: Sequence[str]) -> str:
    """Some names; of many, how many.

    >>> _listed(["a", "b"]), _listed(list("abcdef"))
    ('a, b', '6 arms')
    """
    return ", ".join(names) if len(names) <= 5 else f"{len(names)} arms"


MEANS, REWARDS = 0.8, 0.9  # of the arms, and of the single rewards, that the sentence is about


def prior_chart(prior: NormalGamma) -> Chart:
    """Draw an arm's mean and a single reward as a prior expects them.

    >>> prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
    >>> print(prior_chart(prior).sentence)
    8 of 10 arms have a mean from 9.5 to 14.5; 9 of 10 single rewards lie from -1.5 to 25.5.
    """
    key, title = "prior", "What the prior expects"
    mean, reward = prior.belief(), prior.predictive()
    ends = mean.interval(MEANS), reward.interval(REWARDS)
    places = max(places_for([float(high[0] - low[0]) for low, high in ends]) - 1, 0)
    (low, high), (least, most) = (
        tuple(decimal(float(end[0]), places) for end in pair) for pair in ends
    )
    sentence = (
        f"{10 * MEANS:g} of 10 arms have a mean from {low} to {high}; "
        f"{10 * REWARDS:g} of 10 single rewards lie from {least} to {most}."
    )
    hills = [
        Hill("an arm's mean", "arm-0", mean, 0, MEANS, f"{low} to {high}"),
        Hill("one reward", "arm-1", reward, 0, REWARDS, f"{least} to {most}"),
    ]
    rows = [["An arm's mean", "8 of 10", low, high], ["A single reward", "9 of 10", least, most]]
    table = Table(title, ["What", "How many", "From", "To"], rows)
    return Chart(key, title, draw_hills(key, sentence, "reward", hills), sentence, table)
