"""The settings of a service: addresses, access, limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from varts._validation import abbreviate, choice, integer, real

EVERY_ADDRESS = ("", "0.0.0.0", "::")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a service, checked when they are made.

    Args:
        store: The URL of the database.
        host: The address to listen on. Any address that other machines can reach needs a token
            file.
        port: The port to listen on; 0 takes any free port.
        uds: The path of a Unix socket to listen on instead.
        token_file: The accepted tokens, as `varts token new` prints them.
        no_auth: Accept everybody who can reach the service; for this machine only.
        public_url: The address that clients use. The service answers to its host, to the address it
            listens on and to this machine's own names, and to no other name.
        allow_origins: Sites whose pages may use the service with a token, such as
            https://board.example. The origins of public tokens are always allowed.
        trusted_proxies: Addresses of proxies. The service believes what they report about their
            clients, and doesn't limit their connections.
        read_only: Answer only requests that read, and write nothing to the store.
        log: The format of log lines: json or text.
        drain: Seconds that requests in progress get to finish when the service is stopped.
        demo: Fill the store, which must have no experiments, with a shop and simulated visitors.
        max_connections: The most connections at a time. The service takes fewer if it may not open
            enough files.
        max_connections_per_address: The most connections at a time from one address, or from one
            network of 64 bits with IPv6.
        idle_timeout: Seconds that a connection may stay open between two requests.
        request_timeout: Seconds that a client gets to send the headers of a request, and as many
            again to send its body.
        write_timeout: Seconds after which a connection is closed if its client takes no bytes of a
            response.
        max_header_bytes: The largest headers of a request, including its path.
        webhook: An https URL that gets a POST when a stop rule is met, a guardrail is violated or
            rewards stop arriving.
        webhook_secret_file: A file with the secret that signs these requests.
        webhook_state: A file that keeps what was announced, for the next start.

    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: token_file must be given before other machines can use the service, got none
    """

    store: str = "sqlite:///varts.db"
    host: str = "127.0.0.1"
    port: int = 8321
    uds: Path | None = None
    token_file: Path | None = None
    no_auth: bool = False
    public_url: str | None = None
    allow_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    read_only: bool = False
    log: str = "text"
    drain: float = 10.0
    demo: bool = False
    max_connections: int = 4096
    max_connections_per_address: int = 256
    idle_timeout: float = 30.0
    request_timeout: float = 10.0
    write_timeout: float = 10.0
    max_header_bytes: int = 64_000
    webhook: str | None = None
    webhook_secret_file: Path | None = None
    webhook_state: Path | None = None

    def __post_init__(self) -> None:
        integer("port", self.port, at_least=0, at_most=65535)
        choice("log", self.log, ("json", "text"))
        real("drain", self.drain, at_least=0)
        for name in ("max_connections", "max_connections_per_address"):
            integer(name, getattr(self, name), at_least=1)
        for name in ("idle_timeout", "request_timeout", "write_timeout"):
            real(name, getattr(self, name), above=0, at_most=3600)
        integer("max_header_bytes", self.max_header_bytes, at_least=1000)
        if self.public_url is not None:
            _check_url(self.public_url)
        for origin in self.allow_origins:
            _check_origin(origin)
        for address in self.trusted_proxies:
            _check_network(address)
        if self.webhook is not None:
            check_webhook(self.webhook)
        elif self.webhook_secret_file is not None or self.webhook_state is not None:
            raise ValueError("webhook must be given with its secret or state file, got none")
        if self.no_auth and self.token_file is not None:
            raise ValueError("no_auth must not be given with a token_file, got both")
        if self.is_local:
            return
        if self.no_auth:
            raise ValueError(
                f"host must be a loopback address without tokens, got {abbreviate(self.host)}"
            )
        if self.token_file is None:
            raise ValueError(
                "token_file must be given before other machines can use the service, got none"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.uds is not None or is_loopback(self.host)

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted names in a Host header, without ports.

        The address to listen on is one of them, unless it stands for all addresses.

        >>> sorted(Settings(host="127.0.0.5", public_url="https://varts.example.com").hosts)
        ['127.0.0.1', '127.0.0.5', '[::1]', 'localhost', 'varts.example.com']
        """
        named = [] if self.public_url is None else [urlsplit(self.public_url).hostname or ""]
        named += [] if self.host in EVERY_ADDRESS else [self.host.lower()]
        shown = (f"[{name}]" if ":" in name else name for name in named)
        return frozenset((*LOOPBACK_NAMES, *shown))

    @property
    def is_secure(self) -> bool:
        """Whether browsers use https to reach the service."""
        return self.public_url is not None and self.public_url.startswith("https:")


def _check_url(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(
            f"public_url must be like https://varts.example.com, got {abbreviate(text)}"
        )


def _check_origin(text: str) -> None:
    """Check that an origin is spelled as browsers do, because origins are compared as text."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc.lower()}" != text:
        raise ValueError(f"allow_origin must be like https://board.example, got {abbreviate(text)}")


def _check_network(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(
            f"trusted_proxy must be an address like 10.0.0.7 or 10.0.0.0/8, got {abbreviate(text)}"
        ) from None


def check_webhook(url: str) -> SplitResult:
    """Return the parts of a webhook's URL; raises ValueError for one that can't be used.

    Args:
        url: An https URL, or an http URL of this machine.

    >>> check_webhook("http://hooks.example/varts")
    Traceback (most recent call last):
    ...
    ValueError: webhook must be an https URL (http only for this machine), got 'hooks.example'
    """
    rule = "webhook must be an https URL (http only for this machine)"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port == 0 or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(f"{rule}, got none")  # the URL may be a secret
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError(f"{rule}, got {abbreviate(host)}")
    if parts.username is not None:
        raise ValueError("webhook must be a URL without a user, got one with a user")
    return parts


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    Args:
        host: A name or an address.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
