"""The tally: the same sums to the last bit, however the blocks were grouped."""

import numpy as np
import pytest

from varts import ArmStats
from varts.simulation.engine.blocks import Played
from varts.simulation.reduction import Part, Tally


def blocks(count):
    rng = np.random.default_rng(5)
    for _ in range(count):
        final = rng.normal(size=8)
        curve = ArmStats.from_rewards([final, 3 * final])
        yield Part(1, {"it": Played(final, final**2, curve)})


def added(parts):
    tally = Tally()
    for part in parts:
        tally.add(part)
    return tally.total()


def test_nothing_was_added():
    assert added([]) is None


@pytest.mark.parametrize(
    "sizes", [[16, 8, 2, 1], [1, 1, 2, 4, 8, 8, 2, 1], [8, 4, 4, 1, 1, 2, 4, 2, 1]]
)
def test_groups_do_not_matter(sizes):
    """27 blocks one by one, and in groups that begin at a multiple of their size."""
    single = list(blocks(27))
    one_by_one = added(single).played["it"]
    ends = np.cumsum(sizes)
    groups = [added(single[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    grouped = added(groups).played["it"]
    assert grouped.curve == one_by_one.curve
    assert np.array_equal(grouped.final, one_by_one.final)
    assert np.array_equal(
        one_by_one.final, np.concatenate([part.played["it"].final for part in single])
    )
    assert one_by_one.curve.mean == pytest.approx(one_by_one.final.mean() * np.array([1, 3]))


def test_another_order_of_merging_does_matter():
    """The control: one after the other rounds differently, so equality above says something."""
    first, *others = blocks(27)
    for part in others:
        first = first.then(part)
    assert first.played["it"].curve != added(blocks(27)).played["it"].curve
