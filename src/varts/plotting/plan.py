"""The figure of a plan: regret of every policy, the arm found, what a wrong prior costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from varts.plotting.style import STYLES, figure, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varts.planning.result import Plan


def plan_figure(plan: Plan, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Three panels: regret of every policy, the arm found, what a wrong prior costs VarTS."""
    if axes is None:
        axes = figure(3, height=4.0, width=4.0)[1]
    left, middle, right = axes
    _plan_regret(plan, left)
    _plan_found(plan, middle)
    _plan_wrong(plan, right)
    return [left, middle, right]


def _plan_regret(plan: Plan, ax: Axes) -> None:
    """Curves far above that of VarTS may leave the panel; the legend says where they end."""
    ends = plan.table["regret"]
    for label, end in zip(plan.table["policy"], ends, strict=True):
        curve = plan.curves.filter(policy=label)
        line = line_style(label, 0)
        ax.plot(curve["round"], curve["regret"], label=f"{label}: {end:,.4g}", **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(curve["round"], curve["regret_low"], curve["regret_high"], **band)
    top = min(1.05 * max(ends), 4 * ends[0]) or 1.0
    ax.set(xlabel="Round n", ylabel="Regret", xlim=(0, plan.horizon), ylim=(0, top))
    ax.set_title(f"What it costs to learn, {plan.K} arms")
    ax.legend(fontsize=7, frameon=False, loc="upper left")


def _plan_found(plan: Plan, ax: Axes) -> None:
    """The recommended arm is the best one (solid), and how sure its P(best) is of that (dots)."""
    for i, label in enumerate(plan.identified["policy"].unique(maintain_order=True)):
        seen = plan.identified.filter(policy=label)[1:]  # a logarithmic axis has no round 0
        line = {**line_style(label, i), "linestyle": "-"}
        ax.plot(seen["round"], 100 * seen["identified"], label=label, **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(
            seen["round"], 100 * seen["identified_low"], 100 * seen["identified_high"], **band
        )
        dots = {"color": line["color"], "linestyle": "", "marker": ".", "markersize": 4}
        ax.plot(seen["round"], 100 * seen["p_best"], label=f"{label}: mean P(best)", **dots)
    ax.set_xscale("log")
    ax.set(xlabel="Round n", ylabel="Experiments in %", ylim=(0, 102))
    ax.set_title("The recommended arm is the best")
    ax.legend(fontsize=7, frameon=False, loc="lower right")


def _plan_wrong(plan: Plan, ax: Axes) -> None:
    wrong = plan.wrong.drop_nulls("extra").reverse()
    places = range(wrong.height)
    half = wrong["extra_high"] - wrong["extra"]
    colour = STYLES["VarTS"]["color"]
    ax.barh(places, wrong["extra"], xerr=half, color=colour, alpha=0.6, ecolor="#333333", capsize=3)
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.set_yticks(places, [text.replace(", ", ",\n") for text in wrong["prior"]], fontsize=8)
    ax.set(xlabel="Extra regret of VarTS")
    ax.set_title("What a wrong prior costs")
