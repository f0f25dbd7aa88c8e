"""From a policy to its compiled loop, with a cache on disk that is never stale.

A policy's formula is put into the loop by copying the loop's code object with other globals, so
every policy, a user's too, runs the same source. Numba names its cache files after a function's
qualified name and checks only that function's own file; the name therefore carries the policy's
formula and a hash of every source file a kernel is made of.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from varts._validation import Floats, abbreviate
from varts.policies import MVTS, BeliefPolicy, BernoulliTS, IndexPolicy, Policy
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem
from varts.simulation.engine import beta_envelope, lazy_argmax, loop, selectors, student_envelope
from varts.simulation.engine.rng import OPTIONS, bits, inlined, jit, where
from varts.stats import ArmStats

# By function, not by class: a subclass with a reward of its own is another family.
REWARD_FAMILIES: dict[Any, int] = {
    GaussianBandit.reward: loop.GAUSSIAN,
    BernoulliBandit.reward: loop.BERNOULLI,
    BetaBandit.reward: loop.BETA,
}

MANY = 128  # arms from which it pays to leave some out


def reward_family(problem: Problem) -> int:
    """Which branch of `loop.pay` draws this problem's rewards."""
    return REWARD_FAMILIES.get(problem.reward, loop.CUSTOM)


def family(policy: Policy) -> str:
    """How the policy is played: compiled in one of four ways, or interpreted.

    Only what a policy inherits unchanged may be replaced by compiled code.
    """
    kind = type(policy)
    for name, base, inherited in (
        ("beta", BernoulliTS, ("choose", "transform", "belief", "believe", "clip")),
        ("mean_variance", MVTS, ("choose", "transform", "belief", "score", "precision")),
        ("index", IndexPolicy, ("choose", "transform", "indices")),
        ("belief", BeliefPolicy, ("choose", "transform", "belief")),
    ):
        if isinstance(policy, base) and all(
            getattr(kind, method) is getattr(base, method) for method in inherited
        ):
            if isinstance(policy, MVTS) and np.isinf(policy.rho):
                return "belief"
            return name
    return "python"


def parameters(policy: Policy, K: int) -> Floats:
    """What the kernel gets of the policy's parameters: a row per arm.

    For a policy with terms it is a column per arm, with room for the terms below the parameters:
    so they lie side by side as the vectors of the index's loop want them.
    """
    given, terms = _given(policy, K)
    return np.vstack([given.T, np.zeros((terms, K))]) if terms else given


def _given(policy: Policy, K: int) -> tuple[Floats, int]:
    """The policy's parameters, a row per arm, and how many numbers its `terms` make of an arm."""
    name = family(policy)
    if name in ("python", "beta"):
        return np.empty((K, 0)), 0
    given = policy.parameters(ArmStats.empty(K))
    terms = policy.terms if name == "index" else None  # type: ignore[attr-defined]
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


def kernel(policy: Policy, problem: Problem, naive: bool = False) -> Callable[..., int]:
    """The loop for this policy on this problem; compiled at its first call.

    `naive` draws every arm in every round: slower, and the yardstick of the exactness tests.
    """
    reward = problem.reward if reward_family(problem) == loop.CUSTOM else None
    name = family(policy)
    if name == "python":
        return _interpreted(policy, reward)
    formula, terms, clock, pooled = None, None, None, False
    if name == "index":
        assert isinstance(policy, IndexPolicy)
        formula, terms, clock = policy.index, policy.terms, policy.clock
        if policy.grows and problem.K >= MANY:
            name = "growing"
    elif name == "belief":
        formula, pooled = policy.believe, bool(policy.pooled)  # type: ignore[attr-defined]
    given, count = _given(policy, problem.K)
    widths = given.shape[1], count
    return _compiled(name, formula, terms, clock, pooled, widths, reward, naive)


def is_ready(policy: Policy, problem: Problem) -> bool:
    """Whether the kernel needs no compiling or loading any more."""
    return bool(getattr(kernel(policy, problem), "signatures", True))


def specialise(function: Any, name: str | None = None, **names: Any) -> Any:
    """The same code with some global names standing for something else."""
    name = name or function.__name__
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        name,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    return copy


# NumPy as a formula sees it: the same, but np.where of numbers is a number.
numbers = types.ModuleType("numpy")
numbers.__dict__.update(np.__dict__)
numbers.where = where  # type: ignore[attr-defined]


@functools.cache
def formula_jit(function: Any) -> Any:
    """Compile a formula together with the plain functions it calls by name."""
    function = getattr(function, "py_func", function)  # it may be compiled already
    called: dict[str, Any] = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if value is np:
            called[name] = numbers
        elif isinstance(value, types.FunctionType):
            called[name] = formula_jit(value)
    return inlined(specialise(function, **called))


@functools.cache
def sources_digest() -> str:
    """A hash of all sources that kernels are compiled from: an edit to any makes new kernels."""
    folder = Path(__file__).parents[2]
    files = [folder / "problems.py", folder / "stats.py", *folder.glob("priors/*.py")]
    files += [*folder.glob("simulation/engine/*.py"), *folder.glob("policies/*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _compiled(
    family: str,
    formula: Any,
    terms: Any,
    clock: Any,
    pooled: bool,
    widths: tuple[int, int],
    reward: Any,
    naive: bool,
) -> Callable[..., int]:
    refresh: Any = selectors.refresh_nothing
    begin: Any = None  # `refresh` again where that is not inlined
    transform = selectors.keep
    names: dict[str, Any] = {"PARAMETERS": widths[0], "TERMS": widths[1] * (0.0,), "POOLED": pooled}
    if family in ("index", "growing"):
        index_of: Any = selectors.index_of
        if terms is not None:
            index_of = selectors.index_of_terms
            refresh = specialise(selectors.refresh_terms, terms=formula_jit(terms), **names)
            refresh, begin = inlined(refresh), jit(refresh)
        time_of: Any = selectors.time_of
        if clock is not None:
            time_of = inlined(specialise(selectors.time_of_clock, clock=formula_jit(clock)))
        names = {
            "index_of": inlined(specialise(index_of, index=formula_jit(formula), **names)),
            "time_of": time_of,
        }
        if family == "growing" and not naive:
            select = inlined(specialise(selectors.select_growing, **names))
            refresh = jit(specialise(selectors.refresh_growing, refresh_index=refresh, **names))
            begin = None
        else:
            select = inlined(specialise(selectors.select_index, **names))
    elif family == "beta":
        select, refresh = sampler(beta_envelope, beta_envelope.learn, lazy=not naive)
        refresh, begin, transform = inlined(refresh), jit(refresh), selectors.toss
    elif family == "mean_variance":
        select = selectors.select_mean_variance
    else:
        learn = inlined(specialise(student_envelope.learn, believe=formula_jit(formula), **names))
        # Where every reward moves every belief there is nothing to be lazy about.
        select, refresh = sampler(
            student_envelope, learn, lazy=not (pooled or naive), pooled=pooled
        )
        refresh, begin = inlined(refresh), jit(refresh)
    ours = reward is None and (formula is None or formula.__module__.startswith("varts."))
    written = formula.__qualname__ if formula is not None else ""
    kind = "naive" if naive else family
    name = re.sub(r"\W", "_", f"play_{kind}_{written}_{widths[0]}{pooled:d}_{sources_digest()}")
    pay, first_pay = payers(reward)
    body = specialise(
        loop.play,
        name,
        begin=begin or refresh,
        select=select,
        refresh=refresh,
        transform=transform,
        pay=pay,
        first_pay=first_pay,
    )
    compiled = njit(cache=ours, **OPTIONS)(body)
    if ours:
        forget_old_kernels(compiled.stats.cache_path)
    return compiled  # type: ignore[no-any-return]


@functools.cache
def lazy_sampler(tail: Any, process: Any = lazy_argmax) -> dict[str, Any]:
    """The process of lazy_argmax.py with a family's tail in it, compiled: its functions by name."""
    names = {name: getattr(tail, name) for name in process.TAIL}
    for function, compiled in process.COMPILED:
        names[function.__name__] = compiled(specialise(function, **names))
    return names


def sampler(tail: Any, learn: Any, lazy: bool, pooled: bool = False) -> tuple[Any, Any]:
    """How the largest draw of a family of beliefs is found, and how a belief is brought up to date.

    The second is still to be compiled.
    """
    if lazy:
        names = lazy_sampler(tail)
        return names["select_lazy"], specialise(lazy_argmax.refresh_lazy, learn=learn, **names)
    select = inlined(specialise(selectors.select_draw, drawn=tail.drawn))
    return select, specialise(selectors.refresh_belief, learn=learn, POOLED=pooled)


@functools.cache
def over_runs() -> Callable[..., None]:
    """The compiled `loop.over_runs`."""
    body = specialise(loop.over_runs, f"play_over_runs_{sources_digest()}")
    return njit(cache=True, **OPTIONS)(body)  # type: ignore[no-any-return]


@functools.cache
def forget_old_kernels(folder: str) -> None:
    """Delete what earlier versions of the sources left in the cache: nobody can load it again."""
    for file in Path(folder).glob("loop.play_*"):
        if sources_digest() not in file.name:
            with contextlib.suppress(OSError):  # another process may be quicker, or own the file
                file.unlink()


@functools.cache
def payers(reward: Any) -> tuple[Any, Any]:
    """`loop.pay`, with a user's reward function in it if there is one: inlined, and as a call."""
    custom = loop.no_custom_reward if reward is None else formula_jit(reward)
    pay = specialise(loop.pay, custom_reward=custom)
    return inlined(pay), jit(pay)


def _interpreted(policy: Policy, reward: Any) -> Callable[..., int]:
    """The same loop in plain Python, around a policy's own `choose` and `transform`."""

    def generator(state: Any) -> tuple[np.random.Generator, Any]:
        word, state = bits(np.uint64(state))
        return np.random.Generator(np.random.PCG64(word)), state

    def select(t: int, n: Any, mean: Any, m2: Any, params: Any, memory: Any, state: Any) -> Any:
        rng, state = generator(state)
        arm = policy.choose(ArmStats._trusted(n.copy(), mean.copy(), m2.copy()), t, rng)
        if not 0 <= arm < len(n):
            raise ValueError(
                f"{policy.label or type(policy).__name__} must choose an arm from 0 to "
                f"{len(n) - 1}, got {arm!r}"
            )
        return int(arm), state

    def transform(x: float, state: Any) -> Any:
        rng, state = generator(state)
        return policy.transform(x, rng), state

    def refresh(*_: Any) -> None:
        pass

    plain = type(policy).transform is Policy.transform
    _, pay = payers(reward)
    return specialise(  # type: ignore[no-any-return]
        loop.play,
        begin=refresh,
        select=select,
        refresh=refresh,
        transform=selectors.keep if plain else transform,
        pay=pay,
        first_pay=pay,
    )
