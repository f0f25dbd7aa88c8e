"""One source for many kernels: a function is copied with other values for its global names.

The functions of `loop.py`, `selectors.py`, `lazy_argmax.py` and `student_envelope.py` use global
names that stand for a policy's own formula, a family's envelope and the like. Each is declared with
its type as `name: Type = UNBOUND`, and `specialise` makes a copy in which it has a value.
"""

from __future__ import annotations

import types
from typing import Any

UNBOUND: Any = None  # no value yet: to be compiled, a function must be specialised


def specialise(function: Any, name: str | None = None, /, **bound: Any) -> Any:
    """The same code with these global names or free variables standing for something else.

    >>> def double(x):
    ...     return factor * x
    >>> specialise(double, factor=2)(21)
    42
    """
    name = name or function.__name__
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells |= {free: types.CellType(bound[free]) for free in cells if free in bound}
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **bound},
        name,
        function.__defaults__,
        tuple(cells.values()),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    return copy


def as_module(namespace: Any) -> types.ModuleType:
    """An object's attributes as a module: Numba takes functions from modules only."""
    module = types.ModuleType(type(namespace).__name__)
    module.__dict__.update(vars(namespace))
    return module
