"""Bandit problems: a prior over instances, and the reward function of an arm.

Every run of a simulation draws a new instance. An instance gives each arm a mean, a variance and
two numbers a, b for its reward function. To add a problem, subclass `Problem` and define `draw` and
`reward`; docs/extending.md walks through an example.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts import _seeding
from varts._moments import check_moments
from varts._validation import Floats, integer, reals
from varts.priors import NormalGamma

ARMS_CHECKED = 8  # by `Problem.check`


@dataclass(frozen=True)
class Instances:
    """Drawn instances: arrays with a row per instance and a column per arm.

    Args:
        mean: The arms' means.
        variance: The variances of their rewards.
        a: The first argument of the reward function.
        b: The second.
    """

    mean: Floats
    variance: Floats
    a: Floats
    b: Floats

    def array(self, name: str, size: int, K: int) -> Floats:
        """Return one of the arrays, checked.

        Args:
            name: Its name.
            size: How many instances there must be.
            K: How many arms.
        """
        numbers = reals(f"{name} of drawn instances", getattr(self, name), infinite=name != "mean")
        if numbers.shape != (size, K):
            raise ValueError(
                f"{name} of drawn instances must have the shape {(size, K)}, got {numbers.shape}"
            )
        return np.ascontiguousarray(numbers)  # one layout needs one kernel


class Problem:
    """The base of all problems.

    `reward(a, b, z, u)` is plain arithmetic: one reward from a standard normal z and a uniform u in
    [0, 1), both fresh for every pull.
    """

    K: int
    #: Whether rewards depend on a unit's features: see `ContextualProblem`.
    contextual: ClassVar[bool] = False
    #: The arms' names, if they have any: `simulate` finds a policy's prior by them.
    names: tuple[str, ...] | None = None
    #: Optional numbers that `reward` gets as a fifth argument. They are not compiled in, so a
    #: problem with other numbers uses the same kernel.
    data: Any = None

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        """Draw instances.

        Args:
            rng: The random generator.
            size: How many.
        """
        raise NotImplementedError(f"{type(self).__name__} must define draw(rng, size)")

    @staticmethod
    def reward(a: Any, b: Any, z: Any, u: Any) -> Any:
        """Compute one reward of an arm.

        Args:
            a: The arm's first number.
            b: Its second.
            z: A standard normal number.
            u: A uniform number in [0, 1).
        """
        raise NotImplementedError("a Problem must define reward(a, b, z, u)")

    def estimate_prior(
        self, samples: int = 10_000, seed: int = 0, kappa: str = "paper"
    ) -> NormalGamma:
        """Estimate the prior of VarTS by the method of moments, from new instances.

        Args:
            samples: How many instances.
            seed: Same seed, same instances.
            kappa: "paper" or "consistent", as in `NormalGamma.from_moments`.

        Returns:
            A prior with an entry per arm.

        >>> from varts import BernoulliBandit
        >>> prior = BernoulliBandit(K=4).estimate_prior()
        >>> prior.mu.round(2)          # close to i / (K + 1)
        array([0.2, 0.4, 0.6, 0.8])
        """
        samples = integer("samples", samples, at_least=2)
        drawn = self.draw(_seeding.generator(seed, _seeding.PRIOR_SAMPLES), samples)
        if np.isinf(drawn.variance).any():
            raise ValueError(
                f"{type(self).__name__} has no prior to estimate, because the variance of its "
                "rewards is infinite; give the policy a prior of your own, or none"
            )
        return NormalGamma.from_moments(drawn.mean, 1 / drawn.variance, kappa)

    def own_prior(self) -> NormalGamma:
        """Return the true prior if it is a NormalGamma, otherwise `estimate_prior()`."""
        return self.estimate_prior()

    def check(self, pulls: int = 25_000, seed: int = 0) -> None:
        """Raise ValueError if rewards don't have the means that `draw` returns.

        This pulls some arms of an instance many times. The probability of a false alarm is below
        one in a million. `simulate` does it once for every problem that isn't part of this package.

        Args:
            pulls: How often to pull each of these arms.
            seed: Same seed, same rewards.
        """
        rng = _seeding.generator(seed, _seeding.PROBLEM_CHECK)
        drawn = self.draw(rng, 1)
        arrays = [drawn.array(name, 1, self.K)[0] for name in ("mean", "variance", "a", "b")]
        some = np.linspace(0, self.K - 1, min(self.K, ARMS_CHECKED)).astype(int)
        pulls = integer("pulls", pulls, at_least=2)
        what = f"reward of {type(self).__name__}"
        check_moments(what, self._reward, np.array(arrays)[:, some], pulls, rng)

    def _reward(self, a: Any, b: Any, z: Any, u: Any) -> Any:
        """Call `reward`, with the data if there are any."""
        if self.data is None:
            return self.reward(a, b, z, u)
        return self.reward(a, b, z, u, np.asarray(self.data, dtype=np.float64))  # type: ignore[call-arg]

    def describe(self) -> dict[str, Any]:
        """Return the description of the problem for saved studies."""
        return {"problem": type(self).__name__, "K": self.K}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K})"


class Fixed(Problem):
    """One instance, the same in every run. The `fixed` methods of problems return it.

    Args:
        kind: The problem that defines the rewards.
        row: The instance.
        data: The data that the rewards look up, if any: see `Problem.data`.
    """

    def __init__(self, kind: type[Problem], row: Instances, data: Any = None):
        self.kind, self.row, self.K, self.data = kind, row, row.mean.shape[-1], data
        self.reward = kind.reward  # type: ignore[method-assign]

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        row = self.row
        shape = size, self.K
        return Instances(
            *(np.broadcast_to(x, shape) for x in (row.mean, row.variance, row.a, row.b))
        )

    def describe(self) -> dict[str, Any]:
        row = {"mean": self.row.mean.tolist(), "variance": self.row.variance.tolist()}
        if self.data is not None:
            row["data"] = np.asarray(self.data).tolist()
        return {"problem": f"{self.kind.__name__}.fixed", "K": self.K, **row}
