"""How the functions of a kernel are compiled.

Arrays reach these functions as C pointers (`types.CPointer`), which Numba indexes like arrays. A
pointer is one register where an array is seven, has no reference count, and takes an unsigned view
of its index, so there's no test for negative ones. Functions therefore get lengths as arguments,
and a row `i` of a table with W columns starts at `W * i`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload, register_jitable
from scipy import special

from varts.policies.bayes_ucb import normal_quantile, student_quantile
from varts.simulation.engine.formula import PACKAGES_KNOWN_BY_VERSION, name_in_package

# error_model="numpy": 1/0 is inf, as in NumPy, instead of an exception that every division would
# have to test for. fastmath stays off: results must not depend on the order of additions. Only
# the kernel itself is called from outside, so no function needs an entry for Python or C.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call; LLVM decides whether to inline it."""
    return njit(**OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function that becomes part of whatever calls it."""
    return njit(forceinline=True, **OPTIONS)(function)


def compile_formula(function: Callable[..., Any]) -> Any:
    """Compile a plain function together with the plain functions that it calls.

    Formulas are written once, for NumPy arrays. Compiled, the same functions take numbers.
    """
    plain = getattr(function, "py_func", function)
    for called in called_functions(plain).values():
        make_callable(called)
    return inlined(plain)


def called_functions(function: Any) -> dict[str, FunctionType]:
    """Return the plain functions that a function reads, by name; those compiled are plain again."""
    read = inspect.getclosurevars(function)
    values = {**read.globals, **read.nonlocals}
    plain = {name: getattr(value, "py_func", value) for name, value in values.items()}
    return {name: value for name, value in plain.items() if _is_to_compile(value)}


def _is_to_compile(value: Any) -> bool:
    if not isinstance(value, FunctionType):
        return False
    package = (value.__module__ or "").partition(".")[0]
    return package not in PACKAGES_KNOWN_BY_VERSION  # Numba knows those, or not


_callable: set[Callable[..., Any]] = set()


def make_callable(function: Any) -> None:
    """Let compiled code call a plain function, which stays a plain function for Python.

    Numba compiles a function once per process, with the numbers that it reads at that time. Those
    of a user may change, so their functions are inlined as Python code each time.
    """
    if function in _callable:
        return
    _callable.add(function)
    for called in called_functions(function).values():
        make_callable(called)
    options: dict[str, Any] = {"forceinline": True}
    if name_in_package(function) is None:
        options = {"inline": "always"}
    register_jitable(error_model="numpy", nogil=True, **options)(function)


# ------------------------------------------------------------------ NumPy and SciPy, for numbers


@overload(np.where, jit_options={"error_model": "numpy", "forceinline": True})
def where_of_numbers(condition, x, y):
    """`np.where` for three numbers returns a number. Numba's own version allocates an array."""
    if all(isinstance(each, (types.Number, types.Boolean)) for each in (condition, x, y)):
        return lambda condition, x, y: x if condition else y
    return None


@overload(special.stdtrit, jit_options={"error_model": "numpy"})
def student_quantile_of_numbers(df, p):
    """`scipy.special.stdtrit` for a lower tail p of at most 1/2."""
    for formula in (normal_quantile, student_quantile):
        make_callable(formula)

    def quantile(df, p):
        if p >= 0.5:
            return 0.0
        if df == np.inf:
            return -normal_quantile(p)
        return -student_quantile(p, df)

    return quantile
