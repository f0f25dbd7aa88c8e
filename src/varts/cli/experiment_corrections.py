"""The commands that correct what is in a log, or take it out."""

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
    """Put other rewards in the place of those that decisions have: all of them, or none.

    Prints `applied`, or `duplicate` if it was that already. The statistics are as if the reward had
    been right from the start.

    Example: varts experiment amend price visit-1 10.70 --why "typed wrong"

    Parameters
    ----------
    rewards
        A decision's id and what it earned in all, as often as you like: ID VALUE ID VALUE ...
    metric
        Another value of a metric, NAME=VALUE; the others stay.
    """
    pairs, metrics = read_pairs(rewards), read_metrics(metric)
    if len(pairs) > 1 and metrics:
        raise ValueError(f"--metric must be that of one reward, got {len(pairs)}")
    with open_experiment(name, store) as exp:
        given = [(id, value, metrics) for id, value in pairs]
        tell_applied([id for id, _ in pairs], exp.amend_many(given, by=by, why=why), as_json)


def void(
    name: Name,
    /,
    *ids: str,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Take rewards back, as if the decisions had never been made: tests, bots.

    Prints `applied`, or `duplicate` if it was voided already; `amend` gives it a reward again.

    Example: varts experiment void price visit-7 visit-8 --why "our own test"

    Parameters
    ----------
    ids
        The decisions'.
    """
    if not ids:
        raise ValueError("ids must be given, got none")
    with open_experiment(name, store) as exp:
        tell_applied(ids, exp.void_many(ids, by=by, why=why), as_json)


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
    """Take the name of a unit, a person for example, out of the log for good, and its contexts.

    Its rewards are kept. Ids of your own, exported files and backups stay as they are.

    Example: varts experiment forget-unit price user-42 --why "asked us to"

    Parameters
    ----------
    unit
        As it was given to decide.
    keep_numbers
        In an experiment with features: keep the numbers that its contexts were made into, so that
        what they have taught is kept.
    """
    with open_experiment(name, store) as exp:
        count = exp.forget_unit(unit, keep_numbers=keep_numbers, by=by, why=why)
        what = "decision has" if count == 1 else "decisions have"
        say(f"{name}: {count:,} {what} a random name instead")


def delete(
    name: Name,
    /,
    *,
    confirm: str | None = None,
    export: Path | None = None,
    no_export: Annotated[bool, Parameter(negative=())] = False,
    store: Url = STORE,
) -> None:
    """Delete an experiment, after its log has been written to a file.

    Example: varts experiment delete price --confirm price

    Parameters
    ----------
    confirm
        The name once more: there is no way back.
    export
        The file for the log; NAME-DATE.parquet by default.
    no_export
        Write none.
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
    """Ids and rewards, as they are typed."""
    if not words or len(words) % 2:
        raise ValueError(f"rewards must be pairs, ID VALUE, got {len(words)} words")
    return list(zip(words[::2], map(read_number, words[1::2]), strict=True))


def read_metrics(texts: Sequence[str] | None) -> dict[str, Any]:
    """Numbers by name, as they are typed.

    >>> read_metrics(["latency=0.31"])
    {'latency': 0.31}
    """
    pairs = [text.partition("=") for text in texts or ()]
    for name, between, _ in pairs:
        if not name or not between:
            raise ValueError(f"--metric must be NAME=VALUE, got {name!r}")
    return {name: read_number(value) for name, _, value in pairs}


def tell_applied(ids: Sequence[str], applied: Sequence[bool], as_json: bool) -> None:
    """A line per decision: whether something was new."""
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
    """Record rewards that were typed, all or none."""
    pairs = read_pairs(rewards)
    if len(pairs) > 1 and (metrics or key is not None):
        raise ValueError(f"--metric and --key must be those of one reward, got {len(pairs)}")
    with open_experiment(name, store) as exp:
        given = [(id, value, metrics, key) for id, value in pairs]
        tell_applied([id for id, _ in pairs], exp.reward_many(given), as_json)
