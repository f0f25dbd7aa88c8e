"""Simulation on the command line: reproduce, simulate, bound, policies."""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

import varts
from varts._files import write_csv
from varts._validation import make_folder, unknown
from varts.cli import stop
from varts.cli.app import cell, print_json, say, show
from varts.cli.flags import FilePath, Json, Whole, parse_prior

if TYPE_CHECKING:
    import polars as pl

    from varts.simulation.study import Study
    from varts.simulation.sweep import Setting, Sweep


def reproduce(
    *,
    figure: Literal["1", "2", "all"] = "all",
    runs: Whole = 1000,
    horizon: Whole = 2000,
    seed: Whole = 0,
    out: Annotated[FilePath, Parameter(name=["--out", "-o"])] = Path("results"),
    threads: Whole | None = None,
    bound: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: Json = False,
) -> None:
    """Regenerate the paper's figures 1 and 2 and check its claims.

    Writes figure1, figure2 (PNG and SVG), summary.csv and claims.md, and prints the verdicts.

    Example: varts reproduce --figure 1 --runs 200 --out quick

    Parameters
    ----------
    figure
        Which figure: 1, 2 or all.
    runs
        Independent runs, each with a new bandit instance.
    horizon
        Rounds per run.
    seed
        Same seed, same numbers, on any number of threads.
    out
        Folder for the results; it may exist.
    threads
        Threads to use; all cores by default.
    bound
        Also draw Theorem 2's bound where it holds (the Gaussian panels).
    """
    import varts.paper.reproduce

    made = varts.paper.reproduce.reproduce(
        figure, runs, horizon, seed, out, threads, bound, progress=True
    )
    if as_json:
        for claim in made.claims:
            print_json({"verdict": claim.verdict, "where": claim.where, "claim": claim.text})
        if made.interrupted:
            stop("the files hold the runs that were complete", as_json)
        return
    table = Table("verdict", "where", "claim", box=None, pad_edge=False)
    for claim in made.claims:
        colour = "green" if claim.reproduced else "yellow"
        table.add_row(f"[{colour}]{claim.verdict}[/]", claim.where, claim.text)
    show(table)
    say("", f"written: {' '.join(str(path) for path in made.files)}")
    if made.interrupted:
        stop("the files hold the runs that were complete")


def simulate(
    study: FilePath | None = None,
    *,
    example: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    runs: Whole | None = None,
    horizon: Whole | None = None,
    seed: Whole | None = None,
    out: Annotated[FilePath | None, Parameter(name=["--out", "-o"])] = None,
    threads: Whole | None = None,
    scheduler: str | None = None,
    against: str | None = None,
    as_json: Json = False,
) -> None:
    """Run a study described in a TOML file and write its table, curves and figure.

    Writes summary.csv, curves.csv, regret.png, regret.svg and study.npz (`varts.Study.load`). Where
    the file has a list for one value, such as K = [5, 20], a study is played for each, with one
    table and one figure for all. The folder studies keeps the results: if you add runs, policies or
    values, or if the command was interrupted, it plays only what is missing.
    The keys delay, batch and floor make rewards late and give every arm a smallest probability.

    Example: varts simulate --example > study.toml && varts simulate study.toml --runs 200

    Parameters
    ----------
    study
        The TOML file, or one that comes with varts: `family` or `instances`.
    example
        Print a commented study file and stop.
    runs
        Overrides the file's number of runs.
    horizon
        Overrides the file's number of rounds.
    seed
        Overrides the file's seed.
    out
        Folder for the results; by default named after the file.
    threads
        Threads to use; all cores by default.
    scheduler
        Run on the workers of the dask scheduler at tcp://host:port; needs varts[dask].
    against
        The policy that the others are compared with; by default the first.
    """
    from varts.simulation import study_file

    if example:
        sys.stdout.write(study_file.EXAMPLE)
        return
    if study is None:
        raise ValueError("study must be a TOML file, got none; --example prints one to start from")
    given = {"runs": runs, "horizon": horizon, "seed": seed}
    settings = study_file.read_settings(study_file.find(study))
    for name, value in given.items():
        if value is not None and name in settings[0].values:
            raise ValueError(f"--{name} must be left out if the file has a list, got {value}")
    known = settings[0].policies
    if against is not None and against not in known:
        raise ValueError(unknown("policy", against, known))
    own = {name: value for name, value in given.items() if value is not None}
    settings = [replace(each, numbers={**each.numbers, **own}) for each in settings]
    folder = make_folder("out", out or study.with_name(study.stem + "-results"))
    with _cluster(scheduler) as client:
        options = {"threads": threads, "progress": True, "executor": client}
        if settings[0].values:
            _show_sweep(settings, folder, against, options, as_json)
        else:
            _show_study(settings[0], folder, against, options, as_json)


def _show_study(
    asked: Setting, folder: Path, against: str | None, options: Any, as_json: bool
) -> None:
    """Play one study, write its files and print its table."""
    from varts import plotting
    from varts.fitting.aggregate import describe_left_out

    problem = asked.problem
    played, interrupted = _play([asked], folder, options)
    result = played if isinstance(played, varts.Study) else played.studies[0]
    against = against if against in result.labels else None  # it may not be complete
    summary = result.summary(against)
    write_csv(folder / "summary.csv", summary)
    write_csv(folder / "curves.csv", result.to_polars())
    result.save(folder / "study.npz")
    made, (ax,) = plotting.figure(height=3.6, width=5.6)
    result.plot(ax, title=f"{problem!r}, {result.runs} runs")
    plotting.save(made, folder / "regret")
    if as_json:
        _print_rows(summary)
    else:
        show(_table(summary, [], against or result.labels[0]))
        late = f", {result.conditions}" if result.conditions else ""
        say("", f"{result.runs} runs of {result.horizon} rounds{late}; written to {folder}")
        _say_reused(played, folder)
        if isinstance(problem, varts.EmpiricalBandit) and problem.left_out:
            say(describe_left_out(problem.left_out, problem.rows, problem.word))
    if interrupted:
        done, of = len(result.labels), len(asked.policies)
        what = "the results cover the runs that were complete"
        if done < of:
            what = f"{done} of {of} policies are complete"
        stop(f"{what}; run the same command to continue", as_json)


def _show_sweep(
    settings: list[Setting], folder: Path, against: str | None, options: Any, as_json: bool
) -> None:
    """Play a study for every setting, keep them, and print one table."""
    result, interrupted = _play(settings, folder, options)
    if isinstance(result, varts.Study):
        stop("no setting is complete; run the same command to continue", as_json)
    summary = result.summary(against)
    write_csv(folder / "summary.csv", summary)
    write_csv(folder / "curves.csv", result.to_polars())
    missing = _draw_sweep(result, folder)
    first = against or result.studies[0].labels[0]
    if as_json:
        _print_rows(summary)
    else:
        show(_table(summary, list(settings[0].values), first))
        say("", f"{len(result)} settings; written to {folder}")
        _say_reused(result, folder)
        if missing:
            say(missing)
    if interrupted:
        done = f"{len(result)} of {result.asked} settings are complete; "
        done += "run the same command to continue"
        stop(done, as_json)


def _play(settings: list[Setting], folder: Path, options: Any) -> tuple[Sweep | Study, bool]:
    """Play the settings, except what an earlier command has left in the folder.

    Returns the sweep, and whether Ctrl-C ended it. If no setting is complete then, the study of the
    one that was being played is returned instead.
    """
    from varts.simulation.sweep import play_settings

    try:
        return play_settings(settings, folder=folder / "studies", **options), False
    except varts.Interrupted as stopped:
        return stopped.sweep or stopped.study, True


def _say_reused(played: Sweep | Study, folder: Path) -> None:
    """Say how many runs an earlier command has played."""
    if isinstance(played, varts.Sweep) and played.reused:
        total = sum(study.runs * len(study.labels) for study in played.studies)
        kept = f"reused {played.reused:,} of {total:,} runs (counted per policy)"
        say(f"{kept} from {folder / 'studies'}")


def _draw_sweep(result: Sweep, folder: Path) -> str:
    """Write the figure of a sweep; if that isn't possible, return why."""
    from varts import plotting

    try:
        made = result.plot()[0].get_figure(root=True)
    except ValueError as error:  # too many panels
        return f"no figure: {error}"
    assert made is not None
    plotting.save(made, folder / "regret")
    return ""


def _print_rows(table: pl.DataFrame) -> None:
    """Print a table as JSON, a line per row."""
    for row in table.iter_rows(named=True):
        print_json(row)


def _table(summary: pl.DataFrame, axes: list[str], first: str) -> Table:
    """A summary as it is printed; `first` is the policy that the others are compared with."""
    table = Table(box=None, pad_edge=False)
    for name in (*axes, "policy"):
        table.add_column(cell(name))
    for name in ("regret", "± 95 %", "q95", "best arm", f"minus {cell(first)}", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in summary.iter_rows(named=True):
        single = row["runs"] == 1  # there is no spread
        one = row["policy"] == first or single  # nothing to compare
        table.add_row(
            *(cell(str(row[name])) for name in axes),
            cell(row["policy"]),
            f"{row['regret']:.2f}",
            "-" if single else f"{row['regret_high'] - row['regret']:.2f}",
            f"{row['q95']:.2f}",
            f"{row['best_share']:.1%}",
            "-" if one else f"{row['difference']:+.2f}",
            "-" if one else f"[{row['difference_low']:+.2f}, {row['difference_high']:+.2f}]",
        )
    return table


def bound(
    prior: str,
    *,
    horizon: Whole,
    arms: Whole | None = None,
    sigma: float | None = None,
    delta: float | None = None,
    as_json: Json = False,
) -> None:
    """Compute the paper's regret bound: Theorem 2, or Theorem 1 for known variances.

    Example: varts bound mu=0,kappa=10,alpha=4,beta=1 --arms 10 --horizon 2000

    Example: varts bound mu=0,sigma=1 --sigma 0.5 --arms 10 --horizon 2000

    Parameters
    ----------
    prior
        A prior's JSON file, or its numbers: mu=..,kappa=..,alpha=..,beta=.. (NormalGamma)
        or mu=..,sigma=.. (Normal, with --sigma).
    horizon
        Rounds n.
    arms
        Number of arms, if they all share the prior.
    sigma
        The known standard deviation of a reward (Theorem 1).
    delta
        The theorems' delta in (0, 1); 1/n by default.
    """
    made = parse_prior(prior).for_arms(arms)
    if isinstance(made, varts.Normal):
        if sigma is None:
            raise ValueError("sigma must be given with a Normal prior (Theorem 1), got none")
        value = varts.bounds.theorem1(made, sigma, horizon, delta)
        if as_json:
            print_json({"theorem": 1, "regret": value, "horizon": horizon, "arms": made.K})
            return
        say(f"Theorem 1: regret <= {value:.2f} after {horizon} rounds, {made.K} arms")
        return
    if sigma is not None:
        raise ValueError(f"sigma must be left out with a NormalGamma prior, got {sigma}")
    value = varts.bounds.theorem2(made, horizon, delta)
    corrected = varts.bounds.theorem2(made, horizon, delta, corrected=True)
    if as_json:
        values = {"regret": value, "corrected": corrected}
        print_json({"theorem": 2, **values, "horizon": horizon, "arms": made.K})
        return
    say(f"Theorem 2: regret <= {value:.2f} after {horizon} rounds, {made.K} arms (as printed)")
    say(f"           regret <= {corrected:.2f} with the proof's lost factor restored")


def policies(*, as_json: Json = False) -> None:
    """List every policy: its label, its options with their defaults, and what it does.

    Example: varts policies
    """
    from varts.policies import known, options_of

    table = Table("label", "options", "what it is", box=None, pad_edge=False)
    for label, kind in known().items():
        options = [
            name if option.default is option.empty else f"{name}={option.default}"
            for name, option in options_of(kind).items()
        ]
        first = (inspect.getdoc(kind) or "").partition("\n")[0]
        if as_json:
            print_json({"label": label, "options": options, "what": first})
            continue
        table.add_row(label, ", ".join(options) or "-", first)
    if not as_json:
        show(table)


def _cluster(scheduler: str | None) -> Any:
    """A client of the scheduler while the study runs, or None to run it here."""
    if scheduler is None:
        return nullcontext()
    if not re.search(r"[^:/]:\d+/?$", scheduler):  # dask would try it for 20 seconds
        raise ValueError(f"scheduler must be an address like tcp://host:8786, got {scheduler!r}")
    from varts.simulation.dask import connect

    return connect(scheduler)
