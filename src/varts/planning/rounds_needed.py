"""How many rounds it takes: the answer to a question of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from varts.planning.text import decimals, late, number


@dataclass(frozen=True)
class Answer:
    """How many rounds it takes; `print` it for a sentence.

    `rounds` is None if `looked` rounds were not enough. `reached` is how far the experiments had
    come then: for the question "loss" the average regret a round, for "sure" the share of
    experiments in which P(best) had reached the level.
    """

    question: str  #: loss or sure
    policy: str
    target: float
    share: float | None
    rounds: int | None
    low: int | None  #: 95 % interval; None: not within `looked` rounds, or too few cases to tell
    high: int | None
    looked: int
    reached: float
    reached_low: float
    reached_high: float

    def __str__(self) -> str:
        ends = (self.reached, self.reached_low, self.reached_high)
        if self.question == "loss":
            what = f"lose less than {self.target:g} a round on average"
            digits = decimals((self.reached_high - self.reached_low) / 2)
            here = "it loses {} [{}, {}] a round".format(*(number(x, digits) for x in ends))
        else:
            sure, often = 100 * self.target, 100 * (self.share or 0)
            what = f"be {sure:g}% sure of an arm in {often:g}% of cases"
            here = "it was in {:.0%} [{:.0%}, {:.0%}] of cases".format(*ends)
        if self.rounds is None:
            return f"{self.policy}, to {what}: more than {self.looked:,} rounds, after which {here}"
        if self.high is not None:
            high = f"{self.high:,}"
        elif (
            self.question == "sure" and self.reached == 1
        ):  # all had been: it is the number of them
            high = "no limit from so few cases"
        else:
            high = f"more than {self.looked:,}"
        return f"{self.policy}, to {what}: {self.rounds:,} rounds [{late(self.low)}, {high}]"
