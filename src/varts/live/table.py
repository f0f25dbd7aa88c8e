"""Pages of the log as tables, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def make_columns(names: Sequence[str], page: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The first columns of the rows of a page, by their names.

    >>> make_columns(("id", "arm"), [("a", 0, 1794941257), ("b", 2, 1794941258)])
    {'id': ('a', 'b'), 'arm': (0, 2)}
    """
    return dict(zip(names, zip(*page, strict=True), strict=False))


def make_table(
    columns: Mapping[str, Any], types: Mapping[str, Any], strict: bool = False
) -> pl.DataFrame:
    """Those of the columns that have a type, in the order of the types.

    Args:
        columns: Values by the name of a column.
        types: The polars types of some of them.
        strict: Whether a value of another type is an error; else it is a null.
    """
    import polars as pl

    return pl.DataFrame(
        [pl.Series(name, columns[name], dtype, strict=strict) for name, dtype in types.items()]
    )
