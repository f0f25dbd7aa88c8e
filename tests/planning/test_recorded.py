"""Plans on recorded rewards: the numbers are those of simulations, the sentences follow them."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from tests.planning.shared import row
from varts import EmpiricalBandit, NormalGamma, Plan, plan
from varts.planning.comparators import make_policies

SMALL = {"horizon": 60, "runs": 64, "followed": 16}
PRIOR = NormalGamma(1.2, 400, 3, 100)


def revenue(count=2000, seed=0):
    """Five arms of which 2 to 6 % pay: a log as a shop has it."""
    rng = np.random.default_rng(seed)
    problem = varts.RevenueBandit.fixed([0.02, 0.03, 0.04, 0.05, 0.06], 30.0)
    drawn = problem.draw(rng, 1)
    return {
        name: problem.reward(
            drawn.a[0, i], drawn.b[0, i], rng.standard_normal(count), rng.random(count),
            problem.data,
        )
        for i, name in enumerate("abcde")
    }  # fmt: skip


def normal(count=5000):
    """Arms as the model has them."""
    rng = np.random.default_rng(0)
    return {name: rng.normal(mean, 2, count) for name, mean in zip("abc", (0, 0.5, 1), strict=True)}


@pytest.fixture(scope="module")
def made():
    return plan(PRIOR, rewards=revenue(), **SMALL)


def test_regret_is_that_of_a_simulation_of_the_table(made):
    problem = EmpiricalBandit(revenue())
    policies = make_policies(PRIOR.for_arms(problem.names), "max")
    study = varts.simulate(problem, policies, 60, 64)
    for label, final in study.final.items():
        one = row(made.recorded, policy=label)
        assert one["regret"] == final.mean()
        assert one["q95"] == np.quantile(final, 0.95)
        assert one["reward"] == pytest.approx(60 * problem.mean.max() - final.mean())
        assert one["prior"] == row(made.table, policy=label)["regret"]
    assert made.recorded["policy"].to_list() == made.table["policy"].to_list()


def test_normal_rewards_have_the_recorded_means_and_variances(made):
    problem = EmpiricalBandit(revenue())
    bandit = varts.GaussianBandit.fixed(problem.mean, np.sqrt(problem.variance))
    study = varts.simulate(bandit, ["TS14", "Even-Split"], 60, 64)
    for label, final in study.final.items():
        assert row(made.recorded, policy=label)["normal"] == final.mean()


def test_the_rest_of_the_plan_is_what_it_would_be_without(made):
    plain = plan(PRIOR, arms=list("abcde"), **SMALL)
    assert plain.recorded is plain.recorded_sure is plain.recorded_arms is None
    assert plain.comparison == ()
    for name in ("table", "sure", "identified", "wrong", "arms", "curves"):
        assert getattr(plain, name).equals(getattr(made, name))


def test_what_is_recorded_of_the_arms(made):
    arms, log = made.recorded_arms, revenue()
    assert arms["arm"].to_list() == list("abcde") and arms["n"].to_list() == [2000] * 5
    for name, x in log.items():
        one = row(arms, arm=name)
        assert one["zeros"] == (x == 0).mean() and one["sd"] == pytest.approx(x.std())
        fourth = ((x - x.mean()) ** 4).mean() / x.var() ** 2
        assert one["kurtosis"] == pytest.approx(fourth)


@pytest.mark.when_changed("src/varts/planning")
def test_the_shape_of_revenue_is_what_ts14_pays_for():
    """TS14 trusts the variance of an arm that has not paid yet: the model does not show it."""
    made = plan(rewards=revenue(20_000), horizon=5000, runs=200, followed=16)
    ts14 = row(made.recorded, policy="TS14")
    assert ts14["regret_low"] > 1.2 * ts14["normal_high"]
    assert ts14["regret_low"] > 1.2 * ts14["prior"]
    assert made.comparison[1].startswith("TS14 loses most against what the prior expects")
    assert "96% zeros" in made.comparison[0] and "normal ones have 3" in made.comparison[0]


def test_normal_rewards_show_no_effect_of_their_shape():
    """The control; a false alarm has a chance of 0.3 % (3 standard errors), and a fixed seed."""
    made = plan(rewards=normal(), horizon=300, runs=200, followed=16)
    assert "200 experiments show no effect of their shape (kurtosis 3.0" in made.comparison[0]
    assert not any("P(best)" in said for said in made.comparison)


def test_the_prior_is_fitted_if_none_is_given():
    made = plan(rewards=revenue(), **SMALL)
    own = EmpiricalBandit(revenue()).own_prior()
    assert made.prior == own.for_arms(list("abcde"))
    assert any(note.startswith("the prior was fitted to the recorded") for note in made.notes)


def test_arms_may_be_chosen_by_name():
    made = plan(PRIOR, ["e", "b"], rewards=revenue(), **SMALL)
    assert made.names == ("e", "b") and made.recorded_arms["arm"].to_list() == ["e", "b"]
    assert plan(PRIOR, 5, rewards=revenue(), **SMALL).K == 5


def test_arms_that_the_prior_does_not_know_are_named():
    others = NormalGamma(1, 400, 3, 100)
    prior = NormalGamma([2.0, 3.0], 400, 3, 100, names=["a", "z"], others=others)
    made = plan(prior, rewards=revenue(), **SMALL)
    assert made.prior.mu.tolist() == [2, 1, 1, 1, 1]
    assert "the prior has no entry for 4 arms, 'b', 'c', 'd', 'e'" in made.notes[0]


def test_lower_is_better():
    log = revenue()
    up = plan(PRIOR.mirrored(), rewards={name: -x for name, x in log.items()}, **SMALL)
    down = plan(PRIOR, rewards=log, goal="min", **SMALL)
    for policy in ("VarTS", "TS14", "Even-Split"):
        one, other = row(up.recorded, policy=policy), row(down.recorded, policy=policy)
        assert one["regret"] == other["regret"] and one["reward"] == -other["reward"]
    assert down.recorded_arms["mean"].min() > 0
    assert "Bernoulli-TS" not in down.recorded["policy"].to_list()


def test_a_plan_goes_through_json_and_into_files(made, tmp_path):
    assert Plan.from_json(made.to_json()) == made
    files = {path.name for path in made.save(tmp_path)}
    assert {"recorded.csv", "recorded_sure.csv", "recorded_arms.csv"} <= files
    body = json.loads(plan(PRIOR, 2, **SMALL).to_json())
    for name in ("recorded", "recorded_sure", "recorded_arms", "comparison"):
        del body[name]  # as older plans are
    assert Plan.from_json(json.dumps(body)).recorded is None


def test_the_text_shows_both(made):
    text = str(made)
    assert "the same on 10,000 recorded rewards of these arms" in text
    assert "how sure you can be there" in text
    assert all(said in text for said in made.comparison)


def test_notes_on_the_log():
    """Two arms whose means are 0.1 +- 1.4 apart, and rows that were left out."""
    first, second = np.arange(12.0), [*np.arange(11.0), 12.2]
    log = pl.DataFrame({"arm": ["a"] * 12 + ["b"] * 12 + [None], "reward": [*first, *second, 1.0]})
    notes = " | ".join(plan(NormalGamma(6, 1, 3, 30), rewards=log, **SMALL).notes)
    assert "left out: 1 of 25 rows (1 arm missing)" in notes
    assert "the two best arms are only 0.1 ± 1.4 (one standard error) apart" in notes


def test_constant_arms_can_be_planned_on():
    made = plan(NormalGamma(1, 1, 3, 3), rewards={"a": [1.0, 1.0], "b": [2.0]}, **SMALL)
    assert "every arm pays one and the same" in made.comparison[0]
    assert made.recorded_arms["kurtosis"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, TypeError, "prior must be given where there are no recorded rewards, got None"),
        ({"rewards": 3}, TypeError, "table must be the rewards of each arm"),
        ({"prior": PRIOR, "rewards": revenue(), "arms": 4}, ValueError, "arms must be the 5 of"),
        ({"prior": PRIOR, "rewards": revenue(), "arms": ["q"]}, ValueError, "unknown arm 'q'"),
        (
            {"prior": PRIOR.for_arms(5), "rewards": revenue()},
            ValueError,
            "arms must be named in the order of the prior's entries, which have no names",
        ),
        ({"rewards": {"a": [1.0, 2.0]}}, ValueError, "history must have at least 2 arms, got 1"),
    ],
)
def test_a_mistake_is_one_sentence(given, error, said):
    with pytest.raises(error, match=f"^{said}"):
        plan(**{**SMALL, **given})
