"""Where a log comes from: a table in memory, files, folders and patterns, all as lazy tables."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import polars as pl

from varts._validation import abbreviate

SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}


def sources(history: Any) -> list[tuple[str, pl.LazyFrame]]:
    """The tables to read, each lazily, with a name to show while it is read."""
    if isinstance(history, pl.LazyFrame):
        return [("history", history)]
    if isinstance(history, pl.DataFrame):
        return [("history", history.lazy())]
    if type(history).__module__.split(".")[0] == "pandas" and hasattr(history, "columns"):
        return [("history", _from_pandas(history).lazy())]
    if isinstance(history, (str, os.PathLike)):
        return _scan(os.fspath(history))
    raise ValueError(
        "history must be a polars or pandas DataFrame, a LazyFrame or a path, "
        f"got {abbreviate(type(history).__name__)}"
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    """By way of Python objects, which needs no pyarrow; a missing value becomes None."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"columns of the history must have different names, got {twice!r} twice")
    objects = frame.astype(object).where(frame.notna(), None)
    return pl.DataFrame(
        [pl.Series(name, objects.iloc[:, i].tolist(), strict=False) for i, name in enumerate(names)]
    )


def _scan(path: str) -> list[tuple[str, pl.LazyFrame]]:
    """A table per kind of file: files of one kind are scanned together."""
    found = _files(path)
    kinds: dict[tuple[str, ...], list[Path]] = {}
    for file in found:
        kind = _kind(file)
        if kind is None:
            raise ValueError(f"history must be CSV or Parquet files, got {str(file)!r}")
        # Files are scanned together if they look alike; others are merged after the reduction.
        kinds.setdefault((kind, *_header(file, kind)), []).append(file)
    name = Path(path).name or path
    return [(name, _scan_files(files, key[0])) for key, files in kinds.items()]


def _files(path: str) -> list[Path]:
    here = Path(path)
    if here.is_dir():
        inside = sorted(p for p in here.rglob("*") if p.is_file() and _kind(p) is not None)
        if not inside:
            raise ValueError(f"history must be CSV or Parquet files, got none in folder {path!r}")
        return inside
    if here.exists():
        return [here]
    if glob.has_magic(path):
        matched = sorted(Path(p) for p in glob.glob(path, recursive=True) if Path(p).is_file())
        if not matched:
            raise ValueError(f"history must match at least one file, got none for {path!r}")
        return matched
    raise FileNotFoundError(2, "no such file", path)


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for end, kind in SUFFIXES.items() if name.endswith(end)), None)


def _scan_files(files: list[Path], kind: str) -> pl.LazyFrame:
    """A CSV's columns are all read as text: a word among the rewards is then counted, not a crash.

    Patterns were expanded before: [1] in the name of a file that exists is no pattern.
    """
    if kind == "csv":
        return pl.scan_csv(files, infer_schema=False, glob=False)
    return pl.scan_parquet(files, glob=False)


def _header(file: Path, kind: str) -> tuple[str, ...]:
    """What two files must share to be scanned as one."""
    try:
        schema = _scan_files([file], kind).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        what = "CSV" if kind == "csv" else "Parquet"
        reason = str(error).splitlines()[0]
        raise ValueError(f"{file} must be a {what} file, got: {reason}") from None
    return tuple(f"{name} {dtype}" for name, dtype in schema.items())
