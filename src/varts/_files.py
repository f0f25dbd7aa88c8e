"""Write files atomically: a file appears when it is complete, and replaces the old one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from varts._text import quote_formulas

if TYPE_CHECKING:
    import polars as pl


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a new file beside `path`, which replaces `path` when the body ends without error.

    Until then, only this user may read it. Then it gets the permissions of the file that it
    replaces, or those of any new file. A link at `path` is replaced, not followed. After an error,
    the old file is unchanged and the new one is deleted. Anything that isn't a regular file, such
    as /dev/stdout, is written to directly.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f".varts-{secrets.token_hex(8)}{path.suffix}")
    try:
        mode = _create(part)
        try:
            with suppress(FileNotFoundError):
                before = path.lstat().st_mode
                mode = before if stat.S_ISREG(before) else mode
            part.chmod(0o600)
            yield part
            part.chmod(stat.S_IMODE(mode))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is None:
            raise
        # Name the file that the caller asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from None


def _create(part: Path) -> int:
    """Create a file and return its mode, as the umask sets it. Fail if the name is taken."""
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return os.fstat(handle).st_mode
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file, atomically."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path: Path, table: pl.DataFrame) -> None:
    """Write a table as CSV, atomically, with text quoted so that spreadsheets run no formulas."""
    import polars as pl

    with replacing(path) as part:
        table.with_columns(quote_formulas(pl.col(pl.String))).write_csv(part)
