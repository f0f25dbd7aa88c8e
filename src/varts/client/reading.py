"""The answers of a service as the values that live experiments give: reports, checks and so on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from varts.client.context import ToldContext
from varts.client.frames import read_frame
from varts.evaluation.result import ArmMean, Estimate, Evaluation
from varts.live.audit.export import log_schema, write_log
from varts.live.audit.history import COLUMNS as HISTORY_COLUMNS
from varts.live.audit.history import History, Spacing
from varts.live.audit.records import ChangeRecord, DecisionRecord
from varts.live.core.state import Config, State
from varts.live.decide import Decision
from varts.live.options import Options
from varts.live.report.control import Control
from varts.live.report.gain import Gain
from varts.live.report.guardrails import METRIC_COLUMNS as METRIC_COLUMNS
from varts.live.report.report import Report

if TYPE_CHECKING:
    from varts.checks import Checks

# The columns of reports and histories that have no fraction; all others are Float64.
TYPES = {
    "arm": "String",
    "may_be_best": "Boolean",
    **dict.fromkeys(("n", "pending", "checkpoint", "version", "rewards", "decisions"), "Int64"),
}


TIMES = ("time", "settled_time")  # of a log


class SeenState(State):
    """Configuration, and how far it is: what a service tells of an experiment's state."""

    def statistics(self) -> NoReturn:
        """They are not told."""
        raise _not_told()

    def raw_statistics(self) -> NoReturn:
        """They are not told."""
        raise _not_told()

    def effective(self) -> NoReturn:
        """They are not told."""
        raise _not_told()

    def metric_statistics(self) -> NoReturn:
        """They are not told."""
        raise _not_told()

    def holdout_statistics(self) -> NoReturn:
        """They are not told."""
        raise _not_told()

    def counts(self, with_features: bool = False) -> NoReturn:
        """They are not told."""
        raise _not_told()


def _not_told() -> NotImplementedError:
    return NotImplementedError(
        "a service does not tell the moments of the rewards; the frame of a report has the means"
    )


def read_state(body: Mapping[str, Any]) -> SeenState:
    """An experiment as `GET E` shows it."""
    names = [arm["name"] for arm in body["arms"]]
    config = Config(
        arms=tuple(names),
        options=Options.from_json(body["options"]),
        initial=body["initial"],
        epoch=body["epoch"],
        paused=frozenset(at for at, arm in enumerate(body["arms"]) if arm["paused"]),
        stopped=body["status"] == "stopped",
        winner=None if body["winner"] is None else names.index(body["winner"]),
    )
    return SeenState(config, body["version"], body["rewards"], revision=body["revision"])


def read_decision(body: Mapping[str, Any]) -> Decision:
    """A decision that was made; a receipt is for web pages."""
    return Decision(*(body[name] for name in Decision._fields))


def read_decision_record(body: Mapping[str, Any]) -> DecisionRecord:
    """A decision, and what has become of it; its unit is for administrators."""
    given = {name: body.get(name) for name in DecisionRecord._fields}
    return DecisionRecord(**{**given, "time": read_time(body["time"])})  # type: ignore[arg-type]


def read_change(body: Mapping[str, Any]) -> ChangeRecord:
    """A change, with who made it and why."""
    given = {name: body[name] for name in ChangeRecord._fields}
    return ChangeRecord(**{**given, "time": read_time(body["time"])})


def read_report(body: Mapping[str, Any], state: State) -> Report:
    """What `Report.to_dict` has told, of an experiment in this state."""
    gain, metrics, context = body["gain"], body["metrics"], body["context"]
    control = body.get("control")  # an older service doesn't send one
    return Report(
        name=body["name"],
        frame=read_frame(body["arms"], TYPES),
        state=state,
        level=body["level"],
        best=body["best"],
        stop=body["stop"],
        because=body["because"],
        winner=body["winner"],
        error=body["error"],
        certainty=body["certainty"],
        notes=tuple(body["notes"]),
        gain=None if gain is None else Gain(**{k: v for k, v in gain.items() if k != "sentence"}),
        metrics=None if metrics is None else read_frame(metrics, METRIC_COLUMNS),
        guards=tuple(body["guards"]),
        context=None if context is None else ToldContext(context),
        control=None if control is None else Control.from_dict(control),
    )


def read_history(
    name: str,
    body: Mapping[str, Any],
    state: State,
    start: datetime,
    spacing: Spacing,
    level: float,
) -> History:
    """What an experiment knew at its checkpoints."""
    import polars as pl

    rows = [
        {"checkpoint": at, **{name: point[name] for name in ("time", "version", "rewards")}, **arm}
        for at, point in enumerate(body["points"], 1)
        for arm in point["arms"]
    ]
    frame = read_frame(rows, {**TYPES, "time": "String"})
    moments = pl.Series("time", [read_time(row["time"]) for row in rows], pl.Datetime("us", "UTC"))
    frame = frame.with_columns(moments).select(HISTORY_COLUMNS)
    return History(name, frame, state, level, start, spacing.by_time)


def read_checks(body: Mapping[str, Any]) -> Checks:
    """What `Checks.to_dict` has told."""
    from varts.checks import Checks, Finding

    names = [field.name for field in fields(Finding)]
    told = ([one[name] for name in names] for one in body["checks"])
    return Checks(body["name"], tuple(starmap(Finding, told)))


def read_evaluation(body: Mapping[str, Any]) -> Evaluation:
    """What `Evaluation.to_dict` has told."""
    given: dict[str, Any] = {k: math.nan if v is None else v for k, v in body.items()}
    arms = (
        ArmMean(**{**arm, "mean": None if arm["mean"] is None else _estimate(arm["mean"])})
        for arm in body["arms"]
    )
    given |= {
        "estimates": {name: _estimate(one) for name, one in body["estimates"].items()},
        "difference": _estimate(body["difference"]),
        "arms": tuple(arms),
        "notes": tuple(body["notes"]),
    }
    return Evaluation(**given)


def _estimate(body: Mapping[str, float | None]) -> Estimate:
    """JSON has no NaN: what is not known is null."""
    return Estimate(**{name: math.nan if one is None else one for name, one in body.items()})


def convert_log(lines: Path, path: Path, config: Config) -> int:
    """Write a log that was sent as lines of JSON in the form that a file's name asks for; returns
    the number of its rows."""
    import polars as pl

    kinds = None if config.features is None else config.features.kinds
    schema = log_schema(config.options.metrics, kinds)
    sent = {name: pl.String if name in TIMES else dtype for name, dtype in schema.items()}
    frames = pl.scan_ndjson(lines, schema=sent) if lines.stat().st_size else pl.LazyFrame([], sent)
    times = [pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in TIMES]
    write_log(frames.with_columns(times), path)
    with lines.open("rb") as file:
        return sum(1 for _ in file)


def read_time(text: str) -> datetime:
    """A time of RFC 3339.

    >>> read_time("2023-11-14T22:13:20.250000Z").microsecond
    250000
    """
    return datetime.fromisoformat(text)
