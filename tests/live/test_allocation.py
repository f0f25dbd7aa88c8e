"""Who gets which arm: frequencies over many decision ids against the probability that is logged,
and that against quadrature and plain mixtures written out here.

Chi-square and Kolmogorov-Smirnov tests fail at p < 1e-6; about 40 of them make the false-alarm
rate of the file 4e-5 (and zero in effect: ids and seeds are fixed). Each has a negative control
that must fall below the same limit.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import varts
from tests.reference import frequency_p, p_best
from tests.seeds import fresh
from varts import NormalGamma, StudentT
from varts.live.core.allocation import CHOICE, Allocation, uniforms
from varts.live.core.state import Config, State
from varts.live.core.sums import Sums
from varts.live.options import Options
from varts.policies import registry

LIMIT = 1e-6
DRAWS = 20_000
IDS = [f"decision-{i}" for i in range(DRAWS)]
NOBODY = [None] * DRAWS


def state_of(rewards, paused=(), winner=None, **options):
    """The state after these rewards, a list per arm."""
    rows, at = {}, 0
    made = Options.made(**options)
    for arm, values in enumerate(rewards):
        row = Sums()
        for value in values:
            at += 1
            row = row.observe(value, at, made.half_life)
        if values:
            rows["", arm, 1] = row
    names = tuple(f"arm {i}" for i in range(len(rewards)))
    config = Config(names, made, len(names), paused=frozenset(paused), winner=winner)
    config.check()
    return State(config, version=at + 1, rewards=at, rows=rows)


def allocation_of(rewards, seed=5, **options):
    return Allocation(fresh(seed), state_of(rewards, **options))


def chosen(allocation, ids=IDS, units=None):
    return np.array([c.arm for c in allocation.choose(ids, units or [None] * len(ids))])


def moments(rewards):
    arms = [np.array(values, dtype=float) for values in rewards]
    n = np.array([x.size for x in arms], dtype=float)
    mean = np.array([x.mean() for x in arms])
    return n, mean, np.array([((x - x.mean()) ** 2).sum() for x in arms])


A = [4.1, 5.3, 6.2, 4.8, 5.9, 3.6]
B = [5.0, 5.6, 4.9, 5.7, 5.3]
C = [1.0, 9.5, 4.0, 6.5, 5.5]
D = [2.0, 2.5, 3.0, 2.2]
ONES = [[1, 0, 1, 1, 0], [1, 1, 0], [0, 1, 0, 0]]
PRIOR = NormalGamma([4.0, 5.0, 6.0], [1, 2, 0.5], [2, 3, 1.5], [4, 2, 3])


# ------------------------------------------------------------------------------ by hand


def unit_free(rewards):
    """VarTS without a prior, as its documentation says: all rewards are worth one."""
    n, mean, m2 = moments(rewards)
    pool = np.concatenate([np.array(values, dtype=float) for values in rewards])
    kappa, alpha = 1 + n, 0.5 + n / 2
    loc = (pool.mean() + n * mean) / kappa
    beta = pool.var() / 2 + m2 / 2 + n * (mean - pool.mean()) ** 2 / (2 * kappa)
    return p_best(loc, np.sqrt(beta / (alpha * kappa)), 2 * alpha)


def with_prior(rewards, sign=1, prior=PRIOR):
    n, mean, m2 = moments(rewards)
    kappa, alpha = prior.kappa + n, prior.alpha + n / 2
    loc = (prior.kappa * prior.mu + n * mean) / kappa
    beta = prior.beta + m2 / 2 + prior.kappa * n * (mean - prior.mu) ** 2 / (2 * kappa)
    return p_best(sign * loc, np.sqrt(beta / (alpha * kappa)), 2 * alpha)


def own_prior(rewards):
    """VarTS with five arms or more: the prior is that of the arms themselves, nearly exactly."""
    seen = varts.ArmStats.from_rewards(rewards)
    mu, kappa, alpha, beta, _ = varts.EBVarTS().parameters(seen)[0]
    chances = with_prior(rewards, prior=NormalGamma(mu, kappa, alpha, beta))
    assert chances == pytest.approx(with_prior(rewards, prior=varts.own_prior(seen)), abs=0.002)
    assert chances != pytest.approx(unit_free(rewards), abs=0.01)  # the control: no such prior
    return chances


def ts14(rewards):
    n, mean, m2 = moments(rewards)
    return p_best(mean, np.sqrt(m2 / (n * (n - 2))), n - 2)


def gaussian(rewards):
    n, mean, _ = moments(rewards)
    return p_best(n * mean / (n + 1), 1 / np.sqrt(n + 1), np.inf)


def beta_best(rewards, sign=1):
    """By the midpoint rule on [0, 1]."""
    n, mean, _ = moments(rewards)
    x = (np.arange(20_000) + 0.5) / 20_000
    beliefs = [stats.beta(1 + s, 1 + k - s) for s, k in zip(n * mean, n, strict=True)]
    out = []
    for i, belief in enumerate(beliefs):
        others = [b.cdf(x) if sign > 0 else b.sf(x) for j, b in enumerate(beliefs) if j != i]
        out.append((belief.pdf(x) * np.prod(others, axis=0)).mean())
    return np.array(out)


def mixed(policy, floor=0.0, owed=(), paused=()):
    """The words of `allocation`: a floor for all, an even share for those owed, the rest to the
    policy. `policy` has the chances of the arms that are ready; K arms in all."""
    K = len(policy) + len(owed) + len(paused)
    active = [arm for arm in range(K) if arm not in paused]
    ready = [arm for arm in active if arm not in owed]
    share = np.zeros(K)
    share[list(owed)] = 1 / len(active)
    share[ready] = np.asarray(policy) * len(ready) / len(active)
    share *= 1 - floor * len(active)
    share[active] += floor
    return share


SCENES = {
    "VarTS": (lambda: allocation_of([A, B, C]), lambda: unit_free([A, B, C])),
    "VarTS, scale 1e-9": (
        lambda: allocation_of([[1e-9 * x for x in arm] for arm in (A, B, C)]),
        lambda: unit_free([A, B, C]),
    ),
    "VarTS, a prior": (
        lambda: allocation_of([A, B, C], prior=PRIOR),
        lambda: with_prior([A, B, C]),
    ),
    "VarTS, nothing but a prior": (
        lambda: allocation_of([[], [], []], prior=PRIOR),
        lambda: p_best(
            PRIOR.mu, np.sqrt(PRIOR.beta / (PRIOR.alpha * PRIOR.kappa)), 2 * PRIOR.alpha
        ),
    ),
    "VarTS, min": (
        lambda: allocation_of([A, B, C], prior=PRIOR, goal="min"),
        lambda: with_prior([A, B, C], sign=-1),
    ),
    "VarTS, min, no prior": (
        lambda: allocation_of([A, B, C], goal="min"),
        lambda: unit_free([[-x for x in arm] for arm in (A, B, C)]),
    ),
    "VarTS, infinite draws": (
        lambda: allocation_of(
            [[], [], []], prior=NormalGamma([0, 0, 5], 1, [0.0002, 0.0008, 0.0008], 1)
        ),
        lambda: p_best([0, 0, 5], np.sqrt([5000, 1250, 1250]), [0.0004, 0.0016, 0.0016]),
    ),
    "TS14": (lambda: allocation_of([A, B, C], policy="TS14"), lambda: ts14([A, B, C])),
    "TS14, equal points": (
        lambda: allocation_of([[1.0] * 4, [0.0] * 5, [1.0] * 6], policy="TS14"),
        lambda: np.array([0.5, 0.0, 0.5]),
    ),
    "Gaussian-TS": (
        lambda: allocation_of([A, B, C], policy="Gaussian-TS"),
        lambda: gaussian([A, B, C]),
    ),
    "Gaussian-TS, nothing": (
        lambda: allocation_of([[], [], []], policy="Gaussian-TS"),
        lambda: np.full(3, 1 / 3),
    ),
    "Bernoulli-TS": (
        lambda: allocation_of(ONES, policy="Bernoulli-TS"),
        lambda: beta_best(ONES),
    ),
    "Bernoulli-TS, min": (
        lambda: allocation_of(ONES, policy="Bernoulli-TS", goal="min"),
        lambda: beta_best(ONES, sign=-1),
    ),
    "UCB1, a tie": (
        lambda: allocation_of([[0.5, 0.5], [0.1, 0.2], [0.25, 0.75]], policy="UCB1"),
        lambda: np.array([0.5, 0, 0.5]),
    ),
    "UCB1, no tie": (
        lambda: allocation_of([[0.5, 0.5], [0.1, 0.2], [0.5, 0.75]], policy="UCB1"),
        lambda: np.array([0, 0, 1.0]),
    ),
    "floor": (
        lambda: allocation_of([A, B, C], floor=0.1),
        lambda: mixed(unit_free([A, B, C]), floor=0.1),
    ),
    "floor of all": (lambda: allocation_of([A, B, C, D], floor=0.25), lambda: np.full(4, 0.25)),
    "nothing yet": (lambda: allocation_of([[], [], []]), lambda: np.full(3, 1 / 3)),
    "one arm owed": (
        lambda: allocation_of([A, [], B, C]),
        lambda: mixed(unit_free([A, B, C]), owed=[1]),
    ),
    "TS14 owes two arms": (
        lambda: allocation_of([A, A[:3], B, C[:1], C], policy="TS14"),
        lambda: mixed(ts14([A, B, C]), owed=[1, 3]),
    ),
    "a paused arm": (
        lambda: allocation_of([D, A, B, C], paused=[0]),
        lambda: mixed(unit_free([A, B, C]), paused=[0]),
    ),
    "a paused arm with its prior": (
        lambda: allocation_of(
            [A, D, B, C],
            paused=[1],
            prior={
                "mu": [4.0, 99, 5.0, 6.0],
                "kappa": [1, 1, 2, 0.5],
                "alpha": [2, 1, 3, 1.5],
                "beta": [4, 1, 2, 3],
            },
        ),
        lambda: mixed(with_prior([A, B, C]), paused=[1]),
    ),
    "UCB1, tie, floor, owed and paused": (
        lambda: allocation_of(
            [[0.5], [9.0], [], [0.5], [0.1]], policy="UCB1", paused=[1], floor=0.05
        ),
        lambda: mixed([0.5, 0.5, 0], floor=0.05, owed=[2], paused=[1]),
    ),
    "all of it, min": (
        lambda: allocation_of(
            [[], [-x for x in A], D, [-x for x in C]], paused=[2], floor=0.08, goal="min"
        ),
        lambda: mixed(unit_free([A, C]), floor=0.08, owed=[0], paused=[2]),
    ),
    "all of it, min, five arms under rules 1": (
        lambda: allocation_of(
            [[], [-x for x in A], D, [-x for x in B], [-x for x in C]],
            paused=[2],
            floor=0.08,
            goal="min",
            rules=1,
        ),
        lambda: mixed(unit_free([A, B, C]), floor=0.08, owed=[0], paused=[2]),
    ),
    "five arms have a prior of their own": (
        lambda: allocation_of([A, B, C, A[1:], C[::-1]]),
        lambda: own_prior([A, B, C, A[1:], C[::-1]]),
    ),
}


def even_at_most(shares, thin):
    """The shares of a policy, if thin arms get at most an even share."""
    shares, over = np.array(shares), 0.0
    for arm in thin:
        over += max(shares[arm] - 1 / len(shares), 0.0)
        shares[arm] = min(shares[arm], 1 / len(shares))
    others = [arm for arm in range(len(shares)) if arm not in thin]
    shares[others] += over * shares[others] / shares[others].sum()
    return shares


SCENES |= {
    "an arm with little data": (
        lambda: allocation_of([A, [9.0, 9.5, 9.1, 9.9], C]),
        lambda: mixed(even_at_most(unit_free([A, [9.0, 9.5, 9.1, 9.9], C]), [1])),
    ),
    "an arm with equal rewards, floor": (
        lambda: allocation_of([A, [9.0] * 6, C], floor=0.1),
        lambda: mixed(
            even_at_most(allocation_of([A, [9.0] * 6, C], rules=1).probabilities, [1]), floor=0.1
        ),
    ),
    "little data under rules 1": (
        lambda: allocation_of([A, [9.0, 9.5, 9.1, 9.9], C], rules=1),
        lambda: mixed(unit_free([A, [9.0, 9.5, 9.1, 9.9], C])),
    ),
    "little data that leads nowhere": (
        lambda: allocation_of([A, D, C]),
        lambda: mixed(unit_free([A, D, C])),
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(SCENES))
def test_arms_come_as_often_as_the_log_says(name):
    make, by_hand = SCENES[name]
    allocation, expected = make(), by_hand()
    probabilities = allocation.probabilities
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert probabilities == pytest.approx(expected / expected.sum(), abs=2e-4)
    choices = allocation.choose(IDS, NOBODY)
    arms = np.array([choice.arm for choice in choices])
    possible = np.flatnonzero(probabilities)
    assert set(arms) <= set(possible)
    if len(possible) > 1:
        assert frequency_p(np.searchsorted(possible, arms), probabilities[possible]) > LIMIT
        wrong = probabilities[possible].copy()  # the control: four percent of the traffic moved
        most = wrong.argmax()
        wrong[most] -= 0.04
        wrong[most - 1] += 0.04
        assert frequency_p(np.searchsorted(possible, arms), wrong) < LIMIT
    assert all(choice.probability == probabilities[choice.arm] for choice in choices[:100])
    assert not any(choice.estimated for choice in choices[:100])


@pytest.mark.statistical
def test_reasons_have_their_shares():
    allocation = allocation_of([A, [], B, C], floor=0.05)
    reasons = [choice.reason for choice in allocation.choose(IDS, NOBODY)]
    names = ["floor", "forced", "policy"]
    found = np.array([names.index(reason) for reason in reasons])
    assert frequency_p(found, [0.2, 0.8 * 0.25, 0.8 * 0.75]) > LIMIT
    assert frequency_p(found, [0.2, 0.8 * 0.29, 0.8 * 0.71]) < LIMIT


# ------------------------------------------------------------------------------ holdout, winner


@pytest.mark.statistical
def test_a_holdout_is_even_and_stays():
    before = allocation_of([A, B, C], holdout=0.2, floor=0.05)
    after = allocation_of([[*A, 50.0], B, C], holdout=0.2, floor=0.05)
    units = [f"unit {i}" for i in range(DRAWS)]
    choices = before.choose(IDS, units)
    held = np.array([choice.reason == "holdout" for choice in choices])
    arms = np.array([choice.arm for choice in choices])
    assert stats.binomtest(int(held.sum()), DRAWS, 0.2).pvalue > LIMIT
    assert stats.binomtest(int(held.sum()), DRAWS, 0.23).pvalue < LIMIT
    assert {choice.probability for choice in choices if choice.reason == "holdout"} == {1 / 3}
    assert frequency_p(arms[held], np.full(3, 1 / 3)) > LIMIT
    assert frequency_p(arms[~held], before.probabilities) > LIMIT
    assert frequency_p(arms[held], before.probabilities) < LIMIT  # a control
    # Whoever is in it is in it at every later state and under every decision id, and no other.
    again = after.choose([f"later-{i}" for i in range(DRAWS)], units)
    assert [choice.reason == "holdout" for choice in again] == held.tolist()
    # Membership says nothing about the arm.
    even = np.array([choice.arm for choice in again])
    assert frequency_p(3 * arms[held] + even[held], np.full(9, 1 / 9)) > LIMIT


def test_a_winner_gets_everybody():
    allocation = allocation_of([A, B, C], winner=1, holdout=0.5, floor=0.1)
    assert {tuple(choice) for choice in allocation.choose(IDS[:50], NOBODY[:50])} == {
        (1, 1.0, "winner", False)
    }


# ------------------------------------------------------------------------------ own policies


TRUTH = np.array([0.5, 0.3, 0.2])


@pytest.fixture
def dice(monkeypatch):
    """A policy with neither belief nor index, known for the time of a test."""

    @dataclass(frozen=True)
    class Dice(varts.Policy):
        label = "Dice"
        initial_pulls = 1
        extra: float = 0.0

        def choose(self, stats, t, rng):
            p = TRUTH[: stats.K] / TRUTH[: stats.K].sum()
            return int(rng.choice(stats.K, p=p))

    monkeypatch.setitem(registry._registry, "dice", Dice)
    return Dice


@pytest.mark.statistical
def test_a_policy_without_formula_is_estimated_and_marked(dice):
    allocation = allocation_of([A, B, C], policy=dice(extra=2.0), floor=0.1)
    assert allocation.policy == dice(extra=2.0)
    choices = allocation.choose(IDS[:8000], NOBODY[:8000])
    expected = mixed(TRUTH, floor=0.1)
    arms = np.array([choice.arm for choice in choices])
    assert frequency_p(arms, expected) > LIMIT
    assert frequency_p(arms, mixed(TRUTH, floor=0.2)) < LIMIT
    assert all(choice.estimated for choice in choices)
    slack = 5 * np.sqrt(TRUTH * (1 - TRUTH) / 1000)  # five standard errors of its draws
    assert (np.abs(allocation.probabilities - expected) < slack).all()
    assert allocation.probabilities.sum() == pytest.approx(1)
    again = allocation_of([A, B, C], policy=dice(extra=2.0), floor=0.1)
    assert (again.probabilities == allocation.probabilities).all()  # and can be estimated again
    other = allocation_of([[*A, 1.0], B, C], policy=dice(), floor=0.1)
    assert (other.probabilities != allocation.probabilities).any()  # at each version anew


def test_nothing_is_estimated_before_the_policy_has_a_say(dice):
    allocation = allocation_of([[], [], []], policy="dice")
    assert not any(choice.estimated for choice in allocation.choose(IDS[:20], NOBODY[:20]))
    assert allocation.probabilities == pytest.approx(np.full(3, 1 / 3))


def test_an_estimated_chance_is_never_zero(monkeypatch):
    @dataclass(frozen=True)
    class Sure(varts.Policy):
        label = "Sure"

        def choose(self, stats, t, rng):
            return 0

    monkeypatch.setitem(registry._registry, "sure", Sure)
    assert (allocation_of([A, B, C], policy="Sure").probabilities > 0).all()


@pytest.mark.statistical
def test_mean_variance_ts_is_estimated():
    """rho * theta - 1/tau has no closed form here; the arm of small variance wins more often."""
    allocation = allocation_of([A, B, C], policy=varts.MVTS(rho=2.0))
    choices = allocation.choose(IDS[:1500], NOBODY[:1500])
    arms = np.array([choice.arm for choice in choices])
    assert all(choice.estimated for choice in choices)
    rng = np.random.default_rng(fresh(2))  # by its definition, with another generator
    n, mean, m2 = moments([A, B, C])
    tau = rng.gamma(0.5 + n / 2, 1 / (0.5 + m2 / 2), (200_000, 3))
    theta = rng.normal(mean, 1 / np.sqrt(n), (200_000, 3))
    expected = np.bincount((2 * theta - 1 / tau).argmax(axis=1)) / 200_000
    assert frequency_p(arms, expected) > LIMIT
    assert frequency_p(arms, gaussian([A, B, C])) < LIMIT


def test_an_index_of_ones_own(monkeypatch):
    @dataclass(frozen=True)
    class Greedy(varts.IndexPolicy):
        label = "Greedy"
        bonus: float = 0.0

        @staticmethod
        def index(n, mean, m2, t, bonus):
            return mean + bonus * (n < 3)

    monkeypatch.setitem(registry._registry, "greedy", Greedy)
    plain = allocation_of([[1.0] * 4, [3.0] * 4, [2.5]], policy="greedy")
    curious = allocation_of([[1.0] * 4, [3.0] * 4, [2.5]], policy=Greedy(bonus=1.0))
    assert plain.probabilities.tolist() == [0, 1, 0]
    assert curious.probabilities.tolist() == [0, 0, 1]
    assert not plain.estimated


# ------------------------------------------------------------------------------ the random numbers


@pytest.mark.statistical
@pytest.mark.parametrize(("df", "wrong"), [(0.5, 0.6), (2, 3), (30, 6), (np.inf, 8)])
def test_draws_are_student_t(df, wrong):
    u = uniforms(fresh(9), CHOICE, [f"d{i}" for i in range(60_000)], 2)
    draws = StudentT([1.5], [2.0], [df]).at(u[:, :1], u[:, 1:])[:, 0]
    standard = (draws - 1.5) / 2.0
    assert stats.kstest(standard, stats.t(df).cdf if df < np.inf else stats.norm.cdf).pvalue > LIMIT
    assert stats.kstest(standard, stats.t(wrong).cdf).pvalue < LIMIT


@pytest.mark.statistical
def test_a_row_of_different_df_is_drawn_each_by_its_own():
    u = uniforms(fresh(10), CHOICE, [f"d{i}" for i in range(20_000)], 6)
    belief = StudentT([0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, np.inf, 5.0])
    draws = belief.at(u[:, :3], u[:, 3:])
    assert stats.kstest(draws[:, 0], stats.t(3).cdf).pvalue > LIMIT
    assert stats.kstest(draws[:, 1] / 2, stats.norm.cdf).pvalue > LIMIT
    assert (draws[:, 2] == 0).all()
    assert abs(stats.spearmanr(draws[:, 0], draws[:, 1]).statistic) < 5 / np.sqrt(20_000)


@pytest.mark.statistical
def test_numbers_of_an_id_are_uniform_and_its_own():
    u = uniforms(fresh(1), CHOICE, IDS, 4)
    for column in u.T:
        assert stats.kstest(column, "uniform").pvalue > LIMIT
        assert stats.kstest(column**1.1, "uniform").pvalue < LIMIT
    assert len(np.unique(u)) == u.size
    for other in (uniforms(fresh(2), CHOICE, IDS, 4), uniforms(fresh(1), b"toss", IDS, 4)):
        assert (other != u).all()
    assert (uniforms(fresh(1), CHOICE, IDS[500:510], 4) == u[500:510]).all()
    assert (uniforms(fresh(1), CHOICE, IDS[:10], 2) == u[:10, :2]).all()


def test_no_number_is_zero_or_one(monkeypatch):
    from varts.live.core import allocation

    class Extreme:
        byte = b"\x00"

        def __init__(self, data):
            pass

        def digest(self, size):
            return self.byte * size

    monkeypatch.setattr(allocation.hashlib, "shake_128", Extreme)
    for byte in (b"\x00", b"\xff"):
        monkeypatch.setattr(Extreme, "byte", byte)
        u = uniforms(1, CHOICE, ["d"], 3)
        assert (u > 0).all() and (u < 1).all()
        for options in ({}, {"floor": 0.3}, {"holdout": 0.5}, {"policy": "UCB1"}):
            for rewards in ([A, B, C], [[], [], []], [A, [], C]):
                allocation = allocation_of(rewards, **options)
                assert allocation.choose(["d"], [None])[0].arm in range(3)


# ------------------------------------------------------------------------------ alone or in company


@pytest.mark.parametrize("policy", ["VarTS", "TS14", "UCB1", "Bernoulli-TS", "MVTS"])
def test_a_decision_does_not_depend_on_its_company(policy):
    rewards = ONES if policy == "Bernoulli-TS" else [[0.5, 0.5, 0.1, 0.9], [], [0.5] * 4]
    allocation = allocation_of(rewards, policy=policy, floor=0.05, holdout=0.1)
    ids, units = IDS[:200], [None if i % 2 else f"u{i % 9}" for i in range(200)]
    together = allocation.choose(ids, units)
    assert len({choice.reason for choice in together}) >= 3
    alone = [allocation.choose([id], [unit])[0] for id, unit in zip(ids, units, strict=True)]
    assert alone == together
    backwards = allocation.choose(ids[::-1], units[::-1])
    assert backwards[::-1] == together
    another = allocation_of(rewards, policy=policy, floor=0.05, holdout=0.1)
    assert another.choose(ids, units) == together
    quick = another.choose(ids, units, exact=False)  # the same arms, only without probabilities
    assert [choice.arm for choice in quick] == [choice.arm for choice in together]
    elsewhere = allocation_of(rewards, seed=6, policy=policy, floor=0.05, holdout=0.1)
    assert elsewhere.choose(ids, units) != together


def test_a_paused_arm_leaves_the_choice_among_the_others_alone():
    """An arm keeps its own random numbers: without the last arm, who did not have it keeps his."""
    everyone = allocation_of([A, B, C], prior=NormalGamma(5, 1, 2, 1))
    without = allocation_of([A, B, C], prior=NormalGamma(5, 1, 2, 1), paused=[2])
    before, after = chosen(everyone, IDS[:2000]), chosen(without, IDS[:2000])
    assert (before[before != 2] == after[before != 2]).all()


# ------------------------------------------------------------------------------ mostly zero


def share_of_the_unlucky(policy, zeros, others):
    """The chance of an arm that has paid nothing yet, beside one that pays about 10 to a tenth."""
    other = [(8.0 + i % 7 * 2 / 3) * (i % 10 == 3) for i in range(others)]
    return allocation_of([[0.0] * zeros, other], policy=policy).probabilities[0]


@pytest.mark.parametrize("others", [200, 5000])
def test_an_arm_whose_first_rewards_are_zero_is_not_written_off(others):
    """It has the spread of the other's rewards. TS14, the control, believes in exactly 0."""
    for zeros, bound in ((2, 0.2), (4, 0.2), (10, 0.1), (20, 0.05)):
        assert share_of_the_unlucky("VarTS", zeros, others) > bound
        if zeros >= 4:
            assert share_of_the_unlucky("TS14", zeros, others) < 1e-5


def revenue(policy, seed, batches=20, size=100):
    """An arm that pays 10 to a third has long been served when one that pays 20 to a third joins,
    and has no luck at first. What part of the last five batches does the newcomer get?"""
    exp = varts.open("revenue", ["old"], store="memory://", seed=seed, policy=policy)
    rng, unlucky, late = np.random.default_rng(seed), 4, []
    for batch in range(batches):
        made = exp.decide_many(size, [f"{batch}/{i}" for i in range(size)])
        lucky, rewards = rng.random(size) < 1 / 3, {}
        for d, luck in zip(made, lucky.tolist(), strict=True):
            if d.arm == "new" and unlucky == 0 and batch == 4:
                continue  # of the first batch with both, only four rewards of the newcomer arrive
            rewards[d.id] = (
                (10.0 if d.arm == "old" else 20.0) * luck * (d.arm == "old" or not unlucky)
            )
            unlucky -= d.arm == "new" and unlucky > 0
        exp.reward_many(rewards)
        if batch == 3:
            exp.add_arm("new")
        late += [d.arm == "new" for d in made] if batch >= batches - 5 else []
    return float(np.mean(late))


def test_an_unlucky_newcomer_is_found_in_the_end():
    assert min(revenue("VarTS", seed) for seed in range(4)) > 0.5
    assert max(revenue("TS14", seed) for seed in range(4)) == 0.0  # the control
