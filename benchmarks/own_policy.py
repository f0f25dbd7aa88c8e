"""A policy as a user would write it, for `waits.py`: its formula is compiled on first use."""

from typing import ClassVar

import numpy as np

import varts


class SigmaUCB(varts.IndexPolicy):
    """The mean plus two standard errors, with the log of the round."""

    label: ClassVar[str] = "Sigma-UCB"
    initial_pulls: ClassVar[int] = 2

    @staticmethod
    def index(n, mean, m2, t):
        return mean + 2 * np.sqrt(np.log(t) * m2 / n / (n - 1))
