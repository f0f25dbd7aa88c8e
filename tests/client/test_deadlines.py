"""A call is over at its deadline, and whatever a service answers is read or refused."""

import asyncio
import json
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varts
from tests.client.hostile import BROKEN, HANGING, Hostile, endless, fixed, raw, silent
from tests.interpreter import python
from varts._validation import needs_extra
from varts.client import MalformedResponse, open_async, transport
from varts.live import ConnectionLost, LiveError, StoreError

WIDE = 8.0  # seconds; far more than the deadlines below, and far less than a client used to hang
CALLS = {
    "look": lambda exp: exp.look(),
    "decide": lambda exp: exp.decide(default=None),
    "reward": lambda exp: exp.reward("d", 1.0),
    "amend": lambda exp: exp.amend("d", 1.0),
    "void": lambda exp: exp.void("d"),
    "report": lambda exp: exp.report(),
    "history": lambda exp: exp.history(),
    "decision": lambda exp: exp.decision("d"),
    "changes": lambda exp: exp.changes(),
    "check": lambda exp: exp.check(),
    "reward_by_age": lambda exp: exp.reward_by_age(),
    "evaluate": lambda exp: exp.evaluate(varts.always("9")),
    "export": lambda exp: exp.export("log.ndjson"),
    "record_fallbacks": lambda exp: exp.record_fallbacks([("d", "9", None)]),
    "stop": lambda exp: exp.stop(),
    "configure": lambda exp: exp.configure(floor=0.1),
    "forget_unit": lambda exp: exp.forget_unit("ann"),
    "delete": lambda exp: exp.delete("price", export=None),
}


def opened(server, **more):
    """An experiment whose service never answered; it has no default from then on."""
    exp = varts.open("price", store=server.address, default="9", deadline=0.2)
    exp._verbs.default = None
    exp._deadline = more.get("deadline")
    return exp


# ------------------------------------------------------------------------------ deadlines


@pytest.mark.parametrize("how", HANGING)
def test_a_hanging_service_is_given_up_at_the_deadline(how):
    with Hostile(HANGING[how]) as server:
        begun = time.monotonic()
        with pytest.raises(StoreError, match=r"deadline of 0.4 s passed|more than [\d,]+ bytes"):
            varts.open("price", store=server.address, deadline=0.4)
        assert 0.05 < time.monotonic() - begun < WIDE


@pytest.mark.parametrize("how", HANGING)
def test_so_it_is_in_an_event_loop(how):
    async def visit():
        with pytest.raises(StoreError, match=r"deadline of 0.4 s passed|more than [\d,]+ bytes"):
            await open_async("price", store=server.address, deadline=timedelta(seconds=0.4))

    with Hostile(HANGING[how]) as server:
        begun = time.monotonic()
        asyncio.run(visit())
        assert time.monotonic() - begun < WIDE


def test_a_long_request_that_nobody_reads_is_given_up(monkeypatch):
    """Megabytes fit into the buffers of a connection; the request must be longer."""
    monkeypatch.setattr(transport, "MOST_BYTES", 40_000_000)
    monkeypatch.setattr(transport, "MOST_ITEMS", 1_000_000)
    ids = [f"{i:0250}" for i in range(60_000)]
    with Hostile(HANGING["never reads"]) as server, opened(server) as exp:
        begun = time.monotonic()
        with pytest.raises(ConnectionLost, match="deadline of 3 s passed"):
            exp.decide_many(ids=ids, deadline="3s")
        assert time.monotonic() - begun < WIDE + 3


def test_deciding_has_one_second_by_default():
    with Hostile(silent) as server, opened(server) as exp:
        begun = time.monotonic()
        with pytest.raises(ConnectionLost, match="deadline of 1 s passed"):
            exp.decide()
        assert 0.5 < time.monotonic() - begun < WIDE
        with pytest.raises(ConnectionLost, match=r"deadline of 0\.2 s passed"):
            exp.report(deadline=0.2)


def test_retries_are_over_at_the_deadline():
    """A service that is always busy, and wants to be asked again later."""
    busy = fixed(b'{"type": "/problems/busy", "detail": "too busy"}', 503, b"Retry-After: 1\r\n")
    with Hostile(busy) as server, opened(server) as exp:
        begun, before = time.monotonic(), len(server.requests)
        with pytest.raises(StoreError, match=r"^too busy$"):
            exp.report(deadline=0.5)
        assert time.monotonic() - begun < WIDE
        assert len(server.requests) == before + 1  # there was no time for the second one


def test_a_name_that_nobody_looks_up_is_given_up(monkeypatch):
    def never(*arguments, **named):
        time.sleep(3)
        raise OSError

    monkeypatch.setattr(transport.socket, "getaddrinfo", never)
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"can't be reached: the deadline of 0\.2 s passed"):
        varts.open("price", store="https://varts.invalid", deadline=0.2)
    assert time.monotonic() - begun < 2.5


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), "soon", True, 1e9, None.__class__])
def test_a_deadline_is_a_duration(wrong):
    with pytest.raises((TypeError, ValueError), match=r"^deadline must be"):
        varts.open("price", store="https://varts.invalid", deadline=wrong)


def test_a_database_has_no_deadline():
    for name, value in (("deadline", 1.0), ("default", "9")):
        with pytest.raises(ValueError, match=f"^{name} must be left out for a database"):
            varts.open("price", ["9"], store="memory://", **{name: value})


# ------------------------------------------------------------------------------ malformed responses


@pytest.mark.parametrize("how", BROKEN)
def test_a_malformed_response_is_a_live_error(how):
    with Hostile(BROKEN[how]) as server:
        with pytest.raises(LiveError):
            varts.open("price", store=server.address, deadline=0.3)
        with opened(server) as exp, pytest.raises(LiveError):
            exp.decide(deadline=0.3)


@pytest.mark.parametrize("how", BROKEN)
def test_so_it_is_in_an_event_loop_too(how):
    async def visit():
        with pytest.raises(LiveError):
            await open_async("price", store=server.address, deadline=0.3)

    with Hostile(BROKEN[how]) as server:
        asyncio.run(visit())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("body", [b"{}", b"[]", b"7", b'{"results": [{}], "status": 3, "arms": 1}'])
def test_every_verb_refuses_what_it_cannot_read(call, body, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = r"^the response isn't one of a varts service"
    with (
        Hostile(fixed(body)) as server,
        opened(server) as exp,
        pytest.raises(MalformedResponse, match=said),
    ):
        CALLS[call](exp)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([])


def places(value, path=()):
    """The path to every part of plain values."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for at in range(len(value)):
            yield from places(value[at], (*path, at))


def replaced(value, path, new):
    """Plain values with one part replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.fixture(scope="module")
def bodies():
    """Real results of every kind, as plain values, with what reads them."""
    exp = varts.open(
        "price", ["9", "12"], store="memory://", metrics=["refund"], holdout=0.4, control="9"
    )
    for i, made in enumerate(exp.decide_many([f"unit {i}" for i in range(120)])):
        exp.reward(made.id, float(made.arm) + i % 5, refund=i % 2)
    found = exp.report(), exp.history(2), exp.check(), exp.evaluate(varts.always("9"))
    return [(json.loads(json.dumps(one.to_dict())), type(one).from_dict) for one in found]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_part_of_a_response_may_be_anything(bodies, data):
    body, read = data.draw(st.sampled_from(bodies))
    path = data.draw(st.sampled_from([*places(body)]))
    wrong = replaced(body, path, data.draw(LEAVES))
    response = transport.Response(200, {}, json.dumps(wrong).encode())
    with suppress(LiveError):
        response.read(read)


def test_a_response_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(transport, "MOST_RESPONSE_BYTES", 1_000_000)
    with Hostile(endless) as server:
        with pytest.raises(MalformedResponse, match=r"it has more than 1,000,000 bytes$"):
            varts.open("price", store=server.address)
        monkeypatch.setattr(transport, "MOST_FILE_BYTES", 1_000_000)
        connection = transport.Connection(server.address, None)
        with pytest.raises(MalformedResponse, match=r"it has more than 1,000,000 bytes$"):
            connection.run(ask_for_a_file(), 10.0)
        connection.close()


def ask_for_a_file():
    with TemporaryDirectory() as folder:
        yield transport.Request(method="GET", path="/", into=Path(folder) / "log")


@pytest.mark.parametrize("status", [404, 409, 500, 503])
def test_control_characters_of_a_service_do_not_reach_the_terminal(status):
    kind = {404: "unknown-experiment", 409: "differs", 500: "internal", 503: "store"}[status]
    detail = {"type": f"/problems/{kind}", "detail": "\x1b[2Jred\r\n\u202ebackwards" + "x" * 9999}
    answer = fixed(json.dumps(detail).encode(), status)
    with Hostile(answer) as server, pytest.raises(LiveError) as refused:
        varts.open("price", store=server.address, deadline=1.0)
    text = str(refused.value)
    assert text.isprintable() and r"\u001b[2Jred\r\n\u202ebackwards" in text and len(text) < 1200


def test_reasons_of_other_failures_are_printable_too():
    answer = raw(b"HTTP/1.1 200 \x1b[2J\x07\r\nBad\x1b[2JHeader: \x1b\r\n\r\n")
    with Hostile(answer) as server, pytest.raises(LiveError) as refused:
        varts.open("price", store=server.address, deadline=0.2)
    assert str(refused.value).isprintable()


# ------------------------------------------------------------------------------ proxies


def test_this_machine_is_reached_without_a_proxy(running, monkeypatch):
    with Hostile(fixed(b"{}")) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
            monkeypatch.setenv(name.lower(), proxy.address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with running.open("price", ["9", "12"]) as exp:
            assert exp.decide().arm in ("9", "12")

        async def visit():
            given = {"store": running.address, "token": running.token}
            async with await open_async("price", **given) as exp:
                await exp.decide()

        asyncio.run(visit())
        assert proxy.connections == 0


def test_a_proxy_gets_no_token(monkeypatch):
    """It is asked for a tunnel, and what goes through that is encrypted."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Hostile(fixed(b"no", 403)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address.replace("http://", "http://me:secret@"))
        with pytest.raises(StoreError, match="403"):
            varts.open("price", store="https://varts.invalid", token="varts_token", deadline=0.5)
        head, headers, body = proxy.requests[0]
    assert head.startswith(b"CONNECT varts.invalid:443 ")
    assert headers[b"proxy-authorization"].startswith(b"basic ")
    assert b"varts_token" not in head and body == b""


# ------------------------------------------------------------------------------ imports


def test_a_database_needs_no_client(tmp_path):
    program = """
        import json, sys
        import varts
        url = "sqlite:///" + sys.argv[1]
        varts.open("price", ["9"], store=url).decide()
        from varts.cli import main
        try:
            main(["experiment", "decide", "price", "--store", url])
        except SystemExit:
            pass
        unwanted = ("varts.client", "httpcore", "httpx")
        print(json.dumps([name for name in sys.modules if name.startswith(unwanted)]))
    """
    assert python(program, str(tmp_path / "varts.db")) == []


def test_a_service_needs_httpcore():
    program = """
        import json, sys
        sys.modules["httpcore"] = None
        import varts
        try:
            varts.open("price", store="https://host")
        except ImportError as error:
            print(json.dumps(str(error)))
    """
    assert python(program) == needs_extra("a service as a store", "client")
