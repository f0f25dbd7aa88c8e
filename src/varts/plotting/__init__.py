"""Figures of studies, plans, priors and live experiments, made without pyplot's global state.

`style` has the colours, lines and files that all figures share; the other modules have a figure
each.
"""

from varts.plotting.context import context_figure
from varts.plotting.history import history_figure
from varts.plotting.plan import plan_figure
from varts.plotting.prior import prior_check
from varts.plotting.study import regret_by_arms, regret_curves
from varts.plotting.style import (
    FIGURE_SUFFIXES,
    STYLES,
    figure,
    line_style,
    save,
    save_figure,
    shared_legend,
    thin,
)
from varts.plotting.sweep import sweep_figure
from varts.plotting.trace import trace_figure

__all__ = [
    "FIGURE_SUFFIXES",
    "STYLES",
    "context_figure",
    "figure",
    "history_figure",
    "line_style",
    "plan_figure",
    "prior_check",
    "regret_by_arms",
    "regret_curves",
    "save",
    "save_figure",
    "shared_legend",
    "sweep_figure",
    "thin",
    "trace_figure",
]
