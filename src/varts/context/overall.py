"""Every arm for all units: its mean reward, how often it is best, and its expected loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from varts.context.inference import symmetric
from varts.context.units import Units
from varts.priors import LinearNormalGamma

if TYPE_CHECKING:
    import polars as pl

    from varts._validation import Floats
    from varts.beliefs import StudentT


def ranked_at(posterior: LinearNormalGamma, x: Floats, goal: str) -> StudentT:
    """Return the belief about the means at x, mirrored for goal "min" so that higher is better.

    Args:
        posterior: The posterior of every arm's regression.
        x: The encoded contexts, a row per unit.
        goal: "max" or "min".
    """
    belief = posterior.belief(x)
    return belief if goal == "max" else belief.mirrored()


def averaged(
    belief_at: Callable[[Floats], StudentT], units: Units
) -> tuple[Floats, Floats, Floats]:
    """Return P(best), expected loss and the share of units for which an arm has the best estimate.

    The first two are computed for each unit and averaged over the units.

    Args:
        belief_at: The belief about the arms' means at encoded contexts, where higher is better.
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

    `estimate`, `mean_low` and `mean_high` are the mean reward if all units got the arm, with its
    interval. `p_best` is the average of P(best) over the units: the expected share of units for
    which the arm is best. `expected_loss` is the expected loss per unit if all units got the arm
    instead of the best arm for each. `gets` is the share of units for which it has the best
    estimate.

    Args:
        posterior: The posterior of every arm's regression, in the rewards' unit.
        units: The units.
        arms: The arms' names.
        goal: "max" or "min".
        level: The probability of the credible intervals.
    """
    import polars as pl

    plain = symmetric(posterior)
    p_best, loss, gets = averaged(lambda x: ranked_at(plain, x, goal), units)
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
