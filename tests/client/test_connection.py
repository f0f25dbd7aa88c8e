"""Lost connections, busy services and wrong addresses."""

import socket
import threading

import pytest

import varts
from tests.client.hostile import Hostile, fixed
from varts.client import transport
from varts.client.address import read_address, read_token
from varts.client.transport import TRIES, Request, Response, Tries, Unanswered
from varts.live import ConnectionLost, StoreError
from varts.live.store.queue import Deadline

ASK = Request(method="PUT", path="/v1/experiments/price/decisions/d")
ONCE = Request(method="POST", path="/v1/experiments/price/forget", repeatable=False)


def problem(status, kind):
    body = f'{{"type": "/problems/{kind}", "detail": "not now"}}'
    return Response(status, {"retry-after": "0"}, body.encode())


def tries_of(request, seconds=60.0):
    return Tries(request, "https://host", Deadline(seconds), seconds)


# ------------------------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://varts.example.com/", "https://varts.example.com"),
        ("HTTPS://Varts.example.com:8443/varts/", "https://varts.example.com:8443/varts"),
        ("http://localhost:8321", "http://localhost:8321"),
        ("http://127.0.0.5", "http://127.0.0.5"),
        ("http://[::1]:8321", "http://[::1]:8321"),
    ],
)
def test_an_address_is_read(text, url):
    assert read_address(text) == url


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("http://varts.example.com", r"^store must be https://host, or http:// on this machine"),
        ("http://10.0.0.1:8321", r"^store must be https://host, .* got 'http://10.0.0.1:8321'$"),
        ("https://", r"^store must be https://host"),
        ("https://host:port", r"^store must be https://host, .* can't be read$"),
        ("http://127.0.0.1.example.com", r"^store must be https://host"),
        ("http://evil.localhost", r"^store must be https://host"),
        ("https://host?retries=3", r"^store must have no options, got 'retries=3'$"),
        ("https://ho\nst", r"^store must be https://host"),
    ],
)
def test_another_address_is_refused(text, says):
    with pytest.raises((TypeError, ValueError), match=says):
        varts.open("price", store=text)


def test_no_message_shows_a_secret():
    with pytest.raises(ValueError, match=r"use token=$") as one:
        varts.open("price", store="https://me:hunter2@host")
    with pytest.raises(ValueError, match=r"^token must be printable ASCII") as two:
        varts.open("price", store="https://host", token="hunter2 \n")
    with pytest.raises(ValueError, match=r"^token must be left out for a database") as three:
        varts.open("price", store="memory://", token="hunter2")
    assert not any("hunter2" in str(error.value) for error in (one, two, three))
    with pytest.raises(TypeError, match=r"^token must be text, got int"):
        read_token(7)
    with pytest.raises(ValueError, match=r"^seed must be left out for a service"):
        varts.open("price", ["9"], store="https://host", seed=7)


def test_the_host_header_has_the_brackets_of_an_address():
    """The service refuses the header otherwise."""
    with Hostile(fixed(b"{}"), "::1") as server:
        assert server.address.startswith("http://[::1]:")
        with pytest.raises(StoreError):
            varts.open("price", store=server.address)
        _, headers, _ = server.requests[0]
    assert headers[b"host"].decode() == server.address.removeprefix("http://")


# ------------------------------------------------------------------------------ when to ask again


def test_what_may_be_repeated_is_after_longer_and_longer_waits():
    tries = tries_of(ASK)
    waits = [tries.after(Unanswered("reset", sent=True)) for _ in range(TRIES - 1)]
    assert all(0.05 * 2**i <= wait <= 0.1 * 2**i for i, wait in enumerate(waits))
    with pytest.raises(
        ConnectionLost, match=r"didn't answer \(reset\).* may or may not have taken effect$"
    ):
        tries.after(Unanswered("reset", sent=True))


def test_what_never_arrived_was_not_done():
    tries = tries_of(ONCE)
    for _ in range(TRIES - 1):
        assert tries.after(Unanswered("refused", sent=False)) is not None
    with pytest.raises(StoreError, match=r"^the service https://host can't be reached: refused"):
        tries.after(Unanswered("refused", sent=False))


def test_what_must_not_be_repeated_is_asked_once():
    with pytest.raises(ConnectionLost):
        tries_of(ONCE).after(Unanswered("reset", sent=True))
    with pytest.raises(StoreError, match=r"^not now$"):
        tries_of(ONCE).after(problem(503, "store"))
    for kind, status in (("busy", 503), ("draining", 503), ("too-many", 429)):
        assert tries_of(ONCE).after(problem(status, kind)) is not None


def test_a_service_says_how_long_to_wait():
    asked = Response(503, {"retry-after": "3"}, b"")
    assert tries_of(ASK).after(asked) == 3.0
    assert tries_of(ASK).after(Response(503, {"retry-after": "3600"}, b"")) == 5.0
    assert tries_of(ASK).after(Response(503, {"retry-after": "soon"}, b"")) <= 0.1
    for status in (200, 404, 409, 500):
        assert tries_of(ASK).after(Response(status, {}, b"")) is None


# ------------------------------------------------------------------------------ on real sockets


class Relay:
    """Between a client and a service; the answers to the next `losses` requests are lost."""

    def __init__(self, address):
        host, port = address.removeprefix("http://").split(":")
        self._target, self.losses, self.lost = (host, int(port)), 0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            threading.Thread(target=self._answer, args=(near, far), daemon=True).start()

    def _forward(self, near, far):
        try:
            while data := near.recv(65536):
                far.sendall(data)
        except OSError:
            pass
        far.close()

    def _answer(self, near, far):
        try:
            while data := far.recv(65536):
                if self.losses:
                    self.losses, self.lost = self.losses - 1, self.lost + 1
                    break
                near.sendall(data)
        except OSError:
            pass
        near.shutdown(socket.SHUT_RDWR)
        near.close()

    def close(self):
        self._listener.close()


@pytest.fixture
def relay(running, price):
    made = Relay(running.address)
    yield made
    made.close()


def test_answers_that_are_lost_make_no_second_decision(running, price, relay):
    with varts.open("price", store=relay.address, token=running.token) as exp:
        relay.losses = 3
        made = exp.decide()
        assert relay.lost == 3
        assert price.report().frame["pending"].sum() == 1
        relay.losses = 1
        assert exp.reward(made.id, 1.0) is False  # the first try was applied, and its answer lost
        relay.losses = 1
        exp.configure(floor=0.1)
        assert [one.kind for one in price.changes()] == ["create", "configure"]
        assert price.report().frame["n"].sum() == 1


def test_a_change_that_rests_on_something_is_not_repeated(running, price, relay):
    with varts.open("price", store=relay.address, token=running.token) as exp:
        revision = exp.revision
        send, count = exp._connection.send, []

        def counted(request, *given):
            if request.method == "POST":
                count.append(request)
                relay.losses = 1
            return send(request, *given)

        exp._connection.send = counted
        with pytest.raises(ConnectionLost, match="may or may not have taken"):
            exp.stop("12", expected=revision)
        assert len(count) == 1 and relay.lost == 1
        assert price.report().winner == "12"


def test_nobody_there(monkeypatch):
    waits = []
    monkeypatch.setattr(transport.time, "sleep", waits.append)
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(StoreError, match=rf"^the service http://127.0.0.1:{port} can't be reach"):
        varts.open("price", store=f"http://127.0.0.1:{port}")
    assert len(waits) == TRIES - 1


def test_there_is_no_wait_beyond_the_deadline():
    tries = tries_of(ASK, seconds=0.15)
    assert tries.after(Unanswered("reset", sent=True)) <= 0.1
    later = Response(503, {"retry-after": "1"}, problem(503, "busy").body)
    with pytest.raises(StoreError, match=r"^not now$"):
        tries.after(later)
