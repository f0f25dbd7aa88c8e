"""Arms with too little data: what a report doesn't conclude because of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._text import printable
from varts._validation import Floats
from varts.live.core.effective import FEWEST_REWARDS, thin_arms
from varts.live.core.state import Config

MOST_P_BEST = 0.9  # while an arm in play has too little data


def thin_note(config: Config, counts: Any, sd: Any) -> str | None:
    """A sentence about arms with too little data; None if all arms have enough."""
    thin = thin_arms(config, counts, sd)
    if not thin:
        return None
    name, n = printable(config.arms[thin[0]]), int(counts[thin[0]])
    few = f"{n:,} {'reward' if n == 1 else 'rewards'}"
    what = f"only {few}" if n < FEWEST_REWARDS else f"{few} that are all equal"
    more = ""
    if len(thin) > 1:
        others = "another arm has" if len(thin) == 2 else f"{len(thin) - 1:,} other arms have"
        more = f", and {others} too few or only equal ones"
    advice = "wait for more rewards" if config.options.floor else "set a floor to get more"
    so = f"so no arm can be called the best yet; {advice}, or pause the arm"
    return f"{name} has {what}{more}, {so}"


def limit_p_best(p_best: Floats, active: NDArray[np.int64], thin: list[int]) -> Floats:
    """P(best) with none above 0.9 while an arm in play has too little data.

    What is taken from the leader goes to the arms with too little data, in equal parts: any of them
    may be better than it has shown. If only the leader itself has too little, it goes to the other
    arms.

    Args:
        p_best: P(best) of every arm; NaN for arms that aren't in play.
        active: The arms in play.
        thin: The arms with too little data.

    >>> limit_p_best(np.array([0.98, 0.02, 0.0]), np.arange(3), [2]).round(6).tolist()
    [0.9, 0.02, 0.08]
    """
    if not thin or np.isnan(p_best[active]).any() or not p_best[active].max() > MOST_P_BEST:
        return p_best
    leader = int(active[p_best[active].argmax()])
    others = [arm for arm in thin if arm != leader] or [
        arm for arm in active.tolist() if arm != leader
    ]
    out = p_best.copy()
    out[others] += (out[leader] - MOST_P_BEST) / len(others)
    out[leader] = MOST_P_BEST
    return out
