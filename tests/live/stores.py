"""What the tests of stores share: an experiment with rewards, a look at it, a refusal."""

import pytest

import varts
from tests.live.chaos import ARMS
from varts.live import StoreError

shared = pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)


def with_rewards(url, count=5):
    """An experiment with some rewards, and how many."""
    exp = varts.open("carousel", ARMS, store=url, seed=1)
    exp.reward_many([(decision.id, 1.0) for decision in exp.decide_many(count)])
    return exp


def rewards(url):
    """What somebody sees who opens the store anew."""
    with varts.open("carousel", store=url) as exp:
        assert exp.verify(replay=True).ok
        return exp.report().frame["n"].sum()


def refused(action, *words, error=StoreError):
    """It must raise one sentence that has these words."""
    with pytest.raises(error) as caught:
        action()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text
    return caught.value


def sentence(error):
    """The message, if it is one sentence on one line."""
    text = str(error.value)
    assert "\n" not in text and text.strip() == text
    assert not text.endswith(".") or text.endswith("...")
    assert len(text) < 400
    return text


def open_in(store, **options):
    """An experiment in this store."""
    name, arms = options.pop("name", "options"), options.pop("arms", ["a", "b", "c"])
    return varts.open(name, arms, store=store, **options)
