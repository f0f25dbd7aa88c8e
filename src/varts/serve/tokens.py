"""Tokens: who is let in, and what for.

A token is 256 random bits. Its file has the SHA-256 of it, which suffices for so many bits, so
that who reads the file or a backup of it is not let in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from varts._validation import abbreviate, choice, real

SCOPES = ("read", "decide", "reward", "admin")
PREFIX = "varts_"
DEFAULT_RATE = 10_000.0  # requests a second: a stop for what runs wild
PUBLIC_RATE = 10.0  # of one address, with a token that is in a web page
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Token:
    """Who somebody is, and what they may do.

    Args:
        name: What logs call it.
        sha256: Of the token itself, in hexadecimal digits.
        scopes: Of `SCOPES`; admin has all of them.
        experiments: Patterns of their names, such as `price*`.
        expires: When it ends.
        rate: How many requests a second it may make; a public one, from each address.
        public: Whether it may be in a web page: it decides with ids that the service makes, and
            rewards with the receipts of those decisions.
        origins: The web pages of a public one, such as https://shop.example.
        key: What the receipts of a public one are made with.
    """

    name: str
    sha256: str
    scopes: tuple[str, ...]
    experiments: tuple[str, ...] = ("*",)
    expires: datetime | None = None
    rate: float = DEFAULT_RATE
    public: bool = False
    origins: tuple[str, ...] = ()
    key: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, got {abbreviate(self.sha256)}")
        if not self.scopes:
            raise ValueError(f"scopes must be some of {', '.join(SCOPES)}, got none")
        for scope in self.scopes:
            choice("scope", scope, SCOPES)
        if not self.experiments:
            raise ValueError("experiments must be patterns such as price*, got none")
        real("rate", self.rate, above=0)
        if self.public and (self.scopes != ("decide",) or not self.origins or not self.key):
            raise ValueError(
                "a public token must have the scope decide alone, origins and a key, "
                f"got {abbreviate(self.name)} without"
            )

    def may(self, scope: str) -> bool:
        """Whether it has this scope."""
        return scope in self.scopes or "admin" in self.scopes

    def covers(self, experiment: str) -> bool:
        """Whether it is for this experiment."""
        return any(fnmatchcase(experiment, pattern) for pattern in self.experiments)

    def is_over(self, now: datetime) -> bool:
        """Whether it has expired."""
        return self.expires is not None and now >= self.expires

    def receipt(self, experiment: str, id: str) -> str:
        """What shows that a decision was made with this token."""
        key, text = bytes.fromhex(self.key or ""), json.dumps([experiment, id])
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    def gave(self, receipt: str | None, experiment: str, id: str) -> bool:
        """Whether the receipt is that of this decision."""
        mine = self.receipt(experiment, id).encode()
        return receipt is not None and hmac.compare_digest(mine, receipt.encode())

    def to_toml(self) -> str:
        """Its entry in a token file."""
        lines = ["[[token]]"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if isinstance(value, datetime):
                lines.append(f"{field.name} = {value.isoformat()}")
            else:
                shown = list(value) if isinstance(value, tuple) else value
                lines.append(f"{field.name} = {json.dumps(shown)}")
        return "\n".join(lines) + "\n"


def check_name(name: str) -> None:
    """Refuse a name that would not look like one in a log."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name must be letters, digits, dots and dashes, at most 100, got {abbreviate(name)}"
        )


def digest(secret: str) -> str:
    """What a file keeps of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def new_token(name: str, scopes: Iterable[str], **options: Any) -> tuple[str, Token]:
    """A new token: its secret, to be shown once, and its entry in a file.

    >>> secret, token = new_token("shop", ["decide", "reward"], experiments=("price*",))
    >>> len(secret), token.sha256 == digest(secret), token.covers("price-de")
    (49, True, True)
    """
    secret = PREFIX + secrets.token_urlsafe(32)
    if options.get("public"):
        options = {"rate": PUBLIC_RATE, **options, "key": secrets.token_hex(32)}
    return secret, Token(name, digest(secret), tuple(scopes), **options)


class Tokens:
    """All that are let in; `origins` are the sites whose pages may use one.

    Args:
        tokens: With different names.
    """

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens: dict[str, Token] = {}
        for token in tokens:
            if token.name in self._tokens:
                raise ValueError(f"tokens must have different names, got {token.name!r} twice")
            self._tokens[token.name] = token
        known = self._tokens.values()
        self.origins = frozenset(origin for token in known for origin in token.origins)

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, secret: str) -> Token | None:
        """The token with this secret, unless it has expired; takes the same time for each."""
        given, found = digest(secret), None
        for token in self._tokens.values():
            if hmac.compare_digest(given, token.sha256):
                found = token
        return found and self.named(found.name)

    def named(self, name: str) -> Token | None:
        """The token of this name, unless it has expired."""
        token = self._tokens.get(name)
        return None if token is None or token.is_over(datetime.now(UTC)) else token


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file; raises ValueError with a sentence if it is not right."""
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"token_file must be TOML, got {path}: {error}") from None
    entries = body.pop("token", [])
    if body or not isinstance(entries, list) or not entries:
        raise ValueError(f"token_file must have entries [[token]] and nothing else, got {path}")
    return Tokens(_read_token(entry) for entry in entries)


def _read_token(entry: Mapping[str, Any]) -> Token:
    types: dict[str, type | tuple[type, ...]] = {
        "name": str,
        "sha256": str,
        "scopes": list,
        "experiments": list,
        "expires": datetime,
        "rate": (int, float),
        "public": bool,
        "origins": list,
        "key": str,
    }
    name = entry.get("name", "one without a name")
    for key, value in entry.items():
        if key not in types:
            raise ValueError(f"token {name!r} must have no {key!r}; known: {', '.join(types)}")
        texts = value if isinstance(value, list) else []
        if not isinstance(value, types[key]) or not all(isinstance(one, str) for one in texts):
            raise TypeError(f"{key} of token {name!r} has the wrong type, got {abbreviate(value)}")
    for key in ("name", "sha256", "scopes"):
        if key not in entry:
            raise ValueError(f"token {name!r} must have a {key}, got none")
    expires = entry.get("expires")
    if expires is not None and expires.tzinfo is None:
        raise ValueError(f"expires of token {name!r} must have a time zone, got {expires}")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Token(**values)
