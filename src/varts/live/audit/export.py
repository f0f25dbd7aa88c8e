"""The log as a file: one row per decision, with its reward."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varts._files import replacing
from varts._progress import Progress
from varts._text import quote_formulas
from varts.features import NUMBER
from varts.live.core.state import Config
from varts.live.store.log import Log

if TYPE_CHECKING:
    import polars as pl


def make_columns(names: Sequence[str], page: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Columns of a page, by name.

    >>> make_columns(("id", "arm"), [("a", 0, 1794941257), ("b", 2, 1794941258)])
    {'id': ('a', 'b'), 'arm': (0, 2)}
    """
    return dict(zip(names, zip(*page, strict=True), strict=False))


def make_table(
    columns: Mapping[str, Any], types: Mapping[str, Any], strict: bool = False
) -> pl.DataFrame:
    """A table of the columns that have a type, in the order of the types.

    Args:
        columns: Values by column name.
        types: The polars types of some columns.
        strict: Whether a value of another type is an error; otherwise it becomes null.
    """
    import polars as pl

    return pl.DataFrame(
        [pl.Series(name, columns[name], dtype, strict=strict) for name, dtype in types.items()]
    )


SINKS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".ndjson": "sink_ndjson"}
# The columns that are read about every decision. The file calls "raw" the reward.
COLUMNS = (
    "id", "time", "unit", "arm", "probability", "estimated", "reason", "version", "epoch",
    "settled", "raw", "value", "settled_time", "settled_version", "corrected_version",
)  # fmt: skip


def export_decisions(
    log: Log,
    config: Config,
    path: Path,
    shown: Progress,
    start: tuple[int, int] = (-1, -1),
    limit: int | None = None,
) -> int:
    """Write decisions in the order they were made. The file appears when it is complete.

    Rewards are as they are now, corrections included. Every metric and every feature has a column
    of its name. In a CSV file no text can be mistaken for a formula; see `quote_formulas`.

    Args:
        log: The log.
        config: The experiment's configuration.
        path: A file that ends in .parquet, .csv or .ndjson.
        shown: Shows the progress.
        start: Time and number of the decision after which to begin.
        limit: How many decisions at most.
    """
    from polars.io.plugins import register_io_source

    check_suffix(path)
    metrics = config.options.metrics
    kinds = {} if config.features is None else config.features.kinds
    schema = log_schema(metrics, kinds)
    names = (*COLUMNS, *(["body"] if metrics else []), *(["context"] if kinds else []))
    written = 0

    def batches(*asked: Any) -> Iterator[pl.DataFrame]:  # a sink asks for everything
        nonlocal written
        for page in log.decision_pages(names, start=start, limit=limit):
            columns = make_columns(names, page)
            columns["arm"] = [config.arms[arm] for arm in columns["arm"]]
            columns["estimated"] = list(map(bool, columns["estimated"]))  # SQLite has 0 and 1
            columns["reward"] = columns["raw"]
            if metrics:
                columns |= measured(columns["body"], metrics)
            if kinds:
                columns |= described_units(columns["context"], kinds)
            yield make_table(columns, schema, strict=True)
            written += len(page)
            shown.at(written)

    write_log(register_io_source(batches, schema=schema), path)
    return written


def check_suffix(path: Path) -> None:
    """Refuse a file name without a known suffix."""
    if path.suffix not in SINKS:
        raise ValueError(f"path must end in .parquet, .csv or .ndjson, got {str(path)!r}")


def log_schema(metrics: Sequence[str], kinds: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The columns of an exported log and their types; metrics and features come last."""
    import polars as pl

    return {
        "id": pl.String,
        "time": pl.Datetime("us", "UTC"),
        "unit": pl.String,
        "arm": pl.String,
        "probability": pl.Float64,
        "estimated": pl.Boolean,
        "reason": pl.String,
        "version": pl.Int64,
        "epoch": pl.Int64,
        "settled": pl.String,
        "reward": pl.Float64,
        "value": pl.Float64,
        "settled_time": pl.Datetime("us", "UTC"),
        "settled_version": pl.Int64,
        "corrected_version": pl.Int64,
        **dict.fromkeys(metrics, pl.Float64),
        **{
            name: pl.Float64 if kind == NUMBER else pl.String
            for name, kind in (kinds or {}).items()
        },
    }


def write_log(frames: pl.LazyFrame, path: Path) -> None:
    """Write a log to a file, batch by batch."""
    import polars as pl

    if path.suffix == ".csv":
        frames = frames.with_columns(quote_formulas(pl.col(pl.String)))
    try:
        with replacing(path) as part:
            getattr(frames, SINKS[path.suffix])(part)
    except pl.exceptions.ComputeError as error:  # a full disk, for Parquet
        raise OSError(f"{path} cannot be written: {error}") from None


def measured(bodies: Sequence[str | None], metrics: Sequence[str]) -> dict[str, list[Any]]:
    """The metrics of decisions, from the events of their rewards."""
    found = [{} if body is None else json.loads(body).get("metrics", {}) for body in bodies]
    return {name: [one.get(name) for one in found] for name in metrics}


def described_units(
    contexts: Sequence[str | None], kinds: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """The features of the decisions' units; None for missing numbers and forgotten contexts."""
    found = [{} if context is None else json.loads(context) for context in contexts]
    return {name: [one.get(name) for one in found] for name in kinds}
