"""Logs of experiments whose arms' means are known: VarTS without a prior, with a floor.

Rewards are late: they come after every `BATCH` decisions, so that beliefs and probabilities, which
are exact, need not be worked out for each of them.
"""

import numpy as np

import varts
from varts.evaluation.decisions import Decisions

BATCH = 20


def log_of(rng, means, sds, decisions=2000, floor=0.02, kind="gaussian"):
    """One log, with the probabilities of all arms."""
    K = len(means)
    n, mean, m2 = np.zeros(K), np.zeros(K), np.zeros(K)
    arm = np.empty(decisions, dtype=np.int64)
    reward, chances = np.empty(decisions), np.empty((decisions, K))
    for start in range(0, decisions, BATCH):
        rows = slice(start, start + BATCH)
        p = np.full(K, 1 / K)
        if n.min() >= 2:
            p = varts.VarTS().believed(varts.ArmStats(n, mean, m2)).p_best()
            p = floor + (1 - K * floor) * p
        chosen = rng.choice(K, size=BATCH, p=p / p.sum())
        arm[rows], chances[rows] = chosen, p
        reward[rows] = draw(rng, means[chosen], sds[chosen], kind)
        for a, y in zip(chosen, reward[rows], strict=True):
            n[a] += 1
            gap = y - mean[a]
            mean[a] += gap / n[a]
            m2[a] += gap * (y - mean[a])
    row = np.arange(decisions)
    batch = row // BATCH
    return Decisions(
        tuple("abcdefghij"[:K]),
        arm,
        reward,
        chances[row, arm],
        known=batch - 0.5,
        settled=batch.astype(float),
        unit=row,
        chances=chances,
        rows=decisions,
    )


def draw(rng, means, sds, kind):
    """Gaussian rewards, or revenue: one in twenty buys, for an exponential amount."""
    if kind == "gaussian":
        return rng.normal(means, sds)
    return means * 20 * (rng.random(len(means)) < 0.05) * rng.exponential(size=len(means))
