"""New decisions: which ids and units need a choice, and which keep the arm they have."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from varts.live.allocation import FORGOTTEN, STICKY, Choice
from varts.live.clock import process_clock
from varts.live.contextual_allocation import Context
from varts.live.errors import ExperimentStopped
from varts.live.log_rows import NewDecision
from varts.live.snapshot import Snapshot
from varts.live.state import State
from varts.live.transaction import Transaction


class Decision(NamedTuple):
    """An arm to play.

    Args:
        id: What its reward is sent with.
        arm: The arm's name.
        probability: The chance that this arm had.
        version: How many events the experiment had when it was made.
        reason: Why this arm: policy, forced, floor, holdout, sticky or winner.
        estimated: Whether the probability comes from draws, for lack of a formula.
    """

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool = False


def decide(
    snapshot: Snapshot,
    units: Sequence[str | None],
    ids: Sequence[str] | None,
    contexts: Sequence[Context | None],
) -> list[Decision]:
    """A decision for every unit, in one transaction; an id that has one gets it again."""
    fresh = ids is None
    if ids is None:
        ids = new_ids(process_clock(), len(units))
    units = [None if unit is None else stored_unit(snapshot, unit) for unit in units]
    with snapshot.writing() as transaction:
        found = {} if fresh else transaction.decided(ids)
        state, head = snapshot.refresh(transaction)  # after the look: it knows all their arms
        if len(found) < len(set(ids)):
            if state.config.options.sticky:
                transaction.lock()  # else two processes could assign one unit twice
                state, head = snapshot.refresh(transaction)
                found = transaction.decided(ids)
            asking = dict(zip(reversed(ids), reversed(contexts), strict=True))  # the first counts
            rows = _new_rows(snapshot, transaction, state, head.time, ids, units, asking, found)
            if not (fresh or transaction.sqlite):  # or two batches of the same ids, each with a
                rows.sort(key=lambda row: row.id)  # part of them, wait for each other
            if rows and transaction.add_decisions(rows) < len(rows):
                found = transaction.decided(ids)  # another process was first with the same id
                state, _ = snapshot.refresh(transaction)  # and may have seen a newer state
            else:
                found |= {row.id: row for row in rows}
    names = state.config.arms
    return [
        Decision(id, names[d.arm], d.probability, d.version, d.reason, bool(d.estimated))
        for id, d in ((id, found[id]) for id in ids)
    ]


def new_ids(now: int, count: int) -> list[str]:
    """Random ids that sort by their time."""
    start, random = f"{now:014x}", secrets.token_hex(7 * count)
    return [start + random[i : i + 14] for i in range(0, len(random), 14)]


def stored_unit(snapshot: Snapshot, unit: str) -> str:
    """The name of a unit as the log has it."""
    if snapshot.state.config.options.hash_units:
        key = snapshot.seed.to_bytes(8, "little")
        return blake2b(unit.encode("utf-8"), key=key, digest_size=16).hexdigest()
    if unit.startswith(FORGOTTEN):
        raise ValueError(
            f"unit must not begin with {FORGOTTEN!r}, as those do that were forgotten, got {unit!r}"
        )
    return unit


def _new_rows(
    snapshot: Snapshot,
    transaction: Transaction,
    state: State,
    now: int,
    ids: Sequence[str],
    units: Sequence[str | None],
    contexts: Mapping[str, Context | None],
    found: Collection[str],
) -> list[NewDecision]:
    """Rows for the ids that were not found, in their order; sticky units are assigned their arm."""
    config = state.config
    if config.stopped and config.winner is None:
        raise ExperimentStopped(f"experiment {snapshot.name!r} is stopped and decides no more")
    wanted: dict[str, str | None] = {}
    for id, unit in zip(ids, units, strict=True):
        if id not in found:
            wanted.setdefault(id, unit)
    sticky = config.options.sticky and config.winner is None
    if sticky and None in wanted.values():
        raise ValueError(
            f"unit must be given, since experiment {snapshot.name!r} is sticky, got none"
        )
    named = {unit for unit in wanted.values() if unit is not None} if sticky else set()
    kept = _kept(transaction, state, named)
    first: dict[str, str] = {}  # the id that chooses for a unit that has no arm in play
    for id, unit in wanted.items():
        if unit in named and unit not in kept:
            first.setdefault(str(unit), id)
    asked = [id for id, unit in wanted.items() if unit not in named or first.get(str(unit)) == id]
    salts = {id: secrets.token_hex(16) for id in asked} if config.options.client_ids else {}
    choices = snapshot.allocation(state).choose(
        [salts.get(id, id) for id in asked],
        [wanted[id] for id in asked],
        contexts=[contexts[id] for id in asked],
    )
    chosen = dict(zip(asked, choices, strict=True))
    if first:
        transaction.assign(
            [
                {
                    "experiment": snapshot.id,
                    "unit": unit,
                    "arm": chosen[id].arm,
                    "probability": chosen[id].probability,
                    "estimated": chosen[id].estimated,
                    "decision": id,
                }
                for unit, id in first.items()
            ]
        )
        kept |= {unit: chosen[id]._replace(reason=STICKY) for unit, id in first.items()}
    rows = []
    for id, unit in wanted.items():
        arm, probability, reason, estimated = chosen[id] if id in chosen else kept[str(unit)]
        rows.append(
            NewDecision(
                snapshot.id,
                id,
                state.version,
                config.epoch,
                arm,
                probability,
                estimated,
                reason,
                unit,
                now,
                salts.get(id),
                _stored_context(contexts[id]),
            )
        )
    return rows


def _stored_context(context: Context | None) -> str | None:
    return None if context is None else json.dumps(context, separators=(",", ":"))


def _kept(transaction: Transaction, state: State, units: Collection[str]) -> dict[str, Choice]:
    """The arms that units have already, as far as those are in play."""
    rows = transaction.assigned(list(units)) if units else {}
    return {
        unit: Choice(row.arm, row.probability, STICKY, bool(row.estimated))
        for unit, row in rows.items()
        if row.arm not in state.config.paused
    }
