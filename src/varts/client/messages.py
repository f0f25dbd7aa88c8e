"""What goes to a service and what comes back, without a connection.

A verb is a conversation: a generator that yields requests, is sent their answers and returns what
the caller gets. Whoever has a connection, blocking or not, can hold it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from varts.client.problems import error_of

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
class Answer:
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

    def checked(self) -> Answer:
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


Conversation: TypeAlias = Generator[Request, Answer, T]


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of a conversation, and what it was for."""

    result: T


def advance(conversation: Conversation[T], answer: Answer | None = None) -> Request | Ended[T]:
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
