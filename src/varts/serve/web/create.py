"""The page that makes an experiment, and the picture of a prior that changes while one types."""

from __future__ import annotations

from contextlib import suppress

from varts.serve.auth import Actor
from varts.serve.web.charts import Chart, prior_chart
from varts.serve.web.forms import GROUPS, WORDS, Sent, read_words
from varts.serve.web.render import render

EXAMPLE = {"knowledge": "nothing", "goal": "max", "hash_units": "on"}


def page(viewer: Actor, sent: Sent | None = None, error: str | None = None) -> str:
    """The form for a new experiment.

    Args:
        viewer: Who asks.
        sent: What was typed, if it was refused, or if another page has begun it.
        error: Why it was refused, in a sentence.
    """
    typed = EXAMPLE if sent is None else sent
    return render(
        "create.html",
        viewer=viewer,
        typed=typed,
        error=error,
        groups=GROUPS,
        picture=picture_of(typed),
    )


def prior_svg(sent: Sent) -> str:
    """The picture of a prior in words, for GET /prior.svg; its title is the sentence.

    Args:
        sent: The fields mean, mean_sd, reward_sd and worth.
    """
    return prior_chart(read_words(sent)).svg


def picture_of(typed: Sent) -> Chart | None:
    """The picture, once all four words are numbers that make a prior."""
    if all(typed.get(name) for name in WORDS):
        with suppress(ValueError, TypeError):
            return prior_chart(read_words(typed))
    return None
