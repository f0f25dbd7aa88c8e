"""Count the units or ids of a log of any length, and those that occur several times."""

from __future__ import annotations

import polars as pl

from varts.checks.decisions import Keys

MOST_KEYS = 2_000_000  # kept in memory


class KeySample:
    """Hashes of units or ids with their arms. If there are too many, only those below a limit."""

    def __init__(self) -> None:
        self.limit, self.parts, self.size = 2**64 - 1, list[pl.DataFrame](), 0

    def add(self, part: pl.DataFrame) -> None:
        """Add rows with experiment, arm and key. Of the arm, too, only a hash is kept."""
        part = part.filter(pl.col("key") <= self.limit).select("key", arm=pl.col("arm").hash())
        self.parts.append(part)
        self.size += part.height
        while self.size > MOST_KEYS:
            self.limit //= 2
            kept = pl.concat(self.parts).filter(pl.col("key") <= self.limit)
            self.parts, self.size = [kept], kept.height

    @property
    def frame(self) -> pl.DataFrame:
        """All keys kept so far, with their arms."""
        return pl.concat(self.parts)

    def several_arms(self) -> Keys:
        """Count the keys with more than one arm."""
        return self._count(pl.col("arm").n_unique())

    def repeated(self) -> Keys:
        """Count the keys that occur more than once."""
        return self._count(pl.len())

    def _count(self, what: pl.Expr) -> Keys:
        counted = self.frame.group_by("key").agg(what.alias("count"))["count"]
        scale, sampled = (2**64 - 1) / self.limit, self.limit < 2**64 - 1
        return Keys(round(counted.len() * scale), round(int((counted > 1).sum()) * scale), sampled)
