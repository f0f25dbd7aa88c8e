"""The page of one experiment: its results, how they came about, and the forms that change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from varts._text import printable, quote_formulas
from varts._validation import Floats, choice
from varts.checks import Checks
from varts.checks.finding import plural
from varts.context import text
from varts.live.audit.records import ChangeRecord
from varts.live.core.events import (
    ADD_ARM,
    AGGREGATE,
    CONFIGURE,
    CREATE,
    PAUSE,
    RESTART,
    RESUME,
    STOP,
)
from varts.live.core.state import Config
from varts.live.options import Options
from varts.live.report.earned import Conversion, conversions, total_rewards
from varts.live.report.estimates import posterior
from varts.live.report.gain import GOALS
from varts.live.report.guardrails import violations
from varts.live.report.progress import (
    LEVEL,
    MOST_TIMES,
    forecast_stop,
    recent_pace,
    stop_progress,
)
from varts.live.report.report import Report
from varts.live.report.text import (
    amount,
    arm_cells,
    control_cells,
    control_title,
    control_titles,
    gain_text,
    interval_titles,
    lift_text,
    main_comparison,
    metric_cells,
    option_text,
    percentage,
    status,
)
from varts.serve.auth import Actor
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
from varts.serve.web.forms import GROUPS, LABELS, Sent, typed_options
from varts.serve.web.render import duration, experiment_path, render, sentence, title

if TYPE_CHECKING:
    import polars as pl


# --------------------------------------------------------------------------------- changes

RECONFIGURES = (CONFIGURE, ADD_ARM, PAUSE, RESUME, STOP, RESTART)


class Change(NamedTuple):
    """A change as text: when, who, what and why; blank where nobody said."""

    time: datetime
    by: str
    what: str
    why: str


def describe_changes(records: Iterable[ChangeRecord]) -> list[Change]:
    """Describe the changes of an experiment, the last one first.

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
    if kind == AGGREGATE:
        now, then = _aggregate(change["after"]), _aggregate(change["before"])
        return f"aggregate of {change['arm']} in {change['period']}: {now} (was {then})"
    if "decision" in change:  # a correction
        now, then = _number(change["after"]), _number(change["before"])
        return f"{kind} {change['decision']}: {now} (was {then})"
    return "restarted" if kind == RESTART else kind


def _number(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _aggregate(numbers: Mapping[str, Any] | None) -> str:
    if numbers is None:
        return "nothing"
    return f"n {numbers['n']:,}, mean {numbers['mean']:g}, sd {numbers['sd']:g}"


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
LATELY = 5  # checkpoints whose traffic a forecast takes for that to come
LIFT_FIRST = (0, 4, 5, 6, 1, 2, 3)  # the columns of the comparison with the control
CAVEAT = "as observed, not corrected for anything: compare arms by their estimates"


class Fact(NamedTuple):
    """A number to see at first glance, with what it is and what to know about it."""

    name: str
    value: str
    more: str


class OptionShown(NamedTuple):
    """An option in force: its label, its value as text, and whether that is the default."""

    label: str
    value: str
    default: bool


def page(
    viewer: Actor,
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
        viewer: The person who is looking; only admins get buttons.
        found: The report.
        revision: The revision of the configuration; every form sends it along.
        now: The time.
        created: When the experiment was created.
        history: The frame of `Experiment.history`, or its columns time, rewards, arm, p_best,
            traffic, n, nonzero and cumulative_reward; None if nothing is known.
        as_of: Which log the history is from, in a sentence; None if from the latest.
        gain: The gain over the holdout at each checkpoint of the history; None if it isn't known.
        changes: Changes of the configuration, the last one first.
        checks: The checks of rewards and decisions, if they were made.
        by: The horizontal axes: "rewards" or "time".
        error: Why a change was refused, in a sentence.
        sent: The fields of the options as they were sent, if they were refused.
    """
    config = found.state.config
    arms, shares = list(config.arms), found.frame["share"].to_list()
    colours = arm_colours(arms, shares)
    bought = None if history is None else conversions(history)
    rules = [] if config.stopped else _rules(found)
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
        rules=rules,
        outlook=_outlook(found, history, now) if rules and not found.stop else None,
        facts=[*_lift(found), *_money(found), *_conversion(bought)],
        control=_control(found),
        cells=arm_cells(found, percent=True),
        totals=_totals(found),
        intervals=interval_titles(found),
        metrics=[*_metrics(found), *_conversions(bought)],
        by_context=_by_context(found),
        worth=_worth(found),
        colours=colours,
        charts=charts(found, history, gain, by),
        as_of=as_of,
        by=by,
        axes=AXES,
        in_play=[arms[arm] for arm in config.active],
        paused=[arms[arm] for arm in config.paused],
        violations=violations(found.metrics),
        findings=[] if checks is None else [one for one in checks if one.verdict != "ok"],
        checked=None if checks is None else len(checks.findings),
        changes=changes,
        revision=revision,
        created=created,
        now=now,
        error=error,
        address=None if error is None else experiment_path(found.name),
        groups=GROUPS,
        typed=typed_options(config.options) if sent is None else sent,
        options=_options(config.options),
    )


def arms_csv(found: Report) -> str:
    """The table of the arms as CSV, with all digits, the sums of rewards and the comparison with
    the control.

    Args:
        found: The report.
    """
    import polars as pl

    table, totals = found.ranking, total_rewards(found)
    if totals is not None:
        sums = [totals[arm] for arm in table["arm"]]
        table = table.with_columns(total_reward=pl.Series(sums, dtype=pl.Float64))
    if found.control is not None:
        compared = found.control.frame.drop("anytime_low", "anytime_high").rename(
            {"low": "difference_low", "high": "difference_high"}
        )
        table = table.join(compared, on="arm", how="left", maintain_order="left")
    return table.with_columns(
        quote_formulas(pl.col("arm").map_elements(printable, pl.String))
    ).write_csv()


def charts(
    found: Report, history: pl.DataFrame | None, gain: Band | None, by: str = "rewards"
) -> list[Chart]:
    """The charts of the page.

    Args:
        found: The report.
        history: As for `page`.
        gain: As for `page`.
        by: As for `page`.
    """
    choice("by", by, AXES)
    names = list(found.state.config.arms)
    colours = arm_colours(names, found.frame["share"].to_list())
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


# ------------------------------------------------------------------------------ what comes first


def _lift(found: Report) -> list[Fact]:
    """The best arm that isn't the control, compared with it."""
    one = main_comparison(found)
    if found.control is None or one is None:
        return []
    name, lift = f"{one.arm} compared with {found.control.arm}", lift_text(one)
    if lift is None:
        cells = control_cells(found, [one.arm], percent=True)[0]
        return [Fact(name, cells[1], "difference of the means; no percentage yet")]
    value, _, interval = lift.partition(" [")
    more = f"lift; {interval_titles(found)[0]} {interval.rstrip(']').replace(', ', ' to ')} %"
    return [Fact(name, value, f"{more}; P(better) {percentage(one.p_better)}")]


def _money(found: Report) -> list[Fact]:
    """The sum of all rewards, and what learning has added to it."""
    out, totals = [], _totals(found)
    if totals is not None:
        clipped = "" if found.state.config.options.clip is None else ", clipped"
        more = f"sum of {plural(found.state.counted, 'reward')}{clipped}"
        out.append(Fact("Total reward", amount(sum(totals.values())), more))
    gained = gain_text(found)
    if gained is not None and found.gain is not None:
        value, _, interval = gained.partition(" [")
        noun = GOALS[found.goal][1]
        more = f"{interval_titles(found)[0]} {interval.rstrip(']').replace(', ', ' to ')}"
        # The interval is what was measured; a total without it would claim too much.
        unclear = "" if found.gain.clear else f"no clear {noun} yet; "
        out.append(Fact(f"{noun.capitalize()} from learning", value, f"{unclear}{more}"))
    return out


def _conversion(bought: Sequence[Conversion] | None) -> list[Fact]:
    """Conversion rate and value of all arms together."""
    if bought is None:
        return []
    rewards, nonzero = (sum(column) for column in zip(*(one[1:3] for one in bought), strict=True))
    more = f"{nonzero:,} of {plural(rewards, 'reward')} {'is' if nonzero == 1 else 'are'} not 0"
    return [Fact("Conversion rate", percentage(nonzero / rewards), more)]


def _rules(found: Report) -> list[Fact]:
    """How far every stop rule is from being met."""
    names = {
        "stop_p_best": "Highest P(best)",
        "stop_loss": "Lowest expected loss",
        "stop_error": "Arms not ruled out",
    }
    out = []
    for rule in stop_progress(found):
        now, target = "too early", f"at least {percentage(rule.target)}"
        if rule.option == "stop_loss":
            target = f"at most {rule.target:g}"
        elif rule.option == "stop_error":
            target = f"1, with an error of {percentage(found.error)}"
        if rule.now is not None:
            now = f"{rule.now:.3g}"
            if rule.option == "stop_p_best":
                now = percentage(rule.now)
                if not rule.met and now == percentage(rule.target):
                    now = f"just below {now}"
        out.append(Fact(names[rule.option], now, f"stop rule: {target}"))
    return out


def _outlook(found: Report, history: pl.DataFrame | None, now: datetime) -> str | None:
    """When a stop rule may be met, in a sentence that claims no more than is known."""
    if any(rule.met for rule in stop_progress(found)):
        return None  # the verdict says what speaks against stopping
    ahead = forecast_stop(found, _lately(history))
    if isinstance(ahead, str):
        return f"can't say yet when a stop rule will be met: {ahead}"
    most = f"more than {MOST_TIMES:g} times the rewards so far"
    if ahead.low is None:
        return f"rough forecast: it may take {most} to meet a stop rule"
    pace = None if history is None else recent_pace(history, now.timestamp())
    lasts = "" if pace is None else f"at the pace of the last {duration(pace[1])}"
    least = f"{_rounded(ahead.low):,}"
    if ahead.high is None:
        takes = "" if pace is None else f" ({lasts}, at least {duration(ahead.low / pace[0])})"
        how = f"at least {least} more rewards{takes}, and perhaps {most}"
    else:
        times = [] if pace is None else [duration(x / pace[0]) for x in (ahead.low, ahead.high)]
        takes = f" ({lasts}, {' to '.join(dict.fromkeys(times))})" if times else ""
        how = f"{least} to {_rounded(ahead.high):,} more rewards{takes}"
    return (
        f"rough forecast: a stop rule may be met after {how}; that is an {100 * LEVEL:g} % range, "
        "and assumes that arms keep their shares of the traffic"
    )


def _rounded(rewards: float) -> int:
    """A number of rewards with two digits, and at least 1.

    >>> _rounded(12345.6), _rounded(0.2)
    (12000, 1)
    """
    return max(int(float(f"{rewards:.2g}")), 1)


def _lately(history: pl.DataFrame | None) -> dict[str, float] | None:
    """The shares of the traffic at the last checkpoints; None if nothing is known."""
    import polars as pl

    if history is None or history.is_empty():
        return None
    times = history["time"].unique().sort().tail(LATELY)
    rows = history.filter(history["time"].is_in(times.implode()))
    shares = rows.group_by("arm").agg(pl.col("traffic").cast(pl.Float64).mean())
    return {arm: share or 0.0 for arm, share in shares.iter_rows()}


# ------------------------------------------------------------------------------ tables


def _totals(found: Report) -> dict[str, float] | None:
    """The sum of each arm's rewards; None where a sum says nothing, such as of milliseconds."""
    return total_rewards(found) if found.goal == "max" else None


def _control(found: Report) -> Table | None:
    """The differences from the control, the lift first; None without a control."""
    if found.control is None:
        return None
    rows = control_cells(found, list(found.ranking["arm"]), percent=True)
    heads = [title(head) for head in control_titles(found)]
    return Table(
        control_title(found),
        [heads[i] for i in LIFT_FIRST],
        [[row[i] for i in LIFT_FIRST] for row in rows],
    )


def _conversions(bought: Sequence[Conversion] | None) -> list[Table]:
    """How many rewards of each arm aren't 0, and what those are worth."""
    if bought is None:
        return []
    heads = ["Arm", "Rewards", "Not 0", "Conversion rate", "Value of one that isn't 0"]
    rows = [
        [one.arm, f"{one.rewards:,}", f"{one.nonzero:,}", percentage(one.rate), amount(one.value)]
        for one in bought
    ]
    if all(one.value in (1.0, None) for one in bought):  # rewards of 0 and 1
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return [Table(f"conversion, {CAVEAT}", heads, rows)]


def _options(options: Options) -> list[OptionShown]:
    """All options in force, those that aren't the default first."""
    stored, usual = options.to_json(), Options().to_json()
    usual["policy"] = {"label": Options.policy}
    labels = {"goal": "Goal", "prior": "Prior", **LABELS}
    shown = []
    for name, label in labels.items():
        value = stored.get(name)
        words = _prior(value) if name == "prior" else option_text(value)
        if isinstance(value, bool):
            words = "yes" if value else "no"
        elif name in ("window", "skew") and value:
            words = f"{words} s"
        shown.append(OptionShown(label, words, value == usual.get(name)))
    return sorted(shown, key=lambda one: one.default)


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
        "the best arm of each group that has enough data": text.segment_cells(shown),
        text.effects_title(shown): text.coefficient_cells(shown),
    }
    return [
        Table(caption, [head if head in shown.arms else title(head) for head in heads], rows)
        for caption, (heads, *rows) in cells.items()
        if rows
    ]


def _worth(found: Report) -> list[str]:
    """Sentences about the worth of context."""
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
