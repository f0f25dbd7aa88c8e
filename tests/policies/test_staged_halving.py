"""SHVar and SHAdaVar, beside a plain loop over lists of rewards that shares no code with them."""

import math
from dataclasses import fields

import numpy as np
import pytest

import varts
from varts import GaussianBandit, SHAdaVar, SHVar, StopAtError, simulate
from varts.policies.best_arm import variance_bound
from varts.simulation.engine.kernel import kernel_of

MEAN = [0.0, 0.3, 0.5, 0.1, 0.6, -0.2]
SIGMA = [0.5, 2.0, 1.0, 0.25, 1.5, 3.0]
PROBLEM = GaussianBandit.fixed(MEAN, SIGMA)


class Twin:
    """The paper's algorithms on lists of rewards.

    Args:
        K: The number of arms.
        budget: The number of rounds.
        restart: Whether each stage forgets the rewards before it.
        sigma: The standard deviations; None for SHAdaVar.
        delta: The error of SHAdaVar's bounds.
    """

    def __init__(self, K, budget, restart, sigma=None, delta=0.05):
        self.left, self.rewards = list(range(K)), [[] for _ in range(K)]
        self.stages = max(math.ceil(math.log(K, 2)), 1)
        self.each, self.restart = budget // self.stages, restart
        self.sigma, self.delta = sigma, delta
        self.done = self.played = 0

    def overestimate(self, x):
        if len(x) - 1 <= 4 * math.log(1 / self.delta):
            return math.inf
        return np.var(x, ddof=1) / (1 - 2 * math.sqrt(math.log(1 / self.delta) / (len(x) - 1)))

    def score(self, arm):
        """The larger, the sooner it is pulled; arms without enough rewards in turn."""
        x = self.rewards[arm]
        if self.sigma is not None:
            return (self.sigma[arm] ** 2 / len(x) if x else math.inf), 0, -arm
        above = self.overestimate(x)
        if above == math.inf:
            return math.inf, -len(x), -arm
        return above / len(x), 0, -arm

    def choose(self):
        if self.done < self.stages and self.played == (self.done + 1) * self.each:
            self.done += 1
            self.left = sorted(self.ranked()[: math.ceil(len(self.left) / 2)])
            if self.restart:
                self.rewards = [[] for _ in self.rewards]
        return max(self.left, key=self.score)

    def ranked(self):
        return sorted(self.left, key=lambda arm: -np.mean(self.rewards[arm]))

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)
        self.played += 1


POLICIES = {
    "SHVar": (SHVar(300, sigma=SIGMA), Twin(6, 300, False, SIGMA)),
    "SHVar, restart": (SHVar(301, True, SIGMA), Twin(6, 301, True, SIGMA)),
    "SHAdaVar": (SHAdaVar(500), Twin(6, 500, False)),
    "SHAdaVar, restart": (SHAdaVar(500, restart=True), Twin(6, 500, True)),
    "SHAdaVar, delta": (SHAdaVar(500, delta=0.3), Twin(6, 500, False, delta=0.3)),
}


@pytest.mark.parametrize("label", POLICIES)
def test_every_round_is_the_twin_s(label):
    policy, twin = POLICIES[label]
    assert kernel_of(policy, PROBLEM) is not None
    rounds = varts.trace(PROBLEM, policy, run=1, horizon=policy.horizon).rounds
    for t, arm, reward in rounds.select("round", "arm", "reward").iter_rows():
        assert arm == twin.choose(), t
        twin.learn(arm, reward)
    study = simulate(PROBLEM, policy, policy.horizon, 2, checkpoints=[policy.horizon])
    assert study.recommended[policy.label][1, 0] == twin.ranked()[0]


def test_another_budget_is_noticed():
    """The control: a twin whose stages are a round longer departs from the policy."""
    twin = Twin(6, 303, False, SIGMA)
    rounds = varts.trace(PROBLEM, SHVar(300, sigma=SIGMA), run=1, horizon=300).rounds
    same = []
    for arm, reward in rounds.select("arm", "reward").iter_rows():
        same.append(arm == twin.choose())
        twin.learn(arm, reward)
    assert not all(same)


@pytest.mark.parametrize("policy", [SHVar(120, sigma=SIGMA), SHAdaVar(300, restart=True)], ids=repr)
def test_plain_python_plays_the_same(policy):
    """Only ties of means are drawn, and these rewards have none: pulls agree to the last one."""
    plain = type("Plain", (type(policy),), {"compiled": None, "label": "Plain"})
    own = {each.name: getattr(policy, each.name) for each in fields(policy)}
    policies = {"compiled": policy, "plain": plain(**own)}
    study = simulate(PROBLEM, policies, policy.horizon, 12, checkpoints=[50, policy.horizon])
    assert (study.pulls["compiled"] == study.pulls["plain"]).all()
    assert (study.recommended["compiled"] == study.recommended["plain"]).all()


@pytest.mark.parametrize("looks", [None, [50, 200]])
def test_the_winner_is_recommended_where_a_rule_may_stop(looks):
    rule = StopAtError(1e-12) if looks is None else varts.StopAtPBest(1 - 1e-12)
    policies = {"it": SHAdaVar(300), "other": SHVar(300, sigma=SIGMA)}
    asked = {} if looks is None else {"looks": looks}
    ended = simulate(PROBLEM, policies, 300, 24, stop=rule, **asked).endings
    plain = simulate(PROBLEM, policies, 300, 24, checkpoints=[300])
    for label in policies:
        open_ = ~ended[label].stopped
        assert open_.sum() > 12
        assert (ended[label].arm == plain.recommended[label][:, 0])[open_].all()


def test_means_that_are_equal_are_dropped_at_random():
    """Four arms that always pay 1: each wins in about a quarter of 400 runs.

    Six standard deviations of a binomial count are 52: a false alarm has a chance of 1e-8.
    """
    study = simulate(varts.BernoulliBandit.fixed([1.0] * 4), SHVar(40), 40, 400, checkpoints=[40])
    arms, counts = np.unique(study.recommended["SHVar"][:, 0], return_counts=True)
    assert len(arms) == 4 and np.abs(counts - 100).max() < 52


def test_bounds_of_variances():
    """By hand: 2 / (1 - 2 sqrt(ln 20 / 59)). Thirteen rewards are enough for delta = 0.05."""
    assert variance_bound(60.0, 118.0, 0.05) == pytest.approx(3.640777057, abs=1e-9)
    assert variance_bound(12.0, 5.0, 0.05) == np.inf > variance_bound(13.0, 5.0, 0.05) > 0


@pytest.mark.statistical
def test_bounds_hold_as_often_as_they_say():
    """For Gaussian rewards at least 95 % of the bounds are above the variance; here 10,000."""
    x = np.random.default_rng(5).normal(0, 2, (10_000, 30))
    bounds = [variance_bound(30.0, row.var() * 30, 0.05) for row in x]
    assert np.mean(np.array(bounds) > 4) > 0.95
    assert np.mean(x.var(axis=1, ddof=1) > 4) < 0.6  # the control: the sample variance itself


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SHVar(0), ValueError, "horizon must be a whole number >= 1, got 0"),
        (lambda: SHVar(sigma=0), ValueError, "sigma must be finite and > 0, got 0"),
        (lambda: SHVar(restart=1), TypeError, "restart must be True or False, got 1"),
        (lambda: SHAdaVar(delta=1), ValueError, "delta must be finite and > 0 and < 1, got 1"),
        (lambda: simulate(PROBLEM, SHVar(17), 17, 1), ValueError,
         "horizon must be at least 18 for the batches of 6 arms, got 17"),
        (lambda: simulate(PROBLEM, SHVar(99, sigma=[1, 2]), 99, 1), ValueError,
         r"sigma must be one number or one per arm \(6\), got 2"),
        (lambda: varts.open("it", ["a", "b"], store="sqlite://", policy=SHAdaVar(99)), ValueError,
         "policy must be a function of the statistics, got 'SHAdaVar'"),
    ],
)  # fmt: skip
def test_mistakes(make, error, words):
    with pytest.raises(error, match=words):
        make()
