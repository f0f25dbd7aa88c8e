"""Lines, bands and stacked shares: over the checkpoints of an experiment, or the rounds of a plan.

All of them take plain arrays: an axis with the place of every checkpoint, and numbers by arm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from varts._text import decimal, places_for
from varts._validation import Floats
from varts.live.report.text import percentage
from varts.serve.web.charts.svg import (
    COLOURS,
    OTHERS,
    Chart,
    Scale,
    Table,
    Tick,
    across,
    area,
    bottom_axis,
    drawing,
    element,
    hover_strips,
    left_axis,
    number_ticks,
    path,
    points,
    span,
    spread_over,
    time_ticks,
    upward,
)

STRIPS = 60  # places with a tooltip
ROWS = 12  # of the table below a chart


@dataclass(frozen=True)
class Course:
    """The checkpoints of an experiment, in order: how many rewards there were, and when.

    Args:
        rewards: Their number at each checkpoint.
        times: Seconds since 1970, UTC.
        by: The horizontal axis: "rewards" or "time".
    """

    rewards: Floats
    times: Floats
    by: str = "rewards"

    @property
    def drawable(self) -> bool:
        """Whether there is a line to draw: two checkpoints in different places."""
        return len(self.places) > 1 and bool(self.places[-1] > self.places[0])

    @property
    def places(self) -> Floats:
        """Where the checkpoints are on the axis."""
        return self.rewards if self.by == "rewards" else self.times

    def axis(self) -> tuple[Scale, list[str]]:
        """The horizontal axis."""
        x = across(float(self.places[0]), float(self.places[-1]))
        if self.by == "rewards":
            return x, bottom_axis(x, number_ticks(x.low, x.high), "rewards")
        return x, bottom_axis(x, time_ticks(x.low, x.high), "time, UTC")

    def name(self, i: int) -> str:
        """The name of a checkpoint."""
        if self.by == "rewards":
            return f"{self.rewards[i]:,.0f} rewards"
        return f"{moment_text(datetime.fromtimestamp(float(self.times[i]), UTC))} UTC"

    def table(self, caption: str, columns: Mapping[str, Callable[[int], str]]) -> Table:
        """Some checkpoints, first and last among them, with the cells of each column."""
        rows = [
            [self.name(i), *(cell(i) for cell in columns.values())]
            for i in spread_over(len(self.places), ROWS)
        ]
        return Table(caption, ["After" if self.by == "rewards" else "At", *columns], rows)

    def strips(self, x: Scale, columns: Mapping[str, Callable[[int], str]]) -> list[str]:
        """The values under the pointer."""
        chosen = spread_over(len(self.places), STRIPS)
        texts = [
            "\n".join([self.name(i), *(f"{name}: {cell(i)}" for name, cell in columns.items())])
            for i in chosen
        ]
        return hover_strips(x, [float(self.places[i]) for i in chosen], texts)


class Band(NamedTuple):
    """A number over the checkpoints, with its interval."""

    value: Floats
    low: Floats
    high: Floats


def moment_text(moment: datetime) -> str:
    """A time, to the minute.

    >>> moment_text(datetime(2026, 11, 6, 9, 5, 59))
    '2026-11-06 09:05'
    """
    return f"{moment:%Y-%m-%d %H:%M}"


SHARES = [Tick(share, f"{100 * share:g} %") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def p_best_chart(
    course: Course,
    p_best: Mapping[str, Floats],
    colours: Mapping[str, str],
    enough: float | None = None,
) -> Chart:
    """Draw each arm's P(best) at every checkpoint.

    Args:
        course: The checkpoints.
        p_best: The probabilities by arm, NaN where they are unknown.
        colours: The classes of the arms to draw.
        enough: The P(best) of the stop rule, if there is one.
    """
    key, title = "p-best", "Chance of being best"
    known = [arm for arm in p_best if np.isfinite(p_best[arm]).any()]
    if not course.drawable or not known:
        return Chart(key, title, "", "This chart appears once there are two checkpoints.")
    (x, parts), y = course.axis(), upward(0.0, 1.0)
    parts += left_axis(y, SHARES, x)
    drawn = [arm for arm in known if arm in colours]
    if enough is not None:
        at = y(enough)
        parts.append(element("line", class_="threshold", x1=x.start, x2=x.end, y1=at, y2=at))
    for arm in drawn:
        line = points(x, y, course.places, p_best[arm])
        parts.append(path(line, f"line {colours[arm]}"))
    columns = {arm: _cells(p_best[arm], percentage) for arm in drawn}
    last = {arm: p_best[arm][-1] for arm in known if np.isfinite(p_best[arm][-1])}
    said = []
    if last:
        leader = max(last, key=lambda arm: last[arm])
        said.append(f"At the last checkpoint, P(best) of {leader} was {percentage(last[leader])}.")
    if enough is not None:
        said.append(f"The dashed line is the stop rule: {percentage(enough)}.")
    said += _left_out(len(drawn), len(p_best))
    return Chart(
        key,
        title,
        drawing(key, title, [*parts, *course.strips(x, columns)]),
        " ".join(said),
        course.table("P(best) at some checkpoints", columns),
        [(colours[arm], arm) for arm in drawn],
    )


def traffic_chart(course: Course, share: Mapping[str, Floats], colours: Mapping[str, str]) -> Chart:
    """Draw each arm's share of the decisions between checkpoints, stacked.

    Args:
        course: The checkpoints.
        share: The shares by arm, which add up to 1; NaN without decisions, or without the arm.
        colours: The classes of the arms to draw; the others are drawn as one.
    """
    key, title = "traffic", "Who gets the traffic"
    if not course.drawable:
        return Chart(key, title, "", "This chart appears once there are two checkpoints.")
    (x, parts), y = course.axis(), upward(0.0, 1.0)
    share = _carried(share)
    layers = {arm: (colours[arm], part) for arm, part in share.items() if arm in colours}
    rest = [part for arm, part in share.items() if arm not in colours]
    if rest:
        layers[f"{len(rest)} other arms"] = (OTHERS, np.sum(rest, axis=0))
    below = np.zeros(len(course.places))
    for colour, part in layers.values():
        bottom, below = below, below + part
        top = points(x, y, course.places, below)
        parts.append(area(top, points(x, y, course.places, bottom), f"layer {colour}"))
    parts += left_axis(y, SHARES, x)
    columns = {arm: _cells(part, percentage) for arm, (_, part) in layers.items()}
    most = max(layers, key=lambda arm: layers[arm][1][-1])
    return Chart(
        key,
        title,
        drawing(key, title, [*parts, *course.strips(x, columns)]),
        f"Of the latest decisions, {percentage(layers[most][1][-1])} went to {most}.",
        course.table("Share of the decisions since the checkpoint before", columns),
        [(colour, arm) for arm, (colour, _) in layers.items()],
    )


def _carried(share: Mapping[str, Floats]) -> dict[str, Floats]:
    """The shares as they last were, where there were no decisions; 0 for an arm not added yet."""
    rows = np.array(list(share.values()))
    last = np.where(np.isfinite(rows).any(axis=0), np.arange(rows.shape[1]), 0)
    return dict(zip(share, np.nan_to_num(rows[:, np.maximum.accumulate(last)]), strict=True))


def gain_chart(
    course: Course,
    gain: Band | None,
    goal: str,
    level: float = 0.95,
    sentence: str | None = None,
) -> Chart:
    """Draw the gain from learning, compared with the even split of the holdout.

    Args:
        course: The checkpoints.
        gain: The total gain, in rewards; None if unknown.
        goal: "max" or "min": for the latter a gain is a saving.
        level: The level of the band.
        sentence: A sentence about the gain now; by default the last value of the band.
    """
    key, title = "gain", "Gain over the holdout"
    word = "gained" if goal == "max" else "saved"
    if gain is None:
        return Chart(key, title, "", sentence or "There is no holdout to compare with.")
    known = np.isfinite(gain.value) & np.isfinite(gain.low) & np.isfinite(gain.high)
    if not course.drawable or not known.any():
        later = "This chart appears once the holdout has rewards at two checkpoints."
        return Chart(key, title, "", sentence or later)
    low, high = span([0.0, *gain.low[known], *gain.high[known]], pad=0.05)
    (x, parts), y = course.axis(), upward(low, high)
    parts += left_axis(y, number_ticks(low, high), x)
    parts.append(element("line", class_="zero", x1=x.start, x2=x.end, y1=y(0.0), y2=y(0.0)))
    at = course.places[known]
    line, bottom, top = (points(x, y, at, part[known]) for part in gain)
    parts += [area(top, bottom, "band arm-0"), path(line, "line arm-0")]
    places = max(places_for([float(gain.high[known][-1] - gain.low[known][-1])]) - 1, 0)
    text = _amount(places)
    columns = {
        name: _cells(values, text)
        for name, values in (("Gain", gain.value), ("From", gain.low), ("To", gain.high))
    }
    now = [text(part[known][-1]) for part in gain]
    percent = f"{100 * level:g} %"
    said = f"So far {now[0]} {word}; {percent} interval {now[1]} to {now[2]}."
    if gain.low[known][-1] <= 0 <= gain.high[known][-1]:
        said += " The interval includes 0."
    return Chart(
        key,
        title,
        drawing(key, title, [*parts, *course.strips(x, columns)]),
        sentence or said,
        course.table(f"Gain over the holdout, {percent}", columns),
    )


def _amount(places: int) -> Callable[[float], str]:
    """How to write a gain."""
    return lambda x: decimal(float(x), places, "+,")


def _cells(values: Floats, text: Callable[[float], str]) -> Callable[[int], str]:
    """How to write the number of a checkpoint."""
    return lambda i: text(values[i]) if np.isfinite(values[i]) else "-"


def _left_out(drawn: int, arms: int) -> Sequence[str]:
    return [] if drawn == arms else [f"Drawn: {drawn} of {arms} arms."]


CEILING = 4.0  # times the first policy's regret: curves above it leave the picture


def regret_chart(rounds: Floats, regret: Mapping[str, Band]) -> Chart:
    """Draw the regret of each policy, the main one first.

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
    said = f"After {rounds[-1]:,.0f} rounds, {first} has lost {ends[0]:,.4g} compared with always "
    said += "playing the best arm."
    said += f" The band is the 95 % interval of {first}."
    if above:
        said += f" Off the chart at the top: {', '.join(above)}."
    return Chart(
        key,
        title,
        drawing(key, title, parts),
        said,
        Table("Regret by round", ["Round", *shown], rows),
        [(f"arm-{i}", name) for i, name in enumerate(shown)],
    )
