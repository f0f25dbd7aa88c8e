"""What an evaluation says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from varts._text import decimal, places_for, printable


class Estimate(NamedTuple):
    """A number with its standard error and the ends of its interval.

    Args:
        value: The number.
        se: Its standard error.
        low: Where the interval begins.
        high: Where it ends.
    """

    value: float
    se: float
    low: float
    high: float


class ArmMean(NamedTuple):
    """What an arm pays.

    Args:
        arm: Its name.
        n: How many of its rewards the log has.
        naive: Their plain mean, which adaptive sampling biases.
        mean: The mean corrected for it; None if there is nothing to correct with.
    """

    arm: str
    n: int
    naive: float | None
    mean: Estimate | None


@dataclass(frozen=True)
class Evaluation:
    """What another way of deciding would have earned a decision; `print` it.

    Args:
        name: The log.
        target: The way of deciding, in words.
        against: What `difference` compares it with, in words.
        level: The probability of the intervals.
        headline: Which of the estimates to quote.
        estimates: By each estimator: adaptive, doubly robust, self-normalised and inverse
            probability.
        difference: What it would have earned more than `against`.
        arms: The means of all arms.
        worth: How many decisions of the target the log is worth: (sum of weights)^2 / sum of
            squared weights, those of a unit added up.
        largest_weight: The weight of the heaviest decision.
        largest_share: Its share of all weights.
        mean_weight: It should be 1.
        mean_weight_se: Its standard error.
        smallest_probability: Of the decisions with a weight.
        used: How many decisions were used.
        rows: How many rows the log has.
        left_out: Rows that were not used, by reason.
        notes: A sentence for everything that makes the numbers doubtful.
    """

    name: str
    target: str
    against: str
    level: float
    headline: str
    estimates: Mapping[str, Estimate]
    difference: Estimate
    arms: tuple[ArmMean, ...]
    worth: float
    largest_weight: float
    largest_share: float
    mean_weight: float
    mean_weight_se: float
    smallest_probability: float
    used: int
    rows: int
    left_out: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def value(self) -> float:
        """The estimate to quote."""
        return self.estimates[self.headline].value

    @property
    def se(self) -> float:
        """Its standard error."""
        return self.estimates[self.headline].se

    @property
    def low(self) -> float:
        """Where its interval begins."""
        return self.estimates[self.headline].low

    @property
    def high(self) -> float:
        """Where its interval ends."""
        return self.estimates[self.headline].high

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        estimates = {name: one._asdict() for name, one in self.estimates.items()}
        arms = [{**one._asdict(), "mean": one.mean and one.mean._asdict()} for one in self.arms]
        plain = asdict(self) | {"estimates": estimates, "arms": arms}
        return plain | {"difference": self.difference._asdict(), "notes": list(self.notes)}

    def __str__(self) -> str:
        interval = f"{100 * self.level:g} % interval"
        known = [*self.estimates.values(), *(one.mean for one in self.arms if one.mean)]
        places = places_for(one.high - one.low for one in known)
        lines = [
            f"{self.name}: {self.target}: {shown(self.estimates[self.headline], places)} "
            f"a decision ({interval}, {self.headline})",
            f"against {self.against}: {shown(self.difference, places, '+')}",
            "",
            *columns(
                ["estimator", "value", "se", interval],
                [[name, *cells(one, places)] for name, one in self.estimates.items()],
            ),
            "",
            *columns(
                ["arm", "rewards", "naive mean", "mean", "se", interval],
                [
                    [one.arm, f"{one.n:,}", decimal(one.naive, places), *cells(one.mean, places)]
                    for one in self.arms
                ],
            ),
            "",
            f"{self.used:,} of {self.rows:,} decisions used, worth {self.worth:,.0f} of this policy"
            f"; weights: mean {self.mean_weight:.3f} ± {self.mean_weight_se:.3f}, "
            f"largest {self.largest_weight:.3g} ({self.largest_share:.1%} of all)",
        ]
        if self.left_out:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
            lines.append(f"left out: {reasons}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(printable(line).rstrip() for line in lines)


def cells(estimate: Estimate | None, places: int) -> list[str]:
    """Value, standard error and interval."""
    if estimate is None:
        return ["-", "-", "-"]
    value, se, low, high = (decimal(part, places) for part in estimate)
    return [value, se, f"{low} to {high}"]


def shown(estimate: Estimate, places: int, sign: str = "") -> str:
    """Value and interval.

    >>> shown(Estimate(5.25, 0.5, 4.25, 6.25), 1, "+")
    '+5.2 [+4.2, +6.2]'
    """
    value, _, low, high = (decimal(part, places, sign) for part in estimate)
    return f"{value} [{low}, {high}]"


def columns(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table: names to the left, numbers to the right."""
    table = [[printable(cell) for cell in row] for row in (heads, *rows)]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(wide[0]), *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True))]
        )
        for row in table
    ]
