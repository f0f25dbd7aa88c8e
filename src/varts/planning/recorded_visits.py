"""How often visitors return in a log, and how similar their rewards are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from varts._text_format import PLAIN, TextFormat
from varts._validation import Floats, unknown
from varts.fitting.sources import find_tables


class RecordedVisits(NamedTuple):
    """Visitors of a log.

    Args:
        units: How many there are.
        visits: Rewards per visitor.
        correlation: The intra-class correlation of a visitor's rewards on the same arm.
    """

    units: int
    visits: float
    correlation: float


def read_visits(
    log: Any,
    unit: str,
    *,
    arm: str = "arm",
    reward: str = "reward",
    experiment: str | None = None,
    only: str | None = None,
    text: TextFormat = PLAIN,
) -> RecordedVisits:
    """Read how often visitors return, and estimate how similar their rewards are.

    Args:
        log: A table with one row per reward, or its path.
        unit: The column that names the visitor.
        arm: The column that names the arm.
        reward: The column of rewards.
        experiment: The column that names the experiment, if `only` is given.
        only: The experiment to take.
        text: How files are written.

    >>> log = pl.DataFrame({"arm": ["a"] * 4, "user": [1, 1, 2, 2], "reward": [1.0, 1, 0, 0]})
    >>> read_visits(log, "user")
    RecordedVisits(units=2, visits=2.0, correlation=1.0)
    """
    parts = []
    for source in find_tables(log, text):
        names = source.table.collect_schema().names()
        for what, name in (("unit", unit), ("arm", arm), ("reward", reward)):
            if name not in names:
                raise ValueError(f"{unknown('column', name, names)} (for the {what})")
        table = source.table
        if only is not None:
            table = table.filter(pl.col(experiment or "experiment").cast(pl.String) == only)
        value = pl.col(reward).cast(pl.String).str.replace(source.decimal, ".", literal=True)
        parts.append(
            table.select(
                arm=pl.col(arm).cast(pl.String),
                unit=pl.col(unit).cast(pl.String),
                value=value.cast(pl.Float64, strict=False),
            ).collect()
        )
    rows = pl.concat(parts).drop_nulls().filter(pl.col("value").is_finite())
    if rows.is_empty():
        raise ValueError(f"the log must have a reward with a {unit}, got none")
    codes = rows.select(pl.col("arm", "unit").rank("dense")).to_numpy().astype(np.int64) - 1
    units = int(codes[:, 1].max()) + 1
    arms, who = codes[:, 0], codes[:, 0] * units + codes[:, 1]
    correlation = intra_class_correlation(arms, who, rows["value"].to_numpy())
    return RecordedVisits(units, rows.height / units, correlation)


def intra_class_correlation(arms: Any, who: Any, values: Floats) -> float:
    """Estimate how similar the rewards of a visitor on the same arm are; at least 0.

    It is the average product of the deviations of two such rewards, over all pairs, divided by the
    average squared deviation of the rewards in these pairs.

    Args:
        arms: The arm of each reward.
        who: The visitor on that arm of each reward, a whole number.
        values: The rewards.
    """
    mean = np.bincount(arms, values) / np.maximum(np.bincount(arms), 1)
    gap = values - mean[arms]
    _, who = np.unique(who, return_inverse=True)
    n, total = np.bincount(who), np.bincount(who, gap)
    squares = np.bincount(who, gap * gap)
    weight = float((squares * (n - 1)).sum())  # every reward counts once for each of its partners
    if not weight > 0:
        return 0.0
    return float(min(max((total * total - squares).sum() / weight, 0.0), 1.0))
