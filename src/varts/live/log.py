"""The whole log of an experiment as of one moment, read page by page.

Every page is a transaction of its own, so that a long read holds nothing up: no fork, no
checkpoint of SQLite's, no vacuum of PostgreSQL's. Rows of the log are never changed, so the moment
is a bound on their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa

from varts.live.errors import StoreError
from varts.live.schema import decisions, events, units
from varts.live.state import CONFIGURE, CREATE, ERASE, MISSING, REPAIR, REWARD, VOID, Event
from varts.live.transaction import Transaction, read_event

Reading = Callable[[], AbstractContextManager[Transaction]]
ROWS_PER_PAGE = 20_000  # held in memory at a time, and read in less than half a second
# The columns that it takes to follow an experiment over time.
NARROW_EVENT = ("version", "kind", "time", "arm", "epoch", "value", "body")
NARROW_DECISION = ("time", "seq", "version", "arm")


class Log:
    """What had been written at the moment that a transaction sees.

    Args:
        transaction: That transaction.
        reading: Makes a transaction for every page.
    """

    def __init__(self, transaction: Transaction, reading: Reading) -> None:
        self.reading, self.x = reading, {"x": transaction.experiment}
        bounds: Any = transaction.connection.execute(_bounds, self.x).one()
        self.version, self.batch, self.seq, self.repaired, self.erased, corrected = bounds
        self.corrected = corrected is not None

    def events(self) -> Iterator[Event]:
        """All of them, in order."""
        after = 0
        while page := self._page(_events_page, after=after, last=self.version):
            yield from map(read_event, page)
            after = page[-1].version

    def decisions(
        self,
        order: str = "time",
        start: tuple[int, int] = (-1, -1),
        limit: int | None = None,
    ) -> Iterator[Any]:
        """Every decision with what settled it, by its time or by the version that it saw.

        Of a reward that was corrected, `raw`, `value` and `body` are as they are now; `settled` is
        "void" if there is none any more. `start` is the time (or version) and the number of the
        decision after which to begin, `limit` how many are wanted: a page has no more.
        """
        query, (after, seq) = _decisions_pages[order, self.corrected], start
        bounds = {"last": self.seq, "version": self.version}
        if limit is not None:
            bounds["limit"] = min(limit, ROWS_PER_PAGE)
        while page := self._page(query, after=after, seq=seq, **bounds):
            yield from page
            after, seq = getattr(page[-1], order), page[-1].seq

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
        query, after = _events_page.where(which), 0
        while page := self._page(query, after=after, last=min(version, self.version)):
            yield from map(read_event, page)
            after = page[-1].version

    def narrow_events(self) -> Iterator[list[tuple[Any, ...]]]:
        """All events in order, a page at a time, as plain tuples of `NARROW_EVENT`."""
        after = 0
        while page := self._page(_narrow_events, plain=True, after=after, last=self.version):
            yield page
            after = page[-1][0]

    def narrow_decisions(self) -> Iterator[list[tuple[Any, ...]]]:
        """All decisions by their time, a page at a time, as plain tuples of `NARROW_DECISION`."""
        after, seq = -1, -1
        while page := self._page(_narrow_decisions, True, after=after, seq=seq, last=self.seq):
            yield page
            after, seq = page[-1][:2]

    def span(self) -> tuple[int, int]:
        """The times of the first event, and of the last event or decision."""
        first, last, decided = self._page(_span, version=self.version, last=self.seq)[0]
        return int(first or 0), max(last or 0, decided or 0)

    def assigned(self) -> Iterator[Any]:
        """The arms of sticky units, as they are cached."""
        after = ""
        while page := self._page(_units_page, after=after):
            yield from page
            after = page[-1].unit

    def count_settlements(self) -> tuple[int, int]:
        """How many events settle a decision, and how many decisions' rewards were corrected."""
        settled, corrected = self._page(_settlements, version=self.version)[0]
        return int(settled), int(corrected)

    def _page(self, query: Any, plain: bool = False, **bounds: Any) -> list[Any]:
        """Rows with names, or `plain` ones as they come from the driver, in half the time."""
        with self.reading() as transaction:
            connection = transaction.connection
            found = connection.execute(_batch, {**self.x, "version": self.version}).scalar()
            if found != self.batch:
                raise StoreError(
                    f"store {transaction.store} was restored while its log was read; begin again"
                )
            if not transaction.sqlite:  # or it may read all events to find those of a page
                connection.exec_driver_sql(_LOOK_UP)
            given = {**self.x, "limit": ROWS_PER_PAGE, **bounds}
            rows: Any = connection.execute(query, given)
            return list(rows.cursor.fetchall() if plain else rows)


_LOOK_UP = (
    "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
)
_x: Any = sa.bindparam("x")
_after: Any = sa.bindparam("after")
_limit: Any = sa.bindparam("limit")
_here = events.c.experiment == _x
_last_event = sa.select(sa.func.max(events.c.version)).where(_here).scalar_subquery()
_bounds = sa.select(
    sa.func.coalesce(_last_event, 0),
    sa.select(events.c.batch).where(_here, events.c.version == _last_event).scalar_subquery(),
    sa.func.coalesce(
        sa.select(sa.func.max(decisions.c.seq))
        .where(decisions.c.experiment == _x)
        .scalar_subquery(),
        0,
    ),
    *(
        sa.select(sa.func.max(events.c.version))
        .where(_here, events.c.decision.is_(None), events.c.kind == kind)  # by the index
        .scalar_subquery()
        for kind in (REPAIR, ERASE)
    ),
    sa.select(events.c.corrects)
    .where(_here, events.c.corrects.is_not(None))
    .limit(1)
    .scalar_subquery(),
)
_batch = sa.select(events.c.batch).where(_here, events.c.version == sa.bindparam("version"))


def _events(names: Sequence[str]) -> Any:
    return (
        sa.select(*(events.c[name] for name in names))
        .where(_here, events.c.version > _after, events.c.version <= sa.bindparam("last"))
        .order_by(events.c.version)
        .limit(_limit)
    )


_events_page, _narrow_events = _events(Event._fields), _events(NARROW_EVENT)
_span = sa.select(
    sa.select(events.c.time).where(_here, events.c.version == 1).scalar_subquery(),
    sa.select(events.c.time)
    .where(_here, events.c.version == sa.bindparam("version"))
    .scalar_subquery(),
    sa.select(sa.func.max(decisions.c.time))
    .where(decisions.c.experiment == _x, decisions.c.seq <= sa.bindparam("last"))
    .scalar_subquery(),
)
_settlements = sa.select(
    sa.func.count(events.c.decision), sa.func.count(events.c.corrects.distinct())
).where(_here, events.c.version <= sa.bindparam("version"))
_units_page = (
    sa.select(units)
    .where(units.c.experiment == _x, units.c.unit > _after)
    .order_by(units.c.unit)
    .limit(_limit)
)


def _decisions(order: str, *columns: Any) -> Any:
    return (
        sa.select(*columns)
        .where(
            decisions.c.experiment == _x,
            decisions.c.seq <= sa.bindparam("last"),
            sa.tuple_(decisions.c[order], decisions.c.seq) > sa.tuple_(_after, sa.bindparam("seq")),
        )
        .order_by(decisions.c[order], decisions.c.seq)
        .limit(_limit)
    )


_narrow_decisions = _decisions("time", *(decisions.c[name] for name in NARROW_DECISION))


def _decisions_page(order: str, corrected: bool) -> Any:
    """The page first and then its events: those of all decisions need not be looked up for it.
    Nor need corrections, where there are none."""
    page = _decisions(order, decisions).subquery()
    settles = sa.and_(
        events.c.experiment == page.c.experiment,
        events.c.decision == page.c.id,
        events.c.version <= sa.bindparam("version"),
    )
    last = events.alias("last")
    joined = sa.outerjoin(page, events, settles)
    if corrected:
        corrections = events.alias("corrections")
        latest = (
            sa.select(sa.func.max(corrections.c.version))
            .where(
                corrections.c.experiment == page.c.experiment,
                corrections.c.corrects == page.c.id,
                corrections.c.version <= sa.bindparam("version"),
            )
            .scalar_subquery()
        )
        joins = sa.and_(last.c.experiment == page.c.experiment, last.c.version == latest)
        joined = sa.outerjoin(joined, last, joins)

    settled = sa.case((last.c.kind == VOID, VOID), else_=events.c.kind)

    def now(name: str) -> Any:
        if not corrected:
            return events.c[name]
        return sa.case((last.c.version.is_not(None), last.c[name]), else_=events.c[name])

    def correction(name: str) -> Any:
        return last.c[name] if corrected else sa.cast(sa.null(), events.c[name].type)

    return (
        sa.select(
            page,
            (settled if corrected else events.c.kind).label("settled"),
            now("raw").label("raw"),
            now("value").label("value"),
            now("body").label("body"),
            events.c.time.label("settled_time"),
            events.c.version.label("settled_version"),
            events.c.arm.label("settled_arm"),
            events.c.epoch.label("settled_epoch"),
            correction("version").label("corrected_version"),
            correction("arm").label("corrected_arm"),
            correction("epoch").label("corrected_epoch"),
        )
        .select_from(joined)
        .order_by(page.c[order], page.c.seq)
    )


_decisions_pages = {
    (order, corrected): _decisions_page(order, corrected)
    for order in ("time", "version")
    for corrected in (False, True)
}
