"""Blocks merged into a study, always along the same tree: the sums are equal to the last bit.

Neighbours of equal size are merged first, like the carries of a binary counter. How a sum is
rounded then depends on the number of blocks alone, and whoever plays 2, 4, 8, ... neighbours that
begin at a multiple of their number may merge them before handing them over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.simulation.results import RUNS_PER_BLOCK, PolicyResult, RegretCurve

T = TypeVar("T")


class PairwiseTree(Generic[T]):
    """Merges what is added, in order, along the tree."""

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._subtrees: list[tuple[int, T]] = []  # sizes decrease, so there are only a few

    def add(self, value: T, blocks: int = 1) -> None:
        """Add the next block, or so many that are merged already."""
        while self._subtrees and self._subtrees[-1][0] == blocks:
            size, earlier = self._subtrees.pop()
            value, blocks = self._merge(earlier, value), size + blocks
        self._subtrees.append((blocks, value))

    @property
    def subtrees(self) -> list[tuple[int, T]]:
        """What can still be added to: blocks that are merged, and how many, the most first."""
        return list(self._subtrees)

    def total(self) -> T | None:
        """All that was added, merged; None if that was nothing."""
        if not self._subtrees:
            return None
        *others, (_, total) = self._subtrees
        for _, earlier in reversed(others):
            total = self._merge(earlier, total)
        return total


@cache
def merge_order(blocks: int) -> NDArray[np.int64]:
    """The tree of so many blocks as pairs of their numbers, for a compiled loop to merge in place.

    >>> merge_order(5).tolist()
    [[0, 1], [2, 3], [0, 2], [0, 4]]
    """
    pairs: list[tuple[int, int]] = []

    def note(one: int, other: int) -> int:
        pairs.append((one, other))
        return one

    tree = PairwiseTree(note)
    for block in range(blocks):
        tree.add(block)
    tree.total()
    order = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    order.flags.writeable = False
    return order


def subtree_size(first: int, at_most: float) -> int:
    """How many blocks, from the first on, are a whole subtree: the most within the limit, or 1.

    >>> subtree_size(8, at_most=100), subtree_size(12, at_most=100), subtree_size(0, at_most=7)
    (8, 4, 4)
    """
    size = 1
    while 2 * size <= at_most and first % (2 * size) == 0:
        size *= 2
    return size


@dataclass(frozen=True)
class BlockResults:
    """The results of some neighbouring blocks, merged."""

    blocks: int
    policies: Mapping[str, PolicyResult]  # by label
    seconds: float = 0.0  # spent on them, where somebody wants to know

    def merge(self, later: BlockResults) -> BlockResults:
        """With the blocks that follow."""
        policies = {
            label: result.merge(later.policies[label]) for label, result in self.policies.items()
        }
        return BlockResults(self.blocks + later.blocks, policies, self.seconds + later.seconds)


def split(
    results: Mapping[str, PolicyResult],
    blocks: Sequence[int],
    curves: Mapping[str, Sequence[tuple[Floats, Floats]]],
) -> tuple[BlockResults, ...]:
    """The results of the first runs, cut into subtrees of so many whole blocks, as views.

    `curves` has the mean and m2 of each subtree, by label.
    """
    parts, first = [], 0
    for place, count in enumerate(blocks):
        last = first + count * RUNS_PER_BLOCK
        policies = {
            label: result.part(slice(first, last), RegretCurve(last - first, *curves[label][place]))
            for label, result in results.items()
        }
        parts.append(BlockResults(count, policies))
        first = last
    return tuple(parts)
