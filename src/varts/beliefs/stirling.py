"""log Gamma beyond Stirling's formula (x - 1/2) log x - x + log sqrt(2 pi).

Differences of large log Gammas lose their digits; this excess is small, and its differences do not.
The two pieces are plain arithmetic, which the simulation engine compiles, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats

LOG_SQRT_2PI = float(np.log(np.sqrt(2 * np.pi)))
SERIES_FROM = 20  # where the series is exact to the last digit


def stirling_excess(x: Floats) -> Floats:
    """The excess to 1e-15, for arrays of any x > 0.

    >>> stirling_excess(np.array([1.0, 50.0])).round(6)     # 1 - log sqrt(2 pi); nearly 1/600
    array([0.081061, 0.001667])
    """
    small, large = np.minimum(x, SERIES_FROM), np.maximum(x, SERIES_FROM)
    exact = beyond_stirling(special.gammaln(small), small)
    return np.asarray(np.where(x > SERIES_FROM, stirling_series(large), exact))


def beyond_stirling(log_gamma: Any, x: Any) -> Any:
    """The excess of a log Gamma(x) that is known."""
    return log_gamma - (x - 0.5) * np.log(x) + x - LOG_SQRT_2PI


def stirling_series(x: Any) -> Any:
    """The excess of a large x: the next term would be 1 / (1188 x^9)."""
    w = 1 / (x * x)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / x
