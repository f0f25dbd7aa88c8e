"""Experiments to look at: real ones in memory, with rewards that are simulated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl

import varts
from varts.serve.web import Actor
from varts.serve.web.charts import Band

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
ADMIN = Actor("operator", frozenset({"admin"}))
READER = Actor("finance", frozenset({"read"}))
BUYS = {"9": 0.5, "12": 0.45, "15": 0.25}


class Scene(NamedTuple):
    """An experiment, its history and its gain over the holdout."""

    exp: varts.Experiment
    history: pl.DataFrame | None
    gain: Band | None


def price_paid(arm, rng):
    return float(arm) * (rng.random() < BUYS[arm])


def played(arms, pay, rounds, *, batches=1, seed=1, **options):
    """An experiment after so many decisions, all of them rewarded."""
    exp = varts.open("price", list(arms), store="memory://", seed=seed, **options)
    rng, frames, before = np.random.default_rng(seed), [], np.zeros(len(arms))
    paid, gains = {True: [], False: []}, []
    earned, nonzero = dict.fromkeys(arms, 0.0), dict.fromkeys(arms, 0)
    for batch in range(batches):
        made = exp.decide_many(ids=[f"v{batch}-{i}" for i in range(rounds // batches)])
        rewards = [(one, pay(one.arm, rng)) for one in made]
        exp.reward_many([(one.id, value) for one, value in rewards])
        for one, value in rewards:
            paid[one.reason == "holdout"].append(value)
            earned[one.arm] += value
            nonzero[one.arm] += value != 0
        gains.append(gain_over(paid[False], paid[True]))
        found = exp.report()
        decided = found.frame["share"].to_numpy() * (batch + 1) * len(made)
        new, before = decided - before, decided
        frames.append(
            found.frame.select(
                pl.lit(NOW - timedelta(hours=batches - batch)).alias("time"),
                pl.lit(found.state.rewards).alias("rewards"),
                *("arm", "p_best", "expected_loss", "n"),
                pl.Series("traffic", new / max(new.sum(), 1)),
                pl.Series("cumulative_reward", [earned[arm] for arm in arms]),
                pl.Series("nonzero", [nonzero[arm] for arm in arms]),
                pl.lit(0).alias("aggregated"),
            )
        )
    band = Band(*np.array(gains).T) if paid[True] else None
    return Scene(exp, pl.concat(frames) if rounds else None, band)


def gain_over(rest, holdout):
    """What all decisions outside the holdout gained, with a 95 % interval of normal theory."""
    if len(holdout) < 2:
        return np.nan, np.nan, np.nan
    error = np.sqrt(np.var(rest, ddof=1) / len(rest) + np.var(holdout, ddof=1) / len(holdout))
    gap = np.mean(rest) - np.mean(holdout)
    return tuple(len(rest) * (gap + k * error) for k in (0, -1.96, 1.96))


def shop(rounds=2000, batches=40, **options):
    """Three prices, with a floor, a holdout and a stop rule."""
    given = {"floor": 0.05, "stop_p_best": 0.97, "holdout": 0.1, **options}
    return played(BUYS, price_paid, rounds, batches=batches, **given)
