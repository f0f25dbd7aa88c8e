"""How many rounds it takes until a policy loses little enough, or is sure or certain of an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import (
    Interval,
    mean_interval,
    quantile_interval,
    share_interval,
    t_factor,
)
from varts._progress import Progress
from varts._validation import Floats
from varts.planning.columns import TABLES, count_decimals, write_amount
from varts.planning.comparators import EVEN, MAIN
from varts.planning.identification import (
    SimulatedRuns,
    round_or_none,
    space_checkpoints,
)
from varts.policies import T3C, EvenSplit, Policy, SequentialHalving, VarTS
from varts.policies.best_arm import batch_count
from varts.priors import NormalGamma
from varts.problems import GaussianBandit
from varts.simulation.simulate import simulate
from varts.stopping import StopAtError

ROUND_LIMIT = 100_000  # by default the search ends there
TOTAL_ROUNDS = 20_000_000  # of all runs together: the longer they are, the fewer
FEWEST_RUNS = 50
GAUSSIAN_KURTOSIS = 3.0  # the rewards of a plan; a live experiment finds about as much


@dataclass(frozen=True)
class RoundsNeeded:
    """How many rounds it takes; `print` it for a sentence.

    Args:
        criterion: "loss" (the average regret per round falls below `target`), "sure" (P(best) of
            some arm reaches `target` in a `share` of the runs) or "certain" (all arms but one are
            ruled out, at an error of `target` over all looks, in a `share` of the runs).
        policy: The label of the policy.
        target: The loss per round, the P(best), or the error.
        share: The share of the runs; None for "loss".
        rounds: The rounds needed; None if `simulated` rounds were not enough.
        low: The lower end of the 95 % interval of `rounds`.
        high: Its upper end; None if it is beyond the simulated rounds, or if there are too few runs
            to tell.
        simulated: How many rounds were simulated, in the longest run.
        reached: The value reached by then: the average regret per round, or the share of runs.
        reached_low: The lower end of the 95 % interval of `reached`.
        reached_high: Its upper end.
    """

    criterion: str
    policy: str
    target: float
    share: float | None
    rounds: int | None
    low: int | None
    high: int | None
    simulated: int
    reached: float
    reached_low: float
    reached_high: float

    def __str__(self) -> str:
        ends = (self.reached, self.reached_low, self.reached_high)
        if self.criterion == "loss":
            what = f"lose less than {self.target:g} a round on average"
            digits = count_decimals((self.reached_high - self.reached_low) / 2)
            here = "it loses {} [{}, {}] a round".format(*(write_amount(x, digits) for x in ends))
        else:
            percent, often = 100 * self.target, 100 * (self.share or 0)
            what = f"be {percent:g}% sure of an arm in {often:g}% of cases"
            if self.criterion == "certain":
                what = f"name the best arm with an error of {percent:g}% in {often:g}% of cases"
            here = "it was in {:.0%} [{:.0%}, {:.0%}] of cases".format(*ends)
        if self.rounds is None:
            after = f"more than {self.simulated:,} rounds, after which {here}"
            if self.criterion == "certain" and self.policy != EVEN:
                after += "; without a floor it may never be certain"
            return f"{self.policy}, to {what}: {after}"
        if self.high is not None:
            high = f"{self.high:,}"
        elif self.criterion != "loss" and self.reached == 1:  # every run was: more would be needed
            high = "no limit from so few cases"
        else:
            high = f"more than {self.simulated:,}"
        low = "-" if self.low is None else f"{self.low:,}"
        return f"{self.policy}, to {what}: {self.rounds:,} rounds [{low}, {high}]"


def find_rounds_to_loss(
    runs: SimulatedRuns, label: str, target: float, horizon: int, limit: int, bar: Progress
) -> RoundsNeeded:
    """Double the horizon until the average regret per round is below the target."""
    horizon = min(horizon, limit)
    policies = {label: runs.policy}
    while True:
        bar.prefix = f"{label} up to {horizon:,} rounds: "
        count = max(FEWEST_RUNS, min(runs.count, TOTAL_ROUNDS // horizon))
        numbers = horizon, count, runs.seed, runs.threads
        study = simulate(runs.problem, policies, *numbers, bar)
        regret, half = study.regret[label], t_factor(count) * study.se[label]
        n, low, high = (_last_crossing(study.rounds, regret + d * half, target) for d in (0, -1, 1))
        if high is not None or horizon == limit:
            break
        horizon = min(2 * horizon, limit)
    bar.prefix = ""
    reached = Interval(*(float(regret[-1] + d * half[-1]) / horizon for d in (0, -1, 1)))
    return RoundsNeeded("loss", label, target, None, n, low, high, horizon, *reached)


def find_rounds_to_sure(
    runs: SimulatedRuns,
    label: str,
    level: float,
    share: float,
    horizon: int,
    limit: int,
    bar: Progress,
) -> RoundsNeeded:
    """Go from checkpoint to checkpoint until P(best) has reached the level in enough runs.

    Only runs that were not there before are asked, until the quantile of this share is known. A run
    is played from its beginning, to all checkpoints before twice the rounds of the last time: all
    that is played is then little more than twice the longest.
    """
    K = runs.problem.K
    times = np.full(runs.count, np.inf)
    early, late = space_checkpoints(K, min(horizon, limit)), space_checkpoints(K, limit)
    checkpoints = np.concatenate([early, late[late > early[-1]]])
    doublings = np.floor(np.log2(np.maximum(checkpoints / K, 1.0)))
    simulated = 0
    for rounds in np.split(checkpoints, np.flatnonzero(np.diff(doublings)) + 1):
        bar.stage(f"P(best) of {label} up to {rounds[-1]:,} rounds", 1.0)
        there = runs.identify(rounds, bar, np.isinf(times)).p_best >= level
        for column, simulated in enumerate(rounds.tolist()):
            times[np.isinf(times) & there[:, column]] = simulated
            if np.isfinite(quantile_interval(times, share).high) or not np.isinf(times).any():
                return _rounds_of_share("sure", label, level, share, times, simulated)
    return _rounds_of_share("sure", label, level, share, times, simulated)


def find_rounds_to_certain(
    runs: SimulatedRuns, label: str, error: float, share: float, limit: int, bar: Progress
) -> RoundsNeeded:
    """Play until one arm is left that may be best, or up to the limit."""
    bar.prefix = f"certainty of {label}: "
    rule = StopAtError(error, GAUSSIAN_KURTOSIS)
    numbers = limit, runs.count, runs.seed, runs.threads
    study = simulate(runs.problem, {label: runs.policy}, *numbers, bar, stop=rule)
    bar.prefix = ""
    end = study.endings[label]
    times = np.where(end.stopped, end.rounds, np.inf)
    return _rounds_of_share("certain", label, error, share, times, int(end.rounds.max()))


def compare_certainty(
    prior: NormalGamma,
    error: float,
    limit: int,
    runs: int,
    seed: int,
    threads: int | None,
    bar: Progress,
) -> pl.DataFrame:
    """A row per policy: rounds until the best arm is certain, errors, and regret until then.

    Halving is never certain. Its budget is the median of T3C's rounds, and its error is measured.
    """
    problem, K = GaussianBandit(prior), int(prior.mu.size)
    policies: dict[str, Policy] = {EVEN: EvenSplit(), MAIN: VarTS(prior), T3C.label: T3C(prior)}
    rule = StopAtError(error, GAUSSIAN_KURTOSIS)
    study = simulate(problem, policies, limit, runs, seed, threads, bar, stop=rule)
    found = study.stopping().select(list(TABLES["certainty"].schema))
    median = found["median"][found["policy"].to_list().index(T3C.label)]
    budget = max(limit if median is None else int(median), K * batch_count(K))
    label, halving = SequentialHalving.label, SequentialHalving(budget)
    numbers = budget, runs, seed, threads
    played = simulate(problem, {label: halving}, *numbers, bar, checkpoints=[budget])
    mistakes = float((played.simple_regret[label][:, -1] > 0).sum())
    wrong, regret = share_interval(mistakes, runs), mean_interval(played.final[label])
    row = [label, None, budget, budget, *wrong, *regret]
    return TABLES["certainty"].frame([*found.rows(), row])


def _rounds_of_share(
    criterion: str, label: str, target: float, share: float, times: Floats, simulated: int
) -> RoundsNeeded:
    n, low, high = map(round_or_none, quantile_interval(times, share))
    reached = share_interval(float(np.isfinite(times).sum()), times.size)
    return RoundsNeeded(criterion, label, target, share, n, low, high, simulated, *reached)


def _last_crossing(rounds: NDArray[np.int64], regret: Floats, target: float) -> int | None:
    """The round from which on the regret per round is at most the target; None if it never is."""
    above = np.flatnonzero(regret > target * rounds)
    if above.size == 0:
        return int(rounds[0])
    return None if above[-1] == len(rounds) - 1 else int(rounds[above[-1] + 1])
