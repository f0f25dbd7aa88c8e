"""Convert the tables that users pass to polars data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from varts._validation import abbreviate


def is_pandas(table: Any) -> bool:
    """Return whether a table is a pandas DataFrame, without importing pandas."""
    return type(table).__module__.split(".")[0] == "pandas" and hasattr(table, "columns")


def from_pandas(name: str, frame: Any) -> pl.DataFrame:
    """Convert a pandas DataFrame by Python objects, which needs no pyarrow. NaN becomes None."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"columns of {name} must have different names, got {twice!r} twice")
    objects = frame.astype(object).where(frame.notna(), None)
    return pl.DataFrame(
        [pl.Series(name, objects.iloc[:, i].tolist(), strict=False) for i, name in enumerate(names)]
    )


def to_frame(name: str, table: Any) -> pl.DataFrame:
    """Return a polars DataFrame from one of polars or pandas, or a mapping from names to lists."""
    if isinstance(table, pl.DataFrame):
        return table
    if is_pandas(table):
        return from_pandas(name, table)
    rule = f"{name} must be a polars or pandas DataFrame or a mapping from names to lists"
    if not isinstance(table, Mapping):
        raise TypeError(f"{rule}, got {abbreviate(table)}")
    try:
        return pl.DataFrame(dict(table))
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise ValueError(f"{rule} of equal lengths and types, got {abbreviate(table)}") from None
