"""Runs that are followed: the statistics in their course, and P(best) that keeps its word."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import varts
from tests.endings import endings_of
from tests.planning.shared import PRIOR
from tests.seeds import fresh
from varts import GaussianBandit, VarTS
from varts.planning.comparators import make_policies, make_wrong_priors
from varts.planning.identification import Identification, SimulatedRuns, space_checkpoints
from varts.simulation.engine.work import Work

# ----------------------------------------------------------- the statistics in the middle of a run


def work(policy, horizon, seed=0, runs=24, K=4):
    problem = GaussianBandit(PRIOR, K=K)
    return Work(problem, {"it": policy}, horizon, runs, seed, np.array([horizon]))


def endings(policy, horizon, **options):
    made = work(policy, horizon, **options)
    return [end for block in range(made.blocks) for end in endings_of(made, "it", block)]


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


@pytest.mark.statistical
def test_statistics_only_grow_and_are_those_of_rewards():
    """Means lie about the truth: 4 arms x 24 runs, z < 5 (false alarms below 6e-5)."""
    seed = fresh(0)
    early, later = (endings(VarTS(PRIOR), rounds, seed=seed) for rounds in (40, 400))
    for (truth, before), (same, after) in zip(early, later, strict=True):
        assert (truth == same).all()
        assert (before.n <= after.n).all() and (before.m2 <= after.m2).all()
    even = endings(varts.EvenSplit(), 4000, seed=seed)
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


# ------------------------------------------------------------------------ many questions at once


def one_by_one(policy, judge, rounds, runs, K, seed=0):
    """P(best) of the recommended arm and what it loses, of a run that ends there, asked alone."""
    p_best, loss = np.empty((2, runs, len(rounds)))
    for column, n in enumerate(rounds):
        made = work(policy, max(n, 1), seed=seed, runs=runs, K=K)
        ends = [end for block in range(made.blocks) for end in endings_of(made, "it", block)]
        for run, (truth, stats) in enumerate(ends):
            known = stats if n > 0 else varts.ArmStats.empty(K)
            chances = VarTS(judge)._belief(known).p_best()
            arm = chances.argmax()
            p_best[run, column], loss[run, column] = chances[arm], truth.max() - truth[arm]
    return p_best, loss


@pytest.mark.parametrize("K", [1, 3, 10, 120])  # from 100 on a row at a time
@pytest.mark.parametrize("policy", [VarTS(PRIOR), varts.EvenSplit()], ids=repr)
def test_runs_asked_together_say_what_each_says_alone(policy, K):
    rounds = np.array([0, 1, 2 * K, 300])
    runs = SimulatedRuns(GaussianBandit(PRIOR, K=K), policy, PRIOR.for_arms(K), 21)
    seen = runs.identify(rounds)
    p_best, loss = one_by_one(policy, PRIOR, rounds, 21, K)
    assert np.abs(seen.p_best - p_best).max() < 1e-12
    assert np.array_equal(seen.simple_regret, loss)
    if K > 1:  # the control: other runs
        assert np.abs(seen.p_best - one_by_one(policy, PRIOR, rounds, 21, K, 1)[0]).max() > 1e-3


def test_threads_change_no_bit_and_runs_that_are_not_asked_are_nan():
    rounds, right = space_checkpoints(5, 100), PRIOR.for_arms(5)
    runs = SimulatedRuns(GaussianBandit(right), VarTS(right), right, 70)
    one, three = (replace(runs, threads=n).identify(rounds) for n in (1, 3))
    assert one.p_best.tobytes() == three.p_best.tobytes()
    assert one.simple_regret.tobytes() == three.simple_regret.tobytes()
    some = np.arange(70) % 9 == 4
    few = runs.identify(rounds, only=some)
    assert np.isnan(few.p_best[~some]).all() and np.isnan(few.simple_regret[~some]).all()
    assert np.abs(few.p_best[some] - one.p_best[some]).max() < 1e-12
    assert np.array_equal(few.simple_regret[some], one.simple_regret[some])
    none = runs.identify(rounds, only=np.zeros(70, dtype=bool))
    assert np.isnan(none.p_best).all()


# -------------------------------------------------------------------------------------- calibration


def simulated_runs(judge, policy=None, seed=3, K=5, runs=400):
    right = PRIOR.for_arms(K)
    return SimulatedRuns(GaussianBandit(right), policy or VarTS(judge), judge, runs, fresh(seed))


def surplus(p, right):
    """How many standard deviations more often right than P(best) says."""
    return (right - p).sum() / np.sqrt((p * (1 - p)).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.parametrize("label", ["VarTS", "Even-Split", "VarTS, no prior"])
def test_p_best_is_right_as_often_as_it_says(label, n):
    """|z| < 5: with 6 tests a false-alarm rate of 4e-6. The prior is that of the arms; who plays
    does not matter, as a posterior depends on the rewards alone."""
    right = PRIOR.for_arms(5)
    seen = simulated_runs(right, make_policies(right, "max")[label]).identify(np.array([n]))
    assert abs(surplus(seen.p_best[:, 0], seen.simple_regret[:, 0] == 0)) < 5


@pytest.mark.statistical
def test_p_best_is_right_when_one_stops_as_soon_as_it_is_high():
    """Looking often does not break it: |z| < 5, a false-alarm rate of 6e-7."""
    seen = simulated_runs(PRIOR.for_arms(5)).identify(space_checkpoints(5, 150)[::3])
    at = seen.first_passage(0.8)
    rows = np.flatnonzero(at >= 0)
    assert rows.size > 100
    assert abs(surplus(seen.p_best[rows, at[rows]], seen.is_right(0.8))) < 5
    assert seen.is_right(0.8).mean() > 0.75


@pytest.mark.statistical
@pytest.mark.parametrize("what", ["variance 10x too small", "means 1 sd too low"])
def test_a_wrong_prior_is_found_out(what):
    """The negative control: it claims too much, z < -5; in twice as many runs, as z varies by 1."""
    seen = simulated_runs(make_wrong_priors(PRIOR.for_arms(5))[what], runs=800).identify(
        np.array([150])
    )
    assert surplus(seen.p_best[:, 0], seen.simple_regret[:, 0] == 0) < -5


# ------------------------------------------------------------------------------- checkpoints


def test_first_passages():
    seen = Identification(
        np.array([0, 5, 9]),
        np.array([[0.5, 0.95, 0.6], [0.5, 0.6, 0.7], [0.99, 0.2, 0.99]]),
        np.array([[0, 1.5, 0], [0, 0, 0], [0, 0, 2.0]]),
    )
    assert seen.passage_times(0.9).tolist() == [5, np.inf, 0]
    assert seen.is_right(0.9).tolist() == [False, True]
    assert seen.share_identified(2)[0] == pytest.approx(2 / 3)


def test_checkpoints_are_close_together():
    for K, horizon in ((1, 1), (10, 5), (10, 2000), (1000, 50), (2, 10**6)):
        when = space_checkpoints(K, horizon)
        assert when[0] == 0 and when[-1] == horizon and (np.diff(when) > 0).all()
        assert all(b <= 1.33 * a + 1 for a, b in pairwise(when[1:]))
