"""Intervals of quantiles and of shares."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from varts._intervals import quantile_interval, share_interval


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_intervals_of_quantiles_hold_their_level(share):
    """P(X_(low) <= q < X_(high)) from the binomial, for every sample size."""
    for n in (1, 2, 7, 40, 240):
        value, low, high = quantile_interval(np.arange(1.0, n + 1), share)
        inner = [k for k in range(n + 1) if (low <= k or low == -np.inf) and k < high]
        assert scipy_stats.binom.pmf(inner, n, share).sum() >= 0.95
        if np.isfinite([low, high]).all():  # and no wider than it has to be
            assert scipy_stats.binom.cdf(low, n, share) > 0.025
            assert scipy_stats.binom.sf(high - 2, n, share) > 0.025
        assert value == np.ceil(n * share)
        assert low <= value <= high
    assert quantile_interval(np.array([3.0, np.inf, np.inf]), 0.5)[0] == np.inf


def test_intervals_of_shares():
    """Newcombe (1998), table I: Wilson's score intervals."""
    assert share_interval(81, 263)[1:] == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert share_interval(15, 148)[1:] == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert share_interval(0, 20)[1:] == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert share_interval(1, 29)[1:] == pytest.approx((0.0061, 0.1718), abs=5e-5)
