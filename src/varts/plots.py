"""Study -> figures. A policy keeps its colour and line in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from varts.planning import Plan
    from varts.study import Study

# Okabe & Ito's palette, readable with any colour vision; Thompson samplers are solid, UCBs dashed.
STYLES: dict[str, dict[str, Any]] = {
    "VarTS": {"color": "#D55E00", "linewidth": 2.2, "zorder": 5},
    "UCB1": {"color": "#0072B2", "linestyle": "--"},
    "UCB1-Tuned": {"color": "#56B4E9", "linestyle": "--"},
    "UCB-V": {"color": "#000000", "linestyle": "--"},
    "Bernoulli-TS": {"color": "#009E73"},
    "Gaussian-TS": {"color": "#CC79A7"},
    "TS14": {"color": "#E69F00"},
    "TS20": {"color": "#7F7F7F"},
    "Even-Split": {"color": "#444444", "linestyle": ":"},
}
BOUND = "Theorem 2"
OTHERS = ("#882255", "#44AA99", "#999933", "#332288", "#AA4499", "#117733", "#661100", "#6699CC")


def thinned(curve: Any) -> Any:
    """At most 401 evenly spaced points of a curve, its last among them: more cannot be seen."""
    step = -(-len(curve) // 400)
    return curve[(len(curve) - 1) % step :: step]


def style(label: str, position: int) -> dict[str, Any]:
    """The line of a policy; one we do not know takes a colour by its position."""
    known = STYLES.get(label)
    return {"linewidth": 1.4, **(known or {"color": OTHERS[position % len(OTHERS)]})}


def figure(panels: int = 1, height: float = 3.0, width: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side, made without touching pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * panels + 0.4, height), layout="constrained")
    FigureCanvasAgg(made)
    axes = [made.add_subplot(1, panels, i + 1) for i in range(panels)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#DDDDDD", linewidth=0.6)
    return made, axes


def regret_curves(
    study: Study,
    ax: Axes | None = None,
    title: str | None = None,
    bound: Sequence[float] | None = None,
    legend: bool = True,
) -> Axes:
    """Regret over rounds with bands of two standard errors.

    `bound`, at the rounds of `thinned(study.rounds)`, is drawn dotted; as it is far above the
    curves, the axis then turns logarithmic above the first policy's regret.
    """
    if ax is None:
        ax = figure(height=3.6, width=5.6)[1][0]
    rounds = thinned(study.rounds)
    for i, label in enumerate(study.labels):
        line = style(label, i)
        regret, error = thinned(study.regret[label]), thinned(2 * study.se[label])
        ax.plot(rounds, regret, label=label.replace("$", r"\$"), **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(rounds, regret - error, regret + error, **band)
    if bound is not None:
        ax.plot(rounds, bound, color="#D55E00", linestyle=":", label=BOUND)
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
    """Regret at the horizon over the number of arms, with bars of two standard errors."""
    arms = list(studies)
    for i, label in enumerate(studies[arms[0]].labels):
        means = [studies[K].regret[label][-1] for K in arms]
        errors = [2 * studies[K].se[label][-1] for K in arms]
        ax.errorbar(
            arms, means, errors, label=label, capsize=2, marker="o", ms=3, **style(label, i)
        )
    if bounds is not None:
        ax.plot(arms, bounds, color="#D55E00", linestyle=":", label=BOUND)
        ax.set_yscale("symlog", linthresh=max(1.0, means[0]))
    ax.set_xscale("log", base=2)
    ax.set(xlabel="Number of arms K", ylabel="Regret", title=title, xticks=arms)
    ax.set_xticklabels([str(K) for K in arms])
    ax.set_ylim(bottom=0)
    return ax


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
    """Curves that leave VarTS far below may leave the panel; the legend says where they end."""
    ends = plan.table["regret"]
    for label, end in zip(plan.table["policy"], ends, strict=True):
        curve = plan.curves.filter(policy=label)
        line = style(label, 0)
        ax.plot(curve["round"], curve["regret"], label=f"{label}: {end:,.4g}", **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(curve["round"], curve["low"], curve["high"], **band)
    top = min(1.05 * max(ends), 4 * ends[0]) or 1.0
    ax.set(xlabel="Round n", ylabel="Regret", xlim=(0, plan.horizon), ylim=(0, top))
    ax.set_title(f"What it costs to learn, {plan.K} arms")
    ax.legend(fontsize=7, frameon=False, loc="upper left")


def _plan_found(plan: Plan, ax: Axes) -> None:
    """The recommended arm is the best one (solid), and how sure its P(best) is of that (dots)."""
    for i, label in enumerate(plan.identified["policy"].unique(maintain_order=True)):
        seen = plan.identified.filter(policy=label)[1:]  # not the look before the first round
        line = {**style(label, i), "linestyle": "-"}
        ax.plot(seen["round"], 100 * seen["identified"], label=label, **line)
        band = {"color": line["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(seen["round"], 100 * seen["low"], 100 * seen["high"], **band)
        dots = {"color": line["color"], "linestyle": "", "marker": ".", "markersize": 4}
        ax.plot(seen["round"], 100 * seen["p_best"], label=f"{label}: mean P(best)", **dots)
    ax.set_xscale("log")
    ax.set(xlabel="Round n", ylabel="Experiments in %", ylim=(0, 102))
    ax.set_title("The recommended arm is the best")
    ax.legend(fontsize=7, frameon=False, loc="lower right")


def _plan_wrong(plan: Plan, ax: Axes) -> None:
    wrong = plan.wrong.drop_nulls("extra").reverse()
    places = range(wrong.height)
    half = wrong["high"] - wrong["extra"]
    colour = STYLES["VarTS"]["color"]
    ax.barh(places, wrong["extra"], xerr=half, color=colour, alpha=0.6, ecolor="#333333", capsize=3)
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.set_yticks(places, [text.replace(", ", ",\n") for text in wrong["prior"]], fontsize=8)
    ax.set(xlabel="Extra regret of VarTS")
    ax.set_title("What a wrong prior costs")


def shared_legend(made: Figure, ax: Axes) -> None:
    """One legend for all panels, below them."""
    pairs = zip(*ax.get_legend_handles_labels(), strict=True)
    entries = sorted(pairs, key=lambda pair: pair[1] == BOUND)  # errorbars come after lines
    made.legend(
        *zip(*entries, strict=True),
        loc="outside lower center",
        ncols=len(entries) if len(entries) <= 8 else -(-len(entries) // 2),
        frameon=False,
    )


def save(made: Figure, stem: Any) -> list[Any]:
    """PNG and SVG beside each other; the SVG keeps its text as text and has no date in it."""
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "varts"}):
        made.savefig(paths[0], dpi=160)
        made.savefig(paths[1], metadata={"Date": None})
    return paths
