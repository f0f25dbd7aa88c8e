"""The log as a file: a row per decision with its reward."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varts._files import replacing
from varts._progress import Progress
from varts._text import quote_formulas
from varts.features import NUMBER
from varts.live.log import Log
from varts.live.state import Config
from varts.live.table import make_columns, make_table

if TYPE_CHECKING:
    import polars as pl

SINKS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".ndjson": "sink_ndjson"}
# What is read of every decision; the file calls "raw" the reward.
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
    """Write decisions, in the order they were made; the file appears when it is complete.

    `start` is the time and the number of the decision after which to begin. Rewards are as they are
    now, corrections included. Every metric has a column of its name, and so has every feature.

    In a CSV file no text can be taken for a formula: see `quote_formulas`.
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


def measured(bodies: Sequence[str | None], metrics: Sequence[str]) -> dict[str, list[Any]]:
    """The metrics of decisions, as the events of their rewards have them."""
    found = [{} if body is None else json.loads(body).get("metrics", {}) for body in bodies]
    return {name: [one.get(name) for one in found] for name in metrics}


def described_units(
    contexts: Sequence[str | None], kinds: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """The features of decisions' units; a number that was missing is None, and so is all of a
    context that was forgotten."""
    found = [{} if context is None else json.loads(context) for context in contexts]
    return {name: [one.get(name) for one in found] for name in kinds}
