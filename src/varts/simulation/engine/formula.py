"""A function that is compiled in, identified by a hash of everything it computes with.

Numba freezes what a function reads: global numbers, closures, the functions it calls. So a formula
is known by its `content`: its code and constants and, in turn, everything that it reads. Compiled
code is stored under that name, in memory and on disk; if a number changes, it is another formula.
Formulas of this package are known by their name, because `kernel_cache.sources_digest` covers their
text.
"""

from __future__ import annotations

import enum
import hashlib
import inspect
import random
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from varts._validation import abbreviate

# For these packages, a name and a version say everything. All other code is looked into.
PACKAGES_KNOWN_BY_VERSION = ("builtins", "math", "operator", "numpy", "numba", "scipy")
PLAIN = (bool, int, float, complex, str, bytes, slice, range, type(None), type(Ellipsis))


@dataclass(frozen=True)
class Formula:
    """A plain function. Formulas with equal content share their compiled code."""

    function: types.FunctionType = field(compare=False, repr=False)
    what: str = field(compare=False, repr=False)  # its name in errors: "index of UCB1"
    content: str
    opaque: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, function: Any, what: str) -> Formula:
        """Return the formula as it is now.

        Args:
            function: A plain function, compiled or not.
            what: Its name in errors.
        """
        if isinstance(function, types.MethodType):
            raise ValueError(f"{what} must be a plain function, got a method: add @staticmethod")
        plain = getattr(function, "py_func", function)  # it may be compiled already
        if not isinstance(plain, types.FunctionType):
            raise ValueError(f"{what} must be a plain function, got {abbreviate(function)}")
        if (name := name_in_package(plain)) is not None:
            return cls(plain, what, name)
        description = _Description(what)
        words = description.of_function(plain)
        content = hashlib.sha256(repr(words).encode()).hexdigest()
        return cls(plain, what, content, tuple(description.opaque))

    @property
    def is_portable(self) -> bool:
        """Whether another process would find the same content."""
        return not self.opaque


def name_in_package(function: types.FunctionType) -> str | None:
    """Return the name of a function of this package; None for any other."""
    module = function.__module__ or ""
    if not module.startswith("varts.") or function.__closure__:
        return None
    found: Any = sys.modules.get(module)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    same = getattr(found, "py_func", found) is function
    return f"{module}:{function.__qualname__}" if same else None


def reads(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function reads from outside and the value: ("C", 2.0), ("np.sqrt", ...).

    A module stands for those of its attributes whose names occur in the function.
    """
    names = _names_in(function.__code__)
    inner = inspect.getclosurevars(function).nonlocals
    known = function.__globals__
    outer = {name: known[name] for name in names if name in known and name not in inner}
    for path, value in (*inner.items(), *outer.items()):
        if not isinstance(value, types.ModuleType):
            yield path, value
            continue
        for name in names:
            if hasattr(value, name):
                yield f"{path}.{name}", getattr(value, name)


@lru_cache(maxsize=1024)  # a study of milliseconds would otherwise take half as long again
def _names_in(code: types.CodeType) -> tuple[str, ...]:
    """Return the names in code and in the functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_names_in(constant))
    return tuple(sorted(names))


class _Description:
    """The contents of functions, in nested tuples: equal if they compute the same."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._under_way: list[types.FunctionType] = []
        self.opaque: list[str] = []

    def of_function(self, function: types.FunctionType) -> Any:
        if function in self._under_way:
            raise ValueError(f"{self._what} must not call itself, got {function.__name__}")
        if (name := name_in_package(function)) is not None:
            return "varts", name
        self._under_way.append(function)
        read = [(path, self._of(value, path)) for path, value in reads(function)]
        defaults = [self._of(x, "a default") for x in function.__defaults__ or ()]
        named = {k: self._of(x, "a default") for k, x in (function.__kwdefaults__ or {}).items()}
        self._under_way.pop()
        return "function", self._of_code(function.__code__), defaults, named, read

    def _of_code(self, code: types.CodeType) -> Any:
        constants = [
            self._of_code(x) if isinstance(x, types.CodeType) else self._of(x, "a constant")
            for x in code.co_consts
        ]
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        return sys.version, code.co_code, constants, counts, names

    def _of(self, value: Any, path: str) -> Any:
        value = getattr(value, "py_func", value)
        self._refuse_random(value, path)
        if type(value) in PLAIN:
            return type(value).__name__, repr(value)
        if isinstance(value, np.generic):
            return value.dtype.str, value.tobytes()
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return value.dtype.descr, value.shape, value.flags.f_contiguous, value.tobytes()
        if isinstance(value, enum.Enum):
            return str(type(value)), value.name, self._of(value.value, path)
        if isinstance(value, tuple):
            return str(type(value)), [self._of(each, path) for each in value]
        if isinstance(value, frozenset):
            return "frozenset", sorted(repr(self._of(each, path)) for each in value)
        module = str(getattr(value, "__module__", None) or "numpy")  # not every ufunc has one
        package = module.partition(".")[0]
        if package in PACKAGES_KNOWN_BY_VERSION and not isinstance(value, types.ModuleType):
            version = getattr(sys.modules.get(package), "__version__", sys.version)
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
            if name:
                return module, name, version
        if isinstance(value, types.FunctionType):
            return self.of_function(value)
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        self.opaque.append(path)
        return "opaque", type(value).__name__, id(value)

    def _refuse_random(self, value: Any, path: str) -> None:
        """Refuse random numbers that a seed of the study doesn't control."""
        module = str(getattr(value, "__module__", None) or "")
        is_random = (
            value in (np.random, random)
            if isinstance(value, types.ModuleType)
            else isinstance(value, (np.random.Generator, np.random.RandomState))
            or module in ("random", "numpy.random", "numpy.random.mtrand")
            or isinstance(getattr(value, "__self__", None), (np.random.RandomState, random.Random))
        )
        if is_random:
            raise ValueError(
                f"{self._what} must not use {path}, whose numbers a study cannot repeat; set "
                "chance = True and use the uniform number that index then gets after t, or write "
                "a StatePolicy and draw with varts.draws"
            )
