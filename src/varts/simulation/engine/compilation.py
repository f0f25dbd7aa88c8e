"""From a policy to its compiled loop, with a cache on disk that is never stale.

A policy's formula is put into the loop by copying the loop's code object with other globals, so
every policy, a user's too, runs the same source. Numba names its cache files after a function's
qualified name and checks only that function's own file; the name therefore carries the kernel's
ingredients and a hash of every source file a kernel is made of.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine import beta_envelope, lazy_argmax, loop, selectors, student_envelope
from varts.simulation.engine.envelope import Envelope
from varts.simulation.engine.kernel import Kernel, kernel_of, reward_kind
from varts.simulation.engine.loop import Hooks
from varts.simulation.engine.rng import OPTIONS, bits, inlined, jit, where
from varts.simulation.engine.specialisation import as_module, specialise
from varts.stats import ArmStats

Loop = Callable[..., int]  # `loop.play` for one policy

STUDENT: Envelope = student_envelope  # so a type checker knows that the modules are envelopes
BETA: Envelope = beta_envelope


def loop_of(policy: Policy, problem: Problem, naive: bool = False) -> Loop:
    """The loop for this policy on this problem; compiled at its first call."""
    kernel = kernel_of(policy, problem, naive)
    if kernel is not None:
        return compiled_loop(kernel)
    reward = problem.reward if reward_kind(problem) == loop.CUSTOM else None
    return interpreted_loop(policy, reward)


@functools.cache
def compiled_loop(kernel: Kernel) -> Loop:
    """The loop of a kernel; policies with equal kernels share it."""
    hooks = _hooks(kernel)
    name = f"play_{kernel.name}_{sources_digest()}"
    body = specialise(loop.play, name, hooks=as_module(hooks))
    compiled = njit(cache=kernel.is_built_in, **OPTIONS)(body)
    if kernel.is_built_in:
        delete_old_kernels(compiled.stats.cache_path)
    return compiled  # type: ignore[no-any-return]


def _hooks(kernel: Kernel) -> Hooks:
    pay, first_pay = pay_functions(kernel.reward)
    transform = selectors.keep
    if kernel.family in ("index", "growing"):
        select, refresh, begin = _index_hooks(kernel)
    elif kernel.family == "mean_variance":
        select = selectors.select_mean_variance
        refresh = begin = selectors.refresh_nothing
    else:
        envelope, learn = BETA, beta_envelope.learn
        if kernel.family == "beta":
            transform = selectors.toss
        else:
            assert kernel.formula is not None
            believe = formula_jit(kernel.formula)
            envelope, learn = STUDENT, student_learn(believe, kernel.parameters)
        # Where every reward moves every belief there is nothing to be lazy about.
        lazy = not (kernel.pooled or kernel.naive)
        select, update = sampler(envelope, learn, lazy, kernel.pooled)
        refresh, begin = inlined(update), jit(update)
    return Hooks(select, refresh, transform, pay, begin, first_pay)


def _index_hooks(kernel: Kernel) -> tuple[Any, Any, Any]:
    """`select`, `refresh` and `begin` of a policy that pulls the arm with the largest index."""
    numbers: dict[str, Any] = {"PARAMETERS": kernel.parameters, "TERMS": kernel.term_count * (0.0,)}
    index_of: Any = selectors.index_of
    refresh = begin = selectors.refresh_nothing
    if kernel.terms is not None:
        index_of = selectors.index_of_terms
        update = specialise(selectors.refresh_terms, terms=formula_jit(kernel.terms), **numbers)
        refresh, begin = inlined(update), jit(update)
    time_of: Any = selectors.time_of
    if kernel.clock is not None:
        time_of = inlined(specialise(selectors.time_of_clock, clock=formula_jit(kernel.clock)))
    bound: dict[str, Any] = {
        "index_of": inlined(specialise(index_of, index=formula_jit(kernel.formula), **numbers)),
        "time_of": time_of,
    }
    if kernel.family == "index" or kernel.naive:
        return inlined(specialise(selectors.select_index, **bound)), refresh, begin
    select = inlined(specialise(selectors.select_growing, **bound))
    refresh = jit(specialise(selectors.refresh_growing, refresh_index=refresh, **bound))
    return select, refresh, refresh


def student_learn(believe: Any, parameters: int, envelope: Any = student_envelope) -> Any:
    """How the Student-t belief about an arm is written down, by a compiled formula."""
    return inlined(specialise(envelope.learn, believe=believe, PARAMETERS=parameters))


@functools.cache
def lazy_sampler(envelope: Envelope, process: Any = lazy_argmax) -> dict[str, Any]:
    """The process of lazy_argmax.py with an envelope in it, compiled: its functions by name."""
    bound: dict[str, Any] = {"envelope": envelope}
    for function, compiled in process.COMPILED:
        bound[function.__name__] = compiled(specialise(function, **bound))
    return bound


def sampler(envelope: Envelope, learn: Any, lazy: bool, pooled: bool = False) -> tuple[Any, Any]:
    """How the largest draw of a family of beliefs is found, and how a belief is brought up to date.

    The second is still to be compiled.
    """
    if lazy:
        bound = lazy_sampler(envelope)
        return bound["select_lazy"], specialise(lazy_argmax.refresh_lazy, learn=learn, **bound)
    select = inlined(specialise(selectors.select_draw, drawn=envelope.drawn))
    return select, specialise(selectors.refresh_belief, learn=learn, POOLED=pooled)


# NumPy as a formula sees it: the same, but np.where of numbers is a number.
numpy_of_numbers = types.ModuleType("numpy")
numpy_of_numbers.__dict__.update(np.__dict__)
numpy_of_numbers.where = where  # type: ignore[attr-defined]


@functools.cache
def formula_jit(function: Any) -> Any:
    """Compile a formula together with the plain functions it calls by name."""
    function = getattr(function, "py_func", function)  # it may be compiled already
    called: dict[str, Any] = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if value is np:
            called[name] = numpy_of_numbers
        elif isinstance(value, types.FunctionType):
            called[name] = formula_jit(value)
    return inlined(specialise(function, **called))


@functools.cache
def pay_functions(reward: Any) -> tuple[Any, Any]:
    """`loop.pay`, with a user's reward function in it if there is one: inlined, and as a call."""
    custom = loop.no_custom_reward if reward is None else formula_jit(reward)
    pay = specialise(loop.pay, custom_reward=custom)
    return inlined(pay), jit(pay)


@functools.cache
def average_runs() -> Callable[..., None]:
    """The compiled `loop.average_runs`."""
    body = specialise(loop.average_runs, f"play_average_runs_{sources_digest()}")
    return njit(cache=True, **OPTIONS)(body)  # type: ignore[no-any-return]


def kernel_sources() -> list[Path]:
    """All files that kernels are compiled from."""
    package = Path(__file__).parents[2]
    files = [package / "problems.py", package / "stats.py", *package.glob("priors/*.py")]
    files += [*package.glob("simulation/engine/*.py"), *package.glob("policies/*.py")]
    return sorted([*files, package / "beliefs" / "stirling.py"])


@functools.cache
def sources_digest() -> str:
    """A hash of all sources that kernels are compiled from: an edit to any makes new kernels."""
    digest = hashlib.sha256()
    for file in kernel_sources():
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def delete_old_kernels(folder: str) -> None:
    """Delete what earlier versions of the sources left in the cache: nobody can load it again."""
    for file in Path(folder).glob("loop.play_*"):
        if sources_digest() not in file.name:
            with contextlib.suppress(OSError):  # another process may be quicker, or own the file
                file.unlink()


def interpreted_loop(policy: Policy, reward: Any) -> Loop:
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
    _, pay = pay_functions(reward)
    hooks = Hooks(select, refresh, selectors.keep if plain else transform, pay, refresh, pay)
    return specialise(loop.play, hooks=hooks)  # type: ignore[no-any-return]
