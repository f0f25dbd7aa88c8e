"""What the columns of a log are called, and those of our tables of arms."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

KEYS = ("experiment", "arm", "group")  # what our tables call the columns that name an arm
STATISTICS = ("n", "mean", "m2")


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
