"""Explain, in one sentence, why Numba does not compile a formula."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit, typeof

from varts._validation import abbreviate
from varts.simulation.engine.compiled.jit import OPTIONS, called_functions, make_callable
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import Kernel

WAY_OUT = "write a closed form, or a policy in plain Python: subclass Policy and define choose"
# Numba's messages about a name that it doesn't know.
UNKNOWN_NAMES = (
    r"Untyped global name '([\w.]+)'",
    r"Unknown attribute '(\w+)' of type Module",
    r"Use of unsupported NumPy function '([\w.]+)'",
)
# Lines of Numba's messages that say what is wrong, the best first; the others say where.
REASONS = (
    r"No implementation of function .* found for signature",
    r"[Cc]annot unify .*",
    r"Cannot determine Numba type of .*",
    r"Unknown attribute .*",
    r"Use of unsupported .*",
    r"Unsupported .*",
    r"NameError: .*",
    r"Cannot bind .*",
    r"Invalid use of .*",
)
NOISE = ("Failed in", "- Resolution", "- argument", "During", "File ", "There are", "- Of which")


def diagnose(kernel: Kernel, error: Exception) -> str:
    """Return why a kernel doesn't compile.

    Args:
        kernel: The kernel.
        error: The error that Numba raised.
    """
    found = list(_formulas(kernel))
    for formula, arguments, results in found:
        problem = _on_numbers(formula, arguments, results)
        if problem is not None:
            return f"{formula.what} {problem}"
    for formula, arguments, _ in found:
        try:
            _compile(formula, arguments)
        except Exception as reason:
            return f"{formula.what} {_why(formula, reason)}"
    return f"the loop of this policy could not be compiled: {_reason(error)}"


def _why(formula: Formula, error: Exception) -> str:
    """Return what is wrong with a formula that runs in Python."""
    if formula.opaque:
        name = formula.opaque[0]
        value = formula.function.__globals__.get(name)
        kind = "" if value is None else f" of type {type(value).__name__}"
        return (
            f"must read numbers, arrays and functions only, got {name}{kind}; what varies is "
            "passed as an argument: a field of a policy's dataclass, or a and b of a problem's "
            "instances"
        )
    for pattern in UNKNOWN_NAMES:
        match = re.search(pattern, str(error))
        if match:
            got = f"{match[1]}; {WAY_OUT}"
            return f"must be plain arithmetic that Numba can compile, got {got}"
    return f"must be plain arithmetic that Numba can compile, got {_reason(error)}"


def _compile(formula: Formula, arguments: tuple[Any, ...]) -> None:
    for called in called_functions(formula.function).values():
        make_callable(called)
    compiled = njit(error_model=OPTIONS["error_model"])(formula.function)
    compiled.compile(tuple(map(typeof, arguments)))


def _formulas(kernel: Kernel) -> Iterator[tuple[Formula, tuple[Any, ...], int | None]]:
    """Yield the formulas, arguments as they may occur, and how many results there must be."""
    arrays = np.full(2, 9.0), np.ones(2), np.ones(2)
    fields = _numbers(kernel.parameters)
    if kernel.reward is not None:
        data = (np.ones(kernel.data_size),) if kernel.data_size else ()
        yield kernel.reward, (*_numbers(4), *data), 1
    if kernel.delay is not None:
        yield kernel.delay, (0.3, 0.5, *_numbers(kernel.delay_fields)), 1
    if kernel.stops is not None:
        yield kernel.stops, (30, *arrays, *_numbers(kernel.rule_fields)), 1
    if kernel.terms is not None:
        yield kernel.terms, _numbers(3 + kernel.parameters), kernel.term_count
    if kernel.clock is not None:
        yield kernel.clock, _numbers(1 + kernel.clock_takes), kernel.clock_count
    if kernel.common is not None:
        more = (30.0, *fields)[: kernel.common_takes - 3]
        yield kernel.common, (*arrays, *more), None
    if kernel.formula is None or kernel.family == "state":
        return  # those of a policy with state change what they are given
    if kernel.family in ("belief", "top_two"):
        yield kernel.formula, _numbers(3 + kernel.parameters), 3
    elif kernel.family == "linear_belief":
        yield kernel.formula, _numbers(4 + kernel.parameters), 3
    elif kernel.family == "linear_index":
        yield kernel.formula, _numbers(5 + kernel.parameters), 1
    elif kernel.family == "draw":
        yield kernel.formula, (9.0, 0.5, 2.0, 0.3, *fields), 1
    elif kernel.common is None:  # otherwise it takes what `common` returns
        moment = kernel.clock_count + kernel.chance
        own = 3 + kernel.parameters if kernel.terms is None else kernel.term_count
        yield kernel.formula, _numbers(own + moment), 1
        if kernel.reaches is not None:
            yield kernel.reaches, (0.5, *_numbers(own + moment)), 1


def _numbers(size: int) -> tuple[float, ...]:
    return (9.0, 0.5, 2.0, 30.0, *[1.0] * size)[:size]


def _on_numbers(formula: Formula, arguments: tuple[Any, ...], results: int | None) -> str | None:
    """Return what is wrong with the formula when Python runs it on numbers as they may occur."""
    try:
        with np.errstate(all="ignore"):
            made = formula.function(*arguments)
    except (ArithmeticError, IndexError):
        return None  # not with these numbers
    except Exception as error:
        return f"must be plain arithmetic, got {type(error).__name__}: {error}"
    values = made if isinstance(made, tuple) and results != 1 else (made,)
    are_numbers = all(np.ndim(x) == 0 and np.asarray(x).dtype.kind in "biuf" for x in values)
    if are_numbers and results in (None, len(values)):
        return None
    rule = "a number" if results == 1 else f"{results} numbers"
    if results is None:
        rule = "a number or a tuple of numbers"
    return f"must return {rule}, got {abbreviate(made)}"


def _reason(error: Any) -> str:
    """Return the line of a message that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for pattern in REASONS:
        for line in lines:
            match = re.search(pattern, line)
            if match:
                return match[0].rstrip(":")
    telling = [line for line in lines if not line.startswith(NOISE)]
    return (telling or lines or [type(error).__name__])[0]
