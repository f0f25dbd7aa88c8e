"""Where the checkpoints of a history lie: after so many rewards, or at the full hour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import integer, real
from varts.live.validation import read_seconds

POINTS = 50  # enough for a smooth curve
MOST_CHECKPOINTS = 10_000  # about a minute of P(best) with three arms
MOST_ROWS = 2_000_000  # of checkpoints and arms: a quarter of a gigabyte


class Spacing(NamedTuple):
    """How far apart checkpoints are, by the argument that says it."""

    name: str  # points, every_rewards or every
    size: int  # how many of them, rewards between them, or microseconds between them

    @property
    def by_time(self) -> bool:
        """Whether they are moments, and not numbers of rewards."""
        return self.name == "every"

    def stops(self, rewards: int, span: tuple[int, int], K: int) -> NDArray[np.int64]:
        """All checkpoints but the last, which is the end of the log: numbers of rewards, or times
        in microseconds.

        Args:
            rewards: How many there are.
            span: The first and the last time.
            K: The number of arms.

        >>> Spacing("points", 4).stops(rewards=10, span=(0, 0), K=3)
        array([3, 5, 8])
        >>> Spacing("every", 60).stops(rewards=10, span=(100, 250), K=3)
        array([120, 180, 240])
        """
        if self.name == "points":
            count = min(self.size, max(rewards, 1))
            self._check_count(count, K)
            return np.array([-(-rewards * i // count) for i in range(1, count)], dtype=np.int64)
        first, end = self.size, rewards
        if self.by_time:
            first, end = (span[0] // self.size + 1) * self.size, span[1]
        self._check_count(max(-(-(end - first) // self.size), 0) + 1, K)
        return np.arange(first, end, self.size, dtype=np.int64)

    def _check_count(self, count: int, K: int) -> None:
        most = min(MOST_CHECKPOINTS, max(MOST_ROWS // K, 1))
        if count > most:
            arms = f"{K:,} arms" if K > 1 else "one arm"
            raise ValueError(
                f"{self.name} must make at most {most:,} checkpoints with {arms}, got {count:,}"
            )


def check_spacing(points: Any, every_rewards: Any, every: Any) -> Spacing:
    """One of the three, or the usual number of checkpoints if none is given."""
    given = {"points": points, "every_rewards": every_rewards, "every": every}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"one of points, every_rewards and every must be given, got {' and '.join(names)}"
        )
    if every is not None:
        seconds = real("every", read_seconds("every", every), above=0, at_most=1e10)
        return Spacing("every", max(round(seconds * 1e6), 1))
    if every_rewards is not None:
        return Spacing("every_rewards", integer("every_rewards", every_rewards, at_least=1))
    return Spacing("points", integer("points", POINTS if points is None else points, at_least=1))
