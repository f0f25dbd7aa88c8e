"""Experiments behind a service (`varts serve`), for programs in Python.

From the bottom up: `address` reads where the service is and which token to show, `errors` turns
problem documents into the errors of `varts.live`, `transport` sends requests, `verbs` has every
verb as a generator that yields requests and does no I/O, and `experiment` runs the verbs over a
connection, blocking or in an event loop.
"""

from varts.client.errors import MalformedResponse, NotAllowed, UnknownToken
from varts.client.experiment import AsyncExperiment, RemoteExperiment, open_async
from varts.client.listing import list_experiments

__all__ = [
    "AsyncExperiment",
    "MalformedResponse",
    "NotAllowed",
    "RemoteExperiment",
    "UnknownToken",
    "list_experiments",
    "open_async",
]
