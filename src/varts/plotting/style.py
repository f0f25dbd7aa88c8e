"""How figures look: a policy keeps its colour and line in every one."""

from __future__ import annotations

import re
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

from varts._files import replacing
from varts._text import printable

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, readable with any colour vision; Thompson samplers are solid, UCBs dashed.
STYLES: dict[str, dict[str, Any]] = {
    "VarTS": {"color": "#D55E00"},
    "UCB1": {"color": "#0072B2", "linestyle": "--"},
    "UCB1-Tuned": {"color": "#56B4E9", "linestyle": "--"},
    "UCB-V": {"color": "#000000", "linestyle": "--"},
    "Bernoulli-TS": {"color": "#009E73"},
    "Gaussian-TS": {"color": "#CC79A7"},
    "TS14": {"color": "#E69F00"},
    "TS20": {"color": "#7F7F7F"},
    "Even-Split": {"color": "#444444", "linestyle": ":"},
}
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")  # of the files that a figure can be written to
BOUND_LABEL = "Theorem 2"
OTHERS = ("#882255", "#44AA99", "#999933", "#332288", "#AA4499", "#117733", "#661100", "#6699CC")


DASHES = ("-", "--", "-.")  # of policies that we do not know: neighbours differ in both


def thin(curve: Any) -> Any:
    """Some points of a curve, its first and last among them: more cannot be seen.

    At most 401 that are evenly spaced, and some 300 more at the beginning, which a logarithmic
    axis stretches.
    """
    count = len(curve)
    step = -(-count // 400)
    evenly = np.arange((count - 1) % step, count, step)
    geometric = np.geomspace(1, max(count, 1), 300).round().astype(np.int64) - 1
    return curve[np.union1d(evenly, geometric)] if step > 1 else curve


# A formula as in TeX. "$5 and $10" isn't one, as in Markdown: no space may follow the first $ or
# precede the second, and no digit may follow that.
FORMULA = re.compile(r"(?<!\\)\$(?!\s)[^$]*[^$\s\\]\$(?!\d)")
HIGHLIGHTED = {"linewidth": 2.2, "zorder": 5}


def plain(text: str) -> str:
    r"""Return text from data such that a figure shows it as it is.

    A figure takes $ for the beginning of a formula, and a legend leaves out what begins with _.

    >>> plain("$5"), plain("_low")
    ('\\$5', ' _low')
    """
    return _for_legends(_escaped(text))


def with_math(text: str) -> str:
    r"""Return text such that a figure shows its formulas, and everything else as it is.

    >>> with_math(r"$\gamma = 2$ for $5")
    '$\\gamma = 2$ for \\$5'
    """
    shown, end = "", 0
    for found in FORMULA.finditer(text):
        shown += _escaped(text[end : found.start()])
        shown += found[0] if _is_math(found[0]) else _escaped(found[0])
        end = found.end()
    return _for_legends(shown + _escaped(text[end:]))


def _escaped(text: str) -> str:
    return printable(text).replace("$", r"\$")


def _for_legends(text: str) -> str:
    return f" {text}" if text.startswith("_") else text


def _is_math(text: str) -> bool:
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


def line_style(label: str, position: int, highlighted: bool = False) -> dict[str, Any]:
    """Return the line of a policy.

    One without a line of its own gets color and dashes by its position; those of 24 positions
    differ.

    Args:
        label: The policy's label.
        position: Its position among the policies.
        highlighted: Whether the line is thicker, and in front of the others.
    """
    known = STYLES.get(label)
    own = {"color": OTHERS[position % len(OTHERS)], "linestyle": DASHES[position % len(DASHES)]}
    return {"linewidth": 1.4, **(known or own), **(HIGHLIGHTED if highlighted else {})}


def metric_label(name: str) -> str:
    """Return the label of an axis that shows a metric.

    Args:
        name: The name of the metric.

    >>> metric_label("wrong"), metric_label("mean_variance_regret")
    ('Runs with a wrong arm', 'Mean variance regret')
    """
    known = {
        "best_share": "Rounds on a best arm",
        "wrong": "Runs with a wrong arm",
    }
    return known.get(name) or plain(name.replace("_", " ").strip().capitalize())


def figure(
    panels: int = 1, height: float = 3.0, width: float = 3.4, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side, made without touching pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = panels // rows
    made = Figure(figsize=(width * columns + 0.4, height * rows), layout="constrained")
    FigureCanvasAgg(made)
    axes = [made.add_subplot(rows, columns, i + 1) for i in range(panels)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#DDDDDD", linewidth=0.6)
    return made, axes


def shown_in_notebooks(ax: Axes) -> None:
    """Let a notebook show the figure of axes that are the value of a cell, as they are then."""
    setattr(ax, "_repr_png_", partial(_as_png, ax))  # noqa: B010  matplotlib does not declare it


def _as_png(ax: Axes) -> bytes:
    made, file = ax.get_figure(root=True), BytesIO()
    assert made is not None
    made.savefig(file, format="png", dpi=110)
    return file.getvalue()


def shared_legend(made: Figure, *axes: Axes) -> None:
    """Draw one legend below all panels.

    Args:
        made: The figure.
        *axes: The panels whose lines it names, each name once.
    """
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    # Errorbars come after lines.
    entries = sorted(
        ((handle, label) for label, handle in named.items()),
        key=lambda pair: pair[1] == BOUND_LABEL,
    )
    made.legend(
        *zip(*entries, strict=True),
        loc="outside lower center",
        ncols=len(entries) if len(entries) <= 8 else -(-len(entries) // 2),
        frameon=False,
    )


def save(made: Figure, stem: Any) -> list[Any]:
    """PNG and SVG beside each other."""
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    for path in paths:
        save_figure(made, path)
    return paths


def save_figure(made: Figure, path: Path) -> None:
    """One file, in the format that its name ends in.

    An SVG keeps its text as text and, as a PDF, has no date in it: same figure, same file.
    """
    form = path.suffix[1:].lower()
    undated = {"svg": {"metadata": {"Date": None}}, "pdf": {"metadata": {"CreationDate": None}}}
    options: Any = undated.get(form, {"dpi": 160})
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "varts"}),
        replacing(path) as part,
    ):
        made.savefig(part, format=form, **options)
