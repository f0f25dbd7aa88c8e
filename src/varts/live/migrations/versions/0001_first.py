"""The first schema. Written out, not imported from schema.py: it must stay as it was."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "varts_experiments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("rewards", sa.BigInteger, nullable=False),
        sa.Column("swept", sa.BigInteger, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
    )
    op.create_table(
        "varts_decisions",
        sa.Column("seq", serial, primary_key=True),
        _experiment(),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("unit", sa.String),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
    op.create_index("varts_decisions_id", "varts_decisions", ["experiment", "id"], unique=True)
    op.create_index("varts_decisions_time", "varts_decisions", ["experiment", "time"])
    op.create_table(
        "varts_events",
        _experiment(primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.String),
        sa.Column("arm", sa.Integer),
        sa.Column("epoch", sa.Integer),
        sa.Column("raw", sa.Double),
        sa.Column("value", sa.Double),
        sa.Column("body", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "varts_events_decision", "varts_events", ["experiment", "decision"], unique=True
    )
    op.create_table(
        "varts_statistics",
        _experiment(primary_key=True),
        sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("rewards", sa.BigInteger, nullable=False),
        sa.Column("n", sa.Double, nullable=False),
        sa.Column("mean", sa.Double, nullable=False),
        sa.Column("m2", sa.Double, nullable=False),
        sa.Column("origin", sa.Double, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("varts_statistics_version", "varts_statistics", ["experiment", "version"])
    op.create_table(
        "varts_units",
        _experiment(primary_key=True),
        sa.Column("unit", sa.String, primary_key=True),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("decision", sa.String, nullable=False),
        sqlite_with_rowid=False,
    )


def _experiment(primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(
        "experiment",
        sa.Integer,
        nullable=False,
        autoincrement=False,
        primary_key=primary_key,
    )
