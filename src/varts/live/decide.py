"""Decisions: read, choose, append.

The write lock is held only to append. A decision is valid from any version of the experiment that
it logs, so it doesn't matter what others have written since it was read. Only two things can be
taken meanwhile: an id, and the arm of a sticky unit. Then everything is undone and done again.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from varts.live.core.allocation import FORGOTTEN, STICKY, Choice, Context
from varts.live.core.state import Config, State
from varts.live.errors import DecisionConflict, ExperimentStopped
from varts.live.session import Session
from varts.live.store.queue import Deadline
from varts.live.store.transaction import Assigned, Gone, NewDecision


class Decision(NamedTuple):
    """An arm to play.

    Args:
        id: The id that you send the reward with.
        arm: The arm's name.
        probability: The probability with which this arm was chosen.
        version: How many events the experiment had when the arm was chosen.
        reason: Why this arm: policy, forced, floor, holdout, sticky, winner, local if a client
            drew it, or fallback if a client chose it.
        estimated: Whether the probability was estimated by drawing, for lack of a formula.
    """

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool = False


class Taken(Exception):  # noqa: N818  it says what happened
    """Another process was first with the same id or the same unit."""


def decide(
    session: Session,
    units: Sequence[str | None],
    ids: Sequence[str] | None,
    contexts: Sequence[Context | None],
) -> list[Decision]:
    """Choose an arm for every unit and log the decisions; a known id gets its decision again.

    If one of them is refused, none is made.

    Args:
        session: The experiment.
        units: The units' names as the log has them; see `stored_unit`.
        ids: One per unit; None for new ones.
        contexts: One per unit.
    """
    return cast("list[Decision]", _decide(session, units, ids, contexts))


def decide_each(
    session: Session,
    units: Sequence[str | None],
    ids: Sequence[str] | None,
    contexts: Sequence[Context | None],
) -> list[Decision | Exception]:
    """Like `decide`, but a refused decision doesn't keep the others from being made.

    Returns:
        Each decision, or why it was refused.
    """
    return _decide(session, units, ids, contexts, each=True)


def _decide(
    session: Session,
    units: Sequence[str | None],
    ids: Sequence[str] | None,
    contexts: Sequence[Context | None],
    each: bool = False,
) -> list[Decision | Exception]:
    fresh = ids is None
    if ids is None:
        ids = new_ids(time.time_ns() // 1000, len(units))
    deadline = Deadline(session.store.timeout)
    while True:  # a repetition means that others made one of these decisions, or restored the store
        try:
            state, found, refused = _decide_once(session, units, ids, contexts, fresh, each)
        except (Taken, Gone):
            if not deadline.left:
                raise session.store.engine.waited("other processes") from None
            continue  # if the experiment was deleted, reading it raises an error
        names = state.config.arms
        made = {
            id: Decision(id, names[d.arm], d.probability, d.version, d.reason, bool(d.estimated))
            for id, d in found.items()
        }
        if not refused:
            return [made[id] for id in ids]
        return [refused.get(place) or made[id] for place, id in enumerate(ids)]


def _decide_once(
    session: Session,
    units: Sequence[str | None],
    ids: Sequence[str],
    contexts: Sequence[Context | None],
    fresh: bool,
    each: bool,
) -> tuple[State, dict[str, Any], dict[int, Exception]]:
    single = fresh and not session.state.config.options.sticky
    with session.reading(single) as transaction:
        found: dict[str, Any] = {} if fresh else transaction.decided(ids)
        state, head = session.catch_up(transaction)
        sticky = state.config.options.sticky and state.config.winner is None
        wanted, refused = _sort_out(session.name, state.config, units, ids, found)
        if refused and not each:
            raise next(iter(refused.values()))
        assigned: dict[str, Assigned] = {}
        if sticky and wanted:
            names = {str(units[place]) for place in wanted.values()}
            assigned = transaction.assigned(names)
    if not wanted:
        return state, found, refused
    asking = {id: (units[place], contexts[place]) for id, place in wanted.items()}
    rows, new_units = _choose(session, state, asking, assigned, sticky)
    if not (fresh or session.store.sqlite):  # two batches of the same ids must not deadlock
        rows.sort(key=lambda row: row.id)
    with session.writing(single=not new_units) as transaction:
        # This process may have waited for others.
        now = head.time if transaction.clock is None else transaction.clock()
        if new_units and transaction.assign(new_units) < len(new_units):
            raise Taken
        if transaction.add_decisions(rows, session.seed, state.batch, now) < len(rows):
            raise Taken
    return state, found | {row.id: row for row in rows}, refused


def _sort_out(
    name: str,
    config: Config,
    units: Sequence[str | None],
    ids: Sequence[str],
    found: Mapping[str, Any],
) -> tuple[dict[str, int], dict[int, Exception]]:
    """Tell new decisions from known and from refused ones.

    Returns:
        By id, the place of each decision that must be made; and by place, why one is refused.
    """
    stopped = config.stopped and config.winner is None
    sticky = config.options.sticky and config.winner is None
    if not (found or stopped or sticky):
        wanted = {id: place for place, id in enumerate(ids)}
        if len(wanted) == len(ids):  # nearly always
            return wanted, {}
    wanted, refused = dict[str, int](), dict[int, Exception]()
    for place, id in enumerate(ids):
        if id in found:
            known = found[id].unit
        elif id in wanted:
            known = units[wanted[id]]
        elif stopped:
            refused[place] = ExperimentStopped(
                f"experiment {name!r} is stopped and makes no decisions"
            )
            continue
        elif sticky and units[place] is None:
            refused[place] = ValueError(
                f"unit must be given, because experiment {name!r} is sticky, got none"
            )
            continue
        else:
            wanted[id] = place
            continue
        if differs(known, units[place]):
            refused[place] = DecisionConflict(
                f"decision {id!r} was made {'for another' if known else 'without a'} unit; "
                "use a new id for this one"
            )
    return wanted, refused


def differs(known: str | None, unit: str | None) -> bool:
    """Whether a request is about another unit than the decision of that id.

    A request without a unit asks for the decision as it is. If the unit of the decision was
    forgotten, it can't be compared, and counts as the same.

    Args:
        known: The unit of the decision in the log.
        unit: The unit of the request.
    """
    if unit is None or unit == known:
        return False
    return known is None or not known.startswith(FORGOTTEN)


def _choose(
    session: Session,
    state: State,
    wanted: Mapping[str, tuple[str | None, Context | None]],
    assigned: Mapping[str, Assigned],
    sticky: bool,
) -> tuple[list[NewDecision], list[dict[str, Any]]]:
    """The decisions for these ids with their units and contexts, and the sticky units that get an
    arm by them."""
    config = state.config
    kept = {
        unit: Choice(row.arm, row.probability, STICKY, bool(row.estimated))
        for unit, row in assigned.items()
        if row.arm not in config.paused
    }
    first: dict[str, str] = {}  # by unit, the id whose choice gives the unit its arm
    for id, (unit, _) in wanted.items() if sticky else ():
        if unit not in kept:
            first.setdefault(str(unit), id)
    choosing = list(first.values()) if sticky else list(wanted)
    salts = {id: secrets.token_hex(16) for id in choosing} if config.options.client_ids else {}
    choices = session.allocation(state).choose(
        [salts.get(id, id) for id in choosing],
        [wanted[id][0] for id in choosing],
        contexts=[wanted[id][1] for id in choosing],
    )
    chosen = dict(zip(choosing, choices, strict=True))
    kept |= {unit: chosen[id]._replace(reason=STICKY) for unit, id in first.items()}
    rows = []
    for id, (unit, context) in wanted.items():
        arm, probability, reason, estimated = chosen[id] if id in chosen else kept[str(unit)]
        rows.append(
            NewDecision(
                session.id,
                id,
                state.version,
                config.epoch,
                arm,
                probability,
                estimated,
                reason,
                unit,
                salts.get(id),
                None if context is None else json.dumps(context, separators=(",", ":")),
            )
        )
    new_units = [
        {
            "unit": unit,
            "arm": chosen[id].arm,
            "probability": chosen[id].probability,
            "estimated": chosen[id].estimated,
            "decision": id,
            "replaces": assigned[unit].decision if unit in assigned else None,
        }
        for unit, id in sorted(first.items())  # in one order, so that batches can't deadlock
    ]
    return rows, new_units


def new_ids(now: int, count: int) -> list[str]:
    """Random ids that sort by time."""
    start, random = f"{now:014x}", secrets.token_hex(7 * count)
    return [start + random[i : i + 14] for i in range(0, len(random), 14)]


def stored_unit(session: Session, unit: str) -> str:
    """The name of a unit as the log has it."""
    if session.state.config.options.hash_units:
        key = session.seed.to_bytes(8, "little")
        return blake2b(unit.encode("utf-8"), key=key, digest_size=16).hexdigest()
    if unit.startswith(FORGOTTEN):
        raise ValueError(
            f"unit must not begin with {FORGOTTEN!r}, which marks forgotten units, got {unit!r}"
        )
    return unit
