"""The verdicts on the paper's claims follow the numbers."""

import numpy as np
import pytest
from scipy import stats

from varts import Study
from varts.paper import claims
from varts.paper.reproduce import FIGURE2_ARMS
from varts.simulation.results import PolicyResult, RegretCurve

RUNS = 400
LABELS = ("VarTS", *claims.BASELINES)
FIGURE1 = {
    "bernoulli": (10, 80, 20, 90, 10.2, 50, 22, 24),
    "beta": (5, 80, 30, 90, 20, 50, 22, 24),
    "gaussian": (21, 80, 20, 90, 40, 50, 42, 44),
}  # means in the order of LABELS that make every claim of figure 1 true
FACTORS = {"bernoulli": 3, "beta": 5, "gaussian": 2}


def study(means, noise=1.0, seed=0):
    """A study whose final regrets have exactly these means, and errors that are not paired."""
    rng = np.random.default_rng(seed)
    final = {}
    for label, mean in means.items():
        z = noise * rng.standard_normal(RUNS)
        final[label] = mean + z - z.mean()
    return study_of(final)


def study_of(final):
    """A study of these regrets at the horizon, by label."""
    results = {}
    for label, regret in final.items():
        mean = regret.mean()
        curve = RegretCurve(RUNS, np.array([mean]), np.array([((regret - mean) ** 2).sum()]))
        results[label] = PolicyResult(regret, regret, curve)
    return Study(np.array([100]), results, {"runs": RUNS})


def figure1(problem, noise=1.0, **changed):
    means = dict(zip(LABELS, FIGURE1[problem], strict=True))
    means |= {label.replace("_", "-"): mean for label, mean in changed.items()}
    return claims.figure1_claims({(problem, 10): study(means, noise)})


def figure2(problem, gaps, times=None, noise=0.1):
    """VarTS at 2 for every K; the best baseline `gaps` above it, at K = 32 `times` as high."""
    rivals = {K: 2 + gap for K, gap in zip(FIGURE2_ARMS, gaps, strict=True)}
    if times is not None:
        rivals[32] = 2 * times
    studies = {
        (problem, K): study({"VarTS": 2, **{x: r + 10 * (x != "TS20") for x in LABELS[1:]}}, noise)
        for K, r in rivals.items()
    }
    return claims.figure2_claims(studies)


def the(made, fragment):
    (found,) = [claim for claim in made if fragment in claim.text]
    return found


@pytest.mark.parametrize("problem", FIGURE1)
def test_all_claims_of_figure_1_can_be_true(problem):
    made = figure1(problem)
    assert [claim.verdict for claim in made] == ["reproduced"] * {"beta": 3}.get(problem, 4)


@pytest.mark.parametrize(
    ("problem", "fragment", "changed"),
    [
        ("bernoulli", "have the lowest", {"UCB1_Tuned": 9}),
        ("bernoulli", "have the lowest", {"Bernoulli_TS": 21}),
        ("bernoulli", "matches", {"VarTS": 8}),
        ("bernoulli", "matches", {"VarTS": 12}),
        ("bernoulli", "next three", {"Gaussian_TS": 23}),
        ("bernoulli", "next three", {"TS14": 9}),
        ("bernoulli", "highest", {"UCB1": 49}),
        ("beta", "VarTS outperforms", {"VarTS": 21}),
        ("beta", "Both TS14 and TS20", {"TS20": 31}),
        ("beta", "highest", {"UCB_V": 49}),
        ("gaussian", "lowest", {"UCB1_Tuned": 22}),
        ("gaussian", "similarly", {"VarTS": 24}),
        ("gaussian", "50 %", {"TS14": 30}),
        ("gaussian", "among the worst", {"UCB1": 43}),
    ],
)
def test_a_verdict_of_figure_1_flips_with_the_numbers(problem, fragment, changed):
    assert the(figure1(problem), fragment).verdict == "reproduced"
    assert the(figure1(problem, **changed), fragment).verdict == "not reproduced"


@pytest.mark.parametrize("problem", FACTORS)
def test_the_verdicts_of_figure_2_flip_with_the_numbers(problem):
    growing, factor = (1, 2, 4, 8, 16), FACTORS[problem]
    made = figure2(problem, growing)
    assert [claim.reproduced for claim in made] == [True, True]
    assert not the(figure2(problem, growing, times=0.9 * factor), "times lower").reproduced
    assert not the(figure2(problem, (1, 2, 8, 4, 16)), "increases").reproduced
    assert not the(figure2(problem, (1, 2, 4, 4, 16)), "increases").reproduced


def test_what_the_runs_cannot_decide_is_not_reproduced():
    assert not the(figure1("beta", noise=300), "VarTS outperforms").reproduced
    noisy = figure2("beta", (1, 2, 4, 8, 16), noise=300)
    assert not any(claim.reproduced for claim in noisy if "gap" in claim.text)


def test_claims_need_their_studies():
    assert claims.figure1_claims({}) == []
    assert claims.figure2_claims({("beta", 2): study(dict.fromkeys(LABELS, 1.0))}) == []


def test_every_claim_shows_numbers_with_intervals():
    made = [*figure1("bernoulli"), *figure1("beta"), *figure1("gaussian")]
    made += [*figure2("bernoulli", (1, 2, 4, 8, 16))]
    without = [x.text for x in made if "±" not in x.measured and "[" not in x.measured]
    assert without == []


def test_a_difference_is_paired(rng):
    common = 50 * rng.standard_normal(RUNS)
    gap = 3 + rng.standard_normal(RUNS)
    found = claims.difference(study_of({"a": common, "b": common + gap}), "b", "a")
    error = gap.std(ddof=1) / np.sqrt(RUNS)
    low, high = stats.t(RUNS - 1, gap.mean(), error).interval(0.95)
    assert (found.value, found.low, found.high) == pytest.approx((gap.mean(), low, high))


def test_the_interval_of_a_ratio_agrees_with_the_bootstrap(rng):
    common = rng.gamma(4, 5, RUNS)
    upper, lower = 2 * common + rng.gamma(2, 3, RUNS), common + rng.gamma(2, 3, RUNS)
    found = claims.ratio(study_of({"upper": upper, "lower": lower}), "upper", "lower")
    drawn = rng.integers(0, RUNS, (5000, RUNS))
    ratios = upper[drawn].mean(axis=1) / lower[drawn].mean(axis=1)
    width = found.high - found.low
    assert found.value == pytest.approx(upper.mean() / lower.mean())
    assert [found.low, found.high] == pytest.approx(
        np.quantile(ratios, [0.025, 0.975]), abs=0.1 * width
    )


def test_the_page_has_every_claim_with_its_verdict():
    made = [*figure1("beta"), *figure1("beta", VarTS=60)]
    page = claims.markdown(made, "Ten runs.")
    for claim in made:
        assert claim.text in page and claim.measured in page
    assert page.count("**reproduced**") == sum(claim.reproduced for claim in made)
    assert page.count("**not reproduced**") == sum(not claim.reproduced for claim in made)
    assert f"{sum(claim.reproduced for claim in made)} of {len(made)}" in page
