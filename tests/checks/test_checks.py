"""Every check on a log that has what it looks for, on one that has not, and on too little."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import varts
from tests.seeds import fresh
from varts.checks.decisions import (
    DecisionSummary,
    Waiting,
    check_arms_without_reward,
    check_missing,
)
from varts.checks.rewards import RewardSummary, check_rewards, check_trend

HOSTILE = "far\x1b[2J\x9b\u202eout"


def log(rewards, arms=4, seed=0, **columns):
    """Rewards given out to arms at random."""
    rng = np.random.default_rng(seed)
    names = np.array([f"arm {i}" for i in range(arms)])[rng.integers(0, arms, len(rewards))]
    return pl.DataFrame({"arm": names, "reward": rewards, **columns})


def gaussian(n=4000, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


def revenue(n=4000, share=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(n) < share) * np.exp(rng.normal(3, 1, n))


# ------------------------------------------------------------------------------ the rewards


def test_gaussian_rewards_of_sound_decisions_have_nothing_to_note():
    n = 4000
    found = varts.check(
        log(gaussian(n), id=np.arange(n), probability=np.full(n, 0.25), time=np.arange(n))
    )
    known = [one for one in found if one.name != "variance and mean"]  # it takes 15 arms
    assert [one.verdict for one in known] == ["ok"] * 11
    assert str(found).startswith("log: 1 note in 12 checks\n")


@pytest.mark.parametrize(
    ("name", "rewards", "verdict", "words"),
    [
        ("zeros", revenue(), "note", "95 % of the rewards are 0"),
        ("zeros", revenue(share=0.01), "warning", "fewer than 30 nonzero ones"),
        ("zeros", gaussian(), "ok", "0 % of the rewards are 0"),
        ("zeros", gaussian(99), "note", "too few rewards to tell: 99 of the 100 needed"),
        ("kurtosis", revenue(), "warning", "reports account for that"),
        ("kurtosis", np.random.default_rng(0).exponential(size=4000), "note", "Gaussian ones"),
        ("kurtosis", gaussian(), "ok", "(3 is Gaussian)"),
        ("kurtosis", gaussian(90), "note", "too few rewards of arms with 30 or more"),
        ("skewness", revenue(), "note", "has a higher variance"),
        ("skewness", -revenue(), "note", "has a lower variance"),
        ("values", (gaussian() > 0) * 1.0, "note", "rewards are only 0 and 1"),
        ("values", np.round(gaussian().clip(-2, 2)) + 3, "ok", "5 different rewards, from 1 to 5"),
        ("values", np.full(200, 7.0), "warning", "all rewards are 7"),
        ("values", gaussian(), "ok", "more than 12 different"),
        ("equal rewards", np.full(200, 7.0), "note", "4 of 4 arms have paid the same reward"),
        ("equal rewards", gaussian(9), "note", "too few rewards of any arm"),
        (
            "variance and mean",
            gaussian(),
            "note",
            "too few arms with 30 rewards or more to tell: 4",
        ),
    ],
)
def test_the_shape_of_the_rewards(name, rewards, verdict, words):
    found = varts.check(log(rewards))[name]
    assert found.verdict == verdict
    assert words in found.sentence
    if "too few" in words:
        assert found.number is None


def test_numbers_are_those_of_the_definitions():
    x = revenue()
    table = log(x)
    found = varts.check(table)
    assert found["zeros"].number == (x == 0).mean()
    by_arm = [group["reward"].to_numpy() for _, group in table.group_by("arm")]
    z = [((one - one.mean()) / one.std()) ** 4 for one in by_arm]
    assert found["kurtosis"].number == pytest.approx(np.concatenate(z).mean(), rel=1e-9)


def test_variances_that_go_with_the_means():
    """200 logs of 40 arms whose variances have nothing to do with their means: at 1 % of false
    alarms, more than 8 come once in 4,000 times. Poisson rewards are the control."""
    rng = np.random.default_rng(4)
    alarms = found = 0
    for _ in range(200):
        sd = np.exp(rng.normal(0, 0.5, 40))
        rewards = rng.normal(0, 1, 40)[:, None] + sd[:, None] * rng.standard_normal((40, 50))
        alarms += check_trend(varts.ArmStats.from_rewards(list(rewards))).verdict == "warning"
        rewards = rng.poisson(np.exp(rng.normal(1, 0.5, 40))[:, None], (40, 50))
        found += check_trend(varts.ArmStats.from_rewards(list(rewards))).verdict == "warning"
    assert alarms <= 8
    assert found >= 195


def test_statistics_alone_are_checked_as_far_as_they_go():
    stats = varts.ArmStats(n=[50, 50], mean=[1, 2], m2=[40, 0])
    found = check_rewards(RewardSummary(["a", "b"], stats))
    assert [one.name for one in found] == ["equal rewards", "variance and mean"]
    full = varts.ArmStats.from_rewards([gaussian(100), gaussian(100, 1)])
    names = [one.name for one in check_rewards(RewardSummary(["a", "b"], full))]
    assert names == ["kurtosis", "skewness", "equal rewards", "variance and mean"]


# ------------------------------------------------------------------------------ the decisions


def test_decisions_without_reward():
    x = [None if i % 50 else 1.0 for i in range(5000)]
    found = varts.check(log(x))["missing rewards"]
    assert (found.verdict, found.number) == ("warning", 0.98)
    assert "98 % of 5,000 decisions have no reward" in found.sentence
    assert "set window and missing" in found.sentence
    some = varts.check(log([None] * 300 + [1.0] * 4700))["missing rewards"]
    assert some.verdict == "note"
    few = varts.check(log([None] * 60 + [1.0] * 20))["missing rewards"]
    assert few.number is None and "too few decisions to tell: 80" in few.sentence


def test_decisions_that_are_young_may_still_get_their_reward():
    """Rewards take 100 s. The same 10 % without one are the last 95 seconds, or spread evenly."""
    n = 1000
    time = np.arange(n)
    late = [1.0 if t < 900 else None for t in range(n)]
    spread = [1.0 if t % 10 else None for t in range(n)]
    for rewards, verdict, words in (
        (late, "note", "most of these decisions are younger"),
        (spread, "warning", "probably never will"),
    ):
        settled = [None if x is None else t + 100 for t, x in enumerate(rewards)]
        table = log(rewards, time=time, settled_time=settled)
        found = varts.check(table)["missing rewards"]
        assert (found.verdict, found.number) == (verdict, 0.1)
        assert words in found.sentence and "minutes" in found.sentence


def test_rewards_for_some_arms_only():
    arm = ["a", "b"] * 500
    x = [1.0 if name == "a" or i % 4 == 1 else None for i, name in enumerate(arm)]
    found = varts.check(pl.DataFrame({"arm": arm, "reward": x}))["rewards by arm"]
    assert (found.verdict, found.number) == ("warning", 0.5)
    assert "100 % of the decisions of 'a' have a reward and 50 % of those of 'b'" in found.sentence


def test_young_decisions_of_a_new_arm_are_not_held_against_it():
    decided, rewarded = np.array([1000.0, 500.0]), np.array([1000.0, 100.0])
    young = DecisionSummary(["a", "b"], decided, rewarded)
    assert check_arms_without_reward(young).verdict == "warning"
    waiting = Waiting(60.0, np.array([900.0, 100.0]), np.array([900.0, 100.0]))
    old = DecisionSummary(["a", "b"], decided, rewarded, waiting=waiting)
    assert check_arms_without_reward(old).verdict == "ok"


@pytest.mark.statistical
def test_arms_with_equal_shares_of_rewards_are_rarely_told_apart():
    """1,000 logs of 5 arms; at one false alarm in 1,000, more than 6 come once in 10,000 times."""
    rng = np.random.default_rng(fresh(6))
    n = np.full(5, 60.0)
    labels = list("abcde")
    alarms = sum(
        check_arms_without_reward(
            DecisionSummary(labels, n, rng.binomial(60, 0.5, 5).astype(float))
        ).verdict
        == "warning"
        for _ in range(1000)
    )
    assert alarms <= 6


def test_a_window_changes_the_advice():
    decided, rewarded = np.array([1000.0]), np.array([100.0])
    for window, words in ((None, "set window and missing"), (True, ", set missing")):
        summary = DecisionSummary(["a"], decided, rewarded, window=window)
        assert words in check_missing(summary).sentence


def test_units_on_several_arms():
    table = log(gaussian(1000), unit=[f"u{i // 2}" for i in range(1000)])
    pairs = table.group_by("unit").agg(pl.col("arm").n_unique())["arm"]
    found = varts.check(table)["units"]
    assert (found.verdict, found.number) == ("note", (pairs > 1).sum())
    alone = table.with_columns(unit=pl.col("arm") + pl.int_range(pl.len()).cast(pl.String))
    assert varts.check(alone)["units"].verdict == "ok"
    apart = table.with_columns(experiment=pl.col("arm"))  # the same unit in other experiments
    assert varts.check(apart)["units"].verdict == "ok"


def test_many_units_are_counted_on_a_sample(monkeypatch):
    """50,000 units, of which a fifth have two arms, with room for 5,000: 5 standard errors."""
    monkeypatch.setattr("varts.checks.keys.MOST_KEYS", 5000)
    unit = np.concatenate([np.arange(50_000), np.arange(10_000)])
    arm = np.repeat(["a", "b"], [50_000, 10_000])
    found = varts.check(pl.DataFrame({"arm": arm, "unit": unit, "reward": 1.0}))["units"]
    assert "about" in found.sentence
    assert found.number == pytest.approx(10_000, rel=0.25)


def test_repeated_ids():
    table = log(gaussian(1000), id=np.arange(1000) % 990)
    found = varts.check(table)["ids"]
    assert (found.verdict, found.number) == ("warning", 10)
    assert varts.check(table[:990])["ids"].verdict == "ok"


@pytest.mark.parametrize(
    ("p", "verdict", "words"),
    [
        (0.25, "ok", "smallest logged probability is 0.25"),
        (0.004, "note", "has weight 250,"),
        (0.0004, "warning", "has weight 2,500,"),
        (0.0, "warning", "1 decision of 1,000 without a probability above 0"),
        (None, "warning", "1 decision of 1,000 without a probability above 0"),
    ],
)
def test_probabilities(p, verdict, words):
    table = log(gaussian(1000), arms=2, probability=[0.5] * 999 + [p])
    found = varts.check(table)["probabilities"]
    assert found.verdict == verdict
    assert words in found.sentence


def test_the_worth_of_an_arm_in_an_evaluation():
    """By hand: weights 2, 2, 2 and 1000 are worth 1006^2 / 1000012 decisions."""
    table = pl.DataFrame({"arm": "a", "reward": 1.0, "probability": [0.5, 0.5, 0.5, 0.001]})
    found = varts.check(table)["probabilities"].sentence
    assert "4 decisions for 'a' have an effective sample size of 1;" in found


def test_estimated_probabilities():
    table = log(gaussian(1000), probability=[0.5] * 1000, estimated=[True] * 10 + [False] * 990)
    found = varts.check(table)["estimated"]
    assert (found.verdict, found.number) == ("note", 0.01)
    none = varts.check(table.with_columns(estimated=pl.lit(False)))["estimated"]
    assert none.verdict == "ok"


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\na,1\na,yes\n,3\na,inf\na,\n")
    found = varts.check(tmp_path / "log.csv")["rows"]
    assert found.sentence == (
        "3 rows left out: 1 reward not a number, such as 'yes', 1 arm missing, 1 reward not finite"
    )


# ------------------------------------------------------------------------------ sources


def test_every_source_says_the_same(tmp_path):
    n = 3000
    table = log(
        revenue(n),
        id=[f"=id {i}" for i in range(n)],
        unit=[f"u{i % 700}" for i in range(n)],
        probability=np.linspace(0.001, 1, n),
        estimated=[i % 7 == 0 for i in range(n)],
        time=pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 2), "1d", eager=True)
        .extend_constant(None, n - 2)
        .forward_fill(),
    )
    right = varts.check(table)
    table.write_csv(tmp_path / "log.csv")
    table.write_csv(tmp_path / "log.tsv", separator="\t")
    table.write_ndjson(tmp_path / "log.ndjson")
    table.write_parquet(tmp_path / "log[1].parquet")
    names = ("log.csv", "log.tsv", "log.ndjson", "log[1].parquet")
    pandas = pd.DataFrame(table.to_dict(as_series=False))
    for source in (table.lazy(), pandas, *(tmp_path / name for name in names)):
        assert varts.check(source).findings == right.findings


def test_batches_do_not_matter(monkeypatch):
    table = log(revenue(), unit=np.arange(4000) % 900)
    right = varts.check(table)
    monkeypatch.setattr("varts.checks.log.ROWS_PER_BATCH", 37)
    for a, b in zip(varts.check(table), right, strict=True):
        assert (a.name, a.verdict) == (b.name, b.verdict)
        assert (a.number or 0.0) == pytest.approx(b.number or 0.0, rel=1e-9)


def test_an_empty_log_is_thin_and_not_an_error():
    found = varts.check(pl.DataFrame(schema={"arm": pl.String, "reward": pl.Float64}))
    assert {one.verdict for one in found} == {"note"}
    assert all("too few" in one.sentence for one in found)


def test_names_and_columns():
    table = log(gaussian(400)).rename({"arm": "colour", "reward": "sales"})
    found = varts.check(table, arm="colour", reward="sales")
    assert found["missing rewards"].verdict == "ok"
    with pytest.raises(ValueError, match="unknown column 'arm'"):
        varts.check(table)
    with pytest.raises(ValueError, match=r"unknown column 'shop'.*\(for the experiment\)"):
        varts.check(table, experiment="shop", arm="colour", reward="sales")
    with pytest.raises(TypeError, match="must be a polars or pandas DataFrame"):
        varts.check(3)
    with pytest.raises(KeyError, match="luck"):
        found["luck"]


def test_a_terminal_obeys_no_name_in_the_log():
    table = log([0.0] * 4000 + [5.0], arms=2).with_columns(
        arm=pl.col("arm").replace("arm 1", HOSTILE), probability=pl.lit(0.0005)
    )
    found = varts.check(table)
    assert found.verdict == "warning"
    assert all(line.isprintable() for line in str(found).split("\n"))
    assert all(str(one).isprintable() for one in found)
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == "warning"
