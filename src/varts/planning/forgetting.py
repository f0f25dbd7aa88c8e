"""Which half-life suits the drift that somebody expects: `plan(..., drift="steps=2000")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from varts._intervals import mean_interval
from varts._progress import Progress
from varts._validation import abbreviate, choice, real, refusal
from varts.planning.columns import TABLES
from varts.planning.comparators import MAIN, finite_mean_sd
from varts.policies import Fading, Policy, VarTS
from varts.priors import NormalGamma
from varts.problems import Cycle, Drifting, GaussianBandit, Steps, Walk
from varts.simulation.simulate import simulate

KINDS = {
    "steps": "the means are drawn anew about every {:,g} rounds",
    "cycle": "the means rise and fall by one sd every {:,g} rounds, each arm at its own time",
    "walk": "the means wander by {:,g} a round, and stay within what the prior says",
}
SHORTEST = 10  # of the half-lives that are tried
FRACTION = 500  # of the horizon, at least


def read_drift(drift: str | Mapping[str, float]) -> tuple[str, float]:
    """The kind and the number of a drift, as in "steps=2000" or {"steps": 2000}.

    >>> read_drift("walk=0.02")
    ('walk', 0.02)
    """
    rule = "one of steps=ROUNDS, cycle=ROUNDS, walk=STEP"
    given: Any = drift
    if isinstance(drift, str):
        name, _, number = drift.partition("=")
        try:
            given = {name.strip(): float(number)}
        except ValueError:
            raise ValueError(refusal("drift", rule, drift)) from None
    if not isinstance(given, Mapping):
        raise TypeError(refusal("drift", rule, drift))
    if len(given) != 1:
        raise ValueError(refusal("drift", rule, drift))
    kind, value = next(iter(given.items()))
    choice("drift", kind, KINDS)
    limits = {"above": 0.0} if kind == "walk" else {"at_least": 1.0}
    return kind, real(f"{kind} of drift", value, **limits)


def describe_drift(drift: str) -> str:
    """Describe the drift that is simulated.

    >>> describe_drift("steps=2000")
    'the means are drawn anew about every 2,000 rounds'
    """
    kind, value = read_drift(drift)
    return KINDS[kind].format(value)


def drifting_problem(prior: NormalGamma, kind: str, value: float) -> Drifting:
    """The arms of the prior, drifting in such a way that it stays right about them.

    At any round, the means of `steps` and, in mean and sd, of `walk` are as the prior has them.
    """
    problem = GaussianBandit(prior)
    if kind == "steps":
        return Steps(problem, value, random=True)
    sd = finite_mean_sd(prior)
    if kind == "cycle":
        return Cycle(problem, value, sd)
    if value >= sd.min():
        raise ValueError(
            f"walk of drift must be below the sd of the arms' means, {sd.min():.4g}, got "
            f"{abbreviate(value)}"
        )
    return Walk(problem, value, spread=sd, center=prior.mu)


def space_half_lives(K: int, horizon: int) -> list[int]:
    """1, 2, 5, 10, ... as far as it makes sense: two rewards per arm at least, the horizon at most.

    >>> space_half_lives(5, 2000)
    [10, 20, 50, 100, 200, 500, 1000, 2000]
    """
    least = max(SHORTEST, 2 * K, horizon / FRACTION)
    grid = [digit * 10**power for power in range(16) for digit in (1, 2, 5)]
    return [half_life for half_life in grid if least <= half_life <= horizon]


def compare_half_lives(
    prior: NormalGamma,
    kind: str,
    value: float,
    horizon: int,
    runs: int,
    seed: int,
    threads: int | None,
    bar: Progress,
) -> pl.DataFrame:
    """Regret of VarTS by half-life, none first: under the drift and, beside it, without any."""
    half_lives = space_half_lives(int(prior.mu.size), horizon)
    policies: dict[str, Policy] = {MAIN: VarTS(prior)}
    policies |= {f"half-life {h}": Fading(VarTS(prior), h) for h in half_lives}
    drifting, still = (
        simulate(problem, policies, horizon, runs, seed, threads, bar)
        for problem in (drifting_problem(prior, kind, value), GaussianBandit(prior))
    )
    rows: list[list[Any]] = []
    for label, half_life in zip(drifting.labels, [None, *half_lives], strict=True):
        row: list[Any] = [half_life]
        for study in (drifting, still):
            regret = study.final[label]
            against = mean_interval(regret - study.final[MAIN])
            row += [*mean_interval(regret), *([None] * 3 if half_life is None else against)]
        rows.append(row)
    return TABLES["half_lives"].frame(rows)


def best_half_life(table: pl.DataFrame) -> dict[str, Any] | None:
    """The row with the least regret, if that is for certain less than without a half-life."""
    if table.height < 2:
        return None
    row = table.sort("regret", maintain_order=True).row(0, named=True)
    return row if row["half_life"] is not None and row["difference_high"] < 0 else None
