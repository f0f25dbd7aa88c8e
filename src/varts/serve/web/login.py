"""The page that asks for a token."""

from __future__ import annotations

from varts.serve.web.render import render


def page(next_path: str = "/", error: str | None = None) -> str:
    """The form for a token.

    Args:
        next_path: Where to go then, a path of this service.
        error: Why the last token was refused, in a sentence.
    """
    return render("login.html", viewer=None, next_path=next_path, error=error)
