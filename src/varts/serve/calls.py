"""A request as handlers see it, and their reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from starlette.datastructures import Headers

from varts.serve.auth import Admission, Caller
from varts.serve.runtime import Service
from varts.serve.telemetry import tell

JSON = "application/json"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Call:
    """A request that was let in, with its parts read and checked.

    Args:
        service: What it is about.
        admission: Who is let in.
        caller: Who is asking.
        path: The names in its path.
        query: What follows the path, of the endpoint's type.
        body: What was sent, of the endpoint's type.
        headers: Its headers.
        request: Its id.
    """

    service: Service
    admission: Admission
    caller: Caller
    path: Mapping[str, str]
    query: Any
    body: Any
    headers: Headers
    request: str

    def note(self, why: str | None) -> dict[str, str | None]:
        """Who asks, and why, as the log of an experiment keeps it."""
        return {"by": self.caller.name, "why": why}


@dataclass(slots=True)
class Reply:
    """An answer; what is not bytes becomes JSON."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = JSON
    chunks: Iterator[bytes] | None = None  # instead of a body

    def encode(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else encode_json(self.body)


def tell_change(call: Call, verb: str, why: str | None, name: str | None = None) -> None:
    """Have the service's own log say that an experiment was changed, that of the path or `name`."""
    tell(
        "change",
        audit=True,
        verb=verb,
        experiment=call.path["name"] if name is None else name,
        token=call.caller.name,
        why=why,
        request=call.request,
    )


def encode_json(value: Any) -> bytes:
    """Plain values as JSON, those of NumPy included; what is not finite is null.

    >>> encode_json({"mean": np.float64(2.5), "sd": float("nan")})
    b'{"mean":2.5,"sd":null}'
    """
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def rfc3339(time: datetime | int) -> str:
    """A time as people and programs read it, of a moment in UTC or of microseconds since 1970.

    >>> rfc3339(1_700_000_000_250_000), rfc3339(datetime(2023, 11, 14, tzinfo=UTC))
    ('2023-11-14T22:13:20.250000Z', '2023-11-14T00:00:00.000000Z')
    """
    if isinstance(time, int):
        time = _EPOCH + timedelta(microseconds=time)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
