"""Events, the lines of the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from varts.live.core.sums import Covariates

# The kinds of events. REWARD and MISSING have a value for the statistics; EXPIRED settles a
# decision without one. ARRIVAL records a reward, a part of it or a correction while the window of
# its decision is open; the statistics count what the decision has earned when the window closes, by
# a REWARD. A fallback, which a client chose by itself, is EXPIRED from the beginning; its rewards
# are ARRIVALs that never count. AMEND, VOID and PART change the reward of a settled decision.
# AGGREGATE has the number, mean and sd of an arm's rewards in a period, and corrects or voids them.
# REPAIR lists how the caches differed from the log. FORGET means that a unit's name was removed
# from the log, ERASE that the features of its rewards were removed, too. The others change the
# configuration.
REWARD, MISSING, EXPIRED, ARRIVAL = "reward", "missing", "expired", "arrival"
AMEND, VOID, PART = "amend", "void", "part"
AGGREGATE = "aggregate"
REPAIR, FORGET, ERASE = "repair", "forget", "erase"
CREATE, CONFIGURE, ADD_ARM = "create", "configure", "add-arm"
PAUSE, RESUME, STOP, RESTART = "pause-arm", "resume-arm", "stop", "restart"
# Logs begin with CREATE, version 1. Only an experiment that is set aside also has a version 0,
# which says why it can't be used: it is an incomplete copy, or was moved to another store.
COPYING, MOVED = "copying", "moved"
CORRECTIONS = (AMEND, VOID, PART)
PLAYED, LOGGED = "fallback", "logged"  # in the body of what settles a fallback
REWARDLIKE = (REWARD, MISSING, EXPIRED)  # they settle a decision

# Statistics are kept by (metric, arm, block). The reward itself is the metric "". Two more metrics,
# whose names contain spaces so that no user's metric can have them, count it again inside and
# outside the holdout. Only the reward has blocks of time and fades; the others are in block 0. In
# an experiment with rules 1, the place of the block is taken by the epoch of the decision.
# AGGREGATED counts those rewards again that came as aggregates: in block 0 if their period is
# within a block of time, else in block 1.
Key = tuple[str, int, int]
THE_REWARD, HELD, NOT_HELD = "", "in the holdout", "not in the holdout"
AGGREGATED = "as aggregates"
OF_NO_DECISION = ""  # no id is empty


class Event(NamedTuple):
    """One line of the log."""

    version: int
    kind: str
    time: int  # microseconds since 1970, UTC
    decision: str | None = None
    arm: int | None = None
    epoch: int | None = None  # the epoch of the decision, for rewards
    raw: float | None = None  # as it was recorded
    value: float | None = None  # as the statistics count it, for example clipped
    # A random number of the transaction that wrote it. Two logs with the same batch at a version
    # agree up to there, no matter which backups were restored. Schema 0001 has none.
    batch: int | None = None
    corrects: str | None = None  # the decision whose reward it changes; raw and value are new
    # Of a change of configuration, its content. Of a reward: its metrics, whether it is in the
    # holdout, and x, the features of its unit, with the random half that its decision is in. Of a
    # correction also what was counted before. Of an arrival: its metrics, and what it adds: `part`,
    # `change`, or all of it. Of the event that settles a fallback: the arm that the client played,
    # and the arm that was `logged` if the service had made a decision of that id. Of an aggregate:
    # its period and its numbers, and those before a correction.
    body: dict[str, Any] | None = None
    # The decision whose reward arrives before its window closes; OF_NO_DECISION for an aggregate.
    arrives: str | None = None
    # Of the decision that the event is about. The log has them with the decision, not here.
    unit: str | None = None
    made: int | None = None  # when it was made

    @property
    def x(self) -> list[float] | None:
        """The features of the reward's unit; None without features, or if they were forgotten."""
        return None if self.body is None else self.body.get("x")

    @property
    def covariates(self) -> Covariates | None:
        """The features of the reward's unit with the random half that its decision is in."""
        x = self.x
        return None if x is None else Covariates(x, (self.body or {}).get("half"))


def described(event: Event, when: str = "after") -> dict[str, float]:
    """The other numbers that a reward counts for, by metric, "before" or "after" the event."""
    body = event.body or {}
    out: dict[str, float] = dict(body.get("metrics" if when == "after" else "metrics_before", {}))
    value = event.value if when == "after" else body["before"]
    if "held" in body and value is not None:
        out[HELD if body["held"] else NOT_HELD] = value
    return out


STORED = Event._fields[: Event._fields.index("arrives") + 1]  # the columns of the log


class Outcome:
    """The reward of a decision, after all events about it.

    The log's pages compute the same in SQL, a page at a time; see `page_of_decisions`.

    Args:
        events: Either the event that settled the decision and the events that corrected its reward
            since, or the arrivals of its reward while its window is open; in order.
    """

    def __init__(self, events: Sequence[Any]) -> None:
        first, last = events[0], events[-1]
        self.settled = first.kind != ARRIVAL
        self.settled_by: str = first.kind if self.settled else REWARD
        self.version: int = first.version
        bodies = [_read(one.body) for one in events]
        own = bodies[0]
        self.held: bool | None = own.get("held")  # as it was then: a unit may be forgotten since
        self.x: list[float] | None = own.get("x")
        self.half: int | None = own.get("half")
        # The reward as it was first recorded, which may be sent again.
        self.raw, self.first_metrics = own.get("first", (first.raw, own.get("metrics", {})))
        self.in_parts = "key" in own or "in_parts" in own  # else parts were added to a whole reward
        # A reward that was voided before the window closed expires, but it may be sent again.
        self.was_given = self.settled_by == REWARD or "first" in own
        self.kind: str = VOID if last.kind == VOID else self.settled_by
        self.total, self.counted = last.raw, last.value
        self.metrics: dict[str, float] = bodies[-1].get("metrics", {})
        # By its key, the amounts that every part added.
        self.parts: dict[str, tuple[float, dict[str, float]]] = {
            key: (value, metrics) for key, (value, metrics) in own.get("parts", {}).items()
        }
        self.parts |= {
            body["key"]: (body["part"], body.get("part_metrics", {}))
            for body in bodies
            if "key" in body
        }

    def summary(self) -> dict[str, Any]:
        """The facts about the arrivals that the event that settles the decision must keep: the keys
        of parts, and the first reward if it was another one."""
        out: dict[str, Any] = {"parts": self.parts} if self.parts else {}
        if self.in_parts:
            out["in_parts"] = True
        if (self.raw, self.first_metrics) != (self.total, self.metrics):
            out["first"] = self.raw, self.first_metrics
        return out

    @property
    def is_void(self) -> bool:
        """Whether the reward was voided, so that nothing counts for the decision."""
        return self.total is None if not self.settled else self.counted is None

    def record(
        self,
        total: float | None,
        counted: float | None,
        metrics: dict[str, float],
        part: dict[str, Any],
    ) -> None:
        """Bring it up to date with one more event."""
        self.total, self.counted, self.metrics = total, counted, metrics
        if part:
            self.parts[part["key"]] = part["part"], part.get("part_metrics", {})


def played_by_client(settling: Any) -> int | None:
    """The arm that a client played by itself; None if the decision isn't a fallback.

    Args:
        settling: The event that settled the decision.
    """
    if settling.kind != EXPIRED:
        return None
    arm: int | None = _read(settling.body).get(PLAYED)
    return arm


def _read(body: Any) -> dict[str, Any]:
    """The body of an event, from the database or just written."""
    return json.loads(body) if isinstance(body, str) else body or {}
