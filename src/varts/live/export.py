"""The log as a file: a row per decision with its reward."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varts.live.transaction import Transaction

if TYPE_CHECKING:
    import polars as pl

ROWS_PER_BATCH = 20_000  # held in memory at a time


def export(transaction: Transaction, arms: Sequence[str], path: Path) -> int:
    """Write all decisions, in the order they were made; the file appears when it is complete."""
    import polars as pl
    from polars.io.plugins import register_io_source

    sinks = {".parquet": "sink_parquet", ".csv": "sink_csv", ".ndjson": "sink_ndjson"}
    if path.suffix not in sinks:
        raise ValueError(f"path must end in .parquet, .csv or .ndjson, got {str(path)!r}")
    schema: dict[str, Any] = {
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
    }
    written = 0

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
                    )
                    for row in some
                ],
                schema=schema,
                orient="row",
            )

    part = path.with_name(path.name + ".part")
    try:
        with closing(transaction.all_decisions()) as rows:
            frames = register_io_source(batches, schema=schema)
            getattr(frames, sinks[path.suffix])(part)
        os.replace(part, path)
    except pl.exceptions.ComputeError as error:  # a full disk, for Parquet
        raise OSError(f"{path} cannot be written: {error}") from None
    finally:
        part.unlink(missing_ok=True)
    return written
