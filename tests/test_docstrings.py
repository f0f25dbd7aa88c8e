"""Public functions, classes and methods document each of their parameters, and no other.

The API reference is made of the docstrings, so a parameter that is missing here is missing there.
Parameters stand in a Google-style `Args:` section. A method without a docstring of its own that
overrides another one is documented by that one; the formulas of policies are documented by their
bases, `IndexPolicy` and `BeliefPolicy`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, Unpack

import docstring_parser
import pytest

import varts

FORMULAS = {"index", "believe", "terms", "clock", "common", "reaches"}
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def public_values() -> dict[str, Any]:
    """What `varts.__all__` offers; of a module, what it lists, or else what is defined in it."""
    found = {}
    for name in varts.__all__:
        value = getattr(varts, name)
        if isinstance(value, ModuleType):
            own = [n for n, v in vars(value).items() if is_of(v, value.__name__) and n[0] != "_"]
            names = getattr(value, "__all__", own)
            found |= {f"{name}.{inner}": getattr(value, inner) for inner in names}
        else:
            found[name] = value
    return found


def is_of(value: Any, package: str) -> bool:
    return (getattr(value, "__module__", None) or "").startswith(package)


def documented_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class and method with its path, each once."""
    seen = set()
    for path, value in public_values().items():
        if inspect.isfunction(value) and value not in seen:
            seen.add(value)
            yield path, value
        elif inspect.isclass(value) and not issubclass(value, Exception):
            for base in value.__mro__:
                if base in seen or not is_of(base, "varts"):
                    continue
                seen.add(base)
                where = path if base is value else base.__name__
                if not base.__name__.startswith("_"):
                    yield where, base
                for name, member in vars(base).items():
                    method = inspect.unwrap(getattr(member, "__func__", member))
                    if name.startswith("_") or name in FORMULAS:
                        continue
                    if inspect.isfunction(method) and is_of(method, "varts"):
                        yield f"{where}.{name}", getattr(base, name)


def args_of(text: str) -> set[str]:
    """The names in the section `Args:`, without their stars."""
    parsed = docstring_parser.parse(inspect.cleandoc(text), docstring_parser.Style.GOOGLE)
    return {p.arg_name.lstrip("*") for p in parsed.params if p.args[0] == "param"}


def keywords(parameter: inspect.Parameter, function: Callable[..., Any]) -> set[str]:
    """The keys of `**options: Unpack[TypedDict]`."""
    if "Unpack[" not in str(parameter.annotation):
        return set()
    one = SimpleNamespace(__annotations__={"options": parameter.annotation})
    hints = typing.get_type_hints(one, inspect.unwrap(function).__globals__)
    return set(typing.get_args(hints["options"])[0].__annotations__)


def mistakes(path: str, value: Callable[..., Any]) -> list[str]:
    """Parameters that are not documented, and documented ones that do not exist."""
    text = inspect.cleandoc(value.__doc__ or "")
    if inspect.isclass(value):
        constructor = vars(value).get("__init__") or vars(value).get("__new__")
        if constructor is None:
            return []  # that of its base
        text += "\n\n" + inspect.cleandoc(constructor.__doc__ or "")
    elif not text and inspect.getdoc(value):
        return []  # the method that it overrides says it
    parameters = list(inspect.signature(value).parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    needed = [p.name for p in parameters if p.kind not in STARRED]
    allowed = {p.name for p in parameters}.union(
        *(keywords(p, value) for p in parameters if p.kind in STARRED)
    )
    documented = args_of(text)
    return [f"{path}: {name} is not documented" for name in needed if name not in documented] + [
        f"{path}: there is no {name}" for name in sorted(documented - allowed)
    ]


def test_every_parameter_of_the_public_interface_is_documented():
    found = [line for each in documented_callables() for line in mistakes(*each)]
    assert not found, "\n" + "\n".join(found)


# ------------------------------------------------------- the test itself must be able to fail


def right(a: int, *, b: int = 0) -> None:
    """Do something.

    Args:
        a: One number.
        b: Another one, which
            takes two lines: with a colon.

    Returns:
        Nothing.
    """


def lacking(a: int, b: int) -> None:
    """Do something.

    Args:
        a: One number.
    """


def inventing(a: int) -> None:
    """Do something.

    Args:
        a: One number.
        c: It was here once.
    """


class Colours(typing.TypedDict):
    front: str


def packing(**colours: Unpack[Colours]) -> None:
    """Do something.

    Args:
        front: A colour.
        behind: Not a key.
    """


@dataclass
class Point:
    """A place.

    Args:
        x: How far to the right.
    """

    x: float
    y: float = 0.0

    def moved(self, dx: float) -> Point:
        """Another place."""
        return Point(self.x + dx, self.y)


class Further(Point):
    def moved(self, dx: float) -> Point:
        return super().moved(2 * dx)


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        (right, []),
        (lacking, ["it: b is not documented"]),
        (inventing, ["it: there is no c"]),
        (packing, ["it: there is no behind"]),
        (Point, ["it: y is not documented"]),
        (Point.moved, ["it: dx is not documented"]),
        (Further, []),
        (Further.moved, []),  # its base's words, which are looked at there
    ],
)
def test_the_check_finds_what_is_wrong(value, complaints):
    assert mistakes("it", value) == complaints


def test_the_check_looks_at_functions_classes_methods_and_public_modules():
    paths = {path for path, _ in documented_callables()}
    assert {"simulate", "VarTS", "NormalGamma.posterior", "Study.save", "bounds.theorem1"} <= paths
    assert {"Experiment.decide", "live.Store", "Policy.choose"} <= paths
