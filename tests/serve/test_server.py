"""A server in this process: what it prints, how it hangs up, how it ends."""

import os
import re
import signal
import socket
import threading
import time

import httpx
import pytest

from varts.serve import server
from varts.serve.settings import Settings
from varts.serve.tokens import new_token


@pytest.fixture
def during(monkeypatch, capsys):
    """Runs a server, and beside it a function of its address and of what it printed; ends it."""

    def run_during(settings, visit):
        told = []

        def say(*arguments):
            usual(*arguments)
            told.append(capsys.readouterr().out)
            visitor.start()

        def come_and_go():
            try:
                visit(re.search(r" on (?:http://|unix:)(\S+)", told[0])[1], told[0])
            except BaseException as error:
                failures.append(error)
            os.kill(os.getpid(), signal.SIGTERM)

        failures, visitor = [], threading.Thread(target=come_and_go)
        usual = server.say_address
        monkeypatch.setattr(server, "say_address", say)
        server.serve(settings)
        visitor.join()
        if failures:
            raise failures[0]

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield run_during
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_token_and_the_link_that_it_prints_let_one_in(during):
    def visit(address, printed):
        token = re.search(r"token (varts_\S+)", printed)[1]
        link = re.search(r"log in once with (\S+)", printed)[1]
        where = f"http://{address}/v1/experiments"
        assert httpx.get(where).status_code == 401
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(where, headers=headers).json() == {"experiments": [], "next": None}
        with httpx.Client() as browser:
            first = browser.get(link, follow_redirects=True)
            assert first.url.path == "/" and "There are no experiments yet." in first.text
        assert httpx.get(link).status_code == 403

    during(Settings(store="memory://", port=0), visit)


def test_a_token_file_is_read_again_when_told(during, tmp_path):
    (first, entry), (second, other) = (new_token(name, ["read"]) for name in ("one", "two"))
    file = tmp_path / "tokens.toml"
    file.write_text(entry.to_toml())

    def visit(address, printed):
        def codes():
            return [
                httpx.get(
                    f"http://{address}/metrics", headers={"Authorization": f"Bearer {secret}"}
                ).status_code
                for secret in (first, second)
            ]

        def becomes(expected):
            until = time.monotonic() + 5
            while (found := codes()) != expected and time.monotonic() < until:
                time.sleep(0.02)
            return found

        assert "varts_" not in printed
        assert codes() == [200, 401]
        file.write_text(other.to_toml())
        os.kill(os.getpid(), signal.SIGHUP)
        assert becomes([401, 200]) == [401, 200]
        file.write_text("[[token]]")
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(0.1)
        assert codes() == [401, 200]

    during(Settings(store="memory://", port=0, token_file=file), visit)


def test_it_hangs_up_on_those_who_say_nothing_or_too_much(during):
    def visit(address, printed):
        host, port = address.split(":")

        def said_to(*parts):
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                for part in parts:
                    connection.sendall(part)
                found = b""
                while more := connection.recv(65536):
                    found += more
                return found

        assert said_to() == b""
        assert said_to(b"GET / HTTP/1.1\r\nHost: ") == b""
        late = b"POST /logout HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
        assert said_to(late).startswith(b"HTTP/1.1 408 ")
        many = b"GET / HTTP/1.1\r\n" + b"".join(
            b"X-%d: %s\r\n" % (n, b"x" * 999) for n in range(66)
        )
        assert said_to(many).startswith(b"HTTP/1.1 431 ")
        twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert said_to(twice, twice, b"GET").count(b'{"status":"alive"}') == 2

    during(Settings(store="memory://", port=0, request_timeout=0.2), visit)


def test_a_socket_with_a_path_is_for_this_user_and_goes_with_the_service(during, tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))

    def visit(address, printed):
        assert address == str(path) and path.stat().st_mode & 0o777 == 0o600
        transport = httpx.HTTPTransport(uds=address)
        with httpx.Client(transport=transport) as http:
            assert http.get("http://localhost/readyz").json() == {"status": "ready"}
            taken = pytest.raises(OSError, match="can't listen on")
            with taken, server.listen(Settings(uds=path)):
                pass

    during(Settings(store="memory://", uds=path, no_auth=True), visit)
    assert not path.exists()
