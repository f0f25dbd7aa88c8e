"""The page of one experiment: what it has learnt, how it got there, and what can be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from varts._validation import Floats, choice
from varts.checks import Checks
from varts.context import text
from varts.live.audit.records import ChangeRecord
from varts.live.core.events import ADD_ARM, CONFIGURE, CREATE, PAUSE, RESTART, RESUME, STOP
from varts.live.core.state import Config
from varts.live.options import Options
from varts.live.report.estimates import posterior
from varts.live.report.report import Report
from varts.live.report.text import (
    arm_cells,
    control_cells,
    control_title,
    control_titles,
    interval_titles,
    metric_cells,
    option_text,
    status,
)
from varts.serve.web.charts import (
    Band,
    Chart,
    Course,
    Table,
    arm_colours,
    density_chart,
    gain_chart,
    p_best_chart,
    traffic_chart,
)
from varts.serve.web.forms import GROUPS, Sent, typed_options
from varts.serve.web.render import Viewer, render, sentence, title

if TYPE_CHECKING:
    import polars as pl


# --------------------------------------------------------------------------------- changes in words

RECONFIGURES = (CONFIGURE, ADD_ARM, PAUSE, RESUME, STOP, RESTART)


class Change(NamedTuple):
    """A change: when, who, what in words, and why; blank where nobody said."""

    time: datetime
    by: str
    what: str
    why: str


def describe_changes(records: Iterable[ChangeRecord]) -> list[Change]:
    """The changes of an experiment in words, the last one first.

    Args:
        records: What `Experiment.changes` returns, from the creation on.
    """
    out: list[Change] = []
    config: Config | None = None
    for record in records:
        before = config
        if record.kind == CREATE:
            config = Config.from_json(record.change)
        elif record.kind in RECONFIGURES and config is not None:
            config = config.changed(record.kind, record.change)
        what = _words(record.kind, record.change, before, config)
        out.append(Change(record.time, record.by or "", what, record.why or ""))
    return out[::-1]


def _words(
    kind: str, change: Mapping[str, Any], before: Config | None, after: Config | None
) -> str:
    if kind == CREATE and after is not None:
        return f"created with {len(after.arms)} arms"
    if kind == CONFIGURE and before is not None and after is not None:
        return _differences(before.options, after.options)
    if kind == STOP:
        winner = change["winner"]
        return "stopped" if winner is None else f"stopped, {winner} for everybody"
    words = {ADD_ARM: "added", PAUSE: "paused", RESUME: "resumed"}
    if kind in words:
        return f"{words[kind]} {change['arm']}"
    if "decision" in change:  # a correction
        now, then = _number(change["after"]), _number(change["before"])
        return f"{kind} {change['decision']}: {now} (was {then})"
    return "restarted" if kind == RESTART else kind


def _number(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _differences(before: Options, after: Options) -> str:
    """Options that differ, with what they were."""
    old, new = before.to_json(), after.to_json()
    parts = []
    for name, value in new.items():
        if value != old[name]:
            shown = [_prior(x) if name == "prior" else option_text(x) for x in (value, old[name])]
            parts.append(f"{name} {shown[0]} (was {shown[1]})")
    return ", ".join(parts) or "nothing changed"


def _prior(prior: Any) -> str:
    """A stored prior; those of many arms are for the log."""
    if prior is None:
        return "none"
    own = isinstance(prior["mu"], list)
    return "one per arm" if own else ",".join(f"{name}={x:g}" for name, x in prior.items())


# ----------------------------------------------------------------------------------------- the page

AXES = ("rewards", "time")


def page(
    viewer: Viewer,
    found: Report,
    *,
    revision: int | str,
    now: datetime,
    created: datetime | None = None,
    history: pl.DataFrame | None = None,
    as_of: str | None = None,
    gain: Band | None = None,
    changes: Sequence[Change] = (),
    checks: Checks | None = None,
    by: str = "rewards",
    error: str | None = None,
    sent: Sent | None = None,
) -> str:
    """The page of an experiment.

    Args:
        viewer: Who asks; the buttons are for admins.
        found: The report.
        revision: That of the configuration; every form sends it along.
        now: The time.
        created: When the experiment was.
        history: The frame of `Experiment.history`, or its columns time, rewards, arm, p_best and
            traffic; None if nothing is known.
        as_of: From which log the history is, in a sentence; None if from the latest.
        gain: Over the holdout, a number per checkpoint of the history; None if it is not known.
        changes: Of its configuration, the last one first.
        checks: What the checks of rewards and decisions found, if they were made.
        by: What the horizontal axes show: "rewards" or "time".
        error: Why a change was refused, in a sentence.
        sent: The fields of the options as they were sent, if they were refused.
    """
    config = found.state.config
    arms, shares = list(config.arms), found.frame["share"].to_list()
    colours = arm_colours(arms, shares)
    return render(
        "experiment.html",
        viewer=viewer,
        found=found,
        config=config,
        status=status(found.state),
        goal="goal: maximize" if found.goal == "max" else "goal: minimize",
        pending=int(found.frame["pending"].sum()),
        verdict=found.verdict,
        tone=_tone(found),
        cells=arm_cells(found),
        intervals=interval_titles(found),
        metrics=[*_control(found), *_metrics(found)],
        by_context=_by_context(found),
        worth=_worth(found),
        colours=colours,
        charts=_charts(found, colours, history, choice("by", by, AXES), gain),
        as_of=as_of,
        by=by,
        axes=AXES,
        in_play=[arms[arm] for arm in config.active],
        findings=[] if checks is None else [one for one in checks if one.verdict != "ok"],
        checked=None if checks is None else len(checks.findings),
        changes=changes,
        revision=revision,
        created=created,
        now=now,
        error=error,
        groups=GROUPS,
        typed=typed_options(config.options) if sent is None else sent,
    )


def _control(found: Report) -> list[Table]:
    """The differences from the control, if there is one."""
    if found.control is None:
        return []
    rows = control_cells(found, list(found.ranking["arm"]))
    heads = [title(head) for head in control_titles(found)]
    return [Table(control_title(found), heads, rows)]


def _metrics(found: Report) -> list[Table]:
    """The secondary metrics, a table each."""
    heads = ["Arm", "Measured", "Estimate", *interval_titles(found)]
    return [
        Table(
            metric.name,
            [*heads, f"Guardrail: {metric.guard}"] if metric.guard else heads,
            metric.rows,
        )
        for metric in metric_cells(found, list(found.ranking["arm"]))
    ]


def _by_context(found: Report) -> list[Table]:
    """Which arm for whom, and what features do, where arms are chosen by them."""
    if found.context is None:
        return []
    shown = found.context
    cells = {
        "the best arm of every group, where enough is known to name one": text.segment_cells(shown),
        text.effects_title(shown): text.coefficient_cells(shown),
    }
    return [
        Table(caption, [head if head in shown.arms else title(head) for head in heads], rows)
        for caption, (heads, *rows) in cells.items()
        if rows
    ]


def _worth(found: Report) -> list[str]:
    """What context is worth, in sentences."""
    if found.context is None:
        return [f"{text.NOT_ENOUGH} to say which arm is best for whom"]
    return [*text.sentences(found.context), text.by_chance(found.context)]


def _tone(found: Report) -> str:
    """How the headline looks: a class of style.css."""
    if found.state.config.stopped:
        return "ended"
    if found.stop:
        return "done"
    return "ahead" if found.best is not None and found.has_leader else "early"


def _charts(
    found: Report,
    colours: dict[str, str],
    history: pl.DataFrame | None,
    by: str,
    gain: Band | None,
) -> list[Chart]:
    names = list(found.state.config.arms)
    known, belief = posterior(found.state, _contexts(found))
    said = None if found.gain is None else sentence(str(found.gain))
    unknown = [arm for i, arm in enumerate(names) if i not in known]
    course, p_best, traffic = _over_time(history, names, by)
    return [
        density_chart([names[i] for i in known], belief, colours, found.level, unknown),
        p_best_chart(course, p_best, colours, found.state.config.options.stop_p_best),
        traffic_chart(course, traffic, colours),
        gain_chart(course, gain, found.goal, found.level, said),
    ]


def _contexts(found: Report) -> Sequence[Mapping[str, Any]]:
    """The units that its numbers are about; none where arms are not chosen by features."""
    return () if found.context is None else found.context.units.contexts


def _over_time(
    history: pl.DataFrame | None, arms: Iterable[str], by: str
) -> tuple[Course, dict[str, Floats], dict[str, Floats]]:
    """The columns of a history by arm; an arm has NaN at checkpoints from before it was added."""
    import polars as pl

    nothing = np.zeros(0)
    if history is None or history.is_empty():
        return Course(nothing, nothing, by), {}, {}
    moments = history.select("time", "rewards").unique(maintain_order=True).with_row_index("at")
    names = list(arms)
    rows = history.join(moments, on=["time", "rewards"]).filter(pl.col("arm").is_in(names))
    arm = rows["arm"].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    table = np.full((2, len(names), len(moments)), np.nan)
    for values, column in zip(table, ("p_best", "traffic"), strict=True):
        values[arm, rows["at"].to_numpy()] = (
            rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        )
    times = moments["time"].dt.timestamp("us").to_numpy() / 1e6
    course = Course(moments["rewards"].to_numpy().astype(float), times, by)
    p_best, traffic = (dict(zip(names, values, strict=True)) for values in table)
    return course, p_best, traffic
