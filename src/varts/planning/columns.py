"""The columns of a plan's tables: what each one means, and how its numbers are written.

`TABLES` is the one description of them. Data frames, JSON, CSV files, text and web pages follow it,
and a test compares the list in docs/planning.md with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

# How a value is written: what follows the colon in a format string. A column of NAME holds text,
# one of COUNT whole numbers, any other floats. All amounts of a table have the same digits.
NAME, COUNT, AMOUNT, CHANGE = "", ",", ",.{digits}f", "+,.{digits}f"
PERCENT, TENTHS, TENTHS_MORE, FOUR_DIGITS = ".0%", ".1%", "+.1%", ".4g"

# Where text shows an interval: in its own column, in the same cell, as half its width, nowhere.
NONE, BESIDE, INSIDE, HALF, UNSHOWN = "", "beside", "inside", "half", "unshown"


class Column(NamedTuple):
    """A column of a table, which text shows under its title; without a title it doesn't.

    With an `interval`, the table also has `<name>_low` and `<name>_high`.
    """

    name: str
    title: str
    style: str
    interval: str
    meaning: str

    @property
    def names(self) -> list[str]:
        """The columns of the data frame."""
        return [self.name, *(f"{self.name}_{end}" for end in ("low", "high") if self.interval)]

    @property
    def type(self) -> Any:
        """Their type in polars."""
        return {NAME: pl.String, COUNT: pl.Int64}.get(self.style, pl.Float64)

    @property
    def heads(self) -> list[str]:
        """The heads of its columns in text."""
        return [self.title, "interval"] if self.interval == BESIDE else [self.title]

    def cells(self, row: Mapping[str, Any], digits: int, missing: str) -> list[str]:
        """Its cells of a row; `missing` stands for a count that is null."""
        style = self.style.format(digits=digits)
        missing = missing if self.style == COUNT else "-"
        value, *ends = (row[name] for name in self.names)
        text = missing if value is None else write_value(value, style)
        if self.interval in (NONE, UNSHOWN):
            return [text]
        low, high = ("-" if end is None else write_value(end, style) for end in ends)
        bracket = "-" if low == high == "-" else f"[{low}, {high}]"
        if self.interval == BESIDE:
            return [text, bracket]
        if value is None or None in ends:
            return [text]
        half = write_value((ends[1] - ends[0]) / 2, style)
        return [f"{text} {bracket}" if self.interval == INSIDE else f"{text} ± {half}"]


class Table:
    """A table: its columns in order."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns

    @property
    def schema(self) -> dict[str, Any]:
        """The columns of the data frame and their types."""
        return {name: column.type for column in self.columns for name in column.names}

    def frame(self, rows: Iterable[Any] = ()) -> pl.DataFrame:
        """The data frame of these rows; NaN and infinity become null."""
        finite = [list(map(_null_unless_finite, row)) for row in rows]
        return pl.DataFrame(finite, self.schema, orient="row")

    def digits(self, frame: pl.DataFrame) -> int:
        """The decimals of its amounts: enough for the first interval."""
        for one in self.columns:
            if one.style in (AMOUNT, CHANGE) and one.interval:
                halves = (frame[f"{one.name}_high"] - frame[one.name]).drop_nulls()
                return count_decimals(next((half for half in halves if half > 0), 0.0))
        return 0

    def write(self, frame: pl.DataFrame, missing: str = "-") -> list[list[str]]:
        """The heads and the rows as text; `missing` stands for a count that is null."""
        shown = [one for one in self.columns if one.title]
        digits = self.digits(frame)
        rows = [[head for one in shown for head in one.heads]]
        for row in frame.iter_rows(named=True):
            cells = [cell for one in shown for cell in one.cells(row, digits, missing)]
            rows.append([cells[0] + (" *" if row.get("assumes") else ""), *cells[1:]])
        return rows


def _null_unless_finite(x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    return None if isinstance(x, float) and not math.isfinite(x) else x


# ----------------------------------------------------------------------------- how numbers look


def count_decimals(half: float) -> int:
    """How many decimals show half the width of an interval to two digits.

    >>> count_decimals(21.4), count_decimals(0.034), count_decimals(0.0)
    (0, 3, 2)
    """
    if not half > 0:
        return 2
    return max(0, min(12, 1 - math.floor(math.log10(half))))


def write_value(x: Any, style: str) -> str:
    """A value in a style; zero has no minus.

    >>> write_value(-0.0004, ".0%"), write_value(1234, COUNT), write_value(-0.1, "+,.0f")
    ('0%', '1,234', '-0')
    """
    text = format(x, style)
    is_zero = isinstance(x, float) and not any(digit in text for digit in "123456789")
    return text.lstrip("-") if is_zero and not style.startswith("+") else text


def write_amount(x: float, digits: int) -> str:
    """An amount, for a sentence.

    >>> write_amount(1234.5, 0), write_amount(-0.004, 2)
    ('1,234', '0.00')
    """
    return write_value(x, AMOUNT.format(digits=digits))


# ---------------------------------------------------------------------------------- the columns

# fmt: off
POLICY = Column("policy", "policy", NAME, NONE, "The label of the policy.")
ASSUMES = Column("assumes", "", NAME, NONE,
    "The scale of rewards that the policy is made for; null if it suits any.")
REGRET = Column("regret", "regret", AMOUNT, BESIDE,
    "The mean regret against always playing the best arm.")
MEDIAN = Column("median", "median", AMOUNT, NONE, "The median of the regret.")
Q95 = Column("q95", "1 in 20 above", AMOUNT, NONE, "The regret that 1 in 20 experiments exceeds.")
REWARD = Column("reward", "reward", AMOUNT, UNSHOWN,
    "The mean of what an experiment collects or, if lower is better, spends.")
INFERIOR = Column("inferior", "on worse arms", TENTHS, HALF,
    "The share of rounds on arms that aren't the best.")
ROUND = Column("round", "", COUNT, NONE, "The number of rounds played.")
P_BEST = Column("p_best", "mean P(best)", TENTHS, NONE,
    "The mean P(best) of the arm that has the highest.")
IDENTIFIED = Column("identified", "is the best arm", PERCENT, INSIDE,
    "The share of experiments in which that arm is the best.")
ARM = Column("arm", "arm", NAME, NONE, "The name of the arm, or its number.")
SURE = (
    POLICY,
    Column("level", "P(best)", PERCENT, NONE, "The P(best) to reach."),
    Column("median", "after rounds (median)", COUNT, BESIDE,
        "The rounds until half of the experiments reach it."),
    Column("q25", "1 in 4 within", COUNT, NONE, "The rounds until 1 in 4 experiments reaches it."),
    Column("q75", "3 in 4 within", COUNT, NONE, "The rounds until 3 in 4 experiments reach it."),
    Column("reached", "reached it", PERCENT, INSIDE,
        "The share of experiments that reach it within the horizon."),
    Column("right", "was right then", PERCENT, INSIDE,
        "Of those, the share in which the arm that reached it is the best."),
)

#: By the name of the field of a `Plan`.
TABLES = {
    "table": Table(
        POLICY, REGRET, MEDIAN, Q95, REWARD, INFERIOR,
        Column("difference", "minus VarTS", CHANGE, BESIDE,
            "The regret minus that of VarTS, paired."),
        ASSUMES,
    ),
    "sure": Table(*SURE),
    "identified": Table(
        POLICY, ROUND, P_BEST, IDENTIFIED,
        Column("loss", "loses a round", AMOUNT, BESIDE,
            "How far that arm's mean is below the best one."),
    ),
    "wrong": Table(
        Column("prior", "prior of VarTS", NAME, NONE, "The prior that VarTS is given."),
        REGRET._replace(interval=NONE),
        Column("extra", "extra", CHANGE, BESIDE,
            "The regret minus that with the right prior, paired."),
        Column("relative", "in %", TENTHS_MORE, NONE,
            "`extra` as a share of the regret with the right prior."),
        Q95,
        P_BEST._replace(title="P(best) it ends with"),
        IDENTIFIED,
    ),
    "arms": Table(
        ARM,
        Column("mu", "mean", FOUR_DIGITS, NONE, "The mean that the prior expects."),
        Column("mean_sd", "± sd", FOUR_DIGITS, NONE, "The sd of that mean in the prior."),
        Column("p_best", "P(best)", TENTHS, NONE, "P(best) before the first round."),
    ),
    "curves": Table(POLICY, ROUND, REGRET),
    "half_lives": Table(
        Column("half_life", "half-life", COUNT, NONE,
            "The half-life of VarTS; null if nothing fades."),
        REGRET,
        Column("difference", "minus none", CHANGE, BESIDE,
            "The regret minus that without a half-life, paired."),
        Column("still", "without drift", AMOUNT, UNSHOWN, "The mean regret if no arm drifts."),
        Column("cost", "it costs", CHANGE, BESIDE,
            "What the half-life adds to `still`, paired."),
    ),
    "certainty": Table(
        POLICY,
        Column("stopped", "certain", TENTHS, NONE,
            "The share of experiments that are certain of an arm within `limit` rounds."),
        Column("median", "median", COUNT, NONE,
            "The rounds until half of the experiments are certain."),
        Column("q95", "1 in 20 above", COUNT, NONE,
            "The rounds until 19 in 20 experiments are certain."),
        Column("wrong", "wrong", TENTHS, BESIDE,
            "The share of experiments that name an arm that isn't the best."),
        REGRET._replace(meaning="The mean regret until an experiment ends."),
    ),
    "recorded": Table(
        POLICY, REGRET, MEDIAN, Q95,
        REWARD._replace(title="", interval=NONE), INFERIOR._replace(interval=NONE),
        Column("normal", "if normal", AMOUNT, UNSHOWN,
            "The mean regret on normal rewards of the same means and variances."),
        Column("prior", "from the prior", AMOUNT, NONE, "The mean regret in `table`."),
        ASSUMES,
    ),
    "recorded_sure": Table(*SURE),
    "recorded_arms": Table(
        ARM,
        Column("n", "rewards", COUNT, NONE, "The number of recorded rewards."),
        Column("mean", "mean", FOUR_DIGITS, NONE, "The mean of the recorded rewards."),
        Column("sd", "sd", FOUR_DIGITS, NONE, "Their standard deviation."),
        Column("zeros", "zeros", TENTHS, NONE, "The share of them that is 0."),
        Column("kurtosis", "kurtosis", FOUR_DIGITS, NONE, "Their kurtosis; 3 if normal."),
    ),
}
# fmt: on
