"""The service itself, over HTTP: is it alive, what does it count, who has logged in?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from varts.live import StoreError
from varts.serve import metrics
from varts.serve.bodies import Health
from varts.serve.calls import Call, Reply
from varts.serve.problems import Problem
from varts.serve.service import Service
from varts.serve.standings import Standing

HOME = "/v1/experiments"  # where a browser goes that has logged in


async def tell_alive(call: Call) -> Reply:
    """Say that the service is alive; asks no store."""
    return Reply(Health(status="alive"))


async def tell_ready(call: Call) -> Reply:
    """Say whether the service can be used."""
    if call.service.draining:
        return Reply(Health(status="draining"), 503)
    try:
        await call.service.read(call.service.store.names)
    except (StoreError, Problem):
        return Reply(Health(status="store"), 503)
    return Reply(Health(status="ready"))


async def show_metrics(call: Call) -> Reply:
    """What the service counts, for Prometheus."""
    call.service.count_waiting()
    standings: list[Standing] = []
    with suppress(StoreError, Problem):  # what the service has counted is told without its store
        standings = await call.service.read(_running, call.service, call.caller.covers)
    return Reply(call.service.metrics.text(standings), media_type=metrics.MEDIA_TYPE)


def _running(service: Service, covers: Callable[[str], bool]) -> list[Standing]:
    """Where the experiments that are not stopped stand."""
    return [one for one in service.standings.walk(covers) if not one.state.config.stopped]


async def follow_link(call: Call) -> Reply:
    """Begin a browser session with the one-time link that `varts serve` prints."""
    admission = call.admission
    token = None
    if admission.tokens is not None:
        token = admission.sessions.spend_link(call.query.once, admission.tokens)
    if token is None:
        raise Problem("forbidden", "the link was used before, or is none of this service")
    return _see(HOME, admission.sessions.header(token))


async def log_in(call: Call) -> Reply:
    """Begin a browser session with a token."""
    admission = call.admission
    token = None if admission.tokens is None else admission.tokens.find(call.body.token)
    if token is None or token.public:
        raise Problem("forbidden", "this is no token that can log in")
    return _see(HOME, admission.sessions.header(token))


async def log_out(call: Call) -> Reply:
    """End the browser session."""
    return _see(HOME, call.admission.sessions.ending())


def _see(path: str, cookie: str) -> Reply:
    return Reply(status=303, headers={"location": path, "set-cookie": cookie})
