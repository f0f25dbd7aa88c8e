"""Blocks added up to a study, always along the same tree: the sums are equal to the last bit.

Neighbours of equal size are merged first, like the carries of a binary counter. How a sum is
rounded then depends on the number of blocks alone, and whoever plays 2, 4, 8, ... neighbours that
begin at a multiple of their number may hand them over as one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Played


@dataclass(frozen=True)
class Part:
    """Some neighbouring blocks: what every policy left behind."""

    blocks: int
    played: Mapping[str, Played]
    seconds: float = 0.0  # spent on them, where somebody wants to know

    def then(self, later: Part) -> Part:
        """With the blocks that follow."""
        played = {label: _join(one, later.played[label]) for label, one in self.played.items()}
        return Part(self.blocks + later.blocks, played, self.seconds + later.seconds)


class Tally:
    """Parts, added in their order."""

    def __init__(self) -> None:
        self._parts: list[Part] = []  # of sizes that decrease: memory is that of a few parts

    def add(self, part: Part) -> None:
        while self._parts and self._parts[-1].blocks == part.blocks:
            part = self._parts.pop().then(part)
        self._parts.append(part)

    def total(self) -> Part | None:
        """All that was added, None if that was nothing."""
        total = None
        for part in reversed(self._parts):
            total = part if total is None else part.then(total)
        return total


def _join(one: Played, later: Played) -> Played:
    return replace(
        one,
        final=np.concatenate([one.final, later.final]),
        best_share=np.concatenate([one.best_share, later.best_share]),
        curve=one.curve.merge(later.curve),
    )
