"""How many decisions every arm has, counted as they are made: no report reads the log for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from sqlalchemy.engine import Connection

from varts.live.statements import Runner

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


def add_decided(runner: Runner, experiment: int, arms: Iterable[int]) -> None:
    """Count new decisions, on SQLite; on PostgreSQL `counting_decided` does."""
    _add(runner, experiment, Counter(arms), {})


def add_settled(runner: Runner, experiment: int, arms: Iterable[int]) -> None:
    """Count decisions that have been settled, on SQLite."""
    _add(runner, experiment, {}, Counter(arms))


def count_anew(connection: Connection, experiment: int) -> None:
    """Make the cache anew from the log."""
    connection.exec_driver_sql(f"DELETE FROM varts_traffic WHERE experiment = {experiment:d}")
    connection.exec_driver_sql(
        "INSERT INTO varts_traffic (experiment, arm, slot, decided, settled) "
        f"SELECT {experiment:d}, arm, 0, decided, settled FROM ({_counted(experiment)}) AS log"
    )


@cache
def counting_decided(insert: str) -> str:
    """A statement of PostgreSQL that runs this INSERT of decisions, counts what it has added in the
    slot of its connection, and tells how many.

    Two transactions of one slot lock its rows in the same order, so they cannot block each other.
    """
    slot = f"1 + mod(pg_backend_pid(), {SLOTS})"
    return _counting(insert, "experiment, arm", f"{slot}, count(*), 0 FROM new")


@cache
def counting_settled(insert: str) -> str:
    """The same with events, of which some settle a decision."""
    counts = "0, 0, count(*) FROM new WHERE decision IS NOT NULL"
    return _counting(insert, "experiment, arm, decision", counts)


def _counting(insert: str, columns: str, counts: str) -> str:
    return (
        f"WITH new AS ({insert} RETURNING {columns}), counted AS ({_INTO} "
        f"SELECT experiment, arm, {counts} GROUP BY experiment, arm ORDER BY arm {_ADDING}) "
        "SELECT count(*) FROM new"
    )


_INTO = "INSERT INTO varts_traffic AS t (experiment, arm, slot, decided, settled)"
_ADDING = (
    "ON CONFLICT (experiment, arm, slot) DO UPDATE SET "
    "decided = t.decided + excluded.decided, settled = t.settled + excluded.settled"
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
    runner: Runner, experiment: int, decided: Mapping[int, int], settled: Mapping[int, int]
) -> None:
    rows = [
        (experiment, arm, decided.get(arm, 0), settled.get(arm, 0))
        for arm in sorted(decided.keys() | settled.keys())
    ]
    if rows:
        runner.run_for_each(f"{_INTO} VALUES (?, ?, 0, ?, ?) {_ADDING}", rows)
