"""Parts of answers: JSON, times, and entity tags."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

JSON = "application/json"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG = re.compile(r'"([\x21\x23-\x7e]*)"')


class JSONResponse(Response):
    """An answer in JSON: `content` is any value that `encode_json` knows, or bytes."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        """The body as it is sent."""
        return content if isinstance(content, bytes) else encode_json(content)


def encode_json(value: Any) -> bytes:
    """Plain values as JSON, those of NumPy included; numbers that are not finite become null.

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


# ------------------------------------------------------------------------------ entity tags


def read_tags(header: str) -> list[str]:
    """The tags in an If-Match or If-None-Match header, without their quotes.

    Weak tags are read like strong ones. A proxy that compresses answers makes tags weak.

    >>> read_tags('W/"17-5eed.31", "17-5eed.30-gzip"')
    ['17-5eed.31', '17-5eed.30-gzip']
    """
    return _TAG.findall(header)


def is_tag(given: str, tag: str) -> bool:
    """Whether a tag that a client sends is the one that it got.

    Proxies that compress answers add the name of the compression to their tags.

    >>> is_tag("17-5eed.31-gzip", "17-5eed.31"), is_tag("17-5eed.31", "17-5eed.3")
    (True, False)
    """
    return given == tag or given.startswith(f"{tag}-")


def not_modified(request: Request, tag: str) -> Response | None:
    """The answer to a client that has seen what this tag names; None if it hasn't.

    Args:
        request: The request, perhaps with If-None-Match.
        tag: The tag, without quotes.
    """
    header = request.headers.get("if-none-match")
    if header is None or not (
        header.strip() == "*" or any(is_tag(one, tag) for one in read_tags(header))
    ):
        return None
    return Response(status_code=304, headers={"etag": f'"{tag}"'})
