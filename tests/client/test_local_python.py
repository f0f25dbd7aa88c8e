"""The client for Python in one file, against a service that behaves as each test asks for."""

import ast
import asyncio
import doctest
import importlib.util
import itertools
import json
import math
import os
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from scipy import stats

import varts
from tests.client.hostile import BROKEN, HANGING, Hostile, fixed
from tests.client.local_service import ARMS, PROBABILITIES, LocalService, allocation
from tests.serve.processes import ROOT, wait_until
from varts.live import Experiment

FILE = ROOT / "clients" / "python" / "varts_client.py"
VECTORS = json.loads((ROOT / "tests" / "client" / "local_vectors.json").read_text())
FALSE_ALARM = 1e-6  # of every statistical test here; the seeds are fixed

spec = importlib.util.spec_from_file_location("varts_client", FILE)
client = importlib.util.module_from_spec(spec)
sys.modules["varts_client"] = client
spec.loader.exec_module(client)
LocalExperiment, VartsError = client.LocalExperiment, client.VartsError


@pytest.fixture
def service():
    with LocalService() as made:
        yield made


@pytest.fixture
def later(monkeypatch):
    """A function that lets time pass for the client."""
    passed = [0.0]
    monkeypatch.setattr(client, "monotonic", lambda: time.monotonic() + passed[0])

    def wait(seconds):
        passed[0] += seconds

    return wait


def opened(service, **more):
    """A local experiment, which is quick to send and has a fallback."""
    given = {"fallback": "9", "flush_every": 0.02, "wait": 10, **more}
    return LocalExperiment("price", service.address, **given)


def offline(**fields):
    """An experiment that draws from an allocation, and sends nothing."""
    exp = LocalExperiment("price", "http://127.0.0.1:1", wait=0)
    exp._close(0)
    made = client._Allocation(allocation(**fields))
    made.until = math.inf
    exp._allocation = made
    exp._random = random.Random(20261119).random
    return exp


# ------------------------------------------------------------------------------ drawing


def test_numbers_are_those_of_all_clients():
    for one in VECTORS["number"]:
        given = one["key"], one["purpose"], one["text"], one["index"]
        assert client._number(*given) == one["number"]


def test_the_holdout_is_that_of_all_clients():
    members = 0
    for one in VECTORS["holdout"]:
        made = client._Allocation(allocation(key=one["key"], holdout=one["holdout"]))
        is_member = made.shares(one["text"], None) is made.even
        assert is_member == one["member"]
        members += is_member
    assert 0 < members < len(VECTORS["holdout"])


def test_sticky_units_get_the_arms_of_all_clients():
    names = ("arms", "probabilities", "active", "holdout", "winner", "key")
    for one in VECTORS["sticky"]:
        if not one["unit"]:
            continue  # no unit has this name; the rule is the same for it
        exp = offline(**{name: one[name] for name in names}, sticky=True)
        made = exp.decide(one["unit"])
        assert (made.arm, made.probability) == (one["chosen"], one["probability"])


def test_contexts_have_the_cells_of_all_clients():
    cells = VECTORS["cells"]
    count = math.prod(map(len, cells["values"]))
    arms = [f"arm {at}" for at in range(count)]
    rows = [[float(at == row) for at in range(count)] for row in range(count)]
    given = {"features": cells["features"], "values": cells["values"], "probabilities": rows}
    exp = offline(arms=arms, probabilities=None, cells=given, context=cells["features"])
    for one in cells["rows"]:
        assert exp.decide(context=one["context"]).arm == f"arm {one['row']}"
    assert exp.decide().arm == exp.decide(context={}).arm


def p_value(arms, expected):
    """Of Pearson's test: do these arms have these probabilities?"""
    counts = Counter(arms)
    assert set(counts) <= {arm for arm, p in expected.items() if p > 0}
    seen = [(counts[arm], p * len(arms)) for arm, p in expected.items() if p > 0]
    return stats.chisquare(*zip(*seen, strict=True)).pvalue


TEN = {
    "arms": list("abcdefghij"),
    "probabilities": [0.3, 0.0, 0.2, 0.1, 0.05, 0.05, 0.1, 0.1, 0.1, 0],
}
DRAWS = {
    "plain": ({}, False),
    "ten arms": (TEN, False),
    "units": ({"holdout": 0.2}, True),
    "ids": ({"holdout": 0.2}, False),
    "sticky": ({"sticky": True}, True),
    "sticky with a holdout": ({"sticky": True, "holdout": 0.2, **TEN}, True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_arms_have_their_probabilities(name):
    """The false-alarm rate of each is 1e-6; a shift of 2 % between two arms is found."""
    fields, has_units = DRAWS[name]
    exp = offline(**fields)
    names, holdout = fields.get("arms", ARMS), fields.get("holdout", 0)
    made = [exp.decide(f"u{at}" if has_units else None) for at in range(40_000)]
    shares = fields.get("probabilities", PROBABILITIES)
    expected = {
        arm: (1 - holdout) * p + holdout / len(names) for arm, p in zip(names, shares, strict=True)
    }
    assert p_value([one.arm for one in made], expected) > FALSE_ALARM
    assert {one.probability for one in made} <= {*shares, 1 / len(names)}
    *_, last, first = sorted(expected, key=expected.get)
    shifted = {**expected, first: expected[first] + 0.02, last: expected[last] - 0.02}
    assert p_value([one.arm for one in made], shifted) < FALSE_ALARM


def test_a_client_that_draws_wrongly_is_found(monkeypatch):
    """The control of the test above: one edge is off by 2 %."""
    exp = offline()
    exp._allocation.edges[0] += 0.02
    arms = [exp.decide().arm for _ in range(40_000)]
    assert p_value(arms, dict(zip(ARMS, PROBABILITIES, strict=True))) < FALSE_ALARM


def test_cells_have_their_probabilities():
    cells = {
        "features": ["country"],
        "values": [["NL", "other"]],
        "probabilities": [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]],
    }
    exp = offline(cells=cells, probabilities=None, context=["country"])
    for country, row in (("NL", 0), ("BE", 1), (None, 1)):
        arms = [exp.decide(context={"country": country}).arm for _ in range(20_000)]
        own, other = (
            dict(zip(ARMS, cells["probabilities"][at], strict=True)) for at in (row, 1 - row)
        )
        assert p_value(arms, own) > FALSE_ALARM > p_value(arms, other)


def test_rounding_leaves_no_room_for_an_arm_that_is_out():
    exp = offline(arms=TEN["arms"], probabilities=[0.1] * 9 + [0.1])
    exp._random = lambda: math.nextafter(1.0, 0.0)
    assert exp.decide().arm == "j"
    exp = offline(**TEN)
    exp._random = lambda: math.nextafter(1.0, 0.0)
    assert exp.decide().arm == "i"
    exp._random = lambda: 0.3
    assert exp.decide().arm == "c"  # "b" has no probability


def test_a_unit_moves_only_to_arms_that_gained():
    before = offline(sticky=True, probabilities=[0.2, 0.4, 0.4])
    after = offline(sticky=True, probabilities=[0.5, 0.25, 0.25])
    moves = Counter()
    for at in range(4000):
        old, new = (exp.decide(f"u{at}").arm for exp in (before, after))
        if old != new:
            moves[new] += 1
    assert set(moves) == {"9"}
    # 30 % gain it, give or take 5 standard errors: a false alarm in 1.7 million.
    assert abs(moves["9"] / 4000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)


def test_the_winner_gets_everybody():
    exp = offline(winner="12", probabilities=[0.0, 1.0, 0.0], holdout=0.5, sticky=True)
    assert {exp.decide(f"u{at}")[1:] for at in range(50)} == {("12", 1.0, 1, "winner")}
    assert exp.decide().arm == "12"


# ------------------------------------------------------------------------------ sending


def test_decisions_and_rewards_reach_the_service(service):
    service.change(812, context=["country"])
    seen = []
    with opened(service, on_recorded=seen.extend) as exp:
        one = exp.decide("ann", {"country": "NL"}, "visit")
        made = [one, *(exp.decide() for _ in range(50))]
        exp.reward("visit", 11.7, {"cost": 2, "margin": None}, "order")
        for other in made[1:]:
            exp.reward(other.id, 1)
        assert exp.flush()
        assert exp.stats()[:5] == (0, 51, 51, 0, {}) and exp.stats().version == 812
    for each in made:
        kept = service.recorded[each.id]
        assert (kept["arm"], kept["version"]) == (each.arm, 812)
        assert each.probability == dict(zip(ARMS, PROBABILITIES, strict=True))[each.arm]
    kept = service.recorded["visit"]
    assert (kept["unit"], kept["context"]) == ("ann", {"country": "NL"})
    given = {"value": 11.7, "metrics": {"cost": 2.0, "margin": None}, "key": "order"}
    assert service.rewards["visit", "order"] == {"id": "visit", **given}
    assert seen == made and service.connections == 1
    assert len({each.id for each in made}) == 51 and min(len(each.id) for each in made[1:]) > 16


def test_batches_have_up_to_1000_items(service):
    with opened(service) as exp:
        for _ in range(2500):
            exp.reward(exp.decide().id, 1.0)
    sent = Counter()
    for path, count in service.batches:
        sent[path] += count
    assert sent == {"exposures": 2500, "rewards": 2500}
    assert len(service.rewards) == 2500 and exp.stats().refused == {}


def test_a_full_batch_is_sent_at_once(service):
    with opened(service, flush_every=3600) as exp:
        wait_until(lambda: exp._send_at > time.monotonic() + 100)
        for _ in range(999):
            exp.decide()
        assert not service.batches
        exp.decide()
        exp.decide()
        wait_until(lambda: len(service.recorded) >= 1000)


def test_long_items_are_sent_in_smaller_batches(service):
    """The service accepts a megabyte, tickets included."""
    service.change(context=["page"], ticket="t" * 300_000)
    with opened(service, flush_every=3600) as exp:
        for _ in range(1500):
            exp.decide(context={"page": "é" * 200})
        service.change(2, context=["page"], ticket="T" * 300_000)
        exp._refresh_at = 0
        exp._wake.set()
        wait_until(lambda: exp.stats().version == 2)
        for _ in range(300):
            exp.decide(context={"page": "é" * 200})
    assert len(service.recorded) == 1800


def test_one_item_that_spoils_a_request_does_not_take_the_others_along(service, caplog):
    service.poison = {"bad", "worse"}
    with opened(service, flush_every=0.3) as exp:
        for at in range(40):
            exp.decide(id={7: "bad", 23: "worse"}.get(at, f"d{at}"))
            exp.reward(f"d{at}" if at != 7 else "bad", 1.0)
    assert len(service.recorded) == 38 and len(service.rewards) == 38
    assert exp.stats().refused == {"invalid": 2, "unknown": 1}
    assert exp.stats().dropped == 1 and "one of them is poison" in caplog.text


def test_the_age_is_that_of_the_last_try(service, later):
    with opened(service) as exp:
        service.mode = "down"
        exp.decide(id="old")
        wait_until(lambda: exp._is_paused)
        later(100)
        exp.decide(id="new")
        service.mode = "up"
        assert exp.flush()
    assert 100 <= service.recorded["old"]["age"] < 130
    assert 0 <= service.recorded["new"]["age"] < 30


# ------------------------------------------------------------------------------ without the service


def test_a_service_that_is_down_at_the_start(service, caplog):
    service.mode = "down"
    with opened(service, wait=0.05) as exp:
        made = exp.decide("ann", {"country": "NL"})
        assert made[1:] == ("9", 1.0, 0, "fallback")
        exp.reward(made.id, 3.0)
        assert exp.stats().version is None and exp.stats().age is None
        service.mode = "up"
        assert exp.ready()
        assert exp.decide(id="next").reason == "local"
        assert exp.flush()
        assert exp.stats()[:5] == (0, 2, 1, 0, {})
    assert service.fallbacks == {made.id: {"id": made.id, "arm": "9", "unit": "ann"}}
    assert service.rewards[made.id, None]["value"] == 3.0
    assert caplog.text.count("can't fetch the allocation: the service didn't answer") == 1


def test_without_a_fallback_it_is_an_error(service, later):
    service.mode = "down"
    with pytest.raises(VartsError, match=r"hasn't arrived yet.*give the arm `fallback`") as caught:
        opened(service, wait=0.05, fallback=None)
    assert (caught.value.kind, caught.value.status) == ("lost", 0) and caught.value.is_unavailable
    exp = opened(service, wait=0, fallback=None)
    with pytest.raises(VartsError, match="hasn't arrived yet"):
        exp.decide()
    service.mode = "up"
    assert exp.ready() and exp.decide().reason == "local"
    service.mode = "down"
    later(3601)
    with pytest.raises(VartsError, match="is too old"):
        exp.decide()
    exp.close(0)


def test_decisions_go_on_while_the_service_is_away(service, caplog):
    with opened(service) as exp:
        service.mode = "down"
        made = [exp.decide() for _ in range(3000)]
        for one in made:
            exp.reward(one.id, 1.0)
        wait_until(lambda: exp._is_paused)
        assert not exp.flush(0.2) and exp.stats().waiting == 6000
        assert {one.reason for one in made} == {"local"}
        service.mode = "up"
        assert exp.flush()
        assert exp.stats()[:5] == (0, 3000, 3000, 0, {})
    assert service.recorded.keys() == {one.id for one in made} == {id for id, _ in service.rewards}
    assert caplog.text.count("decisions and rewards wait") == 1


def test_lost_responses_count_once(service):
    with opened(service) as exp:
        service.mode = "lost"
        made = [exp.decide() for _ in range(1500)]
        for one in made:
            exp.reward(one.id, 2.0)
        wait_until(lambda: service.batches.count(("exposures", 1000)) >= 2)
        service.mode = "up"
        assert exp.flush()
        assert exp.stats()[:5] == (0, 1500, 1500, 0, {})
    assert len(service.recorded) == len(service.rewards) == 1500
    assert all(service.recorded[one.id]["arm"] == one.arm for one in made)


def test_a_busy_service_gets_the_pause_that_it_needs(service):
    """It goes on to answer requests for allocations, which must not end the pause."""
    service.modes["exposures"] = 503
    service.change(refresh=0.05)
    with opened(service) as exp:
        exp.decide(id="one")
        wait_until(lambda: service.not_modified >= 30)
        assert 0 < service.refused["exposures"] <= 10
        service.modes.clear()
        assert exp.flush()
    assert list(service.recorded) == ["one"]


@pytest.mark.parametrize("status", [401, 404, 429, 500, 502, 503, 504])
def test_refusals_that_may_pass_keep_everything(service, status):
    with opened(service) as exp:
        service.modes = dict.fromkeys(("exposures", "rewards"), status)
        service.kinds[404] = ""  # of another server on the way
        made = exp.decide()
        exp.reward(made.id, 1.0)
        wait_until(lambda: exp._is_paused)
        service.modes = {}
    assert exp.stats()[:5] == (0, 1, 1, 0, {}) and made.id in service.recorded


@pytest.mark.parametrize(("status", "kind"), [(409, "stopped"), (403, "forbidden")])
def test_a_refusal_of_the_whole_request_drops_it(service, status, kind):
    service.kinds[status] = kind
    with opened(service) as exp:
        service.modes = {"exposures": status}
        exp.reward(exp.decide().id, 1.0)
        exp.decide()
        assert exp.flush()
        assert exp.stats()[:5] == (0, 0, 0, 1, {kind: 2})
        service.modes = {"rewards": status}  # of a token that may only decide
        exp.reward(exp.decide().id, 1.0)
        assert exp.flush()
        assert exp.stats()[:5] == (0, 1, 0, 1, {kind: 3})


def test_whatever_happens_everything_counts_once(service, monkeypatch):
    """Threads decide and reward while the service fails in all ways, at random."""
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.02)
    service.change(refresh=0.05, sticky=True, holdout=0.2)
    garbage = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    modes = ["up", "down", "lost", 500, 503, garbage, b"", b"HTTP/1.1 200 OK\r\n\r\n{"]
    over = threading.Event()
    made, rng = [], random.Random(20261119)

    def work():
        while not over.is_set():
            mine = [exp.decide(f"u{at}") for at in range(20)]
            for one in mine:
                exp.reward(one.id, 1.0)
            made.extend(mine)
            over.wait(0.005)

    with opened(service) as exp:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            service.mode = rng.choice(modes)
            over.wait(0.02)
        over.set()
        for thread in threads:
            thread.join(10)
        service.mode = "up"
        assert exp.flush(60)
        assert exp.stats()[:5] == (0, len(made), len(made), 0, {})
    assert len(made) > 100 and service.recorded.keys() == {one.id for one in made}
    assert all(service.recorded[one.id]["arm"] == one.arm for one in made)


@pytest.mark.parametrize("name", [*BROKEN, *HANGING])
def test_nothing_a_server_does_reaches_the_caller(name, monkeypatch):
    monkeypatch.setattr(client, "OTHER_SECONDS", 0.3)
    monkeypatch.setattr(client, "MOST_RESPONSE_BYTES", 300_000)
    with Hostile({**BROKEN, **HANGING}[name]) as server:
        exp = LocalExperiment("price", server.address, fallback="9", wait=0.1, flush_every=0.01)
        assert exp.decide().reason == "fallback"
        exp.flush(0.1)
        assert exp.decide().reason == "fallback" and exp.stats().recorded == 0
        assert exp._thread.is_alive()
        exp.close(0.1)
        slow = client.Experiment("price", server.address, deadline=0.2, default="9")
        if name in ("fails with a wrong problem", "redirects"):  # no varts service says this
            with pytest.raises(VartsError):
                slow.decide()
        else:
            assert slow.decide().reason == "fallback"
        slow._service.close()
        exp._thread.join(10)
        assert not exp._thread.is_alive()


def test_redirects_are_not_followed(service):
    moved = b"Location: " + service.address.encode() + b"/v1/experiments/price/allocation\r\n"
    with Hostile(fixed(b"", 302, moved)) as server:
        exp = LocalExperiment("price", server.address, fallback="9", wait=0.1)
        assert exp.decide().reason == "fallback"
        exp.close(0.1)
    assert service.connections == 0


def test_a_huge_response_is_not_read(monkeypatch):
    monkeypatch.setattr(client, "MOST_RESPONSE_BYTES", 1_000_000)
    body = json.dumps(allocation(ticket="t" * 1_000_000)).encode()
    with Hostile(fixed(body)) as server:
        exp = LocalExperiment("price", server.address, fallback="9", wait=0.5)
        assert exp.decide().reason == "fallback"
        exp.close(0)
        monkeypatch.setattr(client, "MOST_RESPONSE_BYTES", 2_000_000)
        with LocalExperiment("price", server.address, fallback="9", wait=10) as exp:
            assert exp.decide().reason == "local"
            exp._outbox.queue.clear()


WRONG = {
    "version": ["1", True, None, 1.5],
    "arms": [[], ["9", "9", "12"], ["9", "12"], "9", [9, 12, 15]],
    "probabilities": [None, [0.5, 0.5], [0.1, 0.6, 0.4], [1.1, -0.1, 0], [True, 0, 0], {}],
    "cells": [
        [],
        {"features": ["a"], "values": [["x", "other"]], "probabilities": [PROBABILITIES]},
        {"features": ["a"], "values": [["x"]], "probabilities": [PROBABILITIES]},
        {"features": ["a", "b"], "values": [["other"]], "probabilities": [PROBABILITIES]},
    ],
    "holdout": [-0.1, 1.5, "0", None],
    "active": [[True], [1, 1, 1], None],
    "sticky": [0, None],
    "context": ["country", [1]],
    "key": [None, 7],
    "refresh": [-1, "10"],
    "lifetime": [-1, None],
    "winner": ["10", 9],
    "ticket": [None, 7],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_an_allocation_that_is_none_is_not_used(name, value):
    with pytest.raises((TypeError, ValueError, KeyError)):
        client._Allocation({**allocation(), name: value})
    client._Allocation(allocation())
    body = allocation()
    del body[name]
    with pytest.raises(KeyError):
        client._Allocation(body)


def test_a_malformed_allocation_leaves_the_last_one(service):
    service.change(refresh=0.05)
    with opened(service) as exp:
        service.modes = {"allocation": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}
        wait_until(lambda: exp._refresh_failures > 1)
        assert exp.decide().reason == "local"
        service.modes = {}
        service.change(2)
        exp._refresh_at = 0
        exp._wake.set()
        wait_until(lambda: exp.stats().version == 2)


# ------------------------------------------------------------------------------ allocations


def test_the_allocation_is_refreshed(service):
    service.change(refresh=0.05)
    with opened(service) as exp:
        wait_until(lambda: service.not_modified >= 2)
        assert exp.stats().version == 1 and exp.stats().age < 10
        service.change(2, probabilities=[0.0, 1.0, 0.0], refresh=0.05)
        wait_until(lambda: exp.stats().version == 2)
        assert exp.decide()[1:] == ("12", 1.0, 2, "local")


def test_beyond_its_lifetime_it_is_not_used(service, later):
    with opened(service) as exp:
        later(3599)
        assert exp.decide().reason == "local"
        service.mode = "down"
        later(2)
        assert exp.decide("ann").reason == "fallback"
        service.mode = "up"
        exp._refresh_at = 0
        exp._wake.set()
        wait_until(lambda: exp.decide().reason == "local")


@pytest.mark.parametrize(
    ("status", "kind"), [(409, "not-local"), (409, "stopped"), (404, "unknown-experiment")]
)
def test_the_service_may_take_the_allocation_away(service, status, kind):
    service.change(refresh=0.05)
    service.kinds[status] = kind
    with opened(service) as exp:
        assert exp.decide().reason == "local"
        service.modes = {"allocation": status}
        wait_until(lambda: exp.decide().reason == "fallback")
        with pytest.raises(VartsError, match=f"refused with {status}") as caught:
            exp.ready()
        assert (caught.value.kind, caught.value.status) == (kind, status)
        service.modes = {}
        wait_until(lambda: exp.decide().reason == "local")


def test_a_refused_token_keeps_the_allocation(service):
    service.change(refresh=0.05)
    service.kinds[401] = "unauthorized"
    with opened(service) as exp:
        service.modes = {"allocation": 401}
        wait_until(lambda: exp._refusal is not None)
        assert exp.decide().reason == "local"


def test_a_refusal_at_the_start_is_an_error(service):
    service.modes, service.kinds = {"allocation": 401}, {401: "unauthorized"}
    threads = threading.active_count()
    with pytest.raises(VartsError, match="refused with 401"):
        opened(service)
    wait_until(lambda: threading.active_count() <= threads)
    with opened(service, wait=0) as exp:  # in the background it isn't
        assert exp.decide().reason == "fallback"


def test_a_fallback_that_is_no_arm_is_warned_of(service, caplog):
    with opened(service, fallback="10"):
        pass
    assert "the fallback must be an arm: unknown arm '10'" in caplog.text


# ------------------------------------------------------------------------------ sticky units


def test_a_unit_keeps_its_arm(service):
    service.change(sticky=True, refresh=0.05)
    with opened(service, flush_every=3600) as exp:
        first = {f"u{at}": exp.decide(f"u{at}") for at in range(60)}
        again = exp.decide("u0")
        assert again[1:] == (first["u0"].arm, first["u0"].probability, 1, "sticky")
        service.change(2, sticky=True, probabilities=[0.6, 0.1, 0.3], refresh=0.05)
        wait_until(lambda: exp.stats().version == 2)
        # The service doesn't know the unit yet: the version is that of the draw.
        assert exp.decide("u0")[1:] == (first["u0"].arm, first["u0"].probability, 1, "sticky")
        assert exp.flush()
        for unit, one in first.items():
            assert exp.decide(unit)[1:] == (one.arm, one.probability, 2, "sticky")
        # The service moves a unit only when its arm is out of play.
        given = {"sticky": True, "probabilities": [0.0, 0.5, 0.5], "refresh": 0.05}
        service.change(3, **given)
        wait_until(lambda: exp.stats().version == 3)
        assert all(exp.decide(u).arm == one.arm for u, one in first.items())
        assert exp.flush() and not exp.stats().refused
        service.change(4, **given, active=[False, True, True])
        wait_until(lambda: exp.stats().version == 4)
        moved = {exp.decide(u).arm for u, one in first.items() if one.arm == "9"}
        assert moved and "9" not in moved
        assert all(exp.decide(u).arm == one.arm for u, one in first.items() if one.arm != "9")
        service.units.clear()  # or the service would call the moves conflicts


def test_a_unit_gets_the_arm_that_the_service_knows(service):
    service.change(sticky=True)
    with opened(service) as exp:
        arm = exp.decide("ann").arm
        assert exp.flush()
        other = next(one for one in ARMS if one != arm)
        service.units["bob"] = other
        exp._units.forget("bob")
        drawn = exp.decide("bob")
        exp.reward(drawn.id, 1.0)
        assert exp.flush()
        assert exp.decide("bob").arm == other
        if drawn.arm != other:
            assert exp.stats().refused == {"conflict": 1} and exp.stats().dropped == 1


def test_a_conflict_teaches_the_arm(service):
    service.change(sticky=True)
    with opened(service, flush_every=3600) as exp:
        drawn = {f"u{at}": exp.decide(f"u{at}").arm for at in range(30)}
        service.units = dict.fromkeys(drawn, "15")
        assert exp.flush()
        count = sum(arm != "15" for arm in drawn.values())
        assert exp.stats().refused == {"conflict": count} and count
        assert {exp.decide(unit).arm for unit in drawn} == {"15"}
        assert exp.flush() and exp.stats().refused == {"conflict": count}


def test_a_restored_database_makes_it_forget(service):
    service.change(sticky=True)
    with opened(service) as exp:
        exp.decide("ann")
        assert exp.flush() and exp._units.get("ann").is_known
        service.statuses["*"] = {"status": "unknown-version"}
        exp.decide("ann")
        service.paths.clear()
        assert exp.flush()
        assert exp._units.get("ann") is None
        service.statuses.clear()
        wait_until(lambda: "allocation" in service.paths)


def test_sticky_needs_a_unit():
    with pytest.raises(
        ValueError, match=r"^unit must be given, because experiment 'price' is sticky"
    ):
        offline(sticky=True).decide()


def test_memory_of_units_is_bounded():
    exp = offline(sticky=True)
    exp._units = client._Recent(100)
    for at in range(1000):
        exp.decide(f"u{at}")
        exp.decide("u0")
    assert len(exp._units._young) + len(exp._units._old) <= 100
    assert "u0" in exp._units and "u999" in exp._units and "u500" not in exp._units


# ------------------------------------------------------------------------------ refusals


def test_refused_decisions_are_counted_and_their_rewards_dropped(service, caplog):
    for at, status in enumerate(["too-old", "impossible-arm", "invalid", "something new"] * 3):
        service.statuses[f"d{at}"] = {"status": status, "detail": "because\x1b[2J"}
    with opened(service) as exp:
        for at in range(20):
            exp.reward(exp.decide(id=f"d{at}").id, 1.0)
    assert len(service.recorded) == len(service.rewards) == 8
    assert set(exp.stats().refused.values()) == {3} and exp.stats().dropped == 12
    assert caplog.text.count("the service refused the decision") == 4  # one per status
    assert "\x1b" not in caplog.text and r"because\u001b[2J" in caplog.text


def test_a_client_whose_arms_are_unlikely_records_nothing_more(service, caplog):
    with opened(service) as exp:
        kept = exp.decide()
        assert exp.flush()
        service.statuses["*"] = {"status": "unlikely"}
        exp.decide()
        assert exp.flush()
        service.statuses.clear()
        for _ in range(10):
            made = exp.decide()
            assert made.reason == "local"
            exp.reward(made.id, 1.0)
        exp.reward(kept.id, 1.0)
        assert exp.flush()
        assert exp.stats()[:5] == (0, 1, 1, 20, {"unlikely": 1})
    assert service.recorded.keys() == {kept.id} and service.rewards.keys() == {(kept.id, None)}
    assert "don't match their probabilities" in caplog.text


# ------------------------------------------------------------------------------ bounds


def test_a_full_queue_drops_new_decisions(service, caplog):
    with opened(service, most_waiting=100) as exp:
        service.mode = "down"
        made = [exp.decide() for _ in range(150)]
        assert exp.stats().waiting == 100 and exp.stats().dropped == 50
        for one in made:
            exp.reward(one.id, 1.0)
        assert exp.stats().waiting == 200 and exp.stats().dropped == 100
        for _ in range(10):
            exp.reward(made[0].id, 1.0, key="more")
        assert exp.stats().waiting == 200 and exp.stats().dropped == 110
        service.mode = "up"
        assert exp.flush()
        exp.decide(id="after")
    assert service.recorded.keys() == {*(one.id for one in made[:100]), "after"}
    assert len(service.rewards) == 100 and exp.stats().refused == {}
    assert caplog.text.count("are made but not logged") == 1


def test_closing_sends_what_waits(service):
    exp = opened(service, flush_every=3600)
    made = [exp.decide() for _ in range(1200)]
    exp.reward(made[0].id, 1.0)
    exp.close()
    exp.close()
    assert len(service.recorded) == 1200 and len(service.rewards) == 1
    assert not exp._thread.is_alive()
    late = exp.decide()
    exp.reward(late.id, 1.0)
    assert exp.stats().dropped == 2 and exp.flush(0) and late.id not in service.recorded


def test_what_is_lost_at_the_end_is_logged(service, caplog):
    exp = opened(service)
    service.mode = "down"
    for _ in range(3):
        exp.decide()
    exp.close(0.1)
    assert "'price' was closed before the service got 3 decisions and rewards" in caplog.text


def test_a_mistake_does_not_end_the_thread(service, monkeypatch, caplog):
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.05)
    with opened(service) as exp:
        take = exp._outbox._take
        exp._outbox._take = lambda: 1 / 0
        exp.decide()
        wait_until(lambda: "ZeroDivisionError" in caplog.text)
        exp._outbox._take = take
        assert exp.flush()
        assert exp.stats().recorded == 1


def test_a_mistake_in_on_recorded_is_logged(service, caplog):
    with opened(service, on_recorded=lambda made: 1 / 0) as exp:
        exp.decide()
        assert exp.flush() and exp.stats().recorded == 1
    assert "on_recorded raised an error" in caplog.text


# ------------------------------------------------------------------------------ arguments


def test_the_same_id_gets_the_same_decision(service):
    with opened(service) as exp:
        first = [exp.decide(id=f"d{at}") for at in range(50)]
        assert [exp.decide(id=f"d{at}") for at in range(50)] == first
        assert exp.flush() and exp.stats().recorded == 50


def test_the_caller_may_change_a_context_later(service):
    service.change(context=["country", "visits"])
    with opened(service, flush_every=3600) as exp:
        known = {"country": "NL", "visits": math.nan, "mood": "good"}
        exp.decide(context=known, id="d")
        known["country"] = "BE"
    assert service.recorded["d"]["context"] == {"country": "NL", "visits": None}


def test_unknown_features_are_warned_of_once(service, caplog):
    with opened(service) as exp:
        for _ in range(3):
            exp.decide(context={"mood": "good"})
    assert caplog.text.count("has no feature 'mood'") == 1
    assert all("context" not in one for one in service.recorded.values())


BAD_CALLS = [
    (lambda exp: exp.decide(7), "unit must be text of 1 to 255 characters, got 7"),
    (lambda exp: exp.decide(""), "unit must be text of 1 to 255 characters, got ''"),
    (lambda exp: exp.decide("\ud800"), "unit must be text that is valid Unicode, got "),
    (lambda exp: exp.decide(id="i" * 256), "id must be text of 1 to 255 characters, got "),
    (lambda exp: exp.decide(context=["NL"]), "context must be like "),
    (lambda exp: exp.decide(context={"a": []}), "a must be text, a number, a boolean or None"),
    (lambda exp: exp.decide(context={"a": math.inf}), "a must be a finite number, got inf"),
    (lambda exp: exp.reward("d", "1"), "value must be a finite number, got '1'"),
    (lambda exp: exp.reward("d", math.nan), "value must be a finite number, got nan"),
    (lambda exp: exp.reward("d", True), "value must be a finite number, got True"),
    (lambda exp: exp.reward("d", 10**400), "value must be a finite number, got 1000"),
    (lambda exp: exp.reward(7, 1), "id must be text of 1 to 255 characters, got 7"),
    (lambda exp: exp.reward("d", 1, {"cost": "1"}), "cost must be a finite number, got '1'"),
    (lambda exp: exp.reward("d", 1, ["cost"]), "metrics must be like "),
    (lambda exp: exp.reward("d", 1, key="\0"), "key must be text of 1 to 255 characters, got "),
    (lambda exp: exp.flush(-1), "timeout must be from 0 to 2592000 seconds, got -1"),
]


@pytest.mark.parametrize("at", range(len(BAD_CALLS)))
def test_wrong_arguments_are_refused_at_once(at):
    call, message = BAD_CALLS[at]
    exp = offline(context=["a"])
    with pytest.raises((TypeError, ValueError)) as caught:
        call(exp)
    assert str(caught.value).startswith(message)
    assert exp.stats().waiting == 0


BAD_SETTINGS = [
    ({"url": "http://varts.example.com"}, "url must be https://host, or http:// on this machine"),
    ({"url": "ftp://127.0.0.1"}, "url must be https://host, or http:// on this machine"),
    ({"url": "https://a b"}, "url must be https://host, or http:// on this machine"),
    ({"url": "https://h?x=1"}, "url must be https://host, or http:// on this machine"),
    ({"url": "https://user:secret@h"}, "url must not contain a user or a password; use token="),
    ({"url": None}, "url must be https://host, or http:// on this machine, got None"),
    ({"name": ""}, "name must be text of 1 to 255 characters, got ''"),
    ({"token": "a b"}, "token must be printable ASCII without blanks, got something else"),
    ({"token": 7}, "token must be text, got int"),
]
LOCAL_SETTINGS = [
    ({"fallback": 9}, "fallback must be text of 1 to 255 characters, got 9"),
    ({"most_waiting": 0}, "most_waiting must be a whole number of at least 1, got 0"),
    ({"flush_every": 0}, "flush_every must be from 0.01 to 2592000 seconds, got 0"),
    ({"wait": -1}, "wait must be from 0 to 2592000 seconds, got -1"),
    ({"wait": "1"}, "wait must be a finite number, got '1'"),
]


@pytest.mark.parametrize(("given", "message"), BAD_SETTINGS + LOCAL_SETTINGS)
def test_wrong_settings_are_refused(given, message):
    threads = threading.active_count()
    kinds = [LocalExperiment, client.AsyncLocalExperiment]
    if (given, message) in BAD_SETTINGS:
        kinds += [client.Experiment, client.AsyncExperiment]
    for kind in kinds:
        with pytest.raises((TypeError, ValueError)) as caught:
            kind(**{"name": "price", "url": "http://127.0.0.1:1", **given})
        assert str(caught.value).startswith(message) and "secret" not in str(caught.value)
    assert threading.active_count() == threads


# ------------------------------------------------------------------------------ threads and forks


def test_threads_share_an_experiment(service):
    service.change(sticky=True, holdout=0.3)
    made = []

    def work(at):
        mine = [exp.decide(f"u{i % 50}") for i in range(1500)]
        for one in mine:
            exp.reward(one.id, 1.0)
        made.append(mine)

    with opened(service) as exp:
        threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert exp.flush(60)
        assert exp.stats()[:5] == (0, 12_000, 12_000, 0, {})
    ids = [one.id for mine in made for one in mine]
    assert len(set(ids)) == 12_000 and service.recorded.keys() == set(ids)


FORKING = """
import json, os, sys
sys.path.insert(0, sys.argv[2])
from varts_client import LocalExperiment

exp = LocalExperiment("price", sys.argv[1], fallback="9", wait=10, flush_every=3600)
before = [exp.decide().id for _ in range(20)]
assert exp._service._sockets or exp.stats().version
children = []
for _ in range(3):
    if (pid := os.fork()) == 0:
        assert exp.stats().waiting == 0 and exp.decide().reason == "local"
        for _ in range(9):
            exp.reward(exp.decide("ann").id, 1.0)
        exp.close()
        os._exit(exp.stats().recorded)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
exp.decide()
exp.close()
print(json.dumps([codes, exp.stats().recorded]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_children_of_a_fork_begin_again(service):
    printed = run_alone(FORKING, service, "-W", "ignore::DeprecationWarning")
    assert json.loads(printed) == [[10, 10, 10], 21]
    assert len(service.recorded) == 51 and len(service.rewards) == 27
    assert sorted(service.clients.values()) == [10, 10, 10, 21]
    assert len({id.split("-")[0] for id in service.recorded}) == 4


ENDING = """
import sys
sys.path.insert(0, sys.argv[2])
from varts_client import LocalExperiment

exp = LocalExperiment("price", sys.argv[1], fallback="9", wait=10, flush_every=3600)
for _ in range(50):
    exp.reward(exp.decide().id, 1.0)
"""


def run_alone(program, service, *flags):
    """Run a program with the file and the standard library alone; returns its output."""
    command = [sys.executable, "-S", "-I", "-X", "dev", *flags, "-c", program]
    done = subprocess.run(
        [*command, service.address, str(FILE.parent)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def test_the_end_of_a_program_sends_what_waits(service):
    run_alone(ENDING, service)
    assert len(service.recorded) == len(service.rewards) == 50


def test_it_imports_nothing_but_the_standard_library():
    tree = ast.parse(FILE.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module.partition(".")[0])
    assert found and found <= sys.stdlib_module_names
    ast.parse(FILE.read_text(), feature_version=(3, 10))


def test_its_examples_and_its_version():
    outcome = doctest.testmod(client)
    assert outcome.attempted >= 6 and not outcome.failed
    assert client.__version__ == varts.__version__
    assert all(hasattr(client, name) and getattr(client, name).__doc__ for name in client.__all__)


# ------------------------------------------------------------------------------ in an event loop


def test_in_an_event_loop(service):
    async def visit():
        kind = client.AsyncLocalExperiment
        async with kind("price", service.address, fallback="9", flush_every=3600) as exp:
            assert await exp.ready()
            made = [exp.decide(f"u{at}") for at in range(20)]
            for one in made:
                exp.reward(one.id, 1.0)
            assert await exp.flush()
            assert exp.stats()[:5] == (0, 20, 20, 0, {})
            exp.decide()
        return made

    assert {one.reason for one in asyncio.run(visit())} == {"local"}
    assert len(service.recorded) == 21


def test_in_an_event_loop_without_a_service(service):
    service.mode = "down"

    async def visit(**more):
        kind = client.AsyncLocalExperiment
        async with kind("price", service.address, wait=0.1, **more) as exp:
            return exp.decide()

    async def short():
        exp = client.AsyncLocalExperiment("price", service.address, fallback="9")
        made = exp.decide()
        await exp.close(0.1)
        return made

    with pytest.raises(VartsError, match="hasn't arrived yet"):
        asyncio.run(visit())
    assert asyncio.run(short()).reason == "fallback"
    with pytest.raises(TypeError):
        asyncio.run(visit(url="twice"))


# ------------------------------------------------------------------------------ the real service


def local(running, name, **more):
    """A local experiment of the service in this process.

    The service takes one that draws rightly for a wrong one with a probability of at most 1e-4.
    """
    given = {"fallback": "9", "flush_every": 0.05, "wait": 30, **more}
    return LocalExperiment(name, running.address, running.token, **given)


def refresh(exp):
    """Let it fetch what the service has now."""
    confirmed = exp._confirmed
    exp._refresh_at = 0
    exp._wake.set()
    wait_until(lambda: exp._confirmed != confirmed)


def assert_logged(running, name, made):
    """The log has these decisions as they were made, and replaying it gives the same numbers."""
    log = Experiment(name, running.store)
    for one in made:
        kept = log.decision(one.id)
        assert (kept.arm, kept.version, kept.reason) == (one.arm, one.version, one.reason)
        assert kept.probability == pytest.approx(one.probability, rel=1e-12)
    assert log.verify(replay=True).ok


def test_the_service_logs_what_was_drawn(running, price):
    seen = []
    with local(running, "price", on_recorded=seen.extend) as exp:
        for _ in range(5):
            made = [exp.decide(unit) for unit in [None, "ann"] * 100]
            for one in made:
                exp.reward(one.id, float(one.arm))
            assert exp.flush(60)
            refresh(exp)
        assert exp.stats()[:5] == (0, 1000, 1000, 0, {})
    assert len({one.version for one in seen}) == 5
    assert_logged(running, "price", seen)
    assert price.report().frame["n"].sum() == 1000
    assert price.check()


def test_a_holdout_and_sticky_units_are_the_same_on_both_sides(running):
    options = {"holdout": 0.4, "sticky": True, "hash_units": False}
    with running.open("sticky", ARMS, **options) as remote, local(running, "sticky") as exp:
        first = {f"u{at}": exp.decide(f"u{at}") for at in range(100)}
        assert exp.flush(60)
        for one in first.values():
            exp.reward(one.id, float(one.arm))
        assert exp.flush(60)
        refresh(exp)
        again = {unit: exp.decide(unit) for unit in first}
        assert {one.reason for one in again.values()} == {"sticky"}
        assert [one.arm for one in again.values()] == [one.arm for one in first.values()]
        assert all(remote.decide(unit).arm == one.arm for unit, one in first.items())
        assert exp.flush(60) and exp.stats()[:5] == (0, 200, 100, 0, {})
        assert_logged(running, "sticky", [*first.values(), *again.values()])
        # An arm that the service gave to a unit is learned from the conflict.
        others = {f"v{at}": remote.decide(f"v{at}").arm for at in range(60)}
        wrong = sum(exp.decide(unit).arm != arm for unit, arm in others.items())
        assert exp.flush(60) and exp.stats().refused == ({"conflict": wrong} if wrong else {})
        assert all(exp.decide(unit).arm == arm for unit, arm in others.items())


def test_units_keep_an_arm_that_nobody_else_gets(running):
    """Its probability is 0, but it is in play; when it is paused, they move."""
    options = {"sticky": True, "hash_units": False}
    with running.open("sticky", ARMS, **options) as remote, local(running, "sticky") as exp:
        first = {f"u{at}": exp.decide(f"u{at}") for at in range(90)}
        for at, one in enumerate(first.values()):
            exp.reward(one.id, 1e6 * (one.arm == "15") + at % 5)
        assert exp.flush(60)
        refresh(exp)
        assert min(exp._allocation.rows[0].probabilities) < 1e-12
        exp._allocation.rows[0] = client._Shares([0.0, 0.0, 1.0], ARMS, (2, "local"))
        assert all(exp.decide(unit).arm == one.arm for unit, one in first.items())
        assert exp.flush(60) and exp.stats().refused == {}
        remote.pause_arm("9")
        refresh(exp)
        moved = [exp.decide(unit) for unit, one in first.items() if one.arm == "9"]
        assert moved and {one.reason for one in moved} == {"local"}
        assert "9" not in {one.arm for one in moved}
        assert exp.flush(60) and exp.stats().refused == {}
        assert_logged(running, "sticky", moved)


def test_cells_are_those_of_the_service(running):
    features = {"country": ["NL", "BE", "missing"], "app": ["True", "3"]}
    with running.open("mug", ["red", "blue"], features=features) as remote:
        for at in range(60):
            known = {"country": ["NL", "BE"][at % 2], "app": at % 3 == 0}
            made = remote.decide(context=known)
            remote.reward(made.id, 5.0 * (made.arm == "red") * (at % 2) + at % 5)
        with local(running, "mug", fallback="red") as exp:
            values = [("NL", "BE", "FR", "missing", None), (True, False, "3", 3, "other", None)]
            known = [dict(zip(features, one, strict=True)) for one in itertools.product(*values)]
            made = [exp.decide(context=one) for one in known] + [exp.decide(context={})]
            assert exp.flush(60) and exp.stats().refused == {}
            assert len({tuple(row.probabilities) for row in exp._allocation.rows}) >= 4
            assert_logged(running, "mug", made)
            exp.decide()
            assert exp.flush(60) and sum(exp.stats().refused.values()) == 1


def test_what_the_service_refuses_to_hand_out(running, price):
    running.open("visits", ["red", "blue"], features={"visits": "number"}).close()
    with pytest.raises(VartsError, match="ask the decisions endpoint") as caught:
        local(running, "visits")
    assert (caught.value.kind, caught.value.status) == ("not-local", 409)
    with pytest.raises(VartsError, match="unknown experiment") as caught:
        local(running, "nothing")
    assert caught.value.kind == "unknown-experiment"
    with pytest.raises(VartsError) as caught:
        LocalExperiment("price", running.address, "varts_wrong", wait=30)
    assert caught.value.kind == "unauthorized"
    public = running.make_token(
        "decide", public=True, origins=["https://shop.example"], experiments=["price"]
    )
    with pytest.raises(VartsError) as caught:
        LocalExperiment("price", running.address, public, wait=30)
    assert (caught.value.kind, caught.value.status) == ("forbidden", 403)
    with local(running, "price") as exp:
        price.stop()
        refresh_until(exp, "fallback")
        price.restart()
        refresh_until(exp, "local")
        price.stop("12")
        refresh_until(exp, "winner")
        assert exp.decide().arm == "12"


def refresh_until(exp, reason):
    """Until decisions have this reason."""

    def is_so():
        exp._refresh_at = 0
        exp._wake.set()
        return exp.decide().reason == reason

    wait_until(is_so, 30)


def test_fallbacks_reach_the_service(running, price, later):
    with local(running, "price") as exp:
        exp._allocation.until = -math.inf
        made = exp.decide("ann")
        exp.reward(made.id, 1.0)
        assert made.reason == "fallback"
        assert exp.flush(60) and exp.stats()[1:5] == (1, 1, 0, {})
    assert Experiment("price", running.store).decision(made.id).reason == "fallback"


def test_asking_for_every_decision(running, price):
    exp = client.Experiment("price", running.address, running.token, deadline=30)
    made = exp.decide("ann", id="visit")
    assert made == exp.decide("ann", id="visit") and made.reason != "fallback"
    assert exp.reward("visit", 11.7) is True and exp.reward("visit", 11.7) is False
    with pytest.raises(VartsError, match=r"already has the reward 11\.7, got 12") as caught:
        exp.reward("visit", 12)
    assert (caught.value.kind, caught.value.status) == ("reward-conflict", 200)
    several = exp.decide_many(1200)
    assert len({one.id for one in several}) == 1200
    rewards = [("nobody", 1.0), *((one.id, 2, None, "a") for one in several)]
    outcomes = exp.reward_each(rewards)
    assert outcomes[0].kind == "unknown-decision" and outcomes[1:] == [True] * 1200
    assert exp.reward_each({several[0].id: 2.0})[0].kind == "reward-conflict"
    assert [one.id for one in exp.decide_many(["ann", None], ["a", "b"])] == ["a", "b"]
    with pytest.raises(VartsError) as caught:
        exp.decide(context={"country": "NL"})
    assert caught.value.status == 422 and caught.value.kind == "refused"
    for given in ({"units": 2, "ids": ["a"]}, {"units": [None], "contexts": []}):
        with pytest.raises(ValueError, match="must be one per unit"):
            exp.decide_many(**given)
    exp.close()
    assert Experiment("price", running.store).verify(replay=True).ok


def test_without_the_service_every_decision_is_the_default(service, caplog):
    with client.Experiment("price", service.address, deadline=0.3, default="9") as exp:
        service.mode = "down"
        made = exp.decide("ann", id="visit")
        assert made == ("visit", "9", 1.0, 0, "fallback") == exp.decide("ann", id="visit")
        assert exp.decide(default="12").arm == "12"
        assert exp.reward("visit", 1.0) is True and exp.reward("visit", 1.0) is False
        with pytest.raises(VartsError, match="didn't answer") as caught:
            exp.reward("another", 1.0)
        assert (caught.value.kind, caught.value.status) == ("lost", 0)
        assert caplog.text.count("decisions get") == 1
        service.statuses["bad"] = "invalid"
        exp.decide(id="bad")
        service.mode = "up"
        assert exp.decide(id="next").reason == "policy"
        assert set(service.fallbacks) >= {"visit"} and len(service.fallbacks) == 2
        assert service.rewards["visit", None]["value"] == 1.0
        assert exp.reward("visit", 1.0) is False  # the service's answer
        assert exp.reward_each({"bad": 1.0})[0].kind == "unknown-decision"
        service.mode = "down"
        exp.decide_many(5)
        service.mode = "up"
    assert len(service.fallbacks) == 7


def test_lost_responses_are_asked_for_again(service):
    with client.Experiment("price", service.address, deadline=10) as exp:
        service.mode = "lost"
        threading.Timer(0.3, setattr, (service, "mode", "up")).start()
        made = exp.decide_many(3)
        assert len(service.recorded) == 3 and service.paths.count("decisions") > 1
        service.mode = 503
        threading.Timer(0.2, setattr, (service, "mode", "up")).start()
        assert exp.reward(made[0].id, 1.0) is True


def test_a_connection_that_the_service_closed_is_opened_again(service):
    with client.Experiment("price", service.address, deadline=10) as exp:
        exp.decide()
        exp._service._kept.connection.sock._raw.shutdown(socket.SHUT_RDWR)
        exp.decide()
        assert service.connections == 2 and service.paths == ["decisions"] * 2


def test_a_default_has_a_bound(service, monkeypatch, caplog):
    monkeypatch.setattr(client.Experiment, "_most_waiting", 10)
    with client.Experiment("price", service.address, deadline=0.2, default="9") as exp:
        service.mode = "down"
        made = exp.decide_many(15)
        assert exp._outbox.waiting == 10 and exp._outbox.dropped == 5
        service.mode = "up"
    assert service.fallbacks.keys() == {one.id for one in made[:10]}
    assert "new decisions are made but not logged" in caplog.text


def test_asking_in_an_event_loop(running, price):
    async def visit():
        kind = client.AsyncExperiment
        async with kind("price", running.address, running.token, deadline=30) as exp:
            made = await asyncio.gather(*(exp.decide(id=f"late-{at}") for at in range(20)))
            assert all(await asyncio.gather(*(exp.reward(one.id, 1.0) for one in made)))
            assert len(await exp.decide_many(3)) == 3
            assert await exp.reward_each({"late-0": 1.0}) == [False]
            await exp.flush()

    asyncio.run(visit())
    assert price.report().frame["n"].sum() == 20


def test_the_programs_of_the_readme(running, price):
    """The first is about local decisions, the second asyncio, the third asks for every decision."""
    text = (FILE.parent / "README.md").read_text()
    alone, event_loop, asking = re.findall(r"```python\n(.*?)```", text, re.S)
    assert re.fullmatch(
        r"the price is (9|12|15) \(local, 0\.33\)\n1 1\n", run_program(alone, running)
    )
    assert run_program(asking, running) == "True\nFalse\n"
    ending = f"import asyncio\nprint(asyncio.run(visit({running.address!r})).reason)"
    assert run_program(f"{event_loop}\n{ending}", running) == "local\n"
    assert price.report().frame["n"].sum() == 3


def run_program(program, running):
    """Run a program in the folder of the file; returns its output."""
    known = {"VARTS_URL": running.address, "VARTS_TOKEN": running.token}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program],
        cwd=FILE.parent,
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


@pytest.mark.no_cover
def test_over_tls_with_a_name(tmp_path, monkeypatch):
    """Certificates are checked, and the header says which host is meant."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    answer = fixed(json.dumps(allocation()).encode())

    def behave(server, connection):
        with context.wrap_socket(connection, server_side=True) as safe:
            answer(server, safe)

    with Hostile(behave) as server:
        port = server.address.rpartition(":")[2]
        given = {"fallback": "9", "wait": 10}
        refused = LocalExperiment("price", f"https://localhost:{port}", **{**given, "wait": 0.3})
        assert refused.decide().reason == "fallback"
        refused.close(0)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        exp = LocalExperiment("price", f"https://localhost:{port}/varts/", **given)
        assert exp.decide().reason == "local"
        exp.close(0)
        head, headers, _ = server.requests[-1]
        assert headers[b"host"] == f"localhost:{port}".encode()
        assert head.startswith(b"GET /varts/v1/experiments/price/allocation HTTP/1.1")
