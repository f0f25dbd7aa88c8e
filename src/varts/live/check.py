"""The checks of a live experiment: its own log, page by page, through the tally of all logs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from varts.live.log import ROWS_PER_PAGE, Log
from varts.live.options import Options

if TYPE_CHECKING:
    from varts.checks.finding import Checks

_columns = attrgetter(
    "arm", "probability", "estimated", "unit", "time", "value", "settled_time"
)  # ids cannot be repeated: the database sees to that


def check(name: str, log: Log, arms: Sequence[str], options: Options, now: int) -> Checks:
    """All checks of a log as of `now`; rewards are what counts, missing ones included."""
    import polars as pl

    from varts.checks.log import summarise
    from varts.checks.tally import Tally

    types = {
        "number": pl.UInt32,
        "probability": pl.Float64,
        "estimated": pl.Boolean,
        "unit": pl.String,
        "time": pl.Int64,
        "value": pl.Float64,
        "settled_time": pl.Int64,
    }
    names = pl.Series("arm", list(arms), pl.String)
    tally, rows = Tally(now), log.decisions()
    while page := list(islice(rows, ROWS_PER_PAGE)):
        columns = zip(*map(_columns, page), strict=True)
        batch = pl.DataFrame(
            [
                pl.Series(name, list(column), dtype, strict=False)
                for (name, dtype), column in zip(types.items(), columns, strict=True)
            ]
        )
        tally.add(
            batch.with_columns(
                experiment=pl.lit(""),
                arm=names.gather(batch["number"]),
                given="value",
                infinite=pl.lit(False),
            ).drop("number")
        )
    return summarise(name, tally, options.sticky, options.window is not None)
