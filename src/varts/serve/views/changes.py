"""Changes of an experiment, by the forms of its page.

A form says which revision of the experiment its page showed. If somebody was first, nothing is
changed, and the page comes again as it is now.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from varts._validation import integer
from varts.live import Changed, Experiment
from varts.live.experiment import Note
from varts.serve.calls import Call, Reply, tell_change
from varts.serve.endpoint import Handler
from varts.serve.pages.forms import Sent, read_options, read_text
from varts.serve.pages.rendering import experiment_path
from varts.serve.views.answers import see
from varts.serve.views.overview import show_with_error

FIRST = "somebody was first: the experiment was changed after this page was made; look again"


def _stop(experiment: Experiment, sent: Sent, known: Note) -> None:
    experiment.stop(sent.get("winner") or None, **known)


def _configure(experiment: Experiment, sent: Sent, known: Note) -> None:
    experiment.configure(**read_options(sent, "configure"), **known)


CHANGES: dict[str, Callable[[Experiment, Sent, Note], None]] = {
    "pause": lambda experiment, sent, known: experiment.pause_arm(sent.get("arm", ""), **known),
    "resume": lambda experiment, sent, known: experiment.resume_arm(sent.get("arm", ""), **known),
    "add": lambda experiment, sent, known: experiment.add_arm(read_text(sent, "arm"), **known),
    "configure": _configure,
    "stop": _stop,
    "restart": lambda experiment, sent, known: experiment.restart(**known),
}


def changing(form: str) -> Handler:
    """What answers one of the forms of `CHANGES`."""

    async def change(call: Call) -> Reply:
        """Change an experiment as its page asks."""
        return await _change(call, form)

    return change


async def _change(call: Call, form: str) -> Reply:
    name, sent = call.path["name"], call.body
    running = await call.service.running(name)
    try:
        known = Note(
            by=call.caller.name,
            why=read_text(sent, "why") or None,
            expected=read_revision(sent),
        )
        async with running.changing:
            await call.service.write(partial(CHANGES[form], running.experiment, sent, known))
    except Changed:
        return await show_with_error(call, 412, FIRST)
    except (ValueError, TypeError) as error:
        kept = sent if form == "configure" else None
        return await show_with_error(call, 422, str(error), kept)
    tell_change(call, form, known["why"])
    return see(experiment_path(name))


def read_revision(sent: Sent) -> int:
    """The revision that a page showed.

    >>> read_revision({"revision": "17"})
    17
    """
    typed = sent.get("revision", "")
    if not (typed.isascii() and typed.isdigit() and len(typed) < 20):
        raise ValueError(f"revision must be that of the experiment, got {typed[:20]!r}")
    return integer("revision", int(typed), at_least=1)
