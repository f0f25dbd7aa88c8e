"""The single rewards of a log, arm by arm, for what must know more than their statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from varts._text_format import PLAIN, TextFormat
from varts._validation import Floats, abbreviate, unknown
from varts.checks.finding import FALLBACK, WORD, list_reasons
from varts.fitting.aggregate import check_keys, parse_names
from varts.fitting.columns import KEYS, Columns, check_numbers, is_fallback, parse_numbers
from varts.fitting.duplicates import check_duplicates
from varts.fitting.sources import Source, Table, find_tables, unreadable

EXPERIMENTS_LISTED = 20  # in a sentence
REASONS = (
    FALLBACK,
    *("experiment missing", "arm missing"),
    *("reward missing", WORD, "reward not finite"),
)


@dataclass(frozen=True)
class RecordedRewards:
    """The rewards of one experiment.

    Args:
        arms: The rewards of each arm in the order of the log; arms are sorted by name.
        rows: How many rows were read.
        left_out: How many of them could not be used, by reason.
        word: A reward that is not a number, as written; None if all are numbers.
    """

    arms: dict[str, Floats]
    rows: int
    left_out: dict[str, int]
    word: str | None = None


def read_rewards(
    log: Table,
    *,
    experiment: str | None = None,
    only: str | None = None,
    arm: str = "arm",
    reward: str = "reward",
    text: TextFormat = PLAIN,
) -> RecordedRewards:
    """Read the rewards of one experiment; they must fit into memory.

    Args:
        log: A table with one row per reward, or where one is, as in `read_history`.
        experiment: The column that names the experiment; by default the column `experiment`, if
            there is one.
        only: The experiment to take, if there are several.
        arm: The column that names the arm.
        reward: The column of rewards.
        text: How files are written.

    >>> log = pl.DataFrame({"arm": ["b", "a", "b"], "reward": ["1.5", "2", "three"]})
    >>> read = read_rewards(log)
    >>> read.arms, read.left_out
    ({'a': array([2.]), 'b': array([1.5])}, {'reward not a number': 1})
    """
    sources = find_tables(log, text)
    check_duplicates(sources, Columns(experiment or "experiment", arm, reward))
    tables = [_read_table(source, experiment, arm, reward) for source in sources]
    rows = pl.concat(tables, how="diagonal")
    if "experiment" in rows.columns:
        rows = take_experiment(rows, only)
    elif only is not None:
        raise ValueError(f"only must be left out for a log without experiments, got {only!r}")
    counts = Counter[str](rows["lost"].drop_nulls().to_list())
    left_out = {reason: counts[reason] for reason in REASONS if counts[reason]}
    word = next(iter(rows["word"].drop_nulls().head(1)), None)
    used = rows.filter(pl.col("lost").is_null())
    if used.is_empty():
        lost = list_reasons(left_out, word)
        raise ValueError(f"the log must have a usable reward, got {lost or 'no rows'}")
    parts = used.partition_by("arm", maintain_order=True, as_dict=True)
    arms = {str(name): part["value"].to_numpy() for (name,), part in sorted(parts.items())}
    return RecordedRewards(arms, rows.height, left_out, word)


def _read_table(source: Source, experiment: str | None, arm: str, reward: str) -> pl.DataFrame:
    """Experiment (if there are any), arm, value, and why a row is lost."""
    try:
        schema = source.table.collect_schema()
        if experiment is None and "experiment" in schema:
            experiment = "experiment"
        columns = Columns(experiment, arm, reward)
        check_keys(schema, columns)
        if reward not in schema:
            raise ValueError(f"{unknown('column', reward, schema.names())} (for the reward)")
        check_numbers(source, [reward])
        given, number = parse_numbers(reward, schema[reward], source.decimal)
        names = parse_names(columns, schema, source.csv)
        by_client = is_fallback(schema, columns).alias(FALLBACK)
        rows = source.table.select(by_client, given=given, value=number, **columns.select_keys())
        rows = rows.with_columns(names)
        value = pl.col("value")
        keys = [pl.col(key).is_null() if key in columns.keys else False for key in KEYS[:2]]
        tests = (
            pl.col(FALLBACK),
            *keys,
            pl.col("given").is_null(),
            value.is_null(),
            value.is_finite().not_(),
        )
        reasons = zip(tests, REASONS, strict=True)
        lost = pl.coalesce(pl.when(test).then(pl.lit(reason)) for test, reason in reasons)
        word = pl.when(value.is_null()).then(pl.col("given").cast(pl.String))
        return rows.select(*columns.keys, "value", lost=lost, word=word).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable("the log", error) from None


def take_experiment(rows: pl.DataFrame, only: str | None) -> pl.DataFrame:
    """The rows of one experiment: the only one, or the one that `only` names."""
    found = sorted(rows["experiment"].drop_nulls().unique().to_list())
    if only is None:
        if len(found) > 1:
            raise ValueError(
                f"the log must be of one experiment, got {len(found)}; name the one to take, such "
                f"as {abbreviate(found[0])}, with only"
            )
        return rows
    if str(only) not in found:
        if len(found) > EXPERIMENTS_LISTED:
            raise ValueError(
                f"only must be one of the log's {len(found)} experiments, got {abbreviate(only)}"
            )
        raise ValueError(unknown("experiment", only, found))
    return rows.filter(pl.col("experiment") == str(only))
