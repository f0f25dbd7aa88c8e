"""Connections to a service, blocking and not: the only place that does any I/O."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from varts.client.address import Address
from varts.client.messages import Answer, Conversation, Ended, Request, advance
from varts.client.retries import Tries, Unanswered

T = TypeVar("T")
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Connection:
    """A pool of connections that are kept, for all threads of a process.

    Args:
        address: Where the service is.
        token: What it is shown.
    """

    def __init__(self, address: Address, token: str | None) -> None:
        self.address, self._settings = address, _settings(address, token)
        self._lock = threading.Lock()
        self._client, self._process = httpx.Client(**self._settings), os.getpid()

    def hold(self, conversation: Conversation[T]) -> T:
        """What a conversation with the service comes to."""
        step = advance(conversation)
        while not isinstance(step, Ended):
            step = advance(conversation, self.send(step))
        return step.result

    def send(self, request: Request) -> Answer:
        """The answer to a request, after some tries if need be."""
        tries = Tries(request, self.address.url)
        while True:
            outcome = self._try(request)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Answer)
                return outcome
            time.sleep(wait)

    def _try(self, request: Request) -> Answer | Unanswered:
        asked = self._current().stream(**_arguments(request))
        with _reasons() as reasons, asked as response:
            if request.into is None or not response.is_success:
                return Answer(response.status_code, response.headers, response.read())
            with request.into.open("wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)
            return Answer(response.status_code, response.headers, b"")
        return reasons[0]

    def _current(self) -> httpx.Client:
        """The connections of this process: those from before a fork are the parent's."""
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._client, self._process = httpx.Client(**self._settings), os.getpid()
        return self._client

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


class AsyncConnection:
    """The same for an event loop.

    Args:
        address: Where the service is.
        token: What it is shown.
    """

    def __init__(self, address: Address, token: str | None) -> None:
        self.address = address
        self._client = httpx.AsyncClient(**_settings(address, token))

    async def hold(self, conversation: Conversation[T]) -> T:
        """What a conversation with the service comes to."""
        step = advance(conversation)
        while not isinstance(step, Ended):
            answer = await self.send(step)
            if step.into is None:
                step = advance(conversation, answer)
            else:  # what reads a long file must not hold up the loop
                step = await asyncio.to_thread(advance, conversation, answer)
        return step.result

    async def send(self, request: Request) -> Answer:
        """The answer to a request, after some tries if need be."""
        tries = Tries(request, self.address.url)
        while True:
            outcome = await self._try(request)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Answer)
                return outcome
            await asyncio.sleep(wait)

    async def _try(self, request: Request) -> Answer | Unanswered:
        with _reasons() as reasons:
            async with self._client.stream(**_arguments(request)) as response:
                if request.into is None or not response.is_success:
                    return Answer(response.status_code, response.headers, await response.aread())
                with request.into.open("wb") as file:
                    async for chunk in response.aiter_bytes():
                        file.write(chunk)
                return Answer(response.status_code, response.headers, b"")
        return reasons[0]

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()


def _settings(address: Address, token: str | None) -> dict[str, Any]:
    """What both kinds of clients are made with."""
    return {
        "base_url": address.url,
        "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
        "timeout": address.timeout,
    }


def _arguments(request: Request) -> dict[str, Any]:
    """What both kinds of clients are asked with."""
    content, headers = request.content, dict(request.headers)
    if content is not None:
        headers["Content-Type"] = "application/json"
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.query) or None,
        "headers": headers,
        "content": content,
    }


@contextmanager
def _reasons() -> Iterator[list[Unanswered]]:
    """Why there was no answer, if what is done inside has brought none."""
    found: list[Unanswered] = []
    try:
        yield found
    except httpx.RequestError as error:
        reason = str(error) or type(error).__name__
        found.append(Unanswered(reason, sent=not isinstance(error, NOT_SENT)))
