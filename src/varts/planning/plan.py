"""`plan`: what to expect of an experiment before it starts, simulated from its prior."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from varts import bounds
from varts._progress import Progress, show_progress
from varts._validation import choice, integer, is_real, real, reals
from varts.anytime import ERROR
from varts.checks.finding import OK
from varts.checks.rewards import check_tails, describe_trend
from varts.fitting import FittedPrior
from varts.planning import forgetting, recorded
from varts.planning.columns import TABLES
from varts.planning.comparators import (
    EVEN,
    MAIN,
    RIGHT,
    arm_table,
    curve_table,
    make_policies,
    make_wrong_priors,
    policy_table,
    wrong_table,
)
from varts.planning.identification import (
    CHECKPOINT_RATIO,
    Identification,
    SimulatedRuns,
    identified_table,
    space_checkpoints,
    sure_table,
)
from varts.planning.result import Plan
from varts.planning.rounds_until import ROUND_LIMIT, compare_certainty
from varts.policies import Policy, VarTS
from varts.priors import LinearNormalGamma, NormalGamma, PriorLike, match_arms, prior_from
from varts.problems import EmpiricalBandit, GaussianBandit
from varts.problems.recorded import RewardTable
from varts.simulation.simulate import settings, simulate

FOLLOWED_RUNS = 240  # whose P(best) is followed
FEWEST_FOLLOWED_RUNS = 50
FOLLOWED_ARMS = 24_000  # of all followed runs together: with more than 100 arms, runs are fewer
SMALLEST_ALPHA = 0.05  # below it, drawn rewards overflow


def plan(
    prior: PriorLike | None = None,
    arms: int | Iterable[str] | None = None,
    horizon: int = 2000,
    *,
    rewards: EmpiricalBandit | RewardTable | None = None,
    groups: Mapping[str, str] | None = None,
    goal: str = "max",
    drift: str | Mapping[str, float] | None = None,
    aim: str = "regret",
    error: float | None = None,
    limit: int = ROUND_LIMIT,
    runs: int = 1000,
    followed: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """Simulate an experiment whose arms are drawn from a prior, to see what to expect of it.

    Args:
        prior: A NormalGamma, its fields, the JSON file of one, or what `fit_prior` returned; by
            default what `fit_prior` makes of the recorded rewards.
        arms: The number of arms or their names; not needed if the prior has one entry per arm, or
            with recorded rewards.
        horizon: The rounds of an experiment.
        rewards: Recorded rewards to plan on as well, and to say where the prior's answer differs:
            an `EmpiricalBandit`, or what it is made from. The arms are those of the rewards.
        groups: The group of each arm, for a prior that was fitted by group; without `arms`, the
            arms are those that it names.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        drift: Also compare half-lives for arms that change: "steps=2000" if their means are drawn
            again about every 2,000 rounds, "cycle=1000" if they rise and fall with that period,
            "walk=0.02" if they wander by 0.02 a round; or {"steps": 2000}.
        aim: "best" also compares how soon an even split, VarTS, T3C and Sequential Halving find the
            best arm, how often they are wrong, and what they cost until then.
        error: With aim="best", the chance of ever naming an arm that is not the best; 0.05 by
            default.
        limit: With aim="best", the most rounds to simulate.
        runs: How many experiments to simulate; every policy plays the same ones.
        followed: In how many of them to follow P(best) and certainty, to see how sure you can be,
            and when; by default 240, fewer with more than 100 arms.
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

    Rewards that are not normal can cost more or less than the prior expects:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sales = {name: 20 * rng.exponential(size=400) * (rng.random(400) < 0.04) for name in "abc"}
    >>> expected = plan(rewards=sales, horizon=200, runs=64, followed=16)
    >>> expected.recorded_arms["zeros"].round(2).to_list()
    [0.96, 0.94, 0.96]
    """
    choice("goal", goal, ("max", "min"))
    error = _error_of(aim, error)
    limit = integer("limit", limit, at_least=1)
    asked = None if drift is None else forgetting.read_drift(drift)
    log = None if rewards is None else recorded.find_rewards(rewards, arms)
    fitted = prior is None
    if prior is None:
        if log is None:
            raise TypeError("prior must be given where there are no recorded rewards, got None")
        prior = log.own_prior()
    if log is not None:
        recorded.check_order(prior_from(prior, NormalGamma), log, arms)
        arms = log.names or log.K
    given, unmatched = _prior_of(prior, arms, groups)
    inner = given if goal == "max" else given.mirrored()
    integer("runs", runs, at_least=2)  # one run has no interval
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    K = int(given.mu.size)
    checkpoints = space_checkpoints(K, horizon)
    if followed is None:
        followed = max(FEWEST_FOLLOWED_RUNS, min(FOLLOWED_RUNS, FOLLOWED_ARMS // K))
    followed = min(runs, integer("followed", followed, at_least=1))

    if error is not None and K < 2:
        raise ValueError(f"arms must be at least 2 to find the best, got {K}")
    problem, certainty = GaussianBandit(inner), TABLES["certainty"].frame()
    half_lives = TABLES["half_lives"].frame()
    if asked is not None:
        forgetting.drifting_problem(inner, *asked)  # refuse it before anything is simulated
    named, wrong = make_policies(inner, goal), make_wrong_priors(inner, goal)
    misled: dict[str, Policy] = {what: VarTS(other) for what, other in wrong.items()}
    identified: dict[str, Identification] = {}
    with show_progress(progress) as bar:
        study = simulate(problem, named | misled, horizon, runs, seed, threads, bar)
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
        table = policy_table(study, list(named), inner, goal)
        sure = sure_table(identified)
        on_rewards: dict[str, Any] = {}
        if log is not None:
            log = log if goal == "max" else log.mirrored()
            numbers = (horizon, runs, seed, threads)
            played = recorded.play(log, named, inner, numbers, (checkpoints, followed), bar)
            on_rewards = recorded.make_tables(log, played, table, sure, goal)
            unmatched += recorded.write_notes(log, fitted)
        if asked is not None:
            half_lives = forgetting.compare_half_lives(
                inner, *asked, horizon, runs, seed, threads, bar
            )
        if error is not None:
            numbers = limit, followed, seed, threads
            certainty = compare_certainty(inner, error, *numbers, bar)
    return Plan(
        prior=given,
        names=given.names,
        goal=goal,
        horizon=horizon,
        runs=runs,
        followed=followed,
        seed=seed,
        table=table,
        sure=sure,
        identified=identified_table(identified),
        wrong=wrong_table(study, at_end),
        arms=arm_table(given, inner, given.names),
        curves=curve_table(study, list(named)),
        bound=_bound(inner, horizon),
        notes=unmatched + fit_notes(prior) + write_notes(inner, goal, len(checkpoints)),
        drift=None if asked is None else f"{asked[0]}={asked[1]:g}",
        half_lives=half_lives,
        error=error,
        limit=None if error is None else limit,
        certainty=certainty,
        **on_rewards,
    )


def _error_of(aim: str, error: float | None) -> float | None:
    """The error if the aim is the best arm, else None."""
    if choice("aim", aim, ("regret", "best")) == "regret":
        if error is not None:
            raise ValueError(f'error must be left out unless aim is "best", got {error}')
        return None
    return ERROR if error is None else real("error", error, above=0, below=1)


def _prior_of(
    prior: PriorLike, arms: int | Iterable[str] | None, groups: Mapping[str, str] | None
) -> tuple[NormalGamma, tuple[str, ...]]:
    """The prior written out for every arm, and a note if some arms were not found in it."""
    found = prior_from(prior)
    if isinstance(found, LinearNormalGamma):
        raise ValueError(
            "prior must have no features, got a LinearNormalGamma; plan with contexts instead: "
            "varts.plan_context, or varts plan-context on the command line"
        )
    made, note = match_arms(prior_from(found, NormalGamma), arms, groups)
    reals("kappa of a prior to plan with", made.kappa, above=0)
    reals("alpha of a prior to plan with", made.alpha, at_least=SMALLEST_ALPHA)
    return made, () if note is None else (note,)


def _bound(prior: NormalGamma, horizon: int) -> dict[str, float] | None:
    """Theorem 2, where it holds."""
    if prior.alpha.min() <= 1 or horizon < 2:
        return None
    return {
        "printed": bounds.theorem2(prior, horizon),
        "corrected": bounds.theorem2(prior, horizon, corrected=True),
    }


# ---------------------------------------------------------------------------------------- notes


def fit_notes(given: PriorLike) -> tuple[str, ...]:
    """What `fit` had to say of a prior that matters to a plan; nothing if it was not fitted.

    A plan draws Gaussian rewards whose variances have nothing to do with the means, and plays with
    the prior that it is given.
    """
    body = fit_of(given)
    trend: Any = body.get("trend")
    trial: Any = body.get("held_out")
    notes = []
    if is_real(trend) and abs(trend) <= 1:
        notes.append(f"in the history {describe_trend(float(trend))}")
    if isinstance(trial, Mapping) and trial.get("verdict") == "leave" and is_real(trial.get("cut")):
        rounds = trial.get("rounds")
        over = f" over {rounds:,} rounds" if isinstance(rounds, int) else ""
        notes.append(
            f"held out, this prior raised regret by {-float(trial['cut']):.0%}{over}: what is "
            "gained here will not be gained there"
        )
    return tuple(notes)


def fit_of(given: PriorLike) -> Mapping[str, Any]:
    """The "fit" section in the JSON of a fitted prior; empty if it has none."""
    body: Any = given
    if isinstance(given, FittedPrior):
        body = json.loads(given.to_json())
    elif isinstance(given, (str, os.PathLike)):
        body = json.loads(Path(given).read_text(encoding="utf-8"))
    found = body.get("fit") if isinstance(body, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def write_notes(prior: NormalGamma, goal: str, checkpoints: int) -> tuple[str, ...]:
    """One sentence for each caveat that applies to this prior and goal."""
    notes = []
    if prior.tails is not None:
        kurtosis, _ = check_tails(prior.tails)
        if kurtosis.number is not None and kurtosis.verdict != OK:
            notes.append(f"the plan draws Gaussian rewards, the history had {kurtosis.sentence}")
    if prior.alpha.min() <= 0.5:
        notes.append(
            "alpha is at most 1/2: the expected regret and reward are infinite, and the means here "
            "are those of these runs only; read the medians"
        )
    elif prior.alpha.min() <= 1:
        notes.append(
            "alpha is at most 1: the regret's variance is infinite and the intervals of means "
            "are too narrow; read the medians"
        )
    if goal == "min":
        notes.append("Bernoulli-TS is left out: it needs rewards in [0, 1], and these are negated")
    notes.append(
        f"P(best) was computed at {checkpoints} checkpoints, {CHECKPOINT_RATIO - 1:.0%} apart; a "
        "level counts as reached at the first checkpoint that shows it"
    )
    return tuple(notes)
