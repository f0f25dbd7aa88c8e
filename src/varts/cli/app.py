"""The command `varts`: its commands in workflow order, how they print, and how they fail."""

from __future__ import annotations

import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, NoReturn

import cyclopts
from cyclopts import App, Group
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import varts
from varts._text import printable
from varts._validation import KernelCacheWarning, UnknownArmsWarning
from varts.cli.flags import typed_name

# ------------------------------------------------------------------------------ exit codes


class Exit(NamedTuple):
    """How a command can end: its exit code, what `--json` calls it, and what it means."""

    code: int
    kind: str
    meaning: str


EXITS = (
    Exit(0, "ok", "done"),
    Exit(1, "findings", "verify found differences, or a line of a file was refused"),
    Exit(2, "usage", "a command, a flag or a value is wrong"),
    Exit(3, "refused", "the state of the experiment doesn't allow this"),
    Exit(4, "not-found", "no such experiment, arm, decision, token, store or file"),
    Exit(5, "conflict", "somebody else was first, or it already exists and differs"),
    Exit(6, "unavailable", "the store, service or file can't be used right now"),
    Exit(7, "not-allowed", "your token or your user account may not do this"),
    Exit(130, "interrupted", "you pressed Ctrl-C"),
)
CODES = {one.kind: one.code for one in EXITS}
# By the names of the classes: a mistake in `varts fit` must not import the database.
KINDS = {
    "ExperimentStopped": "refused",
    "ExpiredDecision": "refused",
    "NotLocal": "refused",
    "Refused": "refused",
    "UnknownExperiment": "not-found",
    "UnknownArm": "not-found",
    "UnknownDecision": "not-found",
    "UnknownTokenName": "not-found",
    "FileNotFoundError": "not-found",
    "Changed": "conflict",
    "DecisionConflict": "conflict",
    "Differs": "conflict",
    "RewardConflict": "conflict",
    "PermissionError": "not-allowed",
    "IsADirectoryError": "usage",
    "NotADirectoryError": "usage",
    "OSError": "unavailable",
}


def kind_of(error: BaseException) -> str:
    """Return the kind of failure of an exception; most wrong values are plain ValueErrors."""
    names = (one.__name__ for one in type(error).__mro__)
    return next((KINDS[name] for name in names if name in KINDS), "usage")


def exit_table() -> list[str]:
    """The exit codes, a line each."""
    return [f"{one.code:>3}  {one.kind:<12} {one.meaning}" for one in EXITS]


# ------------------------------------------------------------------------------ the commands

EXAMPLES = """\
Examples:

    varts fit history.csv -o prior.json  a prior from past experiments
    varts plan prior.json --arms 10      what to expect before you start
    varts experiment --help              live: decide, reward, report
    varts serve                          the same over HTTP
    varts check log.parquet              do the rewards suit the model?
    varts evaluate log.csv --always 12   what would that have earned?
    varts policies                       every algorithm with its options
    varts simulate --example > study.toml
    varts simulate study.toml            a study of your own
    varts bound mu=0,kappa=10,alpha=4,beta=1 --arms 10 --horizon 2000
    varts reproduce                      the paper's figures and claims
    varts completion bash                complete commands and flags with Tab

Exit codes:

"""


EXPERIMENT_HELP = "Live experiments: decide, reward, report, on a database or behind a service."
SERVE_HELP = "Serve the experiments of a store over HTTP: decide, reward, report."
TOKEN_HELP = "Tokens of `varts serve`: new, list, revoke."
STORE_HELP = "Copy or move experiments from one store to another."


class Screen(Console):
    """A console that raises when a pipe is closed, as print does; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise


FLAGS = Group("Flags", sort_key=100)  # --help and --version, below the commands

app = App(
    console=Screen(),
    name="varts",
    help=" ".join((varts.__doc__ or "").partition("\n\n")[0].split()),
    help_epilogue=EXAMPLES + "\n".join(f"    {line}" for line in exit_table()),
    help_format="plaintext",
    group_commands=FLAGS,
    version=varts.__version__,
    suppress_keyboard_interrupt=False,
)


def describe(command: Any) -> str:
    """Return the docstring of a command up to its parameters, with a line per paragraph.

    The terminal wraps the lines, however narrow it is.
    """
    text = (inspect.getdoc(command) or "").partition("\nParameters\n")[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


# By the titles of groups: the name of a command, the command or its import path, its help.
Commands = Mapping[str, Sequence[tuple[str, Any, str | None]]]


def add_commands(to: App, groups: Commands) -> None:
    """Add commands to an app, in this order.

    A command that is an import path is loaded when somebody asks for it, and needs a help of its
    own.
    """
    for place, (title, commands) in enumerate(groups.items()):
        group = Group(title, sort_key=place)
        for order, (name, command, text) in enumerate(commands):
            given = {"help": text}
            if text is None:  # a function; its epilogue would be that of the group
                given = {"help": describe(command), "help_epilogue": ""}
            to.command(command, name=name, group=group, sort_key=order, **given)


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and flags with Tab.

    Example: varts completion bash > ~/.local/share/bash-completion/completions/varts

    Example: varts completion zsh > ~/.zfunc/_varts

    Example: varts completion fish > ~/.config/fish/completions/varts.fish

    Parameters
    ----------
    shell
        The shell that reads the script: bash, zsh or fish.
    """
    sys.stdout.write(app.generate_completion(shell=shell))


# ------------------------------------------------------------------------------ running

NOTES = (KernelCacheWarning, UnknownArmsWarning)
# A wrong value or type, a file or a connection, a missing package, numbers that don't converge, and
# a verb that a service doesn't have.
MISTAKES = (
    *(ValueError, TypeError, OSError, ImportError),
    *(ArithmeticError, MemoryError, NotImplementedError),
)


def run(arguments: list[str]) -> None:
    """Run the command line. A failure is one line on stderr and one of the codes of `EXITS`."""
    as_json = asks_for_json(arguments)
    try:
        with _notes_on_stderr(as_json):
            app(
                arguments,
                exit_on_error=False,
                print_error=False,
                help_on_error=False,
                result_action="return_value",
            )
            sys.stdout.flush()  # a closed pipe shows here, not while Python shuts down
    except cyclopts.CycloptsError as error:
        fail("usage", _usage(error), as_json)
    except BrokenPipeError:  # `varts policies | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MISTAKES as error:
        fail(kind_of(error), _sentence(error), as_json)


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether a call has the flag --json; it is needed before the call is understood.

    >>> asks_for_json(["plan", "--json"]), asks_for_json(["plan", "--", "--json"])
    (True, False)
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]


def fail(kind: str, sentence: str, as_json: bool = False) -> NoReturn:
    """Print what went wrong and exit with the code of its kind."""
    message = " ".join(sentence.split())
    if as_json:
        line = json.dumps({"error": {"kind": kind, "message": message}}, ensure_ascii=False)
    else:
        line = f"varts: {message}"
    complain(line)
    sys.exit(CODES[kind])


@contextmanager
def _notes_on_stderr(as_json: bool) -> Iterator[None]:
    """Print the library's warnings, each sentence once: a command may match a prior twice."""
    seen: set[str] = set()
    usual = warnings.showwarning

    def show_note(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, NOTES):
            usual(message, category, *where)
        elif str(message) not in seen:
            seen.add(str(message))
            note = json.dumps({"note": str(message)}, ensure_ascii=False)
            complain(note if as_json else f"varts: note: {message}")

    with warnings.catch_warnings():  # puts `showwarning` back, too
        for category in NOTES:
            warnings.simplefilter("always", category)
        warnings.showwarning = show_note  # type: ignore[assignment]
        yield


# ------------------------------------------------------------------------------ printing


def say(*lines: str) -> None:
    """Print lines. A terminal shows control characters in them and doesn't obey them."""
    for line in lines:
        print(printable(line))


def say_columns(*cells: str) -> None:
    """Print one line of cells with tabs between them."""
    print("\t".join(map(printable, cells)))


def complain(line: str) -> None:
    """Print a line to stderr."""
    print(printable(line), file=sys.stderr)


def print_json(body: dict[str, Any]) -> None:
    """Print one JSON object on a line of its own."""
    say(json.dumps(_plain(body), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value that JSON has: infinity and NaN become null."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell(text: str) -> str:
    """Return text for a cell of a table, with markup and control characters written out."""
    return escape(printable(text))


def show(table: Table, uncut: bool = False) -> None:
    """Print a table, cut to the width of a terminal unless `uncut`; a pipe gets all."""
    terminal = sys.stdout.isatty()
    console = Screen(width=None if terminal else 200, highlight=False, emoji=False)
    if uncut or not terminal:
        endless = console.options.update(width=10**6)
        console.width = max(console.width, console.measure(table, options=endless).maximum)
    console.print(table)


# ------------------------------------------------------------------------------ sentences


def _usage(error: cyclopts.CycloptsError) -> str:
    """Return the message of cyclopts about a call, in our words where its own are hard to read."""
    command = " ".join(error.command_chain or ())
    see = f"see varts {command} --help"
    if isinstance(error, cyclopts.CoercionError) and error.msg is not None:
        return str(error.msg)
    if isinstance(error, cyclopts.CoercionError) and error.target_type is float and error.token:
        return f"{typed_name(error.token)} must be a number, got {error.token.value!r}"
    if isinstance(error, cyclopts.UnusedCliTokensError) and error.unused_tokens:
        return f"unexpected argument {error.unused_tokens[0]!r}; {see}"
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        if error.keyword is not None:
            return f"{error.keyword} needs a value; {see}"
        name, positional = error.argument.name, error.argument.field_info.is_positional
        return f"{command} needs {name.lstrip('-').upper() if positional else name}; {see}"
    return str(error)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    if isinstance(error, MemoryError):
        return str(error) or "there is not enough memory for this"
    return str(error) or type(error).__name__
