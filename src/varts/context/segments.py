"""The best arm for each value of a category, and for low, middle and high numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varts.beliefs.best_arm import REWARDS_PER_ARM, leads
from varts.context.inference import symmetric
from varts.context.overall import ranked_at
from varts.context.units import Units, beyond_data, mean_rows
from varts.priors import LinearNormalGamma

if TYPE_CHECKING:
    import polars as pl

FEWEST_UNITS = 10  # in a group, to name an arm for it


def by_value(
    posterior: LinearNormalGamma, units: Units, arms: list[str], goal: str, level: float = 0.95
) -> pl.DataFrame:
    """Return a row per group of units and arm.

    A group (`feature`, `value`) has `units` members, and all columns are about its mean reward if
    the whole group gets the same arm: `estimate`, `mean_low` and `mean_high`; `worth`, the
    effective number of rewards of the group's average unit behind the estimate; `p_best`, the
    probability that the arm is the best one for the group; and `expected_loss` per unit. `named`
    is true for the best arm of a group if there is enough data: ten units, ten effective rewards
    per arm on average, odds three times those among equal arms, and only feature values that units
    with a reward have had.

    Args:
        posterior: The posterior of every arm's regression, in the rewards' unit.
        units: The units.
        arms: The arms' names.
        goal: "max" or "min".
        level: The probability of the credible intervals.
    """
    import polars as pl

    groups, K = units.groups(), len(arms)
    x = np.array([mean_rows(units.x[group.members]) for group in groups])
    x = x.reshape(len(groups), posterior.d)  # also without groups or features
    size = np.array([int(group.members.sum()) for group in groups], dtype=np.int64)
    skewed = posterior if groups else symmetric(posterior)  # no rows of skewed beliefs
    belief, (estimate, worth) = ranked_at(skewed, x, goal), posterior.at(x)
    low, high = skewed.belief(x).interval(level)
    p_best, loss = belief.p_best(), belief.expected_loss()
    enough = (size >= FEWEST_UNITS) & (worth.mean(axis=1) >= REWARDS_PER_ARM) & leads(p_best)
    enough &= ~beyond_data(posterior, x)
    named = (np.arange(K) == p_best.argmax(axis=1)[:, None]) & enough[:, None]
    body = {
        "feature": [group.feature for group in groups for _ in arms],
        "value": [group.value for group in groups for _ in arms],
        "units": np.repeat(size, K),
        "arm": [*arms] * len(groups),
        "estimate": estimate.ravel(),
        "mean_low": low.ravel(),
        "mean_high": high.ravel(),
        "worth": worth.ravel(),
        "p_best": p_best.ravel(),
        "expected_loss": loss.ravel(),
        "named": named.ravel(),
    }
    words = dict.fromkeys(("feature", "value", "arm"), pl.String)
    return pl.DataFrame(body, schema_overrides=words)
