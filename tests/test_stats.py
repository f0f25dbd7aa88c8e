"""ArmStats: numbers worked by hand."""

import numpy as np
import pytest

from varts import ArmStats


def test_from_rewards():
    stats = ArmStats.from_rewards([[1, 3, 5], [2], []])
    assert stats.K == 3
    assert stats.n.tolist() == [3, 1, 0]
    assert stats.mean.tolist() == [3, 2, 0]
    assert stats.m2.tolist() == [8, 0, 0]


def test_observe_one_and_many():
    stats = ArmStats.empty(2).observe(1, 4).observe(1, 6.0)
    assert stats == ArmStats([0, 2], [0, 5], [0, 2])
    assert stats.observe([0, 1, 0], [1, 5, 3]) == ArmStats([2, 3], [2, 5], [2, 2])


def test_merge():
    """2 rewards of mean 1 and 2 of mean 3: m2 grows by n_a n_b / n * gap^2 = 4."""
    merged = ArmStats([2], [1], [0.5]).merge(ArmStats([2], [3], [0.25]))
    assert merged == ArmStats([4], [2], [4.75])


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError, match="statistics to merge must be an ArmStats, got 5"):
        ArmStats.empty(2).merge(5)
    with pytest.raises(TypeError, match="rewards must be one sequence per arm, got 5"):
        ArmStats.from_rewards(5)


def test_variance_is_unbiased_and_unknown_below_two():
    variance = ArmStats.from_rewards([[1, 3, 5], [2], []]).variance
    assert variance[0] == 4
    assert np.isnan(variance[1:]).all()


def test_it_is_a_value():
    stats = ArmStats.from_rewards([[1, 2], [3]])
    more = stats.observe(0, 9)
    assert more is not stats and stats == ArmStats.from_rewards([[1, 2], [3]])
    for array in (stats.n, stats.mean, stats.m2, more.n, more.mean, more.m2):
        with pytest.raises(ValueError):
            array[0] = 7


def test_it_does_not_share_memory_with_its_arguments():
    mean = np.array([1.0, 2.0])
    stats = ArmStats([1, 1], mean, 0)
    mean[0] = 9
    assert stats.mean.tolist() == [1, 2]


def test_scalars_broadcast_to_arms():
    assert ArmStats(n=[1, 2], mean=0, m2=1) == ArmStats([1, 2], [0, 0], [1, 1])
    assert ArmStats(1, 2, 0).K == 1


def test_equality_is_by_value():
    assert ArmStats.empty(2) == ArmStats([0, 0], 0, 0)
    assert ArmStats.empty(2) != ArmStats.empty(3)
    assert ArmStats.empty(2) != "something else"


def test_an_empty_batch_changes_nothing():
    stats = ArmStats.from_rewards([[1, 2], [3]])
    assert stats.observe(np.array([], dtype=int), []) == stats


def test_pooled():
    assert ArmStats.from_rewards([[0, 2], [4, 6], []]).pooled() == ArmStats([4], [3], [20])
    assert ArmStats.empty(3).pooled() == ArmStats.empty(1)
