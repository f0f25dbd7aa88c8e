"""What runs end with, read from where the loop leaves it: the reference for what it notes."""

from varts import ArmStats
from varts.problems import Drifting
from varts.simulation.engine.checkpoints import NO_NOTES
from varts.simulation.engine.work import Game, listeners
from varts.simulation.results import RUNS_PER_BLOCK


def endings_of(work, label, block):
    """The arms' true means and their statistics at the horizon, for each run of a block.

    Where means drift, they are those of the last round.
    """
    first_run, result = block * RUNS_PER_BLOCK, []
    runs = min(RUNS_PER_BLOCK, work.runs - first_run)
    game = Game(work, label, first_run, runs, NO_NOTES, *listeners(None, None))
    for r in range(runs):
        (piece,) = work._pieces(first_run, runs, r)
        game.play(piece, r)
        s = game.scratch
        truth = s.truth if isinstance(work.problem, Drifting) else piece.true_mean
        result.append((truth.copy(), ArmStats(s.n.copy(), s.mean.copy(), s.m2.copy())))
    return result
