"""Every arm for everybody: what it pays, how often it is best, what it loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from varts.context.units import Units
from varts.priors import LinearNormalGamma

if TYPE_CHECKING:
    import polars as pl

    from varts._validation import Floats
    from varts.beliefs import StudentT


def ranked_at(posterior: LinearNormalGamma, x: Floats, goal: str) -> StudentT:
    """Return the belief about the means at x with the best arm highest, whatever the goal.

    Args:
        posterior: What is known of every arm.
        x: A row of numbers per unit.
        goal: "max" or "min".
    """
    belief = posterior.belief(x)
    return belief if goal == "max" else belief.mirrored()


def averaged(
    belief_at: Callable[[Floats], StudentT], units: Units
) -> tuple[Floats, Floats, Floats]:
    """Return P(best), the expected loss and the share of units whose best estimate is the arm's.

    The first two are those of each unit, averaged over the units.

    Args:
        belief_at: The belief about the arms' means at rows of numbers, the best arm highest.
        units: The units.
    """
    p_best: Floats = np.zeros(1)
    loss: Floats = np.zeros(1)
    gets: Floats = np.zeros(1)
    for x, share in units.parts():
        belief = belief_at(x)
        p_best = p_best + share @ belief.p_best()
        loss = loss + share @ belief.expected_loss()
        gets = gets + np.bincount(belief.loc.argmax(axis=1), weights=share, minlength=belief.K)
    return p_best, loss, gets


def overall(
    posterior: LinearNormalGamma, units: Units, arms: list[str], goal: str, level: float = 0.95
) -> pl.DataFrame:
    """Return a row per arm, averaged over the units.

    The columns are `estimate`, `mean_low` and `mean_high`: the expected mean reward if all units
    got the arm, and its interval; `p_best`: the average of P(best) at each unit, which is the share
    of units that the arm is best for, in expectation; `expected_loss`: what the arm would lose per
    unit if all got it, against the best arm for each of them; `gets`: the share of units for which
    it has the best estimate.

    Args:
        posterior: What is known of every arm, in the rewards' unit.
        units: The units.
        arms: The arms' names.
        goal: "max" or "min".
        level: The probability of the intervals.
    """
    import polars as pl

    p_best, loss, gets = averaged(lambda x: ranked_at(posterior, x, goal), units)
    mean = posterior.belief(units.mean)
    low, high = mean.interval(level)
    return pl.DataFrame(
        {
            "arm": arms,
            "estimate": mean.loc,
            "mean_low": low,
            "mean_high": high,
            "p_best": p_best,
            "expected_loss": loss,
            "gets": gets,
        }
    )
