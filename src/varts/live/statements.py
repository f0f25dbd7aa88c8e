"""Statements that go to the database's driver as they are, made once for each kind of database.

SQLAlchemy takes ten times as long to pass a statement on as SQLite takes to run it. So the ones
that decisions and rewards wait for go past it, in the transaction that it has begun; `Database`
knows the errors of the driver as well as those of SQLAlchemy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine import Connection

_POSTGRES: Any = psycopg.dialect()  # type: ignore[no-untyped-call]
Given = Mapping[str, Any] | Sequence[Any]


class Runner:
    """Runs statements in a transaction of SQLAlchemy's, past it.

    Args:
        connection: The one that the transaction was begun on.
    """

    def __init__(self, connection: Connection) -> None:
        self.sqlite = connection.dialect.name == "sqlite"  # else it is PostgreSQL
        driver: Any = connection.connection.driver_connection
        # A cursor of PostgreSQL's driver takes as long to make as a third of a statement.
        self._cursor = driver if self.sqlite else driver.cursor()

    def run(self, text: str, given: Given = ()) -> Any:
        """Run a statement; a cursor with what it found, to be read before the next one is run.

        Args:
            text: The statement.
            given: Its values.
        """
        return self._cursor.execute(text, given)

    def run_for_each(self, text: str, rows: Sequence[Given]) -> int:
        """Run a statement once for every row; how many rows it changed in all.

        Args:
            text: The statement.
            rows: Its values.
        """
        if len(rows) == 1:
            return int(self.run(text, rows[0]).rowcount)
        made = self._cursor.executemany(text, rows)  # SQLite makes a cursor for it
        return int((made or self._cursor).rowcount)

    def add(self, table: sa.Table, names: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
        """Add rows but those whose key is taken; how many were added.

        Args:
            table: To which one.
            names: Of which columns.
            rows: Their values.
        """
        names, rows = with_values(names, rows)
        text = insertion(self.sqlite, table, names)
        if not self.sqlite:
            return int(self.run(text, as_value(names, rows)).rowcount)
        return self.run_for_each(text, rows)

    def replace(
        self, table: sa.Table, names: tuple[str, ...], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Add rows, or put them in the place of those with the same keys.

        Args:
            table: To which one.
            names: Of which columns.
            rows: Their values.
        """
        if rows:
            self.run_for_each(replacement(self.sqlite, table, names), rows)

    def run_both(
        self, first: str, given_first: Sequence[Any], second: str, given_second: Sequence[Any]
    ) -> None:
        """Run two changes of different tables; PostgreSQL is sent one statement for them.

        Args:
            first: One of them.
            given_first: Its values.
            second: The other.
            given_second: Its values.
        """
        if self.sqlite:
            self.run(first, given_first)
            self.run(second, given_second)
        else:
            self.run(f"WITH one AS ({first}) {second}", (*given_first, *given_second))


@cache
def compiled(on_sqlite: bool, statement: Any) -> str:
    """A statement of SQLAlchemy's as text, which takes its values by their names."""
    dialect = sqlite.dialect(paramstyle="named") if on_sqlite else _POSTGRES
    return str(statement.compile(dialect=dialect))


@cache
def lookup(on_sqlite: bool, table: sa.Table, names: tuple[str, ...]) -> str:
    """These columns of the rows of an experiment whose first of them is in a list, given as JSON.

    The words leave a planner no choice but to look every one of the list up in the index: while it
    knows little of a table, it would rather read all of the experiment.
    """
    columns, key = ", ".join(f"{table.name}.{name}" for name in names), names[0]
    here = f"{table.name}.{key} = given.value AND {table.name}.experiment ="
    if on_sqlite:
        return f"SELECT {columns} FROM json_each(?) AS given CROSS JOIN {table.name} ON {here} ?"
    return (
        "SELECT found.* FROM json_array_elements_text(%s::json) AS given, "
        f"LATERAL (SELECT {columns} FROM {table.name} WHERE {here} %s OFFSET 0) AS found"
    )


@cache
def insertion(on_sqlite: bool, table: sa.Table, names: tuple[str, ...]) -> str:
    """What adds rows but those whose key is taken.

    SQLite is fastest row by row, PostgreSQL with all of them as one value, that of `as_value`.
    """
    if on_sqlite:
        given = f"VALUES ({_marks(on_sqlite, names)})"
    else:
        kinds = ", ".join(f"{name} {table.c[name].type.compile(_POSTGRES)}" for name in names)
        given = f"SELECT * FROM json_to_recordset(%s::json) AS given({kinds})"
    return f"INSERT INTO {table.name} ({', '.join(names)}) {given} ON CONFLICT DO NOTHING"


def with_values(
    names: tuple[str, ...], rows: Sequence[Sequence[Any]]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns that have a value in some row, and those of the rows, as plain tuples.

    SQLite's driver takes as long for one None as for five numbers; PostgreSQL must read its name.

    >>> with_values(("id", "unit"), [("a", None), ("b", None)])
    (('id',), [('a',), ('b',)])
    """
    columns = {
        name: column
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
        if column.count(None) < len(rows)
    }
    return tuple(columns), list(zip(*columns.values(), strict=True))


def as_value(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str]:
    """Rows as PostgreSQL's `insertion` takes them."""
    return (json.dumps([dict(zip(names, row, strict=True)) for row in rows]),)


@cache
def replacement(on_sqlite: bool, table: sa.Table, names: tuple[str, ...]) -> str:
    """What adds one row, or puts it in the place of the one with the same key."""
    key = [column.name for column in table.primary_key]
    new = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    return (
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({_marks(on_sqlite, names)}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {new}"
    )


@cache
def update(on_sqlite: bool, table: sa.Table, names: tuple[str, ...]) -> str:
    """What changes these columns of the row whose id is given last."""
    mark = _marks(on_sqlite, ("id",))
    return f"UPDATE {table.name} SET {', '.join(f'{n} = {mark}' for n in names)} WHERE id = {mark}"


def _marks(on_sqlite: bool, names: Sequence[str]) -> str:
    """Where values go, one for each name."""
    return ", ".join(["?" if on_sqlite else "%s"] * len(names))
