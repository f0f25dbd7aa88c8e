"""The pairwise tree: the same sums to the last bit, however the blocks were grouped."""

import numpy as np
import pytest

from varts.simulation.results import (
    BlockResults,
    PairwiseTree,
    PolicyResult,
    RegretCurve,
    merge_order,
    subtree_size,
)


def blocks(count):
    rng = np.random.default_rng(5)
    for _ in range(count):
        final = rng.normal(size=8)
        rows = np.array([final, 3 * final])
        mean = rows.mean(axis=1)
        curve = RegretCurve(8, mean, ((rows - mean[:, None]) ** 2).sum(axis=1))
        yield BlockResults(1, {"it": PolicyResult(final, final**2, curve)})


def merged(parts):
    tree = PairwiseTree(BlockResults.merge)
    for part in parts:
        tree.add(part, part.blocks)
    return tree.total()


def test_nothing_was_added():
    assert merged([]) is None


@pytest.mark.parametrize(
    "sizes", [[16, 8, 2, 1], [1, 1, 2, 4, 8, 8, 2, 1], [8, 4, 4, 1, 1, 2, 4, 2, 1]]
)
def test_groups_do_not_matter(sizes):
    """27 blocks one by one, and in groups that begin at a multiple of their size."""
    single = list(blocks(27))
    ends = np.cumsum(sizes)
    groups = [merged(single[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    assert merged(groups) == merged(single)
    one_by_one = merged(single).policies["it"]
    finals = [part.policies["it"].final for part in single]
    assert np.array_equal(one_by_one.final, np.concatenate(finals))
    assert one_by_one.curve.mean == pytest.approx(one_by_one.final.mean() * np.array([1, 3]))
    assert one_by_one.curve.variance[0] == pytest.approx(one_by_one.final.var(ddof=1))


def test_another_order_of_merging_does_matter():
    """The control: one after the other rounds differently, so equality above says something."""
    first, *others = blocks(27)
    for part in others:
        first = first.merge(part)
    assert first.policies["it"].curve != merged(blocks(27)).policies["it"].curve


@pytest.mark.parametrize("count", range(1, 20))
def test_merging_in_place_by_pairs_is_the_same_tree(count):
    """As nested pairs, which show the shape of the tree."""
    tree = PairwiseTree(lambda one, other: (one, other))
    for block in range(count):
        tree.add(block)
    places = list(range(count))
    for one, other in merge_order(count):
        places[one] = (places[one], places[other])
    assert places[0] == tree.total()


def test_a_subtree_begins_at_a_multiple_of_its_size():
    for first in range(40):
        for most in (0, 0.5, 1, 3, 8, 20.5):
            size = subtree_size(first, most)
            assert first % size == 0
            assert size == 1 or size <= most
            assert 2 * size > most or first % (2 * size)  # none larger would do
