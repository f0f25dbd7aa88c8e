"""Timing on a machine that others use too: what is compared runs in turns, and ratios are taken
turn by turn, so that a slow minute slows both sides."""

import time
from statistics import median


def seconds(action):
    """How long one call takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turns(actions, turns):
    """Time {name: action}, one after the other, `turns` times after a warm-up of each.

    An action may return the seconds it took by its own clock; otherwise the call is timed.
    """
    times = {name: [] for name in actions}
    for turn in range(turns + 1):
        for name, action in actions.items():
            began = time.perf_counter()
            own = action()
            took = own if isinstance(own, float) else time.perf_counter() - began
            if turn:
                times[name].append(took)
    return times


def ratio(above, below):
    """The median over turns of above / below."""
    return median(a / b for a, b in zip(above, below, strict=True))
