"""`varts store`: copy experiments from one store to another, and delete what that leaves behind."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from varts.cli.app import FLAGS, STORE_HELP, add_commands, print_json, say
from varts.cli.experiment_flags import STORE, Name, Url
from varts.cli.flags import Json
from varts.live.copy import CopiedExperiment, copy_store, discard_copy

EXAMPLES = """\
Examples:

    varts store copy sqlite:///varts.db postgresql://shop@db.example/varts
    varts store copy sqlite:///varts.db postgresql://shop@db.example/varts price "banner*" --move
    varts store copy postgresql://shop@db.example/varts sqlite:///test.db price
    varts store discard price --confirm price
"""

store = App(name="store", help=STORE_HELP, help_epilogue=EXAMPLES, group_commands=FLAGS)

Flag = Parameter(negative=(), show_default=False)


def copy(
    source: str,
    target: str,
    /,
    *names: str,
    move: Annotated[bool, Flag] = False,
    no_replay: Annotated[bool, Flag] = False,
    as_json: Json = False,
) -> None:
    """Copy experiments to another store: SQLite to PostgreSQL, or back.

    Stop the processes that use the experiments first. If the command is interrupted, run it again:
    it continues. A copy can be used only when it is complete and verified.

    Example: varts store copy sqlite:///varts.db postgresql://shop@db.example/varts

    Parameters
    ----------
    source
        The URL of the store that has the experiments.
    target
        The URL of the store to copy them to.
    names
        Experiments, or patterns such as "banner*"; all by default.
    move
        Close the experiments in the source: from then on, using one raises an error that names the
        other store.
    no_replay
        Don't replay every decision to verify the copies; for policies of your own.
    """
    done = copy_store(source, target, names or None, move=move, replay=not no_replay, progress=None)
    for one in done:
        if as_json:
            print_json(one._asdict())
        else:
            say(_sentence(one))
    if not as_json and not done:
        say("there are no experiments to copy")
    elif not as_json and not move:
        say("From now on the two stores are independent: a change in one doesn't affect the other.")


def _sentence(one: CopiedExperiment) -> str:
    counts = f"{_count(one.decisions, 'decision')}, {_count(one.events, 'event')}"
    if not one.new:
        return f"{one.name}: {counts}, {'moved' if one.moved else 'copied'} before"
    checked = "verified, every decision replayed" if one.replayed else "verified"
    return f"{one.name}: {'moved' if one.moved else 'copied'} {counts}; {checked}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def discard(
    name: Name,
    /,
    *,
    confirm: str | None = None,
    as_json: Json = False,
    store: Url = STORE,
) -> None:
    """Delete an incomplete copy, or what is left of an experiment that was moved away.

    Before you delete what is left, look at the experiment in the other store.

    Example: varts store discard price --confirm price

    Parameters
    ----------
    confirm
        Repeat the name to confirm. You can't undo this.
    """
    if confirm != name:
        typed = "none" if confirm is None else repr(confirm)
        raise ValueError(f"--confirm must be {name}, the experiment to discard, got {typed}")
    count = discard_copy(name, store, confirm)
    if as_json:
        print_json({"name": name, "decisions": count})
    else:
        say(f"{name}: discarded, with {_count(count, 'decision')}")


add_commands(store, {"Commands": [("copy", copy, None), ("discard", discard, None)]})
