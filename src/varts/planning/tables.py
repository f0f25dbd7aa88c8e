"""The tables of a plan, from what was simulated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from varts._intervals import mean_interval, quantile_interval, share_interval, t_factor
from varts.planning.comparators import ASSUMES, EVEN, MAIN, RIGHT, finite_mean_sd
from varts.planning.identification import Identification
from varts.priors import NormalGamma
from varts.simulation.study import Study

SURE_LEVELS = (0.90, 0.95, 0.99)  # of P(best) that are reported
POINTS_PER_CURVE = 100  # that a plan keeps of a regret curve

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
    "recorded": {
        "policy": _S, "regret": _F, "regret_low": _F, "regret_high": _F, "median": _F, "q95": _F,
        "reward": _F, "inferior": _F, "normal": _F, "normal_low": _F, "normal_high": _F,
        "prior": _F, "assumes": _S,
    },
    "recorded_arms": {"arm": _S, "n": _I, "mean": _F, "sd": _F, "zeros": _F, "kurtosis": _F},
    "curves": {"policy": _S, "round": _I, "regret": _F, "regret_low": _F, "regret_high": _F},
    "certainty": {
        "policy": _S, "stopped": _F, "median": _I, "q95": _I,
        "wrong": _F, "wrong_low": _F, "wrong_high": _F,
        "regret": _F, "regret_low": _F, "regret_high": _F,
    },
    "half_lives": {
        "half_life": _I, "regret": _F, "regret_low": _F, "regret_high": _F,
        "difference": _F, "difference_low": _F, "difference_high": _F,
        "still": _F, "still_low": _F, "still_high": _F,
        "cost": _F, "cost_low": _F, "cost_high": _F,
    },
}  # fmt: skip
SCHEMAS["recorded_sure"] = SCHEMAS["sure"]
OPTIONAL = ("recorded", "recorded_sure", "recorded_arms")  # in a plan without recorded rewards


def policy_table(study: Study, labels: list[str], inner: NormalGamma, goal: str) -> pl.DataFrame:
    """Regret and reward of each policy; `inner` is the prior for which more is better."""
    belief = inner.belief()
    # E[max of the means] by quadrature: the reward is then as precise as the regret.
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
    return make_frame("table", rows).sort(
        pl.col("policy") != MAIN, pl.col("policy") == EVEN, "regret", maintain_order=True
    )


def sure_table(identifications: Mapping[str, Identification]) -> pl.DataFrame:
    """How many rounds each policy needs to be sure, and how often it is right then."""
    rows = []
    for label, one in identifications.items():
        for level in SURE_LEVELS:
            times, is_right = one.passage_times(level), one.is_right(level)
            n, hits = times.size, is_right.size
            quartiles = [round_or_none(quantile_interval(times, q).value) for q in (0.25, 0.75)]
            median = [round_or_none(x) for x in quantile_interval(times, 0.5)]
            right: list[float | None] = [None] * 3
            if hits:
                right = list(share_interval(float(is_right.sum()), hits))
            reached = share_interval(hits, n)
            rows.append([label, level, *reached, quartiles[0], *median, quartiles[1], *right])
    return make_frame("sure", rows)


def identified_table(identifications: Mapping[str, Identification]) -> pl.DataFrame:
    """The recommended arm of each policy at every checkpoint."""
    rows = []
    for label, one in identifications.items():
        for column, n in enumerate(one.rounds):
            loss = mean_interval(one.simple_regret[:, column])
            p_best = one.p_best[:, column].mean()
            rows.append([label, n, p_best, *one.share_identified(column), *loss])
    return make_frame("identified", rows).with_columns(pl.col("loss_low").clip(0))


def wrong_table(study: Study, at_end: Mapping[str, Identification]) -> pl.DataFrame:
    """What VarTS pays for each wrong prior, and the arm that it recommends in the end."""
    right = study.final[MAIN]
    rows: list[list[Any]] = []
    for what, end in at_end.items():
        regret = right if what == RIGHT else study.final[what]
        extra: list[float | None] = [None] * 4
        if what != RIGHT:
            mean, low, high = mean_interval(regret - right)
            extra = [mean, low, high, mean / right.mean() if right.mean() > 0 else None]
        q95, p_best = np.quantile(regret, 0.95), end.p_best.mean()
        rows.append([what, regret.mean(), *extra, q95, p_best, *end.share_identified(0)])
    return make_frame("wrong", rows)


def arm_table(
    given: NormalGamma, inner: NormalGamma, names: tuple[str, ...] | None
) -> pl.DataFrame:
    """What the prior says about every arm; `inner` is the one for which more is better."""
    K = given.mu.size
    labels = names or [str(i + 1) for i in range(K)]
    chances = inner.belief().p_best()
    return make_frame("arms", zip(labels, given.mu, finite_mean_sd(given), chances, strict=True))


def curve_table(study: Study, labels: list[str]) -> pl.DataFrame:
    """The regret of each policy over the rounds."""
    step = -(-len(study.rounds) // POINTS_PER_CURVE)
    at = np.arange((len(study.rounds) - 1) % step, len(study.rounds), step)  # with the last one
    factor = t_factor(study.runs)
    rows = []
    for label in labels:
        regret, half = study.regret[label][at], factor * study.se[label][at]
        for n, middle, width in zip(study.rounds[at], regret, half, strict=True):
            rows.append([label, n, middle, middle - width, middle + width])
    return make_frame("curves", rows)


def half_life_table(drifting: Study, still: Study, half_lives: Sequence[int]) -> pl.DataFrame:
    """Regret by half-life, none first: under drift and, for comparison, without any."""
    rows: list[list[Any]] = []
    for label, half_life in zip(drifting.labels, [None, *half_lives], strict=True):
        row: list[Any] = [half_life]
        for study in (drifting, still):
            regret = study.final[label]
            against = mean_interval(regret - study.final[drifting.labels[0]])
            row += [*mean_interval(regret), *([None] * 3 if half_life is None else against)]
        rows.append(row)
    return make_frame("half_lives", rows)


# --------------------------------------------------------------------------------------- numbers


def round_or_none(x: float) -> int | None:
    """A number of rounds; None for infinity. A lower limit of -inf is round 0.

    >>> round_or_none(7.0), round_or_none(-math.inf), round_or_none(math.inf)
    (7, 0, None)
    """
    x = max(x, 0.0)
    return int(x) if math.isfinite(x) else None


def empty_table(name: str) -> pl.DataFrame:
    """A table of SCHEMAS without a row."""
    return make_frame(name, ())


def make_frame(name: str, rows: Iterable[Any]) -> pl.DataFrame:
    """A table with the columns of SCHEMAS; NaN and infinity become null."""
    return pl.DataFrame(
        [list(map(_null_unless_finite, row)) for row in rows], SCHEMAS[name], orient="row"
    )


def _null_unless_finite(x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    return None if isinstance(x, float) and not math.isfinite(x) else x
