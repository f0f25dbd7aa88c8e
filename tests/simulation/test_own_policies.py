"""A user's DrawPolicy, StatePolicy and stopping rule: compiled, they are what Python makes of them.

Compiled and plain runs draw different random numbers, so their regret is compared within 4.5
standard errors of the difference, with a fixed seed (false alarms: 7e-6 each).
"""

from dataclasses import dataclass

import numpy as np
import pytest

import varts
from varts import DrawPolicy, GaussianBandit, StatePolicy, StopRule, draws, simulate
from varts.simulation.engine.kernel import kernel_of

PROBLEM = GaussianBandit.fixed([0.0, 0.3, 0.6], 1.0)


@dataclass(frozen=True)
class Laplace(DrawPolicy):
    label, initial_pulls = "Laplace", 2
    width: float = 1.0

    @staticmethod
    def draw(n, mean, m2, u, width):
        scale = width * np.sqrt(m2 / 2) / n
        return mean - scale * np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5))


@dataclass(frozen=True)
class Boltzmann(StatePolicy):
    """Softmax of discounted rewards, with noise in what it remembers."""

    label, arm_numbers, run_numbers, initial_pulls = "Boltzmann", 1, 1, 1
    rate: float = 0.2
    heat: float = 0.3

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng, rate, heat):
        best, arm = -np.inf, 0
        for i in range(len(n)):
            x = arms[i, 0] / heat - np.log(draws.exponential(rng))
            if x > best:
                best, arm = x, i
        return arm

    @staticmethod
    def learn(arm, reward, n, mean, m2, arms, run, rng, rate, heat):
        arms[arm, 0] += rate * (reward + 0.1 * draws.normal(rng) - arms[arm, 0])
        run[0] += 1


class Greedy(StatePolicy):
    """Without state."""

    label, initial_pulls = "Greedy", 1

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        return np.argmax(mean) if draws.uniform(rng) < 0.9 else draws.integer(rng, len(n))


def plain(kind):
    return type(f"Plain{kind.__name__}", (kind,), {"compiled": None, "label": "plain"})()


def apart(one, other):
    error = np.hypot(one.std(ddof=1), other.std(ddof=1)) / np.sqrt(len(one))
    return abs(one.mean() - other.mean()) / error


@pytest.mark.parametrize("kind", [Laplace, Boltzmann, Greedy])
def test_compiled_is_plain_python(kind):
    policy, twin = kind(), plain(kind)
    assert kernel_of(policy, PROBLEM) is not None and kernel_of(twin, PROBLEM) is None
    study = simulate(PROBLEM, {"compiled": policy, "plain": twin}, 60, 300, seed=1)
    assert apart(study.final["compiled"], study.final["plain"]) < 4.5
    other = {Laplace: Laplace(9.0), Boltzmann: Boltzmann(0.2, 9.0), Greedy: varts.EvenSplit()}
    changed = simulate(PROBLEM, {"it": other[kind]}, 60, 300, seed=2).final["it"]
    assert apart(study.final["plain"], changed) > 4.5  # the control


@pytest.mark.parametrize("policy", [Laplace(), Boltzmann(), Greedy()], ids=lambda p: p.label)
def test_nothing_is_carried_from_run_to_run(policy):
    one, two = (simulate(PROBLEM, {"it": policy}, 60, 40, threads=n) for n in (1, 2))
    assert one == two
    for run in (0, 8, 39):
        alone = varts.trace(PROBLEM, {"it": policy}, run=run, horizon=60)
        assert alone.rounds["regret"][-1] == one.final["it"][run]
    assert simulate(PROBLEM, {"it": policy}, 60, 9).extend(40) == one


def test_they_work_in_a_sweep():
    done = varts.sweep(
        {"width": [0.5, 2.0]},
        lambda width: (PROBLEM, [Laplace(width), Boltzmann()]),
        horizon=40,
        runs=16,
    )
    assert done.study(width=2.0) == simulate(PROBLEM, [Laplace(2.0), Boltzmann()], 40, 16)


@pytest.mark.parametrize("problem", [varts.Steps(PROBLEM, 20), varts.LinearBandit(K=3, d=2)])
def test_they_play_moving_arms_and_visitors_with_features(problem):
    policies = [Laplace(), Boltzmann(), Greedy()]
    one, two = (simulate(problem, policies, 60, 20, threads=n) for n in (1, 2))
    assert one == two and all((final >= 0).all() for final in one.final.values())
    faded = simulate(problem, {"it": varts.Fading(Greedy(), 20)}, 60, 8).final["it"]
    assert np.isfinite(faded).all()


def test_learn_and_pick_draw_different_numbers():
    """Else the policy would leave the arms."""

    class Twice(StatePolicy):
        label, run_numbers, initial_pulls = "Twice", 1, 1

        @staticmethod
        def pick(t, n, mean, m2, arms, run, rng):
            u = draws.uniform(rng)
            return len(n) if u == run[0] else int(u * len(n))

        @staticmethod
        def learn(arm, reward, n, mean, m2, arms, run, rng):
            run[0] = draws.uniform(rng)

    assert simulate(PROBLEM, Twice(), 50, 16).runs == 16


@pytest.mark.parametrize("arm", [3, -1])
def test_an_arm_that_does_not_exist_is_refused(arm):
    class Astray(StatePolicy):
        label = "Astray"

        @staticmethod
        def pick(t, n, mean, m2, arms, run, rng):
            return arm if t == 30 else 0

    with pytest.raises(ValueError, match=r"^Astray must pick an arm from 0 to 2, got another"):
        simulate(PROBLEM, Astray(), 50, 8)


def test_a_policy_without_state_chooses_live():
    stats = varts.ArmStats([9, 9, 9], [0.0, 0.3, 0.6], 9.0)
    rng = np.random.default_rng(0)
    assert {varts.choose(Greedy(), stats, rng=rng) for _ in range(99)} == {0, 1, 2}
    assert varts.choose(Laplace(0.01), stats, rng=rng) == 2
    with pytest.raises(ValueError, match=r"^Boltzmann has a memory"):
        varts.choose(Boltzmann(), stats)


# ------------------------------------------------------------------------------- stopping rules


@dataclass(frozen=True)
class Lead(StopRule):
    least: float
    gap: float

    @staticmethod
    def stops(t, n, mean, m2, least, gap):
        lead = np.sort(mean)
        return n.min() >= least and lead[-1] - lead[-2] > gap


class PlainUCB(varts.UCB1):
    """UCB1, whose choices have no ties, in plain Python."""

    label, compiled = "plain", None


def test_a_rule_of_ones_own_is_the_same_in_plain_python():
    rule = Lead(5.0, 0.25)
    study = simulate(PROBLEM, ["UCB1", PlainUCB()], 200, 24, stop=rule)
    one, other = study.endings["UCB1"], study.endings["plain"]
    assert one.stopped.sum() > 3 and len(set(one.rounds.tolist())) > 5
    assert np.array_equal(one.rounds, other.rounds) and np.array_equal(one.arm, other.arm)
    assert study.final["UCB1"] == pytest.approx(study.final["plain"])
    some = simulate(PROBLEM, "UCB1", 200, 24, stop=rule, looks=[50, 150]).endings["UCB1"]
    assert set(some.rounds.tolist()) <= {50, 150, 200}


def test_a_rule_of_ones_own_with_policies_of_ones_own():
    study = simulate(PROBLEM, [Laplace(), Boltzmann()], 200, 16, stop=Lead(5.0, 0.25))
    for label, ending in study.endings.items():
        run = int(np.flatnonzero(ending.stopped)[0])
        policy = {"Laplace": Laplace(), "Boltzmann": Boltzmann()}[label]
        last = varts.trace(PROBLEM, policy, run=run, horizon=int(ending.rounds[run])).arms[-3:]
        stats = varts.ArmStats(*(last[name].to_numpy() for name in ("n", "mean", "m2")))
        assert Lead(5.0, 0.25).decide(stats) == ending.arm[run]
