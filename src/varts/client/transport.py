"""Requests to a service: the only module of the client that does I/O.

A verb is a generator that yields requests, gets their responses and returns a result. `Connection`
runs one in a thread, `AsyncConnection` in an event loop. Both keep to a deadline for the whole run:
looking up the host, connecting, every retry, and responses that come a byte at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpcore

from varts import __version__
from varts._text import printable
from varts.client.address import is_this_machine, proxy_for
from varts.client.errors import MalformedResponse, error_of, read_problem
from varts.live.errors import ConnectionLost, StoreError
from varts.live.store.queue import Deadline

MOST_ITEMS = 1_000  # in one request; the service's limit
MOST_BYTES = 900_000  # of the items in one request; the service accepts a megabyte in all
MOST_RESPONSE_BYTES = 128 * 2**20  # of a response in memory; a history of 100,000 rows has 40 MB
MOST_FILE_BYTES = 64 * 2**30  # of a log
PIECE = 16_384  # bytes written between two looks at the clock

TRIES = 6
FIRST_WAIT_SECONDS = 0.1  # doubles after every try; a random half of it is left out
LONGEST_WAIT_SECONDS = 5.0  # even if the service asks for more
NOTHING_DONE = ("busy", "draining", "too-many")  # these problems mean that nothing was changed
AGAIN = (429, 502, 503, 504)
FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    TimeoutError,  # of asyncio.timeout
)

T = TypeVar("T")


# ------------------------------------------------------------------------------ requests


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request.

    Args:
        method: GET, PUT, POST, PATCH or DELETE.
        path: The path after the service's address, percent-encoded.
        body: Becomes JSON; None sends no body.
        query: The parameters that follow the path.
        headers: Headers in addition to the ones that every request has.
        repeatable: Whether sending it twice has the same effect as sending it once.
        into: The file that a long response is written to.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    into: Path | None = None


@dataclass(frozen=True)
class Response:
    """A response.

    Args:
        status: The HTTP status.
        headers: The headers, by name in lower case.
        body: The whole body; empty if it was written to a file.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def checked(self) -> Response:
        """Return the response if it is a good one; otherwise raise the error that it describes."""
        if 200 <= self.status < 300:
            return self
        raise error_of(self.status, self.body)

    def read(self, build: Callable[[Any], T]) -> T:
        """Return what a good response says; raises MalformedResponse if it can't be read.

        Args:
            build: Makes the result from plain values. They come from outside, so any exception that
                it raises is the fault of the response.
        """
        body = self.checked().body
        try:
            value = json.loads(body)
        except RecursionError as error:
            raise _malformed("its JSON is nested too deeply") from error
        except ValueError as error:
            raise _malformed("it isn't JSON") from error
        try:
            return build(value)
        except Exception as error:
            raise _malformed(printable(f"{type(error).__name__}: {error}"[:300])) from error


def _malformed(reason: str) -> MalformedResponse:
    return MalformedResponse(f"the response isn't one of a varts service: {reason}")


Conversation: TypeAlias = Generator[Request, Response, T]


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of a conversation, with its result."""

    result: T


def advance(
    conversation: Conversation[T], outcome: Response | StoreError | None = None
) -> Request | Ended[T]:
    """Return the next request of a conversation, or its end.

    Args:
        conversation: A verb.
        outcome: The response to its last request, or the error if it got none; None at the start.
    """
    try:
        if isinstance(outcome, StoreError):
            return conversation.throw(outcome)
        return next(conversation) if outcome is None else conversation.send(outcome)
    except StopIteration as end:
        return Ended(end.value)


def encode(value: Any) -> bytes:
    """Return plain values as JSON; raises ValueError for numbers that aren't finite."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def path_of(*parts: str) -> str:
    """Return a path under /v1/experiments; its parts may contain any character.

    >>> path_of("price", "decisions", "a/b ü"), path_of("price", "decisions", "..")
    ('/v1/experiments/price/decisions/a%2Fb%20%C3%BC', '/v1/experiments/price/decisions/%2E%2E')
    """
    encoded = (quote(part, safe="") for part in parts)
    # A part of dots alone would lead elsewhere.
    shown = (part.replace(".", "%2E") if set(part) == {"."} else part for part in encoded)
    return "/".join(["/v1/experiments", *shown])


def batches(
    items: Iterable[Mapping[str, Any]], beside: int = 0
) -> Iterator[list[Mapping[str, Any]]]:
    """Split items into lists that fit into one request.

    Args:
        items: The items.
        beside: How many bytes each request has in addition to its items.

    >>> [len(batch) for batch in batches({"id": str(i)} for i in range(2_500))]
    [1000, 1000, 500]
    """
    batch: list[Mapping[str, Any]] = []
    size = 0
    for item in items:
        more = len(encode(item)) + 1
        if batch and (len(batch) == MOST_ITEMS or size + more > MOST_BYTES - beside):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


# ------------------------------------------------------------------------------ retries


@dataclass(frozen=True)
class Unanswered:
    """A try without a response.

    Args:
        reason: The reason why there was no response.
        sent: Whether the request may have arrived.
    """

    reason: str
    sent: bool


class Tries:
    """The tries of one request.

    Args:
        request: The request.
        url: The address of the service.
        deadline: When the last try must be over.
        allowed: The seconds that the deadline began with.
    """

    def __init__(self, request: Request, url: str, deadline: Deadline, allowed: float) -> None:
        self._request, self._url, self._deadline = request, url, deadline
        self._allowed = allowed
        self._left, self._wait, self._sent = TRIES, FIRST_WAIT_SECONDS, False

    def after(self, outcome: Response | Unanswered) -> float | None:
        """Return the seconds to wait before the next try; None if the outcome is the response.

        Args:
            outcome: The outcome of the last try.

        Raises:
            ConnectionLost: There is no response, and the request may or may not have taken effect.
            StoreError: There is no response, and nothing was done; or the service can't do it now.
        """
        self._left -= 1
        if isinstance(outcome, Unanswered):
            self._sent = self._sent or outcome.sent
            wait = self._pause()
            if wait < self._deadline.left and (self._request.repeatable or not outcome.sent):
                return wait
            raise self._no_response(outcome)
        if outcome.status not in AGAIN:
            return None
        kind, _ = read_problem(outcome.body)
        wait = max(self._pause(), _retry_after(outcome))
        if wait < self._deadline.left and (self._request.repeatable or kind in NOTHING_DONE):
            return wait
        error = error_of(outcome.status, outcome.body)
        raise error if isinstance(error, StoreError) else StoreError(str(error))

    def _pause(self) -> float:
        """Seconds until the next try; forever after the last one."""
        wait, self._wait = self._wait, 2 * self._wait
        # Random, so that not all clients come back at the same moment.
        return wait * random.uniform(0.5, 1.0) if self._left else float("inf")

    def _no_response(self, outcome: Unanswered) -> StoreError:
        reason = printable(outcome.reason[:300])
        if not self._deadline.left:
            reason = f"the deadline of {self._allowed:g} s passed"
        if not self._sent:
            return StoreError(f"the service {self._url} can't be reached: {reason}")
        return ConnectionLost(
            f"the service {self._url} didn't answer ({reason}); the request may or may not have "
            "taken effect"
        )


def _retry_after(response: Response) -> float:
    """The seconds of Retry-After, within reason."""
    text = response.headers.get("retry-after", "")
    return min(float(text), LONGEST_WAIT_SECONDS) if text.isascii() and text.isdigit() else 0.0


# ------------------------------------------------------------------------------ connections


class Connection:
    """A pool of open connections for all threads of a process.

    Args:
        url: The address of the service.
        token: The token to show.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self.url, self._headers = url, _headers(url, token)
        self._lock = threading.Lock()
        self._backend = _TimedBackend()
        self._open()

    def _open(self) -> None:
        self._pool = httpcore.ConnectionPool(
            network_backend=self._backend, **_pool_settings(self.url)
        )
        self._process = os.getpid()

    def run(self, conversation: Conversation[T], seconds: float) -> T:
        """Return the result of a conversation with the service.

        Args:
            conversation: A verb.
            seconds: How long it may take in all.
        """
        deadline = Deadline(seconds)
        step = advance(conversation)
        while not isinstance(step, Ended):
            outcome: Response | StoreError
            try:
                outcome = self.send(step, deadline, seconds)
            except StoreError as error:
                outcome = error
            step = advance(conversation, outcome)
        return step.result

    def send(self, request: Request, deadline: Deadline, allowed: float) -> Response:
        """Return the response to a request, after several tries if necessary."""
        tries = Tries(request, self.url, deadline, allowed)
        while True:
            outcome = self._try(request, deadline)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Response)
                return outcome
            time.sleep(wait)

    def _try(self, request: Request, deadline: Deadline) -> Response | Unanswered:
        attempt = _Attempt(request)
        pool = self._current()
        self._backend.deadlines.current = deadline
        options = _arguments(self.url, self._headers, request)
        timeout = {"pool": deadline.left}
        trace = {"trace": attempt.trace, "timeout": timeout}
        try:
            with (
                pool.stream(**options, extensions=trace) as response,
                attempt.body(response) as body,
            ):
                for chunk in response.iter_stream():
                    body.add(chunk)
                return body.response
        except FAILURES as error:
            return attempt.unanswered(error)

    def _current(self) -> httpcore.ConnectionPool:
        """The connections of this process: those from before a fork belong to the parent."""
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._open()
        return self._pool

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


class AsyncConnection:
    """The same for an event loop.

    Args:
        url: The address of the service.
        token: The token to show.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self.url, self._headers = url, _headers(url, token)
        self._pool = httpcore.AsyncConnectionPool(**_pool_settings(url))

    async def run(self, conversation: Conversation[T], seconds: float) -> T:
        """Return the result of a conversation with the service.

        Args:
            conversation: A verb.
            seconds: How long it may take in all.
        """
        deadline = Deadline(seconds)
        step = advance(conversation)
        while not isinstance(step, Ended):
            outcome: Response | StoreError
            try:
                outcome = await self.send(step, deadline, seconds)
            except StoreError as error:
                outcome = error
            if step.into is None:
                step = advance(conversation, outcome)
            else:  # converting a long file must not block the loop
                step = await asyncio.to_thread(advance, conversation, outcome)
        return step.result

    async def send(self, request: Request, deadline: Deadline, allowed: float) -> Response:
        """Return the response to a request, after several tries if necessary."""
        tries = Tries(request, self.url, deadline, allowed)
        while True:
            outcome = await self._try(request, deadline)
            wait = tries.after(outcome)
            if wait is None:
                assert isinstance(outcome, Response)
                return outcome
            await asyncio.sleep(wait)

    async def _try(self, request: Request, deadline: Deadline) -> Response | Unanswered:
        attempt = _Attempt(request)
        options = _arguments(self.url, self._headers, request)
        try:
            async with asyncio.timeout(deadline.left):
                stream = self._pool.stream(**options, extensions={"trace": attempt.async_trace})
                async with stream as response:
                    with attempt.body(response) as body:
                        async for chunk in response.aiter_stream():
                            body.add(chunk)
                        return body.response
        except FAILURES as error:
            return attempt.unanswered(error)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


def _headers(url: str, token: str | None) -> dict[str, str]:
    """The headers of every request. httpcore would leave out the brackets of an IPv6 address."""
    shown = {
        "Host": urlsplit(url).netloc,
        "Accept": "application/json",
        "User-Agent": f"varts/{__version__}",
    }
    return shown if token is None else {**shown, "Authorization": f"Bearer {token}"}


def _pool_settings(url: str) -> dict[str, Any]:
    proxy = proxy_for(url)
    return {
        "ssl_context": httpcore.default_ssl_context() if url.startswith("https:") else None,
        "proxy": None if proxy is None else httpcore.Proxy(proxy.url, auth=proxy.user),
        "max_connections": 100,
        "max_keepalive_connections": 20,
        "keepalive_expiry": 5.0,
    }


def _arguments(url: str, headers: Mapping[str, str], request: Request) -> dict[str, Any]:
    """The arguments of `stream` for both kinds of pools."""
    content = None if request.body is None else encode(request.body)
    more = {} if content is None else {"Content-Type": "application/json"}
    query = f"?{urlencode(request.query)}" if request.query else ""
    return {
        "method": request.method,
        "url": f"{url}{request.path}{query}",
        "headers": list({**headers, **more, **request.headers}.items()),
        "content": content,
    }


class _Attempt:
    """One try of a request."""

    def __init__(self, request: Request) -> None:
        self._request, self._sent = request, False

    def trace(self, event: str, info: object) -> None:
        """Remember whether anything was sent; httpcore calls this."""
        if event == "http11.send_request_headers.started":
            self._sent = True

    async def async_trace(self, event: str, info: object) -> None:
        """The same for an event loop."""
        self.trace(event, info)

    def body(self, response: httpcore.Response) -> _Body:
        """Return a collector for the chunks of a response."""
        return _Body(self._request.into, response)

    def unanswered(self, error: BaseException) -> Unanswered:
        """Return why there is no response."""
        return Unanswered(str(error) or type(error).__name__, self._sent)


class _Body:
    """Takes the chunks of a response, up to a size: in memory, or into a file."""

    def __init__(self, into: Path | None, response: httpcore.Response) -> None:
        named = ((k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in response.headers)
        self._status, self._headers = response.status, dict(named)
        good = 200 <= response.status < 300
        self._file = into.open("wb") if into is not None and good else None
        self._most = MOST_RESPONSE_BYTES if self._file is None else MOST_FILE_BYTES
        self._chunks: list[bytes] = []
        self._size = 0

    def __enter__(self) -> _Body:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, chunk: bytes) -> None:
        """Take one chunk; raises MalformedResponse if the response becomes too large."""
        self._size += len(chunk)
        if self._size > self._most:
            raise _malformed(f"it has more than {self._most:,} bytes")
        if self._file is None:
            self._chunks.append(chunk)
        else:
            self._file.write(chunk)

    @property
    def response(self) -> Response:
        """The whole response."""
        return Response(self._status, self._headers, b"".join(self._chunks))


# ------------------------------------------------------------------------------ timed sockets


class _Deadlines(threading.local):
    """The deadline of the request that a thread sends. Connections move between threads."""

    current = Deadline(0.0)


class _TimedBackend(httpcore.NetworkBackend):
    """Sockets whose waits all end at the deadline.

    A timeout of httpcore is one for every read, so a server that sends a byte a second would keep a
    caller waiting for as long as it likes.
    """

    def __init__(self) -> None:
        self.deadlines = _Deadlines()
        self._sockets = httpcore.SyncBackend()

    def left(self) -> float:
        """Return the seconds that are left; raises an error when the deadline has passed."""
        seconds = self.deadlines.current.left
        if not seconds:
            raise httpcore.ReadTimeout("the deadline passed")
        return seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that answers."""
        addresses = _look_up(host, port, self.left())
        error: Exception = httpcore.ConnectError(f"{host} has no address")
        for at, address in enumerate(addresses):
            share = self.left() / (len(addresses) - at)
            try:
                stream = self._sockets.connect_tcp(
                    address, port, share, local_address, socket_options
                )
                return _TimedStream(stream, self.left)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                error = failed
        raise error


class _TimedStream(httpcore.NetworkStream):
    """A socket whose waits end at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, left: Callable[[], float]) -> None:
        self._stream, self._left = stream, left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            self._stream.write(buffer[start : start + PIECE], self._left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._left())
        return _TimedStream(stream, self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _look_up(host: str, port: int, seconds: float) -> list[str]:
    """Return the addresses of a host. The system's own lookup can't be interrupted, so a thread
    does it."""
    if is_this_machine(host) and host != "localhost":
        return [host]
    found: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def look() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.put(list(dict.fromkeys(str(answer[4][0]) for answer in answers)))
        except (OSError, UnicodeError) as error:
            found.put(error)

    threading.Thread(target=look, daemon=True).start()
    try:
        addresses = found.get(timeout=seconds)
    except Empty:
        raise httpcore.ConnectTimeout(f"looking up {host} takes too long") from None
    if isinstance(addresses, Exception):
        raise httpcore.ConnectError(str(addresses))
    return addresses
