"""Secondary metrics have the intervals of reports, and these decide the flags of guardrails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varts
from tests.tiers import examples
from varts import ArmStats
from varts.live.report.guardrails import explain, measure

RNG = np.random.default_rng(4)
ARMS = ["a", "b", "c"]
STATS = ArmStats.from_rewards([RNG.exponential(mean, 800) for mean in (1.0, 2.0, 3.0)])


def flags(side, bound, stats=STATS, **options):
    frame = measure(ARMS, {"wait": stats}, {"wait": (side, bound)}, **options)
    return frame["flag"].to_list(), frame["broken_anytime"].to_list()


def test_the_intervals_are_those_of_the_inference_and_of_the_evidence():
    frame = measure(ARMS, {"wait": STATS}, level=0.9, error=0.01)
    low, high = varts.VarTS().inference(STATS).interval(0.9)
    assert frame["low"].to_list() == low.tolist() and frame["high"].to_list() == high.tolist()
    evidence = varts.Evidence(STATS, varts.Tails.of(STATS).kurtosis)
    low, high = evidence.mean_intervals(0.99)
    assert frame["anytime_low"].to_list() == low.tolist()
    assert frame["anytime_high"].to_list() == high.tolist()
    assert frame["n"].to_list() == [800] * 3 and frame["mean"].to_list() == STATS.mean.tolist()
    assert frame["guard"].null_count() == frame["flag"].null_count() == 3


def test_flags():
    assert flags("below", 2.0) == (["kept", "unclear", "broken"], [False, False, True])
    assert flags("above", 2.0) == (["broken", "unclear", "kept"], [True, False, False])
    assert flags("below", 2.0, error=None)[1] == [False] * 3
    near = float(measure(ARMS, {"wait": STATS})["low"][2]) - 1e-6
    assert flags("below", near)[0][2] == "broken" and not flags("below", near)[1][2]


def test_sentences_name_the_arm_that_breaks_a_guardrail_and_whether_that_is_anytime_valid():
    frame = measure(ARMS, {"wait": STATS}, {"wait": ("below", 1.5)})
    value, low, high = (frame[name][2] for name in ("estimate", "low", "high"))
    first, second = explain(frame)
    assert first.startswith(
        ("guardrail broken by b: wait is 1.9", "guardrail broken by b: wait is 2.")
    )
    ends = f"[{low:.3f}, {high:.3f}]"
    rest = f"wait is {value:.3f} {ends}, should be below 1.5 (anytime-valid)"
    assert second == f"guardrail broken by c: {rest}"
    assert explain(frame, paused=["b"]) == (second,)
    many = ArmStats(np.full(9, 400.0), np.arange(9.0), 400.0)
    told = explain(measure(list("abcdefghi"), {"x\n": many}, {"x\n": ("above", 20.0)}))
    assert len(told) == 6
    assert told[-1] == "guardrail broken by 4 more arms: x\\n should be above 20"


def test_what_is_not_known_is_null_and_unclear():
    stats = ArmStats.from_rewards([[], [1.0], [1.0, 2.0, 4.0]])
    frame = measure(ARMS, {"wait": stats}, {"wait": ("below", 100.0)})
    assert frame["low"].is_null().to_list() == [True, True, False]
    assert frame["mean"].to_list() == [None, 1.0, 7 / 3]
    assert frame["flag"].to_list() == ["unclear", "unclear", "kept"]
    equal = measure(
        ["a"], {"refund": ArmStats.from_rewards([[0.0] * 50])}, {"refund": ("below", 1)}
    )
    assert (equal["flag"][0], equal["low"][0], equal["guard"][0]) == ("unclear", None, "below 1")
    assert measure(ARMS, {}).is_empty() and explain(measure(ARMS, {})) == ()


@examples(100)
@given(
    st.lists(st.lists(st.integers(0, 9).map(float), max_size=12), min_size=2, max_size=4),
    st.sampled_from(["below", "above"]),
    st.floats(-1, 10),
)
def test_a_flag_says_what_the_interval_says(rewards, side, bound):
    names = [str(i) for i in range(len(rewards))]
    frame = measure(names, {"x": ArmStats.from_rewards(rewards)}, {"x": (side, bound)})
    sign = 1 if side == "above" else -1
    for row in frame.iter_rows(named=True):
        if row["low"] is None:
            assert row["flag"] == "unclear"
            continue
        assert row["low"] <= row["estimate"] <= row["high"]
        inside = row["low"] <= bound <= row["high"]
        good = sign * (row["estimate"] - bound) > 0
        assert row["flag"] == ("kept" if good else "broken") or inside
        assert not (row["flag"] == "kept" and inside)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (({"x": [1.0]},), "metric 'x' must be an ArmStats, got [1.0]"),
        (({"x": ArmStats.empty(2)},), "metric 'x' must have 3 arms, got 2"),
        (({"x": STATS}, {"y": ("below", 1.0)}), "unknown metric 'y'"),
        (({"x": STATS}, {"x": ("under", 1.0)}), "unknown guard of x 'under'"),
        (({"x": STATS}, {"x": 1.0}), 'guard of x must be like ("below", 0.05), got 1.0'),
        (({"x": STATS}, {"x": ("below", "1")}), "guard of x must be finite, got '1'"),
        (({"x": STATS}, {"x": ("below", float("nan"))}), "guard of x must be"),
        (({"x": STATS}, None, 1.5), "level must be"),
        (({"x": STATS}, None, 0.9, 0.0), "error must be"),
    ],
)
def test_a_wrong_argument_is_one_sentence(given, words):
    with pytest.raises((TypeError, ValueError)) as refusal:
        measure(ARMS, *given)
    assert words in str(refusal.value)
