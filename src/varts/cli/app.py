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
from typing import Any

import cyclopts
from cyclopts import App
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import varts
from varts._text import printable
from varts._validation import KernelCacheWarning, UnknownArmsWarning
from varts.cli.flags import typed_name

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
        return f"{typed_name(error.token)} must be a number, got {error.token.value!r}"
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
