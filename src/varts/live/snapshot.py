"""What this process knows of an experiment, how it catches up with the log and adds to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from varts.live.allocation import Allocation
from varts.live.contextual_allocation import allocate
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.head import Head
from varts.live.log import Log
from varts.live.rebuild import rebuild
from varts.live.state import CONFIGURE, MISSING, REWARD, Config, Event, State
from varts.live.store import Store
from varts.live.transaction import Transaction


class Change:
    """Events about to be written: applied to a copy of the state, all with the same time.

    `swept` is set by whoever has settled all decisions up to some time.
    """

    def __init__(self, transaction: Transaction, state: State, head: Head) -> None:
        self.transaction, self.state, self.time = transaction, state, head.time
        self.already_swept, self._rewards = head.swept, state.rewards
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
        corrects: str | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        """Take in the next event; raises ValueError for one that cannot be."""
        version, batch = self.state.version + 1, self.transaction.batch
        event = Event(
            version, kind, self.time, decision, arm, epoch, raw, value, batch, corrects, body
        )
        self.state.apply(event)
        self.events.append(event)

    def number_of(self, version: int) -> int | None:
        """Which one of the experiment's rewards was counted at a version; None if the configuration
        has changed since, and with it perhaps what an older reward weighs."""
        if any(event.kind == CONFIGURE for event in self.events):
            return None
        if self.events and version >= self.events[0].version:
            here = [event for event in self.events if event.version <= version]
            return self._rewards + sum(event.kind in (REWARD, MISSING) for event in here)
        return self.transaction.number_of(version, self._rewards)

    def write(self) -> None:
        """Append the events to the log and bring the caches up to date with them."""
        if self.events:
            self.transaction.add_events(self.events)
        if self.state.stale:
            rebuild(self.state, Log(self.transaction, lambda: nullcontext(self.transaction)))
        if self.events or self.swept is not None:
            self.transaction.save(self.state, self.swept)


class Snapshot:
    """The state of an experiment as it was last seen; threads may share it.

    What is remembered is only ever a shortcut: every look compares it with the database, and what
    belongs to another history (a restored backup, a standby that had fallen behind) is dropped.
    """

    def __init__(self, name: str, store: Store) -> None:
        row = store.find(name)
        if row is None:
            raise UnknownExperiment(f"unknown experiment {name!r} in store {store.name}")
        self.name, self.store = name, store
        self.id: int = row.id
        self.seed: int = row.seed
        self._allocation: Allocation | None = None
        with self.reading() as transaction:
            self.reload(transaction)

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
            state, head = self.refresh(transaction)
            change = Change(transaction, state.copy(), head)
            yield change
            change.write()
        self.publish(change.state)

    def head(self, transaction: Transaction, known: int) -> Head:
        """Where the experiment is, beside a version that is known."""
        return transaction.head(self.name, self.seed, known)

    def refresh(self, transaction: Transaction) -> tuple[State, Head]:
        """The state as the transaction sees it, of which only what changed is read."""
        known = self.state
        head = self.head(transaction, known.version)
        if head.version < known.version or head.known_batch != known.batch:
            return self.reload(transaction)  # the log that we know is not the beginning of this one
        if head.version > known.version:
            config = known.config if head.config is None else self._read_config(head)
            rows = {**known.rows, **head.rows}
            known = State(config, head.version, head.rewards, rows, head.batch, head.revision)
            self.publish(known)
        return known, head

    def reload(self, transaction: Transaction) -> tuple[State, Head]:
        """The state read anew."""
        head = self.head(transaction, -1)
        config = self._read_config(head)
        state = State(config, head.version, head.rewards, head.rows, head.batch, head.revision)
        self.publish(state)
        return state, head

    def publish(self, state: State) -> None:
        """Let later calls start from this state, even if another thread has seen a later one."""
        self.state = state

    def log(self, transaction: Transaction) -> Log:
        """The whole log as of the moment that the transaction sees."""
        return Log(transaction, self.reading)

    def allocation(self, state: State) -> Allocation:
        """The allocation of a state, kept until another one is asked for."""
        allocation = self._allocation
        if allocation is None or allocation.state is not state:
            allocation = self._allocation = allocate(self.seed, state)
        return allocation

    def _read_config(self, head: Head) -> Config:
        try:
            return Config.from_json(json.loads(head.config or "{}"))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(
                f"the configuration of experiment {self.name!r} in store {self.store.name} is not "
                "what varts wrote there; verify --repair makes it anew from the log"
            ) from None
