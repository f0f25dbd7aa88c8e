"""The instances of a study: drawn in batches of runs, each from a stream of its own."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from varts import _seeding
from varts._validation import Floats
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Drifting,
    EmpiricalBandit,
    Fixed,
    GaussianBandit,
    Instances,
    Problem,
    RevenueBandit,
)
from varts.problems.revenue import REVENUES
from varts.simulation.engine.kernel import data_array, reward_kind, reward_of
from varts.simulation.results import RUNS_PER_BLOCK, read_only

# Part of every result, like the numbers of random streams.
BLOCKS_PER_BATCH = 8  # they draw their instances from one stream: opening a stream is slow
MAX_ARMS_BATCHED = 32  # with more arms, every block has a stream of its own


def draw_arms(problem: Problem, seed: int, first: int, runs: int) -> Floats:
    """Draw mean, a and b of the arms of some runs, a row per run.

    Nothing of the other runs of a batch is kept: with a million arms they would take most of the
    memory.
    """
    size, last = _runs_per_batch(problem), first + runs
    arms = np.empty((3, runs, problem.K))
    for number in range(first // size, -(-last // size)):
        drawn, start = _draw_batch(problem, seed, number, size), number * size
        rows = slice(max(first, start) - start, min(last, start + size) - start)
        places = slice(start + rows.start - first, start + rows.stop - first)
        for place, name in enumerate(("mean", "a", "b")):
            arms[place, places] = drawn.array(name, size, problem.K)[rows]
    return arms


def draw_runs(problem: Problem, seed: int, runs: int) -> Instances:
    """Draw the instances of the first runs."""
    size = _runs_per_batch(problem)
    batches = [_draw_batch(problem, seed, each, size) for each in range(-(-runs // size))]
    names = ("mean", "variance", "a", "b")
    columns = ([drawn.array(name, size, problem.K) for drawn in batches] for name in names)
    return Instances(*(read_only(np.concatenate(rows)[:runs]) for rows in columns))


def _draw_batch(problem: Problem, seed: int, number: int, size: int) -> Instances:
    """Always draw a whole batch, so that a run does not depend on how many there are."""
    return problem.draw(_seeding.generator(seed, _seeding.INSTANCES, number), size)


def _runs_per_batch(problem: Problem) -> int:
    return RUNS_PER_BLOCK * (BLOCKS_PER_BATCH if problem.K <= MAX_ARMS_BATCHED else 1)


# ----------------------------------------------------------------- does a problem do what it says?

BUILT_IN = (GaussianBandit, BernoulliBandit, BetaBandit, Fixed, EmpiricalBandit, RevenueBandit)
_checked: set[tuple[Any, ...]] = set()  # other problems, by their reward and a drawn instance


def check_problem(problem: Problem) -> None:
    """Compare a user's own problem with the means and variances it states, the first time.

    Args:
        problem: The problem.
    """
    if problem.contextual:
        problem.check()
        return
    for part in problem.parts if isinstance(problem, Drifting) else (problem,):
        _check(part)


def _check(problem: Problem) -> None:
    reward = reward_of(problem)
    known = reward is None or problem.reward in REVENUES.values()
    if type(problem) in BUILT_IN and known:
        return
    drawn = problem.draw(_seeding.generator(0, _seeding.PROBLEM_CHECK), 1)
    arrays = (drawn.array(name, 1, problem.K) for name in ("mean", "variance", "a", "b"))
    content = b"".join(array.tobytes() for array in (*arrays, data_array(problem)))
    seen = reward_kind(problem), reward, hashlib.sha256(content).digest()
    if seen not in _checked:
        problem.check()
        _checked.add(seen)
