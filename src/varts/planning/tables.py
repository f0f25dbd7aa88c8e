"""The tables of a plan, from what was simulated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from varts._intervals import mean_interval, quantile_interval, share_interval, t_factor
from varts._validation import Floats
from varts.planning.comparators import ASSUMES, EVEN, MAIN, RIGHT, finite_mean_sd
from varts.planning.identification import Watched
from varts.priors import NormalGamma
from varts.simulation.study import Study

SURE = (0.90, 0.95, 0.99)  # levels of P(best) that are reported
CURVE_POINTS = 100  # of a regret curve that a plan keeps

_F, _S, _I = pl.Float64, pl.String, pl.Int64
SCHEMAS: dict[str, dict[str, Any]] = {
    "table": {
        "policy": _S, "regret": _F, "regret_low": _F, "regret_high": _F, "median": _F, "q95": _F,
        "reward": _F, "reward_low": _F, "reward_high": _F,
        "inferior": _F, "inferior_low": _F, "inferior_high": _F,
        "difference": _F, "difference_low": _F, "difference_high": _F, "assumes": _S,
    },
    "sure": {
        "policy": _S, "level": _F, "reached": _F, "reached_low": _F, "reached_high": _F,
        "q25": _I, "median": _I, "median_low": _I, "median_high": _I, "q75": _I,
        "right": _F, "right_low": _F, "right_high": _F,
    },
    "identified": {
        "policy": _S, "round": _I, "p_best": _F, "identified": _F,
        "identified_low": _F, "identified_high": _F, "loss": _F, "loss_low": _F, "loss_high": _F,
    },
    "wrong": {
        "prior": _S, "regret": _F, "extra": _F, "extra_low": _F, "extra_high": _F,
        "relative": _F, "q95": _F, "p_best": _F,
        "identified": _F, "identified_low": _F, "identified_high": _F,
    },
    "arms": {"arm": _S, "mu": _F, "mean_sd": _F, "p_best": _F},
    "curves": {"policy": _S, "round": _I, "regret": _F, "regret_low": _F, "regret_high": _F},
}  # fmt: skip


def policy_table(study: Study, labels: list[str], inner: NormalGamma, goal: str) -> pl.DataFrame:
    belief = inner.belief()
    # E[max of the means], by quadrature: the reward then needs no simulated instances of its own
    # and is as precise as the regret.
    best = float(belief.expected_loss()[0] + belief.loc[0]) * study.horizon
    sign = 1.0 if goal == "max" else -1.0
    rows = []
    for label in labels:
        regret = study.final[label]
        mean, low, high = mean_interval(regret)
        rewards = sorted(sign * (best - x) for x in (low, high))
        against = mean_interval(regret - study.final[MAIN])
        inferior = mean_interval(1 - study.best_share[label])
        row = [mean, low, high, *np.quantile(regret, [0.5, 0.95]), sign * (best - mean), *rewards]
        row += [inferior[0], max(inferior[1], 0.0), min(inferior[2], 1.0)]
        row += [None] * 3 if label == MAIN else against
        rows.append([label, *row, ASSUMES.get(label)])
    return _frame("table", rows).sort(
        pl.col("policy") != MAIN, pl.col("policy") == EVEN, "regret", maintain_order=True
    )


def sure_table(seen: Mapping[str, Watched]) -> pl.DataFrame:
    rows = []
    for label, one in seen.items():
        for level in SURE:
            times, right = one.times(level), one.right(level)
            n, hits = times.size, right.size
            quartiles = [whole(quantile_interval(times, q)[0]) for q in (0.25, 0.75)]
            median = [whole(x) for x in quantile_interval(times, 0.5)]
            good: list[float | None] = [None] * 3
            if hits:
                good = list(share_interval(float(right.sum()), hits))
            reached = share_interval(hits, n)
            rows.append([label, level, *reached, quartiles[0], *median, quartiles[1], *good])
    return _frame("sure", rows)


def identified_table(seen: Mapping[str, Watched]) -> pl.DataFrame:
    rows = []
    for label, one in seen.items():
        for column, n in enumerate(one.rounds):
            loss = mean_interval(one.gap[:, column])
            rows.append([label, n, one.p[:, column].mean(), *one.found(column), *loss])
    return _frame("identified", rows).with_columns(pl.col("loss_low").clip(0))


def wrong_table(study: Study, told: Mapping[str, Watched]) -> pl.DataFrame:
    right = study.final[MAIN]
    rows: list[list[Any]] = []
    for what, end in told.items():
        regret = right if what == RIGHT else study.final[what]
        extra: list[float | None] = [None] * 4
        if what != RIGHT:
            mean, low, high = mean_interval(regret - right)
            extra = [mean, low, high, mean / right.mean() if right.mean() > 0 else None]
        found = end.found(0)
        rows.append([what, regret.mean(), *extra, np.quantile(regret, 0.95), end.p.mean(), *found])
    return _frame("wrong", rows)


def arm_table(
    given: NormalGamma, inner: NormalGamma, names: tuple[str, ...] | None
) -> pl.DataFrame:
    K = given.mu.size
    labels = names or [str(i + 1) for i in range(K)]
    chances = inner.belief().p_best()
    return _frame("arms", zip(labels, given.mu, finite_mean_sd(given), chances, strict=True))


def curve_table(study: Study, labels: list[str]) -> pl.DataFrame:
    step = -(-len(study.rounds) // CURVE_POINTS)
    at = np.arange((len(study.rounds) - 1) % step, len(study.rounds), step)  # the last is there
    factor = t_factor(study.runs)
    rows = []
    for label in labels:
        regret, half = study.regret[label][at], factor * study.se[label][at]
        for n, middle, width in zip(study.rounds[at], regret, half, strict=True):
            rows.append([label, n, middle, middle - width, middle + width])
    return _frame("curves", rows)


# --------------------------------------------------------------------------------------- numbers


def below(rounds: Any, regret: Floats, x: float) -> int | None:
    """The round from which on the regret a round is at most x."""
    above = np.flatnonzero(regret > x * rounds)
    if above.size == 0:
        return int(rounds[0])
    return None if above[-1] == len(rounds) - 1 else int(rounds[above[-1] + 1])


def whole(x: float) -> int | None:
    """A round; None for one that was not seen. No round is below 0: a limit of -inf says no more.

    >>> whole(7.0), whole(-math.inf), whole(math.inf)
    (7, 0, None)
    """
    x = max(x, 0.0)
    return int(x) if math.isfinite(x) else None


def _frame(name: str, rows: Iterable[Any]) -> pl.DataFrame:
    """A table with the columns of SCHEMAS; a number that does not exist becomes null."""
    return pl.DataFrame([list(map(_exists, row)) for row in rows], SCHEMAS[name], orient="row")


def _exists(x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    return None if isinstance(x, float) and not math.isfinite(x) else x
