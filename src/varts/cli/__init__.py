"""The command `varts`: one module per group of commands, one function per command, no maths."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; Ctrl-C is exit code 130, also while the commands are being loaded."""
    try:
        load_commands()
        from varts.cli.app import run

        run(arguments)
    except KeyboardInterrupt:
        stop("nothing was complete yet")


def load_commands() -> App:
    """The app with all its commands: importing a module registers those it has."""
    from varts.cli import fit, log, plan, simulate  # noqa: F401
    from varts.cli.app import app

    return app


def stop(sentence: str) -> None:
    """After Ctrl-C: what was kept has been written and printed by now."""
    print(f"varts: stopped; {sentence}", file=sys.stderr)
    sys.exit(130)
