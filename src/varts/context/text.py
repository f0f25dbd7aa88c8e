"""A `ContextReport` as text, for `print(report)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from varts._text import align_columns, decimal, places_for, printable, range_text
from varts.context.inference import FEWEST_PER_HALF

if TYPE_CHECKING:
    from varts.context.report import ContextReport

NOT_ENOUGH = "not enough data yet"
NO_CLAIM = "no claim that choosing by context"
MOST_ARMS_LISTED = 12  # more would fill the screen


def report_text(report: ContextReport) -> str:
    """Return the tables and sentences of a report: all units, groups, effects, value of context.

    Args:
        report: The report.
    """
    return "\n\n".join([headline(report), overall_table(report), by_context_text(report)])


def by_context_text(report: ContextReport) -> str:
    """Return all but the table of all units: groups, effects, value of context.

    Args:
        report: The report.
    """
    segments, effects = segment_cells(report), coefficient_cells(report)
    parts = [align_columns("Which arm for whom", segments)] if len(segments) > 1 else []
    parts.append(f"{align_columns(effects_title(report), effects)}\n{by_chance(report)}")
    return "\n\n".join([*parts, "\n".join(sentences(report))])


def sentences(report: ContextReport) -> list[str]:
    """Return the sentences below the tables: the value of context, and values without rewards.

    Args:
        report: The report.
    """
    said = [verdict(report)]
    if report.unsplit and report.worth.crossfitted:
        said.append(
            f"the gain is estimated without {report.unsplit:,.10g} rewards that an older version "
            "recorded, because they can't be cross-fitted"
        )
    if report.unknown:
        said.append(
            f"{report.unknown:.1%} of the units have a feature value that no rewarded unit has "
            "had; it is assumed to make no difference"
        )
    return said


def by_chance(report: ContextReport) -> str:
    """Return a sentence about how many intervals of the effects miss by chance.

    Args:
        report: The report.
    """
    count = report.by_chance
    misses = count["expected_misses"]
    about = f"{misses:.0f}" if misses >= 1.5 else "one" if misses >= 0.5 else "none or one"
    return (
        f"each of the {count['intervals']:,} intervals of effects holds at {100 * report.level:g} "
        f"%: expect {about} of them to miss by chance"
    )


def headline(report: ContextReport) -> str:
    """Return the first line: the size of the data, and the goal.

    Args:
        report: The report.
    """
    goal = "maximize" if report.goal == "max" else "minimize"
    rewards = report.frame["n"].sum()
    counts = f"{len(report.arms)} arms, {rewards:,.10g} rewards, {report.unit_count:,} units"
    return f"{counts}, goal: {goal}"


def overall_table(report: ContextReport) -> str:
    """Return a table of the arms, sorted by P(best), each as if all units got it.

    Args:
        report: The report.
    """
    rows = report.frame.sort("p_best", descending=True, maintain_order=True).to_dicts()
    places = _places(rows, "mean_low", "mean_high")
    heads = ["arm", "n", "estimate", _interval(report), "P(best)", "expected loss", "gets", "share"]
    body = [
        [
            row["arm"],
            f"{row['n']:,.10g}",
            decimal(row["estimate"], places),
            range_text(row["mean_low"], row["mean_high"], places),
            f"{row['p_best']:.4f}",
            f"{row['expected_loss']:.3g}",
            f"{row['gets']:.1%}",
            f"{row['share']:.1%}",
        ]
        for row in rows[:MOST_ARMS_LISTED]
    ]
    more = len(rows) - len(body)
    table = align_columns("All units", [heads, *body])
    return f"{table}\n  and {more:,} more" if more else table


def segment_cells(report: ContextReport) -> list[list[str]]:
    """Return the header of a table, and a row per group with its best arm if there is enough data.

    Args:
        report: The report.
    """
    best = (
        [
            max(group.to_dicts(), key=lambda row: row["p_best"])
            for group in report.segments.partition_by("feature", "value", maintain_order=True)
        ]
        if report.segments.height
        else []
    )
    places = _places(best, "mean_low", "mean_high")
    heads = ["for", "units", "arm", "P(best)", "estimate", _interval(report), "expected loss"]
    body = [
        [
            f"{row['feature']} {row['value']}",
            f"{row['units']:,}",
            row["arm"] if row["named"] else NOT_ENOUGH,
            f"{row['p_best']:.4f}" if row["named"] else "-",
            decimal(row["estimate"], places) if row["named"] else "-",
            range_text(row["mean_low"], row["mean_high"], places) if row["named"] else "-",
            f"{row['expected_loss']:.3g}" if row["named"] else "-",
        ]
        for row in best
    ]
    return [heads, *body]


def effects_title(report: ContextReport) -> str:
    """Return the title of the table of effects.

    Args:
        report: The report.
    """
    return f"Effects of features, {_interval(report)}s"


def coefficient_cells(report: ContextReport) -> list[list[str]]:
    """Return the header and rows of the effects in which units differ, with columns for each arm.

    Args:
        report: The report.
    """
    arms = report.arms[:MOST_ARMS_LISTED]
    rows: dict[str, list[dict[str, Any]]] = {}
    table = report.coefficients
    differ = table["sd"].is_null() | (table["sd"] > 0)
    for row in table.filter(table["arm"].is_in(arms) & differ).to_dicts():
        rows.setdefault(row["effect"], []).append(row)
    heads = ["effect on the mean", *(cell for arm in arms for cell in (arm, "interval"))]
    body = []
    for effect, of_arms in rows.items():
        places = _places(of_arms, "low", "high")
        cells = (
            (decimal(row["estimate"], places), range_text(row["low"], row["high"], places))
            for row in of_arms
        )
        body.append([effect, *(cell for pair in cells for cell in pair)])
    return [heads, *body]


def verdict(report: ContextReport) -> str:
    """Return a sentence about the value of context.

    Args:
        report: The report.
    """
    worth, single = report.worth, printable(report.worth.single)
    if not report.enough:
        return f"{NOT_ENOUGH} to say whether the best arm depends on the context"
    if not worth.crossfitted:
        return f"{NO_CLAIM} beats {single} for everybody: {_why_not(report)}"
    if worth.low == worth.high == 0:
        return f"{single} has the best estimate for every unit: context adds nothing so far"
    places = places_for([worth.high - worth.low])
    size = f"{decimal(worth.gain, places)} per unit"
    between = f"({_interval(report)} {range_text(worth.low, worth.high, places)})"
    rest = f"; perfect knowledge would add {report.rule_loss:.3g}"
    if worth.low <= 0:
        return (
            f"{NOT_ENOUGH} to say that choosing by context beats {single} for everybody: "
            f"the expected gain is {size} {between}{rest}"
        )
    return f"choosing by context gains {size} over {single} for everybody {between}{rest}"


def _why_not(report: ContextReport) -> str:
    """Why the gain can't be cross-fitted."""
    if report.unsplit:
        return (
            "the value of context can't be cross-fitted for rewards recorded by an older version, "
            "and there are too few others"
        )
    return (
        "its gain isn't cross-fitted, which takes two random halves of the rewards with at least "
        f"{FEWEST_PER_HALF} rewards of every arm"
    )


def _interval(report: ContextReport) -> str:
    return f"{100 * report.level:g} % interval"


def _places(rows: list[dict[str, Any]], low: str, high: str) -> int:
    return places_for(row[high] - row[low] for row in rows if row[low] is not None)
