"""Flags that several commands share, and how they are read."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import varts
from varts._text_format import UTF_8, TextFormat, check_format
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
    """Convert the text of a `Whole`; cyclopts itself would round 1.5 to 2."""
    return parse_integer(typed_name(tokens[0]), tokens[0].value)


def _convert_path(kind: Any, tokens: Any) -> Path:
    """Convert the text of a `FilePath`; an empty text would be the current folder."""
    if not tokens[0].value.strip():
        raise ValueError(f"{typed_name(tokens[0])} must be a path, got {tokens[0].value!r}")
    return Path(tokens[0].value)


def typed_name(token: Any) -> str:
    return token.keyword or "the argument"


Whole = Annotated[int, Parameter(converter=_convert_integer)]
FilePath = Annotated[Path, Parameter(converter=_convert_path)]


def prior_file(text: str) -> Path | None:
    """Return the JSON file of a prior, if the text isn't its numbers."""
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
    """Return the values that were typed, or the lines of a file. Cyclopts takes minutes to parse
    thousands of flags."""
    if file is None:
        return typed
    if typed is not None:
        raise ValueError(f"{flags} must not be given together, got both")
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return text.splitlines()


def read_arm_groups(file: Path | None) -> dict[str, str] | None:
    """Return the group of each arm, if there is a file of groups."""
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
    Parameter(
        name="--json",
        negative=(),
        show_default=False,
        help="Print JSON, one object per line; errors, too.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class TextFlags:
    """How CSV files are written.

    Parameters
    ----------
    separator
        The separator of the cells of a CSV file, such as ; or tab; detected by default.
    decimal
        The decimal mark of numbers in a CSV file: a point or a comma. Never guessed: a file with
        numbers that don't fit is refused.
    encoding
        The encoding of a CSV file, such as latin-1 or utf-16.
    """

    separator: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    decimal: Annotated[str, Parameter(metavar=".|,")] = "."
    encoding: str = UTF_8

    def given(self) -> dict[str, str]:
        """Return the flags that were given, by name."""
        values = {one.name: getattr(self, one.name) for one in fields(TextFlags)}
        return {k: v for k, v in values.items() if v != getattr(AS_USUAL, k)}

    def checked(self) -> TextFormat:
        """Return how files are written."""
        return check_format(self.separator, self.decimal, self.encoding)


AS_USUAL = TextFlags()


@Parameter(name="*")
@dataclass(frozen=True)
class LogFlags(TextFlags):
    """The columns of a log, and how its files are written.

    Parameters
    ----------
    experiment_column
        The column that names the experiment; "experiment" by default.
    arm_column
        The column that names the arm.
    reward_column
        The column of rewards; "reward" by default.
    """

    experiment_column: str | None = None
    arm_column: str = "arm"
    reward_column: str | None = None

    def named(self) -> dict[str, Any]:
        """Return what was given, as keywords of the library; all else has its defaults there."""
        columns = {"experiment": self.experiment_column, "reward": self.reward_column}
        return {
            "arm": self.arm_column,
            **{name: column for name, column in columns.items() if column is not None},
            **self.given(),
        }

    def typed(self) -> list[str]:
        """Return the flags that were given, as they are typed."""
        usual = LogFlags()
        return [
            f"--{one.name.replace('_', '-')}"
            for one in fields(self)
            if getattr(self, one.name) != getattr(usual, one.name)
        ]


USUAL_LOG = LogFlags()
OneExperiment = Annotated[
    bool,
    Parameter(
        name="--one-experiment",
        negative=(),
        show_default=False,
        help="Treat the log as one experiment, even if it has such a column.",
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
    elif isinstance(body, dict) and body.get("type") == "LinearNormalGamma":
        raise ValueError(
            f"{text} doesn't describe its features, because varts fit didn't make it; name their "
            "columns: --features country,visits"
        )
    try:
        return features_from(body)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None
