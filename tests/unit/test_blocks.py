"""What is done at once for speed leaves the same bits as what is done one by one."""

import numpy as np
import pytest
from numba import njit

import varts
from varts.engine import select as families
from varts.engine.argmax import remember
from varts.engine.blocks import RUNS, Work
from varts.engine.kernels import formula_jit, specialise
from varts.engine.rng import OPTIONS, inlined
from varts.study import recorded_rounds
from varts.tally import Part, Tally

IDLE = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)


@pytest.mark.parametrize("runs", [7 * RUNS + 3, 8 * RUNS])
def test_blocks_at_once_and_one_by_one(runs):
    problem = varts.BernoulliBandit(9)
    policies = {"ucb": varts.UCB1(), "varts": varts.VarTS(problem.estimate_prior(1000))}
    work = Work(problem, policies, 150, runs, 3, recorded_rounds(150))
    assert work.at_once == 8
    together = work.play_part(0, work.blocks, *IDLE)
    tally = Tally()
    for block in range(work.blocks):
        tally.add(Part(1, work.play_block(block, *IDLE)))
    for label, one in tally.total().played.items():
        other = together.played[label]
        assert len(one.final) == runs
        assert np.array_equal(one.final, other.final)
        assert np.array_equal(one.best_share, other.best_share)
        assert one.curve == other.curve


def test_few_blocks_at_once_where_they_are_large():
    """A block with 100,000 rounds a run, or with 100,000 arms, is enough for one call."""
    one = varts.GaussianBandit.fixed(np.zeros(2), 1.0)
    many = varts.GaussianBandit.fixed(np.zeros(100_000), 1.0)
    for problem, horizon in ((one, 100_000), (many, 10)):
        work = Work(problem, {"it": varts.UCB1()}, horizon, 800, 0, recorded_rounds(horizon))
        assert work.at_once == 1


def given(n, mean, m2, t):
    """An index that is whatever the test put into the means."""
    return mean


def chooser(several):
    """`select_index` with another limit between its two ways."""
    index_of = inlined(
        specialise(families.index_of, index=formula_jit(given), PARAMETERS=0, POOLED=False)
    )
    select = njit(**OPTIONS)(specialise(families.select_index, index_of=index_of, SEVERAL=several))

    @njit(**OPTIONS)
    def choose(rows, memory, params, arms):
        state = np.uint64(1)
        for r in range(len(rows)):
            row = rows[r]
            arms[r], state = select(r, row, row, row, params, memory, state)

    return choose


def test_indices_compared_at_once_and_one_by_one():
    """Numbers of few values, so that many are equal, and some that are none or infinite."""
    K, rng = 11, np.random.default_rng(4)
    rows = rng.integers(0, 5, (3000, K)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.02] = np.inf
    rows[:50] = np.nan
    rows[50:100] = -np.inf
    arms = {}
    for several in (1, K + 1):
        arms[several] = np.zeros(len(rows), dtype=np.int64)
        chooser(several)(rows, remember(K), np.empty((K, 0)), arms[several])
    assert np.array_equal(arms[1], arms[K + 1])
    assert (arms[1][:50] == -1).all()  # nothing to choose from
    chosen = rows[np.arange(100, len(rows)), arms[1][100:]]
    assert np.array_equal(chosen, np.nanmax(rows[100:], axis=1))
    # equal ones at random: all arms of the rows of -inf get their share, p below 1e-6 of an alarm
    assert len(set(arms[1][50:100])) > 5
