"""Flags that several commands share, and how they are read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import varts
from varts._validation import integer
from varts.features import features_from

if TYPE_CHECKING:
    from varts.priors import Prior


def parse_integer(name: str, text: str) -> int:
    """Read a whole number; 1e6 is one, 1.5 is not.

    >>> parse_integer("--runs", "1e6")
    1000000
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return integer(name, float(text))
    except ValueError:
        raise ValueError(f"{name} must be a whole number, got {text!r}") from None


def _convert_integer(kind: Any, tokens: Any) -> int:
    """How cyclopts is to read a `Whole`: by itself it would round 1.5 to 2."""
    return parse_integer(typed_name(tokens[0]), tokens[0].value)


def _convert_path(kind: Any, tokens: Any) -> Path:
    """How cyclopts is to read a `FilePath`: an empty text would be the current folder."""
    if not tokens[0].value.strip():
        raise ValueError(f"{typed_name(tokens[0])} must be a path, got {tokens[0].value!r}")
    return Path(tokens[0].value)


def typed_name(token: Any) -> str:
    return token.keyword or "the argument"


Whole = Annotated[int, Parameter(converter=_convert_integer)]
FilePath = Annotated[Path, Parameter(converter=_convert_path)]


def prior_file(text: str) -> Path | None:
    """The JSON file of a prior, if the text is not its numbers."""
    return Path(text) if text.strip() and ("=" not in text or Path(text).exists()) else None


def parse_prior(text: str) -> Prior:
    """Read a prior from a JSON file, or from its numbers: mu=..,kappa=..,alpha=..,beta=.."""
    from varts.priors import prior_from

    file = prior_file(text)
    if file is not None:
        return prior_from(file)
    names, _, values = zip(*(part.partition("=") for part in text.split(",")), strict=True)
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        raise ValueError(f"prior must be numbers like mu=0,kappa=1, got {text!r}") from None
    fields = dict(zip(map(str.strip, names), numbers, strict=True))
    if len(fields) < len(names):
        raise ValueError(f"prior must give every number once, got {text!r}")
    return prior_from(fields)


Lines = Annotated[Path, Parameter(allow_leading_hyphen=True)]  # a lone - is standard input


def read_lines(flags: str, typed: list[str] | None, file: Path | None) -> list[str] | None:
    """Return what was typed, or the lines of a file; a flag for each of thousands takes minutes."""
    if file is None:
        return typed
    if typed is not None:
        raise ValueError(f"{flags} must not be given together, got both")
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return text.splitlines()


def read_arm_groups(file: Path | None) -> dict[str, str] | None:
    """Return the group of each arm, if a file says so."""
    from varts.priors import read_groups

    return None if file is None else read_groups(file)


ArmGroups = Annotated[
    Path | None,
    Parameter(
        name="--arm-groups",
        metavar="FILE.csv",
        help="The group of each arm, for a prior by group: two columns, the arm and its group, "
        "below a line with their names.",
    ),
]


Json = Annotated[
    bool,
    Parameter(name="--json", negative=(), show_default=False, help="One JSON object a line."),
]


Separator = Annotated[
    str | None,
    Parameter(
        allow_leading_hyphen=True,
        help="What stands between the cells of a CSV file, such as ; or tab; found by default.",
    ),
]


def read_features(text: str) -> varts.Features | list[str]:
    """Read `country,visits`, or the JSON file that `Features.to_dict` or `varts fit -o` wrote.

    >>> read_features("country, visits")
    ['country', 'visits']
    """
    if not text.lower().endswith(".json"):
        names = [name.strip() for name in text.split(",")]
        if not all(names) or len(set(names)) < len(names):
            raise ValueError(f"--features must be like country,visits, got {text!r}")
        return names
    try:
        body: Any = json.loads(Path(text).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{text}: features must be JSON, got something else") from None
    if isinstance(body, dict) and isinstance(body.get("fit"), dict):  # a prior that was fitted
        body = body["fit"].get("features")
    try:
        return features_from(body)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None
