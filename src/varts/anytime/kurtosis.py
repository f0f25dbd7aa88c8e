"""How many rewards it takes before skewed ones may be treated as Gaussian.

A mean of skewed rewards is Gaussian enough, and their variance known well enough, after a number
of rewards in proportion to their kurtosis. Where rewards are 0 or 1 and p of them are 1, the
kurtosis is about 1/p, so that it is a number of ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts._validation import common_shape, real, reals

# Rewards per unit of kurtosis, of 1, 2, 3, 5, 7.5, 10, 15, 20 and 30, chosen in other worlds than
# those of docs/anytime.md, which says what they gave. For pairs 10 is the smallest that kept errors
# of 5, 1 and 0.1 %. A mean's bound is less generous: 15 kept 5 and 1 %, and 20 leaves a margin.
PAIR_BURN_IN, MEAN_BURN_IN = 10.0, 20.0


def burn_in(kurtosis: float | None) -> tuple[float, float]:
    """How many rewards an arm needs before it is compared, and before its own interval is stated.

    Args:
        kurtosis: That of the rewards; None if they are Gaussian for certain, which takes none.

    >>> burn_in(18.05)      # 0 or 1, with 5 % ones: about ten and twenty of them
    (180.5, 361.0)
    """
    if kurtosis is None:
        return 0.0, 0.0
    kurtosis = real("kurtosis", kurtosis, at_least=1, infinite=True)
    return PAIR_BURN_IN * kurtosis, MEAN_BURN_IN * kurtosis


def pooled_kurtosis(n: Any, m2: Any, m4: Any) -> float:
    """The kurtosis of rewards within their arms: n m4 / m2^2, averaged in proportion to n.

    A starved arm shows too small a kurtosis, but weighs little. The average is infinite while no
    arm has shown two different rewards.

    Args:
        n: How many rewards each arm has had.
        m2: The sum of their squared deviations from the arm's mean.
        m4: The sum of the fourth powers of these deviations.

    >>> pooled_kurtosis([4, 2, 3], [4, 8, 0], [4, 32, 0])    # -1 or 1, -2 or 2, and all the same
    1.0
    """
    n, m2, m4 = (reals(name, x, at_least=0) for name, x in (("n", n), ("m2", m2), ("m4", m4)))
    n, m2, m4 = (np.broadcast_to(x, common_shape(n=n, m2=m2, m4=m4)) for x in (n, m2, m4))
    shown = (n > 0) & (m2 > 0)
    if not shown.any():
        return float("inf")
    n, m2, m4 = n[shown], m2[shown], m4[shown]
    return max(float((n * (n * (m4 / m2) / m2)).sum() / n.sum()), 1.0)
