"""The commands that correct rewards or delete data: amend, void, forget-unit, delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from varts._text import printable
from varts.cli.app import Json, print_json, say
from varts.cli.experiment_flags import STORE, By, Name, Url, Why
from varts.cli.experiment_store import open_experiment
from varts.cli.reward_file import read_number


def amend(
    name: Name,
    /,
    *rewards: str,
    metric: Annotated[list[str] | None, Parameter(negative=())] = None,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Replace rewards, all of them or none.

    Prints `applied`, or `duplicate` for a reward that has this value already. The statistics come
    out exactly as if the reward had been right the first time.

    Example: varts experiment amend price visit-1 10.70 --why "typed wrong"

    Parameters
    ----------
    rewards
        The id of a decision and its total reward, for any number of decisions: ID VALUE ID VALUE
        ...
    metric
        A new value of a metric, as NAME=VALUE, if you amend a single reward. Other metrics stay as
        they are.
    """
    pairs, metrics = read_pairs(rewards), read_metrics(metric)
    if len(pairs) > 1 and metrics:
        raise ValueError(f"--metric must be given with a single reward, got {len(pairs)}")
    with open_experiment(name, store) as exp:
        given = [(id, value, metrics) for id, value in pairs]
        print_applied([id for id, _ in pairs], exp.amend_many(given, by=by, why=why), as_json)


def void(
    name: Name,
    /,
    *ids: str,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Remove rewards of tests or bots, as if they had never arrived: all of them or none.

    Prints `applied`, or `duplicate` for a reward that was voided before. `amend` gives the decision
    a reward again.

    Example: varts experiment void price visit-7 visit-8 --why "our own test"

    Parameters
    ----------
    ids
        The ids of the decisions.
    """
    if not ids:
        raise ValueError("ids must be given, got none")
    with open_experiment(name, store) as exp:
        print_applied(ids, exp.void_many(ids, by=by, why=why), as_json)


def forget_unit(
    name: Name,
    unit: str,
    /,
    *,
    keep_numbers: Annotated[bool, Parameter(negative=())] = False,
    by: By = None,
    why: Why = None,
    store: Url = STORE,
) -> None:
    """Remove the name of a unit, such as a person, and its contexts from the log for good.

    Its rewards are kept. The name stays in your own ids, in exported files and in backups.

    Example: varts experiment forget-unit price user-42 --why "asked us to"

    Parameters
    ----------
    unit
        The unit as you gave it to decide.
    keep_numbers
        In an experiment with features: keep the numbers that its contexts were converted to, so
        that nothing is unlearned.
    """
    with open_experiment(name, store) as exp:
        count = exp.forget_unit(unit, keep_numbers=keep_numbers, by=by, why=why)
        what = "decision now has" if count == 1 else "decisions now have"
        say(f"{name}: {count:,} {what} a random name")


def delete(
    name: Name,
    /,
    *,
    confirm: str | None = None,
    export: Path | None = None,
    no_export: Annotated[bool, Parameter(negative=())] = False,
    store: Url = STORE,
) -> None:
    """Delete an experiment, after writing its log to a file.

    Example: varts experiment delete price --confirm price

    Parameters
    ----------
    confirm
        Repeat the name to confirm. You can't undo this.
    export
        The file for the log; NAME-DATE.parquet by default.
    no_export
        Don't write the log to a file.
    """
    if confirm != name:
        typed = "none" if confirm is None else repr(confirm)
        raise ValueError(f"--confirm must be {name}, the experiment to delete, got {typed}")
    if no_export and export is not None:
        raise ValueError("--export and --no-export must not be given together, got both")
    file = None if no_export else export or Path(f"{name}-{date.today():%Y-%m-%d}.parquet")
    if file is not None and file.exists():
        raise ValueError(f"--export must be a new file, got {str(file)!r}, which exists")
    with open_experiment(name, store) as exp:
        count = exp.delete(confirm, export=file)
        where = "" if file is None else f"; its log is in {file}"
        what = "decision" if count == 1 else "decisions"
        say(f"{name}: deleted, with {count:,} {what}{where}")


def read_pairs(words: Sequence[str]) -> list[tuple[str, Any]]:
    """Read ids and rewards from the command line."""
    if not words or len(words) % 2:
        raise ValueError(f"rewards must be pairs, ID VALUE, got {len(words)} words")
    return list(zip(words[::2], map(read_number, words[1::2]), strict=True))


def read_metrics(texts: Sequence[str] | None) -> dict[str, Any]:
    """Read metrics from the command line.

    >>> read_metrics(["latency=0.31"])
    {'latency': 0.31}
    """
    pairs = [text.partition("=") for text in texts or ()]
    for name, between, _ in pairs:
        if not name or not between:
            raise ValueError(f"--metric must be NAME=VALUE, got {name!r}")
    return {name: read_number(value) for name, _, value in pairs}


def print_applied(ids: Sequence[str], applied: Sequence[bool], as_json: bool) -> None:
    """Print a line per decision: whether the call changed anything."""
    for id, new in zip(ids, applied, strict=True):
        if as_json:
            print_json({"id": id, "applied": new})
        else:
            print(f"{'applied' if new else 'duplicate'}\t{printable(id)}")


def reward_typed(
    name: str,
    rewards: Sequence[str],
    metrics: dict[str, Any],
    key: str | None,
    as_json: bool,
    store: str,
) -> None:
    """Record rewards from the command line, all or none."""
    pairs = read_pairs(rewards)
    if len(pairs) > 1 and (metrics or key is not None):
        raise ValueError(f"--metric and --key must be given with a single reward, got {len(pairs)}")
    with open_experiment(name, store) as exp:
        given = [(id, value, metrics, key) for id, value in pairs]
        print_applied([id for id, _ in pairs], exp.reward_many(given), as_json)
