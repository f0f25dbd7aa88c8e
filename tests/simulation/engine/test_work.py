"""What is played at once for speed leaves the same bits as what is played one by one."""

import numpy as np
import pytest

import varts
from varts.simulation.engine.work import RUNS_PER_BLOCK, Work, draw_arms, draw_runs
from varts.simulation.results import BlockResults, PairwiseTree, recorded_rounds


@pytest.mark.parametrize("runs", [7 * RUNS_PER_BLOCK + 3, 20 * RUNS_PER_BLOCK])
def test_blocks_at_once_and_one_by_one(runs):
    problem = varts.BernoulliBandit(9)
    policies = {"ucb": varts.UCB1(), "varts": varts.VarTS(problem.estimate_prior(1000))}
    work = Work(problem, policies, 150, runs, 3, recorded_rounds(150))
    assert work.blocks_per_call == 64  # eight batches of instances
    together = work.play_blocks(0, work.blocks)
    tree = PairwiseTree(BlockResults.merge)
    for block in range(work.blocks):
        tree.add(work.play_blocks(block, 1))
    assert tree.total() == together
    assert len(together.policies["ucb"].final) == runs


def test_a_block_can_be_stopped_and_counts_its_rounds(problem):
    work = Work(problem, {"it": varts.UCB1()}, 100, 20, 0, recorded_rounds(100))
    stop, counter = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert work.play_blocks(0, work.blocks, stop, counter).blocks == 3
    assert counter[0] == 20 * 100
    stop[0] = 1
    assert work.play_blocks(0, work.blocks, stop, counter) is None


def test_few_blocks_at_once_where_they_are_large():
    """A block with 100,000 rounds a run, or with 100,000 arms, is enough for one call."""
    one = varts.GaussianBandit.fixed(np.zeros(2), 1.0)
    many = varts.GaussianBandit.fixed(np.zeros(100_000), 1.0)
    for problem, horizon in ((one, 100_000), (many, 10)):
        work = Work(problem, {"it": varts.UCB1()}, horizon, 800, 0, recorded_rounds(horizon))
        assert work.blocks_per_call == 1


@pytest.mark.parametrize("K", [5, 40])  # batches of 64 runs and of 8
def test_a_run_has_its_instance_whoever_is_drawn_with_it(K):
    problem = varts.GaussianBandit(K=K)
    whole = draw_runs(problem, 7, 150)
    for first, runs in ((0, 150), (60, 10), (64, 64), (3, 1), (149, 1)):
        arms, rows = draw_arms(problem, 7, first, runs), slice(first, first + runs)
        for drawn, expected in zip(arms, (whole.mean, whole.a, whole.b), strict=True):
            np.testing.assert_array_equal(drawn, expected[rows])
            assert drawn.flags.c_contiguous


def test_drawn_means_must_be_finite():
    class Odd(varts.GaussianBandit):
        def draw(self, rng, size):
            drawn = super().draw(rng, size)
            return varts.Instances(drawn.mean * np.nan, drawn.variance, drawn.a, drawn.b)

    with pytest.raises(ValueError, match="must be finite, got nan"):
        varts.simulate(Odd(K=3), "UCB1", 10, 8)
