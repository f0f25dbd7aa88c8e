"""How many rewards it takes before skewed ones may be treated as Gaussian.

A mean of skewed rewards is Gaussian enough, and their variance known well enough, after a number
of rewards in proportion to their kurtosis. Where rewards are 0 or 1 and p of them are 1, the
kurtosis is about 1/p, so that it is a number of ones.
"""

from __future__ import annotations

from varts._validation import real

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
