"""A remembered result equals a freshly computed one."""

import numpy as np
import pytest

from varts import ArmStats, NormalGamma, VarTS
from varts.beliefs import distributions
from varts.beliefs.distributions import Remembered


@pytest.fixture
def nothing_remembered(monkeypatch):
    """Start with empty memories, and list the numbers that the formulas are called with."""
    asked = []
    height = distributions.t_height

    def noted_height(df):
        asked.append(df.tolist())
        return height(df)

    monkeypatch.setattr(distributions, "t_heights", Remembered(noted_height))
    distributions.t_reach.cache_clear()
    return asked


def visited_states(rounds, K=10):
    """The beliefs of a run of VarTS, one reward apart, and the arm that the reward was for."""
    rng, policy = np.random.default_rng(7), VarTS(NormalGamma.elicit(12, 2, 8, worth=20))
    means, stats = rng.normal(12, 2, K), ArmStats.empty(K)
    for _ in range(rounds):
        arm = policy._belief(stats).argmax(rng)
        stats = stats.observe(arm, float(rng.normal(means[arm], 8)))
        yield policy._belief(stats)


def test_p_best_after_a_reward_is_that_of_a_fresh_process(nothing_remembered):
    kept = [belief.p_best().tobytes() for belief in visited_states(60)]
    fresh = []
    for belief in visited_states(60):
        distributions.t_heights._results.clear()
        distributions.t_reach.cache_clear()
        fresh.append(belief.p_best().tobytes())
    assert kept == fresh


def test_only_the_arm_with_the_reward_is_worked_out_again(nothing_remembered):
    for belief in visited_states(60):
        belief.p_best()
    first, *later = nothing_remembered
    assert len(first) == 10
    assert {len(df) for df in later} == {1}


def test_an_answer_does_not_depend_on_the_numbers_beside_it():
    df = np.concatenate([np.arange(1, 300) / 2, 10.0 ** np.arange(3, 16)])
    for formula in (distributions.t_height, distributions.t_reach(1e-14, 1e-7).formula):
        alone = np.array([formula(df[i : i + 1])[0] for i in range(df.size)])
        assert formula(df).tobytes() == alone.tobytes()


def test_a_memory_forgets_when_it_is_full(monkeypatch):
    monkeypatch.setattr(distributions, "MOST_REMEMBERED", 5)
    asked = []
    double = Remembered(lambda x: asked.extend(x.tolist()) or 2 * x)
    for start in (0.0, 4.0, 8.0, 0.0):
        x = start + np.arange(4.0)
        assert double(x).tolist() == (2 * x).tolist()
        assert len(double._results) <= 9
    assert asked == [*range(12), *range(4)]  # the first ones were forgotten


def test_rows_of_results_and_no_numbers_at_all():
    powers = Remembered(lambda x: np.column_stack([x, x * x]))
    assert powers(np.array([3.0, 2.0, 3.0])).tolist() == [[3, 9], [2, 4], [3, 9]]
    assert powers(np.array([])).size == 0
