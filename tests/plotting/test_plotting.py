"""Figures: a policy keeps its line, nothing is cut off, files hold what they should."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from matplotlib import cbook, image
from matplotlib.colors import to_hex
from scipy import stats

from varts import Study, Sweep, plotting
from varts.simulation.results import PolicyResult, RegretCurve, RunRecord

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


# ---------------------------------------------------------------------------- figures for a paper


def asked(labels=("VarTS", "UCB1", "mine"), horizon=2000, runs=16):
    """A study with curves of sqrt(n) and regrets that spread around them."""
    made = study(labels, horizon, runs)
    checkpoints = np.array([1, 10, 100, horizon])
    results = {}
    for i, (label, result) in enumerate(made.results.items()):
        regret = np.outer(np.linspace(0, 2, runs), (i + 1) * np.sqrt(checkpoints))
        nothing = np.zeros((runs, 4), dtype=np.int64)
        record = RunRecord(np.zeros((runs, 4, 2), np.uint16), nothing, nothing * 0.0, regret)
        results[label] = replace(result, record=record)
    provenance = {**made.provenance, "checkpoints": checkpoints.tolist()}
    return Study(made.rounds, results, provenance)


def test_twelve_policies_have_twelve_lines():
    ax = plotting.regret_curves(study([f"policy {i}" for i in range(12)]))
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 12
    both = plotting.regret_curves(study([*LABELS, "a", "b", "c"]))
    assert len({(line.get_color(), line.get_linestyle()) for line in both.lines}) == 12


@pytest.mark.parametrize("afterwards", [True, False])
def test_logarithmic_axes_show_the_curves(afterwards):
    """Asked for, or set later: no axis begins at 0, and a third of the points is in the first
    two of its four decades."""
    made = study(["VarTS"], horizon=10_000)
    ax = plotting.regret_curves(made, **({} if afterwards else {"xscale": "log", "yscale": "log"}))
    if afterwards:
        assert ax.get_xlim()[0] <= 1 and ax.get_ylim()[0] == 0
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.figure.canvas.draw()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert 0.5 <= left <= 1 and 10_000 <= right < 11_000
    assert 0.05 < bottom < 1 and 150 < top < 300
    x = ax.lines[0].get_xdata()
    assert x[0] == 1 and (x < 100).sum() > 60


def test_policies_labels_and_styles():
    made = asked()
    line = {"color": "#123456", "linestyle": ":"}
    ax = made.plot(policies=["mine", "VarTS"], labels={"mine": "$ours"}, styles={"mine": line})
    assert [each.get_text() for each in ax.get_legend().get_texts()] == [r"\$ours", "VarTS"]
    assert ax.lines[0].get_color() == "#123456" and ax.lines[0].get_linestyle() == ":"
    alone = made.plot(policies=["mine"]).lines[0]
    assert alone.get_color() == made.plot().lines[2].get_color()  # whoever else is drawn
    for wrong in ({"policies": ["his"]}, {"labels": {"his": "x"}}, {"styles": {"his": {}}}):
        with pytest.raises(ValueError, match="unknown policy 'his'"):
            made.plot(**wrong)
    with pytest.raises(ValueError, match="unknown xscale 'logg'; did you mean 'log'"):
        made.plot(xscale="logg")


def test_bands_between_quantiles():
    made = asked()
    band = made.plot(quantiles=(0.25, 0.75)).collections[0].get_paths()[0].vertices
    at_end = band[band[:, 0] == made.horizon, 1]
    assert at_end.min() == pytest.approx(0.5 * np.sqrt(2000))
    assert at_end.max() == pytest.approx(1.5 * np.sqrt(2000))
    with pytest.raises(ValueError, match="quantiles must be two shares, got"):
        made.plot(quantiles=(0.1, 0.5, 0.9))
    with pytest.raises(ValueError, match=r"checkpoints=True"):
        study().plot(quantiles=(0.1, 0.9))


def test_lower_bounds_are_drawn_for_one_instance():
    """Two arms, gap 1, sd 2: Lai & Robbins 2 * 4 / 1, and 1 / (log(1 + 1/4) / 2)."""
    made = study(["VarTS"], horizon=100)
    one = {"problem": "GaussianBandit.fixed", "mean": [1.0, 0.0], "variance": [4.0, 4.0]}
    fixed = Study(made.rounds, made.results, {"problem": one})
    ax = fixed.plot(lower_bound=["lai-robbins", "burnetas-katehakis"])
    ends = [line.get_ydata()[-1] / np.log(100) for line in ax.lines[1:]]
    assert ends == pytest.approx([8.0, 2 / np.log(1.25)])
    many = Study(made.rounds, made.results, {"problem": {"problem": "GaussianBandit", "K": 2}})
    with pytest.raises(ValueError, match=r"a study of GaussianBandit.fixed or .* GaussianBandit$"):
        many.plot(lower_bound="lai-robbins")
    with pytest.raises(ValueError, match="unknown lower_bound 'lai'"):
        fixed.plot(lower_bound="lai")


def test_a_notebook_shows_axes_as_their_figure():
    """IPython asks a value for `_repr_png_`, and gets the axes as they are by then."""
    ax = study().plot()
    before = ax._repr_png_()
    ax.set_xscale("log")
    assert before[:4] == ax._repr_png_()[:4] == b"\x89PNG" and before != ax._repr_png_()


# ------------------------------------------------------------------------------- words in figures


def drawn(label):
    """What a legend shows for the name of a policy, and whether it takes it for mathematics."""
    ax = study(["VarTS"]).plot(labels={"VarTS": label})
    ax.figure.canvas.draw()  # a formula that can't be parsed raises here
    (text,) = (text.get_text() for text in ax.get_legend().get_texts())
    math = cbook.is_math_text(text)
    return text if math else text.replace(r"\$", "$"), math


@pytest.mark.parametrize(
    ("label", "shown", "math"),
    [
        (r"$\gamma = 2$", r"$\gamma = 2$", True),
        (r"UCB-V, $\zeta_1 = 1.2$ and $c$", r"UCB-V, $\zeta_1 = 1.2$ and $c$", True),
        ("costs $5", "costs $5", False),
        ("$5 and $10", "$5 and $10", False),
        ("from $5 to $x$", r"from \$5 to $x$", True),
        (r"broken $\frac{1}$", r"broken $\frac{1}$", False),
        ("a_b_{c", "a_b_{c", False),
        ("_hidden", " _hidden", False),
        ("$$", "$$", False),
    ],
)
def test_formulas_are_drawn_and_other_signs_are_kept(label, shown, math):
    """A legend would leave out a name that begins with _."""
    assert drawn(label) == (shown, math)
    assert plotting.regret_curves(study(["VarTS"]), title=label).get_title().strip()


def test_an_svg_has_the_letter_of_a_formula(tmp_path):
    made, (ax,) = plotting.figure()
    study(["VarTS"]).plot(ax, labels={"VarTS": r"$\gamma$"}, title="$5 a_b")
    plotting.save(made, tmp_path / "math")
    assert {"γ", "$5 a_b"} <= texts(tmp_path / "math.svg")


def test_lines_are_equally_thick_unless_one_is_highlighted():
    made = study()
    assert {line.get_linewidth() for line in made.plot().lines} == {1.4}
    ax = made.plot(highlight=["UCB1", "TS14"])
    thick = {line.get_label() for line in ax.lines if line.get_linewidth() > 2}
    assert thick == {"UCB1", "TS14"}
    assert max(ax.lines, key=lambda line: line.get_zorder()).get_label() in thick
    assert made.plot(highlight="TS20", styles={"TS20": {"linewidth": 1}}).lines[-1]
    with pytest.raises(ValueError, match="unknown policy 'his'"):
        made.plot(highlight="his")


# ----------------------------------------------------------------------------- metrics and sweeps


def test_a_metric_is_drawn_at_the_checkpoints():
    def twice(runs):
        return 2 * runs.regret

    made = asked()
    ax = made.plot(metric=twice)
    table = made.metric(twice)
    for line, band, label in zip(ax.lines, ax.collections, made.labels, strict=True):
        rows = table.filter(policy=label)
        assert line.get_xydata().tolist() == pytest.approx(rows["round", "twice"].to_numpy())
        at_end = band.get_paths()[0].vertices
        at_end = at_end[at_end[:, 0] == made.horizon, 1]
        assert [at_end.min(), at_end.max()] == pytest.approx(list(rows.row(-1)[3:]))
    assert ax.get_ylabel() == "Twice"
    band = made.plot(metric=twice, quantiles=(0, 1)).collections[0].get_paths()[0].vertices
    assert band[band[:, 0] == made.horizon, 1].max() == pytest.approx(4 * np.sqrt(2000))
    with pytest.raises(ValueError, match="leave them out with a metric"):
        made.plot(metric=twice, lower_bound="lai-robbins")


def swept(**axes):
    """A sweep of studies whose regret grows from setting to setting."""
    settings = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    studies = []
    for i, _ in enumerate(settings):
        made = study(["VarTS", "TS14", "mine"], runs=3)
        results = {}
        for j, (label, result) in enumerate(made.results.items()):
            final = 10.0 * i + 3 * j + np.array([1.0, 2.0, 3.0])
            results[label] = replace(result, final=final)
        studies.append(Study(made.rounds, results, made.provenance))
    return Sweep(settings, studies, len(settings))


def test_a_sweep_is_a_line_per_policy_with_bands_over_its_numbers():
    made = swept(K=[2, 4, 8])
    (ax,) = made.plot()
    assert [line.get_label() for line in ax.lines] == ["VarTS", "TS14", "mine"]
    assert ax.lines[0].get_xydata().tolist() == [[2, 2], [4, 12], [8, 22]]
    half = stats.t.ppf(0.975, 2) / np.sqrt(3)
    corners = ax.collections[0].get_paths()[0].vertices
    at_eight = corners[corners[:, 0] == 8, 1]
    assert [at_eight.min(), at_eight.max()] == pytest.approx([22 - half, 22 + half])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("K", "Regret", "linear")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "4", "8"]
    assert swept(K=[2, 4, 20]).plot()[0].get_xscale() == "log"
    assert swept(K=[2, 4, 20]).plot(xscale="linear")[0].get_xscale() == "linear"
    assert ax._repr_png_()[:4] == b"\x89PNG"


def test_other_axes_are_panels():
    made = swept(K=[2, 4], problem=["easy", "hard"], s=[1.0])
    axes = made.plot()
    assert [ax.get_title() for ax in axes] == ["problem = easy", "problem = hard"]
    assert axes[1].lines[0].get_xydata().tolist() == [[2, 12], [4, 32]]
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[0].get_ylim()[0] == 0
    (ax,) = made.plot(where={"problem": "hard"})
    assert ax.lines[0].get_xydata().tolist() == [[2, 12], [4, 32]] and ax.get_title() == ""
    three = swept(K=[2, 4], problem=["easy", "hard"], s=[1.0, 2.0])
    assert [ax.get_title() for ax in three.plot("K")][:2] == [
        "problem = easy, s = 1.0", "problem = easy, s = 2.0",
    ]  # fmt: skip
    assert len(axes[0].figure.legends) == 1


def test_an_axis_of_words_has_points_side_by_side():
    (ax,) = swept(problem=["easy", "hard"]).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["easy", "hard"]
    points = [bars.lines[0].get_xdata() for bars in ax.containers]
    (ax,) = swept(half_life=[None, 50, 500]).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["None", "50", "500"]
    assert swept(half_life=[None, 50], K=[2, 4]).plot(where={"half_life": None})
    assert len({x[0] for x in points}) == 3 and all(abs(x - [0, 1]).max() < 0.3 for x in points)


def test_differences_to_a_policy_and_lines_that_stay():
    made = swept(K=[2, 4])
    (ax,) = made.plot(against="TS14", highlight="mine")
    drawn = {line.get_label(): line for line in ax.lines}
    assert "TS14" not in drawn and drawn["mine"].get_ydata().tolist() == [3, 3]
    assert drawn["mine"].get_linewidth() > drawn["VarTS"].get_linewidth()
    (whole,) = made.plot()
    assert drawn["mine"].get_color() == whole.lines[2].get_color()
    assert ax.get_ylabel() == "Regret minus that of TS14"
    (ax,) = made.plot(policies=["mine"], labels={"mine": r"$\gamma$"}, yscale="log")
    assert [line.get_label() for line in ax.lines] == [r"$\gamma$"] and ax.get_yscale() == "log"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "k"}, "unknown x 'k'; did you mean 'K'?"),
        ({"panels": "t"}, "s has several values and must be x, one of panels, or fixed with where"),
        ({"where": {"K": 3}}, "unknown K 3"),
        ({"where": {"L": 3}}, "unknown axis 'L'"),
        ({"policies": ["his"]}, "unknown policy 'his'"),
        ({"against": "his"}, "unknown policy 'his'"),
        ({"highlight": "his"}, "unknown policy 'his'"),
        ({"metric": "regrets"}, "unknown metric 'regrets'; did you mean 'regret'?"),
    ],
)
def test_wrong_options_of_a_sweeps_figure(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        swept(K=[2, 4], s=[1.0, 2.0]).plot(**options)
    with pytest.raises(ValueError, match="panels must be at most 64, got 65; fix some axes"):
        swept(K=[2, 4], s=list(range(65))).plot("K")
