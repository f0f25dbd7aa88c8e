"""Files that are written: each appears when it is complete, and replaces what had its name."""

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
    """A new file beside `path` to write to, which becomes `path` when the body ends without error.

    Nobody else may read it before; then it has the permissions of the file that it replaces, or
    those of any new file. A link at `path` is replaced, not followed. An error leaves what was
    there as it was, and nothing beside it. What is no file, as /dev/stdout, is written to directly.
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
        # Not the name of the new file, of which nobody has heard.
        raise OSError(error.errno, error.strerror, str(path)) from None


def _create(part: Path) -> int:
    """Make a file that was not there, not even as a link; its permissions, by the umask."""
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return os.fstat(handle).st_mode
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path: Path, table: pl.DataFrame) -> None:
    """Write a table as CSV that no spreadsheet takes for formulas."""
    import polars as pl

    with replacing(path) as part:
        table.with_columns(quote_formulas(pl.col(pl.String))).write_csv(part)
