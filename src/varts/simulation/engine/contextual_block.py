"""A few runs with context: visits are made once, piece by piece, and every policy plays them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts.policies.linear import LinearPolicy
from varts.problems import ContextualProblem, Visits
from varts.simulation.engine.blocks import Work, average_curves, listeners
from varts.simulation.engine.contextual import Progress, begin_run
from varts.simulation.engine.kernel import family_of, reward_kind
from varts.simulation.engine.linear import LinearMemory, allocate_linear
from varts.simulation.engine.loop import DONE
from varts.simulation.engine.memory import allocate_memory, reset_memory
from varts.simulation.engine.rng import stream
from varts.simulation.results import PolicyResult


class Game:
    """One policy in one run."""

    def __init__(self, work: ContextualWork, label: str, run: int) -> None:
        prepared, policy, problem = work.prepared[label], work.policies[label], work.visited
        K, d = problem.K, problem.d
        self._seed = np.uint64(stream(np.uint64(work.seed), 0))
        self._run, self._parameters = run, prepared.parameters.copy()
        self._work, self._kind = work, reward_kind(problem)
        self._play: Callable[..., int] = prepared.loop
        unit, still_owed, family = np.zeros(d + 1), np.zeros(K, dtype=np.int64), family_of(policy)
        self._memory: Any = unit
        if family is None:
            self._play = prepared.loop(self._seed, run, K, d)  # type: ignore[assignment]
        elif isinstance(policy, LinearPolicy):
            first = work.linear_memories[label]
            self._memory = LinearMemory(*(array.copy() for array in first))
            unit = self._memory.unit
        else:
            self._memory = allocate_memory(K)
            reset_memory.py_func(self._memory)
            still_owed = self._memory[6]
        self.progress: Progress = begin_run(prepared.owed, still_owed, unit)

    def play(self, visits: Visits, results: Any, stop: Any, counter: Any) -> int:
        """Play a piece of the run's visits; how it ended."""
        return self._play(
            self._seed,
            self._run,
            self._work.horizon,
            self._parameters,
            self.progress,
            self._memory,
            self._kind,
            self._work.data,
            *visits,
            self._work.rounds,
            stop,
            counter,
            *results,
        )


@dataclass(frozen=True)
class ContextualWork(Work):
    """Work on a problem whose rewards depend on features."""

    @property
    def visited(self) -> ContextualProblem:
        """The problem."""
        assert isinstance(self.problem, ContextualProblem)
        return self.problem

    @cached_property
    def linear_memories(self) -> dict[str, LinearMemory]:
        """What every run of a policy that looks at features begins with, by label."""
        K, d = self.problem.K, self.visited.d
        return {
            label: allocate_linear(policy, K, d)
            for label, policy in self.policies.items()
            if isinstance(policy, LinearPolicy)
        }

    def check_problem(self) -> None:
        """Make the first visits of a problem, to see whether they are sound."""
        self.problem.check()

    def play_nothing(self, label: str) -> None:
        """No runs at all: the policy's kernel is loaded, or compiled."""
        nobody = Visits(np.zeros((0, self.visited.d)), *np.zeros((2, 0, self.problem.K)))
        results = np.empty(1), np.empty(1), np.empty(len(self.rounds))
        Game(self, label, 0).play(nobody, results, *listeners(None, None))

    def _play_call(
        self,
        first: int,
        count: int,
        stop: NDArray[np.uint8] | None,
        counter: NDArray[np.int64] | None,
    ) -> dict[str, PolicyResult] | None:
        first_run, runs = self._runs_of(first, count)
        shape, heard = (runs, len(self.rounds)), listeners(stop, counter)
        made = {label: (np.empty(runs), np.empty(runs), np.empty(shape)) for label in self.policies}
        seconds = dict.fromkeys(self.policies, 0.0)
        for r in range(runs):
            games = {label: Game(self, label, first_run + r) for label in self.policies}
            for visits in self._visits(first_run + r):
                for label, game in games.items():
                    began = time.perf_counter()
                    final, best_share, curves = made[label]
                    rows = final[r : r + 1], best_share[r : r + 1], curves[r]
                    status = game.play(visits, rows, *heard)
                    self._refuse(label, status)
                    if status != DONE:
                        return None
                    seconds[label] += time.perf_counter() - began
        return {
            label: PolicyResult(final, best_share, average_curves(curves), None, seconds[label])
            for label, (final, best_share, curves) in made.items()
        }

    def _visits(self, run: int) -> Iterator[Visits]:
        """The visits of a run up to the horizon, piece by piece: made once, for all policies."""
        left = self.horizon
        for visits in self.visited.visits(self.seed_of_instances, run):
            yield visits
            left -= len(visits.x)
            if left <= 0:
                return
        kind, got = type(self.problem).__name__, f"{self.horizon - left} of {self.horizon} rounds"
        raise ValueError(f"visits of {kind} must be endless, got {got}")
