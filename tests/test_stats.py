"""ArmStats: numbers worked by hand."""

import functools
from fractions import Fraction

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


# ------------------------------------------------------------------------------- higher moments


def exact_moments(rewards):
    """n, mean and the sums of powers of deviations in fractions: no rounding at all."""
    exact = [Fraction(x) for x in rewards]
    mean = sum(exact) / len(exact)
    return len(exact), mean, *(sum((x - mean) ** power for x in exact) for power in (2, 3, 4))


LEVELS = [0.0, 1e9, -1e12]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("order", ["one by one", "merged", "merged the other way", "at once"])
def test_moments_are_exact_in_any_order(level, order):
    """Of 16 digits the level takes 9 or 12, the rest are kept: sums of powers of 1e9 would have
    none."""
    rng = np.random.default_rng(1)
    rewards = level + np.round(rng.exponential(1, 60) * 64) / 64  # exact in binary at any level
    first, second = ArmStats.from_rewards([rewards[:7]]), ArmStats.from_rewards([rewards[7:]])
    stats = {
        "one by one": lambda: functools.reduce(
            lambda stats, x: stats.observe(0, x), rewards, ArmStats.empty(1)
        ),
        "merged": lambda: first.merge(second),
        "merged the other way": lambda: second.merge(first),
        "at once": lambda: ArmStats.empty(1).observe(np.zeros(60, int), rewards),
    }[order]()
    n, mean, *powers = exact_moments(rewards)
    assert stats.n[0] == n
    assert stats.mean[0] == pytest.approx(float(mean), rel=1e-14)
    digits = {0.0: 1e-12, 1e9: 1e-6, -1e12: 1e-3}[level]
    for found, known in zip((stats.m2, stats.m3, stats.m4), powers, strict=True):
        assert found[0] == pytest.approx(float(known), rel=digits)


def test_moments_are_forgotten_where_one_side_does_not_know_them():
    known, unknown = ArmStats.from_rewards([[1, 2, 4]]), ArmStats([3], [2], [1])
    assert known.merge(unknown).m3 is None
    assert known.take([0]).m4 == pytest.approx(known.m4)
    assert known.mirrored(1.0).m3 == pytest.approx(-known.m3)
    with pytest.raises(ValueError, match="m3 and m4 must be given both or neither"):
        ArmStats([3], [2], [1], [0])
