"""Live experiments on the command line: `varts experiment create`, `decide`, `reward` and so on.

For people by default; `--json` prints one JSON object a line, for scripts.
"""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

import varts
from varts._validation import unknown
from varts.cli.app import (
    ArmGroups,
    Lines,
    Whole,
    app,
    parse_prior,
    read_arm_groups,
    read_lines,
    show,
)
from varts.cli.experiment_flags import Flags
from varts.cli.experiment_text import report_body, show_report, shown, status

if TYPE_CHECKING:
    from varts.live import Experiment, Store

EXAMPLES = """\
Examples:

    varts experiment create price 9 12 15 --floor 0.05 --stop-p-best 0.95
    varts experiment decide price --unit user-42
    varts experiment reward price ID 11.70
    varts experiment report price
    varts experiment stop price --winner 12

The store is --store, else the environment variable VARTS_STORE, else sqlite:///varts.db.
"""

experiment = App(
    name="experiment",
    help="Live experiments: decide, reward, report, on a file or on PostgreSQL.",
    help_epilogue=EXAMPLES,
)
app.command(experiment)

# ------------------------------------------------------------------------------ what verbs share

Name = Annotated[str, Parameter(help="The experiment's name.")]
Options = Annotated[Flags, Parameter(name="*")]
Json = Annotated[
    bool,
    Parameter(name="--json", negative=(), show_default=False, help="One JSON object a line."),
]
Url = Annotated[
    str,
    Parameter(
        name="--store",
        metavar="URL",
        env_var="VARTS_STORE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME.",
    ),
]
STORE = "sqlite:///varts.db"
NOTHING = Flags()


def _place(url: str, create: bool = False) -> Store:
    """The database; only `create` makes a file that is not there."""
    from varts.live import Store, StoreError

    if not create and _absent(url):
        raise StoreError(f"store {url} is not there; varts experiment create makes it")
    place = Store(url)
    if place.memory:
        raise StoreError(f"store must outlive this command, got {url}")
    return place


def _absent(url: str) -> bool:
    from varts.live.store import file_of

    file = file_of(url)
    return file is not None and not file.exists()


def _open(name: str, url: str) -> Experiment:
    from varts.live import StoreError

    place = _place(url)
    names = place.names()
    if names and name not in names:
        raise StoreError(unknown("experiment", name, names))
    return varts.open(name, store=place)


def _line(body: dict[str, Any]) -> None:
    print(json.dumps(_plain(body), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """As JSON has it: no infinity, no NaN."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -------------------------------------------------------------------------------------- the verbs


@experiment.command(help_epilogue="")
def create(
    name: Name,
    /,
    *arms: str,
    arms_file: Lines | None = None,
    arm_groups: ArmGroups = None,
    options: Options = NOTHING,
    seed: Whole | None = None,
    store: Url = STORE,
) -> None:
    """Create an experiment; one that exists and agrees is left as it is.

    The defaults are in parentheses, and `none` stands for them.

    Example: varts experiment create price 9 12 15 --prior prior.json --floor 0.05

    Example: varts experiment create latency old new --goal min --window 24h --missing 10

    Parameters
    ----------
    arms
        The names of its arms.
    arms_file
        A file with the name of an arm on each line; - is standard input.
    seed
        Same seed, same decisions; drawn by default.
    """
    given = options.given() | {"groups": read_arm_groups(arm_groups), "seed": seed}
    names = read_lines("names of arms and --arms-file", list(arms) or None, arms_file)
    if names and _absent(store):  # tried out first: a mistake leaves no file behind
        varts.open(name, names, store="memory://", **given)
    with closing(_place(store, create=True)) as place:
        before = place.has(name)
        made = varts.open(name, names, store=place, **given)
        what = "is there already, and agrees" if before else "created"
        print(f"{name}: {what}; {len(made.arms)} arms in {place.name}")


@experiment.command(help_epilogue="")
def decide(
    name: Name,
    /,
    *,
    unit: Annotated[list[str] | None, Parameter(negative=())] = None,
    id: Annotated[list[str] | None, Parameter(negative=())] = None,
    units: Lines | None = None,
    ids: Lines | None = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Choose an arm; prints the arm and the decision's id, which the reward will need.

    Example: varts experiment decide price --unit user-42

    Example: varts experiment decide price --id visit-1 --json

    Example: seq 1000 | varts experiment decide price --ids -

    Parameters
    ----------
    unit
        Who it is for (a user, a session). Several --unit are decided in one transaction.
    id
        An id of your own, one a unit: the same id gets the same decision again.
    units
        A file with a unit a line, for hundreds of them; - is standard input.
    ids
        A file with an id a line.
    """
    who, own = read_lines("--unit and --units", unit, units), read_lines("--id and --ids", id, ids)
    nobody: list[str | None] = [None] * (1 if own is None else len(own))
    with _open(name, store) as exp:
        for decision in exp.decide_many(nobody if who is None else who, own):
            if as_json:
                _line(decision._asdict())
            else:
                print(f"{decision.arm}\t{decision.id}")


@experiment.command(help_epilogue="")
def reward(name: Name, /, *rewards: str, store: Url = STORE) -> None:
    """Record what decisions earned: prints `applied`, or `duplicate` if it was there already.

    Several are recorded in one transaction: all, or none if one is refused.

    Example: varts experiment reward price visit-1 11.70

    Example: varts experiment reward price visit-2 0 visit-3 14.20

    Parameters
    ----------
    rewards
        A decision's id and its reward, as often as you like: ID VALUE ID VALUE ...
    """
    if not rewards or len(rewards) % 2:
        raise ValueError(f"rewards must be pairs, ID VALUE, got {len(rewards)} words")
    pairs: list[tuple[str, Any]] = list(zip(rewards[::2], rewards[1::2], strict=True))
    for i, (one, text) in enumerate(pairs):
        with suppress(ValueError):  # a word is refused as any other value
            pairs[i] = one, float(text)
    with _open(name, store) as exp:
        for (one, _), applied in zip(pairs, exp.reward_many(pairs), strict=True):
            print(f"{'applied' if applied else 'duplicate'}\t{one}")


@experiment.command(help_epilogue="")
def report(
    name: Name, /, *, level: float = 0.95, as_json: Json = False, store: Url = STORE
) -> None:
    """A row per arm, which is best and how sure that is, and whether the stop rule is met.

    Example: varts experiment report price

    Example: varts experiment report price --json | jq .best

    Parameters
    ----------
    level
        Of the credible intervals.
    """
    with _open(name, store) as exp:
        found = exp.report(level)
        if as_json:
            _line(report_body(found))
            return
        typed = store not in (STORE, os.environ.get("VARTS_STORE"))
        show_report(found, ["--store", exp.store.address] if typed else [])


@experiment.command(help_epilogue="")
def export(name: Name, file: Path, /, *, store: Url = STORE) -> None:
    """Write the log, a row per decision with its reward.

    Example: varts experiment export price log.parquet

    Parameters
    ----------
    file
        Ends in .parquet, .csv or .ndjson.
    """
    with _open(name, store) as exp:
        print(f"{exp.export(file):,} decisions written to {file}")


@experiment.command(help_epilogue="")
def verify(
    name: Name,
    /,
    *,
    replay: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Rebuild the statistics from the log and compare; exit code 1 if something differs.

    Example: varts experiment verify price --replay

    Parameters
    ----------
    replay
        Also make every decision again from the log.
    """
    with _open(name, store) as exp:
        found = exp.verify(replay=replay)
    if as_json:
        counts = {what: getattr(found, what) for what in ("decisions", "rewards", "replayed")}
        _line({"ok": found.ok, **counts, "found": found.found, "problems": found.problems})
    else:
        print(found)
    if not found.ok:
        sys.exit(1)


@experiment.command(name="list", help_epilogue="")
def list_experiments(*, as_json: Json = False, store: Url = STORE) -> None:
    """The experiments of a store; with --json, also their arms and options.

    Example: varts experiment list --store postgresql://varts@localhost/varts
    """
    from varts.live import Experiment

    table = Table("name", box=None, pad_edge=False)
    for title in ("arms", "rewards", "epoch"):
        table.add_column(title, justify="right")
    table.add_column("policy")
    table.add_column("status")
    with closing(_place(store)) as place:
        names = place.names()
        for name in names:
            exp = Experiment(name, place)
            config = exp.state.config
            if as_json:
                body = {"name": name, "status": status(exp.state), "version": exp.state.version}
                changing = {"rewards": exp.state.rewards, "epoch": config.epoch}
                arms = {"arms": exp.arms, "paused": [exp.arms[i] for i in sorted(config.paused)]}
                _line({**body, **changing, **arms, "options": exp.options.to_json()})
            table.add_row(
                escape(name),
                str(len(config.arms)),
                f"{exp.state.rewards:,}",
                str(config.epoch),
                escape(exp.options.policy["label"]),
                escape(status(exp.state)),
            )
    if not as_json:
        show(table if names else f"no experiments in {place.name}", uncut=True)


@experiment.command(help_epilogue="")
def add_arm(
    name: Name,
    arm: str,
    /,
    *,
    prior: str | None = None,
    arm_groups: ArmGroups = None,
    store: Url = STORE,
) -> None:
    """Add an arm to a running experiment.

    Example: varts experiment add-arm price 18 --prior mu=12,kappa=16,alpha=11,beta=640

    Parameters
    ----------
    arm
        Its name.
    prior
        A file or numbers, as for create; needed if every arm has a prior of its own.
    """
    with _open(name, store) as exp:
        made = None if prior is None else parse_prior(prior)
        exp.add_arm(arm, made, read_arm_groups(arm_groups))
        print(f"{name}: {arm} added; {len(exp.arms)} arms")


@experiment.command(help_epilogue="")
def pause_arm(name: Name, arm: str, /, *, store: Url = STORE) -> None:
    """Take an arm out of play; rewards of its decisions still count.

    Example: varts experiment pause-arm price 15

    Parameters
    ----------
    arm
        Its name.
    """
    with _open(name, store) as exp:
        exp.pause_arm(arm)
        print(f"{name}: {arm} paused; {len(exp.state.config.active)} arms in play")


@experiment.command(help_epilogue="")
def resume_arm(name: Name, arm: str, /, *, store: Url = STORE) -> None:
    """Bring a paused arm back.

    Example: varts experiment resume-arm price 15

    Parameters
    ----------
    arm
        Its name.
    """
    with _open(name, store) as exp:
        exp.resume_arm(arm)
        print(f"{name}: {arm} is back; {len(exp.state.config.active)} arms in play")


@experiment.command(help_epilogue="")
def configure(
    name: Name,
    /,
    *,
    arm_groups: ArmGroups = None,
    options: Options = NOTHING,
    store: Url = STORE,
) -> None:
    """Change options from here on; a new epoch begins. What is not given stays as it is.

    `none` puts an option back to its default, which is in parentheses.

    Example: varts experiment configure price --floor 0.02 --half-life none
    """
    given = options.given()
    if not given:
        raise ValueError("configure must be given an option to change, got none")
    with _open(name, store) as exp:
        exp.configure(**given, groups=read_arm_groups(arm_groups))
        now = exp.options.to_json()
        changes = ", ".join(f"{option} {shown(now[option])}" for option in given)
        print(f"{name}: {changes}; epoch {exp.state.config.epoch}")


@experiment.command(help_epilogue="")
def stop(name: Name, /, *, winner: str | None = None, store: Url = STORE) -> None:
    """End an experiment: everybody gets the winner from now on, or no more is decided.

    Rewards of earlier decisions still count.

    Example: varts experiment stop price --winner 12

    Parameters
    ----------
    winner
        The arm to serve; without one, decide refuses from now on.
    """
    with _open(name, store) as exp:
        exp.stop(winner)
        print(f"{name}: {status(exp.state)}")
