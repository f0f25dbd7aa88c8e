"""Logs of adaptive experiments without contexts, whose arms have known means.

VarTS without a prior chooses, and a floor gives every arm a minimum share. Rewards are Gaussian, or
revenue from a few buyers. They arrive together after every `BATCH` decisions, so the exact
probabilities of the arms change only once per batch.
"""

import math

import numpy as np

import varts
from varts.evaluation.decisions import Decisions

BATCH = 20
BUYERS = 0.05  # of the visitors of a shop; what they pay is exponential


def draw(rng, means, kind):
    """Rewards with a standard deviation of 1, or revenue with these means."""
    if kind == "gaussian":
        return rng.normal(means)
    buys = rng.random(len(means)) < BUYERS
    return means / BUYERS * buys * rng.exponential(size=len(means))


def sd_of(mean, kind):
    return 1.0 if kind == "gaussian" else mean * math.sqrt(2 / BUYERS - 1)


def play(rng, means, kind="gaussian", decisions=2000, floor=0.02):
    """The log of one experiment, with the probabilities of all arms."""
    K = len(means)
    n, mean, m2 = np.zeros(K), np.zeros(K), np.zeros(K)
    arm = np.empty(decisions, dtype=np.int64)
    reward, chances = np.empty(decisions), np.empty((decisions, K))
    policy = varts.VarTS()
    for start in range(0, decisions, BATCH):
        rows = slice(start, start + BATCH)
        p = np.full(K, 1 / K)
        if n.min() >= 2 and m2.sum() > 0:
            p = floor + (1 - K * floor) * policy._belief(varts.ArmStats(n, mean, m2)).p_best()
        chosen = rng.choice(K, size=BATCH, p=p / p.sum())
        arm[rows], chances[rows] = chosen, p
        reward[rows] = draw(rng, means[chosen], kind)
        for a, y in zip(chosen, reward[rows], strict=True):
            n[a] += 1
            gap = y - mean[a]
            mean[a] += gap / n[a]
            m2[a] += gap * (y - mean[a])
    row = np.arange(decisions)
    batch = (row // BATCH).astype(float)
    return Decisions(
        arms=tuple(f"arm {a}" for a in range(K)),
        arm=arm,
        reward=reward,
        probability=chances[row, arm],
        known=batch - 1,
        settled=batch,
        unit=row,
        chances=chances,
        rows=decisions,
    )
