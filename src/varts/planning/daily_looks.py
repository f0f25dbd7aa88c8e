"""When a simulated experiment would stop: the live report's stop rule, asked once a day.

The engine writes down the statistics of the arms at the end of each day. From them we build the
state that a live experiment would have: sums by arm and day, which are compared within days, and
with returning visitors the sums of units in expectation. The live report's own code then decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.live.core.effective import Cells
from varts.live.core.state import Config, State
from varts.live.core.sums import NOT_SHARED, Shared, Sums
from varts.live.report.estimates import p_best_in_play
from varts.live.report.rules import winner_of

TINY = 1e-300


@dataclass(frozen=True)
class Shape:
    """The skewness and the kurtosis of rewards, which the engine doesn't write down.

    Args:
        skewness: Of the rewards of each arm; None for rewards of 0 and 1, where they follow from
            the mean.
        kurtosis: Likewise.
    """

    skewness: Any = 0.0
    kurtosis: Any = 3.0

    def powers(self, n: Floats, mean: Floats, m2: Floats) -> tuple[Floats, Floats]:
        """The sums of the third and fourth powers of deviations; arms are the first axis.

        Args:
            n: The number of rewards.
            mean: Their mean.
            m2: The sum of squared deviations.

        >>> Shape(None, None).powers(np.array([4.0]), np.array([0.25]), np.array([0.75]))
        (array([0.375]), array([0.328125]))
        """
        if self.skewness is None:  # n p q (1 - 2 p) and n p q (1 - 3 p q), with n p q = m2
            return m2 * (1 - 2 * mean), m2 * (1 - 3 * mean * (1 - mean))
        column = (-1, *(1,) * (np.ndim(n) - 1))
        skewness, kurtosis = (
            np.reshape(x, column) if np.ndim(x) else x for x in (self.skewness, self.kurtosis)
        )
        sd = np.sqrt(m2 / np.maximum(n, 1.0))
        return skewness * m2 * sd, kurtosis * m2 * sd * sd


ZERO_ONE = Shape(None, None)


@dataclass(frozen=True)
class Visitors:
    """Visitors who return, and how similar their rewards are.

    Args:
        visits: The average number of visits per visitor in the planned days.
        correlation: The intra-class correlation of a visitor's rewards on the same arm.
        population: How many visitors there are.
        sticky: Whether a visitor keeps the arm of the first visit.
    """

    visits: float
    correlation: float
    population: int
    sticky: bool = False

    def shared(self, n: float, m2: float, total: float) -> Shared:
        """The sums over visitors of an arm with n rewards, in expectation, relative to its mean.

        Each visit is by one of the visitors, all equally likely. So a visitor of the arm has made
        (n - 1)/population other visits to it on average, or, if all visits of a visitor are to the
        same arm, (total - 1)/population. The design effect is 1 + correlation * that number.

        Args:
            n: The number of rewards of the arm.
            m2: The sum of squared deviations from their mean.
            total: The number of rewards of all arms.

        >>> Visitors(2.5, 0.2, 1000).shared(500.0, 100.0, 1000.0).units
        394
        """
        M, visits = self.population, total if self.sticky else n
        squares = n + n * (visits - 1) / M
        seen = -M * np.expm1(visits * np.log1p(-1 / M)) if M > 1 else 1.0
        units = max(1, round(seen * n / visits))
        effect = 1 + self.correlation * (squares / max(n, 1.0) - 1)
        return Shared(units, (1 - squares / max(n * n, TINY)) * m2 * effect, 0.0, squares)


class Stopped(NamedTuple):
    """How a simulated experiment ended.

    Args:
        look: The look at which the rule was met; -1 if it wasn't.
        arm: The arm that met it; -1 if none did.
    """

    look: int
    arm: int


def find_stop(
    config: Config, known: Floats, shape: Shape, visitors: Visitors | None, first: int = 0
) -> Stopped:
    """Check the stop rule at each look until it is met.

    Args:
        config: The configuration of the experiment.
        known: n, mean and m2 of the rewards that count at each look: (3, looks, arms).
        shape: The shape of the rewards.
        visitors: The visitors who return; None if nobody does.
        first: The first look to ask; it wasn't met at those before.
    """
    cells, looks = _by_day(known, shape), known.shape[1]
    for look in range(first, looks):
        if not known[0, look].any():
            continue
        winner = winner_of(_state(config, known[:, look], cells, look, shape, visitors))
        if winner is not None:
            return Stopped(look, winner)
    return Stopped(-1, -1)


def leader_of(config: Config, known: Floats, shape: Shape, visitors: Visitors | None) -> int:
    """The arm with the highest P(best) at the last look; -1 while arms can't be compared.

    Args:
        config: As for `find_stop`, as are the others.
        known: The rewards that count.
        shape: Their shape.
        visitors: The visitors who return.
    """
    state = _state(config, known[:, -1], _by_day(known, shape), -1, shape, visitors)
    p_best = p_best_in_play(state)
    return int(p_best.argmax()) if p_best.size else -1


def _by_day(known: Floats, shape: Shape) -> Floats:
    """The moments of the rewards that began to count on each day: (5, arms, days)."""
    n, mean, m2 = known.transpose(0, 2, 1)
    before = np.concatenate([np.zeros((3, len(n), 1)), np.stack([n, mean, m2])[:, :, :-1]], axis=2)
    new = n - before[0]
    some = np.maximum(new, 1.0)
    # Sums relative to an arm's last mean, so that large levels keep their digits.
    center = mean[:, -1:]
    total = n * (mean - center) - before[0] * (before[1] - center)
    day = np.where(new > 0, total / some, 0.0)
    gap = (center + day) - before[1]
    between = gap * gap * before[0] * new / np.maximum(n, 1.0)
    inside = np.where(new > 1, np.maximum(m2 - before[2] - between, 0.0), 0.0)
    mean_of_day = center + day
    return np.stack([new, mean_of_day, inside, *shape.powers(new, mean_of_day, inside)])


def _state(
    config: Config,
    known: Floats,
    cells: Floats,
    look: int,
    shape: Shape,
    visitors: Visitors | None,
) -> State:
    """The state of a live experiment that has seen these rewards."""
    n, mean, m2 = known
    m3, m4 = shape.powers(n, mean, m2)
    rows, total = {}, float(n.sum())
    for arm, (count, m, squares, third, fourth) in enumerate(
        zip(n.tolist(), mean.tolist(), m2.tolist(), m3.tolist(), m4.tolist(), strict=True)
    ):
        if not count:
            continue
        shared = NOT_SHARED if visitors is None else visitors.shared(count, squares, total)
        rows[arm] = Sums(int(count), count, 0.0, squares, third, fourth, m, 0, None, shared)
    if config.options.block_length is None:
        return State.simulated(config, rows, None)
    days: NDArray[np.int64] = np.flatnonzero(cells[0].sum(axis=0)[: look % cells.shape[2] + 1] > 0)
    return State.simulated(config, rows, Cells(tuple(days.tolist()), cells[:, :, days], {}))
