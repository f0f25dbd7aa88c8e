"""An `ExperimentPlan` as text: the answer first, then what it rests on, then tables."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._text import align_columns
from varts.planning.timetable import days_text

if TYPE_CHECKING:
    from varts.planning.daily_looks import Visitors
    from varts.planning.experiment import ExperimentPlan

WIDE = 110  # characters of a line from which on tables also show intervals
NEARLY_ALL = 0.95


def experiment_text(plan: ExperimentPlan, width: int = 80) -> str:
    """Everything that a plan says.

    Args:
        plan: The plan.
        width: Characters of a line.
    """
    width = max(60, width)
    parts = [fill(" ".join(answer_sentences(plan)), width)]
    listed = [fill(one, width, "- ", "  ") for one in rests_on(plan)]
    parts.append("\n".join(["What this rests on", *listed]))
    shown = tables(plan, wide=width >= WIDE)
    parts += [align_columns(title, rows, width) for title, rows in shown]
    notes = [fill(note, width, "note: ", "      ") for note in plan.notes]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def fill(text: str, width: int, first: str = "", later: str = "") -> str:
    """Lines of text that don't part a number from its percent sign.

    >>> fill("about 4 % of it", 8).split(chr(10))
    ['about', '4 % of', 'it']
    """
    kept = text.replace(" %", "\x00%")
    filled = textwrap.fill(kept, width, initial_indent=first, subsequent_indent=later)
    return filled.replace("\x00", " ")


# ------------------------------------------------------------------------------------- the answer


def answer_sentences(plan: ExperimentPlan) -> list[str]:
    """The answer: how long, how much, whether the days are enough, and how good the choice is."""
    row = plan.table.row(0, named=True)
    if not plan.rules:
        cost = (
            f"In {days_text(plan.timetable.days)} you'd give up about {cost_text(plan, row)}; "
            f"in 1 of 20 experiments, {amount(plan, row['given_up_95'])}."
        )
        return [cost, *choice_sentences(plan, row)]
    if row["days"] is None:
        first = (
            f"In most experiments the stop rule isn't met within {days_text(plan.limit)}: it is "
            f"met in {percent(share_by(plan, plan.limit))} of them."
        )
        cost = (
            f"You'd give up about {cost_text(plan, row)} until then; in 1 of 20 experiments, "
            f"{amount(plan, row['given_up_95'])}."
        )
    else:
        first = (
            f"You'd stop after about {days_text(row['days'])} ({day_range(plan, row)}) and give up "
            f"about {cost_text(plan, row)} on the way; in 1 of 20 experiments, "
            f"{amount(plan, row['given_up_95'])}."
        )
        cost = in_time_sentence(plan, row)
    return [first, cost, *choice_sentences(plan, row)]


def day_range(plan: ExperimentPlan, row: Any) -> str:
    """The days that 1 in 20 experiments stay below, and exceed."""
    late = row["days_95"]
    end = f"more than {plan.limit:,.0f}" if late is None else f"more than {late:,.0f}"
    if late == row["days_5"]:
        return f"nearly always on day {late:,.0f}"
    return f"{row['days_5']:,.0f} or less in 1 of 20, {end} in 1 of 20"


def in_time_sentence(plan: ExperimentPlan, row: Any) -> str:
    """Whether the planned days are enough."""
    days, share = days_text(plan.timetable.days), row["in_time"]
    are = "is" if plan.timetable.days == 1 else "are"
    if share in (0, 1):
        often = f"{'all' if share else 'none of the'} {plan.runs:,} simulated experiments"
        return f"Your {days} {are} enough in {often}."
    return f"Your {days} {are} enough in {percent(share)} of experiments."


def choice_sentences(plan: ExperimentPlan, row: Any) -> list[str]:
    """How good the arm is that is chosen in the end."""
    if row["right"] is None:
        return []
    found = plan.main
    chosen = "The arm that you stop with is the best one in"
    if not plan.rules:
        chosen = "In the end, the arm with the highest P(best) is the best one in"
    wrong = found.right == 0
    if row["right"] == 1:
        ended = int((~np.isnan(found.right)).sum())
        return [f"{chosen} all {ended:,} simulated experiments that ended with one."]
    said = f"{chosen} {percent(row['right'])} of cases"
    loss = float(found.loss[wrong].mean()) * plan.unit
    if plan.percent:
        per_round = np.abs(found.best) / rounds_of(plan)
        share = float((found.loss[wrong] / per_round[wrong]).mean())
        return [f"{said}; otherwise it is {percent(share)} worse on average."]
    return [f"{said}; otherwise it is worse by {loss:.3g} per decision on average."]


def rounds_of(plan: ExperimentPlan) -> Any:
    """The decisions of each experiment until it stopped or was no longer followed."""
    end = plan.limit if plan.rules else plan.timetable.days
    day = np.where(np.isinf(plan.main.day), end, plan.main.day)
    return np.round(plan.timetable.per_day * day)


def share_by(plan: ExperimentPlan, day: float) -> float:
    """The share of experiments that have stopped by a day."""
    return float((plan.main.day <= day).mean())


def cost_text(plan: ExperimentPlan, row: Any) -> str:
    """A sentence on the average loss."""
    of = "what the best arm would earn" if plan.goal == "max" else "what the best arm would cost"
    if not plan.percent:
        return f"{amount(plan, row['given_up'])} in units of the reward"
    return f"{percent(row['given_up'])} of {of}"


def amount(plan: ExperimentPlan, value: float) -> str:
    """A share in percent, or an amount."""
    return percent(value) if plan.percent else f"{value:,.4g}"


def percent(share: float) -> str:
    """A share in percent with two digits, never rounded to 0 or to all of it.

    >>> percent(0.043), percent(0.4567), percent(0.999), percent(0.00012), percent(1.0)
    ('4.3 %', '46 %', 'more than 99 %', '0.012 %', '100 %')
    """
    value = 100 * share
    if 99.5 <= value < 100:
        return "more than 99 %"
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.{max(0, 1 - math.floor(math.log10(abs(value))))}f} %"


# ------------------------------------------------------------------------------- what it rests on


def rests_on(plan: ExperimentPlan) -> list[str]:
    """The assumptions of a plan: some certain, some rough, some added by the simulation."""
    table, row = plan.timetable, plan.table.row(0, named=True)
    when = "that are known at once"
    if table.window:
        when = f"that count {days_text(table.window)} after their decision"
    found = [f"Taken as certain: {table.per_day:,.6g} decisions per day, and rewards {when}."]
    if table.window:
        before = (
            "the prior alone decides"
            if plan.options.prior is not None
            else "traffic is split evenly"
        )
        found.append(
            f"The first rewards take {days_text(table.window)} to settle, while {table.delay:,} "
            f"decisions are made: until then {before}."
        )
    found.append(plan.arms_from)
    if plan.visitors is not None:
        found.append(visitors_sentence(plan))
    why = f"the error of {plan.runs:,} simulated experiments"
    if plan.uncertain:
        why = f"what isn't known of the arms beforehand, and {why}"
    what = (
        amount(plan, row["given_up"]),
        amount(plan, row["given_up_low"]),
        amount(plan, row["given_up_high"]),
    )
    found.append(
        f"Averaged over experiments like this one, you'd give up {what[0]} [{what[1]}, {what[2]}]: "
        f"the interval is for {why}. A single experiment varies much more."
    )
    return found


def visitors_sentence(plan: ExperimentPlan) -> str:
    """How much rewards of returning visitors say."""
    visitors, n = plan.visitors, float(plan.timetable.horizon)
    assert visitors is not None
    each = n / len(plan.arms)
    effect = each / shrunk_n(visitors, each, n)
    keep = ", and keep their arm" if visitors.sticky else ""
    return (
        f"Visitors come {visitors.visits:.3g} times on average{keep}. Rewards of the same visitor "
        f"have a correlation of {visitors.correlation:.2g}: with an even split, the {n:,.0f} "
        f"decisions say as much as {n / effect:,.0f} independent ones."
    )


def shrunk_n(visitors: Visitors, n: float, total: float) -> float:
    """How many independent rewards n rewards of an arm are worth."""
    squares = visitors.shared(n, 1.0, total).counts
    return n / (1 + visitors.correlation * (squares / n - 1))


# ------------------------------------------------------------------------------------------ tables


def tables(plan: ExperimentPlan, wide: bool) -> list[tuple[str, list[list[str]]]]:
    """Titles and rows: the policies, and the weeks of the experiment.

    Args:
        plan: The plan.
        wide: Whether to show intervals as well.
    """
    return [policy_rows(plan, wide), week_rows(plan)]


def policy_rows(plan: ExperimentPlan, wide: bool) -> tuple[str, list[list[str]]]:
    """When the policies stop and what they give up."""
    rows = []
    for row in plan.table.iter_rows(named=True):
        cells = {"policy": row["policy"]}
        if plan.rules:
            last = plan.limit if row["policy"] == plan.policy else plan.timetable.days
            late = {name: day_text(row[name], last) for name in ("days", "days_95")}
            cells["stop day"] = late["days"]
            cells["1 in 20 later"] = late["days_95"]
            cells[f"by day {plan.timetable.days}"] = percent(row["in_time"])
            if wide:
                cells["interval"] = interval(row, "in_time")
        cells["gives up"] = amount(plan, row["given_up"])
        if wide:
            ends = (amount(plan, row[f"given_up_{end}"]) for end in ("low", "high"))
            cells["interval "] = "[{}, {}]".format(*ends)
        cells["1 in 20 more"] = amount(plan, row["given_up_95"])
        cells["right"] = "-" if row["right"] is None else percent(row["right"])
        if wide:
            cells["interval  "] = "-" if row["right"] is None else interval(row, "right")
        rows.append(cells)
    rule = " or ".join(f"{name} {value:g}" for name, value in plan.rules.items())
    how = f"stop rule: {rule}" if plan.rules else "no stop rule"
    heads = [head.strip() for head in rows[0]]
    title = f"Policies ({how}; {plan.runs:,} experiments)"
    return title, [heads, *(list(cells.values()) for cells in rows)]


def day_text(day: float | None, last: int) -> str:
    """A day, or that it is after the last one that was simulated."""
    return f">{last:,}" if day is None else f"{day:,.0f}"


def interval(row: Any, name: str) -> str:
    """The interval of a share."""
    return f"[{100 * row[f'{name}_low']:.0f}, {100 * row[f'{name}_high']:.0f}] %"


def week_rows(plan: ExperimentPlan) -> tuple[str, list[list[str]]]:
    """The weeks of the experiment."""
    heads = ["after day", "decisions", "rewards", *(["stopped"] if plan.rules else [])]
    rows = [[*heads, "given up so far", "1 in 20 more"]]
    for row in plan.by_week.iter_rows(named=True):
        cells = [f"{row['day']}", f"{row['decisions']:,}", f"{row['counted']:,}"]
        cells += [percent(row["stopped"])] if plan.rules else []
        rows.append([*cells, f"{row['given_up']:,.4g}", f"{row['given_up_95']:,.4g}"])
    what = "if nobody stops, " if plan.rules else ""
    return f"Week by week ({what}in units of the reward)", rows
