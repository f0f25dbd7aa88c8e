"""How many decisions every arm has, counted as they are made: no report reads the log for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from sqlalchemy.engine import Connection

from varts.live.statements import execute_many, is_sqlite

SLOTS = 16  # rows of an arm that transactions of PostgreSQL spread over
Counts = dict[int, int]  # by arm


class Traffic(NamedTuple):
    """Decisions by arm, and how many of them are settled."""

    decided: Counts
    settled: Counts


def read_traffic(connection: Connection, experiment: int) -> Traffic:
    """As it is cached."""
    return _traffic(connection, f"{_CACHED} WHERE experiment = {experiment:d} GROUP BY arm")


def count_traffic(connection: Connection, experiment: int) -> Traffic:
    """As the log has it, which is read for that."""
    return _traffic(connection, _counted(experiment))


def add_decided(connection: Connection, experiment: int, arms: Iterable[int]) -> None:
    """Count new decisions, on SQLite; on PostgreSQL `counting_new` does."""
    _add(connection, experiment, Counter(arms), {})


def add_settled(connection: Connection, experiment: int, arms: Iterable[int]) -> None:
    """Count decisions that have been settled, by whoever holds the experiment's lock."""
    _add(connection, experiment, {}, Counter(arms))


def count_anew(connection: Connection, experiment: int) -> None:
    """Make the cache anew from the log."""
    connection.exec_driver_sql(f"DELETE FROM varts_traffic WHERE experiment = {experiment:d}")
    connection.exec_driver_sql(
        "INSERT INTO varts_traffic (experiment, arm, slot, decided, settled) "
        f"SELECT {experiment:d}, arm, 0, decided, settled FROM ({_counted(experiment)}) AS log"
    )


@cache
def counting_new(insert: str) -> str:
    """A statement of PostgreSQL that runs this INSERT of decisions, counts what it has added in the
    slot of its connection, and tells how many.

    Two transactions of one slot lock its rows in the same order, so they cannot block each other.
    """
    return (
        f"WITH new AS ({insert} RETURNING experiment, arm), counted AS ("
        "INSERT INTO varts_traffic AS t (experiment, arm, slot, decided, settled) "
        f"SELECT experiment, arm, 1 + mod(pg_backend_pid(), {SLOTS}), count(*), 0 FROM new "
        "GROUP BY experiment, arm ORDER BY arm "
        "ON CONFLICT (experiment, arm, slot) DO UPDATE SET decided = t.decided + excluded.decided) "
        "SELECT count(*) FROM new"
    )


_CACHED = "SELECT arm, sum(decided), sum(settled) FROM varts_traffic"


def _counted(experiment: int) -> str:
    """Both numbers of every arm, from decisions and the events that settle them."""
    here = f"WHERE experiment = {experiment:d}"
    return (
        "SELECT arm, sum(decided) AS decided, sum(settled) AS settled FROM ("
        f"SELECT arm, count(*) AS decided, 0 AS settled FROM varts_decisions {here} GROUP BY arm "
        "UNION ALL "
        f"SELECT arm, 0, count(*) FROM varts_events {here} AND decision IS NOT NULL GROUP BY arm"
        ") AS parts GROUP BY arm"
    )


def _traffic(connection: Connection, query: str) -> Traffic:
    found = Traffic({}, {})
    for arm, decided, settled in connection.exec_driver_sql(query):
        found.decided[arm], found.settled[arm] = int(decided), int(settled)
    return found


def _add(
    connection: Connection, experiment: int, decided: Mapping[int, int], settled: Mapping[int, int]
) -> None:
    rows = [
        (experiment, arm, decided.get(arm, 0), settled.get(arm, 0))
        for arm in sorted(decided.keys() | settled.keys())
    ]
    if rows:
        execute_many(connection, _addition(is_sqlite(connection)), rows)


@cache
def _addition(on_sqlite: bool) -> str:
    """What adds to the counts of one arm."""
    return (
        "INSERT INTO varts_traffic (experiment, arm, slot, decided, settled) "
        "VALUES ({0}, {0}, 0, {0}, {0}) "
        "ON CONFLICT (experiment, arm, slot) DO UPDATE SET "
        "decided = varts_traffic.decided + excluded.decided, "
        "settled = varts_traffic.settled + excluded.settled"
    ).format("?" if on_sqlite else "%s")
