"""What this process knows of an experiment, and how it catches up with the log."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from varts.live.allocation import Chooser
from varts.live.errors import StoreError
from varts.live.state import Config, Row, State
from varts.live.store import Store
from varts.live.transaction import Log


class View:
    """The state of an experiment as it was last seen; threads may share it."""

    def __init__(self, name: str, store: Store) -> None:
        self.name, self.store = name, store
        with store.reading() as log:
            row = log.find(name)
            self.id, self.seed = row.id, row.seed
            log.experiment = self.id
            self.state = self._load(log)
        self._chooser: Chooser | None = None
        self._publishing = threading.Lock()

    def reading(self) -> AbstractContextManager[Log]:
        """A transaction that sees one moment."""
        return self.store.reading(self.id)

    def writing(self) -> AbstractContextManager[Log]:
        """A transaction that may write."""
        return self.store.writing(self.id)

    def whole(self, log: Log) -> State:
        """The state read anew, from a transaction that sees one moment."""
        state = self._load(log)
        self.publish(state)
        return state

    def current(self, log: Log) -> State:
        """The state as the transaction sees it; only what changed is read."""
        state = self.state
        head = log.head(state.version)
        first = head[0]
        if first.version == state.version:
            return state
        if first.revision > state.version:
            if log.steady:
                return self.whole(log)
            with self.reading() as moment:
                return self.whole(moment)
        state = State(state.config, first.version, first.rewards, dict(state.rows))
        _take(state, head)
        self.publish(state)
        return state

    def publish(self, state: State) -> None:
        """Let later calls start from this state."""
        with self._publishing:
            if state.version > self.state.version:
                self.state = state

    def chooser(self, state: State) -> Chooser:
        """The chooser of a state, kept until the state changes."""
        chooser = self._chooser
        if chooser is None or chooser.state.version != state.version:
            chooser = self._chooser = Chooser(self.seed, state)
        return chooser

    def _load(self, log: Log) -> State:
        head = log.head(0)
        try:
            config = Config.from_json(log.config())
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(
                f"the configuration of experiment {self.name!r} in store {self.store.name} must be "
                "what varts wrote there, got something else; restore it from a backup"
            ) from None
        state = State(config, head[0].version, head[0].rewards)
        _take(state, head)
        return state


def _take(state: State, head: Sequence[Any]) -> None:
    for row in head:
        if row.arm is not None:
            state.rows[row.arm, row.epoch] = Row(
                row.rewarded, row.n, row.mean, row.m2, row.origin, row.at
            )
