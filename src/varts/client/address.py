"""Where a service is and which token to show: its URL, the proxy on the way, the token."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from varts._validation import abbreviate

TOKEN_VARIABLE = "VARTS_TOKEN"
RULE = "https://host, or http:// on this machine"


class Proxy(NamedTuple):
    """A proxy between this machine and a service.

    Args:
        url: Its address.
        user: Name and password, if it needs them.
    """

    url: str
    user: tuple[str, str] | None = None


def read_address(text: str) -> str:
    """Return the address of a service in one form; raises ValueError if it isn't one.

    Plain http would show the token to everybody on the way, so it never leaves this machine.

    >>> read_address("http://localhost:8321/")
    'http://localhost:8321'
    >>> read_address("http://varts.example.com")
    Traceback (most recent call last):
    ...
    ValueError: store must be https://host, or http:// on this machine, got 'http://varts.example.com'
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"store must be {RULE}, got one that can't be read") from None
    if "@" in parts.netloc:  # what follows may be a password, so it isn't shown
        raise ValueError("store must not contain a user or a password; use token=")
    safe = parts.scheme.lower() == "https" or is_this_machine(host)
    if not host or not safe or parts.fragment or re.search(r"[\x00-\x20\x7f]", text):
        got = abbreviate(f"{parts.scheme}://{parts.netloc}")
        raise ValueError(f"store must be {RULE}, got {got}")
    if parts.query:
        raise ValueError(f"store must have no options, got {abbreviate(parts.query)}")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    return f"{parts.scheme.lower()}://{place}{parts.path.rstrip('/')}"


def read_token(token: str | None) -> str | None:
    """Return the given token, or the one of the environment; None if there is neither."""
    found = os.environ.get(TOKEN_VARIABLE) if token is None else token
    if found is None or found == "":
        return None
    if not isinstance(found, str):
        raise TypeError(f"token must be text, got {type(found).__name__}")
    if not re.fullmatch(r"[\x21-\x7e]+", found):  # it may be a token with a typo, so it isn't shown
        raise ValueError("token must be printable ASCII without blanks, got something else")
    return found


def proxy_for(address: str) -> Proxy | None:
    """Return the proxy that the environment names for a service, if any.

    Only https goes through a proxy, as a tunnel: the proxy never sees the token. This machine is
    always reached directly.

    Args:
        address: The address of the service.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "https" or is_this_machine(host) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    found = proxies.get("https") or proxies.get("all")
    if not found:
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    place = proxy.netloc.rpartition("@")[2]
    user = None
    if proxy.username is not None:
        user = unquote(proxy.username), unquote(proxy.password or "")
    return Proxy(f"{proxy.scheme}://{place}", user)


def is_this_machine(host: str | None) -> bool:
    """Return whether a host is this machine, without looking up its name.

    Args:
        host: A name, or an IP address without brackets.
    """
    if host is None:
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
