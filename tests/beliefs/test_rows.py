"""Many rows at once say what each row says alone: to 1e-12, where 1e-8 is promised.

A row alone is the reference; it is held against independent quadratures in the other files.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from varts import StudentT
from varts.beliefs import rows
from varts.beliefs.base import Belief

INF = np.inf


def one_by_one(belief):
    return Belief.p_best(belief), Belief.expected_loss(belief)


def spread_of(belief):
    """What losses are measured in; nothing is finite beside an infinite scale."""
    scale = np.where(np.isinf(belief.scale), 1.0, belief.scale).max(axis=-1, keepdims=True)
    return scale + np.ptp(belief.loc, axis=-1, keepdims=True) + 1e-300


def disagreement(found, known, size=1.0):
    """The largest difference; infinite ones must be infinite in both."""
    finite = np.isfinite(known)
    if not np.array_equal(finite, np.isfinite(found)):
        return INF
    return (np.abs(np.where(finite, found, 0) - np.where(finite, known, 0)) / size).max()


def check(belief, atol=1e-12):
    p, loss = one_by_one(belief)
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
        normal_rows(4, 120, 9),  # so many arms are asked row by row
    ],
    ids=["plain", "pairs", "one arm", "far", "scales", "tails", "known", "K = 60", "K = 120"],
)
def test_rows_at_once_are_rows_alone(belief):
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


def test_ordinary_rows_are_not_asked_alone(monkeypatch):
    belief = normal_rows(50, 10, 10)
    known = one_by_one(belief)

    def refuse(self, compute):
        raise AssertionError("a row was asked alone")

    monkeypatch.setattr(Belief, "_rows", refuse)
    assert disagreement(belief.p_best(), known[0]) <= 1e-12
    assert disagreement(belief.expected_loss(), known[1], spread_of(belief)) <= 1e-12
    with pytest.raises(AssertionError, match="asked alone"):
        StudentT(np.zeros((5, 2)), 0.0, 3.0).p_best()  # points are


def test_the_comparison_sees_what_is_slightly_wrong(monkeypatch):
    """Negative control: without splitting, panels that are too wide pass for good ones."""
    belief = normal_rows(60, 6, 5, scales=8.0, dfs=(1.2, 30.0))
    p = Belief.p_best(belief)
    monkeypatch.setattr(rows, "tolerance", lambda K: 1e-6)
    assert disagreement(belief.p_best(), p) > 1e-12


def test_a_row_that_does_not_converge_is_asked_alone(monkeypatch):
    belief = normal_rows(30, 10, 11)
    p, loss = one_by_one(belief)
    monkeypatch.setattr(rows, "MOST_ROUNDS", 1)
    arrays = belief.loc, belief.scale, np.broadcast_to(belief.df, belief.loc.shape)
    assert not rows.p_best(*arrays)[1].all() and not rows.expected_loss(*arrays)[1].all()
    assert disagreement(belief.p_best(), p) <= 1e-12
    assert disagreement(belief.expected_loss(), loss, spread_of(belief)) <= 1e-12


def test_the_shape_is_that_of_the_belief():
    belief = normal_rows(24, 5, 12)
    boxed = StudentT(belief.loc.reshape(2, 3, 4, 5), belief.scale.reshape(2, 3, 4, 5), belief.df[0])
    assert np.array_equal(boxed.p_best().reshape(24, 5), belief.p_best())
    assert StudentT(np.zeros((0, 3)), 1.0, 3.0).p_best().shape == (0, 3)
