"""Live experiments on the command line: `varts experiment create`, `decide`, `reward` and so on.

The output is for people. With `--json`, commands print one JSON object per line, for scripts.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

import varts
from varts._text import printable
from varts._validation import integer
from varts.cli.app import (
    EXPERIMENT_HELP,
    ArmGroups,
    Json,
    Lines,
    Separator,
    Whole,
    cell,
    print_json,
    read_arm_groups,
    read_lines,
    say,
    show,
)
from varts.cli.experiment_audit import ages, changes, check, decision, evaluate, verify
from varts.cli.experiment_changes import (
    add_arm,
    configure,
    pause_arm,
    restart,
    resume_arm,
    stop,
)
from varts.cli.experiment_corrections import (
    amend,
    delete,
    forget_unit,
    read_metrics,
    reward_typed,
    void,
)
from varts.cli.experiment_flags import NO_OPTIONS, STORE, Name, OptionFlags, Url
from varts.cli.experiment_history import history
from varts.cli.experiment_store import is_absent, open_experiment, open_store
from varts.cli.experiment_text import show_report
from varts.cli.reward_file import ColumnNames, open_lines, record_file
from varts.live.options import read_context
from varts.live.report.report import ARMS_SHOWN
from varts.live.report.text import status

EXAMPLES = """\
Examples:

    varts experiment create price 9 12 15 --floor 0.05 --stop-p-best 0.95
    varts experiment decide price --unit user-42
    varts experiment reward price ID 11.70
    varts experiment reward price --file rewards.csv
    varts experiment amend price ID 10.70 --why "typed wrong"
    varts experiment report price
    varts experiment stop price --winner 12

The store is --store, or the environment variable VARTS_STORE, or sqlite:///varts.db.
"""

experiment = App(
    name="experiment",
    help=EXPERIMENT_HELP,
    help_epilogue=EXAMPLES,
)
for command in (
    *(history, changes, decision, check, ages, evaluate, verify),
    *(amend, void, add_arm, pause_arm, resume_arm, configure, stop, restart),
    *(forget_unit, delete),
):
    experiment.command(command, help_epilogue="")


@experiment.command(help_epilogue="")
def create(
    name: Name,
    /,
    *arms: str,
    arms_file: Lines | None = None,
    arm_groups: ArmGroups = None,
    options: OptionFlags = NO_OPTIONS,
    seed: Whole | None = None,
    store: Url = STORE,
) -> None:
    """Create an experiment. If it exists already, arms and options must be the same.

    Defaults are in parentheses. The value `none` sets an option to its default.

    Example: varts experiment create price 9 12 15 --prior prior.json --floor 0.05

    Example: varts experiment create latency old new --goal min --window 24h --missing 10

    Parameters
    ----------
    arms
        The names of its arms.
    arms_file
        A file with the name of an arm on each line; - is standard input.
    seed
        For tests and simulations: the same seed and name give the same decisions. Otherwise leave
        it out, and a secret one is drawn: anybody who knows the seed can predict the arm of an id.
    """
    given = options.given() | {"groups": read_arm_groups(arm_groups), "seed": seed}
    names = read_lines("names of arms and --arms-file", list(arms) or None, arms_file)
    if names and is_absent(store):  # try it in memory first, so that a mistake leaves no file
        varts.open(name, names, store="memory://", **given)
    with closing(open_store(store, create=True)) as place:
        before = place.has(name)
        made = varts.open(name, names, store=place, **given)
        what = "already exists, unchanged" if before else "created"
        say(f"{name}: {what}; {len(made.arms)} arms in {place.name}")


@experiment.command(help_epilogue="")
def decide(
    name: Name,
    /,
    *,
    unit: Annotated[list[str] | None, Parameter(negative=())] = None,
    id: Annotated[list[str] | None, Parameter(negative=())] = None,
    context: Annotated[list[str] | None, Parameter(negative=())] = None,
    units: Lines | None = None,
    ids: Lines | None = None,
    contexts: Lines | None = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Choose an arm. Prints the arm and the id of the decision, which you need for its reward.

    Example: varts experiment decide price --unit user-42

    Example: varts experiment decide price --id visit-1 --json

    Example: varts experiment decide price --unit user-42 --context country=NL,visits=3

    Example: seq 1000 | varts experiment decide price --ids -

    Parameters
    ----------
    unit
        The user or session that the decision is for. Repeat the flag for several decisions, which
        are written together or not at all.
    id
        Your own id for the decision, one per unit. The same id gets the same decision again.
    context
        The features of the unit, if the experiment has features: NAME=VALUE,NAME=VALUE, or a JSON
        object; one per unit. An empty value counts as missing.
    units
        A file with one unit per line; - is standard input.
    ids
        A file with one id per line; - is standard input.
    contexts
        A file with one context per line; - is standard input.
    """
    who, own = read_lines("--unit and --units", unit, units), read_lines("--id and --ids", id, ids)
    known = read_lines("--context and --contexts", context, contexts)
    with open_experiment(name, store) as exp:
        asked = None if known is None else [read_context(one, exp.features) for one in known]
        alone = who is None and own is None and asked is None
        for decision in exp.decide_many(1 if alone else who, own, asked):
            if as_json:
                print_json(decision._asdict())
            else:
                print(f"{printable(decision.arm)}\t{printable(decision.id)}")


@experiment.command(help_epilogue="")
def reward(
    name: Name,
    /,
    *rewards: str,
    file: Lines | None = None,
    metric: Annotated[list[str] | None, Parameter(negative=())] = None,
    key: str | None = None,
    id_column: str | None = None,
    reward_column: str | None = None,
    key_column: str | None = None,
    separator: Separator = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Record rewards. Prints `applied`, or `duplicate` for a reward that was recorded before.

    Rewards on the command line are recorded together: if one is refused, none is recorded. In a
    file, each line is recorded by itself, and once, no matter how often you send the file. If lines
    are refused, the first ones are listed on standard error, and the exit code is 1.

    Example: varts experiment reward price visit-1 11.70

    Example: varts experiment reward price visit-2 0 visit-3 14.20

    Example: varts experiment reward price --file rewards.csv

    Example: tail -n +1 sales.ndjson | varts experiment reward price --file - --reward-column paid

    Example: varts experiment reward price visit-1 -11.70 --key refund-7

    Example: varts experiment reward price visit-4 14.20 --metric latency=0.31

    Parameters
    ----------
    rewards
        The id of a decision and its reward, for any number of decisions: ID VALUE ID VALUE ...
    file
        A CSV, TSV or NDJSON file with one reward per line; - is standard input. Columns with the
        names of metrics are read, too.
    metric
        A metric of the decision, as NAME=VALUE, if you give a single reward.
    key
        Add the reward to what the decision has already, as a part: a second order, or a refund,
        which is negative. Needs a single reward. A decision counts each key once.
    key_column
        With --file: the column of keys, if the rewards are parts.
    id_column
        With --file: the column of ids; "id" by default.
    reward_column
        With --file: the column of rewards; "reward" by default.
    """
    if file is None:
        given = {"--id-column": id_column, "--reward-column": reward_column}
        for flag, value in {**given, "--key-column": key_column, "--separator": separator}.items():
            if value is not None:
                raise ValueError(f"{flag} must be given together with --file, got it alone")
        reward_typed(name, rewards, read_metrics(metric), key, as_json, store)
        return
    for flag, typed in (("rewards", rewards), ("--metric", metric), ("--key", key)):
        if typed:
            raise ValueError(f"{flag} and --file must not be given together, got both")
    with open_experiment(name, store) as exp:
        columns = ColumnNames(
            id_column or "id", reward_column or "reward", key_column, exp.options.metrics
        )
        with open_lines(file, columns, separator) as lines:
            outcome = record_file(exp, lines)
    if as_json:
        print_json(asdict(outcome))
    else:
        say(str(outcome))
        for line in outcome.complaints():
            print(printable(line), file=sys.stderr)
    if outcome.refused:
        sys.exit(1)


@experiment.command(help_epilogue="")
def report(
    name: Name,
    /,
    *,
    level: float = 0.95,
    top: Whole = ARMS_SHOWN,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Show the results: a row per arm, which arm is best so far, and whether the stop rule is met.

    Arms are ranked by their probability of being best. Paused arms come last.

    Example: varts experiment report price

    Example: varts experiment report price --top 5

    Example: varts experiment report price --json | jq .best

    Parameters
    ----------
    level
        Probability of the credible intervals.
    top
        Number of arms in the table; --json prints all of them.
    """
    top = integer("--top", top, at_least=1)
    with open_experiment(name, store) as exp:
        found = exp.report(level)
        if as_json:
            print_json(found.to_dict())
            return
        typed = store not in (STORE, os.environ.get("VARTS_STORE"))
        show_report(found, ["--store", exp.store.address] if typed else [], top)


@experiment.command(help_epilogue="")
def export(name: Name, file: Path, /, *, store: Url = STORE) -> None:
    """Write the log to a file, with a row per decision and its reward.

    Example: varts experiment export price log.parquet

    Parameters
    ----------
    file
        The file to write; its name ends in .parquet, .csv or .ndjson.
    """
    with open_experiment(name, store) as exp:
        say(f"{exp.export(file, progress=None):,} decisions written to {file}")


@experiment.command(name="list", help_epilogue="")
def list_experiments(*, as_json: Json = False, store: Url = STORE) -> None:
    """List the experiments in a store; with --json, also their arms and options.

    Example: varts experiment list --store postgresql://varts@localhost/varts
    """
    table = Table("name", box=None, pad_edge=False)
    for title in ("arms", "rewards", "epoch"):
        table.add_column(title, justify="right")
    table.add_column("policy")
    table.add_column("status")
    with closing(open_store(store)) as place:
        states = place.states()
        for name, state in states.items():
            config = state.config
            if as_json:
                body = {"name": name, "status": status(state), "version": state.version}
                changing = {"rewards": state.counted, "epoch": config.epoch}
                paused = [config.arms[i] for i in sorted(config.paused)]
                arms = {"arms": list(config.arms), "paused": paused}
                print_json({**body, **changing, **arms, "options": config.options.to_json()})
            table.add_row(
                cell(name),
                str(len(config.arms)),
                f"{state.counted:,}",
                str(config.epoch),
                cell(config.options.policy["label"]),
                cell(status(state)),
            )
    if states and not as_json:
        show(table, uncut=True)
    elif not as_json:
        say(f"no experiments in {place.name}")
