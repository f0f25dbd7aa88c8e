"""What every command shares: the app itself, how it prints, how it fails.

A mistake is one sentence on stderr and exit code 2; Ctrl-C is exit code 130.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import App, Parameter
from rich.console import Console

import varts
from varts._validation import integer


def parse_integer(name: str, text: str) -> int:
    """The whole number that a text is; 1e6 is one, 1.5 is none.

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


def _convert(kind: Any, tokens: Any) -> int:
    """How cyclopts is to read a `Whole`: by itself it would round 1.5 to 2."""
    return parse_integer(tokens[0].keyword or "number", tokens[0].value)


Whole = Annotated[int, Parameter(converter=_convert)]

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


# A wrong value or type, a file or a connection, a missing package, numbers that do not converge.
MISTAKES = (ValueError, TypeError, OSError, ImportError, ArithmeticError, MemoryError)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, or 2 for a mistake in the call."""
    try:
        app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except cyclopts.CycloptsError as error:
        fail(str(error))
    except BrokenPipeError:  # `varts policies | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MISTAKES as error:
        fail(_sentence(error))


def is_file(prior: str) -> bool:
    """Whether a prior is meant as a file, rather than as its numbers."""
    return "=" not in prior or Path(prior).exists()


def parse_prior(text: str) -> Any:
    """A prior from a JSON file, or from its numbers: mu=..,kappa=..,alpha=..,beta=.."""
    from varts.priors import prior_from

    if is_file(text):
        return prior_from(Path(text))
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        return prior_from({key.strip(): float(value) for key, _, value in pairs})
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"prior must be numbers like mu=0,kappa=1, got {text!r}") from None


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
