"""What to expect before an experiment starts: known results, and what a plan holds."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from tests.planning.shared import PRIOR, row, small
from varts import GaussianBandit, NormalGamma, Plan, plan
from varts._progress import Progress
from varts.planning.comparators import make_policies
from varts.planning.identification import space_checkpoints

LEVELS = [0.90, 0.95, 0.99]


# ------------------------------------------------------------------------------------ known results


def test_a_huge_difference_is_known_before_the_first_round():
    made = small(NormalGamma(mu=[0, 1000], kappa=1, alpha=5, beta=5))
    assert made.sure["median"].to_list() == [0] * 6
    assert made.sure["reached"].to_list() == [1.0] * 6
    assert made.sure["right"].to_list() == [1.0] * 6
    assert made.identified["identified"].to_list() == [1.0] * made.identified.height
    assert made.arms["p_best"].to_list() == pytest.approx([0, 1], abs=1e-8)
    assert row(made.table, policy="VarTS")["regret"] == 0
    even = row(made.table, policy="Even-Split")
    assert even["regret_low"] < 30 * 1000 < even["regret_high"] and even["inferior"] == 0.5
    assert made.rounds_to_sure(0.99).rounds == 0


def test_a_huge_difference_is_found_with_one_pull_of_each_arm():
    """Means N(0, 1000^2), rewards of sd 1: two arms are told apart after a pull of each."""
    made = small(NormalGamma.elicit(mean=0, mean_sd=1000, reward_sd=1, worth=1000), arms=2)
    sure = row(made.sure, policy="Even-Split", level=0.99)
    assert sure["median"] == 2 and sure["right"] == 1
    assert row(made.identified, policy="VarTS", round=0)["p_best"] == pytest.approx(0.5)


def test_arms_that_are_all_the_same_cost_nothing_and_stay_unknown():
    made = small(NormalGamma(mu=5, kappa=1e14, alpha=50, beta=50), arms=3)
    assert made.table["regret"].max() < 1e-4
    assert made.table["reward"].to_numpy() == pytest.approx(5 * 60, abs=1e-4)
    assert made.sure["reached"].to_list() == [0.0] * 6
    assert made.sure["median"].to_list() == made.sure["right"].to_list() == [None] * 6
    assert row(made.identified, policy="VarTS", round=60)["p_best"] == pytest.approx(
        1 / 3, abs=0.01
    )
    answer = made.rounds_to_sure(0.95, limit=100)
    assert (answer.rounds, answer.low, answer.high) == (None, None, None)
    assert (answer.simulated, answer.reached) == (100, 0)
    assert "more than 100 rounds, after which it was in 0% [0%, 19%] of cases" in str(answer)


def test_the_reward_is_what_the_best_arm_would_pay_minus_the_regret():
    """Two arms with means N(12, 2^2): the larger is 12 + 2/sqrt(pi) on average."""
    prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=2e6)
    made = small(prior, arms=2, horizon=100, runs=400)
    table = made.table
    best = 100 * (12 + 2 / np.sqrt(np.pi))
    assert (table["reward"] + table["regret"]).to_numpy() == pytest.approx(best, rel=1e-5)
    assert (table["reward_high"] + table["regret_low"]).to_numpy() == pytest.approx(best, rel=1e-5)
    even = row(table, policy="Even-Split")
    assert even["reward_low"] < 1200 < even["reward_high"]  # 95 %, with this seed


def test_one_arm_leaves_nothing_to_learn():
    made = small(arms=1, runs=8, followed=8)
    assert made.table["regret"].to_list() == [0.0] * made.table.height
    assert made.table["inferior"].to_list() == [0.0] * made.table.height
    assert made.sure["median"].to_list() == [0] * 6
    assert "1 arms" in str(made) and made.plot()


# ----------------------------------------------------------------------------- what the tables hold


def test_the_table_is_the_studys(expected):
    study = varts.simulate(
        GaussianBandit(PRIOR, K=4), make_policies(PRIOR.for_arms(4), "max"), horizon=400, runs=400
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
        policy = make_policies(prior, "max")[label]
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
    made = small(NormalGamma(0, 2, 0.8, 1), arms=2, runs=16)
    assert made.bound is None
    assert "Theorem 2 gives no bound: it needs alpha > 1, and the prior has 0.8" in str(made)
    assert any("variance is infinite" in note for note in made.notes)
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
        assert found["round"].to_list() == space_checkpoints(4, 400).tolist()
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
    made = small(NormalGamma([1, 2, 3], 2, 4, 3), runs=8, followed=8)
    assert made.K == 3 and made.names is None
    assert made.arms["arm"].to_list() == ["1", "2", "3"]
    assert made.arms["p_best"].sum() == pytest.approx(1)
    assert made.arms["mean_sd"].to_list() == pytest.approx([np.sqrt(3 / (2 * 3))] * 3)
    assert "before the first round" in str(made)
    assert made.wrong.height == 9  # the order of the arms may be wrong, too


def test_a_prior_file_may_name_its_arms(tmp_path):
    file = tmp_path / "prior.json"
    body = {"type": "NormalGamma", "mu": [1, 2], "kappa": 2, "alpha": 4, "beta": 3}
    others = {"type": "NormalGamma", "mu": 9, "kappa": 1, "alpha": 4, "beta": 3}
    file.write_text(json.dumps({**body, "arms": ["9", "12"], "others": others}))
    told = small(file, runs=8, followed=8)
    assert told.names == ("9", "12") and told.prior.mu.tolist() == [1, 2]
    told = small(str(file), arms=["12", "new", "9"], runs=8, followed=8)
    assert told.names == ("12", "new", "9") and told.prior.mu.tolist() == [2, 9, 1]
    assert told.arms["arm"].to_list() == ["12", "new", "9"]
    loaded = small(varts.Prior.load(file), runs=8, followed=8)  # it lost the names
    assert loaded == small(file, runs=8, followed=8) and loaded.names == ("9", "12")
    file.write_text(json.dumps({**others, "mu": [9], "arms": ["only"]}))
    made = small(file, arms=2, runs=8, followed=8)  # one entry serves them all, its name does not
    assert made.names is None and made.prior.mu.tolist() == [9, 9]


def test_arms_in_groups_get_the_prior_of_their_group():
    genres = NormalGamma([1, 5], 2, 4, 3, names=["comedy", "drama"], group="genre")
    groups = {"Fargo": "drama", "Clerks": "comedy"}
    told = small(genres, groups=groups, runs=8, followed=8)
    assert told.names == ("Fargo", "Clerks") and told.prior.mu.tolist() == [5, 1]
    told = small(genres, arms=["Clerks"], groups=groups, runs=8, followed=8)
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
    assert small(shared, arms=3, runs=8, followed=8).prior == shared.prior.for_arms(3)
    grouped = varts.fit_prior(history, groups="arm")
    assert varts.VarTS(grouped).prior == grouped.prior  # it was refused
    told = small(grouped, runs=8, followed=8)
    assert told.names == grouped.groups and told.prior == grouped.prior
    told = small(grouped, arms=["arm 2", "arm 9"], runs=8, followed=8)
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
    made = small(arms=2, runs=8, followed=8, progress=noted)
    made.rounds_to_loss(5.0, progress=noted)
    made.rounds_to_sure(0.6, progress=noted)
    text = "\n".join(noted.stages)
    for words in (
        "playing",
        "P(best) of VarTS",
        "P(best) of Even-Split",
        "wrong priors",
        "VarTS up to 60 rounds: playing",
        "P(best) of VarTS up to 3 rounds",
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
        ({"arms": 2, "followed": 0}, "followed must be a whole number >= 1, got 0"),
        ({"arms": 2, "seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"arms": 2, "threads": 0}, "threads must be a whole number >= 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(options, sentence):
    with pytest.raises((TypeError, ValueError)) as error:
        plan(**{"prior": PRIOR, **options})
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_plan_repeats_what_the_fit_found(tmp_path):
    """Tails, variances that go with the means and a prior that did not help, from a file or not."""
    rng = np.random.default_rng(1)
    mean = np.exp(rng.normal(0, 0.5, 60))
    log = pl.DataFrame(
        {
            "arm": np.repeat(np.arange(60), 50),
            "reward": (np.repeat(mean, 50) * rng.lognormal(0, 1, 3000)),
        }
    )
    fit = varts.fit_prior(log, experiment=None, held_out=False)
    fit.save(tmp_path / "prior.json")
    size = {"arms": 3, "horizon": 20, "runs": 4, "followed": 2}
    made = [varts.plan(one, **size) for one in (fit, tmp_path / "prior.json", fit.prior)]
    assert made[0].notes == made[1].notes
    assert any(
        "in the history the arms' variances rise with their means" in n for n in made[0].notes
    )
    for one in made:  # the tails are part of the prior
        assert any("the history had kurtosis" in note for note in one.notes)
    body = json.loads((tmp_path / "prior.json").read_text())
    body["fit"]["held_out"] = {"verdict": "leave", "cut": -0.25, "rounds": 1_200}
    said = "raised regret by 25% over 1,200 rounds: "
    assert any(said in note for note in varts.plan(body, **size).notes)
    for wrong in ("x", None, {"trend": "x", "held_out": 3}, {"held_out": {"verdict": "leave"}}):
        body["fit"] = wrong  # what somebody else wrote there is left alone
        assert len(varts.plan(body, **size).notes) == 2
