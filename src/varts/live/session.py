"""A process's knowledge of an experiment: how it catches up with the log and appends to it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from varts.live.audit.follower import rebuild
from varts.live.core.allocation import Allocation, allocate
from varts.live.core.events import (
    AGGREGATE,
    CONFIGURE,
    CORRECTIONS,
    MISSING,
    REWARD,
    REWARDLIKE,
    Event,
)
from varts.live.core.local import LocalAllocation
from varts.live.core.state import Config, State
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.store.log import Log
from varts.live.store.store import Store
from varts.live.store.transaction import Decided, Head, Transaction

FEW_CELLS = 100  # of an allocation, which are computed in no time
KEPT_SECONDS = 1.0
APPLIED_TOGETHER = frozenset((*REWARDLIKE, *CORRECTIONS, AGGREGATE))


class Write:
    """Events about to be written: applied to a copy of the state, all with the same time.

    Rewards and corrections are applied together, when they are written or before the next change of
    configuration.

    Args:
        transaction: The transaction that will write them.
        state: A copy of the state that they are applied to.
        head: Where the experiment is.

    `swept` is set by a caller that has settled all decisions up to some time.
    """

    def __init__(self, transaction: Transaction, state: State, head: Head) -> None:
        self.transaction, self.state, self.time = transaction, state, head.time
        self.already_swept, self._rewards = head.swept, state.rewards
        self.events: list[Event] = []
        self._applied = 0  # how many of the events
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
        arrives: str | None = None,
        about: Any = None,
    ) -> None:
        """Add the next event; raises ValueError if it is an impossible change of configuration.

        The arguments are the columns of `Event`, but for `about`: the decision that it is about.
        """
        version = self.state.version + len(self.events) - self._applied + 1
        batch, unit, made = self.transaction.batch, None, None
        if about is not None:
            arm, epoch, unit, made = about.arm, about.epoch, about.unit, about.time
        event = Event(
            version, kind, self.time, decision, arm, epoch, raw, value, batch, corrects, body,
            arrives, unit, made,
        )  # fmt: skip
        self.events.append(event)
        if kind not in APPLIED_TOGETHER:
            self._apply_all()

    def decided(self, ids: Sequence[str]) -> dict[str, Decided]:
        """Decisions by their ids. The state then knows what their units have earned so far, which
        counting or correcting their rewards needs."""
        if not self.state.config.options.counts_units:
            return self.transaction.decided(ids)
        found, units = self.transaction.decided_by_units(ids)
        for key, sums in units.items():  # what this transaction has added since is newer
            self.state.units.setdefault(key, sums)
        options = self.state.config.options
        if options.metrics or options.holdout:
            self.load_units(found.values())
        return found

    def load_units(self, decisions: Iterable[Any]) -> None:
        """Load the rewards so far of the units of these decisions, all metrics included."""
        options = self.state.config.options
        if not options.counts_units:
            return
        places = {(one.unit, one.arm) for one in decisions if one.unit is not None}
        if options.holdout:  # whose two sides count all arms together
            places |= {(unit, 0) for unit, _ in places}
        if places:
            for key, sums in self.transaction.unit_rewards(places).items():
                self.state.units.setdefault(key, sums)

    def _apply_all(self) -> None:
        self.state.apply_many(self.events[self._applied :])
        self._applied = len(self.events)

    def number_of(self, version: int) -> int | None:
        """The number of the reward that was counted at a version; None if the configuration has
        changed since, and with it perhaps the weight of older rewards."""
        if any(event.kind == CONFIGURE for event in self.events):
            return None
        if self.events and version >= self.events[0].version:
            here = [event for event in self.events if event.version <= version]
            return self._rewards + sum(event.kind in (REWARD, MISSING) for event in here)
        return self.transaction.number_of(version, self._rewards)

    def write(self) -> None:
        """Append the events to the log and update the caches; raises ValueError if one of them is
        impossible."""
        self._apply_all()
        if self.events:
            self.transaction.add_events(self.events)
        if self.state.stale or self.state.recount:
            rebuild(self.state, self.log())
        if self.events or self.swept is not None:
            self.transaction.save(self.state, self.swept)

    def log(self) -> Log:
        """The log as this transaction sees it."""
        return Log(self.transaction, lambda: nullcontext(self.transaction))


class _Kept(NamedTuple):
    """An allocation for clients, its state, and until when it is good for later states, too."""

    state: State
    made: LocalAllocation
    until: float


class Session:
    """An experiment as this process last saw it; threads may share it.

    Its memory is only a shortcut. Every call compares it with the database, and forgets what
    belongs to another history: a restored backup, or a standby that had fallen behind.

    Args:
        name: The experiment's name.
        store: The store that it is in.
        aside: Whether it may be set aside. Its `seed` is then not the one that its decisions are
            drawn from; see `seed_aside`.

    Raises:
        UnknownExperiment: No experiment has this name.
    """

    def __init__(self, name: str, store: Store, aside: bool = False) -> None:
        self.name, self.store = name, store
        self._allocation: Allocation | None = None
        self._local: _Kept | None = None
        self._making = threading.Lock()
        with store.finding(name, aside) as (row, transaction):
            if row is None:
                raise UnknownExperiment(f"unknown experiment {name!r} in store {store.name}")
            self.id, self.seed = row.id, row.seed
            self.reload(transaction)

    def reading(
        self, single: bool = False, still: bool = False
    ) -> AbstractContextManager[Transaction]:
        """A transaction that sees one moment; see `Store.reading`."""
        return self.store.reading(self.id, single, still)

    def writing(
        self, single: bool = False, lock: bool = False
    ) -> AbstractContextManager[Transaction]:
        """A transaction that may write; see `Store.writing`."""
        return self.store.writing(self.id, single, lock)

    @contextmanager
    def changing(self) -> Iterator[Write]:
        """Change the experiment exclusively, and completely or not at all.

        The events that the body applies are written when it ends. Later calls know them after the
        commit. An error in the body leaves everything as it was.
        """
        with self.writing(lock=True) as transaction:
            state, head = self.catch_up(transaction)
            write = Write(transaction, state.copy(), head)
            yield write
            write.write()
        write.state.forget_units()
        self.state = write.state

    def catch_up(self, transaction: Transaction) -> tuple[State, Head]:
        """The state as the transaction sees it. Only what changed is read."""
        known = self.state
        head = transaction.head(self.name, self.seed, known.version)
        if head.version < known.version or head.known_batch != known.batch:
            return self.reload(transaction)  # the log that we know is not the beginning of this one
        if head.config is not None:
            # A new configuration, or a repair, which may have removed statistics.
            return self.reload(transaction)
        if head.version > known.version:
            known = known.advanced(head.version, head.rewards, head.rows, head.batch)
            self.state = known
        return known, head

    def reload(self, transaction: Transaction) -> tuple[State, Head]:
        """The state, read from scratch."""
        head = transaction.head(self.name, self.seed, -1)
        config = self._read_config(head)
        self.state = State(
            config,
            head.version,
            head.rewards,
            head.rows,
            head.batch,
            head.revision,
            head.configured,
        )
        return self.state, head

    def log(self, transaction: Transaction) -> Log:
        """The whole log as of the moment that the transaction sees."""
        return Log(transaction, self.reading)

    def allocation(self, state: State) -> Allocation:
        """The allocation of a state, kept until another one is asked for."""
        allocation = self._allocation
        if allocation is None or allocation.state is not state:
            allocation = self._allocation = allocate(self.seed, state)
        return allocation

    def local_allocation(
        self, state: State, make: Callable[[], LocalAllocation]
    ) -> LocalAllocation:
        """The allocation of a state for clients, kept until another one is asked for.

        One with many cells takes long to make, so it is good for a second, unless the configuration
        has changed. Threads that ask at the same time wait for one of them.
        """
        with self._making:
            kept, now = self._local, time.monotonic()
            if kept is not None and kept.state is state:
                return kept.made
            if kept is not None and kept.state.tag == state.tag and now < kept.until:
                return kept.made
            made = make()
            many = made.cells is not None and len(made.cells.probabilities) > FEW_CELLS
            self._local = _Kept(state, made, now + KEPT_SECONDS if many else now)
            return made

    def _read_config(self, head: Head) -> Config:
        try:
            return Config.from_json(json.loads(head.config or "{}"))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(
                f"the configuration of experiment {self.name!r} in store {self.store.name} is "
                "damaged; verify --repair restores it from the log"
            ) from None
