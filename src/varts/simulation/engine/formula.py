"""A function that is compiled in, known by a hash of everything that can change what it computes.

Numba freezes what a function reads: global numbers, closures, the functions it calls. So a formula
is known by its `content`: its bytecode and constants and, in turn, all that it reads. Whatever is
kept of a formula, in memory or on disk, is kept under that name, and a number that was changed in
between makes another formula.
"""

from __future__ import annotations

import builtins
import difflib
import dis
import enum
import hashlib
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from varts._validation import abbreviate

# Of these, a name and a version say it all. Everything else is looked into.
PACKAGES_KNOWN_BY_VERSION = ("builtins", "operator", "numpy", "numba", "scipy")
PLAIN = (bool, int, float, complex, slice, range, type(None), type(Ellipsis))


@dataclass(frozen=True)
class Formula:
    """A plain function; those with equal content share their compiled code."""

    function: types.FunctionType = field(compare=False, repr=False)
    what: str = field(compare=False, repr=False)  # as errors call it: "index of UCB1"
    content: str

    @classmethod
    def of(cls, function: Any, what: str) -> Formula:
        """The formula as it is now."""
        if isinstance(function, types.MethodType):
            raise ValueError(f"{what} must be a plain function, got a method: add @staticmethod")
        plain = getattr(function, "py_func", function)  # it may be compiled already
        if not isinstance(plain, types.FunctionType):
            raise ValueError(f"{what} must be a plain function, got {abbreviate(function)}")
        words = _Words(what).of_function(plain)
        return cls(plain, what, hashlib.sha256(repr(words).encode()).hexdigest())

    def names_read(self) -> dict[str, Any]:
        """The global names and free variables that the function reads, and what they stand for."""
        names = {chain[0] for chain in _names_in(self.function.__code__)}
        return {name: _look_up(self.function, name) for name in sorted(names)}


class _Words:
    """What functions are made of, in nested tuples of words: equal if they compute the same."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._under_way: list[types.FunctionType] = []

    def of_function(self, function: types.FunctionType) -> Any:
        if function in self._under_way:
            raise ValueError(f"{self._what} must not call itself, got {function.__name__}")
        self._under_way.append(function)
        read = [(path, self._of(value, path)) for path, value in reads(function, self._what)]
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
        return code.co_code, constants, counts, names

    def _of(self, value: Any, path: str) -> Any:
        value = getattr(value, "py_func", value)
        if type(value) in PLAIN:
            return type(value).__name__, repr(value)
        if isinstance(value, np.generic):
            return value.dtype.str, value.tobytes()
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return value.dtype.descr, value.shape, value.flags.f_contiguous, value.tobytes()
        if isinstance(value, enum.Enum):
            return str(type(value)), value.name, self._of(value.value, path)
        if isinstance(value, (str, bytes)):
            return type(value).__name__, value
        if isinstance(value, tuple):
            return str(type(value)), [self._of(each, path) for each in value]
        if isinstance(value, frozenset):
            return "frozenset", sorted(repr(self._of(each, path)) for each in value)
        module = str(getattr(value, "__module__", "numpy"))  # not every ufunc says it
        package = module.partition(".")[0]
        named = isinstance(value, np.ufunc) or hasattr(value, "__qualname__")
        in_c = isinstance(getattr(value, "__self__", None), types.ModuleType)  # like math.log
        if named and (in_c or package in PACKAGES_KNOWN_BY_VERSION):
            version = getattr(sys.modules.get(package), "__version__", sys.version)
            return module, value.__name__, version
        if isinstance(value, types.FunctionType):
            return self.of_function(value)
        raise ValueError(
            f"{self._what} must read numbers, arrays and functions only, got {path} of type "
            f"{type(value).__name__}; what varies is passed as an argument: a field of a policy's "
            "dataclass, or a and b of a problem's instances"
        )


def reads(function: types.FunctionType, what: str) -> Iterator[tuple[str, Any]]:
    """What a function reads from outside, as it is written there (C, np.sqrt), and its value."""
    for path, *attributes in _names_in(function.__code__):
        try:
            value = _look_up(function, path)
        except LookupError:
            raise ValueError(f"{what} uses {path}, which is not defined") from None
        for attribute in attributes:
            if not isinstance(value, (types.ModuleType, type)):
                break  # of any other value, the whole decides
            if not hasattr(value, attribute):
                near = difflib.get_close_matches(attribute, dir(value), n=1)
                hint = f"; did you mean {path}.{near[0]}?" if near else ""
                raise ValueError(
                    f"{what} uses {path}.{attribute}, which {value.__name__} does not have{hint}"
                )
            path, value = f"{path}.{attribute}", getattr(value, attribute)
        yield path, value


def _look_up(function: types.FunctionType, name: str) -> Any:
    """What a name stands for in a function that does not define it itself."""
    free = function.__code__.co_freevars
    if name not in free:
        known = function.__globals__
        return known[name] if name in known else vars(builtins)[name]
    try:
        return (function.__closure__ or ())[free.index(name)].cell_contents
    except ValueError:  # nothing in it yet
        raise LookupError(name) from None


@lru_cache(maxsize=1024)  # a study of milliseconds would otherwise take half as long again
def _names_in(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(set(_chains(code))))


def _chains(code: types.CodeType, own: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names that code reads from outside, with the attributes read of them: ("np", "sqrt")."""
    own += code.co_cellvars  # shared with functions inside it
    chain: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = *chain, step.argval
        elif step.opname not in ("EXTENDED_ARG", "PUSH_NULL"):
            if chain:
                yield chain
            free = step.opname == "LOAD_DEREF" and step.argval not in own
            chain = (step.argval,) if free or step.opname == "LOAD_GLOBAL" else ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _chains(constant, own)
