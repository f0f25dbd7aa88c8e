"""Stopping, checkpoints, traces, drift, features and fading, together."""

import numpy as np
import pytest

import varts
from varts import Fading, GaussianBandit, LinearVarTS, StopAtError, StopAtPBest, simulate, trace

DRIFT = varts.Steps(GaussianBandit(K=3), every=40)
CONTEXT = varts.LinearBandit(K=3, d=2)
PRIOR = LinearVarTS(CONTEXT.prior)
POLICIES = {"linear": LinearVarTS(), "VarTS": varts.VarTS(), "UCB1": varts.UCB1()}


class Never(varts.StopRule):
    @staticmethod
    def stops(t, n, mean, m2):
        return False


class Soon(varts.StopRule):
    @staticmethod
    def stops(t, n, mean, m2):
        return t >= 70


class Turns(varts.Policy):
    """In plain Python."""

    label = "Turns"

    def choose(self, stats, t, rng):
        return t % stats.K


def policies_for(problem):
    policies = {**POLICIES, "fading": Fading("VarTS", 60), "Turns": Turns()}
    if problem is CONTEXT:
        return {**policies, "fading linear": Fading(PRIOR, 60)}
    del policies["linear"]
    return policies


BOTH = pytest.mark.parametrize("problem", [DRIFT, CONTEXT], ids=["drift", "context"])


@BOTH
def test_a_rule_that_never_holds_changes_nothing(problem):
    policies = policies_for(problem)
    plain = simulate(problem, policies, 100, 12)
    for rule in (Never(), StopAtPBest(0.9999999)):
        study = simulate(problem, policies, 100, 12, stop=rule)
        for label in policies:
            ending = study.endings[label]
            if not ending.stopped.any():
                assert np.array_equal(study.final[label], plain.final[label])
                assert np.array_equal(study.best_share[label], plain.best_share[label])
                assert np.array_equal(study.regret[label], plain.regret[label])
                assert (ending.rounds == 100).all()
            assert isinstance(rule, StopAtPBest) or not ending.stopped.any()


@BOTH
def test_a_run_that_ends_early_has_the_regret_of_a_shorter_one(problem):
    policies = policies_for(problem)
    short = simulate(problem, policies, 70, 12)
    for threads in (1, 2):
        study = simulate(problem, policies, 100, 12, stop=Soon(), threads=threads)
        for label in policies:
            ending = study.endings[label]
            assert ending.stopped.all() and (ending.rounds == 70).all()
            assert np.array_equal(study.final[label], short.final[label])
            assert np.array_equal(study.best_share[label], short.best_share[label])
            assert study.regret[label][-1] == pytest.approx(short.final[label].mean())


def test_the_rule_with_a_guarantee_names_an_arm_where_it_stops():
    study = simulate(CONTEXT, ["VarTS", Turns()], 1500, 12, stop=StopAtError(0.1))
    ending = study.endings["Turns"]
    assert ending.stopped.sum() > 0 and (ending.rounds[~ending.stopped] == 1500).all()
    assert set(ending.arm.tolist()) <= {0, 1, 2}
    assert (ending.rounds[ending.stopped] < 1500).all()


@BOTH
def test_a_trace_is_the_run_of_the_study(problem):
    for label, policy in policies_for(problem).items():
        study = simulate(problem, {"it": policy}, 90, 10, seed=4, checkpoints=[20, 50])
        one = trace(problem, {"it": policy}, run=9, horizon=90, seed=4)
        regret, arm = one.rounds["regret"].to_numpy(), one.rounds["arm"].to_numpy()
        assert regret[-1] == study.final["it"][9], label
        assert np.array_equal(regret[[19, 49, 89]], study.results["it"].record.regret[9])
        assert np.array_equal(np.bincount(arm, minlength=3), study.pulls["it"][9])
        gap = one.arms["gap"].to_numpy().reshape(90, 3)
        assert np.cumsum(gap[np.arange(90), arm]) == pytest.approx(regret)


def test_checkpoints_do_not_change_a_study_with_features():
    plain = simulate(CONTEXT, POLICIES, 1200, 9)
    looked_at = simulate(CONTEXT, POLICIES, 1200, 9, checkpoints=[1, 1024, 1025])
    for label in POLICIES:
        assert np.array_equal(plain.final[label], looked_at.final[label])
        record = looked_at.results[label].record
        assert record.regret[:, -1] == pytest.approx(looked_at.final[label])
        assert (record.pulls.sum(axis=2) == [1, 1024, 1025, 1200]).all()
        assert (record.simple_regret >= 0).all()


def test_a_linear_policy_recommends_for_the_visitor():
    """By features its recommendation is closer to the best than the highest mean is: 64 runs, of
    which it must win the average. Fixed seed."""
    study = simulate(CONTEXT, POLICIES, 400, 64, checkpoints=[400])
    missed = {label: r.record.simple_regret[:, -1].mean() for label, r in study.results.items()}
    assert missed["linear"] < missed["VarTS"] / 2


def test_faded_regressions_are_those_of_weighted_rewards():
    """An endless half-life is none; a short one forgets and costs where nothing moves: 64 runs,
    fixed seed."""
    policies = {"plain": PRIOR, "endless": Fading(PRIOR, 1e12)}
    policies["short"] = Fading(PRIOR, 15)
    regret = {k: v.mean() for k, v in simulate(CONTEXT, policies, 150, 64).final.items()}
    assert regret["endless"] < 1.5 * regret["plain"] < regret["short"]
