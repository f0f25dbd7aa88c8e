"""Differences from a control: Fieller's method, P(better), and where the table is shown."""

import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy import integrate, stats

import varts
from tests.seeds import fresh
from varts.beliefs import StudentT
from varts.cli.experiment_text import show_report
from varts.client.reading import read_report
from varts.live.report.control import Control, difference, lift
from varts.live.report.text import control_cells, control_titles
from varts.serve.web import Actor
from varts.serve.web.experiment import page

ARMS = ["9", "12", "15"]
GAPS = np.random.default_rng(3).normal(size=400)


def played(goal="max", control="9", shift=10.0, n=360, **options):
    exp = varts.open(
        "price", ARMS, store="memory://", seed=1, goal=goal, floor=0.2, control=control, **options
    )
    for i, one in enumerate(exp.decide_many(ids=[f"d{i}" for i in range(n)])):
        exp.reward(one.id, shift + 0.4 * ARMS.index(one.arm) + GAPS[i])
    return exp


# ------------------------------------------------------------------------------ the formulas


def excludes_0(one, other, ratio):
    """Whether the interval of one - ratio * other has no 0, with the ends that belong to it."""
    scaled = sorted([ratio * other[0], ratio * other[2]])
    low, _, high = difference(one, (scaled[0], ratio * other[1], scaled[1]))
    return low > 0 or high < 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((9.0, 12.0, 15.0), (6.0, 8.0, 10.0)),
        ((11.0, 12.0, 19.0), (1.0, 8.0, 30.0)),  # not symmetric; more than twice the estimate
        ((-4.0, 2.0, 5.0), (6.0, 8.0, 10.0)),
        ((-9.0, -2.0, -1.0), (0.5, 8.0, 20.0)),
        ((-1.0, 0.0, 2.0), (3.0, 4.0, 7.0)),
        ((9.0, 12.0, 15.0), (-10.0, -8.0, -6.0)),
        ((-15.0, -12.0, -9.0), (-30.0, -8.0, -0.1)),
    ],
)
def test_the_interval_of_a_lift_has_the_ratios_that_cannot_be_excluded(one, other):
    """By a search over ratios, which knows nothing of the quadratic equation."""
    low, middle, high = lift(one, other)
    sign = math.copysign(1, other[1])
    assert middle == pytest.approx(100 * (one[1] - other[1]) / abs(other[1]))
    ratios = [1 + sign * end / 100 for end in (low, high)]
    wide = abs(ratios[1] - ratios[0])
    for at, outwards in ((min(ratios), -1), (max(ratios), 1)):
        assert excludes_0(one, other, at + outwards * 1e-6 * wide)
        assert not excludes_0(one, other, at - outwards * 1e-6 * wide)
    # Zero percent is excluded exactly if a difference of 0 is.
    d = difference(one, other)
    assert (low > 0 or high < 0) == (d[0] > 0 or d[2] < 0)


def test_symmetric_intervals_give_the_formula_of_fieller():
    a, b, v, w, z = 12.0, 8.0, 2.3, 1.1, 1.96
    g = z * z * w / b**2
    root = z / b * math.sqrt(v - g * v + (a / b) ** 2 * w)
    right = [100 * ((a / b + sign * root) / (1 - g) - 1) for sign in (-1, 1)]
    ends = [(x - z * math.sqrt(s), x, x + z * math.sqrt(s)) for x, s in ((a, v), (b, w))]
    low, _, high = lift(*ends)
    assert [low, high] == pytest.approx(right)
    naive = 100 * z * math.sqrt(v) / b  # the control's mean taken for certain
    assert high - low > 1.1 * 2 * naive


@pytest.mark.statistical
def test_intervals_of_lifts_cover_the_truth():
    """4,000 pairs of small samples: at 95 %, fewer than 93.5 or more than 97.5 % come once in
    20,000 times. The control takes the mean of the control for certain."""
    rng = np.random.default_rng(fresh(4))
    covered, by_hand = 0, 0
    for _ in range(4000):
        x, y = rng.normal(12, 5, 30), rng.normal(10, 6, 40)
        belief = varts.VarTS().inference(varts.ArmStats.from_rewards([x, y]))
        low, high = belief.interval(0.95)
        middle = belief.quantile(0.5)
        ends = [(low[i], middle[i], high[i]) for i in (0, 1)]
        found = lift(*ends)
        covered += found[0] < 20 < found[2]
        narrow = 100 * (low[0] / middle[1] - 1), 100 * (high[0] / middle[1] - 1)
        by_hand += narrow[0] < 20 < narrow[1]
    assert 0.935 < covered / 4000 < 0.975
    assert by_hand / 4000 < 0.9


def test_p_better_than_is_an_integral():
    belief = StudentT([0.3, 0.0, 1.0], [1.0, 0.5, 2.0], [5.0, 8.0, 3.0])
    found = belief.p_better_than(1)
    assert found[1] == 0.5
    one = stats.t(8.0, 0.0, 0.5)
    for arm in (0, 2):
        other = stats.t(belief.df[arm], belief.loc[arm], belief.scale[arm])
        right, _ = integrate.quad(lambda x, o=other: one.pdf(x) * o.sf(x), -30, 30, limit=300)
        assert found[arm] == pytest.approx(right, abs=1e-7)
        assert found[arm] == pytest.approx(belief.p_better(arm, 1), abs=1e-12)
    assert StudentT([0.0], [1.0], [3.0]).p_better_than(0).tolist() == [0.5]
    with pytest.raises(ValueError, match="j must be"):
        belief.p_better_than(3)


# ------------------------------------------------------------------------------ in a report


@pytest.mark.parametrize("goal", ["max", "min"])
def test_differences_are_those_of_the_table(goal):
    found = played(goal, control="12").report()
    rows = {row["arm"]: row for row in found.frame.to_dicts()}
    assert [one.arm for one in found.control.comparisons] == ["9", "15"]
    for one in found.control.comparisons:
        it, own = rows[one.arm], rows["12"]
        assert one.difference == pytest.approx(it["estimate"] - own["estimate"])
        half = math.hypot(it["estimate"] - it["mean_low"], own["mean_high"] - own["estimate"])
        assert one.low == pytest.approx(one.difference - half)
        assert one.lift == pytest.approx(100 * one.difference / own["estimate"])
        better = one.difference > 0 if goal == "max" else one.difference < 0
        assert (one.p_better > 0.5) == better  # the control of the other goal would fail
        assert one.anytime_low < one.low < one.high < one.anytime_high


def test_the_goal_min_is_a_mirror():
    up = played(control="12").report().control
    exp = varts.open("price", ARMS, store="memory://", seed=1, goal="min", floor=0.2, control="12")
    for i, one in enumerate(exp.decide_many(ids=[f"d{i}" for i in range(360)])):
        exp.reward(one.id, -(10.0 + 0.4 * ARMS.index(one.arm) + GAPS[i]))
    down = exp.report().control
    for a, b in zip(up.comparisons, down.comparisons, strict=True):
        assert b.p_better == pytest.approx(a.p_better, abs=1e-9)
        for name in ("", "anytime_", "lift_"):
            high, low = getattr(a, f"{name}high"), getattr(b, f"{name}low")
            assert low == pytest.approx(-high)
        assert (b.difference, b.lift) == pytest.approx((-a.difference, -a.lift))


def test_p_better_is_that_of_the_beliefs_of_the_report():
    exp = played()
    found = exp.report()
    from varts.live.report.estimates import posterior

    _, belief = posterior(found.state)
    draws = belief.sample(np.random.default_rng(1), 200_000)
    for arm, one in zip((1, 2), found.control.comparisons, strict=True):
        assert one.p_better == pytest.approx((draws[:, arm] > draws[:, 0]).mean(), abs=0.006)


def test_no_percentage_of_a_mean_that_may_be_0():
    found = played(shift=-0.4, control="12").report()
    assert found.frame["mean_low"][1] < 0 < found.frame["mean_high"][1]
    assert all(one.lift is None and one.lift_high is None for one in found.control.comparisons)
    assert all(one.difference is not None for one in found.control.comparisons)
    assert found.control.note.startswith("there are no percentages, because the interval of the")
    assert f"note: {found.control.note}" in found.sentences
    assert played(shift=10.0).report().control.note is None
    assert played(shift=-20.0).report().control["15"].lift > 0  # higher, though still negative


def test_a_control_without_rewards_and_one_that_changes():
    exp = varts.open("price", ARMS, store="memory://", seed=1, control="9")
    found = exp.report().control
    assert found.note == "9 has too few rewards to compare other arms with it"
    assert all(number is None for one in found.comparisons for number in one[1:])
    exp = played(control=None)
    assert exp.report().control is None and exp.report().to_dict()["control"] is None
    exp.configure(control="15")
    assert exp.report().control.arm == "15"
    with pytest.raises(ValueError, match="control must be one of the arms"):
        exp.configure(control="18")
    exp.add_arm("18")
    exp.configure(control="18")
    assert exp.report().control.note.startswith("18 has too few rewards")
    exp.configure(control=None)
    assert exp.report().control is None
    assert exp.verify().ok


def test_a_half_life_has_no_anytime_differences():
    found = played(half_life=100.0).report().control
    assert all(one.anytime_low is None and one.low is not None for one in found.comparisons)


def test_thin_arms_are_neither_much_better_nor_much_worse():
    exp = varts.open("price", ["a", "b"], store="memory://", seed=1, floor=0.3, control="a")
    rewards = {"a": [0.0, 1.0] * 200, "b": [9.0, 9.5, 9.2]}
    while any(rewards.values()):
        for one in exp.decide_many(20):
            if rewards[one.arm]:
                exp.reward(one.id, rewards[one.arm].pop())
    found = exp.report()
    assert found.frame["p_best"].max() == 0.9 and found.frame["p_best"].sum() == pytest.approx(1)
    assert found.control["b"].p_better == 0.9
    assert any("no arm can be called the best yet" in note for note in found.notes)
    for i in range(3):
        exp.reward(next(d.id for d in exp.decide_many(40) if d.arm == "b"), 9.0 + 0.1 * i)
    assert exp.report().control["b"].p_better > 0.95  # the control: six rewards will do


def test_it_goes_through_json_and_into_the_table():
    found = played().report()
    body = found.control.to_dict()
    assert Control.from_dict(body) == found.control
    assert found.control.frame.columns == list(found.control.comparisons[0]._fields)
    rows = control_cells(found, ["15", "12", "9"])
    assert [row[0] for row in rows] == ["15", "12"]
    assert all(len(row) == len(control_titles(found)) for row in rows)
    assert rows[0][1].startswith("+") and rows[0][4].endswith(" %")
    assert "compared with 9, the control" in str(found)
    with pytest.raises(KeyError):
        found.control["9"]


# ------------------------------------------------------------------------------ elsewhere


def test_a_client_reads_the_same_report():
    found = played().report()
    body = json.loads(json.dumps(found.to_dict()))
    assert read_report(body, found.state).control == found.control
    assert read_report({**body, "control": None}, found.state).control is None
    del body["control"]  # of an older service
    assert read_report(body, found.state).control is None


def test_the_page_and_the_command_line_show_the_table(capsys):
    viewer = Actor("ann", frozenset({"read"}))
    now = datetime(2026, 11, 18, tzinfo=UTC)
    for exp, there in ((played(), True), (played(control=None), False)):
        found = exp.report()
        text = page(viewer, found, revision=1, now=now)
        assert ("Compared with 9, the control." in text) == there
        assert ("P(better)" in text) == there
        show_report(found, [], 20)
        out = capsys.readouterr().out
        assert ("compared with 9, the control" in out) == there
        if there:
            for percent, shown in ((False, out), (True, text)):
                for row in control_cells(found, ["12", "15"], percent):
                    assert all(cell in shown for cell in row)
    doubtful = played(shift=-0.4, control="12").report()
    assert "There are no percentages, because" in page(viewer, doubtful, revision=1, now=now)
