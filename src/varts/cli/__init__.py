"""The command `varts`: one function per command, no maths.

`load_commands` lists them. `app` says how they print and fail, `flags` has what several of them
share, and each other module has the commands for one step of the work.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from cyclopts import App


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; Ctrl-C is exit code 130, also while the commands are being loaded."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        load_commands()
        from varts.cli.app import run

        run(given)
    except KeyboardInterrupt:
        stop("nothing was complete yet", "--json" in given)


@functools.cache
def load_commands() -> App:
    """Return the app with all its commands, in the order in which you need them."""
    from varts.cli import fit, log, plan, simulate
    from varts.cli.app import (
        EXPERIMENT_HELP,
        SERVE_HELP,
        STORE_HELP,
        TOKEN_HELP,
        Commands,
        add_commands,
        app,
        completion,
    )

    groups: Commands = {
        "Before an experiment": [
            ("fit", fit.fit, None),
            ("plan", plan.plan, None),
            ("plan-context", plan.plan_context, None),
        ],
        # Paths, because the database takes longer to import than everything else.
        "Live experiments": [
            ("experiment", "varts.cli.experiment:experiment", EXPERIMENT_HELP),
            ("serve", "varts.cli.serve:serve", SERVE_HELP),
            ("token", "varts.cli.token:token", TOKEN_HELP),
            ("store", "varts.cli.store:store", STORE_HELP),
        ],
        "Logs": [("check", log.check, None), ("evaluate", log.evaluate, None)],
        "Simulation": [
            ("policies", simulate.policies, None),
            ("simulate", simulate.simulate, None),
            ("bound", simulate.bound, None),
            ("reproduce", simulate.reproduce, None),
        ],
        "Your shell": [("completion", completion, None)],
    }
    add_commands(app, groups)
    return app


def stop(sentence: str, as_json: bool = False) -> NoReturn:
    """End after Ctrl-C: everything that was complete has been written and printed."""
    message = f"stopped; {sentence}"
    if as_json:
        message = f'{{"error": {{"kind": "interrupted", "message": "{message}"}}}}'
    print(message if as_json else f"varts: {message}", file=sys.stderr)
    sys.exit(130)
