"""The real thing: processes, sockets, signals, slow and greedy clients, the command line."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

import varts
from tests.interpreter import python
from tests.serve.processes import serve, wait_until
from varts._validation import needs_extra
from varts.serve.server import listen
from varts.serve.settings import Settings
from varts.serve.tokens import read_tokens

pytestmark = [pytest.mark.no_cover, pytest.mark.when_changed("src/varts/serve")]

E = "/v1/experiments/price"


def client(process):
    return httpx.Client(base_url=process.address, headers=process.headers, timeout=30)


def test_sigterm_answers_what_was_taken_and_ends_with_0(tmp_path):
    """Clients at work while it is told to end: nothing that was acknowledged is lost."""
    acknowledged, unexpected = {}, []

    def work(process, number):
        with client(process) as http:
            for n in range(100_000):
                id = f"{number}-{n}"
                try:
                    made = http.put(f"{E}/decisions/{id}")
                    sent = http.put(f"{E}/decisions/{id}/reward", json={"value": n})
                except httpx.TransportError:
                    return  # it takes no more connections
                for answer in (made, sent):
                    if answer.status_code not in (200, 503):
                        unexpected.append(answer.text)
                if made.status_code == sent.status_code == 200:
                    acknowledged[id] = made.json()["arm"], float(n)
                if sent.status_code == 503:
                    return

    with serve(tmp_path, "--log", "json") as process:
        with client(process) as http:
            assert http.put(E, json={"arms": ["9", "12"]}).status_code == 201
        threads = [threading.Thread(target=work, args=(process, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(acknowledged) > 50)
        started = time.monotonic()
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(10) == 0
        assert time.monotonic() - started < 5
        for thread in threads:
            thread.join()
        lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert unexpected == [] and len(acknowledged) > 50
    assert {line["level"] for line in lines} == {"info"}
    with varts.open("price", store=f"sqlite:///{tmp_path / 'varts.db'}") as exp:
        assert exp.verify(replay=True).ok
        exp.export(tmp_path / "log.ndjson")
    rows = map(json.loads, (tmp_path / "log.ndjson").read_text().splitlines())
    logged = {row["id"]: (row["arm"], row["reward"]) for row in rows}
    assert {id: logged.get(id) for id in acknowledged} == acknowledged


def test_ctrl_c_ends_it_too(tmp_path):
    with serve(tmp_path) as process:
        process.process.send_signal(signal.SIGINT)
        assert process.process.wait(10) == 0


def new_token(tmp_path, *arguments):
    """What the command prints: an entry for the file, and the token."""
    command = [sys.executable, "-c", "from varts.cli import main; main()", "token", "new"]
    made = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    with (tmp_path / "tokens.toml").open("a") as file:
        file.write(made.stdout)
    return made.stderr.split()[-1]


def test_sighup_reads_the_tokens_again_and_keeps_them_if_they_are_wrong(tmp_path):
    first = new_token(tmp_path, "first", "--scopes", "read", "--expires", "90d")
    with serve(tmp_path, "--token-file", "tokens.toml", "--log", "json") as process:

        def status(token):
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.get(f"{process.address}/v1/experiments", headers=headers).status_code

        def lines():
            return process.log.read_text()

        assert status(first) == 200
        second = new_token(tmp_path, "second", "--scopes", "read,decide", "--rate", "50")
        assert status(second) == 401
        process.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "tokens read again" in lines())
        assert status(first) == status(second) == 200
        (tmp_path / "tokens.toml").write_text("nonsense")
        process.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "tokens kept as they were" in lines())
        assert status(first) == status(second) == 200
        assert first not in lines() and second not in lines()


def test_answers_are_sent_at_once():
    """asyncio switches Nagle's algorithm off for sockets that say they are TCP, and for no others:
    with it, the second half of every answer waits 40 ms for a receipt of the first."""
    with listen(Settings(port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        listener.listen()

        async def nodelay():
            taken = asyncio.get_running_loop().create_future()
            server = await asyncio.start_server(lambda r, w: taken.set_result(w), sock=listener)
            async with server:
                _, writer = await asyncio.open_connection(*listener.getsockname())
                accepted = await taken
                found = accepted.get_extra_info("socket").getsockopt(
                    socket.IPPROTO_TCP, socket.TCP_NODELAY
                )
                writer.close()
                accepted.close()
                return found

        assert asyncio.run(nodelay())


def test_a_unix_socket(tmp_path):
    with serve(tmp_path, "--uds", "socket", "--no-auth") as process:
        assert process.address == "unix:socket"
        transport = httpx.HTTPTransport(uds=str(tmp_path / "socket"))
        with httpx.Client(transport=transport, base_url="http://localhost") as http:
            assert http.put(E, json={"arms": ["a"]}).status_code == 201
        assert (tmp_path / "socket").stat().st_mode & 0o777 == 0o600
        process.process.kill()
        process.process.wait()
    assert (tmp_path / "socket").exists()
    with serve(
        tmp_path, "--uds", "socket", "--no-auth"
    ) as process:  # what was left is no hindrance
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(10) == 0
    assert not (tmp_path / "socket").exists()


# ------------------------------------------------------------------------------ bad clients


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """A service that waits for half a second."""
    folder = tmp_path_factory.mktemp("hasty")
    with serve(folder, "--request-timeout", "0.5") as process:
        with client(process) as http:
            assert http.put(E, json={"arms": ["a", "b"]}).status_code == 201
        yield process


def connect(process):
    host, port = process.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def read_all(connection):
    """What comes until the other side hangs up."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


HEAD = "PUT /v1/experiments/price/decisions/x HTTP/1.1\r\nHost: localhost\r\n"


def start_of_body(process):
    json_body = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    return f"{HEAD}Authorization: Bearer {process.token}\r\n{json_body}{{"


@pytest.mark.parametrize("what", ["nothing", "half a header", "a second half", "half a body"])
def test_who_sends_nothing_more_is_hung_up_on(hasty, what):
    with connect(hasty) as connection:
        started = time.monotonic()
        if what == "a second half":
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said = b""
            while b"alive" not in said:
                said += connection.recv(65536)
        if what in ("half a header", "a second half"):
            connection.sendall(HEAD.encode())
        if what == "half a body":
            connection.sendall(start_of_body(hasty).encode())
        said = read_all(connection)
        assert 0.3 < time.monotonic() - started < 4
    assert said.startswith(b"HTTP/1.1 408") if what == "half a body" else said == b""


def test_slow_clients_do_not_keep_others_waiting(hasty):
    slow = [connect(hasty) for _ in range(100)]
    for connection in slow:
        connection.sendall(start_of_body(hasty).encode())
    with client(hasty) as http:
        started = time.monotonic()
        assert http.put(f"{E}/decisions/quick").status_code == 200
        assert time.monotonic() - started < 0.4
    for connection in slow:
        assert read_all(connection).startswith(b"HTTP/1.1 408")
        connection.close()


@pytest.mark.parametrize("announced", [True, False])
def test_50_mb_are_refused_without_being_kept(hasty, announced):
    def body():
        for _ in range(800):
            yield b" " * 65536

    content = b" " * 52_428_800 if announced else body()
    headers = {"Content-Type": "application/json"}
    before = memory(hasty)
    with client(hasty) as http:
        try:
            answer = http.put(f"{E}/decisions/x", content=content, headers=headers)
            assert answer.status_code == 413 and "1,000,000 bytes" in answer.json()["detail"]
        except httpx.TransportError:
            pass  # it hung up while we were still sending
        assert http.put(f"{E}/decisions/after").status_code == 200
    assert memory(hasty) - before < 20e6


def memory(process):
    """Bytes that it has in memory."""
    with open(f"/proc/{process.process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_a_hundred_kilobytes_of_headers_are_refused(hasty):
    with connect(hasty) as connection:
        try:
            for n in range(130):
                connection.sendall(f"{HEAD if n == 0 else ''}X-{n}: {'x' * 1000}\r\n".encode())
            said = read_all(connection)
        except ConnectionError:
            return  # it hung up while we were still sending
        assert said.startswith(b"HTTP/1.1 431") or said == b""


# ------------------------------------------------------------------------------ the command line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "token_file must be given before other machines"),
        (["--port", "x"], "--port must be a whole number, got 'x'"),
        (["--port", "70000"], "port must be a whole number >= 0 and <= 65535, got 70000"),
        (["--log", "xml"], "unknown log 'xml'; known: json, text"),
        (["--token-file", "gone.toml"], "gone.toml: no such file or directory"),
        (["--store-file", "gone"], "gone: no such file or directory"),
        (["--store", "mysql://x"], "store must be on sqlite, postgresql or memory"),
        (["--drain", "-1"], "drain must be finite and >= 0, got -1"),
        (["--max-connections", "0"], "max_connections must be a whole number >= 1, got 0"),
        (["--idle-timeout", "0"], "idle_timeout must be finite and > 0 and <= 3600, got 0"),
        (["--max-header-bytes", "99"], "max_header_bytes must be a whole number >= 1000, got 99"),
        (["--no-auth", "--token-file", "t"], "no_auth must not be given with a token_file"),
        (["price"], "unexpected argument 'price'; see varts serve --help"),
    ],
)
def test_mistakes_are_one_sentence(call, arguments, sentence):
    code, out, err = call("serve", *arguments)
    assert (code, out) == (4 if "no such file" in sentence else 2, "")
    assert sentence in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["shop"], "--scopes"),
        (["shop", "--scopes", "decied"], "unknown scope 'decied'; did you mean 'decide'"),
        (
            ["shop", "--scopes", ","],
            "scopes must be one or more of read, decide, reward, admin, got none",
        ),
        (["a b", "--scopes", "read"], "name must be letters, digits, dots and dashes"),
        (["shop", "--scopes", "read", "--expires", "soon"], "expires must be seconds or a time"),
        (["shop", "--scopes", "read", "--expires", "0d"], "expires must be finite and > 0"),
        (["shop", "--scopes", "read", "--rate", "0"], "rate must be finite and > 0, got 0"),
        (["shop", "--scopes", "decide", "--public"], "must have only the scope decide"),
    ],
)
def test_mistakes_about_tokens_are_one_sentence(call, arguments, sentence):
    code, out, err = call("token", "new", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err and err.count("\n") == 1


def test_a_new_token_is_shown_once_and_kept_as_a_hash(call, tmp_path):
    arguments = ("--public", "--origin", "https://a.example", "--origin", "https://b.example")
    code, out, err = call("token", "new", "page", "--scopes", "decide", *arguments)
    secret = err.split()[-1]
    assert code == 0 and secret not in out
    (tmp_path / "tokens.toml").write_text(out)
    found = read_tokens(tmp_path / "tokens.toml").find(secret)
    assert found.origins == ("https://a.example", "https://b.example") and found.rate == 10


def test_a_port_that_is_taken_is_said_so(call):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = call("serve", "--port", port, "--store", "memory://")
    assert (code, out) == (6, "")
    assert err == f"varts: can't listen on port {port} of 127.0.0.1: address already in use\n"


def test_nothing_of_it_is_loaded_until_it_is_asked_for():
    program = """
        import json, sys
        from varts.cli import load_commands
        load_commands()
        import varts.live
        names = ["starlette", "msgspec", "uvicorn", "prometheus_client", "varts.serve"]
        print(json.dumps([name for name in names if name in sys.modules]))
    """
    assert python(program) == []


def test_a_missing_extra_is_one_sentence(tmp_path):
    program = "import sys; sys.modules['uvicorn'] = None; from varts.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "--store", "memory://"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    sentence = f"varts: {needs_extra('varts serve', 'serve')} (uvicorn is"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{sentence} missing)\n"


def test_a_read_only_service_beside_one_that_writes(tmp_path):
    with serve(tmp_path) as writer, serve(tmp_path, "--read-only") as board:
        with client(writer) as http:
            http.put(E, json={"arms": ["9", "12"]})
            http.put(f"{E}/decisions/a")
        with client(board) as http:
            assert http.get(E).json()["name"] == "price"
            assert http.get("/v1/experiments").json()["experiments"][0]["pending"] == 1
            refused = http.put(f"{E}/decisions/b")
            assert (refused.status_code, refused.json()["type"]) == (403, "/problems/read-only")
        with client(writer) as http:
            assert http.put(f"{E}/decisions/a/reward", json={"value": 1}).status_code == 200
        with client(board) as http:
            assert http.get(f"{E}/decisions/a").json()["reward"] == 1
