"""Names, seeds, ids, units and rewards: what is bad gets one sentence, what is good is taken."""

import numpy as np
import pytest

from tests.live.stores import open_in, sentence
from varts import NormalGamma
from varts.live.store.store import Store

REFUSALS = (TypeError, ValueError)

NAMES = [
    ({"arms": "abc"}, "arms must be a list of names, got 'abc'"),
    ({"arms": []}, "arms must be a list of names, got []"),
    ({"arms": 3}, "arms must be a list of names, got 3"),
    ({"arms": {"a"}}, "arms must be a list of names, got {'a'}"),
    ({"arms": ["a", "b", "a"]}, "arms must have different names, got 'a' twice"),
    ({"arms": ["a", 5]}, "arm must be text of 1 to 255 characters, got 5"),
    ({"arms": ["a", ""]}, "arm must be text of 1 to 255 characters, got ''"),
    ({"arms": ["a\x00"]}, "arm must be text of 1 to 255 characters"),
    ({"arms": ["\ud800"]}, "arm must be text that is valid Unicode"),
    ({"name": ""}, "name must be text of 1 to 255 characters, got ''"),
    ({"name": " "}, "name must be text that is not blank, got ' '"),
    ({"name": None}, "name must be text of 1 to 255 characters, got None"),
    ({"name": "a\x00b"}, "name must be text of 1 to 255 characters"),
    ({"name": "x" * 256}, "name must be text of 1 to 255 characters"),
    ({"name": "\ud800"}, "name must be text that is valid Unicode"),
    ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
    ({"seed": 1.5}, "seed must be a whole number >= 0, got 1.5"),
    ({"seed": "7"}, "seed must be a whole number >= 0, got '7'"),
    ({"seed": 2**63}, "seed must be a whole number >= 0 and <= 9223372036854775807"),
]


@pytest.mark.parametrize(("given", "said"), NAMES, ids=[f"{i}" for i in range(len(NAMES))])
def test_names_and_seeds(given, said):
    store = Store("memory://")
    with pytest.raises(REFUSALS) as error:
        open_in(store, **given)
    assert said in sentence(error)
    assert store.names() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: open_in("memory://", name=5),
        lambda: open_in("memory://", arms="abc"),
        lambda: open_in("memory://", arms=3),
        lambda: open_in("memory://", arms=["a", 5]),
        lambda: open_in("memory://", sticky=1),
        lambda: open_in("memory://", clip=5),
        lambda: open_in(5),
        lambda: open_in(None),
        lambda: open_in(b"memory://"),
        lambda: Store(None),
        lambda: open_in("memory://").decide(unit=5),
        lambda: open_in("memory://").decide(id=5),
        lambda: open_in("memory://").decide_many(2, 5),
        lambda: open_in("memory://").decide_many(2, "ab"),
        lambda: open_in("memory://").reward(None, 1.0),
        lambda: open_in("memory://").reward_many(5),
        lambda: open_in("memory://").reward_many([5]),
        lambda: open_in("memory://").add_arm(5),
    ],
)
def test_a_wrong_type_is_a_type_error(call):
    with pytest.raises(TypeError, match=r"^\w+ must be .*, got ") as error:
        call()
    assert sentence(error)


CALLS = {
    "unit must be text": [
        lambda exp: exp.decide(unit=5),
        lambda exp: exp.decide(unit=""),
        lambda exp: exp.decide(unit="x" * 256),
        lambda exp: exp.decide(unit="\ud800"),
        lambda exp: exp.decide_many(["ann", b"bob"]),
    ],
    "id must be text": [
        lambda exp: exp.decide(id=5),
        lambda exp: exp.decide(id=""),
        lambda exp: exp.decide_many(2, ["a", None]),
        lambda exp: exp.reward(None, 1.0),
        lambda exp: exp.reward(5, 1.0),
        lambda exp: exp.reward_many([("", 1.0)]),
    ],
    "units must be a whole number": [
        lambda exp: exp.decide_many("ab"),
        lambda exp: exp.decide_many(-1),
        lambda exp: exp.decide_many(2.5),
        lambda exp: exp.decide_many(None),
    ],
    "ids must be": [
        lambda exp: exp.decide_many(2, ["a"]),
        lambda exp: exp.decide_many(["ann"], ["a", "b"]),
        lambda exp: exp.decide_many(2, 5),
        lambda exp: exp.decide_many(2, "ab"),
    ],
    "rewards must be": [
        lambda exp: exp.reward_many(5),
        lambda exp: exp.reward_many(None),
        lambda exp: exp.reward_many("ab"),
        lambda exp: exp.reward_many([5]),
        lambda exp: exp.reward_many(["ab"]),
        lambda exp: exp.reward_many([("a",)]),
        lambda exp: exp.reward_many([("a", 1.0, 2.0)]),
    ],
    "arm must be text": [
        lambda exp: exp.add_arm(""),
        lambda exp: exp.add_arm(5),
        lambda exp: exp.add_arm(None),
    ],
    "unknown arm": [
        lambda exp: exp.pause_arm(None),
        lambda exp: exp.pause_arm("A"),
        lambda exp: exp.resume_arm(0),
        lambda exp: exp.stop("d"),
        lambda exp: exp.stop(winner=0),
    ],
    "unknown option": [
        lambda exp: exp.configure(seed=5),
        lambda exp: exp.configure(arms=["a"]),
        lambda exp: exp.configure(winner="a"),
    ],
    "prior must be": [
        lambda exp: exp.add_arm("d", prior=5),
        lambda exp: exp.add_arm("d", prior=NormalGamma(0, 1, 2, 1)),
    ],
    "path must end in": [lambda exp: exp.export("log"), lambda exp: exp.export("log.xlsx")],
    "level must be": [lambda exp: exp.report(level=95)],
}


@pytest.mark.parametrize("said", CALLS)
def test_arguments_of_the_verbs(said):
    exp = open_in("memory://")
    for call in CALLS[said]:
        with pytest.raises(REFUSALS) as error:
            call(exp)
        assert sentence(error).startswith(said)
    report = exp.report()
    assert report.version == 1 and report.frame["pending"].sum() == 0


def test_what_is_welcome():
    exp = open_in("memory://", arms=("a", "b"))
    assert len(exp.decide_many(np.int64(3))) == len(exp.decide_many(3.0)) == 3
    made = exp.decide_many(("ann", None), ids=(id for id in ("x", "y")))
    assert exp.reward_many([[made[0].id, 1], (made[1].id, np.float32(2))]) == [True, True]
    assert exp.reward_many(dict.fromkeys(("x",), 1.0)) == [False]
