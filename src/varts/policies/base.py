"""What a policy is.

A policy turns the arms' statistics into a choice. Unless it defines `start` and `update` it has no
state of its own. There are three ways to write one, from the fastest to the freest:

- `IndexPolicy` (in `largest_index.py`): an index per arm from (n, mean, m2, t), the largest wins;
- `BeliefPolicy`: a Student-t belief per arm, the largest draw wins (Thompson sampling);
- `Policy`: any `choose(stats, t, rng)` in plain Python.

The formulas of the first two are plain arithmetic in NumPy functions. The same function serves
arrays here and, compiled, the simulation engine; no formula is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, real
from varts.beliefs import Belief, StudentT
from varts.linear_stats import LinearStats
from varts.policies.evaluation import belief_of, name_of
from varts.priors import Prior
from varts.stats import ArmStats


class Policy:
    """The base of all policies; subclass it directly for a policy in plain Python.

    >>> from varts import choose
    >>> class Uniform(Policy):
    ...     label = "Uniform"
    ...     def choose(self, stats, t, rng):
    ...         return rng.integers(stats.K)
    >>> choose(Uniform(), ArmStats.empty(3), t=1, rng=np.random.default_rng(1))
    1
    """

    label: ClassVar[str] = ""
    forced: ClassVar[int] = 0
    #: Whether the choice depends on the features of a unit: see `LinearPolicy`.
    contextual: ClassVar[bool] = False
    #: Where lower is better, a policy is shown `reflection - reward`.
    reflection: ClassVar[float] = 0.0

    def owed(self, K: int) -> NDArray[np.int64]:
        """Return how often each arm must be pulled before the policy has a say.

        Args:
            K: The number of arms.
        """
        return np.full(K, self.forced, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        """Return the weight below which an arm is pulled again, where old rewards fade.

        It is what the policy's formulas need; by default as much as the pulls that it owes.

        Args:
            K: The number of arms.
        """
        return self.owed(K).astype(np.float64)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        """Return the arm to pull, once no arm is owed a pull.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.
            rng: Where the randomness comes from.
        """
        raise NotImplementedError(f"{type(self).__name__} must define choose(stats, t, rng)")

    def probabilities(self, stats: ArmStats, t: int) -> Floats | None:
        """Return the chance that `choose` returns each arm, or None if there is no formula for it.

        A live experiment logs these chances; without them it estimates them from many choices. One
        that does not sample from its belief also chooses by them.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.
        """
        return None

    def choose_at(self, stats: LinearStats, x: Any, t: int, rng: np.random.Generator) -> int:
        """Return the arm to play for a unit with features, once no arm is owed a pull.

        Args:
            stats: The arms' statistics.
            x: The unit's features.
            t: The round, counted from 1.
            rng: Where the randomness comes from.
        """
        raise NotImplementedError(f"{type(self).__name__} does not look at features")

    def start(self, K: int, rng: np.random.Generator) -> None:
        """Begin a run, for a policy in plain Python that remembers more than the statistics.

        Every run has a copy of the policy for itself.

        Args:
            K: The number of arms.
            rng: Where the randomness comes from.
        """

    def update(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        """Remember a reward, forced pulls included.

        Args:
            arm: The arm that was pulled.
            reward: What the statistics record of the reward.
            rng: Where the randomness comes from.
        """

    @property
    def has_memory(self) -> bool:
        """Whether the policy defines `start` or `update`, and must see every round of a run."""
        kind = type(self)
        return kind.start is not Policy.start or kind.update is not Policy.update

    def transform(self, reward: float, rng: np.random.Generator) -> float:
        """Return what the statistics record of a reward; Bernoulli TS tosses a coin here.

        Args:
            reward: The reward.
            rng: Where the randomness comes from.
        """
        return reward

    @property
    def samples(self) -> bool:
        """Whether the choice is the arm with the largest draw of `belief(stats)`."""
        return False

    def belief(self, stats: ArmStats) -> Belief:
        """Return what the policy believes about each arm's mean, if it has beliefs.

        Args:
            stats: The arms' statistics.
        """
        raise NotImplementedError(f"{type(self).__name__} has no belief about the arms' means")

    def believed(self, stats: ArmStats) -> Belief:
        """Return `belief(stats)`, for a caller who knows that no arm is owed a pull.

        Args:
            stats: The arms' statistics.
        """
        return self.belief(stats)

    def restricted(self, arms: NDArray[np.int64]) -> Self:
        """Return the same policy for some of the arms: what it holds per arm is cut to those.

        Args:
            arms: Their indices.
        """
        cut = {}
        for name, value in self._values().items():
            if isinstance(value, Prior) or np.size(value) > 1:  # one entry is shared by all
                cut[name] = value.take(arms)
        return replace(self, **cut) if cut else self  # type: ignore[type-var]

    def for_arms(self, arms: Iterable[str], groups: Mapping[str, str] | None = None) -> Self:
        """Return the same policy with its prior in the order of these arms.

        A prior that all arms share stays as it is.

        Args:
            arms: The arms' names.
            groups: The group of each arm, for a prior whose entries are for groups.
        """
        own = {
            name: value.for_arms(arms, groups)
            for name, value in self._values().items()
            if isinstance(value, Prior) and value.K is not None
        }
        return replace(self, **own) if own else self  # type: ignore[type-var]

    def parameters(self, stats: ArmStats) -> Floats:
        """Return the formula's extra arguments, a row per arm: by default the dataclass's fields.

        Args:
            stats: The arms' statistics.
        """
        values = []
        for name, value in self._values().items():
            try:
                values.append(real(name, value, infinite=True))
            except (TypeError, ValueError):
                raise ValueError(
                    f"{name} of {type(self).__name__} must be a number, got {abbreviate(value)}; "
                    "mark what is no option as ClassVar, or define parameters(stats)"
                ) from None
        return np.tile(np.array(values, dtype=np.float64), (stats.K, 1))

    def _values(self) -> dict[str, Any]:
        """The fields of a policy that is a dataclass; one in plain Python has none that we know."""
        own: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return {field.name: getattr(self, field.name) for field in own}

    def _ready(self, stats: ArmStats | LinearStats) -> None:
        """Formulas hold once the forced pulls are done."""
        unready = np.flatnonzero(stats.n < self.owed(stats.K))
        if unready.size:
            arm, owed = unready[0], self.owed(stats.K)[unready[0]]
            raise ValueError(
                f"n must be at least {owed} for {name_of(self)} to have a say, "
                f"got {stats.n[arm]:g} for arm {arm}"
            )

    def check(self, K: int) -> None:
        """Raise ValueError if the policy cannot play K arms.

        Args:
            K: The number of arms.
        """
        self.owed(K)


@dataclass(frozen=True)
class BeliefPolicy(Policy):
    """Thompson sampling: draw each arm's mean from a Student-t belief, pull the largest draw.

    `believe(n, mean, m2, *parameters)` returns location, scale and degrees of freedom (np.inf for
    a Gaussian) in plain arithmetic.
    """

    #: True when `parameters` depends on all rewards so far, so that every pull moves every belief
    #: and the parameters are the pooled (n, mean, m2).
    pooled: ClassVar[bool] = False
    #: True when the last parameter is what a reward is worth for learning a variance (`Tails`),
    #: which depends on all rewards so far, too.
    tailed: ClassVar[bool] = False

    @staticmethod
    def believe(*args: Any, **kwargs: Any) -> Any:
        """Compute location, scale and degrees of freedom: plain arithmetic.

        Args:
            args: n, mean, m2 and the parameters.
            kwargs: Not used.
        """
        raise NotImplementedError("a BeliefPolicy must define believe(n, mean, m2)")

    @property
    def samples(self) -> bool:
        return type(self).choose is BeliefPolicy.choose

    def belief(self, stats: ArmStats) -> Belief:
        self._ready(stats)
        extra = self.parameters(stats).T
        return belief_of(self, stats.n, stats.mean, stats.m2, *extra, K=stats.K)

    def believed(self, stats: ArmStats) -> Belief:
        kept: tuple[int, Any] = self.__dict__.get("_kept", (0, None))
        if kept[0] != stats.K:  # parameters that do not depend on rewards are made once
            kept = stats.K, self.parameters(stats).T
            if not (self.pooled or self.tailed):
                self.__dict__["_kept"] = kept
        loc, scale, df = self.believe(stats.n, stats.mean, stats.m2, *kept[1])
        if not np.min(scale) >= 0:
            return self.belief(stats)  # which refuses it
        return StudentT._trusted(loc, scale, df)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        return self.belief(stats).argmax(rng)

    def check(self, K: int) -> None:
        super().check(K)
        self.parameters(ArmStats.empty(K))
