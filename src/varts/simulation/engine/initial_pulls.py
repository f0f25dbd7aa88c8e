"""Initial pulls: every policy may ask for a number of pulls of each arm before it chooses.

They are made in random order. `waiting` lists the arms that still need some; a pull takes a random
one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def begin_initial_pulls(c: Any, s: Any) -> Any:
    """List the arms that need initial pulls and return how many there are."""
    count = 0
    for i in range(s.K):
        s.pulls_left[i] = c.initial_pulls[i]
        if s.pulls_left[i] > 0:
            s.waiting[count] = i
            count += 1
    return count


def make_initial_pull(below: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that makes an initial pull.

    Args:
        below: `(count, state) -> (a random whole number below count, state)`.
    """

    def initial_pull(count: Any, s: Any, state: Any) -> Any:
        """Return the arm to pull, how many arms still wait, and the random state."""
        place, state = below(count, state)
        arm = s.waiting[place]
        s.pulls_left[arm] -= 1
        if s.pulls_left[arm] == 0:
            count -= 1
            s.waiting[place] = s.waiting[count]
        return arm, count, state

    return initial_pull


def pull_again(count: Any, s: Any, least: Any) -> Any:
    """Where rewards fade, list the arms of which too little is remembered; return how many wait."""
    for i in range(s.K):
        if s.n[i] < least[i] and s.pulls_left[i] == 0:
            s.pulls_left[i] = 1
            s.waiting[count] = i
            count += 1
    return count
