"""What is asked of a log: pages of its events and decisions, and a few numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa

from varts.live.log_rows import Assigned
from varts.live.schema import decisions, events, units
from varts.live.state import ERASE, REPAIR, VOID, Event

# By the name that it has beside a decision, a column of the event that settled it, and of the last
# one that corrected its reward.
SETTLED = {
    "settled": "kind",
    "raw": "raw",
    "value": "value",
    "body": "body",
    "settled_time": "time",
    "settled_version": "version",
    "settled_arm": "arm",
    "settled_epoch": "epoch",
}
CORRECTED = {"corrected_version": "version", "corrected_arm": "arm", "corrected_epoch": "epoch"}
CHANGED = ("raw", "value", "body")  # by a correction


_x: Any = sa.bindparam("x")
_after: Any = sa.bindparam("after")
_last: Any = sa.bindparam("last")
_limit: Any = sa.bindparam("limit")
_here = events.c.experiment == _x
_last_event = sa.select(sa.func.max(events.c.version)).where(_here).scalar_subquery()
BOUNDS = sa.select(
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
BATCH = sa.select(events.c.batch).where(_here, events.c.version == sa.bindparam("version"))


@cache
def page_of_events(names: tuple[str, ...] = Event._fields) -> Any:
    """The next events, with these columns."""
    return (
        sa.select(*(events.c[name] for name in names))
        .where(_here, events.c.version > _after, events.c.version <= _last)
        .order_by(events.c.version)
        .limit(_limit)
    )


SPAN = sa.select(
    sa.select(events.c.time).where(_here, events.c.version == 1).scalar_subquery(),
    sa.select(events.c.time)
    .where(_here, events.c.version == sa.bindparam("version"))
    .scalar_subquery(),
    sa.select(sa.func.max(decisions.c.time))
    .where(decisions.c.experiment == _x, decisions.c.seq <= sa.bindparam("last"))
    .scalar_subquery(),
)
SETTLEMENTS = sa.select(
    sa.func.count(events.c.decision), sa.func.count(events.c.corrects.distinct())
).where(_here, events.c.version <= sa.bindparam("version"))
UNITS = (
    sa.select(*(units.c[name] for name in Assigned._fields))
    .where(units.c.experiment == _x, units.c.unit > _after)
    .order_by(units.c.unit)
    .limit(_limit)
)


_made = sa.and_(decisions.c.experiment == _x, decisions.c.seq <= _last)
BY_VERSION = sa.select(decisions.c.seq).where(_made).order_by(decisions.c.version, decisions.c.seq)
_lagging = (
    sa.select(
        decisions.c.version,
        decisions.c.seq,
        *(
            sa.func.lag(decisions.c[name])
            .over(order_by=(decisions.c.time, decisions.c.seq))
            .label(f"{name}_before")
            for name in ("version", "seq")
        ),
    )
    .where(_made)
    .subquery()
)
DISORDER = (
    sa.select(_lagging.c.seq)
    .where(
        sa.tuple_(_lagging.c.version, _lagging.c.seq)
        < sa.tuple_(_lagging.c.version_before, _lagging.c.seq_before)
    )
    .limit(1)
)


LATER = (  # the next ones by their time
    sa.select(decisions)
    .where(
        _made,
        sa.tuple_(decisions.c.time, decisions.c.seq) > sa.tuple_(_after, sa.bindparam("seq")),
    )
    .order_by(decisions.c.time, decisions.c.seq)
    .limit(_limit)
)


@cache
def numbered(on_sqlite: bool) -> Any:
    """The decisions whose numbers are given, a list as JSON."""
    given: Any = sa.bindparam("given", type_=sa.Text)
    listed = sa.func.json_each(given)
    if not on_sqlite:
        listed = sa.func.json_array_elements_text(sa.cast(given, sa.JSON))
    number = sa.cast(listed.table_valued("value").c.value, sa.BigInteger)
    return sa.select(decisions).where(decisions.c.seq.in_(sa.select(number)))


@cache
def page_of_decisions(names: tuple[str, ...], corrected: bool, which: Any) -> Any:
    """These columns of some decisions, in the order of the last two.

    The page first and then its events: those of all decisions need not be looked up for it. Nor
    need corrections, where there are none.
    """
    own = dict.fromkeys(name for name in ("experiment", "id", *names) if name in decisions.c)
    page = which.with_only_columns(*(decisions.c[name] for name in own)).subquery()
    settles = sa.and_(
        events.c.experiment == page.c.experiment,
        events.c.decision == page.c.id,
        events.c.version <= sa.bindparam("version"),
    )
    last = events.alias("last")
    joined: Any = page
    if not {*SETTLED, *CORRECTED}.isdisjoint(names):
        joined = sa.outerjoin(page, events, settles)
        if corrected:
            joined = sa.outerjoin(joined, last, _is_last_correction(last, page))

    def column(name: str) -> Any:
        if name in CORRECTED:
            own = events.c[CORRECTED[name]]
            return last.c[own.name] if corrected else sa.cast(sa.null(), own.type)
        if name not in SETTLED:
            return page.c[name]
        first = events.c[SETTLED[name]]
        if corrected and name == "settled":
            return sa.case((last.c.kind == VOID, VOID), else_=first)
        if corrected and name in CHANGED:
            return sa.case((last.c.version.is_not(None), last.c[name]), else_=first)
        return first

    *_, order, seq = names
    return (
        sa.select(*(column(name).label(f"{name}_{i}") for i, name in enumerate(names)))
        .select_from(joined)
        .order_by(page.c[order], page.c[seq])
    )


def _is_last_correction(event: Any, page: Any) -> Any:
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
    return sa.and_(event.c.experiment == page.c.experiment, event.c.version == latest)
