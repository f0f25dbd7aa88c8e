"""Checks on the command line: check."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

import varts
from varts.cli.app import Json, Separator, app, print_json, say


@app.command(help_epilogue="")
def check(
    log: str,
    /,
    *,
    experiment: str = "experiment",
    one_experiment: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    arm: str = "arm",
    reward: str = "reward",
    separator: Separator = None,
    as_json: Json = False,
) -> None:
    """Check a log: do its rewards suit the model, and is every decision accounted for?

    The log is a CSV, TSV, Parquet or NDJSON file, a folder of them or a pattern, with a row per
    decision or reward in the order of time; `varts experiment export` writes one. It may be larger
    than memory. Of the columns id, unit, probability, estimated, reason, time and settled_time it
    looks at what it finds.

    Example: varts check log.parquet

    Example: varts check sales.csv --experiment shop --arm colour --reward revenue --json

    Parameters
    ----------
    log
        The file, folder or pattern.
    experiment
        The column that names the experiment; a log without it is of one experiment.
    one_experiment
        There is only one experiment, even if there is such a column.
    arm
        The column that names the arm.
    reward
        The column of rewards; empty where there is none.
    """
    found = varts.check(
        log,
        experiment=None if one_experiment else experiment,
        arm=arm,
        reward=reward,
        separator=separator,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))
