"""What runs end with, read from where the loop leaves it: the reference for what it notes."""

from varts import ArmStats
from varts.problems import Drifting
from varts.simulation.engine.checkpoints import NO_NOTES
from varts.simulation.engine.work import Game, listeners


def endings_of(work, label, block):
    """The arms' true means and their statistics at the horizon, for each run of a block.

    Where means drift, they are those of the last round.
    """
    first_run, runs = work._runs_of(block, 1)
    return [ending_of(work, label, run) for run in range(first_run, first_run + runs)]


def ending_of(work, label, run):
    """The same for one run."""
    game = Game(work, label, run, 1, NO_NOTES, *listeners(None, None))
    for piece in work._pieces(run, 0, work._arms_of(run, 1)):
        game.play(piece, 0)
    end = game.scratch
    truth = end.truth if isinstance(work.problem, Drifting) else piece.true_mean
    return truth, ArmStats(end.n, end.mean, end.m2)
