"""`varts experiment history`: an experiment over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.table import Table

from varts._intervals import CONFIDENCE
from varts._text import decimal, places_for
from varts._validation import check_file
from varts.cli.app import FilePath, Json, Whole, cell, print_json, say, show
from varts.cli.experiment_flags import STORE, Name, Url
from varts.cli.experiment_store import open_experiment

if TYPE_CHECKING:
    from varts.live import History

TABLE_POINTS = 10  # checkpoints in a table, by default


def history(
    name: Name,
    /,
    *,
    points: Whole | None = None,
    every_rewards: Whole | None = None,
    every: Annotated[
        str | None, Parameter(metavar="SECONDS|30m|1h|1d", allow_leading_hyphen=True)
    ] = None,
    level: float = CONFIDENCE,
    plot: FilePath | None = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Show the experiment over time: a row per checkpoint and arm, or a picture.

    Example: varts experiment history price --every 1d

    Example: varts experiment history price --plot price.png

    Parameters
    ----------
    points
        Number of checkpoints, evenly spaced by rewards (10; 50 with --plot or --json).
    every_rewards
        Number of rewards between two checkpoints, instead of --points.
    every
        Time between two checkpoints, instead of --points: 1h is every full hour, 1d is midnight
        UTC.
    level
        Probability of the credible intervals.
    plot
        Draw traffic, P(best), rewards and beliefs into this file (.png, .svg or .pdf).
    """
    if plot is not None:  # check the name before the work, not after it
        from varts.plotting import FIGURE_SUFFIXES

        check_file("plot", plot, FIGURE_SUFFIXES)
    if points is None and every_rewards is None and every is None and not (plot or as_json):
        points = TABLE_POINTS
    with open_experiment(name, store) as exp:
        found = exp.history(points, every_rewards=every_rewards, every=every, level=level)
    if plot is not None:
        found.plot(plot)
    if as_json:
        for row in found.frame.iter_rows(named=True):
            print_json({**row, "time": row["time"].isoformat()})
    elif plot is not None:
        say(f"written to {plot}")
    else:
        _show_history(found)


def _show_history(found: History) -> None:
    frame = found.frame
    wide = (frame["mean_high"] - frame["mean_low"]).drop_nulls().to_list()
    places = places_for(wide or frame["mean"].drop_nulls().abs().to_list())
    table = Table("time (UTC)", box=None, pad_edge=False)
    table.add_column("rewards", justify="right")
    table.add_column("arm")
    interval = f"{100 * found.level:g} % interval"
    titles = ("traffic", "n", "mean", "estimate", interval, "P(best)", "expected loss", "total")
    for title in titles:
        table.add_column(title, justify="right")
    before = 0
    for row in frame.iter_rows(named=True):
        is_first = row["checkpoint"] != before
        before = row["checkpoint"]
        known = row["mean_low"] is not None
        low, high = (decimal(row[end], places) for end in ("mean_low", "mean_high"))
        table.add_row(
            f"{row['time']:%Y-%m-%d %H:%M:%S}" if is_first else "",
            f"{row['rewards']:,}" if is_first else "",
            cell(row["arm"]),
            "-" if row["traffic"] is None else f"{row['traffic']:.1%}",
            f"{row['n']:,}",
            decimal(row["mean"], places),
            decimal(row["estimate"], places),
            f"{low} to {high}" if known else "-",
            "-" if row["p_best"] is None else f"{row['p_best']:.4f}",
            "-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            f"{row['cumulative_reward']:,.6g}",
        )
    show(table, uncut=True)
