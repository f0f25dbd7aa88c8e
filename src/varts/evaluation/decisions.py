"""A log as arrays: a row per decision with a reward and a probability, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.features import Features

# A probability estimated from a thousand draws counts as at least one of them.
SMALLEST_ESTIMATE = 1e-3


@dataclass(frozen=True)
class Decisions:
    """The chosen arm, its probability and its reward, for every decision of a log.

    Args:
        arms: The arms' names.
        arm: The index of the chosen arm.
        reward: The reward.
        probability: The probability of the chosen arm.
        known: The point in the log up to which rewards were known when the arm was chosen.
        settled: The point at which the decision's own reward became known.
        unit: A number per unit; a decision without a unit has its own.
        chances: The probability of every arm, a row per decision; None if the log lacks them.
        in_play: Whether each arm was in play, a row per decision; None if the log doesn't say.
        after_end: How many decisions came after the experiment had ended with a winner.
        estimated: How many probabilities were estimated.
        rows: How many rows the log has.
        left_out: Rows that could not be used, by reason.
        features: The features of the contexts; None if the log was read without them.
        x: The encoded context of every decision.
        contexts: Returns the contexts themselves, a mapping per decision.
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

        A decision's score may only use what was known when its arm was drawn. The arm of a sticky
        unit was drawn at its first decision, so its later decisions may not use later rewards.
        """
        _, first, back = np.unique(self.unit, return_index=True, return_inverse=True)
        return np.asarray(first[back], dtype=np.int64)
