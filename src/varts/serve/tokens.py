"""Tokens: who may use a service, and for what.

A token is 256 random bits. The token file keeps its SHA-256, which is safe for a secret of that
length: the file or a backup of it can't be used to log in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from varts._files import replacing
from varts._validation import abbreviate, choice, real, unknown
from varts.live.errors import Refused

SCOPES = ("read", "decide", "reward", "admin")
PREFIX = "varts_"
DEFAULT_RATE = 10_000.0  # requests per second: a limit for programs that run wild
PUBLIC_RATE = 10.0  # requests per second and address, for a token in a web page
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HEAD = re.compile(r"\s*\[\[\s*token\s*\]\]")


class UnknownTokenName(ValueError):  # noqa: N818  the name says what it is
    """A token file has no token of this name."""


@dataclass(frozen=True)
class Token:
    """An entry of the token file: a name, and what its owner may do.

    Args:
        name: Its name in logs.
        sha256: The SHA-256 of the token itself, in hexadecimal digits.
        scopes: Some of `SCOPES`; admin has all of them.
        experiments: Patterns of the names of experiments, such as `price*`.
        expires: When it stops being valid.
        rate: The number of requests per second that it may make; per address if it is public.
        public: Whether it may be in a web page: it decides with ids that the service generates, and
            rewards with the receipts of those decisions.
        origins: The sites whose pages may use a public token, such as https://shop.example.
        key: The key of the receipts of a public token.
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
            raise ValueError(f"scopes must be one or more of {', '.join(SCOPES)}, got none")
        for scope in self.scopes:
            choice("scope", scope, SCOPES)
        if not self.experiments:
            raise ValueError("experiments must be patterns such as price*, got none")
        for text in (*self.experiments, *self.origins):
            if not text.isprintable():
                raise ValueError(
                    f"experiments and origins must be printable, got {abbreviate(text)}"
                )
        real("rate", self.rate, above=0)
        if self.public and (self.scopes != ("decide",) or not self.origins or not self.key):
            raise ValueError(
                "a public token must have only the scope decide, with origins and a key, "
                f"got {abbreviate(self.name)} without"
            )

    def may(self, scope: str) -> bool:
        """Whether it has this scope."""
        return scope in self.scopes or "admin" in self.scopes

    def covers(self, experiment: str) -> bool:
        """Whether one of its patterns matches this experiment."""
        return any(fnmatchcase(experiment, pattern) for pattern in self.experiments)

    def is_over(self, now: datetime) -> bool:
        """Whether it has expired."""
        return self.expires is not None and now >= self.expires

    def receipt(self, experiment: str, id: str) -> str:
        """Return the proof that a decision was made with this token."""
        key, text = bytes.fromhex(self.key or ""), json.dumps([experiment, id])
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    def gave(self, receipt: str | None, experiment: str, id: str) -> bool:
        """Whether this is the receipt of the decision."""
        mine = self.receipt(experiment, id).encode()
        return receipt is not None and hmac.compare_digest(mine, receipt.encode())

    def to_toml(self) -> str:
        """Return its entry in a token file."""
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
    """Refuse a name that wouldn't be readable in a log."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name must be letters, digits, dots and dashes, at most 100, got {abbreviate(name)}"
        )


def digest(secret: str) -> str:
    """Return what the token file keeps of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def new_token(name: str, scopes: Iterable[str], **options: Any) -> tuple[str, Token]:
    """Make a token: its secret, to be shown once, and its entry in a file.

    >>> secret, token = new_token("shop", ["decide", "reward"], experiments=("price*",))
    >>> len(secret), token.sha256 == digest(secret), token.covers("price-de")
    (49, True, True)
    """
    secret = PREFIX + secrets.token_urlsafe(32)
    if options.get("public"):
        options = {"rate": PUBLIC_RATE, **options, "key": secrets.token_hex(32)}
    return secret, Token(name, digest(secret), tuple(scopes), **options)


class Tokens:
    """All tokens of a service; `origins` are the sites whose pages may use one.

    Args:
        tokens: The tokens, which must have different names.
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

    def __iter__(self) -> Iterator[Token]:
        return iter(self._tokens.values())

    def find(self, secret: str) -> Token | None:
        """Return the token with this secret, unless it has expired, in constant time."""
        given, found = digest(secret), None
        for token in self._tokens.values():
            if hmac.compare_digest(given, token.sha256):
                found = token
        return found and self.named(found.name)

    def named(self, name: str) -> Token | None:
        """Return the token of this name, unless it has expired."""
        token = self._tokens.get(name)
        return None if token is None or token.is_over(datetime.now(UTC)) else token


def read_tokens(path: Path) -> Tokens:
    """Read a token file; raise ValueError with a sentence if something is wrong with it."""
    return _parse_tokens(path.read_bytes(), path)


def _parse_tokens(content: bytes, path: Path) -> Tokens:
    try:
        body = tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError(f"token_file must be TOML, got {path}: it is nested too deeply") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise ValueError(f"token_file must be TOML, got {path}: {error}") from None
    entries = body.pop("token", [])
    if body or not isinstance(entries, list) or not entries:
        raise ValueError(f"token_file must have entries [[token]] and nothing else, got {path}")
    return Tokens(_read_token(entry) for entry in entries)


def revoke_token(path: Path, name: str) -> None:
    """Remove a token from a token file. Comments and all other entries stay as they are.

    The file is replaced in one step: a service that reads it at this moment gets either all of the
    old file or all of the new one.

    Raises:
        UnknownTokenName: The file has no token of this name.
        Refused: It is the only one.
    """
    content = path.read_bytes()
    before = _parse_tokens(content, path)
    names = [token.name for token in before]
    if name not in names:
        raise UnknownTokenName(f"{unknown('token', name, names)}")
    if len(names) == 1:
        raise Refused(
            f"{name} is the only token in {path}, and a service doesn't accept a file without "
            "tokens; add another one first, or stop the service"
        )
    left = _without_entry(content.decode("utf-8"), names.index(name)).encode()
    kept = [token for token in before if token.name != name]
    try:
        as_hoped = list(_parse_tokens(left, path)) == kept
    except (TypeError, ValueError):
        as_hoped = False
    if not as_hoped:  # an array in one line, or a header inside a text: legal, but unusual
        raise ValueError(f"the entry of {name} in {path} can't be removed safely; edit the file")
    owner = path.stat()
    with replacing(path.resolve()) as part:  # the file itself, not a link to it
        part.write_bytes(left)
        os.chown(part, owner.st_uid, owner.st_gid)  # or a service of another user can't read it
        if path.read_bytes() != content:
            raise ValueError(f"{path} was changed at the same moment; nothing was revoked, repeat")


def _without_entry(text: str, place: int) -> str:
    """Return the text of a token file without one of its entries, comments left in place."""
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if _HEAD.match(line)]
    if place >= len(heads):
        return text
    start, end = heads[place], [*heads, len(lines)][place + 1]
    kept = [line for line in lines[start + 1 : end] if line.lstrip().startswith("#")]
    blank = [] if end < len(lines) or not kept else ["\n"]
    return "".join([*lines[:start], *kept, *blank, *lines[end:]])


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
