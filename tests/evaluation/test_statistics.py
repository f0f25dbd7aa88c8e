"""300 adaptive logs with known means: what is said to be unbiased is, and intervals hold.

VarTS without a prior, floor 0.02, five arms with Gaussian rewards, one of them better by 0.2 sd,
2,000 decisions, rewards late by up to 20. Every log gives one number, so the 300 numbers are
independent, and their mean may be 4 standard errors from what is promised: each such test has a
false-alarm rate of 6e-5. The controls are the same tests on something wrong, and fail.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from tests.seeds import fresh
from tests.worlds.adaptive_logs import play
from varts._intervals import standard_error
from varts.evaluation.scores import Scores

pytestmark = [pytest.mark.statistical, pytest.mark.when_changed("src/varts/evaluation")]

LOGS, MEANS, Z = 300, np.array([1.0, 1.0, 1.0, 1.0, 1.2]), 1.959963984540054
EVEN = np.full(5, 0.2)


@pytest.fixture(scope="module")
def logs():
    return [play(np.random.default_rng([fresh(7), run]), MEANS) for run in range(LOGS)]


@pytest.fixture(scope="module")
def scores(logs):
    """As of exported logs, which have the probability of the chosen arm alone."""
    return [Scores(replace(log, chances=None)) for log in logs]


def errors_from(promised, numbers):
    """How many standard errors the mean is away from it."""
    numbers = np.array(numbers)
    return abs(numbers.mean() - promised) / standard_error(numbers)


def naive_mean(log, arm):
    return log.reward[log.arm == arm].mean()


@pytest.mark.parametrize("name", ["doubly_robust", "inverse_probability"])
def test_arm_means_are_unbiased(scores, name):
    means = [[getattr(one, name)(shares).value for shares in np.eye(5)] for one in scores]
    assert errors_from(0, (np.array(means) - MEANS).mean(axis=1)) < 4


def test_the_naive_mean_is_biased_downwards(logs):
    """The control."""
    gaps = [np.mean([naive_mean(log, a) - MEANS[a] for a in range(5)]) for log in logs]
    assert errors_from(0, gaps) > 6
    assert np.mean(gaps) < 0


def test_adaptive_means_have_half_the_bias_of_naive_ones(logs, scores):
    """Not unbiased, and said to be not: a difference within each log, 4 standard errors clear."""
    gaps = np.array(
        [
            np.mean(
                [
                    (one.adaptive_mean(a).value - MEANS[a])
                    - 0.75 * (naive_mean(one.log, a) - MEANS[a])
                    for a in range(5)
                ]
            )
            for one in scores
        ]
    )
    assert gaps.mean() > 4 * standard_error(gaps)


def coverage(found, truth, log, factor=1.0):
    return abs(found.value - truth) <= factor * Z * found.standard_error(log.unit)


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.8, False)])
def test_intervals_hold(scores, factor, holds):
    """At least 95 % less 1.5, which normal intervals on heavy scores lack; narrower ones do not."""
    for name in ("adaptive", "doubly_robust"):
        shares = [
            np.mean(
                [
                    coverage(getattr(one, name)(np.eye(5)[a]), MEANS[a], one.log, factor)
                    for a in range(5)
                ]
            )
            for one in scores
        ]
        enough = np.mean(shares) + 4 * standard_error(np.array(shares)) > 0.935
        too_many = np.mean(shares) - 4 * standard_error(np.array(shares)) > 0.965
        assert not too_many
        if holds:
            assert enough, name
        else:
            assert np.mean(shares) < 0.925, name


def test_mixtures_are_unbiased_and_their_weights_are_1(scores):
    values = [one.doubly_robust(EVEN).value for one in scores]
    assert errors_from(MEANS.mean(), values) < 4
    assert errors_from(1, [one.weights(EVEN).mean() for one in scores]) < 4


def test_wrong_probabilities_show(logs):
    """The control: those of the decision before, a batch behind where the belief has moved."""
    gaps = []
    for log in logs:
        behind = np.roll(log.chances, 20, axis=0)[np.arange(len(log)), log.arm]
        gaps.append(Scores(replace(log, chances=None, probability=behind)).weights(EVEN).mean())
    assert errors_from(1, gaps) > 6


def test_the_difference_of_two_arms_holds(scores):
    shares = [
        coverage(one.adaptive_mean(4).minus(one.adaptive_mean(0)), 0.2, one.log) for one in scores
    ]
    assert LOGS - np.sum(shares) <= binom.isf(6e-5, LOGS, 0.05)  # 31 misses
