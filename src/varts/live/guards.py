"""Secondary metrics of the arms, and the bounds that some of them are to keep.

A guard flags and never acts: what to do about a broken one is for people to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._intervals import CONFIDENCE
from varts._text import decimal, places_for, printable
from varts._validation import Floats, abbreviate, choice, real, unknown
from varts.anytime import Evidence
from varts.anytime.evidence import ERROR
from varts.live.stop_rule import ARMS_NAMED
from varts.policies import VarTS
from varts.stats import ArmStats
from varts.tails import Tails

if TYPE_CHECKING:
    import polars as pl

SIDES = ("below", "above")
KEPT, UNCLEAR, BROKEN = "kept", "unclear", "broken"
Guard = tuple[str, float]  # the side on which a mean is to lie, and of what

COLUMNS = {
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
    "broken_at_any_look": "Boolean",
}


def measure(
    arms: Sequence[str],
    metrics: Mapping[str, ArmStats],
    guards: Mapping[str, Guard] | None = None,
    level: float = CONFIDENCE,
    error: float | None = ERROR,
) -> pl.DataFrame:
    """Return a row per metric and arm: its mean, how sure that is, and whether its guard is kept.

    Args:
        arms: The names of the arms.
        metrics: The arms' statistics of every metric, by its name.
        guards: The side on which a metric's mean is to lie, `below` or `above`, and of what.
        level: The probability of `low` to `high`, the credible interval of this look.
        error: The chance that `anytime_low` to `anytime_high` ever misses; None to leave it out.

    Returns:
        The columns metric, arm, n, mean, estimate, low, high, anytime_low, anytime_high, guard,
        flag and broken_at_any_look. A flag is `kept` or `broken` if all of the interval says so,
        `unclear` if not, and null without a guard. What is not known yet is null.

    >>> refunds = ArmStats.from_rewards([[0.0] * 1980 + [1.0] * 20, [0.0] * 1840 + [1.0] * 160])
    >>> frame = measure(["9", "15"], {"refund": refunds}, {"refund": ("below", 0.05)})
    >>> frame["flag"].to_list(), frame["low"].round(3).to_list()
    (['kept', 'broken'], [0.006, 0.069])
    >>> explain(frame)
    ('guard: refund of 15 is 0.0800 [0.0686, 0.0924], not below 0.05; at any look',)
    """
    import polars as pl

    given = {} if guards is None else {name: _checked(name, guards[name]) for name in guards}
    for name in given:
        if name not in metrics:
            raise ValueError(unknown("metric of a guard", name, list(metrics)))
    level = real("level", level, above=0, below=1)
    rows: list[pl.DataFrame] = []
    for name, stats in metrics.items():
        if not isinstance(stats, ArmStats):
            raise TypeError(f"metric {name!r} must be an ArmStats, got {abbreviate(stats)}")
        if len(arms) != stats.K:
            raise ValueError(f"metric {name!r} must have {len(arms)} arms, got {stats.K}")
        estimate, low, high = _believed(stats, level)
        anytime = np.full((2, stats.K), np.nan)
        if error is not None:
            evidence = Evidence(stats, Tails.of(stats).kurtosis)
            anytime = np.array(evidence.mean_intervals(1 - real("error", error, above=0, below=1)))
            anytime[~np.isfinite(anytime)] = np.nan
        guard, flag, certain = _judged(given.get(name), (low, high), tuple(anytime))
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
            "flag": flag,
            "broken_at_any_look": certain,
        }
        rows.append(pl.DataFrame(values, schema=_schema()))
    frame = pl.concat(rows) if rows else pl.DataFrame(schema=_schema())
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def explain(frame: pl.DataFrame, paused: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a sentence for every arm in play that breaks a guard; the first few of each metric.

    Args:
        frame: What `measure` has found.
        paused: Arms of which nothing is said, as they are not played.
    """
    said = []
    flagged = frame.filter((frame["flag"] == BROKEN) & ~frame["arm"].is_in(list(paused)))
    for broken in flagged.partition_by("metric", maintain_order=True):
        for row in broken.head(ARMS_NAMED).iter_rows(named=True):
            places = places_for([row["high"] - row["low"]])
            value, low, high = (decimal(row[name], places) for name in ("estimate", "low", "high"))
            look = "at any look" if row["broken_at_any_look"] else "as of this look"
            said.append(
                f"guard: {printable(row['metric'])} of {printable(row['arm'])} is {value} "
                f"[{low}, {high}], not {row['guard']}; {look}"
            )
        if len(broken) > ARMS_NAMED:
            more, row = len(broken) - ARMS_NAMED, broken.row(0, named=True)
            name = printable(row["metric"])
            said.append(f"guard: {name} of {more:,} more arms is not {row['guard']}")
    return tuple(said)


def _checked(name: str, guard: Any) -> Guard:
    if not isinstance(guard, (tuple, list)) or len(guard) != 2:
        got = abbreviate(guard)
        raise TypeError(f"guard of {name!r} must be a side and a number, got {got}")
    return choice(f"side of the guard of {name!r}", guard[0], SIDES), real(
        f"guard of {name!r}", guard[1]
    )


def _believed(stats: ArmStats, level: float) -> tuple[Floats, Floats, Floats]:
    """The estimate and the interval of every arm that has the rewards for one; NaN for others."""
    estimate, low, high = np.full((3, stats.K), np.nan)
    known = np.flatnonzero(stats.n >= VarTS().owed(stats.K))
    some = stats.take(known)
    if some.pooled().m2[0] > 0:
        belief = VarTS().inferred(some)
        estimate[known] = belief.quantile(0.5)
        low[known], high[known] = belief.interval(level)
    return estimate, low, high


def _judged(
    guard: Guard | None, interval: tuple[Floats, ...], anytime: tuple[Floats, ...]
) -> tuple[str | None, list[str | None], list[bool | None]]:
    """The guard in words, and of every arm its flag and whether it is broken at any look."""
    K = len(interval[0])
    if guard is None:
        return None, [None] * K, [None] * K
    (side, bound), flags = guard, np.full(K, UNCLEAR, dtype=object)
    flags[_keeps(side, bound, *interval)] = KEPT
    flags[_breaks(side, bound, *interval)] = BROKEN
    certain = _breaks(side, bound, *anytime) & (flags == BROKEN)
    return f"{side} {bound:g}", flags.tolist(), certain.tolist()


def _keeps(side: str, bound: float, low: Floats, high: Floats) -> NDArray[np.bool_]:
    return np.asarray(high < bound if side == "below" else low > bound)


def _breaks(side: str, bound: float, low: Floats, high: Floats) -> NDArray[np.bool_]:
    return np.asarray(low >= bound if side == "below" else high <= bound)


def _schema() -> Any:
    import polars as pl

    return {name: getattr(pl, kind) for name, kind in COLUMNS.items()}
