"""How soon the best arm is found, and how sure of it one may be, in simulated experiments.

A run is a function of its number and does not depend on its length. What is known after n rounds is
therefore what a run of n rounds ends with, and no second simulator is needed: checkpoints are
spaced geometrically, so that all the short runs together cost as much as a few long ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._intervals import Interval, share_interval
from varts._progress import Progress
from varts._validation import Floats
from varts.anytime import Evidence
from varts.policies import Policy, VarTS
from varts.priors import NormalGamma
from varts.problems import Problem
from varts.stats import ArmStats

GAUSSIAN_KURTOSIS = 3.0  # the rewards of a plan; a live experiment finds about as much
CHECKPOINT_RATIO = 1.2  # of the rounds at one checkpoint to those at the one before


def space_checkpoints(K: int, horizon: int) -> NDArray[np.int64]:
    """Before the first round, then from K rounds on in steps of 20 %, and at the horizon.

    >>> space_checkpoints(3, 10)
    array([ 0,  3,  4,  5,  6,  7,  9, 10])
    """
    count = int(np.log(max(horizon / K, 1.0)) / np.log(CHECKPOINT_RATIO)) + 1
    grid = np.round(K * CHECKPOINT_RATIO ** np.arange(count))
    return np.unique(np.concatenate([[0], grid[1.1 * grid < horizon], [horizon]])).astype(np.int64)


@dataclass(frozen=True)
class Identification:
    """The arm with the highest P(best), the one to recommend, in each run (rows) at each checkpoint
    (columns)."""

    rounds: NDArray[np.int64]  #: of the checkpoints
    p_best: Floats  #: P(best) of that arm
    simple_regret: Floats  #: how far its true mean is below the best one's; 0 if it is the best

    def first_passage(self, level: float) -> NDArray[np.int64]:
        """The first checkpoint of each run at which P(best) reaches `level`; -1 if none does."""
        reached = self.p_best >= level
        return np.where(reached.any(axis=1), reached.argmax(axis=1), -1)

    def passage_times(self, level: float) -> Floats:
        """The rounds of each run until P(best) reaches `level`; infinite if it never does."""
        at = self.first_passage(level)
        return np.where(at >= 0, self.rounds[at], np.inf)

    def is_right(self, level: float) -> NDArray[np.bool_]:
        """Whether the arm that first reached `level` is the best; only runs in which one did."""
        at = self.first_passage(level)
        runs = np.flatnonzero(at >= 0)
        return np.asarray(self.simple_regret[runs, at[runs]] == 0)

    def share_identified(self, column: int) -> Interval:
        """The share of runs whose recommended arm is the best, and its interval."""
        hits = float((self.simple_regret[:, column] == 0).sum())
        return share_interval(hits, len(self.simple_regret))

    def at_end(self) -> Identification:
        """The last checkpoint alone."""
        return Identification(self.rounds[-1:], self.p_best[:, -1:], self.simple_regret[:, -1:])


@dataclass(frozen=True)
class SimulatedRuns:
    """Runs of one policy, judged by the posterior of `prior`, whatever the policy itself knows."""

    problem: Problem
    policy: Policy
    prior: NormalGamma
    count: int
    seed: int = 0
    threads: int | None = None

    def identify(
        self, rounds: NDArray[np.int64], bar: Progress | None = None, only: Any = None
    ) -> Identification:
        """Recommend an arm after each of these numbers of rounds; runs not in `only` are NaN."""
        judge = VarTS(self.prior)

        def recommend(truth: Floats, stats: ArmStats) -> tuple[float, float]:
            chances = judge.believed(stats).p_best()
            arm = int(chances.argmax())
            return chances[arm], truth.max() - truth[arm]

        return Identification(rounds, *self._ask(recommend, rounds, bar, only))

    def are_certain(
        self, error: float, rounds: int, bar: Progress | None = None, only: Any = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which runs are certain of an arm after so many rounds, and which of a wrong one."""

        def decide(truth: Floats, stats: ArmStats) -> tuple[float, float]:
            arm = Evidence(stats, GAUSSIAN_KURTOSIS).certain_best(error)
            return (0.0, np.nan) if arm is None else (1.0, truth.max() - truth[arm])

        certain, loss = (x[:, 0] for x in self._ask(decide, np.array([rounds]), bar, only))
        return np.asarray(certain == 1), np.asarray(loss > 0)

    def _ask(
        self,
        question: Callable[[Floats, ArmStats], tuple[float, float]],
        rounds: NDArray[np.int64],
        bar: Progress | None,
        only: Any,
    ) -> tuple[Floats, Floats]:
        """Two answers from the true means and the statistics of each run at each checkpoint."""
        from varts.simulation.engine.blocks import Work
        from varts.simulation.results import RUNS_PER_BLOCK

        keep = np.ones(self.count, dtype=bool) if only is None else only
        named = {"": self.policy}
        works = [
            Work(self.problem, named, int(n), self.count, self.seed, np.array([n]))
            for n in np.maximum(rounds, 1)
        ]
        first, second = np.full((2, self.count, len(rounds)), np.nan)

        def ask_block(block: int) -> int:
            for column, work in enumerate(works):
                for i, (truth, stats) in enumerate(work.endings("", block), block * RUNS_PER_BLOCK):
                    if keep[i]:
                        known = stats if rounds[column] > 0 else ArmStats.empty(stats.K)
                        first[i, column], second[i, column] = question(truth, known)
            return block

        needed = np.unique(np.flatnonzero(keep) // RUNS_PER_BLOCK)
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            try:
                for done, _ in enumerate(pool.map(ask_block, needed.tolist()), 1):
                    if bar is not None:
                        bar.at(done / len(needed))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return first, second
