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

from varts._validation import unknown
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
from varts.live.core.state import Config, State, tag_of
from varts.live.decide import Taken, differs
from varts.live.errors import ExperimentStopped, NotLocal
from varts.live.session import Session
from varts.live.settle import is_late
from varts.live.store.queue import Deadline
from varts.live.store.transaction import Assigned, Gone, NewDecision

DAY_SECONDS = 86_400
RECORDED, DUPLICATE, CONFLICT = "recorded", "duplicate", "conflict"
UNKNOWN_VERSION, IMPOSSIBLE_ARM, TOO_OLD = "unknown-version", "impossible-arm", "too-old"
UNLIKELY, INVALID = "unlikely", "invalid"

# ------------------------------------------------------------------------------ allocations


def local_allocation(session: Session) -> LocalAllocation:
    """The data from which a client can draw arms by itself, as of now.

    Raises:
        NotLocal: Clients can't draw the arms of this experiment.
        ExperimentStopped: The experiment was stopped without a winner.
    """
    with session.reading() as transaction:
        state, _ = session.catch_up(transaction)
    return session.local_allocation(state, lambda: _make(session, state))


def _make(session: Session, state: State) -> LocalAllocation:
    config = state.config
    _check_local(session.name, config)
    K, features, winner = len(config.arms), config.features, config.winner
    holdout = config.options.holdout if winner is None else 0.0
    values, estimated = None, False
    if winner is not None:
        rows = [[float(arm == winner) for arm in range(K)]]
    else:
        allocation, contexts = session.allocation(state), list[Any]([None])
        estimated = allocation.estimated
        if config.policy.contextual and features is not None:
            check_cells(features, K, estimated)
            contexts = combinations(features)
            values = {name: list(known) for name, known in features.categories.items()}
        rows = allocation.chances_for(contexts).tolist()
    ticket = Ticket(
        state.version,
        state.batch,
        config.epoch,
        rows,
        values,
        config.active.tolist(),
        holdout,
        config.options.sticky,
        winner,
        estimated,
    )
    return LocalAllocation(
        experiment=session.name,
        version=state.version,
        arms=list(config.arms),
        probabilities=rows[0] if values is None else None,
        cells=None if values is None else Cells(list(values), list(values.values()), rows),
        holdout=holdout,
        active=[arm not in config.paused for arm in range(K)],
        sticky=config.options.sticky,
        context=None if features is None else list(features.kinds),
        key=public_key(session.seed),
        refresh=REFRESH_SECONDS,
        lifetime=LIFETIME_SECONDS,
        winner=None if winner is None else config.arms[winner],
        ticket=ticket.sign(session.seed, session.name),
        tag=tag_of(state.version, state.batch),
    )


def _check_local(name: str, config: Config) -> None:
    """Refuse what clients can't do, apart from the features."""
    if config.winner is not None:
        return
    if config.stopped:
        raise ExperimentStopped(f"experiment {name!r} is stopped and makes no decisions")
    if config.options.holdout and not config.public_holdout:
        raise NotLocal(
            "the holdout of this experiment was drawn by older rules, which clients don't support; "
            "ask the decisions endpoint for every decision"
        )
    if config.options.holdout and config.options.hash_units:
        raise NotLocal(
            "the holdout is drawn from hashed units, which clients don't support; "
            "ask the decisions endpoint for every decision"
        )


# ------------------------------------------------------------------------------ exposures


class Exposure(NamedTuple):
    """An arm that a client drew.

    Args:
        id: The id of the decision, which its reward names.
        arm: The arm's name.
        version: The version of the allocation that it was drawn from.
        age: How long ago it was drawn, in seconds.
        unit: The unit that it was drawn for.
        context: The unit's context, as the client knew it.
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
        detail: A description of the problem.
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


class Refusal(Exception):  # noqa: N818  it says what happened
    """Why an exposure isn't logged: the fields of its result after the id."""


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
                return recorder.results
        except Unlikely:
            continue  # the same client is refused from the beginning now
        except (Taken, Gone):
            if not deadline.left:
                raise session.store.engine.waited("other processes") from None
        looks_up = True


def _read_tickets(session: Session, texts: Sequence[str]) -> dict[int, Ticket]:
    """The valid tickets, by version.

    After a restore there may be two of one version, and the exposures don't show which of them they
    are from. Then neither is used.
    """
    found: dict[int, list[Ticket]] = {}
    for text in dict.fromkeys(texts):
        ticket = read_ticket(session.seed, session.name, text)
        if ticket is not None:
            found.setdefault(ticket.version, []).append(ticket)
    return {version: tickets[0] for version, tickets in found.items() if len(tickets) == 1}


class _Usable(NamedTuple):
    """A ticket of a version that the log has.

    Args:
        ticket: The ticket.
        since: The time of the event of its version.
        is_over: Whether the version was replaced more than a day ago.
        sticks: Whether units keep the arms that are drawn from it.
        share: The probability of each arm in the holdout.
    """

    ticket: Ticket
    since: int
    is_over: bool
    sticks: bool
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
        self.results: list[ExposureResult] = []
        self.rows: dict[str, NewDecision] = {}  # by id
        self.new_units: dict[str, dict[str, Any]] = {}  # by unit
        with session.reading() as transaction:
            ids = [one.id for its in sent for one in its.exposures] if looks_up else []
            self.logged: Mapping[str, Any] = transaction.decided(ids) if looks_up else {}
            self.state, self.head = session.catch_up(transaction)
            self.spans = transaction.spans({version for known in tickets for version in known})
            self.assigned = transaction.assigned(self._sticky_units())
        self.config = self.state.config
        self.places = {name: arm for arm, name in enumerate(self.config.arms)}
        self.key = public_key(session.seed)

    def _sticky_units(self) -> set[str]:
        """The units that may have an arm already."""
        if not any(ticket.sticky for known in self.tickets for ticket in known.values()):
            return set()
        units = {one.unit for its in self.sent for one in its.exposures}
        return {unit for unit in units if unit is not None}

    def record(self) -> bool:
        """Record them; False if the ids must be looked up first."""
        clients, drawn = self.session.store.clients, list[tuple[Any, Draws]]()
        for its, known in zip(self.sent, self.tickets, strict=True):
            who, draws = (self.session.seed, its.client), Draws([], [], self.config.arms)
            refused = its.client is not None and clients.are_refused(who)
            usable = self._usable(known)
            self.results += [self._record(one, usable, refused, draws) for one in its.exposures]
            if its.client is not None and draws.arms:
                drawn.append((who, draws))
        if not self.looks_up and len(self.rows) < len(self.results):
            return False
        tested = [clients.test(*one) for one in drawn]
        if None in tested:
            raise Unlikely
        if self.rows:
            self._append()
        for one in tested:
            if one is not None:
                clients.keep(one)
        return True

    def _usable(self, tickets: Mapping[int, Ticket]) -> dict[int, _Usable]:
        """The tickets whose version is in the log, by version."""
        out, oldest = {}, self.head.time - DAY_SECONDS * 1_000_000
        for version, ticket in tickets.items():
            span = self.spans.get(version)
            if span is not None and span.batch == ticket.batch:
                is_over = span.until is not None and span.until < oldest
                sticks = ticket.sticky and ticket.winner is None
                share = 1 / len(ticket.active)
                out[version] = _Usable(ticket, span.since, is_over, sticks, share)
        return out

    def _record(
        self, one: Exposure, usable: Mapping[int, _Usable], refused: bool, draws: Draws
    ) -> ExposureResult:
        known = self.logged.get(one.id) or self.rows.get(one.id)
        try:
            if known is not None:
                return self._compare(one, known)
            if refused:
                raise Refusal(UNLIKELY, _UNLIKELY)
            self.rows[one.id] = self._row(one, usable, draws)
        except Refusal as refusal:
            return ExposureResult(one.id, *refusal.args)
        return ExposureResult(one.id, RECORDED)

    def _compare(self, one: Exposure, known: Any) -> ExposureResult:
        """The result for an id that has its decision."""
        arm = self.config.arms[known.arm]
        if arm != one.arm:
            raise Refusal(CONFLICT, f"decision {one.id!r} has arm {arm!r} already", arm)
        if differs(known.unit, one.unit):
            raise Refusal(CONFLICT, f"decision {one.id!r} was made for another unit", arm)
        return ExposureResult(one.id, DUPLICATE)

    def _row(self, one: Exposure, usable: Mapping[int, _Usable], draws: Draws) -> NewDecision:
        """The decision that an exposure becomes."""
        its = usable.get(one.version)
        if its is None:
            raise Refusal(UNKNOWN_VERSION, f"version {one.version} has no valid ticket")
        made, arm = self._time(one, its), self.places.get(one.arm)
        if arm is None:
            raise Refusal(IMPOSSIBLE_ARM, unknown("arm", one.arm, self.config.arms))
        before = self._assigned(one, arm) if its.sticks else None
        if before is not None and before.arm == arm:
            now = self.state.version, self.config.epoch
            return self._new(one, now, arm, before.probability, before.estimated, STICKY, made)
        if its.is_over:
            raise Refusal(TOO_OLD, f"version {one.version} was replaced more than a day ago")
        ticket, (p, estimated) = its.ticket, self._chance(one, its, arm)
        if p <= 0:
            raise Refusal(
                IMPOSSIBLE_ARM, f"arm {one.arm!r} had probability 0 at version {one.version}"
            )
        if its.sticks:
            self._assign(one, arm, p, estimated, before)
        # The draw of a unit that had another arm depends on the draw before.
        if p < 1 and before is None:
            draws.arms.append(one.arm)
            draws.probabilities.append(p)
        reason = LOCAL if ticket.winner is None else WINNER
        then = ticket.version, ticket.epoch
        return self._new(one, then, arm, p, estimated, reason, made)

    def _new(
        self,
        one: Exposure,
        version: tuple[int, int],
        arm: int,
        p: float,
        estimated: bool,
        reason: str,
        made: int,
    ) -> NewDecision:
        context = None if one.context is None else json.dumps(one.context, separators=(",", ":"))
        return NewDecision(
            self.session.id,
            one.id,
            *version,
            arm,
            p,
            bool(estimated),
            reason,
            one.unit,
            None,
            context,
            made,
        )

    def _time(self, one: Exposure, its: _Usable) -> int:
        """When the arm was drawn."""
        options = self.config.options
        if one.age <= DAY_SECONDS:
            made = max(self.head.time - int(one.age * 1e6), its.since)
            if options.window is None:
                return made
            # One that is settled already, by its time, would stay pending forever.
            if made > self.head.swept and not is_late(self.head.time, made, options):
                return made
        raise Refusal(TOO_OLD, f"the exposure came {one.age:.0f} s after its decision")

    def _chance(self, one: Exposure, its: _Usable, arm: int) -> tuple[float, bool]:
        """The probability of the arm, and whether it was estimated."""
        ticket, who = its.ticket, one.id if one.unit is None else one.unit
        if ticket.holdout and is_held(self.key, who, ticket.holdout):
            return its.share if arm in ticket.active else 0.0, False
        row = ticket.rows[ticket.row(one.context)]
        return row[arm] if arm < len(row) else 0.0, ticket.estimated

    def _assigned(self, one: Exposure, arm: int) -> Assigned | None:
        """The arm of a sticky unit, if it has one; it may change only if that is paused."""
        if one.unit is None:
            raise Refusal(INVALID, "unit must be given in a sticky experiment, got none")
        before = self.assigned.get(one.unit)
        if before is None or before.arm == arm:
            return before
        if before.arm in self.config.paused and one.version >= self.state.revision:
            return before
        name = self.config.arms[before.arm]
        raise Refusal(CONFLICT, f"the unit of {one.id!r} has arm {name!r} already", name)

    def _assign(
        self, one: Exposure, arm: int, p: float, estimated: bool, before: Assigned | None
    ) -> None:
        """Give a sticky unit its arm."""
        unit = str(one.unit)
        self.assigned[unit] = Assigned(unit, arm, p, estimated, one.id)
        self.new_units[unit] = {
            "unit": unit,
            "arm": arm,
            "probability": p,
            "estimated": estimated,
            "decision": one.id,
            "replaces": None if before is None else before.decision,
        }

    def _append(self) -> None:
        session, state, rows = self.session, self.state, list(self.rows.values())
        new_units = [self.new_units[unit] for unit in sorted(self.new_units)]
        if not session.store.sqlite:  # two batches of the same ids must not deadlock
            rows.sort(key=lambda row: row.id)
        with session.writing() as transaction:  # in one piece, so that all of it can be undone
            if new_units and transaction.assign(new_units) < len(new_units):
                raise Taken
            # A log that has the present version has all earlier ones, too.
            now = state.batch, self.head.time
            added = transaction.add_decisions(rows, session.seed, *now, version=state.version)
            if added < len(rows):
                raise Taken


_UNLIKELY = (
    "the arms of this client don't match their probabilities, so nothing of it is logged; find the "
    "error in the client, and start it again"
)
