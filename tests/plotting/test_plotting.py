"""Figures: a policy keeps its line, nothing is cut off, files hold what they should."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import image
from matplotlib.colors import to_hex

from varts import Study, plotting
from varts.simulation.results import PolicyResult, RegretCurve

LABELS = tuple(plotting.STYLES)


def study(labels=LABELS, horizon=20, runs=4):
    rounds = np.arange(1, horizon + 1)
    results = {}
    for i, label in enumerate(labels):
        curve = RegretCurve(runs, (i + 1) * np.sqrt(rounds), rounds * 1.0)
        final = np.full(runs, curve.mean[-1])
        results[label] = PolicyResult(final, final, curve)
    return Study(rounds, results, {"runs": runs})


def texts(path):
    return {"".join(x.itertext()).strip() for x in ET.parse(path).iter() if x.tag.endswith("text")}


def test_a_policy_keeps_its_line_wherever_it_stands():
    assert plotting.line_style("TS14", 0) == plotting.line_style("TS14", 5)
    assert len({plotting.line_style(label, 0)["color"] for label in LABELS}) == len(LABELS)
    assert plotting.line_style("mine", 0)["color"] != plotting.line_style("mine", 1)["color"]
    assert not {plotting.line_style("mine", i)["color"] for i in range(8)} & {
        plotting.line_style(label, 0)["color"] for label in LABELS
    }


def test_curves_are_the_means_with_bands_of_two_standard_errors():
    made = study(["VarTS", "UCB1"])
    ax = plotting.regret_curves(made)
    for line, band, label in zip(ax.lines, ax.collections, made.labels, strict=True):
        assert line.get_label() == label
        assert line.get_xydata()[-1] == pytest.approx([made.horizon, made.regret[label][-1]])
        at_end = band.get_paths()[0].vertices
        at_end = at_end[at_end[:, 0] == made.horizon, 1]
        half = 2 * made.se[label][-1]
        assert at_end.max() == pytest.approx(made.regret[label][-1] + half)
        assert at_end.min() == pytest.approx(made.regret[label][-1] - half)


def test_the_bound_is_drawn_when_given():
    made = study(["VarTS"])
    ax = plotting.regret_curves(made, bound=50 * np.sqrt(made.rounds))
    assert ax.lines[-1].get_label() == "Theorem 2"
    assert plotting.regret_curves(made).lines[-1].get_label() == "VarTS"


def test_regret_over_arms_has_a_point_and_a_bar_per_number_of_arms():
    by_arms = {2: study(), 8: study(), 32: study()}
    _, (ax,) = plotting.figure()
    plotting.regret_by_arms(by_arms, ax, bounds=[1, 2, 3])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "8", "32"]
    assert len(ax.containers) == len(LABELS)
    for bars, label in zip(ax.containers, LABELS, strict=True):
        assert list(bars.lines[0].get_ydata()) == [s.regret[label][-1] for s in by_arms.values()]


def test_figures_do_not_touch_pyplots_state():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    plotting.regret_curves(study())
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("bound", [None, 50 * np.sqrt(np.arange(1, 21))])
def test_the_shared_legend_is_within_the_figure(bound):
    made, axes = plotting.figure(3)
    for ax in axes:
        plotting.regret_curves(study(), ax, legend=False, bound=bound)
    plotting.shared_legend(made, axes[-1])
    made.canvas.draw()
    box = made.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= made.bbox.x1
    assert box.y0 >= 0 and box.y1 <= made.bbox.y1
    shown = [text.get_text() for text in made.legends[0].get_texts()]
    assert shown == [*LABELS, *([] if bound is None else ["Theorem 2"])]


def test_saved_files(tmp_path):
    made, (ax,) = plotting.figure()
    plotting.regret_curves(study(), ax, title="A title")
    assert plotting.save(made, tmp_path / "regret") == [
        tmp_path / "regret.png",
        tmp_path / "regret.svg",
    ]
    pixels = image.imread(tmp_path / "regret.png")[..., :3].reshape(-1, 3)
    shown = {to_hex(colour) for colour in np.unique(pixels, axis=0)}
    assert {plotting.line_style(label, 0)["color"].lower() for label in LABELS} <= shown
    assert {*LABELS, "A title", "Regret"} <= texts(tmp_path / "regret.svg")


def test_the_svg_is_the_same_every_time(tmp_path):
    for name in ("first", "second"):
        made, (ax,) = plotting.figure()
        plotting.regret_curves(study(), ax)
        plotting.save(made, tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
