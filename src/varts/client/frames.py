"""Tables from rows of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def read_frame(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> pl.DataFrame:
    """Rows as a table; a column without a type is one of floats."""
    import polars as pl

    rows = list(rows)
    names = list(rows[0]) if rows else list(types)
    schema = {name: getattr(pl, types.get(name, "Float64")) for name in names}
    return pl.DataFrame([[row[name] for row in rows] for name in names], schema=schema)
