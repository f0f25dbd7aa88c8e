"""Log lines: how they look, and how many of them there may be."""

import io
import json
import logging

import pytest

from varts.serve import telemetry
from varts.serve.telemetry import LimitedHandler, Lines


class Log:
    """A log with a clock of its own."""

    def __init__(self):
        self.now, self._stream = 0.0, io.StringIO()
        self.handler = LimitedHandler(self._stream, lambda: self.now)
        self.handler.setFormatter(Lines("json"))

    def write(self, event, level=logging.ERROR, error=None, **fields):
        info = error and (type(error), error, None)
        record = logging.LogRecord("varts.serve", level, __file__, 1, event, (), info)
        record.fields = fields
        self.handler.handle(record)

    def lines(self):
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def events(self):
        return [line["event"] for line in self.lines()]


def test_lines_of_one_kind_are_limited_and_the_others_counted():
    log = Log()
    for n in range(10_000):
        log.write("store", route="/a", request=str(n))
    log.write("store", route="/b")
    assert len(log.lines()) == telemetry.MOST_LINES + 1
    log.now += telemetry.WINDOW_SECONDS
    log.write("tokens read again", logging.INFO)
    *_, left_out, last = log.lines()
    assert left_out["event"] == "log lines left out" and left_out["level"] == "error"
    assert left_out["lines"] == 10_000 - telemetry.MOST_LINES
    assert (left_out["of"], left_out["route"]) == ("store", "/a")
    assert last["event"] == "tokens read again"
    log.write("store", route="/a")
    assert log.events()[-1] == "store"


def test_errors_of_different_kinds_do_not_hide_each_other():
    log = Log()
    for n in range(200):
        log.write("internal", error=ValueError(str(n)), route="/a")
    log.write("internal", error=TypeError("rare"), route="/a")
    assert "rare" in log.lines()[-1]["error"]


def test_requests_with_a_token_and_changes_are_always_written():
    log = Log()
    count = 2 * telemetry.MOST_REQUESTS
    for _ in range(count):
        log.write("request", logging.INFO, token="shop", status=200, route="/a")
        log.write("change", logging.INFO, token="shop")
        log.write("request", logging.INFO, token=None, status=401, route="/a")
    tokens = [line.get("token") for line in log.lines() if line["event"] == "request"]
    assert tokens.count("shop") == log.events().count("change") == count
    assert tokens.count(None) == telemetry.MOST_REQUESTS


def test_messages_that_are_never_the_same_are_limited_too():
    log = Log()
    for n in range(3 * telemetry.MOST_KINDS):
        log.write(f"socket {n}\nfailed")
    assert len(log.lines()) == telemetry.MOST_KINDS + telemetry.MOST_LINES


def test_the_lines_that_were_left_out_are_counted_for_each_window():
    log = Log()
    for _ in range(3):
        for _ in range(telemetry.MOST_LINES + 5):
            log.write("store")
        log.now += telemetry.WINDOW_SECONDS + 1
    log.write("end", logging.INFO)
    left_out = [line["lines"] for line in log.lines() if line["event"] == "log lines left out"]
    assert left_out == [5, 5, 5]


@pytest.mark.parametrize("name", ["asyncio", "uvicorn.error", "concurrent.futures", "sqlalchemy"])
def test_warnings_of_libraries_are_limited(name):
    """asyncio wrote one for each connection that it couldn't accept: 448 MB in three minutes."""
    found = logging.getLogger(name)
    before, stream = (found.handlers, found.propagate, found.level), io.StringIO()
    try:
        telemetry.begin_logging("json", stream)
        for n in range(1_000):
            found.error("socket.accept() out of system resource\nsocket: %d", n)
        assert len(stream.getvalue().splitlines()) == telemetry.MOST_LINES
        assert json.loads(stream.getvalue().splitlines()[3])["event"].endswith("socket: 3")
    finally:
        found.handlers, found.propagate = before[:2]
        found.setLevel(before[2])


def test_the_service_limits_the_lines_about_requests_without_a_token(serving, monkeypatch):
    monkeypatch.setattr(telemetry, "MOST_REQUESTS", 5)
    for _ in range(8):
        serving.ask("GET", "/v1/experiments", token=None)
        serving.ask("GET", "/v1/experiments")
    statuses = [line["status"] for line in serving.log if line["event"] == "request"]
    assert (statuses.count(200), len(statuses)) == (8, 13)
