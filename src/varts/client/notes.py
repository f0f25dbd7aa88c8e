"""Why something is done; who does it is for the service to say."""

from __future__ import annotations

from varts._validation import abbreviate
from varts.live.arguments import check_note


def check_why(by: None, why: str | None) -> dict[str, str]:
    """The reason of a change or a correction, if one is given.

    >>> check_why(None, "asked by finance")
    {'why': 'asked by finance'}
    """
    if by is not None:
        raise ValueError(
            f"by must be left out, since a service writes the token's name, got {abbreviate(by)}"
        )
    return check_note(None, why)
