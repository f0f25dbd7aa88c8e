"""A log as arrays: a row per decision that has a reward and a probability, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.features import Features

# A probability that was estimated by a thousand draws is no smaller than one of them.
SMALLEST_ESTIMATE = 1e-3


@dataclass(frozen=True)
class Decisions:
    """What was decided, how likely that was, and what it earned.

    Args:
        arms: The arms' names.
        arm: The number of the arm of every decision.
        reward: What it earned.
        probability: How likely that arm was.
        known: Up to which point of the log the decision could know rewards.
        settled: At which point its own reward became known.
        unit: A number for whom it was for; every decision its own where that is not known.
        chances: How likely every arm was, a row per decision; None if the log does not say.
        in_play: Whether every arm was in play, a row per decision; None if the log does not say.
        after_end: How many decisions an experiment made after it had ended with a winner.
        estimated: How many probabilities were estimated.
        rows: How many rows the log has.
        left_out: Rows that could not be used, by reason.
        features: What the contexts have; None if the log was read without them.
        x: The numbers of every decision's context.
        contexts: Makes the contexts themselves, a mapping per decision.
    """

    arms: tuple[str, ...]
    arm: NDArray[np.int64]
    reward: Floats
    probability: Floats
    known: Floats
    settled: Floats
    unit: NDArray[np.int64]
    chances: Floats | None = None
    in_play: NDArray[np.bool_] | None = None
    after_end: int = 0
    estimated: int = 0
    rows: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    features: Features | None = None
    x: Floats | None = None
    contexts: Callable[[], list[dict[str, float | str]]] | None = None

    def __len__(self) -> int:
        return len(self.arm)

    def first_of_unit(self) -> NDArray[np.int64]:
        """The row of the first decision for the same unit.

        What may enter the score of a decision is what was known when its arm was drawn. A unit that
        keeps its arm had it drawn at its first decision; its later ones may not use rewards since.
        """
        _, first, back = np.unique(self.unit, return_index=True, return_inverse=True)
        return np.asarray(first[back], dtype=np.int64)
