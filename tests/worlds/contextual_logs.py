"""Logs of adaptive experiments with contexts, whose arms have known means, linear in two features.

LinearVarTS without a prior chooses from its beliefs about the unit, and a floor gives every arm a
minimum share. Rewards arrive together after every `BATCH` decisions. The probability of an arm is
how often it wins in `DRAWS` draws from the beliefs. The arm is then drawn with this probability, so
the logged probability is exact, no matter how few draws there were.
"""

from dataclasses import replace

import numpy as np

import varts
from varts.evaluation.decisions import Decisions

BATCH, DRAWS = 20, 100
FEATURES = varts.Features({"age": "number", "visits": "number"})
LEVEL = np.array([1.0, 1.2, 0.8])
SLOPES = np.array([[0.8, 0.0], [-0.8, 0.2], [0.0, 0.6]])
SDS = np.array([1.0, 0.5, 2.0])
ARMS = ("red", "green", "blue")


def means(x, bend=0.0):
    """The true mean of every arm for these units; `bend` adds a wave, so it is no longer linear."""
    return LEVEL + x @ SLOPES.T + bend * np.sin(3 * x[:, :1]) * np.array([1.0, -1.0, 0.0])


def play(rng, decisions=1000, floor=0.02, bend=0.0, sds=SDS):
    """The log of one experiment, with the probabilities of all arms."""
    K = len(ARMS)
    x = rng.normal(size=(decisions, 2))
    truth = means(x, bend)
    stats, policy = varts.LinearStats.empty(K, 2), varts.LinearVarTS()
    arm, reward = np.empty(decisions, dtype=np.int64), np.empty(decisions)
    chances = np.empty((decisions, K))
    for start in range(0, decisions, BATCH):
        rows = slice(start, start + BATCH)
        p = np.full((len(x[rows]), K), 1 / K)
        if stats.n.min() >= 2:
            belief = policy.belief_at(stats, x[rows])
            draws = belief.loc + belief.scale * rng.standard_t(belief.df, (DRAWS, *p.shape))
            best = draws.argmax(axis=2)[..., None] == np.arange(K)
            p = floor + (1 - K * floor) * best.mean(axis=0)
        chosen = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        arm[rows], chances[rows] = chosen, p
        reward[rows] = rng.normal(truth[rows][np.arange(len(p)), chosen], sds[chosen])
        stats = stats.observe(chosen, x[rows], reward[rows])
    row = np.arange(decisions)
    batch = (row // BATCH).astype(float)
    return Decisions(
        arms=ARMS,
        arm=arm,
        reward=reward,
        probability=chances[row, arm],
        known=batch - 1,
        settled=batch,
        unit=row,
        chances=chances,
        rows=decisions,
        features=FEATURES,
        x=x,
    )


def by_sign(x):
    """A fixed contextual policy: red above the average age, green below."""
    return np.where(x[:, :1] > 0, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


def without_contexts(log):
    """The log with wrong probabilities: an arm's average over its batch, ignoring the context."""
    batches = log.chances.reshape(-1, BATCH, len(log.arms)).mean(axis=1)
    average = np.repeat(batches, BATCH, axis=0)
    wrong = average[np.arange(len(log)), log.arm]
    return replace(log, probability=wrong, chances=None)


def value(shares, bend=0.0, units=2_000_000):
    """The true value of a policy, from `units` simulated units: the error is about 0.001."""
    x = np.random.default_rng(0).normal(size=(units, 2))
    return float((shares(x) * means(x, bend)).sum(axis=1).mean())
