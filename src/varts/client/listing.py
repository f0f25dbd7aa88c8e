"""The experiments of a service."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from varts.client.address import read_address, read_token
from varts.client.experiment import seconds_for
from varts.client.transport import Connection, Conversation, Request, path_of
from varts.live.arguments import Duration


def list_experiments(
    store: str, *, token: str | None = None, deadline: Duration | None = None
) -> list[dict[str, Any]]:
    """List the experiments of a service that a token may read, by name.

    Args:
        store: The address of the service (https://host, http://localhost:8321).
        token: The token to show; by default the variable VARTS_TOKEN.
        deadline: How long the call may take in all: seconds, a `timedelta`, or text like "5s".

    Returns:
        For each experiment its name, status, number of arms and rewards, and so on, as the service
        sends them.
    """
    with closing(Connection(read_address(store), read_token(token))) as connection:
        return connection.run(_list(), seconds_for(None, deadline, None))


def _list() -> Conversation[list[dict[str, Any]]]:
    """Ask for all pages of the list, one after the other."""
    found: list[dict[str, Any]] = []
    query: dict[str, str] = {}
    while True:
        response = yield Request(method="GET", path=path_of(), query=query)
        page, after = response.read(lambda body: ([*body["experiments"]], body["next"]))
        found += page
        if after is None:
            return found
        query = {"after": str(after)}
