"""Priors on the command line: fit."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

import varts
from varts._validation import check_file
from varts.cli.app import cell, print_json, say, show
from varts.cli.flags import USUAL_LOG, FilePath, Json, LogFlags, OneExperiment, read_features

GROUPS_SHOWN = 20


def level_of(prior: Any) -> Any:
    """Return the prior of the mean at the center, if there are features."""
    return prior.level() if isinstance(prior, varts.LinearNormalGamma) else prior


def fit(
    history: str | None = None,
    *,
    out: Annotated[FilePath | None, Parameter(name=["--out", "-o"])] = None,
    method: Literal["likelihood", "moments"] = "likelihood",
    log: LogFlags = USUAL_LOG,
    one_experiment: OneExperiment = False,
    features: str | None = None,
    group_column: str | None = None,
    per_group: Literal["mu", "all"] | None = None,
    held_out: bool = True,
    goal: Literal["max", "min"] = "max",
    horizon: int | None = None,
    plot: FilePath | None = None,
    example: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: Json = False,
) -> None:
    """Estimate a prior from the logs of past experiments.

    The history is a CSV, TSV, Parquet or NDJSON file, a folder of them or a pattern like
    'logs/*.parquet', with one row per reward, or aggregated with columns n, mean and sd (or m2). It
    may be larger than memory.

    Example: varts fit history.csv -o prior.json --plot prior.png

    Example: varts fit --example > flights.csv &&
    varts fit flights.csv --experiment-column route --arm-column slot
    --reward-column early --group-column slot

    Example: varts fit history.csv --features country,visits -o prior.json

    Parameters
    ----------
    history
        The file, folder or pattern.
    out
        The JSON file to write the prior to, for `varts plan`, `varts bound` and study files.
    method
        likelihood (uses every arm), or moments (the paper's; needs 6 rewards of an arm).
    features
        The features that rewards may depend on: columns such as country,visits, or a JSON file that
        describes them. A column that has only numbers is a number, any other a category.
    group_column
        One prior for each value of this column; name the arm's column for one prior per arm.
    per_group
        With --group-column: one mu per group and the rest pooled (the default without features), or
        all numbers per group (the only way with features).
    held_out
        Try the prior on held-out arms: VarTS with the prior against VarTS without one, for choosing
        and for reporting.
    goal
        For that trial: max if a higher reward is better, min if a lower one is.
    horizon
        For that trial: how many decisions your next experiment will have (default: 100 per arm).
    plot
        Write a figure of the arms and the fit to this file (.png, .svg or .pdf).
    example
        Print a history to try it on (flights from Newark, CSV) and stop.
    """
    from varts import plotting
    from varts.fitting.aggregate import describe_words

    if example:
        _print_example()
        return
    if history is None:
        raise ValueError("history must be a file, folder or pattern, got none; try --example")
    if out is not None:  # before the work, not after it
        check_file("out", out)
    if plot is not None:
        if features is not None:
            raise ValueError("--plot must be left out with --features, got both")
        check_file("plot", plot, plotting.FIGURE_SUFFIXES)
    made = varts.fit_prior(
        history,
        features=None if features is None else read_features(features),
        method=method,
        groups=group_column,
        per_group=per_group,
        held_out=held_out,
        goal=goal,
        horizon=horizon,
        **(log.named() | ({"experiment": None} if one_experiment else {})),
    )
    if out is not None:  # files first: `varts fit ... | head` writes them too
        made.save(out)
    if plot is not None:
        drawing, axes = plotting.figure(3, height=3.4)
        made.plot(axes)
        plotting.save_figure(drawing, plot)
    if as_json:
        print_json(json.loads(made.to_json()))
        return
    words = describe_words(made.diagnostics.left_out, made.diagnostics.word)
    if words:  # first, so that nobody overlooks it
        say(words, "")
    show(_tabulate_groups(made) if made.groups else _tabulate_shared(made))
    if made.features is not None:
        say("")
        show(_tabulate_slopes(made))
    say("", *str(made.diagnostics).split("\n"))
    written = " and ".join(str(path) for path in (out, plot) if path is not None)
    if written:
        say("", f"written to {written}")


def _tabulate_shared(made: Any) -> Table:
    """The four numbers, and what they mean."""
    from varts.fitting.fit import summarise_prior

    words = summarise_prior(level_of(made.prior))
    spread = "no finite sd" if words.mean_sd == float("inf") else f"sd {_format(words.mean_sd)}"
    meaning = {
        "mu": f"the arms' means lie around {_format(words.mean)}",
        "kappa": f"with {spread}: worth {_format(words.worth_of_mean)} rewards of an arm",
        "alpha": "reward variances are known as well as after "
        f"{_format(words.worth_of_sd)} rewards",
        "beta": f"rewards have sd {_format(words.reward_sd)}; "
        f"80 % of arms have {_format(words.low_sd)} to {_format(words.high_sd)}",
    }
    table = Table("", box=None, pad_edge=False)
    for head in ("estimate", "± error", "prior"):
        table.add_column(head, justify="right")
    table.add_column("in words")
    for name, text in meaning.items():
        numbers = (getattr(made.estimate, name), made.errors[name], getattr(made.prior, name))
        table.add_row(name, *map(_format, numbers), text)
    return table


def _tabulate_groups(made: Any) -> Table:
    """One row per group; the last one is for arms without a group."""
    from varts.fitting.fit import summarise_prior

    arms = made.history.arms["group"].value_counts()
    count = dict(zip(arms["group"], arms["count"], strict=True))
    table = Table("group", box=None, pad_edge=False)
    heads = ("arms", "mu", "± error", "kappa", "alpha", "beta", "sd of means", "reward sd")
    for head in heads:
        table.add_column(head, justify="right")

    def row(name: str, arms: str, error: str, prior: Any) -> None:
        prior = level_of(prior)
        words = summarise_prior(prior)
        numbers = (prior.kappa, prior.alpha, prior.beta, words.mean_sd, words.reward_sd)
        table.add_row(cell(name), arms, _format(prior.mu), error, *map(_format, numbers))

    for i, name in enumerate(made.groups[:GROUPS_SHOWN]):
        row(name, str(count[name]), _format(made.errors["mu"][i]), made.prior.take(i))
    if len(made.groups) > GROUPS_SHOWN:
        table.add_row(f"and {len(made.groups) - GROUPS_SHOWN} more")
    row("(any other)", "", "", made.shared)
    return table


def _tabulate_slopes(made: Any) -> Table:
    """The effects of the features; those of arms that belong to no group, if there are groups."""
    prior = made.shared
    beliefs, columns = prior.slope_beliefs(), made.features.columns
    table = Table("feature", box=None, pad_edge=False)
    for head in (*(() if made.groups else ("estimate", "± error")), "slope", "spread", "center"):
        table.add_column(head, justify="right")
    table.add_column("in words")
    for j, name in enumerate(columns):
        slope, spread = float(prior.slopes[j]), float(beliefs.scale[0, j])
        known = [] if made.groups else [made.estimate.slopes[j], made.errors["slopes"][j]]
        step = "being so" if "=" in name and " x " not in name else "a step"
        words = f"{step} moves the mean by {_format(slope)}, give or take {_format(spread)} an arm"
        table.add_row(cell(name), *map(_format, (*known, slope, spread, prior.center[j])), words)
    return table


def _format(value: float) -> str:
    """Four digits, and no power of ten for ordinary numbers."""
    size = abs(value)
    if size == float("inf") or (size and not 1e-3 <= size < 1e7):
        return f"{value:.4g}"
    return f"{value:.{max(0, 3 - len(str(int(size))) + (size < 1))}f}"


def _print_example() -> None:
    from varts.fitting.history import example_history

    sys.stdout.write(example_history().write_csv())
