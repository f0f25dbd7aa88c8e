"""Before an experiment, on the command line: plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import varts
from varts._progress import show_progress
from varts._validation import make_folder, real
from varts.cli.app import (
    ArmGroups,
    Lines,
    Whole,
    app,
    parse_prior,
    read_arm_groups,
    read_lines,
    whole,
)


@app.command(help_epilogue="")
def plan(
    prior: str,
    *,
    arms: str | None = None,
    arm: Annotated[list[str] | None, Parameter(negative=())] = None,
    arms_file: Lines | None = None,
    arm_groups: ArmGroups = None,
    horizon: Whole = 2000,
    goal: Literal["max", "min"] = "max",
    until_loss: float | None = None,
    until_sure: float | None = None,
    share: float = 0.5,
    limit: Whole = 100_000,
    runs: Whole = 1000,
    watched: Whole | None = None,
    seed: Whole = 0,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    to_json: Annotated[bool, Parameter(name="--json", negative=(), show_default=False)] = False,
    threads: Whole | None = None,
) -> None:
    """What to expect of an experiment before it starts, simulated from its prior.

    Prints regret and reward of VarTS, its rivals and an even split, how sure one may be of the
    best arm and when, the paper's bound, and what a wrong prior would cost.

    Example: varts plan prior.json --arms 10 --horizon 2000 --out plan

    Example: varts plan mu=12,kappa=16,alpha=11,beta=640 --arms 5 --until-sure 0.95

    Parameters
    ----------
    prior
        A prior's JSON file (`varts fit` writes one), or its numbers:
        mu=..,kappa=..,alpha=..,beta=..
    arms
        The number of arms, or their names with commas between; not needed when the prior has an
        entry per arm.
    arm
        The name of an arm, which may have a comma in it; one flag for each arm.
    arms_file
        A file with the name of an arm on each line; - is standard input.
    horizon
        Rounds an experiment.
    goal
        max if a higher reward is better, min if a lower one is.
    until_loss
        Also find the round from which VarTS loses less than this a round on average.
    until_sure
        Also find the rounds until P(best) of some arm reaches this, for VarTS and an even split.
    share
        In how many of the experiments it has to, with --until-sure.
    limit
        Rounds up to which --until-loss and --until-sure look.
    runs
        Simulated experiments.
    watched
        How many of them are followed for P(best); by default 240, fewer from 100 arms on.
    seed
        Same seed, same numbers, on any number of threads.
    out
        Folder for the tables, the figure and plan.json; nothing is written without it.
    to_json
        Print JSON instead of text.
    threads
        Threads to use; all cores by default.
    """
    from varts.planning.comparators import EVEN, MAIN

    for name, value in (("until-sure", until_sure), ("share", share)):
        if value is not None:
            real(name, value, above=0, below=1)
    if until_loss is not None:
        real("until-loss", until_loss, above=0)
    if out is not None:
        make_folder("out", out)
    source, names = parse_prior(prior), _arms(arms, arm, arms_file)
    with show_progress(True) as bar:
        made = varts.plan(
            source,
            names,
            horizon,
            groups=read_arm_groups(arm_groups),
            goal=goal,
            runs=runs,
            watched=watched,
            seed=seed,
            threads=threads,
            progress=bar,
        )
        answers = []
        if until_loss is not None:
            answers.append(
                made.rounds_to_loss(until_loss, limit=limit, threads=threads, progress=bar)
            )
        if until_sure is not None:
            for label in (MAIN, EVEN):
                answers.append(
                    made.rounds_to_sure(until_sure, share, label, limit, threads, progress=bar)
                )
    if to_json:
        body: dict[str, Any] = json.loads(made.to_json())
        print(json.dumps({**body, "answers": [asdict(answer) for answer in answers]}))
    else:
        print(made)
        if answers:
            print("\nhow many rounds it takes")
        for answer in answers:
            print(f"  {answer}")
    if out is not None:
        files = made.save(out)
        if not to_json:
            print(f"\nwritten: {' '.join(str(path) for path in files)}")


def _arms(text: str | None, typed: list[str] | None, file: Path | None) -> Any:
    """The number of arms, or their names: whatever looks like a number is one."""
    listed = read_lines("--arm and --arms-file", typed, file)
    if text is None:
        return listed
    if listed is not None:
        raise ValueError("--arms must not be given together with --arm or --arms-file, got both")
    try:
        float(text)
    except ValueError:
        names = [name.strip() for name in text.split(",")]
        if not all(names):
            raise ValueError(f"--arms must be a number or names, got {text!r}") from None
        return names
    return whole("--arms", text)
