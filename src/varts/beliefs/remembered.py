"""Formulas of one number that are worked out once for each.

A reward changes what is known of one arm. The degrees of freedom of the others are what they were,
and with them the dearest numbers of a t distribution, its quantiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varts._validation import Floats

MOST_REMEMBERED = 2_000  # answers of a formula; then all are forgotten


class Remembered:
    """A formula whose answers are remembered by the number that they were asked for.

    An answer depends on nothing else, not even on the numbers beside it: what is remembered is what
    the formula would say again, to the last bit. Threads may share it.

    Args:
        formula: From an array of numbers to an array of answers, a number or a row for each.

    >>> asked = []
    >>> square = Remembered(lambda x: asked.append(x.tolist()) or x * x)
    >>> square(np.array([1.0, 2.0])), square(np.array([3.0, 2.0]))
    (array([1., 4.]), array([9., 4.]))
    >>> asked
    [[1.0, 2.0], [3.0]]
    """

    def __init__(self, formula: Callable[[Floats], Floats]) -> None:
        self.formula = formula
        self._answers: dict[float, Any] = {}

    def __call__(self, x: Floats) -> Floats:
        """The answers for these numbers, in their order.

        Args:
            x: An array with one axis.
        """
        numbers = x.tolist()
        found = list(map(self._answers.get, numbers))
        if None in found:
            new = [i for i, answer in enumerate(found) if answer is None]
            if len(self._answers) > MOST_REMEMBERED:
                self._answers.clear()
            for i, answer in zip(new, self.formula(x[new]).tolist(), strict=True):
                found[i] = self._answers[numbers[i]] = answer
        return np.array(found)
