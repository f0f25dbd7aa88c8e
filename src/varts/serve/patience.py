"""Deadlines for those who connect and send nothing, or a little at a time.

uvicorn waits for the headers of a request for ever, and reads any number of them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
LARGEST_HEADERS = 64_000  # bytes, the address included

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class PatientProtocol(HttpToolsProtocol):
    """HTTP that gives a request some time and some room for its headers, and then hangs up."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is more headers than anybody needs."""
        if self._deadline is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._header_bytes > LARGEST_HEADERS:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request."""
        super().on_message_begin()
        if self._deadline is None:
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Its handler waits for the body."""
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_headers(self) -> None:
        self._header_bytes = 0
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
