"""Build objects from plain values, as JSON has them: the inverse of `to_dict`."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from math import nan
from typing import TYPE_CHECKING, Any, NoReturn, Union, get_args, get_origin, get_type_hints

from varts._validation import abbreviate

if TYPE_CHECKING:
    import polars as pl


def decode(kind: Any, value: Any, name: str = "value") -> Any:
    """Return a plain value as an object of this type; raises ValueError if it isn't one.

    Args:
        kind: A type: a NamedTuple, a dataclass, a time, a plain type, or a collection or union of
            these. JSON has no NaN, so null stands for an unknown number.
        value: The plain value.
        name: What to call the value in an error.

    >>> from varts.checks import Finding
    >>> decode(Finding, {"name": "zeros", "verdict": "ok", "number": 1, "sentence": ""}).number
    1.0
    >>> decode(tuple[str, ...], ["9", 12], "arms")
    Traceback (most recent call last):
    ...
    ValueError: arms must be text, got 12
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _decode_union(parts, value, name)
    if origin is tuple or origin in (list, frozenset):
        return _decode_list(origin, parts, value, name)
    if origin is not None and issubclass(origin, Mapping):
        given = _expect(Mapping, value, name, "an object")
        return {_expect(str, key, name, "text"): decode(parts[1], one, name)
                for key, one in given.items()}  # fmt: skip
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        given = _expect(Mapping, value, name, "an object")
        known = {}
        for field, (own, required) in _fields(kind).items():
            if field in given:
                known[field] = decode(own, given[field], field)
            elif required:
                raise ValueError(f"{name} must have {field!r}, got {abbreviate(value)}")
        return kind(**known)
    if kind is float:
        if value is None:
            return nan
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} must be a number, got {abbreviate(value)}")
        return float(value)
    if kind is datetime:
        return datetime.fromisoformat(_expect(str, value, name, "a time"))
    if kind is int and isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, got {value}")
    words = {str: "text", int: "an integer", bool: "true or false", types.NoneType: "null"}
    return _expect(kind, value, name, words[kind])


def _decode_union(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    error = ValueError(f"{name} must not be null")
    for kind in kinds:
        try:
            return decode(kind, value, name)
        except ValueError as refused:
            error = refused if kind is not types.NoneType else error
    raise error


def _decode_list(origin: Any, kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    given = _expect(Sequence, value, name, "a list")
    if isinstance(value, str):
        raise ValueError(f"{name} must be a list, got {abbreviate(value)}")
    if origin is tuple and kinds[-1] is not Ellipsis:
        if len(given) != len(kinds):
            raise ValueError(f"{name} must have {len(kinds)} entries, got {len(given)}")
        return tuple(decode(kind, one, name) for kind, one in zip(kinds, given, strict=True))
    return origin(decode(kinds[0], one, name) for one in given)


def _expect(kind: Any, value: Any, name: str, words: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {words}, got {abbreviate(value)}")
    return value


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The type of every field, and whether it has no default."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return {
            one.name: (
                hints[one.name],
                one.default is MISSING and one.default_factory is MISSING,
            )
            for one in fields(kind)
        }
    return {name: (hints[name], name not in kind._field_defaults) for name in kind._fields}


def decode_frame(rows: Any, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return rows as a table; raises ValueError if they aren't rows of one.

    Args:
        rows: A list of objects with the same keys.
        columns: The polars types of columns. Columns without one are Float64. A table without rows
            has exactly these columns.

    >>> rows = [{"arm": "9", "n": 2, "mean": 4}]
    >>> dict(decode_frame(rows, {"arm": "String", "n": "Int64"}).schema)
    {'arm': String, 'n': Int64, 'mean': Float64}
    """
    import polars as pl

    given = decode(list[dict[str, Any]], rows, "rows")
    names = list(given[0]) if given else list(columns)
    schema = {name: getattr(pl, columns.get(name, "Float64")) for name in names}
    if any(row.keys() != schema.keys() for row in given):
        raise ValueError("rows must have the same keys, got different ones")
    try:
        return pl.DataFrame([[row[name] for row in given] for name in names], schema=schema)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ValueError(f"rows must be those of a table with {schema}, got others") from error


class NotSent:
    """Stands in for a part of a result that `to_dict` leaves out.

    Args:
        message: The error that any use of it raises.
    """

    def __init__(self, message: str) -> None:
        self._message = message

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(self._message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotSent)  # so that results that were read twice are equal

    def __hash__(self) -> int:
        return hash(NotSent)

    def __iter__(self) -> NoReturn:
        raise NotImplementedError(self._message)

    def __len__(self) -> NoReturn:
        raise NotImplementedError(self._message)
