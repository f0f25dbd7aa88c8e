"""What to expect before an experiment starts: known answers, calibration, and who pays for what."""

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

import varts
from varts import GaussianBandit, NormalGamma, Plan, VarTS, plan
from varts._intervals import quantile_interval, share_interval
from varts._progress import Progress
from varts.planning.comparators import finite_mean_sd, policies, wrong_priors
from varts.planning.identification import (
    Watched,
    Watcher,
    looks,
)
from varts.simulation.engine.blocks import Work

PRIOR = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
LEVELS = [0.90, 0.95, 0.99]


def small(prior=PRIOR, arms=None, horizon=60, runs=64, watched=16, **options):
    return plan(prior, arms, horizon, runs=runs, watched=watched, **options)


def row(table, **wanted):
    return table.filter(**wanted).row(0, named=True)


@pytest.fixture(scope="module")
def expected():
    return plan(PRIOR, arms=4, horizon=400, runs=400, watched=80)


# ----------------------------------------------------------- the statistics in the middle of a run


def work(policy, horizon, seed=0, runs=24, K=4):
    problem = GaussianBandit(PRIOR, K=K)
    return Work(problem, {"it": policy}, horizon, runs, seed, np.array([horizon]))


def endings(policy, horizon, **options):
    made = work(policy, horizon, **options)
    return [end for block in range(made.blocks) for end in made.endings("it", block)]


@pytest.mark.parametrize(
    "policy", [VarTS(PRIOR), VarTS(), varts.TS14(), varts.UCB1(), varts.EvenSplit()], ids=repr
)
def test_a_short_run_ends_with_the_statistics_of_a_long_one(policy):
    """The regret that the pulls add up to is that of the long study's curve at that round."""
    study = varts.simulate(GaussianBandit(PRIOR, K=4), {"it": policy}, horizon=200, runs=24)
    other = varts.simulate(GaussianBandit(PRIOR, K=4), {"it": policy}, horizon=200, runs=24, seed=1)
    for n in (1, 7, 50, 200):
        regret = np.mean([stats.n @ (m.max() - m) for m, stats in endings(policy, n)])
        assert regret == pytest.approx(study.regret["it"][n - 1], rel=1e-10)
        assert regret != pytest.approx(other.regret["it"][n - 1], rel=1e-3)  # the control
        assert all(stats.n.sum() == n for _, stats in endings(policy, n))


def test_statistics_only_grow_and_are_those_of_rewards():
    """Means lie about the truth: 4 arms x 24 runs, z < 5 (false alarms below 6e-5)."""
    early, later = endings(VarTS(PRIOR), 40), endings(VarTS(PRIOR), 400)
    for (truth, before), (same, after) in zip(early, later, strict=True):
        assert (truth == same).all()
        assert (before.n <= after.n).all() and (before.m2 <= after.m2).all()
    even = endings(varts.EvenSplit(), 4000)
    z = [(s.mean - m) / np.sqrt(s.variance / s.n) for m, s in even]
    assert np.abs(z).max() < 5
    shuffled = [(s.mean - m[::-1]) / np.sqrt(s.variance / s.n) for m, s in even]
    assert np.abs(shuffled).max() > 5  # the control: other arms' means


@pytest.mark.parametrize("K", [1, 3, 100])  # 100: the engine leaves arms out
def test_an_even_split_is_even_and_pays_the_mean_gap(K):
    study = varts.simulate(GaussianBandit(PRIOR, K=K), "Even-Split", horizon=6 * K, runs=16)
    ends = endings(varts.EvenSplit(), 6 * K, runs=16, K=K)
    assert all((stats.n == 6).all() for _, stats in ends)
    gaps = [6 * (truth.max() - truth).sum() for truth, _ in ends]
    assert study.final["Even-Split"] == pytest.approx(gaps, rel=1e-12)
    for _, stats in endings(varts.EvenSplit(), 6 * K - 1, runs=16, K=K):
        assert sorted(stats.n) == [5] + [6] * (K - 1)


# ------------------------------------------------------------------------------------ known answers


def test_a_huge_difference_is_known_before_the_first_round():
    told = small(NormalGamma(mu=[0, 1000], kappa=1, alpha=5, beta=5))
    assert told.sure["median"].to_list() == [0] * 6
    assert told.sure["reached"].to_list() == [1.0] * 6
    assert told.sure["right"].to_list() == [1.0] * 6
    assert told.identified["identified"].to_list() == [1.0] * told.identified.height
    assert told.arms["p_best"].to_list() == pytest.approx([0, 1], abs=1e-8)
    assert row(told.table, policy="VarTS")["regret"] == 0
    even = row(told.table, policy="Even-Split")
    assert even["regret_low"] < 30 * 1000 < even["regret_high"] and even["inferior"] == 0.5
    assert told.rounds_to_sure(0.99).rounds == 0


def test_a_huge_difference_is_found_with_one_pull_of_each_arm():
    """Means N(0, 1000^2), rewards of sd 1: two arms are told apart after a pull of each."""
    told = small(NormalGamma.elicit(mean=0, mean_sd=1000, reward_sd=1, worth=1000), arms=2)
    sure = row(told.sure, policy="Even-Split", level=0.99)
    assert sure["median"] == 2 and sure["right"] == 1
    assert row(told.identified, policy="VarTS", round=0)["p_best"] == pytest.approx(0.5)


def test_arms_that_are_all_the_same_cost_nothing_and_stay_unknown():
    told = small(NormalGamma(mu=5, kappa=1e14, alpha=50, beta=50), arms=3)
    assert told.table["regret"].max() < 1e-4
    assert told.table["reward"].to_numpy() == pytest.approx(5 * 60, abs=1e-4)
    assert told.sure["reached"].to_list() == [0.0] * 6
    assert told.sure["median"].to_list() == told.sure["right"].to_list() == [None] * 6
    assert row(told.identified, policy="VarTS", round=60)["p_best"] == pytest.approx(
        1 / 3, abs=0.01
    )
    answer = told.rounds_to_sure(0.95, limit=100)
    assert (answer.rounds, answer.low, answer.high) == (None, None, None)
    assert (answer.looked, answer.reached) == (100, 0)
    assert "more than 100 rounds, after which it was in 0% [0%, 19%] of cases" in str(answer)


def test_the_reward_is_what_the_best_arm_would_pay_minus_the_regret():
    """Two arms with means N(12, 2^2): the larger is 12 + 2/sqrt(pi) on average."""
    prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=2e6)
    told = small(prior, arms=2, horizon=100, runs=400)
    table = told.table
    best = 100 * (12 + 2 / np.sqrt(np.pi))
    assert (table["reward"] + table["regret"]).to_numpy() == pytest.approx(best, rel=1e-5)
    assert (table["reward_high"] + table["regret_low"]).to_numpy() == pytest.approx(best, rel=1e-5)
    even = row(table, policy="Even-Split")
    assert even["reward_low"] < 1200 < even["reward_high"]  # 95 %, with this seed


def test_one_arm_leaves_nothing_to_learn():
    told = small(arms=1, runs=8, watched=8)
    assert told.table["regret"].to_list() == [0.0] * told.table.height
    assert told.table["inferior"].to_list() == [0.0] * told.table.height
    assert told.sure["median"].to_list() == [0] * 6
    assert "1 arms" in str(told) and told.plot()


# ----------------------------------------------------------------------------- what the tables hold


def test_the_table_is_the_studys(expected):
    study = varts.simulate(
        GaussianBandit(PRIOR, K=4), policies(PRIOR.for_arms(4), "max"), horizon=400, runs=400
    )
    summary = study.summary("VarTS")
    for one in summary.iter_rows(named=True):
        mine = row(expected.table, policy=one["policy"])
        assert mine["regret"] == pytest.approx(one["regret"])
        assert mine["q95"] == pytest.approx(one["q95"])
        assert mine["median"] == pytest.approx(one["median"])
        assert mine["inferior"] == pytest.approx(1 - one["best_share"])
        assert (mine["regret_high"] - mine["regret_low"]) / 2 == pytest.approx(
            1.966 * one["se"], rel=1e-3
        )
        if one["policy"] == "VarTS":
            assert mine["difference"] is None
        else:
            assert mine["difference"] == pytest.approx(one["difference"])
            assert mine["difference_low"] == pytest.approx(one["difference_low"])
    assert expected.table["policy"][0] == "VarTS" and expected.table["policy"][-1] == "Even-Split"
    assert set(expected.table["policy"]) == {*study.labels}


def test_policies_that_depend_on_the_unit_are_marked(expected):
    free = set(expected.table.filter(pl.col("assumes").is_null())["policy"])
    assert free == {"VarTS", "VarTS, no prior", "TS14", "Even-Split"}


@pytest.mark.parametrize("label", ["VarTS", "VarTS, no prior", "TS14", "Even-Split", "UCB1"])
def test_the_marks_are_right(label):
    """Rewards in cents: the regret is 100 times as large, to the last digits, or it is not."""
    regret = {}
    for unit in (1.0, 128.0):
        prior = NormalGamma(12 * unit, 16, 11, 640 * unit**2).for_arms(4)
        policy = policies(prior, "max")[label]
        study = varts.simulate(GaussianBandit(prior), {label: policy}, horizon=200, runs=32)
        regret[unit] = study.final[label].mean() / unit
    free = label not in ("UCB1",)
    assert (regret[1.0] == pytest.approx(regret[128.0], rel=1e-9)) == free


def test_the_bound_lies_above_the_regret(expected):
    assert set(expected.bound) == {"printed", "corrected"}
    assert row(expected.table, policy="VarTS")["regret_high"] < expected.bound["printed"]
    assert expected.bound["printed"] < expected.bound["corrected"]
    assert expected.bound["printed"] == varts.bounds.theorem2(PRIOR.for_arms(4), 400)
    assert "Theorem 2: regret of VarTS <= " in str(expected)


def test_alpha_of_at_most_one_has_no_bound_and_says_so():
    told = small(NormalGamma(0, 2, 0.8, 1), arms=2, runs=16)
    assert told.bound is None
    assert "Theorem 2 gives no bound: it needs alpha > 1, and the prior has 0.8" in str(told)
    assert any("variance is infinite" in note for note in told.notes)
    heavy = small(NormalGamma(0, 2, 0.4, 1), arms=2, runs=16)
    assert any("are infinite" in note for note in heavy.notes)
    assert heavy.table["reward"].to_list() == [None] * heavy.table.height
    json.loads(heavy.to_json(), parse_constant=pytest.fail)  # no Infinity, no NaN


def test_curves_end_where_the_table_does(expected):
    for label in expected.table["policy"]:
        curve = expected.curves.filter(policy=label)
        end = row(expected.table, policy=label)
        last = curve.row(-1, named=True)
        assert last["round"] == 400
        assert [last[x] for x in ("regret", "regret_low", "regret_high")] == pytest.approx(
            [end[x] for x in ("regret", "regret_low", "regret_high")]
        )
        assert curve["regret"].is_sorted() and curve.height <= 100


def test_levels_are_reached_one_after_the_other(expected):
    for label in ("VarTS", "Even-Split"):
        sure = expected.sure.filter(policy=label)
        assert sure["level"].to_list() == LEVELS
        for name in ("q25", "median", "q75"):
            assert sure[name].fill_null(10**9).is_sorted()
        assert sure["reached"].is_sorted(descending=True)
        found = expected.identified.filter(policy=label)
        assert found["round"].to_list() == looks(4, 400).tolist()
        assert found["p_best"][0] == pytest.approx(0.25) and found["p_best"][-1] > 0.5
        assert found["identified"][-1] > 0.5 and found["loss"][-1] < found["loss"][0]


def test_lower_is_better_is_the_mirror_image():
    prior = NormalGamma([3.0, 4.0, 5.0], 2, 4, 3)
    costs, rewards = small(prior, goal="min"), small(prior.mirrored(), goal="max")
    mirrored = rewards.table.filter(pl.col("policy") != "Bernoulli-TS")
    for name in ("regret", "regret_low", "regret_high", "inferior", "difference"):
        assert costs.table[name].to_list() == mirrored[name].to_list()
    assert costs.table["reward"].to_list() == (-mirrored["reward"]).to_list()
    assert (costs.table["reward_low"] <= costs.table["reward_high"]).all()
    assert costs.sure.equals(rewards.sure) and costs.identified.equals(rewards.identified)
    assert costs.arms["mu"].to_list() == [3, 4, 5]
    assert costs.arms["p_best"].to_list() == rewards.arms["p_best"].to_list()
    assert costs.arms["p_best"][0] > costs.arms["p_best"][2]
    assert "lower is better" in str(costs) and "Bernoulli-TS is left out" in str(costs)
    low = row(costs.wrong, prior="means 1 sd too low")  # optimistic, where lower is better
    assert low["regret"] == row(rewards.wrong, prior="means 1 sd too high")["regret"]


def test_the_same_numbers_from_any_number_of_threads():
    assert small(arms=3, threads=1) == small(arms=3, threads=3)
    assert small(arms=3, threads=1) != small(arms=3, seed=1)


# -------------------------------------------------------------------------------------- calibration


def watcher(judge, policy=None, seed=3, K=5, runs=400):
    right = PRIOR.for_arms(K)
    return Watcher(GaussianBandit(right), policy or VarTS(judge), judge, runs, seed)


def surplus(p, right):
    """How many standard deviations more often right than P(best) says."""
    return (right - p).sum() / np.sqrt((p * (1 - p)).sum())


@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.parametrize("label", ["VarTS", "Even-Split", "VarTS, no prior"])
def test_p_best_is_right_as_often_as_it_says(label, n):
    """|z| < 5: with 6 tests a false-alarm rate of 4e-6. The prior is that of the arms; who plays
    does not matter, as a posterior depends on the rewards alone."""
    right = PRIOR.for_arms(5)
    seen = watcher(right, policies(right, "max")[label]).watch(np.array([n]))
    assert abs(surplus(seen.p[:, 0], seen.gap[:, 0] == 0)) < 5


def test_p_best_is_right_when_one_stops_as_soon_as_it_is_high():
    """Looking often does not break it: |z| < 5, a false-alarm rate of 6e-7."""
    seen = watcher(PRIOR.for_arms(5)).watch(looks(5, 150)[::3])
    at = seen.first(0.8)
    rows = np.flatnonzero(at >= 0)
    assert rows.size > 100
    assert abs(surplus(seen.p[rows, at[rows]], seen.right(0.8))) < 5
    assert seen.right(0.8).mean() > 0.75


@pytest.mark.parametrize("what", ["variance 10x too small", "means 1 sd too low"])
def test_a_wrong_prior_is_found_out(what):
    """The negative control: it claims too much, z < -5; in twice as many runs, as z varies by 1."""
    seen = watcher(wrong_priors(PRIOR.for_arms(5))[what], runs=800).watch(np.array([150]))
    assert surplus(seen.p[:, 0], seen.gap[:, 0] == 0) < -5


# -------------------------------------------------------------------------------- the wrong priors


def test_a_wrong_variance_leaves_the_belief_about_the_means_as_it_is():
    prior = PRIOR.for_arms(3)
    told = wrong_priors(prior)
    assert list(told) == [
        "means 1 sd too high",
        "means 1 sd too low",
        "variance 2x too large",
        "variance 2x too small",
        "variance 10x too large",
        "variance 10x too small",
    ]
    for what, factor in (("variance 10x too large", 10), ("variance 2x too small", 0.5)):
        for name in ("loc", "scale", "df"):
            assert getattr(told[what].belief(), name) == pytest.approx(
                getattr(prior.belief(), name)
            )
        said = NormalGamma.elicit(12, 2, 8 * np.sqrt(factor), 20).for_arms(3)  # in a person's words
        for name in ("mu", "kappa", "alpha", "beta"):
            assert getattr(told[what], name) == pytest.approx(getattr(said, name))


def test_a_wrong_mean_is_off_by_one_sd():
    told = wrong_priors(PRIOR.for_arms(2))
    assert told["means 1 sd too high"].mu == pytest.approx([14, 14])
    assert told["means 1 sd too low"].mu == pytest.approx([10, 10])
    assert wrong_priors(PRIOR.mirrored().for_arms(2), "min")["means 1 sd too low"].mu == (
        pytest.approx([-10, -10])
    )
    heavy = NormalGamma([1.0], 2, 0.7, 3)  # no sd: half the width of the central 68.27 %
    low, high = heavy.belief().interval(scipy_stats.chi2.cdf(1, 1))
    assert finite_mean_sd(heavy) == pytest.approx((high - low) / 2)


def test_where_arms_differ_their_order_may_be_wrong():
    told = wrong_priors(NormalGamma([0.0, 3.0, 1.0], 1, 2, 1))
    assert told["favourite 1 sd too good, others too bad"].mu == pytest.approx([-1, 4, 0])
    assert told["favourite 1 sd too bad, others too good"].mu == pytest.approx([1, 2, 2])


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


# -------------------------------------------------------------------------------- how many rounds


def test_rounds_to_loss_is_where_the_curve_falls_below(expected):
    answer = expected.rounds_to_loss(1.0)
    study = varts.simulate(GaussianBandit(PRIOR, K=4), VarTS(PRIOR), 400, 400)
    average = study.regret["VarTS"] / study.rounds
    assert average[answer.rounds - 2] > 1.0 >= average[answer.rounds - 1]
    assert answer.low < answer.rounds < answer.high < 400
    assert f"VarTS, to lose less than 1 a round on average: {answer.rounds} rounds" in str(answer)


def test_rounds_to_loss_goes_beyond_the_horizon_and_says_where_it_gave_up():
    told = small(arms=2, horizon=30, runs=200)
    answer = told.rounds_to_loss(0.4)
    assert 30 < answer.low < answer.rounds < answer.high <= answer.looked
    assert answer.looked / 30 in (2, 4, 8, 16, 32, 64)
    assert told.rounds_to_loss(0.3).rounds > answer.rounds
    never = told.rounds_to_loss(1e-6, limit=100)
    assert (never.rounds, never.looked) == (None, 100)
    assert never.reached_low < never.reached < never.reached_high
    assert f"more than 100 rounds, after which it loses {never.reached:.3f} [" in str(never)
    assert told.rounds_to_loss(100.0).rounds == 1


def test_an_even_split_never_loses_less():
    told = small(arms=2, horizon=30, runs=200)
    gap = row(told.table, policy="Even-Split")["regret"] / 30
    assert told.rounds_to_loss(0.9 * gap, "Even-Split", limit=2000).rounds is None
    assert told.rounds_to_loss(1.5 * gap, "Even-Split", limit=2000).rounds <= 2


@pytest.mark.parametrize("label", ["VarTS", "Even-Split"])
def test_rounds_to_sure_agrees_with_the_table(expected, label):
    """What is within the horizon: a quarter of the experiments, and the lower limit for a half."""
    sure = row(expected.sure, policy=label, level=0.9)
    found = expected.rounds_to_sure(0.9, 0.25, label).rounds
    low = expected.rounds_to_sure(0.9, 0.5, label).low
    assert None not in (found, low)
    assert (found, low) == (sure["q25"], sure["median_low"])


def test_rounds_to_sure_goes_beyond_the_horizon():
    told = small(arms=2, horizon=20, watched=24)
    few, many = told.rounds_to_sure(0.95, share=0.3), told.rounds_to_sure(0.95, share=0.7)
    assert few.rounds < many.rounds and many.rounds > 20
    assert few.rounds <= told.rounds_to_sure(0.99, share=0.3).rounds
    assert many.low <= many.rounds <= many.high <= many.looked
    assert "95% sure of an arm in 70% of cases" in str(many)
    never = told.rounds_to_sure(0.999999, limit=50)
    assert never.rounds is None and never.looked == 50 and never.reached < 0.5
    assert "after which it was in" in str(never)


def test_a_limit_that_so_few_experiments_do_not_give_is_not_made_up():
    """One arm is best at once; five experiments have no 95 % interval of their median."""
    answer = small(arms=1, horizon=50, watched=5).rounds_to_sure()
    assert (answer.rounds, answer.low, answer.high) == (0, 0, None)
    assert str(answer).endswith("0 rounds [0, no limit from so few cases]")


# ------------------------------------------------------------------------------------- the pieces


def test_first_passages():
    seen = Watched(
        np.array([0, 5, 9]),
        np.array([[0.5, 0.95, 0.6], [0.5, 0.6, 0.7], [0.99, 0.2, 0.99]]),
        np.array([[0, 1.5, 0], [0, 0, 0], [0, 0, 2.0]]),
    )
    assert seen.times(0.9).tolist() == [5, np.inf, 0]
    assert seen.right(0.9).tolist() == [False, True]
    assert seen.found(2)[0] == pytest.approx(2 / 3)


def test_looks_are_close_together():
    for K, horizon in ((1, 1), (10, 5), (10, 2000), (1000, 50), (2, 10**6)):
        when = looks(K, horizon)
        assert when[0] == 0 and when[-1] == horizon and (np.diff(when) > 0).all()
        assert all(b <= 1.33 * a + 1 for a, b in pairwise(when[1:]))


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


# --------------------------------------------------------------------------------- in and out again


def test_json_gives_the_plan_back(expected, tmp_path):
    again = Plan.from_json(expected.to_json())
    assert again == expected and str(again) == str(expected)
    assert again.table.equals(expected.table) and again.sure.schema == expected.sure.schema
    assert again.rounds_to_loss(1.0) == expected.rounds_to_loss(1.0)
    assert again != small(arms=4)
    named = small(arms=["red", "blue"], runs=8)
    assert Plan.from_json(named.to_json()).names == ("red", "blue")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"type": "Plan"}', '{"type": "NormalGamma"}'])
def test_json_of_something_else_is_refused(text):
    with pytest.raises(ValueError, match="a plan must be JSON that"):
        Plan.from_json(text)


def test_save_writes_the_tables_and_the_figure(expected, tmp_path):
    paths = expected.save(tmp_path / "out")
    assert {path.name for path in paths} == {
        "plan.json",
        "policies.csv",
        "sure.csv",
        "identified.csv",
        "wrong_prior.csv",
        "arms.csv",
        "regret.csv",
        "plan.png",
        "plan.svg",
    }
    assert all(path.stat().st_size for path in paths)
    assert pl.read_csv(tmp_path / "out" / "policies.csv")["regret"].to_list() == pytest.approx(
        expected.table["regret"].to_list()
    )
    assert Plan.from_json((tmp_path / "out" / "plan.json").read_text()) == expected


def test_the_figure_shows_every_policy_and_every_wrong_prior(expected):
    left, middle, right = expected.plot()
    shown = [text.get_text().split(":")[0] for text in left.get_legend().get_texts()]
    assert shown == expected.table["policy"].to_list()
    assert left.lines[0].get_ydata()[-1] == pytest.approx(expected.table["regret"][0])
    assert {line.get_label() for line in middle.lines} >= {"VarTS", "Even-Split"}
    assert len(right.patches) == expected.wrong.height - 1
    assert [bar.get_width() for bar in right.patches][::-1] == pytest.approx(
        expected.wrong["extra"].drop_nulls().to_list()
    )


def test_the_text_says_it_all(expected):
    text = str(expected)
    for words in (
        "4 arms, 400 rounds, higher is better: 400 experiments",
        "minus VarTS",
        "* depends on the unit",
        "(80 of the experiments",
        "the arm with the highest P(best) after 400 rounds",
        "variance 10x too small",
    ):
        assert words in text
    assert "before the first round" not in text  # the prior does not tell the arms apart
    assert repr(expected).startswith("Plan(4 arms, 400 rounds; regret of VarTS ")
    assert max(map(len, text.splitlines())) < 200


# ---------------------------------------------------------------------------------- where it starts


def test_a_prior_with_an_entry_per_arm_needs_no_number():
    told = small(NormalGamma([1, 2, 3], 2, 4, 3), runs=8, watched=8)
    assert told.K == 3 and told.names is None
    assert told.arms["arm"].to_list() == ["1", "2", "3"]
    assert told.arms["p_best"].sum() == pytest.approx(1)
    assert told.arms["mean_sd"].to_list() == pytest.approx([np.sqrt(3 / (2 * 3))] * 3)
    assert "before the first round" in str(told)
    assert told.wrong.height == 9  # the order of the arms may be wrong, too


def test_a_prior_file_may_name_its_arms(tmp_path):
    file = tmp_path / "prior.json"
    body = {"type": "NormalGamma", "mu": [1, 2], "kappa": 2, "alpha": 4, "beta": 3}
    others = {"type": "NormalGamma", "mu": 9, "kappa": 1, "alpha": 4, "beta": 3}
    file.write_text(json.dumps({**body, "arms": ["9", "12"], "others": others}))
    told = small(file, runs=8, watched=8)
    assert told.names == ("9", "12") and told.prior.mu.tolist() == [1, 2]
    told = small(str(file), arms=["12", "new", "9"], runs=8, watched=8)
    assert told.names == ("12", "new", "9") and told.prior.mu.tolist() == [2, 9, 1]
    assert told.arms["arm"].to_list() == ["12", "new", "9"]
    loaded = small(varts.Prior.load(file), runs=8, watched=8)  # it lost the names
    assert loaded == small(file, runs=8, watched=8) and loaded.names == ("9", "12")
    file.write_text(json.dumps({**others, "mu": [9], "arms": ["only"]}))
    told = small(file, arms=2, runs=8, watched=8)  # one entry serves them all, its name does not
    assert told.names is None and told.prior.mu.tolist() == [9, 9]


def test_arms_in_groups_get_the_prior_of_their_group():
    genres = NormalGamma([1, 5], 2, 4, 3, names=["comedy", "drama"], group="genre")
    groups = {"Fargo": "drama", "Clerks": "comedy"}
    told = small(genres, groups=groups, runs=8, watched=8)
    assert told.names == ("Fargo", "Clerks") and told.prior.mu.tolist() == [5, 1]
    told = small(genres, arms=["Clerks"], groups=groups, runs=8, watched=8)
    assert told.names == ("Clerks",) and told.prior.mu.tolist() == [1]


def test_a_fitted_prior_goes_straight_in():
    rng = np.random.default_rng(0)
    mean, lam = PRIOR.sample(rng, 90)
    history = pl.DataFrame(
        {
            "experiment": np.arange(90) // 3,
            "arm": [f"arm {i % 3}" for i in range(90)],
            "n": 30,
            "mean": mean + rng.standard_normal(90) / np.sqrt(30 * lam),
            "m2": rng.chisquare(29, 90) / lam,
        }
    )
    shared = varts.fit_prior(history)
    assert small(shared, arms=3, runs=8, watched=8).prior == shared.prior.for_arms(3)
    grouped = varts.fit_prior(history, groups="arm")
    assert varts.VarTS(grouped).prior == grouped.prior  # it was refused
    told = small(grouped, runs=8, watched=8)
    assert told.names == grouped.groups and told.prior == grouped.prior
    told = small(grouped, arms=["arm 2", "arm 9"], runs=8, watched=8)
    assert told.prior.mu.tolist() == [grouped.prior.mu[2], grouped.shared.mu]
    assert told.notes[0].startswith("the prior has no entry for the arm 'arm 9', which gets")


def test_progress_is_shown_stage_by_stage():
    class Noted(Progress):
        def __init__(self):
            super().__init__()
            self.stages = []

        def stage(self, text, total=None):
            self.stages.append(self.prefix + text)

    noted = Noted()
    told = small(arms=2, runs=8, watched=8, progress=noted)
    told.rounds_to_loss(5.0, progress=noted)
    told.rounds_to_sure(0.6, progress=noted)
    text = "\n".join(noted.stages)
    for words in (
        "playing",
        "P(best) of VarTS",
        "P(best) of Even-Split",
        "wrong priors",
        "VarTS up to 60 rounds: playing",
        "P(best) of VarTS after 2 rounds",
    ):
        assert words in text
    assert noted.prefix == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"prior": PRIOR}, "arms must be given for a prior that all arms share, got none"),
        ({"arms": 0}, "arms must be a whole number >= 1, got 0"),
        ({"arms": "3"}, "arms must be their number or their names, got '3'"),
        ({"arms": ["a", "a"]}, "arms must have different names, got ['a', 'a']"),
        ({"arms": []}, "arms must name at least one arm, got none"),
        ({"prior": NormalGamma([1, 2], 1, 2, 1), "arms": 3}, "prior must have one entry per arm"),
        ({"prior": varts.Normal(0, 1), "arms": 2}, "prior must be a NormalGamma, got a Normal"),
        ({"prior": 3}, "prior must be a prior, its fields or a JSON file, got 3"),
        (
            {"prior": NormalGamma(0, 0, 2, 1), "arms": 2},
            "kappa of a prior to plan with must be finite and > 0, got 0",
        ),
        (
            {"prior": NormalGamma(0, 1, 0.01, 1), "arms": 2},
            "alpha of a prior to plan with must be finite and >= 0.05, got 0.01",
        ),
        ({"arms": 2, "goal": "mix"}, "unknown goal 'mix'; did you mean 'min'? known: max, min"),
        ({"arms": 2, "horizon": 0}, "horizon must be a whole number >= 1, got 0"),
        ({"arms": 2, "runs": 1}, "runs must be a whole number >= 2, got 1"),
        ({"arms": 2, "watched": 0}, "watched must be a whole number >= 1, got 0"),
        ({"arms": 2, "seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"arms": 2, "threads": 0}, "threads must be a whole number >= 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(options, sentence):
    with pytest.raises((TypeError, ValueError)) as error:
        plan(**{"prior": PRIOR, **options})
    assert sentence in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda p: p.rounds_to_loss(0), "x must be finite and > 0, got 0"),
        (lambda p: p.rounds_to_loss("1"), "x must be finite and > 0, got '1'"),
        (lambda p: p.rounds_to_loss(1, "VarT"), "unknown policy 'VarT'; did you mean 'VarTS'?"),
        (lambda p: p.rounds_to_loss(1, limit=0), "limit must be a whole number >= 1, got 0"),
        (lambda p: p.rounds_to_sure(1.0), "level must be finite and > 0 and < 1, got 1.0"),
        (lambda p: p.rounds_to_sure(0.9, 0), "share must be finite and > 0 and < 1, got 0"),
    ],
)
def test_bad_questions_are_one_sentence(expected, ask, sentence):
    with pytest.raises(ValueError) as error:
        ask(expected)
    assert sentence in str(error.value)
