"""One table of a history -> the statistics of its arms, and what was left out of them.

A sample of the rewards themselves is kept beside the statistics, spread evenly over the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from varts._validation import abbreviate, unknown
from varts.checks.finding import FALLBACK, WORD, list_reasons
from varts.fitting.columns import (
    KEYS,
    MOMENTS,
    STATISTICS,
    Columns,
    check_numbers,
    is_fallback,
    parse_numbers,
    parse_text,
)
from varts.fitting.contexts import ContextTally
from varts.fitting.sources import Source, unreadable

ROWS_PER_BATCH = 250_000  # like the order of rows, it shows in the last digits of the result
COUNTS = ("rows", "reward missing", "reward not finite")


@dataclass(frozen=True)
class Aggregate:
    """The arms of one table."""

    arms: pl.DataFrame
    rows: int  #: rows read
    left_out: Counter[str]  #: rows that could not be used, by reason
    sample: pl.DataFrame | None = None  #: of the rewards themselves, by arm
    word: str | None = None  #: one of the rewards that are not numbers


def describe_left_out(left_out: Mapping[str, int], rows: int, word: str | None = None) -> str:
    """How many rows could not be used, and why; empty if all could.

    >>> describe_left_out({"reward missing": 2, "reward not a number": 1}, 1000, "pending")
    "left out: 3 of 1,000 rows (1 reward not a number, such as 'pending', 2 reward missing)"
    """
    if not left_out:
        return ""
    reasons = list_reasons(left_out, word)
    return f"left out: {sum(left_out.values()):,} of {rows:,} rows ({reasons})"


def describe_words(left_out: Mapping[str, int], word: str | None) -> str:
    """How many rewards are no numbers, for those to see first who read what was made of the others.

    >>> describe_words({"reward missing": 2, "reward not a number": 3}, "pending")
    "3 rewards are not numbers, such as 'pending', and were left out"
    """
    count = left_out.get(WORD, 0)
    if not count:
        return ""
    what = "1 reward is not a number" if count == 1 else f"{count:,} rewards are not numbers"
    shown = "" if word is None else f", such as {abbreviate(word)}"
    return f"{what}{shown}, and {'was' if count == 1 else 'were'} left out"


def reduce_table(
    source: Source, columns: Columns, contexts: ContextTally | None = None
) -> Aggregate:
    """Reduce a table of rewards, or of statistics that were aggregated before.

    `contexts` takes the features of every reward, where there are any.
    """
    table, csv = source.table, source.csv
    try:
        schema = table.collect_schema()
        check_keys(schema, columns)
        if columns.reward in schema:
            names = parse_names(columns, schema, csv)
            if contexts is not None:
                contexts.open(source)
            check_numbers(source, [columns.reward])
            return _reduce_rewards(source, schema, columns, names, contexts)
        if contexts is not None:
            raise ValueError(
                f"{unknown('column', columns.reward, schema.names())} (for the reward: features "
                "need a row per reward)"
            )
        if {"n", "mean"} <= set(schema) and {"sd", "m2"} & set(schema):
            check_numbers(source, ["n", "mean", "m2" if "m2" in schema else "sd"])
            return _reduce_statistics(source, schema, columns, parse_names(columns, schema, csv))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable("the history", error) from None
    lacking = unknown("column", columns.reward, schema.names())
    raise ValueError(f"{lacking} (for the reward; or n, mean and sd or m2)")


def _reduce_rewards(
    source: Source,
    schema: pl.Schema,
    columns: Columns,
    names: list[pl.Expr],
    contexts: ContextTally | None,
) -> Aggregate:
    """Batches in the order of the rows, merged one after the other.

    Polars' streaming engine could aggregate by itself, but its threads merge in the order in which
    they finish, so the last digits would differ from run to run. Rewards are taken as deviations
    from the first one of the same arm in the batch: 1e9 +/- 1 loses no digits in the sums behind a
    mean, an arm of equal rewards has no spread at all, and the other arms' rewards do not matter.
    """
    more = {} if contexts is None else contexts.columns
    rewards = select_rewards(columns.reward, schema, source.decimal)
    by_client = is_fallback(schema, columns).alias(FALLBACK)
    rows = source.table.select(by_client, **columns.select_keys(), **rewards, **more)
    rows = rows.with_columns(FINITE)
    keys = list(columns.keys)
    batches: list[pl.DataFrame] = []
    fallbacks = 0
    sample = RewardSample(names, list(more))
    for batch in rows.collect_batches(
        chunk_size=ROWS_PER_BATCH, maintain_order=True, engine="streaming"
    ):
        fallbacks += int(batch[FALLBACK].sum())
        batch = batch.filter(pl.col(FALLBACK).not_())
        if contexts is not None:
            batch = contexts.add(batch, keys, names)
        sample.add(batch, keys)
        # Names after the grouping: there are far fewer arms than rows.
        batches.append(reduce_batch(batch, keys).with_columns(names).sort(keys))
        if sum(arms.height for arms in batches) > ROWS_PER_BATCH:
            batches = [merge_batches(batches, keys)]
    if not batches:
        return Aggregate(_no_arms(columns), 0, Counter())
    arms = merge_batches(batches, keys)
    if not arms["m2"].is_finite().all():
        raise ValueError("rewards must be small enough to be squared (1e150), got larger ones")
    lost = pl.col("reward missing") + pl.col("reward not finite")
    arms = arms.with_columns(
        mean=pl.col("origin") + pl.col("mean"),
        **{WORD: (pl.col("rows") - pl.col("n") - lost).cast(pl.Int64)},
    )
    named, left_out = _drop_unnamed(arms)
    for reason in ("reward missing", WORD, "reward not finite"):
        left_out[reason] += int(named[reason].sum())
    left_out[FALLBACK] += fallbacks
    used = _select_columns(named.filter(pl.col("n") > 0))
    word = find_word(rows.filter(pl.col(FALLBACK).not_())) if left_out[WORD] else None
    read = int(arms["rows"].sum()) + fallbacks
    return Aggregate(used, read, +left_out, sample.frame(), word)


def find_word(rows: pl.LazyFrame) -> str | None:
    """The first reward that is not a number, in rows of `select_rewards` and `FINITE`."""
    words = rows.filter(pl.col("given").is_not_null() & pl.col("infinite").is_null())
    found = words.select(pl.col("given").cast(pl.String)).head(1).collect(engine="streaming")
    return found.item() if found.height else None


def select_rewards(name: str, schema: pl.Schema, decimal: str = ".") -> dict[str, pl.Expr]:
    """A column of rewards as it is, null where nothing is given, and as numbers."""
    given, number = parse_numbers(name, schema[name], decimal)
    return {"given": given, "value": number}


# Rewards that are finite, and which are not; the expressions see the column as it was.
FINITE = (
    pl.when(pl.col("value").is_finite()).then("value").alias("value"),
    pl.col("value").is_finite().not_().alias("infinite"),
)


def reduce_batch(batch: pl.DataFrame, keys: list[str], *more: pl.Expr) -> pl.DataFrame:
    """The statistics of the arms in a batch of `select_rewards`, as deviations from an origin."""
    value = pl.col("value")
    n, gap = value.count().cast(pl.Float64), value - value.mean()
    return (
        batch.with_columns(origin=value.drop_nulls().first().over(keys))
        .with_columns(value=value - pl.col("origin"))
        .group_by(keys)
        .agg(
            pl.col("origin").first(),
            n.alias("n"),
            value.mean().fill_null(0).alias("mean"),
            (value.var().fill_null(0) * (n - 1)).alias("m2"),
            (gap * gap * gap).sum().alias("m3"),
            (gap * gap * gap * gap).sum().alias("m4"),
            pl.len().cast(pl.Int64).alias("rows"),
            pl.col("given").null_count().cast(pl.Int64).alias("reward missing"),
            pl.col("infinite").sum().cast(pl.Int64).alias("reward not finite"),
            *more,
        )
    )


def _reduce_statistics(
    source: Source, schema: pl.Schema, columns: Columns, names: list[pl.Expr]
) -> Aggregate:
    """Tables of statistics are small: they are read at once."""
    spread = "m2" if "m2" in schema else "sd"
    numbers = {
        name: parse_numbers(name, schema[name], source.decimal)[1] for name in ("n", "mean", spread)
    }
    n, wide = pl.col("n"), pl.col(spread)
    finite = {name: pl.col(name).is_finite().fill_null(False) for name in numbers}
    reason = (
        pl.when((finite["n"] & (n >= 0) & (n == n.floor())).not_())
        .then(pl.lit("n not a whole number"))
        .when(n == 0)
        .then(pl.lit("n is 0"))
        .when(finite["mean"].not_())
        .then(pl.lit("mean not finite"))
        .when((n > 1) & (finite[spread] & (wide >= 0)).not_())
        .then(pl.lit(f"{spread} not a number from 0"))
    )
    m2 = wide if spread == "m2" else wide**2 * (n - 1)
    table = source.table.select(**columns.select_keys(), **numbers).with_columns(
        *names,
        rows=pl.lit(1),
        reason=reason,
        m2=pl.when(n > 1).then(m2).otherwise(0.0),  # one reward has no sd, and needs none
        **{name: pl.when(n > 1).then(float("nan")).otherwise(0.0) for name in MOMENTS},
    )
    read = table.collect(engine="streaming")
    named, left_out = _drop_unnamed(read)
    left_out.update(named["reason"].drop_nulls().to_list())
    used = _select_columns(named.filter(pl.col("reason").is_null()))
    return Aggregate(used, read.height, left_out)


def check_keys(schema: pl.Schema, columns: Columns) -> None:
    """Refuse a table that lacks a column which identifies an arm."""
    for ours, theirs in columns.keys.items():
        if theirs not in schema:
            raise ValueError(f"{unknown('column', theirs, schema.names())} (for the {ours})")


def parse_names(columns: Columns, schema: pl.Schema, csv: bool) -> list[pl.Expr]:
    """The columns that identify an arm, as text; an empty name, or a NaN, is missing."""
    return [
        parse_text(pl.col(ours), theirs, schema[theirs], csv).alias(ours)
        for ours, theirs in columns.keys.items()
    ]


def _drop_unnamed(table: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The rows whose arm is named, and how many rows of the history lack which name."""
    left_out = Counter[str]()
    for key in (key for key in KEYS if key in table.columns):
        lacking = pl.col(key).is_null()
        left_out[f"{key} missing"] += int(table.filter(lacking)["rows"].sum())
        table = table.filter(lacking.not_())
    return table, +left_out


def _select_columns(table: pl.DataFrame) -> pl.DataFrame:
    if "experiment" not in table.columns:
        table = table.with_columns(experiment=pl.lit(""))
    return table.select(key for key in (*KEYS, *STATISTICS, *MOMENTS) if key in table.columns)


def _no_arms(columns: Columns) -> pl.DataFrame:
    names = dict.fromkeys(("experiment", *columns.keys), pl.String)
    numbers = dict.fromkeys((*STATISTICS, *MOMENTS), pl.Float64)
    return _select_columns(pl.DataFrame(schema={**names, **numbers}))


def merge_batches(
    batches: list[pl.DataFrame], keys: list[str], counts: Sequence[str] = COUNTS
) -> pl.DataFrame:
    """Batches as one, the means of an arm as deviations from the first of its origins."""
    origin = pl.col("origin").drop_nulls().first().over(keys)
    shift = (pl.col("origin") - origin).fill_null(0.0)  # null: no reward in this batch
    aligned = pl.concat(batches).with_columns(mean=pl.col("mean") + shift, origin=origin)
    return merge_rows(aligned, [*keys, "origin"], counts)


def merge_rows(arms: pl.DataFrame, keys: list[str], counts: Sequence[str] = ()) -> pl.DataFrame:
    """One row per arm, sorted by name; the columns `counts` are added up.

    The formulas are those of `ArmStats.pooled`, for any number of rows per arm: polars cannot merge
    the rows of a group two by two, as `ArmStats.merge` does.
    """
    n, mean, m2, m3, m4 = (pl.col(name) for name in (*STATISTICS, *MOMENTS))
    total, gap = pl.col("total"), mean - pl.col("center")
    return (
        arms.with_columns(total=n.sum().over(keys), first=mean.first().over(keys))
        .with_columns(
            center=pl.col("first")
            + pl.when(total > 0)
            .then((n * (mean - pl.col("first"))).sum().over(keys) / total)
            .otherwise(0.0)
        )
        .group_by(keys, maintain_order=True)
        .agg(
            n.sum(),
            pl.col("center").first().alias("mean"),
            (m2 + n * gap**2).sum().alias("m2"),
            (m3 + 3 * gap * m2 + n * gap * gap * gap).sum().alias("m3"),
            (m4 + 4 * gap * m3 + 6 * gap * gap * m2 + n * gap * gap * gap * gap).sum().alias("m4"),
            *(pl.col(name).sum() for name in counts),
        )
        .sort(keys)
    )


LARGEST_SAMPLE = 500_000  # rewards, of all arms together
# Multiples of the golden ratio are spread evenly over [0, 1), whatever period a log may have.
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


class RewardSample:
    """A sample that does not depend on how the log was cut into batches.

    Row i is kept if the fraction of i times the golden ratio is below a limit; the limit is halved
    whenever there are too many.

    Args:
        names: Expressions that make the names of arms readable.
        beside: Columns to keep beside the value.
    """

    def __init__(self, names: list[pl.Expr], beside: Sequence[str] = ()) -> None:
        self.names, self.beside, self.rows, self.size = names, list(beside), 0, 0
        self.limit = 2**64 - 1
        self.parts: list[pl.DataFrame] = []

    def add(self, batch: pl.DataFrame, keys: list[str]) -> None:
        """Take some of the rows that have a value."""
        place = np.arange(self.rows, self.rows + batch.height, dtype=np.uint64) * GOLDEN_RATIO
        self.rows += batch.height
        part = batch.select(*keys, "value", *self.beside, place=pl.Series(place))
        self._keep(part.filter(pl.col("place") <= self.limit, pl.col("value").is_not_null()))
        while self.size > LARGEST_SAMPLE:
            self.limit //= 2
            parts, self.parts, self.size = self.parts, [], 0
            for part in parts:
                self._keep(part.filter(pl.col("place") <= self.limit))

    def _keep(self, part: pl.DataFrame) -> None:
        self.parts.append(part)
        self.size += part.height

    def frame(self) -> pl.DataFrame | None:
        """Names of arms and their values, in the order of the log."""
        return pl.concat(self.parts).drop("place").with_columns(self.names) if self.parts else None


def merge_samples(samples: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    """The samples of several tables as one, no larger than that of one."""
    known = [sample for sample in samples if sample is not None and sample.height]
    if not known:
        return None
    every = -(-sum(sample.height for sample in known) // LARGEST_SAMPLE)
    return pl.concat([sample.gather_every(every) for sample in known])
