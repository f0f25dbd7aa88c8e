"""Local decisions: clients draw arms, and the store records them."""

import pytest

import varts
from tests.live.local_client import LocalClient, statuses

ARMS = ["9", "12", "15"]


def begin(url, name="price", **options):
    return varts.open(name, ARMS, store=url, **options)


def test_what_a_client_draws_counts_like_our_own_decisions(store_url):
    exp = begin(store_url, holdout=0.2)
    client = LocalClient(exp.allocation())
    for _ in range(3):
        client.allocation = exp.allocation()
        drawn = [client.decide(unit=f"user-{i}") for i in range(40)]
        found = exp.record_exposures(drawn, [client.allocation.ticket], "client")
        assert statuses(found) == ["recorded"] * 40
        exp.reward_many([(one["id"], float(one["arm"])) for one in drawn])
    assert exp.report().frame["n"].sum() == 120
    verified = exp.verify(replay=True)
    assert verified.ok and verified.replayed == 120


def test_sending_exposures_again_is_safe(store_url):
    exp = begin(store_url)
    client = LocalClient(exp.allocation())
    drawn = [client.decide() for _ in range(10)]
    given = [client.allocation.ticket], "client"
    assert statuses(exp.record_exposures(drawn[:5], *given)) == ["recorded"] * 5
    assert statuses(exp.record_exposures(drawn, *given)) == ["duplicate"] * 5 + ["recorded"] * 5
    assert exp.report().frame["pending"].sum() == 10


def test_a_sticky_unit_keeps_its_arm(store_url):
    exp = begin(store_url, sticky=True)
    client = LocalClient(exp.allocation())
    first, again = client.decide("anna"), client.decide("anna")
    assert statuses(exp.record_exposures([first, again], [client.allocation.ticket])) == [
        "recorded",
        "recorded",
    ]
    assert first["arm"] == again["arm"] == exp.decide("anna").arm
    assert [exp.decision(one["id"]).reason for one in (first, again)] == ["local", "sticky"]
    assert exp.verify(replay=True).ok


def test_a_client_that_draws_something_else_is_refused(store_url):
    exp = begin(store_url)
    faulty = LocalClient(exp.allocation(), skew=lambda p: [1, 0, 0])
    drawn = [faulty.decide() for _ in range(100)]
    assert set(statuses(exp.record_exposures(drawn, [faulty.allocation.ticket], "faulty"))) == {
        "unlikely"
    }
    assert exp.report().frame["pending"].sum() == 0
    honest = LocalClient(exp.allocation())
    drawn = [honest.decide() for _ in range(100)]
    assert set(statuses(exp.record_exposures(drawn, [honest.allocation.ticket], "honest"))) == {
        "recorded"
    }


@pytest.mark.parametrize(
    "options", [{"features": {"visits": "number"}}, {"hash_units": True, "holdout": 0.1}]
)
def test_some_experiments_have_no_allocation(options):
    with pytest.raises(varts.live.NotLocal, match="ask the decisions endpoint"):
        begin("memory://", **options).allocation()
