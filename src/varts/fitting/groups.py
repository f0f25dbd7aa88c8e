"""Groups of arms, by the column of a history."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts.fitting.history import History


def group_arms(history: History) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names of the groups in a natural order (2 before 10), and the group of each arm."""
    column = history.arms["group"].to_list()
    names = tuple(sorted(set(column), key=_natural_order))
    if len(names) < 2:
        raise ValueError(
            f"groups must have at least 2 values in the history, got {names[0]!r} only"
        )
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[name] for name in column])


def _natural_order(name: str) -> list[Any]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]
