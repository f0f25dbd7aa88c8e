"""A study cut into blocks: a few runs of every policy on the same instances.

A block is a pure function of its arguments. Blocks have a fixed size whatever the number of
threads or machines, and their results are merged in order, so results are equal to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.policies import BeliefPolicy, Policy
from varts.policies.fading import split_fading
from varts.policies.linear import LinearSampler
from varts.problems import Drifting, Instances, Problem
from varts.problems.drift import Path
from varts.simulation.engine import drifting
from varts.simulation.engine.compilation import Loop, average_runs, loop_of
from varts.simulation.engine.diagnosis import diagnose
from varts.simulation.engine.drawing import BLOCKS_PER_BATCH, draw_arms, draw_runs
from varts.simulation.engine.kernel import (
    Kernel,
    data_array,
    kernel_of,
    parameter_array,
    reward_kind,
    reward_of,
)
from varts.simulation.engine.looks import (
    GAP,
    HIGHEST,
    LEVEL,
    M2,
    MEAN,
    NO_LOOKS,
    PULLS,
    N,
    Notes,
    allocate_notes,
    memory_kept,
)
from varts.simulation.engine.loop import DONE, NO_REWARD, STOPPED, UNSOUND, allocate
from varts.simulation.engine.parts import no_garbage_collected
from varts.simulation.engine.rng import stream
from varts.simulation.engine.statement import check_problem
from varts.simulation.results import (
    RUNS_PER_BLOCK,
    BlockResults,
    PairwiseTree,
    PolicyResult,
    RegretCurve,
    RunRecord,
    is_highest_mean,
    merge_order,
    recommend_arms,
    score_arms,
    subtree_size,
)

MAX_ROUNDS_PER_CALL = 10**6  # short blocks are played together in one call, up to a batch of them
SHORT_CALL = 2**18  # rounds; a call that stays below takes several batches
MAX_BATCHES_PER_CALL = 8
MAX_NOTES_PER_CALL = 10**6  # numbers that are noted at checkpoints


class Prepared(NamedTuple):
    """What a policy is played with, the same in all blocks."""

    loop: Loop
    owed: NDArray[np.int64]  # the pulls it owes each arm
    parameters: Floats
    drifting: bool  # whether the loop is that of `drifting.py`
    fade: float  # what a reward multiplies the weights of older ones by
    least: Floats  # the weight below which an arm is pulled again


@dataclass(frozen=True)
class Work:
    """Everything a block needs to know; blocks differ only by their number.

    At `checkpoints` every run is looked at, and an arm recommended by "mean" or by "belief".
    """

    problem: Problem
    policies: Mapping[str, Policy]
    horizon: int
    runs: int
    seed: int
    rounds: NDArray[np.int64]
    naive: bool = False
    instance_seed: int | None = None  # that of the instances, if it is another
    checkpoints: tuple[int, ...] = ()  # of the recorded rounds, the horizon last
    recommend: str = "mean"
    played: int = 0  # blocks that need not be played again

    @property
    def blocks(self) -> int:
        """How many blocks there are; the last may be short."""
        return -(-self.runs // RUNS_PER_BLOCK)

    @property
    def whole_blocks(self) -> int:
        """How many of them are not short."""
        return self.runs // RUNS_PER_BLOCK

    @cached_property
    def prepared(self) -> dict[str, Prepared]:
        """The policies made ready, by label."""
        return {label: self._prepare(policy) for label, policy in self.policies.items()}

    def _prepare(self, policy: Policy) -> Prepared:
        problem, K, fade = self.problem, self.problem.K, split_fading(policy)[1]
        return Prepared(
            loop_of(policy, problem, self.naive),
            policy.pulls_needed(K),
            parameter_array(policy, K),
            fade < 1 or isinstance(problem, Drifting),
            fade,
            np.asarray(policy.least_weight(K), dtype=np.float64),
        )

    @cached_property
    def data(self) -> Floats:
        """What the problem's rewards look up."""
        return data_array(self.problem)

    @cached_property
    def blocks_per_call(self) -> int:
        """How many blocks to play in one call of a kernel: short ones together, to save calls."""
        rounds = RUNS_PER_BLOCK * max(self.horizon * len(self.policies), self.problem.K)
        few = min(BLOCKS_PER_BATCH, MAX_ROUNDS_PER_CALL // rounds)
        most = max(few, min(MAX_BATCHES_PER_CALL * BLOCKS_PER_BATCH, SHORT_CALL // rounds))
        if self.checkpoints:
            noted = RUNS_PER_BLOCK * len(self.checkpoints) * self.problem.K
            most = min(most, MAX_NOTES_PER_CALL // noted)
        return subtree_size(0, most)

    def compile(self, label: str) -> None:
        """Load the policy's kernel from the cache on disk, or compile it."""
        average_curves(np.zeros((1, 1)))
        assert self.prepared  # what is wrong with a policy by itself is said here
        try:
            with no_garbage_collected():
                self.play_nothing(label)
        except Exception as error:  # Numba's are of many kinds
            kernel = kernel_of(self.policies[label], self.problem, self.naive)
            has_data = self.problem.data is not None
            compiled = kernel or Kernel("index", reward=reward_of(self.problem), has_data=has_data)
            raise ValueError(diagnose(compiled, error)) from error

    def play_nothing(self, label: str) -> None:
        """No runs at all: the policy's kernel is loaded, or compiled."""
        if self.prepared[label].drifting:
            replace(self, horizon=0)._play(label, 0, np.zeros((3, 1, self.problem.K)))
        else:
            self._play(label, 0, np.zeros((3, 0, self.problem.K)))

    def check_problem(self) -> None:
        """Hold a user's own problem against what it states, the first time that it is met."""
        check_problem(self.problem)

    def play_blocks(
        self,
        first: int,
        count: int,
        stop: NDArray[np.uint8] | None = None,
        counter: NDArray[np.int64] | None = None,
    ) -> BlockResults | None:
        """All policies on neighbouring blocks, merged.

        Set `stop` to 1 to have it return None soon; `counter` counts the rounds as they are played.
        """
        tree = PairwiseTree(BlockResults.merge)
        for block in range(first, first + count, self.blocks_per_call):
            size = min(self.blocks_per_call, first + count - block)
            results = self._play_call(block, size, stop, counter)
            if results is None:
                return None
            tree.add(BlockResults(size, results), size)
        return tree.total()

    def _runs_of(self, first: int, count: int) -> tuple[int, int]:
        """The first run of these blocks, and how many there are."""
        first_run = first * RUNS_PER_BLOCK
        return first_run, min(count * RUNS_PER_BLOCK, self.runs - first_run)

    def _play_call(
        self,
        first: int,
        count: int,
        stop: NDArray[np.uint8] | None,
        counter: NDArray[np.int64] | None,
    ) -> dict[str, PolicyResult] | None:
        """Neighbouring blocks in one call per policy; None if it was stopped."""
        first_run, runs = self._runs_of(first, count)
        instances, results = self._draw(first, count), {}
        notes = memory_kept.notes(self.checkpoints, runs, self.problem.K)
        for label in self.policies:
            began = time.perf_counter()
            notes.written[0] = 0
            scratch = self._allocate(label, notes)
            played = self._play(label, first_run, instances, stop, counter, scratch)
            if played is None:
                return None
            final, best_share, curves = played
            record = self._record(label, first_run, notes, curves) if self.checkpoints else None
            curve = average_curves(curves)
            seconds = time.perf_counter() - began
            results[label] = PolicyResult(final, best_share, curve, record, seconds)
        return results

    def _record(self, label: str, first_run: int, notes: Notes, curves: Floats) -> RunRecord:
        """What was noted of every run, and which arms that recommends."""
        shape = len(curves), len(self.checkpoints)
        n, mean, m2, pulls, gap = (notes.arms[i] for i in (N, MEAN, M2, PULLS, GAP))
        arms = notes.acts[:, HIGHEST].astype(np.int64)
        known = is_highest_mean(self.policies[label], self.recommend)
        open_ = np.flatnonzero((arms == LEVEL) | (not known))
        if open_.size:
            rows = (x[open_] for x in (n, mean, m2))
            scores = score_arms(self.policies[label], *rows, by=self.recommend)
            turns = first_run + np.add(*np.divmod(open_, shape[1]))
            arms[open_] = recommend_arms(scores, pulls[open_], turns)
        return RunRecord(
            pulls.reshape(*shape, -1)[:, -1].astype(np.int64),
            arms.reshape(shape),
            gap[np.arange(arms.size), arms].reshape(shape),
            curves[:, np.searchsorted(self.rounds, self.checkpoints)],
        )

    def instances(self, runs: int) -> Instances:
        """What the first runs are played on; where arms drift, how they begin."""
        return draw_runs(self.problem, self.seed_of_instances, runs)

    def trace(self, label: str, run: int) -> tuple[Notes, Floats]:
        """What was noted of one run at the checkpoints, and its regret at the recorded rounds."""
        block, row = divmod(run, RUNS_PER_BLOCK)
        instance = self._draw(block, 1)[:, row : row + 1]
        notes = allocate_notes(self.checkpoints, 1, self.problem.K)
        played = self._play(label, run, instance, scratch=self._allocate(label, notes))
        assert played is not None  # nobody stops it
        return notes, played[2][0]

    def noted(self, label: str, block: int) -> Floats:
        """What was noted of the arms in the runs of a block (second axis) at the checkpoints
        (third): n, mean, m2, pulls and gap, each of every arm.

        A run does not depend on how long it goes on: the statistics in the middle of a long run are
        those at the end of a short one.
        """
        first_run, runs = self._runs_of(block, 1)
        notes = allocate_notes(self.checkpoints, runs, self.problem.K)
        instances = self._draw(block, 1)
        self._play(label, first_run, instances, scratch=self._allocate(label, notes))
        return np.reshape(notes.arms, (5, runs, len(self.checkpoints), self.problem.K))

    def _draw(self, first: int, count: int) -> Floats:
        return draw_arms(self.problem, self.seed_of_instances, *self._runs_of(first, count))

    @property
    def seed_of_instances(self) -> int:
        """The seed of the instances."""
        return self.seed if self.instance_seed is None else self.instance_seed

    def _play(
        self,
        label: str,
        first_run: int,
        instances: Floats,
        stop: NDArray[np.uint8] | None = None,
        counter: NDArray[np.int64] | None = None,
        scratch: Any = None,
    ) -> tuple[Floats, Floats, Floats] | None:
        """Per run the regret at the horizon, the share of a best arm, and the regret's curve."""
        prepared, runs = self.prepared[label], instances.shape[1]
        final, best_share = np.empty(runs), np.empty(runs)
        curves = np.empty((runs, len(self.rounds)))
        stop, counter = listeners(stop, counter)
        scratch = self._allocate(label) if scratch is None else scratch

        def call(rows: slice, arms: Any, *more: Any) -> int:
            return prepared.loop(
                np.uint64(stream(np.uint64(self.seed), 0)),
                first_run + rows.start,
                self.horizon,
                prepared.owed,
                prepared.parameters.copy(),
                scratch,
                reward_kind(self.problem),
                self.data,
                *arms,
                self.rounds,
                stop,
                counter,
                final[rows],
                best_share[rows],
                curves[rows],
                *more,
            )

        if not prepared.drifting:
            status = call(slice(0, runs), instances)
        for r in range(runs) if prepared.drifting else ():  # a path of its own for every run
            path = self._path(instances[:, r], first_run + r)
            by_round = isinstance(self.problem, Drifting)
            drift = by_round, path.starts, path.motion, path.numbers, prepared.fade, prepared.least
            status = call(slice(r, r + 1), (path.mean, path.a, path.b), *drift)
            if status != DONE:
                break
        self._refuse(label, status)
        return None if status == STOPPED else (final, best_share, curves)

    def _refuse(self, label: str, status: int) -> None:
        """Raise if rewards, or what a policy thinks of them, were not sound."""
        if status == NO_REWARD:
            raise ValueError(f"rewards must be finite numbers, got NaN or infinity under {label}")
        if status == UNSOUND:
            rule = "a number, got NaN"
            if isinstance(split_fading(self.policies[label])[0], (BeliefPolicy, LinearSampler)):
                rule = "a finite location, a scale >= 0 and degrees of freedom > 0, got others"
            raise ValueError(f"{label} must give every arm {rule}")

    def _allocate(self, label: str, notes: Notes = NO_LOOKS) -> Any:
        """Room for a run of the policy, and for what is noted of it."""
        allocating = drifting.allocate if self.prepared[label].drifting else allocate
        return allocating(self.problem.K, notes)

    def _path(self, start: Floats, run: int) -> Path:
        """How the arms of a run drift; those of a problem that does not stay as they start."""
        if isinstance(self.problem, Drifting):
            return self.problem.path(start, max(self.horizon, 1), self.seed_of_instances, run)
        return Path(np.ones(1, dtype=np.int64), *(row[None] for row in start))


def listeners(stop: Any, counter: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """What a loop listens to and counts with, where nobody else does."""
    return (
        np.zeros(1, dtype=np.uint8) if stop is None else stop,
        np.zeros(1, dtype=np.int64) if counter is None else counter,
    )


def average_curves(curves: Floats) -> RegretCurve:
    """The curve over runs, a row each, merged block by block."""
    runs, rounds = curves.shape
    blocks = -(-runs // RUNS_PER_BLOCK)
    n, (mean, m2) = np.zeros(blocks), np.zeros((2, blocks, rounds))
    average_runs()(curves, RUNS_PER_BLOCK, merge_order(blocks), n, mean, m2)
    return RegretCurve(runs, mean[0].copy(), m2[0].copy())
