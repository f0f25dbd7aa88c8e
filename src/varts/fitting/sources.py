"""Where a history comes from: tables in memory, files, folders and patterns, read lazily."""

from __future__ import annotations

import functools
import glob
import gzip
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import polars as pl

from varts._tables import from_pandas, is_pandas
from varts._text import printable
from varts._text_format import PLAIN, UTF_8, TextFormat, find_separator
from varts._validation import abbreviate

if TYPE_CHECKING:
    import pandas as pd

Table: TypeAlias = "pl.DataFrame | pl.LazyFrame | pd.DataFrame | str | os.PathLike[str]"

LONGEST_LINE = 2**24  # bytes, of a text file
LONGEST_HEADER = 2**16  # bytes, of which the separator is found
FORMATS = {
    ".csv": "CSV",
    ".csv.gz": "CSV",
    ".tsv": "TSV",
    ".tsv.gz": "TSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".ndjson": "NDJSON",
    ".jsonl": "NDJSON",
}
SEPARATED = ("CSV", "TSV")
KINDS = "CSV, TSV, Parquet or NDJSON files"


class Source(NamedTuple):
    """A table that is read lazily."""

    name: str  #: to show while it is read
    table: pl.LazyFrame
    csv: bool = False  #: whether its names may be quoted, as `quote_formulas` does
    decimal: str = "."  #: the decimal mark of numbers that are text
    files: tuple[tuple[str, pl.LazyFrame], ...] = ()  #: its files, each by itself

    def parts(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Its files, each with its name; a table in memory is one part."""
        yield from self.files or ((self.name, self.table),)


def find_tables(history: Table, text: TextFormat = PLAIN) -> list[Source]:
    """The tables to read; `text` is how their text is written."""
    if not isinstance(history, (str, os.PathLike)) and text._replace(decimal=".") != PLAIN:
        raise ValueError("separator and encoding must be left out for a table in memory")
    if isinstance(history, pl.LazyFrame):
        return [Source("history", history, decimal=text.decimal)]
    if isinstance(history, pl.DataFrame):
        return [Source("history", history.lazy(), decimal=text.decimal)]
    if is_pandas(history):
        table = from_pandas("history", history).lazy()
        return [Source("history", table, decimal=text.decimal)]
    if isinstance(history, (str, os.PathLike)):
        return _scan(os.fspath(history), text)
    raise TypeError(
        "history must be a polars or pandas DataFrame, a LazyFrame, a History or a path, "
        f"got {abbreviate(history)}"
    )


def _scan(path: str, text: TextFormat) -> list[Source]:
    """One table for all files with the same columns; different ones are merged when reduced."""
    alike: dict[tuple[str, ...], list[tuple[str, Path]]] = {}
    for named in _find_files(path):
        form = _format(named)
        if form is None:
            raise ValueError(f"history must be {KINDS}, got {str(named)!r}")
        if form not in SEPARATED and text != PLAIN:
            raise ValueError(
                f"separator, decimal and encoding must be left out for a {form} file, which has "
                f"its own, got {str(named)!r}"
            )
        file = named if text.encoding == UTF_8 else _in_utf_8(named, text.encoding)
        separator = text.separator or _find_separator(file, form)
        header = _read_header(file, str(named), form, separator)
        alike.setdefault((form, separator, *header), []).append((str(named), file))
    name = Path(path).name or path
    return [
        Source(
            name,
            _scan_files([file for _, file in files], form, separator),
            form in SEPARATED,
            text.decimal,
            tuple((called, _scan_files([file], form, separator)) for called, file in files),
        )
        for (form, separator, *_), files in alike.items()
    ]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process for files in UTF-8. It is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="varts-")


def _in_utf_8(file: Path, encoding: str) -> Path:
    """Return a copy of a text file in UTF-8, the only encoding that polars reads."""
    place = Path(tempfile.mkdtemp(dir=_folder().name)) / file.name.removesuffix(".gz")
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with (
            opened(file, "rt", encoding=encoding, newline="") as text,
            place.open("w", encoding=UTF_8, newline="") as copy,
        ):
            shutil.copyfileobj(text, copy, 2**20)
    except (UnicodeError, EOFError) as error:
        raise ValueError(f"{file} must be text in the encoding {encoding}, got: {error}") from None
    return place


def unreadable(what: str, error: BaseException) -> ValueError:
    """Return the error for a table that polars can't read."""
    reason = printable(str(error).splitlines()[0])
    hint = "; give the encoding of its files, such as latin-1" if "utf-8" in reason else ""
    return ValueError(f"{what} cannot be read: {reason}{hint}")


def _find_files(path: str) -> list[Path]:
    if not path.strip():  # Path("") would be the current folder
        raise ValueError(f"history must be a file, folder or pattern, got {path!r}")
    here = Path(path)
    if here.is_dir():
        inside = sorted(p for p in here.rglob("*") if p.is_file() and _format(p) is not None)
        if not inside:
            raise ValueError(f"history must be {KINDS}, got none in folder {path!r}")
        return inside
    if here.exists():
        return [here]
    if glob.has_magic(path):
        matched = sorted(Path(p) for p in glob.glob(path, recursive=True) if Path(p).is_file())
        if not matched:
            raise ValueError(f"history must match at least one file, got none for {path!r}")
        return matched
    raise FileNotFoundError(2, "no such file", path)


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((form for end, form in FORMATS.items() if name.endswith(end)), None)


def _find_separator(file: Path, form: str) -> str:
    """Detect the separator in the first line of a file."""
    if form != "CSV":
        return "\t" if form == "TSV" else ""
    try:
        with gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb") as opened:
            line = opened.readline(LONGEST_HEADER)
    except (OSError, EOFError) as error:
        raise ValueError(f"{file} must be a {form} file, got: {error}") from None
    return find_separator(line.decode("utf-8-sig", errors="replace"))


def _scan_files(files: list[Path], form: str, separator: str) -> pl.LazyFrame:
    """All columns of a CSV are read as text, so that a word among the rewards can be counted; so
    are those of NDJSON, whose lines need not agree on the type of a value.

    Patterns have been expanded already: the [1] in the name of an existing file is not a pattern.
    """
    if form in SEPARATED:
        return pl.scan_csv(files, infer_schema=False, glob=False, separator=separator)
    if form == "NDJSON":
        literal = [glob.escape(str(file)) for file in files]
        names = pl.scan_ndjson(literal, infer_schema_length=None).collect_schema().names()
        return pl.scan_ndjson(literal, schema=dict.fromkeys(names, pl.String))
    return pl.scan_parquet(files, glob=False)


def _check_lines(file: Path) -> None:
    """Refuse a line that polars would need several times its length in memory for.

    Only a byte or two in every `LONGEST_LINE` of them are looked at. When memory runs out, polars
    ends the process, or leaves out what it could not hold.
    """
    if not file.stat().st_size:
        return
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        start = 0
        while len(content) - start > LONGEST_LINE:
            end = content.rfind(b"\n", start, start + LONGEST_LINE)
            if end < 0:
                raise ValueError(
                    f"{file} must have lines of at most {LONGEST_LINE:,} bytes, got a longer one"
                )
            start = end + 1


def _read_header(file: Path, name: str, form: str, separator: str) -> tuple[str, ...]:
    """Return what two files must share to be scanned as one. Errors name the file `name`."""
    if form != "Parquet":
        _check_lines(file)
    try:
        schema = _scan_files([file], form, separator).collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = printable(str(error).splitlines()[0])
        raise ValueError(f"{name} must be a {form} file, got: {reason}") from None
    if not all(column.isprintable() for column in schema):
        raise ValueError(
            f"{name} must be a {form} file, got binary data; if it is text in another encoding, "
            "give it, such as utf-16"
        )
    return tuple(f"{column} {dtype}" for column, dtype in schema.items())
