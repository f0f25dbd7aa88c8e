"""Rewards that depend on who comes: the base of problems with context.

A run has arms of its own, drawn once, and visits: the features x of those who come, round by round,
with each arm's expected reward for them. Visits and rewards belong to rounds, so every policy meets
the same people and an arm pays each of them the same, whoever chooses it. Regret is against the
best arm *for x*. Visits are made in pieces as a run goes on: nothing of the size of the horizon is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from varts import _seeding
from varts._validation import Floats, reals
from varts.instances import Instances
from varts.linear_stats import feature_rows
from varts.policies import Policy
from varts.policies.fading import split_fading
from varts.priors import LinearNormalGamma, NormalGamma
from varts.problems import GaussianBandit, Problem

# Both are part of every result: how many numbers of a piece of visits are made together, and how
# many rounds it has at most.
NUMBERS_TOGETHER, ROUNDS_TOGETHER = 2**17, 1024


class Visits(NamedTuple):
    """Those who come in some rounds, a row each.

    Args:
        x: Their features.
        mean: What each arm is expected to pay them.
        b: Each arm's second number for `reward`: by default the noise's standard deviation.
    """

    x: Floats
    mean: Floats
    b: Floats


class ContextualProblem(Problem):
    """The base of problems whose rewards depend on features.

    A reward is `reward(a, b, z, u)` with a the arm's expected reward and b its scatter; by default
    a + b z, Gaussian.

    >>> class Seasons(ContextualProblem):
    ...     K, d = 2, 1
    ...     def draw_arms(self, rng):
    ...         return rng.standard_normal(2)
    ...     def expected(self, arms, x):
    ...         return arms * np.sin(x)                  # a row per visit, a column per arm
    >>> next(Seasons().visits(seed=0, run=0)).mean.shape
    (1024, 2)
    """

    d: int
    contextual: ClassVar[bool] = True
    reward = staticmethod(GaussianBandit.reward)

    def draw_arms(self, rng: np.random.Generator) -> Any:
        """Draw the arms of a run, as `expected` and `scatter` take them.

        Args:
            rng: Where the randomness comes from.
        """
        raise NotImplementedError(f"{type(self).__name__} must define draw_arms(rng)")

    def draw_features(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw the features of those who come, a row each: standard normal by default.

        Args:
            rng: Where the randomness comes from.
            size: How many come.
        """
        return rng.standard_normal((size, self.d))

    def expected(self, arms: Any, x: Floats) -> Floats:
        """Return the arms' expected rewards, a row per visit and a column per arm.

        Args:
            arms: What `draw_arms` returned.
            x: The features, a row per visit.
        """
        raise NotImplementedError(f"{type(self).__name__} must define expected(arms, x)")

    def scatter(self, arms: Any, x: Floats) -> Floats:
        """Return the noise's standard deviation, as many as `expected` has or fewer; 1 by default.

        Args:
            arms: What `draw_arms` returned.
            x: The features, a row per visit.
        """
        return np.ones(1)

    def visits(self, seed: int, run: int) -> Iterator[Visits]:
        """Return the visits of a run, piece by piece, without an end.

        Args:
            seed: The seed of the study.
            run: The number of the run.
        """
        arms = self.draw_arms(_seeding.generator(seed, _seeding.INSTANCES, run))
        rng, size = _seeding.generator(seed, _seeding.VISITS, run), self.rounds_together
        while True:
            x = self.draw_features(rng, size)
            yield self.checked(x, self.expected(arms, x), self.scatter(arms, x))

    @property
    def rounds_together(self) -> int:
        """How many rounds a piece of visits has."""
        return min(ROUNDS_TOGETHER, max(1, NUMBERS_TOGETHER // (self.d + 2 * self.K)))

    def checked(self, x: Floats, mean: Any, b: Any) -> Visits:
        """Return a piece of visits, or raise if it is none.

        Args:
            x: The features, a row per visit.
            mean: The arms' expected rewards.
            b: Their scatter.
        """
        x = feature_rows(x, self.d)
        if x.ndim != 2 or not len(x):
            raise ValueError(
                f"features of {type(self).__name__} must be rows of {self.d}, got shape {x.shape}"
            )
        arrays, shape = [np.array(x, order="C")], (len(x), self.K)
        for name, given in (("expected", mean), ("scatter", b)):
            what = f"{name} of {type(self).__name__}"
            array = reals(what, given)
            try:
                arrays.append(np.array(np.broadcast_to(array, shape), order="C"))
            except ValueError:
                raise ValueError(f"{what} must have the shape {shape}, got {array.shape}") from None
        return Visits(*arrays)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        raise ValueError(f"{type(self).__name__} pays by features: see its visits")

    def estimate_prior(
        self, samples: int = 10_000, seed: int = 0, kappa: str = "paper"
    ) -> NormalGamma:
        """Raise ValueError: the means of such arms depend on who comes.

        Args:
            samples: Not used.
            seed: Not used.
            kappa: Not used.
        """
        raise ValueError(f"{type(self).__name__} has no prior for policies without features")

    def check(self, pulls: int = 25_000, seed: int = 0) -> None:
        """Raise ValueError if the first piece of visits is none.

        Args:
            pulls: Not used.
            seed: Same seed, same visits.
        """
        next(self.visits(seed, 0))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "d": self.d}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, d={self.d})"


def check_context(policy: Policy, problem: Problem) -> None:
    """Raise ValueError if a policy cannot play a problem because of who comes.

    Args:
        policy: The policy.
        problem: The problem, with context or without.
    """
    plain, fade = split_fading(policy)
    if not isinstance(problem, ContextualProblem):
        if plain.contextual:
            kind = type(problem).__name__
            raise ValueError(f"it chooses by features, which those who come to a {kind} have not")
        return
    if fade < 1:
        raise ValueError("rewards do not fade where they depend on features")
    prior = getattr(plain, "prior", None)
    if isinstance(prior, LinearNormalGamma) and prior.d != problem.d:
        raise ValueError(f"prior must have the problem's {problem.d} features, got {prior.d}")
