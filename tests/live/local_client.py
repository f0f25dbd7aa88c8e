"""A client that draws arms by itself, as the protocol says: the shortest one that is right."""

import itertools
import math
import random

from varts.live.core.local import is_held, number


class LocalClient:
    """Draws from an allocation. `skew` makes it draw from other probabilities than it was given.

    Args:
        allocation: What `exp.allocation()` returned.
        seed: Of its random numbers.
        skew: From the probabilities that it was given to those that it draws from.
    """

    def __init__(self, allocation, seed=1, skew=lambda p: p, prefix="d"):
        self.allocation, self.skew, self.prefix = allocation, skew, prefix
        self.random, self.count = random.Random(seed), itertools.count()

    def probabilities(self, who, context=None):
        """The probabilities that the allocation has for a unit, or for a decision without one."""
        its = self.allocation
        if its.holdout and is_held(its.key, who, its.holdout):
            return [one / sum(its.active) for one in its.active]
        if its.cells is None:
            return its.probabilities
        place = 0
        for name, values in zip(its.cells.features, its.cells.values, strict=True):
            value = (context or {}).get(name)
            word = "missing" if value is None else str(value)
            place = place * len(values) + (
                values.index(word) if word in values else len(values) - 1
            )
        return its.cells.probabilities[place]

    def decide(self, unit=None, context=None, age=0.0):
        """An exposure, as JSON."""
        its, id = self.allocation, f"{self.prefix}{next(self.count)}"
        p = self.skew(self.probabilities(id if unit is None else unit, context))
        if its.sticky and its.winner is None:
            arm = stick(its.key, unit, p)
        else:
            arm = self.random.choices(range(len(p)), p)[0]
        body = {"id": id, "arm": its.arms[arm], "version": its.version, "age": age}
        return body | {
            name: value
            for name, value in (("unit", unit), ("context", context))
            if value is not None
        }


def stick(key, unit, probabilities):
    """The place of the arm that a sticky unit gets (weighted rendezvous hashing)."""
    costs = {
        arm: -math.log(number(key, "sticky", unit, arm)) / p
        for arm, p in enumerate(probabilities)
        if p > 0
    }
    return min(costs, key=costs.get)


def statuses(results):
    """The statuses of results, in order."""
    return [one.status for one in results]
