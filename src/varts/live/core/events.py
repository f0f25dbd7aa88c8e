"""Events, the lines of the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from varts.live.core.sums import Covariates

# The kinds of events. REWARD and MISSING have a value for the statistics; EXPIRED settles a
# decision without one. AMEND, VOID and PART change the reward of a settled decision. REPAIR lists
# how the caches differed from the log. FORGET means that a unit's name was removed from the log,
# ERASE that the features of its rewards were removed, too. The others change the configuration.
REWARD, MISSING, EXPIRED = "reward", "missing", "expired"
AMEND, VOID, PART = "amend", "void", "part"
REPAIR, FORGET, ERASE = "repair", "forget", "erase"
CREATE, CONFIGURE, ADD_ARM = "create", "configure", "add-arm"
PAUSE, RESUME, STOP, RESTART = "pause-arm", "resume-arm", "stop", "restart"
CORRECTIONS = (AMEND, VOID, PART)
REWARDLIKE = (REWARD, MISSING, EXPIRED)  # they settle a decision

# Statistics are kept by (metric, arm, epoch). The reward itself is the metric "". Two more metrics,
# whose names contain spaces so that no user's metric can have them, count it again inside and
# outside the holdout. Only the reward has epochs and fades; the others are in epoch 0.
Key = tuple[str, int, int]
THE_REWARD, HELD, NOT_HELD = "", "in the holdout", "not in the holdout"


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
    # correction also what was counted before.
    body: dict[str, Any] | None = None

    @property
    def x(self) -> list[float] | None:
        """The features of the reward's unit; None if there are none or they were forgotten."""
        return None if self.body is None else self.body.get("x")

    @property
    def covariates(self) -> Covariates | None:
        """The features of the reward's unit with the random half that its decision is in."""
        x = self.x
        return None if x is None else Covariates(x, (self.body or {}).get("half"))


def described(event: Event, when: str = "after") -> dict[str, float]:
    """What a reward counts for besides itself: numbers by metric, "before" or "after" the event."""
    body = event.body or {}
    out: dict[str, float] = dict(body.get("metrics" if when == "after" else "metrics_before", {}))
    value = event.value if when == "after" else body["before"]
    if "held" in body and value is not None:
        out[HELD if body["held"] else NOT_HELD] = value
    return out


class Outcome:
    """The reward of a decision, after the event that settled it and all corrections.

    The log's pages compute the same in SQL, a page at a time; see `page_of_decisions`.

    Args:
        settled: The event that settled the decision: kind, raw, value, version and body.
        corrections: The events that corrected its reward, in order.
    """

    def __init__(self, settled: Any, corrections: Sequence[Any] = ()) -> None:
        self.settled_by, self.raw, self.version = settled.kind, settled.raw, settled.version
        first = _read(settled.body)
        self.first_metrics: dict[str, float] = first.get("metrics", {})
        self.in_parts = "key" in first
        self.held: bool | None = first.get("held")  # as it was then: a unit may be forgotten since
        self.x: list[float] | None = first.get("x")
        self.half: int | None = first.get("half")
        bodies = [first, *(_read(one.body) for one in corrections)]
        last = corrections[-1] if corrections else settled
        self.kind: str = VOID if last.kind == VOID else settled.kind
        self.total, self.counted = last.raw, last.value
        self.metrics: dict[str, float] = bodies[-1].get("metrics", {})
        # By its key, what every part added.
        self.parts: dict[str, tuple[float, dict[str, float]]] = {
            body["key"]: (body["part"], body.get("part_metrics", {}))
            for body in bodies
            if "key" in body
        }


def _read(body: Any) -> dict[str, Any]:
    """The body of an event, from the database or just written."""
    return json.loads(body) if isinstance(body, str) else body or {}
