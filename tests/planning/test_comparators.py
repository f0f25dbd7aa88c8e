"""The wrong priors that a plan tries, and what they cost."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from tests.planning.shared import PRIOR, row
from varts import NormalGamma
from varts.planning.comparators import finite_mean_sd, make_wrong_priors


def test_a_wrong_variance_leaves_the_belief_about_the_means_as_it_is():
    prior = PRIOR.for_arms(3)
    made = make_wrong_priors(prior)
    assert list(made) == [
        "means 1 sd too high",
        "means 1 sd too low",
        "variance 2x too large",
        "variance 2x too small",
        "variance 10x too large",
        "variance 10x too small",
    ]
    for what, factor in (("variance 10x too large", 10), ("variance 2x too small", 0.5)):
        for name in ("loc", "scale", "df"):
            assert getattr(made[what].belief(), name) == pytest.approx(
                getattr(prior.belief(), name)
            )
        said = NormalGamma.elicit(12, 2, 8 * np.sqrt(factor), 20).for_arms(3)  # in a person's words
        for name in ("mu", "kappa", "alpha", "beta"):
            assert getattr(made[what], name) == pytest.approx(getattr(said, name))


def test_a_wrong_mean_is_off_by_one_sd():
    made = make_wrong_priors(PRIOR.for_arms(2))
    assert made["means 1 sd too high"].mu == pytest.approx([14, 14])
    assert made["means 1 sd too low"].mu == pytest.approx([10, 10])
    assert make_wrong_priors(PRIOR.mirrored().for_arms(2), "min")["means 1 sd too low"].mu == (
        pytest.approx([-10, -10])
    )
    heavy = NormalGamma([1.0], 2, 0.7, 3)  # no sd: half the width of the central 68.27 %
    low, high = heavy.belief().interval(scipy_stats.chi2.cdf(1, 1))
    assert finite_mean_sd(heavy) == pytest.approx((high - low) / 2)


def test_where_arms_differ_their_order_may_be_wrong():
    made = make_wrong_priors(NormalGamma([0.0, 3.0, 1.0], 1, 2, 1))
    assert made["favourite 1 sd too good, others too bad"].mu == pytest.approx([-1, 4, 0])
    assert made["favourite 1 sd too bad, others too good"].mu == pytest.approx([1, 2, 2])


def test_a_worse_prior_costs_more(expected):
    """Paired with the right prior: intervals that do not meet."""
    cost = {one["prior"]: one for one in expected.wrong.iter_rows(named=True)}
    assert cost["variance 2x too large"]["extra_low"] > 0
    assert cost["variance 10x too large"]["extra_low"] > cost["variance 2x too large"]["extra_high"]
    assert cost["means 1 sd too high"]["extra_low"] > 0
    right = cost["the right prior"]
    assert right["extra"] is None
    assert right["regret"] == row(expected.table, policy="VarTS")["regret"]
    for one in cost.values():
        if one["extra"] is not None:
            assert one["regret"] - one["extra"] == pytest.approx(right["regret"])
            assert one["relative"] == pytest.approx(one["extra"] / right["regret"])
    bold = cost["variance 10x too small"]
    assert bold["identified_high"] < bold["p_best"]  # it is too sure
    assert right["identified_low"] < right["p_best"] < right["identified_high"]
