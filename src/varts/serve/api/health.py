"""The service itself, over HTTP: whether it is alive and ready, and what it counts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from varts.live import StoreError
from varts.serve import telemetry
from varts.serve.background import Standing
from varts.serve.errors import Problem
from varts.serve.responses import JSONResponse
from varts.serve.runtime import Service
from varts.serve.schemas import Health


async def tell_alive(request: Request) -> Response:
    """Answer as long as the service is alive. Doesn't use the store."""
    return JSONResponse(Health(status="alive"))


async def tell_ready(request: Request) -> Response:
    """Answer whether the service can be used."""
    service: Service = request.app.state.service
    if service.draining:
        return JSONResponse(Health(status="draining"), 503)
    ready = await service.is_ready()
    return JSONResponse(Health(status="ready" if ready else "store"), 200 if ready else 503)


async def show_metrics(request: Request) -> Response:
    """The service's metrics, for Prometheus."""
    service: Service = request.app.state.service
    covers = request.state.actor.covers
    service.count_waiting()
    standings: list[Standing] = []
    with suppress(StoreError, Problem):  # what the service has counted needs no store
        standings = await service.read(_running, service, covers)
    return Response(service.metrics.text(standings, covers), media_type=telemetry.MEDIA_TYPE)


def _running(service: Service, covers: Callable[[str], bool]) -> list[Standing]:
    """Where the experiments that are not stopped stand."""
    return [one for one in service.background.standings(covers) if not one.state.config.stopped]
