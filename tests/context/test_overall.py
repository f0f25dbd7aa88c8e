"""Averages over units and groups, against brute force: joint draws of all levels and slopes.

A comparison is a z test of an average over 20,000 independent draws, rejected beyond 4.5 standard
errors: a false alarm in 1 of 150,000. Losses that are 0 in most draws are skewed, which makes it 1
in 5,000 for the worst of them. Shares of draws have the exact binomial test, as some are rare. With
fewer than 100 comparisons, the false-alarm rate of the file is below 1e-3.
"""

import numpy as np
import pytest
from scipy import stats as distributions

from tests.context.shop import ARMS, FEATURES, drawn_means, played, report
from tests.seeds import fresh
from varts import LinearNormalGamma, LinearStats, LinearVarTS, context_report
from varts.context import Units, coefficients
from varts.context.units import mean_rows

DRAWS, LIMIT = 20_000, 4.5
FALSE_ALARM = 2 * distributions.norm.sf(LIMIT)


def z(found, draws):
    """Standard errors between numbers and the averages of draws, the first axis."""
    se = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    return np.abs((np.asarray(found) - draws.mean(axis=0)) / (se + 1e-12)).max()


@pytest.fixture(scope="module", params=["max", "min"])
def made(request):
    """A report on forty units after sixty rewards: much is uncertain."""
    stats, contexts = played(60)
    goal = request.param
    found = context_report(LinearVarTS(), stats, FEATURES, contexts[:40], arms=ARMS, goal=goal)
    mu = drawn_means(found.posterior, found.units.x, DRAWS, seed=fresh(5))
    return found, mu, mu if goal == "max" else -mu


def wins(ranked):
    """The share of units, in each draw, that each arm is best for."""
    return (ranked == ranked.max(axis=-1, keepdims=True)).mean(axis=1)


@pytest.mark.statistical
def test_all_units_on_average(made):
    found, mu, ranked = made
    assert z(found.frame["p_best"], wins(ranked)) < LIMIT
    lost = (ranked.max(axis=-1, keepdims=True) - ranked).mean(axis=1)
    assert z(found.frame["expected_loss"], lost) < LIMIT
    everybody = mu.mean(axis=1)
    assert z(found.frame["estimate"], everybody) < LIMIT
    for column, p in (("mean_low", 0.025), ("mean_high", 0.975)):
        below = (everybody < found.frame[column].to_numpy()).astype(float)
        assert z(np.full(3, p), below) < LIMIT


@pytest.mark.statistical
def test_p_best_of_the_average_unit_is_rejected(made):
    """Negative control: the average of P(best) is not P(best) of the average."""
    found, _, ranked = made
    belief = found.posterior.belief(found.units.mean)
    wrong = (belief if found.goal == "max" else belief.mirrored()).p_best()
    assert z(wrong, wins(ranked)) > LIMIT


@pytest.mark.statistical
def test_groups(made):
    found, mu, ranked = made
    groups = found.units.groups()
    tables = found.segments.partition_by("feature", "value", maintain_order=True)
    assert len(groups) == len(tables) == 6  # three countries, three thirds of the visits
    for group, table in zip(groups, tables, strict=True):
        assert table["units"].to_list() == [group.members.sum()] * 3
        of_group = ranked[:, group.members].mean(axis=1)
        best = np.bincount(of_group.argmax(axis=1), minlength=3).tolist()
        for count, p in zip(best, table["p_best"], strict=True):
            assert distributions.binomtest(count, DRAWS, p).pvalue > FALSE_ALARM
        assert z(table["expected_loss"], of_group.max(axis=1, keepdims=True) - of_group) < LIMIT
        assert z(table["estimate"], mu[:, group.members].mean(axis=1)) < LIMIT


@pytest.mark.statistical
def test_what_the_rule_still_loses(made):
    found, _, ranked = made
    estimate = found.posterior.at(found.units.x)[0]
    rule = estimate.argmax(axis=1) if found.goal == "max" else estimate.argmin(axis=1)
    lost = ranked.max(axis=-1) - ranked[:, np.arange(len(rule)), rule]
    assert z([found.rule_loss], lost.mean(axis=1, keepdims=True)) < LIMIT
    gets = np.bincount(rule, minlength=3) / len(rule)
    assert np.allclose(found.frame["gets"], gets)


def test_lower_is_better_is_higher_of_minus_the_rewards():
    stats, contexts = played(200)
    low = context_report(LinearVarTS(), stats, FEATURES, contexts, goal="min")
    high = context_report(LinearVarTS(), stats.mirrored(), FEATURES, contexts)
    for column in ("p_best", "expected_loss", "gets"):
        assert np.allclose(low.frame[column], high.frame[column], rtol=1e-9, atol=1e-12)
    assert np.allclose(low.frame["mean_low"], -high.frame["mean_high"])
    assert np.allclose(low.segments["p_best"], high.segments["p_best"], atol=1e-10)
    assert low.segments["named"].to_list() == high.segments["named"].to_list()
    assert low.worth.gain == pytest.approx(high.worth.gain, rel=1e-9)
    assert low.worth.single == high.worth.single


def test_effects_are_those_of_least_squares():
    """With next to no prior: (X'X)^-1 X'y, and intervals of t with n degrees of freedom."""
    rng = np.random.default_rng(3)
    contexts = [
        {"country": c, "visits": v}
        for c, v in zip(
            rng.choice(["NL", "BE", "FR"], 80), rng.poisson(3, 80).tolist(), strict=True
        )
    ]
    units = Units.seen(FEATURES, contexts)
    y = rng.normal(5 + units.x @ [1.0, -1.0, 0.5], 2.0)
    prior = LinearNormalGamma(0, 1e-9, 1e-9, 1e-9, np.zeros(3), np.full(3, 1e-9))
    stats = LinearStats.empty(1, 3).observe(np.zeros(80, dtype=int), units.x, y)
    table = coefficients(prior.posterior(stats), units, ["a"], 0.9)
    X = np.column_stack([np.ones(80), units.x - units.mean])
    estimate, rss, *_ = np.linalg.lstsq(X, y, rcond=None)
    half = distributions.t(80).ppf(0.95) * np.sqrt(
        rss[0] / 80 * np.diagonal(np.linalg.inv(X.T @ X))
    )
    assert np.allclose(table["estimate"], estimate, rtol=1e-6)
    assert np.allclose(table["high"] - table["estimate"], half, rtol=1e-6)
    assert np.allclose(table["sd"][1:], units.x.std(axis=0))
    assert np.allclose(table["per_sd"][1:], estimate[1:] * units.x.std(axis=0), rtol=1e-6)


def test_means_of_large_numbers_keep_their_digits():
    x = 1e9 + np.array([[0.25], [0.5], [0.75]])
    assert mean_rows(x).tolist() == [1e9 + 0.5]


def test_the_level_of_the_intervals():
    narrow, wide = report(level=0.5), report(level=0.99)
    for table, low, high in (("frame", "mean_low", "mean_high"), ("coefficients", "low", "high")):
        a, b = getattr(narrow, table), getattr(wide, table)
        assert ((a[high] - a[low]) <= (b[high] - b[low])).all()
    assert narrow.worth.high - narrow.worth.low < wide.worth.high - wide.worth.low
