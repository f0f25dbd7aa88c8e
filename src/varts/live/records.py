"""Single entries of a log: a decision with its reward, a change with who made it and why."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from varts.live.clock import moment
from varts.live.errors import UnknownDecision
from varts.live.state import CORRECTIONS, VOID
from varts.live.transaction import Transaction


class DecisionRecord(NamedTuple):
    """A decision, and what has become of it.

    Args:
        id: The decision's.
        arm: The arm that was chosen.
        probability: With which probability.
        version: Of the state that it was made from.
        reason: Why this arm: policy, forced, floor, holdout, sticky or winner.
        time: When it was made.
        unit: Who it is for, as it is stored.
        settled: None while it waits for its reward; reward, missing, expired or void.
        reward: What it earned, corrections included.
        value: What of that the statistics count: clipped, for example.
        metrics: What else was measured.
        corrections: How often the reward was corrected.
        context: What was known of the unit; None without features, or if it was forgotten.
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
    """A change of an experiment, or a correction.

    Args:
        version: Of the event in the log.
        time: When it was made.
        kind: What was done: create, configure, add-arm, pause-arm, resume-arm, stop, restart,
            amend, void, forget, erase or repair.
        by: Who did it, if that was said.
        why: For what reason, if that was said.
        change: What it says, by name.
    """

    version: int
    time: datetime
    kind: str
    by: str | None
    why: str | None
    change: dict[str, Any]


def find_decision(transaction: Transaction, id: str, arms: tuple[str, ...]) -> DecisionRecord:
    """The decision of an id, as it is now."""
    row = transaction.decided([id]).get(id)
    if row is None:
        raise UnknownDecision(f"unknown decision {id!r}")
    settled = transaction.settled([id]).get(id)
    corrections = transaction.corrections([id]).get(id, [])
    last = corrections[-1] if corrections else settled
    body = {} if last is None else json.loads(last.body or "{}")
    kind = None if settled is None else settled.kind
    if last is not None and last.kind == VOID:
        kind = VOID
    return DecisionRecord(
        id,
        arms[row.arm],
        row.probability,
        row.version,
        row.reason,
        moment(row.time),
        row.unit,
        kind,
        last.raw if last else None,
        last.value if last else None,
        body.get("metrics", {}),
        len(corrections),
        None if row.context is None else json.loads(row.context),
    )


def find_place(transaction: Transaction, id: str) -> tuple[int, int]:
    """The time and the number of the decision of an id: its place in the log."""
    row = transaction.decided([id]).get(id)
    if row is None:
        raise UnknownDecision(f"unknown decision {id!r}")
    return row.time, row.seq


def find_changes(transaction: Transaction, after: int, limit: int) -> list[ChangeRecord]:
    """The first changes after a version, oldest first."""
    out = []
    for row in transaction.changes(after, limit):
        body = json.loads(row.body or "{}")
        by, why = body.pop("by", None), body.pop("why", None)
        if row.kind in CORRECTIONS:
            body = {"decision": row.corrects, "before": body["before"], "after": row.value}
        out.append(ChangeRecord(row.version, moment(row.time), row.kind, by, why, body))
    return out
