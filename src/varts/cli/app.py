"""What every command shares: the app itself, how it prints, how it fails.

A mistake is one sentence on stderr and exit code 2; Ctrl-C is exit code 130.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import varts
from varts._text import printable
from varts._validation import KernelCacheWarning, UnknownArmsWarning, integer

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
    return parse_integer(_name(tokens[0]), tokens[0].value)


def _convert_path(kind: Any, tokens: Any) -> Path:
    """How cyclopts is to read a `FilePath`: an empty text would be the current folder."""
    if not tokens[0].value.strip():
        raise ValueError(f"{_name(tokens[0])} must be a path, got {tokens[0].value!r}")
    return Path(tokens[0].value)


def _name(token: Any) -> str:
    return token.keyword or "the argument"


Whole = Annotated[int, Parameter(converter=_convert_integer)]
FilePath = Annotated[Path, Parameter(converter=_convert_path)]

EXAMPLES = """\
Examples:

    varts reproduce                      the paper's figures and claims
    varts reproduce --figure 1 --runs 200 --out quick
    varts simulate --example > study.toml
    varts simulate study.toml            a study of your own
    varts fit history.csv -o prior.json  a prior from past experiments
    varts bound mu=0,kappa=10,alpha=4,beta=1 --arms 10 --horizon 2000
    varts plan prior.json --arms 10      what to expect before you start
    varts check log.parquet              do the rewards suit the model?
    varts evaluate log.csv --always 12   what would that have earned?
    varts policies                       every algorithm with its options
    varts experiment --help              live: decide, reward, report
    varts serve                          the same over HTTP
"""


class Screen(Console):
    """A console that leaves a closed pipe to `run`, as print does; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise


app = App(
    console=Screen(),
    name="varts",
    help="Variance-adaptive Thompson sampling: bandits whose reward variances are unknown.",
    help_epilogue=EXAMPLES,
    help_format="plaintext",
    version=varts.__version__,
    suppress_keyboard_interrupt=False,
)


# Loaded when it is asked for: the database takes longer to import than all the rest.
EXPERIMENT_HELP = "Live experiments: decide, reward, report, on a file or on PostgreSQL."
app.command("varts.cli.experiment:experiment", name="experiment", help=EXPERIMENT_HELP)
SERVE_HELP = "Serve the experiments of a store over HTTP: decide, reward, report."
app.command("varts.cli.serve:serve", name="serve", help=SERVE_HELP)
app.command("varts.cli.serve:token", name="token", help="Tokens of `varts serve`.")
STORE_HELP = "Copy or move experiments from one store to another."
app.command("varts.cli.store:store", name="store", help=STORE_HELP)

# A wrong value or type, a file or a connection, a missing package, numbers that do not converge.
NOTES = (KernelCacheWarning, UnknownArmsWarning)
MISTAKES = (ValueError, TypeError, OSError, ImportError, ArithmeticError, MemoryError)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, or 2 for a mistake in the call."""
    try:
        with _notes_on_stderr():
            app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except cyclopts.CycloptsError as error:
        fail(_usage(error))
    except BrokenPipeError:  # `varts policies | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MISTAKES as error:
        fail(_sentence(error))


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Print what the library warns of, each sentence once: a command may match a prior twice."""
    said: set[str] = set()
    usual = warnings.showwarning

    def show_note(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, NOTES):
            usual(message, category, *where)
        elif str(message) not in said:
            said.add(str(message))
            print(printable(f"varts: note: {message}"), file=sys.stderr)

    with warnings.catch_warnings():  # puts `showwarning` back, too
        for category in NOTES:
            warnings.simplefilter("always", category)
        warnings.showwarning = show_note  # type: ignore[assignment]
        yield


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


def say(*lines: str) -> None:
    """Print lines; what is in them that a terminal would obey is written out."""
    for line in lines:
        print(printable(line))


def print_json(body: dict[str, Any]) -> None:
    """One line for scripts."""
    say(json.dumps(_plain(body), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """As JSON has it: no infinity, no NaN."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell(text: str) -> str:
    """Text for a cell of a table: all of it is shown, and none of it obeyed."""
    return escape(printable(text))


def show(table: Table, uncut: bool = False) -> None:
    """Print a table, cut to the width of a terminal unless `uncut`; a pipe gets all."""
    terminal = sys.stdout.isatty()
    console = Screen(width=None if terminal else 200, highlight=False, emoji=False)
    if uncut or not terminal:
        endless = console.options.update(width=10**6)
        console.width = max(console.width, console.measure(table, options=endless).maximum)
    console.print(table)


def _usage(error: cyclopts.CycloptsError) -> str:
    """What cyclopts says about a call, in our words where its own are hard to read."""
    command = " ".join(error.command_chain or ())
    see = f"see varts {command} --help"
    if isinstance(error, cyclopts.CoercionError) and error.msg is not None:
        return str(error.msg)
    if isinstance(error, cyclopts.CoercionError) and error.target_type is float and error.token:
        return f"{_name(error.token)} must be a number, got {error.token.value!r}"
    if isinstance(error, cyclopts.UnusedCliTokensError) and error.unused_tokens:
        return f"unexpected argument {error.unused_tokens[0]!r}; {see}"
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        if error.keyword is not None:
            return f"{error.keyword} needs a value; {see}"
        name, positional = error.argument.name, error.argument.field_info.is_positional
        return f"{command} needs {name.lstrip('-').upper() if positional else name}; {see}"
    return str(error)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    if isinstance(error, MemoryError):
        return str(error) or "there is not enough memory for this"
    return str(error) or type(error).__name__


def fail(sentence: str) -> None:
    """Say what is wrong and exit with 2."""
    print(printable(f"varts: {' '.join(sentence.split())}"), file=sys.stderr)
    sys.exit(2)
