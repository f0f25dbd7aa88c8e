"""Figures of a study: regret over rounds, and regret over the number of arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from varts import bounds
from varts._validation import abbreviate, choice, real, unknown
from varts.plotting.style import (
    BOUND_LABEL,
    figure,
    line_style,
    metric_label,
    shown_in_notebooks,
    thin,
    with_math,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from varts.simulation.metrics import Metric
    from varts.simulation.study import Study


XSCALES, YSCALES = ("linear", "log"), ("linear", "log", "symlog")
LEGEND_INSIDE = 9  # a legend with more entries would cover the curves
BOUND_LINES: dict[str, dict[str, Any]] = {
    "lai-robbins": {"color": "#333333", "linestyle": (0, (1, 1))},
    "burnetas-katehakis": {"color": "#333333", "linestyle": (0, (1, 3))},
}


def regret_curves(
    study: Study,
    ax: Axes | None = None,
    title: str | None = None,
    bound: Sequence[float] | None = None,
    legend: bool = True,
    *,
    policies: Iterable[str] | None = None,
    labels: Mapping[str, str] | None = None,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    xscale: str = "linear",
    yscale: str | None = None,
    quantiles: tuple[float, float] | None = None,
    lower_bound: str | Iterable[str] = (),
    highlight: str | Iterable[str] = (),
    metric: Metric | None = None,
) -> Axes:
    """Draw regret over rounds with bands of two standard errors, or between two quantiles.

    You can also make the axes logarithmic afterwards.

    Args:
        study: The study whose curves to draw.
        ax: The axes to draw on; by default those of a new figure.
        title: The title of the axes. It and the names of policies may have formulas, such as
            `$\\gamma = 2$`.
        bound: A bound at the rounds of `thin(study.rounds)`, drawn dotted. It is far above the
            curves, so the axis is logarithmic above the first policy's regret.
        legend: Whether to draw a legend.
        policies: The labels of the policies to draw, in the order of the legend; by default all.
        labels: Names for the legend, by label.
        styles: Properties of matplotlib lines, such as `{"color": "black"}`, by label.
        xscale: "linear" or "log".
        yscale: "linear", "log" or "symlog".
        quantiles: Two shares such as (0.05, 0.95), between which the bands are drawn. The study
            must have checkpoints.
        lower_bound: "lai-robbins", "burnetas-katehakis" or both, drawn dotted: the least regret of
            a consistent policy for long horizons. The study must have one fixed instance.
        highlight: The labels of policies to draw with a thicker line, in front of the others.
        metric: A function of `Runs` to draw instead of the regret, at the checkpoints, with bands
            of 95 % intervals.
    """
    if metric is not None and (bound is not None or lower_bound):
        raise ValueError("bounds are those of the regret; leave them out with a metric")
    if ax is None:
        ax = figure(height=3.6, width=5.6)[1][0]
    drawn = study if policies is None else study.select(policies)
    highlighted = [highlight] if isinstance(highlight, str) else list(highlight)
    for label in [*(labels or {}), *(styles or {}), *highlighted]:
        if label not in study.labels:
            raise ValueError(unknown("policy", label, study.labels))
    table = None if metric is None else drawn.metric(metric)
    shares = None if quantiles is None else _two_shares(quantiles)
    values = {} if shares is None else drawn.measure(metric or (lambda runs: runs.regret))
    for label in drawn.labels:
        rounds, middle, low, high = _curve(drawn, label, table)
        line = line_style(label, study.labels.index(label), label in highlighted)
        line = {**line, **(styles or {}).get(label, {})}
        ax.plot(rounds, middle, label=with_math((labels or {}).get(label, label)), **line)
        if shares is not None:
            rounds, (low, high) = drawn.checkpoints, np.quantile(values[label], shares, axis=0)
        color = ax.lines[-1].get_color()
        ax.fill_between(rounds, low, high, color=color, alpha=0.2, linewidth=0)
    rounds = thin(study.rounds)
    for name in [lower_bound] if isinstance(lower_bound, str) else lower_bound:
        shown, constant = lower_bound_of(study.provenance["problem"], name)
        later = rounds[rounds > 1]  # log 1 = 0 can't be drawn on a logarithmic axis
        ax.plot(later, constant * np.log(later), label=shown, **BOUND_LINES[name])
    if bound is not None:
        ax.plot(rounds, bound, color="#D55E00", linestyle=":", label=BOUND_LABEL)
        first = drawn.regret[drawn.labels[0]][-1]
        ax.set_yscale("symlog", linthresh=max(1.0, first))
    ax.margins(x=0)
    if metric is None:
        # A linear axis begins at 0 and a logarithmic one at the lowest curve. Fixed limits would
        # leave a logarithmic axis blank, so we add 0 to the data limits instead.
        ax.update_datalim([(0, 0)])
        for artist in (*ax.lines, *ax.collections):
            artist.sticky_edges.y.append(0)
    ax.set_xscale(choice("xscale", xscale, XSCALES))
    if yscale is not None:
        ax.set_yscale(choice("yscale", yscale, YSCALES))
    ax.autoscale_view()
    what = metric_label("regret" if table is None else table.columns[2])
    ax.set(xlabel="Round n", ylabel=what, title=title and with_math(title))
    if legend:
        many = len(ax.get_legend_handles_labels()[1]) > LEGEND_INSIDE
        beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if many else {}
        ax.legend(fontsize=7, frameon=False, **beside)
    shown_in_notebooks(ax)
    return ax


def _two_shares(quantiles: Any) -> list[float]:
    shares = [real("a share of quantiles", each, at_least=0, at_most=1) for each in quantiles]
    if len(shares) != 2:
        raise ValueError(f"quantiles must be two shares, got {abbreviate(quantiles)}")
    return shares


def _curve(study: Study, label: str, table: pl.DataFrame | None) -> list[Any]:
    """Return the rounds, the curve and its band: the regret, or the metric of a table."""
    if table is not None:
        return [column.to_numpy() for column in table.filter(policy=label).get_columns()[1:]]
    regret, error = study.regret[label], study.se[label]
    band = np.maximum(regret - 2 * error, 0), regret + 2 * error
    return [thin(each) for each in (study.rounds, regret, *band)]


def lower_bound_of(problem: Mapping[str, Any], name: str) -> tuple[str, float]:
    """Return the name of a lower bound for the legend, and its factor of log n.

    Args:
        problem: The problem in the study's provenance, which must be one fixed instance.
        name: "lai-robbins" or "burnetas-katehakis".
    """
    kind = problem["problem"]
    known = {"lai-robbins": "Lai & Robbins", "burnetas-katehakis": "Burnetas & Katehakis"}
    shown = known[choice("lower_bound", name, known)]
    if kind not in ("GaussianBandit.fixed", "BernoulliBandit.fixed"):
        raise ValueError(
            "a lower bound needs a study of GaussianBandit.fixed or BernoulliBandit.fixed, "
            f"got {kind}"
        )
    mean, sigma = problem["mean"], np.sqrt(problem["variance"])
    if kind == "BernoulliBandit.fixed":  # the mean determines the variance
        return shown, bounds.lai_robbins(mean)
    if name == "lai-robbins":
        return shown, bounds.lai_robbins(mean, sigma)
    return shown, bounds.burnetas_katehakis(mean, sigma)


def regret_by_arms(
    studies: dict[int, Study],
    ax: Axes,
    title: str | None = None,
    bounds: Sequence[float] | None = None,
    highlight: str | None = None,
) -> Axes:
    """Draw regret at the horizon over the number of arms, with bars of two standard errors.

    Args:
        studies: A study per number of arms, all with the same policies.
        ax: The axes to draw on.
        title: The title of the axes.
        bounds: A bound per number of arms, drawn dotted.
        highlight: The label of a policy to draw with a thicker line.
    """
    arms = list(studies)
    for i, label in enumerate(studies[arms[0]].labels):
        means = [studies[K].regret[label][-1] for K in arms]
        errors = [2 * studies[K].se[label][-1] for K in arms]
        ax.errorbar(
            arms,
            means,
            errors,
            label=with_math(label),
            capsize=2,
            marker="o",
            ms=3,
            **line_style(label, i, label == highlight),
        )
    if bounds is not None:
        ax.plot(arms, bounds, color="#D55E00", linestyle=":", label=BOUND_LABEL)
        ax.set_yscale("symlog", linthresh=max(1.0, means[0]))
    ax.set_xscale("log", base=2)
    ax.set(xlabel="Number of arms K", ylabel="Regret", title=title, xticks=arms)
    ax.set_xticklabels([str(K) for K in arms])
    ax.set_ylim(bottom=0)
    return ax
