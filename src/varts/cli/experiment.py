"""Live experiments on the command line: `varts experiment create`, `decide`, `reward` and so on.

The output is for people. With `--json`, commands print one JSON object per line, for scripts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.table import Table

import varts
from varts._intervals import CONFIDENCE
from varts._text import percentages, quote_formulas
from varts._validation import check_file, integer
from varts.checks.finding import duration, plural
from varts.cli.app import (
    EXPERIMENT_HELP,
    FLAGS,
    add_commands,
    cell,
    complain,
    print_json,
    say,
    say_columns,
    show,
)
from varts.cli.experiment_flags import (
    DEADLINE,
    LONG_DEADLINE,
    NO_OPTIONS,
    STORE,
    By,
    Name,
    OptionFlags,
    Url,
    Why,
    is_absent,
    open_experiment,
    open_store,
    state_of,
)
from varts.cli.flags import (
    AS_USUAL,
    ArmGroups,
    FilePath,
    Json,
    Lines,
    TextFlags,
    Whole,
    parse_prior,
    read_arm_groups,
    read_lines,
)
from varts.cli.log import NO_TARGET, TargetFlags, tell
from varts.cli.report import counted, show_aligned, show_history, show_report
from varts.cli.reward_file import (
    AGGREGATES,
    VOIDED,
    ColumnNames,
    aggregates_of,
    read_number,
    record_file,
    rewards_of,
    voids_of,
)
from varts.live import Experiment, UnknownExperiment
from varts.live.audit.ages import STEPS
from varts.live.audit.verify import repair_caches
from varts.live.core.state import State
from varts.live.experiment import open_experiment as open_in_store
from varts.live.options import read_context
from varts.live.report.report import ARMS_SHOWN
from varts.live.report.text import option_text, status
from varts.opening import is_service

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
The address of a service is a store, too: --store https://varts.example.com, with a
token in VARTS_TOKEN.
"""

experiment = App(
    name="experiment",
    help=EXPERIMENT_HELP,
    help_epilogue=EXAMPLES,
    group_commands=FLAGS,
)


def summarize(name: str, state: State) -> dict[str, Any]:
    """Return an experiment as `--json` shows it in a list and after a change."""
    config = state.config
    return {
        "name": name,
        "status": status(state),
        "version": state.version,
        "rewards": counted(state),
        "epoch": config.epoch,
        "arms": list(config.arms),
        "paused": [config.arms[i] for i in sorted(config.paused)],
        "options": config.options.to_json(),
    }


def show_change(exp: Experiment, sentence: Callable[[State], str], as_json: bool) -> None:
    """Print what an experiment is like after a change."""
    state = state_of(exp)
    if as_json:
        print_json(summarize(exp.name, state))
    else:
        say(f"{exp.name}: {sentence(state)}")


# ------------------------------------------------------------------------------ run


def create(
    name: Name,
    /,
    *arms: str,
    arms_file: Lines | None = None,
    arm_groups: ArmGroups = None,
    options: OptionFlags = NO_OPTIONS,
    seed: Whole | None = None,
    as_json: Json = False,
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
        open_in_store(name, names, store="memory://", **given)
    made: Any
    if is_service(store):
        before, where = is_there(name, store), store
        made = varts.open(name, names, store=store, deadline=DEADLINE, **given)
    else:
        place = open_store(store, create=True)
        before, where = place.has(name), place.name
        made = open_in_store(name, names, store=place, **given)
    with made:
        if as_json:
            print_json({"created": not before, **summarize(name, state_of(made))})
            return
        what = "already exists, unchanged" if before else "created"
        say(f"{name}: {what}; {plural(len(made.arms), 'arm')} in {where}")


def is_there(name: str, service: str) -> bool:
    """Whether a service has an experiment of this name."""
    try:
        open_experiment(name, service).close()
    except UnknownExperiment:
        return False
    return True


def decide(
    name: Name,
    /,
    *,
    unit: Annotated[list[str] | None, Parameter(negative=())] = None,
    id: Annotated[list[str] | None, Parameter(negative=())] = None,
    context: Annotated[list[str] | None, Parameter(negative=())] = None,
    units_file: Lines | None = None,
    ids_file: Lines | None = None,
    contexts_file: Lines | None = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Choose an arm. Prints the arm and the id of the decision, which you need for its reward.

    Example: varts experiment decide price --unit user-42

    Example: varts experiment decide price --id visit-1 --json

    Example: varts experiment decide price --unit user-42 --context country=NL,visits=3

    Example: varts experiment decide price --units-file users.txt

    Example: seq 1000 | varts experiment decide price --ids-file -

    Parameters
    ----------
    unit
        The user or session that the decision is for. Repeat the flag for several decisions. A
        database makes all of them or none, a service up to 1,000 at a time.
    id
        Your own id for the decision, one per unit. The same id gets the same decision again.
    context
        The features of the unit, if the experiment has features: NAME=VALUE,NAME=VALUE, or a JSON
        object; one per unit. An empty value counts as missing.
    units_file
        A file with one unit per line; - is standard input.
    ids_file
        A file with one id per line; - is standard input.
    contexts_file
        A file with one context per line; - is standard input.
    """
    who = read_lines("--unit and --units-file", unit, units_file)
    own = read_lines("--id and --ids-file", id, ids_file)
    known = read_lines("--context and --contexts-file", context, contexts_file)
    with open_experiment(name, store) as exp:
        asked = None if known is None else [read_context(one, exp.features) for one in known]
        alone = who is None and own is None and asked is None
        for made in exp.decide_many(1 if alone else who, own, asked):
            if as_json:
                print_json(made._asdict())
            else:
                say_columns(made.arm, made.id)


MOST_DECIMALS = 6


def split(
    name: Name,
    /,
    *,
    decimals: Whole = 1,
    as_csv: Annotated[
        bool, Parameter(name="--csv", negative=(), show_default=False, help="Print CSV.")
    ] = False,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Show the share of the traffic that each arm should get, for tools that only accept a split.

    The percentages add up to 100. They include a holdout, whose share is split evenly. Paused arms
    get 0. With `reward --aggregate` you report back what the arms earned.

    Example: varts experiment split mail

    Example: varts experiment split mail --decimals 0 --csv

    Parameters
    ----------
    decimals
        Decimals of the percentages. --json also has the exact shares.
    """
    decimals = integer("--decimals", decimals, 0, MOST_DECIMALS)
    if as_csv and as_json:
        raise ValueError("--csv and --json must not be given together, got both")
    with open_experiment(name, store) as exp:
        shares = exp.split()
    rounded = dict(zip(shares, percentages(shares.values(), decimals), strict=True))
    if as_json:
        percent = {arm: float(share) for arm, share in rounded.items()}
        print_json({"name": name, "shares": shares, "percent": percent})
    elif as_csv:
        import polars as pl

        table = pl.DataFrame({"arm": list(rounded), "percent": list(rounded.values())})
        sys.stdout.write(table.with_columns(quote_formulas(pl.col("arm"))).write_csv())
    else:
        show_aligned(("arm", "traffic"), ((arm, f"{share} %") for arm, share in rounded.items()))


def reward(
    name: Name,
    /,
    *rewards: str,
    file: Lines | None = None,
    aggregate: Lines | None = None,
    correct: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    void: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    by: By = None,
    why: Why = None,
    metric: Annotated[list[str] | None, Parameter(negative=())] = None,
    key: str | None = None,
    id_column: str | None = None,
    reward_column: str | None = None,
    key_column: str | None = None,
    text: TextFlags = AS_USUAL,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Record rewards. Prints `applied`, or `duplicate` for a reward that was recorded before.

    Rewards on the command line are recorded together: if one is refused, a database records none,
    and a service records the others. In a file, each line is recorded by itself, and once, no
    matter how often you send the file. If lines are refused, the first ones are listed on standard
    error, and the exit code is 1. A file with a number that can't be read, such as 12,5 without
    --decimal , is refused before anything is recorded.

    Example: varts experiment reward price visit-1 11.70

    Example: varts experiment reward price visit-2 0 visit-3 14.20

    Example: varts experiment reward price --file rewards.csv

    Example: tail -n +1 sales.ndjson | varts experiment reward price --file - --reward-column paid

    Example: varts experiment reward price visit-1 -11.70 --key refund-7

    Example: varts experiment reward price visit-4 14.20 --metric latency=0.31

    Example: varts experiment reward mail --aggregate november.csv

    Parameters
    ----------
    rewards
        The id of a decision and its reward, for any number of decisions: ID VALUE ID VALUE ...
    file
        A CSV, TSV or NDJSON file with one reward per line; - is standard input. Columns with the
        names of metrics are read, too.
    aggregate
        A file with the rewards of an arm in a period on each line, for tools that don't report
        single rewards. The columns are arm, period, n, mean and sd; a period is a date, or a start
        and an end such as 2026-11-16/2026-11-22. An arm and a period count once.
    correct
        With --aggregate: replace the numbers that these arms and periods had before.
    void
        With --aggregate: remove the aggregates of these arms and periods. Other columns are
        ignored.
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
    if aggregate is None:
        for flag, typed in (("--correct", correct), ("--void", void), ("--by", by), ("--why", why)):
            if typed:
                raise ValueError(f"{flag} must be given together with --aggregate, got it alone")
    if file is None and aggregate is None:
        given = {"id-column": id_column, "reward-column": reward_column, "key-column": key_column}
        for flag, value in {**given, **text.given()}.items():
            if value is not None:
                raise ValueError(f"--{flag} must be given together with --file, got it alone")
        reward_typed(name, rewards, read_metrics(metric), key, as_json, store)
        return
    source = "--file" if aggregate is None else "--aggregate"
    beside: dict[str, Any] = {"rewards": rewards, "--metric": metric, "--key": key}
    if aggregate is not None:
        beside |= {"--file": file, "--id-column": id_column, "--reward-column": reward_column}
        beside |= {"--key-column": key_column}
    for flag, typed in beside.items():
        if typed:
            raise ValueError(f"{flag} and {source} must not be given together, got both")
    if correct and void:
        raise ValueError("--correct and --void must not be given together, got both")
    with open_experiment(name, store) as exp:
        note = {"by": by, "why": why}
        record = rewards_of(exp)
        columns = ColumnNames(
            id_column or "id", reward_column or "reward", key_column, exp.options.metrics
        )
        if void:
            record, columns = voids_of(exp, note), VOIDED
        elif aggregate is not None:
            record, columns = aggregates_of(exp, correct, note), AGGREGATES
        outcome = record_file(record, aggregate or Path(str(file)), columns, text.checked())
    if as_json:
        print_json(asdict(outcome))
    else:
        say(str(outcome))
        for line in outcome.complaints():
            complain(line)
    if outcome.refused:
        sys.exit(1)


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
        address = exp.store.address if isinstance(exp, Experiment) else store
        show_report(found, ["--store", address] if typed else [], top)


def export(name: Name, file: Path, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Write the log to a file, with a row per decision and its reward.

    Example: varts experiment export price log.parquet

    Parameters
    ----------
    file
        The file to write; its name ends in .parquet, .csv or .ndjson.
    """
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        count = exp.export(file, **bar(exp))
        left_out = count_aggregated(exp)
    if as_json:
        more = {"aggregated": left_out} if left_out else {}
        print_json({"name": name, "decisions": count, "file": str(file), **more})
    else:
        say(f"{plural(count, 'decision')} written to {file}{without_aggregates(left_out)}")


def count_aggregated(exp: Experiment) -> int:
    """Return how many rewards came as aggregates, which no file of decisions has."""
    return sum(exp.report().aggregated.values())


def without_aggregates(count: int) -> str:
    """Return what to say about them after a file was written."""
    return f"; {count:,} rewards that came as aggregates are not in it" if count else ""


def bar(exp: Experiment) -> dict[str, Any]:
    """Return the argument that shows progress on a terminal; a service has no progress to show."""
    return {"progress": None} if isinstance(exp, Experiment) else {}


def list_experiments(*, as_json: Json = False, store: Url = STORE) -> None:
    """List the experiments in a store; with --json, also their arms and options.

    Example: varts experiment list --store postgresql://varts@localhost/varts
    """
    table = Table("name", box=None, pad_edge=False)
    for title in ("arms", "rewards", "epoch"):
        table.add_column(title, justify="right")
    table.add_column("policy")
    table.add_column("status")
    where, states = find_states(store)
    for name, state in states.items():
        if as_json:
            print_json(summarize(name, state))
        table.add_row(
            cell(name),
            str(len(state.config.arms)),
            f"{counted(state):,}",
            str(state.config.epoch),
            cell(state.config.options.policy["label"]),
            cell(status(state)),
        )
    if states and not as_json:
        show(table, uncut=True)
    elif not as_json:
        say(f"no experiments in {where}")


def find_states(url: str) -> tuple[str, dict[str, State]]:
    """Return the name of a store, and the states of its experiments by name."""
    if not is_service(url):
        with closing(open_store(url)) as place:
            return place.name, place.states()
    from varts.client import list_experiments

    states = {}
    for one in list_experiments(url):
        with suppress(UnknownExperiment), open_experiment(one["name"], url) as exp:  # or deleted
            states[exp.name] = state_of(exp)
    return url, states


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
        Write a figure of traffic, P(best), rewards and beliefs to this file (.png, .svg or .pdf).
    """
    if plot is not None:  # check the name before the work, not after it
        from varts.plotting import FIGURE_SUFFIXES

        check_file("plot", plot, FIGURE_SUFFIXES)
    if points is None and every_rewards is None and every is None and not (plot or as_json):
        points = TABLE_POINTS
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        found = exp.history(points, every_rewards=every_rewards, every=every, level=level)
    if plot is not None:
        found.plot(plot)
    if as_json:
        for row in found.frame.iter_rows(named=True):
            print_json({**row, "time": row["time"].isoformat()})
    elif plot is not None:
        say(f"written to {plot}")
    else:
        show_history(found)


MOST_CHANGES = 10_000  # in one call
TENTH = STEPS // 10  # of the window


def changes(name: Name, /, *, after: Whole = 0, as_json: Json = False, store: Url = STORE) -> None:
    """List the changes and corrections of an experiment, with who made them and why.

    Example: varts experiment changes price

    Parameters
    ----------
    after
        Only list changes after this version.
    """
    with open_experiment(name, store) as exp:
        for one in exp.changes(after=after, limit=MOST_CHANGES):
            if as_json:
                print_json({**one._asdict(), "time": one.time.isoformat()})
                continue
            note = [f"by {one.by}"] if one.by else []
            note += [one.why] if one.why else []
            words = "; ".join([one.kind, *note])
            say_columns(str(one.version), f"{one.time:%Y-%m-%d %H:%M:%S}", words)


def decision(name: Name, id: str, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Show one decision with its current reward.

    Example: varts experiment decision price visit-1

    Parameters
    ----------
    id
        The id of the decision.
    """
    with open_experiment(name, store) as exp:
        found = exp.decision(id)._asdict()
    found["time"] = found["time"].isoformat(sep=" ", timespec="seconds")
    if as_json:
        print_json(found)
        return
    for field, value in found.items():
        if value is not None and value != {}:
            say_columns(field, str(value))


def check(name: Name, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Check whether rewards and decisions are what the model expects.

    Example: varts experiment check price
    """
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        found = exp.check(**bar(exp))
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))


def ages(name: Name, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Show how old decisions are when their rewards arrive, to choose the window.

    A shorter window learns faster and captures less of the reward.

    Example: varts experiment ages price
    """
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        rows = exp.reward_by_age().to_dicts()
    if as_json:
        print_json({"ages": rows})
        return
    say_columns("age", "share of the reward that had arrived")
    for row in rows[TENTH - 1 :: TENTH]:
        share = "-" if row["share"] is None else f"{row['share']:.1%}"
        say_columns(duration(row["age"]), share)


def evaluate(
    name: Name,
    /,
    *,
    target: TargetFlags = NO_TARGET,
    level: float = CONFIDENCE,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Estimate from the log what another policy would have earned per decision.

    Example: varts experiment evaluate price --always 12

    Example: varts experiment evaluate price --shares 9=0.2,12=0.8 --against 15

    Parameters
    ----------
    level
        Confidence of the intervals.
    """
    policy, against = target.policy(), target.compared()
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        tell(exp.evaluate(policy, against, level), as_json)


def verify(
    name: Name,
    /,
    *,
    replay: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    repair: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Compare the stored statistics with the log. The exit code is 1 if they differ.

    Example: varts experiment verify price --replay

    Parameters
    ----------
    replay
        Also replay every decision and compare it with the log.
    repair
        If they differ, rebuild statistics and configuration from the log, and record the repair in
        the log.
    """
    if is_service(store):
        raise ValueError(
            "verify needs the database: a service doesn't offer it; run it with the store of the "
            "service, such as --store sqlite:///varts.db"
        )
    repaired = []
    if repair:  # first, because a damaged experiment may not open
        with closing(open_store(store)) as place:
            repaired = repair_caches(name, place)
    with open_experiment(name, store) as exp:
        found = exp.verify(replay=replay, progress=None)
    found.repaired = repaired
    if as_json:
        counts = {what: getattr(found, what) for what in ("decisions", "rewards", "replayed")}
        print_json(
            {
                "ok": found.ok,
                **counts,
                "found": found.found,
                "problems": found.problems,
                "repaired": repaired,
            }
        )
    else:
        say(*str(found).split("\n"))
    if not found.ok:
        sys.exit(1)


def add_arm(
    name: Name,
    arm: str,
    /,
    *,
    prior: str | None = None,
    arm_groups: ArmGroups = None,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Add an arm to a running experiment.

    Example: varts experiment add-arm price 18 --prior mu=12,kappa=16,alpha=11,beta=640

    Parameters
    ----------
    arm
        The name of the new arm.
    prior
        Its prior, a file or numbers as for create. Required if every arm has its own prior.
    """
    with open_experiment(name, store) as exp:
        made = None if prior is None else parse_prior(prior)
        exp.add_arm(arm, made, read_arm_groups(arm_groups), by=by, why=why)
        show_change(exp, lambda now: f"{arm} added; {plural(len(now.config.arms), 'arm')}", as_json)


def pause_arm(
    name: Name,
    arm: str,
    /,
    *,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Take an arm out of play. Rewards of its earlier decisions still count.

    Example: varts experiment pause-arm price 15

    Parameters
    ----------
    arm
        The name of the arm.
    """
    with open_experiment(name, store) as exp:
        exp.pause_arm(arm, by=by, why=why)
        show_change(exp, lambda now: f"{arm} paused; {in_play(now)}", as_json)


def resume_arm(
    name: Name,
    arm: str,
    /,
    *,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Put a paused arm back into play.

    Example: varts experiment resume-arm price 15

    Parameters
    ----------
    arm
        The name of the arm.
    """
    with open_experiment(name, store) as exp:
        exp.resume_arm(arm, by=by, why=why)
        show_change(exp, lambda now: f"{arm} resumed; {in_play(now)}", as_json)


def in_play(state: State) -> str:
    return f"{plural(len(state.config.active), 'arm')} in play"


def configure(
    name: Name,
    /,
    *,
    arm_groups: ArmGroups = None,
    recount: Annotated[bool, Parameter(negative=())] = False,
    by: By = None,
    why: Why = None,
    options: OptionFlags = NO_OPTIONS,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Change options from now on, and start a new epoch. Other options stay as they are.

    Defaults are in parentheses. The value `none` sets an option to its default.

    Example: varts experiment configure price --floor 0.02 --half-life none

    Example: varts experiment configure price --clip 0,100 --recount

    Parameters
    ----------
    recount
        Also apply the new clip range to the rewards so far.
    """
    given = options.given()
    if not given:
        raise ValueError("configure needs an option to change, such as --floor 0.02")
    with open_experiment(name, store) as exp:
        groups = read_arm_groups(arm_groups)
        exp.configure(**given, groups=groups, recount=recount, by=by, why=why)

        def changed(now: State) -> str:
            values = now.config.options.to_json()
            texts = (f"{option} {option_text(values[option])}" for option in given)
            return f"{', '.join(texts)}; epoch {now.config.epoch}"

        show_change(exp, changed, as_json)
        if "clip" in given and not recount and not as_json and state_of(exp).rewards:
            say("rewards so far are counted as before; --recount applies the new clip to them")


def stop(
    name: Name,
    /,
    *,
    winner: str | None = None,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Stop an experiment. From now on everybody gets the winner, or nobody gets a decision.

    Rewards of earlier decisions still count. `restart` continues the experiment.

    Example: varts experiment stop price --winner 12

    Parameters
    ----------
    winner
        The arm that everybody gets. Without a winner, decide refuses from now on.
    """
    with open_experiment(name, store) as exp:
        exp.stop(winner, by=by, why=why)
        show_change(exp, status, as_json)


def restart(
    name: Name,
    /,
    *,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Continue a stopped experiment with everything it has learned.

    Example: varts experiment restart price --why "a new season"
    """
    with open_experiment(name, store) as exp:
        exp.restart(by=by, why=why)
        show_change(exp, status, as_json)


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
    """Replace rewards. A database replaces all of them or none; a service, one after another.

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
        if isinstance(exp, Experiment):
            given = [(id, value, metrics) for id, value in pairs]
            applied: Iterable[bool] = exp.amend_many(given, by=by, why=why)
        else:
            applied = (exp.amend(id, value, by=by, why=why, **metrics) for id, value in pairs)
        print_applied([id for id, _ in pairs], applied, as_json)


def void(
    name: Name,
    /,
    *ids: str,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Remove rewards of tests or bots, as if they had never arrived.

    A database removes all of them or none; a service, one after another.

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
        applied: Iterable[bool] = (
            exp.void_many(ids, by=by, why=why)
            if isinstance(exp, Experiment)
            else (exp.void(id, by=by, why=why) for id in ids)
        )
        print_applied(ids, applied, as_json)


def forget_unit(
    name: Name,
    unit: str,
    /,
    *,
    keep_numbers: Annotated[bool, Parameter(negative=())] = False,
    by: By = None,
    why: Why = None,
    as_json: Json = False,
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
        if as_json:
            print_json({"name": name, "decisions": count})
            return
        say(f"{name}: {count:,} {what} a random name instead of the unit")


def delete(
    name: Name,
    /,
    *,
    confirm: str | None = None,
    export: Path | None = None,
    no_export: Annotated[bool, Parameter(negative=())] = False,
    as_json: Json = False,
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
    with open_experiment(name, store, LONG_DEADLINE) as exp:
        left_out = 0 if file is None else count_aggregated(exp)
        count = exp.delete(confirm, export=file)
        if as_json:
            print_json(
                {"name": name, "decisions": count, "file": None if file is None else str(file)}
            )
            return
        where = "" if file is None else f"; its log is in {file}{without_aggregates(left_out)}"
        say(f"{name}: deleted, with {plural(count, 'decision')}{where}")


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


def print_applied(ids: Sequence[str], applied: Iterable[bool], as_json: bool) -> None:
    """Print a line per decision: whether the call changed anything."""
    for id, new in zip(ids, applied, strict=True):
        if as_json:
            print_json({"id": id, "applied": new})
        else:
            say_columns("applied" if new else "duplicate", id)


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


add_commands(
    experiment,
    {
        "Run": [
            ("create", create, None),
            ("list", list_experiments, None),
            ("decide", decide, None),
            ("reward", reward, None),
            ("split", split, None),
            ("report", report, None),
        ],
        "Look closer": [
            ("history", history, None),
            ("check", check, None),
            ("ages", ages, None),
            ("evaluate", evaluate, None),
            ("decision", decision, None),
            ("changes", changes, None),
        ],
        "Change": [
            ("add-arm", add_arm, None),
            ("pause-arm", pause_arm, None),
            ("resume-arm", resume_arm, None),
            ("configure", configure, None),
            ("stop", stop, None),
            ("restart", restart, None),
        ],
        "Correct": [
            ("amend", amend, None),
            ("void", void, None),
            ("forget-unit", forget_unit, None),
        ],
        "Keep": [
            ("export", export, None),
            ("verify", verify, None),
            ("delete", delete, None),
        ],
    },
)
