"""Student-t quantiles for compiled formulas, where SciPy's are not to be had."""

from __future__ import annotations

from typing import Any

import numpy as np

from varts.simulation.engine.specialisation import UNBOUND

normal_quantile: Any = UNBOUND  # those of varts.policies.bayes_ucb
student_quantile: Any = UNBOUND


def stdtrit(df, p):
    """`scipy.special.stdtrit` for a lower tail p of at most 1/2."""
    if p >= 0.5:
        return 0.0
    if df == np.inf:
        return -normal_quantile(p)
    return -student_quantile(p, df)
