"""A batch of rows gives the results of each row alone: to 1e-12, where 1e-8 is promised.

A row alone is a batch with one row. The other files compare it with independent integrals.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from varts import Beta, SkewedT, StudentT
from varts.beliefs import base, quadrature

INF = np.inf


def one_by_one(belief, name, *args):
    arrays = belief._arrays()
    rows = [type(belief)(*(x[i] for x in arrays)) for i in range(len(arrays[0]))]
    return np.array([getattr(row, name)(*args) for row in rows])


def spread_of(belief):
    """The size of losses. Nothing is finite beside an infinite scale."""
    scale = np.where(np.isinf(belief.scale), 1.0, belief.scale).max(axis=-1, keepdims=True)
    return scale + np.ptp(belief.loc, axis=-1, keepdims=True) + 1e-300


def disagreement(found, known, size=1.0):
    """The largest difference; infinite ones must be infinite in both."""
    finite = np.isfinite(known)
    if not np.array_equal(finite, np.isfinite(found)):
        return INF
    return (np.abs(np.where(finite, found, 0) - np.where(finite, known, 0)) / size).max()


def check(belief, atol=1e-12):
    p, loss = one_by_one(belief, "p_best"), one_by_one(belief, "expected_loss")
    assert disagreement(belief.p_best(), p) <= atol
    assert disagreement(belief.expected_loss(), loss, spread_of(belief)) <= atol


def normal_rows(m, K, seed, places=1.0, scales=0.5, dfs=(5.0, 200.0)):
    """Units that differ in place and scale; the arms keep their df."""
    rng = np.random.default_rng(seed)
    loc = places * rng.standard_normal((m, K))
    scale = np.exp(scales * rng.standard_normal((m, K)))
    return StudentT(loc, scale, np.exp(rng.uniform(*np.log(dfs), K)))


@pytest.mark.parametrize(
    "belief",
    [
        normal_rows(300, 10, 1),
        normal_rows(40, 2, 2),
        normal_rows(40, 1, 3),
        normal_rows(60, 6, 4, places=1e9),  # a billion scales apart
        normal_rows(60, 6, 5, scales=8.0, dfs=(1.2, 30.0)),  # arms that hide between nodes
        normal_rows(60, 4, 6, dfs=(0.004, 3.0)),  # tails as power laws
        normal_rows(60, 8, 7, places=0.01, dfs=(1e3, 1e9)),
        normal_rows(10, 60, 8),
        normal_rows(4, 120, 9),  # arms that don't matter are left out
    ],
    ids=["plain", "pairs", "one arm", "far", "scales", "tails", "known", "K = 60", "K = 120"],
)
def test_a_batch_of_student_t(belief):
    check(belief)


def test_equal_arms_points_and_infinite_scales_among_ordinary_rows():
    loc = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 2.0], [0.0, 5.0, 1.0], [3.0, 1.0, 2.0]])
    scale = np.array([[2.0, 2.0, 2.0], [1.0, 0.0, 0.0], [1.0, INF, 2.0], [1e-300, 1e300, 1.0]])
    belief = StudentT(np.tile(loc, (5, 1)), np.tile(scale, (5, 1)), [4.0, INF, 1.5])
    check(belief)
    same_df = StudentT(belief.loc[0], belief.scale[0], 4.0)
    assert np.allclose(same_df.p_best(), 1 / 3, rtol=0, atol=1e-12)


ENTRY = st.tuples(
    st.integers(-64, 64).map(lambda k: k / 16),
    st.sampled_from([0.0, 2.0**-30, 0.125, 1.0, 3.0, 2.0**20, INF]),
)


@examples(60)
@given(st.data(), st.integers(1, 5), st.integers(3, 6))
def test_any_rows(data, K, m):
    df = data.draw(st.lists(st.sampled_from([0.7, 1.0, 2.5, 30.0, INF]), min_size=K, max_size=K))
    entries = data.draw(st.lists(ENTRY, min_size=K * m, max_size=K * m))
    loc, scale = np.array(entries).T.reshape(2, m, K)
    check(StudentT(loc, scale, df), atol=1e-10)


def mixed(kind, m=40, K=5):
    rng = np.random.default_rng(13)
    loc, scale = rng.standard_normal((m, K)), np.exp(0.5 * rng.standard_normal((m, K)))
    df = np.exp(rng.uniform(np.log(2.1), np.log(100), (m, K)))
    if kind == "Beta":
        return Beta(np.exp(3 * loc), np.exp(3 * rng.standard_normal((m, K))))
    if kind == "skewed":
        return SkewedT(loc, scale, df, scale * rng.choice([-0.6, 0.0, 0.4], (m, K)))
    if kind == "skewed tails":  # some rows have means, some don't
        df = np.repeat(rng.choice([1.5, 3.0, 9.0], (m, 1)), K, axis=1)
        return SkewedT(loc, scale, df, scale * rng.choice([-0.6, 0.0, 0.4], (m, K)))
    return StudentT(loc, scale, df if kind == "t" else df / 50)


@pytest.mark.parametrize("kind", ["t", "tails", "skewed", "skewed tails", "Beta"])
@pytest.mark.parametrize(
    ("name", "args"),
    [("p_best", ()), ("expected_loss", ()), ("top", (2,)), ("top", (4,)), ("p_better", ())],
    ids=["p_best", "expected_loss", "top 2", "top 4", "p_better"],
)
def test_every_result_of_every_kind(kind, name, args):
    belief = mixed(kind)
    known = one_by_one(belief, name, *args)
    found = getattr(belief, name)(*args)
    assert found.shape == known.shape
    assert disagreement(found, known, np.maximum(np.abs(known), 1.0)) <= 1e-11


def sizes_of_batches(belief, monkeypatch):
    """How many rows are integrated together."""
    sizes, line = [], quadrature.Arms.line
    monkeypatch.setattr(
        quadrature.Arms, "line", lambda arms, *args: (sizes.append(arms.m), line(arms, *args))[1]
    )
    belief.p_best()
    return sizes


def test_ordinary_rows_are_integrated_together(monkeypatch):
    monkeypatch.setattr(base, "ROWS_AT_ONCE", 30)
    assert sizes_of_batches(normal_rows(50, 10, 10), monkeypatch) == [30, 20]


def test_rows_with_points_are_integrated_alone(monkeypatch):
    belief = normal_rows(50, 3, 10)
    belief.scale[[4, 20], 1] = 0.0
    assert sizes_of_batches(belief, monkeypatch) == [48, 1, 1]


def test_the_comparison_sees_small_errors(monkeypatch):
    """Negative control: with a loose tolerance, panels that are too wide are not split."""
    belief = normal_rows(60, 6, 5, scales=8.0, dfs=(1.2, 30.0))
    p = one_by_one(belief, "p_best")
    monkeypatch.setattr(quadrature, "ERROR_PER_PANEL", 1e-8)
    assert disagreement(belief.p_best(), p) > 1e-12


def test_a_row_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr(quadrature, "ERROR_PER_PANEL", 0.0)
    with pytest.raises(ArithmeticError, match=r"^quadrature did not converge after \d+ panels$"):
        normal_rows(30, 2, 11).p_best()


def test_one_wrong_row_is_an_error(monkeypatch):
    """Negative control: the sum is checked in every row."""
    monkeypatch.setattr(quadrature, "FIRST_PANEL_WIDTH", 100.0)
    monkeypatch.setattr(quadrature, "ERROR_PER_PANEL", 10.0)
    scale = np.ones((5, 2))
    scale[3, 0] = 1e-6  # hides between nodes
    with pytest.raises(ArithmeticError, match=r"^quadrature is off by .*, more than 1e-8$"):
        StudentT(np.array([0.3, 0.0]), scale, INF).p_best()


def test_the_shape_is_that_of_the_belief():
    belief = normal_rows(24, 5, 12)
    boxed = StudentT(belief.loc.reshape(2, 3, 4, 5), belief.scale.reshape(2, 3, 4, 5), belief.df[0])
    assert np.array_equal(boxed.p_best().reshape(24, 5), belief.p_best())
    assert boxed.p_better().shape == (2, 3, 4, 5, 5)
    empty = StudentT(np.zeros((0, 3)), 1.0, 3.0)
    assert empty.p_best().shape == (0, 3)
    assert empty.p_better().shape == (0, 3, 3)
