"""The command `varts`: a file a family of verbs, one function a verb, no maths."""

from __future__ import annotations

import sys
from typing import Any


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; Ctrl-C is exit code 130, also while the families are being loaded."""
    try:
        _loaded().main(arguments)
    except KeyboardInterrupt:
        stop("nothing was complete yet")


def stop(sentence: str) -> None:
    """After Ctrl-C: what was kept has been written and printed by now."""
    print(f"varts: stopped; {sentence}", file=sys.stderr)
    sys.exit(130)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'varts.cli' has no attribute {name!r}")
    return _loaded().app


def _loaded() -> Any:
    """What runs the commands; importing a family registers its verbs."""
    from varts.cli import experiments, planning, priors, shell, studies  # noqa: F401

    return shell
