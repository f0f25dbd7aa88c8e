"""Where a service is, and who is asking: its URL, how long to wait for it, a token."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from varts._validation import abbreviate, real

DEFAULT_TIMEOUT_SECONDS = 30.0  # for one try
LONGEST_TIMEOUT_SECONDS = 3600.0
TOKEN_VARIABLE = "VARTS_TOKEN"
RULE = "https://host, or http:// on this machine"


class Address(NamedTuple):
    """A service that may be asked.

    Args:
        url: Scheme, host, port and the path that all others begin with.
        timeout: Seconds that one try may take.
    """

    url: str
    timeout: float = DEFAULT_TIMEOUT_SECONDS


def is_address(store: object) -> bool:
    """Whether a store is a service, and no database.

    >>> is_address("https://varts.example.com"), is_address("sqlite:///varts.db")
    (True, False)
    """
    return isinstance(store, str) and store.partition(":")[0].lower() in ("http", "https")


def read_address(text: str) -> Address:
    """The address of a service; raises ValueError for any other.

    A token that goes over the network in the clear is everybody's, hence https.

    >>> read_address("http://localhost:8321/?timeout=5")
    Address(url='http://localhost:8321', timeout=5.0)
    >>> read_address("http://varts.example.com")
    Traceback (most recent call last):
    ...
    ValueError: store must be https://host, or http:// on this machine, got 'http://varts.example.com'
    """
    try:
        parts = urlsplit(text)
        host, port, options = parts.hostname, parts.port, dict(parse_qsl(parts.query))
    except ValueError:
        raise ValueError(f"store must be {RULE}, got one that cannot be read") from None
    if "@" in parts.netloc:  # may be a password: not shown
        raise ValueError("store must be without a user and a password, got one with: use token=")
    safe = parts.scheme.lower() == "https" or _is_this_machine(host)
    if not host or not safe or parts.fragment:
        got = abbreviate(f"{parts.scheme}://{parts.netloc}")
        raise ValueError(f"store must be {RULE}, got {got}")
    given = options.pop("timeout", str(DEFAULT_TIMEOUT_SECONDS))
    if options:
        got = abbreviate(next(iter(options)))
        raise ValueError(f"store must have no option but timeout, got {got}")
    seconds = float(given) if re.fullmatch(r"\d+\.?\d*", given) else given
    timeout = real("timeout of the store", seconds, above=0, at_most=LONGEST_TIMEOUT_SECONDS)
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    return Address(f"{parts.scheme.lower()}://{place}{parts.path.rstrip('/')}", timeout)


def read_token(token: str | None) -> str | None:
    """The token that was given, or that of the environment; None if there is neither."""
    found = os.environ.get(TOKEN_VARIABLE) if token is None else token
    if found is None or found == "":
        return None
    if not isinstance(found, str):
        raise TypeError(f"token must be text, got {type(found).__name__}")
    if not re.fullmatch(r"[\x21-\x7e]+", found):  # and not shown: it may be one, with a typo
        raise ValueError("token must be printable ASCII without blanks, got something else")
    return found


def _is_this_machine(host: str | None) -> bool:
    if host is None:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
