"""What can be asked of runs: pulls, recommendations, instances, quantiles. It changes no result."""

import numpy as np
import pytest
from scipy import stats as distributions

import varts
from tests.endings import endings_of
from tests.seeds import fresh
from varts import Fading, GaussianBandit, NormalGamma, simulate
from varts.simulation.engine.blocks import Work
from varts.simulation.results import recommend_arms

POLICIES = {
    "prior": varts.VarTS(NormalGamma(0.5, 1, 4, 1)),
    "none": varts.VarTS(),
    "tails": varts.VarTS(tails=True),
    "toss": varts.BernoulliTS(),
    "index": varts.UCB1(),
}


class Witness(varts.Policy):
    """In plain Python, so played by the interpreted loop."""

    label = "Witness"

    def choose(self, stats, t, rng):
        return int(rng.integers(stats.K))


def endings(problem, policy, horizon, runs, seed=0):
    """The statistics of every run after so many rounds, by playing no further than that."""
    work = Work(problem, {"": policy}, horizon, runs, seed, np.array([horizon]))
    return [end for block in range(work.blocks) for end in endings_of(work, "", block)]


@pytest.mark.when_changed("src/varts/simulation", except_for=["problem0"])
@pytest.mark.parametrize("problem", [GaussianBandit(K=4), varts.Walk(GaussianBandit(K=4), 0.05)])
def test_asking_changes_no_bit(problem):
    policies = {**POLICIES, "fades": Fading("VarTS", 30), "plain": Witness()}
    plain, asked = (simulate(problem, policies, 120, 20, checkpoints=c) for c in (False, True))
    for label in policies:
        assert np.array_equal(plain.final[label], asked.final[label])
        assert plain.curves[label] == asked.curves[label]
        assert asked.pulls[label].sum(axis=1).tolist() == [120] * 20


def test_pulls_and_instances_make_the_regret():
    """Two ways to the same number: the loop adds up gaps, here pulls are multiplied by them."""
    study = simulate(GaussianBandit(K=5), ["VarTS", "UCB1"], 300, 70, checkpoints=[100])
    mean = study.instances.mean
    assert mean.shape == study.instances.variance.shape == (70, 5)
    for label in study.labels:
        gaps = mean.max(axis=1, keepdims=True) - mean
        assert (study.pulls[label] * gaps).sum(axis=1) == pytest.approx(study.final[label])
        shuffled = (study.pulls[label] * gaps[::-1]).sum(axis=1)
        assert shuffled != pytest.approx(study.final[label])  # instances of other runs do not do


@pytest.mark.parametrize("by", ["mean", "belief"])
@pytest.mark.parametrize("label", POLICIES)
def test_the_recommended_arm_is_that_of_a_run_which_ends_there(label, by):
    problem, policy = varts.BetaBandit(4), POLICIES[label]
    asked = simulate(problem, {"it": policy}, 200, 20, checkpoints=[20, 90], recommend=by)
    assert asked.checkpoints.tolist() == [20, 90, 200]
    for column, horizon in enumerate(asked.checkpoints):
        for run, (truth, stats) in enumerate(endings(problem, policy, int(horizon), 20)):
            believes = by == "belief" and label != "index"
            with_moments = varts.ArmStats(stats.n, stats.mean, stats.m2, 0.0, stats.m2**2)
            scores = policy.belief(with_moments).mean if believes else stats.mean
            arm = asked.recommended["it"][run, column]
            assert scores[arm] == pytest.approx(scores.max(), rel=1e-12)
            assert asked.simple_regret["it"][run, column] == truth.max() - truth[arm]


def test_arms_that_are_level_take_turns():
    scores = np.array([[1.0, 1.0, 0.0]] * 4 + [[0.0, 2.0, 2.0]] * 2)
    pulls = np.array([[3, 3, 9]] * 4 + [[1, 1, 5]] * 2)
    arms = recommend_arms(scores, pulls, turns=np.arange(8, 14))
    assert arms.tolist() == [0, 1, 0, 1, 2, 2]  # the last is pulled more often


def test_equal_means_take_turns_in_a_study():
    """Three arms that always pay 1: the recommended one goes round with the run."""
    study = simulate(varts.BernoulliBandit.fixed([1.0, 1.0, 1.0]), "UCB1", 3, 12, checkpoints=[3])
    assert study.recommended["UCB1"][:, 0].tolist() == [0, 1, 2] * 4


def test_an_arm_that_was_never_pulled_is_not_recommended_by_its_mean():
    """Rewards are negative, and the mean of none would be 0."""
    problem = GaussianBandit.fixed([-5.0, -6.0, -7.0], 0.1)
    study = simulate(problem, "UCB1", 3, 16, checkpoints=[1, 2])
    for run in range(16):
        one = varts.trace(problem, "UCB1", run=run, horizon=3)
        assert study.recommended["UCB1"][run, 0] == one.rounds["arm"][0]


def wrong_share_is(expected, study, column):
    """A two-sided test at 1e-5, by the normal approximation of a share."""
    wrong = study.identification()["wrong"].to_numpy()[column]
    error = np.sqrt(expected * (1 - expected) / study.runs)
    return abs(wrong - expected) < distributions.norm.isf(0.5e-5) * error


@pytest.mark.statistical
def test_the_probability_of_a_wrong_recommendation():
    """Two arms pulled n/2 times each: the difference of means is N(gap, 4/n), false alarms 1e-5."""
    problem = GaussianBandit.fixed([0.2, 0.0], 1.0)
    study = simulate(problem, "Even-Split", 400, 4000, seed=fresh(0), checkpoints=[100])
    for column, n in enumerate((100, 400)):
        assert wrong_share_is(distributions.norm.cdf(-0.2 * np.sqrt(n) / 2), study, column)
        # Controls: the variance of one mean for that of the difference, and twice the rounds.
        assert not wrong_share_is(distributions.norm.cdf(-0.2 * np.sqrt(n / 2)), study, column)
    table = study.identification()
    assert table.columns == [
        "policy", "round", "wrong", "wrong_low", "wrong_high",
        "simple_regret", "simple_regret_low", "simple_regret_high",
    ]  # fmt: skip
    assert table["simple_regret"].to_numpy() == pytest.approx(0.2 * table["wrong"].to_numpy())


def test_quantiles_over_time():
    study = simulate(GaussianBandit(K=3), ["TS14", "UCB1"], 200, 50, checkpoints=True)
    table = study.quantiles([0.05, 0.5, 0.975])
    assert table.columns == ["policy", "round", "q05", "median", "q97.5"]
    last = table.filter(policy="UCB1", round=200).row(0, named=True)
    assert last["median"] == np.median(study.final["UCB1"])
    assert last["q05"] == np.quantile(study.final["UCB1"], 0.05)
    assert table.filter(policy="UCB1")["median"].is_sorted()


def test_seconds_are_measured():
    study = simulate(GaussianBandit(K=3), ["TS14", "UCB1"], 200, 50)
    assert all(seconds > 0 for seconds in study.seconds.values())
    assert study == simulate(GaussianBandit(K=3), ["TS14", "UCB1"], 200, 50)  # they may differ


def test_threads_do_not_matter():
    one, three = (
        simulate(
            GaussianBandit(K=3), list(POLICIES.values())[3:], 90, 70, threads=n, checkpoints=True
        )
        for n in (1, 3)
    )
    assert one == three


# ------------------------------------------------------------------------------------- two seeds


def test_the_same_instances_with_other_rewards():
    problem = GaussianBandit(K=3)
    one, other = (simulate(problem, "UCB1", 50, 70, seed=s, instance_seed=4) for s in (0, 1))
    assert np.array_equal(one.instances.mean, other.instances.mean)
    assert not np.array_equal(one.final["UCB1"], other.final["UCB1"])
    assert one == simulate(problem, "UCB1", 50, 70, seed=0, instance_seed=4)
    four = simulate(problem, "UCB1", 50, 70, seed=4)
    assert four == simulate(problem, "UCB1", 50, 70, seed=4, instance_seed=4)
    assert np.array_equal(four.instances.mean, one.instances.mean)


def test_other_instances_with_the_same_rewards():
    """What a reward is above its mean, in standard deviations, is the same number."""
    scores = []
    for instance_seed in (0, 1):
        asked = {"horizon": 30, "seed": 3, "instance_seed": instance_seed}
        one = varts.trace(GaussianBandit(K=3), "Even-Split", run=2, **asked)
        drawn = simulate(GaussianBandit(K=3), "UCB1", 1, 3, 3, instance_seed=instance_seed)
        mean, variance = drawn.instances.mean[2], drawn.instances.variance[2]
        arm, reward = one.rounds["arm"].to_numpy(), one.rounds["reward"].to_numpy()
        z = (reward - mean[arm]) / np.sqrt(variance[arm])
        scores.append([z[arm == i] for i in range(3)])
    assert np.allclose(*scores) and not np.allclose(scores[0], np.roll(scores[1], 1))


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"checkpoints": 5}, TypeError, "checkpoints must be True or a list of rounds, got 5"),
        ({"checkpoints": "no"}, TypeError, "checkpoints must be True or a list of rounds, got"),
        ({"checkpoints": [0]}, ValueError, "a checkpoint must be a whole number >= 1, got 0"),
        ({"checkpoints": [51]}, ValueError, "a checkpoint must be a whole number >= 1 and <= 50"),
        ({"recommend": "median"}, ValueError, "unknown recommend 'median'; did you mean 'mean'?"),
        ({"instance_seed": -1}, ValueError, "instance_seed must be a whole number >= 0, got -1"),
    ],
)  # fmt: skip
def test_wrong_questions(problem, wrong, kind, message):
    with pytest.raises(kind) as raised:
        simulate(problem, "UCB1", 50, 8, **wrong)
    assert str(raised.value).startswith(message)


def test_who_did_not_ask_is_told_how(problem):
    study = simulate(problem, "UCB1", 20, 8)
    for ask in (lambda: study.pulls, lambda: study.recommended, study.identification):
        with pytest.raises(ValueError, match=r"use simulate\(..., checkpoints=True\)"):
            ask()
    assert study.checkpoints.tolist() == []
