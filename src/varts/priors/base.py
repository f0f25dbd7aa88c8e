"""The base of all priors: numbers that broadcast over arms, the arms' names, JSON, equality."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np

from varts._files import write_text
from varts._text import printable
from varts._validation import Floats, UnknownArmsWarning, abbreviate, common_shape, unknown
from varts.kurtosis import Tails
from varts.priors.matching import groups_missing, match_arms
from varts.stats import ArmStats


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Prior:
    """The base of `NormalGamma` and `Normal`.

    All arms share the numbers, or there is an entry per arm. Entries may have the names of arms or,
    with `group`, of groups of arms.

    Args:
        names: The arms or groups of the entries, in order; None if unknown.
        others: The prior of any arm that has no entry; of the same type, and shared.
        group: The kind of group that the entries are for, such as "genre"; None if they are for
            arms.
        tails: The shape of the rewards that the prior was learned from; None if unknown.

    >>> from varts import Normal
    >>> prior = Normal([1, 2], 1, names=["a", "b"], others=Normal(9, 3))
    >>> prior.for_arms(["b", "a"])
    Normal(mu=[2. 1.], sigma=[1. 1.], names=['b' 'a'], others=Normal(mu=9.0, sigma=3.0))
    """

    names: tuple[str, ...] | None = None
    others: Prior | None = None
    group: str | None = None
    tails: Tails | None = None

    _fields: ClassVar[tuple[str, ...]] = ()
    _optional: ClassVar[tuple[str, ...]] = ()  # of the fields, those that may be left out
    _words: ClassVar[tuple[str, ...]] = ()  # further fields that are not numbers
    _kinds: ClassVar[dict[str, type[Prior]]] = {}

    def __init_subclass__(cls, stored: bool = True) -> None:
        super().__init_subclass__()
        if stored:  # written to JSON, and read by name
            Prior._kinds[cls.__name__] = cls

    def _store(self, **arrays: Floats) -> None:
        """Store the checked numbers: floats if shared, otherwise arrays of equal length."""
        shape = common_shape(**arrays)
        for name, array in arrays.items():
            array = np.broadcast_to(array, shape).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array if shape else float(array))
        self._check_names()
        self._check_others_and_group()

    def _check_names(self) -> None:
        if self.names is not None:
            if isinstance(self.names, (str, bytes)) or not isinstance(self.names, Iterable):
                raise TypeError(f"names must be a list of names, got {abbreviate(self.names)}")
            names = tuple(str(name) for name in self.names)
            if len(set(names)) != self.K or len(names) != self.K:
                if self.K is None:
                    raise ValueError("names must not be given for a prior that all arms share")
                raise ValueError(
                    f"names must be {self.K} different names, got {abbreviate(list(names))}"
                )
            object.__setattr__(self, "names", names)

    def _check_others_and_group(self) -> None:
        if self.tails is not None and not isinstance(self.tails, Tails):
            raise TypeError(f"tails of a prior must be a Tails, got {abbreviate(self.tails)}")
        if self.others is not None:
            if type(self.others) is not type(self):
                raise TypeError(
                    f"others of a prior must be a {type(self).__name__}, "
                    f"got {abbreviate(self.others)}"
                )
            if self.others.K not in (None, 1):
                raise ValueError(
                    f"others of a prior must be shared, got one for {self.others.K} arms"
                )
        if self.group is not None:
            if not isinstance(self.group, str):
                raise TypeError(f"group must be a word, got {abbreviate(self.group)}")
            if self.names is None:
                raise ValueError(
                    f"names must be those of the groups when group is {self.group!r}, got None"
                )

    @property
    def K(self) -> int | None:
        """The number of entries; None for a prior that every arm shares."""
        first = getattr(self, self._fields[0])
        return len(first) if isinstance(first, np.ndarray) else None

    # ------------------------------------------------------------------ entries and arms

    def per_arm(self, K: int) -> tuple[Floats, ...]:
        """Return the numbers as arrays of length K.

        Args:
            K: The number of arms.

        Raises:
            ValueError: The prior has another number of entries, or entries for groups.
        """
        self._check_entries(K)
        return tuple(
            np.array(np.broadcast_to(getattr(self, name), K), dtype=np.float64)
            for name in self._fields
        )

    def _check_entries(self, K: int) -> None:
        if self.group is not None:
            raise ValueError(groups_missing(self.group))
        if self.K not in (None, 1, K):
            raise ValueError(f"prior must have one entry per arm ({K}) or be shared, got {self.K}")

    def for_arms(
        self,
        arms: int | Iterable[str] | None = None,
        groups: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the prior with an entry for each of these arms, in their order.

        If the prior has names, arms are found by name. Arms without an entry get `others`, and an
        `UnknownArmsWarning` names them. Without names, entries stay in order.

        Args:
            arms: The arms' names, or their number; by default those in `groups`, or the existing
                entries.
            groups: The group of each arm, for a prior whose entries are for groups.

        Raises:
            ValueError: The prior has no entries for these arms.

        >>> from varts import Normal
        >>> Normal(0, 1).for_arms(2)
        Normal(mu=[0. 0.], sigma=[1. 1.])
        >>> genres = Normal([1, 2], 1, names=["comedy", "drama"], group="genre")
        >>> genres.for_arms(groups={"Fargo": "drama", "Clerks": "comedy"})
        Normal(mu=[2. 1.], sigma=[1. 1.], names=['Fargo' 'Clerks'])
        """
        made, note = match_arms(self, arms, groups)
        if note is not None:
            warnings.warn(note, UnknownArmsWarning, stacklevel=2)
        return made

    def take(self, arms: Any) -> Self:
        """Return the prior of some of the arms; a shared one stays as it is.

        Args:
            arms: Their indices, a slice, or a mask.
        """
        if self.K in (None, 1):
            return self
        fields = {name: getattr(self, name)[arms] for name in self._fields}
        if self.names is None or not np.ndim(fields[self._fields[0]]):  # one arm: a shared prior
            return replace(self, **fields, names=None, group=None)
        return replace(self, **fields, names=tuple(np.array(self.names, dtype=object)[arms]))

    def mirrored(self) -> Self:
        """Return the prior of -reward, for when lower is better.

        >>> from varts import NormalGamma
        >>> NormalGamma(2, 1, 2, 1).mirrored()
        NormalGamma(mu=-2.0, kappa=1.0, alpha=2.0, beta=1.0)
        """
        others = None if self.others is None else self.others.mirrored()
        tails = None if self.tails is None else self.tails.mirrored()
        mu: Any = -self.mu  # type: ignore[attr-defined]
        return replace(self, **{"mu": mu}, others=others, tails=tails)

    def _learned(self, *numbers: Floats) -> Self:
        """Return the posterior with these numbers, for the same arms."""
        fields: dict[str, Any] = dict(zip(self._fields, numbers, strict=True))
        names = self.names if len(numbers[0]) == self.K else None  # one entry may serve many arms
        return replace(self, **fields, names=names)

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the prior's type, numbers and names as plain values.

        >>> from varts import Normal
        >>> Normal([1, 2], sigma=3, names=["a", "b"]).to_dict()
        {'type': 'Normal', 'mu': [1.0, 2.0], 'sigma': [3.0, 3.0], 'arms': ['a', 'b']}
        """
        body: dict[str, Any] = {"type": type(self).__name__}
        body |= {name: np.asarray(getattr(self, name)).tolist() for name in self._fields}
        words = {word: getattr(self, word) for word in self._words}
        body |= {word: said for word, said in words.items() if said is not None}
        if self.names is not None:
            body["arms"] = list(self.names)
        if self.others is not None:
            body["others"] = self.others.to_dict()
        if self.group is not None:
            body["group"] = self.group
        if self.tails is not None:
            body["tails"] = self.tails.to_dict()
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """Make a prior from the result of `to_dict`. `Prior.from_dict` takes any type of prior.

        Args:
            body: The type and the numbers, and optionally "arms" (names), "others", "group" and
                "tails". The key "fit", which `varts fit` writes, is ignored.
        """
        fields = {key: value for key, value in body.items() if key != "fit"}
        names, others = fields.pop("arms", None), fields.pop("others", None)
        group, name = fields.pop("group", None), fields.pop("type", None)
        tails = fields.pop("tails", None)
        kinds = {word: kind for word, kind in Prior._kinds.items() if issubclass(kind, cls)}
        if not isinstance(name, str) or name not in kinds:
            raise ValueError(unknown("prior type", name, kinds))
        kind: Any = kinds[name]
        words = {word: fields.pop(word) for word in kind._words if word in fields}
        if {*fields, *kind._optional} != set(kind._fields):
            raise ValueError(
                f"a {name} must have the fields {', '.join(kind._fields)}, "
                f"got {printable(', '.join(map(str, fields)))}"
            )
        if names is not None and (isinstance(names, str) or not isinstance(names, Iterable)):
            names = [names]  # an error below, like any list of the wrong length
        if others is not None and not isinstance(others, Mapping):
            raise ValueError(
                f"others of a prior must be the fields of a prior, got {abbreviate(others)}"
            )
        try:
            rest = None if others is None else kind.from_dict(others)
        except RecursionError:
            raise ValueError("others of a prior must be a prior, got a deeply nested one") from None
        shape = None if tails is None else Tails.from_dict(tails)
        made: Self = kind(**fields, **words, names=names, others=rest, group=group, tails=shape)
        return made

    def to_json(self) -> str:
        """Return `to_dict()` as a JSON object."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a prior from the result of `to_json`. `Prior.from_json` takes any type of prior.

        Args:
            text: The JSON object.

        >>> Prior.from_json('{"type": "Normal", "mu": [1, 2], "sigma": 1, "arms": ["a", "b"]}')
        Normal(mu=[1. 2.], sigma=[1. 1.], names=['a' 'b'])
        """
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"prior must be JSON, got something else ({error})") from None
        except RecursionError:
            raise ValueError("prior must be a few numbers, got deeply nested JSON") from None
        return cls.from_dict(body if isinstance(body, dict) else {})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file.

        Args:
            path: The file. An existing file is replaced.
        """
        write_text(Path(path), self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` or `varts fit` wrote.

        Args:
            path: The file.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{path}: prior must be JSON, got binary data") from None
        except (TypeError, ValueError) as error:  # name the file in the message
            raise ValueError(f"{path}: {error}") from None

    # ------------------------------------------------------------------ a value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            if name in self._fields
            else getattr(self, name) == getattr(other, name)
            for name in (*self._fields, *self._words, "names", "others", "group", "tails")
        )

    __hash__ = None  # type: ignore[assignment]  # it may hold arrays

    def __repr__(self) -> str:
        body = {name: f"{getattr(self, name)}" for name in self._fields}
        if self.names is not None:
            body["names"] = f"{np.array(self.names, dtype=object)}"  # abbreviated like arrays
        if self.others is not None:
            body["others"] = f"{self.others}"
        if self.group is not None:
            body["group"] = f"{self.group!r}"
        if self.tails is not None:
            body["tails"] = f"{self.tails}"
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in body.items())})"


# ------------------------------------------------------------------ forms of a prior

P = TypeVar("P", bound=Prior)


class HasPrior(Protocol):
    """An object with a prior, such as the result of `varts.fit_prior`."""

    @property
    def prior(self) -> Prior:
        """The prior to use."""


#: A prior, the result of `fit_prior`, a mapping with the numbers, or the path of a JSON file.
PriorLike: TypeAlias = Prior | HasPrior | Mapping[str, Any] | str | os.PathLike[str]


@overload
def prior_from(value: PriorLike) -> Prior: ...
@overload
def prior_from(value: PriorLike, kind: type[P]) -> P: ...
def prior_from(value: PriorLike, kind: type[Prior] = Prior) -> Prior:
    """Return a prior from any of the forms that users may give.

    Args:
        value: A prior, the result of `varts.fit_prior`, a mapping with the numbers, or the path of
            a JSON file.
        kind: The required type: `NormalGamma`, `Normal`, or by default either.

    Raises:
        TypeError: The value has another form, or is a prior of another type.

    >>> prior_from({"mu": 0, "sigma": 2})
    Normal(mu=0.0, sigma=2.0)
    """
    inner = getattr(value, "prior", None)
    if isinstance(value, Prior):
        made: Prior = value
    elif isinstance(inner, Prior):
        made = inner
    elif isinstance(value, Mapping):
        kinds = {
            "sigma": "Normal",
            "slopes": "LinearNormalGamma",
        }  # fields of one kind
        kind_of = next((kinds[field] for field in kinds if field in value), "NormalGamma")
        made = Prior.from_dict({"type": kind_of, **value})
    elif isinstance(value, (str, os.PathLike)):
        made = Prior.load(value)
    else:
        raise TypeError(
            f"prior must be a prior, its fields or a JSON file, got {abbreviate(value)}"
        )
    if not isinstance(made, kind):
        raise TypeError(f"prior must be a {kind.__name__}, got a {type(made).__name__}")
    return made


def check_stats(stats: Any) -> ArmStats:
    """Validate statistics and return them.

    Args:
        stats: The statistics.
    """
    if not isinstance(stats, ArmStats):
        raise TypeError(f"stats must be an ArmStats, got {abbreviate(stats)}")
    return stats


def sample_shape(mu: Floats, size: Any) -> tuple[int, ...]:
    """Return the shape of a sample: `size` times the arms.

    Args:
        mu: The prior's location, shared or per arm.
        size: One number, several, or None for a single sample.
    """
    if size is None:
        return mu.shape
    return (size if isinstance(size, tuple) else (size,)) + mu.shape
