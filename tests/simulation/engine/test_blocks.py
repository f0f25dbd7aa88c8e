"""What is done at once for speed leaves the same bits as what is done one by one."""

import numpy as np
import pytest
from numba import njit

import varts
from varts.simulation.engine import selectors
from varts.simulation.engine.blocks import RUNS, Work
from varts.simulation.engine.compilation import formula_jit, specialise
from varts.simulation.engine.lazy_argmax import remember
from varts.simulation.engine.rng import OPTIONS, bits, inlined
from varts.simulation.reduction import Part, Tally
from varts.simulation.study import recorded_rounds

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


def one_by_one(row, word):
    """What `select_index` is to choose, in the plainest way."""
    best, arm = -np.inf, -1
    for i, value in enumerate(row):
        if value > best or (value == best and selectors.before(i, arm, np.uint64(word))):
            best, arm = value, i
    return arm


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8, 11, 16])
def test_indices_compared_at_once_and_one_by_one(K):
    """Numbers of few values, so that many are equal, and some that are none or infinite."""
    index_of = inlined(
        specialise(selectors.index_of, index=formula_jit(given), PARAMETERS=0, POOLED=False)
    )
    select = njit(**OPTIONS)(specialise(selectors.select_index, index_of=index_of))
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 5, (1000, K)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.02] = np.inf
    rows[:50] = np.nan
    rows[50:150] = -np.inf
    memory, params, state = remember(K), np.empty((K, 0)), np.uint64(1)
    arms = np.zeros(len(rows), dtype=np.int64)
    for r, row in enumerate(rows):
        word, _ = bits(np.uint64(state))
        arms[r], state = select(r, row, row, row, params, memory, np.uint64(state))
        assert arms[r] == one_by_one(row, word)
    assert (arms[:50] == -1).all()  # nothing to choose from
    # equal ones at random: all arms of the rows of -inf get their share, p below 1e-6 of an alarm
    assert len(set(arms[50:150])) >= min(K, 8)
