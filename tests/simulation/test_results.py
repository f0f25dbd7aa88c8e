"""RegretCurve and PolicyResult: numbers worked by hand, and equality by value."""

import numpy as np
import pytest

from varts.simulation.results import PolicyResult, RegretCurve


def curve(*runs):
    """The curve of these runs, a sequence of regrets each."""
    rows = np.array(runs, dtype=float)
    mean = rows.mean(axis=0)
    return RegretCurve(len(rows), mean, ((rows - mean) ** 2).sum(axis=0))


def test_a_merged_curve_is_that_of_all_runs():
    """Runs ending at 1, 3 and 8: mean 4, m2 = 9 + 1 + 16 = 26."""
    merged = curve([0, 1], [1, 3]).merge(curve([2, 8]))
    assert merged.n == 3
    assert merged.mean == pytest.approx([1, 4])
    assert merged.m2 == pytest.approx([2, 26])
    assert merged.se == pytest.approx([np.sqrt(1 / 3), np.sqrt(13 / 3)])


def test_a_curve_is_a_value():
    mean = np.zeros(2)
    made = RegretCurve(1, mean, np.zeros(2))
    for array in (made.mean, made.m2, made.merge(made).mean):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    mean[1] = 0.0  # the caller's own array is left as it was


def test_one_run_has_no_variance():
    assert np.isnan(curve([1, 2]).variance).all() and np.isnan(curve([1, 2]).se).all()


def test_results_are_merged_in_the_order_of_runs():
    one = PolicyResult(np.array([1.0, 3.0]), np.array([0.5, 0.25]), curve([1], [3]))
    merged = one.merge(PolicyResult(np.array([8.0]), np.array([1.0]), curve([8])))
    assert merged.final.tolist() == [1, 3, 8]
    assert merged.best_share.tolist() == [0.5, 0.25, 1]
    assert merged.curve == curve([1], [3]).merge(curve([8]))


def test_equality_is_by_value():
    assert curve([1, 2], [3, 5]) == curve([1, 2], [3, 5])
    assert curve([1, 2], [3, 5]) != curve([1, 2], [3, 6])
    assert curve([1, 2]) != "something else"
    one, same, other = (
        PolicyResult(np.ones(2), np.array([share, 1.0]), curve([1], [1]))
        for share in (0.5, 0.5, 0.6)
    )
    assert one == same and one != other and one != "something else"
    for value in (one, one.curve):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
