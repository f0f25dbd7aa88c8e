"""Residuals by cell of features: a plain loop agrees, interactions are found, chance isn't."""

import numpy as np
import pytest
from scipy import stats as distributions

from tests.seeds import fresh
from varts import Features, LinearStats, LinearVarTS
from varts.checks.misfit import NAME, PER_KURTOSIS, ResidualCells

KINDS = {"country": ["NL", "BE"], "visits": "number", "age": "number"}
ARMS = ["red", "blue"]


def played(n, seed, interaction=0.0, bend=0.0, noise="gaussian"):
    rng = np.random.default_rng(seed)
    contexts = [
        {"country": str(c), "visits": float(v), "age": float(a)}
        for c, v, a in zip(
            rng.choice(["NL", "BE"], n), rng.poisson(3, n), rng.normal(40, 10, n), strict=True
        )
    ]
    arm = rng.integers(0, 2, n)
    visits = np.array([one["visits"] for one in contexts])
    abroad = np.array([one["country"] == "BE" for one in contexts])
    e = rng.standard_normal(n)
    if noise == "revenue":
        e = (rng.random(n) < 0.1) * rng.lognormal(0.0, 1.0, n)
    y = 0.2 * visits + interaction * arm * abroad * (visits - 3) + bend * (visits - 3) ** 2 + e
    return contexts, arm, y


def cells_of(contexts, arm, y, kinds=KINDS, **more):
    features = Features(kinds, **more)
    x = features.encode_many(contexts)
    posterior = LinearVarTS().posterior(LinearStats.empty(2, features.d).observe(arm, x, y))
    cells = ResidualCells(features, posterior, ARMS, contexts)
    for at in range(0, len(y), 700):  # page by page
        part = slice(at, at + 700)
        cells.add(arm[part], contexts[part], y[part])
    return cells


def smallest_p(contexts, arm, y, cells):
    """The same by loops over rewards: the smallest p-value of any cell times their number."""
    features, posterior = cells.features, cells.posterior
    residual = []
    for context, a, value in zip(contexts, arm, y, strict=True):
        residual.append(value - posterior.at(features.encode(context))[0][a])
    residual = np.array(residual)
    needed = PER_KURTOSIS * max(np.mean(residual**4) / np.mean(residual**2) ** 2, 3.0)
    cuts = {
        name: np.sort([one[name] for one in contexts])[
            [-(-len(y) // 3) - 1, -(-2 * len(y) // 3) - 1]
        ]
        for name in ("visits", "age")
    }

    def value(context, name):
        if name == "country":
            return context[name]
        return sum(context[name] > cut for cut in cuts[name])

    groups = {}
    names = [("visits",), ("age",), ("country", "visits"), ("country", "age"), ("visits", "age")]
    for context, a, e in zip(contexts, arm, residual, strict=True):
        for which in names:
            key = (a, which, *(value(context, name) for name in which))
            groups.setdefault(key, []).append(e)
    tested = [distributions.ttest_1samp(g, 0).pvalue for g in groups.values() if len(g) >= needed]
    return min(tested) * len(tested)


@pytest.mark.parametrize("interaction", [0.3, 0.4])
def test_a_loop_over_rewards_finds_the_same(interaction):
    rows = played(1200, fresh(3), interaction)
    cells = cells_of(*rows)
    known = smallest_p(*rows, cells)
    assert cells.finding().number == pytest.approx(min(known, 1.0), rel=1e-6)
    other = cells_of(rows[0], rows[1][::-1].copy(), rows[2])  # arms of other rewards
    assert other.finding().number != pytest.approx(min(known, 1.0), rel=1e-3)


def test_an_interaction_is_found_and_its_remedy_works():
    rows = played(3000, fresh(4), interaction=0.5)
    found = cells_of(*rows).finding()
    assert found.name == NAME and found.verdict == "warning"
    assert "add the interaction of country and visits" in found.sentence
    assert "country is" in found.sentence and "visits is" in found.sentence
    better = cells_of(*rows, interactions=[("country", "visits")]).finding()
    assert better.verdict == "ok"


def test_a_curve_is_found():
    found = cells_of(*played(3000, fresh(5), bend=0.3)).finding()
    assert found.verdict == "warning" and "give visits as categories" in found.sentence


def test_few_rewards_tell_nothing():
    found = cells_of(*played(60, fresh(6))).finding()
    assert found.verdict == "note" and "too few rewards in any cell" in found.sentence


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["gaussian", "revenue"])
def test_chance_is_no_misfit(noise):
    """At most 1 % false alarms: of 60 logs, more than 5 have one with probability below 2e-5."""
    alarms = sum(
        cells_of(*played(900, fresh(100 + i), noise=noise)).finding().verdict == "warning"
        for i in range(60)
    )
    assert alarms <= 5
