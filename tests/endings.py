"""What runs end with, read from where the loop leaves it: the reference for what it notes."""

from varts import ArmStats
from varts.simulation.results import RUNS_PER_BLOCK


def endings_of(work, label, block):
    """The arms' true means and their statistics at the horizon, for each run of a block.

    Where means drift, they are those of the last round.
    """
    first_run, instances, result = block * RUNS_PER_BLOCK, work._draw(block, 1), []
    for r in range(min(RUNS_PER_BLOCK, work.runs - first_run)):
        scratch = work._allocate(label)
        work._play(label, first_run + r, instances[:, r : r + 1], scratch=scratch)
        truth = scratch[3] if work.prepared[label].drifting else instances[0, r]
        result.append((truth, ArmStats(*scratch[:3])))
    return result
