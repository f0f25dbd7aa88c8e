"""One run in full is what `simulate` played, to the last bit."""

import numpy as np
import pytest

import varts
from varts import ArmStats, Fading, GaussianBandit, NormalGamma, simulate, trace

PRIOR = NormalGamma(0.5, 1, 4, 1)


class Alternating(varts.Policy):
    label = "Alternating"

    def choose(self, stats, t, rng):
        return t % stats.K


@pytest.mark.parametrize(
    "policy",
    [
        varts.VarTS(PRIOR), varts.UCB1(), varts.BernoulliTS(), Fading("VarTS", 40), Alternating(),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "problem", [varts.BetaBandit(3), varts.Steps(varts.BetaBandit(3), every=30)]
)
def test_it_is_the_run_of_the_study(problem, policy):
    study = simulate(problem, {"it": policy}, 120, 20, seed=5, checkpoints=[10, 50])
    one = trace(problem, {"it": policy}, run=17, horizon=120, seed=5)
    regret = one.rounds["regret"].to_numpy()
    assert regret[-1] == study.final["it"][17]
    assert np.array_equal(regret[[9, 49, 119]], study.results["it"].record.regret[17])
    arm = one.rounds["arm"].to_numpy()
    assert np.array_equal(np.bincount(arm, minlength=3), study.pulls["it"][17])
    other = trace(problem, {"it": policy}, run=16, horizon=120, seed=5)
    assert other.rounds["regret"][-1] == study.final["it"][16] != study.final["it"][17]


def test_statistics_are_those_of_the_rewards():
    """An independent way: the rewards so far, arm by arm, with NumPy's mean and variance."""
    one = trace(GaussianBandit(K=3), "TS14", run=2, horizon=80)
    arm, reward = one.rounds["arm"].to_numpy(), one.rounds["reward"].to_numpy()
    for t in (1, 17, 80):
        after = one.arms.filter(round=t)
        for i in range(3):
            own = reward[:t][arm[:t] == i]
            n, mean, m2 = after.filter(arm=i).select("n", "mean", "m2").row(0)
            assert n == own.size
            if own.size:
                assert mean == pytest.approx(own.mean())
                assert m2 == pytest.approx(own.var() * own.size, abs=1e-12)


def test_beliefs_are_those_of_the_policy():
    policy = varts.VarTS(PRIOR)
    one = trace(GaussianBandit(K=3), policy, run=1, horizon=40)
    last = one.arms.filter(round=40)
    stats = ArmStats(*(last[name].to_numpy() for name in ("n", "mean", "m2")))
    low, high = policy.belief(stats).interval(0.9)
    assert last["belief_mean"].to_numpy() == pytest.approx(policy.belief(stats).mean)
    assert last["belief_low"].to_numpy() == pytest.approx(low)
    assert last["belief_high"].to_numpy() == pytest.approx(high)


def test_the_tails_of_the_rewards_are_minded():
    """Whose third and fourth moments the loop does not note: here they are those of the rewards."""
    policy = varts.VarTS(tails=True)
    one = trace(varts.RevenueBandit(2), policy, run=0, horizon=300)
    arm, reward = one.rounds["arm"].to_numpy(), one.rounds["reward"].to_numpy()
    stats = ArmStats.from_rewards([reward[arm == i] for i in range(2)])
    last = one.arms.filter(round=300)
    low, _ = policy.belief(stats).interval(0.9)
    assert last["belief_low"].to_numpy() == pytest.approx(low, rel=1e-9)
    ignorant, _ = varts.VarTS().belief(stats).interval(0.9)
    assert last["belief_low"].to_numpy() != pytest.approx(ignorant, rel=1e-3)


def test_the_index_says_which_arm_comes_next():
    one = trace(GaussianBandit(K=4), "UCB1-Tuned", run=3, horizon=100)
    index = one.arms["index"].to_numpy().reshape(100, 4)
    arm = one.rounds["arm"].to_numpy()
    ready = ~np.isnan(index).any(axis=1)
    assert np.flatnonzero(ready)[0] == 3  # every arm is owed a pull
    assert np.array_equal(index[ready][:-1].argmax(axis=1), arm[4:])


def test_gaps_follow_the_drift():
    one = trace(varts.Steps(varts.BetaBandit(3), every=20), "UCB1", horizon=60)
    gap = one.arms["gap"].to_numpy().reshape(60, 3)
    assert (gap.min(axis=1) == 0).all()
    changes = np.flatnonzero((np.diff(gap, axis=0) != 0).any(axis=1)) + 2
    assert changes.tolist() == [21, 41]
    regret = np.cumsum(gap[np.arange(60), one.rounds["arm"].to_numpy()])
    assert regret == pytest.approx(one.rounds["regret"].to_numpy())


def test_a_figure_has_a_line_per_arm(tmp_path):
    for policy in ("VarTS", "UCB1"):
        one = trace(GaussianBandit(K=3), policy, horizon=60)
        top, bottom = one.plot()
        assert len(top.lines) == 3 and len(top.collections) == (3 if policy == "VarTS" else 0)
        drawn = sum(len(line.get_xdata()) for line in bottom.lines)
        assert drawn == 60
    many = trace(GaussianBandit(K=30), "UCB1", horizon=90).plot()
    assert len(many[0].lines) == 12
    assert sum(len(line.get_xdata()) for line in many[1].lines) == 90
    assert repr(one) == f"Trace(UCB1, run 0, 60 rounds; regret: {one.rounds['regret'][-1]:.2f})"


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"run": -1}, ValueError, "run must be a whole number >= 0, got -1"),
        ({"run": "first"}, TypeError, "run must be a whole number >= 0, got 'first'"),
        ({"policy": ["UCB1", "TS14"]}, ValueError, "policy must be one policy, got 2"),
        ({"horizon": 10**7}, ValueError, "horizon must be at most 6666666 for 3 arms, got"),
        ({"level": 1}, ValueError, "level must be finite and > 0 and < 1, got 1"),
    ],
)  # fmt: skip
def test_wrong_arguments(problem, wrong, kind, message):
    with pytest.raises(kind) as raised:
        trace(**{"problem": problem, "policy": "UCB1", **wrong})
    assert str(raised.value).startswith(message)
