"""Single entries of a log: a decision with its reward, or a change, with its author and reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from varts.live.core.aggregates import read_body
from varts.live.core.allocation import FALLBACK
from varts.live.core.events import (
    AGGREGATE,
    AMEND,
    ARRIVAL,
    CORRECTIONS,
    EXPIRED,
    VOID,
    Outcome,
    played_by_client,
)
from varts.live.errors import UnknownDecision
from varts.live.store.engine import moment
from varts.live.store.transaction import ChangeRow, Transaction


class DecisionRecord(NamedTuple):
    """A decision and its reward.

    Args:
        id: The decision's id.
        arm: The arm that was chosen.
        probability: The probability with which it was chosen.
        version: The version of the experiment that the decision saw.
        reason: Why this arm: policy, forced, floor, holdout, sticky, winner, local if a client
            drew it, or fallback if a client chose it.
        time: When it was made.
        unit: The unit, as it is stored.
        settled: reward, missing, expired or void; None while the decision waits for its reward, or
            for its window to close. A fallback is expired, whatever its reward.
        reward: The reward so far, corrections included.
        value: The reward as the statistics count it, for example clipped.
        metrics: Other measurements.
        corrections: How often the reward was corrected.
        context: The context of the unit; None without features, or if it was forgotten.
    """

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    time: datetime
    unit: str | None
    settled: str | None
    reward: float | None
    value: float | None
    metrics: dict[str, float]
    corrections: int
    context: dict[str, float | str] | None = None


class ChangeRecord(NamedTuple):
    """A change of an experiment, or a correction of a reward.

    Args:
        version: The version of the event.
        time: When it was made.
        kind: One of create, configure, add-arm, pause-arm, resume-arm, stop, restart,
            amend, void, aggregate, forget, erase or repair.
        by: The name of the person who did it, if given.
        why: The reason, if given.
        change: The details, by name.
    """

    version: int
    time: datetime
    kind: str
    by: str | None
    why: str | None
    change: dict[str, Any]


def find_decision(transaction: Transaction, id: str, arms: tuple[str, ...]) -> DecisionRecord:
    """One decision, with its reward as it is now."""
    row = transaction.decided([id]).get(id)
    if row is None:
        raise UnknownDecision(f"unknown decision {id!r}")
    settled = transaction.settled([id]).get(id)
    corrections = transaction.corrections([id]).get(id, [])
    arrivals = transaction.arrivals([id]).get(id, [])
    played = None if settled is None else played_by_client(settled)
    events = arrivals if settled is None or played is not None else [settled, *corrections]
    outcome = Outcome(events) if events else None
    status = None if settled is None or outcome is None else outcome.kind
    return DecisionRecord(
        id,
        arms[row.arm if played is None else played],
        row.probability if played is None else 1.0,
        row.version,
        row.reason if played is None else FALLBACK,
        moment(row.time),
        row.unit,
        status if played is None else EXPIRED,
        None if outcome is None else outcome.total,
        None if outcome is None else outcome.counted,
        {} if outcome is None else outcome.metrics,
        len(corrections) + sum('"change"' in (one.body or "") for one in arrivals),
        None if row.context is None else json.loads(row.context),
    )


def find_place(transaction: Transaction, id: str) -> tuple[int, int]:
    """The time and the number of a decision: its place in the log."""
    row = transaction.decided([id]).get(id)
    if row is None:
        raise UnknownDecision(f"unknown decision {id!r}")
    return row.time, row.seq


def read_changes(rows: Iterable[ChangeRow]) -> list[ChangeRecord]:
    """Changes, from their rows in the log."""
    out = []
    for row in rows:
        body = json.loads(row.body or "{}")
        by, why = body.pop("by", None), body.pop("why", None)
        kind = row.kind
        if kind in CORRECTIONS:
            body = {"decision": row.corrects, "before": body["before"], "after": row.value}
        elif kind == AGGREGATE:
            found = read_body(0, body)
            before, after = (
                None if one is None or not one.n else one._asdict()
                for one in (found.before, found.numbers)
            )
            place = {"arm": body["arm"], "period": str(found.period)}
            body = {**place, "before": before, "after": after}
        elif kind == ARRIVAL:  # a correction before the window has closed
            kind, before = VOID if row.value is None else AMEND, (row.value or 0.0) - body["change"]
            body = {"decision": row.corrects, "before": before, "after": row.value}
        out.append(ChangeRecord(row.version, moment(row.time), kind, by, why, body))
    return out
