"""The page for what cannot be shown or done: not there, not allowed, somebody was first."""

from __future__ import annotations

from varts.serve.auth import Actor
from varts.serve.web.render import render


def page(viewer: Actor | None, title: str, sentence: str, back: str = "/") -> str:
    """Say what is wrong, and where to go on.

    Args:
        viewer: Who asks; None if that is not known.
        title: In a few words, such as "Somebody was first".
        sentence: What happened, and what to do.
        back: The path of the page to go on from.
    """
    return render("refusal.html", viewer=viewer, title=title, said=sentence, back=back)
