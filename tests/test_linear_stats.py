"""Statistics of arms with features, against exact sums in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import without_features
from tests.textbook import fractions
from tests.tiers import examples
from varts import ArmStats, LinearStats


def exact_moments(rows):
    """n, means and sums of products of deviations, exactly."""
    rows = fractions(rows)
    columns = range(len(rows[0]))
    mean = [sum(row[j] for row in rows) / len(rows) for j in columns]
    away = [[row[j] - mean[j] for j in columns] for row in rows]
    products = [[sum(r[i] * r[j] for r in away) for j in columns] for i in columns]
    return len(rows), mean, products


def draw(seed=0, n=60, K=3, d=2, level=0.0):
    rng = np.random.default_rng(seed)
    x = level + rng.standard_normal((n, d))
    return rng.integers(0, K, n), x, level + (x - level).sum(axis=1) + rng.standard_normal(n)


def gap(stats, exact, arm=0):
    """The largest difference from exact moments; of products relative to the features' spreads."""
    n, mean, products = exact
    assert stats.n[arm] == n
    spread = [float(products[i][i]) ** 0.5 or 1.0 for i in range(len(mean))]
    of_mean = max(abs(float(Fraction(a) - b)) for a, b in zip(stats.mean[arm], mean, strict=True))
    of_products = max(
        abs(float(Fraction(stats.products[arm, i, j]) - products[i][j])) / (spread[i] * spread[j])
        for i in range(len(mean))
        for j in range(len(mean))
    )
    return of_mean, of_products


@pytest.mark.parametrize("level", [0.0, 1e9])
@pytest.mark.parametrize("batch", [1, 7, 60])
def test_moments_are_exact_at_any_level(level, batch):
    """Rewards and features like 1e9 +- 1, one by one or at once. Doubles there are 1.2e-7 apart:
    the mean may be off by some of that, and so may products, relative to spreads."""
    arms, x, y = draw(level=level)
    stats = LinearStats.empty(3, 2)
    for i in range(0, len(y), batch):
        stats = stats.observe(arms[i : i + batch], x[i : i + batch], y[i : i + batch])
    for arm in range(3):
        rows = np.column_stack([x, y])[arms == arm]
        of_mean, of_products = gap(stats, exact_moments(rows), arm)
        assert of_mean < (1e-6 if level else 1e-14)
        assert of_products < (1e-6 if level else 1e-13)


def test_plain_sums_would_fail_at_that_level():
    """The control: products as sums minus n times means are off by far more than allowed above."""
    _, x, y = draw(level=1e9)
    rows = np.column_stack([x, y])
    mean = rows.mean(axis=0)
    naive = rows.T @ rows - len(rows) * np.outer(mean, mean)
    made = LinearStats.empty(1, 2).observe(np.zeros(60, int), x, y)
    wrong = LinearStats._trusted(made.n, made.mean, naive[None].copy())
    assert gap(wrong, exact_moments(rows))[1] > 1


@examples(50)
@given(st.permutations(range(6)), st.integers(0, 2**32 - 1))
def test_parts_merge_in_any_order(order, seed):
    arms, x, y = draw(seed)
    whole = LinearStats.empty(3, 2).observe(arms, x, y)
    parts = [LinearStats.empty(3, 2).observe(arms[i::6], x[i::6], y[i::6]) for i in range(6)]
    merged = parts[order[0]]
    for i in order[1:]:
        merged = merged.merge(parts[i])
    assert np.array_equal(merged.n, whole.n)
    assert merged.mean == pytest.approx(whole.mean, abs=1e-13)
    assert merged.products == pytest.approx(whole.products, rel=1e-12, abs=1e-12)


def test_all_arms_as_one():
    arms, x, y = draw(level=1e9)
    pooled = LinearStats.empty(3, 2).observe(arms, x, y).pooled()
    of_mean, of_products = gap(pooled, exact_moments(np.column_stack([x, y])))
    assert of_mean < 1e-6 and of_products < 1e-6
    assert LinearStats.empty(3, 2).pooled() == LinearStats.empty(1, 2)


def test_without_features_it_is_arm_stats():
    arms, x, y = draw()
    one, other = LinearStats.empty(3, 0), ArmStats.empty(3)
    for arm, reward in zip(arms, y, strict=True):
        one, other = one.observe(int(arm), [], reward), other.observe(int(arm), reward)
    assert np.array_equal(without_features(one).mean, other.mean)
    assert without_features(one).m2 == pytest.approx(other.m2, rel=1e-13)
    with_features = without_features(LinearStats.empty(3, 2).observe(arms, x, y))
    assert with_features.m2 == pytest.approx(other.m2, rel=1e-12)


def test_mirrored_statistics_are_those_of_mirrored_rewards():
    arms, x, y = draw()
    mirrored = LinearStats.empty(3, 2).observe(arms, x, y).mirrored(5.0)
    again = LinearStats.empty(3, 2).observe(arms, x, 5.0 - y)
    assert mirrored.mean == pytest.approx(again.mean)
    assert mirrored.products == pytest.approx(again.products)
    assert mirrored.mirrored(5.0).mean == pytest.approx(again.mirrored(5.0).mean)


def test_some_of_the_arms():
    stats = LinearStats.empty(3, 2).observe(*draw())
    assert stats.take([2, 0]).n.tolist() == [stats.n[2], stats.n[0]]
    assert stats.take([0, 1, 2]) == stats and stats.take([0]) != stats


def test_it_is_a_value():
    stats = LinearStats.empty(1, 1)
    stats.observe(0, [1.0], 2.0)
    assert stats.n[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        stats.n[0] = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(stats)
    assert repr(stats) == "LinearStats(n=[0.], 1 features)"


STATS = LinearStats.empty(2, 1)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: LinearStats.empty(0, 1), ValueError, "K must be a whole number >= 1, got 0"),
        (lambda: LinearStats.empty(1, -1), ValueError, "d must be a whole number >= 0, got -1"),
        (lambda: STATS.observe(2, [1], 1), ValueError, "arm must be an index from 0 to 1, got 2"),
        (lambda: STATS.observe(0.5, [1], 1), TypeError, "arm must be an index from 0 to 1 or sev"),
        (lambda: STATS.observe(0, [1, 2], 1), ValueError, "x 1 columns, got shapes"),
        (lambda: STATS.observe(0, ["a"], 1), TypeError, "x must be finite, got"),
        (lambda: STATS.observe(0, [np.nan], 1), ValueError, "x must be finite, got nan"),
        (lambda: STATS.observe(0, [1], np.inf), ValueError, "reward must be finite, got inf"),
        (lambda: STATS.merge(3), TypeError, "statistics to merge must be a LinearStats, got 3"),
        (lambda: STATS.merge(LinearStats.empty(2, 2)), ValueError, "equal numbers of arms and fea"),
        (lambda: LinearStats([1], [[1.0]], [[1.0]]), ValueError, "must have shapes"),
        (lambda: LinearStats([1], [[0.0]], [[[-1.0]]]), ValueError, "squares >= 0, got"),
        (
            lambda: LinearStats([1], [[0.0, 0]], [[[1.0, 2], [3, 4]]]),
            ValueError,
            "products must be symmetric with squares >= 0, got",
        ),
        (lambda: LinearStats([-1], [[0.0]], [[[1.0]]]), ValueError, "n must be finite and >= 0"),
    ],
)
def test_wrong_arguments_get_a_sentence(call, kind, said):
    with pytest.raises(kind, match=said):
        call()
