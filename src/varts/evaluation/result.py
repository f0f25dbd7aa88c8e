"""The result of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from varts._decoding import decode
from varts._text import decimal, places_for, printable


class Estimate(NamedTuple):
    """An estimate with its standard error and its interval.

    Args:
        value: The estimate.
        se: Its standard error.
        low: The lower end of its interval.
        high: The upper end.
    """

    value: float
    se: float
    low: float
    high: float


class ArmMean(NamedTuple):
    """The mean reward of an arm.

    Args:
        arm: The arm's name.
        n: How many rewards it has in the log.
        naive: The plain mean of its rewards, which is `mean` in a report. Adaptive sampling biases
            it. None without rewards.
        mean: The mean, weighted by the logged probabilities to correct for that bias. It differs
            from `mean` and `estimate` in a report, which aren't weighted. None without rewards.
    """

    arm: str
    n: int
    naive: float | None
    mean: Estimate | None


@dataclass(frozen=True, eq=False)  # an unknown number is NaN, which isn't equal to itself
class Evaluation:
    """The reward per decision that a target policy would have earned. `print` it.

    Args:
        name: The log.
        target: The target policy, as text.
        against: The policy that `difference` compares it with, as text.
        level: The confidence of the intervals.
        headline: Which of the estimates to quote.
        estimates: The estimate of each estimator: adaptive, doubly robust, self-normalised and
            inverse probability.
        difference: How much more the target would have earned than `against`.
        arms: The means of all arms.
        worth: The effective sample size for the target: (sum of weights)^2 / sum of squared
            weights, with the weights of each unit added up.
        largest_weight: The largest weight of a decision.
        largest_share: That weight's share of the sum of all weights.
        mean_weight: The mean of the inverse propensity weights, which should be 1.
        mean_weight_se: The standard error of that mean.
        smallest_probability: The smallest probability of a decision with a weight above 0.
        used: How many decisions were used.
        rows: How many rows the log has.
        left_out: How many rows were left out, by reason.
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
        """The standard error of `value`."""
        return self.estimates[self.headline].se

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.estimates[self.headline].low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.estimates[self.headline].high

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, where NaN is null; `from_dict` is the inverse."""
        estimates = {name: one._asdict() for name, one in self.estimates.items()}
        arms = [{**one._asdict(), "mean": one.mean and one.mean._asdict()} for one in self.arms]
        plain = asdict(self) | {"estimates": estimates, "arms": arms}
        plain |= {"difference": self.difference._asdict(), "notes": list(self.notes)}
        known: dict[str, Any] = _without_nan(plain)
        return known

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Evaluation:
        """Read the result of `to_dict`.

        Args:
            body: Plain values by name.
        """
        made: Evaluation = decode(cls, body, "evaluation")
        if made.headline not in made.estimates:
            raise ValueError(f"headline must be one of the estimates, got {made.headline!r}")
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evaluation):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __str__(self) -> str:
        interval = f"{100 * self.level:g} % interval"
        known = [*self.estimates.values(), *(one.mean for one in self.arms if one.mean)]
        places = places_for(one.high - one.low for one in known)
        lines = [
            f"{self.name}: {self.target}: {shown(self.estimates[self.headline], places)} "
            f"per decision, weighted by the logged probabilities ({interval}, {self.headline})",
            f"against {self.against}: {shown(self.difference, places, '+')}",
            "",
            *columns(
                ["estimator", "value", "se", interval],
                [[name, *cells(one, places)] for name, one in self.estimates.items()],
            ),
            "",
            *columns(
                ["arm", "rewards", "naive mean", "weighted mean", "se", interval],
                [
                    [one.arm, f"{one.n:,}", decimal(one.naive, places), *cells(one.mean, places)]
                    for one in self.arms
                ],
            ),
            "",
            f"{self.used:,} of {self.rows:,} decisions used, effective sample size "
            f"{self.worth:,.0f}; weights: mean {self.mean_weight:.3f} ± {self.mean_weight_se:.3f}, "
            f"largest {self.largest_weight:.3g} ({self.largest_share:.1%} of the total)",
        ]
        if self.left_out:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
            lines.append(f"left out: {reasons}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(printable(line).rstrip() for line in lines)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def cells(estimate: Estimate | None, places: int) -> list[str]:
    """Value, standard error and interval as the cells of a row."""
    if estimate is None:
        return ["-", "-", "-"]
    value, se, low, high = (decimal(part, places) for part in estimate)
    return [value, se, f"{low} to {high}"]


def shown(estimate: Estimate, places: int, sign: str = "") -> str:
    """Value and interval as text.

    >>> shown(Estimate(5.25, 0.5, 4.25, 6.25), 1, "+")
    '+5.2 [+4.2, +6.2]'
    """
    value, _, low, high = (decimal(part, places, sign) for part in estimate)
    return f"{value} [{low}, {high}]"


def columns(heads: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table: the first column aligned to the left, the others to the right."""
    table = [[printable(cell) for cell in row] for row in (heads, *rows)]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(wide[0]), *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True))]
        )
        for row in table
    ]
