"""Clients without a token that connect too often, are slow, or send too much."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.serve.processes import serve, wait_until
from varts.serve import server
from varts.serve.settings import Settings
from varts.serve.telemetry import Metrics

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
E = "/v1/experiments/price"


async def answer(scope, receive, send):
    """An application: `/slow` waits until it may answer, `/large` is large, the rest is short."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    if scope["path"] == "/slow":
        while not scope["state"]["go"]:
            await asyncio.sleep(0.01)
    body = bytes(20_000_000) if scope["path"] == "/large" else b"hello"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Local:
    """A server in this process, with an application that needs no store."""

    def __init__(self, app=answer, **settings):
        self.settings, self.metrics = Settings(port=0, drain=1, **settings), Metrics()
        self.server = server.Server(app, self.settings, self.metrics)

    def __enter__(self):
        self._listening = server.listen(self.settings)
        listener = self._listening.__enter__()
        listener.listen()
        self.address = listener.getsockname()
        self._thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]})
        self._thread.start()
        wait_until(lambda: self.server.started)
        self.server.lifespan.state["go"] = False
        return self

    def __exit__(self, *error):
        self.server.lifespan.state["go"] = True
        self.server.should_exit = True
        self._thread.join(30)
        self._listening.__exit__(None, None, None)

    def connect(self, source="127.0.0.1"):
        return socket.create_connection(self.address, timeout=20, source_address=(source, 0))

    def open(self):
        """How many connections the server has."""
        return self.metrics.connections._value.get()

    def closed(self, reason):
        """How many connections it has closed for this reason."""
        return self.metrics.connections_closed.labels(reason)._value.get()


def read_all(connection):
    """Return everything that arrives until the other side closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1_000_000):
            parts.append(part)
    return b"".join(parts)


def get(connection, request=GET, count=1):
    """Send some requests and wait for their responses."""
    connection.sendall(request)
    said = b""
    while said.count(b"hello") < count:
        part = connection.recv(65536)
        assert part, said
        said += part


def is_open(connection):
    """Whether a connection on which nothing has arrived is open."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


@contextlib.contextmanager
def many(count, connect):
    """So many connections, closed at the end."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect()) for _ in range(count)]


# ------------------------------------------------------------------------------ time


@pytest.mark.parametrize("sent", [b"\r\n", b"GET /", b"GET / HTTP/1.1\r\nX: "])
def test_empty_lines_and_parts_of_headers_keep_no_connection_open(sent):
    """After one request, uvicorn's own timer ended with the first byte of whatever followed."""
    with Local(idle_timeout=0.4, request_timeout=0.4) as local, local.connect() as connection:
        get(connection)
        connection.sendall(sent)
        assert read_all(connection) == b""
        assert local.closed("slow") == 1


def test_headers_sent_byte_by_byte_have_one_deadline():
    with Local(request_timeout=0.5) as local, local.connect() as connection:
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in 1000 * b"GET / HTTP/1.1\r\n":
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        assert time.monotonic() - started < 10
        wait_until(lambda: local.open() == 0)


def test_a_client_that_does_not_read_is_disconnected():
    with Local(write_timeout=0.5) as local, local.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: local.closed("stalled") == 1)
        wait_until(lambda: local.open() == 0)
        assert len(read_all(connection)) < 20_000_000


def test_a_client_that_reads_slowly_gets_everything():
    with Local(write_timeout=0.5, idle_timeout=0.5) as local, local.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        size, started = 0, time.monotonic()
        while size < 20_000_000:
            size += len(connection.recv(2_000_000))
            time.sleep(0.1)
        assert time.monotonic() - started > 1  # twice as long as it may read nothing
        assert size > 20_000_000 and local.closed("stalled") == 0


def test_a_large_body_is_sent_in_pieces():
    sent = []

    async def send(message):
        sent.append(message)

    async def body(size):
        async def app(scope, receive, send):
            await send({"type": "http.response.body", "body": bytes(range(256)) * (size // 256)})

        sent.clear()
        await server.in_pieces(app)({}, None, send)
        assert all(one["more_body"] for one in sent[:-1]) and not sent[-1].get("more_body")
        assert b"".join(one["body"] for one in sent) == bytes(range(256)) * (size // 256)
        return [len(one["body"]) for one in sent]

    piece = server.LARGEST_PIECE
    assert asyncio.run(body(piece)) == [piece]
    assert asyncio.run(body(2 * piece)) == [piece, piece]
    assert asyncio.run(body(2 * piece + 256)) == [piece, piece, 256]


# ------------------------------------------------------------------------------ size


@pytest.mark.parametrize(
    "headers",
    [
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 999) for n in range(100)),
        b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101,
    ],
    ids=["many", "a large one", "a long path", "101 short ones"],
)
def test_large_headers_in_one_packet_are_refused(headers):
    with Local() as local, local.connect() as connection:
        connection.sendall(headers + b"Host: localhost\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 431 ")
        assert local.closed("large") == 1


def test_headers_may_be_as_large_as_the_limit():
    with Local(max_header_bytes=1000) as local:
        for size, status in ((900, b"200"), (1001, b"431")):
            with local.connect() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * size + b"\r\n\r\n")
                assert connection.recv(100)[9:12] == status


def test_requests_in_one_packet_are_counted_one_by_one():
    with Local(max_header_bytes=1000) as local, local.connect() as connection:
        request = b"GET / HTTP/1.1\r\nX: " + b"x" * 700 + b"\r\n\r\n"
        get(connection, 5 * request + request[:500], 5)
        get(connection, request[500:])


def test_a_client_may_send_a_few_requests_at_once():
    """uvicorn queued any number of them: 14,000 in one packet took 40 MB."""
    with Local() as local:
        with local.connect() as connection:
            get(connection, server.MOST_PIPELINED * GET, server.MOST_PIPELINED)
        with local.connect() as connection:
            connection.sendall(10_000 * GET)
            assert read_all(connection).count(b"hello") < 100
        assert local.closed("large") == 1


def test_an_endless_body_ends_the_connection():
    with Local() as local, local.connect() as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"186a0\r\n" + bytes(100_000) + b"\r\n"
        with pytest.raises(ConnectionError):
            connection.sendall(3 * server.LARGEST_REQUEST // 100_000 * chunk)


# ------------------------------------------------------------------------------ numbers


def test_the_connection_that_was_idle_longest_makes_room():
    with Local(max_connections=10) as local, local.connect() as first:
        wait_until(lambda: local.open() == 1)
        with many(9, local.connect) as others:
            wait_until(lambda: local.open() == 10)
            get(first)  # so it is now the one that has been idle for the shortest time
            with many(5, local.connect) as more:
                wait_until(lambda: local.closed("displaced") == 5)
                assert [is_open(one) for one in others] == 5 * [False] + 4 * [True]
                assert is_open(first) and all(map(is_open, more))


def test_a_connection_that_waits_for_the_service_is_not_closed_for_another_one():
    slow = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Local(max_connections=3) as local, many(3, local.connect) as waiting:
        for connection in waiting:
            connection.sendall(slow)
        wait_until(lambda: len(local.server.server_state.tasks) == 3)
        with local.connect() as refused:
            said = read_all(refused)
        assert said.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1\r\n" in said
        assert local.closed("refused") == 1
        local.server.lifespan.state["go"] = True
        for connection in waiting:
            connection.close()


def test_a_closed_connection_is_forgotten_although_its_response_is_not_complete():
    """Otherwise it would be closed for every new connection, and make no room."""
    large = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Local(max_connections=3, write_timeout=0.4) as local:
        with local.connect() as connection:
            connection.sendall(2 * large)  # the first response goes on after the connection is lost
            wait_until(lambda: local.closed("stalled") == 1)
            wait_until(lambda: local.open() == 0 and not local.server.server_state.tasks)
        assert not local.server.connections._waiting
        with many(5, local.connect) as later:
            wait_until(lambda: local.closed("displaced") == 2)
            assert [is_open(one) for one in later] == [False, False, True, True, True]


def test_an_upload_that_stalls_makes_room():
    """Its client could be slow on purpose, so that it isn't more important than an idle one."""
    start = b"PUT /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"
    with Local(max_connections=3) as local, many(3, local.connect) as waiting:
        for connection in waiting:
            connection.sendall(start)
        wait_until(lambda: len(local.server.server_state.tasks) == 3)
        with local.connect() as another:
            get(another)
        local.server.lifespan.state["go"] = True


@pytest.mark.parametrize("proxy", [None, "127.0.0.2"])
def test_one_address_has_a_part_of_the_connections_unless_it_is_a_proxy(proxy):
    proxies = () if proxy is None else (proxy,)
    with Local(max_connections_per_address=4, trusted_proxies=proxies) as local:
        with local.connect() as other, many(10, lambda: local.connect("127.0.0.2")) as flood:
            kept = 4 if proxy is None else 10
            wait_until(lambda: local.open() == kept + 1)
            assert [is_open(one) for one in flood] == (10 - kept) * [False] + kept * [True]
            assert is_open(other)
        wait_until(lambda: local.open() == 0)


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("::ffff:192.0.2.1", 5, 0, 0), "192.0.2.1"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"),
        (("10.1.2.3", 5), None),
        (("::ffff:10.1.2.3", 5, 0, 0), None),
    ],
)
def test_addresses_of_one_client_are_counted_together(peer, counted):
    made = server.Server(answer, Settings(trusted_proxies=("10.0.0.0/8",)), Metrics())
    with socket.socket() as made._listener:
        assert made._counted_as(peer) == counted
    with socket.socket(socket.AF_UNIX) as made._listener:
        assert made._counted_as("") is None


def test_as_many_connections_as_files_allow(monkeypatch):
    for files, most in ((1024, 768), (10_000, 4096), (100, 50), (-1, 4096)):
        monkeypatch.setattr(server.resource, "getrlimit", lambda kind, files=files: (files, files))
        assert server.most_connections(4096) == most


# ------------------------------------------------------------------------------ a real service

real = pytest.mark.when_changed("src/varts/serve")
PATHS = (f"{E}/report", f"{E}/history", f"{E}/check", "/experiments/price", "/", "/readyz")
SIGNALS = """
import json, os, signal, sys
files = []

def use_all_files(*_):
    try:
        while True:
            files.append(open(os.devnull))
    except OSError:
        pass

def free_files(*_):
    while files:
        files.pop().close()

def write_modules(*_):
    with open("modules.new", "w") as file:
        json.dump(sorted(sys.modules), file)
    os.rename("modules.new", "modules")

signal.signal(signal.SIGUSR1, use_all_files)
signal.signal(signal.SIGUSR2, free_files)
signal.signal(signal.SIGWINCH, write_modules)
"""


class Real:
    """A service in a process of its own, with an experiment."""

    def __init__(self, process):
        self.process, self.pid = process, process.process.pid
        self.http = httpx.Client(base_url=process.address, headers=process.headers, timeout=30)
        self.browser = httpx.Client(base_url=process.address, timeout=30, follow_redirects=True)
        assert self.browser.get(process.link).status_code == 200
        assert self.http.put(E, json={"arms": ["9", "12"]}).status_code == 201
        host, port = process.address.removeprefix("http://").split(":")
        self.address = host, int(port)

    def connect(self):
        return socket.create_connection(self.address, timeout=20)

    def statuses(self):
        """Of everything that must work, on the clients' open connections or on new ones."""
        return [self._status(path) for path in PATHS]

    def _status(self, path):
        """An idle connection may have been closed for others; then a client tries again."""
        client = self.browser if path in ("/", "/experiments/price") else self.http
        with contextlib.suppress(httpx.ReadError, httpx.RemoteProtocolError):
            return client.get(path).status_code
        return client.get(path).status_code

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@contextlib.contextmanager
def running(folder, *flags, **options):
    with serve(folder, *flags, **options) as process:
        made = Real(process)
        with contextlib.closing(made.http), contextlib.closing(made.browser):
            yield made


@pytest.mark.no_cover
@real
def test_more_idle_connections_than_files_harm_nobody(tmp_path):
    """They left reports and pages at 500 until a restart: a library that was first imported while
    no file could be opened stays broken. /readyz was 200."""
    with running(tmp_path, files=(120, 120)) as service:
        with many(300, service.connect):
            for _ in range(3):
                assert service.statuses() == [200] * len(PATHS)
                assert service.files() < 120
                time.sleep(0.3)
        assert service.statuses() == [200] * len(PATHS)
        assert service.process.log.stat().st_size < 50_000


@pytest.mark.no_cover
@real
def test_clients_that_never_read_harm_nobody(tmp_path):
    requests = 16 * b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    flags = ("--write-timeout", "1")
    with (
        running(tmp_path, *flags, files=(120, 120)) as service,
        many(100, service.connect) as flood,
    ):
        for connection in flood:
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(requests)
        assert service.statuses() == [200] * len(PATHS)
        wait_until(lambda: service.files() < 50, 30)
        assert service.statuses() == [200] * len(PATHS)
        counted = service.http.get("/metrics").text
        assert 'varts_connections_closed_total{reason="stalled"}' in counted


@pytest.mark.no_cover
@real
def test_it_recovers_when_files_are_free_again(tmp_path):
    with running(tmp_path, preamble=SIGNALS, files=(120, 120)) as service:
        assert service.statuses() == [200] * len(PATHS)
        os.kill(service.pid, signal.SIGUSR1)
        wait_until(lambda: service.files() == 120)
        with many(50, service.connect):
            assert service.http.get("/healthz").status_code == 200  # on an open connection
            time.sleep(2)
            assert service.http.get("/healthz").status_code == 200
            os.kill(service.pid, signal.SIGUSR2)
            with httpx.Client(base_url=service.process.address, timeout=30) as another:
                assert another.get("/readyz").status_code == 200
        assert service.statuses() == [200] * len(PATHS)
        assert service.process.log.stat().st_size < 50_000
        assert "a connection couldn't be accepted" in service.process.log.read_text()


@pytest.mark.no_cover
@real
def test_no_request_imports_a_library(tmp_path):
    def modules():
        (tmp_path / "modules").unlink(missing_ok=True)
        os.kill(service.pid, signal.SIGWINCH)
        wait_until((tmp_path / "modules").exists)
        return set(json.loads((tmp_path / "modules").read_text()))

    with serve(tmp_path, preamble=SIGNALS) as process:
        (tmp_path / "modules").unlink(missing_ok=True)
        os.kill(process.process.pid, signal.SIGWINCH)
        wait_until((tmp_path / "modules").exists)
        before = set(json.loads((tmp_path / "modules").read_text()))
        service = Real(process)
        with (
            contextlib.closing(service.http) as http,
            contextlib.closing(service.browser) as browser,
        ):
            features = {"age": "number", "country": ["de", "fr"]}
            http.put("/v1/experiments/context", json={"arms": ["9", "b"], "features": features})
            window = {"window": 3600, "missing": 0, "stop_p_best": 0.9}
            arms = [str(n) for n in range(10)]
            http.put("/v1/experiments/window", json={"arms": arms, **window})
            statuses = set()
            for name in ("price", "context", "window"):
                path = f"/v1/experiments/{name}"
                for n in range(40):
                    context = {"age": n % 7, "country": "de" if n % 2 else "fr"}
                    body = {"context": context} if name == "context" else {}
                    statuses.add(http.put(f"{path}/decisions/{n}", json=body).status_code)
                    reward = http.put(f"{path}/decisions/{n}/reward", json={"value": n / 2})
                    statuses.add(reward.status_code)
                for verb in ("", "/report", "/history", "/check", "/events", "/log"):
                    statuses.add(http.get(path + verb).status_code)
                if name != "window":
                    done = http.post(f"{path}/evaluate", json={"always": "9"})
                    statuses.add(done.status_code)
                for tail in ("", "/what-if"):
                    statuses.add(browser.get(f"/experiments/{name}{tail}").status_code)
            statuses.add(http.get("/v1/experiments/window/reward-by-age").status_code)
            for path in ("/", "/new", "/plan", "/login", "/openapi.json"):
                statuses.add(browser.get(path).status_code)
            statuses.add(http.get("/metrics").status_code)
            assert statuses == {200}
            assert sorted(modules() - before) == []


@pytest.mark.no_cover
@real
def test_it_may_open_as_many_files_as_the_system_allows(tmp_path):
    with running(tmp_path, files=(100, 700)) as service:
        limits = Path(f"/proc/{service.pid}/limits").read_text().split("Max open files")[1]
        assert limits.split()[:2] == ["700", "700"]
        assert "connections=444 files=700" in service.process.log.read_text()
