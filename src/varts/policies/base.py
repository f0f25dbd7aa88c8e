"""The base classes of policies, and how their formulas are called and checked.

A policy turns the arms' statistics into a choice. It has no state, unless it defines `start` and
`update`. There are three ways to write one, from the fastest to the most flexible:

- `IndexPolicy`: an index per arm from (n, mean, m2, t), the largest wins;
- `BeliefPolicy`: a Student-t belief per arm, the largest draw wins (Thompson sampling);
- `Policy`: any `choose(stats, t, rng)` in plain Python.

The formulas of the first two are plain arithmetic in NumPy functions. They get arrays here, and the
simulation engine compiles the same functions for single numbers, so a formula is written once. The
few things that do exist twice, in NumPy and compiled, are listed in docs/extending.md.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, integer, real
from varts.beliefs import Belief, StudentT, pick_best
from varts.linear_stats import LinearStats
from varts.priors import Prior
from varts.stats import ArmStats


@dataclass(frozen=True)
class Compiled:
    """How the simulation engine picks an arm for a class of policies, without calling its methods.

    A subclass that overrides one of the methods that compiled code replaces, or defines `start` or
    `update`, is played in plain Python, unless it declares `compiled` itself.

    Args:
        family: The name of the compiled code: "index", "belief", ...
        replaces: The methods that the compiled code does the work of.
    """

    family: str
    replaces: tuple[str, ...]


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
    initial_pulls: ClassVar[int] = 0
    #: Whether the choice depends on the features of a unit: see `LinearPolicy`.
    contextual: ClassVar[bool] = False
    #: Whether the policy goes by how often it has pulled each arm, as an even split does. In a
    #: simulation where rewards are late, or a floor chooses some arms, `n` and `t` then count the
    #: pulls that the policy made itself. Other policies get the known rewards and the round.
    counts_pulls: ClassVar[bool] = False
    #: Where lower is better, a policy is shown `reflection - reward`.
    reflection: ClassVar[float] = 0.0
    #: How the simulation engine picks an arm; None for a policy in plain Python.
    compiled: ClassVar[Compiled | None] = None

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        """Return how often each arm must be pulled before the policy chooses: its initial pulls.

        Args:
            K: The number of arms.
        """
        return np.full(K, self.initial_pulls, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        """Return the weight below which an arm is pulled again, where old rewards fade.

        By default it is the number of initial pulls. Return less if the formulas hold for less.

        Args:
            K: The number of arms.
        """
        return self.pulls_needed(K).astype(np.float64)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        """Return the arm to pull, once every arm has had its initial pulls.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.
            rng: The random number generator to use.
        """
        raise NotImplementedError(f"{type(self).__name__} must define choose(stats, t, rng)")

    def probabilities(self, stats: ArmStats, t: int) -> Floats | None:
        """Return the probability that `choose` returns each arm, or None if there is no formula.

        A live experiment logs these probabilities; without them it estimates them from many
        choices. If the policy doesn't sample from its belief, the experiment also draws from them.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.
        """
        return None

    def choose_at(self, stats: LinearStats, x: Any, t: int, rng: np.random.Generator) -> int:
        """Return the arm to play for a unit with features, after the initial pulls.

        Args:
            stats: The arms' statistics.
            x: The unit's features.
            t: The round, counted from 1.
            rng: The random number generator to use.
        """
        raise NotImplementedError(f"{type(self).__name__} does not use features")

    def start(self, K: int, rng: np.random.Generator) -> None:
        """Begin a run, for a policy in plain Python that remembers more than the statistics.

        Every run plays its own copy of the policy.

        Args:
            K: The number of arms.
            rng: The random number generator to use.
        """

    def update(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        """Remember a reward; also called for initial pulls.

        Args:
            arm: The arm that was pulled.
            reward: The reward as the statistics record it, after `transform`.
            rng: The random number generator to use.
        """

    @property
    def has_memory(self) -> bool:
        """Whether the policy defines `start` or `update`, and must see every round of a run."""
        kind = type(self)
        return kind.start is not Policy.start or kind.update is not Policy.update

    def transform(self, reward: float, rng: np.random.Generator) -> float:
        """Return the number that the statistics record for a reward; Bernoulli TS tosses a coin.

        Args:
            reward: The reward.
            rng: The random number generator to use.
        """
        return reward

    @property
    def samples(self) -> bool:
        """Whether the choice is the arm with the largest draw of `belief(stats)`."""
        return False

    def belief(self, stats: ArmStats) -> Belief:
        """Return the policy's belief about each arm's mean, if it has beliefs.

        Args:
            stats: The arms' statistics.
        """
        raise NotImplementedError(f"{type(self).__name__} has no belief about the arms' means")

    def _belief(self, stats: ArmStats) -> Belief:
        """Return `belief(stats)` without checking that every arm has its initial pulls."""
        return self.belief(stats)

    def recommend(self, stats: ArmStats) -> int | None:
        """Return the arm to recommend after a simulated run, or None to leave it to the caller.

        By default it is None, and `simulate` recommends by the rewards' means or by `belief`. A
        policy that overrides this method is asked instead. It must go by the statistics alone: it
        sees none of what `update` has remembered.

        Args:
            stats: The arms' statistics.
        """
        return None

    def restricted(self, arms: NDArray[np.int64]) -> Self:
        """Return the same policy for a subset of the arms: values per arm are cut to these.

        Args:
            arms: The indices of the arms to keep.
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
                    "mark a field that is not an option as ClassVar, or define parameters(stats)"
                ) from None
        return np.tile(np.array(values, dtype=np.float64), (stats.K, 1))

    def _values(self) -> dict[str, Any]:
        """The fields of a dataclass by name; empty for other classes."""
        own: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return {field.name: getattr(self, field.name) for field in own}

    def split_fading(self) -> tuple[Policy, float]:
        """Return the policy without its half-life, and the factor for older rewards (see `Fading`).

        The factor is 1 for a policy that has no half-life.
        """
        return self, 1.0

    def _ready(self, stats: ArmStats | LinearStats) -> None:
        """Raise ValueError before the initial pulls are done: formulas hold only after them."""
        needed = self.pulls_needed(stats.K)
        unready = np.flatnonzero(stats.n < needed)
        if unready.size and np.any(stats.n % 1):  # weights that have faded
            needed = np.minimum(needed, self.least_weight(stats.K))
            unready = np.flatnonzero(stats.n < needed)
        if unready.size:
            arm, least = unready[0], needed[unready[0]]
            raise ValueError(
                f"n must be at least {least:g} for {name_of(self)} to choose, "
                f"got {stats.n[arm]:g} for arm {arm}"
            )

    def check(self, K: int) -> None:
        """Raise ValueError if the policy cannot play K arms.

        Args:
            K: The number of arms.
        """
        self.pulls_needed(K)


MEMORY = ("start", "update")  # compiled code never calls these


def compiled_family(policy: Policy) -> str | None:
    """Return how the engine picks an arm for a policy, or None if it must call `policy.choose`.

    Args:
        policy: The policy.

    >>> from varts import UCB1
    >>> class Shy(UCB1):
    ...     def choose(self, stats, t, rng):
    ...         return int(stats.n.argmin())
    >>> compiled_family(UCB1()), compiled_family(Shy())
    ('index', None)
    """
    compiled = policy.compiled
    if compiled is None:
        return None
    kind = type(policy)
    declared_by = next(base for base in kind.__mro__ if "compiled" in vars(base))
    replaced = (*compiled.replaces, *MEMORY)
    if any(getattr(kind, name) is not getattr(declared_by, name) for name in replaced):
        return None
    return compiled.family


@dataclass(frozen=True)
class BeliefPolicy(Policy):
    """Thompson sampling: draw each arm's mean from a Student-t belief, pull the largest draw.

    `believe(n, mean, m2, *parameters)` returns location, scale and degrees of freedom (np.inf for
    a Gaussian) in plain arithmetic.
    """

    compiled: ClassVar[Compiled | None] = Compiled("belief", ("choose", "transform", "belief"))
    #: True when the parameters are the pooled (n, mean, m2) of all rewards so far. Every pull then
    #: changes every belief.
    pooled: ClassVar[bool] = False
    #: True when the last parameter is the weight of a reward for learning a variance (`Tails`),
    #: which also depends on all rewards so far.
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
        return self._computed_belief(stats)

    def _belief(self, stats: ArmStats) -> Belief:
        if type(self).belief is not BeliefPolicy.belief:
            return self.belief(stats)
        return self._computed_belief(stats)

    def _computed_belief(self, stats: ArmStats) -> Belief:
        kept: tuple[int, Any] = self.__dict__.get("_kept", (0, None))
        if kept[0] != stats.K:  # parameters that don't depend on rewards are computed once
            kept = stats.K, self.parameters(stats).T
            if not (self.pooled or self.tailed):
                self.__dict__["_kept"] = kept
        if self.believe.__module__.startswith("varts."):
            loc, scale, df = self.believe(stats.n, stats.mean, stats.m2, *kept[1])
            if np.min(scale) >= 0:
                return StudentT._trusted(loc, scale, df)
        # Check what a user's formula returns, or raise an error with the reason.
        return belief_of(self, stats.n, stats.mean, stats.m2, *kept[1], K=stats.K)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        return self.belief(stats).argmax(rng)

    def check(self, K: int) -> None:
        super().check(K)
        self.parameters(ArmStats.empty(K))


# -------------------------------------------------------------------------------- an index per arm
# Policies that compute an index for every arm and pull the arm with the largest.


@dataclass(frozen=True)
class IndexPolicy(Policy):
    """Pull the arm with the largest index, ties broken at random.

    `index(n, mean, m2, t, *fields)` is plain arithmetic on numbers or arrays (np.sqrt, np.log,
    np.where ...); the dataclass's fields arrive as trailing arguments, in order.

    The part of a formula that changes only with an arm's own rewards may be split off into
    `terms(n, mean, m2, *fields)`, a tuple of numbers; `index(*terms, t)` then does the rest. The
    engine computes an arm's terms when it is pulled, not in every round. The part that changes only
    with the round may be split off into `clock(t)` or `clock(t, *fields)`, a number or a tuple that
    `index` then gets for t; fields are those of the first arm (`ucb.py` has examples).

    If an index depends on all arms, define `common(n, mean, m2)`, `common(n, mean, m2, t)` or
    `common(n, mean, m2, t, *fields)`. It gets arrays with an entry per arm (and the fields of the
    first arm) and returns a number or a tuple, which `index` gets after t (`divergence.py` has
    examples). A policy with `chance` also gets a uniform number after that, a new one in every
    round and the same for all arms (`EpsilonGreedy`).

    An index that takes very long to compute may come with `reaches(level, *terms, t, ...)`: 1 if
    the index is surely at least the level, -1 if it is surely below, 0 if only the index itself can
    tell. The engine then computes fewer indices; the choices are the same (`KLUCB`).

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

    initial_pulls: ClassVar[int] = 1
    compiled: ClassVar[Compiled | None] = Compiled("index", ("choose", "transform", "indices"))
    #: True when the index of an arm that isn't pulled never falls as t grows. With many arms the
    #: engine then skips those that cannot be the largest; the choices are the same.
    grows: ClassVar[bool] = False
    #: True when the index takes a uniform number in [0, 1), a new one in every round.
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
        now, first = float(self._round(stats, t)), extra[:, 0]
        moment: tuple[Any, ...] = (now,)
        if self.clock is not None:
            moment = as_numbers(clock_of(self, now, *first))
        if self.common is not None:
            moment += as_numbers(common_of(self, stats.n, stats.mean, stats.m2, now, *first))
        if self.chance:
            moment += (real("u", u, at_least=0, below=1),)
        if self.terms is None:
            return index_of(self, stats.n, stats.mean, stats.m2, *moment, *extra, K=stats.K)
        terms = terms_of(self, stats.n, stats.mean, stats.m2, *extra)
        return index_of(self, *terms, *moment, K=stats.K)

    def _round(self, stats: ArmStats, t: int) -> int:
        """Validate the round, which comes after the initial pulls, and return it."""
        return integer("t", t, at_least=1 + int(self.pulls_needed(stats.K).sum()))

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        u = (rng.random(),) if self.chance else ()
        return pick_best(self.indices(stats, t, *u), rng)

    def probabilities(self, stats: ArmStats, t: int) -> Floats | None:
        """Return the probability of each arm: the arms with the largest index share it evenly.

        None for a policy with `chance`, unless it overrides this method.

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
    """Return probabilities that are equal for all arms with the largest score, and else 0."""
    largest = scores == scores.max()
    return np.asarray(largest / largest.sum())


def index_policy(label: str, initial_pulls: int = 1) -> Callable[[Callable[..., Any]], IndexPolicy]:
    """Turn one function into a policy, without a class.

    Args:
        label: The policy's name in tables and figures.
        initial_pulls: How often each arm is pulled before the formula is used; at least 1.

    >>> from varts import choose
    >>> @index_policy("Greedy")
    ... def greedy(n, mean, m2, t):
    ...     return mean
    >>> choose(greedy, ArmStats([1, 1], [0.2, 0.7], [0, 0]), rng=np.random.default_rng(0))
    1
    """

    pulls = integer("initial_pulls", initial_pulls, at_least=1)
    return lambda function: _function_policy(label, function, pulls)


class FunctionPolicy(IndexPolicy):
    """The base of the classes that `index_policy` makes, one for each function.

    They can be pickled: a pickle holds the label, the function and the initial pulls.
    """

    #: The arguments of `_function_policy`.
    made_from: ClassVar[tuple[str, Callable[..., Any], int]]

    def __reduce_ex__(self, protocol: Any) -> Any:
        if "made_from" not in vars(type(self)):  # a subclass is an ordinary class
            return super().__reduce_ex__(protocol)
        function = self.made_from[1]
        # Pickle looks a function up by its name, which in its module now stands for the policy. The
        # function itself is found there as the policy's `index`.
        if type(_found_at(function.__module__, function.__qualname__)) is type(self):
            function.__qualname__ += ".index"
        return _function_policy, self.made_from


# By label, id of the function and initial pulls: a copy has the same class and is equal. A class
# keeps its function alive, so no other function gets the same id while the class is in here.
_function_classes: WeakValueDictionary[tuple[str, int, int], type[FunctionPolicy]] = (
    WeakValueDictionary()
)


def _function_policy(label: str, function: Callable[..., Any], initial_pulls: int) -> IndexPolicy:
    """Return the policy of a function; always of the same class for the same arguments."""
    key = label, id(function), initial_pulls
    kind = _function_classes.get(key)
    if kind is None:
        body = {
            "label": label,
            "initial_pulls": initial_pulls,
            "index": staticmethod(function),
            "made_from": (label, function, initial_pulls),
            "__module__": function.__module__,
            "__doc__": function.__doc__,
        }
        kind = _function_classes[key] = type(function.__name__, (FunctionPolicy,), body)
    return kind()


def _found_at(module: str, path: str) -> Any:
    """Return the object at a dotted path in a module, or None."""
    try:
        return attrgetter(path)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


# ----------------------------------------------------------------------- what its functions return
# Call a policy's functions and check the results; errors name the policy and the function.
#
# A formula gets arrays here and single numbers in the engine.


# Parts of Python's error messages, and what to write instead of the code that causes them.
HINTS = {
    "truth value of an array": "write np.where for if, np.minimum for min",
    "arrays can be converted": "write np.log for math.log",
}


def name_of(policy: Policy) -> str:
    """Return the name of a policy for error messages."""
    return policy.label or type(policy).__name__


def chosen_arm(
    policy: Policy, stats: Any, t: int, rng: np.random.Generator, x: Floats | None = None
) -> int:
    """Call `policy.choose`, or `policy.choose_at` for a unit with features, and check the arm."""
    arm = policy.choose(stats, t, rng) if x is None else policy.choose_at(stats, x, t, rng)
    return checked_arm(policy, arm, stats.K)


def checked_arm(policy: Policy, arm: Any, K: int) -> int:
    """Return the arm that a policy has chosen, or raise if it isn't one of K arms."""
    is_whole = isinstance(arm, (int, np.integer)) and not isinstance(arm, bool)
    if is_whole and 0 <= arm < K:
        return int(arm)
    wrong = f"{name_of(policy)} must choose an arm from 0 to {K - 1}, got {abbreviate(arm)}"
    raise ValueError(wrong) if is_whole else TypeError(wrong)


def call_formula(policy: Policy, name: str, *arguments: Any) -> Any:
    """Call a formula of a policy by name; an exception becomes a ValueError with a hint."""
    try:
        return getattr(policy, name)(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        hint = "".join(f"; {hint}" for said, hint in HINTS.items() if said in str(error))
        raise ValueError(
            f"{name} of {name_of(policy)} must be plain arithmetic on arrays, got "
            f"{type(error).__name__}: {' '.join(str(error).split())}{hint}"
        ) from error


def terms_of(policy: IndexPolicy, *arguments: Any) -> tuple[Any, ...]:
    """Call `policy.terms` and check that it returns a tuple."""
    made = call_formula(policy, "terms", *arguments)
    if not isinstance(made, tuple):
        raise ValueError(
            f"terms of {name_of(policy)} must be a tuple of numbers, got {abbreviate(made)}"
        )
    return made


def takes_fields(clock: Any) -> bool:
    """Whether a clock takes the policy's fields in addition to t."""
    return bool(getattr(clock, "py_func", clock).__code__.co_argcount > 1)


def clock_of(policy: IndexPolicy, t: float, *fields: Any) -> Any:
    """Call `policy.clock` and check that it returns a number or a tuple of numbers."""
    wanted = fields if takes_fields(policy.clock) else ()
    return _one_or_several(policy, "clock", call_formula(policy, "clock", t, *wanted))


def common_count(policy: IndexPolicy, fields: int) -> int:
    """Return how many arguments `policy.common` takes: n, mean and m2; with t; or with the fields.

    Args:
        policy: A policy with `common`.
        fields: The number of its fields.
    """
    function: Any = policy.common
    names = inspect.signature(getattr(function, "py_func", function)).parameters
    count, starred = len(names), any(str(each).startswith("*") for each in names.values())
    if starred or count not in (3, 4, 4 + fields):
        allowed = "(n, mean, m2) or (n, mean, m2, t)"
        if fields:
            plural = "" if fields == 1 else "s"
            allowed += f", or these four and {fields} field{plural}"
        got = ", ".join(map(str, names.values()))
        raise ValueError(f"common of {name_of(policy)} must take {allowed}, got ({got})")
    return count


def common_of(
    policy: IndexPolicy, n: Floats, mean: Floats, m2: Floats, t: float, *fields: Any
) -> Any:
    """Call `policy.common` and check that it returns a number or a tuple of numbers.

    Args:
        policy: A policy with `common`.
        n: The number of rewards of every arm.
        mean: The mean reward of every arm.
        m2: The sum of squared deviations of every arm.
        t: The round.
        fields: The policy's fields, of the first arm.
    """
    wanted = (n, mean, m2, t, *fields)[: common_count(policy, len(fields))]
    return _one_or_several(policy, "common", call_formula(policy, "common", *wanted))


def _one_or_several(policy: Policy, name: str, made: Any) -> Any:
    if not all(_are_numbers(each) and np.ndim(each) == 0 for each in as_numbers(made)):
        raise ValueError(
            f"{name} of {name_of(policy)} must be a number or a tuple of numbers, got "
            f"{abbreviate(made)}"
        )
    return made


def as_numbers(made: Any) -> tuple[Any, ...]:
    """Return the result of a formula, a number or a tuple, as a tuple."""
    return made if isinstance(made, tuple) else (made,)


def index_of(policy: IndexPolicy, *arguments: Any, K: int) -> Floats:
    """Call `policy.index`, check the result and return an index for every arm."""
    index = call_formula(policy, "index", *arguments)
    if not _are_numbers(index):
        raise ValueError(f"index of {name_of(policy)} must be a number, got {abbreviate(index)}")
    return np.array(np.broadcast_to(index, K), dtype=np.float64)


def belief_of(policy: BeliefPolicy, *arguments: Any, K: int) -> StudentT:
    """Call `policy.believe`, check the result and return a belief for every arm."""
    made = call_formula(policy, "believe", *arguments)
    if not (isinstance(made, tuple) and len(made) == 3 and all(map(_are_numbers, made))):
        raise ValueError(
            f"believe of {name_of(policy)} must return location, scale and degrees of freedom, "
            f"got {abbreviate(made)}"
        )
    try:
        return StudentT(*(np.broadcast_to(each, K) for each in made))
    except ValueError as error:
        raise ValueError(f"belief of {name_of(policy)}: {error}") from None


def _are_numbers(value: Any) -> bool:
    """Whether a value is a number or an array of numbers; compiled code doesn't take lists."""
    return not isinstance(value, (list, tuple)) and np.asarray(value).dtype.kind in "biuf"
