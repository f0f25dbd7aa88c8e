"""From a kernel's ingredients to machine code.

1. The hooks of a policy and its problem, which are closures over their formulas, make the loop of
   `compiled/loop.py`. Numba compiles it as a C function.
2. LLVM links the parts that all kernels share (`compiled/parts.py`) into it and optimizes the
   whole. What is left refers to nothing but the C library, so the machine code can be stored and
   loaded without Numba.
3. `kernel_cache.py` stores it.

`prebuild.py` does this for the built-in policies when varts is installed.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import cfunc, types

from varts.problems.drift import Cycle, Walk
from varts.simulation.engine import checkpoints, initial_pulls, kernel_cache
from varts.simulation.engine.compiled import beta, rng, student
from varts.simulation.engine.compiled import select_belief as beliefs
from varts.simulation.engine.compiled.arguments import read_call, read_scratch
from varts.simulation.engine.compiled.certainty import make_ends, make_user_rule
from varts.simulation.engine.compiled.jit import OPTIONS, compile_formula, inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import make_lazy_sampler
from varts.simulation.engine.compiled.linear import make_linear_hooks
from varts.simulation.engine.compiled.own_policy import make_draw_select, make_state_hooks
from varts.simulation.engine.compiled.parts import (
    BETA,
    BY_ALL,
    BY_PRIOR,
    IS_CERTAIN,
    PARTS,
    PAY,
    STUDENT,
    lazy_parts,
    linear_parts,
)
from varts.simulation.engine.compiled.reward_tape import make_custom_pay, make_pay
from varts.simulation.engine.compiled.select_index import IndexFormulas, make_index_hooks
from varts.simulation.engine.compiled.tuples import make_reader, parameters_reader
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import Kernel
from varts.simulation.engine.loop import Flags, Hooks, make_move, make_play
from varts.simulation.engine.machine import levels, target_machine

TABLE = types.CPointer(types.int64)
ENTRY = types.int64(TABLE)


# -------------------------------------------------------------------------------------- 1. hooks


@functools.cache
def compiled(formula: Formula | None) -> Any:
    """Return a formula as compiled code calls it."""
    return None if formula is None else compile_formula(formula.function)


def make_entry(kernel: Kernel) -> Callable[..., Any]:
    """Return the function that is compiled: it reads its arguments and plays."""
    flags = Flags(kernel.context, kernel.moving, kernel.fading, bool(kernel.rule))
    play = jit(make_play(hooks_of(kernel), flags))

    def entry(table):
        return play(read_call(table), read_scratch(table))

    return entry


def hooks_of(kernel: Kernel) -> Hooks:
    """Return what the loop calls for a kernel."""
    made: dict[str, Any] = dict.fromkeys(("begin",), beliefs.begin_nothing)
    made |= {"transform": beliefs.keep, "observe": beliefs.observe_nothing}
    made |= {"fade": beliefs.fade_nothing, "valid": beliefs.always_valid}
    made |= {"refresh": beliefs.refresh_nothing, "recommend": beliefs.recommend_highest_mean}
    made |= _policy_hooks(kernel)
    if kernel.fading and not (kernel.pooled or kernel.kurtosis):
        made["refresh"] = beliefs.make_refresh_all(made["refresh"])
    refresh = made["refresh"]

    @jit
    def prepare(i, s, parameters):
        refresh(i, s, parameters)

    return Hooks(
        **made,
        prepare=prepare,
        pay=pay_of(kernel.reward, kernel.data_size),
        ends=_ends(kernel),
        note=jit(checkpoints.note),
        begin_initial_pulls=jit(initial_pulls.begin_initial_pulls),
        initial_pull=inlined(initial_pulls.make_initial_pull(rng.below)),
        pull_again=jit(initial_pulls.pull_again),
        stream=rng.stream,
        unlikely=rng.unlikely,
        move=jit(
            make_move(rng.normal, compile_formula(Cycle.shift), compile_formula(Walk.moved))
        ),
    )


def _policy_hooks(kernel: Kernel) -> dict[str, Any]:
    formula = compiled(kernel.formula)
    if kernel.family == "index":
        select, refresh, valid = make_index_hooks(_index_formulas(kernel), kernel.growing)
        return {"select": select, "refresh": refresh, "valid": valid}
    if kernel.family in ("linear_index", "linear_belief"):
        parts = linear_parts(BY_ALL if kernel.pooled else BY_PRIOR)
        believe, index = (formula, None) if kernel.family == "linear_belief" else (None, formula)
        lazy = not (kernel.naive or kernel.pooled)
        hooks = make_linear_hooks(parts, believe, index, kernel.parameters, lazy)
        return dict(zip(("select", "refresh", "recommend"), hooks, strict=True))
    if kernel.family == "mean_variance":
        return {"select": beliefs.select_mean_variance}
    if kernel.family == "top_two_means":
        return {"select": beliefs.select_by_means, "refresh": beliefs.refresh_pulled}
    if kernel.family == "draw":
        return {"select": make_draw_select(formula, kernel.parameters)}
    if kernel.family == "state":
        numbers = kernel.parameters, kernel.arm_numbers, kernel.run_numbers
        hooks = make_state_hooks(formula, compiled(kernel.learn), *numbers)
        return dict(zip(("begin", "select", "observe", "refresh"), hooks, strict=True))
    return _belief_hooks(kernel)


def _belief_hooks(kernel: Kernel) -> dict[str, Any]:
    """Return the hooks of policies that draw from Student-t or Beta beliefs."""
    made: dict[str, Any] = {"valid": beliefs.valid_beliefs}
    family, parts, learn = student, STUDENT, beta.learn
    if kernel.family == "beta":
        family, parts = beta, BETA  # type: ignore[assignment]
        made["transform"] = beliefs.toss
    else:
        own = parameters_reader(kernel.parameters, kernel.width)
        learn = student.make_learn(compiled(kernel.formula), own)
    before = beliefs.before_nothing
    if kernel.pooled:
        before = beliefs.make_pool(kernel.width)
    if kernel.kurtosis:
        correction = beliefs.make_kurtosis_correction(kernel.parameters, kernel.width)
        made["observe"], made["fade"], weigh = correction
        pool = before

        @inlined
        def before(s, parameters):
            pool(s, parameters)
            weigh(s, parameters)

    # Where every reward moves every belief, the lazy sampler has nothing to leave out.
    moves_all = kernel.pooled or kernel.kurtosis
    if moves_all or kernel.naive or kernel.fading:
        select, refresh = beliefs.make_sampler(family, learn, before, moves_all)
    else:
        select, refresh = make_lazy_sampler(family, lazy_parts(parts), learn)
    if kernel.family == "top_two":
        select = beliefs.make_top_two(select, kernel.width)
    return made | {"select": select, "refresh": refresh}


def _index_formulas(kernel: Kernel) -> IndexFormulas:
    return IndexFormulas(
        compiled(kernel.formula),
        compiled(kernel.terms),
        compiled(kernel.clock),
        compiled(kernel.common),
        None if kernel.naive else compiled(kernel.reaches),
        kernel.parameters,
        kernel.term_count,
        kernel.clock_count,
        kernel.clock_takes,
        kernel.common_takes,
        kernel.chance,
    )


def pay_of(reward: Formula | None, data_size: int) -> Any:
    """Return what pays, compiled."""
    if reward is None:
        return make_pay(PAY.call)
    return make_custom_pay(compiled(reward), data_size)


def _ends(kernel: Kernel) -> Any:
    if kernel.rule == "":
        return beliefs.never_ends
    return ends_of(kernel.rule, kernel.stops, kernel.rule_fields)


def ends_of(rule: str, stops: Formula | None, fields: int) -> Any:
    """Return the hook of a stopping rule, compiled."""
    if rule == "user":
        return make_ends(make_user_rule(compiled(stops), make_reader(fields)))
    is_certain_part = IS_CERTAIN.call

    @inlined
    def is_certain(t, c, s):
        return is_certain_part(s.K, s.n, s.mean, s.m2, c.rule_numbers, c.rule_state) != 0

    return make_ends(is_certain)


# ------------------------------------------------------------------------------- 2. machine code

def compile_c(function: Callable[..., Any], signature: Any, name: str) -> Any:
    """Compile a function to an LLVM module in which it has a C name."""
    _declare_parts()
    with no_garbage_collection():
        made = cfunc(signature, nogil=True, error_model=OPTIONS["error_model"])(function)
        module = llvm.parse_assembly(made.inspect_llvm())
    module.get_function(made.native_name).name = name
    return module


@functools.cache
def _declare_parts() -> None:
    """Let Numba resolve the names of parts, although its own copy of a kernel never runs."""
    nowhere = llvm.address_of_symbol("abort")
    for part in PARTS:
        llvm.add_symbol(part.name, nowhere)


def compile_parts() -> bytes:
    """Compile the parts that kernels share, as LLVM bitcode."""
    whole: Any = None
    for part in PARTS:
        module = compile_c(part.make(), part.signature, part.name)
        _hide(module, {part.name})
        _optimize(module, levels()[-1])
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    return bytes(whole.as_bitcode())


def machine_code(module: Any, name: str, parts: bytes, level: str) -> bytes:
    """Link the parts into a module and return the machine code of one function."""
    module.link_in(llvm.parse_bitcode(parts))
    return _emit(module, name, level)


def _emit(module: Any, name: str, level: str) -> bytes:
    if name != PAY.name:  # in the loop it would take registers from the common kind of reward
        module.get_function(PAY.name).add_function_attribute("noinline")
    _hide(module, {name})
    _optimize(module, level)
    left = [each.name for each in module.functions if each.is_declaration]
    numba = any(each.startswith(("numba_", "NRT_", "Py")) for each in left)
    return (NEEDS_NUMBA if numba else PLAIN) + bytes(target_machine(level).emit_object(module))


def _hide(module: Any, names: set[str]) -> None:
    """Make all functions but these internal: LLVM may then inline, change and drop them."""
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in names:
            each.linkage = "internal"


def _optimize(module: Any, level: str) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(target_machine(level), options)
    builder.getModulePassManager().run(module, builder)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector: compiling allocates many live objects and little garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# -------------------------------------------------------------------------------------- 3. store

PLAIN, NEEDS_NUMBA = b"P", b"N"  # the first byte of a file


def build_parts() -> bytes:
    """Return the bitcode of the parts, from disk or compiled."""
    name = parts_name()
    found = kernel_cache.find(name)
    if found is None:
        found = compile_parts()
        kernel_cache.keep(name, found)
    return found


def parts_name() -> str:
    """Return the name of the file that holds the parts."""
    return f"parts-{kernel_cache.sources_digest()}"


def build_kernel(kernel: Kernel, level: str) -> bytes:
    """Compile a kernel and return the content of its file."""
    name = kernel_name(kernel.digest)
    module = compile_c(make_entry(kernel), ENTRY, name)
    return machine_code(module, name, build_parts(), level)


def build_part(name: str, level: str) -> bytes:
    """Return the content of the file of one part, for Python to call."""
    module = llvm.parse_bitcode(build_parts())
    return _emit(module, name, level)


def kernel_name(digest: str) -> str:
    """Return the C name of a kernel."""
    return f"varts_{digest}"


def start_numba_runtime() -> None:
    """Make Numba define the functions that code calls which raises errors or allocates memory."""

    @cfunc(types.float64(types.int64))
    def allocate(size):
        if size < 0:
            raise ValueError("size")
        return np.zeros(size).sum()

    allocate.ctypes(1)

