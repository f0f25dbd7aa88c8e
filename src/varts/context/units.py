"""The units of a report: their contexts, encoded contexts, and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate
from varts.features import MISSING, OTHER, Features, features_from
from varts.policies.linear import NO_EFFECT
from varts.priors import LinearNormalGamma

FEW_VALUES = 3  # a number with at most this many values has a group per value, else three
SAME = 1e-12  # a smaller relative difference is rounding
ROWS_AT_ONCE = 1000  # units whose beliefs are in memory at once


class Group(NamedTuple):
    """Units with the same value of a feature."""

    feature: str
    value: str
    members: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Units:
    """A sample of contexts, as given and as encoded for a regression.

    Args:
        features: The features of a context.
        contexts: The contexts, as `Features.check` returns them.
        x: The encoded contexts, a row per unit.
    """

    features: Features
    contexts: tuple[dict[str, float | str], ...]
    x: Floats

    @classmethod
    def seen(cls, features: Any, contexts: Any) -> Units:
        """Return the units with these contexts.

        Args:
            features: A `Features`, its dict, or kinds by name.
            contexts: Mappings from features to values, or a polars data frame of them.

        >>> Units.seen({"visits": "number"}, [{"visits": 1}, {"visits": 3}]).mean
        array([2.])
        """
        features = features_from(features)
        rows = contexts.iter_rows(named=True) if hasattr(contexts, "iter_rows") else contexts
        if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, Iterable):
            raise TypeError(f"contexts must be a list of contexts, got {abbreviate(contexts)}")
        checked = tuple(features.check(context) for context in rows)
        if not checked:
            raise ValueError("contexts must be at least one context, got none")
        x = np.array([features.encode_checked(context) for context in checked])
        return cls(features, checked, x.reshape(len(checked), features.d))

    def __len__(self) -> int:
        return len(self.contexts)

    @property
    def mean(self) -> Floats:
        """The average encoded context."""
        return mean_rows(self.x)

    def parts(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the distinct encoded contexts, in chunks, and the share of units with each."""
        rows, count = np.unique(self.x, axis=0, return_counts=True)
        for at in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(at, at + ROWS_AT_ONCE)
            yield rows[part], count[part] / len(self)

    def groups(self) -> list[Group]:
        """Return the units by each value of each category, and by low, middle and high numbers.

        Values that no unit has are left out.

        >>> units = Units.seen({"visits": "number"}, [{"visits": v} for v in (1, 2, 3, 4, 5, 6)])
        >>> [(group.value, int(group.members.sum())) for group in units.groups()]
        [('up to 2', 2), ('2 to 4', 2), ('above 4', 2)]
        """
        found = []
        for name in self.features.kinds:
            values = [context.get(name) for context in self.contexts]
            words = self.features.categories.get(name)
            if words is None:
                found += list(_numbers(name, values))
            else:
                known = np.array([value if value in words else OTHER for value in values])
                found += [Group(name, word, known == word) for word in words]
        return [group for group in found if group.members.any()]


def mean_rows(x: Floats) -> Floats:
    """Return the average row, accurate even for features like 1e9 +/- 1.

    Args:
        x: The rows.
    """
    return np.asarray(x[0] + (x - x[0]).mean(axis=0))


def unlearnt(posterior: LinearNormalGamma) -> NDArray[np.bool_]:
    """Return the columns that were the same for all units with a reward.

    Nothing could be learned about them. Without a prior, a policy assumes that they have no effect.

    Args:
        posterior: The posterior of every arm's regression.
    """
    precision = np.diagonal(np.asarray(posterior.precision), axis1=-2, axis2=-1)
    return np.asarray((np.atleast_2d(precision) >= NO_EFFECT).any(axis=0))


def beyond_data(posterior: LinearNormalGamma, x: Floats) -> NDArray[np.bool_]:
    """Return which rows differ from all units with rewards in an `unlearnt` column.

    Args:
        posterior: The posterior of every arm's regression.
        x: The encoded contexts, a row per unit.
    """
    column = unlearnt(posterior)
    center = np.atleast_2d(posterior.center)[0, column]  # the value of all units with a reward
    return np.asarray((np.abs(x[:, column] - center) > SAME * np.abs(center)).any(axis=1))


def _numbers(name: str, values: list[Any]) -> Iterator[Group]:
    known = np.array([value is not None for value in values])
    number = np.array([0.0 if value is None else value for value in values])
    if known.any():
        distinct = np.unique(number[known])
        if len(distinct) <= FEW_VALUES:
            yield from (Group(name, f"{one:g}", known & (number == one)) for one in distinct)
        else:
            low, high = np.quantile(number[known], [1 / 3, 2 / 3], method="inverted_cdf")
            yield Group(name, f"up to {low:g}", known & (number <= low))
            yield Group(name, f"{low:g} to {high:g}", known & (number > low) & (number <= high))
            yield Group(name, f"above {high:g}", known & (number > high))
    yield Group(name, MISSING, ~known)
