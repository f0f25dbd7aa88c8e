"""How sure an experimenter may be, and when: P(best) in the course of simulated experiments.

A run is a function of its number and does not depend on how long it goes on. What is known after n
rounds is therefore what a run of n rounds ends with, and no second simulator is needed: the looks
are spaced geometrically, so that all the short runs together cost a few long ones.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._intervals import Interval, share_interval
from varts._progress import Progress
from varts._validation import Floats
from varts.policies import Policy, VarTS
from varts.priors import NormalGamma
from varts.problems import GaussianBandit
from varts.stats import ArmStats

STEP = 1.2  # from one look to the next


def looks(K: int, horizon: int) -> NDArray[np.int64]:
    """Before the first round, then from K rounds on in steps of 20 %, and at the horizon.

    >>> looks(3, 10)
    array([ 0,  3,  4,  5,  6,  7,  9, 10])
    """
    count = int(np.log(max(horizon / K, 1.0)) / np.log(STEP)) + 1
    grid = np.round(K * STEP ** np.arange(count))
    return np.unique(np.concatenate([[0], grid[1.1 * grid < horizon], [horizon]])).astype(np.int64)


@dataclass(frozen=True)
class Watched:
    """What was seen at each look (columns) in each experiment (rows)."""

    rounds: NDArray[np.int64]
    p: Floats  #: P(best) of the arm that has the most: the arm one would recommend
    gap: Floats  #: how far that arm's true mean is below the best one's; 0 if it is the best

    def first(self, level: float) -> NDArray[np.int64]:
        """The look at which P(best) reaches `level`, per experiment; -1 if none."""
        passed = self.p >= level
        return np.where(passed.any(axis=1), passed.argmax(axis=1), -1)

    def times(self, level: float) -> Floats:
        """The rounds until then; infinite if none of the looks saw it."""
        at = self.first(level)
        return np.where(at >= 0, self.rounds[at], np.inf)

    def found(self, column: int) -> Interval:
        """The share of experiments whose recommended arm is the best, and its interval."""
        hits = float((self.gap[:, column] == 0).sum())
        return share_interval(hits, len(self.gap))

    def last(self) -> Watched:
        """The last look alone."""
        return Watched(self.rounds[-1:], self.p[:, -1:], self.gap[:, -1:])

    def right(self, level: float) -> NDArray[np.bool_]:
        """Whether the arm that reached `level` is the best; only experiments where one did."""
        at = self.first(level)
        rows = np.flatnonzero(at >= 0)
        return np.asarray(self.gap[rows, at[rows]] == 0)


@dataclass(frozen=True)
class Watcher:
    """Experiments of one policy, judged by the posterior of `prior`, whatever the policy knows."""

    problem: GaussianBandit
    policy: Policy
    prior: NormalGamma
    runs: int
    seed: int = 0
    threads: int | None = None

    def watch(
        self, rounds: NDArray[np.int64], bar: Progress | None = None, only: Any = None
    ) -> Watched:
        """Look at the experiments after these numbers of rounds; the rows not in `only` are NaN."""
        from varts.simulation.engine.blocks import RUNS_PER_BLOCK, Work

        keep = np.ones(self.runs, dtype=bool) if only is None else only
        named = {"": self.policy}
        works = [
            Work(self.problem, named, int(n), self.runs, self.seed, np.array([n]))
            for n in np.maximum(rounds, 1)
        ]
        judge = VarTS(self.prior)
        p, gap = np.full((2, self.runs, len(rounds)), np.nan)

        def look_at(block: int) -> int:
            for column, work in enumerate(works):
                for i, (truth, stats) in enumerate(work.endings("", block), block * RUNS_PER_BLOCK):
                    if keep[i]:
                        seen = stats if rounds[column] > 0 else ArmStats.empty(stats.K)
                        chances = judge.believed(seen).p_best()
                        arm = int(chances.argmax())
                        p[i, column], gap[i, column] = chances[arm], truth.max() - truth[arm]
            return block

        needed = np.unique(np.flatnonzero(keep) // RUNS_PER_BLOCK)
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            try:
                for done, _ in enumerate(pool.map(look_at, needed.tolist()), 1):
                    if bar is not None:
                        bar.at(done / len(needed))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return Watched(rounds, p, gap)
