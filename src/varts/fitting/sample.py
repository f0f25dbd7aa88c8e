"""Some of the rewards themselves, spread evenly over a log of any length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

LARGEST_SAMPLE = 500_000  # rewards, of all arms together
# Multiples of the golden ratio are spread evenly over [0, 1), whatever period a log may have.
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


class RewardSample:
    """A sample that does not depend on how the log was cut into batches.

    Row i is kept if the fraction of i times the golden ratio is below a limit; the limit is halved
    whenever there are too many.

    Args:
        names: Expressions that make the names of arms readable.
        beside: Columns to keep beside the value.
    """

    def __init__(self, names: list[pl.Expr], beside: Sequence[str] = ()) -> None:
        self.names, self.beside, self.rows, self.size = names, list(beside), 0, 0
        self.limit = 2**64 - 1
        self.parts: list[pl.DataFrame] = []

    def add(self, batch: pl.DataFrame, keys: list[str]) -> None:
        """Take some of the rows that have a value."""
        place = np.arange(self.rows, self.rows + batch.height, dtype=np.uint64) * GOLDEN_RATIO
        self.rows += batch.height
        part = batch.select(*keys, "value", *self.beside, place=pl.Series(place))
        self._keep(part.filter(pl.col("place") <= self.limit, pl.col("value").is_not_null()))
        while self.size > LARGEST_SAMPLE:
            self.limit //= 2
            parts, self.parts, self.size = self.parts, [], 0
            for part in parts:
                self._keep(part.filter(pl.col("place") <= self.limit))

    def _keep(self, part: pl.DataFrame) -> None:
        self.parts.append(part)
        self.size += part.height

    def frame(self) -> pl.DataFrame | None:
        """Names of arms and their values, in the order of the log."""
        return pl.concat(self.parts).drop("place").with_columns(self.names) if self.parts else None


def merge_samples(samples: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    """The samples of several tables as one, no larger than that of one."""
    known = [sample for sample in samples if sample is not None and sample.height]
    if not known:
        return None
    every = -(-sum(sample.height for sample in known) // LARGEST_SAMPLE)
    return pl.concat([sample.gather_every(every) for sample in known])
