"""Where an experiment is: one statement, so that all of it is of one moment."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from varts.live.clock import Clock
from varts.live.row import Row, read_row
from varts.live.schema import events, experiments, statistics
from varts.live.state import Key
from varts.live.statements import Runner, compiled

_x: Any = sa.bindparam("x")


class Head(NamedTuple):
    """Where an experiment is, as of one moment, beside a version that the reader knew."""

    time: int  # by the database's clock
    version: int
    rewards: int
    swept: int
    batch: int | None  # of its last event
    known_batch: int | None  # of the event at the version that the reader knew
    revision: int  # the version of the last change of configuration
    config: str | None  # the configuration as JSON, if it changed after that version
    rows: dict[Key, Row]  # the statistics that changed after it


def read_head(
    runner: Runner, experiment: int, name: str, seed: int, known: int, clock: Clock | None
) -> Head | None:
    """The head with what changed after version `known`; None if the experiment is another one.

    `clock` tells the time where the database has no clock of its own.
    """
    text = compiled(runner.sqlite, _head(runner.sqlite))
    given = {"x": experiment, "name": name, "seed": seed, "known": known}
    first: Any = None
    rows = {}
    for row in runner.run(text, given):
        own, key, sums = row[:_OWN], row[_OWN : _OWN + 3], row[_OWN + 3 :]
        if key[0] is None:
            first = own
        else:
            rows[key] = read_row(sums)
    if first is None:
        return None
    return Head._make((first[0] if clock is None else clock(), *first[1:], rows))


_OWN = len(Head._fields) - 1  # columns of the experiment itself


@cache
def _head(on_sqlite: bool) -> Any:
    """A row of the experiment, and one per statistic: joined, each would repeat the whole
    configuration."""
    known: Any = sa.bindparam("known", type_=sa.BigInteger)
    identity = {"name": sa.bindparam("name"), "seed": sa.bindparam("seed", type_=sa.BigInteger)}
    statistic = [statistics.c[name] for name in ("metric", "arm", "epoch", *Row._fields)]

    def batch_at(version: Any) -> Any:
        event = sa.and_(events.c.experiment == _x, events.c.version == version)
        return sa.select(events.c.batch).where(event).scalar_subquery()

    def nothing(column: Any) -> Any:
        return sa.cast(sa.null(), column.type).label(column.name)

    microseconds = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
    asked = sa.literal_column(microseconds, sa.BigInteger).label("time")
    now = nothing(events.c.time) if on_sqlite else asked
    own = (
        now,
        experiments.c.version,
        experiments.c.rewards,
        experiments.c.swept,
        batch_at(experiments.c.version).label("batch"),
        batch_at(known).label("known_batch"),
        experiments.c.revision,
        sa.case((experiments.c.revision > known, experiments.c.config)).label("config"),
    )
    return sa.union_all(
        sa.select(*own, *map(nothing, statistic)).where(
            experiments.c.id == _x,
            *(experiments.c[name] == given for name, given in identity.items()),
        ),
        sa.select(*map(nothing, own), *statistic).where(
            statistics.c.experiment == _x, statistics.c.version > known
        ),
    )
