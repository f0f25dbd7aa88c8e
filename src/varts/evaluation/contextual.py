"""Target policies that depend on the context: the share of each arm, decision by decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from varts._text import printable
from varts._validation import Floats, abbreviate, choice, real, reals, unknown
from varts.evaluation.decisions import Decisions
from varts.priors import LinearNormalGamma

if TYPE_CHECKING:
    from varts.priors import PriorLike

ByContext: TypeAlias = "Callable[[dict[str, float | str]], str | Mapping[str, float]]"


@dataclass(frozen=True, eq=False)
class ByBelief:
    """A policy with a fixed posterior of the arms' regressions; see `greedy` and `thompson`."""

    posterior: LinearNormalGamma
    sampled: bool
    floor: float
    goal: str

    def __str__(self) -> str:
        what = "Thompson sampling" if self.sampled else "greedy"
        floor = f", floor {100 * self.floor:g} %" if self.floor else ""
        return f"{what} with a fixed posterior{floor}"


def greedy(posterior: PriorLike, floor: float = 0.0, goal: str = "max") -> ByBelief:
    """A target policy that plays the arm with the best expected reward for each unit.

    Pass it to `evaluate`. The posterior stays fixed. It must not have learned from the log that it
    is evaluated on: a policy looks better on the rewards it was fitted to.

    Args:
        posterior: A LinearNormalGamma with an entry for each arm, by name; its fields or its JSON
            file will do.
        floor: The share of the traffic that every arm gets in any case.
        goal: "max" if higher rewards are better, "min" if lower ones are.

    >>> line = LinearNormalGamma([1.0, 1.0], 9, 9, 9, slopes=[[1.0], [-1.0]], precision=[9.0],
    ...                          names=["up", "down"])
    >>> print(greedy(line))
    greedy with a fixed posterior
    """
    return _by_belief(posterior, False, floor, goal)


def thompson(posterior: PriorLike, floor: float = 0.0, goal: str = "max") -> ByBelief:
    """A target policy that plays each arm with its probability of being best for the unit.

    Pass it to `evaluate`. It is Thompson sampling with a fixed posterior, which no longer learns.
    The probabilities are exact and take about a millisecond per decision.

    Args:
        posterior: A LinearNormalGamma with an entry for each arm, by name; its fields or its JSON
            file will do.
        floor: The share of the traffic that every arm gets in any case.
        goal: "max" if higher rewards are better, "min" if lower ones are.
    """
    return _by_belief(posterior, True, floor, goal)


def _by_belief(posterior: Any, sampled: bool, floor: Any, goal: Any) -> ByBelief:
    from varts.priors import prior_from

    belief = prior_from(posterior, LinearNormalGamma)
    if belief.names is None or belief.group is not None:
        raise ValueError(
            "posterior must have an entry for each arm, by name, got none; prior.for_arms(names) "
            "adds them"
        )
    share = real("floor", floor, at_least=0, below=1)
    return ByBelief(belief, sampled, share, choice("goal", goal, ("max", "min")))


def belief_shares(policy: ByBelief, log: Decisions) -> Floats:
    """The share of every arm at every decision, from a fixed posterior."""
    if log.features is None or log.x is None:
        raise ValueError(no_features(str(policy)))
    belief, columns = policy.posterior, log.features.columns
    if belief.d != log.features.d or (belief.features or columns) != columns:
        theirs = ", ".join(belief.features or [f"{belief.d} features"])
        raise ValueError(
            f"features must be those of the posterior ({printable(theirs)}), "
            f"got {printable(', '.join(columns))}"
        )
    K = len(log.arms)
    reals("floor", policy.floor, at_most=1 / K)
    known: Any = belief.names
    for arm in log.arms:
        if arm not in known:
            raise ValueError(unknown("arm of the posterior", arm, known))
    mine = belief.take([known.index(arm) for arm in log.arms]) if K > 1 else belief
    mine = mine if policy.goal == "max" else mine.mirrored()
    if policy.sampled:
        shares = mine.belief(log.x).p_best()
    else:
        expected = mine.at(log.x)[0]
        best = expected == expected.max(axis=1, keepdims=True)
        shares = best / best.sum(axis=1, keepdims=True)
    return np.asarray(policy.floor + (1 - K * policy.floor) * shares)


def function_shares(policy: ByContext, log: Decisions, rounding: float) -> Floats:
    """The same from a function that returns an arm, or shares of the arms, for a context."""
    if log.features is None or log.contexts is None:
        raise ValueError(no_features(describe_function(policy)))
    place = {name: i for i, name in enumerate(log.arms)}
    shares = np.zeros((len(log), len(log.arms)))
    for row, context in enumerate(log.contexts()):
        told = policy(context)
        given = {told: 1.0} if isinstance(told, str) else told
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{describe_function(policy)} must return an arm or shares of the arms, "
                f"got {abbreviate(told)}"
            )
        for name, share in given.items():
            if name not in place:
                raise ValueError(unknown("arm", name, log.arms))
            shares[row, place[name]] = real(f"share of {name!r}", share, at_least=0, at_most=1)
        if abs(shares[row].sum() - 1) > rounding:
            raise ValueError(f"shares must add up to 1, got {shares[row].sum():g}")
    return shares


def describe_function(policy: Any) -> str:
    """The function's name, if it has one.

    >>> describe_function(lambda context: "a")
    'a function of the context'
    """
    name = getattr(policy, "__name__", "")
    return "a function of the context" if name in ("", "<lambda>") else printable(str(name))


def no_features(target: str) -> str:
    """The error message for a log without contexts."""
    return f"features must be given for {target}, got none: name the columns of the contexts"
