"""What goes to a service and what comes back, without a connection.

A verb is a conversation: a generator that yields requests, is sent their answers and returns what
the caller gets. Whoever has a connection, blocking or not, can hold it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from varts.client.address import Address
from varts.client.errors import error_of, read_problem
from varts.live.errors import ConnectionLost, StoreError

MOST_ITEMS = 1_000  # in one request; what the service takes
MOST_BYTES = 900_000  # of the items in one request; the service takes a megabyte in all

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One thing to ask for.

    Args:
        method: GET, PUT, POST, PATCH or DELETE.
        path: After the service's address, percent-encoded.
        body: Becomes JSON; None sends nothing.
        query: What follows the path.
        headers: Beside those that every request has.
        repeatable: Whether to ask twice does what asking once does.
        into: The file that a long answer is written to.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    into: Path | None = None

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else encode(self.body)


@dataclass(frozen=True)
class Response:
    """What came back.

    Args:
        status: The HTTP status.
        headers: By name in lower case.
        body: All of it, or nothing if it went into a file.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether it is what was asked for."""
        return 200 <= self.status < 300

    def checked(self) -> Response:
        """The answer, if it is a good one; else what went wrong is raised."""
        if self.is_good:
            return self
        raise error_of(self.status, self.body)

    def json(self) -> Any:
        """What a good answer says; else what went wrong is raised."""
        try:
            return json.loads(self.checked().body)
        except ValueError as error:
            if self.is_good:
                raise error_of(self.status, self.body) from None
            raise error


Conversation: TypeAlias = Generator[Request, Response, T]


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of a conversation, and what it was for."""

    result: T


def advance(conversation: Conversation[T], answer: Response | None = None) -> Request | Ended[T]:
    """The next request of a conversation, or its end; it begins without an answer."""
    try:
        return next(conversation) if answer is None else conversation.send(answer)
    except StopIteration as end:
        return Ended(end.value)


def encode(value: Any) -> bytes:
    """Plain values as JSON; what is not finite is none."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def path_of(*parts: str) -> str:
    """A path under /v1/experiments: a part may have any character in it.

    >>> path_of("price", "decisions", "a/b ü"), path_of("price", "decisions", "..")
    ('/v1/experiments/price/decisions/a%2Fb%20%C3%BC', '/v1/experiments/price/decisions/%2E%2E')
    """
    encoded = (quote(part, safe="") for part in parts)
    # Dots alone would lead elsewhere.
    shown = (part.replace(".", "%2E") if set(part) == {"."} else part for part in encoded)
    return "/".join(["/v1/experiments", *shown])


def batches(items: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The items in lists that one request can carry.

    >>> [len(batch) for batch in batches({"id": str(i)} for i in range(2_500))]
    [1000, 1000, 500]
    """
    batch: list[Mapping[str, Any]] = []
    size = 0
    for item in items:
        more = len(encode(item)) + 1
        if batch and (len(batch) == MOST_ITEMS or size + more > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


TRIES = 6
FIRST_WAIT_SECONDS = 0.1  # twice as long after every try, half of it by chance
LONGEST_WAIT_SECONDS = 5.0  # however much later the service would like it
NOTHING_DONE = ("busy", "draining", "too-many")  # problems that say so of any request
AGAIN = (429, 502, 503, 504)


class Unanswered(Exception):  # noqa: N818  nobody sees it
    """A try that ended without an answer.

    Args:
        reason: What broke.
        sent: Whether the request may have arrived.
    """

    def __init__(self, reason: str, sent: bool) -> None:
        super().__init__(reason)
        self.reason, self.sent = reason, sent


class Tries:
    """The tries of one request.

    Args:
        request: What is asked for.
        url: Of whom.
    """

    def __init__(self, request: Request, url: str) -> None:
        self._request, self._url = request, url
        self._left, self._wait, self._sent = TRIES, FIRST_WAIT_SECONDS, False

    def after(self, outcome: Response | Unanswered) -> float | None:
        """Seconds to wait before the next try; None if the outcome is the answer to use.

        Args:
            outcome: What the last try has brought.

        Raises:
            ConnectionLost: There was no answer, and it may have been done or not.
            StoreError: There was none, and nothing was done; or the service cannot do it now.
        """
        self._left -= 1
        if isinstance(outcome, Unanswered):
            self._sent = self._sent or outcome.sent
            if self._left and (self._request.repeatable or not outcome.sent):
                return self._pause()
            raise self._no_answer(outcome)
        if outcome.status not in AGAIN:
            return None
        kind, _ = read_problem(outcome.body)
        if self._left and (self._request.repeatable or kind in NOTHING_DONE):
            return max(self._pause(), _asked_for(outcome))
        raise error_of(outcome.status, outcome.body)

    def _pause(self) -> float:
        wait, self._wait = self._wait, 2 * self._wait
        return wait * random.uniform(0.5, 1.0)  # not all clients at the same moment

    def _no_answer(self, outcome: Unanswered) -> StoreError:
        if not self._sent:
            return StoreError(f"the service {self._url} cannot be reached: {outcome.reason}")
        return ConnectionLost(
            f"the service {self._url} has not answered ({outcome.reason}): what was asked for may "
            "have been done or not"
        )


def _asked_for(answer: Response) -> float:
    """The seconds of Retry-After, within reason."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), LONGEST_WAIT_SECONDS) if text.isascii() and text.isdigit() else 0.0


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

    def run(self, conversation: Conversation[T]) -> T:
        """What a conversation with the service comes to."""
        step = advance(conversation)
        while not isinstance(step, Ended):
            step = advance(conversation, self.send(step))
        return step.result

    def send(self, request: Request) -> Response:
        """The answer to a request, after some tries if need be."""
        tries = Tries(request, self.address.url)
        while True:
            outcome = self._try(request)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Response)
                return outcome
            time.sleep(wait)

    def _try(self, request: Request) -> Response | Unanswered:
        asked = self._current().stream(**_arguments(request))
        with _reasons() as reasons, asked as response:
            if request.into is None or not response.is_success:
                return Response(response.status_code, response.headers, response.read())
            with request.into.open("wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)
            return Response(response.status_code, response.headers, b"")
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

    async def run(self, conversation: Conversation[T]) -> T:
        """What a conversation with the service comes to."""
        step = advance(conversation)
        while not isinstance(step, Ended):
            answer = await self.send(step)
            if step.into is None:
                step = advance(conversation, answer)
            else:  # what reads a long file must not hold up the loop
                step = await asyncio.to_thread(advance, conversation, answer)
        return step.result

    async def send(self, request: Request) -> Response:
        """The answer to a request, after some tries if need be."""
        tries = Tries(request, self.address.url)
        while True:
            outcome = await self._try(request)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Response)
                return outcome
            await asyncio.sleep(wait)

    async def _try(self, request: Request) -> Response | Unanswered:
        with _reasons() as reasons:
            async with self._client.stream(**_arguments(request)) as response:
                if request.into is None or not response.is_success:
                    return Response(response.status_code, response.headers, await response.aread())
                with request.into.open("wb") as file:
                    async for chunk in response.aiter_bytes():
                        file.write(chunk)
                return Response(response.status_code, response.headers, b"")
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
