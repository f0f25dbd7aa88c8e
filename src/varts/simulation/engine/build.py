"""From a kernel's ingredients to machine code.

1. The hooks of a policy and its problem, which are closures over their formulas, make the loop of
   `compiled/loop.py`. Numba compiles it as a C function.
2. LLVM links the parts that all kernels share (`compiled/parts.py`) into it and optimizes the
   whole. The result refers to nothing but the C library, so the machine code can be stored and
   loaded without Numba.
3. `kernel_cache.py` stores it.

`prebuild.py` does this for the built-in policies when varts is installed.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import cfunc, types

from varts.simulation.engine import kernel_cache
from varts.simulation.engine.compiled.hooks import make_entry
from varts.simulation.engine.compiled.jit import OPTIONS
from varts.simulation.engine.compiled.parts import ENTRY, PARTS, PAY, allocate_or_raise
from varts.simulation.engine.kernel import Kernel
from varts.simulation.engine.machine import levels, target_machine

# ---------------------------------------------------------------------------------- machine code


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


def compile_parts(run: Callable[..., Iterable[bytes]] = map) -> bytes:
    """Compile the parts that kernels share, as LLVM bitcode.

    Args:
        run: Calls a function with each of many arguments, as `map` or in other processes.
    """
    first, *others = run(_compile_part, range(len(PARTS)))
    whole = llvm.parse_bitcode(first)
    for bitcode in others:
        whole.link_in(llvm.parse_bitcode(bitcode))
    return bytes(whole.as_bitcode())


def _compile_part(number: int) -> bytes:
    part = PARTS[number]
    module = compile_c(part.make(), part.signature, part.name)
    _hide(module, {part.name})
    _optimize(module, levels()[-1])
    return bytes(module.as_bitcode())


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
    needs_numba = any(each.startswith(("numba_", "NRT_", "Py")) for each in left)
    first_line = f"{numba.__version__ if needs_numba else ''}\n".encode()
    return first_line + bytes(target_machine(level).emit_object(module))


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


# ----------------------------------------------------------------------------------------- store


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
    module = compile_c(make_entry(kernel), ENTRY, kernel.name)
    return machine_code(module, kernel.name, build_parts(), level)


def build_part(name: str, level: str) -> bytes:
    """Return the content of the file of one part, for Python to call."""
    module = llvm.parse_bitcode(build_parts())
    return _emit(module, name, level)


def start_numba_runtime() -> None:
    """Make Numba define the functions that code calls which raises errors or allocates memory."""

    cfunc(types.float64(types.int64))(allocate_or_raise).ctypes(1)
