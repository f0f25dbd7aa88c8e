"""The command `varts`: one function a verb, no maths. A mistake is one sentence, exit code 2."""

from __future__ import annotations

import inspect
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

import varts

EPILOGUE = """\
Examples:

    varts reproduce                      both figures of the paper, its claims, a summary
    varts reproduce --figure 1 --runs 200 --out quick
    varts simulate --example > study.toml
    varts simulate study.toml            a study of your own
    varts bound mu=0,kappa=10,alpha=4,beta=1 --arms 10 --horizon 2000
    varts policies                       every algorithm with its options
"""

app = App(
    name="varts",
    help="Variance-adaptive Thompson sampling: bandits whose reward variances are unknown.",
    help_epilogue=EPILOGUE,
    help_format="plaintext",
    version=varts.__version__,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, 2 for a mistake in the call, 130 for Ctrl-C."""
    try:
        app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except cyclopts.CycloptsError as error:
        _fail(str(error))
    except (ValueError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        _fail(_sentence(error))
    except KeyboardInterrupt:
        print("varts: stopped", file=sys.stderr)
        sys.exit(130)


@app.command
def reproduce(
    *,
    figure: str = "all",
    runs: int = 1000,
    horizon: int = 2000,
    seed: int = 0,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("results"),
    threads: int | None = None,
    bound: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Regenerate the paper's figures 1 and 2 and check its claims.

    Writes figure1 and figure2 (PNG and SVG), summary.csv and claims.md into the folder OUT, and
    prints the claims. The exit code is 0 whatever the verdicts.

    Example: varts reproduce --figure 1 --runs 200 --out quick

    Parameters
    ----------
    figure
        Which figure: 1, 2 or all.
    runs
        Independent runs, each with a new bandit instance.
    horizon
        Rounds a run.
    seed
        Same seed, same numbers, on any number of threads.
    out
        Folder for the results; it may exist.
    threads
        Threads to use; all cores by default.
    bound
        Also draw Theorem 2's bound where it holds (the Gaussian panels).
    """
    from varts.paper import reproduce as run

    made = run(figure, runs, horizon, seed, out, threads, bound, progress=True)
    table = Table("claim", "where", "verdict", box=None, pad_edge=False)
    for claim in made.claims:
        colour = "green" if claim.reproduced else "yellow"
        table.add_row(claim.text, claim.where, f"[{colour}]{claim.verdict}[/]")
    _print(table)
    if made.interrupted:
        print("varts: stopped early; the files hold the runs that were complete", file=sys.stderr)
    _print("\nwritten: " + " ".join(str(path) for path in made.files))


@app.command
def simulate(
    study: Path | None = None,
    *,
    example: Annotated[bool, Parameter(negative=())] = False,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    threads: int | None = None,
    against: str | None = None,
) -> None:
    """Run a study described in a TOML file and write its table, curves and figure.

    Writes summary.csv, curves.csv, regret.png, regret.svg and study.npz (`varts.Study.load`).

    Example: varts simulate --example > study.toml && varts simulate study.toml --runs 200

    Parameters
    ----------
    study
        The TOML file.
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
    against
        The policy that the paired differences are taken to; by default the first.
    """
    from varts import plots, study_file

    if example:
        print(study_file.EXAMPLE, end="")
        return
    if study is None:
        raise ValueError("study must be a TOML file, got none; --example prints one to start from")
    asked = study_file.read(study)
    result = varts.simulate(
        asked.problem,
        asked.policies,
        horizon=asked.horizon if horizon is None else horizon,
        runs=asked.runs if runs is None else runs,
        seed=asked.seed if seed is None else seed,
        threads=threads,
        progress=True,
    )
    summary = result.summary(against)
    folder = out or study.with_name(study.stem + "-results")
    folder.mkdir(parents=True, exist_ok=True)
    summary.write_csv(folder / "summary.csv")
    result.to_polars().write_csv(folder / "curves.csv")
    result.save(folder / "study.npz")
    made, (ax,) = plots.figure(height=3.6)
    result.plot(ax)
    plots.save(made, folder / "regret")
    first = against or result.labels[0]
    table = Table(box=None, pad_edge=False)
    table.add_column("policy")
    for name in (
        "regret",
        "± 95 %",
        "median",
        "q95",
        "best arm",
        f"minus {first}",
        "95 % interval",
    ):
        table.add_column(name, justify="right")
    for row in summary.iter_rows(named=True):
        table.add_row(
            row["policy"],
            f"{row['regret']:.2f}",
            f"{1.96 * row['se']:.2f}",
            f"{row['median']:.2f}",
            f"{row['q95']:.2f}",
            f"{row['best_share']:.1%}",
            "" if row["policy"] == first else f"{row['difference']:+.2f}",
            "" if row["policy"] == first else f"[{row['low']:+.2f}, {row['high']:+.2f}]",
        )
    _print(table)
    if result.interrupted:
        print(f"varts: stopped after {result.runs} complete runs", file=sys.stderr)
    _print(f"\n{result.runs} runs of {result.horizon} rounds; written to {folder}")


@app.command
def bound(
    prior: str,
    *,
    horizon: int,
    arms: int | None = None,
    sigma: float | None = None,
    delta: float | None = None,
) -> None:
    """The paper's Bayes-regret bound for a prior: Theorem 2, or Theorem 1 for known variances.

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
        Number of arms, when the prior is one for all of them.
    sigma
        The known standard deviation of a reward (Theorem 1).
    delta
        The theorems' delta in (0, 1); 1/n by default.
    """
    made = _parse_prior(prior)
    if made.K is None and arms is None:
        raise ValueError("arms must be given for a prior that all arms share, got none")
    made = made.for_arms(arms if arms is not None else made.K)
    if isinstance(made, varts.Normal):
        if sigma is None:
            raise ValueError("sigma must be given with a Normal prior (Theorem 1), got none")
        value = varts.bounds.theorem1(made, sigma, horizon, delta)
        _print(f"Theorem 1: regret <= {value:.2f} after {horizon} rounds, {made.K} arms")
        return
    if sigma is not None:
        raise ValueError(f"sigma must be left out with a NormalGamma prior, got {sigma}")
    value = varts.bounds.theorem2(made, horizon, delta)
    corrected = varts.bounds.theorem2(made, horizon, delta, corrected=True)
    _print(f"Theorem 2: regret <= {value:.2f} after {horizon} rounds, {made.K} arms (as printed)")
    _print(f"           regret <= {corrected:.2f} with the proof's lost factor restored")


@app.command
def policies() -> None:
    """Every algorithm: its label, its options with their defaults, and what it is.

    Example: varts policies
    """
    from varts.policies import known

    table = Table("label", "options", "what it is", box=None, pad_edge=False)
    for label, kind in known().items():
        options = []
        for field in fields(kind):  # type: ignore[arg-type]
            default = "" if field.default is MISSING else f"={field.default}"
            options.append(f"{field.name}{default}")
        first = (inspect.getdoc(kind) or "").splitlines()[0]
        table.add_row(label, ", ".join(options) or "-", first)
    _print(table)


def _parse_prior(text: str) -> Any:
    from varts.priors import prior_from

    if "=" not in text:
        return prior_from(Path(text))
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        return prior_from({key.strip(): float(value) for key, _, value in pairs})
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"prior must be numbers like mu=0,kappa=1, got {text!r}") from None


def _print(what: Any) -> None:
    # Wide enough that a pipe or a log gets whole rows; a terminal wraps to its own width.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(what)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    return str(error)


def _fail(sentence: str) -> None:
    print(f"varts: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(2)
