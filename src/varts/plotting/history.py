"""The figure of a live experiment: where the traffic went, and how the best arm was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts.plotting.style import figure, plain, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from varts.live.audit.history import History

ARMS_DRAWN = 12  # if there are more, those who matter least are drawn as one
# Okabe & Ito's colours, then darker ones of Paul Tol's, whose lines are dashed.
COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#332288", "#882255", "#117733", "#999933", "#000000", "#44AA99",
)  # fmt: skip
SOLID = 6  # of them
OTHERS_COLOUR = "#BBBBBB"
LONGEST_NAME = 24  # characters, in the legend
MARGIN = 0.5  # beside the intervals, as a part of what they span


def history_figure(history: History) -> Figure:
    """Four panels: traffic, P(best), cumulative reward, and the posterior densities at the end."""
    made, (traffic, best, reward, belief) = figure(4, height=3.1, width=5.0, rows=2)
    drawn = _Drawn(history)
    traffic.stackplot(
        [drawn.start, *drawn.x],
        *(np.nan_to_num(curve[[0, *range(len(curve))]]) for curve in drawn.curves("traffic")),
        colors=[line["color"] for line in drawn.lines],
        step="pre",
        linewidth=0,
    )
    traffic.set(title="Traffic between checkpoints", ylabel="Share of decisions")
    traffic.set_ylim(0, 1)
    _draw(best, drawn, "p_best")
    best.set(title="P(best)", ylabel="Probability", ylim=(-0.02, 1.02))
    _draw(reward, drawn, "cumulative_reward")
    reward.set(title="What the arms have paid", ylabel="Cumulative reward")
    reward.yaxis.set_major_formatter("{x:,.10g}")
    for ax in (traffic, best, reward):
        _label_time(ax, drawn, history.by_time)
    _draw_densities(belief, history, drawn)
    made.suptitle(f"{_short(history.name)}: {history.state.counted:,} rewards")
    shared_legend(made, best)
    return made


class _Drawn:
    """The arms that have a line of their own, the others as one, and what they did."""

    def __init__(self, history: History) -> None:
        self.frame = frame = history.frame
        checkpoint = frame["checkpoint"].to_numpy()
        names = history.arms
        place = {arm: i for i, arm in enumerate(names)}
        last = frame.filter(checkpoint == checkpoint[-1])  # it has all arms
        weight = last["share"].to_numpy() + last["p_best"].fill_null(0.0).to_numpy()
        kept = np.arange(len(names))
        if len(names) > ARMS_DRAWN:
            kept = np.sort(np.argsort(-weight, kind="stable")[: ARMS_DRAWN - 1])
        self.arms = [names[i] for i in kept]
        self.labels = [_short(arm) for arm in self.arms]
        self.lines: list[dict[str, Any]] = [_line(i) for i in range(len(kept))]
        line_of = np.full(len(names), len(kept))
        line_of[kept] = np.arange(len(kept))
        if len(kept) < len(names):
            self.labels.append(f"{len(names) - len(kept):,} others")
            self.lines.append({"color": OTHERS_COLOUR, "linewidth": 1.4})
        arm = np.array([place[name] for name in frame["arm"]])
        self._cell = line_of[arm], checkpoint - 1
        starts = np.flatnonzero(np.diff(checkpoint, prepend=0))
        self.x = frame["time" if history.by_time else "rewards"].gather(starts).to_list()
        self.start: Any = history.start if history.by_time else 0

    def curves(self, column: str) -> NDArray[np.float64]:
        """A row per line: the sum over its arms, where one of them is known."""
        value = self.frame[column].cast(float).to_numpy()
        known = ~np.isnan(value)
        shape = len(self.lines), len(self.x)
        total, count = np.zeros(shape), np.zeros(shape)
        np.add.at(total, self._cell, np.where(known, value, 0.0))
        np.add.at(count, self._cell, known)
        return np.where(count > 0, total, np.nan)


def _draw(ax: Axes, drawn: _Drawn, column: str) -> None:
    marker = "o" if len(drawn.x) == 1 else ""  # a line of one point cannot be seen
    curves = drawn.curves(column)
    for curve, label, line in zip(curves, drawn.labels, drawn.lines, strict=True):
        ax.plot(drawn.x, curve, label=label, marker=marker, **line)


def _draw_densities(ax: Axes, history: History, drawn: _Drawn) -> None:
    """Of the drawn arms, over what their intervals span."""
    found = history.densities()
    for arm, line in zip(drawn.arms, drawn.lines, strict=False):  # the others have no line here
        curve = found.filter(found["arm"] == arm)
        ax.plot(curve["mean"], curve["density"], **line)
        shade = {"color": line["color"], "alpha": 0.1, "linewidth": 0}
        ax.fill_between(curve["mean"], curve["density"], **shade)
    last = history.frame.filter(history.frame["checkpoint"] == len(drawn.x))
    known = last.filter(last["arm"].is_in(drawn.arms)).drop_nulls("mean_low")
    if known.height:
        low, high = known["mean_low"].to_numpy().min(), known["mean_high"].to_numpy().max()
        wide = MARGIN * (high - low)
        if wide > 0:
            ax.set_xlim(low - wide, high + wide)
    lower = ", lower is better" if history.state.config.options.goal == "min" else ""
    ax.set(title="What is believed in the end", xlabel=f"Mean reward{lower}", ylabel="Density")
    ax.set_ylim(bottom=0)


def _label_time(ax: Axes, drawn: _Drawn, by_time: bool) -> None:
    if by_time:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator: Any = AutoDateLocator()  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("Time (UTC)" if by_time else "Rewards")
    if drawn.start < drawn.x[-1]:
        ax.set_xlim(drawn.start, drawn.x[-1])


def _line(position: int) -> dict[str, Any]:
    style = "-" if position < SOLID else "--"
    return {"color": COLOURS[position], "linestyle": style, "linewidth": 1.6}


def _short(name: str) -> str:
    """Cut to a length; a legend leaves out what begins with _, so that must not be first."""
    cut = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return plain(cut)
