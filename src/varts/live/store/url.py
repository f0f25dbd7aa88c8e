"""The URL of a store: what it may be, which file it names, and what of it may be shown."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, quote_plus, unquote

import sqlalchemy as sa

from varts._validation import abbreviate

DEFAULT_TIMEOUT_SECONDS = 60.0
LONGEST_TIMEOUT_SECONDS = 1e6  # milliseconds must fit in 31 bits


def read_url(text: str) -> sa.URL:
    """The URL of a database that can be a store; raises ValueError for any other.

    No error may show the text that could not be read, or what was taken for a host or an option
    in it: that may be a part of the password.
    """
    if text.startswith("memory:"):
        options = [(n, v) for n, v in parse_qsl(text.partition("?")[2]) if n == "timeout"]
        return sa.URL.create("sqlite").update_query_pairs(options, append=True)
    url = _parse(text)
    if url is None:
        plain = re.fullmatch(r"[\w./\\~ -]*", text) and "pass" not in text.lower()
        raise ValueError(
            "store must be a URL like sqlite:///varts.db, postgresql://user@host/name or "
            f"memory://, got {abbreviate(text) if plain else 'text that may hold a password'}"
        )
    if url.password is not None and _is_ambiguous(text):
        raise ValueError(
            "store must be a URL whose password and options have %40 for @ and %3F for ?, "
            "got one that can be read in several ways"
        )
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
        raise ValueError(f"store must be on sqlite, postgresql or memory, got {url.drivername!r}")
    if url.get_backend_name() == "sqlite" and url.host:  # SQLAlchemy would open one in memory
        raise ValueError(
            f"store must have three slashes before a file, sqlite:///{url.host}, "
            f"got two in {without_options(url)!r}"
        )
    return url


def _parse(text: str) -> sa.URL | None:
    """Without an error that would be the context of another one."""
    try:
        return sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        return None


def _is_ambiguous(text: str) -> bool:
    """Whether the first @ may be in the middle of a password, or of an option."""
    password, _, rest = text.partition("://")[2].partition(":")[2].partition("@")
    return "?" in password or "@" in rest


def split_timeout(url: sa.URL) -> tuple[sa.URL, float]:
    """The URL without the option `timeout`, which is ours and no driver's, and its seconds."""
    given = url.query.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    try:
        seconds = math.nan if isinstance(given, tuple) else float(given)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST_TIMEOUT_SECONDS:
        raise ValueError(
            "store must have a timeout in seconds, above 0 and at most "
            f"{LONGEST_TIMEOUT_SECONDS:.0f}, got {abbreviate(given)}"
        )
    return url.difference_update_query(["timeout"]), seconds


def in_memory(url: sa.URL) -> bool:
    """Whether the database is nowhere but in this process."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def file_of(url: sa.URL) -> Path | None:
    """The file of a store's URL; None if it is not one on SQLite, or named by a URI of its own."""
    plain = url.get_backend_name() == "sqlite" and not in_memory(url) and "uri" not in url.query
    return Path(str(url.database)) if plain else None


# ------------------------------------------------------------------------------ secrets


def shown(url: sa.URL, text: str) -> str:
    """The URL for people to read, with nothing secret; `text` is what was given."""
    if in_memory(url):
        return text if re.fullmatch(r"[^@?]*(\?timeout=[\d.]+)?", text) else "memory://***"
    return without_secrets(url).render_as_string(hide_password=True)


def without_options(url: sa.URL) -> str:
    """The URL for people to read, if one of its options may be misspelt, or half a password."""
    return url.set(query={}).render_as_string(hide_password=True)


def name_options(url: sa.URL) -> str:
    """The name of its only option; one of several may be the end of a password with an & in it."""
    plain = len(url.query) == 1 and url.password is None and not secret_options(url)
    return next(iter(url.query)) if plain else "options that are not shown"


def without_secrets(url: sa.URL) -> sa.URL:
    """The URL without the options that PostgreSQL takes passwords in; its own is still there."""
    return url.difference_update_query(secret_options(url))


def hide_secrets(url: sa.URL, text: str) -> str:
    """The text with every password of the URL blotted out, however it is written."""
    secrets = [url.password or ""]
    for name in secret_options(url):
        value = url.query[name]
        secrets += [value] if isinstance(value, str) else value
    spellings = {how(one) for one in secrets if one for how in (str, quote, quote_plus, _escape)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, "***")
    return text


def _escape(text: str) -> str:
    return repr(text)[1:-1]


def secret_options(url: sa.URL) -> list[str]:
    """The options that hold a password, or a file of them, in any spelling."""
    return [name for name in url.query if re.search("pass|pwd|secret|scram", name.lower())]


def absolute(url: sa.URL) -> sa.URL:
    """The URL with the absolute path of its file.

    >>> absolute(sa.make_url("sqlite:////tmp/../tmp/shop.db")).database
    '/tmp/shop.db'
    """
    if url.get_backend_name() != "sqlite" or in_memory(url):
        return url
    database = str(url.database)
    if "uri" in url.query and database.startswith("file:"):
        path, _, options = database.removeprefix("file:").partition("?")
        if path.startswith("//") or not path or path == ":memory:":
            return url
        where = quote(os.path.abspath(unquote(path)))
        return url.set(database=f"file:{where}{'?' if options else ''}{options}")
    return url.set(database=os.path.abspath(database))
