"""The URL of a store: what it may be, which file it names, and what of it may be shown."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from varts._validation import abbreviate


def read_url(text: str) -> sa.URL:
    """The URL of a database that can be a store; raises ValueError for any other."""
    try:
        url = sa.make_url("sqlite://" if text.startswith("memory:") else text)
    except (sa.exc.ArgumentError, ValueError):
        shown = "text with a password" if "@" in text or "password" in text else abbreviate(text)
        raise ValueError(
            "store must be a URL like sqlite:///varts.db, postgresql://user@host/name or "
            f"memory://, got {shown}"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
        raise ValueError(f"store must be on sqlite, postgresql or memory, got {url.drivername!r}")
    if url.get_backend_name() == "sqlite" and url.host:  # SQLAlchemy would open one in memory
        raise ValueError(
            f"store must have three slashes before a file, sqlite:///{url.host}, "
            f"got two in {url.render_as_string()!r}"
        )
    return url


def in_memory(url: sa.URL) -> bool:
    """Whether the database is nowhere but in this process."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def file_of(text: str) -> Path | None:
    """The file of a store's URL; None if it is not one on SQLite, or named by a URI of its own."""
    url = read_url(text)
    plain = url.get_backend_name() == "sqlite" and not in_memory(url) and "uri" not in url.query
    return Path(str(url.database)) if plain else None


def without_secrets(url: sa.URL) -> sa.URL:
    """The URL without the options that PostgreSQL takes passwords in; its own is still there."""
    return url.difference_update_query(_secret_options(url))


def hide_secrets(url: sa.URL, text: str) -> str:
    """The text with every password of the URL blotted out."""
    for secret in (url.password, *(url.query[name] for name in _secret_options(url))):
        text = text.replace(str(secret), "***") if secret else text
    return text


def _secret_options(url: sa.URL) -> list[str]:
    return [name for name in url.query if "password" in name]
