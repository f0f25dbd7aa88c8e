"""Initial pulls: every policy may ask for a number of pulls of each arm before it chooses.

They are made in random order. `waiting` lists the arms that still need some; a pull takes a random
one of them.

If rewards are late, a policy needs that number of known rewards. Once all initial pulls are made,
further ones are spread evenly over the arms whose rewards are still missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def begin_initial_pulls(c: Any, s: Any) -> Any:
    """List the arms that need initial pulls and return how many there are."""
    count = 0
    for i in range(s.K):
        s.pulls_left[i] = c.initial_pulls[i]
        s.rewards_left[i] = 0
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


def expect_rewards(c: Any, s: Any) -> Any:
    """Note how many rewards of each arm must be known; return how many arms lack some."""
    count = 0
    for i in range(s.K):
        s.rewards_left[i] = c.initial_pulls[i]
        if s.rewards_left[i] > 0:
            count += 1
    return count


def make_extra_pull(below: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that pulls an arm again while its initial rewards are late.

    Args:
        below: As for `make_initial_pull`.
    """

    def extra_pull(s: Any, state: Any) -> Any:
        """Return an arm whose rewards are missing, that with the fewest pulls, and the state."""
        arm, ties = -1, 0
        for i in range(s.K):
            if s.rewards_left[i] == 0 or (arm >= 0 and s.pulls[i] > s.pulls[arm]):
                continue
            ties = ties + 1 if arm >= 0 and s.pulls[i] == s.pulls[arm] else 1
            place = 0
            if ties > 1:
                place, state = below(ties, state)
            if place == 0:
                arm = i
        return arm, state

    return extra_pull


def count_pull(arm: Any, count: Any, s: Any) -> Any:
    """Count an unplanned pull as an initial pull, if the arm needs one."""
    if s.pulls_left[arm] > 0:
        s.pulls_left[arm] -= 1
        if s.pulls_left[arm] == 0:
            place = 0
            while s.waiting[place] != arm:
                place += 1
            count -= 1
            s.waiting[place] = s.waiting[count]
    return count


def pull_again(count: Any, s: Any, least: Any) -> Any:
    """Where rewards fade, list the arms of which too little is remembered; return how many wait."""
    for i in range(s.K):
        if s.n[i] < least[i] and s.pulls_left[i] == 0:
            s.pulls_left[i] = 1
            s.waiting[count] = i
            count += 1
    return count


def expect_again(count: Any, lacking: Any, s: Any, least: Any) -> Any:
    """Like `pull_again` where rewards are late; also return how many arms lack known rewards."""
    for i in range(s.K):
        if s.n[i] < least[i] and s.rewards_left[i] == 0:
            s.rewards_left[i] = 1
            lacking += 1
            if s.pulls_left[i] == 0:
                s.pulls_left[i] = 1
                s.waiting[count] = i
                count += 1
    return count, lacking
