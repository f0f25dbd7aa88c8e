"""What `to_dict` gives, `from_dict` reads back: through JSON, and equal."""

import dataclasses
import json
import math
import typing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import varts
from tests.live.contexts import FEATURES, visit
from varts._decoding import NotSent, decode, decode_frame
from varts.checks import Checks, Finding
from varts.context import ContextReport
from varts.evaluation import Evaluation
from varts.evaluation.result import ArmMean, Estimate
from varts.live import Decision, Gain, History, Report
from varts.live.core.state import Config
from varts.live.report.control import Comparison, Control
from varts.serve.responses import encode_json

ARMS = ["9", "12", "15"]


def again(value):
    """A result after a journey through the JSON of a service, and that of the command line."""
    body = value.to_dict()
    sent = json.loads(encode_json(body))
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent
    return type(value).from_dict(sent)


def experiment(rewards, **options):
    exp = varts.open("price", ARMS, store="memory://", seed=7, **options)
    for i, made in enumerate(exp.decide_many([f"unit {i}" for i in range(rewards)])):
        more = dict.fromkeys(exp.options.metrics, i % 3)
        exp.reward(made.id, float(made.arm) + (7 * i % 5) / 3, **more)
    return exp


WAYS = {
    "plain": {},
    "everything": {
        "metrics": ["refund"],
        "guards": {"refund": ("below", 0.5)},
        "holdout": 0.4,
        "control": "9",
        "stop_p_best": 0.9,
        "clip": (0.0, 14.0),
        "owner": "anna",
    },
    "a window": {"window": "24h", "missing": 0.0},
    "a half-life": {"half_life": 50},
    "min": {"goal": "min", "holdout": 0.5, "prior": varts.NormalGamma(10, 1, 2, 10)},
    "sticky": {"sticky": True, "hash_units": True, "block": None},
}


@pytest.mark.parametrize("rewards", [0, 7, 150])
@pytest.mark.parametrize("way", WAYS)
def test_results_of_experiments(way, rewards):
    exp = experiment(rewards, **WAYS[way])
    found = [exp.report(), exp.report(0.5), exp.check(), exp.history(3)]
    if rewards > 50 and way != "a window":
        found += [exp.evaluate(varts.always("12")), exp.evaluate(varts.EvenSplit(), level=0.8)]
    for one in found:
        other = again(one)
        assert other == one and str(other) == str(one) and again(other) == other
        if isinstance(one, (Report, History)):
            assert other.frame.equals(one.frame) and other.frame.schema == one.frame.schema
            assert other.state.config == one.state.config
            for use in (other.state.statistics, lambda it=other: it.state.counted):
                with pytest.raises(NotImplementedError, match="doesn't send the sums"):
                    use()
        if isinstance(one, Report) and one.metrics is not None:
            assert other.metrics.schema == one.metrics.schema


@pytest.mark.parametrize("rewards", [3, 40, 150])
def test_results_with_features(rewards):
    exp = varts.open("mug", ARMS, store="memory://", features=FEATURES, metrics=["refund"], seed=3)
    visit(exp, rewards)
    found = exp.report()
    other = again(found)
    assert other == found and str(other) == str(found)
    if found.context is not None:
        for name in ("frame", "segments", "coefficients"):
            one, two = getattr(found.context, name), getattr(other.context, name)
            assert one.equals(two) and one.schema == two.schema
        context = again(found.context)
        assert context == found.context and str(context) == str(found.context)
        assert (
            context.rule_loss == found.context.rule_loss and context.enough == found.context.enough
        )


def test_a_stopped_experiment():
    exp = experiment(30)
    exp.pause_arm("9")
    exp.stop("12")
    found = exp.report()
    assert again(found) == found and again(found).winner == "12"


def test_results_that_differ_are_not_equal():
    exp = experiment(60, holdout=0.4)
    report, history = exp.report(), exp.history(2)
    exp.reward(exp.decide().id, 5.0)
    assert exp.report() != report and exp.history(2) != history
    assert report != report.to_dict() and history != 7
    assert exp.report(0.9) != exp.report()


# ------------------------------------------------------------------------------ any values

NUMBERS = st.floats(allow_infinity=False)
WORDS = st.text(max_size=10)
ESTIMATES = st.builds(Estimate, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
KNOWN = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def values(kind):
    """A strategy for values of a flat type, by its annotations."""
    fields = typing.get_type_hints(kind)
    names = getattr(kind, "_fields", None) or [one.name for one in dataclasses.fields(kind)]
    finite = {float: st.floats(allow_nan=False, allow_infinity=False), float | None: KNOWN}
    drawn = {one: finite.get(fields[one], st.from_type(fields[one])) for one in names}
    return st.builds(kind, **drawn)


GAINS = values(Gain).map(lambda one: dataclasses.replace(one, goal="max", estimate=None))
FINDINGS = st.builds(Finding, WORDS, st.sampled_from(["ok", "note", "warning"]), KNOWN, WORDS)
EVALUATIONS = st.builds(
    Evaluation,
    name=WORDS,
    headline=st.just("adaptive"),
    estimates=st.dictionaries(WORDS, ESTIMATES).flatmap(
        lambda some: ESTIMATES.map(lambda one: {**some, "adaptive": one})
    ),
    difference=ESTIMATES,
    arms=st.lists(
        st.builds(ArmMean, WORDS, st.integers(), KNOWN, st.none() | ESTIMATES), max_size=3
    ).map(tuple),
    left_out=st.dictionaries(WORDS, st.integers()),
    notes=st.lists(WORDS, max_size=2).map(tuple),
    **dict.fromkeys(("target", "against"), WORDS),
    **dict.fromkeys(
        ("level", "worth", "largest_weight", "largest_share", "mean_weight", "mean_weight_se"),
        NUMBERS,
    ),
    smallest_probability=NUMBERS,
    used=st.integers(),
    rows=st.integers(),
)


@given(
    st.one_of(
        st.builds(Checks, WORDS, st.lists(FINDINGS, max_size=3).map(tuple)),
        st.builds(
            Control, WORDS, st.just(0.95), st.just(0.05), st.lists(values(Comparison)).map(tuple)
        ),
        GAINS,
        EVALUATIONS,
    )
)
def test_any_values(value):
    assert again(value) == value


def test_nan_is_null_and_equal_to_itself():
    estimate = Estimate(1.0, math.nan, math.nan, math.nan)
    one, other = (
        Evaluation(
            "log", "12", "logged", 0.95, "adaptive", {"adaptive": estimate}, estimate, (), 1.0, 1.0,
            1.0, 1.0, float("nan"), 0.5, 1, 1, {}, (),
        )
        for _ in range(2)
    )  # fmt: skip
    assert one == other and one.to_dict()["difference"]["se"] is None
    assert dataclasses.replace(one, used=2) != other


# ------------------------------------------------------------------------------ wrong values


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (int, True, "value must be an integer, got True"),
        (float, "1", "value must be a number, got '1'"),
        (float | None, [], "value must be a number"),
        (bool, 1, "value must be true or false, got 1"),
        (str, None, "value must be text, got None"),
        (int | str, None, "value must not be null|value must be text"),
        (tuple[str, float], ["a"], "value must have 2 entries, got 1"),
        (list[str], "ab", "value must be a list, got 'ab'"),
        (dict[str, int], {"a": "b"}, "value must be an integer"),
        (dict[str, int], {1: 2}, "value must be text, got 1"),
        (datetime, "yesterday", "Invalid isoformat string"),
        (Decision, {"id": "d"}, "value must have 'arm', got"),
        (Decision, 7, "value must be an object, got 7"),
        (Config, {"arms": "abc", "options": {}, "initial": 1}, "arms must be a list"),
    ],
)
def test_what_is_of_another_type_is_refused(kind, value, said):
    with pytest.raises(ValueError, match=said):
        decode(kind, value)


def test_types_are_decoded():
    assert decode(tuple[tuple[str, float], ...], [["a", 1]]) == (("a", 1.0),)
    assert decode(frozenset[int], [1, 2, 2]) == {1, 2}
    assert math.isnan(decode(float, None)) and decode(float | None, None) is None
    assert decode(datetime, "2026-11-18T00:00:00Z") == datetime(2026, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize("rows", [7, [7], [{"a": 1}, {"b": 1}], [{"a": "x"}], [{"a": 10**400}]])
def test_what_is_no_table_is_refused(rows):
    with pytest.raises(ValueError, match="rows"):
        decode_frame(rows, {})


@pytest.mark.parametrize(
    "wrong",
    [{"paused": [3]}, {"winner": 3}, {"winner": -1}, {"arms": []}, {"options": {"floor": "x"}}],
)
def test_a_state_that_contradicts_itself_is_refused(wrong):
    body = experiment(0).report().to_dict()["state"]
    with pytest.raises((ValueError, KeyError)):
        type(experiment(0).state).from_dict({**body, "config": {**body["config"], **wrong}})


def test_what_was_not_sent_says_so():
    gone = NotSent("it was not sent")
    for use in (lambda: gone.mean, lambda: len(gone), lambda: [*gone], lambda: dict(gone)):
        with pytest.raises(NotImplementedError, match="it was not sent"):
            use()


def test_every_result_that_a_service_sends_can_be_read():
    for kind in (Report, History, Checks, Evaluation, ContextReport, Gain, Control):
        assert callable(kind.to_dict) and callable(kind.from_dict)
