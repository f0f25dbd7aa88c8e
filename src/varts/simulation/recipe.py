"""What problems and policies are made of, in full and ready for JSON, and the way back.

A recipe names classes and functions, holds every parameter to the last bit, and of code that is not
of this package a hash of what it computes. Nothing is pickled: to make the values again, classes
are looked up in this package and in modules that are imported already, and refused if their code
has changed.
"""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from varts._caching import computed_once
from varts._validation import abbreviate
from varts.simulation.engine.formula import Formula

PLAIN = (bool, int, float, str, type(None))


def describe(value: Any) -> Any:
    """Return the recipe of a value.

    Args:
        value: A problem, a policy, or anything that they hold.

    >>> describe((1, 2.5))
    {'tuple': [1, 2.5]}
    >>> from varts import UCBV
    >>> describe(UCBV(zeta=1.5))["state"]["zeta"]
    1.5
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": _listed(value), "dtype": value.dtype.str, "shape": list(value.shape)}
    if type(value) is list:
        return [describe(each) for each in value]
    if type(value) is tuple:
        return {"tuple": [describe(each) for each in value]}
    if type(value) is dict:
        return {"mapping": [[describe(name), describe(each)] for name, each in value.items()]}
    if isinstance(value, type):
        return {"class": _path(value), **_code(value)}
    if isinstance(value, np.ufunc):
        name: str = value.__name__
        own = getattr(np, name, None) is value
        return {"function": f"numpy:{name}"} if own else {"unknown": repr(value)}
    if isinstance(value, types.FunctionType):
        closure = {"closure": read} if (read := _closure(value)) else {}
        return {"function": _path(value), **_code(value), **closure}
    if hasattr(value, "__dict__"):
        kind = type(value)
        state = {name: describe(each) for name, each in sorted(_state(value).items())}
        return {"object": _path(kind), **_code(kind), "state": state}
    return {"unknown": repr(value)}


def _listed(array: Any) -> Any:
    """`array.tolist()`, where all numbers are one with that one alone: a million take a quarter."""
    if array.ndim == 1 and array.tobytes() == array[:1].tobytes() * array.size:
        return array[:1].tolist() * array.size
    return array.tolist()


def rebuild(recipe: Any) -> Any:
    """Return the value that a recipe describes.

    Args:
        recipe: What `describe` returned.

    Raises:
        ValueError: If something is not there any more, or is not what it was.

    >>> rebuild(describe((1, 2.5)))
    (1, 2.5)
    """
    if isinstance(recipe, list):
        return [rebuild(each) for each in recipe]
    if not isinstance(recipe, dict):
        return recipe
    if "array" in recipe:
        array = np.array(recipe["array"], dtype=recipe["dtype"]).reshape(recipe["shape"])
        array.flags.writeable = False
        return array
    if "tuple" in recipe:
        return tuple(rebuild(each) for each in recipe["tuple"])
    if "mapping" in recipe:
        return {rebuild(name): rebuild(each) for name, each in recipe["mapping"]}
    if "class" in recipe or "function" in recipe:
        return _find(recipe.get("class") or recipe["function"], recipe)
    if "object" in recipe:
        kind = _find(recipe["object"], recipe)
        kind = kind if isinstance(kind, type) else type(kind)  # of @index_policy
        value: Any = object.__new__(kind)
        value.__dict__.update({name: rebuild(each) for name, each in recipe["state"].items()})
        return value
    raise ValueError(f"a recipe must say how to make every value, got {abbreviate(recipe)}")


def _state(value: Any) -> dict[str, Any]:
    """What a value is made of; what it has worked out in the meantime is left out."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    kinds = type(value).__mro__
    once = {
        name
        for kind in kinds
        for name, member in vars(kind).items()
        if isinstance(member, (cached_property, computed_once))
    }
    return {name: each for name, each in vars(value).items() if name not in once}


def _path(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _find(path: str, recipe: dict[str, Any]) -> Any:
    module, _, name = path.partition(":")
    if module.partition(".")[0] == "varts":
        import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise ValueError(f"{name} must be in the module {module}, imported before; got none")
    if isinstance(found, np.ufunc):
        return found
    code = found if isinstance(found, (type, types.FunctionType)) else type(found)
    if _code(code) != {name: recipe[name] for name in ("code",) if name in recipe}:
        raise ValueError(f"{name} of {module} must be what it was, got other code")
    return found


# ----------------------------------------------------------------------------- code of users


def _code(value: Any) -> dict[str, str]:
    """A hash of what a class or a function outside this package computes."""
    if value.__module__.partition(".")[0] in ("varts", "builtins", "numpy"):
        return {}  # the versions and the hash of all sources say it
    if isinstance(value, types.FunctionType):
        words: list[Any] = [_content(value)]
    else:
        words = [
            (name, _content(member) if isinstance(member, types.FunctionType) else repr(member))
            for kind in value.__mro__
            if kind.__module__.partition(".")[0] not in ("varts", "builtins")
            for name, member in sorted(_members(kind))
        ]
    return {"code": hashlib.sha256(repr(words).encode()).hexdigest()}


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """The functions and the plain constants of a class."""
    for name, member in vars(kind).items():
        plain = getattr(member, "__func__", member)  # of a staticmethod
        plain = plain.fget if isinstance(plain, property) else plain
        generated = name.startswith("__") and name not in ("__init__", "__post_init__")
        if isinstance(plain, (types.FunctionType, *PLAIN)) and not generated:
            yield name, plain


def _content(function: types.FunctionType) -> str:
    """With all that it reads, where that is numbers and functions; else its code alone."""
    try:
        return Formula.of(function, function.__name__).content
    except ValueError:
        return hashlib.sha256(repr(_code_words(function.__code__)).encode()).hexdigest()


def _code_words(code: types.CodeType) -> Any:
    constants = [
        _code_words(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts
    ]
    return code.co_code, constants, code.co_names


def _closure(function: types.FunctionType) -> dict[str, Any]:
    """What the function reads from where it was defined."""
    read = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            read[name] = describe(cell.cell_contents)
        except ValueError:  # nothing in it yet
            read[name] = None
    return read
