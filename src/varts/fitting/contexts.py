"""The contexts of a history's rewards: columns of a table -> rows of numbers -> statistics.

The rules are those of `Features`: a row that it refuses is left out and counted by reason. Whole
columns are encoded at once; memory grows with the number of arms and the square of that of the
features, not with the number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from varts._text_format import PLAIN, TextFormat
from varts._validation import Floats, abbreviate, unknown
from varts.features import LARGEST_NUMBER, MISSING, NUMBER, Features, features_from
from varts.fitting.columns import check_numbers, is_text, parse_numbers, parse_text
from varts.fitting.sources import Source, find_tables
from varts.linear_stats import LinearStats, merged_products, row_moments

ROWS_DESCRIBED = 1_000_000  # of a table, from which features that are only named are described
LOST = "context lost"  # the column that says why a context cannot be used

FeaturesLike: TypeAlias = "Features | Mapping[str, Any] | Sequence[str]"


def find_features(features: FeaturesLike, sources: Sequence[Source]) -> Features:
    """The description itself, or one of the columns that are named, made from the tables.

    A column all of whose cells are numbers is a number, any other a category.
    """
    if isinstance(features, (Features, Mapping)):
        return features_from(features)
    if isinstance(features, (str, bytes)) or not isinstance(features, Iterable):
        raise TypeError(
            "features must be a Features, kinds by name or names of columns, "
            f"got {abbreviate(features)}"
        )
    names = list(features)
    if not names:
        raise ValueError("features must be at least one column, got none")
    parts = [_read_cells(source, names) for source in sources]
    return Features.from_table(pl.concat(parts, how="vertical_relaxed"), names)


def _read_cells(source: Source, names: Sequence[str]) -> pl.DataFrame:
    """The first rows of these columns, as numbers where all cells are."""
    schema = source.table.collect_schema()
    for name in names:
        _check_column(schema, name)
    table = source.table.select(names).head(ROWS_DESCRIBED).collect(engine="streaming")
    made = []
    for name in names:
        if is_text(schema[name]):
            check_numbers(source, [name])
            given, number = parse_numbers(name, schema[name], source.decimal)
            text = parse_text(pl.col(name), name, schema[name], source.csv)
            both = table.select(given=given, number=number, text=text)
            numeric = both["number"].null_count() == both["given"].null_count() < both.height
            made.append(both["number" if numeric else "text"].alias(name))
        elif schema[name] == pl.Boolean:
            made.append(_words(name, table[name]))
        else:
            made.append(table[name])
    return pl.DataFrame(made)


def _words(name: str, values: pl.Series) -> pl.Series:
    return pl.Series(name, [None if value is None else str(value) for value in values])


def select_contexts(features: Features, source: Source) -> dict[str, pl.Expr]:
    """The columns of the features, parsed, and why a row's context cannot be used; null if it can.

    Their names cannot be those of other columns of a history or a log.
    """
    columns: dict[str, pl.Expr] = {}
    reasons = []
    schema = source.table.collect_schema()
    check_numbers(source, [name for name, kind in features.kinds.items() if kind == NUMBER])
    for name, kind in features.kinds.items():
        _check_column(schema, name)
        dtype = schema[name]
        if kind != NUMBER:
            columns[_column(name)] = _category(name, dtype, source.csv).fill_null(MISSING)
            continue
        given, number = parse_numbers(name, dtype, source.decimal)
        if dtype.is_float():
            given, number = given.fill_nan(None), number.fill_nan(None)
        columns[_column(name)] = number
        tests = [
            (given.is_not_null() & number.is_null(), "not a number"),
            (number.is_finite().not_(), "not finite"),
            (number.abs() > LARGEST_NUMBER, "above 1e70"),
        ]
        if name not in features.optional:
            tests.insert(0, (given.is_null(), "missing"))
        reasons += [pl.when(test).then(pl.lit(f"{name} {why}")) for test, why in tests]
    none = pl.lit(None, pl.String)
    return {**columns, LOST: pl.coalesce([*reasons, none])}


def _check_column(schema: pl.Schema, name: Any) -> None:
    if name not in schema:
        raise ValueError(f"{unknown('column', name, schema.names())} (for a feature)")


def _column(name: str) -> str:
    return f"context {name}"


def _category(name: str, dtype: pl.DataType, csv: bool) -> pl.Expr:
    if dtype == pl.Boolean:  # as Python writes them, and `Features` does
        return pl.when(pl.col(name)).then(pl.lit("True")).when(~pl.col(name)).then(pl.lit("False"))
    if not (is_text(dtype) or dtype.is_integer() or dtype == pl.Null):
        raise ValueError(f"column {name!r} must hold categories, got {dtype}")
    return parse_text(pl.col(name), name, dtype, csv)


def encode_contexts(features: Features, table: pl.DataFrame) -> Floats:
    """The numbers of every row of `select_contexts`: those of `Features.encode`."""
    own: dict[str, list[Floats]] = {}
    for name, kind in features.kinds.items():
        values = table[_column(name)]
        if isinstance(kind, str):
            absent = values.is_null().to_numpy()
            known = values.fill_null(0.0).to_numpy().astype(np.float64)
            own[name] = [known, absent.astype(np.float64)] if name in features.optional else [known]
        else:
            own[name] = [(values == word).to_numpy().astype(np.float64) for word in kind[1:]]
            own[name].append((~values.is_in(kind)).to_numpy().astype(np.float64))
    columns = [column for one in own.values() for column in one]
    columns += [a * b for one, two in features.interactions for a in own[one] for b in own[two]]
    return np.column_stack(columns) if columns else np.zeros((table.height, 0))


def read_contexts(features: Features, table: pl.DataFrame) -> list[dict[str, float | str]]:
    """Every row of `select_contexts` as the mapping that `Features.check` returns."""
    names = list(features.kinds)
    rows = table.select(_column(name) for name in names).iter_rows()
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in rows
    ]


def find_contexts(
    table: Any, features: FeaturesLike, text: TextFormat = PLAIN
) -> tuple[Features, list[dict[str, float | str]]]:
    """The contexts of a file or a data frame, and what they have; rows without one are left out."""
    sources = find_tables(table, text)
    described = find_features(features, sources)
    found: list[dict[str, float | str]] = []
    lost = Counter[str]()
    for source in sources:
        columns = select_contexts(described, source)
        rows = source.table.select(**columns).head(ROWS_DESCRIBED).collect(engine="streaming")
        lost.update(rows[LOST].drop_nulls().to_list())
        found += read_contexts(described, rows.filter(pl.col(LOST).is_null()))
    if not found:
        why = f" ({lost.most_common(1)[0][0]})" if lost else ""
        raise ValueError(f"contexts must have a row that can be used, got none{why}")
    return described, found


class ContextTally:
    """The statistics of arms with features, batch after batch.

    Args:
        features: The features of the contexts.
    """

    def __init__(self, features: Features) -> None:
        self.features = features
        self.columns: dict[str, pl.Expr] = {}  #: to select from the table that is open
        self.left_out = Counter[str]()
        self.arms: dict[tuple[Any, ...], tuple[Any, Floats, Floats]] = {}

    def open(self, source: Source) -> None:
        """Take the next table."""
        self.columns = select_contexts(self.features, source)

    def add(self, batch: pl.DataFrame, keys: list[str], names: list[pl.Expr]) -> pl.DataFrame:
        """Add a batch with `columns`, and return its rows whose contexts can be used."""
        self.left_out.update(batch[LOST].drop_nulls().to_list())
        usable = batch.filter(pl.col(LOST).is_null())
        rewarded = usable.filter(pl.col("value").is_not_null()).with_columns(names)
        rows = np.column_stack(
            [encode_contexts(self.features, rewarded), rewarded["value"].to_numpy()]
        )
        places = rewarded.select(keys).with_row_index("row").group_by(keys, maintain_order=True)
        for *key, mine in places.agg("row").iter_rows():
            self.merge(tuple(key), row_moments(rows[mine]))
        return usable

    def merge(self, key: tuple[Any, ...], moments: tuple[Any, Floats, Floats]) -> None:
        """Add rows of an arm that are counted already."""
        before = self.arms.get(key)
        self.arms[key] = moments if before is None else merged_products(*before, *moments)

    def stats(self, keys: Iterable[tuple[Any, ...]]) -> LinearStats:
        """The statistics of these arms, in their order."""
        found = [self.arms[key] for key in keys]
        if not found:
            return LinearStats.empty(1, self.features.d).take(slice(0))
        return LinearStats(*(np.array(part) for part in zip(*found, strict=True)))
