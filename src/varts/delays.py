"""How late rewards are in a simulation: `simulate(..., delay=500)`.

The reward of round t with a delay of d rounds is known when the policy chooses in round t + 1 + d.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate, integer, is_real, real


class Delay:
    """The base of all delays. For one of your own, define `rounds`, or pass a plain function.

    `rounds(u, reward, *fields)` is a static method that returns how many rounds late a reward is: a
    whole number, or infinity if it never arrives. `u` is a uniform number in [0, 1) and `reward` is
    the reward itself, so a delay may depend on it. The dataclass's fields follow. The engine
    compiles it, so it must be plain arithmetic. The j-th pull of an arm gets the same `u` under
    every policy, and therefore has the same delay.

    >>> from dataclasses import dataclass
    >>> from varts import GaussianBandit, simulate
    >>> @dataclass(frozen=True)
    ... class BadNewsFirst(Delay):
    ...     longest: float = 100.0
    ...     @staticmethod
    ...     def rounds(u, reward, longest):
    ...         return np.floor(u * longest) if reward > 0 else 0.0
    >>> study = simulate(GaussianBandit(K=3), "UCB1", 200, 20, delay=BadNewsFirst())
    >>> study.labels
    ['UCB1']
    """

    @staticmethod
    def rounds(*args: Any) -> Any:
        """Compute how many rounds late a reward is: plain arithmetic on numbers.

        Args:
            args: u, the reward and the fields.
        """
        raise NotImplementedError("a Delay must define rounds(u, reward)")

    @property
    def formula(self) -> Callable[..., Any]:
        """The function that gives the delay of a reward."""
        return self.rounds

    @property
    def longest(self) -> float:
        """The longest delay that is possible, in rounds; infinity if there is no limit."""
        return np.inf

    def numbers(self) -> Floats:
        """Return what `rounds` takes after u and the reward: by default the dataclass's fields."""
        names: list[str] = [each.name for each in fields(self)] if is_dataclass(self) else []
        return np.array([real(name, getattr(self, name)) for name in names])


@dataclass(frozen=True)
class FixedDelay(Delay):
    """Every reward is equally late; `simulate(..., delay=500)` is the same.

    Args:
        late: The number of rounds.

    >>> FixedDelay.rounds(0.3, 1.0, 500.0)
    500.0
    """

    late: int

    def __post_init__(self) -> None:
        integer("late", self.late, at_least=0)

    @staticmethod
    def rounds(u: Any, reward: Any, late: Any) -> Any:
        """Return the number of rounds.

        Args:
            u: A uniform number; not used.
            reward: The reward; not used.
            late: The number of rounds.
        """
        return late

    @property
    def longest(self) -> float:
        return float(self.late)


@dataclass(frozen=True)
class GeometricDelay(Delay):
    """In each round a reward that is still missing arrives with probability 1 / (1 + mean).

    The number of rounds is 0, 1, 2, ... with a geometric distribution. Its standard deviation is
    about as large as its mean.

    Args:
        mean: The mean number of rounds.

    >>> delay = GeometricDelay(mean=500)
    >>> u = (np.arange(100_000) + 0.5) / 100_000
    >>> float(delay.rounds(u, 1.0, *delay.numbers()).mean().round())
    500.0
    """

    mean: float

    def __post_init__(self) -> None:
        real("mean", self.mean, at_least=0)

    @staticmethod
    def rounds(u: Any, reward: Any, scale: Any) -> Any:
        """Return the number of rounds.

        Args:
            u: A uniform number in [0, 1).
            reward: The reward; not used.
            scale: -1 / ln(1 - p), where p is the probability that a missing reward arrives.
        """
        return np.floor(-np.log(1 - u) * scale)

    def numbers(self) -> Floats:
        return np.array([1 / np.log1p(1 / self.mean) if self.mean > 0 else 0.0])


@dataclass(frozen=True)
class FunctionDelay(Delay):
    """The delay that a plain function gives; `simulate(..., delay=function)` makes it.

    Args:
        function: `(u, reward) -> rounds`, as `Delay.rounds` without fields.
    """

    function: Callable[..., Any]

    @property
    def formula(self) -> Callable[..., Any]:
        return self.function

    def numbers(self) -> Floats:
        return np.zeros(0)


DelayLike = int | Delay | Callable[..., Any] | None


def delay_from(asked: Any) -> Delay | None:
    """Return a delay from what `simulate` is given, or None if rewards are known at once.

    Args:
        asked: None, a whole number of rounds, a `Delay`, or a function of u and the reward.

    >>> delay_from(500)
    FixedDelay(late=500)
    >>> delay_from(0) is None
    True
    """
    rule = "a whole number of rounds, a Delay or a function of (u, reward)"
    if asked is None or isinstance(asked, Delay):
        return asked
    if is_real(asked):
        late = integer("delay", asked, at_least=0)
        return FixedDelay(late) if late else None
    if isinstance(asked, type) or not callable(asked):
        raise TypeError(f"delay must be {rule}, got {abbreviate(asked)}")
    try:
        inspect.signature(asked).bind(0.5, 1.0)
    except TypeError:
        raise TypeError(f"delay must be {rule}, got {abbreviate(asked)}") from None
    return FunctionDelay(asked)
