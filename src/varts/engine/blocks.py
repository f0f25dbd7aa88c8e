"""The unit of work: a few runs of every policy on the same instances.

A block is a pure function of its arguments. Blocks have a fixed size whatever the number of
threads or machines, and their results are merged in order, so results are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from varts import streams
from varts.checks import Floats
from varts.engine.kernels import REWARD_FAMILIES, WORK_COLUMNS, kernel
from varts.engine.play import CUSTOM
from varts.engine.rng import stream
from varts.policies import Policy
from varts.problems import Instances, Problem
from varts.stats import ArmStats

RUNS = 8  # per block; part of every result, like the streams


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

    @property
    def blocks(self) -> int:
        return -(-self.runs // RUNS)

    def play_block(
        self, block: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> dict[str, Played] | None:
        """All policies on the block's instances; None if `stop` was raised meanwhile."""
        count = min(RUNS, self.runs - block * RUNS)
        drawn = self.problem.draw(streams.generator(self.seed, streams.INSTANCES, block), RUNS)
        result = {}
        for label, policy in self.policies.items():
            played = self._play(policy, block * RUNS, count, drawn, stop, ticks)
            if played is None:
                return None
            result[label] = played
        return result

    def compile(self, label: str) -> None:
        """Load the policy's kernel from the cache on disk, or compile it: play no runs at all."""
        drawn = self.problem.draw(streams.generator(0, streams.INSTANCES, 0), 1)
        idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        try:
            self._play(self.policies[label], 0, 0, drawn, *idle)
        except NumbaError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = next((x for x in lines if not x.startswith("Failed in")), str(error))
            raise ValueError(
                f"the formula of {label} must be plain arithmetic that Numba can compile "
                f"(or subclass Policy and define choose), got: {reason}"
            ) from error

    def _play(
        self,
        policy: Policy,
        first_run: int,
        count: int,
        drawn: Instances,
        stop: NDArray[np.uint8],
        ticks: NDArray[np.int64],
    ) -> Played | None:
        K = self.problem.K
        final, best_share = np.empty(count), np.empty(count)
        curve = np.empty((count, len(self.rounds)))
        play: Callable[..., bool] = kernel(policy, self.problem)
        done = play(
            np.uint64(stream(np.uint64(self.seed), 0)),
            first_run,
            self.horizon,
            policy.owed(K),
            policy.parameters(ArmStats.empty(K)),
            np.zeros((K, WORK_COLUMNS)),
            REWARD_FAMILIES.get(self.problem.name, CUSTOM),
            *(np.array(x[:count]) for x in (drawn.mean, drawn.a, drawn.b)),
            self.rounds,
            stop,
            ticks,
            final,
            best_share,
            curve,
        )
        if not done or count == 0:
            return None
        return Played(final, best_share, _over_runs(curve))


def _over_runs(curve: Floats) -> ArmStats:
    count, columns = curve.shape
    mean = curve.mean(axis=0)
    deviation: Any = curve - mean
    return ArmStats._trusted(np.full(columns, float(count)), mean, (deviation**2).sum(axis=0))
