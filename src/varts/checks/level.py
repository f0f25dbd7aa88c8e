"""Whether arms that drift move together: the level of all of them, or each on its own.

If the level moves for all arms, as on a weekend or in a campaign, comparisons within days remove
it, and a half-life only forgets. If arms move differently, old rewards say little about which arm
is best now, and a half-life helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from varts._validation import Floats

Movement = Literal["together", "apart", "unknown"]
MOST_ARMS = 50  # with the most rewards
FEWEST_OF_AN_ARM = 64  # rewards
FEWEST_IN_A_CELL = 8
MOST_PERIODS = 16
CLEAR = 0.999  # probability of the chi-square distribution that arms which stand still must exceed
ALIKE = 0.25  # of the sum of squares that arms which stand still would add


@dataclass(frozen=True)
class Periods:
    """The rewards of every arm in consecutive periods of the log, for the arms of one experiment.

    Args:
        n: Number of rewards, with an arm per row and a period per column.
        total: Sum of these rewards.
        squares: Sum of their squares.
    """

    n: Floats
    total: Floats
    squares: Floats

    def coarser(self) -> Periods:
        """The same with at most 16 periods: neighbours are merged."""
        step = -(-self.n.shape[1] // MOST_PERIODS)
        starts = np.arange(0, self.n.shape[1], max(step, 1))
        parts = (np.add.reduceat(x, starts, axis=1) for x in (self.n, self.total, self.squares))
        return Periods(*parts)


def movement(periods: Periods) -> Movement:
    """Whether the arms moved together from period to period.

    It fits "arm + period" to the means of the cells, with weights n / variance. If the other arms
    had stood still while the most played one moved, its level would add a certain sum of squares to
    what this model can't explain. The arms move together if what it can't explain is less than a
    quarter of that. If neither of the two sums stands out from chance, it can't be known.

    Args:
        periods: The rewards of the arms by period.
    """
    cells = periods.coarser()
    played = np.flatnonzero(cells.n.sum(axis=1) >= FEWEST_OF_AN_ARM)
    played = played[np.argsort(-cells.n[played].sum(axis=1), kind="stable")][:MOST_ARMS]
    n, total, squares = (x[played] for x in (cells.n, cells.total, cells.squares))
    used = n >= FEWEST_IN_A_CELL
    used &= (used.sum(axis=1) >= 2)[:, None]
    n = np.where(used, n, 0.0)
    mean = np.divide(total, n, out=np.zeros_like(n), where=used)
    within = np.where(used, squares - n * mean**2, 0.0).sum(axis=1)
    free = n.sum(axis=1) - used.sum(axis=1)
    variance = np.divide(within, free, out=np.zeros_like(free), where=free > 0)
    rows = np.flatnonzero(variance > 0)
    if rows.size < 2:
        return "unknown"
    weight, mean, used = n[rows] / variance[rows, None], mean[rows], used[rows]
    level, left = _fit(weight, mean)
    degrees = int(used.sum()) - rows.size - int(used.any(axis=0).sum()) + 1
    if degrees < 1:
        return "unknown"
    others = np.arange(rows.size) != weight.sum(axis=1).argmax()
    if_still = _spread(weight[others], np.broadcast_to(level, weight[others].shape))
    beyond_chance = special.chdtri(degrees, 1 - CLEAR) - degrees
    if left - degrees > max(beyond_chance, ALIKE * if_still):
        return "apart"
    if if_still < beyond_chance:
        return "unknown"
    return "together" if left - degrees <= ALIKE * if_still else "apart"


def _fit(weight: Floats, mean: Floats) -> tuple[Floats, float]:
    """The level of every period, and the weighted sum of squares that arm + period leave over."""
    in_arm, in_period = weight.sum(axis=1), weight.sum(axis=0)
    there = in_period > 0
    w = weight[:, there]
    # The arms' means drop out of the normal equations, which leaves one equation per period.
    matrix = np.diag(in_period[there]) - w.T @ (w / in_arm[:, None])
    centered = mean - ((weight * mean).sum(axis=1) / in_arm)[:, None]
    level = np.zeros(weight.shape[1])
    level[there] = np.linalg.lstsq(matrix, (w * centered[:, there]).sum(axis=0), rcond=None)[0]
    return level, _spread(weight, mean - level)


def _spread(weight: Floats, x: Floats) -> float:
    """The weighted sum of squares of x around the weighted mean of its row."""
    middle = (weight * x).sum(axis=1) / weight.sum(axis=1)
    return float((weight * (x - middle[:, None]) ** 2).sum())
