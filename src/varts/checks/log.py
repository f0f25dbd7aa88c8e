"""`check`: run all checks on a log in a table or in files."""

from __future__ import annotations

import os
from typing import Any

import polars as pl

from varts._progress import Progress, show_progress
from varts._text import unquote_formulas
from varts._text_format import check_format
from varts._validation import unknown
from varts.checks.decisions import check_decisions
from varts.checks.finding import ROWS, Checks
from varts.checks.rewards import check_rewards
from varts.checks.tally import Tally
from varts.fitting.aggregate import FINITE, parse_names, select_rewards
from varts.fitting.columns import Columns, check_numbers, is_text, parse_numbers
from varts.fitting.sources import Source, Table, find_tables, unreadable

ROWS_PER_BATCH = 100_000
TRUE_WORDS = ("true", "1", "yes")
OPTIONAL = ("id", "unit", "probability", "estimated", "reason", "time", "settled_time")


def check(
    log: Table,
    *,
    experiment: str | None = "experiment",
    arm: str = "arm",
    reward: str = "reward",
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    progress: bool | Progress | None = None,
) -> Checks:
    """Check whether the rewards of a log suit the model, and whether its decisions are sound.

    Rows must be in time order, as `Experiment.export` writes them. Besides arm and reward, the
    checks use the columns id, unit, probability, estimated, reason, time and settled_time if they
    exist.
    The log may be larger than memory: it is read in batches.

    Args:
        log: A polars or pandas DataFrame, a LazyFrame, or a path to CSV, TSV, Parquet or NDJSON
            files (a file, a folder or a pattern), with a row per decision or reward.
        experiment: The column that names the experiment; None, or a log without this column, means
            a single experiment.
        arm: The column that names the arm.
        reward: The column of rewards; null means no reward.
        separator: The separator of CSV files; detected by default.
        decimal: The decimal mark of numbers in CSV files, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: The encoding of CSV files, such as "latin-1"; UTF-8 by default.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

    Returns:
        A finding per check. `print` them.

    >>> log = pl.DataFrame({"arm": ["a", "b"] * 100, "reward": [0.0, 1.0] * 90 + [None] * 20})
    >>> found = check(log)
    >>> found["missing rewards"].number, found["missing rewards"].verdict
    (0.1, 'note')
    >>> print(found["values"])
    values: note: rewards are only 0 and 1, so their mean determines their variance; Bernoulli-TS
    uses that, and VarTS needs tails=True to be as careful when 1 is rare
    """
    with show_progress(progress) as shown:
        sources = find_tables(log, check_format(separator, decimal, encoding))
        try:
            tables = [_select(source, experiment, arm, reward) for source in sources]
            times = [
                table.select(pl.col("time").max()) for table in tables if "time" in _names(table)
            ]
            ends = [
                end for one in times if (end := one.collect(engine="streaming").item()) is not None
            ]
            tally = Tally(max(ends, default=None), _count_arms(tables))
            for source, table in zip(sources, tables, strict=True):
                shown.stage(f"reading {source.name}")
                for batch in table.collect_batches(
                    chunk_size=ROWS_PER_BATCH, maintain_order=True, engine="streaming"
                ):
                    tally.add(batch)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise unreadable("the log", error) from None
    return summarise(sources[0].name if isinstance(log, (str, os.PathLike)) else "log", tally)


def summarise(
    name: str, tally: Tally, sticky: bool | None = None, window: bool | None = None
) -> Checks:
    """Run all checks on a tally."""
    paid = check_rewards(tally.reward_summary())
    decided = check_decisions(tally.decision_summary(sticky, window))
    lost = [one for one in decided if one.name == ROWS]
    return Checks(name, (*lost, *paid, *(one for one in decided if one not in lost)))


def _select(source: Source, experiment: str | None, arm: str, reward: str) -> pl.LazyFrame:
    """The columns of a log that the tally needs, under its names."""
    schema = source.table.collect_schema()
    own = experiment if experiment in schema else None
    if experiment not in (None, "experiment") and own is None:
        raise ValueError(f"{unknown('column', experiment, schema.names())} (for the experiment)")
    for ours, theirs in (("arm", arm), ("reward", reward)):
        if theirs not in schema:
            raise ValueError(f"{unknown('column', theirs, schema.names())} (for the {ours})")
    columns = Columns(own, arm, reward)
    more: dict[str, Any] = {
        name: made
        for name in OPTIONAL
        if name in schema
        and name not in (arm, reward, own)
        and (made := read_column(name, schema[name], source)) is not None
    }
    check_numbers(source, [reward, *({"probability"} & set(more))])
    rewards = select_rewards(reward, schema, source.decimal)
    table = source.table.select(**columns.select_keys(), **rewards, **more)
    table = table.with_columns(*parse_names(columns, schema, source.csv), *FINITE)
    return table if own is not None else table.with_columns(experiment=pl.lit(""))


def read_column(
    name: str, dtype: pl.DataType, source: Source, called: str | None = None
) -> pl.Expr | None:
    """An optional column as the tally needs it; None if its type doesn't fit.

    `called` is the column's name in the log.
    """
    column = pl.col(called or name)
    if name in ("id", "unit", "reason"):
        if dtype.is_nested():
            return None
        text = column.cast(pl.String)
        if is_text(dtype):
            text = unquote_formulas(text) if source.csv else text
            text = pl.when(text != "").then(text)
        return text
    if name in ("time", "settled_time"):
        return _read_time(column, dtype)
    if name == "estimated":
        if dtype == pl.Boolean:
            return column
        if is_text(dtype):
            return column.cast(pl.String).str.to_lowercase().is_in(TRUE_WORDS)
        return column == 1 if dtype.is_numeric() else None
    if is_text(dtype) or dtype.is_numeric():
        return parse_numbers(called or name, dtype, source.decimal)[1]
    return None


def _read_time(column: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """Microseconds since 1970. Numbers count as seconds."""
    if is_text(dtype):
        text = column.cast(pl.String)
        moment = text.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        seconds = text.cast(pl.Float64, strict=False) * 1e6
        return pl.coalesce(moment.to_physical(), seconds.cast(pl.Int64, strict=False))
    if dtype == pl.Datetime or dtype == pl.Date:
        return column.cast(pl.Datetime("us")).to_physical()
    return (
        (column.cast(pl.Float64) * 1e6).cast(pl.Int64, strict=False) if dtype.is_numeric() else None
    )


def _count_arms(tables: list[pl.LazyFrame]) -> dict[str, int]:
    """How many arms each experiment has; none if the log has no probabilities."""
    pairs = [
        table.select("experiment", "arm").drop_nulls().unique()
        for table in tables
        if "probability" in _names(table)
    ]
    if not pairs:
        return {}
    found = pl.concat(pairs).unique().group_by("experiment").len()
    return dict(found.collect(engine="streaming").iter_rows())


def _names(table: pl.LazyFrame) -> list[str]:
    return table.collect_schema().names()
