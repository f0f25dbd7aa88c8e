"""The service itself, over HTTP: is it alive, what does it count?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from varts.live import StoreError
from varts.serve import telemetry
from varts.serve.calls import Call, Reply
from varts.serve.errors import Problem
from varts.serve.runtime import Service
from varts.serve.schemas import Health
from varts.serve.standings import Standing


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
    return Reply(call.service.metrics.text(standings), media_type=telemetry.MEDIA_TYPE)


def _running(service: Service, covers: Callable[[str], bool]) -> list[Standing]:
    """Where the experiments that are not stopped stand."""
    return [one for one in service.standings.walk(covers) if not one.state.config.stopped]
