"""Traffic splits and aggregates through a service, beside an experiment on the same database."""

import asyncio
from datetime import date

import pytest

import varts
from varts.client import NotAllowed, open_async
from varts.live import Experiment, Refused, RewardConflict, UnknownArm

ROWS = [
    ("9", "2025-11-03", 1200, 0.40, 1.5),
    ("12", "2025-11-03", 1100, 0.50, 1.6),
    ("15", "2025-11-03/2025-11-05", 1000, 0.45, 1.4),
]


def test_the_verbs_do_the_same_as_on_a_database(running, price):
    near = Experiment("price", running.store)
    assert price.split() == near.split() == dict.fromkeys(["9", "12", "15"], 1 / 3)
    assert price.reward_aggregates(ROWS) == [True] * 3
    assert near.reward_aggregates(ROWS) == price.reward_aggregates(ROWS) == [False] * 3
    assert price.split() == near.split()
    assert price.report() == near.report()
    assert price.history(points=3) == near.history(points=3)
    assert price.report().aggregated == {"9": 1200, "12": 1100, "15": 1000}
    with pytest.raises(RewardConflict, match="send it as a correction"):
        price.reward_aggregate("9", date(2025, 11, 3), 1, 1.0, 0.0)
    assert price.reward_aggregate("9", date(2025, 11, 3), 1, 1.0, 0, correct=True, why="a slip")
    assert price.void_aggregate("9", "2025-11-03", why="a test") is True
    assert price.void_aggregate("9", date(2025, 11, 3)) is False
    assert price.changes() == near.changes()
    assert [one.why for one in price.changes(after=1)] == ["a slip", "a test"]
    assert near.verify().ok


def test_each_refusal_is_the_error_of_a_database(running, price):
    rows = [
        ROWS[0],
        ("91", "2025-11-03", 5, 1.0, 1.0),
        ("9", "monday", 5, 1.0, 1.0),
        ("9", "2025-11-03", 5, 1.0, 1.0),
        ROWS[1],
    ]
    found = price.reward_aggregates_each(rows)
    near = varts.open("price", ["9", "12", "15"], store="memory://")
    other = near.reward_aggregates_each(rows)
    assert list(map(repr, found)) == list(map(repr, other))
    assert [type(one) for one in found] == [bool, UnknownArm, ValueError, RewardConflict, bool]
    with pytest.raises(UnknownArm):
        price.reward_aggregates(rows[1:2])
    with pytest.raises(ValueError, match=r"^by must be left out"):
        price.reward_aggregates(ROWS, by="eva")
    with pytest.raises(Refused, match="no aggregate"):
        price.void_aggregate("9", "2025-11-09")


def test_a_token_for_rewards_may_not_correct(running, price):
    with running.open("price", token=running.make_token("reward", "read")) as shop:
        assert shop.reward_aggregates(ROWS) == [True] * 3
        with pytest.raises(NotAllowed):
            shop.reward_aggregates(ROWS, correct=True)
        with pytest.raises(NotAllowed):
            shop.void_aggregate("9", "2025-11-03")


def test_an_event_loop_awaits_them(running, price):
    async def run():
        async with await open_async("price", store=running.address, token=running.token) as exp:
            assert await exp.reward_aggregates(ROWS) == [True] * 3
            return await exp.split()

    assert asyncio.run(run()) == price.split()
