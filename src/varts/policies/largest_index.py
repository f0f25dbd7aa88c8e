"""What a policy is that gives every arm an index and pulls the largest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import Floats, integer, real
from varts.beliefs import pick_best
from varts.policies.base import Policy
from varts.policies.evaluation import as_numbers, clock_of, common_of, index_of, terms_of
from varts.stats import ArmStats


@dataclass(frozen=True)
class IndexPolicy(Policy):
    """Pull the arm with the largest index, ties broken at random.

    `index(n, mean, m2, t, *fields)` is plain arithmetic on numbers or arrays (np.sqrt, np.log,
    np.where ...); the dataclass's fields arrive as trailing arguments, in order.

    The part of a formula that changes only with an arm's own rewards may be split off into
    `terms(n, mean, m2, *fields)`, a tuple of numbers; `index(*terms, t)` then does the rest. The
    engine computes an arm's terms when it is pulled, not in every round. The part that changes only
    with the round may be split off into `clock(t)` or `clock(t, *fields)`, a number or a tuple that
    `index` then gets for t; fields are those of the first arm (`index.py` has examples).

    What an index needs of the other arms is `common(n, mean, m2)`, a number or a tuple made of the
    arrays of all arms; `index` gets it after t (`divergence.py` has examples). A policy with
    `chance` gets a uniform number of the round after that, the same for all arms
    (`epsilon_greedy.py`).

    An index that takes long to compute may come with `reaches(level, *terms, t, ...)`: 1 if the
    index is surely at least the level, -1 if it is surely below, 0 if that would have to be
    computed. The engine then computes an index only where it must; the choices are the same.

    >>> from varts import choose
    >>> @dataclass(frozen=True)
    ... class Optimist(IndexPolicy):
    ...     label = "Optimist"
    ...     bonus: float = 1.0
    ...     @staticmethod
    ...     def index(n, mean, m2, t, bonus):
    ...         return mean + bonus / np.sqrt(n)
    >>> stats = ArmStats(n=[100, 4], mean=[0.6, 0.5], m2=[1, 1])
    >>> choose(Optimist(), stats, t=105, rng=np.random.default_rng(0))   # 0.7 against 1.0
    1
    """

    forced: ClassVar[int] = 1
    #: True when an index that is not touched never falls as t grows. With many arms the engine then
    #: leaves out those that cannot be the largest; the choices are the same.
    grows: ClassVar[bool] = False
    #: True when the index takes a uniform number in [0, 1) of the round's own.
    chance: ClassVar[bool] = False

    terms: ClassVar[Callable[..., Any] | None] = None
    clock: ClassVar[Callable[..., Any] | None] = None
    common: ClassVar[Callable[..., Any] | None] = None
    reaches: ClassVar[Callable[..., Any] | None] = None

    @staticmethod
    def index(*args: Any, **kwargs: Any) -> Any:
        """Compute the index: plain arithmetic on numbers or arrays.

        Args:
            args: n, mean, m2, t and the fields; or the terms and t.
            kwargs: Not used.
        """
        raise NotImplementedError("an IndexPolicy must define index(n, mean, m2, t)")

    def indices(self, stats: ArmStats, t: int, u: float | None = None) -> Floats:
        """Return the index of every arm.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.
            u: The round's number in [0, 1), for a policy with `chance`.
        """
        self._ready(stats)
        extra = self.parameters(stats).T
        moment: tuple[Any, ...] = (float(self._round(stats, t)),)
        if self.clock is not None:
            moment = as_numbers(clock_of(self, moment[0], *extra[:, 0]))
        if self.common is not None:
            moment += as_numbers(common_of(self, stats.n, stats.mean, stats.m2))
        if self.chance:
            moment += (real("u", u, at_least=0, below=1),)
        if self.terms is None:
            return index_of(self, stats.n, stats.mean, stats.m2, *moment, *extra, K=stats.K)
        terms = terms_of(self, stats.n, stats.mean, stats.m2, *extra)
        return index_of(self, *terms, *moment, K=stats.K)

    def _round(self, stats: ArmStats, t: int) -> int:
        """The round, which comes after the forced pulls."""
        return integer("t", t, at_least=1 + int(self.owed(stats.K).sum()))

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        u = (rng.random(),) if self.chance else ()
        return pick_best(self.indices(stats, t, *u), rng)

    def probabilities(self, stats: ArmStats, t: int) -> Floats | None:
        """Return the chance that each arm is chosen: an even share of the largest indices.

        None for a policy with `chance` that does not say how large it is.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.

        >>> from varts import EvenSplit
        >>> EvenSplit().probabilities(ArmStats([3, 2, 2], [0, 0, 0], [0, 0, 0]), t=8)
        array([0. , 0.5, 0.5])
        """
        return None if self.chance else even_share(self.indices(stats, t))

    def check(self, K: int) -> None:
        super().check(K)
        self.parameters(ArmStats.empty(K))


def even_share(scores: Floats) -> Floats:
    """One, spread evenly over the arms with the largest score."""
    largest = scores == scores.max()
    return np.asarray(largest / largest.sum())


def index_policy(label: str, forced: int = 1) -> Callable[[Callable[..., Any]], IndexPolicy]:
    """Turn one function into a policy, without a class.

    Args:
        label: What the policy is called in tables and figures.
        forced: How often each arm is pulled before the formula is used; at least 1.

    >>> from varts import choose
    >>> @index_policy("Greedy")
    ... def greedy(n, mean, m2, t):
    ...     return mean
    >>> choose(greedy, ArmStats([1, 1], [0.2, 0.7], [0, 0]), rng=np.random.default_rng(0))
    1
    """

    def wrap(function: Callable[..., Any]) -> IndexPolicy:
        body = {
            "label": label,
            "forced": integer("forced", forced, at_least=1),
            "index": staticmethod(function),
            "__module__": function.__module__,
            "__doc__": function.__doc__,
        }
        kind: type[IndexPolicy] = type(function.__name__, (IndexPolicy,), body)
        return kind()

    return wrap
