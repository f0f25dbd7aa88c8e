"""A `Plan` as text: what `print(plan)` and `varts plan` show."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from varts._text import WIDTH, align_columns, printable
from varts.planning.columns import (
    count_decimals,
    format_interval,
    format_number,
    format_round,
)
from varts.planning.forgetting import best_half_life, describe_drift

if TYPE_CHECKING:
    from varts.planning.result import Plan

MOST_ARMS_LISTED = 12  # more would fill the screen
IDENTIFIED = ("identified", "identified_low", "identified_high")


class Section(NamedTuple):
    """A table of a plan: its title, its rows, the column heads first, and what is said below it."""

    title: str
    rows: list[list[str]]
    below: Sequence[str] = ()

    def __str__(self) -> str:
        table = [align_columns(self.title, self.rows)] if self.rows else []
        return "\n".join([*table, *self.below])


def plan_text(plan: Plan) -> str:
    """The tables and sentences of a plan: first what it costs, then what is learned."""
    notes = "\n".join(f"note: {printable(note)}" for note in plan.notes)
    parts = [plan_headline(plan), *map(str, plan_sections(plan)), notes]
    return "\n\n".join(part for part in parts if part)


def plan_headline(plan: Plan) -> str:
    """What was simulated, in a sentence."""
    better = "higher" if plan.goal == "max" else "lower"
    return (
        f"{plan.K} arms, {plan.horizon:,} rounds, {better} is better: {plan.runs:,} experiments "
        "simulated from the prior, intervals of 95 %"
    )


def plan_sections(plan: Plan) -> list[Section]:
    """The tables of a plan as text, in the order in which they are read."""
    return [
        *_describe_arms(plan),
        *_describe_certainty(plan),
        _describe_policies(plan),
        _describe_sure(plan),
        _describe_end(plan),
        _describe_wrong(plan),
        *_describe_recorded(plan),
        *_describe_drift(plan),
    ]


def _describe_arms(plan: Plan) -> list[Section]:
    """Empty if the prior is the same for all arms."""
    arms = plan.arms
    if arms.height > MOST_ARMS_LISTED or arms.select("mu", "mean_sd").unique().height == 1:
        return []
    rows = [
        [arm, f"{mu:.4g}", f"{mean_sd:.4g}", _format_percent(p_best)]
        for arm, mu, mean_sd, p_best in arms.iter_rows()
    ]
    return [Section("before the first round", [["arm", "mean", "± sd", "P(best)"], *rows])]


def _describe_certainty(plan: Plan) -> list[Section]:
    """Empty unless the aim is the best arm."""
    table = plan.certainty
    if table.height == 0:
        return []
    digits = count_decimals(table["regret_high"][0] - table["regret"][0])
    rows = [
        ["policy", "certain", "median", "1 in 20 above", "wrong", "interval", "regret", "interval"]
    ]
    for row in table.iter_rows(named=True):
        never = f"> {plan.limit:,}"
        rows.append(
            [
                row["policy"],
                "-" if row["stopped"] is None else _format_percent(row["stopped"]),
                *(never if row[name] is None else f"{row[name]:,}" for name in ("median", "q95")),
                f"{row['wrong']:.1%}",
                f"[{row['wrong_low']:.1%}, {row['wrong_high']:.1%}]",
                format_number(row["regret"], digits),
                format_interval(row["regret_low"], row["regret_high"], digits),
            ]
        )
    title = f"rounds until the best arm is certain, with an error of {100 * (plan.error or 0):g} %"
    below = "halving is never certain: its budget is what T3C takes in half of the experiments"
    return [Section(title, rows, [below])]


def _describe_policies(plan: Plan) -> Section:
    table = plan.table
    digits = count_decimals(table["regret_high"][0] - table["regret"][0])
    reward = "reward" if plan.goal == "max" else "cost"
    rows = [
        [
            "policy", "regret", "interval", "median", "1 in 20 above", reward, "on worse arms",
            "minus VarTS", "interval",
        ]
    ]  # fmt: skip
    for row in table.iter_rows(named=True):
        mark = " *" if row["assumes"] else ""
        share = [row[name] for name in ("inferior", "inferior_low", "inferior_high")]
        gap = [row[name] for name in ("difference", "difference_low", "difference_high")]
        rows.append(
            [
                row["policy"] + mark,
                format_number(row["regret"], digits),
                format_interval(row["regret_low"], row["regret_high"], digits),
                format_number(row["median"], digits),
                format_number(row["q95"], digits),
                format_number(row["reward"], digits),
                f"{share[0]:.1%} ± {(share[2] - share[1]) / 2:.1%}",
                format_number(gap[0], digits, sign=True),
                format_interval(gap[1], gap[2], digits, sign=True),
            ]
        )
    assumed: dict[str, list[str]] = {}
    for row in table.iter_rows(named=True):
        if row["assumes"]:
            assumed.setdefault(row["assumes"], []).append(row["policy"])
    units = "; ".join(f"{', '.join(names)}: {what}" for what, names in assumed.items())
    mark = f"* depends on the unit of the rewards, made for: {units}"
    below = [textwrap.fill(mark, WIDTH, subsequent_indent="  ", break_long_words=False)]
    if plan.bound is not None:
        printed = format_number(plan.bound["printed"], digits)
        corrected = format_number(plan.bound["corrected"], digits)
        below.append(
            f"Theorem 2: regret of VarTS <= {printed} as printed, {corrected} with the proof's "
            "lost factor restored"
        )
    elif plan.prior.alpha.min() <= 1:
        below.append(
            f"Theorem 2 gives no bound: it needs alpha > 1, and the prior has "
            f"{plan.prior.alpha.min():g}"
        )
    return Section("what it costs to learn", rows, below)


def _describe_sure(plan: Plan) -> Section:
    rows = [
        [
            "policy", "P(best)", "after rounds (median)", "interval", "middle half",
            "reached it", "was right then",
        ]
    ]  # fmt: skip
    for row in plan.sure.iter_rows(named=True):
        right = [row[name] for name in ("right", "right_low", "right_high")]
        rows.append(
            [
                row["policy"],
                f"{row['level']:.0%}",
                format_round(row["median"]),
                f"[{format_round(row['median_low'])}, {format_round(row['median_high'])}]",
                f"[{format_round(row['q25'])}, {format_round(row['q75'])}]",
                _format_share(row["reached"], row["reached_low"], row["reached_high"]),
                "-" if right[0] is None else _format_share(*right),
            ]
        )
    title = f"how sure one may be, and when ({plan.followed} of the experiments; -: later)"
    return Section(title, rows)


def _describe_end(plan: Plan) -> Section:
    rows = [["policy", "mean P(best)", "is the best arm", "loses a round", "interval"]]
    for row in plan.identified.iter_rows(named=True):
        if row["round"] == plan.horizon:
            digits = count_decimals((row["loss_high"] - row["loss_low"]) / 2)
            rows.append(
                [
                    row["policy"],
                    _format_percent(row["p_best"]),
                    _format_share(*(row[name] for name in IDENTIFIED)),
                    format_number(row["loss"], digits),
                    format_interval(row["loss_low"], row["loss_high"], digits),
                ]
            )
    return Section(f"the arm with the highest P(best) after {plan.horizon:,} rounds", rows)


def _describe_wrong(plan: Plan) -> Section:
    digits = count_decimals(min((plan.wrong["extra_high"] - plan.wrong["extra"]).drop_nulls()))
    rows = [
        [
            "what VarTS is told", "regret", "extra", "interval", "in %", "1 in 20 above",
            "P(best) it ends with", "is the best arm",
        ]
    ]  # fmt: skip
    for row in plan.wrong.iter_rows(named=True):
        rows.append(
            [
                row["prior"],
                format_number(row["regret"], digits),
                format_number(row["extra"], digits, sign=True),
                format_interval(row["extra_low"], row["extra_high"], digits, sign=True),
                "-" if row["relative"] is None else f"{row['relative']:+.1%}",
                format_number(row["q95"], digits),
                _format_percent(row["p_best"]),
                _format_share(*(row[name] for name in IDENTIFIED)),
            ]
        )
    return Section("what a wrong prior costs VarTS", rows)


def _describe_recorded(plan: Plan) -> list[Section]:
    """The same experiment on recorded rewards; empty if there are none."""
    if plan.recorded is None or plan.recorded_sure is None or plan.recorded_arms is None:
        return []
    table = plan.recorded
    digits = count_decimals(table["regret_high"][0] - table["regret"][0])
    rows = [
        [
            "policy", "regret", "interval", "median", "1 in 20 above", "on worse arms",
            "if normal", "from the prior",
        ]
    ]  # fmt: skip
    for row in table.iter_rows(named=True):
        rows.append(
            [
                row["policy"] + (" *" if row["assumes"] else ""),
                format_number(row["regret"], digits),
                format_interval(row["regret_low"], row["regret_high"], digits),
                format_number(row["median"], digits),
                format_number(row["q95"], digits),
                _format_percent(row["inferior"]),
                format_number(row["normal"], digits),
                format_number(row["prior"], digits),
            ]
        )
    count = plan.recorded_arms["n"].sum()
    title = f"the same on {count:,} recorded rewards of these arms"
    sure = [["policy", "P(best)", "reached it", "was right then"]]
    for row in plan.recorded_sure.iter_rows(named=True):
        right = [row[name] for name in ("right", "right_low", "right_high")]
        sure.append(
            [
                row["policy"],
                f"{row['level']:.0%}",
                _format_share(row["reached"], row["reached_low"], row["reached_high"]),
                "-" if right[0] is None else _format_share(*right),
            ]
        )
    said = Section("", [], [printable(line) for line in plan.comparison])
    return [Section(title, rows), Section("how sure one may be there", sure), said]


def _describe_drift(plan: Plan) -> list[Section]:
    """Empty without drift."""
    table = plan.half_lives
    if plan.drift is None:
        return []
    digits = count_decimals(table["regret_high"][0] - table["regret"][0])
    rows = [
        [
            "half-life", "regret", "interval", "minus none", "interval", "without drift",
            "it costs", "interval",
        ]
    ]  # fmt: skip
    for row in table.iter_rows(named=True):
        rows.append(
            [
                "none" if row["half_life"] is None else f"{row['half_life']:,}",
                format_number(row["regret"], digits),
                format_interval(row["regret_low"], row["regret_high"], digits),
                format_number(row["difference"], digits, sign=True),
                format_interval(row["difference_low"], row["difference_high"], digits, sign=True),
                format_number(row["still"], digits),
                format_number(row["cost"], digits, sign=True),
                format_interval(row["cost_low"], row["cost_high"], digits, sign=True),
            ]
        )
    title = f"what VarTS should forget, if {describe_drift(plan.drift)}"
    return [Section(title, rows, [_advise_half_life(plan, digits)])]


def _advise_half_life(plan: Plan, digits: int) -> str:
    best, none = best_half_life(plan.half_lives), plan.half_lives.row(0, named=True)
    if best is None:
        return (
            "use no half-life: under this drift none of these is certain to have less regret than "
            "remembering everything"
        )
    saved = (none["regret"] - best["regret"]) / none["regret"]
    return (
        f"use a half-life of {best['half_life']:,}: it saves {saved:.0%} of the regret under this "
        f"drift; if the arms do not drift at all, it costs {format_number(best['cost'], digits)} "
        f"{format_interval(best['cost_low'], best['cost_high'], digits)} more"
    )


def _format_percent(x: float) -> str:
    return f"{x:.1%}"


def _format_share(x: float, low: float, high: float) -> str:
    return f"{x:.0%} [{low:.0%}, {high:.0%}]"
