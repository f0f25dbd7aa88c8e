"""What every command shares: the app itself, how it prints, how it fails.

A mistake is one sentence on stderr and exit code 2; Ctrl-C is exit code 130.
"""

from __future__ import annotations

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

import varts
from varts._validation import UnknownArmsWarning, integer

if TYPE_CHECKING:
    from varts.priors import Prior


def _number(kind: Any, tokens: Any) -> int:
    return whole(tokens[0].keyword or "number", tokens[0].value)


def whole(name: str, text: str) -> int:
    """Whole numbers only: the default would round 1.5 to 2. 1e6 is one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return integer(name, float(text))
    except ValueError:
        raise ValueError(f"{name} must be a whole number, got {text!r}") from None


Whole = Annotated[int, Parameter(converter=_number)]

EXAMPLES = """\
Examples:

    varts reproduce                      the paper's figures and claims
    varts reproduce --figure 1 --runs 200 --out quick
    varts simulate --example > study.toml
    varts simulate study.toml            a study of your own
    varts fit history.csv -o prior.json  a prior from past experiments
    varts bound mu=0,kappa=10,alpha=4,beta=1 --arms 10 --horizon 2000
    varts plan prior.json --arms 10      what to expect before you start
    varts policies                       every algorithm with its options
    varts experiment --help              live: decide, reward, report
"""


class Screen(Console):
    """A console that leaves a closed pipe to `main`, like print; its own way is exit code 1."""

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


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, or 2 for a mistake in the call."""
    try:
        with _notes_on_stderr():
            app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except cyclopts.CycloptsError as error:
        fail(str(error))
    except BrokenPipeError:  # `varts policies | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (TypeError, ValueError, OSError, MemoryError) as error:
        fail(_sentence(error))


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Print what the library warns of, each sentence once: a command may match a prior twice."""
    said: set[str] = set()
    usual = warnings.showwarning

    def show_note(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, UnknownArmsWarning):
            usual(message, category, *where)
        elif str(message) not in said:
            said.add(str(message))
            print(f"varts: note: {message}", file=sys.stderr)

    with warnings.catch_warnings():  # puts `showwarning` back, too
        warnings.simplefilter("always", UnknownArmsWarning)
        warnings.showwarning = show_note  # type: ignore[assignment]
        yield


def parse_prior(text: str) -> Prior:
    """Read a prior from a JSON file, or from its numbers: mu=..,kappa=..,alpha=..,beta=.."""
    from varts.priors import prior_from

    if "=" not in text or Path(text).exists():
        return prior_from(Path(text))
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        return prior_from({key.strip(): float(value) for key, _, value in pairs})
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"prior must be numbers like mu=0,kappa=1, got {text!r}") from None


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


def show(what: Any, uncut: bool = False) -> None:
    """Text or a table on stdout; an `uncut` one may be too wide for a terminal, a pipe gets all."""
    terminal = sys.stdout.isatty()
    console = Screen(width=None if terminal else 200, highlight=False)
    if uncut or not terminal:
        endless = console.options.update(width=10**6)
        console.width = max(console.width, console.measure(what, options=endless).maximum)
    console.print(what)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    return str(error)


def fail(sentence: str) -> None:
    """The end of a call that cannot be done."""
    print(f"varts: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(2)
