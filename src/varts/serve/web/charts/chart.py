"""A chart: a picture, what it says in a sentence, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

COLOURS = 8  # classes arm-0 to arm-7 of style.css; more cannot be told apart
OTHERS = "arm-others"


class Table(NamedTuple):
    """Cells as text; the first row of a table is `heads`, the first cell of a row its name."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Chart(NamedTuple):
    """A picture with what belongs to it.

    `key` names its parts on the page, `svg` is empty while there is nothing to draw, and `legend`
    has the class of a colour and what it stands for.
    """

    key: str
    title: str
    svg: str
    sentence: str
    table: Table | None = None
    legend: Sequence[tuple[str, str]] = ()


def arm_colours(arms: Sequence[str], weights: Sequence[float]) -> dict[str, str]:
    """The class of the colour of each arm that has one: the heaviest, in the order of the arms.

    >>> arm_colours(["a", "b"], [0.5, 0.5])
    {'a': 'arm-0', 'b': 'arm-1'}
    """
    heaviest = sorted(range(len(arms)), key=lambda i: -weights[i])[:COLOURS]
    return {arms[i]: f"arm-{place}" for place, i in enumerate(sorted(heaviest))}
