"""Decisions that a client makes by itself while the service is unavailable."""

import asyncio
import json
import logging
import threading

import pytest

import varts
from tests.client.hostile import Hostile, fixed, read_request
from varts.client import open_async, verbs
from varts.live import StoreError, UnknownArm

ARMS = ["9", "12", "15"]


class Stub:
    """A service that speaks the endpoints of decisions, fallbacks and rewards.

    `is_down` makes it silent. It refuses a reward of a decision that it doesn't know.
    """

    def __init__(self):
        self.is_down = False
        self.refused = set()
        self.decided, self.fallbacks, self.rewards, self.paths = {}, {}, {}, []
        self._lock = threading.Lock()

    def __call__(self, server, connection):
        while read_request(server, connection):
            if self.is_down:
                server.over.wait()
            head, _, body = server.requests[-1]
            path = head.split()[1].decode().rpartition("/")[2]
            with self._lock:
                answer = self._answer(path, json.loads(body) if body else None)
            content = json.dumps(answer).encode()
            size = f"Content-Length: {len(content)}".encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + size + b"\r\n\r\n" + content)

    def _answer(self, path, body):
        self.paths.append(path)
        if path == "decisions":
            made = [
                {"id": one["id"], "arm": "12", "probability": 0.5, "version": 7, "reason": "policy"}
                for one in body["decisions"]
            ]
            self.decided |= {one["id"]: one for one in made}
            return {"decisions": [{**one, "estimated": False} for one in made]}
        if path == "fallbacks":
            return {"results": [self._record(one) for one in body["decisions"]]}
        if path == "rewards":
            return {"results": [self._reward(one) for one in body["rewards"]]}
        return []

    def _record(self, one):
        if one["id"] in self.refused:
            return {"id": one["id"], "status": "invalid", "detail": "unknown arm '9'"}
        new = self.fallbacks.setdefault(one["id"], one) is one
        return {"id": one["id"], "status": "recorded" if new else "duplicate"}

    def _reward(self, one):
        if one["id"] not in self.decided | self.fallbacks:
            return {"id": one["id"], "status": "unknown", "detail": "unknown decision"}
        new = self.rewards.setdefault(one["id"], one) is one
        return {"id": one["id"], "status": "applied" if new else "duplicate"}


@pytest.fixture
def stub():
    made = Stub()
    with Hostile(made) as server:
        made.address = server.address
        yield made


def opened(stub, **more):
    """An experiment of the stub, whose configuration the client couldn't read."""
    given = {"default": "9", "deadline": 0.3, **more}
    return varts.open("price", store=stub.address, **given)


def test_an_unavailable_service_is_replaced_by_the_default(stub):
    stub.is_down = True
    with opened(stub) as exp:
        made = exp.decide("ann", id="visit")
        assert made == ("visit", "9", 1.0, 0, "fallback", False)
        assert exp.decide("ann", id="visit") == made  # also now
        assert exp.decide(default="12").arm == "12"
        several = exp.decide_many(["bob", None], default="15")
        assert [one.arm for one in several] == ["15", "15"]
        assert exp.reward("visit", 9.0) is True and exp.reward("visit", 9.0) is False
        assert exp.reward_each([(several[0].id, 1.0), (several[1].id, "x")])[0] is True
        with pytest.raises(StoreError):  # of a decision that isn't waiting
            exp.reward("another", 1.0)
        stub.is_down = False
        assert exp.decide(id="visit") == made
        exp._verbs.fallbacks._paused_until = 0.0
        assert exp.decide(id="next").reason == "policy"
        assert stub.fallbacks["visit"] == {"id": "visit", "arm": "9", "unit": "ann"}
        assert len(stub.fallbacks) == 4 and stub.rewards["visit"]["value"] == 9.0
        assert len(exp._verbs.fallbacks) == 0
        assert exp.reward("visit", 9.0) is False  # the service's answer
    assert stub.paths.index("fallbacks") < stub.paths.index("rewards")


def test_without_a_default_an_unavailable_service_is_an_error(stub):
    stub.is_down = True
    with pytest.raises(StoreError):
        opened(stub, default=None)
    exp = opened(stub)
    exp._verbs.default = None
    with pytest.raises(StoreError):
        exp.decide()
    exp.close()


def test_refusals_are_no_reason_to_fall_back():
    refusal = b'{"type": "/problems/stopped", "detail": "it is stopped"}'
    stopped = pytest.raises(varts.live.ExperimentStopped, match=r"^it is stopped$")
    with Hostile(fixed(refusal, 409)) as server, stopped:
        varts.open("price", store=server.address, default="9")


def test_closing_sends_what_waits(stub):
    stub.is_down = True
    exp = opened(stub)
    made = exp.decide_many(1200)
    ids = [made[at].id for at in (0, -1)]
    exp.reward_many([(id, 1.0) for id in ids])
    stub.is_down = False
    exp.close()
    assert len(stub.fallbacks) == 1200 and stub.rewards.keys() == {*ids}


def test_what_is_lost_at_the_end_is_logged(stub, caplog):
    stub.is_down = True
    exp = opened(stub)
    exp.decide_many(3)
    exp.close()
    assert "closed before the service got 3 decisions that were made without it" in caplog.text


def test_the_oldest_are_dropped_with_a_warning(stub, monkeypatch, caplog):
    monkeypatch.setattr(verbs, "MOST_FALLBACKS", 10)
    stub.is_down = True
    with opened(stub) as exp:
        first = exp.decide()
        exp.reward(first.id, 1.0)
        exp.decide_many(9)
        assert len(exp._verbs.fallbacks) == 9
        assert "more than 10 decisions and rewards wait for the service" in caplog.text
        stub.is_down = False
        exp._verbs.fallbacks._paused_until = 0.0
    assert len(stub.fallbacks) == 9 and first.id not in stub.fallbacks


def test_what_the_service_refuses_is_logged_and_dropped(stub, caplog):
    stub.is_down = True
    with opened(stub) as exp:
        exp.decide_many(ids=["good", "bad"])
        exp.reward_many({"good": 1.0, "bad": 1.0})
        stub.is_down, stub.refused = False, {"bad"}
        exp.decide(deadline=5)
    assert stub.fallbacks.keys() == stub.rewards.keys() == {"good"}
    assert "the service refused decision 'bad': unknown arm '9'" in caplog.text


def test_sending_what_waits_does_not_spoil_a_call(stub, monkeypatch):
    """The service makes decisions and loses fallbacks: it is asked again after a while."""
    stub.is_down = True
    with opened(stub) as exp:
        exp.decide(id="waits")
        stub.is_down = False
        answer = stub._answer
        stub._answer = lambda path, body: 7 if path == "fallbacks" else answer(path, body)
        assert exp.decide(deadline=5).reason == "policy"
        assert exp.decide(deadline=5).reason == "policy"
        assert stub.paths.count("decisions") == 2 and len(exp._verbs.fallbacks) == 1
        stub._answer = answer
        exp._verbs.fallbacks._paused_until = 0.0
        exp.decide(deadline=5)
        assert stub.fallbacks.keys() == {"waits"}


def test_part_of_a_batch_may_fall_back(stub):
    """The first request of two is answered."""
    with opened(stub, deadline=5) as exp:
        answer = stub._answer

        def once(path, body):
            stub.is_down = path == "decisions"
            return answer(path, body)

        stub._answer = once
        made = exp.decide_many(1500, deadline=1)
        assert [one.reason for one in made] == ["policy"] * 1000 + ["fallback"] * 500
        stub.is_down, stub._answer = False, answer


def test_in_an_event_loop(stub):
    async def visit():
        given = {"store": stub.address, "default": "9", "deadline": 0.3}
        async with await open_async("price", **given) as exp:
            made = await asyncio.gather(*(exp.decide(f"unit {i}") for i in range(20)))
            assert {one.arm for one in made} == {"9"}
            assert all(await asyncio.gather(*(exp.reward(one.id, 1.0) for one in made)))
            stub.is_down = False

    stub.is_down = True
    asyncio.run(visit())
    assert len(stub.fallbacks) == len(stub.rewards) == 20


def test_threads_share_what_waits(stub):
    stub.is_down = True
    with opened(stub) as exp:
        made = exp.decide_many(40)
        stub.is_down = False
        exp._verbs.fallbacks._paused_until = 0.0

        def work(mine):
            for one in mine:
                exp.reward(one.id, 1.0, deadline=10)
                exp.decide(deadline=10)

        threads = [threading.Thread(target=work, args=(made[at::4],)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert stub.rewards.keys() == stub.fallbacks.keys() == {one.id for one in made}


def test_the_default_is_an_arm(running, price):
    with pytest.raises(UnknownArm, match="unknown arm '10'"):
        running.open("price", default="10")
    with running.open("price", default="9") as exp:
        assert exp.decide().reason != "fallback"
        with pytest.raises(UnknownArm, match="unknown arm '10'"):
            exp.decide(default="10")
        price.add_arm("10")
        assert exp.decide(default="10").arm in exp.arms


def test_a_fallback_is_warned_of(stub, caplog):
    stub.is_down = True
    with caplog.at_level(logging.WARNING), opened(stub) as exp:
        exp.decide()
    assert "experiment 'price': the service" in caplog.text and "decisions get '9'" in caplog.text
