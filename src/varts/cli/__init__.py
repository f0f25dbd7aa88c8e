"""The command `varts`: one module per group of commands, one function per command, no maths."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; Ctrl-C is exit code 130, also while the commands are being loaded."""
    try:
        from varts.cli import app, experiment, fit, plan, simulate  # noqa: F401

        app.main(arguments)
    except KeyboardInterrupt:
        stop("nothing was complete yet")


def stop(sentence: str) -> None:
    """After Ctrl-C: what was kept has been written and printed by now."""
    print(f"varts: stopped; {sentence}", file=sys.stderr)
    sys.exit(130)
