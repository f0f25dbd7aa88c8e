"""Charts: they are XML, the places are right, and nothing in them can be taken for markup."""

import math
import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.seeds import fresh
from varts import NormalGamma
from varts.beliefs import Beta, StudentT
from varts.serve.web.charts import (
    Band,
    Course,
    arm_colours,
    density_chart,
    gain_chart,
    p_best_chart,
    prior_chart,
    regret_chart,
    traffic_chart,
)
from varts.serve.web.charts.svg import (
    Scale,
    drawing,
    element,
    escaped,
    number_ticks,
    path,
    span,
    spread_over,
    time_ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>alert(1)</script>\"'&\x1b\u202e"
N = np.array([10.0, 50.0, 100.0, 400.0])
COURSE = Course(N, 1.8e9 + 3600 * np.arange(4.0))
P_BEST = {"a": np.array([np.nan, 0.4, 0.7, 0.9]), "b": np.array([np.nan, 0.6, 0.3, 0.1])}
COLOURS = {"a": "arm-0", "b": "arm-1"}


def parsed(chart):
    """The picture as XML: no script, no style, no handler, and every number a number."""
    root = ElementTree.fromstring(chart.svg)
    for node in root.iter():
        assert node.tag.removeprefix(SVG) in {
            *("svg", "title", "g", "path", "line", "rect", "circle", "text"),
        }
        for name, value in node.attrib.items():
            assert name != "style" and not name.startswith("on")
            assert "nan" not in value and "inf" not in value.split()
    return root


def numbers(d):
    """The points of a path."""
    return [tuple(map(float, point.split())) for point in re.findall(r"[ML]([^MLZ]+)", d)]


# ------------------------------------------------------------------------------ scales


@given(st.floats(-1e70, 1e70), st.floats(1e-12, 1e70).filter(lambda width: width > 0))
def test_ticks_lie_within_their_axis_and_are_told_apart(low, width):
    high = low + width
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return  # too narrow for floats: `span` widens it first
    ticks = number_ticks(low, high)
    slack = 1e-6 * (high - low)
    assert 2 <= len(ticks) <= 11
    assert all(low - slack <= tick.at <= high + slack for tick in ticks)
    assert len({tick.label for tick in ticks}) == len(ticks)


@pytest.mark.parametrize("hours", [0.001, 0.1, 1, 5, 24, 24 * 9, 24 * 100, 24 * 365 * 30])
def test_time_ticks_are_few_and_told_apart(hours):
    start = datetime(2026, 3, 1, 7, 13, tzinfo=UTC).timestamp()
    ticks = time_ticks(start, start + 3600 * hours)
    assert 2 <= len(ticks) <= 9
    assert len({tick.label for tick in ticks}) == len(ticks)
    assert all(start <= tick.at <= start + 3600 * hours for tick in ticks)


@pytest.mark.parametrize(
    "values", [[], [3.0], [0.0, 0.0], [1e70, 1e70], [None, math.nan, math.inf]]
)
def test_a_span_has_a_width(values):
    low, high = span(values)
    assert math.isfinite(low) and low < high


def test_a_scale_is_straight():
    x = Scale(-1e300, 1e300, 0.0, 100.0)
    assert x(0.0) == 50 and x(1e300) == 100 and x(-5e299) == 25


@given(st.integers(1, 500), st.integers(2, 60))
def test_what_is_spread_over_has_both_ends(count, most):
    chosen = spread_over(count, most)
    assert chosen == sorted(set(chosen)) and len(chosen) == min(count, most)
    assert chosen[0] == 0 and chosen[-1] == count - 1


# ------------------------------------------------------------------------------ elements


def test_text_is_escaped_in_elements_and_attributes():
    root = ElementTree.fromstring(element("text", escaped(NASTY), class_=NASTY))
    assert "<script>" in root.text and len(root) == 0
    assert "\x1b" not in root.text and "\u202e" not in root.attrib["class"]


def test_a_path_has_gaps_where_numbers_are_missing():
    made = path([(0, 0), (1, 1), (math.nan, 2), (3, 3)], "line")
    assert made == '<path class="line" d="M0 0L1 1M3 3"/>'
    assert path([(math.nan, 1.0)], "line") == ""


def test_a_drawing_says_its_title_to_screen_readers():
    root = ElementTree.fromstring(drawing("key", NASTY, []))
    title = root.find(f"{SVG}title")
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == title.attrib["id"]


# ------------------------------------------------------------------------------ densities


def test_the_bar_and_the_dot_are_at_the_interval_and_the_middle():
    belief = StudentT([10.0, 12.0], [1.0, 0.5], [20.0, 30.0])
    chart = density_chart(["a", "b"], belief, COLOURS, 0.95)
    root = parsed(chart)
    groups = root.findall(f"{SVG}g")
    assert [group.attrib["class"] for group in groups] == ["arm-0", "arm-1"]
    bars = [group.find(f"{SVG}line") for group in groups]
    dots = [float(group.find(f"{SVG}circle").attrib["cx"]) for group in groups]
    ends = [(float(bar.attrib["x1"]), float(bar.attrib["x2"])) for bar in bars]
    low, high = belief.interval(0.95)
    unit = (ends[1][0] - ends[0][0]) / (low[1] - low[0])  # drawing per reward
    assert unit > 0
    for i in range(2):
        assert ends[i][1] - ends[i][0] == pytest.approx(unit * (high - low)[i], abs=0.3)
        assert dots[i] == pytest.approx(sum(ends[i]) / 2, abs=0.2)  # symmetric
    # The top of a hill is above its dot, and hills are as high as each other.
    tops = []
    for group, dot in zip(groups, dots, strict=True):
        hill = numbers(group.findall(f"{SVG}path")[1].attrib["d"])
        x, y = min(hill, key=lambda point: point[1])
        assert x == pytest.approx(dot, abs=3)
        tops.append(hill[0][1] - y)
    assert tops[0] == pytest.approx(tops[1], abs=0.5)


def test_the_table_has_all_arms_and_the_picture_those_with_a_colour():
    arms = [f"arm {i}" for i in range(100)]
    belief = StudentT(np.arange(100.0), np.ones(100), np.full(100, 9.0))
    colours = arm_colours(arms, list(range(100)))
    chart = density_chart(arms, belief, colours, 0.9, unknown=["new"])
    assert len(parsed(chart).findall(f"{SVG}g")) == 8
    assert len(chart.table.rows) == 100
    assert "Shown: the 8 of 100 arms" in chart.sentence and "new" in chart.sentence


@pytest.mark.parametrize(
    "belief",
    [
        StudentT([0.0, 1e70], [1e69, 1e68], [3.0, 5.0]),
        StudentT([5.0, 5.0], [0.0, 0.0], np.inf),  # certain, and equal
        StudentT([5.0, 6.0], [np.inf, 1.0], [3.0, 3.0]),
        StudentT([1e9, 1e9 + 1e-3], [1e-4, 1e-4], [50.0, 50.0]),
        Beta([1.0, 500.0], [1.0, 3.0]),
    ],
)
def test_odd_beliefs_are_drawn(belief):
    parsed(density_chart(["a", "b"], belief, COLOURS, 0.95))


def test_nothing_known_is_said():
    chart = density_chart([], None, {}, 0.95)
    assert chart.svg == "" and "yet" in chart.sentence


# ------------------------------------------------------------------------------ the course


def test_lines_go_through_their_points():
    chart = p_best_chart(COURSE, P_BEST, COLOURS, enough=0.95)
    lines = [
        numbers(node.attrib["d"])
        for node in parsed(chart).findall(f"{SVG}path")
        if node.attrib["class"].startswith("line")
    ]
    assert [len(line) for line in lines] == [3, 3]  # not where it was not known
    (x0, y0), (x1, y1), (x2, y2) = lines[0]
    assert (x2 - x1) / (x1 - x0) == pytest.approx((400 - 100) / (100 - 50), rel=0.01)
    assert (y0 - y1) / (y1 - y2) == pytest.approx(0.3 / 0.2, rel=0.01)
    assert "90.0 %" in chart.sentence and "95.0 %" in chart.sentence
    assert chart.table.rows[-1] == ["400 rewards", "90.0 %", "10.0 %"]
    assert chart.table.rows[0] == ["10 rewards", "-", "-"]


def test_by_time_the_same_checkpoints_are_evenly_spaced():
    course = Course(COURSE.rewards, COURSE.times, "time")
    chart = p_best_chart(course, P_BEST, COLOURS)
    line = next(n for n in parsed(chart).iter(f"{SVG}path") if n.attrib["class"].startswith("line"))
    (x0, _), (x1, _), (x2, _) = numbers(line.attrib["d"])
    assert x2 - x1 == pytest.approx(x1 - x0, abs=0.2)
    assert chart.table.heads[0] == "At" and chart.table.rows[0][0].startswith("2027-01-15")


def test_layers_fill_the_picture_and_others_are_one():
    share = {f"arm {i}": np.full(4, 0.1) for i in range(10)}
    colours = arm_colours(list(share), [0.1] * 10)
    chart = traffic_chart(COURSE, share, colours)
    layers = [n for n in parsed(chart).iter(f"{SVG}path") if n.attrib["class"].startswith("layer")]
    assert len(layers) == 9 and layers[-1].attrib["class"] == "layer arm-others"
    heights = [np.ptp([y for _, y in numbers(layer.attrib["d"])]) for layer in layers]
    assert heights[-1] == pytest.approx(2 * heights[0], abs=0.3)
    assert [name for _, name in chart.legend][-1] == "2 other arms"


def test_no_decisions_between_two_checkpoints_leave_the_shares_as_they_were():
    share = {"a": np.array([0.5, np.nan, 0.2, 0.2]), "b": np.array([0.5, np.nan, 0.8, np.nan])}
    rows = traffic_chart(COURSE, share, COLOURS).table.rows
    assert [row[1:] for row in rows] == [
        ["50.0 %", "50.0 %"], ["50.0 %", "50.0 %"], ["20.0 %", "80.0 %"], ["20.0 %", "0 %"],
    ]  # fmt: skip


def test_a_gain_has_its_band_and_says_when_it_may_be_nothing():
    gain = Band(np.array([np.nan, 10.0, 20.0, 30.0]), N * 0 - 5, N * 0 + 1234.0)
    chart = gain_chart(COURSE, gain, "max")
    parsed(chart)
    assert chart.sentence == (
        "So far +30 gained; 95 % interval -5 to +1,234. The interval includes 0."
    )
    sure = gain_chart(COURSE, gain._replace(low=N * 0 + 5.0), "min").sentence
    assert "saved" in sure and "includes 0" not in sure
    assert gain_chart(COURSE, None, "max").svg == ""


@pytest.mark.parametrize("rewards", [[], [5.0], [7.0, 7.0]])
def test_one_moment_is_no_line(rewards):
    course = Course(np.array(rewards), np.array(rewards))
    flat = {"a": np.full(len(rewards), 0.5)}
    for chart in (
        p_best_chart(course, flat, COLOURS),
        traffic_chart(course, flat, COLOURS),
        gain_chart(course, Band(*[np.zeros(len(rewards))] * 3), "max"),
    ):
        assert chart.svg == "" and chart.table is None and "two checkpoints" in chart.sentence


def test_names_of_arms_are_harmless_everywhere():
    arms = [NASTY, "b"]
    colours = arm_colours(arms, [1, 1])
    p_best = dict(zip(arms, P_BEST.values(), strict=True))
    for chart in (
        density_chart(arms, StudentT([1.0, 2.0], 1.0, 9.0), colours, 0.95),
        p_best_chart(COURSE, p_best, colours),
        traffic_chart(COURSE, p_best, colours),
    ):
        parsed(chart)
        assert "<script" not in chart.svg and "\x1b" not in chart.svg


# ------------------------------------------------------------------------------ priors and plans


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0.5, 1e3))
def test_any_prior_in_words_has_a_picture_that_says_its_sentence(mean, mean_sd, reward_sd, worth):
    chart = prior_chart(NormalGamma.elicit(mean, mean_sd, reward_sd, worth))
    assert parsed(chart).find(f"{SVG}title").text == chart.sentence


@pytest.mark.statistical
def test_the_sentence_of_a_prior_counts_right():
    """Against draws of arms and rewards from the prior: a normal approximation of 40,000 draws has
    a standard error of 0.002, so that 0.01 is five of them (false alarms: 6e-7)."""
    prior, rng = NormalGamma.elicit(12, 2, 8, 20), np.random.default_rng(fresh(1))
    means, precisions = prior.sample(rng, 40_000)
    rewards = means + rng.standard_normal(40_000) / np.sqrt(precisions)
    low, high = (float(end[0]) for end in prior.belief().interval(0.8))
    least, most = (float(end[0]) for end in prior.predictive().interval(0.9))
    assert abs(np.mean((low < means) & (means < high)) - 0.8) < 0.01
    assert abs(np.mean((least < rewards) & (rewards < most)) - 0.9) < 0.01
    # The negative control: the band of the means does not hold so many rewards.
    assert abs(np.mean((low < rewards) & (rewards < high)) - 0.8) > 0.3


def test_regret_above_the_ceiling_leaves_the_picture():
    rounds = np.array([1.0, 50.0, 100.0])
    bands = {"VarTS": Band(*[rounds] * 3), "slow": Band(*[10 * rounds] * 3)}
    chart = regret_chart(rounds, bands)
    parsed(chart)
    assert "Off the chart at the top: slow" in chart.sentence
    assert chart.table.rows[-1] == ["100", "100", "1,000"]
