"""Aggregates: the number, mean and standard deviation of an arm's rewards in a period.

Tools that only accept a traffic split report no single rewards. An aggregate has no decision, no
unit and no context. Its rewards count as independent units. Their third and fourth moments are
unknown, so they are taken as those of Gaussian rewards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

from varts.live.core.events import Event
from varts.live.core.sums import Shared, Sums

DAY = 86_400_000_000  # microseconds
START = datetime(1970, 1, 1, tzinfo=UTC)


class Period(NamedTuple):
    """A stretch of time, in microseconds since 1970, UTC; the end is not part of it."""

    start: int
    end: int

    def __str__(self) -> str:
        """The period as you would type it: a day, a range of days that includes the last one, or
        two times.

        >>> str(Period(0, DAY)), str(Period(0, 7 * DAY)), str(Period(0, DAY // 2))
        ('1970-01-01', '1970-01-01/1970-01-07', '1970-01-01T00:00:00Z/1970-01-01T12:00:00Z')
        """
        if self.start % DAY or self.end % DAY:
            return f"{_time(self.start)}/{_time(self.end)}"
        first, last = (f"{_moment(at):%Y-%m-%d}" for at in (self.start, self.end - DAY))
        return first if first == last else f"{first}/{last}"

    def overlaps(self, other: Period) -> bool:
        """Whether some time is in both."""
        return self.start < other.end and other.start < self.end


class Numbers(NamedTuple):
    """The numbers of an aggregate; n is 0 if it was voided."""

    n: int
    mean: float = 0.0
    sd: float = 0.0

    def sums(self, at: int) -> Sums:
        """The rewards as the statistics add them up, the last of which has the number `at`.

        >>> Numbers(3, 3.0, 2.0).sums(3).moments
        (3.0, 3.0, 8.0, 0.0, 64.0)
        """
        n, m2 = float(self.n), self.sd * self.sd * (self.n - 1)
        shared = Shared(self.n, m2, 0.0, n)
        return Sums(self.n, n, 0.0, m2, 0.0, 3 * m2 * m2 / n, self.mean, at, None, shared)

    @property
    def text(self) -> str:
        """The numbers as part of a sentence."""
        return f"n {self.n}, mean {self.mean!r}, sd {self.sd!r}"


class Aggregate(NamedTuple):
    """The rewards of an arm in a period, as an event has them.

    Args:
        arm: The index of the arm.
        period: The period.
        numbers: The numbers after the event.
        before: The numbers before it; None if the event is the first about this arm and period.
        new: By how much the event moves the number of rewards so far, which never decreases.
    """

    arm: int
    period: Period
    numbers: Numbers
    before: Numbers | None
    new: int

    @classmethod
    def after(cls, arm: int, period: Period, numbers: Numbers, known: Sequence[Aggregate]) -> Self:
        """The next one after those that are known of this arm and period."""
        most = max((one.numbers.n for one in known), default=0)
        before = known[-1].numbers if known else None
        return cls(arm, period, numbers, before, max(numbers.n - most, 0))

    @property
    def place(self) -> tuple[int, Period]:
        """The arm and the period, which name the aggregate."""
        return self.arm, self.period

    def body(self) -> dict[str, Any]:
        """The body of the event; `read` is the inverse."""
        body = {**self.period._asdict(), **self.numbers._asdict(), "new": self.new}
        return body if self.before is None else {**body, "before": self.before._asdict()}


def read(event: Event) -> Aggregate:
    """Read an event about an aggregate; raises ValueError if it isn't one."""
    if event.arm is None or event.body is None:
        raise ValueError("an aggregate must have an arm and a body, got none")
    return read_body(event.arm, event.body)


def read_body(arm: int, body: Mapping[str, Any]) -> Aggregate:
    """Read the arm and the body of an event about an aggregate."""
    before = body.get("before")
    return Aggregate(
        arm,
        Period(body["start"], body["end"]),
        _read_numbers(body),
        None if before is None else _read_numbers(before),
        body["new"],
    )


def _read_numbers(body: Mapping[str, Any]) -> Numbers:
    return Numbers(body["n"], body["mean"], body["sd"])


def _moment(at: int) -> datetime:
    return START + timedelta(microseconds=at)


def _time(at: int) -> str:
    return _moment(at).isoformat().replace("+00:00", "Z")
