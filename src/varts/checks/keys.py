"""Units and ids of a log of any length: how many there are, and how many occur several times."""

from __future__ import annotations

import polars as pl

from varts.checks.decisions import Keys

MOST_KEYS = 2_000_000  # that are kept


class KeySample:
    """Hashes of units or ids with their arms; all of them, or those below a limit."""

    def __init__(self) -> None:
        self.limit, self.parts, self.size = 2**64 - 1, list[pl.DataFrame](), 0

    def add(self, part: pl.DataFrame) -> None:
        """Take in rows with experiment, arm and key; the arm becomes a hash, too."""
        part = part.select("key", arm=pl.col("arm").hash()).filter(pl.col("key") <= self.limit)
        self.parts.append(part)
        self.size += part.height
        while self.size > MOST_KEYS:
            self.limit //= 2
            kept = pl.concat(self.parts).filter(pl.col("key") <= self.limit)
            self.parts, self.size = [kept], kept.height

    @property
    def frame(self) -> pl.DataFrame:
        """What there is."""
        return pl.concat(self.parts)

    def several_arms(self) -> Keys:
        """Keys with more than one arm."""
        return self._count(pl.col("arm").n_unique())

    def repeated(self) -> Keys:
        """Keys that occur more than once."""
        return self._count(pl.len())

    def _count(self, what: pl.Expr) -> Keys:
        counted = self.frame.group_by("key").agg(what.alias("count"))["count"]
        scale, sampled = (2**64 - 1) / self.limit, self.limit < 2**64 - 1
        return Keys(round(counted.len() * scale), round(int((counted > 1).sum()) * scale), sampled)
