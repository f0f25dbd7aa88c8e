"""The tables, one schema for SQLite and PostgreSQL.

`varts_decisions` and `varts_events` are the log. Rows are added and never changed, except that the
name and the contexts of a unit can be forgotten. Everything else is a cache of the log, written in
the same transaction: `varts_experiments.config` and `.version`, `varts_statistics`,
`varts_unit_rewards`, `varts_traffic` and `varts_units`. Times are microseconds since 1970, UTC.

There are no foreign keys: checking one for every row costs PostgreSQL a third of its speed, and
experiments are deleted as a whole.

A change here needs three things: a new number (never reuse one: running processes compare it in
every transaction), a step in `migrations.py`, and a database of the old kind among the tests'
assets.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = "0006"

# The names of types in SQLite and in PostgreSQL, where they differ. SQLite numbers rows by itself
# only if the type of the key is INTEGER.
TYPES = {
    "SERIAL": ("INTEGER", "SERIAL"),
    "BIGSERIAL": ("INTEGER", "BIGSERIAL"),
    "DOUBLE": ("DOUBLE", "DOUBLE PRECISION"),
    "BYTES": ("BLOB", "BYTEA"),
}


@dataclass(frozen=True, eq=False)  # compared by identity, so that it can be hashed
class Table:
    """A table: its columns with their types, and its primary key."""

    name: str
    columns: dict[str, str]  # "?" after a type allows NULL
    key: tuple[str, ...]
    unique: str | None = None  # another column whose values are unique
    without_rowid: bool = False

    def types(self, sqlite: bool) -> dict[str, str]:
        """The type of every column as the database calls it."""
        return {name: type_name(kind.rstrip("?"), sqlite) for name, kind in self.columns.items()}

    def create(self, sqlite: bool) -> str:
        """The statement that creates the table."""
        columns = [
            f"{name} {kind}{'' if self.columns[name].endswith('?') else ' NOT NULL'}"
            for name, kind in self.types(sqlite).items()
        ]
        end = " WITHOUT ROWID" if sqlite and self.without_rowid else ""
        keys = [f"PRIMARY KEY ({', '.join(self.key)})"]
        keys += [f"UNIQUE ({self.unique})"] if self.unique else []
        return f"CREATE TABLE {self.name} ({', '.join([*columns, *keys])}){end}"


def type_name(kind: str, sqlite: bool) -> str:
    """A type as the database calls it.

    >>> type_name("DOUBLE", sqlite=False)
    'DOUBLE PRECISION'
    """
    return TYPES[kind][0 if sqlite else 1] if kind in TYPES else kind


experiments = Table(
    "varts_experiments",
    {
        "id": "SERIAL",
        "name": "VARCHAR",
        "seed": "BIGINT",  # negative if it is set aside; see `seed_aside`
        "created": "BIGINT",
        "version": "BIGINT",  # of the last event
        "revision": "BIGINT",  # the version of the last change of configuration
        "rewards": "BIGINT",
        "swept": "BIGINT",  # decisions up to this time are settled
        "config": "TEXT",
    },
    key=("id",),
    unique="name",
)
decisions = Table(
    "varts_decisions",
    {
        "seq": "BIGSERIAL",
        "experiment": "INTEGER",
        "id": "VARCHAR",
        "version": "BIGINT",  # of the state that the arm was chosen from
        "epoch": "INTEGER",
        "arm": "INTEGER",
        "probability": "DOUBLE",
        "estimated": "BOOLEAN",
        "reason": "VARCHAR",
        "unit": "VARCHAR?",
        "time": "BIGINT",
        "salt": "VARCHAR?",  # what the choice was drawn from, if not from the id
        "context": "TEXT?",  # the unit's features, as JSON
    },
    key=("seq",),
)
events = Table(
    "varts_events",
    {
        "experiment": "INTEGER",
        "version": "BIGINT",
        "kind": "VARCHAR",
        "time": "BIGINT",
        "decision": "VARCHAR?",
        "arm": "INTEGER?",
        "epoch": "INTEGER?",
        "raw": "DOUBLE?",
        "value": "DOUBLE?",
        "batch": "BIGINT?",  # a random number of the transaction that wrote it
        "corrects": "VARCHAR?",  # the decision whose reward it changes
        "body": "TEXT?",
        # The decision whose reward arrives before its window closes; "" for an aggregate.
        "arrives": "VARCHAR?",
    },
    key=("experiment", "version"),
    without_rowid=True,
)
statistics = Table(
    "varts_statistics",
    {
        "experiment": "INTEGER",
        "metric": "VARCHAR",  # "" for the reward
        "arm": "INTEGER",
        "block": "BIGINT",  # of time, in which the decisions were made; under rules 1 their epoch
        "rewards": "BIGINT",
        "n": "DOUBLE",
        "mean": "DOUBLE",
        "m2": "DOUBLE",
        "m3": "DOUBLE",
        "m4": "DOUBLE",
        "origin": "DOUBLE",
        "at": "BIGINT",
        "version": "BIGINT",  # of the last event that changed it
        "line": "BYTES?",  # the regression sums of the features (`RegressionSums.to_bytes`)
        "units": "BIGINT",  # how much rewards of a unit have in common (`Shared`)
        "unit_squares": "DOUBLE",
        "unit_products": "DOUBLE",
        "unit_counts": "DOUBLE",
    },
    key=("experiment", "metric", "arm", "block"),
)
# The rewards of every unit on every arm: how many, and their mean.
unit_rewards = Table(
    "varts_unit_rewards",
    {
        "experiment": "INTEGER",
        "unit": "VARCHAR",
        "arm": "INTEGER",
        "metric": "VARCHAR",
        "n": "BIGINT",
        "mean": "DOUBLE",
    },
    key=("experiment", "unit", "arm", "metric"),
    without_rowid=True,
)
# How many decisions each arm has, and how many of them are settled: the sum over the slots. Every
# connection adds to a slot of its own, so that decisions don't wait for each other.
traffic = Table(
    "varts_traffic",
    {
        "experiment": "INTEGER",
        "arm": "INTEGER",
        "slot": "INTEGER",
        "decided": "BIGINT",
        "settled": "BIGINT",
    },
    key=("experiment", "arm", "slot"),
    without_rowid=True,
)
units = Table(
    "varts_units",
    {
        "experiment": "INTEGER",
        "unit": "VARCHAR",
        "arm": "INTEGER",
        "probability": "DOUBLE",
        "estimated": "BOOLEAN",
        "decision": "VARCHAR",
    },
    key=("experiment", "unit"),
    without_rowid=True,
)
schema = Table("varts_schema", {"version_num": "VARCHAR(32)"}, key=("version_num",))

TABLES = (experiments, decisions, events, statistics, unit_rewards, traffic, units, schema)
INDEXES = (
    "CREATE UNIQUE INDEX varts_decisions_id ON varts_decisions (experiment, id)",
    "CREATE INDEX varts_decisions_time ON varts_decisions (experiment, time)",
    "CREATE UNIQUE INDEX varts_events_decision ON varts_events (experiment, decision)",
    # Few rewards are corrected; the others need no entry.
    "CREATE INDEX varts_events_corrects ON varts_events (experiment, corrects) "
    "WHERE corrects IS NOT NULL",
    "CREATE INDEX varts_events_arrives ON varts_events (experiment, arrives) "
    "WHERE arrives IS NOT NULL",
    "CREATE INDEX varts_statistics_version ON varts_statistics (experiment, version)",
)


def creation(sqlite: bool) -> list[str]:
    """The statements that make the tables of a new store."""
    made = [table.create(sqlite) for table in TABLES]
    return [*made, *INDEXES, f"INSERT INTO varts_schema VALUES ('{SCHEMA_VERSION}')"]
