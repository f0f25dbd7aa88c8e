"""Metrics of runs, and comparisons that are corrected for how many there are."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import varts
from tests.seeds import fresh
from varts import GaussianBandit, MeanVarianceRegret, Study, simulate, sweep
from varts._intervals import holm, mean_interval
from varts.simulation.metrics import Runs, name_of
from varts.simulation.results import PolicyResult, RegretCurve

PROBLEM = GaussianBandit(varts.NormalGamma(mu=[0.2, 0.5, 0.8, 0.0], kappa=3, alpha=4, beta=1))


@pytest.fixture(scope="module")
def study():
    policies = [varts.MVTS(rho=1.0), "UCB1", "TS14"]
    return simulate(PROBLEM, policies, 200, 50, seed=3, checkpoints=[1, 7, 60])


# ----------------------------------------------------------------------------- what is recorded


def test_pulls_at_checkpoints_are_those_of_shorter_studies(study):
    """And of the trace of a run, which notes every round."""
    for place, horizon in enumerate([1, 7, 60, 200]):
        short = simulate(PROBLEM, ["UCB1", "TS14"], horizon, 50, seed=3, checkpoints=[1])
        for label in short.labels:
            pulls = study.results[label].record.pulls
            assert pulls.dtype == np.uint8 and pulls.shape == (50, 4, 4)
            assert (pulls[:, place] == short.pulls[label]).all()
    arms = varts.trace(PROBLEM, "TS14", run=9, horizon=200, seed=3).rounds["arm"].to_numpy()
    for place, n in enumerate([1, 7, 60, 200]):
        pulls = study.results["TS14"].record.pulls[9, place]
        assert (pulls == np.bincount(arms[:n], minlength=4)).all()


def test_pulls_are_saved_and_files_with_the_last_ones_only_can_be_read(study, tmp_path):
    path = study.save(tmp_path / "new")
    assert Study.load(path) == study
    assert Study.load(path).metric(MeanVarianceRegret()).equals(study.metric(MeanVarianceRegret()))
    with np.load(path) as file:
        arrays = dict(file)
    for i in range(3):
        arrays[f"pulls{i}"] = arrays[f"pulls{i}"][:, -1].astype(np.int64)
    np.savez(tmp_path / "old", **arrays)
    old = Study.load(tmp_path / "old.npz")
    assert all((old.pulls[label] == study.pulls[label]).all() for label in study.labels)
    with pytest.raises(ValueError, match="has the pulls at the horizon only"):
        old.metric(MeanVarianceRegret())


# ------------------------------------------------------------------------- mean-variance regret


def pair_by_pair(pulls, mean, variance, rho):
    """The definition with gaps: sum of T_i Delta_i, plus the pairs of arms of different means.

    As in Sani et al. (2012) and Zhu & Tan (2020), with the factor of the pairs that makes it exact.
    """
    n, K = pulls.sum(), len(pulls)
    best = np.argmax(rho * mean - variance)
    regret = 0.0
    for i in range(K):
        regret += pulls[i] * (rho * (mean[best] - mean[i]) - (variance[best] - variance[i]))
        for j in range(K):
            regret += pulls[i] * pulls[j] * (mean[i] - mean[j]) ** 2 / (2 * n)
    return regret


@pytest.mark.parametrize("rho", [0.0, 0.5, 10.0])
def test_mean_variance_regret_is_that_of_its_definition(study, rho):
    values, instances = study.measure(MeanVarianceRegret(rho)), study.instances
    for label in study.labels:
        assert values[label].shape == (50, 4)
        for run in range(50):
            for place in range(4):
                pulls = study.results[label].record.pulls[run, place].astype(float)
                arms = instances.mean[run], instances.variance[run]
                assert values[label][run, place] == pytest.approx(pair_by_pair(pulls, *arms, rho))


def test_mean_variance_regret_is_that_of_all_rewards_together():
    """A run's rewards as one sample: n (best - (rho mean - variance)), in 2,000 copies of it.

    The seed is fixed. The mean of 2,000 copies is off by more than five standard errors once in a
    million times.
    """
    pulls, mean, sigma = np.array([30, 50, 20]), np.array([1.0, 2.0, 1.5]), np.array([0.5, 1.0, 2])
    rng = np.random.default_rng(fresh(7))
    arm = np.repeat(np.arange(3), pulls)
    rewards = mean[arm] + sigma[arm] * rng.standard_normal((2000, 100))
    rho = 1.5
    # The variance around the sample's own mean is too small by the variance of that mean.
    variance = rewards.var(axis=1) + (pulls * sigma**2).sum() / 100**2
    got = 100 * ((rho * mean - sigma**2).max() - (rho * rewards.mean(axis=1) - variance))
    expected = pair_by_pair(pulls.astype(float), mean, sigma**2, rho)
    assert abs(got.mean() - expected) < 5 * got.std(ddof=1) / np.sqrt(2000)
    # Negative control: without the variance between arms it would be far off.
    between = 100 * np.average((mean - np.average(mean, weights=pulls)) ** 2, weights=pulls)
    assert abs(got.mean() - (expected - between)) > 5 * got.std(ddof=1) / np.sqrt(2000)


def test_mvts_has_less_mean_variance_regret_and_more_regret():
    """A safe arm and one that pays more: what each policy is for."""
    problem = GaussianBandit.fixed([1.0, 1.2], sigma=[0.1, 1.0])
    made = simulate(problem, [varts.MVTS(rho=1.0), "UCB1"], 500, 100, checkpoints=[100])
    last = made.metric(MeanVarianceRegret(1.0)).filter(round=500)
    by_policy = dict(zip(last["policy"], last["mean_variance_regret"], strict=True))
    assert by_policy["MVTS"] < by_policy["UCB1"] / 5
    assert made.final["MVTS"].mean() > 2 * made.final["UCB1"].mean()
    with pytest.raises(ValueError, match="rho must be finite and >= 0, got -1"):
        MeanVarianceRegret(-1)


# ------------------------------------------------------------------------------ metrics of yours


def test_a_metric_of_yours_in_a_line(study):
    def regret_by_hand(runs):
        return (runs.pulls * (runs.mean.max(axis=-1, keepdims=True) - runs.mean)).sum(axis=-1)

    table = study.metric(regret_by_hand)
    columns = ["policy", "round", *(f"regret_by_hand{end}" for end in ("", "_low", "_high"))]
    assert table.columns == columns and table.height == 3 * 4
    assert table["round"][:4].to_list() == [1, 7, 60, 200]
    row = table.row(3, named=True)
    interval = mean_interval(study.final["MVTS"])
    assert [row[name] for name in columns[2:]] == pytest.approx(list(interval))
    assert (study.outcomes(regret_by_hand)["TS14"]) == pytest.approx(study.final["TS14"])
    assert name_of(lambda runs: runs.regret) == "value"
    recommended = study.measure(lambda runs: runs.recommended)["UCB1"]
    assert (recommended == study.recommended["UCB1"]).all()


def test_named_outcomes(study):
    assert (study.outcomes()["TS14"] == study.final["TS14"]).all()
    assert (study.outcomes("best_share")["TS14"] == study.best_share["TS14"]).all()
    lost = study.simple_regret["TS14"][:, -1]
    assert (study.outcomes("simple_regret")["TS14"] == lost).all()
    wrong = study.identification().filter(policy="TS14", round=200)["wrong"].item()
    assert study.outcomes("wrong")["TS14"].mean() == wrong


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    [
        (5, TypeError, "metric must be a name or a function, got 5"),
        ("regret", TypeError, "metric must be a function of the runs, got 'regret'"),
        (lambda runs: runs.pulls, ValueError,
         "metric 'value' must have a row per run and a column per checkpoint, (50, 4), "
         "got (50, 4, 4)"),
        (lambda runs: runs.regret * np.nan, ValueError,
         "metric 'value' must be finite, got NaN or infinity for MVTS"),
    ],
)  # fmt: skip
def test_wrong_metrics(study, metric, kind, message):
    with pytest.raises(kind) as raised:
        study.metric(metric)
    assert str(raised.value) == message


def test_what_a_metric_needs(study):
    with pytest.raises(ValueError, match="this study has no checkpoints"):
        simulate(PROBLEM, "UCB1", 20, 8).metric(MeanVarianceRegret())
    drifting = simulate(varts.Steps(PROBLEM, every=10), "UCB1", 20, 8, checkpoints=True)
    with pytest.raises(ValueError, match="means and variances need arms that don't change"):
        drifting.metric(MeanVarianceRegret())
    assert drifting.metric(lambda runs: runs.regret).height > 0
    with pytest.raises(ValueError, match="unknown metric 'regrets'; did you mean 'regret'"):
        study.outcomes("regrets")


# --------------------------------------------------------------------------------- comparisons


def made_of(finals):
    """A study with these regrets, a row per policy."""
    results = {
        f"p{i}": PolicyResult(final, final, RegretCurve(len(final), final[:1], final[:1] * 0))
        for i, final in enumerate(finals)
    }
    return Study(np.array([1]), results, {"runs": len(finals[0])})


def test_a_comparison_is_that_of_single_tests_corrected(study):
    """Beside scipy's paired t test, and Holm's procedure step by step."""
    table = study.comparison("UCB1", level=0.9)
    assert table.columns == [
        "policy", "against", "difference", "difference_low", "difference_high", "p_value",
        "p_adjusted",
    ]  # fmt: skip
    assert table["policy"].to_list() == ["MVTS", "TS14"]
    for row in table.iter_rows(named=True):
        test = stats.ttest_rel(study.final[row["policy"]], study.final["UCB1"])
        assert row["p_value"] == pytest.approx(test.pvalue)
        low, high = test.confidence_interval(0.95)  # 1 - 0.1 / 2
        assert [row["difference_low"], row["difference_high"]] == pytest.approx([low, high])
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(6) ** 3
        rejected, level = set(), 0.2
        for step, i in enumerate(np.argsort(p)):
            if p[i] > level / (6 - step):
                break
            rejected.add(i)
        assert {int(i) for i in np.flatnonzero(holm(p) <= level)} == rejected
    with pytest.raises(ValueError, match="a comparison needs at least two policies, got 'UCB1'"):
        study.select("UCB1").comparison()
    with pytest.raises(ValueError, match="unknown policy 'UCB2'"):
        study.comparison("UCB2")
    with pytest.raises(ValueError, match="against must be left out with pairs, got 'UCB1'"):
        study.comparison("UCB1", pairs=True)


def test_policies_that_always_differ_alike():
    same, more = made_of([np.arange(9.0)] * 2), made_of([np.arange(9.0), np.arange(9.0) + 1])
    assert same.comparison()["p_value"].item() == 1 and more.comparison()["p_value"].item() == 0


def test_a_sweep_corrects_for_all_settings_together():
    grid = {"problem": {"one": PROBLEM, "other": GaussianBandit(K=3)}, "policies": ["UCB1", "TS14"]}
    done = sweep(grid, horizon=60, runs=30)
    table = done.comparison()
    assert table.columns[:3] == ["problem", "policy", "against"] and table.height == 2
    alone = [study.comparison() for study in done.studies]
    assert table["p_value"].to_list() == [each["p_value"].item() for each in alone]
    assert table["p_adjusted"].to_list() == pytest.approx(list(holm(table["p_value"].to_numpy())))
    for row, study in zip(table.iter_rows(named=True), done.studies, strict=True):
        both = mean_interval(study.final["TS14"] - study.final["UCB1"], 0.975)
        assert row["difference_high"] == pytest.approx(both.high)


@pytest.mark.statistical
def test_the_chance_of_any_false_difference_is_as_stated():
    """Eight policies with the same mean regret as a ninth, skewed and correlated as regret is.

    1,000 studies of 200 runs. The chance that any of the eight intervals misses 0, or any adjusted
    p-value is below 5 %, is at most 5 %. If it is 5 %, more than 76 of 1,000 have a chance of
    0.016 % (binomial). Negative control: the intervals for one comparison each, of `summary`, miss
    0 somewhere in far more than 76.
    """
    rng = np.random.default_rng(fresh(11))
    missed = rejected = uncorrected = 0
    for _ in range(1000):
        hard = rng.gamma(1.0, 20.0, 200)  # an instance is hard for all
        table = made_of(hard + rng.gamma(2.0, 10.0, (9, 200))).comparison()
        away = (table["difference_low"] > 0) | (table["difference_high"] < 0)
        missed += bool(away.any())
        rejected += bool((table["p_adjusted"] <= 0.05).any())
        uncorrected += bool((table["p_value"] <= 0.05).any())
    assert missed <= rejected <= 76  # Holm's procedure rejects at least as much
    assert uncorrected > 150


@pytest.mark.statistical
def test_comparing_with_the_winner_needs_all_pairs():
    """Nine equal policies, and the one that came out best is called better than some other.

    500 studies. With all pairs the chance is at most 5 %; if it is 5 %, more than 44 of 500 have a
    chance of 0.013 %. Negative control: the winner as a baseline that was chosen afterwards.
    """
    rng = np.random.default_rng(fresh(12))
    chosen_afterwards = pairs = 0
    for _ in range(500):
        study = made_of(rng.gamma(1.0, 20.0, 200) + rng.gamma(2.0, 10.0, (9, 200)))
        winner = min(study.labels, key=lambda label: study.final[label].mean())
        table = study.comparison(against=winner)
        chosen_afterwards += bool((table["difference_low"] > 0).any())
        table = study.comparison(pairs=True)
        assert table.height == 36
        pairs += bool((table["p_adjusted"] <= 0.05).any())
    assert pairs <= 44 < chosen_afterwards


def test_a_real_difference_among_many_is_found():
    rng = np.random.default_rng(5)
    finals = 50 + rng.gamma(2.0, 10.0, (9, 400))
    finals[3] += 10
    table = made_of(finals).comparison()
    assert table.filter(pl.col("p_adjusted") <= 0.05)["policy"].to_list() == ["p3"]
    assert table.filter(policy="p3")["difference_low"].item() > 0


def test_one_run_has_no_interval():
    one = made_of([np.array([1.0]), np.array([2.0])]).comparison()
    assert np.isnan(one["p_adjusted"].item()) and np.isnan(one["difference_low"].item())


def test_arrays_of_runs(study):
    record = study.results["TS14"].record
    runs = Runs(study.checkpoints, replace(record), lambda: study.instances)
    assert runs.pulls.shape == (50, 4, 4) and runs.pulls.dtype == np.float64
    assert runs.mean.shape == runs.variance.shape == (50, 1, 4)
    assert (runs.pulls.sum(axis=-1) == runs.rounds).all()
