"""The whole log of an experiment as of one moment, read page by page.

Every page is a transaction of its own, so that a long read holds nothing up: no fork, no checkpoint
of SQLite, no vacuum of PostgreSQL. Rows of the log are never changed, so the moment is a bound on
their numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any

import numpy as np

from varts.live.core.aggregates import Aggregate, Period, read
from varts.live.core.events import (
    ADD_ARM,
    AGGREGATE,
    CONFIGURE,
    CREATE,
    MISSING,
    OF_NO_DECISION,
    REWARD,
    Event,
)
from varts.live.core.sums import UnitKey, UnitSums
from varts.live.errors import StoreError
from varts.live.store.schema import Table
from varts.live.store.transaction import (
    AGES,
    ALL_UNIT_REWARDS,
    BATCH,
    BOUNDS,
    COUNT_DECISIONS,
    DISORDER,
    LATER,
    LATER_TRAFFIC,
    LOOK_UP,
    NUMBERED,
    NUMBERED_TRAFFIC,
    OF_DECISION,
    SEQS,
    SEQS_BY_VERSION,
    SETTLEMENTS,
    SPAN,
    UNITS,
    Assigned,
    Bounds,
    LoggedDecision,
    Query,
    Transaction,
    check_schema,
    own_columns,
    page_of_decisions,
    page_of_events,
    page_of_rows,
    read_event,
)

Reading = Callable[[], AbstractContextManager[Transaction]]
ROWS_PER_PAGE = 20_000  # held in memory at a time, and read in less than half a second


class Log:
    """Everything that had been written at the moment a transaction sees.

    Args:
        transaction: That transaction.
        reading: Opens a transaction for every page.
    """

    def __init__(self, transaction: Transaction, reading: Reading) -> None:
        self.reading = reading
        self.sqlite = transaction.sqlite
        bounds = Bounds._make(transaction.run(BOUNDS).fetchone())
        self.version, self.batch, self.seq = bounds.version, bounds.batch, bounds.seq
        self.repaired, self.erased = bounds.repaired, bounds.erased
        self.corrected, self.arrived = bounds.corrected is not None, bounds.arrived is not None
        self.aggregated = bounds.aggregated is not None
        # Experiments with rules 1 count rewards without their units and times.
        self.with_rules = bounds.with_rules is not None

    def events(self) -> Iterator[Event]:
        """All events, in order."""
        for page in self.event_pages():
            yield from map(read_event, page)

    def event_pages(
        self, names: tuple[str, ...] = Event._fields, after: int = 0
    ) -> Iterator[list[Any]]:
        """All events after a version in order, a page at a time, as plain tuples of these columns,
        the first of which is the version."""
        return self._event_pages(page_of_events(self._needed(names)), self.version, after)

    def _needed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Leave out the columns of decisions if nothing counts by them."""
        if self.with_rules:
            return names
        return tuple("NULL" if name in OF_DECISION else name for name in names)

    def decisions(self, order: str = "time") -> Iterator[LoggedDecision]:
        """Every decision with all that is known about it, as `decision_pages` returns them."""
        for page in self.decision_pages(LoggedDecision._fields, order):
            yield from (LoggedDecision._make(row[:-2]) for row in page)

    def decision_pages(
        self,
        names: tuple[str, ...],
        order: str = "time",
        start: tuple[int, int] = (-1, -1),
        limit: int | None = None,
        fallbacks: bool = True,
    ) -> Iterator[list[Any]]:
        """Decisions a page at a time, as plain tuples.

        Of a reward that was corrected, `raw`, `value` and `body` are as they are now, and `settled`
        is "void" if the reward was voided.

        Args:
            names: Columns of `LoggedDecision`. The tuples have two more, which say where a page
                ends. Events are looked up only if one of their columns is among them.
            order: "time", or "version" for the version that a decision saw.
            start: Time and number of the decision after which to begin.
            limit: How many decisions at most.
            fallbacks: Whether to include decisions that clients made by themselves.
        """
        which = (LATER, NUMBERED) if fallbacks else (LATER_TRAFFIC, NUMBERED_TRAFFIC)
        if order == "version" and not self._versions_follow_times():
            yield from self._sorted_pages(names, which[1], SEQS_BY_VERSION, "version")
            return
        query = page_of_decisions((*names, "time", "seq"), self.corrected, self.arrived, which[0])
        (after, seq), left = start, math.inf if limit is None else limit
        while left and (
            page := self._page(
                query,
                after=after,
                seq=seq,
                last=self.seq,
                version=self.version,
                limit=min(left, ROWS_PER_PAGE),
            )
        ):
            yield page
            (after, seq), left = page[-1][-2:], left - len(page)

    def _versions_follow_times(self) -> bool:
        """Whether both orders are the same. They are, unless several processes decided at once, or
        a clock was set back."""
        return not self._page(DISORDER, last=self.seq, long=True)

    def numbered_pages(self, names: tuple[str, ...], skip: int = 0) -> Iterator[list[Any]]:
        """All decisions in the order in which they were written, a page at a time, as
        `decision_pages` returns them.

        Args:
            names: Columns of `LoggedDecision`.
            skip: How many to leave out at the beginning.
        """
        return self._sorted_pages(names, NUMBERED, SEQS, "seq", skip)

    def _sorted_pages(
        self, names: tuple[str, ...], which: Query, seqs: Query, order: str, skip: int = 0
    ) -> Iterator[list[Any]]:
        """Decisions in an order that no index of the experiment has, so their numbers are sorted
        first: a million take 8 MB."""
        rows = self._page(seqs, last=self.seq, long=True)
        numbers = np.fromiter(chain.from_iterable(rows), np.int64)[skip:]
        wanted = (*names, order, "seq")
        query = page_of_decisions(wanted, self.corrected, self.arrived, which)
        for first in range(0, numbers.size, ROWS_PER_PAGE):
            given = json.dumps(numbers[first : first + ROWS_PER_PAGE].tolist())
            if page := self._page(query, given=given, version=self.version):
                yield page

    def counting_events(self, version: int, arms: Sequence[int] | None) -> Iterator[Event]:
        """Events up to a version that count rewards, or that change how they count, in order."""
        counting = (CREATE, CONFIGURE, ADD_ARM, REWARD, MISSING, AGGREGATE)
        kinds = ", ".join(f"'{kind}'" for kind in counting)
        yield from self._some_events(version, arms, f"kind IN ({kinds})")

    def latest_corrections(self, version: int, arms: Sequence[int] | None) -> dict[str, Event]:
        """The last correction of every reward up to a version, by the decision's id."""
        if not self.corrected:
            return {}
        found = self._some_events(version, arms, "corrects IS NOT NULL")
        return {str(event.corrects): event for event in found}

    def latest_aggregates(
        self, version: int, arms: Sequence[int] | None
    ) -> dict[tuple[int, Period], Aggregate]:
        """Every aggregate as it was at a version, by its arm and period."""
        if not self.aggregated:
            return {}
        found = self._some_events(version, arms, f"arrives = '{OF_NO_DECISION}'")
        return {one.place: one for one in map(read, found)}

    def _some_events(self, version: int, arms: Sequence[int] | None, which: str) -> Iterator[Event]:
        """Events of these arms, or of all; events without an arm are always included."""
        which = f" AND {which}"
        if arms is not None:
            which += f" AND (arm IN ({', '.join(str(int(arm)) for arm in arms)}) OR arm IS NULL)"
        query = page_of_events(self._needed(Event._fields), which)
        for page in self._event_pages(query, min(version, self.version)):
            yield from map(read_event, page)

    def _event_pages(self, query: Query, last: int, after: int = 0) -> Iterator[list[Any]]:
        while page := self._page(query, after=after, last=last, limit=ROWS_PER_PAGE):
            yield page
            after = page[-1][0]

    def arrivals(self) -> Iterator[tuple[int, float]]:
        """The rewards that arrived for settled decisions before these counted: the age of the
        decision in microseconds, and by how much the reward changed."""
        for page in self._event_pages(AGES, self.version):
            for _, age, raw, body in page:
                said = json.loads(body or "{}")
                yield age, said.get("part", said.get("change", raw)) or 0.0

    def span(self) -> tuple[int, int]:
        """The times of the first event, and of the last event or decision."""
        first, last, decided = self._page(SPAN, version=self.version, last=self.seq, long=True)[0]
        return int(first or 0), max(last or 0, decided or 0)

    def assigned(self) -> Iterator[Assigned]:
        """The arms of sticky units as they are cached now, which may be later than this log."""
        after = ""
        while page := self._page(UNITS, after=after, limit=ROWS_PER_PAGE):
            rows = [Assigned(*row) for row in page]
            yield from rows
            after = rows[-1].unit

    def unit_rewards(self) -> Iterator[tuple[UnitKey, UnitSums]]:
        """The rewards of every unit as they are cached now, which may be later than this log."""
        unit, metric, arm = "", "", -1
        while page := self._page(
            ALL_UNIT_REWARDS, unit=unit, metric=metric, arm=arm, limit=ROWS_PER_PAGE
        ):
            for unit, metric, arm, n, mean in page:
                yield (metric, arm, unit), UnitSums(n, mean)

    def cached_pages(self, table: Table) -> Iterator[list[Any]]:
        """The rows of a cache as it is now, which may be later than this log, a page at a time, as
        plain tuples of `own_columns`."""
        names = own_columns(table)
        page = self._page(page_of_rows(table, first=True), limit=ROWS_PER_PAGE)
        while page:
            yield page
            after = dict(zip(names, page[-1], strict=True))
            known = {name: after[name] for name in table.key if name in after}
            page = self._page(page_of_rows(table, first=False), limit=ROWS_PER_PAGE, **known)

    def is_all(self) -> bool:
        """Whether nothing was written since."""
        with self.reading() as transaction:
            now = Bounds._make(transaction.run(BOUNDS).fetchone())
        return (now.version, now.batch) == (self.version, self.batch)

    def count_decisions(self) -> int:
        """How many decisions there are, including those that clients made by themselves."""
        return int(self._page(COUNT_DECISIONS, last=self.seq, long=True)[0][0])

    def count_settlements(self) -> tuple[int, int]:
        """How many events settle a decision, and how many decisions' rewards were corrected."""
        settled, corrected = self._page(SETTLEMENTS, version=self.version, long=True)[0]
        return int(settled), int(corrected)

    def _page(self, query: Query, long: bool = False, **bounds: Any) -> list[Any]:
        """Plain tuples, as they come from the driver."""
        with self.reading() as transaction:
            found = transaction.run(BATCH, version=self.version).fetchone()
            if found is not None:
                check_schema(found[1], transaction.store)
            if (found and found[0]) != self.batch:
                raise StoreError(
                    f"store {transaction.store} was restored while its log was read; begin again"
                )
            if long:
                transaction.allow_long_statements()
            if not self.sqlite:
                transaction.connection.execute(LOOK_UP)
            return list(transaction.run(query, **bounds).fetchall())
