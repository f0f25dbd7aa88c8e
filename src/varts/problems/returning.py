"""Visitors who return: rewards of the same visitor resemble each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import Floats, integer, real
from varts.problems.base import Instances, Problem

POPULATION, ALIKE, STICKY = range(3)  # places in `Returning.numbers`


class Returning(Problem):
    """A problem whose rounds are visits of a population, with rewards that are alike per visitor.

    Each round is a visit of one of the visitors, all equally likely. With probability
    sqrt(correlation) the visit pays what this visitor's other such visits to the arm pay, otherwise
    a reward of its own. So two rewards of a visitor on the same arm are equal with probability
    `correlation`, and independent otherwise: that is their correlation, whatever the distribution
    of the rewards, which stays the same.

    Args:
        problem: The problem that draws the rewards: any without features whose arms don't change.
        visitors: How many visitors there are.
        correlation: The intra-class correlation of a visitor's rewards on the same arm.
        sticky: Whether a visitor keeps the arm of the first visit.

    >>> from varts import BernoulliBandit, simulate
    >>> shop = Returning(BernoulliBandit.fixed([0.1, 0.2]), visitors=50, correlation=0.3)
    >>> simulate(shop, "VarTS", horizon=200, runs=8).final["VarTS"].shape
    (8,)
    """

    def __init__(
        self, problem: Problem, visitors: int, correlation: float, sticky: bool = False
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a Problem, got {type(problem).__name__}")
        if problem.contextual or hasattr(problem, "path"):
            kind = type(problem).__name__
            raise ValueError(f"problem must have no features and no drift, got a {kind}")
        self.problem, self.K, self.names, self.data = (
            problem,
            problem.K,
            problem.names,
            problem.data,
        )
        self.visitors = integer("visitors", visitors, 1, 10**8)
        self.correlation = real("correlation", correlation, at_least=0, at_most=1)
        self.sticky = bool(sticky)
        self.reward = problem.reward  # type: ignore[method-assign]

    @property
    def numbers(self) -> Floats:
        """The numbers for the engine: how many visitors there are, the chance that a visit pays the
        same as the visitor's other visits, and whether visitors keep their arms."""
        return np.array([self.visitors, np.sqrt(self.correlation), self.sticky], dtype=np.float64)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        return self.problem.draw(rng, size)

    def own_prior(self) -> Any:
        return self.problem.own_prior()

    def describe(self) -> dict[str, Any]:
        return {
            "problem": "Returning",
            "K": self.K,
            "of": self.problem.describe(),
            "visitors": self.visitors,
            "correlation": self.correlation,
            "sticky": self.sticky,
        }
