"""A service from its start to its end: `varts serve`.

On SIGTERM and Ctrl-C it takes no more connections, answers what it has taken, and ends with 0. On
SIGHUP it reads its token file again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator

import uvicorn

from varts.live import Store
from varts.serve.admission import Admission
from varts.serve.app import make_app
from varts.serve.logs import begin_logging, tell
from varts.serve.patience import PatientProtocol
from varts.serve.service import Service
from varts.serve.sessions import Sessions
from varts.serve.settings import Settings
from varts.serve.tokens import Tokens, new_token, read_tokens

OWN_NAME = "operator"  # of the token that is made where there is no file


class Server(uvicorn.Server):
    """uvicorn, with signals that mean what they mean here.

    Args:
        config: That of uvicorn.
        ending: Called when the end begins.
        started: Called when connections are taken, with the port.
    """

    def __init__(
        self, config: uvicorn.Config, ending: Callable[[], None], started: Callable[[int], None]
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

    async def startup(self, sockets: object = None) -> None:
        """Say where it listens, once it does."""
        await super().startup()
        listening = [one for server in self.servers for one in server.sockets]
        if self.started and listening:
            name = listening[0].getsockname()
            self._started(name[1] if isinstance(name, tuple) else 0)

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
    admission, secret = open_admission(settings)
    service = Service(Store(settings.store))
    app = make_app(service, admission, settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        uds=None if settings.uds is None else str(settings.uds),
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

    def begin_to_end() -> None:
        service.draining = True

    def say_where(port: int) -> None:
        say_address(settings, port, admission, secret, service.store.name)

    server = Server(config, begin_to_end, say_where)
    asyncio.run(_serve(server, settings, admission))
    if not server.started:
        sys.exit(2)  # uvicorn has said why


async def _serve(server: Server, settings: Settings, admission: Admission) -> None:
    if settings.token_file is not None:
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGHUP, reload_tokens, settings, admission
        )
    await server.serve()


def open_admission(settings: Settings) -> tuple[Admission, str | None]:
    """Who is let in, and the secret of a token that was made for lack of a file."""
    sessions = Sessions(settings.is_secure)
    if settings.no_auth:
        return Admission(None, sessions), None
    if settings.token_file is not None:
        return Admission(read_tokens(settings.token_file), sessions), None
    secret, token = new_token(OWN_NAME, ["admin"])
    return Admission(Tokens([token]), sessions), secret


def reload_tokens(settings: Settings, admission: Admission) -> None:
    """Read the token file again; one that is wrong changes nothing."""
    assert settings.token_file is not None
    try:
        admission.tokens = read_tokens(settings.token_file)
        tell("tokens read again", audit=True, tokens=len(admission.tokens))
    except (ValueError, TypeError, OSError) as error:
        tell("tokens kept as they were", logging.ERROR, audit=True, error=str(error))


def say_address(
    settings: Settings, port: int, admission: Admission, secret: str | None, store: str
) -> None:
    """Print where the service is, and how to get in if nobody else can know."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"unix:{settings.uds}" if settings.uds is not None else f"http://{host}:{port}"
    print(f"varts: serving {store} on {where}", flush=True)
    if secret is None or admission.tokens is None:
        return
    token = admission.tokens.find(secret)
    print(f"varts: token {secret}", flush=True)
    if token is not None and settings.uds is None:
        once = admission.sessions.make_link(token)
        print(f"varts: log in once with {where}/login?once={once}", flush=True)
