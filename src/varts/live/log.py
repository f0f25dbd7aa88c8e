"""The whole log of an experiment as of one moment, read page by page.

Every page is a transaction of its own, so that a long read holds nothing up: no fork, no
checkpoint of SQLite's, no vacuum of PostgreSQL's. Rows of the log are never changed, so the moment
is a bound on their numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any

import numpy as np
import sqlalchemy as sa

from varts.live.errors import StoreError
from varts.live.log_queries import (
    BATCH,
    BOUNDS,
    BY_VERSION,
    DISORDER,
    LATER,
    SETTLEMENTS,
    SPAN,
    UNITS,
    numbered,
    page_of_decisions,
    page_of_events,
)
from varts.live.log_rows import Assigned, LoggedDecision
from varts.live.schema import events
from varts.live.state import CONFIGURE, CREATE, MISSING, REWARD, Event
from varts.live.transaction import Transaction, read_event

Reading = Callable[[], AbstractContextManager[Transaction]]
ROWS_PER_PAGE = 20_000  # held in memory at a time, and read in less than half a second
# PostgreSQL might read all events to find those of a page.
LOOK_UP = (
    "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
)


class Log:
    """What had been written at the moment that a transaction sees.

    Args:
        transaction: That transaction.
        reading: Makes a transaction for every page.
    """

    def __init__(self, transaction: Transaction, reading: Reading) -> None:
        self.reading, self.x = reading, {"x": transaction.experiment}
        self.sqlite = transaction.sqlite
        bounds: Any = transaction.connection.execute(BOUNDS, self.x).one()
        self.version, self.batch, self.seq, self.repaired, self.erased, corrected = bounds
        self.corrected = corrected is not None

    def events(self) -> Iterator[Event]:
        """All of them, in order."""
        for page in self.event_pages():
            yield from map(read_event, page)

    def event_pages(self, names: tuple[str, ...] = Event._fields) -> Iterator[list[Any]]:
        """All events in order, a page at a time, as plain tuples of these columns, the first of
        which is the version."""
        return self._event_pages(page_of_events(names), self.version)

    def decisions(self, order: str = "time") -> Iterator[LoggedDecision]:
        """Every decision with all that is known of it, as `decision_pages` gives them."""
        for page in self.decision_pages(LoggedDecision._fields, order):
            yield from (LoggedDecision._make(row[:-2]) for row in page)

    def decision_pages(
        self,
        names: tuple[str, ...],
        order: str = "time",
        start: tuple[int, int] = (-1, -1),
        limit: int | None = None,
    ) -> Iterator[list[Any]]:
        """Decisions a page at a time, as plain tuples of these columns of `LoggedDecision` and two
        more, which say where a page ends.

        Their order is that of their time, or of the version that they saw. What settled a decision
        is looked up if it is among the columns: of a reward that was corrected, `raw`, `value` and
        `body` are as they are now, and `settled` is "void" if there is none any more. `start` is
        the time and the number of the decision after which to begin, `limit` how many are wanted.
        """
        if order == "version" and not self._versions_follow_times():
            yield from self._sorted_pages(names)
            return
        query = page_of_decisions((*names, "time", "seq"), self.corrected, LATER)
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
        """Whether decisions have the same order by either, as they do unless several processes have
        made them at once on PostgreSQL, or a clock was set back."""
        return not self._page(DISORDER, last=self.seq)

    def _sorted_pages(self, names: tuple[str, ...]) -> Iterator[list[Any]]:
        """Decisions by version. No index has this order: their numbers are sorted first, of which
        a million take 8 MB."""
        numbers = np.fromiter(chain.from_iterable(self._page(BY_VERSION, last=self.seq)), np.int64)
        query = page_of_decisions((*names, "version", "seq"), self.corrected, numbered(self.sqlite))
        for first in range(0, numbers.size, ROWS_PER_PAGE):
            given = json.dumps(numbers[first : first + ROWS_PER_PAGE].tolist())
            yield self._page(query, given=given, version=self.version)

    def counting_events(self, version: int, arms: Sequence[int] | None) -> Iterator[Event]:
        """The events up to a version that count rewards, in order, and those that say how."""
        kinds = (CREATE, CONFIGURE, REWARD, MISSING)
        yield from self._some_events(version, arms, events.c.kind.in_(kinds))

    def latest_corrections(self, version: int, arms: Sequence[int] | None) -> dict[str, Event]:
        """The last correction of every reward up to a version, by the decision's id."""
        if not self.corrected:
            return {}
        found = self._some_events(version, arms, events.c.corrects.is_not(None))
        return {str(event.corrects): event for event in found}

    def _some_events(self, version: int, arms: Sequence[int] | None, which: Any) -> Iterator[Event]:
        """Those of these arms, or of all; events without an arm always."""
        if arms is not None:
            which = sa.and_(which, sa.or_(events.c.arm.in_(arms), events.c.arm.is_(None)))
        for page in self._event_pages(page_of_events().where(which), min(version, self.version)):
            yield from map(read_event, page)

    def _event_pages(self, query: Any, last: int) -> Iterator[list[Any]]:
        after = 0
        while page := self._page(query, after=after, last=last, limit=ROWS_PER_PAGE):
            yield page
            after = page[-1][0]

    def span(self) -> tuple[int, int]:
        """The times of the first event, and of the last event or decision."""
        first, last, decided = self._page(SPAN, version=self.version, last=self.seq)[0]
        return int(first or 0), max(last or 0, decided or 0)

    def assigned(self) -> Iterator[Assigned]:
        """The arms of sticky units, as they are cached."""
        after = ""
        while page := self._page(UNITS, after=after, limit=ROWS_PER_PAGE):
            rows = [Assigned._make(row) for row in page]
            yield from rows
            after = rows[-1].unit

    def count_settlements(self) -> tuple[int, int]:
        """How many events settle a decision, and how many decisions' rewards were corrected."""
        settled, corrected = self._page(SETTLEMENTS, version=self.version)[0]
        return int(settled), int(corrected)

    def _page(self, query: Any, **bounds: Any) -> list[Any]:
        """Plain tuples, as they come from the driver."""
        with self.reading() as transaction:
            connection = transaction.connection
            found = connection.execute(BATCH, {**self.x, "version": self.version}).scalar()
            if found != self.batch:
                raise StoreError(
                    f"store {transaction.store} was restored while its log was read; begin again"
                )
            if not self.sqlite:
                connection.exec_driver_sql(LOOK_UP)
            rows: Any = connection.execute(query, {**self.x, **bounds})
            return list(rows.cursor.fetchall())
