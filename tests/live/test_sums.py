"""The sums of features and rewards against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from tests.live.contexts import exact
from varts.live.core.sums import SUMS_COLUMNS, RegressionSums, Sums, read_sums, stored_sums

RANDOM = np.random.default_rng(5)
NOISE = RANDOM.normal(size=(60, 3))
SERIES = {
    "plain": NOISE,
    "1e9 and 1e-3": 1e9 + 1e-3 * NOISE,
    "of all scales": NOISE * [1e-9, 1.0, 1e9] + [1.0, -1e6, 1e15],
    "a constant one": np.column_stack([np.full(60, 7.0), NOISE[:, :2]]),
    "a rare one": np.column_stack([np.arange(60) == 30, NOISE[:, :2]]).astype(float),
    "collinear": NOISE[:, [0, 0, 1]] * [1.0, 3.0, 1.0],
}
LINE = SUMS_COLUMNS.index("line")
every = pytest.mark.parametrize("rows", SERIES.values(), ids=SERIES)


def line_of(rows):
    line = RegressionSums.first(rows[0])
    for row in rows[1:]:
        line = line.observe(row)
    return line


def agrees(line, rows):
    """Means to 1e-9 of the sd, products to 1e-9 of their sizes, without rounding on the way."""
    _, products = exact(rows)
    sd = np.sqrt(np.diagonal(products) / len(rows))
    origin = [Fraction(float(one)) for one in line.origin]
    own = [Fraction(float(m)) + o for m, o in zip(line.mean, origin, strict=True)]
    true = [sum(Fraction(float(one)) for one in column) / len(rows) for column in rows.T]
    away = np.array([float(abs(a - b)) for a, b in zip(own, true, strict=True)])
    size = np.sqrt(np.outer(np.diagonal(products), np.diagonal(products)))
    return bool(
        line.rewards == len(rows) == line.n
        and (away <= 1e-9 * sd).all()
        and (np.abs(line.products - products) <= 1e-9 * size).all()
    )


@every
def test_one_by_one_and_merged_are_exact(rows):
    assert agrees(line_of(rows), rows)
    assert agrees(line_of(rows[:20]).merge(line_of(rows[20:])), rows)
    assert agrees(line_of(rows[40:]).merge(line_of(rows[:40])), rows)


def test_the_comparison_notices_sums_about_zero():
    """The negative control: textbook sums lose all digits of 1e9 +- 0.001."""
    rows = SERIES["1e9 and 1e-3"]
    products = rows.T @ rows - 60 * np.outer(rows.mean(axis=0), rows.mean(axis=0))
    assert not agrees(line_of(rows)._replace(products=products), rows)


@every
def test_a_replaced_reward_leaves_no_trace_or_is_refused(rows):
    wrong = rows.copy()
    wrong[10, -1] = rows[:, -1].mean() + 2 * rows[:, -1].std()
    new = line_of(wrong).replaced(wrong[10], rows[10], 1.0)
    assert new is not None and agrees(new, rows)
    for huge in (1e12, 1e40):
        wrong[10, -1] = rows[10, -1] + huge * (1 + abs(rows[10, -1]))
        assert line_of(wrong).replaced(wrong[10], rows[10], 1.0) is None
    without = line_of(rows).replaced(rows[10], None, 1.0)
    if without is not None:
        assert agrees(without, np.delete(rows, 10, axis=0))


def test_a_feature_of_only_one_unit_must_be_rebuilt():
    rows = SERIES["a rare one"]
    assert line_of(rows).replaced(rows[30], None, 1.0) is None
    assert line_of(rows[:1]).replaced(rows[0], None, 1.0) is None


@every
def test_a_row_of_the_table_is_read_as_it_was_written(rows):
    row = Sums()
    for at, (*x, y) in enumerate(rows, start=1):
        row = row.observe(y, at, 20.0, x)
    stored = stored_sums(row)
    assert read_sums(stored) == row and isinstance(stored[LINE], bytes)
    assert read_sums(stored_sums(Sums())) == Sums()


@pytest.mark.parametrize("stored", [b"", b"abc", bytes(8 * 6), bytes(8 * 91)])
def test_damaged_regression_sums_are_dropped(stored):
    with pytest.raises(ValueError):
        RegressionSums.from_bytes(stored)
    before = stored_sums(Sums())
    assert read_sums((*before[:LINE], stored, *before[LINE + 1 :])).line is None


def test_fading_is_that_of_the_row():
    row = Sums()
    for at, (*x, y) in enumerate(NOISE, start=1):
        row = row.observe(y, at, 20.0, x)
    weight = 2.0 ** (-(60 - np.arange(1, 61)) / 20)
    mean = weight @ NOISE / weight.sum()
    products = ((NOISE - mean).T * weight) @ (NOISE - mean)
    assert row.line.n == pytest.approx(row.n, rel=1e-12)
    assert row.line.products == pytest.approx(products, abs=1e-12)
    assert row.line.products[-1, -1] == pytest.approx(row.m2, rel=1e-9)
    later = row.settled(80, 20.0)
    assert later.line.n == pytest.approx(weight.sum() / 2, rel=1e-12)
    assert later.line.products == pytest.approx(products / 2, abs=1e-12)


def test_a_reward_with_other_features_is_refused():
    with pytest.raises(ValueError, match="a reward must have 2 features, got 1"):
        line_of(NOISE).observe(NOISE[0, :2])
