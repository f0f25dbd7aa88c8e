"""Validation at the door: every refusal is one sentence, `<name> must be <rule>, got <value>`.

Inner loops are bare maths; whatever enters the package passes through here first.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reals(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    infinite: bool = False,
) -> Floats:
    """`value` as a float array (any shape), every entry finite and within the stated range.

    >>> reals("kappa", [1, 2], at_least=0)
    array([1., 2.])
    >>> reals("kappa", -1, at_least=0)
    Traceback (most recent call last):
    ...
    ValueError: kappa must be finite and >= 0, got -1
    """
    rule = "a number" if infinite else "finite"
    for sign, limit in ((">", above), (">=", at_least), ("<", below)):
        rule += f" and {sign} {limit:g}" if limit is not None else ""
    try:
        given = np.asarray(value)
        if given.dtype.kind in "USOc":  # "1.5" is a word, and 1+2j is not 1
            raise ValueError
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {rule}, got {abbreviate(value)}") from None
    good = ~np.isnan(array) if infinite else np.isfinite(array)
    if above is not None:
        good &= array > above
    if at_least is not None:
        good &= array >= at_least
    if below is not None:
        good &= array < below
    if not good.all():
        shown = value if np.isscalar(value) else array[~good].flat[0]
        raise ValueError(f"{name} must be {rule}, got {abbreviate(shown)}")
    return array


def real(name: str, value: Any, **limits: Any) -> float:
    """One number; the same rules as `reals`.

    >>> real("delta", 0.5, above=0, below=1)
    0.5
    """
    array = reals(name, value, **limits)
    if array.ndim:
        raise ValueError(f"{name} must be one number, got {abbreviate(value)}")
    return float(array)


def integer(name: str, value: Any, at_least: int | None = None, at_most: int | None = None) -> int:
    """A whole number (a float like 1e3 that is one will do).

    >>> integer("runs", 0, at_least=1)
    Traceback (most recent call last):
    ...
    ValueError: runs must be a whole number >= 1, got 0
    """
    rule = "a whole number" + (f" >= {at_least}" if at_least is not None else "")
    rule += f" and <= {at_most}" if at_most is not None and _exceeds(value, at_most) else ""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    whole = whole or (isinstance(value, float) and value.is_integer())
    outside = not whole or (at_least is not None and value < at_least)
    if outside or (at_most is not None and value > at_most):
        raise ValueError(f"{name} must be {rule}, got {abbreviate(value)}")
    return int(value)


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of the known words, else an error that lists them.

    >>> choice("kappa", "papper", ["paper", "consistent"])
    Traceback (most recent call last):
    ...
    ValueError: unknown kappa 'papper'; did you mean 'paper'? known: paper, consistent
    """
    words = list(known)
    if value in words:
        return str(value)
    raise ValueError(unknown(name, value, words))


def unknown(name: str, value: Any, known: Iterable[str]) -> str:
    """The sentence for a word we do not know, with the nearest one we do."""
    words = list(known)
    folded = {word.casefold(): word for word in words}
    near = difflib.get_close_matches(str(value).casefold(), folded, n=1)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    return f"unknown {name} {value!r}; {hint}known: {', '.join(words)}"


def make_folder(name: str, path: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there; a file in its way is refused."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{name} must be a folder, got a file in {str(path)!r}") from None
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name} must be a folder you may write to, got {str(path)!r}")
    return folder


def common_shape(**arrays: Floats) -> tuple[int, ...]:
    """The shape that scalars and per-arm vectors broadcast to.

    >>> common_shape(mu=np.zeros(3), kappa=np.ones(()))
    (3,)
    """
    for name, array in arrays.items():
        if array.ndim > 1:
            raise ValueError(f"{name} must be one number or one per arm, got shape {array.shape}")
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        sizes = ", ".join(f"{name} has {array.size}" for name, array in arrays.items())
        raise ValueError(
            f"{', '.join(arrays)} must be numbers or have one entry per arm, got: {sizes}"
        ) from None
    if 0 in shape:
        raise ValueError(f"{', '.join(arrays)} must have at least one arm, got none")
    return shape


def _exceeds(value: Any, limit: int) -> bool:
    return isinstance(value, (int, float)) and value > limit


def abbreviate(value: Any) -> str:
    """A value in an error message: one line, not too long."""
    if isinstance(value, np.generic):
        value = value.item()
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


class UnknownArmsWarning(UserWarning):
    """A prior has no entry for some arms, which get its prior of all other arms instead."""
