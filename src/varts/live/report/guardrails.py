"""Secondary metrics of the arms, and the guardrails that some of them have.

A guardrail is a limit for the mean of a metric. The report flags an arm that breaks it; nothing
else happens, because people decide what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._intervals import CONFIDENCE
from varts._text import decimal, places_for, printable
from varts._validation import Floats, abbreviate, real
from varts.anytime import ERROR
from varts.live.options import Guard, check_guards
from varts.live.report.estimates import anytime_intervals
from varts.live.report.rules import ARMS_NAMED
from varts.policies import VarTS
from varts.stats import ArmStats

if TYPE_CHECKING:
    import polars as pl

KEPT, UNCLEAR, BROKEN = "kept", "unclear", "broken"

METRIC_COLUMNS = {
    "metric": "String",
    "arm": "String",
    "n": "Int64",
    "mean": "Float64",
    "estimate": "Float64",
    "low": "Float64",
    "high": "Float64",
    "anytime_low": "Float64",
    "anytime_high": "Float64",
    "guard": "String",
    "flag": "String",
    "broken_anytime": "Boolean",
}


def measure(
    arms: Sequence[str],
    metrics: Mapping[str, ArmStats],
    guards: Mapping[str, Guard] | None = None,
    level: float = CONFIDENCE,
    error: float | None = ERROR,
) -> pl.DataFrame:
    """Estimate the mean of every metric for every arm, and compare it with the guardrail.

    Args:
        arms: The names of the arms.
        metrics: The arms' statistics by the name of the metric.
        guards: Guardrails by the name of the metric: `("below", 0.05)` or `("above", 4.0)`.
        level: Probability of the credible interval from `low` to `high`.
        error: Probability that the interval from `anytime_low` to `anytime_high` ever misses; None
            for no such interval.

    Returns:
        A row per metric and arm. `flag` is `kept` or `broken` if the whole credible interval is on
        that side of the limit, `unclear` otherwise, and null without a guardrail.
        `broken_anytime` is true if the whole anytime-valid interval is beyond the limit, too.
        Numbers that aren't known yet are null.

    >>> refunds = ArmStats.from_rewards([[0.0] * 1980 + [1.0] * 20, [0.0] * 1840 + [1.0] * 160])
    >>> frame = measure(["9", "15"], {"refund": refunds}, {"refund": ("below", 0.05)})
    >>> frame["flag"].to_list(), frame["low"].round(3).to_list()
    (['kept', 'broken'], [0.006, 0.069])
    >>> print(*explain(frame))
    guardrail broken by 15: refund is 0.0800 [0.0686, 0.0924], should be below 0.05 (anytime-valid)
    """
    import polars as pl

    checked = check_guards(guards or {}, list(metrics))
    level = real("level", level, above=0, below=1)
    if error is not None:
        error = real("error", error, above=0, below=1)
    schema: Any = {name: getattr(pl, kind) for name, kind in METRIC_COLUMNS.items()}
    frames = [pl.DataFrame(schema=schema)]
    for name, stats in metrics.items():
        if not isinstance(stats, ArmStats):
            raise TypeError(f"metric {name!r} must be an ArmStats, got {abbreviate(stats)}")
        if len(arms) != stats.K:
            raise ValueError(f"metric {name!r} must have {len(arms)} arms, got {stats.K}")
        estimate, low, high = _credible_intervals(stats, level)
        anytime = np.full((2, stats.K), np.nan)
        if error is not None:
            anytime = anytime_intervals(stats, error)
        guard, flags, broken_anytime = _compare(checked.get(name), (low, high), anytime)
        values = {
            "metric": [name] * stats.K,
            "arm": list(arms),
            "n": stats.n.round().astype(np.int64),
            "mean": np.where(stats.n > 0, stats.mean, np.nan),
            "estimate": estimate,
            "low": low,
            "high": high,
            "anytime_low": anytime[0],
            "anytime_high": anytime[1],
            "guard": [guard] * stats.K,
            "flag": flags,
            "broken_anytime": broken_anytime,
        }
        frames.append(pl.DataFrame(values, schema=schema))
    return pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None))


def explain(frame: pl.DataFrame, paused: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each arm in play that breaks a guardrail, a few for each metric.

    Args:
        frame: The result of `measure`.
        paused: Arms to leave out, because they get no traffic.
    """
    sentences = []
    in_play = frame.filter((frame["flag"] == BROKEN) & ~frame["arm"].is_in(list(paused)))
    for broken in in_play.partition_by("metric", maintain_order=True):
        for row in broken.head(ARMS_NAMED).iter_rows(named=True):
            places = places_for([row["high"] - row["low"]])
            value, low, high = (decimal(row[name], places) for name in ("estimate", "low", "high"))
            valid = "anytime-valid" if row["broken_anytime"] else "at this look only"
            sentences.append(
                f"guardrail broken by {printable(row['arm'])}: {printable(row['metric'])} is "
                f"{value} [{low}, {high}], should be {row['guard']} ({valid})"
            )
        if len(broken) > ARMS_NAMED:
            row = broken.row(0, named=True)
            sentences.append(
                f"guardrail broken by {len(broken) - ARMS_NAMED:,} more arms: "
                f"{printable(row['metric'])} should be {row['guard']}"
            )
    return tuple(sentences)


def violations(frame: pl.DataFrame | None) -> dict[str, str]:
    """By the name of an arm, the first guardrail that it breaks.

    Args:
        frame: The result of `measure`; None without metrics.

    >>> refunds = ArmStats.from_rewards([[0.0] * 1980 + [1.0] * 20, [0.0] * 1840 + [1.0] * 160])
    >>> violations(measure(["9", "15"], {"refund": refunds}, {"refund": ("below", 0.05)}))
    {'15': 'refund is 0.0800, should be below 0.05'}
    """
    out: dict[str, str] = {}
    broken = [] if frame is None else frame.filter(frame["flag"] == BROKEN).to_dicts()
    for row in broken:
        value = decimal(row["estimate"], places_for([row["high"] - row["low"]]))
        said = f"{printable(row['metric'])} is {value}, should be {row['guard']}"
        out.setdefault(row["arm"], said)
    return out


def _credible_intervals(stats: ArmStats, level: float) -> tuple[Floats, Floats, Floats]:
    """Estimates with their intervals; NaN for arms with too few rewards."""
    estimate, low, high = np.full((3, stats.K), np.nan)
    known = np.flatnonzero(stats.n >= VarTS().pulls_needed(stats.K))
    some = stats.take(known)
    if some.differ():
        belief = VarTS()._inference(some)
        estimate[known] = belief.quantile(0.5)
        low[known], high[known] = belief.interval(level)
    return estimate, low, high


def _compare(
    guard: Guard | None, interval: tuple[Floats, Floats], anytime: Floats
) -> tuple[str | None, list[str | None], list[bool | None]]:
    """The guardrail as text; each arm's flag; and whether "broken" is anytime-valid."""
    K = len(interval[0])
    if guard is None:
        return None, [None] * K, [None] * K
    (side, limit), (low, high), flags = guard, interval, np.full(K, UNCLEAR, dtype=object)
    flags[high < limit if side == "below" else low > limit] = KEPT
    flags[_breaks(guard, low, high)] = BROKEN
    broken_anytime = _breaks(guard, *anytime) & (flags == BROKEN)
    return f"{side} {limit:g}", flags.tolist(), broken_anytime.tolist()


def _breaks(guard: Guard, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Whether an interval has no value that the guardrail allows; NaN never does."""
    side, limit = guard
    return np.asarray(low >= limit if side == "below" else high <= limit)
