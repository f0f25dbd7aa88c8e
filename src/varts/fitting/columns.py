"""What the columns of a history are called, and those of our own tables of arms."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

KEYS = ("experiment", "arm", "group")  # our names for the columns that identify an arm
STATISTICS = ("n", "mean", "m2")
MOMENTS = ("m3", "m4")  # sums of third and fourth powers; NaN where only n, mean and sd are known


@dataclass(frozen=True)
class Columns:
    """The names of a history's columns.

    Args:
        experiment: The column that names the experiment; None if there is only one experiment.
        arm: The column that names the arm.
        reward: The column of rewards.
        group: The column that arms are grouped by, which may be `arm`; None for no groups.

    >>> Columns(experiment="route", arm="slot", reward="early").keys
    {'experiment': 'route', 'arm': 'slot'}
    """

    experiment: str | None = "experiment"
    arm: str = "arm"
    reward: str = "reward"
    group: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """Our names of the columns that identify an arm, and the history's names for them.

        Grouping by the arm itself adds no column.
        """
        group = None if self.group == self.arm else self.group
        given = zip(KEYS, (self.experiment, self.arm, group), strict=True)
        return {ours: theirs for ours, theirs in given if theirs is not None}

    def select_keys(self) -> dict[str, pl.Expr]:
        """The columns that identify an arm, under our names."""
        return {ours: pl.col(theirs) for ours, theirs in self.keys.items()}
