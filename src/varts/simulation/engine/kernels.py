"""Compiled code that Python calls: found on disk, or compiled."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from varts.simulation.engine import kernel_cache
from varts.simulation.engine.call import Table, address_of
from varts.simulation.engine.kernel import Kernel
from varts.simulation.engine.machine import file_name, levels, load

KernelFunction = Callable[[Table], int]
_C_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # releases the GIL while it runs
_C_TYPES: dict[str, Any] = {
    "i": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "f": ctypes.c_double,
    "p": ctypes.c_void_p,
    "v": None,
}
NEEDS_NUMBA = b"N"  # the first byte of code that raises exceptions or allocates memory

_loaded: dict[str, int] = {}  # addresses by C name
_compiling = threading.RLock()


def find_kernel(kernel: Kernel) -> KernelFunction | None:
    """Return the compiled kernel if it need not be compiled, else None."""
    name = f"varts_{kernel.digest}"
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

    name = f"varts_{kernel.digest}"
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
    for level in levels():
        code = kernel_cache.find(file_name(name, level))
        if code is not None:
            return code
    return None


def _load(name: str, code: bytes) -> None:
    if code[:1] == NEEDS_NUMBA:
        from varts.simulation.engine import build

        build.start_numba_runtime()
    _loaded[name] = load(code[1:], name)


def _kernel_function(address: int) -> KernelFunction:
    function = _C_ENTRY(address)

    def call(table: Table) -> int:
        return int(function(address_of(table)))

    return call
