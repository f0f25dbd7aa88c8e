"""The unit of work: a few runs of every policy on the same instances.

A block is a pure function of its arguments. Blocks have a fixed size whatever the number of
threads or machines, and their results are merged in order, so results are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from varts import _seeding
from varts._validation import Floats
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine.compilation import kernel, over_runs, parameters, payers, reward_family
from varts.simulation.engine.loop import CUSTOM, NO_CHOICE, NO_REWARD, STOPPED, allocate
from varts.simulation.engine.rng import stream
from varts.simulation.reduction import Part, Tally
from varts.stats import ArmStats

# Part of every result, like the streams.
RUNS = 8  # per block
# Up to so many arms, BATCH blocks have their instances from one stream: opening one takes long.
FEW_ARMS = 32
BATCH = 8  # blocks, and the most that a kernel plays in one call


@dataclass(frozen=True)
class Played:
    """What a few runs of one policy leave behind."""

    final: Floats  # regret at the horizon, per run
    best_share: Floats  # share of rounds on a best arm, per run
    curve: ArmStats  # regret at each recorded round, over runs


@dataclass(frozen=True)
class Work:
    """Everything a block needs to know; blocks differ only by their number."""

    problem: Problem
    policies: Mapping[str, Policy]
    horizon: int
    runs: int
    seed: int
    rounds: NDArray[np.int64]
    naive: bool = False

    @property
    def blocks(self) -> int:
        return -(-self.runs // RUNS)

    @cached_property
    def prepared(self) -> dict[str, tuple[Callable[..., int], NDArray[np.int64], Floats]]:
        """Per policy: its loop, the pulls it owes each arm and its parameters."""
        K = self.problem.K
        return {
            label: (
                kernel(policy, self.problem, self.naive),
                policy.owed(K),
                parameters(policy, K),
            )
            for label, policy in self.policies.items()
        }

    @cached_property
    def at_once(self) -> int:
        """How many blocks to play in one call of a kernel: short ones together, to save calls."""
        size, each = 1, RUNS * max(self.horizon * len(self.policies), self.problem.K)
        while size < BATCH and 2 * size * each <= 10**6:
            size *= 2
        return size

    def play_block(
        self, block: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> dict[str, Played] | None:
        """All policies on the block's instances; None if `stop` was raised meanwhile."""
        return self._play_blocks(block, 1, stop, ticks)

    def play_part(
        self, first: int, count: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> Part | None:
        """Neighbouring blocks, added up; None if `stop` was raised meanwhile."""
        tally = Tally()
        for block in range(first, first + count, self.at_once):
            size = min(self.at_once, first + count - block)
            played = self._play_blocks(block, size, stop, ticks)
            if played is None:
                return None
            tally.add(Part(size, played))
        return tally.total()

    def _play_blocks(
        self, first: int, count: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> dict[str, Played] | None:
        """Neighbouring blocks, added up like a tally's."""
        runs = min(count * RUNS, self.runs - first * RUNS)
        instances = self._draw(first, count)[:, :runs]
        result = {}
        for label in self.policies:
            left = self._play(label, first * RUNS, instances, stop, ticks)
            if left is None:
                return None
            final, best_share, curve = left
            result[label] = Played(final, best_share, spread(curve))
        return result

    def compile(self, label: str) -> None:
        """Load the policy's kernel from the cache on disk, or compile it: play no runs at all."""
        what = "reward of the problem"
        try:
            if reward_family(self.problem) == CUSTOM:
                payers(self.problem.reward)[1](CUSTOM, np.uint64(0), 0, 0.0, 0.0)
            what = f"formula of {label}"
            spread(np.zeros((1, 1)))
            idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
            self._play(label, 0, np.zeros((3, 0, self.problem.K)), *idle)
        except (NumbaError, NotImplementedError) as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = next((x for x in lines if not x.startswith("Failed in")), str(error))
            raise ValueError(
                f"the {what} must be plain arithmetic that Numba can compile (a policy may "
                f"instead subclass Policy and define choose), got: {reason.strip()}"
            ) from error

    def endings(self, label: str, block: int) -> list[tuple[Floats, ArmStats]]:
        """The arms' true means and their statistics at the horizon, for each run of a block.

        A run does not depend on how long it goes on: the statistics in the middle of a long run are
        those at the end of a abbreviate one.
        """
        instances, result = self._draw(block, 1), []
        for r in range(min(RUNS, self.runs - block * RUNS)):
            idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
            scratch = allocate(self.problem.K)  # a run leaves its statistics there
            self._play(label, block * RUNS + r, instances[:, r : r + 1], *idle, scratch)
            result.append((instances[0, r], ArmStats._trusted(*scratch[:3])))
        return result

    def _draw(self, first: int, count: int) -> Floats:
        """Mean, a and b of the blocks' instances, a row per run."""
        batch = BATCH * RUNS if self.problem.K <= FEW_ARMS else RUNS
        first, last = first * RUNS, (first + count) * RUNS
        batches = range(first // batch, -(-last // batch))
        drawn = np.concatenate([self._draw_batch(each, batch) for each in batches], axis=1)
        return drawn[:, first - batches.start * batch :][:, : last - first]

    def _draw_batch(self, number: int, size: int) -> Floats:
        """Always drawn whole, so that a run does not depend on how many there are."""
        drawn = self.problem.draw(_seeding.generator(self.seed, _seeding.INSTANCES, number), size)
        instances = np.empty((3, size, self.problem.K))
        for name, rows in zip(("mean", "a", "b"), instances, strict=True):
            got = np.asarray(getattr(drawn, name))
            if got.shape != rows.shape:
                raise ValueError(
                    f"{name} of drawn instances must have the shape {rows.shape}, got {got.shape}"
                )
            rows[:] = got
        if not np.isfinite(instances[0]).all():
            raise ValueError("mean of drawn instances must be finite, got something else")
        return instances

    def _play(
        self,
        label: str,
        first_run: int,
        instances: Floats,
        stop: NDArray[np.uint8],
        ticks: NDArray[np.int64],
        scratch: Any = None,
    ) -> tuple[Floats, Floats, Floats] | None:
        """Per run the regret at the horizon, the share of a best arm, and the regret's curve."""
        play, owed, extra = self.prepared[label]
        runs = instances.shape[1]
        final, best_share = np.empty(runs), np.empty(runs)
        curve = np.empty((runs, len(self.rounds)))
        status = play(
            np.uint64(stream(np.uint64(self.seed), 0)),
            first_run,
            self.horizon,
            owed,
            extra.copy(),
            allocate(self.problem.K) if scratch is None else scratch,
            reward_family(self.problem),
            *instances,
            self.rounds,
            stop,
            ticks,
            final,
            best_share,
            curve,
        )
        if status == NO_REWARD:
            raise ValueError(f"rewards must be finite numbers, got NaN or infinity under {label}")
        if status == NO_CHOICE:
            raise ValueError(f"{label} must give every arm a number, got NaN")
        return None if status == STOPPED else (final, best_share, curve)


def spread(curve: Floats) -> ArmStats:
    """Each column's mean and sum of squared deviations over the rows, block by block."""
    runs, columns = curve.shape
    n = np.zeros(-(-runs // RUNS))
    mean, m2 = np.zeros((2, len(n), columns))
    over_runs()(curve, RUNS, n, mean, m2)
    return ArmStats._trusted(np.full(columns, n[0]), mean[0].copy(), m2[0].copy())
