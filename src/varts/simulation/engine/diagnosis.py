"""What is wrong with a formula that Numba does not compile, in one sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import typeof
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from varts._validation import abbreviate
from varts.simulation.engine.compilation import for_numbers, formula_jit
from varts.simulation.engine.formula import Formula, reads
from varts.simulation.engine.kernel import Kernel

WAY_OUT = "write a closed form, or a policy in plain Python: subclass Policy and define choose"


def diagnose(kernel: Kernel, error: Exception) -> str:
    """Why a kernel's formulas do not compile."""
    found = list(_formulas(kernel))
    for formula, arguments, results in found:
        problem = _on_numbers(formula, arguments, results)
        if problem is not None:
            return f"{formula.what} {problem}"
    for formula, arguments, _ in found:
        try:
            formula_jit(formula).compile(tuple(map(typeof, arguments)))
        except Exception as reason:
            culprits = list(_unknown_to_numba(formula))
            got = f"{culprits[0]}; {WAY_OUT}" if culprits else _first_line(reason)
            return f"{formula.what} must be plain arithmetic that Numba can compile, got {got}"
    return f"the loop of this policy could not be compiled: {_first_line(error)}"


def _formulas(kernel: Kernel) -> Iterator[tuple[Formula, tuple[Any, ...], int]]:
    """The formulas with arguments as they may occur, and the number of their results."""
    if kernel.reward is not None:
        yield kernel.reward, (*_numbers(4), *[np.ones(1)] * kernel.has_data), 1
    if kernel.terms is not None:
        yield kernel.terms, _numbers(3 + kernel.parameters), kernel.term_count
    if kernel.clock is not None:
        taken = 1 + kernel.clock_takes_parameters * kernel.parameters
        yield kernel.clock, _numbers(taken), max(kernel.clock_count, 1)
    if kernel.common is not None:
        yield kernel.common, (np.full(2, 9.0), np.ones(2), np.ones(2)), max(kernel.common_count, 1)
    if kernel.formula is not None and kernel.family in ("belief", "top_two"):
        yield kernel.formula, _numbers(3 + kernel.parameters), 3
    elif kernel.formula is not None and kernel.family == "linear_belief":
        yield kernel.formula, _numbers(4 + kernel.parameters), 3
    elif kernel.formula is not None and kernel.family == "linear_index":
        yield kernel.formula, _numbers(5 + kernel.parameters), 1
    elif kernel.formula is not None:
        shared = 0 if kernel.common is None else max(kernel.common_count, 1)
        moment = max(kernel.clock_count, 1) + shared + kernel.chance
        own = 3 + kernel.parameters if kernel.terms is None else kernel.term_count
        yield kernel.formula, _numbers(own + moment), 1
        if kernel.reaches is not None:
            yield kernel.reaches, (0.5, *_numbers(own + moment)), 1


def _numbers(size: int) -> tuple[float, ...]:
    return (9.0, 0.5, 2.0, 30.0, *[1.0] * size)[:size]


def _on_numbers(formula: Formula, arguments: tuple[Any, ...], results: int) -> str | None:
    """What is wrong with the formula as Python runs it, on numbers as they may occur."""
    try:
        with np.errstate(all="ignore"):
            made = formula.function(*arguments)
    except (ArithmeticError, IndexError):
        return None  # not with these numbers
    except Exception as error:
        return f"must be plain arithmetic, got {type(error).__name__}: {error}"
    values = made if results > 1 and isinstance(made, tuple) else (made,)
    are_numbers = all(np.ndim(x) == 0 and np.asarray(x).dtype.kind in "biuf" for x in values)
    if are_numbers and len(values) == results:
        return None
    rule = "a number" if results == 1 else f"{results} numbers"
    return f"must return {rule}, got {abbreviate(made)}"


def _unknown_to_numba(formula: Formula) -> Iterator[str]:
    """What the formula, or a function that it calls, reads and Numba does not know."""
    for path, value in reads(formula.function, formula.what):
        plain = getattr(value, "py_func", value)
        if callable(plain) and hasattr(plain, "__code__"):
            yield from _unknown_to_numba(Formula.of(plain, formula.what))
            continue
        try:
            cpu_target.typing_context.resolve_value_type(for_numbers(value))
        except (NumbaError, ValueError, TypeError):
            yield path


def _first_line(error: Any) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("Failed in")), str(error))
