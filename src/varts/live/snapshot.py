"""What this process knows of an experiment, how it catches up with the log and adds to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from varts.live.allocation import Allocation
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.state import Config, Event, Row, State
from varts.live.store import Store
from varts.live.transaction import Transaction


class Change:
    """Events about to be written: applied to a copy of the state, all with the same time.

    `swept` is set by whoever has settled all decisions up to some time.
    """

    def __init__(self, transaction: Transaction, state: State, time: int) -> None:
        self.transaction, self.state, self.time = transaction, state, time
        self.events: list[Event] = []
        self.swept: int | None = None

    def apply(
        self,
        kind: str,
        decision: str | None = None,
        arm: int | None = None,
        epoch: int | None = None,
        raw: float | None = None,
        value: float | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        """Take in the next event; raises ValueError for one that cannot be."""
        event = Event(
            self.state.version + 1, kind, self.time, decision, arm, epoch, raw, value, body
        )
        self.state.apply(event)
        self.events.append(event)

    def write(self) -> None:
        """Append the events to the log and bring the caches up to date with them."""
        if self.events:
            self.transaction.add_events(self.events)
        if self.events or self.swept is not None:
            self.transaction.save(self.state, self.swept)


class Snapshot:
    """The state of an experiment as it was last seen; threads may share it."""

    def __init__(self, name: str, store: Store) -> None:
        row = store.find(name)
        if row is None:
            raise UnknownExperiment(f"unknown experiment {name!r} in store {store.name}")
        self.name, self.store = name, store
        self.id: int = row.id
        self.seed: int = row.seed
        with self.reading() as transaction:
            self.state = self._load(transaction)
        self._allocation: Allocation | None = None
        self._publishing = threading.Lock()

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one moment."""
        return self.store.reading(self.id)

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that may write."""
        return self.store.writing(self.id)

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """A change of the experiment by nobody else meanwhile, all of it or nothing.

        What the body applies is written when it ends, and known to later calls after the commit;
        an error in the body leaves everything as it was.
        """
        with self.writing() as transaction:
            transaction.lock()
            state = self.refresh(transaction).copy()
            change = Change(transaction, state, self.store.clock())
            yield change
            change.write()
        self.publish(state)

    def reload(self, transaction: Transaction) -> State:
        """The state read anew, from a transaction that sees one moment."""
        state = self._load(transaction)
        self.publish(state)
        return state

    def refresh(self, transaction: Transaction) -> State:
        """The state as the transaction sees it; only what changed is read."""
        state = self.state
        head = transaction.head(state.version)
        first = head[0]
        if first.version == state.version:
            return state
        if first.revision > state.version:
            if transaction.steady:
                return self.reload(transaction)
            with self.reading() as moment:
                return self.reload(moment)
        state = State(state.config, first.version, first.rewards, dict(state.rows))
        _take_rows(state, head)
        self.publish(state)
        return state

    def publish(self, state: State) -> None:
        """Let later calls start from this state."""
        with self._publishing:
            if state.version > self.state.version:
                self.state = state

    def allocation(self, state: State) -> Allocation:
        """The allocation of a state, kept until the state changes."""
        allocation = self._allocation
        if allocation is None or allocation.state.version != state.version:
            allocation = self._allocation = Allocation(self.seed, state)
        return allocation

    def _load(self, transaction: Transaction) -> State:
        head = transaction.head(0)
        try:
            config = Config.from_json(transaction.config())
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(
                f"the configuration of experiment {self.name!r} in store {self.store.name} is not "
                "what varts wrote there; restore it from a backup"
            ) from None
        state = State(config, head[0].version, head[0].rewards)
        _take_rows(state, head)
        return state


def _take_rows(state: State, head: Sequence[Any]) -> None:
    for row in head:
        if row.arm is not None:
            state.rows[row.arm, row.epoch] = Row(
                row.rewarded, row.n, row.mean, row.m2, row.origin, row.at
            )
