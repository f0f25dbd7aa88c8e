"""The effect of each feature on the mean reward of an arm, in the feature's own unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varts.context.units import Units, unlearnt
from varts.features import MISSING, Features
from varts.priors import LinearNormalGamma

if TYPE_CHECKING:
    import polars as pl

LEVEL = "average unit"  # its mean reward is listed above the effects


def coefficients(
    posterior: LinearNormalGamma, units: Units, arms: list[str], level: float = 0.95
) -> pl.DataFrame:
    """Return a row per arm and effect; the first row of an arm is its mean for the average unit.

    `estimate`, `low` and `high` are per unit of a number, or compare a category with the first one.
    `sd` is the column's standard deviation among the units. `per_sd` is the estimate times that,
    which shows how much the column contributes to the differences between units. All but `sd` are
    null for a column that was the same for all units with a reward.

    Args:
        posterior: The posterior of every arm's regression, in the rewards' unit.
        units: The units.
        arms: The arms' names.
        level: The probability of the credible intervals.
    """
    import polars as pl

    K, columns = len(arms), units.features.columns
    slopes, mean = posterior.slope_beliefs(), posterior.belief(units.mean)
    sd = (units.x - units.mean).std(axis=0)
    unknown = np.append(False, unlearnt(posterior))
    loc, low, high = (
        np.column_stack([at_mean, slope])
        for at_mean, slope in zip(
            (mean.loc, *mean.interval(level)), (slopes.loc, *slopes.interval(level)), strict=True
        )
    )
    effects = {
        "estimate": loc,
        "low": low,
        "high": high,
        "sd": np.tile(np.append(np.nan, sd), (K, 1)),
        "per_sd": loc * np.append(np.nan, sd),
    }
    for name in ("estimate", "low", "high", "per_sd"):
        effects[name][:, unknown] = np.nan
    return pl.DataFrame(
        {
            "arm": [arm for arm in arms for _ in unknown],
            "column": ["", *columns] * K,
            "effect": [LEVEL, *describe_columns(units.features)] * K,
        }
        | {name: values.ravel() for name, values in effects.items()}
    ).fill_nan(None)


def describe_columns(features: Features) -> list[str]:
    """Return a description of each column of the regression.

    Args:
        features: The features of a context.

    >>> describe_columns(Features({"country": ["NL", "BE"], "visits": "number"}))
    ['country BE against NL', 'country other against NL', 'visits, per 1']
    """
    own: dict[str, list[str]] = {}
    for name, kind in features.kinds.items():
        if isinstance(kind, str):
            absent = [f"{name} {MISSING} against 0"] if name in features.optional else []
            own[name] = [f"{name}, per 1", *absent]
        else:
            words = (*kind[1:], features.categories[name][-1])
            own[name] = [f"{name} {word} against {kind[0]}" for word in words]
    single = [text for texts in own.values() for text in texts]
    pairs = [f"{a} x {b}" for one, two in features.interactions for a in own[one] for b in own[two]]
    return [*single, *pairs]
