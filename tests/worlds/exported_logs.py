"""Two live experiments with prices and a log from another system, each written to a CSV file.

At each of the three prices a known share of the visitors buys. The other system's arms earn revenue
with known means: few visitors buy, and what they pay is exponential. The live experiments have
rules 1: the numbers that others have computed from these logs are kept in a file.
"""

import random
from collections import deque

import numpy as np
import polars as pl

import varts
from tests.worlds.adaptive_logs import play

PRICES = ["9", "12", "15"]
BUYS = {"9": 0.5, "12": 0.45, "15": 0.25}
ARMS = [f"arm {a}" for a in range(5)]  # those of `play`


def late_rewards(path):
    """A live experiment whose rewards come after up to 60 further decisions, one in ten never."""
    shop = random.Random(1)
    exp = varts.open("price", PRICES, store="memory://", seed=1, floor=0.05, rules=1)
    waiting = deque()
    for i in range(2000):
        decision = exp.decide(id=f"visit-{i}")
        if shop.random() < 0.9:
            paid = float(decision.arm) * (shop.random() < BUYS[decision.arm])
            waiting.append((i + shop.randint(0, 60), decision.id, paid))
        for due in [one for one in waiting if one[0] <= i]:
            waiting.remove(due)
            exp.reward(*due[1:])
    exp.export(path)


def sticky_units(path):
    """A live experiment in which 700 visitors come back and keep their price."""
    shop = random.Random(2)
    exp = varts.open("price", PRICES, store="memory://", seed=2, floor=0.05, sticky=True, rules=1)
    for i in range(2000):
        decision = exp.decide(id=f"visit-{i}", unit=f"user-{shop.randrange(700)}")
        exp.reward(decision.id, float(decision.arm) * (shop.random() < BUYS[decision.arm]))
    exp.export(path)


def revenue(path):
    """A log of another system, with the probabilities of all arms; rewards come in batches."""
    log = play(np.random.default_rng(3), np.array([1.0] * 4 + [1.2]), "revenue", 5000)
    pl.DataFrame(
        {
            "arm": [ARMS[a] for a in log.arm],
            "value": log.reward,
            "probability": log.probability,
            "version": log.known.astype(int) + 1,
            "settled_version": log.settled.astype(int) + 1,
            **{f"p {arm}": log.chances[:, a] for a, arm in enumerate(ARMS)},
        }
    ).write_csv(path)


LOGS = {"late rewards": late_rewards, "sticky units": sticky_units, "revenue": revenue}
