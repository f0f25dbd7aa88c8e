"""When an arm may be said to be ahead of the others."""

from __future__ import annotations

from typing import Any

from varts._validation import Floats

REWARDS_PER_ARM = 10  # in play and on average, before an arm is said to be ahead
ODDS_OF_A_LEADER = 3.0  # times those among equal arms: P(best) of 0.75 with two arms, 0.25 with ten


def leads(p_best: Floats) -> Any:
    """Whether the best arm's odds are three times those that it would have among equal arms.

    Args:
        p_best: P(best) of every arm, or a row of them per question.

    >>> import numpy as np
    >>> leads(np.array([0.7, 0.3])), leads(np.array([0.8, 0.2])), leads(np.array([1.0]))
    (False, True, True)
    """
    K = p_best.shape[-1]
    odds = ODDS_OF_A_LEADER / max(K - 1, 1)
    found = (p_best.max(axis=-1) >= odds / (1 + odds)) | (K == 1)
    return found if found.ndim else bool(found)
