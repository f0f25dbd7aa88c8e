"""The instances of a study: drawn in batches of runs, each from a stream of its own."""

from __future__ import annotations

import numpy as np

from varts import _seeding
from varts._validation import Floats
from varts.instances import Instances
from varts.problems import Problem
from varts.simulation.results import RUNS_PER_BLOCK, read_only

# Part of every result, like the numbers of random streams.
BLOCKS_PER_BATCH = 8  # they draw their instances from one stream: opening a stream is slow
MAX_ARMS_BATCHED = 32  # with more arms, every block has a stream of its own


def draw_blocks(problem: Problem, seed: int, first: int, count: int) -> Floats:
    """Mean, a and b of the blocks' instances, a row per run."""
    blocks = _blocks_per_batch(problem)
    batches, size = range(first // blocks, -(-(first + count) // blocks)), blocks * RUNS_PER_BLOCK
    start = (first - batches.start * blocks) * RUNS_PER_BLOCK
    drawn = np.concatenate(
        [_stack(problem, _draw_batch(problem, seed, each, size), size) for each in batches], axis=1
    )
    return drawn[:, start : start + count * RUNS_PER_BLOCK]


def draw_runs(problem: Problem, seed: int, runs: int) -> Instances:
    """The instances of the first runs."""
    size = RUNS_PER_BLOCK * _blocks_per_batch(problem)
    batches = [_draw_batch(problem, seed, each, size) for each in range(-(-runs // size))]
    names = ("mean", "variance", "a", "b")
    columns = ([drawn.array(name, size, problem.K) for drawn in batches] for name in names)
    return Instances(*(read_only(np.concatenate(rows)[:runs]) for rows in columns))


def _draw_batch(problem: Problem, seed: int, number: int, size: int) -> Instances:
    """Always drawn whole, so that a run does not depend on how many there are."""
    return problem.draw(_seeding.generator(seed, _seeding.INSTANCES, number), size)


def _stack(problem: Problem, drawn: Instances, size: int) -> Floats:
    return np.stack([drawn.array(name, size, problem.K) for name in ("mean", "a", "b")])


def _blocks_per_batch(problem: Problem) -> int:
    return BLOCKS_PER_BATCH if problem.K <= MAX_ARMS_BATCHED else 1
