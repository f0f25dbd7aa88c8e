"""Read the decisions of a log from a table or from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from varts._text_format import PLAIN, TextFormat
from varts._validation import Floats, unknown
from varts.checks.finding import FALLBACK
from varts.checks.log import read_column
from varts.evaluation.decisions import SMALLEST_ESTIMATE, Decisions
from varts.features import Features
from varts.fitting.aggregate import parse_names, select_rewards
from varts.fitting.columns import Columns, check_numbers, is_text, parse_numbers, parse_text
from varts.fitting.contexts import (
    LOST,
    FeaturesLike,
    encode_contexts,
    find_features,
    read_contexts,
    select_contexts,
)
from varts.fitting.rewards import take_experiment
from varts.fitting.sources import Source, Table, find_tables, unreadable

WINNER = "winner"  # the reason of decisions after the end
NUMBERS = ("version", "settled_version")
OPTIONAL = ("unit", "time", "settled_time", "estimated")


def read_decisions(
    log: Table,
    *,
    arm: str = "arm",
    reward: str | None = None,
    probability: str = "probability",
    unit: str = "unit",
    experiment: str | None = None,
    only: str | None = None,
    chances: Mapping[str, str] | None = None,
    features: FeaturesLike | None = None,
    text: TextFormat = PLAIN,
) -> Decisions:
    """Read the decisions of a log; see `evaluate` for the arguments."""
    sources = find_tables(log, text)
    try:
        found = None if features is None else find_features(features, sources)
        tables = [
            _select(source, arm, reward, probability, unit, experiment, chances or {}, found)
            for source in sources
        ]
        table = pl.concat([one.collect() for one in tables], how="diagonal")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable("the log", error) from None
    if "experiment" in table.columns:
        table = take_experiment(table, only)
    elif only is not None:
        raise ValueError(f"only must be left out for a log without experiments, got {only!r}")
    return make_decisions(table, None if chances is None else list(chances), found)


def make_decisions(
    table: pl.DataFrame, arms: Sequence[str] | None = None, features: Features | None = None
) -> Decisions:
    """Turn the usable rows of a table into decisions, in order.

    The table must have the columns arm, given, value and probability, and with features also those
    of `select_contexts`. It may have unit, time, settled_time, version, settled_version, estimated,
    reason, settled, chance_0, chance_1, ... and in_play_0, ...
    """
    has = set(table.columns)
    order = next((name for name in ("version", "time") if name in has), None)
    if order is not None:
        table = table.sort(order, maintain_order=True)
    reasons = table.select(reason=_left_out(has))["reason"]
    used = table.filter(reasons.is_null())
    if not used.height:
        raise ValueError(
            f"log must have decisions with an arm, a reward and a probability, got none in "
            f"{table.height:,} rows"
        )
    names = tuple(arms) if arms is not None else tuple(used["arm"].unique().sort().to_list())
    place = {name: i for i, name in enumerate(names)}
    for name in used["arm"].unique().to_list():
        if name not in place:
            raise ValueError(unknown("arm", name, names))
    probability = used["probability"].to_numpy().astype(np.float64)
    estimated = np.zeros(used.height, dtype=bool)
    if "estimated" in has:
        estimated = used["estimated"].fill_null(False).to_numpy()
    known, settled = _moments(used)
    chances, in_play = (
        _by_arm(used, [f"{what}_{i}" for i in range(len(names))]) for what in ("chance", "in_play")
    )
    return Decisions(
        names,
        np.array([place[name] for name in used["arm"].to_list()], dtype=np.int64),
        used["value"].to_numpy().astype(np.float64),
        np.where(estimated, np.maximum(probability, SMALLEST_ESTIMATE), probability),
        known,
        settled,
        _units(used),
        chances,
        in_play,
        int((used["reason"] == WINNER).sum()) if "reason" in has else 0,
        int(estimated.sum()),
        table.height,
        dict(Counter(reasons.drop_nulls().to_list())),
        features,
        None if features is None else encode_contexts(features, used),
        None if features is None else partial(read_contexts, features, used),
    )


def _by_arm(used: pl.DataFrame, columns: list[str]) -> Any:
    """The columns as an array; None if one of them, or one of its values, is missing."""
    if not set(columns) <= set(used.columns):
        return None
    values = used.select(columns)
    return None if any(values.null_count().row(0)) else values.to_numpy()


def _left_out(has: set[str]) -> pl.Expr:
    """The reason to leave a row out; null if it can be used."""
    value, chance = pl.col("value"), pl.col("probability")
    missing: Any = pl.lit("reward missing")
    if "settled" in has:
        missing = (
            pl.when(pl.col("settled").is_null())
            .then(pl.lit("pending"))
            .when(pl.col("settled").is_in(["expired", "void"]))
            .then(pl.col("settled"))
            .otherwise(missing)
        )
    by_client: Any = pl.col("reason") == FALLBACK if "reason" in has else pl.lit(False)
    lost: Any = pl.col(LOST) if LOST in has else pl.lit(None, pl.String)
    return (
        pl.when(pl.col("arm").is_null())
        .then(pl.lit("arm missing"))
        .when(by_client)
        .then(pl.lit(FALLBACK))
        .when(pl.col("given").is_null())
        .then(missing)
        .when(value.is_null())
        .then(pl.lit("reward not a number"))
        .when(value.is_finite().not_())
        .then(pl.lit("reward not finite"))
        .when(chance.is_null())
        .then(pl.lit("probability missing"))
        .when(((chance > 0) & (chance <= 1)).not_())
        .then(pl.lit("probability not in (0, 1]"))
        .otherwise(lost)
    )


def _moments(used: pl.DataFrame) -> tuple[Floats, Floats]:
    """`known` and `settled` of `Decisions`.

    They come from the versions of a live log, which count its events, or else from times. Without
    either, every reward counts as known before the next row.
    """
    for now, then, instant in (("version", "settled_version", 0), ("time", "settled_time", 1)):
        if {now, then} <= set(used.columns) and not any(used.select(now, then).null_count().row(0)):
            known = used[now].to_numpy().astype(np.float64) - instant
            return known, used[then].to_numpy().astype(np.float64)
    row = np.arange(used.height, dtype=np.float64)
    return row - 1, row


def _units(used: pl.DataFrame) -> Any:
    """A number per unit; a decision without a unit has its own."""
    row = np.arange(used.height, dtype=np.int64)
    if "unit" not in used.columns:
        return row
    names = used["unit"]
    first = {name: i for i, name in reversed(list(enumerate(names.to_list())))}
    return np.array(
        [i if name is None else first[name] for i, name in enumerate(names.to_list())],
        dtype=np.int64,
    )


def _select(
    source: Source,
    arm: str,
    reward: str | None,
    probability: str,
    unit: str,
    experiment: str | None,
    chances: Mapping[str, str],
    features: Features | None,
) -> pl.LazyFrame:
    """The columns that `make_decisions` needs, under its names."""
    schema = source.table.collect_schema()
    if reward is None:  # our own logs have both, and `value` is what counted
        reward = "value" if "value" in schema else "reward"
    needed = [("arm", arm), ("reward", reward), ("probability", probability)]
    if unit != "unit":
        needed.append(("unit", unit))
    if experiment is not None:
        needed.append(("experiment", experiment))
    for ours, theirs in (*needed, *(("probability of an arm", one) for one in chances.values())):
        if theirs not in schema:
            raise ValueError(f"{unknown('column', theirs, schema.names())} (for the {ours})")
    columns = Columns(None, arm, reward)
    check_numbers(source, [reward, probability, *chances.values()])
    decimal = source.decimal
    more: dict[str, Any] = {
        "probability": parse_numbers(probability, schema[probability], decimal)[1]
    }
    for name in OPTIONAL:
        theirs = unit if name == "unit" else name
        if theirs in schema:
            read = read_column(name, schema[theirs], source, theirs)
            more |= {} if read is None else {name: read}
    for name in (name for name in NUMBERS if name in schema):
        more[name] = parse_numbers(name, schema[name])[1]
    for name in ("reason", "settled"):
        if name in schema and is_text(schema[name]):
            text = pl.col(name).cast(pl.String)
            more[name] = pl.when(text != "").then(text)
    named = experiment or "experiment"
    if named in schema:
        more["experiment"] = parse_text(pl.col(named), named, schema[named], source.csv)
    for i, column in enumerate(chances.values()):
        more[f"chance_{i}"] = parse_numbers(column, schema[column], decimal)[1]
    if features is not None:
        more |= select_contexts(features, source)
    rewards = select_rewards(reward, schema, decimal)
    table = source.table.select(**columns.select_keys(), **rewards, **more)
    return table.with_columns(*parse_names(columns, schema, source.csv))
