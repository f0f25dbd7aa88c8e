"""The checks of a live experiment: its own log, page by page, through the tally of all logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from varts.live.log import Log
from varts.live.options import Options
from varts.live.table import make_columns, make_table

if TYPE_CHECKING:
    from varts.checks.finding import Checks

# Ids are left out: the database sees to it that none is repeated.
COLUMNS = ("arm", "probability", "estimated", "unit", "time", "value", "settled_time")


def check(name: str, log: Log, arms: Sequence[str], options: Options, now: int) -> Checks:
    """All checks of a log as of `now`; rewards are what counts, missing ones included."""
    import polars as pl

    from varts.checks.log import summarise
    from varts.checks.tally import Tally

    numbers, text = (pl.Int64, pl.Float64, pl.Boolean), pl.String
    types = dict(zip(COLUMNS, (*numbers, text, pl.Int64, pl.Float64, pl.Int64), strict=True))
    names = pl.Series("arm", list(arms), pl.String)
    tally = Tally(now)
    for page in log.decision_pages(COLUMNS):
        batch = make_table(make_columns(COLUMNS, page), types)
        tally.add(
            batch.with_columns(
                experiment=pl.lit(""),
                arm=names.gather(batch["arm"]),
                given="value",
                infinite=pl.lit(False),
            )
        )
    return summarise(name, tally, options.sticky, options.window is not None)
