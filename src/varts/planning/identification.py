"""How soon the best arm is found, and how sure of it you may be, in simulated experiments.

A run is played once and its statistics noted at all checkpoints. P(best) is then computed for many
runs and checkpoints in one call, which takes a fifth of the time of separate calls.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import Interval, mean_interval, quantile_interval, share_interval
from varts._progress import Progress
from varts._validation import Floats
from varts.beliefs import StudentT
from varts.planning.columns import TABLES
from varts.policies import Policy, VarTS
from varts.priors import NormalGamma
from varts.problems import Problem
from varts.stats import ArmStats

SURE_LEVELS = (0.90, 0.95, 0.99)  # of P(best) that are reported
CHECKPOINT_RATIO = 1.2  # of the rounds at one checkpoint to those at the one before
BLOCKS_AT_ONCE = 4  # of runs per call for P(best); fixed, as the order of sums depends on it


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
        from varts.simulation.engine.work import Work
        from varts.simulation.results import RUNS_PER_BLOCK

        looks, column = np.unique(np.maximum(rounds, 1), return_inverse=True)
        settings = int(looks[-1]), self.count, self.seed, looks
        checkpoints = tuple(looks.tolist())
        work = Work(self.problem, {"": self.policy}, *settings, checkpoints=checkpoints)
        p_best, loss = np.full((2, self.count, len(rounds)), np.nan)
        judge = VarTS(self.prior)
        told = judge.parameters(ArmStats.empty(self.problem.K)).T

        def recommend(blocks: list[int]) -> None:
            played = np.concatenate([work.noted("", block) for block in blocks], axis=1)
            runs = np.flatnonzero(np.isin(block_of, blocks))
            wanted = keep[runs]
            known = played[:, wanted][:, :, column]
            known[:3, :, rounds == 0] = 0.0  # before the first round nothing is known
            n, mean, m2, _, gap = known
            chances = StudentT(*judge.believe(n, mean, m2, *told)).p_best()
            arm = chances.argmax(axis=-1)[..., None]
            for answer, known in ((p_best, chances), (loss, gap)):
                answer[runs[wanted]] = np.take_along_axis(known, arm, axis=-1)[..., 0]

        keep = np.ones(self.count, dtype=bool) if only is None else only
        block_of = np.arange(self.count) // RUNS_PER_BLOCK
        needed = np.unique(block_of[keep]).tolist()
        starts = range(0, len(needed), BLOCKS_AT_ONCE)
        parts = [needed[start : start + BLOCKS_AT_ONCE] for start in starts]
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            try:
                for done, _ in enumerate(pool.map(recommend, parts), 1):
                    if bar is not None:
                        bar.at(done / len(parts))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return Identification(rounds, p_best, loss)


def sure_table(identifications: Mapping[str, Identification]) -> pl.DataFrame:
    """How many rounds each policy needs to be sure, and how often it is right then."""
    rows = []
    for label, one in identifications.items():
        for level in SURE_LEVELS:
            times, is_right = one.passage_times(level), one.is_right(level)
            n, hits = times.size, is_right.size
            quartiles = [round_or_none(quantile_interval(times, q).value) for q in (0.25, 0.75)]
            median = map(round_or_none, quantile_interval(times, 0.5))
            right: list[float | None] = [None] * 3
            if hits:
                right = list(share_interval(float(is_right.sum()), hits))
            reached = share_interval(hits, n)
            rows.append([label, level, *median, *quartiles, *reached, *right])
    return TABLES["sure"].frame(rows)


def identified_table(identifications: Mapping[str, Identification]) -> pl.DataFrame:
    """The recommended arm of each policy at every checkpoint."""
    rows = []
    for label, one in identifications.items():
        for column, n in enumerate(one.rounds):
            loss = mean_interval(one.simple_regret[:, column])
            p_best = one.p_best[:, column].mean()
            rows.append([label, n, p_best, *one.share_identified(column), *loss])
    return TABLES["identified"].frame(rows).with_columns(pl.col("loss_low").clip(0))


def round_or_none(x: float) -> int | None:
    """A number of rounds; None for infinity. A lower limit of -inf is round 0.

    >>> round_or_none(7.0), round_or_none(-math.inf), round_or_none(math.inf)
    (7, 0, None)
    """
    x = max(x, 0.0)
    return int(x) if math.isfinite(x) else None
