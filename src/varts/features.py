"""Features: named values that describe a unit, and the numbers that they are encoded as.

A `Features` is a fixed description, written by hand or made from a table: which features there are,
which are numbers and which are categories, and which of them work together. A context is a mapping
from names to values; `encode` makes the row of numbers that a regression takes. The constant is not
among them: every arm has a level of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._caching import computed_once
from varts._validation import Floats, abbreviate, is_real, refusal, unknown

if TYPE_CHECKING:
    import polars

NUMBER = "number"
OTHER = "other"  # any category that the description does not have
MISSING = "missing"  # no value at all
A_CONTEXT = "a mapping from features to values"
MOST_CATEGORIES = 50  # taken from a table; rarer ones are "other"
LEAST_SEEN = 10  # rows of a table that a category must have to be one of its own
LARGEST_NUMBER = 1e70  # the fourth power, of a product of two features, must fit into a float
MOST_COLUMNS = 1000  # a regression per arm has the square of this


@dataclass(frozen=True)
class Features:
    """The features of a context: numbers, categories, and products of the two.

    Every category but the first gets a column of its own, and so does "other", for categories that
    are not listed. A number may be missing if it is listed in `optional`; another column then
    shows whether it is missing. A missing category is "missing", a category like any other if it is
    listed, and "other" if not.

    Args:
        kinds: For each feature "number" or the list of its categories.
        interactions: Pairs of features that work together: a column for each product.
        optional: The numbers that may be missing.

    >>> features = Features({"country": ["NL", "BE"], "visits": "number"})
    >>> features.columns
    ('country=BE', 'country=other', 'visits')
    >>> features.encode({"country": "BE", "visits": 3})
    array([1., 0., 3.])
    >>> features.encode({"country": "FR", "visits": 1})
    array([0., 1., 1.])
    >>> features.encode({"country": "NL"})
    Traceback (most recent call last):
    ...
    ValueError: context must have the number 'visits', got none; list it as optional if it may be \
missing
    """

    kinds: Mapping[str, str | Sequence[str]]
    interactions: Sequence[tuple[str, str]] = ()
    optional: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kinds, Mapping):
            raise TypeError(
                'features must be like {"country": ["NL", "BE"], "visits": "number"}, '
                f"got {abbreviate(self.kinds)}"
            )
        kinds = {_name(name): _kind(name, kind) for name, kind in self.kinds.items()}
        pairs = tuple(_pair(pair, kinds) for pair in _listed("interactions", self.interactions))
        if len({frozenset(pair) for pair in pairs}) < len(pairs):
            raise ValueError(f"interactions must be different pairs, got {abbreviate(pairs)}")
        optional = tuple(map(str, _listed("optional", self.optional)))
        for name in optional:
            if kinds.get(name) != NUMBER:
                numbers = [each for each, kind in kinds.items() if kind == NUMBER]
                raise ValueError(unknown("number among the optional features", name, numbers))
        for name, value in (("kinds", kinds), ("interactions", pairs), ("optional", optional)):
            object.__setattr__(self, name, value)
        if self.d > MOST_COLUMNS:
            raise ValueError(f"features must have at most {MOST_COLUMNS} columns, got {self.d}")

    @classmethod
    def from_table(
        cls,
        table: polars.DataFrame | Any,
        columns: Iterable[str],
        interactions: Sequence[tuple[str, str]] = (),
    ) -> Features:
        """Describe columns of a table of contexts.

        A column of numbers is a number, optional if values are missing; any other is a category
        with the values that it has often enough, the most frequent first.

        Args:
            table: A polars or pandas data frame, or a mapping from names to lists.
            columns: The names of the columns that are features.
            interactions: Pairs of features that work together.

        >>> table = {"country": ["NL"] * 30 + ["BE"] * 20 + ["LU"] * 2, "visits": list(range(52))}
        >>> Features.from_table(table, ["country", "visits"]).kinds
        {'country': ('NL', 'BE'), 'visits': 'number'}
        """
        import polars as pl

        from varts._tables import to_frame

        frame = to_frame("table", table)
        kinds: dict[str, str | list[str]] = {}
        optional = []
        for name in _listed("columns", columns):
            if name not in frame.columns:
                raise ValueError(unknown("column", name, frame.columns))
            values = frame[name]
            if values.dtype.is_numeric():
                kinds[name] = NUMBER
                missing = values.is_null()
                if values.dtype.is_float():
                    missing = missing | values.is_nan().fill_null(True)
                optional += [name] if missing.any() else []
            else:
                words = values.cast(pl.String).fill_null(MISSING)
                if values.dtype == pl.Boolean:
                    words = words.replace({"true": str(True), "false": str(False)})
                counts = words.value_counts(name="rows").sort(
                    ["rows", name], descending=[True, False]
                )
                often = counts.filter(pl.col("rows") >= LEAST_SEEN)[name].to_list()
                if not often:
                    raise ValueError(
                        f"column {name!r} must have a category with {LEAST_SEEN} rows, got none"
                    )
                kinds[name] = often[:MOST_CATEGORIES]
        return cls(kinds, interactions, optional)

    # ------------------------------------------------------------------ columns

    @computed_once
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that a context is encoded into."""
        own = {name: self._own(name) for name in self.kinds}
        single = [column for columns in own.values() for column in columns]
        pairs = [f"{a} x {b}" for one, two in self.interactions for a in own[one] for b in own[two]]
        return (*single, *pairs)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The values of every category, "other" included."""
        return {
            name: (*kind, OTHER) for name, kind in self.kinds.items() if not isinstance(kind, str)
        }

    def _own(self, name: str) -> list[str]:
        kind = self.kinds[name]
        if isinstance(kind, str):
            return [name, f"{name}={MISSING}"] if name in self.optional else [name]
        return [f"{name}={word}" for word in (*kind[1:], OTHER)]

    # ------------------------------------------------------------------ contexts

    def check(self, context: Any) -> dict[str, float | str]:
        """Return a context as it is stored: every feature with a number or a category.

        Categories that are not listed are kept as they came; a missing number is left out.

        Args:
            context: A mapping from the names of features to values.

        Raises:
            TypeError: It is not a mapping, or a value has the wrong type.
            ValueError: A feature is unknown or missing.

        >>> Features({"country": ["NL"], "visits": "number"}).check({"visits": 2, "country": "FR"})
        {'country': 'FR', 'visits': 2.0}
        """
        if not isinstance(context, Mapping):
            raise TypeError(refusal("context", A_CONTEXT, context))
        for name in context:
            if name not in self.kinds:
                raise ValueError(unknown("feature", name, self.kinds))
        out: dict[str, float | str] = {}
        for name, kind in self.kinds.items():
            value = context.get(name)
            if isinstance(kind, str):
                number = _number(name, value)
                if number is not None:
                    out[name] = number
                elif name not in self.optional:
                    raise ValueError(
                        f"context must have the number {name!r}, got none; list it as optional "
                        "if it may be missing"
                    )
            else:
                out[name] = _word(name, value)
        return out

    def encode(self, context: Any) -> Floats:
        """Return the numbers of a context, one per column.

        Args:
            context: A mapping from the names of features to values.
        """
        return self.encode_checked(self.check(context))

    def encode_checked(self, context: Mapping[str, float | str]) -> Floats:
        """Return the numbers of a context that `check` returned.

        Args:
            context: The context.
        """
        own: dict[str, list[float]] = {}
        for name, kind in self.kinds.items():
            value = context.get(name)
            if isinstance(kind, str):
                absent = [float(value is None)] if name in self.optional else []
                own[name] = [float(value or 0), *absent]
            else:
                place = kind.index(value) if value in kind else len(kind)
                own[name] = [float(place == i) for i in range(1, len(kind) + 1)]
        row = [number for numbers in own.values() for number in numbers]
        row += [a * b for one, two in self.interactions for a in own[one] for b in own[two]]
        return np.array(row)

    def encode_many(self, contexts: Iterable[Any]) -> Floats:
        """Return a row of numbers per context.

        Args:
            contexts: The contexts.
        """
        rows = [self.encode(context) for context in _listed("contexts", contexts)]
        return np.array(rows).reshape(len(rows), self.d)

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain values; `from_dict` is the inverse.

        >>> Features({"country": ["NL"]}).to_dict()
        {'kinds': {'country': ['NL']}, 'interactions': [], 'optional': []}
        """
        kinds = {
            name: kind if isinstance(kind, str) else list(kind) for name, kind in self.kinds.items()
        }
        pairs = [list(pair) for pair in self.interactions]
        return {"kinds": kinds, "interactions": pairs, "optional": list(self.optional)}

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Features:
        """Make a description of what `to_dict` returned.

        Args:
            body: Plain values.
        """
        if not isinstance(body, Mapping):
            raise TypeError(f"features must be what to_dict returned, got {abbreviate(body)}")
        names = ("kinds", "interactions", "optional")
        for name in body:
            if name not in names:
                raise ValueError(unknown("part of a description of features", name, names))
        return cls(body.get("kinds", {}), body.get("interactions", ()), body.get("optional", ()))


def features_from(value: Any) -> Features:
    """Return the features that a value stands for.

    Args:
        value: A `Features`, what `to_dict` returned, or a mapping from names to kinds.

    >>> features_from({"visits": "number"}).columns
    ('visits',)
    """
    if isinstance(value, Features):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("kinds"), Mapping):
        return Features.from_dict(value)
    return Features(value)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name or "=" in name or " x " in name:
        raise ValueError(f"a feature must have a name without = or ' x ', got {abbreviate(name)}")
    return name


def _kind(name: str, kind: Any) -> str | tuple[str, ...]:
    if kind == NUMBER:
        return NUMBER
    rule = f'{name} must be "number" or a list of categories'
    if isinstance(kind, (str, bytes)) or not isinstance(kind, Iterable):
        raise TypeError(f"{rule}, got {abbreviate(kind)}")
    words = tuple(_word(name, word) for word in kind)
    if not words or len(set(words)) < len(words) or OTHER in words:
        raise ValueError(f"{rule}, all different and none called {OTHER!r}, got {abbreviate(kind)}")
    return words


def _pair(pair: Any, kinds: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"an interaction must be a pair of features, got {abbreviate(pair)}")
    for name in pair:
        if not isinstance(name, str) or name not in kinds:
            raise ValueError(unknown("feature", name, kinds))
    if pair[0] == pair[1]:
        raise ValueError(f"an interaction must be of two features, got {abbreviate(pair)}")
    return pair[0], pair[1]


def _listed(name: str, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list, got {abbreviate(value)}")
    return list(value)


def _number(name: str, value: Any) -> float | None:
    if type(value) is float and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # nearly always
        return value
    if _is_missing(value):
        return None
    if not is_real(value) and not isinstance(value, np.bool_):
        raise TypeError(f"{name} must be a number, got {abbreviate(value)}")
    huge = isinstance(value, int) and abs(value) > LARGEST_NUMBER  # 10**400 is no float
    number = math.inf if huge else float(value)
    if not abs(number) <= LARGEST_NUMBER:
        raise ValueError(f"{name} must be a number of at most 1e70, got {abbreviate(value)}")
    return number


def _word(name: str, value: Any) -> str:
    if _is_missing(value):
        return MISSING
    if isinstance(value, (Integral, np.bool_)):  # True, 3, and what tables make of them
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a category, got {abbreviate(value)}")
    return str(value)


def _is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA: tables have all three."""
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return value is None or type(value).__name__ == "NAType"
