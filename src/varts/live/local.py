"""Local decisions: hand out allocations, and record the arms that clients drew from them.

A client draws arms by itself and sends what it drew, an exposure each, in batches. Every exposure
is checked against the ticket of its version and becomes a decision with the probability that it was
drawn with. Some may come twice, late, or from a client that does something else, so each has an
outcome of its own.

As in `decide`, the write lock is held only to append. If others have taken an id or a unit
meanwhile, everything is undone and done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from varts.live.core.allocation import LOCAL, STICKY, WINNER, Context
from varts.live.core.clients import Draws
from varts.live.core.local import (
    LIFETIME_SECONDS,
    REFRESH_SECONDS,
    Cells,
    LocalAllocation,
    Ticket,
    check_cells,
    combinations,
    is_held,
    public_key,
    read_ticket,
)
from varts.live.core.state import State, tag_of
from varts.live.decide import Taken, differs
from varts.live.errors import ExperimentStopped, NotLocal
from varts.live.session import Session
from varts.live.settle import is_late
from varts.live.store.queue import Deadline
from varts.live.store.transaction import Assigned, Decided, Gone, Head, NewDecision, Span

DAY_SECONDS = 86_400
RECORDED, DUPLICATE, CONFLICT = "recorded", "duplicate", "conflict"
UNKNOWN_VERSION, IMPOSSIBLE_ARM, TOO_OLD = "unknown-version", "impossible-arm", "too-old"
UNLIKELY, INVALID = "unlikely", "invalid"

# ------------------------------------------------------------------------------ allocations


def local_allocation(session: Session) -> LocalAllocation:
    """What a client needs to draw arms by itself, as of now.

    Raises:
        NotLocal: Clients can't draw the arms of this experiment.
        ExperimentStopped: The experiment was stopped without a winner.
    """
    with session.reading() as transaction:
        state, _ = session.catch_up(transaction)
    return session.local_allocation(state, lambda: _make(session, state))


def _make(session: Session, state: State) -> LocalAllocation:
    config, options, cells = state.config, state.config.options, None
    if config.stopped and config.winner is None:
        raise ExperimentStopped(f"experiment {session.name!r} is stopped and makes no decisions")
    holdout = options.holdout if config.winner is None else 0.0
    if holdout and not config.public_holdout:
        raise NotLocal(
            "the holdout of this experiment was drawn by older rules, which clients don't know; "
            "ask the decisions endpoint for every decision"
        )
    if holdout and options.hash_units:
        raise NotLocal(
            "the holdout is drawn from hashed units, which clients don't know; "
            "ask the decisions endpoint for every decision"
        )
    K, features, values = len(config.arms), config.features, None
    active = [arm not in config.paused for arm in range(K)]
    allocation = session.allocation(state)
    contexts: list[Any] = [None]
    if config.winner is not None:
        rows = [[float(arm == config.winner) for arm in range(K)]]
    elif config.policy.contextual and features is not None:
        check_cells(features, K)
        contexts = combinations(features)
        values = {name: list(known) for name, known in features.categories.items()}
    if config.winner is None:
        rows = allocation.chances_for(contexts).tolist()
    if values is not None:
        cells = Cells(list(values), list(values.values()), rows)
    estimated = config.winner is None and allocation.estimated
    ticket = Ticket(
        state.version,
        state.batch,
        config.epoch,
        rows,
        values,
        [arm for arm in range(K) if active[arm]],
        holdout,
        options.sticky,
        config.winner,
        estimated,
    )
    return LocalAllocation(
        experiment=session.name,
        version=state.version,
        arms=list(config.arms),
        probabilities=rows[0] if cells is None else None,
        cells=cells,
        holdout=holdout,
        active=active,
        sticky=options.sticky,
        context=None if features is None else list(features.kinds),
        key=public_key(session.seed),
        refresh=REFRESH_SECONDS,
        lifetime=LIFETIME_SECONDS,
        winner=None if config.winner is None else config.arms[config.winner],
        ticket=ticket.sign(session.seed, session.name),
        tag=tag_of(state.version, state.batch),
    )


# ------------------------------------------------------------------------------ exposures


class Exposure(NamedTuple):
    """An arm that a client drew.

    Args:
        id: The id of the decision, which its reward names.
        arm: The arm's name.
        version: The version of the allocation that it was drawn from.
        age: How long ago it was drawn, in seconds.
        unit: Who it was drawn for.
        context: What the client knew about the unit.
    """

    id: str
    arm: str
    version: int
    age: float
    unit: str | None = None
    context: Context | None = None


class ExposureResult(NamedTuple):
    """The outcome of an exposure. Unless it is recorded or a duplicate, the exposure is not in the
    log, and sending it again doesn't help.

    Args:
        id: The id of the decision.
        status: recorded, duplicate, conflict, unknown-version, impossible-arm, too-old, unlikely or
            invalid.
        detail: What is wrong.
        arm: With a conflict, the arm that the decision or the unit has.
    """

    id: str
    status: str
    detail: str | None = None
    arm: str | None = None


def refused_exposure(item: Any, outcome: ExposureResult | Exception) -> ExposureResult:
    """The outcome of an exposure, which may be an error about its arguments."""
    if not isinstance(outcome, Exception):
        return outcome
    id = item.get("id") if isinstance(item, Mapping) else next(iter(item), None)
    return ExposureResult(str(id), INVALID, str(outcome))


class Sent(NamedTuple):
    """Exposures that a client sent together.

    Args:
        client: Names the client's process; None doesn't compare its arms with their probabilities.
        tickets: The tickets of the versions.
        exposures: The exposures, with units as the log has them.
    """

    client: str | None
    tickets: Sequence[str]
    exposures: Sequence[Exposure]


class Unlikely(Exception):  # noqa: N818  it says what happened
    """A client's arms don't match the probabilities."""


def record_exposures(session: Session, sent: Sequence[Sent]) -> list[ExposureResult]:
    """Log what clients drew, in one transaction; a refused exposure doesn't affect the others.

    Returns:
        The outcome of each exposure, in order.
    """
    tickets = [_read_tickets(session, one.tickets) for one in sent]
    deadline, looks_up = Deadline(session.store.timeout), False
    while True:
        try:
            recorder = _Recorder(session, sent, tickets, looks_up)
            if recorder.record():
                return recorder.outcomes
        except Unlikely:
            continue  # the same client is refused from the beginning now
        except (Taken, Gone):
            if not deadline.left:
                raise session.store.engine.waited("other processes") from None
        looks_up = True


def _read_tickets(session: Session, texts: Sequence[str]) -> dict[int, Ticket]:
    """The valid tickets, by version."""
    found = (read_ticket(session.seed, session.name, text) for text in texts)
    return {ticket.version: ticket for ticket in found if ticket is not None}


class _Usable(NamedTuple):
    """A ticket of a version that the log has.

    Args:
        ticket: The ticket.
        since: The time of the event of its version.
        is_over: Whether the version was replaced too long ago.
        share: The probability of each arm in the holdout.
    """

    ticket: Ticket
    since: int
    is_over: bool
    share: float


class _Recorder:
    """Records exposures in one transaction.

    Args:
        session: The experiment.
        sent: The exposures.
        tickets: The tickets that came with them.
        looks_up: Whether to look up the ids in the log. They are nearly always new, so the first
            try only looks for them if it can't record all of them.
    """

    def __init__(
        self,
        session: Session,
        sent: Sequence[Sent],
        tickets: Sequence[Mapping[int, Ticket]],
        looks_up: bool,
    ) -> None:
        self.session, self.sent, self.tickets, self.looks_up = session, sent, tickets, looks_up
        self.outcomes: list[ExposureResult] = []
        self.rows: dict[str, NewDecision] = {}
        self.new_units: dict[str, dict[str, Any]] = {}
        self.found: Mapping[str, Decided] = {}
        self.assigned: dict[str, Assigned] = {}

    def record(self) -> bool:
        """Record them; False if the ids must be looked up first."""
        session, seed = self.session, self.session.seed
        state, head, spans = self._read()
        self.state, self.config = state, state.config
        self.index = {name: arm for arm, name in enumerate(state.config.arms)}
        self.head, self.swept = head, head.swept
        self.key = public_key(seed)
        drawn = [
            self._record_client(one, self._usable(known, spans))
            for one, known in zip(self.sent, self.tickets, strict=True)
        ]
        done = sum(one.status == RECORDED for one in self.outcomes)
        if not self.looks_up and done < len(self.outcomes):
            return False
        checked = [
            (self._watched(one), draws)
            for one, draws in zip(self.sent, drawn, strict=True)
            if one.client is not None and draws.arms
        ]
        clients = session.store.clients
        likely = [clients.test(*one) for one in checked]
        if not all(likely):
            raise Unlikely
        if self.rows:
            self._append(state, head)
        for one in checked:
            clients.count(*one)
        return True

    def _watched(self, sent: Sent) -> tuple[int, str | None]:
        return self.session.seed, sent.client

    def _read(self) -> tuple[State, Head, dict[int, Span]]:
        versions = {version for known in self.tickets for version in known}
        sticky = any(one.sticky for known in self.tickets for one in known.values())
        ids = [one.id for sent in self.sent for one in sent.exposures]
        with self.session.reading() as transaction:
            if self.looks_up:
                self.found = transaction.decided(ids)
            state, head = self.session.catch_up(transaction)
            spans = transaction.spans(versions)
            if sticky:
                units = {one.unit for sent in self.sent for one in sent.exposures}
                self.assigned = transaction.assigned([unit for unit in units if unit is not None])
        return state, head, spans

    def _usable(
        self, tickets: Mapping[int, Ticket], spans: Mapping[int, Span]
    ) -> dict[int, _Usable]:
        """The tickets whose version is in the log, by version."""
        out, oldest = {}, self.head.time - DAY_SECONDS * 1_000_000
        for version, ticket in tickets.items():
            span = spans.get(version)
            if span is not None and span.batch == ticket.batch:
                is_over = span.until is not None and span.until < oldest
                share = 1 / len(ticket.active)
                out[version] = _Usable(ticket, span.since, is_over, share)
        return out

    def _record_client(self, sent: Sent, usable: Mapping[int, _Usable]) -> Draws:
        draws = Draws([], [], self.config.arms)
        refused = sent.client is not None and self.session.store.clients.are_refused(
            self._watched(sent)
        )
        for one in sent.exposures:
            self.outcomes.append(self._record(one, usable, refused, draws))
        return draws

    def _record(
        self, one: Exposure, usable: Mapping[int, _Usable], refused: bool, draws: Draws
    ) -> ExposureResult:
        id, name, version, age, unit, context = one
        known: Any = self.found.get(id) or self.rows.get(id)
        arm = self.index.get(name)
        if known is not None:
            return self._known(one, known)
        if refused:
            return ExposureResult(id, UNLIKELY, _UNLIKELY)
        its = usable.get(version)
        if its is None:
            return ExposureResult(
                id, UNKNOWN_VERSION, f"there is no valid ticket of version {version}"
            )
        ticket, since, is_over, share = its
        made = max(self.head.time - int(age * 1e6), since)
        if self._is_too_old(age, made):
            return ExposureResult(id, TOO_OLD, f"the exposure came {age:.0f} s after its decision")
        if arm is None:
            return ExposureResult(id, IMPOSSIBLE_ARM, f"there is no arm {name!r}")
        sticky = ticket.sticky and ticket.winner is None
        if sticky:
            if unit is None:
                return ExposureResult(
                    id, INVALID, "unit must be given, because the experiment is sticky, got none"
                )
            row = self.assigned.get(unit)
            if row is not None:
                replaced = row.arm in self.config.paused and version >= self.state.revision
                if row.arm == arm:
                    return self._add(one, arm, row.probability, STICKY, bool(row.estimated), made)
                if not replaced:
                    return ExposureResult(
                        id,
                        CONFLICT,
                        f"unit has arm {self.config.arms[row.arm]!r} already",
                        self.config.arms[row.arm],
                    )
        if is_over:
            return ExposureResult(id, TOO_OLD, f"version {version} was replaced over a day ago")
        held = bool(ticket.holdout) and is_held(
            self.key, id if unit is None else unit, ticket.holdout
        )
        if held:
            p = share if arm in ticket.active else 0.0
        else:
            row_of = ticket.rows[ticket.row(context)]
            p = row_of[arm] if arm < len(row_of) else 0.0
        if p <= 0:
            return ExposureResult(
                id, IMPOSSIBLE_ARM, f"arm {name!r} had probability 0 at version {version}"
            )
        estimated = ticket.estimated and not held
        reason = LOCAL if ticket.winner is None else WINNER
        before = self.assigned.get(unit) if sticky and unit is not None else None
        if sticky and unit is not None:
            self.new_units[unit] = {
                "unit": unit,
                "arm": arm,
                "probability": p,
                "estimated": estimated,
                "decision": id,
                "replaces": None if before is None else before.decision,
            }
            self.assigned[unit] = Assigned(unit, arm, p, estimated, id)
        # Of a unit that had another arm before, the draw depends on the one before.
        if p < 1 and before is None:
            draws.arms.append(name)
            draws.probabilities.append(p)
        return self._add(one, arm, p, reason, estimated, made, ticket)

    def _known(self, one: Exposure, known: Any) -> ExposureResult:
        """The outcome of an id that has its decision."""
        name = self.config.arms[known.arm]
        if name != one.arm:
            return ExposureResult(
                one.id, CONFLICT, f"decision {one.id!r} has arm {name!r} already", name
            )
        if differs(known.unit, one.unit):
            return ExposureResult(
                one.id, CONFLICT, f"decision {one.id!r} was made for another unit", name
            )
        return ExposureResult(one.id, DUPLICATE)

    def _is_too_old(self, age: float, made: int) -> bool:
        if age > DAY_SECONDS:
            return True
        options = self.config.options
        if options.window is None:
            return False
        return made <= self.swept or is_late(self.head.time, made, options)

    def _add(
        self,
        one: Exposure,
        arm: int,
        probability: float,
        reason: str,
        estimated: bool,
        made: int,
        ticket: Ticket | None = None,
    ) -> ExposureResult:
        """Make the row of a decision; without a ticket it repeats an earlier one, and is of the
        present version."""
        self.rows[one.id] = NewDecision(
            self.session.id,
            one.id,
            self.state.version if ticket is None else ticket.version,
            self.config.epoch if ticket is None else ticket.epoch,
            arm,
            probability,
            estimated,
            reason,
            one.unit,
            None,
            None if one.context is None else json.dumps(one.context, separators=(",", ":")),
            made,
        )
        return ExposureResult(one.id, RECORDED)

    def _append(self, state: State, head: Head) -> None:
        session, rows = self.session, list(self.rows.values())
        new_units = [self.new_units[unit] for unit in sorted(self.new_units)]
        if not session.store.sqlite:  # two batches of the same ids must not deadlock
            rows.sort(key=lambda row: row.id)
        with session.writing() as transaction:  # whole, so that it can be undone
            if new_units and transaction.assign(new_units) < len(new_units):
                raise Taken
            added = transaction.add_decisions(
                rows, session.seed, state.batch, head.time, version=state.version
            )
            if added < len(rows):
                raise Taken


_UNLIKELY = (
    "the arms of this client don't match the probabilities that it was given, so nothing of it is "
    "recorded; look for the error in the client, and start it again"
)
