"""Whatever stands for a prior, and the prior that it stands for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, overload

from varts._validation import abbreviate
from varts.priors.base import Prior

P = TypeVar("P", bound=Prior)


class HasPrior(Protocol):
    """Something made around a prior, such as what `varts.fit_prior` returns."""

    @property
    def prior(self) -> Prior:
        """The prior to use."""


#: A prior, what `fit_prior` returned, a mapping of its numbers, or the path of its JSON file.
PriorLike: TypeAlias = Prior | HasPrior | Mapping[str, Any] | str | os.PathLike[str]


@overload
def prior_from(value: PriorLike) -> Prior: ...
@overload
def prior_from(value: PriorLike, kind: type[P]) -> P: ...
def prior_from(value: PriorLike, kind: type[Prior] = Prior) -> Prior:
    """Return the prior that a value stands for.

    Args:
        value: A prior, what `varts.fit_prior` returned, a mapping of its numbers, or the path of
            its JSON file.
        kind: The type that it must have: `NormalGamma`, `Normal`, or by default either.

    Raises:
        TypeError: The value does not stand for a prior, or for one of another type.

    >>> prior_from({"mu": 0, "sigma": 2})
    Normal(mu=0.0, sigma=2.0)
    """
    inner = getattr(value, "prior", None)
    if isinstance(value, Prior):
        made: Prior = value
    elif isinstance(inner, Prior):
        made = inner
    elif isinstance(value, Mapping):
        kinds = {"sigma": "Normal", "slopes": "LinearNormalGamma"}  # by what no other kind has
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
