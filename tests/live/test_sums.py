"""The sums of features and rewards against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from tests.live.contexts import exact
from varts.live.core.sums import (
    RIDGE,
    SUMS_COLUMNS,
    Line,
    RegressionSums,
    Sums,
    read_sums,
    stored_sums,
)

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
    assert row.line.whole.n == pytest.approx(row.n, rel=1e-12)
    assert row.line.whole.products == pytest.approx(products, abs=1e-12)
    assert row.line.whole.products[-1, -1] == pytest.approx(row.m2, rel=1e-9)
    later = row.settled(80, 20.0)
    assert later.line.whole.n == pytest.approx(weight.sum() / 2, rel=1e-12)
    assert later.line.whole.products == pytest.approx(products / 2, abs=1e-12)


def test_a_reward_with_other_features_is_refused():
    with pytest.raises(ValueError, match="a reward must have 2 features, got 1"):
        line_of(NOISE).observe(NOISE[0, :2])


# ------------------------------------------------------------------ halves and residuals


def halved_line(rows, halves):
    line = Line.empty()
    for row, half in zip(rows, halves, strict=True):
        line = line.observe(row, half)
    return line


HALVES = [None] * 5 + [i % 3 % 2 for i in range(len(NOISE) - 5)]


def test_every_reward_is_in_its_half():
    line = halved_line(NOISE, HALVES)
    for at, half in enumerate((0, 1, None)):
        mine = NOISE[[one == half for one in HALVES]]
        assert agrees(line.parts[at], mine)
        assert not agrees(line.parts[at], mine[1:])
    assert agrees(
        line.whole, np.concatenate([NOISE[[h == k for h in HALVES]] for k in (0, 1, None)])
    )
    assert line.rewards == len(NOISE)


def test_lines_merge_fade_and_are_stored():
    one, two = halved_line(NOISE[:20], HALVES[:20]), halved_line(NOISE[20:], HALVES[20:])
    both = one.merge(two)
    for half, part in enumerate(both.parts):
        mine = NOISE[[one == (half if half < 2 else None) for one in HALVES]]
        assert agrees(part, mine)
    assert both.residuals.powers == pytest.approx(one.residuals.powers + two.residuals.powers)
    faded = both.faded(0.5)
    assert faded.whole.n == both.whole.n / 2
    assert faded.residuals.powers == pytest.approx(both.residuals.powers / 2)
    for line in (one, two, both, faded):
        again = Line.from_bytes(line.to_bytes())
        assert again == line and again.residuals.fitted == line.residuals.fitted
        assert (again.residuals.fit == line.residuals.fit).all()
        assert again.observe(NOISE[3], 1) == line.observe(NOISE[3], 1)
    assert one != two


def test_bytes_of_older_versions_have_no_halves():
    old = line_of(NOISE)
    line = Line.from_bytes(old.to_bytes())
    assert line.parts == (None, None, old) and line.whole is line.parts[2]
    assert line.to_bytes() == old.to_bytes()  # and stay as they are
    assert halved_line(NOISE, [None] * len(NOISE)) == line
    assert halved_line(NOISE, [1] * len(NOISE)) != line


@pytest.mark.parametrize("cut", [7, 20, 30, -8])
def test_damaged_bytes_of_a_line_are_refused(cut):
    stored = halved_line(NOISE, HALVES).to_bytes()[:cut]
    with pytest.raises(ValueError, match=r"can't have|buffer size"):
        Line.from_bytes(stored)
    assert read_sums((*stored_sums(Sums())[:-1], stored)).line is None


def loop_residuals(rows, halves):
    """One-step-ahead residuals by least squares with a penalty, from raw rewards."""
    seen, fitted, fit, out = {0: [], 1: []}, 0, None, []
    for row, half in zip(rows, halves, strict=True):
        if half is None:
            continue
        mine = seen[half]
        if len(mine) >= 2 and len(mine) >= 1.1 * fitted:
            known = np.array(mine)
            mean = known.mean(axis=0)
            x, y = known[:, :-1] - mean[:-1], known[:, -1] - mean[-1]
            penalty = np.sqrt(RIDGE * x.var(axis=0))
            wide = np.concatenate([x, np.diag(penalty)])
            slopes = np.linalg.lstsq(wide, np.append(y, np.zeros(len(penalty))), rcond=None)[0]
            fitted, fit = len(mine), (mean, slopes)
        if fit is not None and mine:
            mean, slopes = fit
            out.append(row[-1] - mean[-1] - (row[:-1] - mean[:-1]) @ slopes)
        mine.append(row)
    return np.array(out)


def test_residuals_are_one_step_ahead():
    line = halved_line(NOISE, HALVES)
    known = loop_residuals(NOISE, HALVES)
    powers = [len(known), *((known**k).sum() for k in (1, 2, 3, 4))]
    assert line.residuals.powers == pytest.approx(powers, rel=1e-8)
    away = known - known.mean()
    moments = [len(known), known.mean(), *((away**k).sum() for k in (2, 3, 4))]
    assert line.residuals.moments == pytest.approx(moments, rel=1e-7, abs=1e-9)
    later = loop_residuals(NOISE[::-1], HALVES)  # another order has other residuals
    assert line.residuals.powers[2] != pytest.approx((later**2).sum(), rel=1e-6)


def test_a_correction_stays_in_its_half():
    wrong = NOISE.copy()
    wrong[10, -1] += 1.5
    line = halved_line(wrong, HALVES).replaced(wrong[10], NOISE[10], 1.0, HALVES[10])
    right = halved_line(NOISE, HALVES)
    for one, two in zip(line.parts, right.parts, strict=True):
        assert one.rewards == two.rewards
        assert np.abs(one.products - two.products).max() < 1e-8
    assert line.residuals.powers[0] == right.residuals.powers[0]
    assert line.residuals.powers[2] == pytest.approx(right.residuals.powers[2], rel=0.2)
    other = halved_line(wrong, HALVES).replaced(wrong[10], NOISE[10], 1.0, 1 - HALVES[10])
    assert other is None or other != line
    assert Line.empty().replaced(NOISE[0], NOISE[1], 1.0, 0) is None
    huge = NOISE[10].copy()
    huge[-1] = 1e9
    typo = halved_line([*NOISE, huge], [*HALVES, 0])
    assert typo.replaced(huge, NOISE[10], 1.0, 0) is None  # it would cost digits
