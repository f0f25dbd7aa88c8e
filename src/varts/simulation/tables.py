"""The tables of a study: at the horizon, at checkpoints, of stopping times, and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import (
    Interval,
    holm,
    mean_interval,
    mean_p_value,
    quantile_interval,
    share_interval,
    standard_error,
)
from varts._text import printable
from varts._validation import Floats, real
from varts.simulation.results import Ending, PolicyResult, RunRecord

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def summary(results: Mapping[str, PolicyResult], against: str, level: float) -> pl.DataFrame:
    """Return `Study.summary`: a row per policy at the horizon, best first."""
    level = real("level", level, above=0, below=1)
    rows = []
    for label, result in results.items():
        final = result.final
        difference = mean_interval(final - results[against].final, level)
        quantiles = np.quantile(final, list(QUANTILES.values()))
        rows.append(
            {
                "policy": label,
                "runs": len(final),
                **_columns("regret", mean_interval(final, level)),
                "se": standard_error(final),
                **dict(zip(QUANTILES, quantiles, strict=True)),
                "best_share": result.best_share.mean(),
                **_columns("difference", difference),
            }
        )
    return pl.DataFrame(rows).sort("regret", maintain_order=True)


def identification(
    records: Mapping[str, RunRecord], checkpoints: NDArray[np.int64], level: float
) -> pl.DataFrame:
    """Return `Study.identification`: a row per policy and checkpoint."""
    level = real("level", level, above=0, below=1)
    return pl.DataFrame(
        {
            "policy": label,
            "round": n,
            **_columns("wrong", share_interval(float((lost > 0).sum()), len(lost), level)),
            **_columns("simple_regret", mean_interval(lost, level)),
        }
        for label, record in records.items()
        for n, lost in zip(checkpoints.tolist(), record.simple_regret.T, strict=True)
    )


def metric(name: str, values: Mapping[str, Floats], rounds: Any, level: float) -> pl.DataFrame:
    """Return `Study.metric`: a row per policy and checkpoint."""
    level = real("level", level, above=0, below=1)
    return pl.DataFrame(
        {"policy": label, "round": n, **_columns(name, mean_interval(column, level))}
        for label, table in values.items()
        for n, column in zip(rounds.tolist(), table.T, strict=True)
    )


def outcomes(name: str, values: Mapping[str, Floats], shares: bool, level: float) -> pl.DataFrame:
    """Return a row per policy: the mean of a number per run.

    Args:
        name: The name of the column.
        values: The numbers, by label.
        shares: Whether they are 0 or 1: then the interval is Wilson's.
        level: The level of the intervals.
    """
    level = real("level", level, above=0, below=1)
    return pl.DataFrame(
        {
            "policy": label,
            **_columns(
                name,
                share_interval(float(runs.sum()), len(runs), level)
                if shares
                else mean_interval(runs, level),
            ),
        }
        for label, runs in values.items()
    )


def comparison(
    differences: Sequence[tuple[Mapping[str, Any], Floats]], level: float
) -> pl.DataFrame:
    """Return `Study.comparison`: a row per difference, whose errors hold for all rows together.

    Args:
        differences: The first columns of each row, and the differences of its runs.
        level: The chance that all intervals hold their true values.
    """
    level = real("level", level, above=0, below=1)
    each = 1 - (1 - level) / len(differences)  # Bonferroni
    p = np.array([mean_p_value(runs) for _, runs in differences])
    return pl.DataFrame(
        {
            **head,
            **_columns("difference", mean_interval(runs, each)),
            "p_value": float(alone),
            "p_adjusted": float(adjusted),
        }
        for (head, runs), alone, adjusted in zip(differences, p, holm(p), strict=True)
    )


def stopping(
    endings: Mapping[str, Ending], regrets: Mapping[str, Floats], level: float
) -> pl.DataFrame:
    """Return `Study.stopping`: a row per policy."""
    level = real("level", level, above=0, below=1)
    rows = []
    for label, ending in endings.items():
        times = np.where(ending.stopped, ending.rounds, np.inf)
        runs = len(times)
        median, q95 = (quantile_interval(times, share, level).value for share in (0.5, 0.95))
        mean = mean_interval(ending.rounds.astype(np.float64), level)
        mistaken = float((ending.stopped & (ending.simple_regret > 0)).sum())
        rows.append(
            {
                "policy": label,
                "runs": runs,
                "stopped": float(ending.stopped.mean()),
                "median": None if np.isinf(median) else int(median),
                "q95": None if np.isinf(q95) else int(q95),
                **_columns("rounds", mean),
                **_columns("wrong", share_interval(mistaken, runs, level)),
                **_columns("regret", mean_interval(regrets[label], level)),
            }
        )
    integers = dict.fromkeys(("runs", "median", "q95"), pl.Int64)
    return pl.DataFrame(rows, schema_overrides=integers)


def quantiles(
    records: Mapping[str, RunRecord], checkpoints: NDArray[np.int64], shares: Iterable[float]
) -> pl.DataFrame:
    """Return `Study.quantiles`: a row per policy and checkpoint."""
    shares = [real("share", share, at_least=0, at_most=1) for share in shares]
    return pl.concat(
        pl.DataFrame({"round": checkpoints}).select(
            pl.lit(label).alias("policy"),
            pl.all(),
            *(
                pl.Series(name_quantile(share), np.quantile(record.regret, share, axis=0))
                for share in shares
            ),
        )
        for label, record in records.items()
    )


def _columns(name: str, found: Interval) -> dict[str, float]:
    """Return the three columns of an estimate and its interval."""
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def name_quantile(share: float) -> str:
    """Return the name of a quantile's column.

    >>> name_quantile(0.05), name_quantile(0.5), name_quantile(0.975)
    ('q05', 'median', 'q97.5')
    """
    return "median" if share == 0.5 else f"q{0 if share < 0.1 else ''}{100 * share:g}"


def to_html(caption: str, table: pl.DataFrame) -> str:
    """Return a small table for a notebook. Text in it is escaped, so it can't hold markup."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(each))}</td>" for each in row) + "</tr>"
        for row in table.iter_rows()
    )
    return (
        f"<table><caption>{escape(printable(caption))}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else printable(str(value))
