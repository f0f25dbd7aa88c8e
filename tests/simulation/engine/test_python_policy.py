"""Policies in plain Python: memory that belongs to one run, and choices that are arms."""

import threading
from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import varts
from varts import ArmStats, Policy


class SlidingWindow(Policy):
    """The best mean of the last rewards; it would mix up runs if they shared it."""

    label = "Sliding-window"
    initial_pulls = 1

    def __init__(self, size=20):
        self.size = size

    def start(self, K, rng):
        self.window = deque(maxlen=self.size)

    def update(self, arm, reward, rng):
        self.window.append((arm, reward))

    def choose(self, stats, t, rng):
        means = rng.normal(scale=1e-6, size=stats.K)  # told apart at random
        for arm in range(stats.K):
            lately = [reward for pulled, reward in self.window if pulled == arm]
            means[arm] += np.mean(lately) if lately else np.inf
        return np.argmax(means)


class Bookkeeper(Policy):
    """UCB1 from statistics that it keeps itself."""

    label = "Bookkeeper"
    initial_pulls = 1

    def start(self, K, rng):
        self.own = ArmStats.empty(K)

    def update(self, arm, reward, rng):
        self.own = self.own.observe(arm, reward)

    def choose(self, stats, t, rng):
        assert np.allclose(self.own.mean, stats.mean) and np.array_equal(self.own.n, stats.n)
        return varts.UCB1().choose(self.own, t, rng)


@pytest.mark.when_changed("src/varts/simulation")
@pytest.mark.parametrize("policy", [SlidingWindow(), SlidingWindow(5), Bookkeeper()])
def test_a_policy_with_memory_plays_alike_on_any_number_of_threads(problem, policy):
    one, two, three = (
        varts.simulate(problem, policy, 60, 40, threads=n).results for n in (1, 2, 3)
    )
    assert one == two == three
    (final,) = (result.final for result in one.values())
    assert len(set(final)) > 10
    assert not hasattr(policy, "window") and not hasattr(policy, "own")  # a copy was played


def test_a_run_does_not_depend_on_those_before_it(problem):
    few, many = (varts.simulate(problem, SlidingWindow(), 60, n).final for n in (12, 30))
    assert np.array_equal(few["Sliding-window"], many["Sliding-window"][:12])


def test_update_sees_every_reward_as_the_statistics_record_it(problem):
    """Were one missing or doubled, the policy's own statistics would not be those of the engine."""
    study = varts.simulate(problem, ["UCB1", Bookkeeper()], 60, 16)
    assert study.final["Bookkeeper"] == pytest.approx(study.final["UCB1"])

    class Tossing(Bookkeeper):
        label = "Tossing"

        def transform(self, reward, rng):
            return float(rng.random() < reward)

    varts.simulate(problem, Tossing(), 60, 16)


def test_a_formula_with_update_is_played_in_plain_python(problem):
    class Counting(varts.UCB1):
        label = "Counting"

        def start(self, K, rng):
            object.__setattr__(self, "pulls", 0)

        def update(self, arm, reward, rng):
            object.__setattr__(self, "pulls", self.pulls + 1)

        def choose(self, stats, t, rng):
            assert self.pulls == t - 1
            return super().choose(stats, t, rng)

    study = varts.simulate(problem, ["UCB1", Counting()], 60, 16)
    assert study.final["Counting"] == pytest.approx(study.final["UCB1"])


def test_the_randomness_of_start_and_update_is_that_of_the_run(problem):
    class Dice(Policy):
        label = "Dice"

        def start(self, K, rng):
            self.next = rng.integers(K)

        def update(self, arm, reward, rng):
            self.next = rng.integers(3)

        def choose(self, stats, t, rng):
            return self.next

    one, two = (varts.simulate(problem, Dice(), 50, 20, threads=n) for n in (1, 2))
    assert one == two and len(set(one.final["Dice"])) > 10
    # a third of the rounds on the best arm: 1000 rounds, 5 standard errors (false alarm 6e-7)
    assert abs(one.best_share["Dice"].mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 1000)


# ---------------------------------------------------------------------- memory without the hooks


class Attribute(Policy):
    def __init__(self):
        self.last = 0

    def choose(self, stats, t, rng):
        self.last = (self.last + 1) % stats.K
        return self.last


class Contents(Policy):
    def __init__(self):
        self.seen = deque(maxlen=10)

    def choose(self, stats, t, rng):
        self.seen.append(t)
        return 0


class OfTheClass(Policy):
    seen: list = []  # noqa: RUF012

    def choose(self, stats, t, rng):
        self.seen.append(t)
        return 0


class MadeLate(Policy):
    def choose(self, stats, t, rng):
        self.late = t
        return 0


class OwnGenerator(Policy):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def choose(self, stats, t, rng):
        return self.rng.integers(stats.K)


class OfTheClassInUpdate(OfTheClass):
    def update(self, arm, reward, rng):
        pass


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Attribute, "last"),
        (Contents, "seen"),
        (OfTheClass, "seen"),
        (MadeLate, "late"),
        (OwnGenerator, "rng"),
        (OfTheClassInUpdate, "seen"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_without_the_hooks_is_refused(problem, kind, name, threads):
    with pytest.raises(ValueError) as refused:
        varts.simulate(problem, kind(), 20, 16, threads=threads)
    assert str(refused.value) == (
        f"{kind.__name__} must keep what it remembers of a run in attributes that start(K, rng) "
        f"makes and update(arm, reward, rng) changes, got a change of {name!r} without them"
    )


def test_what_is_computed_once_is_no_memory(problem):
    @dataclass
    class Harmless(Policy):
        """All that could be taken for memory, and is none."""

        prior: varts.NormalGamma

        def __post_init__(self):
            self.inner, self.lock = varts.VarTS(self.prior), threading.Lock()

        @cached_property
        def table(self):
            return np.arange(9.0)

        def choose(self, stats, t, rng):
            with self.lock:
                return self.inner._belief(stats).argmax(rng) if self.table[0] == 0 else 0

    study = varts.simulate(problem, Harmless(problem.prior), 20, 16)
    assert np.isfinite(study.final["Harmless"]).all()


def test_what_cannot_be_copied_cannot_have_memory(problem):
    class Locked(SlidingWindow):
        label = "Locked"

        def __init__(self):
            self.lock = threading.Lock()

    with pytest.raises(ValueError, match=r"^Locked must be a policy that copy\.deepcopy can copy"):
        varts.simulate(problem, Locked(), 20, 8)


def test_choose_refuses_a_policy_with_memory():
    assert SlidingWindow().has_memory and not varts.VarTS().has_memory
    with pytest.raises(ValueError, match=r"^Sliding-window has a memory"):
        varts.choose(SlidingWindow(), ArmStats.empty(3))


# ----------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("arm", "error", "shown"),
    [
        (1.5, TypeError, "1.5"),
        (1.0, TypeError, "1.0"),
        (None, TypeError, "None"),
        (True, TypeError, "True"),
        (np.bool_(True), TypeError, "True"),
        (np.array([1]), TypeError, "array([1])"),
        (np.array(1), TypeError, "array(1)"),
        ("1", TypeError, "'1'"),
        (-1, ValueError, "-1"),
        (3, ValueError, "3"),
        (np.int64(3), ValueError, "3"),
    ],
)
def test_a_choice_that_is_no_arm_is_refused(problem, arm, error, shown):
    class Astray(Policy):
        label = "Astray"

        def choose(self, stats, t, rng):
            return arm

    sentence = f"Astray must choose an arm from 0 to 2, got {shown}"
    for play in (
        lambda: varts.simulate(problem, Astray(), 5, 8),
        lambda: varts.choose(Astray(), ArmStats.empty(3)),
    ):
        with pytest.raises(error) as refused:
            play()
        assert str(refused.value) == sentence


@pytest.mark.parametrize("recorded", [np.nan, np.inf, None, "1"])
def test_what_is_recorded_must_be_a_number(problem, recorded):
    class Odd(Policy):
        label = "Odd"

        def choose(self, stats, t, rng):
            return 0

        def transform(self, reward, rng):
            return recorded

    with pytest.raises((TypeError, ValueError), match=r"^transform of Odd must be finite, got "):
        varts.simulate(problem, Odd(), 5, 8)
