"""Live experiments on the command line: `varts experiment create`, `decide`, `reward` and so on.

For people by default; `--json` prints one JSON object a line, for scripts.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

import varts
from varts.checks import unknown
from varts.cli.shell import Whole, app, parse_prior, show

if TYPE_CHECKING:
    from varts.live import Experiment, Report, Store
    from varts.live.state import State

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

# ------------------------------------------------------------------- options, as a person types

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _number(name: str, text: str, rule: str = "a number", whole: str | None = None) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be {rule}, got {whole or text!r}") from None


def _time(name: str, text: str) -> float:
    """Seconds.

    >>> _time("window", "90"), _time("window", "1.5h")
    (90.0, 5400.0)
    """
    unit = SECONDS.get(text[-1:].casefold())
    amount = text if unit is None else text[:-1]
    return (unit or 1) * _number(name, amount, "seconds or a time like 30m, 24h or 7d", text)


def _range(name: str, text: str) -> tuple[float, ...]:
    rule = "two numbers, LOW,HIGH"
    ends = tuple(_number(name, part, rule, text) for part in text.split(","))
    if len(ends) != 2:
        raise ValueError(f"{name} must be {rule}, got {text!r}")
    return ends


def _policy(name: str, text: str) -> Any:
    """A label, or a label with its options.

    >>> _policy("policy", "UCB-V,zeta=1.2")
    {'label': 'UCB-V', 'zeta': 1.2}
    """
    label, *options = text.split(",")
    pairs = [option.partition("=") for option in options]
    rule = "a label, or one with options like UCB-V,zeta=1.2"
    values = {key.strip(): _number(name, value, rule, text) for key, _, value in pairs}
    return {"label": label.strip(), **values} if values else label


def _flag(metavar: str, text: str) -> Any:
    return Parameter(metavar=metavar, help=text, allow_leading_hyphen=True)


Read = Callable[[str, str], Any]


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Every option of `varts.live.Options` as a flag; what is not given stays None."""

    goal: Annotated[str | None, _flag("max|min", "Whether higher or lower is better (max).")] = None
    policy: Annotated[
        str | None,
        _flag("LABEL", "One of `varts policies`, maybe with options: UCB-V,zeta=1.2 (VarTS)."),
    ] = None
    prior: Annotated[
        str | None,
        _flag(
            "PRIOR", "A JSON file, as of `varts fit`, or mu=..,kappa=..,alpha=..,beta=.. (none)."
        ),
    ] = None
    floor: Annotated[
        str | None, _flag("SHARE", "Part of the traffic that every arm gets at least (0).")
    ] = None
    holdout: Annotated[
        str | None, _flag("SHARE", "Part of the units that get an even split for ever (0).")
    ] = None
    sticky: Annotated[
        bool | None, Parameter(help="Whether a unit keeps its arm (--no-sticky).")
    ] = None
    clip: Annotated[
        str | None,
        _flag("LOW,HIGH", "Rewards outside count as the nearer end; the raw value is kept (none)."),
    ] = None
    window: Annotated[
        str | None,
        _flag("TIME", "How long a reward may take: seconds, or like 30m, 24h, 7d (none)."),
    ] = None
    missing: Annotated[
        str | None, _flag("VALUE", "What a reward counts as that missed the window (none).")
    ] = None
    half_life: Annotated[
        str | None, _flag("REWARDS", "After so many rewards an older one counts half (none).")
    ] = None
    stop_p_best: Annotated[
        str | None, _flag("P", "Say that it may stop once some arm's P(best) is this (none).")
    ] = None
    stop_loss: Annotated[
        str | None, _flag("LOSS", "Say so once the smallest expected loss is this (none).")
    ] = None
    hash_units: Annotated[
        bool | None, Parameter(help="Whether units are stored as hashes (--no-hash-units).")
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were typed; `none` is an option's default."""
        from varts.live import Options

        read: dict[str, Read] = {
            "goal": lambda _, text: text,
            "policy": _policy,
            "prior": lambda _, text: parse_prior(text),
            "clip": _range,
            "window": _time,
        }
        out: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            typed = getattr(self, name)
            if isinstance(typed, str) and typed.casefold() == "none":
                out[name] = getattr(Options(), name)
            elif isinstance(typed, str):
                out[name] = read.get(name, _number)(name, typed)
            elif typed is not None:
                out[name] = typed
        return out


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
Lines = Annotated[Path, Parameter(allow_leading_hyphen=True)]  # a lone - is standard input
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
    seed
        Same seed, same decisions; drawn by default.
    """
    given = options.given()
    if arms and _absent(store):  # tried out first: a mistake leaves no file behind
        varts.open(name, arms, store="memory://", seed=seed, **given)
    with closing(_place(store, create=True)) as place:
        before = place.has(name)
        made = varts.open(name, arms or None, store=place, seed=seed, **given)
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
    who, own = _listed("unit", unit, units), _listed("id", id, ids)
    nobody: list[str | None] = [None] * (1 if own is None else len(own))
    with _open(name, store) as exp:
        for decision in exp.decide_many(nobody if who is None else who, own):
            if as_json:
                _line(decision._asdict())
            else:
                print(f"{decision.arm}\t{decision.id}")


def _listed(name: str, typed: list[str] | None, file: Path | None) -> list[str] | None:
    """What was typed, or the lines of the file; a flag for each of thousands takes minutes."""
    if file is None:
        return typed
    if typed is not None:
        raise ValueError(f"{name}s must come from --{name} or from --{name}s, got both")
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return text.splitlines()


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
            _line(_report_body(found))
            return
        typed = store not in (STORE, os.environ.get("VARTS_STORE"))
        _show_report(found, ["--store", exp.store.address] if typed else [])


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
                body = {"name": name, "status": _status(exp.state), "version": exp.state.version}
                changing = {"rewards": exp.state.rewards, "epoch": config.epoch}
                arms = {"arms": exp.arms, "paused": [exp.arms[i] for i in sorted(config.paused)]}
                _line({**body, **changing, **arms, "options": exp.options.to_json()})
            table.add_row(
                escape(name),
                str(len(config.arms)),
                f"{exp.state.rewards:,}",
                str(config.epoch),
                escape(exp.options.policy["label"]),
                escape(_status(exp.state)),
            )
    if not as_json:
        show(table if names else f"no experiments in {place.name}", uncut=True)


@experiment.command(help_epilogue="")
def add_arm(name: Name, arm: str, /, *, prior: str | None = None, store: Url = STORE) -> None:
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
        exp.add_arm(arm, None if prior is None else parse_prior(prior))
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
def configure(name: Name, /, *, options: Options = NOTHING, store: Url = STORE) -> None:
    """Change options from here on; a new epoch begins. What is not given stays as it is.

    `none` puts an option back to its default, which is in parentheses.

    Example: varts experiment configure price --floor 0.02 --half-life none
    """
    given = options.given()
    if not given:
        raise ValueError("configure must be given an option to change, got none")
    with _open(name, store) as exp:
        exp.configure(**given)
        now = exp.options.to_json()
        changes = ", ".join(f"{option} {_shown(now[option])}" for option in given)
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
        print(f"{name}: {_status(exp.state)}")


# ---------------------------------------------------------------------------------- how it looks


def _status(state: State) -> str:
    config = state.config
    if config.winner is not None:
        return f"stopped, {config.arms[config.winner]} for everybody"
    if config.stopped:
        return "stopped"
    return "running" if not config.paused else f"running, {len(config.paused)} paused"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "label" in value:
        return str(value["label"])
    if isinstance(value, list):
        return ",".join(f"{one:g}" for one in value)
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _report_body(found: Report) -> dict[str, Any]:
    names = ("name", "version", "goal", "level", "best", "stop", "because", "winner")
    return {name: getattr(found, name) for name in names} | {"arms": found.frame.to_dicts()}


def _show_report(found: Report, place: list[str]) -> None:
    state, rows = found.state, found.frame.to_dicts()
    label = state.config.options.policy["label"]
    pending = sum(row["pending"] for row in rows)
    print(
        f"{found.name}: {label}, goal {found.goal}, {state.rewards:,} rewards, "
        f"{pending:,} pending, epoch {state.config.epoch}, {_status(state)}"
    )
    wide = [row["high"] - row["low"] for row in rows if row["low"] is not None]
    places = _places(wide or [abs(row["mean"]) for row in rows if row["mean"] is not None])
    table = Table("arm", box=None, pad_edge=False)
    interval = f"{100 * found.level:g} % interval"
    for title in ("n", "mean", "sd", interval, "P(best)", "expected loss", "share", "pending"):
        table.add_column(title, justify="right")
    for index, row in enumerate(rows):
        paused = " (paused)" if index in state.config.paused else ""
        table.add_row(
            escape(row["arm"]) + paused,
            f"{row['n']:,}",
            _decimal(row["mean"], places),
            _decimal(row["sd"], places),
            "-"
            if row["low"] is None
            else f"{_decimal(row['low'], places)} to {_decimal(row['high'], places)}",
            "-" if row["p_best"] is None else f"{row['p_best']:.4f}",
            "-" if row["expected_loss"] is None else f"{row['expected_loss']:.3g}",
            f"{row['share']:.1%}",
            f"{row['pending']:,}",
        )
    show(table, uncut=True)
    print(_verdict(found, place))


def _verdict(found: Report, place: list[str]) -> str:
    """What the numbers say, with the command that follows from it; `place` is its --store."""
    if found.state.config.stopped or found.best is None:
        return found.because
    if found.stop:
        winner = str(found.winner)
        chosen = [f"--winner={winner}"] if winner.startswith("-") else ["--winner", winner]
        advice = shlex.join(["varts", "experiment", "stop", found.name, *chosen, *place])
        return f"the stop rule is met: {found.because}; to follow it: {advice}"
    return f"best so far: {found.best}; {found.because}"


def _places(widths: Iterable[float]) -> int:
    """Decimals that show the smallest of these with three digits.

    >>> _places([12.5, 0.031])
    4
    """
    wide = [width for width in widths if 0 < width < math.inf]
    return min(max(2 - math.floor(math.log10(min(wide))), 0), 15) if wide else 2


def _decimal(value: float | None, places: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{places}f}" if abs(value) < 1e15 else f"{value:.6g}"
