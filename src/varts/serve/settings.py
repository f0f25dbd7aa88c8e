"""What a service is told when it starts."""

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
    """The settings of a service; everything is checked when they are made.

    Args:
        store: The URL of the database.
        host: The address to listen on; another one than this machine's own needs a token file.
        port: The port to listen on; 0 takes any that is free.
        uds: The path of a Unix socket to listen on instead.
        token_file: The tokens that are let in, as `varts token new` writes them.
        no_auth: Let everybody in who can reach the service; for this machine alone.
        public_url: Where others find the service; its host is the only one it answers to, beside
            those of this machine.
        allow_origins: Sites whose pages may use the service with a token, such as
            https://board.example; those of public tokens may anyway.
        trusted_proxies: Addresses whose word on where a request comes from is taken.
        read_only: Answer what only reads, and write nothing to the store.
        log: How log lines are written: json or text.
        drain: How many seconds requests under way get to end when the service is stopped.
        demo: Fill the store, which must have no experiments, with a shop and simulated visitors.
        webhook: An https URL that gets a POST when a stop rule is met, a guardrail is violated or
            rewards stop arriving.
        webhook_secret_file: A file with the secret that signs these requests.
        webhook_state: A file that keeps what was announced, for the next start.

    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: token_file must be given for others than this machine to be let in, got none
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
    webhook: str | None = None
    webhook_secret_file: Path | None = None
    webhook_state: Path | None = None

    def __post_init__(self) -> None:
        integer("port", self.port, at_least=0, at_most=65535)
        choice("log", self.log, ("json", "text"))
        real("drain", self.drain, at_least=0)
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
                f"host must be this machine's own without tokens, got {abbreviate(self.host)}"
            )
        if self.token_file is None:
            raise ValueError(
                "token_file must be given for others than this machine to be let in, got none"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.uds is not None or is_loopback(self.host)

    @property
    def hosts(self) -> frozenset[str]:
        """The names that a request may ask for, without ports.

        The address that it listens on is one of them, unless that is every address.

        >>> sorted(Settings(host="127.0.0.5", public_url="https://varts.example.com").hosts)
        ['127.0.0.1', '127.0.0.5', '[::1]', 'localhost', 'varts.example.com']
        """
        named = [] if self.public_url is None else [urlsplit(self.public_url).hostname or ""]
        named += [] if self.host in EVERY_ADDRESS else [self.host.lower()]
        shown = (f"[{name}]" if ":" in name else name for name in named)
        return frozenset((*LOOPBACK_NAMES, *shown))

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by https."""
        return self.public_url is not None and self.public_url.startswith("https:")


def _check_url(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(
            f"public_url must be like https://varts.example.com, got {abbreviate(text)}"
        )


def _check_origin(text: str) -> None:
    """As browsers spell them, since they are compared as text."""
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
