"""The figure of one run: the estimates of the arms, and which arm was pulled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._validation import Floats
from varts.plotting.style import figure, line_style, shown_in_notebooks, thin, with_math

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varts.simulation.trace import Trace

ARMS_DRAWN = 12  # those with the most pulls; you couldn't distinguish more lines
OTHERS_COLOUR = "#BBBBBB"


def trace_figure(trace: Trace, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw two panels: the mean of each arm, with an interval if the policy has beliefs; pulls.

    Args:
        trace: The run.
        axes: The two axes to draw on; by default those of a new figure.
    """
    if axes is None:
        axes = figure(2, height=2.7, width=6.4, rows=2)[1]
    top, bottom = axes
    shape = trace.horizon, trace.K
    table = {name: trace.arms[name].to_numpy().reshape(shape) for name in trace.arms.columns[2:]}
    arm = trace.rounds["arm"].to_numpy()
    pulls = np.bincount(arm, minlength=trace.K)
    drawn = np.sort(np.argsort(-pulls, kind="stable")[:ARMS_DRAWN])
    rounds = trace.rounds["round"].to_numpy()
    believes = "belief_mean" in table
    middle = table["belief_mean"] if believes else np.where(table["n"] > 0, table["mean"], np.nan)
    for place, i in enumerate(drawn):
        line = line_style("", place)
        best = ", the best" if table["gap"][-1, i] == 0 else ""
        name = f"arm {i}{best}: {pulls[i]:,} pulls"
        top.plot(thin(rounds), thin(middle[:, i]), label=name, **line)
        if believes:
            low, high = thin(table["belief_low"][:, i]), thin(table["belief_high"][:, i])
            top.fill_between(thin(rounds), low, high, color=line["color"], alpha=0.12, linewidth=0)
        _draw_pulls(bottom, rounds[arm == i], arm[arm == i], line["color"])
    others = ~np.isin(arm, drawn)
    _draw_pulls(bottom, rounds[others], arm[others], OTHERS_COLOUR)
    what = "Believed mean, 90 %" if believes else "Mean of its rewards"
    top.set(ylabel=what, title=f"{with_math(trace.label)}, run {trace.run}")
    if believes:
        _focus(top, middle[:, drawn])
    top.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    bottom.set(xlabel="Round n", ylabel="Arm pulled", ylim=(-0.6, trace.K - 0.4))
    for ax in axes:
        ax.margins(x=0)
        shown_in_notebooks(ax)
    return [top, bottom]


def _draw_pulls(ax: Axes, rounds: Any, arms: Any, colour: str) -> None:
    ax.plot(rounds, arms, linestyle="", marker="|", color=colour)


def _focus(ax: Axes, middle: Floats) -> None:
    """Limit the axis to the means: the first intervals are so wide that they hide the rest."""
    low, high = np.nanmin(middle), np.nanmax(middle)
    wide = 0.35 * (high - low)
    if wide > 0:
        ax.set_ylim(low - wide, high + wide)
