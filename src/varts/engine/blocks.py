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

from varts import streams
from varts.checks import Floats
from varts.engine.kernels import kernel, parameters, payer, reward_family
from varts.engine.play import CUSTOM, NO_CHOICE, NO_REWARD, STOPPED, allocate, over_runs
from varts.engine.rng import stream
from varts.policies import Policy
from varts.problems import Instances, Problem
from varts.stats import ArmStats
from varts.tally import Part, Tally

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
    naive: bool = False

    @property
    def blocks(self) -> int:
        return -(-self.runs // RUNS)

    @property
    def rounds_a_block(self) -> int:
        return RUNS * self.horizon * len(self.policies)

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

    def play_block(
        self, block: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> dict[str, Played] | None:
        """All policies on the block's instances; None if `stop` was raised meanwhile."""
        count = min(RUNS, self.runs - block * RUNS)
        drawn = self._draw(block)
        result = {}
        for label in self.policies:
            played = self._play(label, block * RUNS, count, drawn, stop, ticks)
            if played is None:
                return None
            result[label] = played
        return result

    def play_part(
        self, first: int, count: int, stop: NDArray[np.uint8], ticks: NDArray[np.int64]
    ) -> Part | None:
        """Neighbouring blocks, added up; None if `stop` was raised meanwhile."""
        tally = Tally()
        for block in range(first, first + count):
            played = self.play_block(block, stop, ticks)
            if played is None:
                return None
            tally.add(Part(1, played))
        return tally.total()

    def compile(self, label: str) -> None:
        """Load the policy's kernel from the cache on disk, or compile it: play no runs at all."""
        what = "reward of the problem"
        try:
            if reward_family(self.problem) == CUSTOM:
                payer(self.problem.reward)(CUSTOM, np.uint64(0), 0, 0.0, 0.0)
            what = f"formula of {label}"
            over_runs(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
            nobody = np.zeros((0, self.problem.K))
            idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
            self._play(label, 0, 0, Instances(nobody, nobody, nobody, nobody), *idle)
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
        those at the end of a short one.
        """
        drawn, result = self._draw(block), []
        for r in range(min(RUNS, self.runs - block * RUNS)):
            one = Instances(*(x[r : r + 1] for x in (drawn.mean, drawn.variance, drawn.a, drawn.b)))
            idle = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
            scratch = allocate(self.problem.K)  # a run leaves its statistics there
            self._play(label, block * RUNS + r, 1, one, *idle, scratch)
            result.append((drawn.mean[r], ArmStats._trusted(*scratch[:3])))
        return result

    def _draw(self, block: int) -> Instances:
        """The block's instances: always all of them, so that runs do not depend on how many."""
        drawn = self.problem.draw(streams.generator(self.seed, streams.INSTANCES, block), RUNS)
        expected = (RUNS, self.problem.K)
        for name in ("mean", "a", "b"):
            got = np.asarray(getattr(drawn, name))
            if got.shape != expected:
                raise ValueError(
                    f"{name} of drawn instances must have the shape {expected}, got {got.shape}"
                )
        if not np.isfinite(drawn.mean).all():
            raise ValueError("mean of drawn instances must be finite, got something else")
        return drawn

    def _play(
        self,
        label: str,
        first_run: int,
        count: int,
        drawn: Instances,
        stop: NDArray[np.uint8],
        ticks: NDArray[np.int64],
        scratch: Any = None,
    ) -> Played | None:
        play, owed, extra = self.prepared[label]
        final, best_share = np.empty(count), np.empty(count)
        curve = np.empty((count, len(self.rounds)))
        status = play(
            np.uint64(stream(np.uint64(self.seed), 0)),
            first_run,
            self.horizon,
            owed,
            extra.copy(),
            allocate(self.problem.K) if scratch is None else scratch,
            reward_family(self.problem),
            *(np.array(x[:count], dtype=np.float64) for x in (drawn.mean, drawn.a, drawn.b)),
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
        if status == STOPPED or count == 0:
            return None
        mean, m2 = np.zeros(len(self.rounds)), np.zeros(len(self.rounds))
        over_runs(curve, mean, m2)
        total = np.full(len(mean), float(count))
        return Played(final, best_share, ArmStats._trusted(total, mean, m2))
