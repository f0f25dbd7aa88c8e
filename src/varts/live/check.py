"""The checks of a live experiment: its own log, page by page, through the tally of all logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from varts._progress import Progress
from varts.live.log import Log
from varts.live.state import Config
from varts.live.table import make_columns, make_table

if TYPE_CHECKING:
    from varts.checks.finding import Checks

# Ids are left out: the database sees to it that none is repeated.
COLUMNS = ("arm", "probability", "estimated", "unit", "time", "value", "settled_time")


def check(name: str, log: Log, config: Config, now: int, shown: Progress) -> Checks:
    """All checks of a log as of `now`; rewards are what counts, missing ones included."""
    import polars as pl

    from varts.checks.log import summarise
    from varts.checks.tally import Tally

    numbers, text = (pl.Int64, pl.Float64, pl.Boolean), pl.String
    types = dict(zip(COLUMNS, (*numbers, text, pl.Int64, pl.Float64, pl.Int64), strict=True))
    names = pl.Series("arm", config.arms, pl.String)
    tally, done = Tally(now), 0
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
        done += len(page)
        shown.at(done)
    options = config.options
    return summarise(name, tally, options.sticky, options.window is not None)
