"""A service from its start to its end: `varts serve`.

On SIGTERM and Ctrl-C it takes no more connections, answers what it has taken, and ends with 0. It
doesn't wait for a store that doesn't answer. On SIGHUP it reads its token file again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from varts.live import Store
from varts.serve import demo
from varts.serve.app import make_app
from varts.serve.auth import Auth, Sessions
from varts.serve.runtime import Service
from varts.serve.settings import Settings
from varts.serve.telemetry import begin_logging, tell
from varts.serve.tokens import Tokens, new_token, read_tokens

STUCK_SECONDS = 1.0  # that threads get to end, when everything is over
OWN_NAME = "operator"  # of the token that is made where there is no file
HEADER_SECONDS = 10.0
LARGEST_HEADERS = 64_000  # bytes, the address included

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class Server(uvicorn.Server):
    """uvicorn, with signals that mean what they mean here.

    Args:
        config: That of uvicorn.
        ending: Called when the end begins.
        started: Called when connections are taken.
    """

    def __init__(
        self, config: uvicorn.Config, ending: Callable[[], None], started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ending, self._started = ending, started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle them in the event loop; uvicorn would end by the signal that it was sent."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it listens, once it does."""
        await super().startup(sockets)
        self._started()

    def _end(self) -> None:
        if self.should_exit:
            self.force_exit = True  # asked twice
        self._ending()
        self.should_exit = True


def serve(settings: Settings) -> None:
    """Serve until told to stop.

    Args:
        settings: All that there is to know.
    """
    begin_logging(settings.log)
    threads = set(threading.enumerate())
    admission, secret = open_admission(settings)
    with listen(settings) as listener:
        service = Service(Store(settings.store, read_only=settings.read_only))
        if settings.demo:
            demo.fill(service.store)
        app = make_app(service, admission, settings)
        config = configure(app, settings)

        def begin_to_end() -> None:
            service.draining = True

        def say_where() -> None:
            say_address(settings, listener, admission, secret, service.store.name)

        server = Server(config, begin_to_end, say_where)
        with demo.visited(service.store) if settings.demo else contextlib.nullcontext():
            asyncio.run(_serve(server, listener, settings, admission))
    _leave_behind(set(threading.enumerate()) - threads)


def configure(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """What uvicorn is told."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=max(int(settings.drain), 1),
    )


@contextlib.contextmanager
def listen(settings: Settings) -> Iterator[socket.socket]:
    """A socket that takes connections; one with a path is for this user alone."""
    path = settings.uds
    if path is None:
        where = f"port {settings.port} of {settings.host}"
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with _bound(where, family, (settings.host, settings.port)) as listener:
            yield listener
        return
    if path.is_socket() and not _is_answered(path):
        path.unlink()  # left behind by one that was killed
    usual = os.umask(0o177)
    try:
        listener = _bound(str(path), socket.AF_UNIX, str(path))
    finally:
        os.umask(usual)
    with listener:
        yield listener
        path.unlink(missing_ok=True)


def _bound(where: str, family: int, address: tuple[str, int] | str) -> socket.socket:
    # With its protocol named: else asyncio leaves Nagle's algorithm on, and answers take 40 ms.
    protocol = 0 if family == socket.AF_UNIX else socket.IPPROTO_TCP
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"{where} cannot be listened on: {reason}") from None
    return listener


def _is_answered(path: Path) -> bool:
    """Whether somebody listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _leave_behind(threads: set[threading.Thread]) -> None:
    """End the process if a thread still waits for the store: Python would wait for the thread.

    Its call is not acknowledged, and is written completely or not at all.
    """
    until = time.monotonic() + STUCK_SECONDS
    for thread in threads:
        if not thread.daemon:
            thread.join(max(until - time.monotonic(), 0.0))
    if any(thread.is_alive() and not thread.daemon for thread in threads):
        tell("ended without waiting for the store, which doesn't answer", logging.WARNING)
        for child in multiprocessing.active_children():
            child.terminate()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


async def _serve(
    server: Server, listener: socket.socket, settings: Settings, admission: Auth
) -> None:
    if settings.token_file is not None:
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGHUP, reload_tokens, settings, admission
        )
    await server.serve([listener])


def open_admission(settings: Settings) -> tuple[Auth, str | None]:
    """Who is let in, and the secret of a token that was made for lack of a file."""
    sessions = Sessions(settings.is_secure)
    if settings.no_auth:
        return Auth(None, sessions), None
    if settings.token_file is not None:
        return Auth(read_tokens(settings.token_file), sessions), None
    secret, token = new_token(OWN_NAME, ["admin"])
    return Auth(Tokens([token]), sessions), secret


def reload_tokens(settings: Settings, admission: Auth) -> None:
    """Read the token file again; one that is wrong changes nothing."""
    assert settings.token_file is not None
    try:
        admission.tokens = read_tokens(settings.token_file)
        tell("tokens read again", audit=True, tokens=len(admission.tokens))
    except (ValueError, TypeError, OSError) as error:
        tell("tokens kept as they were", logging.ERROR, audit=True, error=str(error))


def say_address(
    settings: Settings,
    listener: socket.socket,
    admission: Auth,
    secret: str | None,
    store: str,
) -> None:
    """Print where the service is, and how to get in if nobody else can know."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"unix:{settings.uds}"
    if settings.uds is None:
        where = f"http://{host}:{listener.getsockname()[1]}"
    print(f"varts: serving {store} on {where}", flush=True)
    if secret is None or admission.tokens is None:
        return
    token = admission.tokens.find(secret)
    print(f"varts: token {secret}", flush=True)
    if token is not None and settings.uds is None:
        once = admission.sessions.make_link(token)
        print(f"varts: log in once with {where}/login?once={once}", flush=True)


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
