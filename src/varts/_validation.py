"""Validation at the door: every refusal is one sentence, `<name> must be <rule>, got <value>`.

A value of the wrong type (a word where a number belongs) is a TypeError, any other wrong value a
ValueError. Inner loops are bare maths; whatever enters the package passes through here first.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._text import printable

Floats = NDArray[np.float64]
MOST_LISTED = 20  # of the known words, in a sentence about an unknown one


def needs_extra(what: str, extra: str) -> str:
    """The error about an extra that isn't installed. varts isn't on a package index yet, so this is
    the only place that says how to get one; docs/install.md has the other ways.

    >>> needs_extra("a cluster", "dask")
    "a cluster needs the extra dask: run pip install '.[dask]' in your copy of the varts repository"
    """
    return (
        f"{what} needs the extra {extra}: run pip install '.[{extra}]' in your copy of the varts "
        "repository"
    )


def reals(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> Floats:
    """`value` as a float array (any shape), every entry finite and within the stated range.

    >>> reals("kappa", [1, 2], at_least=0)
    array([1., 2.])
    >>> reals("kappa", -1, at_least=0)
    Traceback (most recent call last):
    ...
    ValueError: kappa must be finite and >= 0, got -1
    >>> reals("kappa", "1.5", at_least=0)
    Traceback (most recent call last):
    ...
    TypeError: kappa must be finite and >= 0, got '1.5'
    """
    rule = "a number" if infinite else "finite"
    for sign, limit in ((">", above), (">=", at_least), ("<", below), ("<=", at_most)):
        rule += f" and {sign} {limit:g}" if limit is not None else ""
    try:
        given = np.asarray(value)
        if not _holds_numbers(given):
            raise TypeError(refusal(name, rule, value))
        array = np.array(given, dtype=np.float64)
    except (ValueError, OverflowError):  # rows of different lengths, or 10**400
        raise ValueError(refusal(name, rule, value)) from None
    good = ~np.isnan(array) if infinite else np.isfinite(array)
    if above is not None:
        good &= array > above
    if at_least is not None:
        good &= array >= at_least
    if below is not None:
        good &= array < below
    if at_most is not None:
        good &= array <= at_most
    if not good.all():
        shown = value if np.isscalar(value) else array[~good].flat[0]
        raise ValueError(refusal(name, rule, shown))
    return array


def real(name: str, value: Any, **limits: Any) -> float:
    """One number; the same rules as `reals`.

    >>> real("delta", 0.5, above=0, below=1)
    0.5
    """
    array = reals(name, value, **limits)
    if array.ndim:
        raise TypeError(refusal(name, "one number", value))
    return float(array)


def integer(name: str, value: Any, at_least: int | None = None, at_most: int | None = None) -> int:
    """A whole number (a float like 1e3 that is one will do).

    >>> integer("runs", 0, at_least=1)
    Traceback (most recent call last):
    ...
    ValueError: runs must be a whole number >= 1, got 0
    """
    rule = "a whole number" + (f" >= {at_least}" if at_least is not None else "")
    given = scalar(value)
    if isinstance(given, bool) or not is_real(given):
        raise TypeError(refusal(name, rule, value))
    whole = _whole(given)
    if whole is not None and at_most is not None and whole > at_most:
        raise ValueError(refusal(name, f"{rule} and <= {at_most}", value))
    if whole is None or (at_least is not None and whole < at_least):
        raise ValueError(refusal(name, rule, value))
    return whole


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of the known words, else an error that lists them.

    >>> choice("kappa", "papper", ["paper", "consistent"])
    Traceback (most recent call last):
    ...
    ValueError: unknown kappa 'papper'; did you mean 'paper'? known: paper, consistent
    """
    words = list(known)
    if not isinstance(value, str):
        raise TypeError(unknown(name, value, words))
    if value not in words:
        raise ValueError(unknown(name, value, words))
    return value


def unknown(name: str, value: Any, known: Iterable[str]) -> str:
    """The sentence for an unknown word: it suggests the nearest known one and lists them.

    Of very many, it lists the first ones.
    """
    words = list(known)
    if not words:
        return f"unknown {name} {abbreviate(value)}; no {name} exists"
    folded = {word.casefold(): word for word in words}
    near = difflib.get_close_matches(str(value).casefold(), folded, n=1)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    listed = (
        words
        if len(words) <= MOST_LISTED
        else [*words[:MOST_LISTED], f"{len(words) - MOST_LISTED} more"]
    )
    return f"unknown {name} {abbreviate(value)}; {hint}known: {printable(', '.join(listed))}"


def make_folder(name: str, path: str | os.PathLike[str]) -> Path:
    """The folder, made if it does not exist; a file of that name is refused."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{name} must be a folder, got a file in {str(path)!r}") from None
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name} must be a folder you may write to, got {str(path)!r}")
    return folder


def check_file(name: str, path: Path, suffixes: Iterable[str] = ()) -> None:
    """Refuse a path where no file can be written, or whose name ends in none of the suffixes."""
    known = tuple(suffixes)
    if known and path.suffix.lower() not in known:
        raise ValueError(f"{name} must end in {' or '.join(known)}, got {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, got {str(path)!r}")


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


def _holds_numbers(array: NDArray[Any]) -> bool:
    """Whether every entry is a real number: not the word "1.5", a date or 1+2j."""
    if array.dtype.kind == "O":  # whole numbers of any size, or anything at all
        return all(map(is_real, array.flat))
    return array.dtype.kind in "biuf"


def scalar(value: Any) -> Any:
    """The value in an array without axes; anything else as it is."""
    return value.item() if isinstance(value, np.ndarray) and not value.ndim else value


def is_real(value: Any) -> bool:
    """Whether it is a number, one of NumPy's, a Fraction or a Decimal included."""
    return isinstance(value, (Real, Decimal))


def _whole(value: Any) -> int | None:
    """A number as an int; None if it isn't whole, or isn't finite."""
    if isinstance(value, Integral):
        return int(value)
    try:
        if not math.isfinite(float(value)):  # Decimal("1e999999999") would take ages as an int
            return None
    except (ValueError, OverflowError):  # a signalling NaN, or beyond all floats
        return None
    return int(value) if int(value) == value else None


def refusal(name: str, rule: str, value: Any) -> str:
    """The sentence that refuses a value."""
    return f"{name} must be {rule}, got {abbreviate(value)}"


def abbreviate(value: Any) -> str:
    """A value as an error message shows it: on one line, and not too long."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        text = printable(" ".join(repr(value).split()))
    except (RecursionError, ValueError):  # nested deeply, or a number of more than 4,300 digits
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else text[:77] + "..."


class UnknownArmsWarning(UserWarning):
    """A prior has no entry for some arms, which get its prior of all other arms instead."""


class KernelCacheWarning(UserWarning):
    """Compiled code cannot be kept for the next process."""
