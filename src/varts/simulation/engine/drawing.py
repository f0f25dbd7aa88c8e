"""The instances of a study: drawn in batches of runs, each from a stream of its own."""

from __future__ import annotations

import numpy as np

from varts import _seeding
from varts._validation import Floats
from varts.problems import Instances, Problem
from varts.simulation.results import RUNS_PER_BLOCK, read_only

# Part of every result, like the numbers of random streams.
BLOCKS_PER_BATCH = 8  # they draw their instances from one stream: opening a stream is slow
MAX_ARMS_BATCHED = 32  # with more arms, every block has a stream of its own


def draw_arms(problem: Problem, seed: int, first: int, runs: int) -> Floats:
    """Mean, a and b of the arms of so many runs, a row per run.

    Nothing of the other runs of a batch is kept: with a million arms they take most of the memory.
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
    """The instances of the first runs."""
    size = _runs_per_batch(problem)
    batches = [_draw_batch(problem, seed, each, size) for each in range(-(-runs // size))]
    names = ("mean", "variance", "a", "b")
    columns = ([drawn.array(name, size, problem.K) for drawn in batches] for name in names)
    return Instances(*(read_only(np.concatenate(rows)[:runs]) for rows in columns))


def _draw_batch(problem: Problem, seed: int, number: int, size: int) -> Instances:
    """Always drawn whole, so that a run does not depend on how many there are."""
    return problem.draw(_seeding.generator(seed, _seeding.INSTANCES, number), size)


def _runs_per_batch(problem: Problem) -> int:
    return RUNS_PER_BLOCK * (BLOCKS_PER_BATCH if problem.K <= MAX_ARMS_BATCHED else 1)
