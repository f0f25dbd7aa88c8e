"""What the compiled loop of a policy is made of: its `Kernel`, and the numbers it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from varts._validation import Floats, abbreviate
from varts.policies import MVTS, BeliefPolicy, BernoulliTS, IndexPolicy, Policy
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem
from varts.simulation.engine import loop
from varts.stats import ArmStats

Family = Literal["index", "growing", "belief", "beta", "mean_variance"]
Formula = Callable[..., Any]  # plain arithmetic on numbers, or on arrays

# Only what a policy inherits unchanged may be replaced by compiled code.
INHERITED: dict[Family, tuple[type[Policy], tuple[str, ...]]] = {
    "beta": (BernoulliTS, ("choose", "transform", "belief", "believe", "clip")),
    "mean_variance": (MVTS, ("choose", "transform", "belief", "score", "precision")),
    "index": (IndexPolicy, ("choose", "transform", "indices")),
    "belief": (BeliefPolicy, ("choose", "transform", "belief")),
}
MIN_ARMS_GROWING = 128  # with fewer, skipping arms that cannot win does not pay

# By function, not by class: a subclass with a reward of its own is of another kind.
REWARD_KINDS: dict[Any, int] = {
    GaussianBandit.reward: loop.GAUSSIAN,
    BernoulliBandit.reward: loop.BERNOULLI,
    BetaBandit.reward: loop.BETA,
}


@dataclass(frozen=True)
class Kernel:
    """The ingredients of a compiled loop: policies and problems with equal ones share it."""

    family: Family  # how an arm is picked
    formula: Formula | None = None  # `index` or `believe`, where the family has one
    terms: Formula | None = None  # of an index, as is the clock
    clock: Formula | None = None
    pooled: bool = False  # whether the first three parameters are all rewards so far, as of one arm
    parameters: int = 0  # how many extra arguments the formula (or `terms`) takes
    term_count: int = 0  # how many numbers `terms` makes of an arm's statistics
    reward: Formula | None = None  # a user's own; None for the built-in kinds
    naive: bool = False  # draw every arm in every round: the yardstick of the exactness tests

    @property
    def is_built_in(self) -> bool:
        """Whether it is made of this package's sources alone, and may be kept on disk."""
        return self.reward is None and all(
            formula is None or formula.__module__.startswith("varts.")
            for formula in (self.formula, self.terms, self.clock)
        )

    @property
    def name(self) -> str:
        """A name that no other built-in kernel has: Numba's files on disk are called after it."""
        formulas = [x.__qualname__ for x in (self.formula, self.terms, self.clock) if x is not None]
        numbers = f"{self.parameters}_{self.term_count}_{self.pooled:d}{self.naive:d}"
        return re.sub(r"\W", "_", "_".join([self.family, *formulas, numbers]))


def kernel_of(policy: Policy, problem: Problem, naive: bool = False) -> Kernel | None:
    """The kernel of a policy on a problem; None for a policy in plain Python."""
    family = family_of(policy)
    if family is None:
        return None
    reward = problem.reward if reward_kind(problem) == loop.CUSTOM else None
    given, term_count = _parameters(policy, problem.K)
    if family == "index":
        assert isinstance(policy, IndexPolicy)
        if policy.grows and problem.K >= MIN_ARMS_GROWING:
            family = "growing"
        return Kernel(
            family,
            policy.index,
            policy.terms,
            policy.clock,
            parameters=given.shape[1],
            term_count=term_count,
            reward=reward,
            naive=naive,
        )
    formula, pooled = None, False
    if family == "belief":
        assert isinstance(policy, BeliefPolicy)
        formula, pooled = policy.believe, bool(policy.pooled)
    return Kernel(
        family, formula, pooled=pooled, parameters=given.shape[1], reward=reward, naive=naive
    )


def family_of(policy: Policy) -> Family | None:
    """How the policy picks an arm in compiled code; None for a policy in plain Python."""
    kind = type(policy)
    for family, (base, methods) in INHERITED.items():
        if isinstance(policy, base) and all(
            getattr(kind, method) is getattr(base, method) for method in methods
        ):
            if isinstance(policy, MVTS) and np.isinf(policy.rho):
                return "belief"
            return family
    return None


def reward_kind(problem: Problem) -> int:
    """Which branch of `loop.pay` draws this problem's rewards."""
    return REWARD_KINDS.get(problem.reward, loop.CUSTOM)


def parameter_array(policy: Policy, K: int) -> Floats:
    """What the kernel gets of the policy's parameters: a row per arm.

    For a policy with terms it is a column per arm, with room for the terms below the parameters:
    so they lie side by side as the vectors of the index's loop want them.
    """
    given, term_count = _parameters(policy, K)
    return np.vstack([given.T, np.zeros((term_count, K))]) if term_count else given


def _parameters(policy: Policy, K: int) -> tuple[Floats, int]:
    """The policy's parameters, a row per arm, and how many numbers its `terms` make of an arm."""
    family = family_of(policy)
    if family in (None, "beta"):
        return np.empty((K, 0)), 0
    given = policy.parameters(ArmStats.empty(K))
    terms = policy.terms if isinstance(policy, IndexPolicy) else None
    if terms is None:
        return given, 0
    with np.errstate(all="ignore"):
        made = terms(*np.full((3, 1), 2.0), *given[:1].T)
    if not isinstance(made, tuple):
        raise ValueError(
            f"terms of {policy.label or type(policy).__name__} must be a tuple of numbers, "
            f"got {abbreviate(made)}"
        )
    return given, len(made)
