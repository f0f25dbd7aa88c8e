"""A fitted prior -> a figure: its arms, and how well its shape fits them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from varts.plotting.style import OTHERS, figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varts.fitting.fit import FittedPrior

PRIOR, ARM, ODD = "#D55E00", "#0072B2", "#000000"
GROUPS_DRAWN = 8  # more outlines than this can't be distinguished


def prior_check(fit: FittedPrior, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """A fitted prior and its history in three panels.

    The arms' means and sds over the region where the prior expects 90 % of arms; then the normal
    scores of the means and of the variances, given the prior, against those they should have: on
    the diagonal if the shape fits. Outliers are marked.
    """
    if axes is None:
        axes = figure(3, height=3.4)[1]
    found = fit.diagnostics
    odd = np.array([arm["row"] for arm in found.outliers], dtype=int)
    _arms_and_prior(fit, axes[0], odd)
    panels = (
        ("means", found.mean_pit, found.mean_p),
        ("sds", found.variance_pit, found.variance_p),
    )
    for ax, (what, pit, p) in zip(axes[1:], panels, strict=True):
        _normal_scores(ax, pit, odd)
        verdict = "" if np.isnan(p) else f", p = {p:.2g}"
        ax.set_title(f"Shape of the {what}{verdict}")
    return list(axes)


def _arms_and_prior(fit: FittedPrior, ax: Axes, odd: Any) -> None:
    stats = fit.history.stats
    sd = np.sqrt(stats.variance)
    seen = sd > 0
    size = np.clip(3 * np.log2(stats.n + 1), 3, 40)
    ax.scatter(stats.mean[seen], sd[seen], s=size[seen], color=ARM, alpha=0.45, linewidths=0)
    ax.scatter(stats.mean[odd], sd[odd], s=30, facecolors="none", edgecolors=ODD)
    prior = fit.prior
    rows = [np.ravel(getattr(prior, name))[:GROUPS_DRAWN] for name in prior._fields]
    # 95 % of arms by their sd, and at each sd 95 % of those by their mean: 90 % together.
    levels = np.linspace(0.025, 0.975, 60)
    for i, (mu, kappa, alpha, beta) in enumerate(zip(*rows, strict=True)):
        sigma = np.sqrt(beta / special.gammaincinv(alpha, levels))
        half = special.ndtri(0.975) * sigma / np.sqrt(kappa)
        across = np.concatenate([mu - half, (mu + half)[::-1]])
        colour = OTHERS[i % len(OTHERS)] if fit.groups else PRIOR
        name = plain(fit.groups[i]) if fit.groups else None
        up_and_down = np.concatenate([sigma, sigma[::-1]])
        ax.fill(across, up_and_down, fill=False, edgecolor=colour, label=name)
    if fit.groups:
        ax.legend(fontsize=6, frameon=False)
    ax.set_yscale("log")
    ax.set(xlabel="Mean reward of an arm", ylabel="sd of its rewards")
    ax.set_title("Arms, and 90 % of the prior")


def _normal_scores(ax: Axes, pit: Any, odd: Any) -> None:
    known = np.flatnonzero(~np.isnan(pit))
    order = known[np.argsort(pit[known])]
    expected = special.ndtri((np.arange(order.size) + 0.5) / max(order.size, 1))
    scores = np.clip(special.ndtri(np.clip(pit[order], 1e-300, 1)), -8, 8)
    if order.size:
        ends = expected[[0, -1]]
        ax.plot(ends, ends, color=PRIOR, linewidth=1)
    ax.scatter(expected, scores, s=8, color=ARM, alpha=0.6, linewidths=0)
    marked = np.isin(order, odd)
    ax.scatter(expected[marked], scores[marked], s=30, facecolors="none", edgecolors=ODD)
    ax.set(xlabel="Expected normal score", ylabel="Score of the arm")
