"""Lost connections, busy services and wrong addresses."""

import socket
import threading
import time

import pytest

import varts
from tests.interpreter import python
from varts.client import transport as connection
from varts.client.address import Address, read_address, read_token
from varts.client.transport import TRIES, Request, Response, Tries, Unanswered
from varts.live import ConnectionLost, StoreError

ASK = Request(method="PUT", path="/v1/experiments/price/decisions/d")
ONCE = Request(method="POST", path="/v1/experiments/price/forget", repeatable=False)


def problem(status, kind):
    body = f'{{"type": "/problems/{kind}", "detail": "not now"}}'
    return Response(status, {"retry-after": "0"}, body.encode())


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
    assert read_address(text) == Address(url)
    assert read_address(f"{text}?timeout=2.5") == Address(url, 2.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("http://varts.example.com", r"^store must be https://host, or http:// on this machine"),
        ("http://10.0.0.1:8321", r"^store must be https://host, .* got 'http://10.0.0.1:8321'$"),
        ("https://", r"^store must be https://host"),
        ("https://host:port", r"^store must be https://host, .* cannot be read$"),
        ("https://host?timeout=0", r"^timeout of the store must be finite and > 0 .*, got 0.0$"),
        ("https://host?timeout=soon", r"^timeout of the store must be .*, got 'soon'$"),
        ("https://host?retries=3", r"^store must have no option but timeout, got 'retries'$"),
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


def test_a_service_needs_httpx_and_a_database_does_not():
    program = """
        import json, sys
        sys.modules["httpx"] = None
        import varts
        varts.open("price", ["9"], store="memory://").decide()
        try:
            varts.open("price", store="https://host")
        except ImportError as error:
            print(json.dumps(str(error)))
    """
    assert python(program) == "a service as a store needs httpx: pip install 'varts[client]'"


# ------------------------------------------------------------------------------ when to ask again


def test_what_may_be_repeated_is_after_longer_and_longer_waits():
    tries = Tries(ASK, "https://host")
    waits = [tries.after(Unanswered("reset", sent=True)) for _ in range(TRIES - 1)]
    assert all(0.05 * 2**i <= wait <= 0.1 * 2**i for i, wait in enumerate(waits))
    with pytest.raises(ConnectionLost, match=r"has not answered \(reset\).* may have been done"):
        tries.after(Unanswered("reset", sent=True))


def test_what_never_arrived_was_not_done():
    tries = Tries(ONCE, "https://host")
    for _ in range(TRIES - 1):
        assert tries.after(Unanswered("refused", sent=False)) is not None
    with pytest.raises(StoreError, match=r"^the service https://host cannot be reached: refused"):
        tries.after(Unanswered("refused", sent=False))


def test_what_must_not_be_repeated_is_asked_once():
    with pytest.raises(ConnectionLost):
        Tries(ONCE, "https://host").after(Unanswered("reset", sent=True))
    with pytest.raises(StoreError, match=r"^not now$"):
        Tries(ONCE, "https://host").after(problem(503, "store"))
    for kind, status in (("busy", 503), ("draining", 503), ("too-many", 429)):
        assert Tries(ONCE, "https://host").after(problem(status, kind)) is not None


def test_a_service_says_how_long_to_wait():
    asked = Response(503, {"retry-after": "3"}, b"")
    assert Tries(ASK, "").after(asked) == 3.0
    assert Tries(ASK, "").after(Response(503, {"retry-after": "3600"}, b"")) == 5.0
    assert Tries(ASK, "").after(Response(503, {"retry-after": "soon"}, b"")) <= 0.1
    for status in (200, 404, 409, 500):
        assert Tries(ASK, "").after(Response(status, {}, b"")) is None


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

        def counted(request):
            if request.method == "POST":
                count.append(request)
                relay.losses = 1
            return send(request)

        exp._connection.send = counted
        with pytest.raises(ConnectionLost, match="may have been done or not"):
            exp.stop("12", expected=revision)
        assert len(count) == 1 and relay.lost == 1
        assert price.report().winner == "12"


def test_nobody_there(monkeypatch):
    waits = []
    monkeypatch.setattr(connection.time, "sleep", waits.append)
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(StoreError, match=rf"^the service http://127.0.0.1:{port} cannot be reach"):
        varts.open("price", store=f"http://127.0.0.1:{port}")
    assert len(waits) == TRIES - 1


def test_a_service_that_is_silent_is_given_up(monkeypatch):
    monkeypatch.setattr(connection.time, "sleep", lambda seconds: None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}?timeout=0.1"
        begun = time.monotonic()
        with pytest.raises(ConnectionLost, match="has not answered"):
            varts.open("price", store=address)
    assert time.monotonic() - begun < 5


def test_what_is_no_service_is_told_apart():
    """Some web server that answers with a page."""

    def serve(listener):
        near, _ = listener.accept()
        near.recv(65536)
        near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
        near.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        with pytest.raises(StoreError, match=r"^the service answered 200 without saying why"):
            varts.open("price", store=f"http://127.0.0.1:{listener.getsockname()[1]}")
