"""`plan(aim="best")`: rounds until the best arm is certain, and what it costs."""

import pytest

from tests.planning.shared import PRIOR
from varts import T3C, GaussianBandit, Plan, StopAtError, plan, simulate

QUICK = {"arms": 3, "horizon": 60, "runs": 24, "followed": 24, "limit": 3000}


@pytest.fixture(scope="module")
def expected():
    return plan(PRIOR, aim="best", error=0.1, **QUICK)


def test_two_arms_are_enough():
    two = plan(PRIOR, aim="best", error=0.1, **{**QUICK, "arms": 2})
    assert two.certainty.height == 4
    with pytest.raises(ValueError, match="arms must be at least 2 to find the best, got 1"):
        plan(PRIOR, aim="best", error=0.1, **{**QUICK, "arms": 1})


def test_rows_are_those_of_a_study(expected):
    rows = {row["policy"]: row for row in expected.certainty.iter_rows(named=True)}
    assert list(rows) == ["Even-Split", "VarTS", "T3C", "Sequential-Halving"]
    prior = expected.prior
    rule = StopAtError(0.1, kurtosis=3.0)
    study = simulate(GaussianBandit(prior), T3C(prior), 3000, 24, stop=rule)
    found = study.stopping().row(0, named=True)
    for name in ("stopped", "median", "q95", "wrong", "wrong_high", "regret", "regret_low"):
        assert rows["T3C"][name] == found[name]
    halving = rows["Sequential-Halving"]
    assert halving["stopped"] is None and halving["median"] == halving["q95"]
    assert halving["median"] == (found["median"] or 3000)


def test_the_text_says_how_long_it_takes(expected):
    text = str(expected)
    assert "rounds until the best arm is certain, with an error of 10 %" in text
    assert "> 3,000" in text and "halving is never certain" in text
    assert "certain, with an error" not in str(plan(PRIOR, arms=3, horizon=20, runs=8, followed=2))


def test_a_plan_is_read_again(expected, tmp_path):
    again = Plan.from_json(expected.to_json())
    assert again == expected and again.certainty.equals(expected.certainty)
    assert "certainty.csv" in [path.name for path in expected.save(tmp_path)]


def test_costs_are_mirrored_where_less_is_better(expected):
    mirrored = plan(PRIOR.mirrored(), aim="best", error=0.1, goal="min", **QUICK)
    assert mirrored.certainty.equals(expected.certainty)


def test_the_same_on_any_number_of_threads(expected):
    assert plan(PRIOR, aim="best", error=0.1, threads=1, **QUICK) == expected


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"aim": "bst"}, "^unknown aim 'bst'|^aim must be"),
        ({"error": 0.05}, '^error must be left out unless aim is "best", got 0.05$'),
        ({"aim": "best", "error": 0}, "^error must be finite and > 0 and < 1, got 0"),
        ({"aim": "best", "arms": 1}, "^arms must be at least 2 to find the best, got 1$"),
        ({"limit": 0}, "^limit must be"),
    ],
)
def test_mistakes(options, match):
    with pytest.raises(ValueError, match=match):
        plan(PRIOR, **{"arms": 3, "horizon": 20, "runs": 8} | options)
