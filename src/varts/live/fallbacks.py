"""Fallbacks: decisions that a client made by itself, because the service didn't answer in time.

Which arm a fallback has doesn't depend on what the experiment has learned, and often depends on how
well the service is doing. So it is logged and counts nowhere: a fallback is settled from the
beginning as if it had expired, its rewards are recorded without being counted, and its unit gets no
arm. Older versions of varts read it as an expired decision and refuse its rewards.

The service may have logged a decision under the same id, whose arm nobody saw. That decision
becomes a fallback as well, so that it doesn't get the reward of another arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from varts.live.core.allocation import FALLBACK
from varts.live.core.events import EXPIRED, LOGGED, PLAYED, played_by_client
from varts.live.decide import Taken, differs
from varts.live.errors import DecisionConflict, UnknownArm
from varts.live.session import Session, Write
from varts.live.store.queue import Deadline
from varts.live.store.transaction import Gone, NewDecision

RECORDED, DUPLICATE = "recorded", "duplicate"


class Fallback(NamedTuple):
    """A decision of a client: its id, the arm's name, and the unit as the log has it."""

    id: str
    arm: str
    unit: str | None


def record_fallbacks(session: Session, items: Sequence[Fallback]) -> list[str | Exception]:
    """Log decisions of clients; a refused one doesn't affect the others.

    Returns:
        For each of them "recorded", "duplicate" or why it was refused.
    """
    deadline = Deadline(session.store.timeout)
    while True:  # a repetition means that others made one of these decisions, or restored the store
        try:
            with session.changing() as write:
                return _Recorder(session, write, items).record_all()
        except (Taken, Gone):
            if not deadline.left:
                raise session.store.engine.waited("other processes") from None


class _Recorder:
    """Records the fallbacks of one transaction."""

    def __init__(self, session: Session, write: Write, items: Sequence[Fallback]) -> None:
        self.session, self.write, self.items = session, write, items
        transaction, ids = write.transaction, [item.id for item in items]
        self.logged: dict[str, Any] = dict(transaction.decided(ids))
        self.settled = transaction.settled(list(self.logged))
        waiting = [id for id in self.logged if id not in self.settled]
        self.arrived = transaction.arrivals(waiting)
        self.played: dict[str, int] = {}  # by id, the arm of each fallback
        for id, row in self.settled.items():
            arm = played_by_client(row)
            if arm is not None:
                self.played[id] = arm

    def record_all(self) -> list[str | Exception]:
        outcomes: list[str | Exception] = []
        new: dict[str, NewDecision] = {}
        for item in self.items:
            try:
                outcomes.append(self._record(item, new))
            except (DecisionConflict, UnknownArm) as error:
                outcomes.append(error)
        if new:
            transaction, state = self.write.transaction, self.write.state
            rows = [new[id] for id in sorted(new)]  # in one order, so that batches can't deadlock
            seed, time = self.session.seed, self.write.time
            if transaction.add_decisions(rows, seed, state.batch, time, True) < len(rows):
                raise Taken
        return outcomes

    def _record(self, item: Fallback, new: dict[str, NewDecision]) -> str:
        id, state = item.id, self.write.state
        arm, row = state.config.index(item.arm), self.logged.get(id)
        if row is not None and differs(row.unit, item.unit):
            raise DecisionConflict(f"decision {id!r} was made for another unit")
        if id in self.played:
            if self.played[id] != arm:
                known = state.config.arms[self.played[id]]
                raise DecisionConflict(
                    f"decision {id!r} is a fallback already, with arm {known!r}, got {item.arm!r}"
                )
            return DUPLICATE
        if id in self.settled or id in self.arrived:
            raise DecisionConflict(
                f"decision {id!r} has its reward already, so it can't become a fallback"
            )
        self.played[id] = arm
        if row is not None:
            self.write.apply(EXPIRED, id, body={LOGGED: row.arm, PLAYED: arm}, about=row)
            return RECORDED
        row = self.logged[id] = new[id] = NewDecision(
            experiment=self.session.id,
            id=id,
            version=state.version,
            epoch=state.config.epoch,
            arm=arm,
            probability=1.0,
            estimated=False,
            reason=FALLBACK,
            unit=item.unit,
            salt=None,
            context=None,
        )
        self.write.apply(EXPIRED, id, arm, row.epoch, body={PLAYED: arm})
        return RECORDED
