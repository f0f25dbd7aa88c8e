"""Refuse a history that has rows twice: a log appended to itself, or files that overlap.

Equal rewards are legitimate, so that rows are compared only where something identifies them:

- In a log that varts exported, a row is a decision. One with the same id and time is the same
  decision, even if its reward came between two exports.
- In another table with a column `id`, or else `time`, a row is a copy if all its cells are equal.
  That holds only if the column tells rows apart: not if it is the id of a user with many rewards,
  nor if times are days or minutes, or rows so frequent that different ones share a second.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from varts._text import printable
from varts._validation import abbreviate
from varts.checks.keys import KeySample
from varts.fitting.columns import Columns
from varts.fitting.sources import Source, unreadable

ROWS_PER_BATCH = 250_000
EXPORTED = {
    "id",
    "time",
    "version",
    "probability",
}  # has a log that we exported
TELLS_APART = 0.9  # different rows per different id or time, at least, for it to identify a row
EXACT = 0.5  # of the times must have seconds that aren't 0; 59 in 60 do, by chance
SECONDS = r"\d:\d\d:(?:0[1-9]|[1-5]\d)|^\d{10,}(?:\.\d+)?$"  # as text, or since 1970


def check_duplicates(sources: Sequence[Source], columns: Columns) -> None:
    """Raise ValueError if a row occurs twice, and say where.

    The tables are read in batches. Of very long ones, a sample of the rows is compared.

    Args:
        sources: The tables.
        columns: The names of their columns.
    """
    try:
        marks = [(source, mark) for source in sources if (mark := _identifier(source, columns))]
        for mark in sorted({mark for _, mark in marks}):
            _compare([source for source, own in marks if own == mark], columns, mark)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable("the history", error) from None


def _identifier(source: Source, columns: Columns) -> str | None:
    """The column that may identify the rows of a table of rewards, or None."""
    schema = source.table.collect_schema()
    taken = {*columns.keys.values(), columns.reward}
    if columns.reward not in schema:
        return None
    found = (name for name in ("id", "time") if name in schema and name not in taken)
    return next((name for name in found if not schema[name].is_nested()), None)


def _rows(source: Source, columns: Columns, mark: str, table: pl.LazyFrame) -> pl.LazyFrame:
    """A hash of the cells to compare, `key`, and the cell that identifies the row, `mark`."""
    schema = source.table.collect_schema()
    if schema.keys() >= EXPORTED:
        compared = [name for name in (columns.experiment, "id", "time") if name in schema]
        cells = [pl.col(name).cast(pl.String) for name in compared if name is not None]
    else:
        cells = [pl.col(name) for name, dtype in schema.items() if not dtype.is_nested()]
    rows = table.select(key=pl.struct(cells).hash(), mark=pl.col(mark))
    return rows.with_columns(key=pl.when(pl.col("mark").is_not_null()).then("key"))


def _compare(sources: Sequence[Source], columns: Columns, mark: str) -> None:
    sample, marked, exact = KeySample(), 0, 0
    for source in sources:
        rows = _rows(source, columns, mark, source.table)
        for batch in rows.collect_batches(
            chunk_size=ROWS_PER_BATCH, maintain_order=True, engine="streaming"
        ):
            known = batch.drop_nulls("key")
            marked += known.height
            if mark == "time":
                exact += int(known["mark"].cast(pl.String).str.contains(SECONDS).sum())
            sample.add(known.select("key", arm="mark"))
    if not marked or (mark == "time" and exact < EXACT * marked):
        return
    keys = sample.frame.group_by("key", maintain_order=True).agg(pl.len(), pl.col("arm").first())
    copies = keys.filter(pl.col("len") > 1)
    if copies.height and keys["arm"].n_unique() >= TELLS_APART * keys.height:
        scale = (2**64 - 1) / sample.limit
        count = round((int(copies["len"].sum()) - copies.height) * scale)
        raise ValueError(_describe(sources, columns, mark, copies["key"][0], count))


def _describe(sources: Sequence[Source], columns: Columns, mark: str, key: int, count: int) -> str:
    """The sentence about the first two rows with this key."""
    places: list[str] = []
    cell = ""
    for source in sources:
        for called, part in source.parts():
            rows = _rows(source, columns, mark, part).with_row_index("row", 1)
            found = rows.filter(pl.col("key") == key).head(2).collect(engine="streaming")
            below = " below the header" if source.files else ""
            places += [f"row {row:,}{below} of {called}" for row in found["row"]]
            cell = str(found["mark"][0]) if found.height else cell
    rest = f", the first of {count:,} copies" if count > 1 else ""
    return (
        f"{places[1]} repeats {places[0]} (column {mark!r}: {abbreviate(printable(cell))}){rest}; "
        "remove the copies, or files that overlap; if they are different rewards, rename "
        f"the column {mark!r}"
    )
