"""The tables, one schema for SQLite and PostgreSQL.

`decisions` and `events` are the log: rows are added and never changed, but for the name and the
contexts of a unit that is to be forgotten. `experiments.config` and `.version`, `statistics`,
`traffic` and `units` are caches of it, written in the same transaction. Times are microseconds
since 1970, UTC. No foreign keys: experiments go as a whole, and checking a key for every row costs
PostgreSQL a third of its speed. A change here needs a migration in `migrations/`, and a database of
the old kind among the tests' assets.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

SCHEMA_VERSION = "0005"  # the newest step in migrations/versions
metadata = MetaData()
# SQLite numbers rows by itself only when the key's type is INTEGER.
Serial = BigInteger().with_variant(Integer, "sqlite")


def _experiment() -> Column[int]:
    return Column("experiment", Integer, nullable=False)


experiments = Table(
    "varts_experiments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("seed", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),  # of the last event
    Column("revision", BigInteger, nullable=False),  # of the last change of configuration
    Column("rewards", BigInteger, nullable=False),
    Column("swept", BigInteger, nullable=False),  # decisions up to this time are settled
    Column("config", Text, nullable=False),
)

decisions = Table(
    "varts_decisions",
    metadata,
    Column("seq", Serial, primary_key=True),
    _experiment(),
    Column("id", String, nullable=False),
    Column("version", BigInteger, nullable=False),  # of the state it was made from
    Column("epoch", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("probability", Double, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("reason", String, nullable=False),
    Column("unit", String),
    Column("time", BigInteger, nullable=False),
    Column("salt", String),  # what the choice was drawn from, if not from the id
    Column("context", Text),  # what was known of the unit, as JSON
    Index("varts_decisions_id", "experiment", "id", unique=True),
    Index("varts_decisions_time", "experiment", "time"),
)

events = Table(
    "varts_events",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("decision", String),
    Column("arm", Integer),
    Column("epoch", Integer),
    Column("raw", Double),
    Column("value", Double),
    Column("batch", BigInteger),  # a random number of the transaction that wrote it
    Column("corrects", String),  # the decision whose reward it changes
    Column("body", Text),
    Index("varts_events_decision", "experiment", "decision", unique=True),
    sqlite_with_rowid=False,
)

# Few rewards are corrected, and the others need no entry.
corrected = events.c.corrects.is_not(None)
Index(
    "varts_events_corrects",
    events.c.experiment,
    events.c.corrects,
    sqlite_where=corrected,
    postgresql_where=corrected,
)

statistics = Table(
    "varts_statistics",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("metric", String, primary_key=True),  # "" for the reward
    Column("arm", Integer, primary_key=True, autoincrement=False),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("rewards", BigInteger, nullable=False),
    Column("n", Double, nullable=False),
    Column("mean", Double, nullable=False),
    Column("m2", Double, nullable=False),
    Column("m3", Double, nullable=False),
    Column("m4", Double, nullable=False),
    Column("origin", Double, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),  # of the last event that changed it
    Column("line", LargeBinary),  # what the rewards say about features (`Line.to_bytes`)
    Index("varts_statistics_version", "experiment", "version"),
)

# How many decisions every arm has, and how many of them are settled: the sum over its slots.
# Whoever decides adds to the slot of its own connection, so that nobody waits for anybody else.
traffic = Table(
    "varts_traffic",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("arm", Integer, primary_key=True, autoincrement=False),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("decided", BigInteger, nullable=False),
    Column("settled", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

units = Table(
    "varts_units",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("unit", String, primary_key=True),
    Column("arm", Integer, nullable=False),
    Column("probability", Double, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("decision", String, nullable=False),
    sqlite_with_rowid=False,
)
