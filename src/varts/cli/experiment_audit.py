"""The commands that look into the log: changes, decision, check, ages, evaluate, verify."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from varts._intervals import CONFIDENCE
from varts._text import printable
from varts.checks.finding import duration
from varts.cli.app import Json, Whole, print_json, say
from varts.cli.evaluate import NO_TARGET, TargetFlags, tell
from varts.cli.experiment_flags import STORE, Name, Url
from varts.cli.experiment_store import open_experiment, open_store
from varts.live.audit.ages import STEPS
from varts.live.audit.verify import repair_caches

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
            print(f"{one.version}\t{one.time:%Y-%m-%d %H:%M:%S}\t{printable(words)}")


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
            print(f"{field}\t{printable(str(value))}")


def check(name: Name, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Check whether rewards and decisions are what the model expects.

    Example: varts experiment check price
    """
    with open_experiment(name, store) as exp:
        found = exp.check(progress=None)
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))


def ages(name: Name, /, *, as_json: Json = False, store: Url = STORE) -> None:
    """Show how old decisions are when their rewards arrive, to choose the window.

    A shorter window learns faster and captures less of the reward.

    Example: varts experiment ages price
    """
    with open_experiment(name, store) as exp:
        rows = exp.reward_by_age().to_dicts()
    if as_json:
        print_json({"ages": rows})
        return
    print("age\tshare of the reward that had arrived")
    for row in rows[TENTH - 1 :: TENTH]:
        share = "-" if row["share"] is None else f"{row['share']:.1%}"
        print(f"{duration(row['age'])}\t{share}")


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
    with open_experiment(name, store) as exp:
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
        Also make every decision again, and compare.
    repair
        If they differ, rebuild statistics and configuration from the log, and record the repair in
        the log.
    """
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
