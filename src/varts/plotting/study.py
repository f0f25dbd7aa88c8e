"""Figures of a study: regret over rounds, and over the number of arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from varts.plotting.style import BOUND_LABEL, figure, line_style, plain, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varts.simulation.study import Study


def regret_curves(
    study: Study,
    ax: Axes | None = None,
    title: str | None = None,
    bound: Sequence[float] | None = None,
    legend: bool = True,
) -> Axes:
    """Regret over rounds with bands of two standard errors.

    Args:
        study: The study whose curves to draw.
        ax: Where to draw; by default in a new figure.
        title: The title of the axes.
        bound: A bound at the rounds of `thin(study.rounds)`, drawn dotted; as it is far above
            the curves, the axis then turns logarithmic above the first policy's regret.
        legend: Whether to draw a legend.
    """
    if ax is None:
        ax = figure(height=3.6, width=5.6)[1][0]
    rounds = thin(study.rounds)
    for i, label in enumerate(study.labels):
        line = line_style(label, i)
        regret, error = thin(study.regret[label]), thin(2 * study.se[label])
        ax.plot(rounds, regret, label=plain(label), **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(rounds, regret - error, regret + error, **band)
    if bound is not None:
        ax.plot(rounds, bound, color="#D55E00", linestyle=":", label=BOUND_LABEL)
        ax.set_yscale("symlog", linthresh=max(1.0, study.regret[study.labels[0]][-1]))
    ax.set(xlabel="Round n", ylabel="Regret", xlim=(0, study.horizon), title=title)
    ax.set_ylim(bottom=0)
    if legend:
        ax.legend(fontsize=7, frameon=False)
    return ax


def regret_by_arms(
    studies: dict[int, Study],
    ax: Axes,
    title: str | None = None,
    bounds: Sequence[float] | None = None,
) -> Axes:
    """Regret at the horizon over the number of arms, with bars of two standard errors.

    Args:
        studies: A study per number of arms, all of the same policies.
        ax: Where to draw.
        title: The title of the axes.
        bounds: A bound per number of arms, drawn dotted.
    """
    arms = list(studies)
    for i, label in enumerate(studies[arms[0]].labels):
        means = [studies[K].regret[label][-1] for K in arms]
        errors = [2 * studies[K].se[label][-1] for K in arms]
        ax.errorbar(
            arms,
            means,
            errors,
            label=plain(label),
            capsize=2,
            marker="o",
            ms=3,
            **line_style(label, i),
        )
    if bounds is not None:
        ax.plot(arms, bounds, color="#D55E00", linestyle=":", label=BOUND_LABEL)
        ax.set_yscale("symlog", linthresh=max(1.0, means[0]))
    ax.set_xscale("log", base=2)
    ax.set(xlabel="Number of arms K", ylabel="Regret", title=title, xticks=arms)
    ax.set_xticklabels([str(K) for K in arms])
    ax.set_ylim(bottom=0)
    return ax
