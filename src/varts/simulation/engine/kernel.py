"""The compiled loop of a policy on a problem: its `Kernel`, and its numbers."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from varts._validation import Floats, reals
from varts.delays import Delay, FunctionDelay
from varts.policies import T3C, BeliefPolicy, IndexPolicy, Policy, VarTS
from varts.policies.base import (
    as_numbers,
    clock_of,
    common_count,
    common_of,
    compiled_family,
    name_of,
    takes_fields,
    terms_of,
)
from varts.policies.best_arm import beta_number
from varts.policies.compiled import StatePolicy
from varts.policies.linear import LinearPolicy
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Drifting,
    EmpiricalBandit,
    GaussianBandit,
    Problem,
    Returning,
)
from varts.problems.revenue import gamma_revenue
from varts.simulation.engine import kernel_cache
from varts.simulation.engine.call import Table, address_of
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel_cache import sources_digest
from varts.simulation.engine.machine import file_name, levels, load
from varts.simulation.engine.scratch import KURTOSIS_BEFORE, KURTOSIS_COLUMNS, N_BEFORE
from varts.simulation.results import read_only
from varts.stats import ArmStats
from varts.stopping import StopRule

MIN_ARMS_GROWING = 128  # with fewer arms it doesn't pay to skip those that cannot win

# Kinds of rewards. Part of every result: append, never renumber.
GAUSSIAN, BERNOULLI, BETA, CUSTOM, RECORDED, GAMMA_REVENUE = range(6)
# By function, not by class: a subclass with a reward of its own is of another kind.
REWARD_KINDS: dict[Any, int] = {
    GaussianBandit.reward: GAUSSIAN,
    BernoulliBandit.reward: BERNOULLI,
    BetaBandit.reward: BETA,
    EmpiricalBandit.reward: RECORDED,
    gamma_revenue: GAMMA_REVENUE,
}


@dataclass(frozen=True)
class Kernel:
    """The ingredients of a compiled loop. Policies and problems with equal ones share it."""

    family: str  # how an arm is chosen: see `policies.base.Compiled`
    formula: Formula | None = None  # `index`, `believe`, `draw` or `pick`
    terms: Formula | None = None
    clock: Formula | None = None
    common: Formula | None = None
    reaches: Formula | None = None
    learn: Formula | None = None
    answer: Formula | None = None
    growing: bool = False  # whether to skip arms whose index cannot be the largest
    pooled: bool = False  # whether the first three parameters are all rewards so far, as of one arm
    kurtosis: bool = False  # whether the last parameter is the weight of a reward for a variance
    parameters: int = 0  # how many extra arguments the formula (or `terms`) takes
    width: int = 0  # how many numbers there are per arm in the array of parameters
    term_count: int = 0
    clock_count: int = 1
    clock_takes: int = 0
    common_takes: int = 3
    chance: bool = False
    arm_numbers: int = 0
    run_numbers: int = 0
    arm_fields: int = 0  # how many of the parameters are the first numbers of an arm's state
    reward: Formula | None = None  # a user's own reward function
    data_size: int = 0  # of a user's own reward function
    naive: bool = False  # draw every arm in every round: the yardstick of the exactness tests
    context: bool = False
    moving: bool = False
    returning: bool = False
    fading: bool = False
    rule: str = ""  # which stopping rule looks at every round: "evidence" or "user"
    stops: Formula | None = None
    rule_fields: int = 0
    delay: Formula | None = None  # how late a reward is; None if all are known at once
    delay_fields: int = 0
    floored: bool = False
    counts_pulls: bool = False  # whether the policy goes by its pulls and not by known rewards

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Everything of the policy, the problem and the rule that is compiled in."""
        parts = (
            *(self.formula, self.terms, self.clock, self.common, self.reaches),
            *(self.learn, self.answer, self.reward, self.stops, self.delay),
        )
        return tuple(each for each in parts if each is not None)

    @property
    def digest(self) -> str:
        """A hash of everything that is compiled in."""
        return hashlib.sha256(repr((self, sources_digest())).encode()).hexdigest()[:32]

    @property
    def name(self) -> str:
        """The C name of the kernel."""
        return f"varts_{self.digest}"


def kernel_of(
    policy: Policy,
    problem: Problem,
    naive: bool = False,
    rule: StopRule | None = None,
    delay: Delay | None = None,
    floored: bool = False,
) -> Kernel | None:
    """Return the kernel of a policy on a problem; None for a policy in plain Python.

    Args:
        policy: The policy.
        problem: The problem that it plays.
        naive: Whether to draw every arm in every round.
        rule: A stopping rule that looks at every round.
        delay: How late rewards are; None if they are known at once.
        floored: Whether every arm has a smallest probability.
    """
    by_pulls = goes_by_pulls(policy, delay, floored)
    policy, fade = policy.split_fading()
    family = family_of(policy)
    if family is None or (fade < 1 and isinstance(policy, (LinearPolicy, StatePolicy))):
        return None  # neither regressions nor a user's own state can fade in compiled code
    made: dict[str, Any] = {"family": family, "naive": naive, "fading": fade < 1}
    made |= _of_policy(policy, family, problem.K, fade < 1)
    if by_pulls and (family != "index" or made.get("terms") or made.get("common")):
        return None
    made |= _of_problem(problem) | _of_rule(rule) | _of_delay(delay)
    made |= {"floored": floored, "counts_pulls": by_pulls}
    made["context"] = problem.contextual
    made["moving"] = isinstance(problem, Drifting)
    made["returning"] = isinstance(problem, Returning)
    return Kernel(**made)


def goes_by_pulls(policy: Policy, delay: Delay | None, floored: bool) -> bool:
    """Return whether a policy's own pulls take the place of n: see `Policy.counts_pulls`.

    Args:
        policy: The policy.
        delay: How late rewards are; None if they are known at once.
        floored: Whether every arm has a smallest probability.
    """
    policy, fade = policy.split_fading()
    return policy.counts_pulls and fade == 1 and (delay is not None or floored)


def family_of(policy: Policy) -> str | None:
    """Return how compiled code chooses for this policy; None for a policy in plain Python."""
    return compiled_family(policy)


def _of_policy(policy: Policy, family: str, K: int, fading: bool) -> dict[str, Any]:
    """Return the fields of a kernel that depend on the policy."""
    given, term_count = _parameters(policy, K)
    made: dict[str, Any] = {"parameters": given.shape[1], "term_count": term_count}
    made["width"] = parameter_array(policy, K).size // K
    if family == "index":
        assert isinstance(policy, IndexPolicy)
        names = "index", "terms", "clock", "common", "reaches"
        index, terms, clock, common, reaches = (_formula(policy, name) for name in names)
        made |= {"formula": index, "terms": terms, "clock": clock, "common": common}
        made |= {"reaches": reaches, "chance": bool(policy.chance)}
        alone = common is None and not policy.chance
        made["growing"] = bool(policy.grows) and alone and K >= MIN_ARMS_GROWING and not fading
        made |= _clock_sizes(policy, K)
    elif family in ("belief", "top_two", "top_two_gain"):
        assert isinstance(policy, BeliefPolicy)
        made |= {"formula": _formula(policy, "believe"), "pooled": bool(policy.pooled)}
        made["kurtosis"] = bool(policy.tailed)
    elif isinstance(policy, LinearPolicy):
        name = "index" if family == "linear_index" else "believe"
        made |= {"formula": _formula(policy, name), "pooled": policy.prior is None}
        if not policy.narrows:
            made["naive"] = True
    elif family == "draw":
        made["formula"] = _formula(policy, "draw")
    elif isinstance(policy, StatePolicy):
        made |= {"formula": _formula(policy, "pick"), "learn": _formula(policy, "learn")}
        made |= {"arm_numbers": policy.arm_numbers, "run_numbers": policy.run_numbers}
        made |= {"answer": _formula(policy, "answer"), "arm_fields": policy.arm_fields}
    return made


def _of_problem(problem: Problem) -> dict[str, Any]:
    reward = reward_of(problem)
    return {"reward": reward, "data_size": 0 if reward is None else data_size(problem)}


def _of_rule(rule: StopRule | None) -> dict[str, Any]:
    if rule is None or rule.compiled == "":
        return {}
    if rule.compiled == "evidence":
        return {"rule": "evidence"}
    what = f"stops of {type(rule).__name__}"
    fields = len(rule.numbers(2))
    return {"rule": "user", "stops": Formula.of(rule.stops, what), "rule_fields": fields}


def _of_delay(delay: Delay | None) -> dict[str, Any]:
    if delay is None:
        return {}
    what = "delay" if isinstance(delay, FunctionDelay) else f"rounds of {type(delay).__name__}"
    return {"delay": Formula.of(delay.formula, what), "delay_fields": len(delay.numbers())}


def _clock_sizes(policy: IndexPolicy, K: int) -> dict[str, Any]:
    """Return how many numbers the formulas of a round take and return, by trying them."""
    fields = policy.parameters(ArmStats.empty(K))[0]
    made: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        if policy.clock is not None:
            made["clock_count"] = len(as_numbers(clock_of(policy, 1000.0, *fields)))
            made["clock_takes"] = len(fields) if takes_fields(policy.clock) else 0
        if policy.common is not None:
            common_of(policy, *np.full((3, K), 2.0), 1000.0, *fields)
            made["common_takes"] = common_count(policy, len(fields))
    return made


def _formula(policy: Policy, name: str) -> Formula | None:
    function = getattr(policy, name)
    return None if function is None else Formula.of(function, f"{name} of {name_of(policy)}")


def reward_of(problem: Problem) -> Formula | None:
    """Return a user's own reward function; None for the built-in kinds."""
    if reward_kind(problem) != CUSTOM:
        return None
    return Formula.of(problem.reward, f"reward of {type(problem).__name__}")


def reward_kind(problem: Problem) -> int:
    """Return which kind of reward the tape draws for this problem."""
    return REWARD_KINDS.get(problem.reward, CUSTOM)


def data_size(problem: Problem) -> int:
    """Return how many numbers a problem's rewards look up; 0 for none."""
    return 0 if problem.data is None else len(data_array(problem))


def data_array(problem: Problem) -> Floats:
    """Return what the problem's rewards look up, copied only if necessary."""
    if problem.data is None:
        return read_only(np.zeros(1))
    what, data = f"data of {type(problem).__name__}", problem.data
    if not isinstance(data, np.ndarray) or data.dtype != np.float64:
        data = reals(what, data)
    if data.ndim != 1 or not data.size:
        raise ValueError(f"{what} must be a list of numbers, got the shape {data.shape}")
    return read_only(np.ascontiguousarray(data))


def parameter_array(policy: Policy, K: int) -> Floats:
    """Return the policy's parameters for a kernel, a row per arm, as one flat array.

    For a policy with terms it is a column per arm, with room for the terms below the parameters.
    For one that corrects for kurtosis, room for the moments follows the parameters. The last number
    of T3C and TTEI is the leader's share.
    """
    policy = policy.split_fading()[0]
    given, term_count = _parameters(policy, K)
    if isinstance(policy, VarTS):
        if policy.tailed:
            moments, before = np.zeros((K, KURTOSIS_COLUMNS)), policy.tails_of(ArmStats.empty(K))
            moments[:, KURTOSIS_BEFORE], moments[:, N_BEFORE] = before.kurtosis, before.n
            given = np.column_stack([given, moments])
        if isinstance(policy, T3C):
            given = np.column_stack([given, np.full(K, beta_number(policy.beta))])
    if term_count:
        given = np.vstack([given.T, np.zeros((term_count, K))])
    return np.ascontiguousarray(given).ravel()


def _parameters(policy: Policy, K: int) -> tuple[Floats, int]:
    """Return the policy's parameters, a row per arm, and how many numbers its `terms` return."""
    family = family_of(policy)
    if family in (None, "beta"):
        return np.empty((K, 0)), 0
    if isinstance(policy, LinearPolicy):
        return np.tile(np.array([policy.extra()], dtype=np.float64).reshape(1, -1), (K, 1)), 0
    given = policy.parameters(ArmStats.empty(K))
    if not isinstance(policy, IndexPolicy) or policy.terms is None:
        return given, 0
    with np.errstate(all="ignore"):
        return given, len(terms_of(policy, *np.full((3, 1), 2.0), *given[:1].T))


# ---------------------------------------------------------------------------------- compiled code

KernelFunction = Callable[[Table], int]
_C_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # releases the GIL while it runs
_C_TYPES: dict[str, Any] = {
    "i": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "f": ctypes.c_double,
    "p": ctypes.c_void_p,
    "v": None,
}
_loaded: dict[str, int] = {}  # addresses by C name
_compiling = threading.RLock()


def find_kernel(kernel: Kernel) -> KernelFunction | None:
    """Return the compiled kernel if it need not be compiled, else None."""
    name = kernel.name
    with _compiling:
        if name not in _loaded:
            code = _find(name)
            if code is None:
                return None
            _load(name, code)
    return _kernel_function(_loaded[name])


def compile_kernel(kernel: Kernel) -> KernelFunction:
    """Compile a kernel, keep it for the next process, and return it."""
    from varts.simulation.engine import build

    name = kernel.name
    with _compiling:
        if name not in _loaded:
            code = build.build_kernel(kernel, levels()[0])
            if all(formula.is_portable for formula in kernel.formulas):
                kernel_cache.keep(file_name(name, levels()[0]), code)
            _load(name, code)
    return _kernel_function(_loaded[name])


@cache
def part(name: str, signature: str) -> Callable[..., Any]:
    """Return one of the parts that kernels share, as a C function.

    Args:
        name: The name of the part.
        signature: A letter for the result and one for each argument: i, u, f for numbers, p for an
            array, v for nothing.
    """
    file = f"{name}_{kernel_cache.sources_digest()}"
    with _compiling:
        code = _find(file)
        if code is None:
            from varts.simulation.engine import build

            code = build.build_part(name, levels()[0])
            kernel_cache.keep(file_name(file, levels()[0]), code)
        if name not in _loaded:
            _load(name, code)
    kinds = [_C_TYPES[letter] for letter in signature]
    return ctypes.CFUNCTYPE(*kinds)(_loaded[name])


def _find(name: str) -> bytes | None:
    """Return the content of a file, unless its code needs another version of Numba."""
    for level in levels():
        content = kernel_cache.find(file_name(name, level))
        if content is None:
            continue
        needed = numba_needed(content)
        if not needed or needed == version("numba"):
            return content
    return None


def numba_needed(content: bytes) -> str:
    """Return which version of Numba the code of a file needs, or nothing.

    Code that raises exceptions or allocates memory calls Numba's runtime. The first line of its
    file names the version. Other code runs with any version, and without Numba.
    """
    return content.partition(b"\n")[0].decode()


def _load(name: str, content: bytes) -> None:
    if numba_needed(content):
        from varts.simulation.engine import build

        build.start_numba_runtime()
    _loaded[name] = load(content.partition(b"\n")[2], name)


def _kernel_function(address: int) -> KernelFunction:
    function = _C_ENTRY(address)

    def call(table: Table) -> int:
        return int(function(address_of(table)))

    return call
