"""What the compiled loop of a policy is made of: its `Kernel`, and the numbers it takes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from varts._validation import Floats, reals
from varts.policies import (
    T3C,
    BeliefPolicy,
    IndexPolicy,
    Policy,
    VarTS,
)
from varts.policies.base import (
    clock_of,
    common_of,
    compiled_family,
    name_of,
    takes_fields,
    terms_of,
)
from varts.policies.best_arm import beta_number
from varts.policies.fading import split_fading
from varts.policies.linear import LinearPolicy
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Drifting,
    EmpiricalBandit,
    GaussianBandit,
    Problem,
)
from varts.problems.revenue import gamma_revenue
from varts.simulation.engine import loop
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel_cache import sources_digest
from varts.simulation.engine.selectors import KURTOSIS_BEFORE, N_BEFORE, TAIL_COLUMNS
from varts.simulation.results import read_only
from varts.stats import ArmStats

Family = Literal[
    "index",
    "reaching",
    "growing",
    "belief",
    "top_two",
    "top_two_means",
    "beta",
    "mean_variance",
    "linear_index",
    "linear_belief",
]
Stop = Literal["", "evidence", "ratio"]

MIN_ARMS_GROWING = 128  # with fewer, skipping arms that cannot win does not pay

# By function, not by class: a subclass with a reward of its own is of another kind.
REWARD_KINDS: dict[Any, int] = {
    GaussianBandit.reward: loop.GAUSSIAN,
    BernoulliBandit.reward: loop.BERNOULLI,
    BetaBandit.reward: loop.BETA,
    EmpiricalBandit.reward: loop.RECORDED,
    gamma_revenue: loop.GAMMA_REVENUE,
}


@dataclass(frozen=True)
class Kernel:
    """The ingredients of a compiled loop: policies and problems with equal ones share it."""

    family: Family  # how an arm is picked
    formula: Formula | None = None  # `index` or `believe`, where the family has one
    terms: Formula | None = None  # of an index, as are the clock and what all arms share
    clock: Formula | None = None
    common: Formula | None = None
    reaches: Formula | None = None
    pooled: bool = False  # whether the first three parameters are all rewards so far, as of one arm
    tails: bool = False  # whether the last parameter is what a reward is worth for a variance
    parameters: int = 0  # how many extra arguments the formula (or `terms`) takes
    term_count: int = 0  # how many numbers `terms` makes of an arm's statistics
    clock_count: int = 0  # how many the clock makes of a round; 0 if it is no tuple
    common_count: int = 0  # the same of `common`
    clock_takes_parameters: bool = False
    chance: bool = False  # whether an index takes a uniform number
    reward: Formula | None = None  # as in `reward_of`
    has_data: bool = False  # whether rewards look something up, which is not compiled in
    naive: bool = False  # draw every arm in every round: the yardstick of the exactness tests
    drifting: bool = False  # whether it is `drifting.play`
    fading: bool = False  # whether every reward moves all statistics, too
    contextual: bool = False  # whether it is `contextual.play`
    stop: Stop = ""  # which stopping rule looks at every round, if one does

    @property
    def digest(self) -> str:
        """A hash of all that is compiled in: the name of the kernel, on disk and among symbols."""
        return hashlib.sha256(repr((self, sources_digest())).encode()).hexdigest()[:32]


def kernel_of(
    policy: Policy, problem: Problem, naive: bool = False, stop: Stop = ""
) -> Kernel | None:
    """The kernel of a policy on a problem; None for a policy in plain Python."""
    policy, fade = split_fading(policy)
    fading = fade < 1
    family = family_of(policy)
    if family is None:
        return None
    formula = terms = clock = common = reaches = None
    pooled = tails = False
    moment: dict[str, Any] = {}
    if family == "index":
        assert isinstance(policy, IndexPolicy)
        names = "index", "terms", "clock", "common"
        formula, terms, clock, common = (_formula(policy, name) for name in names)
        moment = _moment_sizes(policy, problem.K)
        alone = common is None and not policy.chance
        if policy.grows and alone and problem.K >= MIN_ARMS_GROWING and not fading:
            family = "growing"
        elif policy.reaches is not None and terms is not None:
            family, reaches = "reaching", _formula(policy, "reaches")
    elif family in ("belief", "top_two"):
        assert isinstance(policy, BeliefPolicy)
        formula, pooled = _formula(policy, "believe"), bool(policy.pooled)
        tails = bool(policy.tailed)
    elif isinstance(policy, LinearPolicy):
        formula = _formula(policy, "index" if family == "linear_index" else "believe")
        pooled, naive = policy.prior is None, naive or not policy.narrows
    given, term_count = _parameters(policy, problem.K)
    return Kernel(
        family,
        formula,
        terms,
        clock,
        common,
        reaches,
        pooled=pooled,
        tails=tails,
        parameters=given.shape[1],
        term_count=term_count,
        **moment,
        reward=reward_of(problem),
        has_data=problem.data is not None,
        naive=naive,
        drifting=fading or isinstance(problem, Drifting),
        fading=fading,
        contextual=problem.contextual,
        stop=stop,
    )


def _moment_sizes(policy: IndexPolicy, K: int) -> dict[str, Any]:
    """How many numbers the indices of a round have in common, by an example of a round."""
    fields = policy.parameters(ArmStats.empty(K))[0]
    with np.errstate(all="ignore"):
        times = None if policy.clock is None else clock_of(policy, 1000.0, *fields)
        shared = None
        if policy.common is not None:
            shared = common_of(policy, *np.full((3, K), 2.0), 1000.0, *fields)
    return {
        "clock_count": len(times) if isinstance(times, tuple) else 0,
        "common_count": len(shared) if isinstance(shared, tuple) else 0,
        "clock_takes_parameters": policy.clock is not None and takes_fields(policy.clock),
        "chance": bool(policy.chance),
    }


def _formula(policy: Policy, name: str) -> Formula | None:
    function = getattr(policy, name)
    return None if function is None else Formula.of(function, f"{name} of {name_of(policy)}")


def reward_of(problem: Problem) -> Formula | None:
    """A user's own reward function; None for the built-in kinds."""
    if reward_kind(problem) != loop.CUSTOM:
        return None
    return Formula.of(problem.reward, f"reward of {type(problem).__name__}")


def family_of(policy: Policy) -> Family | None:
    """How the policy picks an arm in compiled code; None for a policy in plain Python."""
    return cast("Family | None", compiled_family(policy))


def reward_kind(problem: Problem) -> int:
    """Which branch of `loop.pay` draws this problem's rewards."""
    return REWARD_KINDS.get(problem.reward, loop.CUSTOM)


def data_array(problem: Problem) -> Floats:
    """The problem's data as the kernel takes them, not copied if need not be; empty for none."""
    if problem.data is None:
        return read_only(np.empty(0))
    what, data = f"data of {type(problem).__name__}", problem.data
    if not isinstance(data, np.ndarray) or data.dtype != np.float64:
        data = reals(what, data)
    if data.ndim != 1 or not data.size:
        raise ValueError(f"{what} must be a list of numbers, got the shape {data.shape}")
    return read_only(np.ascontiguousarray(data))  # always read-only: it is part of the type


def parameter_array(policy: Policy, K: int) -> Floats:
    """What the kernel gets of the policy's parameters: a row per arm.

    For a policy with terms it is a column per arm, with room for the terms below the parameters:
    so they lie side by side as the vectors of the index's loop want them. For one that minds the
    rewards' tails, room for them follows the parameters; last comes the share of T3C's leader.
    """
    policy = split_fading(policy)[0]
    given, term_count = _parameters(policy, K)
    if isinstance(policy, VarTS):
        if policy.tailed:
            kept, before = np.zeros((K, TAIL_COLUMNS)), policy.tails_of(ArmStats.empty(K))
            kept[:, KURTOSIS_BEFORE], kept[:, N_BEFORE] = before.kurtosis, before.n
            given = np.column_stack([given, kept])
        if isinstance(policy, T3C):
            given = np.column_stack([given, np.full(K, beta_number(policy.beta))])
        return given
    return np.vstack([given.T, np.zeros((term_count, K))]) if term_count else given


def _parameters(policy: Policy, K: int) -> tuple[Floats, int]:
    """The policy's parameters, a row per arm, and how many numbers its `terms` make of an arm."""
    family = family_of(policy)
    if family in (None, "beta"):
        return np.empty((K, 0)), 0
    if isinstance(policy, LinearPolicy):
        return np.array([policy.extra()], dtype=np.float64).reshape(1, -1), 0
    given = policy.parameters(ArmStats.empty(K))
    if not isinstance(policy, IndexPolicy) or policy.terms is None:
        return given, 0
    with np.errstate(all="ignore"):
        return given, len(terms_of(policy, *np.full((3, 1), 2.0), *given[:1].T))
