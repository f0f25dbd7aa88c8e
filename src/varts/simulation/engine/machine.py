"""Machine code in this process: what the processor can run, and how code is loaded.

Nothing here needs Numba: kernels that were compiled earlier run without it.
"""

from __future__ import annotations

import functools
import platform
import sys
import threading
from typing import Any

import llvmlite.binding as llvm

#: The levels that code is compiled for, best first. Any processor of that kind runs the last.
LEVELS = {"x86_64": ("x86-64-v3", "x86-64-v2"), "AMD64": ("x86-64-v3", "x86-64-v2")}
FEATURES = {"x86-64-v3": ("avx2", "bmi2", "fma", "lzcnt", "movbe")}

_lock = threading.Lock()


@functools.cache
def start_llvm() -> None:
    """Initialize LLVM, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def levels() -> tuple[str, ...]:
    """Return the levels that this processor can run, most capable first."""
    start_llvm()
    has = llvm.get_host_cpu_features()
    known = LEVELS.get(platform.machine(), ("generic",))
    return tuple(each for each in known if all(has.get(name) for name in FEATURES.get(each, ())))


def file_name(name: str, level: str) -> str:
    """Return the name of the file with machine code for this system and a level."""
    return f"{name}-{sys.platform}-{level}"


@functools.cache
def target_machine(level: str) -> Any:
    """Return what compiles for processors of a level.

    The code model is that of Numba's own code. A smaller one assumes that code and constants are
    less than 2 GB apart, and in a process with much memory they may not be.
    """
    start_llvm()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=level, opt=3, codemodel="jitdefault")


@functools.cache
def _engine() -> Any:
    """Return what code is loaded into. It lives as long as the process."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(levels()[-1]))


def load(code: bytes, name: str) -> int:
    """Load machine code and return the address of a function.

    Args:
        code: An object file.
        name: The C name of the function. No two files that are loaded may have the same.
    """
    with _lock:
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return int(engine.get_function_address(name))
