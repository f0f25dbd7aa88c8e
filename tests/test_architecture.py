"""The calls that docs/architecture.md describes pass through the functions that it names."""

import itertools
import re
import sys
import threading
from pathlib import Path

import pytest

import varts
from tests.docs import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SOURCE = Path(varts.__file__).parent
STEP = re.compile(r"^\d+\. \[([\w/]+\.py)\]\(\S+\) `([\w.]+)`:", re.MULTILINE)


def steps_of(name):
    """The module and the function of every step of a walk."""
    found = re.search(rf"^<!-- walk: {name} -->\n((?:\d+\. .+\n)+)", PAGE, re.MULTILINE)
    lines = found[1].splitlines()
    steps = STEP.findall(found[1])
    assert len(steps) == len(lines)
    return steps


def functions_of(call):
    """The functions of varts that a call enters, in order and in all threads."""
    entered = []

    def profile(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE):
            entered.append((path.relative_to(SOURCE).as_posix(), frame.f_code.co_qualname))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


def in_order(steps, entered):
    """Whether all steps were entered, each after the one before it."""
    rest = iter(entered)
    return all(step in rest for step in steps)


def simulate():
    varts.simulate(varts.BernoulliBandit(3), "UCB1", horizon=50, runs=64, seed=1, threads=1)


def calls():
    exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    exp.reward_many([(made.id, float(i)) for i, made in enumerate(exp.decide_many(20))])
    waiting = itertools.cycle(exp.decide_many(2))
    return {
        "decide": exp.decide,
        "reward": lambda: exp.reward(next(waiting).id, 1.0),
        "simulate": simulate,
    }


@pytest.mark.parametrize("name", ["decide", "reward", "simulate"])
def test_a_call_passes_through_the_functions_that_the_page_names(name):
    entered, steps = functions_of(calls()[name]), steps_of(name)
    assert len(steps) > 8
    assert in_order(steps, entered)
    assert not in_order(steps[::-1], entered)
    assert not in_order([*steps, ("stats.py", "gone")], entered)


def test_steps_in_the_wrong_order_are_noticed():
    assert in_order("ac", "abc")
    assert not in_order("ca", "abc")
    assert not in_order("ad", "abc")
