"""Experiments to look at: real ones in memory, with rewards that are simulated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

import varts
from varts.serve.charts import Band
from varts.serve.pages import Viewer

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
ADMIN = Viewer("operator", frozenset({"admin"}))
READER = Viewer("finance", frozenset({"read"}))
BUYS = {"9": 0.5, "12": 0.45, "15": 0.25}


def price_paid(arm, rng):
    return float(arm) * (rng.random() < BUYS[arm])


def played(arms, pay, rounds, *, batches=1, seed=1, **options):
    """An experiment after so many decisions, all of them rewarded, and its history."""
    exp = varts.open("price", list(arms), store="memory://", seed=seed, **options)
    rng, frames, before = np.random.default_rng(seed), [], np.zeros(len(arms))
    for batch in range(batches):
        made = exp.decide_many(ids=[f"v{batch}-{i}" for i in range(rounds // batches)])
        exp.reward_many([(one.id, pay(one.arm, rng)) for one in made])
        found = exp.report()
        decided = found.frame["share"].to_numpy() * (batch + 1) * len(made)
        new, before = decided - before, decided
        frames.append(
            found.frame.select(
                pl.lit(NOW - timedelta(hours=batches - batch)).alias("time"),
                pl.lit(found.state.rewards).alias("rewards"),
                *("arm", "p_best", "expected_loss"),
                pl.Series("traffic", new / max(new.sum(), 1)),
            )
        )
    return exp, pl.concat(frames) if rounds else None


def shop(rounds=2000, batches=40, **options):
    """Three prices, with a floor and a stop rule."""
    given = {"floor": 0.05, "stop_p_best": 0.97, "holdout": 0.1, **options}
    return played(BUYS, price_paid, rounds, batches=batches, **given)


def gain_of(history):
    """A gain that grows, with a band, a number per checkpoint."""
    n = history["rewards"].unique(maintain_order=True).to_numpy().astype(float)
    return Band(0.6 * n - 40, 0.6 * n - 40 - 9 * np.sqrt(n), 0.6 * n - 40 + 9 * np.sqrt(n))
