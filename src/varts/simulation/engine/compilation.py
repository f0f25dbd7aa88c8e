"""From a policy to its compiled loop.

A policy's formula is put into the loop by copying the loop's code object with other globals, so
every policy, a user's too, runs the same source. What is compiled is kept under its content: see
`formula.py` for what a formula is made of, `kernel_cache.py` for what is kept on disk.

What is called, not inlined, has a name of its own in every kernel: Numba tells functions of one
name apart by numbers that start anew in every process, and kernels from disk bring another's.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from scipy import special

from varts import anytime
from varts.policies import Policy, bayes_ucb, best_arm
from varts.policies.fading import split_fading
from varts.problems import Drifting, Problem
from varts.simulation.engine import (
    beta_envelope,
    certainty,
    contextual,
    drifting,
    index_selectors,
    lazy_argmax,
    linear,
    loop,
    quantiles,
    reductions,
    selectors,
    student_envelope,
    top_two_selectors,
)
from varts.simulation.engine.envelope import Envelope
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.interpretation import (
    interpreted_contextual_loop,
    interpreted_drifting_loop,
    interpreted_loop,
)
from varts.simulation.engine.kernel import Kernel, Stop, kernel_of, reward_of
from varts.simulation.engine.kernel_cache import KernelCache, sources_digest
from varts.simulation.engine.loop import Hooks
from varts.simulation.engine.parts import OPTIONS, inlined, inlined_formula, jit
from varts.simulation.engine.rng import uniform, where
from varts.simulation.engine.specialisation import as_module, specialise

Loop = Callable[..., int]  # `loop.play` for one policy

STUDENT: Envelope = student_envelope  # so a type checker knows that the modules are envelopes
BETA: Envelope = beta_envelope


def loop_of(policy: Policy, problem: Problem, naive: bool = False, stop: Stop = "") -> Loop:
    """The loop for this policy on this problem; compiled at its first call."""
    kernel = kernel_of(policy, problem, naive, stop)
    if kernel is not None:
        return compiled_loop(kernel)
    pay = called_pay(reward_of(problem), problem.data is not None)
    plain, fade = split_fading(policy)
    if problem.contextual:
        return interpreted_contextual_loop(plain, pay)
    if fade < 1 or isinstance(problem, Drifting):
        return interpreted_drifting_loop(plain, pay)
    return interpreted_loop(plain, pay, end_function(stop))


@functools.cache
def compiled_loop(kernel: Kernel) -> Loop:
    """The loop of a kernel; policies with equal kernels share it."""
    name = f"{kernel.family}_{kernel.digest}"
    play: Any = drifting.play if kernel.drifting else loop.play
    play = contextual.play if kernel.contextual else play
    return kept_on_disk(play, name, hooks=as_module(_hooks(kernel)))


@functools.cache
def average_runs() -> Callable[..., None]:
    """The compiled `loop.average_runs`."""
    return kept_on_disk(loop.average_runs, f"average_runs_{sources_digest()}")


def kept_on_disk(function: Any, name: str, **bound: Any) -> Callable[..., Any]:
    """A compiled copy of a function that the next process need not compile."""
    compiled = njit(**OPTIONS)(specialise(function, name, **bound))
    compiled._cache = KernelCache(name)  # as `njit(cache=True)` does it with Numba's
    return compiled  # type: ignore[no-any-return]


def _hooks(kernel: Kernel) -> Hooks:
    pay, first_pay = pay_functions(kernel.reward, kernel.has_data)
    transform, sound = selectors.keep, selectors.sound
    observe, fade = selectors.observe_nothing, selectors.fade_nothing
    if kernel.family in ("index", "reaching", "growing"):
        select, refresh, begin, sound = _index_hooks(kernel)
    elif kernel.family in ("linear_index", "linear_belief"):
        select, refresh = _linear_hooks(kernel)
        begin = selectors.refresh_nothing
    elif kernel.family == "mean_variance":
        select = selectors.select_mean_variance
        refresh = begin = selectors.refresh_nothing
    elif kernel.family == "top_two_means":
        select = inlined(specialise(top_two_selectors.select_by_means, **top_two_formulas()))
        refresh = begin = top_two_selectors.refresh_pulled
    else:
        envelope, learn = BETA, beta_envelope.learn
        if kernel.family == "beta":
            transform = selectors.toss
        else:
            assert kernel.formula is not None
            believe = formula_jit(kernel.formula)
            envelope, learn = STUDENT, student_learn(believe, kernel.parameters)
            sound = selectors.sound_beliefs
        # Where every reward moves every belief there is nothing to be lazy about.
        lazy = not (kernel.pooled or kernel.tails or kernel.naive or kernel.fading)
        shared = {"POOLED": kernel.pooled, "TAILS": kernel.tails, "PARAMETERS": kernel.parameters}
        select, update = sampler(envelope, learn, lazy, **shared)
        if kernel.family == "top_two":
            own = {"select_leader": select, **top_two_formulas()}
            select = inlined(specialise(top_two_selectors.select_top_two, **own))
        refresh, begin = inlined(update), jit(specialise(update, f"begin_{kernel.digest}"))
        if kernel.tails:
            observe = inlined(specialise(selectors.observe_moments, **shared))
            fade = inlined(specialise(selectors.fade_moments, **shared))
    if kernel.fading and not (kernel.pooled or kernel.tails):
        name = f"refresh_every_{kernel.digest}"
        refresh = jit(specialise(selectors.refresh_every, name, refresh_one=refresh))
    ends = end_function(kernel.stop)
    return Hooks(select, refresh, transform, observe, fade, pay, begin, first_pay, sound, ends)


def plain_formula(function: Any) -> Any:
    """A formula of the package, compiled."""
    return formula_jit(Formula.of(function, function.__name__))


@functools.cache
def top_two_formulas() -> dict[str, Any]:
    """What leader and challenger are chosen by, compiled."""
    formulas = anytime.transport_cost, best_arm.challenge, best_arm.leader_share
    return {formula.__name__: plain_formula(formula) for formula in formulas}


@functools.cache
def end_function(stop: Stop) -> Any:
    """When a stopping rule ends a run, compiled."""
    if stop == "":
        return certainty.never_ends
    is_certain = certainty.is_certain_by_evidence
    if stop == "ratio":
        formulas = anytime.likelihood_ratio, anytime.mean_ratio, anytime.stylised_threshold
        bound = {formula.__name__: plain_formula(formula) for formula in formulas}
        bound["ahead"] = jit(specialise(certainty.is_ahead, **bound))
        is_certain = jit(specialise(certainty.is_certain_by_ratio, **bound))
    return jit(specialise(certainty.ends_when_certain, f"ends_{stop}", is_certain=is_certain))


def _index_hooks(kernel: Kernel) -> tuple[Any, Any, Any, Any]:
    """`select`, `refresh`, `begin` and `sound` of a policy that pulls the largest index."""
    numbers: dict[str, Any] = {
        "PARAMETERS": kernel.parameters,
        "TERMS": kernel.term_count * (0.0,),
        "TIMES": max(kernel.clock_count, 1) * (0.0,),
        "SHARED": max(kernel.common_count, 1) * (0.0,),
        "CLOCK_PARAMETERS": kernel.parameters if kernel.clock_takes_parameters else 0,
    }
    index_of: Any = index_selectors.index_of
    refresh = begin = selectors.refresh_nothing
    if kernel.terms is not None:
        index_of = index_selectors.index_of_terms
        made = formula_jit(kernel.terms)
        update = specialise(index_selectors.refresh_terms, terms=made, **numbers)
        refresh, begin = inlined(update), jit(specialise(update, f"begin_{kernel.digest}"))
    bound = {
        "index_of": inlined(specialise(index_of, index=formula_jit(kernel.formula), **numbers)),
        **_moment_hooks(kernel, numbers),
    }
    sound = jit(specialise(index_selectors.sound_indices, f"sound_{kernel.digest}", **bound))
    if kernel.family == "index" or kernel.naive:
        select = inlined(specialise(index_selectors.select_index, **bound))
        return select, refresh, begin, sound
    if kernel.family == "reaching":
        named = {"reaches": formula_jit(kernel.reaches)}
        each = inlined(specialise(index_selectors.reaches_of_terms, **named, **numbers))
        marking = specialise(index_selectors.mark_reaching, reaches_of=each)
        bound["mark_reaching"] = inlined(marking)
        select = inlined(specialise(index_selectors.select_reaching, **bound))
        return select, refresh, begin, sound
    select = inlined(specialise(index_selectors.select_growing, **bound))
    name = f"refresh_growing_{kernel.digest}"
    refresh = jit(specialise(index_selectors.refresh_growing, name, refresh_index=refresh, **bound))
    return select, refresh, refresh, sound


def _linear_hooks(kernel: Kernel) -> tuple[Any, Any]:
    """`select` and `refresh` of a policy that looks at features."""
    assert kernel.formula is not None
    bound: dict[str, Any] = {
        "PARAMETERS": kernel.parameters,
        "LAZY": not (kernel.naive or kernel.pooled),
        "glance": linear.glance_by_all if kernel.pooled else linear.glance_by_prior,
        "look": linear.look_by_all if kernel.pooled else linear.look_by_prior,
    }
    formula, refresh = formula_jit(kernel.formula), linear.learn_by_prior
    if kernel.family == "linear_index":
        select = inlined(specialise(linear.select_index, index=formula, **bound))
    else:
        select = inlined(specialise(linear.select_draw, believe=formula, **bound))
    return select, linear.learn_by_all if kernel.pooled else refresh


def _moment_hooks(kernel: Kernel, numbers: dict[str, Any]) -> dict[str, Any]:
    """What a round's indices have in common, compiled: its time, all arms, a number at random."""
    kinds = index_selectors.one_number, index_selectors.several_numbers
    bound: dict[str, Any] = {"time_of": index_selectors.time_of}
    if kernel.clock is not None:
        made = {"clock": formula_jit(kernel.clock), "as_times": kinds[kernel.clock_count > 0]}
        read: Any = index_selectors.read_clock
        if kernel.terms is not None:
            read = index_selectors.read_clock_of_columns
        read = inlined(specialise(read, **made, **numbers))
        by_clock = specialise(index_selectors.time_of_clock, read_clock=read, **numbers)
        bound["time_of"] = inlined(by_clock)
    if kernel.common is not None:
        made = {"common": formula_jit(kernel.common), "as_shared": kinds[kernel.common_count > 0]}
        bound["shared_of"] = inlined(specialise(index_selectors.share, **made, **numbers))
    if kernel.chance:
        bound |= {"draw": uniform, "given": index_selectors.alone}
    return bound | {"moment_of": inlined(specialise(index_selectors.moment_of, **bound))}


def student_learn(believe: Any, parameters: int, envelope: Any = student_envelope) -> Any:
    """How the Student-t belief about an arm is written down, by a compiled formula."""
    return inlined(specialise(envelope.learn, believe=believe, PARAMETERS=parameters))


@functools.cache
def lazy_sampler(envelope: Envelope, process: Any = lazy_argmax) -> dict[str, Any]:
    """The process of lazy_argmax.py with an envelope in it, compiled: its functions by name."""
    bound: dict[str, Any] = {"envelope": envelope}
    for function, compiled in process.COMPILED:
        name = f"{function.__name__}_{envelope.__name__.rpartition('.')[2]}"
        bound[function.__name__] = compiled(specialise(function, name, **bound))
    return bound


def sampler(envelope: Envelope, learn: Any, lazy: bool, **shared: Any) -> tuple[Any, Any]:
    """How the largest draw of a family of beliefs is found, and how a belief is brought up to date.

    The second is still to be compiled. `shared` says what beliefs have in common, if anything:
    POOLED, TAILS and PARAMETERS.
    """
    if lazy:
        bound = lazy_sampler(envelope)
        return bound["select_lazy"], specialise(lazy_argmax.refresh_lazy, learn=learn, **bound)
    select = inlined(specialise(selectors.select_draw, drawn=envelope.drawn))
    shared = {"POOLED": False, "TAILS": False, "PARAMETERS": 0} | shared
    return select, specialise(selectors.refresh_belief, learn=learn, **shared)


# NumPy as a formula sees it: the same, but np.where of numbers is a number, and what `common` makes
# of arrays allocates nothing.
numpy_of_numbers = types.ModuleType("numpy")
numpy_of_numbers.__dict__.update(np.__dict__)
numpy_of_numbers.__dict__.update(
    where=where,
    max=reductions.largest_of,
    min=reductions.smallest_of,
    sum=reductions.total_of,
)


@functools.cache
def formula_jit(formula: Formula) -> Any:
    """Compile a formula together with the plain functions it calls by name."""
    read = {name: for_numbers(value) for name, value in formula.names_read().items()}
    return inlined_formula(specialise(formula.function, None, **read))


@functools.cache
def special_of_numbers() -> types.ModuleType:
    """SciPy's special functions as a formula sees them: those that are compiled here."""
    formulas = bayes_ucb.normal_quantile, bayes_ucb.student_quantile
    bound = {formula.__name__: plain_formula(formula) for formula in formulas}
    made = types.ModuleType("special")
    made.__dict__.update(stdtrit=jit(specialise(quantiles.stdtrit, **bound)))
    return made


def for_numbers(value: Any) -> Any:
    """What a formula reads, as compiled code is to see it."""
    if value is np:
        return numpy_of_numbers
    if value is special:
        return special_of_numbers()
    plain = getattr(value, "py_func", value)
    if isinstance(plain, types.FunctionType):
        return formula_jit(Formula.of(plain, plain.__name__))
    return value


@functools.cache
def pay_functions(reward: Formula | None, has_data: bool = False) -> tuple[Any, Any]:
    """What a pull pays, compiled: inlined, and as a call."""
    pay = pay_function(reward, has_data)
    return inlined(pay), jit(pay)


@functools.cache
def called_pay(reward: Formula | None, has_data: bool) -> Any:
    """The same for policies in plain Python, which call it."""
    pay = pay_function(reward, has_data)
    return kept_on_disk(pay, f"{pay.__name__}_{sources_digest()}")


def pay_function(reward: Formula | None, has_data: bool) -> Any:
    """`loop.pay` with a user's reward function in it, if there is one."""
    plain = loop.pay_by_data if has_data else loop.pay
    if reward is None:
        return specialise(plain)
    name = f"{plain.__name__}_{reward.content}"
    return specialise(plain, name, custom_reward=formula_jit(reward))
