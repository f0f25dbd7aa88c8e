"""Target policies: the share of each arm. `contextual` has those that depend on the context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from varts._text import printable
from varts._validation import Floats, abbreviate, real, reals, unknown
from varts.evaluation.contextual import (
    ByBelief,
    ByContext,
    belief_shares,
    describe_function,
    function_shares,
)
from varts.evaluation.decisions import Decisions
from varts.policies import EvenSplit, Policy
from varts.policies.base import name_of

ROUNDING = 1e-9  # allowed difference between the sum of shares and 1


@dataclass(frozen=True)
class WithFloor:
    """The logged policy with an added floor; see `with_floor`."""

    floor: float


Target: TypeAlias = "Mapping[str, float] | EvenSplit | WithFloor | ByBelief | ByContext"


def always(arm: str) -> dict[str, float]:
    """A target policy for `evaluate` that always plays one arm.

    Args:
        arm: The arm's name.

    >>> always("12")
    {'12': 1.0}
    """
    if not isinstance(arm, str):
        raise TypeError(f"arm must be the name of an arm, got {abbreviate(arm)}")
    return {arm: 1.0}


def with_floor(floor: float) -> WithFloor:
    """A target policy for `evaluate`: the logged policy with an added floor.

    Every arm in play gets this share, and the logged probabilities divide the rest. The policy's
    beliefs stay those of the log. To see how it would have learned with the floor, simulate it.

    Args:
        floor: The share of the traffic that every arm in play gets in any case.

    >>> with_floor(0.05)
    WithFloor(floor=0.05)
    """
    return WithFloor(real("floor", floor, at_least=0, below=1))


def check_target(name: str, policy: object) -> None:
    """Raise unless this is a target policy that a log can be evaluated for."""
    if isinstance(policy, (Mapping, EvenSplit, WithFloor, ByBelief)):
        return
    if isinstance(policy, Policy):
        raise ValueError(
            f"{name} must not learn, got {name_of(policy)}, which would have seen other rewards "
            "than the log has; simulate it on the log's rewards instead: "
            "varts.simulate(varts.EmpiricalBandit(log), policy, horizon=...)"
        )
    if callable(policy) and not isinstance(policy, type):
        return
    raise TypeError(
        f'{name} must be always("arm"), shares of the arms, EvenSplit(), with_floor(...), '
        f"greedy(...), thompson(...) or a function of the context, got {abbreviate(policy)}"
    )


def shares_of(policy: Target, log: Decisions) -> Floats:
    """The share of every arm, or a row of shares per decision."""
    if isinstance(policy, Mapping):
        return _fixed_shares(policy, log.arms)
    if isinstance(policy, WithFloor):
        return _floored_shares(policy.floor, log)
    if isinstance(policy, ByBelief):
        return belief_shares(policy, log)
    if not isinstance(policy, EvenSplit):
        return function_shares(policy, log, ROUNDING)
    return np.full(len(log.arms), 1 / len(log.arms))


def describe_target(policy: object) -> str:
    """A short description of a target policy.

    >>> describe_target({"9": 0.2, "12": 0.8}), describe_target(always("12"))
    ('20 % 9, 80 % 12', 'always 12')
    """
    if isinstance(policy, Mapping):
        played = {arm: share for arm, share in policy.items() if share}
        if len(played) == 1:
            return printable(f"always {next(iter(played))}")
        return printable(", ".join(f"{100 * share:g} % {arm}" for arm, share in played.items()))
    if isinstance(policy, WithFloor):
        return f"the logged policy with a floor of {100 * policy.floor:g} %"
    if isinstance(policy, ByBelief):
        return str(policy)
    if not isinstance(policy, EvenSplit):
        return describe_function(policy)
    return "an even split"


def _fixed_shares(given: Mapping[str, float], arms: tuple[str, ...]) -> Floats:
    place = {name: i for i, name in enumerate(arms)}
    shares = np.zeros(len(arms))
    for name, share in given.items():
        if name not in place:
            raise ValueError(unknown("arm", name, arms))
        shares[place[name]] = real(f"share of {name!r}", share, at_least=0, at_most=1)
    if abs(shares.sum() - 1) > ROUNDING:
        raise ValueError(f"shares must add up to 1, got {shares.sum():g}")
    return shares


def _floored_shares(floor: float, log: Decisions) -> Floats:
    if log.chances is None:
        raise ValueError(
            "another floor needs the probabilities of all arms at every decision, and this log has "
            "only those of the chosen arms; in Python, chances names the columns of all arms"
        )
    in_play = log.chances > 0
    count = in_play.sum(axis=1, keepdims=True)
    reals("floor", floor, at_most=1 / float(count.max()))
    return np.where(in_play, floor + (1 - count * floor) * log.chances, 0.0)
