"""The log as a file: a row per decision with its reward."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varts._files import replacing
from varts._text import quote_formulas
from varts.features import NUMBER
from varts.live.log import Log
from varts.live.state import Config

if TYPE_CHECKING:
    import polars as pl

ROWS_PER_BATCH = 20_000  # held in memory at a time
SINKS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".ndjson": "sink_ndjson"}


def export_decisions(
    log: Log,
    config: Config,
    path: Path,
    start: tuple[int, int] = (-1, -1),
    limit: int | None = None,
) -> int:
    """Write decisions, in the order they were made; the file appears when it is complete.

    `start` is the time and the number of the decision after which to begin. Rewards are as they are
    now, corrections included. Every metric has a column of its name, and so has every feature.

    In a CSV file no text can be taken for a formula: see `quote_formulas`.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    check_suffix(path)
    arms, metrics = config.arms, config.options.metrics
    kinds = {} if config.features is None else config.features.kinds
    schema = log_schema(metrics, kinds)
    written, rows = 0, islice(log.decisions(start=start, limit=limit), limit)

    def batches(*asked: Any) -> Iterator[pl.DataFrame]:  # a sink asks for everything
        nonlocal written
        while some := list(islice(rows, ROWS_PER_BATCH)):
            written += len(some)
            yield pl.DataFrame(
                [
                    (
                        row.id,
                        row.time,
                        row.unit,
                        arms[row.arm],
                        row.probability,
                        bool(row.estimated),
                        row.reason,
                        row.version,
                        row.epoch,
                        row.settled,
                        row.raw,
                        row.value,
                        row.settled_time,
                        row.settled_version,
                        row.corrected_version,
                        *measured(row.body, metrics),
                        *described_unit(row.context, kinds),
                    )
                    for row in some
                ],
                schema=schema,
                orient="row",
            )

    write_log(register_io_source(batches, schema=schema), path)
    return written


def check_suffix(path: Path) -> None:
    """Refuse a file whose name does not say how to write it."""
    if path.suffix not in SINKS:
        raise ValueError(f"path must end in .parquet, .csv or .ndjson, got {str(path)!r}")


def log_schema(metrics: Sequence[str], kinds: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The columns of a log and their types; the last ones are metrics and features."""
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
    """Write a log as a file, batch by batch."""
    import polars as pl

    if path.suffix == ".csv":
        frames = frames.with_columns(quote_formulas(pl.col(pl.String)))
    try:
        with replacing(path) as part:
            getattr(frames, SINKS[path.suffix])(part)
    except pl.exceptions.ComputeError as error:  # a full disk, for Parquet
        raise OSError(f"{path} cannot be written: {error}") from None


def measured(body: str | None, metrics: Sequence[str]) -> list[float | None]:
    """The metrics of a decision, as the event of its reward has them."""
    if not metrics:
        return []
    found = json.loads(body or "{}").get("metrics", {})
    return [found.get(name) for name in metrics]


def described_unit(context: str | None, kinds: Mapping[str, Any]) -> list[float | str | None]:
    """The features of a decision's unit; a number that was missing is None, and so is all of a
    context that was forgotten."""
    if not kinds:
        return []
    found = json.loads(context or "{}")
    return [found.get(name) for name in kinds]
