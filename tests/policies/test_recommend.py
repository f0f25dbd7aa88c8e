"""A policy may recommend an arm itself; most leave it to the study."""

import numpy as np
import pytest

import varts
from varts import ArmStats, SequentialHalving
from varts.simulation.results import recommend_arms, score_arms


def test_halving_recommends_in_a_study_what_its_method_says():
    """A study asks for all runs at once; the method is the definition."""
    rng = np.random.default_rng(4)
    n, mean = rng.integers(1, 4, (200, 5)) * 1.0, rng.normal(size=(200, 5))
    scores = score_arms(SequentialHalving(40), n, mean, np.ones((200, 5)), by="mean")
    arms = recommend_arms(scores, n, np.arange(200))
    rows = zip(n, mean, strict=True)
    said = [SequentialHalving(40).recommend(ArmStats(*row, np.ones(5))) for row in rows]
    assert arms.tolist() == said


class Last(SequentialHalving):
    """Halving that recommends the last arm, whatever the rewards."""

    def recommend(self, stats):
        return stats.K - 1


class Rarest(varts.UCB1):
    """UCB1 that recommends the arm with the fewest pulls, or leaves it if they are even."""

    def recommend(self, stats):
        return None if np.ptp(stats.n) == 0 else stats.n.argmin()


@pytest.mark.parametrize("by", ["mean", "belief"])
def test_a_policy_that_recommends_is_asked(by):
    problem = varts.GaussianBandit.fixed([0, 0.1, 0.2], 1.0)
    policies = {"last": Last(40), "rarest": Rarest(), "fading": varts.Fading(Last(40), None)}
    study = varts.simulate(problem, policies, 40, 16, checkpoints=[3, 10, 40], recommend=by)
    assert (study.recommended["last"] == 2).all() and (study.recommended["fading"] == 2).all()
    pulls, arms = study.pulls["rarest"], study.recommended["rarest"]
    assert (arms[:, -1] == pulls.argmin(axis=1)).all()
    plain = varts.simulate(problem, "UCB1", 40, 16, checkpoints=[3, 10, 40], recommend=by)
    even = arms[:, 0]  # after one pull each it leaves the choice to the study
    assert (even == plain.recommended["UCB1"][:, 0]).all()


def test_a_policy_that_recommends_is_asked_where_a_rule_may_stop():
    problem = varts.GaussianBandit.fixed([0.0, 0.0, 0.0], 1.0)
    policies = {"last": Last(40), "halving": SequentialHalving(40)}
    study = varts.simulate(problem, policies, 40, 8, stop=varts.StopAtError(1e-9))
    assert not any(ending.stopped.any() for ending in study.endings.values())
    assert (study.endings["last"].arm == 2).all()
    assert (study.endings["halving"].arm != 2).any()


def test_a_recommended_arm_must_be_one():
    class Wrong(varts.UCB1):
        def recommend(self, stats):
            return stats.K

    problem = varts.GaussianBandit.fixed([0, 0.1, 0.2], 1.0)
    with pytest.raises(ValueError, match="UCB1 must choose an arm from 0 to 2, got 3"):
        varts.simulate(problem, Wrong(), 40, 8, checkpoints=[40])


def test_most_policies_leave_the_recommendation_to_the_caller():
    stats = ArmStats([4, 9], [0.5, 0.25], [1.0, 0.09])
    assert varts.VarTS().recommend(stats) is None is varts.UCB1().recommend(stats)
