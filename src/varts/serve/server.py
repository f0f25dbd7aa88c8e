"""The process and its sockets: start, limits on connections, end.

On SIGTERM and Ctrl-C the service stops accepting connections, answers the requests it has accepted,
and exits with 0. It doesn't wait for a store that doesn't respond. On SIGHUP it reads its token
file again.

A client without a token must not be able to take the service down. So connections are limited in
number, and none stays open for long if its client sends nothing, or takes nothing of a response.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import math
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from varts.live import Store
from varts.serve import demo
from varts.serve.app import make_app
from varts.serve.auth import Auth, Sessions
from varts.serve.runtime import Service
from varts.serve.settings import Settings
from varts.serve.telemetry import Metrics, begin_logging, tell
from varts.serve.tokens import Tokens, new_token, read_tokens

STUCK_SECONDS = 1.0  # that threads get to finish after everything else has ended
OWN_NAME = "operator"  # the name of the token that is made without a token file

MOST_FILES = 2**20  # file descriptors; more only cost memory
RESERVED_FILES = 256  # for the store, exports, worker processes and logs
BACKLOG = 1024  # connections that the system keeps until they are accepted
ACCEPTS_PER_TURN = 32  # connections accepted before requests get their turn
ACCEPT_PAUSE_SECONDS = 0.1  # after a connection couldn't be accepted
CHECK_SECONDS = 1.0  # between two looks at who keeps the service waiting
LARGEST_PIECE = 65_536  # bytes of a response that are passed on at a time
SEND_BUFFER = 262_144  # bytes that the system buffers; it would take megabytes
MOST_HEADERS = 100
MOST_PIPELINED = 16  # requests sent before the response to an earlier one
LARGEST_REQUEST = 10_000_000  # bytes as sent, including the framing of chunks

# Requests need these in addition to the imports above. They are loaded before the service listens:
# Python can't repair a library whose first import fails halfway, for example because no file
# descriptor is left.
LIBRARIES = (
    "encodings.ascii",
    "encodings.unicode_escape",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "varts.checks.log",
    "varts.checks.misfit",
    "varts.evaluation.evaluate",
    "varts.evaluation.log",
)

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)
_NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"retry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


# ------------------------------------------------------------------------------ start and end


def serve(settings: Settings) -> None:
    """Serve until a signal ends the service.

    Args:
        settings: The settings of the service.
    """
    begin_logging(settings.log)
    threads = set(threading.enumerate())
    raise_file_limit()
    auth, secret = open_auth(settings)
    with listen(settings) as listener:
        service = Service(Store(settings.store, read_only=settings.read_only))
        if settings.demo:
            demo.fill(service.store)
        app = make_app(service, auth, settings)

        def on_start() -> None:
            say_address(settings, listener, auth, secret, service.store.name)

        def on_end() -> None:
            service.draining = True

        server = Server(app, settings, service.metrics, on_start, on_end)
        with demo.visited(service.store) if settings.demo else contextlib.nullcontext():
            asyncio.run(_serve(server, listener, settings, auth))
    _leave_behind(set(threading.enumerate()) - threads)


async def _serve(server: Server, listener: socket.socket, settings: Settings, auth: Auth) -> None:
    if settings.token_file is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_tokens, settings, auth)
    await run_in_threadpool(load_libraries)  # loads the thread pool's own libraries, too
    await server.serve([listener])


def load_libraries() -> None:
    """Import everything that requests need."""
    for name in LIBRARIES:
        import_module(name)


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # macOS has limits of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def listen(settings: Settings) -> Iterator[socket.socket]:
    """A bound socket. If it has a path, only this user can connect to it."""
    path = settings.uds
    if path is None:
        where = f"port {settings.port} of {settings.host}"
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with _bound(where, family, (settings.host, settings.port)) as listener:
            yield listener
        return
    if path.is_socket() and not _is_answered(path):
        path.unlink()  # left by a process that was killed
    usual = os.umask(0o177)
    try:
        listener = _bound(str(path), socket.AF_UNIX, str(path))
    finally:
        os.umask(usual)
    with listener:
        yield listener
        path.unlink(missing_ok=True)


def _bound(where: str, family: int, address: tuple[str, int] | str) -> socket.socket:
    # With its protocol named: otherwise asyncio leaves Nagle's algorithm on, and responses take
    # 40 ms.
    protocol = 0 if family == socket.AF_UNIX else socket.IPPROTO_TCP
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"can't listen on {where}: {reason}") from None
    return listener


def _is_answered(path: Path) -> bool:
    """Whether a process listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _leave_behind(threads: set[threading.Thread]) -> None:
    """End the process if a thread still waits for the store: Python would wait for the thread.

    Its call hasn't been acknowledged, and is written completely or not at all.
    """
    until = time.monotonic() + STUCK_SECONDS
    for thread in threads:
        if not thread.daemon:
            thread.join(max(until - time.monotonic(), 0.0))
    if any(thread.is_alive() and not thread.daemon for thread in threads):
        tell("ended without waiting for the store, which doesn't respond", logging.WARNING)
        for child in multiprocessing.active_children():
            child.terminate()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def open_auth(settings: Settings) -> tuple[Auth, str | None]:
    """Return the accepted tokens. Without a token file, make a token and return its secret, too."""
    sessions = Sessions(settings.is_secure)
    if settings.no_auth:
        return Auth(None, sessions), None
    if settings.token_file is not None:
        return Auth(read_tokens(settings.token_file), sessions), None
    secret, token = new_token(OWN_NAME, ["admin"])
    return Auth(Tokens([token]), sessions), secret


def reload_tokens(settings: Settings, auth: Auth) -> None:
    """Read the token file again. If it has a mistake, the old tokens stay in force."""
    assert settings.token_file is not None
    try:
        auth.tokens = read_tokens(settings.token_file)
        tell("tokens read again", audit=True, tokens=len(auth.tokens))
    except (ValueError, TypeError, OSError) as error:
        tell("tokens kept as they were", logging.ERROR, audit=True, error=str(error))


def say_address(
    settings: Settings,
    listener: socket.socket,
    auth: Auth,
    secret: str | None,
    store: str,
) -> None:
    """Print the service's address, and how to log in without a token file."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"unix:{settings.uds}"
    if settings.uds is None:
        where = f"http://{host}:{listener.getsockname()[1]}"
    print(f"varts: serving {store} on {where}", flush=True)
    if secret is None or auth.tokens is None:
        return
    token = auth.tokens.find(secret)
    print(f"varts: token {secret}", flush=True)
    if token is not None and settings.uds is None:
        once = auth.sessions.make_link(token)
        print(f"varts: log in once with {where}/login?once={once}", flush=True)


# ------------------------------------------------------------------------------ accepting


class Server(uvicorn.Server):
    """uvicorn, which here leaves accepting connections to us: asyncio would accept any number.

    Args:
        app: The application.
        settings: The settings of the service.
        metrics: Where connections are counted.
        on_start: Called when the service accepts connections.
        on_end: Called when a signal asks the service to end.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        on_start: Callable[[], None] = lambda: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        config = uvicorn.Config(
            in_pieces(app),
            http=Connection,
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_keep_alive=math.ceil(settings.idle_timeout),
            timeout_graceful_shutdown=max(int(settings.drain), 1),
        )
        super().__init__(config)
        self.connections = Connections(settings, metrics)
        self._trusted = [ipaddress.ip_network(proxy) for proxy in settings.trusted_proxies]
        self._on_start, self._on_end = on_start, on_end
        self._connecting: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals in the event loop. uvicorn would raise them again at the end, so that the
        exit code wouldn't be 0."""
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._end)
        yield

    def _end(self) -> None:
        if self.should_exit:
            self.force_exit = True  # the second signal
        self._on_end()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        assert sockets is not None  # `listen` makes the one that we serve
        await super().startup([])
        self._listener = sockets[0]
        self._listener.setblocking(False)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._listener.listen(BACKLOG)
        self._resume()
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and finish the requests in progress."""
        self._pause()
        await super().shutdown(sockets)

    def _resume(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)

    def _accept(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                accepted, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no file descriptor or memory left, and so it may stay
                self.connections.make_room()
                self._pause()
                asyncio.get_running_loop().call_later(ACCEPT_PAUSE_SECONDS, self._resume)
                tell("a connection couldn't be accepted", logging.ERROR, error=str(error))
                return
            connection = Connection(
                self.connections,
                self._counted_as(peer),
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            if self.connections.add(connection):
                task = asyncio.get_running_loop().create_task(self._connect(accepted, connection))
                self._connecting.add(task)
                task.add_done_callback(self._connecting.discard)
            else:
                _refuse(accepted)

    async def _connect(self, accepted: socket.socket, connection: Connection) -> None:
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: connection, accepted)
        except OSError:  # the client has left already
            self.connections.remove(connection)
            accepted.close()

    def _counted_as(self, peer: Any) -> str | None:
        """The address or network that a connection is counted for; None if it isn't limited."""
        if self._listener.family == socket.AF_UNIX:
            return None
        address = ipaddress.ip_address(peer[0].partition("%")[0])
        if address.version == 6 and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if any(address in network for network in self._trusted):
            return None
        if address.version == 4:
            return str(address)
        return str(ipaddress.ip_network((address, 64), strict=False))


def _refuse(accepted: socket.socket) -> None:
    """Close a connection for which there is no room."""
    accepted.setblocking(False)
    with contextlib.suppress(OSError):
        accepted.send(_NO_ROOM)
    accepted.close()


def in_pieces(app: ASGIApp) -> ASGIApp:
    """Send large bodies in pieces: no piece is buffered before the client has taken the last ones.

    Args:
        app: The application.
    """

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if len(body) > LARGEST_PIECE:
                last = (len(body) - 1) // LARGEST_PIECE * LARGEST_PIECE
                for start in range(0, last, LARGEST_PIECE):
                    piece = body[start : start + LARGEST_PIECE]
                    await send({"type": message["type"], "body": piece, "more_body": True})
                message = {**message, "body": body[last:]}
            await send(message)

        await app(scope, receive, send_pieces)

    return wrapped


# ------------------------------------------------------------------------------ limits


class Connections:
    """The open connections.

    A connection either waits for its client (to send a request, or to take a response) or for the
    service. If there are too many, the one that has waited longest for its client is closed. A
    connection that waits for the service is never closed for another one.

    Args:
        settings: The limits.
        metrics: Where connections are counted.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.most = most_connections(settings.max_connections)
        self._metrics = metrics
        self._open: set[Connection] = set()
        self._counts: dict[str, int] = {}  # by address
        # In the order in which they began to wait for their clients.
        self._waiting: dict[Connection, None] = {}
        self._waiting_by_address: dict[str, dict[Connection, None]] = {}
        timeouts = (settings.idle_timeout, settings.request_timeout, settings.write_timeout)
        self._check_seconds = min(CHECK_SECONDS, min(timeouts) / 4)
        self._check: asyncio.TimerHandle | None = None

    def add(self, connection: Connection) -> bool:
        """Count a new connection; return whether there is room for it."""
        address = connection.address
        count = 0 if address is None else self._counts.get(address, 0)
        if count >= self.settings.max_connections_per_address:
            room = self.make_room(address)
        else:
            room = len(self._open) < self.most or self.make_room()
        if not room:
            self.note("refused", "a connection was refused: too many are in use")
            return False
        self._open.add(connection)
        if address is not None:
            self._counts[address] = count + 1
        self.start_waiting(connection)
        self._metrics.connections.inc()
        if self._check is None:
            self._check = connection.loop.call_later(self._check_seconds, self._check_clients)
        return True

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        if connection not in self._open:
            return
        self._open.remove(connection)
        self.stop_waiting(connection)
        self._metrics.connections.dec()
        if (address := connection.address) is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def start_waiting(self, connection: Connection) -> None:
        """Note that a connection waits for its client, from now on if it didn't already.

        A connection that is closed doesn't wait, even if its requests are still being answered.
        """
        if connection.aborted or connection not in self._open:
            return
        self._waiting.setdefault(connection)
        if (address := connection.address) is not None:
            self._waiting_by_address.setdefault(address, {}).setdefault(connection)

    def stop_waiting(self, connection: Connection) -> None:
        """Note that a connection waits for the service."""
        self._waiting.pop(connection, None)
        if (address := connection.address) is not None:
            waiting = self._waiting_by_address.get(address, {})
            waiting.pop(connection, None)
            if not waiting:
                self._waiting_by_address.pop(address, None)

    def make_room(self, address: str | None = None) -> bool:
        """Close the connection, of this address if given, that has waited longest for its client.

        Return whether there was one.
        """
        waiting = self._waiting if address is None else self._waiting_by_address.get(address, {})
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.stop_waiting(oldest)
        oldest.abort()
        self.note("displaced", "a connection was closed to make room for another one")
        return True

    def note(self, reason: str, event: str | None = None) -> None:
        """Count a connection that the service closes, and log it if that is unusual."""
        self._metrics.connections_closed.labels(reason).inc()
        if event is not None:
            tell(event, logging.WARNING, connections=len(self._open))

    def _check_clients(self) -> None:
        """Close the connections whose clients have taken too long."""
        self._check = None
        for connection in list(self._waiting):
            if connection.transport is not None:
                connection.check()
        if self._open:
            loop = asyncio.get_running_loop()
            self._check = loop.call_later(self._check_seconds, self._check_clients)


def most_connections(wanted: int) -> int:
    """As many connections as the limit on open files allows, at most this many.

    Args:
        wanted: The setting.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    most = min(wanted, files - min(RESERVED_FILES, files // 2))
    if most < wanted:
        tell(
            "fewer connections than max_connections, because of the limit on open files",
            logging.WARNING,
            max_connections=wanted,
            connections=most,
            files=files,
        )
    return most


class Connection(HttpToolsProtocol):
    """A connection of HTTP, with limits on the time and the size of headers.

    Args:
        connections: All open connections.
        address: The address or network that it is counted for; None if it isn't limited.
        options: The arguments of uvicorn's protocol.
    """

    def __init__(self, connections: Connections, address: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.address = address
        self._connections, self._settings = connections, connections.settings
        self.aborted = False
        self._deadline = math.inf  # for what the client has to send next
        self._answering = False  # from the headers of a request to the end of its response
        self._expecting_headers = True
        self._in_headers = False  # whether the first byte of the next request is there
        self._received = 0  # bytes since the end of the last request
        self._headers = self._header_bytes = 0
        self._untaken, self._taken_at = 0, 0.0  # bytes of responses; when the client last took some

    # The transport's events.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        if self.aborted:
            transport.abort()
        else:
            self._wait(self._settings.request_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, unless it is too much."""
        self._received += len(data)
        super().data_received(data)
        most = self._settings.max_header_bytes if self._expecting_headers else LARGEST_REQUEST
        if self._received > most and not self.transport.is_closing():
            self._refuse() if self._expecting_headers else self.abort()

    def pause_writing(self) -> None:
        """Wait for the client to take what has been sent."""
        super().pause_writing()
        self._wait(math.inf)

    def resume_writing(self) -> None:
        """Wait for the service again, unless the rest of the request is missing."""
        super().resume_writing()
        if self._answering and self._expecting_headers:
            self._connections.stop_waiting(self)

    # The parser's events.

    def on_message_begin(self) -> None:
        """Wait for the rest of the headers."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("the client sent too many requests at once")  # ends the parser
        super().on_message_begin()
        self._headers = self._header_bytes = 0
        self._in_headers = True
        if not self._answering:
            self._deadline = self.loop.time() + self._settings.request_timeout

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._count_header_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers += 1
        self._count_header_bytes(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Let the application wait for the body, with a deadline of its own."""
        if not self.url.startswith((b"/", b"*")):
            # The host of an absolute URL replaces the Host header (RFC 9112, 3.2.2).
            host = urlsplit(self.url).netloc
            self.headers[:] = [one for one in self.headers if one[0] != b"host"]
            self.headers.append((b"host", host))
        super().on_headers_complete()
        self._in_headers = self._expecting_headers = False
        self._answering, self._deadline = True, math.inf

    def on_message_complete(self) -> None:
        """Wait for the service."""
        super().on_message_complete()
        self._expecting_headers, self._received = True, 0
        if self._answering and not self.flow.write_paused:
            self._connections.stop_waiting(self)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless the client has sent it already."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last:
            self._answering = False
            # uvicorn's own timer ends with the next byte, even if that is only an empty line.
            settings = self._settings
            self._wait(settings.request_timeout if self._in_headers else settings.idle_timeout)

    # Limits.

    def abort(self) -> None:
        """Close the connection at once, or as soon as it has a transport."""
        self.aborted = True
        if self.transport is not None:
            self.transport.abort()

    def check(self) -> None:
        """Close the connection if its client has taken too long."""
        now, size = self.loop.time(), self.transport.get_write_buffer_size()
        if not self._untaken or size < self._untaken:
            self._taken_at = now
        self._untaken = size
        if size and now - self._taken_at > self._settings.write_timeout:
            self._connections.note("stalled", "a client took no bytes of a response")
            self.abort()
        elif now > self._deadline and not self.transport.is_closing():
            self._connections.note("idle" if self._received == 0 else "slow")
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that can't be parsed, or is too large."""
        if self._is_too_large():
            self._refuse()
        elif len(self.pipeline) >= MOST_PIPELINED:
            self._connections.note("large", "a client sent too many requests at once")
            self.abort()
        else:
            super().send_400_response(msg)

    def _wait(self, seconds: float) -> None:
        """Wait for the client."""
        self._deadline, self._untaken = self.loop.time() + seconds, 0
        self._connections.start_waiting(self)

    def _count_header_bytes(self, size: int) -> None:
        self._header_bytes += size
        if self._is_too_large():
            raise ValueError("the headers are too large")  # ends the parser

    def _is_too_large(self) -> bool:
        return self._headers > MOST_HEADERS or self._header_bytes > self._settings.max_header_bytes

    def _refuse(self) -> None:
        self._connections.note("large", "a request was larger than allowed")
        self.transport.write(_TOO_LARGE)
        self.transport.close()
