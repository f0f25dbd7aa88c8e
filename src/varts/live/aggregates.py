"""Recording aggregates: each counts once, by its arm and period.

A correction replaces all numbers of an aggregate. The statistics are then added up again from the
log, so they come out exactly as if the aggregate had been right the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from varts.live.core.aggregates import Aggregate, Numbers, Period
from varts.live.core.allocation import tosses
from varts.live.core.events import AGGREGATE, OF_NO_DECISION
from varts.live.core.state import Config
from varts.live.errors import InvalidReward, LiveError, Refused, RewardConflict, UnknownArm
from varts.live.session import Session, Write

# Errors that refuse one aggregate and leave the others alone.
REFUSALS = (UnknownArm, RewardConflict, InvalidReward)
VOIDED = Numbers(0)


class Given(NamedTuple):
    """The numbers of an arm in a period; `VOIDED` takes them back."""

    arm: str
    period: Period
    numbers: Numbers


def record_aggregates(
    session: Session, items: Sequence[Given], correct: bool, note: Mapping[str, str]
) -> list[bool]:
    """Record aggregates; if one is refused, none is recorded.

    Args:
        session: The experiment.
        items: The aggregates.
        correct: Whether they replace those that have other numbers.
        note: The author, and the reason.

    Returns:
        Whether each of them was new.
    """
    with session.changing() as write:
        recorder = _Recorder(session, write, items, correct, note)
        return [recorder.record(item) for item in items]


def record_each_aggregate(
    session: Session, items: Sequence[Given], correct: bool, note: Mapping[str, str]
) -> list[bool | LiveError]:
    """Record aggregates; a refused one doesn't keep the others from being recorded.

    Args:
        session: The experiment.
        items: The aggregates.
        correct: Whether they replace those that have other numbers.
        note: The author, and the reason.

    Returns:
        Whether each of them was new, or why it was refused.
    """
    outcomes: list[bool | LiveError] = []
    with session.changing() as write:
        recorder = _Recorder(session, write, items, correct, note)
        for item in items:
            try:
                outcomes.append(recorder.record(item))
            except REFUSALS as error:
                outcomes.append(error)
    return outcomes


def why_no_aggregates(config: Config) -> str | None:
    """The reason why an experiment can't count aggregates; None if it can."""
    options = config.options
    if options.rules == 1:
        return "under rules 1 rewards have no times; configure it with rules 2"
    if options.half_life is not None:
        return "with a half-life every reward fades from its own number on"
    if options.features is not None or options.adjust is not None:
        which = "features" if options.features is not None else "adjust"
        return f"{which} needs the context of every reward"
    if tosses(config):
        return (
            f"{config.policy.label} draws a random number from every reward; use another policy, "
            "such as VarTS"
        )
    return None


def check_change(name: str, write: Write, after: Config, recounted: bool) -> None:
    """Refuse a configuration that can't count the aggregates that an experiment has.

    Args:
        name: The experiment's name.
        write: The transaction that changes it.
        after: The new configuration.
        recounted: Whether earlier rewards count by its `clip`.
    """
    counts = write.state.aggregated()
    if not counts.any():
        return
    why = why_no_aggregates(after)
    if why is not None:
        raise Refused(f"experiment {name!r} has rewards that came as aggregates: {why}")
    if recounted:
        found = write.transaction.aggregates(counts.nonzero()[0].tolist())
        for (arm, period), events in found.items():
            if events[-1].numbers.n:
                what = f"mean of arm {after.arms[arm]!r} in {period}"
                _check_clip(after, events[-1].numbers.mean, what)


def _check_clip(config: Config, mean: float, what: str = "mean") -> None:
    if config.options.clip is not None:
        low, high = config.options.clip
        if not low <= mean <= high:
            raise InvalidReward(f"{what} must be within clip, {low:g} to {high:g}, got {mean!r}")


class _Recorder:
    """Records aggregates in one transaction, next to those that the log has."""

    def __init__(
        self,
        session: Session,
        write: Write,
        items: Sequence[Given],
        correct: bool,
        note: Mapping[str, str],
    ) -> None:
        self._config, self._write = write.state.config, write
        self._correct, self._note = correct, note
        why = why_no_aggregates(self._config)
        if why is not None:
            raise Refused(f"experiment {session.name!r} can't count aggregates: {why}")
        arms = {item.arm for item in items} & set(self._config.arms)
        self._events = write.transaction.aggregates(map(self._config.index, arms))

    def record(self, item: Given) -> bool:
        """Record one aggregate; True if it was new. A refused one leaves no trace."""
        place = self._config.index(item.arm), item.period
        events = self._events.get(place, [])
        if item.numbers == VOIDED:
            return self._void(item, place, events)
        _check_clip(self._config, item.numbers.mean)
        if item.period.start >= self._write.time:
            raise InvalidReward(f"period must have begun, got {str(item.period)!r}")
        if events:
            now, first = events[-1].numbers, events[0].numbers
            if item.numbers == now or (item.numbers == first and not self._correct):
                return False
            if not self._correct:
                known = f"was voided, and had {first.text}" if now == VOIDED else f"has {now.text}"
                raise RewardConflict(
                    f"aggregate of arm {item.arm!r} in {item.period} {known}, got "
                    f"{item.numbers.text}; send it as a correction to change it"
                )
        self._check_overlap(item, place)
        self._append(place, item.numbers, events)
        return True

    def _void(self, item: Given, place: tuple[int, Period], events: Sequence[Aggregate]) -> bool:
        if not events:
            raise Refused(f"arm {item.arm!r} has no aggregate in {item.period} to void")
        if events[-1].numbers == VOIDED:
            return False
        self._append(place, VOIDED, events)
        return True

    def _check_overlap(self, item: Given, place: tuple[int, Period]) -> None:
        """The same rewards must not count in two periods."""
        for (arm, period), events in self._events.items():
            if (arm, period) == place or arm != place[0] or not period.overlaps(item.period):
                continue
            if events[-1].numbers.n:
                raise RewardConflict(
                    f"aggregate of arm {item.arm!r} in {item.period} overlaps the one in {period}, "
                    "so rewards would count twice; void that one first"
                )

    def _append(
        self, place: tuple[int, Period], numbers: Numbers, events: Sequence[Aggregate]
    ) -> None:
        arm, period = place
        new = Aggregate.after(arm, period, numbers, events)
        self._write.apply(
            AGGREGATE,
            arm=arm,
            epoch=self._config.epoch,
            # The name is for readers of the log.
            body={"arm": self._config.arms[arm], **new.body(), **self._note},
            arrives=OF_NO_DECISION,
        )
        self._events.setdefault(place, []).append(new)
