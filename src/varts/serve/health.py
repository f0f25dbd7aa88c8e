"""The service itself, over HTTP: is it alive, what does it count?"""

from __future__ import annotations

from varts.live import StoreError
from varts.serve import metrics
from varts.serve.bodies import Health
from varts.serve.calls import Call, Reply
from varts.serve.problems import Problem


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
    return Reply(call.service.metrics.text(), media_type=metrics.MEDIA_TYPE)
