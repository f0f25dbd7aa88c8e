"""The tables of a study: at the horizon, at checkpoints, and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import (
    Interval,
    mean_interval,
    quantile_interval,
    share_interval,
    standard_error,
)
from varts._text import printable
from varts._validation import Floats, real
from varts.simulation.results import Ending, PolicyResult, RunRecord

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def summarise(results: Mapping[str, PolicyResult], against: str, level: float) -> pl.DataFrame:
    """A row per policy at the horizon, best first."""
    rows = []
    for label, result in results.items():
        final = result.final
        gap = final - results[against].final
        regret, difference = (mean_interval(x, level) for x in (final, gap))
        quantiles = np.quantile(final, list(QUANTILES.values()))
        rows.append(
            {
                "policy": label,
                "runs": len(final),
                "regret": regret.value,
                "regret_low": regret.low,
                "regret_high": regret.high,
                "se": standard_error(final),
                **dict(zip(QUANTILES, quantiles, strict=True)),
                "best_share": result.best_share.mean(),
                "difference": difference.value,
                "difference_low": difference.low,
                "difference_high": difference.high,
            }
        )
    return pl.DataFrame(rows).sort("regret", maintain_order=True)


def identify(
    records: Mapping[str, RunRecord], checkpoints: NDArray[np.int64], level: float
) -> pl.DataFrame:
    """A row per policy and checkpoint: how often the recommended arm is not a best one, and what
    it would cost per round to stay with it."""
    rows = []
    for label, record in records.items():
        for column, n in enumerate(checkpoints.tolist()):
            lost = record.simple_regret[:, column]
            wrong = share_interval(float((lost > 0).sum()), len(lost), level)
            regret = mean_interval(lost, level)
            rows.append([label, n, *wrong, *regret])
    ends = ("", "_low", "_high")
    names = [f"{what}{end}" for what in ("wrong", "simple_regret") for end in ends]
    return pl.DataFrame(rows, schema=["policy", "round", *names], orient="row")


def stop_table(
    endings: Mapping[str, Ending], regrets: Mapping[str, Floats], level: float
) -> pl.DataFrame:
    """A row per policy: when a stopping rule ended the runs, and how often it was wrong."""
    rows = []
    for label, ending in endings.items():
        times = np.where(ending.stopped, ending.rounds, np.inf)
        runs = len(times)
        late = [quantile_interval(times, share, level).value for share in (0.5, 0.95)]
        mean = mean_interval(ending.rounds.astype(np.float64), level)
        mistaken = float((ending.stopped & (ending.simple_regret > 0)).sum())
        rows.append(
            {
                "policy": label,
                "runs": runs,
                "stopped": float(ending.stopped.mean()),
                "median": None if np.isinf(late[0]) else int(late[0]),
                "q95": None if np.isinf(late[1]) else int(late[1]),
                **_with_ends("rounds", mean),
                **_with_ends("wrong", share_interval(mistaken, runs, level)),
                **_with_ends("regret", mean_interval(regrets[label], level)),
            }
        )
    integers = dict.fromkeys(("runs", "median", "q95"), pl.Int64)
    return pl.DataFrame(rows, schema_overrides=integers)


def _with_ends(name: str, found: Interval) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def name_quantile(share: float) -> str:
    """What the column of a quantile is called.

    >>> name_quantile(0.05), name_quantile(0.5), name_quantile(0.975)
    ('q05', 'median', 'q97.5')
    """
    return "median" if share == 0.5 else f"q{0 if share < 0.1 else ''}{100 * share:g}"


def spread(
    regrets: Mapping[str, Floats], checkpoints: NDArray[np.int64], shares: Iterable[float]
) -> pl.DataFrame:
    """A row per policy and checkpoint: quantiles over runs of the regret."""
    shares = [real("share", share, at_least=0, at_most=1) for share in shares]
    return pl.concat(
        pl.DataFrame({"round": checkpoints}).select(
            pl.lit(label).alias("policy"),
            pl.all(),
            *(
                pl.Series(name_quantile(share), np.quantile(regret, share, axis=0))
                for share in shares
            ),
        )
        for label, regret in regrets.items()
    )


def to_html(caption: str, table: pl.DataFrame) -> str:
    """A small table for a notebook, which takes what text it holds for text."""
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
