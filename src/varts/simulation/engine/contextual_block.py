"""A few runs with context: visits are made once, piece by piece, and every policy plays them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.policies.linear import LinearPolicy
from varts.simulation.engine.contextual import Progress, begin_run
from varts.simulation.engine.kernel import family_of, reward_kind
from varts.simulation.engine.linear import LinearMemory
from varts.simulation.engine.loop import DONE
from varts.simulation.engine.memory import allocate_memory, reset_memory
from varts.simulation.engine.rng import stream
from varts.visits import ContextualProblem, Visits

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Work

Played = tuple[Floats, Floats, Floats]  # per run the regret, the share of a best arm, the curve


class Game:
    """One policy in one run."""

    def __init__(self, work: Work, label: str, run: int) -> None:
        prepared, policy, problem = work.prepared[label], work.policies[label], work.problem
        assert isinstance(problem, ContextualProblem)
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


def play_runs(
    work: Work,
    first_run: int,
    runs: int,
    stop: NDArray[np.uint8],
    counter: NDArray[np.int64],
    refuse: Callable[[str, int], None],
) -> dict[str, Played] | None:
    """All policies on neighbouring runs; None if it was stopped.

    `refuse(label, status)` raises if a policy or its rewards were not sound.
    """
    problem = work.problem
    assert isinstance(problem, ContextualProblem)
    shape = runs, len(work.rounds)
    results = {label: (np.empty(runs), np.empty(runs), np.empty(shape)) for label in work.policies}
    for r in range(runs):
        games = {label: Game(work, label, first_run + r) for label in work.policies}
        left = work.horizon
        for visits in problem.visits(work.seed, first_run + r):
            for label, game in games.items():
                final, best_share, curves = results[label]
                rows = final[r : r + 1], best_share[r : r + 1], curves[r]
                status = game.play(visits, rows, stop, counter)
                if status != DONE:
                    refuse(label, status)
                    return None
            left -= len(visits.x)
            if left <= 0:
                break
        else:
            got = f"{work.horizon - left} of {work.horizon} rounds"
            raise ValueError(f"visits of {type(problem).__name__} must be endless, got {got}")
    return results


def compile_loop(work: Work, label: str) -> None:
    """Load a policy's loop from the cache on disk, or compile it: play no round."""
    problem = work.problem
    assert isinstance(problem, ContextualProblem)
    nobody = Visits(np.zeros((0, problem.d)), *np.zeros((2, 0, problem.K)))
    results = np.empty(1), np.empty(1), np.empty(len(work.rounds))
    none = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    Game(work, label, 0).play(nobody, results, *none)
