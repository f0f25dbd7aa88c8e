"""A `Plan` as text: what `print(plan)` and `varts plan` show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from varts.planning.plan import Plan

MOST_ARMS = 12  # as many are listed one by one
FOUND = ("identified", "identified_low", "identified_high")


def plan_text(plan: Plan) -> str:
    """The tables and sentences of a plan, in the order in which one would ask."""
    better = "higher" if plan.goal == "max" else "lower"
    parts = [
        f"{plan.K} arms, {plan.horizon:,} rounds, {better} is better: {plan.runs:,} experiments "
        "simulated from the prior, intervals of 95 %",
        _arms(plan),
        _policies(plan),
        _sure(plan),
        _end(plan),
        _wrong(plan),
        "\n".join(f"note: {note}" for note in plan.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def _arms(plan: Plan) -> str:
    """Only where the prior tells arms apart."""
    arms = plan.arms
    if arms.height > MOST_ARMS or arms.select("mu", "mean_sd").unique().height == 1:
        return ""
    rows = [
        [row["arm"], _short(row["mu"]), _short(row["mean_sd"]), _percent(row["p_best"])]
        for row in arms.iter_rows(named=True)
    ]
    return columns("before the first round", [["arm", "mean", "± sd", "P(best)"], *rows])


def _policies(plan: Plan) -> str:
    table = plan.table
    digits = decimals(table["regret_high"][0] - table["regret"][0])
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
                number(row["regret"], digits),
                between(row["regret_low"], row["regret_high"], digits),
                number(row["median"], digits),
                number(row["q95"], digits),
                number(row["reward"], digits),
                f"{share[0]:.1%} ± {(share[2] - share[1]) / 2:.1%}",
                number(gap[0], digits, sign=True),
                between(gap[1], gap[2], digits, sign=True),
            ]
        )
    lines = [columns("what it costs to learn", rows)]
    assumed: dict[str, list[str]] = {}
    for row in table.iter_rows(named=True):
        if row["assumes"]:
            assumed.setdefault(row["assumes"], []).append(row["policy"])
    told = "; ".join(f"{', '.join(names)}: {what}" for what, names in assumed.items())
    lines.append(f"* depends on the unit of the rewards, made for: {told}")
    if plan.bound is not None:
        printed, corrected = (number(plan.bound[x], digits) for x in ("printed", "corrected"))
        lines.append(
            f"Theorem 2: regret of VarTS <= {printed} as printed, {corrected} with the proof's "
            "lost factor restored"
        )
    elif plan.prior.alpha.min() <= 1:
        lines.append(
            f"Theorem 2 gives no bound: it needs alpha > 1, and the prior has "
            f"{plan.prior.alpha.min():g}"
        )
    return "\n".join(lines)


def _sure(plan: Plan) -> str:
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
                late(row["median"]),
                f"[{late(row['median_low'])}, {late(row['median_high'])}]",
                f"[{late(row['q25'])}, {late(row['q75'])}]",
                _share(row["reached"], row["reached_low"], row["reached_high"]),
                "-" if right[0] is None else _share(*right),
            ]
        )
    title = f"how sure one may be, and when ({plan.watched} of the experiments; -: later)"
    return columns(title, rows)


def _end(plan: Plan) -> str:
    rows = [["policy", "mean P(best)", "is the best arm", "loses a round", "interval"]]
    for row in plan.identified.iter_rows(named=True):
        if row["round"] == plan.horizon:
            digits = decimals((row["loss_high"] - row["loss_low"]) / 2)
            rows.append(
                [
                    row["policy"],
                    _percent(row["p_best"]),
                    _share(*(row[name] for name in FOUND)),
                    number(row["loss"], digits),
                    between(row["loss_low"], row["loss_high"], digits),
                ]
            )
    return columns(f"the arm with the highest P(best) after {plan.horizon:,} rounds", rows)


def _wrong(plan: Plan) -> str:
    digits = decimals(min((plan.wrong["extra_high"] - plan.wrong["extra"]).drop_nulls()))
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
                number(row["regret"], digits),
                number(row["extra"], digits, sign=True),
                between(row["extra_low"], row["extra_high"], digits, sign=True),
                "-" if row["relative"] is None else f"{row['relative']:+.1%}",
                number(row["q95"], digits),
                _percent(row["p_best"]),
                _share(*(row[name] for name in FOUND)),
            ]
        )
    return columns("what a wrong prior costs VarTS", rows)


# ------------------------------------------------------------------------------ numbers and columns


def columns(title: str, rows: Iterable[list[str]]) -> str:
    """A title, and rows below it: the first column to the left, the others to the right.

    >>> print(columns("two", [["a", "b"], ["x", "1.50"]]))
    two
      a     b
      x  1.50
    """
    body = list(rows)
    widths = [max(len(row[i]) for row in body) for i in range(len(body[0]))]
    lines = [title]
    for row in body:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def decimals(half: float) -> int:
    """How many decimals show two digits of half an interval.

    >>> decimals(21.4), decimals(0.034), decimals(0.0)
    (0, 3, 2)
    """
    if not half > 0:
        return 2
    return max(0, min(12, 1 - math.floor(math.log10(half))))


def number(x: float | None, digits: int, sign: bool = False) -> str:
    """A number with commas; - for one that does not exist."""
    if x is None:
        return "-"
    text = f"{x:{'+' if sign else ''},.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 and not sign else text


def between(low: float | None, high: float | None, digits: int, sign: bool = False) -> str:
    """An interval."""
    if low is None or high is None:
        return "-"
    return f"[{number(low, digits, sign)}, {number(high, digits, sign)}]"


def late(n: Any) -> str:
    """A round, or - for one that was not seen."""
    return "-" if n is None else f"{n:,}"


def _percent(x: float) -> str:
    return f"{x:.1%}"


def _share(x: float, low: float, high: float) -> str:
    return f"{x:.0%} [{low:.0%}, {high:.0%}]"


def _short(x: float) -> str:
    return f"{x:.4g}"
