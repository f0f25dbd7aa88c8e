"""What the tables have of decisions, of what became of their rewards, and of units, by column."""

from __future__ import annotations

from typing import NamedTuple


class NewDecision(NamedTuple):
    """A decision that is to be written."""

    experiment: int
    id: str
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    unit: str | None
    time: int
    salt: str | None
    context: str | None


class Decided(NamedTuple):
    """What the log has of a decision."""

    id: str
    seq: int
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    time: int
    unit: str | None
    context: str | None


class LoggedDecision(NamedTuple):
    """All that a log says of a decision: its own columns, and those of events about it."""

    seq: int
    id: str
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    unit: str | None
    time: int
    salt: str | None
    context: str | None
    settled: str | None
    raw: float | None
    value: float | None
    body: str | None
    settled_time: int | None
    settled_version: int | None
    settled_arm: int | None
    settled_epoch: int | None
    corrected_version: int | None
    corrected_arm: int | None
    corrected_epoch: int | None


class Settled(NamedTuple):
    """What the log has of the event that settled a decision."""

    decision: str
    kind: str
    raw: float | None
    value: float | None
    version: int
    body: str | None


class Corrected(NamedTuple):
    """What the log has of an event that corrected a reward."""

    corrects: str
    kind: str
    raw: float | None
    value: float | None
    version: int
    body: str | None


class Assigned(NamedTuple):
    """The arm that a sticky unit has."""

    unit: str
    arm: int
    probability: float
    estimated: bool
    decision: str
