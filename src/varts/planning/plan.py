"""`plan`: what to expect of an experiment before it starts, simulated from its prior."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from varts import bounds
from varts._progress import Progress, show_progress
from varts._validation import abbreviate, choice, integer, reals
from varts.fitting.result import FittedPrior
from varts.planning import tables
from varts.planning.comparators import EVEN, MAIN, RIGHT, make_policies, make_wrong_priors
from varts.planning.identification import Identification, SimulatedRuns, space_checkpoints
from varts.planning.notes import write_notes
from varts.planning.result import Plan
from varts.policies import Policy, VarTS
from varts.priors import NormalGamma, prior_from
from varts.problems import GaussianBandit
from varts.simulation.study import settings, simulate

FOLLOWED_RUNS = 240  # whose P(best) is followed
FEWEST_FOLLOWED_RUNS = 50
FOLLOWED_ARMS = 24_000  # of all followed runs together: with more than 100 arms, runs are fewer
SMALLEST_ALPHA = 0.05  # below it, drawn rewards overflow


def plan(
    prior: Any,
    arms: int | Iterable[str] | None = None,
    horizon: int = 2000,
    *,
    goal: str = "max",
    runs: int = 1000,
    followed: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """Simulate an experiment whose arms are drawn from a prior, to see what to expect of it.

    Args:
        prior: A NormalGamma, its fields, the JSON file of one, or what `fit_prior` returned.
        arms: The number of arms or their names; not needed if the prior has one entry per arm.
        horizon: The rounds of an experiment.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        runs: How many experiments to simulate; every policy plays the same ones.
        followed: In how many of them to follow P(best), to see how sure one may be, and when; by
            default 240, fewer with more than 100 arms.
        seed: Same seed, same numbers.
        threads: How many threads to use; all cores by default. The numbers do not depend on it.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

    >>> prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
    >>> expected = plan(prior, arms=3, horizon=200, runs=64, followed=16)
    >>> expected.table["policy"][0], expected.wrong.height
    ('VarTS', 7)
    >>> regret = dict(expected.table.select("policy", "regret").iter_rows())
    >>> regret["VarTS"] < regret["Even-Split"] < expected.bound["printed"]
    True
    """
    choice("goal", goal, ("max", "min"))
    given, names = _prior_of(prior, arms)
    inner = given if goal == "max" else given.mirrored()
    integer("runs", runs, at_least=2)  # one run has no interval
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    K = int(given.mu.size)
    checkpoints = space_checkpoints(K, horizon)
    if followed is None:
        followed = max(FEWEST_FOLLOWED_RUNS, min(FOLLOWED_RUNS, FOLLOWED_ARMS // K))
    followed = min(runs, integer("followed", followed, at_least=1))

    problem = GaussianBandit(inner)
    named, wrong = make_policies(inner, goal), make_wrong_priors(inner, goal)
    misled: dict[str, Policy] = {what: VarTS(other) for what, other in wrong.items()}
    identified: dict[str, Identification] = {}
    with show_progress(progress) as bar:
        study = simulate(problem, named | misled, horizon, runs, seed, threads, bar)
        if study.interrupted:
            raise KeyboardInterrupt
        for label in (MAIN, EVEN):
            bar.stage(f"P(best) of {label}", 1.0)
            followed_runs = SimulatedRuns(problem, named[label], inner, followed, seed, threads)
            identified[label] = followed_runs.identify(checkpoints, bar)
        at_end = {RIGHT: identified[MAIN].at_end()}
        bar.stage("P(best) with wrong priors", float(len(wrong)))
        for done, (what, other) in enumerate(wrong.items(), 1):
            followed_runs = SimulatedRuns(problem, misled[what], other, followed, seed, threads)
            at_end[what] = followed_runs.identify(checkpoints[-1:])
            bar.at(done)
    return Plan(
        prior=given,
        names=names,
        goal=goal,
        horizon=horizon,
        runs=runs,
        followed=followed,
        seed=seed,
        table=tables.policy_table(study, list(named), inner, goal),
        sure=tables.sure_table(identified),
        identified=tables.identified_table(identified),
        wrong=tables.wrong_table(study, at_end),
        arms=tables.arm_table(given, inner, names),
        curves=tables.curve_table(study, list(named)),
        bound=_bound(inner, horizon),
        notes=write_notes(inner, goal, len(checkpoints)),
    )


def _prior_of(prior: Any, arms: Any) -> tuple[NormalGamma, tuple[str, ...] | None]:
    """The prior written out for every arm, and the arms' names if they have any."""
    number, names = None, None
    if isinstance(arms, (int, float, np.integer)):
        number = integer("arms", arms, at_least=1)
    elif arms is not None:
        if isinstance(arms, str) or not isinstance(arms, Iterable):
            raise ValueError(f"arms must be their number or their names, got {abbreviate(arms)}")
        names = tuple(str(name) for name in arms)
        if len(set(names)) < len(names):
            raise ValueError(f"arms must have different names, got {abbreviate(list(names))}")
    if isinstance(prior, FittedPrior):
        made: Any = prior.prior if names is None else prior.for_arms(names)
        known: Any = prior.groups
    else:
        made = prior_from(prior, names)
        known = _names_in(prior)
    if not isinstance(made, NormalGamma):
        raise ValueError(f"prior must be a NormalGamma, got a {type(made).__name__}")
    if made.K is None and number is None:
        raise ValueError("arms must be given for a prior that all arms share, got none")
    made = made.for_arms(made.K if number is None else number)  # type: ignore[arg-type]
    reals("kappa of a prior to plan with", made.kappa, above=0)
    reals("alpha of a prior to plan with", made.alpha, at_least=SMALLEST_ALPHA)
    if names is None and known is not None and len(known) == made.mu.size:
        names = tuple(str(name) for name in known)
    return made, names


def _names_in(prior: Any) -> Any:
    """The names that a prior's JSON has for its entries."""
    if isinstance(prior, (str, os.PathLike)):
        prior = json.loads(Path(prior).read_text(encoding="utf-8"))
    return prior.get("arms") if isinstance(prior, dict) else None


def _bound(prior: NormalGamma, horizon: int) -> dict[str, float] | None:
    """Theorem 2, where it holds."""
    if prior.alpha.min() <= 1 or horizon < 2:
        return None
    return {
        "printed": bounds.theorem2(prior, horizon),
        "corrected": bounds.theorem2(prior, horizon, corrected=True),
    }
